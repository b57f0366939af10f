"""`PPoly`: a polynomial on every interval."""

from __future__ import annotations

from math import factorial, perm

import numpy as np
from scipy import interpolate

from adjoint.core.errors import NotSupportedError, ShapeError
from adjoint.core.types import Array, Value
from adjoint.ops.indexing.reading import read
from adjoint.scipy.arrays import array, constants
from adjoint.scipy.attached import attached
from adjoint.scipy.hosted import hosted
from adjoint.scipy.interpolate.bsplines import BSpline
from adjoint.scipy.interpolate.samples import column, interval, placed, rising


class PPoly:
    """`scipy.interpolate.PPoly`: from ``x[i]`` on, the polynomial of ``q - x[i]`` with coefficients ``c[:, i]``.

    Args:
        c: coefficients (k + 1, m, …), the highest power first; with `axis`, these two axes stand there.
        x: breakpoints (m + 1,), strictly rising.
        extrapolate: with the outermost polynomials (the default); False for nan; "periodic".
        axis: where the queries' shape stands in results.

    Raises:
        ShapeError: if there are not as many polynomials as intervals.
        ArgumentError: if `x` does not rise.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> from adjoint.scipy.interpolate import PPoly
        >>> ad.grad(PPoly(np.array([[1.0, 3.0], [0.0, 1.0]]), [0.0, 1.0, 2.0]))(1.5)
        np.float64(3.0)
    """

    def __init__(self, c: Array, x: Array, extrapolate: bool | str | None = None, axis: int = 0) -> None:
        c, x = array(c), array(x)
        axis = axis % max(c.ndim - 1, 1)
        c = np.moveaxis(c, (axis, axis + 1), (0, 1))
        if c.ndim < 2 or x.ndim != 1 or c.shape[1] != x.shape[0] - 1:
            raise ShapeError(f"PPoly takes c of shape (k, m, …) and x of shape (m + 1,); got {c.shape} and {x.shape}")
        self._hold(c, rising("PPoly", x), True if extrapolate is None else extrapolate, axis)

    def _hold(self, c: Array, x: Array, extrapolate: bool | str | None, axis: int) -> None:
        self.c, self.x, self.extrapolate, self.axis = c, x, extrapolate, axis

    def _like(self, c: Array) -> PPoly:
        made = object.__new__(PPoly)
        made._hold(c, self.x, self.extrapolate, self.axis)
        return made

    def __call__(self, x: Array, nu: int = 0, extrapolate: bool | str | None = None) -> Array:
        """The value, or the derivative of order `nu`, at each of `x`, whose shape stands in the place of `axis`."""
        query = array(x)
        flat = np.reshape(query, (-1,))
        inside = self.extrapolate if extrapolate is None else extrapolate
        if inside == "periodic":
            flat = self.x[0] + np.mod(flat - self.x[0], self.x[-1] - self.x[0])
        i, c = interval(self.x, flat), self.c if nu == 0 else self._shifted(nu).c
        s = column(flat - read(self.x, i), c[0])
        result = read(c[0], i)
        for row in c[1:]:
            result = result * s + read(row, i)
        if not inside:
            values = constants(flat)
            outside = np.logical_or(values < constants(self.x)[0], values > constants(self.x)[-1])
            result = np.where(column(outside, result), np.nan, result)
        return placed(result, query.shape, self.axis)

    def _shifted(self, nu: int) -> PPoly:
        return self.derivative(nu) if nu > 0 else self.antiderivative(-nu)

    def derivative(self, nu: int = 1) -> PPoly:
        """The derivative of order `nu`, another one of these."""
        if nu < 0:
            return self.antiderivative(-nu)
        k = self.c.shape[0]
        if nu >= k:
            return self._like(np.zeros_like(self.c[:1]))
        factors = np.array([perm(power, nu) for power in range(k - 1, nu - 1, -1)], float)
        return self._like(self.c[: k - nu] * column(factors, self.c))

    def antiderivative(self, nu: int = 1) -> PPoly:
        """The integral from the first breakpoint, `nu` times."""
        made = self
        for _ in range(nu):
            k = made.c.shape[0]
            c = made.c / column(np.arange(k, 0.0, -1), made.c)
            h = column(np.diff(made.x), c[0])
            whole = c[0] * h
            for row in c[1:]:
                whole = (whole + row) * h
            start = np.concatenate([np.zeros_like(whole[:1]), np.cumsum(whole, axis=0)[:-1]])
            made = made._like(np.concatenate([c, start[None]]))
        return made

    def integrate(self, a: Array, b: Array, extrapolate: bool | str | None = None) -> Array:
        """The integral from `a` to `b`, two numbers or tensors."""
        inside = self.extrapolate if extrapolate is None else extrapolate
        if inside == "periodic":
            raise NotSupportedError("the integral of a periodic interpolant has no rule; sum those of its periods")
        whole = self.antiderivative()
        return whole(b, 0, inside) - whole(a, 0, inside)

    def solve(self, y: Array = 0.0, discontinuity: bool = True, extrapolate: bool | str | None = None) -> Array:
        """Where the value is `y`, by coefficients, breakpoints and `y`. How many places there are is constant.

        Raises:
            NotSupportedError: if there are several functions, each with places of its own.

        Example:
            >>> import numpy as np, adjoint as ad
            >>> from adjoint.scipy.interpolate import CubicSpline
            >>> ad.grad(lambda y: CubicSpline(np.arange(5.0), y).roots()[0])(np.arange(5.0) - 2)[2].round(6)
            np.float64(-1.0)
        """
        if self.c.ndim != 2:
            raise NotSupportedError(
                f"{type(self).__name__}.solve of several functions at once gives a list for each; make one of each"
            )

        def found(c: Array, x: Array, y: Array) -> Array:
            whole = interpolate.PPoly.construct_fast(np.ascontiguousarray(c), x, self.extrapolate)
            return whole.solve(y, discontinuity, extrapolate)

        places = hosted(found, self.c, self.x, y)
        return attached(places, lambda at: self(at, 0, True) - y)

    def roots(self, discontinuity: bool = True, extrapolate: bool | str | None = None) -> Array:
        """Where the value is 0; see `solve`."""
        return self.solve(0.0, discontinuity, extrapolate)

    @classmethod
    def from_spline(cls, tck: Value, extrapolate: bool | str | None = None) -> PPoly:
        """The same function as a spline, which is a `BSpline` or its knots, coefficients and degree."""
        spline = tck if isinstance(tck, BSpline) else BSpline(tck[0], tck[1][: len(tck[0]) - tck[2] - 1], tck[2])
        at = spline.t[:-1]
        rows = [spline(at, power) / factorial(power) for power in range(spline.k, -1, -1)]
        made = object.__new__(PPoly)
        made._hold(np.stack(rows), spline.t, spline.extrapolate if extrapolate is None else extrapolate, 0)
        return made
