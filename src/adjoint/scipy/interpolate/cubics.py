"""Cubics between samples: `CubicSpline`, `PchipInterpolator`, `Akima1DInterpolator`."""

from __future__ import annotations

import numpy as np

from adjoint.core.errors import ArgumentError
from adjoint.core.types import Array
from adjoint.scipy.arrays import array
from adjoint.scipy.interpolate.pieces import PPoly
from adjoint.scipy.interpolate.samples import column, rising, samples
from adjoint.scipy.linalg.bands import solve_banded


class _Hermite(PPoly):
    """A cubic on every interval, from the values and the slopes at its ends."""

    def __init__(self, x: Array, y: Array, slopes: Array, axis: int, extrapolate: bool | str | None) -> None:
        h = column(np.diff(x), y)
        rise = np.diff(y, axis=0) / h
        square = (3 * rise - 2 * slopes[:-1] - slopes[1:]) / h
        cube = (slopes[:-1] + slopes[1:] - 2 * rise) / (h * h)
        self._hold(np.stack([cube, square, slopes[:-1], y[:-1]]), x, True if extrapolate is None else extrapolate, axis)


class CubicSpline(_Hermite):
    """`scipy.interpolate.CubicSpline`: the piecewise cubic with two continuous derivatives through the samples.

    The slopes at the knots solve a tridiagonal equation (C. de Boor, A Practical Guide to Splines, 1978, chapter
    4), and gradients go through it.

    Args:
        x: (n,), strictly rising.
        y: values, n of them along `axis`.
        axis: of `y`.
        bc_type: "not-a-knot", "clamped" (slope 0 at the ends), "natural" (second derivative 0), or a pair, each of
            these or ``(order, value)``: the derivative of order 1 or 2 there.
        extrapolate: with the outermost cubics (the default); False for nan.

    Raises:
        ShapeError: if there are not as many values as places.
        ArgumentError: if `x` does not rise, or for another `bc_type`.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> from adjoint.scipy.interpolate import CubicSpline
        >>> x = np.arange(4.0)
        >>> ad.grad(CubicSpline(x, x**3))(1.5).round(12)
        np.float64(6.75)
    """

    def __init__(
        self, x: Array, y: Array, axis: int = 0, bc_type: Array = "not-a-knot", extrapolate: bool | str | None = None
    ) -> None:
        x, y = samples("CubicSpline", x, y, axis, 2)
        rising("CubicSpline", x)
        super().__init__(x, y, _spline_slopes(x, y, bc_type), axis % y.ndim, extrapolate)


def _condition(name: Array, y: Array) -> tuple[int, Array] | None:
    """A boundary condition as (order, value); None for not-a-knot."""
    if isinstance(name, str):
        known = {"not-a-knot": None, "clamped": (1, 0.0), "natural": (2, 0.0)}
        if name in known:
            return known[name]
    elif isinstance(name, tuple) and len(name) == 2 and name[0] in (1, 2):
        return name[0], np.broadcast_to(array(name[1]), y.shape[1:])
    raise ArgumentError(
        f"CubicSpline: bc_type is 'not-a-knot', 'clamped', 'natural', or a pair of these or of (order, value) with "
        f"order 1 or 2; got {name!r}"
    )


def _spline_slopes(x: Array, y: Array, bc_type: Array) -> Array:
    n = x.shape[0]
    start, end = (_condition(c, y) for c in ((bc_type, bc_type) if isinstance(bc_type, str) else bc_type))
    h = np.diff(x)
    rise = np.diff(y, axis=0) / column(h, y)
    if n == 2:  # no knot to leave out: the line's own slope
        start, end = start or (1, rise[0]), end or (1, rise[0])
    if n == 3 and start is None and end is None:
        # One parabola through the three.
        bend = (rise[1] - rise[0]) / (h[0] + h[1])
        return np.stack([rise[0] - bend * h[0], rise[0] + bend * h[0], rise[1] + bend * h[1]])
    first = _end_row(start, h, rise, y)
    last = _end_row(end, h[::-1], rise[::-1], y, -1.0)
    one = np.ones(1, x.dtype)
    upper = np.concatenate([0 * one, np.reshape(first[1], (1,)), h[:-1]])
    main = np.concatenate([np.reshape(first[0], (1,)), 2 * (h[:-1] + h[1:]), np.reshape(last[0], (1,))])
    lower = np.concatenate([h[1:], np.reshape(last[1], (1,)), 0 * one])
    weights = column(h, y)
    inner = 3 * (weights[1:] * rise[:-1] + weights[:-1] * rise[1:])
    right = np.concatenate([first[2][None], inner, last[2][None]])
    flat = np.reshape(right, (n, -1))
    return np.reshape(solve_banded((1, 1), np.stack([upper, main, lower]), flat), y.shape)


def _end_row(condition: Array, h: Array, rise: Array, y: Array, side: float = 1.0) -> tuple[Array, Array, Array]:
    """The equation at one end, seen from there: its coefficients for the two slopes, and its right side."""
    one = np.ones_like(h[0])
    if condition is None:
        both = h[0] + h[1]
        right = ((h[0] + 2 * both) * h[1] * rise[0] + h[0] * h[0] * rise[1]) / both
        return h[1], both, right
    order, value = condition
    value = np.broadcast_to(value, y.shape[1:])
    if order == 1:
        return one, 0 * one, value * one
    return 2 * one, one, 3 * rise[0] - side * 0.5 * h[0] * value


