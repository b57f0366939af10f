"""Interpolation on grids of any number of dimensions: lines, splines, monotone cubics, steps."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import interpolate as theirs

from adjoint.core.box import raw
from adjoint.core.errors import ArgumentError, ShapeError
from adjoint.core.types import Array, Index, Value
from adjoint.ops.indexing.reading import read
from adjoint.scipy.arrays import array, constants
from adjoint.scipy.hosted import hosted
from adjoint.scipy.interpolate.bsplines import BSpline, make_interp_spline
from adjoint.scipy.interpolate.cubics import PchipInterpolator
from adjoint.scipy.interpolate.samples import column, interval, rising

_DEGREES = {"slinear": 1, "cubic": 3, "quintic": 5}
_DEGREES |= {f"{name}_legacy": degree for name, degree in _DEGREES.items()}
_METHODS = ("linear", "nearest", "pchip", *_DEGREES)


class RegularGridInterpolator:
    """`scipy.interpolate.RegularGridInterpolator`: on a grid of any number of dimensions, by values and queries.

    Args:
        points: the grid's places along each axis, strictly rising or falling. With "linear" and "pchip" they may be
            tensors.
        values: of shape (n_1, …, n_d, …).
        method: "linear", "nearest", "slinear", "cubic", "quintic" or "pchip".
        bounds_error: refuse queries outside of the grid.
        fill_value: what to give there otherwise; None to extrapolate.
        solver, solver_args: as SciPy's, for the coefficients of splines. Derivatives are those of the exact ones.

    Raises:
        ShapeError: if `values` do not fit the grid.
        ArgumentError: for another method.

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
        *,
        solver: Value = None,
        solver_args: Value = None,
    ) -> None:
        if method not in _METHODS:
            raise ArgumentError(
                f"RegularGridInterpolator: method is one of {', '.join(map(repr, _METHODS))}; got {method!r}"
            )
        grid, values = [array(p) for p in points], array(values)
        sizes = tuple(p.shape[0] for p in grid)
        if values.shape[: len(sizes)] != sizes:
            raise ShapeError(f"RegularGridInterpolator: a grid of {sizes} places takes values of shape "
                             f"{(*sizes, '…')}; got {values.shape}")  # fmt: skip
        falling = [k for k, p in enumerate(grid) if p.shape[0] > 1 and np.all(np.diff(raw(p)) < 0)]
        self.grid = [rising("RegularGridInterpolator", p[::-1] if k in falling else p) for k, p in enumerate(grid)]
        self.values = np.flip(values, tuple(falling)) if falling else values
        self.method, self.bounds_error, self.fill_value = method, bounds_error, fill_value
        self._solver = {"solver": solver, "solver_args": solver_args}
        self._splines: dict[str, tuple[list[Array], Array]] = {}

    def __call__(self, xi: Array, method: str | None = None, *, nu: Sequence[int] | None = None) -> Array:
        """The values at the queries `xi`, (..., d); or a tuple of d arrays that broadcast.

        Args:
            xi: where.
            method: another one than the interpolator's.
            nu: for splines, the order of the derivative along each axis.
        """
        method = self.method if method is None else method
        if isinstance(xi, tuple):
            xi = np.stack(np.broadcast_arrays(*map(array, xi)), axis=-1)
        xi, d = array(xi), len(self.grid)
        if xi.shape[-1:] != (d,) and not (d == 1 and xi.ndim == 1):
            raise ShapeError(f"RegularGridInterpolator in {d} dimensions takes queries (..., {d}); got {xi.shape}")
        if nu is not None and method not in ("slinear", "cubic", "quintic"):
            raise ArgumentError(f"RegularGridInterpolator: nu is for 'slinear', 'cubic' and 'quintic'; got {method!r}")
        shape = xi.shape[:-1] if xi.shape[-1:] == (d,) else xi.shape
        flat = np.reshape(xi, (-1, d))
        q: Array = constants(flat)
        outside: Array = np.zeros(len(q), bool)
        for k, grid in enumerate(self.grid):
            outside = outside | (q[:, k] < constants(grid)[0]) | (q[:, k] > constants(grid)[-1])
        anywhere = np.any(raw(outside))
        if anywhere and self.bounds_error:
            raise ArgumentError("RegularGridInterpolator: queries lie outside of the grid; pass bounds_error=False")
        if method in _DEGREES:
            result = self._by_splines(flat, method, nu or (0,) * d)
        elif method == "pchip":
            result = self._monotone(flat)
        else:
            result = self._from_corners(flat, method == "nearest")
        if anywhere and self.fill_value is not None:
            result = np.where(column(outside, result), self.fill_value, result)
        return np.reshape(result, (*(shape or (1,)), *self.values.shape[d:]))

    def _from_corners(self, flat: Array, nearest: bool) -> Array:
        corners: list[tuple[Index, Array]] = [((), 1.0)]
        for k, grid in enumerate(self.grid):
            i = interval(grid, flat[:, k])
            share = (flat[:, k] - read(grid, i)) / (read(grid, i + 1) - read(grid, i))
            if nearest:
                corners = [((*corners[0][0], i + (constants(share) > 0.5)), 1.0)]
                continue
            corners = [
                ((*index, i + up), weight * (share if up else 1 - share)) for index, weight in corners for up in (0, 1)
            ]
        if nearest:
            return read(self.values, corners[0][0])
        values = [(read(self.values, index), weight) for index, weight in corners]
        return sum(column(weight, value) * value for value, weight in values)

    def _by_splines(self, flat: Array, method: str, nu: Sequence[int]) -> Array:
        """The tensor product of splines along each axis."""
        degree = _DEGREES[method]
        if method not in self._splines:
            knots, c = [], self.values
            for k, grid in enumerate(self.grid):
                along = make_interp_spline(grid, c, degree, axis=k)
                knots.append(along.t)
                c = np.moveaxis(along.c, 0, k)
            self._splines[method] = knots, c if "legacy" in method else self._near(method, c)
        knots, result = self._splines[method]
        for k, t in enumerate(knots):
            basis = BSpline(t, np.eye(t.shape[0] - degree - 1), degree)(flat[:, k], nu[k])
            if k == 0:
                result = np.tensordot(basis, result, 1)
            else:
                result = np.sum(np.reshape(basis, (*basis.shape, *(1,) * (result.ndim - 2))) * result, axis=1)
        return result

    def _near(self, method: str, c: Array) -> Array:
        """`c`, with the numbers that SciPy's iterative solver finds for it."""

        def found(values: Array) -> Array:
            return theirs.RegularGridInterpolator(self.grid, values, method, **self._solver)._spline.c

        return c + (hosted(found, self.values) - constants(c))

    def _monotone(self, flat: Array) -> Array:
        """Monotone cubics along the last axis for all queries, then along each other axis for each one's values."""
        result, last = self.values, len(self.grid) - 1
        for k in range(last, -1, -1):
            grid = self.grid[k]
            pieces = PchipInterpolator(grid, result, k + (k < last)).c
            i = interval(grid, flat[:, k])
            at: Index = i if k == last else (i, np.arange(flat.shape[0]))
            rows = [read(row, at) for row in pieces]
            s = column(flat[:, k] - read(grid, i), rows[0])
            result = rows[0]
            for row in rows[1:]:
                result = result * s + row
        return result


def of_grid(interpolant: Value) -> RegularGridInterpolator:
    """One that SciPy made, with the coefficients that it has found."""
    made = RegularGridInterpolator(
        interpolant.grid, interpolant.values, interpolant.method, interpolant.bounds_error, interpolant.fill_value
    )
    if interpolant._spline is not None:
        made._splines[interpolant.method] = list(interpolant._spline.t), interpolant._spline.c
    return made
