"""`scipy.interpolate` for tensors: lines, cubic splines and grids, with gradients for positions, values and queries.

Which interval a query falls into is a constant; at a knot the gradient is that of the interval to its right.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.core.box import raw
from adjoint.core.errors import ArgumentError, NotSupportedError, ShapeError
from adjoint.core.types import Array
from adjoint.ops.indexing.reading import read
from adjoint.scipy.arrays import array, constants
from adjoint.scipy.linalg.bands import solve_banded


def _samples(name: str, x: Array, y: Array, axis: int, least: int) -> tuple[Array, Array]:
    """The places, rising, and the values with `axis` first."""
    x, y = array(x), array(y)
    if x.ndim != 1 or y.ndim == 0 or y.shape[axis] != x.shape[0] or x.shape[0] < least:
        raise ShapeError(
            f"{name} takes {least} places x of shape (n,) or more, and as many values along axis {axis}; got shapes "
            f"{x.shape} and {y.shape}"
        )
    return x, np.moveaxis(y, axis, 0)


def _rising(name: str, x: Array) -> Array:
    if not np.all(np.diff(raw(x)) > 0):
        raise ArgumentError(f"{name}: x must rise strictly")
    return x


def _column(x: Array, like: Any) -> Array:
    """`x` with axes of length 1 for all axes of `like` but the first."""
    return np.reshape(x, (-1, *(1,) * (like.ndim - 1)))


def _interval(x: Array, query: Array) -> Array:
    """The number of the interval of each query, plain; the first or the last for those outside."""
    return np.clip(np.searchsorted(constants(x), constants(query), side="right") - 1, 0, x.shape[0] - 2)


class interp1d:  # noqa: N801 - SciPy's name
    """`scipy.interpolate.interp1d` with kind="linear".

    Args:
        x: (n,).
        y: values, n of them along `axis`.
        kind: "linear"; for "cubic", see `CubicSpline`.
        axis: of `y`.
        bounds_error: refuse queries outside of `x`; the default, unless `fill_value` is given.
        fill_value: what to give there: a number, a pair (below, above), or "extrapolate".
        assume_sorted: `x` is rising already.

    Raises:
        ShapeError: if there are not as many values as places.
        NotSupportedError: for another kind.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> from adjoint.scipy.interpolate import interp1d
        >>> ad.grad(lambda y: interp1d([0.0, 1.0, 2.0], y)(1.25))(np.zeros(3))
        array([0.  , 0.75, 0.25])
    """

    def __init__(
        self,
        x: Array,
        y: Array,
        kind: str = "linear",
        axis: int = -1,
        copy: bool = True,
        bounds_error: bool | None = None,
        fill_value: Array = np.nan,
        assume_sorted: bool = False,
    ) -> None:
        if kind != "linear":
            raise NotSupportedError(f"interp1d of kind {kind!r} has no rule; kind='linear', or CubicSpline(x, y)")
        self.x, self.y = _samples("interp1d", x, y, axis, 2)
        if not assume_sorted:
            order = np.argsort(constants(self.x), kind="stable")
            self.x, self.y = read(self.x, order), read(self.y, order)
        self.axis, self.fill_value = axis % self.y.ndim, fill_value
        given = not (isinstance(fill_value, float) and np.isnan(fill_value))
        self.bounds_error = not given if bounds_error is None else bounds_error

    def __call__(self, x: Array) -> Array:
        """The value at each of `x`, whose shape stands in the place of `axis`."""
        x = array(x)
        flat = np.reshape(x, (-1,))
        low, high = constants(flat) < constants(self.x)[0], constants(flat) > constants(self.x)[-1]
        outside = np.any(raw(low) | raw(high))
        extrapolate = isinstance(self.fill_value, str)
        if outside and self.bounds_error and not extrapolate:
            raise ArgumentError(
                f"interp1d: queries lie outside of x, {np.min(raw(self.x)):g} … {np.max(raw(self.x)):g}; pass "
                f"fill_value='extrapolate' or a number"
            )
        i = _interval(self.x, flat)
        share = _column((flat - read(self.x, i)) / (read(self.x, i + 1) - read(self.x, i)), self.y)
        result = read(self.y, i) + share * (read(self.y, i + 1) - read(self.y, i))
        if outside and not extrapolate:
            fill = self.fill_value if isinstance(self.fill_value, tuple) else (self.fill_value, self.fill_value)
            result = np.where(_column(low, result), fill[0], np.where(_column(high, result), fill[1], result))
        return _placed(result, x.shape, self.axis)


def _placed(result: Any, shape: tuple[int, ...], axis: int) -> Any:
    """The results, one a row, in the shape of the queries, which stands where `axis` was."""
    rest = result.shape[1:]
    k = len(shape)
    result = np.reshape(result, shape + rest)
    order = [*range(k, k + axis), *range(k), *range(k + axis, k + len(rest))]
    return np.transpose(result, order)[()] if axis else result[()]


class _Hermite:
    """A cubic on every interval, from the values and the slopes at its ends."""

    def __init__(self, x: Array, y: Array, slopes: Any, axis: int, extrapolate: Any) -> None:
        self.x, self.y, self.slopes, self.axis = x, y, slopes, axis
        self.extrapolate = True if extrapolate is None else extrapolate

    def __call__(self, x: Array, nu: int = 0, extrapolate: Any = None) -> Array:
        """The value, or the derivative of order `nu`, at each of `x`, whose shape stands in the place of `axis`."""
        query = array(x)
        flat = np.reshape(query, (-1,))
        i = _interval(self.x, flat)
        h = _column(read(self.x, i + 1) - read(self.x, i), self.y)
        s = _column(flat - read(self.x, i), self.y)
        y, slope = read(self.y, i), read(self.slopes, i)
        rise = (read(self.y, i + 1) - y) / h
        square = (3 * rise - 2 * slope - read(self.slopes, i + 1)) / h
        cube = (slope + read(self.slopes, i + 1) - 2 * rise) / (h * h)
        if nu == 0:
            result = y + s * (slope + s * (square + s * cube))
        elif nu == 1:
            result = slope + s * (2 * square + s * (3 * cube))
        elif nu == 2:
            result = 2 * square + s * (6 * cube)
        else:
            result = 6 * cube if nu == 3 else np.zeros_like(cube)
        inside = self.extrapolate if extrapolate is None else extrapolate
        if not inside:
            values = constants(flat)
            outside = np.logical_or(values < constants(self.x)[0], values > constants(self.x)[-1])
            result = np.where(_column(outside, result), np.nan, result)
        return _placed(result, query.shape, self.axis)

    def integrate(self, a: Array, b: Array) -> Array:
        """The integral from `a` to `b`, two numbers or tensors."""
        return self._from_start(b) - self._from_start(a)

    def _from_start(self, end: Any) -> Any:
        """The integral from the first knot."""
        end = array(end)
        last = int(_interval(self.x, end))
        total: Array = 0.0
        for i in range(last + 1):
            h = self.x[i + 1] - self.x[i]
            s = (end if i == last else self.x[i + 1]) - self.x[i]
            y, slope, after = self.y[i], self.slopes[i], self.slopes[i + 1]
            rise = (self.y[i + 1] - y) / h
            square, cube = (3 * rise - 2 * slope - after) / h, (slope + after - 2 * rise) / (h * h)
            total = total + s * (y + s * (slope / 2 + s * (square / 3 + s * cube / 4)))
        return total


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

    def __init__(self, x: Array, y: Array, axis: int = 0, bc_type: Any = "not-a-knot", extrapolate: Any = None) -> None:
        x, y = _samples("CubicSpline", x, y, axis, 2)
        _rising("CubicSpline", x)
        super().__init__(x, y, _spline_slopes(x, y, bc_type), axis % y.ndim, extrapolate)


def _condition(name: Any, y: Array) -> tuple[int, Any] | None:
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


def _spline_slopes(x: Array, y: Array, bc_type: Any) -> Array:
    n = x.shape[0]
    start, end = (_condition(c, y) for c in ((bc_type, bc_type) if isinstance(bc_type, str) else bc_type))
    h = np.diff(x)
    rise = np.diff(y, axis=0) / _column(h, y)
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
    weights = _column(h, y)
    inner = 3 * (weights[1:] * rise[:-1] + weights[:-1] * rise[1:])
    right = np.concatenate([first[2][None], inner, last[2][None]])
    flat = np.reshape(right, (n, -1))
    return np.reshape(solve_banded((1, 1), np.stack([upper, main, lower]), flat), y.shape)


def _end_row(condition: Array, h: Array, rise: Any, y: Array, side: float = 1.0) -> tuple[Any, Any, Any]:
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

    def __init__(self, x: Array, y: Array, axis: int = 0, extrapolate: Any = None) -> None:
        x, y = _samples("PchipInterpolator", x, y, axis, 2)
        _rising("PchipInterpolator", x)
        super().__init__(x, y, _monotone_slopes(x, y), axis % y.ndim, extrapolate)


def _monotone_slopes(x: Array, y: Array) -> Array:
    h = _column(np.diff(x), y)
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


def _monotone_end(h0: Array, h1: Any, rise0: Any, rise1: Any) -> Array:
    """The parabola's slope at an end, held back where it would overshoot."""
    slope = ((2 * h0 + h1) * rise0 - h0 * rise1) / (h0 + h1)
    turned = np.not_equal(np.sign(slope), np.sign(rise0))
    steep = np.logical_and(np.not_equal(np.sign(rise0), np.sign(rise1)), np.abs(slope) > 3 * np.abs(rise0))
    return np.where(turned, 0.0, np.where(steep, 3 * rise0, slope))


