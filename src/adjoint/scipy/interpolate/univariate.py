"""Splines as FITPACK's: fits through samples by an object, and where they are 0."""

from __future__ import annotations

import numpy as np
from scipy import interpolate

from adjoint.core.errors import ArgumentError, NotSupportedError
from adjoint.core.types import Array, Value
from adjoint.scipy.arrays import array, plain
from adjoint.scipy.attached import attached
from adjoint.scipy.hosted import hosted
from adjoint.scipy.interpolate.bsplines import BSpline, extended, fitted, known


class InterpolatedUnivariateSpline:
    """`scipy.interpolate.InterpolatedUnivariateSpline`: the spline of degree `k` through the samples, by values `y`.

    Example:
        >>> import numpy as np
        >>> from adjoint.scipy import interpolate
        >>> interpolate.InterpolatedUnivariateSpline(np.arange(5.0), np.arange(5.0)**2)(1.5)
        np.float64(2.250000000000001)
    """

    def __init__(
        self, x: Array, y: Array, w: Array = None, bbox: Array = (None, None), k: int = 3, ext: int | str = 0,
        check_finite: bool = False,
    ) -> None:  # fmt: skip
        places, weights = known("InterpolatedUnivariateSpline", x), known("InterpolatedUnivariateSpline", w)

        def fit(values: Array) -> tuple[Array, Array]:
            made = [
                _univariate(interpolate.InterpolatedUnivariateSpline(places, v, weights, bbox, k)) for v in values.T
            ]
            return made[0][0], np.stack([c for _, c, _ in made], axis=1)

        t, c = fitted(array(y), fit)
        self._spline, self._ext = BSpline(t, c, k), ext

    def __call__(self, x: Array, nu: int = 0, ext: int | str | None = None) -> Array:
        """The value, or the derivative of order `nu`, at each of `x`."""
        spline = self._spline.derivative(nu) if nu else self._spline
        return extended(spline, self._spline, array(x), self._ext if ext is None else ext)

    def derivative(self, n: int = 1) -> InterpolatedUnivariateSpline:
        """The derivative of order `n`, another one of these."""
        return _of_spline(self._spline.derivative(n), self._ext)

    def antiderivative(self, n: int = 1) -> InterpolatedUnivariateSpline:
        """The integral from the first knot, `n` times."""
        return _of_spline(self._spline.antiderivative(n), self._ext)

    def roots(self) -> Array:
        """Where a cubic spline is 0. How many places there are is constant.

        Example:
            >>> import numpy as np, adjoint as ad
            >>> from adjoint.scipy.interpolate import InterpolatedUnivariateSpline
            >>> x = np.arange(5.0)
            >>> ad.grad(lambda y: InterpolatedUnivariateSpline(x, y).roots()[0])(x - 2)[2].round(6)
            np.float64(-1.0)
        """
        return sproot((self._spline.t, self._spline.c, self._spline.k))

    def integral(self, a: Array, b: Array) -> Array:
        """The integral from `a` to `b`; outside of the samples the spline is 0, as SciPy has it."""
        t = plain(array(self._spline.t))
        return self._spline.integrate(np.clip(array(a), t[0], t[-1]), np.clip(array(b), t[0], t[-1]))


def _univariate(spline: Array) -> tuple[Array, Array, int]:
    """Knots, coefficients and degree of one of SciPy's."""
    t, c, k = spline._eval_args
    return t, c[: len(t) - k - 1], k


class UnivariateSpline(InterpolatedUnivariateSpline):
    """`scipy.interpolate.UnivariateSpline` with s=0. Of one that SciPy fitted, the values at tensors have derivatives.

    Raises:
        NotSupportedError: for s > 0 with values that are tensors: these choose the knots.

    Example:
        >>> import numpy as np
        >>> from adjoint.scipy import interpolate
        >>> interpolate.UnivariateSpline(np.arange(5.0), np.arange(5.0)**2, s=0)(1.5)
        np.float64(2.250000000000001)
    """

    def __init__(
        self, x: Array, y: Array, w: Array = None, bbox: Array = (None, None), k: int = 3, s: float | None = None,
        ext: int | str = 0, check_finite: bool = False,
    ) -> None:  # fmt: skip
        if s != 0:
            raise NotSupportedError(
                "UnivariateSpline with s > 0 chooses its knots by the values, and has no rule; s=0, or give knots: "
                "make_lsq_spline(x, y, t)"
            )
        super().__init__(x, y, w, bbox, k, ext)


def of_univariate(spline: Array) -> InterpolatedUnivariateSpline:
    """The same of one that SciPy fitted."""
    return _of_spline(BSpline(*_univariate(spline)), spline.ext)


def _of_spline(spline: BSpline, ext: int | str) -> InterpolatedUnivariateSpline:
    made = object.__new__(InterpolatedUnivariateSpline)
    made._spline, made._ext = spline, ext
    return made


def sproot(tck: Value, mest: int = 10) -> Array:
    """`scipy.interpolate.sproot`: where a cubic spline, its knots, coefficients and degree, is 0.

    Args:
        tck: as `splrep` gives it; the coefficients, and knots, may be tensors.
        mest: how many roots there may be; raised as needed where SciPy's own bound would cut them off.

    Raises:
        ArgumentError: if the degree is not 3.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> from adjoint.scipy.interpolate import splrep, sproot
        >>> x = np.arange(5.0)
        >>> ad.grad(lambda level: sproot(splrep(x, x**2 - level))[0])(4.0).round(6)  # half the inverse of the root
        np.float64(0.25)
    """
    t, c, k = (tck.t, tck.c, tck.k) if isinstance(tck, BSpline) else tck
    if k != 3:
        raise ArgumentError(f"sproot takes splines of degree 3; got {k}")
    spline = BSpline(t, c[: np.shape(t)[0] - 4], 3)
    many = max(mest, 3 * (np.shape(t)[0] - 7))
    places = hosted(lambda t, c: interpolate.sproot((t, np.append(c, np.zeros(4)), 3), many), t, spline.c)
    return attached(places, spline)
