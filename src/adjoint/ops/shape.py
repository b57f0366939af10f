"""Operations that move elements about or repeat them. All are linear; each states its transpose."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from adjoint.core.backend import as_array, beside, is_foreign, spread_to
from adjoint.core.constructors import composite, linear
from adjoint.core.errors import ArgumentError, DTypeError
from adjoint.core.memory import (
    AS_MADE,
    LOCKED_VIEW,
    NEW,
    VIEW,
    Memory,
    Order,
    as_walked,
    axes_by,
    in_order,
    is_laid_out,
    lies,
)
from adjoint.core.op import call
from adjoint.core.places import place_of, users_frame, warn_at
from adjoint.core.protocol import detached
from adjoint.core.pullbacks import unbroadcast
from adjoint.core.registry import operation
from adjoint.core.types import Array, Axis, DType, ShapeLike
from adjoint.ops.indexing import kept, scatter_add


def counted_from_one(axis: Axis, ndim: int = 0) -> Any:
    """`axis` of a sample, in a stack of them of `ndim` axes. None is all but the first."""
    if axis is None:
        return tuple(range(1, ndim))
    if isinstance(axis, tuple | list | range):
        counted = tuple(counted_from_one(a, ndim) for a in axis)
        return list(counted) if isinstance(axis, list) else counted
    if isinstance(axis, bool):
        raise DTypeError(f"an axis is a whole number; got {axis}")
    axis = operator.index(axis)
    return axis + 1 if axis >= 0 else axis


def lined_up(xs: Sequence[Array], stacked: Sequence[bool]) -> list[Array]:
    """Arrays, some of them stacks of samples, such that NumPy broadcasts the samples' own axes from the right."""
    ranks = [(x.ndim if type(x) is np.ndarray else np.ndim(x)) - s for x, s in zip(xs, stacked, strict=True)]
    most = max(ranks)
    return [
        np.reshape(x, (x.shape[0], *(1,) * (most - rank), *x.shape[1:])) if s and rank < most else x
        for x, s, rank in zip(xs, stacked, ranks, strict=True)
    ]


def _reshape_each(a: Array, shape: ShapeLike, order: Any) -> Array:
    shape = tuple(shape) if np.ndim(shape) else (shape,)
    if order == "F":
        return np.moveaxis(np.reshape(np.moveaxis(a, 0, -1), (*shape, a.shape[0]), order="F"), -1, 0)
    if -1 in shape and 0 in a.shape:  # which length is meant, NumPy knows for one sample alone
        shape = np.empty(a.shape[1:]).reshape(shape).shape
    return np.reshape(a, (a.shape[0], *shape), order=order)


def _backwards(shape: ShapeLike) -> tuple[int, ...]:
    return tuple(shape)[::-1] if np.ndim(shape) else (shape,)


def _unreshaped(g: Array, a_shape: tuple[int, ...], order: Any) -> Array:
    back: Any = reshape
    return back(g, shape=a_shape, order=order)


@linear(
    np.reshape,
    transpose=lambda g, a_shape, order: _unreshaped(g, a_shape, order),
    batch=lambda a, shape, order: _reshape_each(a, shape, order),
    memory=Memory("perhaps", "C"),
    flags=("moves",),
    samples=lambda r: [call(r(3, 4), (2, -1)), call(r(2, 3), shape=6, order="F"), call(r(), (1,))],
    errors=lambda r: [call(r(3, 4), (5,))],
)
def reshape(a: Array, /, shape: ShapeLike = None, order: Any = "C", copy: Any = None) -> Array:
    if order == "A":  # a cotangent may lie otherwise in memory
        raise ArgumentError("np.reshape of a tensor takes order 'C' or 'F'; got 'A'. Say which of them is meant")
    if is_foreign(a):  # whose memory is its own affair
        return a.reshape(shape) if order == "C" else np.transpose(np.transpose(a).reshape(_backwards(shape)))
    return np.reshape(a, shape, order=order, copy=copy)


def _each_axis(axes: Axis) -> Any:
    return axes if np.ndim(axes) else (axes,)


