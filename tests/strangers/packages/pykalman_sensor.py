"""A sensor's series smoothed, and its likelihood, with the model's coefficients as unknowns."""

import numpy as np
from pykalman import KalmanFilter

PACKAGE, FOLLOWED = "pykalman", ("pykalman",)
POINT = (0.9, 0.3, 0.5)


def program(x):
    model = KalmanFilter(
        transition_matrices=np.array([[x[0], 0.1], [0.0, 0.95]]),
        observation_matrices=np.array([[1.0, 0.5]]),
        transition_covariance=np.eye(2) * x[1],
        observation_covariance=np.array([[x[2]]]),
        initial_state_mean=np.zeros(2),
        initial_state_covariance=np.eye(2),
    )
    data = np.array([[0.9], [1.1], [0.7], [1.3], [1.2]])
    means, covariances = model.filter(data)
    return model.loglikelihood(data) + np.sum(means[:, 0] ** 2) + covariances[-1, 0, 0]