class RegularGridInterpolator:
    """`scipy.interpolate.RegularGridInterpolator` with method="linear": on a grid of any number of dimensions.

    Args:
        points: the grid's places along each axis, strictly rising.
        values: of shape (n_1, …, n_d, …).
        method: "linear".
        bounds_error: refuse queries outside of the grid.
        fill_value: what to give there otherwise; None to extrapolate.

    Raises:
        ShapeError: if `values` do not fit the grid.
        NotSupportedError: for another method.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> from adjoint.scipy.interpolate import RegularGridInterpolator
        >>> f = RegularGridInterpolator(([0.0, 1.0], [0.0, 1.0]), np.array([[0.0, 1.0], [2.0, 4.0]]))
        >>> ad.grad(lambda q: f(q)[0])(np.array([[0.5, 0.5]]))
        array([[2.5, 1.5]])
    """

    def __init__(
        self,
        points: Array,
        values: Array,
        method: str = "linear",
        bounds_error: bool = True,
        fill_value: Array = np.nan,
    ) -> None:
        if method != "linear":
            raise NotSupportedError(f"RegularGridInterpolator of method {method!r} has no rule; method='linear' has")
        self.grid = [_rising("RegularGridInterpolator", array(p)) for p in points]
        self.values, self.bounds_error, self.fill_value = array(values), bounds_error, fill_value
        sizes = tuple(p.shape[0] for p in self.grid)
        if self.values.shape[: len(sizes)] != sizes:
            raise ShapeError(f"RegularGridInterpolator: a grid of {sizes} places takes values of shape "
                             f"{(*sizes, '…')}; got {self.values.shape}")  # fmt: skip

    def __call__(self, xi: Any) -> Any:
        """The values at the queries `xi`, (..., d); or a tuple of d arrays that broadcast."""
        if isinstance(xi, tuple):
            xi = np.stack(np.broadcast_arrays(*map(array, xi)), axis=-1)
        xi, d = array(xi), len(self.grid)
        if xi.shape[-1:] != (d,) and not (d == 1 and xi.ndim == 1):
            raise ShapeError(f"RegularGridInterpolator in {d} dimensions takes queries (..., {d}); got {xi.shape}")
        shape = xi.shape[:-1] if xi.shape[-1:] == (d,) else xi.shape
        flat = np.reshape(xi, (-1, d))
        q: Array = constants(flat)
        outside: Any = np.zeros(len(q), bool)
        corners: list[tuple[Any, Any]] = [((), 1.0)]
        for k, grid in enumerate(self.grid):
            outside = outside | (q[:, k] < constants(grid)[0]) | (q[:, k] > constants(grid)[-1])
            i = _interval(grid, flat[:, k])
            share = (flat[:, k] - read(grid, i)) / (read(grid, i + 1) - read(grid, i))
            corners = [
                ((*index, i + up), weight * (share if up else 1 - share)) for index, weight in corners for up in (0, 1)
            ]
        anywhere = np.any(raw(outside))
        if anywhere and self.bounds_error:
            raise ArgumentError("RegularGridInterpolator: queries lie outside of the grid; pass bounds_error=False")
        values = [(read(self.values, index), weight) for index, weight in corners]
        result = sum(_column(weight, value) * value for value, weight in values)
        if anywhere and self.fill_value is not None:
            result = np.where(_column(outside, result), self.fill_value, result)
        return np.reshape(result, (*(shape or (1,)), *self.values.shape[d:]))
