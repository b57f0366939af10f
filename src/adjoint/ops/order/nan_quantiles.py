"""Order statistics that leave nan out: each row is only a shorter one."""

from __future__ import annotations

import numpy as np

from adjoint.core.backend import beside, maybe_all, maybe_any
from adjoint.core.box import raw
from adjoint.core.constructors import composite
from adjoint.core.memory import lies, lying_as, ordered, zeros_as_it_lies
from adjoint.core.messages.frames import warn_user
from adjoint.core.op import call
from adjoint.core.protocol import put
from adjoint.core.types import Array, Axis, Value
from adjoint.ops.order.quantiles import (
    as_fraction,
    as_rows,
    dtype_of_any,
    finished,
    interpolated,
    position_of,
    promoted,
    quantile_of,
    statistics_of_rows,
    weights_like,
)


@composite(
    np.nanquantile,
    flags=("number", "host"),
    samples=lambda r: [
        call(np.where(np.eye(3, 4), np.nan, r(3, 4)), 0.3),
        call(np.where(np.eye(3, 4), np.nan, r(3, 4)), q=[0.25, 0.5], axis=0),
        call(np.where(np.eye(3, 4), np.nan, r(3, 4)), 0.6, axis=1, keepdims=True, method="hazen"),
    ],
)
def nanquantile(
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
    q = as_fraction(q, dtype_of_any(a))
    return put(_nanquantile(a, q, axis, method, bool(keepdims), weights), out, np.nanquantile)


@composite(
    np.nanpercentile,
    flags=("number", "host"),
    samples=lambda r: [call(np.where(np.eye(3, 4), np.nan, r(3, 4)), 30, axis=0)],
)
def nanpercentile(a: Array, q: Array, axis: Axis = None, out: Array = None, *args: Value, **options: Value) -> Array:
    return nanquantile(a, as_fraction(q, dtype_of_any(a), 100.0), axis, out, *args, **options)


@composite(
    np.nanmedian,
    flags=("number",),
    samples=lambda r: [
        call(np.where(np.eye(3, 4), np.nan, r(3, 4))),
        call(np.where(np.eye(3, 4), np.nan, r(3, 4)), axis=1, keepdims=True),
        call(np.where(np.eye(2, 12).reshape(2, 3, 4), np.nan, r(2, 3, 4)), axis=0),
    ],
)
def nanmedian(
    a: Array, axis: Axis = None, out: Array = None, overwrite_input: bool = False, keepdims: bool = False
) -> Array:
    rows, kept = _numbers_first(a.astype(float) if np.result_type(a).kind == "b" else a, axis)
    counts = _counted(rows)
    middle = np.stack([np.maximum(counts - 1, 0) // 2, counts // 2], axis=-1)
    result = np.sum(statistics_of_rows(rows, beside(rows, middle)), axis=-1) / 2
    result = np.reshape(result, kept) if keepdims else result
    if 0 in getattr(lies(a), "strides", ()):  # NumPy's copies of repeated numbers lie in many ways
        result = lying_as(result, lambda x: np.nanmedian(zeros_as_it_lies(x), axis, keepdims=keepdims), a)
    return put(result, out, np.nanmedian)


def _numbers_first(a: Array, axis: Axis) -> tuple[Array, tuple[int, ...]]:
    """As `as_rows`; a row of nothing is one of nan."""
    rows, kept = as_rows(a, axis)
    if not np.shape(rows)[-1]:
        dtype = np.result_type(rows)
        rows = np.full((*np.shape(rows)[:-1], 1), np.nan, dtype if dtype.kind in "fc" else float)
    return rows, kept


def _counted(rows: Array) -> Array:
    """How many of each row are not nan; sorting puts those first."""
    counts = np.sum(~np.isnan(rows), axis=-1)
    if not maybe_all(raw(counts)):
        warn_user("All-NaN slice encountered", RuntimeWarning)
    return counts


def _nanquantile(a: Array, q: Array, axis: Axis, method: str, keepdims: bool, weights: Array = None) -> Array:
    """Quantiles of what is not nan: each row only is a shorter one."""
    if dtype_of_any(a).kind in "iub":  # without nan
        return quantile_of(a, q, axis, method, keepdims, weights, in_rows=True)
    if weights is not None:
        return _weighted_numbers(a, q, axis, method, keepdims, weights)
    if not np.size(a):
        return np.nanmean(a, axis=axis, keepdims=keepdims)  # whatever `q` is, as in NumPy
    rows, kept = _numbers_first(a, axis)
    counts = _counted(rows)
    flat = np.reshape(q, -1)
    position = flat * 0.0
    for n in np.unique(raw(counts)):
        if n:
            position = np.where(np.equal(counts, n)[..., None], position_of(int(n), flat, method), position)
    position = np.broadcast_to(position, (*np.shape(counts), np.shape(flat)[0]))
    last = np.maximum(counts - 1, 0)[..., None]
    found = interpolated(rows, position, q, method, last)
    result = promoted(found, q, method)
    return finished(ordered(result, "C"), q, kept, keepdims)


def _weighted_numbers(a: Array, q: Array, axis: Axis, method: str, keepdims: bool, weights: Array) -> Array:
    """The same with weights: what is nan becomes the largest, and weighs nothing."""
    gaps = np.isnan(a)
    empty = np.all(gaps, axis=axis, keepdims=True)
    weights = np.where(gaps & ~empty, 0.0, weights_like(weights, a, axis))
    result = quantile_of(np.where(gaps, np.inf, a), q, axis, method, keepdims, weights, in_rows=True)
    if maybe_any(raw(empty)):
        warn_user("All-NaN slice encountered", RuntimeWarning)
        result = np.where(empty if keepdims else np.squeeze(empty, axis), np.nan, result)
    return result
