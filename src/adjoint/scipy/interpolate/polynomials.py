"""One polynomial through all samples."""

from __future__ import annotations

import numpy as np

from adjoint.core.types import Array
from adjoint.scipy.arrays import array
from adjoint.scipy.interpolate.samples import column, placed, samples


class KroghInterpolator:
    """`scipy.interpolate.KroghInterpolator` at distinct places: the polynomial through all samples.

    It is computed by divided differences.

    Args:
        xi: (n,), all different.
        yi: values, n of them along `axis`.
        axis: of `yi`.

    Raises:
        ShapeError: if there are not as many values as places.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> from adjoint.scipy.interpolate import KroghInterpolator
        >>> x = np.arange(4.0)
        >>> ad.grad(KroghInterpolator(x, x**3))(1.5).round(12)
        np.float64(6.75)
    """

    def __init__(self, xi: Array, yi: Array, axis: int = 0) -> None:
        self.xi, y = samples("KroghInterpolator", xi, yi, axis, 1)
        self.axis = axis % y.ndim
        rows = [y[0]]
        for order in range(1, self.xi.shape[0]):
            y = np.diff(y, axis=0) / column(self.xi[order:] - self.xi[:-order], y)
            rows.append(y[0])
        self.c: Array = np.stack(rows)

    def __call__(self, x: Array) -> Array:
        """The value at each of `x`, whose shape stands in the place of `axis`."""
        query = array(x)
        flat = column(np.reshape(query, (-1,)), self.c)
        result = self.c[-1] * np.ones_like(flat)
        for i in range(self.xi.shape[0] - 2, -1, -1):
            result = result * (flat - self.xi[i]) + self.c[i]
        return placed(result, query.shape, self.axis)


class BarycentricInterpolator(KroghInterpolator):
    """`scipy.interpolate.BarycentricInterpolator`: the same polynomial.

    Example:
        >>> import numpy as np
        >>> from adjoint.scipy import interpolate
        >>> interpolate.BarycentricInterpolator(np.arange(5.0), np.arange(5.0)**2)(1.5)
        np.float64(2.25)
    """

    def __init__(self, xi: Array, yi: Array, axis: int = 0, **_: object) -> None:
        super().__init__(xi, yi, axis)


def krogh_interpolate(xi: Array, yi: Array, x: Array, *, axis: int = 0) -> Array:
    """`scipy.interpolate.krogh_interpolate` at distinct places: values of the polynomial through all samples.

    Example:
        >>> import numpy as np
        >>> from adjoint.scipy import interpolate
        >>> interpolate.krogh_interpolate(np.arange(5.0), np.arange(5.0)**2, 1.5)
        np.float64(2.25)
    """
    return KroghInterpolator(xi, yi, axis)(x)


def barycentric_interpolate(xi: Array, yi: Array, x: Array, axis: int = 0, **_: object) -> Array:
    """`scipy.interpolate.barycentric_interpolate`: the same polynomial.

    Example:
        >>> import numpy as np
        >>> from adjoint.scipy import interpolate
        >>> interpolate.barycentric_interpolate(np.arange(5.0), np.arange(5.0)**2, 1.5)
        np.float64(2.25)
    """
    return KroghInterpolator(xi, yi, axis)(x)
