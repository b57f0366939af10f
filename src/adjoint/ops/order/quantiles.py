"""Order statistics: median, quantile, percentile."""

from __future__ import annotations

import math

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from adjoint.core.backend import beside, is_elsewhere, is_foreign, maybe_any, surely_all, surely_any
from adjoint.core.box import Box, raw, varies
from adjoint.core.constructors import composite, general
from adjoint.core.errors import NotSupportedError, ShapeError
from adjoint.core.memory import NEW_C, ordered
from adjoint.core.messages.meanings import note
from adjoint.core.messages.unpacked import alone
from adjoint.core.op import call
from adjoint.core.protocol import detached, in_graph, put
from adjoint.core.types import Array, Axis, DType, Value
from adjoint.ops.reductions.moments import float_of, over, summed_into
from adjoint.ops.reductions.sums import axes_of, shared
from adjoint.ops.values import on_values, values_of


def _shares(g: Array, a: Array, out: Array) -> Array:
    """Each rank's cotangent, evenly to all elements of that value."""
    ranks = [slice(k, k + 1) for k in range(np.shape(out)[-1])]
    if not ranks:
        return np.zeros_like(a)
    return sum((shared(g[..., k], np.equal(a, out[..., k]), -1) for k in ranks), 0.0)


def _mean_of_equals(t: Array, a: Array, out: Array) -> Array:
    """Each rank's tangent: the mean over all elements of that value."""
    won = np.equal(a[..., None, :], out[..., :, None])
    with np.errstate(invalid="ignore"):  # as above
        count = np.sum(won, axis=-1)
        if out.dtype.char == "e":  # it ends at 65504
            total = np.sum(np.where(won, t[..., None, :], 0.0), axis=-1, dtype=np.float32)
            return (total / count.astype(np.float32)).astype(out.dtype)
        return np.sum(np.where(won, t[..., None, :], 0.0), axis=-1) / count.astype(out.dtype)


@general(
    vjp=_shares,
    jvp=_mean_of_equals,
    batch="leading",
    flags=("selects", "finite"),
    samples=lambda r: [call(r(5), ranks=(0, 3, 3)), call(r(2, 5), ranks=(2,))],
)
def order_statistics(a: Array, /, ranks: Value = (0,)) -> Array:
    """The elements that sorting along the last axis would bring to `ranks`; nan counts as largest."""
    return np.partition(a, sorted(set(ranks)), axis=-1)[..., list(ranks)]


@general(
    vjps=(_shares, None),
    jvps=(_mean_of_equals, None),
    batch="leading",
    flags=("selects", "finite"),
    samples=lambda r: [call(r(2, 5), np.array([[0, 1], [4, 2]]))],
)
def statistics_of_rows(a: Array, ranks: Array, /) -> Array:
    """The same for `ranks` with a row of whole numbers for each row of `a`."""
    return np.take_along_axis(np.sort(a, axis=-1), ranks, axis=-1)


# Where a quantile stands between the ranks 0 … n - 1, as n q + alpha + q (1 - alpha - beta) - 1:
# Hyndman and Fan, Sample Quantiles in Statistical Packages, 1996.
_CONTINUOUS = {
    "linear": (1.0, 1.0),
    "hazen": (0.5, 0.5),
    "weibull": (0.0, 0.0),
    "median_unbiased": (1 / 3, 1 / 3),
    "normal_unbiased": (3 / 8, 3 / 8),
    "interpolated_inverted_cdf": (0.0, 1.0),
}


def _constant(q: Array, method: str) -> Array:
    if in_graph(q):
        raise NotSupportedError(
            f"the quantile method {method!r} moves in steps, so it has no derivative in `q`; pass q.detach(), or "
            f"choose one of: {', '.join(_CONTINUOUS)}"
        )
    return values_of(q)


def position_of(n: int, q: Array, method: str) -> Array:
    """The rank at which quantile `q` of `n` elements stands; a fraction stands between two elements."""
    if method not in _CONTINUOUS:
        # The quantile of the ranks themselves is the rank of the quantile.
        steps = _constant(q, method)
        return np.quantile(np.arange(n, dtype=float), steps, method=method)  # type: ignore[call-overload]  # any str
    alpha, beta = _CONTINUOUS[method]
    # In the order of NumPy's steps: in float32 another order is another quantile.
    return (n - 1) * q if method == "linear" else n * q + (alpha + q * (1 - alpha - beta)) - 1


def as_rows(a: Array, axis: Axis) -> tuple[Array, tuple[int, ...]]:
    """`a` with the axes to reduce made into one last axis, and the shape that the result has with keepdims."""
    shape = np.shape(a)
    axes = tuple(range(len(shape))) if axis is None else normalize_axis_tuple(axis, len(shape))
    rest = tuple(i for i in range(len(shape)) if i not in axes)
    if rest + axes != tuple(range(len(shape))):
        a = np.transpose(a, rest + axes)
    kept = tuple(1 if i in axes else n for i, n in enumerate(shape))
    return np.reshape(a, (*(shape[i] for i in rest), math.prod(shape[i] for i in axes))), kept


