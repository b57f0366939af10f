"""A servo loop: transfer functions in series, feedback, its response over frequency and in time."""

import control
import numpy as np

PACKAGE, FOLLOWED = "control", ("control",)
POINT = (2.0, 0.5, 1.5)


def program(x):
    plant = control.tf(np.array([x[0]]), np.array([1.0, x[1], 1.0]))
    regulator = control.tf(np.array([x[2], 1.0]), np.array([0.1, 1.0]))
    loop = control.feedback(control.series(regulator, plant), 1)
    gains = np.abs(loop(1j * np.array([0.1, 1.0, 3.0])))
    state = control.ss([[0.0, 1.0], [-1.0, -x[1]]], [[0.0], [x[0]]], [[1.0, 0.0]], 0.0)
    response = control.step_response(state, T=np.linspace(0.0, 2.0, 11))
    return np.sum(gains**2) + np.sum(response.outputs)
