"""Putting arrays together, and taking them apart."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from adjoint.core.backend import as_beside
from adjoint.core.constructors import composite, general
from adjoint.core.errors import ArgumentError, DTypeError, ShapeError
from adjoint.core.memory import apart, axes_by, in_order, lies
from adjoint.core.messages.meanings import note
from adjoint.core.op import call
from adjoint.core.protocol import put
from adjoint.core.types import Array, DType, Settings, Value
from adjoint.ops.shape.reshaping import counted_from_one


def _slices(g: Array, xs_shapes: tuple[tuple[int, ...], ...], axis: int) -> list[Array]:
    parts, start = [], 0
    before = (slice(None),) * (axis % len(g.shape))
    for shape in xs_shapes:
        stop = start + shape[axis]
        parts.append(g[(*before, slice(start, stop))])
        start = stop
    return parts


@general(
    vjp=_slices,
    batch=lambda xs, axis: np.concatenate(xs, axis=counted_from_one(axis, np.ndim(xs[0]))),
    linear=True,
    flags=("moves",),
    samples=lambda r: [call(r(2, 3), r(1, 3)), call(r(2, 3), r(2, 1), r(2, 2), axis=-1)],
)
def join(*xs: Array, axis: int = 0) -> Array:
    """Arrays one after another along `axis`."""
    return np.concatenate(xs, axis=axis)


_HELD = {np.ndarray, np.float64, float, int, np.float32, np.complex128, complex}


@general(
    batch=lambda xs, axis: np.stack(xs, axis=counted_from_one(axis, np.ndim(xs[0]) + 1)),
    vjp=lambda g, axis: g if axis == 0 else np.moveaxis(g, axis, 0),
    linear=True,
    flags=("moves", "own_order"),
    samples=lambda r: [call(r(2, 3), r(2, 3)), call(r(2), r(2), r(2), axis=-1), call(r(), r())],
)
def pile(*xs: Array, axis: int = 0) -> Array:
    """Arrays side by side along a new `axis`."""
    # Of short arrays, np.array does the same in a fifth of the time.
    short = axis == 0 and _HELD.issuperset(map(type, xs))
    out = np.array(xs) if short else np.stack(_alike(xs), axis=axis)
    return out if out.dtype.kind != "O" else np.stack(xs, axis=axis)  # which refuses dates beside numbers


def _alike(arrays: Sequence[Array]) -> list[Array]:
    """Numbers and lists among `arrays` as arrays, where the others are."""
    arrays = list(arrays)
    model = next((a for a in arrays if hasattr(a, "shape") and not isinstance(a, np.generic)), None)
    return [as_beside(model, a) for a in arrays]


def _dtype(dtype: DType, casting: Value) -> Settings:
    """What `numpy.concatenate` is told of the dtype, if anything is."""
    return {} if dtype is None else {"dtype": dtype, "casting": casting}


def _cast(result: Array, dtype: DType, casting: Value) -> Array:
    """`result` in the `dtype` that is asked for, if NumPy's rule `casting` lets it."""
    if dtype is None:
        return result
    if not np.can_cast(result.dtype, dtype, casting):
        raise DTypeError(
            f"joined arrays of {result.dtype} do not become {np.dtype(dtype)} by the rule {casting!r}; "
            f"convert them first: np.real(x), x.astype(...), or say casting='unsafe'"
        )
    return result.astype(dtype)


def _lies_in_c(a: Array) -> bool:
    model = lies(a)
    return not isinstance(model, np.ndarray | np.generic) or model.flags.c_contiguous


def _apart_from(out: Array, arrays: Sequence[Array], axis: int | None) -> None:
    """Refuse arrays in the memory of `out`: NumPy puts them there one after another. The first one may lie there."""
    if out is not None:
        for a in arrays if axis is None else arrays[1:]:
            apart(out, a, "np.concatenate([t[1:], t[:1].copy()], out=t)")


@composite(
    np.concatenate,
    samples=lambda r: [call([r(2, 3), r(1, 3)]), call((r(2, 3), r(2, 1)), 1), call([r(2, 2), r(3)], axis=None)],
    errors=lambda r: [call([r(2, 3), r(2, 4)])],
)
def concatenate(
    arrays: Sequence[Array],
    /,
    axis: int | None = 0,
    out: Array = None,
    *,
    dtype: DType = None,
    casting: Value = "same_kind",
) -> Array:
    arrays = _alike(arrays)
    _apart_from(out, arrays, axis)
    if axis is None:
        arrays, axis = [np.ravel(a) for a in arrays], 0
    shapes = [np.shape(a) for a in arrays]
    lengths = {len(s) for s in shapes}
    if len(lengths) == 1 and 0 not in lengths:
        rest = {s[: axis % len(s)] + s[axis % len(s) + 1 :] for s in shapes}
        if len(rest) > 1:
            raise ShapeError(f"concatenate: shapes {', '.join(map(str, shapes))} must agree on every axis but {axis}")
    result = join(*arrays, axis=axis)
    return put(_cast(result, dtype, casting), out, np.concatenate)


@composite(
    np.stack,
    samples=lambda r: [call([r(2, 3), r(2, 3)]), call((r(3), r(3)), axis=1)],
    errors=lambda r: [call([r(2), r(3)])],
)
def stack(
    arrays: Sequence[Array], axis: int = 0, out: Array = None, *, dtype: DType = None, casting: Value = "same_kind"
) -> Array:
    arrays = _alike(arrays)
    _apart_from(out, arrays, axis)
    if len({a.shape for a in arrays}) > 1:
        raise ShapeError(f"stack: all arrays must have one shape; got {', '.join(str(np.shape(a)) for a in arrays)}")
    result = pile(*arrays, axis=axis)
    if result.ndim > 2 and not all(_lies_in_c(a) for a in arrays):
        few = [x[(slice(2),) * x.ndim] for x in map(lies, arrays)]  # enough to show how NumPy's result lies
        result = in_order(result, axes_by("K", np.stack(few, axis)))
    return put(_cast(result, dtype, casting), out, np.stack)


