"""A pendulum's angle by an unscented Kalman filter: sigma points, a Cholesky factor, callbacks."""

import numpy as np
from filterpy.kalman import MerweScaledSigmaPoints, UnscentedKalmanFilter

PACKAGE, FOLLOWED = "filterpy", ("filterpy",)
POINT = (0.3, 0.05, 9.7)


def program(x):
    def move(state, dt):
        return np.array([state[0] + dt * state[1], state[1] - dt * x[2] * np.sin(state[0])])

    def measure(state):
        return np.array([np.sin(state[0])])

    points = MerweScaledSigmaPoints(n=2, alpha=0.5, beta=2.0, kappa=1.0)
    f = UnscentedKalmanFilter(dim_x=2, dim_z=1, dt=0.02, fx=move, hx=measure, points=points)
    f.x = np.array([x[0], 0.0])
    f.P = np.diag([0.1, 0.2])
    f.R = np.array([[x[1]]])
    f.Q = np.eye(2) * 0.01
    for z in [0.28, 0.27, 0.25, 0.2]:
        f.predict()
        f.update(np.array([z]))
    return f.x[0] + f.x[1] + f.P[0, 0]
