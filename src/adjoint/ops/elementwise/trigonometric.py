"""Circular and hyperbolic functions and their inverses."""

from __future__ import annotations

import numpy as np

from adjoint.core.constructors import elementwise
from adjoint.core.op import call
from adjoint.core.registry import operation
from adjoint.core.types import Array

sin = elementwise(np.sin, partial=lambda x: np.cos(x), flags=("finite",))
cos = elementwise(np.cos, partial=lambda x: -np.sin(x), flags=("finite",))
tan = elementwise(np.tan, partial=lambda out: 1 + out * out, domain=(-1, 1))


def _one_more(x: Array) -> Array:
    return x - -1 if x.dtype.kind == "c" else x + 1  # a sum of zeros forgets the sign of one


def _root_between(x: Array) -> Array:
    """sqrt(1 - x**2), on the side of its cuts where NumPy's inverses are: only subtraction keeps the sign of a zero."""
    return np.sqrt(-(x - 1)) * np.sqrt(_one_more(x)) if x.dtype.kind == "c" else np.sqrt(1 - x * x)


def _root_around(x: Array) -> Array:
    """sqrt(1 + x**2), likewise: sqrt(1 - (ix)**2)."""
    if x.dtype.kind != "c":
        return np.sqrt(1 + x * x) if x.dtype.char != "e" else np.hypot(x, 1.0)  # squares end at 65504
    turned: Array = operation("join_parts")
    return _root_between(turned(-np.imag(x), np.real(x)))


arcsin = elementwise(np.arcsin, partial=lambda x: 1 / _root_between(x), domain=(-0.8, 0.8))
arccos = elementwise(np.arccos, partial=lambda x: -1 / _root_between(x), domain=(-0.8, 0.8))
arctan = elementwise(
    np.arctan,
    partial=lambda x: 1 / (1 + x * x) if x.dtype.char != "e" else 1 / _root_around(x) / _root_around(x),
    flags=("finite",),
)

sinh = elementwise(np.sinh, partial=lambda x: np.cosh(x))
cosh = elementwise(np.cosh, partial=lambda x: np.sinh(x))
tanh = elementwise(np.tanh, partial=lambda out: 1 - out * out, flags=("finite",))
arcsinh = elementwise(np.arcsinh, partial=lambda x: 1 / _root_around(x), flags=("finite",))
arccosh = elementwise(np.arccosh, partial=lambda x: 1 / (np.sqrt(x - 1) * np.sqrt(_one_more(x))), domain=(1.2, 3))
arctanh = elementwise(np.arctanh, partial=lambda x: 1 / (1 - x * x), domain=(-0.8, 0.8))


def _over_square(z: Array, x: Array, y: Array, moved: Array) -> Array:
    """z / (x**2 + y**2), and 0 at the origin, where the angle has no direction to turn; `moved` is `x` or `y`."""
    if moved.dtype.char == "e":  # squares of half precision end at 65504
        root = np.hypot(x, y)
        root = np.where(np.equal(root, 0), 1.0, root)
        return z / root / root
    square = x * x + y * y
    return z / np.where(np.equal(square, 0), 1.0, square)


arctan2 = elementwise(
    np.arctan2,
    partials=(lambda x, y: _over_square(y, x, y, x), lambda x, y: -_over_square(x, x, y, y)),
    domain=((0.3, 2), (-2, 2)),
)


def _sinc_slope(x: Array) -> Array:
    """(cos(pi x) - sinc(x)) / x, from its series near 0, where that form loses all digits."""
    small = np.less(np.abs(x), 1e-2)
    away = np.where(small, 1.0, x)
    near = np.where(small, x, 0.0)
    p2 = np.pi**2
    square = near * near
    series = near * (-p2 / 3 + square * (p2**2 / 30 + square * (-(p2**3) / 840 + square * p2**4 / 45360)))
    return np.where(small, series, (np.cos(np.pi * away) - np.sinc(away)) / away)


sinc = elementwise(
    np.sinc,
    partial=_sinc_slope,
    samples=lambda r: [call(r(3, 4, low=0.2, high=2)), call(r(low=0.2, high=2)), call(r(3, low=-0.009, high=0.009))],
    answers=(),
)
