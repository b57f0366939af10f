"""Operations that look at values, or for which NumPy has code of its own, written once more in calls that are lowered.

Each function here takes the operation's arguments as symbols, and `decompose.primitive` captures it. Its values are
those of the operation, bit for bit, except for norms, whose sums are taken in another order. If a function raises
`NotImplementedError`, NumPy computes the call.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from adjoint.core.types import Array, Axis, Function, Value

if TYPE_CHECKING:
    from adjoint.graph.symbol import Symbol


def _real(x: Symbol) -> Value:
    if x.dtype.kind == "c":
        raise NotImplementedError
    return x


def _tril(m: Value, k: int) -> Array:
    rows, columns = m.shape[-2:]
    return np.where(np.arange(rows)[:, None] >= np.arange(columns) - k, m, _zero(m))


def _triu(m: Value, k: int) -> Array:
    rows, columns = m.shape[-2:]
    return np.where(np.arange(rows)[:, None] <= np.arange(columns) - k, m, _zero(m))


def _zero(m: Symbol) -> Value:
    return np.zeros((), m.dtype)


def _roll(a: Value, shift: Value, axis: Axis) -> Array:
    if axis is None:
        return np.reshape(_roll(np.reshape(a, -1), shift, 0), a.shape)
    for by, along in zip(*map(np.ravel, np.broadcast_arrays(shift, axis)), strict=True):
        n = a.shape[along]
        start = (slice(None),) * (int(along) % len(a.shape))
        at = -int(by) % n if n else 0
        if at:
            a = np.concatenate([a[(*start, slice(at, None))], a[(*start, slice(None, at))]], axis=int(along))
    return a


def _tile(a: Value, reps: Value) -> object:
    reps = tuple(np.ravel(reps).tolist())
    shape = (1,) * (len(reps) - len(a.shape)) + a.shape
    reps = (1,) * (len(shape) - len(reps)) + reps
    each = [part for pair in zip((1,) * len(shape), shape, strict=True) for part in pair]
    wide = [part for pair in zip(reps, shape, strict=True) for part in pair]
    result = [r * n for r, n in zip(reps, shape, strict=True)]
    return np.reshape(np.broadcast_to(np.reshape(a, each), wide), result)


def _repeat(a: Array, repeats: Value, axis: Axis) -> Array:
    a, axis = (np.reshape(a, -1), 0) if axis is None else (a, axis % len(a.shape))
    counts = np.broadcast_to(np.ravel(repeats), a.shape[axis]) if np.size(repeats) == 1 else np.asarray(repeats)
    if (counts != counts[0]).any():
        return a[(slice(None),) * axis + (np.repeat(np.arange(a.shape[axis]), counts),)]
    wide = (*a.shape[: axis + 1], int(counts[0]), *a.shape[axis + 1 :])
    result = (*a.shape[:axis], a.shape[axis] * int(counts[0]), *a.shape[axis + 1 :])
    return np.reshape(np.broadcast_to(np.expand_dims(a, axis + 1), wide), result)


def _rounded(a: Value, decimals: int) -> object:
    if a.dtype.kind in "iu" and decimals >= 0:
        return a
    if a.dtype.kind != "f":
        raise NotImplementedError
    scale = 10.0 ** abs(decimals)
    if not decimals:
        return np.rint(a)
    return np.rint(a * scale) / scale if decimals > 0 else np.rint(a / scale) * scale


_PARTS = (2048, 1024, 512, 256, 128)  # places of a part in which an extreme is looked for, if all parts are as long


def _first_of(extreme: Function) -> Function:
    def first(a: Value, axis: int, *, keepdims: bool = False) -> Value:
        n = a.shape[axis]
        kind = np.int32 if n < 2**31 else np.int64
        numbers = np.reshape(np.arange(n, dtype=kind), [-1 if i == axis else 1 for i in range(len(a.shape))])
        here = np.equal(a, extreme(a, axis=axis, keepdims=True))
        here = np.logical_or(here, np.isnan(a)) if a.dtype.kind == "f" else here
        return np.min(np.where(here, numbers, kind(n)), axis=axis, keepdims=keepdims).astype(np.int64)

    def places(a: Value, axis: Axis = None, out: object = None, *, keepdims: bool = False) -> Value:
        shape = _real(a).shape
        if axis is not None and shape:
            return first(a, axis % len(shape), keepdims=keepdims)
        a = np.reshape(a, -1)
        size = next((n for n in _PARTS if not a.shape[0] % n and a.shape[0] >= 8 * n), 0)
        if size:  # in which part first, and where in there then
            parts = np.reshape(a, (-1, size))
            part = first(extreme(parts, axis=1), 0)
            found = part * size + first(parts[part], 0)
        else:
            found = first(a, 0)
        return np.reshape(found, (1,) * len(shape) if keepdims else ())

    return places


def _imaginary(x: Value) -> Value:
    return np.where(True, _zero(_real(x)), x)


def _count(a: Value, axis: Axis = None, *, keepdims: bool = False) -> Array:
    return np.sum(np.not_equal(a, 0), axis=axis, keepdims=keepdims)


def _euclidean_norm(a: Value, axis: Axis, keepdims: bool) -> Array:
    return np.sqrt(np.sum(np.square(_real(a)), axis=axis, keepdims=keepdims))


def _p_norm(a: Value, ord: float, axis: Axis, keepdims: bool) -> object:
    return np.sum(np.abs(_real(a)) ** ord, axis=axis, keepdims=keepdims) ** (1.0 / ord)


def _close(a: Value, b: Value, rtol: Value = 1e-5, atol: Value = 1e-8, equal_nan: Value = False) -> Value:
    b = np.asarray(b) if np.isscalar(b) else b
    if any(x.dtype.kind not in "biuf" for x in (np.asarray(a) if np.isscalar(a) else a, b)):
        raise NotImplementedError
    b = b.astype(np.result_type(b.dtype, 1.0))
    near = np.logical_and(np.less_equal(np.abs(a - b), atol + rtol * np.abs(b)), np.isfinite(b))
    found = np.logical_or(near, np.equal(a, b))
    return np.logical_or(found, np.logical_and(np.isnan(a), np.isnan(b))) if equal_nan else found


def _same(a: Value, b: Value, equal_nan: bool = False) -> object:
    if equal_nan or np.shape(a) != np.shape(b) or np.size(a) == 0:
        raise NotImplementedError
    return np.all(np.equal(a, b))


# So many comparisons of each element with each of its row take less time than a step of NumPy's that sorts, or parts.
_SORTED, _RANKED, _ALWAYS_RANKED = 2048, 4096, 16


def _places(a: Value, most: int) -> Value:
    """Where a stable sort along the last axis brings each element; nan comes last."""
    n = a.shape[-1]
    if not n or math.prod(a.shape) * n > most or a.dtype.kind not in "iuf":
        raise NotImplementedError
    one, other = a[..., :, None], a[..., None, :]
    less, equal = np.less(other, one), np.equal(other, one)
    if a.dtype.kind == "f":
        less = np.logical_or(less, np.logical_and(np.isnan(one), np.logical_not(np.isnan(other))))
        equal = np.logical_or(equal, np.logical_and(np.isnan(one), np.isnan(other)))
    earlier = np.arange(n) < np.arange(n)[:, None]
    return np.sum(np.logical_or(less, np.logical_and(equal, earlier)), axis=-1)


def _ranked(a: Value, ranks: Value, most: int = _RANKED) -> Value:
    """The elements of these ranks along the last axis."""
    is_short = most == _RANKED and a.shape[-1] <= _ALWAYS_RANKED
    places, ranks = _places(a, math.prod(a.shape) * _ALWAYS_RANKED if is_short else most), np.asarray(ranks)
    if not ranks.size:
        raise NotImplementedError
    lowest = -np.inf if a.dtype.kind == "f" else np.iinfo(a.dtype).min
    here = np.equal(places[..., None, :], ranks[:, None])
    return np.max(np.where(here, a[..., None, :], a.dtype.type(lowest)), axis=-1)


def _sorted(a: Value, axis: int, kind: object) -> Value:
    rows = np.moveaxis(a, axis, -1)
    return np.moveaxis(_ranked(rows, range(rows.shape[-1]), _SORTED), -1, axis)


def _argsort(a: Value, axis: int = -1, kind: object = None, order: object = None, *, stable: object = None) -> Value:
    if kind not in ("stable", "mergesort") and not stable:
        raise NotImplementedError  # equal elements are in an order that NumPy chooses
    rows = np.moveaxis(a, axis, -1)
    n = rows.shape[-1]
    here = np.equal(_places(rows, _SORTED)[..., None, :], np.arange(n)[:, None])
    return np.moveaxis(np.sum(np.where(here, np.arange(n), 0), axis=-1), -1, axis)


def _sinc(x: Value) -> object:
    y = np.pi * x
    y = np.where(np.equal(y, 0), np.asarray(np.finfo(x.dtype).eps, x.dtype), y)
    return np.sin(y) / y


INSTEAD: dict[str, Function] = {
    "tril": _tril,
    "triu": _triu,
    "roll": _roll,
    "tile": _tile,
    "repeat_each": _repeat,
    "rounded": _rounded,
    "imag": _imaginary,
    "isposinf": lambda x: np.equal(x, math.inf),
    "isneginf": lambda x: np.equal(x, -math.inf),
    "argmax": _first_of(np.max),
    "argmin": _first_of(np.min),
    "count_nonzero": _count,
    "isclose": _close,
    "order_statistics": _ranked,
    "sort_along": _sorted,
    "argsort": _argsort,
    "allclose": lambda *given, **settings: np.all(_close(*given, **settings)),
    "array_equal": _same,
    "sinc": _sinc,
    "euclidean_norm": _euclidean_norm,
    "p_norm": _p_norm,
}
