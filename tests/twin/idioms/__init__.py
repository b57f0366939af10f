"""Small functions as strangers write them: each takes one array, whose default is the point where it is tested."""

import numpy as np


def loss(f):
    """One number of what `f` gives: its elements weighed differently, so that none can stand for another."""

    def total(x):
        y = np.ravel(f(x))
        return np.sum(y * np.cos(np.arange(1.0, 1.0 + np.size(y))))

    total.__name__ = f.__name__
    return total