@composite(np.vstack, samples=lambda r: [call([r(3), r(2, 3)])])
def vstack(tup: Sequence[Value], *, dtype: DType = None, casting: Value = "same_kind") -> Array:
    return np.concatenate([np.atleast_2d(a) for a in _alike(tup)], axis=0, **_dtype(dtype, casting))


@composite(np.hstack, samples=lambda r: [call([r(3), r(2)]), call([r(2, 1), r(2, 3)])])
def hstack(tup: Sequence[Value], *, dtype: DType = None, casting: Value = "same_kind") -> Array:
    arrays = [np.atleast_1d(a) for a in _alike(tup)]
    return np.concatenate(arrays, axis=0 if arrays and arrays[0].ndim == 1 else 1, **_dtype(dtype, casting))


@composite(np.dstack, samples=lambda r: [call([r(3), r(3)]), call([r(2, 3), r(2, 3)])])
def dstack(tup: Sequence[Array]) -> Array:
    return np.concatenate([np.atleast_3d(a) for a in _alike(tup)], axis=2)


@composite(np.column_stack, samples=lambda r: [call([r(3), r(3, 2)])])
def column_stack(tup: Sequence[Array]) -> Array:
    arrays = [np.atleast_1d(a) for a in _alike(tup)]
    return np.concatenate([a[:, None] if a.ndim == 1 else a for a in arrays], axis=1)


@composite(np.block, samples=lambda r: [call([[r(2, 2), r(2, 1)], [r(1, 2), r(1, 1)]]), call([r(2), 1.5]), call(r(2))])
def block(arrays: Array) -> Array:
    def depth(x: Array) -> int:
        return 1 + depth(x[0]) if isinstance(x, list) else 0

    def leaves(x: Array) -> list[Array]:
        return [y for item in x for y in leaves(item)] if isinstance(x, list) else [x]

    levels = depth(arrays)
    ndim = max([levels, *(np.ndim(x) for x in leaves(arrays))])
    model = next((x for x in leaves(arrays) if hasattr(x, "shape")), None)

    def built(x: Array, level: int) -> Array:
        if not isinstance(x, list):
            return np.reshape(as_beside(model, x), (1,) * (ndim - np.ndim(x)) + np.shape(x))
        return np.concatenate([built(item, level + 1) for item in x], axis=ndim - levels + level)

    return built(arrays, 0) if levels else np.copy(arrays, order="C")


@composite(np.append, samples=lambda r: [call(r(2, 3), r(1, 3), 0), call(r(2), r(2, 2))])
def append(arr: Array, values: Array, axis: int | None = None) -> Array:
    return np.concatenate(_alike((arr, values)), axis=axis)


@composite(np.array_split, samples=lambda r: [call(r(5), 3), call(r(3, 5), [2, 4], axis=1)])
def array_split(ary: Array, indices_or_sections: Value, axis: int = 0) -> Array:
    n = np.shape(ary)[axis]
    if np.ndim(indices_or_sections) == 0:
        if indices_or_sections < 1:
            raise ArgumentError(f"np.array_split: at least one part; got {indices_or_sections}")
        each, extra = divmod(n, int(indices_or_sections))
        sizes = [each + 1] * extra + [each] * (int(indices_or_sections) - extra)
        cuts = [int(c) for c in np.cumsum([0, *sizes])]
    else:
        cuts = [0, *(int(i) for i in indices_or_sections), n]
    before = (slice(None),) * (axis % np.ndim(ary))
    return [ary[(*before, slice(a, b))] for a, b in pairwise(cuts)]


@composite(np.split, samples=lambda r: [call(r(6), 3), call(r(3, 5), [2, 4], 1)], errors=lambda r: [call(r(5), 2)])
def split(ary: Array, indices_or_sections: Value, axis: int = 0) -> Array:
    n = np.shape(ary)[axis]
    if np.ndim(indices_or_sections) == 0 and n != indices_or_sections**2:
        note("split", ary)
    if np.ndim(indices_or_sections) == 0 and n % indices_or_sections:
        raise ShapeError(
            f"np.split: axis {axis} of length {n} does not divide into {indices_or_sections} equal parts; "
            f"np.array_split allows unequal ones"
        )
    return np.array_split(ary, indices_or_sections, axis)


@composite(np.hsplit, samples=lambda r: [call(r(2, 4), 2), call(r(4), 2)])
def hsplit(ary: Array, indices_or_sections: Value) -> Array:
    return np.split(ary, indices_or_sections, 0 if np.ndim(ary) == 1 else 1)


@composite(np.vsplit, samples=lambda r: [call(r(4, 2), 2)])
def vsplit(ary: Array, indices_or_sections: Value) -> Array:
    return np.split(ary, indices_or_sections, 0)


@composite(np.dsplit, samples=lambda r: [call(r(2, 2, 4), 2)])
def dsplit(ary: Array, indices_or_sections: Value) -> Array:
    return np.split(ary, indices_or_sections, 2)


@composite(np.unstack, samples=lambda r: [call(r(2, 3)), call(r(2, 3), axis=1)])
def unstack(x: Array, /, *, axis: int = 0) -> Array:
    return tuple(np.moveaxis(x, axis, 0)[i] for i in range(np.shape(x)[axis]))
