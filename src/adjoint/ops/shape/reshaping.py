"""Axes put in another order, joined, added, dropped, broadcast. All are linear; each states its transpose."""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from adjoint.core.backend import is_foreign, spread_to
from adjoint.core.constructors import composite, linear
from adjoint.core.errors import ArgumentError, DTypeError
from adjoint.core.memory import LOCKED_VIEW, VIEW, Memory, as_walked, axes_by, lies
from adjoint.core.op import call
from adjoint.core.registry import operation
from adjoint.core.rules.pullbacks import unbroadcast
from adjoint.core.types import Array, Axis, Function, ShapeLike, Value
from adjoint.ops.values import is_number, with_shape


def counted_from_one(axis: Axis, ndim: int) -> Array:
    """`axis` of a sample, in a stack of them of `ndim` axes. None is all but the first.

    Raises:
        AxisError: NumPy's, if a sample has no such axis: from the end, it might be that of the samples.
    """
    if axis is None:
        return tuple(range(1, ndim))
    if isinstance(axis, np.ndarray) and axis.ndim:
        axis = axis.tolist()
    if isinstance(axis, tuple | list | range):
        counted = tuple(counted_from_one(a, ndim) for a in axis)
        return list(counted) if isinstance(axis, list) else counted
    if isinstance(axis, bool):
        raise DTypeError(f"an axis is a whole number; got {axis}")
    return normalize_axis_index(operator.index(axis), ndim - 1) + 1


def lined_up(xs: Sequence[Array], stacked: Sequence[bool]) -> list[Array]:
    """Arrays, some of them stacks of samples, such that NumPy broadcasts the samples' own axes from the right."""
    ranks = [(x.ndim if type(x) is np.ndarray else np.ndim(x)) - s for x, s in zip(xs, stacked, strict=True)]
    most = max(ranks)
    return [
        np.reshape(x, (x.shape[0], *(1,) * (most - rank), *x.shape[1:])) if s and rank < most else x
        for x, s, rank in zip(xs, stacked, ranks, strict=True)
    ]


def merged(x: Array, start: int, count: int = 2) -> Array:
    """`x` with `count` axes from `start` on as one: of arrays without elements too, whose lengths -1 cannot give."""
    shape = x.shape
    end = start + count
    return np.reshape(x, (*shape[:start], math.prod(shape[start:end]), *shape[end:]))


def _reshape_each(a: Array, shape: ShapeLike, order: Value) -> Array:
    shape = tuple(shape) if np.ndim(shape) else (shape,)
    if order == "F":
        return np.moveaxis(_reshaped(np.moveaxis(a, 0, -1), (*shape, a.shape[0]), "F"), -1, 0)
    if -1 in shape and 0 in a.shape:  # which length is meant, NumPy knows for one sample alone
        shape = np.empty(a.shape[1:]).reshape(shape).shape
    return _reshaped(a, (a.shape[0], *shape), order)


def _reshaped(a: Array, shape: ShapeLike, order: Value, copy: bool | None = None) -> Array:
    if type(a) is np.ndarray and copy is None:  # NumPy's function takes longer than its method
        return a.reshape(shape, order=order)
    if is_foreign(a):  # whose memory is its own affair
        made = a.reshape(shape) if order == "C" else np.transpose(np.transpose(a).reshape(_backwards(shape)))
        return np.copy(made) if copy else made
    return np.reshape(a, shape, order=order, copy=copy)


def _backwards(shape: ShapeLike) -> tuple[int, ...]:
    return tuple(shape)[::-1] if np.ndim(shape) else (shape,)


def _unreshaped(g: Array, a_shape: tuple[int, ...], order: str) -> Array:
    if type(g) is np.ndarray:
        return g.reshape(a_shape, order=order)  # type: ignore[call-overload]  # "C" or "F"
    back: Value = reshape
    return back(g, shape=a_shape, order=order)


def _settled(arrays: Sequence[Value], settings: Mapping[str, Value]) -> Mapping[str, Value]:
    """Order "A" as that in which the array lies: a cotangent may lie otherwise."""
    if settings["order"] != "A":
        return settings
    return {**settings, "order": "F" if getattr(getattr(lies(arrays[0]), "flags", None), "fnc", False) else "C"}