def dtype_of_any(a: Array) -> DType:
    return np.result_type(a if hasattr(a, "dtype") else np.asarray(a))  # a list would be the description of a dtype


def as_fraction(q: Array, dtype: DType, scale: float = 1.0) -> Array:
    if dtype.kind == "c":
        raise TypeError("a quantile is of real numbers; got complex ones, which have no order. Take np.abs of them")
    weak = type(q) in (int, float) and dtype.kind == "f"  # which does not promote
    q = q if weak or isinstance(q, Box) or is_foreign(q) else np.asarray(q)
    q = q / scale if scale != 1 else q
    if surely_any(raw(q) < 0) or surely_any(raw(q) > 1):
        raise ValueError(f"quantiles lie in [0, {int(scale)}]; got {detached(q * scale)}")
    return q


def _is_number(q: Array) -> bool:
    """Whether the fraction is one of Python's numbers, which does not promote."""
    return type(q) in (int, float) or (isinstance(q, Box) and q.is_python)


def interpolated(
    rows: Array, position: Array, q: Array, method: str, last: Array | None = None, written: DType = None
) -> Array:  # fmt: skip
    """Elements of sorted `rows` at `position`, of shape ``(k,)`` or ``rows.shape[:-1] + (k,)``.

    `last` are the highest ranks to look at, if not the rows' own; NumPy writes into an array of `written` in between.
    """
    last = np.shape(rows)[-1] - 1 if last is None else last
    position = np.minimum(position, last)
    where: Array = detached(position)
    whole: Value = np.floor(np.maximum(where, 0))
    low, k = whole.astype(int), where.shape[-1]
    both = np.concatenate([low, np.where(where < 0, low, np.minimum(low + 1, last))], axis=-1)
    if low.ndim == 1 and not (varies(both) or is_elsewhere(both)):
        found = order_statistics(rows, ranks=tuple(values_of(both).tolist()))
    else:
        found = statistics_of_rows(rows, np.broadcast_to(beside(rows, both), (*np.shape(rows)[:-1], 2 * k)))
    start = found[..., :k]
    if _takes_elements(q, method):
        return start
    kind = np.result_type(start.dtype, precision := _precision(rows, q) or position.dtype)
    kind = written if written is not None and np.can_cast(kind, written, "same_kind") else kind
    exact = start if method.startswith("averaged") else start + start.dtype.type(0)  # NumPy adds 0 times a distance
    exact = exact if exact.dtype == kind else exact.astype(kind)
    endless = maybe_any(np.isinf(raw(found)))  # times 0 they are nan, as in NumPy
    if (fixed := not isinstance(q, Box) and not endless) and surely_all(raw(where) == raw(whole)):
        return exact
    stop, part = found[..., k:], beside(rows, position - whole)
    where, whole, other = beside(rows, where), beside(rows, whole), 1 - part
    part, other = (x if x.dtype == precision else x.astype(precision) for x in (part, other))
    below, back = start + (stop - start) * part, (stop - start) * other  # NumPy's: from the nearer side
    if kind != below.dtype:
        below, stop, back = below.astype(kind), stop.astype(kind), back.astype(kind)
    found = np.where(where - whole < 0.5, below, stop - back)
    return np.where(where == whole, exact, found) if fixed else found


def _precision(rows: Array, q: Array) -> DType | None:
    """The dtype of fractions of a distance, where it is not that of the positions."""
    if _is_number(q):
        return rows.dtype
    return q.dtype if q.dtype.kind == "f" else None


def promoted(result: Array, q: Array, method: str) -> Array:
    """`result` in the dtype that NumPy's interpolation gives, also where it is an element."""
    if _is_number(q):
        return result
    dtype = result.dtype if _takes_elements(q, method) else np.result_type(result, q.dtype)
    return result if dtype == result.dtype else result.astype(dtype)


def _takes_elements(q: Array, method: str) -> bool:
    """Whether NumPy interpolates nothing."""
    steps = method not in (*_CONTINUOUS, "averaged_inverted_cdf", "midpoint")
    return steps or (method == "linear" and dtype_of_any(q).kind in "iu")


def quantile_of(
    a: Array, q: Array, axis: Axis, method: str, keepdims: bool, weights: Array = None, written: DType | None = None,
    in_rows: bool = False,
) -> Array:  # fmt: skip
    rows, kept = as_rows(a, axis)
    n = np.shape(rows)[-1]
    if n == 0:
        raise ShapeError(f"quantile of an empty axis: shape {np.shape(a)}, axis {axis}")
    flat = np.reshape(q, -1)
    if rows.dtype.kind == "b" and weights is None and not _takes_elements(q, method):
        rows = rows - rows  # NumPy refuses differences of these
    if weights is None:
        found = interpolated(rows, position_of(n, flat, method), q, method, written=written)
        result = found if found.dtype == written else promoted(found, q, method)
    else:
        result = _weighted(rows, flat, as_rows(weights_like(weights, a, axis), axis)[0], method)
    if rows.dtype.kind in "fc" and maybe_any(np.isnan(raw(rows))):
        result = np.where(np.isnan(rows).any(axis=-1)[..., None], np.nan, result)
    return finished(ordered(result, "C") if in_rows else result, q, kept, keepdims)


