"""Integrals of functions by a formula with a fixed number of points."""

from __future__ import annotations

import numpy as np

from adjoint.core.types import Array, Function, Value
from adjoint.scipy.arrays import array
from adjoint.scipy.integrate.integrals import gauss


def fixed_quad(func: Function, a: Array, b: Array, args: Value = (), n: int = 5) -> tuple[Array | None, None]:
    """`scipy.integrate.fixed_quad`: the integral by Gauss's formula with `n` points, and None.

    Args:
        func: ``func(x, *args)`` of a vector of places, which are the last axis of its value; any tensors in it count.
        a, b: the ends.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> from adjoint.scipy.integrate import fixed_quad
        >>> ad.grad(lambda b: fixed_quad(lambda x: x**2, 0.0, b)[0])(3.0).round(12)
        np.float64(9.0)
    """
    nodes, weights = gauss(n)
    a, b = array(a), array(b)
    half = (b - a) * 0.5
    return half * np.sum(weights * array(func(half * (nodes + 1) + a, *args)), axis=-1), None
