"""Two gestures compared: dynamic time warping of a signal with a stretched one."""

import numpy as np
from dtw import dtw

PACKAGE, FOLLOWED = "dtw-python", ("dtw",)
POINT = (1.0, 0.2)


def program(x):
    t = np.linspace(0.0, 3.0, 12)
    found = dtw(np.sin(x[0] * t + x[1]), np.sin(1.1 * t), keep_internals=True)
    return found.distance + found.normalizedDistance
