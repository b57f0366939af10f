"""Lines between samples: `interp1d`."""

from __future__ import annotations

import numpy as np

from adjoint.core.box import raw
from adjoint.core.errors import ArgumentError
from adjoint.core.types import Array
from adjoint.ops.indexing.reading import read
from adjoint.scipy.arrays import array, constants
from adjoint.scipy.interpolate.bsplines import make_interp_spline
from adjoint.scipy.interpolate.samples import column, interval, placed, samples

_DEGREES: dict[str | int, int] = {"zero": 0, "slinear": 1, "quadratic": 2, "cubic": 3}
_STEPS = ("nearest", "nearest-up", "previous", "next")


class interp1d:  # noqa: N801 - SciPy's name
    """`scipy.interpolate.interp1d`: lines, splines or steps between samples.

    Args:
        x: (n,).
        y: values, n of them along `axis`.
        kind: "linear"; "zero", "slinear", "quadratic", "cubic" or a degree, for splines, which have derivatives by `y`
            and queries; "nearest", "nearest-up", "previous" or "next", for steps.
        axis: of `y`.
        bounds_error: refuse queries outside of `x`; the default, unless `fill_value` is given.
        fill_value: what to give there: a number, a pair (below, above), or "extrapolate".
        assume_sorted: `x` is rising already.

    Raises:
        ShapeError: if there are not as many values as places.
        ArgumentError: for another kind.

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
        kind: str | int = "linear",
        axis: int = -1,
        copy: bool = True,
        bounds_error: bool | None = None,
        fill_value: Array = np.nan,
        assume_sorted: bool = False,
    ) -> None:
        degree: str | int = _DEGREES.get(kind, kind)
        if not (isinstance(degree, int) or kind in ("linear", *_STEPS)):
            raise ArgumentError(
                f"interp1d: kind is 'linear', {', '.join(map(repr, (*_DEGREES, *_STEPS)))} or a degree; got {kind!r}"
            )
        self.x, self.y = samples("interp1d", x, y, axis, 2)
        if not assume_sorted:
            order = np.argsort(constants(self.x), kind="stable")
            self.x, self.y = read(self.x, order), read(self.y, order)
        self.kind = kind
        self.spline = make_interp_spline(self.x, self.y, degree) if isinstance(degree, int) else None
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
        result = self._between(flat)
        if outside and not extrapolate:
            fill = self.fill_value if isinstance(self.fill_value, tuple) else (self.fill_value, self.fill_value)
            result = np.where(column(low, result), fill[0], np.where(column(high, result), fill[1], result))
        return placed(result, x.shape, self.axis)

    def _between(self, flat: Array) -> Array:
        """The values at queries (m,), one a row."""
        if self.spline is not None:
            return self.spline(flat)
        if self.kind in _STEPS:
            return read(self.y, self._step(constants(flat)))
        i = interval(self.x, flat)
        share = column((flat - read(self.x, i)) / (read(self.x, i + 1) - read(self.x, i)), self.y)
        return read(self.y, i) + share * (read(self.y, i + 1) - read(self.y, i))

    def _step(self, flat: Array) -> Array:
        """The number of the sample that each query gets."""
        x = constants(self.x)
        if self.kind == "previous":
            i = np.searchsorted(x, flat, side="right") - 1
        elif self.kind == "next":
            i = np.searchsorted(x, flat, side="left")
        else:
            middle = (x[1:] + x[:-1]) / 2
            i = np.searchsorted(middle, flat, side="right" if self.kind == "nearest-up" else "left")
        return np.clip(i, 0, x.shape[0] - 1)
