"""Small functions as strangers write them: each takes one array, whose default is the point where it is tested."""

import numpy as np

import adjoint as ad


def loss(f):
    """One number of what `f` gives: its elements weighed differently, so that none can stand for another."""

    def total(x):
        y = np.ravel(f(x))
        return np.sum(y * np.cos(np.arange(1.0, 1.0 + np.size(y))))

    total.__name__ = f.__name__
    return total


def gradient(f):
    """The gradient of the loss of `f`, as code that calls adjoint itself."""
    total = loss(f)
    return lambda x: ad.grad(total)(x)


def beside(f, x):
    """A factor, of the loss of `f` at `x`: nothing in it is differentiated, and all of it runs in the twin."""
    total = loss(f)

    def scaled(factor):
        return factor**2 * total(x)

    return scaled
