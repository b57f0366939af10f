"""Splines over a rectangle: products of B-splines along two axes."""

from __future__ import annotations

import numpy as np

from adjoint.core.errors import NotSupportedError, ShapeError
from adjoint.core.types import Array, Value
from adjoint.scipy.arrays import array
from adjoint.scipy.interpolate.bsplines import BSpline, make_interp_spline


class RectBivariateSpline:
    """`scipy.interpolate.RectBivariateSpline` through all values, with derivatives by values and queries.

    Args:
        x, y: the places (m,) and (n,), rising; plain numbers.
        z: the values (m, n).
        bbox: as SciPy's; only the places' own range.
        kx, ky: degrees, 1 to 5.
        s: 0; a smoothed surface would choose its knots by the values.
        maxit: as SciPy's, without effect.

    Raises:
        ShapeError: if `z` is not (m, n).
        NotSupportedError: for ``s > 0``, another `bbox`, or places that need a gradient.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> from adjoint.scipy.interpolate import RectBivariateSpline
        >>> x = np.arange(5.0)
        >>> f = RectBivariateSpline(x, x, np.outer(x**2, x))
        >>> ad.grad(lambda q: f(q[0], q[1])[0, 0])(np.array([1.5, 2.0])).round(9)
        array([6.  , 2.25])
    """

    def __init__(
        self, x: Array, y: Array, z: Array, bbox: Value = (None,) * 4, kx: int = 3, ky: int = 3, s: float = 0,
        maxit: int = 20,
    ) -> None:  # fmt: skip
        if s or any(end is not None for end in bbox):
            raise NotSupportedError("RectBivariateSpline of tensors goes through all values of its range: s=0, no bbox")
        z = array(z)
        if z.ndim != 2 or z.shape != (np.size(x), np.size(y)):
            raise ShapeError(f"RectBivariateSpline takes x (m,), y (n,) and z (m, n); got z of shape {z.shape}")
        down = make_interp_spline(x, z, kx)
        across = make_interp_spline(y, down.c, ky, axis=1)
        self._hold((down.t, across.t), np.swapaxes(across.c, 0, 1), (kx, ky))

    def _hold(self, knots: tuple[Array, Array], c: Array, degrees: tuple[int, int]) -> None:
        self._knots, self._c, self._degrees = knots, c, degrees

    def _basis(self, axis: int, at: Array, order: int) -> Array:
        """The B-splines along an axis at the places `at`, kept inside of the range: (…, number of B-splines)."""
        t, k = self._knots[axis], self._degrees[axis]
        return BSpline(t, np.eye(self._c.shape[axis]), k)(np.clip(at, t[k], t[-k - 1]), order)

    def __call__(self, x: Array, y: Array, dx: int = 0, dy: int = 0, grid: bool = True) -> Array:
        """Values, or derivatives of orders `dx` and `dy`: at all pairs of `x` and `y`, or, without `grid`, at each."""
        if not grid:
            return self.ev(x, y, dx, dy)
        rows, columns = (self._basis(k, np.reshape(array(q), (-1,)), n) for k, q, n in ((0, x, dx), (1, y, dy)))
        return np.matmul(np.matmul(rows, self._c), np.swapaxes(columns, 0, 1))

    def ev(self, xi: Array, yi: Array, dx: int = 0, dy: int = 0) -> Array:
        """The same at each pair of the queries, which are broadcast against each other."""
        xi, yi = np.broadcast_arrays(array(xi), array(yi))
        rows, columns = self._basis(0, xi, dx), self._basis(1, yi, dy)
        return np.sum(np.matmul(rows, self._c) * columns, axis=-1)