@linear(
    np.reshape,
    transpose=lambda g, a_shape, order: _unreshaped(g, a_shape, order),
    settle=_settled,
    batch=lambda a, shape, order: _reshape_each(a, shape, order),
    memory=Memory("perhaps", "C"),
    flags=("moves", "as_given"),
    samples=lambda r: [call(r(3, 4), (2, -1)), call(r(2, 3), shape=6, order="F"), call(r(), (1,))],
    errors=lambda r: [call(r(3, 4), (5,))],
)
def reshape(a: Array, /, shape: ShapeLike = None, order: Value = "C", copy: Value = None) -> Array:
    return _reshaped(a, shape, order, copy)


def _each_axis(axes: Axis) -> Array:
    return axes if np.ndim(axes) else (axes,)


def _in_line(a: Array, order: Value) -> Array:
    """The elements of `a` in one line; by order "A" and "K", as they lie in memory."""
    if order in ("A", "K"):
        model = lies(a)
        if not isinstance(model, np.ndarray | np.generic):
            raise ArgumentError(f"np.ravel: order {order!r} asks for the memory's layout; use 'C' or 'F'")
        model = np.asarray(model)
        order, a = "C", np.transpose(a, as_walked(model) if order == "K" else axes_by(order, model))
    return _reshaped(a, -1, order)


@composite(np.ravel, samples=lambda r: [call(r(3, 4)), call(r(3, 4), "F")])
def ravel(a: Array, order: str = "C") -> Array:
    line = _in_line(a, order)
    # NumPy's own line is never a view with gaps, which `reshape` may give.
    model = lies(line)
    samples = is_foreign(model) and model.ndim > 1  # of which one alone may lie without gaps
    return line if samples or getattr(model, "flags", _WHOLE).c_contiguous else np.copy(line)


_WHOLE = np.empty(0).flags


@composite(samples=lambda r: [call(r(3, 4)), call(r(3, 4), order="F")])
def flatten(a: Array, order: str = "C", end_dim: int = -1) -> Array:
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
        a, (0, *range(a.ndim - 1, 0, -1)) if axes is None else (0, *counted_from_one(tuple(_each_axis(axes)), a.ndim))
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
def swapaxes(a: Array, /, axis1: Value = None, axis2: Value = None) -> Array:
    return np.swapaxes(a, axis1, axis2)


@linear(
    np.moveaxis,
    transpose=lambda g, source, destination: np.moveaxis(g, destination, source),
    batch="axes",
    memory=VIEW,
    flags=("moves",),
    samples=lambda r: [call(r(2, 3, 4), 0, -1), call(r(2, 3, 4), (0, 1), (-1, 0))],
)
def moveaxis(a: Array, /, source: Value = None, destination: Value = None) -> Array:
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
    batch=lambda a, axis: np.expand_dims(a, counted_from_one(axis, np.ndim(a) + np.size(axis))),
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
    flags=("moves", "array"),
    samples=lambda r: [call(r(3, 1), (2, 3, 4)), call(r(), (2,))],
    errors=lambda r: [call(r(3), (2,))],
)
def broadcast_to(array: Array, /, shape: ShapeLike = None, subok: bool = False) -> Array:
    return spread_to(array, shape)


@composite(np.broadcast_arrays, samples=lambda r: [call(r(3, 1), r(1, 4))])
def broadcast_arrays(*args: Array, subok: bool = False) -> Array:
    arrays = [a[...] if is_number(a) else with_shape(a) for a in args]
    shape = np.broadcast_shapes(*(a.shape for a in arrays))
    return tuple(a if a.shape == shape else np.broadcast_to(a, shape) for a in arrays)  # as NumPy gives it: itself


@composite(np.atleast_1d, samples=lambda r: [call(r()), call(r(2, 3))])
def atleast_1d(*arys: Array) -> Array:
    return _each(lambda a: np.reshape(a, (1,)) if np.ndim(a) == 0 else a, arys)


@composite(np.atleast_2d, samples=lambda r: [call(r()), call(r(3))])
def atleast_2d(*arys: Array) -> Array:
    return _each(lambda a: np.reshape(a, (1, -1)) if np.ndim(a) < 2 else a, arys)


@composite(np.atleast_3d, samples=lambda r: [call(r()), call(r(3)), call(r(2, 3))])
def atleast_3d(*arys: Array) -> Array:
    def raised(a: Array) -> Array:
        n, shape = np.ndim(a), np.shape(a)
        return np.reshape(a, ((1, 1, 1), (1, *shape, 1), (*shape, 1))[n]) if n < 3 else a

    return _each(raised, arys)


def _each(function: Function, arrays: tuple[Array, ...]) -> Array:
    return function(arrays[0]) if len(arrays) == 1 else tuple(map(function, arrays))