def _in_line(a: Array, order: Any) -> Array:
    """The elements of `a` in one line; by order "A" and "K", as they lie in memory."""
    if order in ("A", "K"):
        model = lies(a)
        if not isinstance(model, np.ndarray | np.generic):
            raise ArgumentError(f"np.ravel: order {order!r} asks for the memory's layout; use 'C' or 'F'")
        model = np.asarray(model)
        order, a = "C", np.transpose(a, as_walked(model) if order == "K" else axes_by(order, model))
    return np.reshape(a, -1, order=order)


@composite(np.ravel, samples=lambda r: [call(r(3, 4)), call(r(3, 4), "F")])
def ravel(a: Array, order: Any = "C") -> Array:
    line = _in_line(a, order)
    # NumPy's own line is never a view with gaps, which `reshape` may give.
    return line if getattr(lies(line), "flags", _WHOLE).c_contiguous else np.copy(line)


_WHOLE = np.empty(0).flags


@composite(samples=lambda r: [call(r(3, 4)), call(r(3, 4), order="F")])
def flatten(a: Array, order: Any = "C", end_dim: int = -1) -> Array:
    """A copy of the elements in one line: NumPy's method of this name. For a number, PyTorch's."""
    if isinstance(order, int) or end_dim != -1:
        return operation("flatten_axes")(a, order if isinstance(order, int) else 0, end_dim)
    return np.copy(_in_line(a, order))


@linear(
    np.transpose,
    np.permute_dims,
    transpose=lambda g, axes: np.transpose(
        g, None if axes is None else tuple(int(i) for i in np.argsort([a % g.ndim for a in _each_axis(axes)]))
    ),
    batch=lambda a, axes: np.transpose(
        a, (0, *range(a.ndim - 1, 0, -1)) if axes is None else (0, *(i % (a.ndim - 1) + 1 for i in _each_axis(axes)))
    ),
    memory=VIEW,
    flags=("moves",),
    samples=lambda r: [call(r(3, 4)), call(r(2, 3, 4), (1, -1, 0)), call(r(3), 0)],
    errors=lambda r: [call(r(3, 4), (0, 0))],
)
def transpose(a: Array, /, axes: Axis = None) -> Array:
    return np.transpose(a, axes)


@linear(
    np.matrix_transpose,
    transpose=lambda g: np.matrix_transpose(g),
    batch="leading",
    memory=VIEW,
    flags=("moves",),
    samples=lambda r: [call(r(2, 3, 4))],
)
def matrix_transpose(x: Array, /) -> Array:
    return np.matrix_transpose(x)


@linear(
    np.swapaxes,
    transpose=lambda g, axis1, axis2: np.swapaxes(g, axis1, axis2),
    batch="axes",
    memory=VIEW,
    flags=("moves",),
    samples=lambda r: [call(r(2, 3, 4), 0, -1)],
)
def swapaxes(a: Array, /, axis1: Any = None, axis2: Any = None) -> Array:
    return np.swapaxes(a, axis1, axis2)


@linear(
    np.moveaxis,
    transpose=lambda g, source, destination: np.moveaxis(g, destination, source),
    batch="axes",
    memory=VIEW,
    flags=("moves",),
    samples=lambda r: [call(r(2, 3, 4), 0, -1), call(r(2, 3, 4), (0, 1), (-1, 0))],
)
def moveaxis(a: Array, /, source: Any = None, destination: Any = None) -> Array:
    return np.moveaxis(a, source, destination)


@composite(np.rollaxis, samples=lambda r: [call(r(2, 3, 4), 2), call(r(2, 3, 4), 0, 2)])
def rollaxis(a: Array, axis: int, start: int = 0) -> Array:
    order = np.rollaxis(np.empty((1,) * np.ndim(a)), axis, start)  # checks the arguments
    n = order.ndim
    axis, start = axis % n, start + n * (start < 0)
    return np.moveaxis(a, axis, start - (axis < start))