def finished(result: Array, q: Array, kept: tuple[int, ...], keepdims: bool) -> Array:
    """Bring the axis of quantiles to the front, in the shape of `q`."""
    result = np.moveaxis(result, -1, 0)
    rest = kept if keepdims else np.shape(result)[1:]
    return np.reshape(result, np.shape(q) + rest)


def weights_like(weights: Array, a: Array, axis: Axis) -> Array:
    if np.shape(weights) == np.shape(a):
        return weights
    shape = [1] * np.ndim(a)
    for i, n in zip(axes_of(axis, np.ndim(a)), np.shape(weights), strict=True):
        shape[i] = n
    return np.broadcast_to(np.reshape(weights, shape), np.shape(a))


def _weighted(rows: Array, q: Array, weights: Array, method: str) -> Array:
    """NumPy's weighted quantile of the ranks tells which element it is."""
    order = np.argsort(rows, axis=-1, kind="stable")
    ranks = np.argsort(order, axis=-1).astype(float)
    q = _constant(q, method)

    def steps(ranks: Array, weights: Array) -> Array:
        return np.quantile(ranks, beside(ranks, q), axis=-1, weights=weights, method=method)  # type: ignore[call-overload]  # any str

    found: Value = on_values(steps, ranks, weights)  # a step function of the weights
    return np.take_along_axis(rows, np.take_along_axis(order, np.moveaxis(found, 0, -1).astype(int), -1), -1)


@composite(
    np.quantile,
    memory=NEW_C,
    flags=("number",),
    samples=lambda r: [
        call(r(5), 0.3),
        call(r(3, 4), q=[0.25, 0.5], axis=1),
        call(r(2, 3, 4), 0.6, axis=(0, -1), keepdims=True),
        call(r(3, 4), np.array([[0.1, 0.9]]), 0, method="hazen"),
        call(r(6), q=0.37, method="nearest"),
        call(r(6), q=0.37, method="averaged_inverted_cdf"),
        call(r(6), q=0.4, weights=np.array([1.0, 2.0, 1.0, 0.5, 1.0, 3.0]), method="inverted_cdf"),
    ],
    errors=lambda r: [call(r(3), 1.5), call(r(3), 0.5, axis=1)],
)
def quantile(
    a: Array,
    q: Array,
    axis: Axis = None,
    out: Array = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: Array = None,
) -> Array:
    """`numpy.quantile`; differentiable in `q` too, for the methods that interpolate."""
    taken = out is not None and weights is None and _takes_elements(q, method)
    q = as_fraction(q, dtype_of_any(a))
    if taken:
        return put(quantile_of(a, q, axis, method, keepdims), out, np.quantile, np.take)
    written = getattr(out, "dtype", None) if weights is None else None
    return put(quantile_of(a, q, axis, method, keepdims, weights, written), out, np.quantile)


@composite(
    np.percentile,
    memory=NEW_C,
    flags=("number",),
    samples=lambda r: [call(r(5), 30), call(r(3, 4), q=[25.0, 50.0], axis=1, method="weibull")],
    errors=lambda r: [call(r(3), 101)],
)
def percentile(a: Array, q: Array, axis: Axis = None, out: Array = None, *args: Value, **options: Value) -> Array:
    return quantile(a, as_fraction(q, dtype_of_any(a), 100.0), axis, out, *args, **options)


@composite(
    np.median,
    flags=("number",),
    samples=lambda r: [call(r(5)), call(r(3, 4), axis=1), call(r(2, 3, 4), (0, 1), keepdims=True)],
)
def median(
    a: Array, axis: Axis = None, out: Array = None, overwrite_input: bool = False, keepdims: bool = False
) -> Array:
    rows, kept = as_rows(a, axis)
    n = np.shape(rows)[-1]
    if n == 0:
        return np.mean(a, axis, None, out, keepdims)
    if n % 2 == 0 and axis is None:
        note("median", a)
    ranks = (n // 2,) if n % 2 else (n // 2 - 1, n // 2)
    middle = order_statistics(rows, ranks=ranks)
    if hasattr(out, "dtype"):
        result = over(summed_into(middle, -1, float_of(middle, None), out, False, True), len(ranks))
    else:
        result = np.mean(middle, axis=-1)
    if rows.dtype.kind in "fc" and maybe_any(np.isnan(raw(rows))):
        # Of complex numbers NumPy gives the last in its order, whose other part may be any number.
        last = np.nan if rows.dtype.kind == "f" else order_statistics(rows, ranks=(n - 1,))[..., 0]
        result = np.where(np.isnan(rows).any(axis=-1), last, result)
    return alone("median", axis, put(np.reshape(result, kept) if keepdims else result, out, np.median))
