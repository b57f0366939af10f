"""Integrals of samples."""

from __future__ import annotations

import numpy as np

from adjoint.core.errors import ArgumentError, ShapeError
from adjoint.core.types import Array
from adjoint.scipy.arrays import array


def trapezoid(y: Array, x: Array = None, dx: float = 1.0, axis: int = -1) -> Array:
    """`scipy.integrate.trapezoid`: the integral of samples along an axis, by the trapezoidal rule.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> from adjoint.scipy.integrate import trapezoid
        >>> ad.grad(trapezoid)(np.zeros(3))
        array([0.5, 1. , 0.5])
    """
    return np.trapezoid(array(y), None if x is None else array(x), dx, axis)


def _steps(y: Array, x: Array, dx: Array, axis: int) -> Array:
    """The gaps between the places of the samples, the axis last."""
    n = y.shape[-1]
    if x is None:
        return np.broadcast_to(np.asarray(dx, y.real.dtype), (n - 1,))
    x = array(x)
    x = x if x.ndim == 1 else np.moveaxis(x, axis, -1)
    if x.shape[-1] != n:
        raise ShapeError(f"the places x must be as many as the samples, {n}; got {x.shape[-1]}")
    return np.diff(x, axis=-1)


def cumulative_trapezoid(
    y: Array, x: Array = None, dx: float = 1.0, axis: int = -1, initial: float | None = None
) -> Array:
    """`scipy.integrate.cumulative_trapezoid`: the integrals up to each sample but the first.

    Args:
        y, x, dx, axis: as for `trapezoid`.
        initial: 0, to have the first too.

    Raises:
        ArgumentError: for another `initial`.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> from adjoint.scipy.integrate import cumulative_trapezoid
        >>> cumulative_trapezoid(np.array([1.0, 2.0, 3.0]), initial=0)
        array([0. , 1.5, 4. ])
    """
    if initial not in (None, 0):
        raise ArgumentError(f"cumulative_trapezoid: initial is 0 or None; got {initial!r}")
    y = np.moveaxis(array(y), axis, -1)
    total = np.cumsum(_steps(y, x, dx, axis) * (y[..., 1:] + y[..., :-1]) * 0.5, axis=-1)
    if initial == 0:
        total = np.concatenate([np.zeros((*total.shape[:-1], 1), total.dtype), total], axis=-1)
    return np.moveaxis(total, -1, axis)


def simpson(y: Array, x: Array = None, *, dx: float = 1.0, axis: int = -1) -> Array:
    """`scipy.integrate.simpson`: the integral of samples by parabolas through three at a time.

    For an even number of samples the last interval takes the parabola through the last three (K. V. Cartwright,
    Simpson's rule cumulative integration with MS Excel and irregularly-spaced data, 2017).

    Example:
        >>> import numpy as np, adjoint as ad
        >>> from adjoint.scipy.integrate import simpson
        >>> ad.grad(simpson)(np.zeros(3))
        array([0.33333333, 1.33333333, 0.33333333])
    """
    y = np.moveaxis(array(y), axis, -1)
    n = y.shape[-1]
    h = _steps(y, x, dx, axis)
    if n < 3:
        return np.sum(h * (y[..., 1:] + y[..., :-1]) * 0.5, axis=-1)
    last = n if n % 2 else n - 1
    left, right = h[..., 0 : last - 2 : 2], h[..., 1 : last - 1 : 2]
    first, middle, third = y[..., 0 : last - 2 : 2], y[..., 1 : last - 1 : 2], y[..., 2:last:2]
    both = left + right
    weighted = first * (2 - right / left) + middle * (both * both / (left * right)) + third * (2 - left / right)
    total = np.sum(both / 6 * weighted, axis=-1)
    if n % 2 == 0:
        a, b = h[..., -1], h[..., -2]
        total = total + y[..., -1] * a * (2 * a + 3 * b) / (6 * (a + b))
        total = total + y[..., -2] * a * (a + 3 * b) / (6 * b) - y[..., -3] * a**3 / (6 * b * (a + b))
    return total
