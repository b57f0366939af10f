"""A track is filtered: a moving point, constant velocity, noisy positions; the noise levels are the unknowns."""

import numpy as np
from filterpy.common import Q_discrete_white_noise
from filterpy.kalman import KalmanFilter

PACKAGE, FOLLOWED = "filterpy", ("filterpy",)
POINT = (0.4, 1.3, 0.7)


def program(x):
    tracker = KalmanFilter(dim_x=2, dim_z=1)
    tracker.F = np.array([[1.0, 0.1], [0.0, 1.0]])
    tracker.H = np.array([[1.0, 0.0]])
    tracker.x = np.array([x[2], 0.0])
    tracker.P = np.eye(2) * 10.0
    tracker.R = np.array([[x[1]]])
    tracker.Q = Q_discrete_white_noise(dim=2, dt=0.1, var=x[0])
    loss = 0.0
    for z in [0.9, 1.1, 1.0, 1.4, 1.6, 1.5]:
        tracker.predict()
        tracker.update(z)
        loss += tracker.y[0] ** 2 / tracker.S[0, 0]
    return loss + tracker.x[1] + tracker.P[0, 0]
