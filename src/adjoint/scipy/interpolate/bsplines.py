"""B-splines: `BSpline`, and fits of them to samples, which are linear in the values."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from scipy import interpolate

from adjoint.arrays.layered import Layered
from adjoint.core.box import Box
from adjoint.core.errors import NotSupportedError, ShapeError
from adjoint.core.protocol import in_graph
from adjoint.core.types import Array, Value
from adjoint.ops.indexing.reading import read
from adjoint.scipy.arrays import array, constants, plain
from adjoint.scipy.interpolate.samples import column, placed


class BSpline:
    """`scipy.interpolate.BSpline`: a sum of B-splines, with derivatives by places, coefficients and knots.

    Values come from de Boor's recurrence (C. de Boor, A Practical Guide to Splines, 1978, chapter 10).

    Args:
        t: knots (n + k + 1,), not falling.
        c: coefficients, n of them along `axis` (further ones are not used).
        k: the degree.
        extrapolate: with the outermost polynomials (the default); False for nan; "periodic".
        axis: of `c`.

    Raises:
        ShapeError: if there are too few coefficients or knots.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> from adjoint.scipy.interpolate import BSpline
        >>> ad.grad(lambda c: BSpline([0.0, 0.0, 1.0, 1.0], c, 1)(0.25))(np.zeros(2))
        array([0.75, 0.25])
    """

    def __init__(self, t: Array, c: Array, k: int, extrapolate: bool | str | None = True, axis: int = 0) -> None:
        t, c = array(t), array(c)
        axis = axis % max(c.ndim, 1)
        n = t.shape[0] - k - 1
        if c.ndim == 0 or t.ndim != 1 or n < k + 1 or c.shape[axis] < n:
            raise ShapeError(
                f"BSpline of degree {k} takes t of shape (n + {k + 1},), n at least {k + 1}, and n coefficients along "
                f"axis {axis}; got shapes {t.shape} and {c.shape}"
            )
        self._hold(t, np.moveaxis(c, axis, 0)[:n], k, extrapolate, axis)

    def _hold(self, t: Array, c: Array, k: int, extrapolate: bool | str | None, axis: int) -> None:
        self.t, self.c, self.k, self.extrapolate, self.axis = t, c, k, extrapolate, axis

    def _like(self, t: Array, c: Array, k: int) -> BSpline:
        made = object.__new__(BSpline)
        made._hold(t, c, k, self.extrapolate, self.axis)
        return made

    @property
    def tck(self) -> tuple[Array, Array, int]:
        """Knots, coefficients and degree."""
        return self.t, self.c, self.k

    def __call__(self, x: Array, nu: int = 0, extrapolate: bool | str | None = None) -> Array:
        """The value, or the derivative of order `nu`, at each of `x`, whose shape stands in the place of `axis`."""
        if nu:
            return self.derivative(nu)(x, 0, extrapolate)
        query = array(x)
        flat, t, k = np.reshape(query, (-1,)), self.t, self.k
        n = self.c.shape[0]
        inside = self.extrapolate if extrapolate is None else extrapolate
        if inside == "periodic":
            flat = t[k] + np.mod(flat - t[k], t[n] - t[k])
        values, knots = constants(flat), constants(t)
        i = np.clip(np.searchsorted(knots, values, side="right") - 1, k, n - 1)
        d = [read(self.c, i - k + j) for j in range(k + 1)]
        for r in range(1, k + 1):
            for j in range(k, r - 1, -1):
                low = read(t, i - k + j)
                share = column((flat - low) / (read(t, i + 1 + j - r) - low), self.c)
                d[j] = (1 - share) * d[j - 1] + share * d[j]
        result = d[k]
        if not inside:
            outside = np.logical_or(values < knots[k], values > knots[n])
            result = np.where(column(outside, result), np.nan, result)
        return placed(result, query.shape, self.axis)

    def derivative(self, nu: int = 1) -> BSpline:
        """The derivative of order `nu`, another one of these."""
        made = self if nu >= 0 else self.antiderivative(-nu)
        for _ in range(nu):
            t, c, k = made.t, made.c, made.k
            if k == 0:
                return made._like(t, np.zeros_like(c), 0)
            width = column(t[k + 1 : -1] - t[1 : -k - 1], c)
            empty = np.equal(constants(width), 0)  # between knots of full multiplicity, where nothing is
            c = np.where(empty, 0.0, k * np.diff(c, axis=0) / np.where(empty, 1.0, width))
            made = made._like(t[1:-1], c, k - 1)
        return made

    def antiderivative(self, nu: int = 1) -> BSpline:
        """The integral from the first knot, `nu` times."""
        made = self
        for _ in range(nu):
            t, c, k = made.t, made.c, made.k
            rise = c * column(t[k + 1 :] - t[: -k - 1], c) / (k + 1)
            whole = np.concatenate([np.zeros_like(rise[:1]), np.cumsum(rise, axis=0)])
            made = made._like(np.concatenate([t[:1], t, t[-1:]]), whole, k + 1)
        return made

    def integrate(self, a: Array, b: Array, extrapolate: bool | str | None = None) -> Array:
        """The integral from `a` to `b`, two numbers or tensors."""
        inside = self.extrapolate if extrapolate is None else extrapolate
        if inside == "periodic":
            raise NotSupportedError("the integral of a periodic spline has no rule; sum those of its periods")
        whole = self.antiderivative()
        return whole(b, 0, inside) - whole(a, 0, inside)


def known(name: str, x: Array) -> Array:
    """Places, knots or weights, as NumPy's array; None stays.

    Raises:
        NotSupportedError: if there is more in `x` than numbers that are the same for all samples.
    """
    while isinstance(x, Box):
        x, more = x.layers if isinstance(x, Layered) else (x.held, in_graph(x))
        if more is not None and more is not False:
            raise NotSupportedError(
                f"{name} has derivatives by its values y only, not by places, knots or weights; CubicSpline(x, y) and "
                f"PchipInterpolator(x, y) have some by x"
            )
    return None if x is None else plain(array(x))


def fitted(y: Array, fit: Callable[[Array], tuple[Array, Array]]) -> tuple[Array, Array]:
    """The knots, and the coefficients for the values `y` (n, …): of `fit`, which is linear and solved for each unit."""
    t, units = fit(np.eye(y.shape[0]))
    base = fit(np.zeros((y.shape[0], 1)))[1]  # what the conditions at the ends alone give
    rest = y.shape[1:]
    flat = (units - base) @ np.reshape(y, (y.shape[0], -1)) + base
    return t, np.reshape(flat, (units.shape[0], *rest))


def make_interp_spline(
    x: Array, y: Array, k: int = 3, t: Array = None, bc_type: Array = None, axis: int = 0, check_finite: bool = True
) -> BSpline:
    """`scipy.interpolate.make_interp_spline`: the spline of degree `k` through the samples, by values `y`.

    Raises:
        NotSupportedError: if `x` or `t` are tensors that need a gradient; `CubicSpline` has one by `x`.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> from adjoint.scipy.interpolate import make_interp_spline
        >>> x = np.arange(5.0)
        >>> ad.grad(lambda y: make_interp_spline(x, y, 1)(1.25))(x)
        array([0.  , 0.75, 0.25, 0.  , 0.  ])
    """
    y = np.moveaxis(array(y), axis, 0)
    places, knots = known("make_interp_spline", x), known("make_interp_spline", t)

    def fit(values: Array, given: Array = bc_type) -> tuple[Array, Array]:
        ends: Array = given
        if isinstance(given, tuple):
            ends = tuple(_spread(end, values.shape[1]) for end in given)
        made = interpolate.make_interp_spline(places, values, k, knots, ends, 0, check_finite)
        return made.t, made.c

    found, c = fitted(y, fit)
    for value, alone in _live_ends(bc_type):
        _, unit = fit(np.zeros((y.shape[0], 1)), alone)
        c = c + np.reshape(unit, (-1,) + (1,) * (y.ndim - 1)) * (value - constants(value))  # linear in the value
    made = BSpline(found, c, k)
    made.axis = axis % y.ndim
    return made


def _live_ends(given: Value) -> Iterator[tuple[Array, Value]]:
    """The values of conditions at the ends that are boxes; with each, the conditions where it is 1 and all else 0."""
    ends = given if isinstance(given, tuple) else ()
    for side, end in enumerate(ends):
        for place, (_, value) in enumerate(() if end is None or isinstance(end, str) else end):
            if isinstance(value, Box):
                yield (
                    value,
                    tuple(
                        e
                        if e is None or isinstance(e, str)
                        else [(order, float((s, i) == (side, place))) for i, (order, _) in enumerate(e)]
                        for s, e in enumerate(ends)
                    ),
                )


def _spread(end: Array, columns: int) -> Array:
    """A condition at an end, of values with so many columns."""
    if end is None or isinstance(end, str):
        return end
    return [(order, np.broadcast_to(plain(array(value)), (columns,))) for order, value in end]


def make_lsq_spline(
    x: Array, y: Array, t: Array, k: int = 3, w: Array = None, axis: int = 0, check_finite: bool = True, **_: object
) -> BSpline:
    """`scipy.interpolate.make_lsq_spline`: the spline with knots `t` that is nearest to the samples, by values `y`.

    Example:
        >>> import numpy as np
        >>> from adjoint.scipy import interpolate
        >>> knots = np.array([0.0, 0.0, 2.0, 4.0, 4.0])
        >>> float(interpolate.make_lsq_spline(np.arange(5.0), 3 * np.arange(5.0), knots, k=1)(1.5).round(6))
        4.5
    """
    y = np.moveaxis(array(y), axis, 0)
    places, knots, weights = (known("make_lsq_spline", z) for z in (x, t, w))

    def fit(values: Array) -> tuple[Array, Array]:
        made = interpolate.make_lsq_spline(places, values, knots, k, weights, 0, check_finite)
        return made.t, made.c

    found, c = fitted(y, fit)
    made = BSpline(found, c, k)
    made.axis = axis % y.ndim
    return made


def splrep(
    x: Array,
    y: Array,
    w: Array = None,
    xb: Array = None,
    xe: Array = None,
    k: int = 3,
    task: int = 0,
    s: float | None = None,
    t: Array = None,
    full_output: int = 0,
    per: int = 0,
    quiet: int = 1,
) -> tuple[Array, Array, int]:
    """`scipy.interpolate.splrep` through all samples (s=0), or with given knots (task=-1): (t, c, k), by values `y`.

    Raises:
        NotSupportedError: for s > 0, where the values choose the knots.

    Example:
        >>> import numpy as np
        >>> from adjoint.scipy import interpolate
        >>> knots, coefficients, degree = interpolate.splrep(np.arange(5.0), np.arange(5.0)**2)
        >>> degree
        3
    """
    chosen = (0.0 if w is None else 1.0) if s is None else s
    if (task == 0 and chosen != 0) or task == 1 or full_output:
        raise NotSupportedError(
            "splrep with s > 0 chooses its knots by the values, and has no rule; s=0, or give knots: "
            "make_lsq_spline(x, y, t)"
        )
    places, knots, weights = (known("splrep", z) for z in (x, t, w))

    def fit(values: Array) -> tuple[Array, Array]:
        made = [interpolate.splrep(places, v, weights, xb, xe, k, task, 0.0, knots, 0, per, quiet) for v in values.T]
        return made[0][0], np.stack([c for _, c, _ in made], axis=1)

    found, c = fitted(array(y), fit)
    return found, c, k


def splev(x: Array, tck: Array, der: int = 0, ext: int = 0) -> Array:
    """`scipy.interpolate.splev`: values, or derivatives of order `der`, of a spline (t, c, k), by `x` and `c`.

    `ext` says what is given outside of the knots: 0 the outermost polynomial, 1 zero, 2 an error, 3 the
    value at the end.

    Example:
        >>> import numpy as np
        >>> from adjoint.scipy import interpolate
        >>> interpolate.splev(1.5, interpolate.splrep(np.arange(5.0), np.arange(5.0)**2)).round(6)
        np.float64(2.25)
    """
    if isinstance(tck, BSpline | interpolate.BSpline):
        tck = tck.tck
    t, c, k = tck
    if isinstance(c, list | tuple):
        return [splev(x, (t, part, k), der, ext) for part in c]  # a curve: one spline a coordinate
    spline = BSpline(t, c, k)
    return extended(spline.derivative(der) if der else spline, spline, array(x), ext)


def extended(spline: BSpline, whole: BSpline, x: Array, ext: int | str) -> Array:
    n = whole.c.shape[0]
    low, high = plain(array(whole.t))[[whole.k, n]]
    values = constants(x)
    if ext in (3, "const"):  # derivatives go on, as SciPy's do
        return spline(np.clip(x, low, high) if spline is whole else x)
    outside = np.logical_or(values < low, values > high)
    if ext in (2, "raise") and np.any(outside):
        raise ValueError("splev: places lie outside of the knots, and ext=2 asks for an error")
    return np.where(outside, 0.0, spline(x)) if ext in (1, "zeros") else spline(x)