@linear(
    np.squeeze,
    transpose=lambda g, a_shape: np.reshape(g, a_shape),
    batch=lambda a, axis: np.reshape(a, (a.shape[0], *np.squeeze(np.empty(a.shape[1:]), axis).shape)),
    memory=VIEW,
    flags=("moves",),
    samples=lambda r: [call(r(1, 3, 1)), call(r(1, 3, 1), axis=0)],
    errors=lambda r: [call(r(2, 3), axis=0)],
)
def squeeze(a: Array, /, axis: Axis = None) -> Array:
    return np.squeeze(a, axis)


@linear(
    np.expand_dims,
    transpose=lambda g, a_shape: np.reshape(g, a_shape),
    batch="axes",
    memory=VIEW,
    flags=("moves",),
    samples=lambda r: [call(r(3, 4), 1), call(r(3, 4), (0, -1))],
)
def expand_dims(a: Array, /, axis: Axis = 0) -> Array:
    return np.expand_dims(a, axis)


def as_assigned(value: Array, shape: ShapeLike) -> Array:
    """`value` as an assignment broadcasts it to `shape`: without leading axes of one."""
    shape = tuple(np.atleast_1d(shape).tolist()) if not isinstance(shape, tuple | list) else shape  # 3 for (3,)
    shape = shape if isinstance(shape, tuple) else (shape,)
    more = np.ndim(value) - len(shape)
    if more > 0 and np.shape(value)[:more] == (1,) * more:
        value = np.reshape(value, np.shape(value)[more:])
    return np.broadcast_to(value, shape)


def _broadcast_each(array: Array, shape: ShapeLike) -> Array:
    n, extra = array.shape[0], len(shape) - array.ndim + 1
    return np.broadcast_to(np.reshape(array, (n, *(1,) * extra, *array.shape[1:])), (n, *shape))


@linear(
    np.broadcast_to,
    transpose=lambda g, array_shape: unbroadcast(g, array_shape),
    batch=lambda array, shape: _broadcast_each(array, shape if np.ndim(shape) else (shape,)),
    memory=LOCKED_VIEW,
    flags=("moves",),
    samples=lambda r: [call(r(3, 1), (2, 3, 4)), call(r(), (2,))],
    errors=lambda r: [call(r(3), (2,))],
)
def broadcast_to(array: Array, /, shape: ShapeLike = None, subok: bool = False) -> Array:
    return spread_to(array, shape)


@composite(np.broadcast_arrays, samples=lambda r: [call(r(3, 1), r(1, 4))])
def broadcast_arrays(*args: Any, subok: bool = False) -> Any:
    shape = np.broadcast_shapes(*(np.shape(a) for a in args))
    return tuple(np.broadcast_to(a, shape) for a in args)


@linear(
    np.flip,
    transpose=lambda g, axis: np.flip(g, axis),
    batch="axes",
    memory=VIEW,
    flags=("moves",),
    samples=lambda r: [call(r(3, 4)), call(r(3, 4), axis=1), call(r(2, 3, 4), (0, 2))],
)
def flip(m: Array, /, axis: Axis = None) -> Array:
    return np.flip(m, axis)


@composite(np.flipud, samples=lambda r: [call(r(3, 4))])
def flipud(m: Array) -> Array:
    return np.flip(m, 0)


@composite(np.fliplr, samples=lambda r: [call(r(3, 4))])
def fliplr(m: Array) -> Array:
    return np.flip(m, 1)


@linear(
    np.roll,
    transpose=lambda g, shift, axis: np.roll(g, tuple(-s for s in shift) if isinstance(shift, tuple) else -shift, axis),
    batch=lambda a, shift, axis: (
        np.reshape(np.roll(np.reshape(a, (a.shape[0], -1)), shift, 1), a.shape)
        if axis is None
        else np.roll(a, shift, counted_from_one(axis))
    ),
    memory=NEW,
    flags=("moves",),
    samples=lambda r: [call(r(3, 4), 2), call(r(3, 4), 1, axis=1), call(r(3, 4), (1, 2), axis=(0, 1))],
)
def roll(a: Array, /, shift: Array = None, axis: Axis = None) -> Array:
    return np.roll(a, shift, axis)