class PchipInterpolator(_Hermite):
    """`scipy.interpolate.PchipInterpolator`: a piecewise cubic that is monotonic wherever the samples are.

    Slopes are weighted harmonic means (F. Fritsch and J. Butland, A method for constructing local monotone piecewise
    cubic interpolants, 1984); where neighbouring rises differ in sign they are 0, and so is their gradient.

    Args:
        x: (n,), strictly rising.
        y: real values, n of them along `axis`.
        axis: of `y`.
        extrapolate: with the outermost cubics (the default); False for nan.

    Raises:
        ShapeError, ArgumentError: as `CubicSpline`.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> from adjoint.scipy.interpolate import PchipInterpolator
        >>> ad.grad(lambda y: PchipInterpolator(np.arange(3.0), y)(0.5))(np.array([0.0, 1.0, 2.0]))
        array([ 0.375,  0.75 , -0.125])
    """

    def __init__(self, x: Array, y: Array, axis: int = 0, extrapolate: bool | str | None = None) -> None:
        x, y = samples("PchipInterpolator", x, y, axis, 2)
        rising("PchipInterpolator", x)
        super().__init__(x, y, _monotone_slopes(x, y), axis % y.ndim, extrapolate)


def _monotone_slopes(x: Array, y: Array) -> Array:
    h = column(np.diff(x), y)
    rise = np.diff(y, axis=0) / h
    if x.shape[0] == 2:
        return np.concatenate([rise, rise])
    before, after, left, right = rise[:-1], rise[1:], h[:-1], h[1:]
    flat = np.logical_or(np.not_equal(np.sign(before), np.sign(after)), np.equal(before, 0))
    w1, w2 = 2 * right + left, right + 2 * left
    # Selected before the division, which would be by 0.
    mean = (w1 + w2) / (w1 / np.where(flat, 1.0, before) + w2 / np.where(flat, 1.0, after))
    ends = [_monotone_end(h[0], h[1], rise[0], rise[1]), _monotone_end(h[-1], h[-2], rise[-1], rise[-2])]
    return np.concatenate([ends[0][None], np.where(flat, 0.0, mean), ends[1][None]])


def _monotone_end(h0: Array, h1: Array, rise0: Array, rise1: Array) -> Array:
    """The parabola's slope at an end, held back where it would overshoot."""
    slope = ((2 * h0 + h1) * rise0 - h0 * rise1) / (h0 + h1)
    turned = np.not_equal(np.sign(slope), np.sign(rise0))
    steep = np.logical_and(np.not_equal(np.sign(rise0), np.sign(rise1)), np.abs(slope) > 3 * np.abs(rise0))
    return np.where(turned, 0.0, np.where(steep, 3 * rise0, slope))


class Akima1DInterpolator(_Hermite):
    """`scipy.interpolate.Akima1DInterpolator`: a piecewise cubic that does not swing beside steps.

    Slopes are means of the neighbouring rises, weighted by how much those beyond change (H. Akima, A new method of
    interpolation and smooth curve fitting based on local procedures, 1970).

    Args:
        x: (n,), strictly rising.
        y: real values, n of them along `axis`.
        axis: of `y`.
        method: "akima", or "makima", which is smaller beside flat parts.
        extrapolate: with the outermost cubics; otherwise nan (the default).

    Raises:
        ShapeError: if there are not as many values as places.
        ArgumentError: if `x` does not rise, or for another method.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> from adjoint.scipy.interpolate import Akima1DInterpolator
        >>> x = np.arange(5.0)
        >>> ad.grad(Akima1DInterpolator(x, x**2))(1.5).round(12)
        np.float64(3.0)
    """

    def __init__(
        self, x: Array, y: Array, axis: int = 0, *, method: str = "akima", extrapolate: bool | str | None = None
    ) -> None:
        x, y = samples("Akima1DInterpolator", x, y, axis, 2)
        rising("Akima1DInterpolator", x)
        if method not in ("akima", "makima"):
            raise ArgumentError(f"Akima1DInterpolator: method is 'akima' or 'makima'; got {method!r}")
        rise = np.diff(y, axis=0) / column(np.diff(x), y)
        slopes = np.concatenate([rise, rise]) if len(x) == 2 else _akima_slopes(rise, method == "makima")
        super().__init__(x, y, slopes, axis % y.ndim, bool(extrapolate) if extrapolate != "periodic" else extrapolate)


def _akima_slopes(rise: Array, modified: bool) -> Array:
    before, after = 2 * rise[0] - rise[1], 2 * rise[-1] - rise[-2]
    m = np.concatenate([(2 * before - rise[0])[None], before[None], rise, after[None], (2 * after - rise[-1])[None]])
    change = np.abs(np.diff(m, axis=0))
    if modified:
        change = change + 0.5 * np.abs(m[:-1] + m[1:])
    right, left = change[2:], change[:-2]
    both = right + left
    flat = both <= 1e-9 * np.max(both)
    share = right / np.where(flat, 1.0, both)
    equal = 0.0 if modified else 0.5 * (m[1:-2] + m[2:-1])
    return np.where(flat, equal, share * m[1:-2] + (1 - share) * m[2:-1])
