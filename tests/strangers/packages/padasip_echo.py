"""An echo canceller: normalised LMS and recursive least squares, with their step sizes as unknowns."""

import numpy as np
import padasip

PACKAGE, FOLLOWED = "padasip", ("padasip",)
POINT = (0.5, 0.1, 0.98)
SIGNAL = np.sin(np.arange(12.0))


def program(x):
    frames = padasip.input_from_history(SIGNAL, 3)
    echo = frames @ np.array([0.5, -0.3, 0.1]) + 0.01 * np.cos(np.arange(len(frames)))
    lms = padasip.filters.FilterNLMS(n=3, mu=x[0], eps=x[1], w="zeros")
    heard, error, weights = lms.run(echo, frames)
    rls = padasip.filters.FilterRLS(n=3, mu=x[2], w="zeros")
    _, second, _ = rls.run(echo, frames)
    return np.sum(error**2) + np.sum(second**2) + weights[-1, 0] + heard[-1]