@linear(
    np.rot90,
    transpose=lambda g, k, axes: np.rot90(g, -k, axes),
    batch="axes",
    memory=VIEW,
    flags=("moves",),
    samples=lambda r: [call(r(3, 4)), call(r(2, 3, 4), 3, (1, 2))],
)
def rot90(m: Array, /, k: int = 1, axes: Axis = (0, 1)) -> Array:
    return np.rot90(m, k, axes)


def _untile(g: Array, A_shape: tuple[int, ...], reps: Any) -> Array:  # noqa: N803 - NumPy's name
    reps = tuple(reps) if np.ndim(reps) else (int(reps),)
    shape = (1,) * (len(reps) - len(A_shape)) + A_shape
    reps = (1,) * (len(shape) - len(reps)) + reps
    pairs = tuple(n for pair in zip(reps, shape, strict=True) for n in pair)
    return np.reshape(np.sum(np.reshape(g, pairs), axis=tuple(range(0, len(pairs), 2))), A_shape)


def _tile_each(A: Array, reps: Any) -> Array:  # noqa: N803 - NumPy's name
    reps = tuple(reps) if np.ndim(reps) else (int(reps),)
    missing = len(reps) + 1 - A.ndim
    if missing > 0:
        A = np.reshape(A, (A.shape[0], *(1,) * missing, *A.shape[1:]))
    return np.tile(A, (1,) * (A.ndim - len(reps)) + reps)


@linear(
    np.tile,
    transpose=_untile,
    batch=_tile_each,
    flags=("moves",),
    samples=lambda r: [call(r(3), 2), call(r(2, 3), (2, 1, 2)), call(r(2, 3), 2)],
)
def tile(A: Array, /, reps: Any = None) -> Array:  # noqa: N803 - NumPy's name
    return np.tile(A, reps)


def _unrepeat(g: Array, a_shape: tuple[int, ...], repeats: Any, axis: Axis) -> Array:
    shape = a_shape if axis is not None else (int(np.prod(a_shape)),)
    along = axis if axis is not None else 0
    counts = np.broadcast_to(repeats, shape[along])
    moved = np.moveaxis(g, along, 0)
    owner = np.repeat(np.arange(shape[along]), counts)
    summed = scatter_add(moved, index=(owner,), shape=(shape[along], *moved.shape[1:]), repeats=True)
    return np.reshape(np.moveaxis(summed, 0, along), a_shape)


def _counts(a: Array, repeats: Any) -> Array:
    return repeats if np.ndim(repeats) == 0 else beside(a, as_array(repeats))


@linear(
    transpose=_unrepeat,
    batch=lambda a, repeats, axis: (
        np.repeat(np.reshape(a, (a.shape[0], -1)), _counts(a, repeats), 1)
        if axis is None
        else np.repeat(a, _counts(a, repeats), counted_from_one(axis))
    ),
    flags=("moves", "selects"),
    samples=lambda r: [call(r(3), 2), call(r(2, 3), [1, 2, 0], axis=1), call(r(2, 3), 2)],
)
def repeat_each(a: Array, /, repeats: Any = 1, axis: Axis = None) -> Array:
    return np.repeat(a, _counts(a, repeats), axis)


@composite(np.repeat, samples=lambda r: [call(r(3), 2), call(r(2, 3), [1, 2, 0], axis=1), call(r(2, 3), repeats=2)])
def repeat(a: Array, repeats: Any, axis: Axis = None) -> Array:
    if axis in (0, -1) and np.ndim(a) == 0:  # NumPy takes a number for a row of one
        axis = None
    repeats = kept(detached(repeats))
    if not isinstance(repeats, int) and np.result_type(repeats).kind not in "iub":
        raise DTypeError(f"np.repeat: repeats must be whole numbers; got {repeats!r}")
    return repeat_each(a, repeats=repeats, axis=axis)


@composite(np.resize, samples=lambda r: [call(r(2, 3), (3, 4)), call(r(4), 3)])
def resize(a: Array, new_shape: Any) -> Array:
    if np.any(np.less(new_shape, 0)):
        raise ArgumentError(f"np.resize: no length may be negative; got {new_shape}")
    size = int(np.prod(new_shape))
    flat = np.ravel(a)
    if not flat.size:
        return np.zeros(new_shape, flat.dtype)
    return np.reshape(flat[np.arange(size) % flat.size], new_shape)


@composite(np.atleast_1d, samples=lambda r: [call(r()), call(r(2, 3))])
def atleast_1d(*arys: Any) -> Any:
    return _each(lambda a: np.reshape(a, (1,)) if np.ndim(a) == 0 else a, arys)


@composite(np.atleast_2d, samples=lambda r: [call(r()), call(r(3))])
def atleast_2d(*arys: Any) -> Any:
    return _each(lambda a: np.reshape(a, (1, -1)) if np.ndim(a) < 2 else a, arys)


@composite(np.atleast_3d, samples=lambda r: [call(r()), call(r(3)), call(r(2, 3))])
def atleast_3d(*arys: Any) -> Any:
    def raised(a: Array) -> Array:
        n, shape = np.ndim(a), np.shape(a)
        return np.reshape(a, ((1, 1, 1), (1, *shape, 1), (*shape, 1))[n]) if n < 3 else a

    return _each(raised, arys)


def _each(function: Any, arrays: tuple[Any, ...]) -> Any:
    return function(arrays[0]) if len(arrays) == 1 else tuple(map(function, arrays))


def _of_each(a: Array, order: Order) -> tuple[int, ...]:
    """The order of axes in which a stack lies whose samples lie in `order`."""
    model = lies(a)
    return (0, *(axis + 1 for axis in axes_by(order, model[0] if len(model) else np.empty(model.shape[1:]))))


def loses_imaginary(x: Array, dtype: DType) -> bool:
    """Whether `x` is complex and `dtype` is of real numbers."""
    kind = getattr(x, "dtype", None)
    return kind is not None and kind.kind == "c" and np.dtype(dtype).kind in "iuf"


def real_part(x: Array) -> Array:
    """The real part of `x`; NumPy's warning that the other one is lost has the user's line."""
    text = "Casting complex values to real discards the imaginary part"
    warn_at(place_of(users_frame()), text, np.exceptions.ComplexWarning)
    return x.real


def _copy_each(a: Array, order: Order) -> Array:
    return copy(a, order=_of_each(a, order))


def _astype_each(x: Array, dtype: DType, copy: bool, order: Order) -> Array:
    return astype(x, dtype=dtype, copy=copy, order=order if order == "K" else _of_each(x, order))


@linear(
    np.copy,
    transpose=lambda g: in_order(g, "K"),
    batch=lambda a, order: _copy_each(a, order),
    memory=NEW,
    flags=("moves",),
    samples=lambda r: [call(r(3, 4)), call(r(3, 4), order="F"), call(r(2, 3, 4), order="A"), call(r(2, 3), order="C")],
)
def copy(a: Array, /, order: Any = "K", subok: bool = False) -> Array:
    return in_order(a, order)


@linear(
    np.astype,
    transpose=lambda g: g,
    batch=lambda x, dtype, copy, order: _astype_each(x, dtype, copy, order),
    memory=AS_MADE,
    flags=("moves",),
    samples=lambda r: [call(r(3, 4), np.float64), call(r(3, 4), np.float64, copy=False)],
)
def astype(x: Array, /, dtype: DType = None, copy: bool = True, device: Any = None, order: Any = "K") -> Array:
    if loses_imaginary(x, dtype):
        x, copy = real_part(x), True
    if not isinstance(order, tuple):
        return x.astype(dtype, copy=copy) if is_foreign(x) else x.astype(dtype, order, copy=copy)
    return x.astype(dtype, copy=False) if not copy and is_laid_out(x, order) else in_order(x.astype(dtype), order)
