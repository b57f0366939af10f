"""Where results lie: whether arrays share memory, and the order of their elements in it.

A later write changes everything that shares the memory, and `reshape` gives a view or a copy depending on the order.
So each entry of the registry states both, in a `Memory`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from typing import Literal

import numpy as np

from adjoint.core.backend import is_foreign, shares
from adjoint.core.box import Box, raw
from adjoint.core.errors import InPlaceError
from adjoint.core.record import Record
from adjoint.core.types import Array, C, DType, Function, Value

MemoryOrder = str | tuple[int, ...]

LINE = 64  # bytes that the processor reads or writes at once


class Memory(Record):
    """What an entry says of where its result lies.

    Attributes:
        view: whether the result shows the memory of the first array: always, never, or where its layout allows it.
        order: how a result in memory of its own lies: ``"C"``; ``"A"``, as Fortran's if the first array does, else as
            C's; ``"K"``, as the arrays that it was made of; ``""``, as the function does that computes it.
        locked: whether a view is read-only, as NumPy's is.
    """

    __slots__ = ()

    view: Literal["always", "never", "perhaps"]
    order: Literal["", "C", "A", "K"] = ""
    locked: bool = False


VIEW, LOCKED_VIEW = Memory("always"), Memory("always", locked=True)
#: Whatever the functions do that it is made of.
AS_MADE = Memory("perhaps")
NEW, NEW_C, NEW_A, NEW_K = (Memory("never", order) for order in ("", "C", "A", "K"))


def owner(array: Array) -> Value:
    """The object that owns an array's memory; `numpy.lib.stride_tricks` puts one of its own in between."""
    while (base := getattr(array, "base", None)) is not None:
        array = base
    return array


def shows(out: Array, data: Array) -> bool:
    """Whether the array `out`, made from `data`, lies in its memory, or is `data` itself."""
    if issubclass(type(out), np.ndarray):
        return issubclass(type(data), np.ndarray) and owner(out) is owner(data)
    if is_foreign(out):
        return shares(out, data)
    return isinstance(out, Box) and isinstance(data, Box) and out is not data and _root(out) is _root(data)


def views(op: Value, out: Array, data: Array) -> bool:
    """Whether `out`, which the operation `op` made of `data`, is a view of it: a box may give itself, as arrays do."""
    return shows(out, data) or (out is data and isinstance(data, Box) and op.memory.view != "never")


def apart(target: Array, values: Array, instead: str) -> None:
    """Refuse values that lie in the memory which is written, where NumPy reads what it has just written."""
    x, y = raw(values), raw(target)
    if (values is target or shows(values, target)) and (not isinstance(x, np.ndarray) or np.may_share_memory(x, y)):
        raise InPlaceError(
            f"the values lie in the memory that is written, and NumPy reads there what it has just written; pass a "
            f"copy: {instead}"
        )


def lies(x: Array) -> Array:
    """A plain array that lies as `x` does: of one sample, inside vmap. What is no array is given back."""
    return x.lies() if isinstance(x, Box) else x


def axes_by(order: MemoryOrder, model: np.ndarray) -> tuple[int, ...]:
    """The axes of a new array, the outermost first, where NumPy makes one in this `order` from `model`."""
    if isinstance(order, tuple):
        return order
    axes = range(model.ndim)
    if not isinstance(model, np.ndarray):  # of another library, which says nothing of its memory
        return tuple(axes)
    if order == "K" and not model.flags.forc:  # an axis of one element lies anywhere
        return tuple(sorted(axes, key=lambda i: -abs(model.strides[i])))
    order = "A" if order == "K" else order
    return tuple(reversed(axes)) if order == "F" or (order == "A" and model.flags.fnc) else tuple(axes)


def as_walked(model: np.ndarray) -> tuple[int, ...]:
    """The axes, the outermost first, as NumPy goes through memory: by strides, as far as these are not 0."""
    order: list[int] = []  # the innermost first
    for axis in reversed(range(model.ndim)):
        place = len(order)
        for k in reversed(range(len(order))):
            mine, other = abs(model.strides[axis]), abs(model.strides[order[k]])
            if mine and other:
                if other <= mine:
                    break
                place = k
        order.insert(place, axis)
    return tuple(reversed(order))


def is_laid_out(model: Array, axes: Sequence[int]) -> bool:
    """Whether `model` has no gaps, and its axes in this order, the outermost first."""
    return bool(np.transpose(model, axes).flags.c_contiguous)


def in_order(x: Array, order: MemoryOrder) -> Value:
    """A copy of `x` with its axes in this order, which may be their numbers, the outermost first."""
    if isinstance(x, Box) or not isinstance(order, tuple):
        return np.copy(x, order=order)  # type: ignore[call-overload]  # ours takes axes, too
    return np.transpose(np.copy(np.transpose(x, order), order="C"), tuple(np.argsort(order)))


def ordered(x: Array, order: str | None, copy: bool | None = None) -> Value:
    """`x` in the order that `np.array(x, order=order, copy=copy)` gives: itself, unless it has to be copied."""
    if copy:
        return in_order(x, order or "K")
    model = lies(x)
    if order in ("C", "F") and is_foreign(model):
        if model.ndim != x.ndim:  # a sample, of which nobody knows how it lies: writes to a reshaped one raise
            return np.reshape(x, np.shape(x))
        flags = getattr(model, "flags", None)  # one axis lies in either order
        return x if (order == "C" if flags is None else flags[f"{order}_CONTIGUOUS"]) else in_order(x, order)
    if order not in ("C", "F") or not isinstance(model, np.ndarray):
        return x
    return x if is_laid_out(model, axes_by(order, model)) else in_order(x, order)


def lying_as(made: Value, by_numpy: Function, *arrays: Array) -> Array:
    """`made`, which lies in memory as NumPy's result for `arrays` does."""
    there, *models = map(lies, (made, *arrays))
    if there.ndim < 2 or not there.size or not all(isinstance(x, np.ndarray | np.generic) for x in (there, *models)):
        return made
    with np.errstate(all="ignore"):
        order = axes_by("K", by_numpy(*models))
    return made if is_laid_out(there, order) else in_order(made, order)


def required(requirements: Value) -> tuple[str | None, bool]:
    """The order that `numpy.require` is asked for, and whether the array has to own its memory."""
    asked = {str(r).upper() for r in ([requirements] if isinstance(requirements, str) else requirements or ())}
    order = "C" if asked & {"C", "CONTIGUOUS", "C_CONTIGUOUS"} else None
    order = "F" if asked & {"F", "FORTRAN", "F_CONTIGUOUS"} else order
    return order, bool(asked & {"O", "OWNDATA"})


def copy_as_it_lies(array: np.ndarray) -> np.ndarray:
    """A copy with the strides of `array`, gaps and all, since they say what is a view of it.

    What is repeated along an axis is copied once, and cannot be written.
    """
    once = array[without_repeats(array)] if 0 in array.strides and array.size else array
    if once.size < array.size:
        return np.broadcast_to(with_strides(np.array(once), once.strides), array.shape)
    return with_strides(np.array(array), array.strides)


def without_repeats(array: np.ndarray) -> tuple[slice, ...]:
    """The index of what `array` repeats along axes."""
    return tuple(slice(0, 1) if step == 0 else slice(None) for step in array.strides)


def lean(shape: Sequence[int], itemsize: int, strides: Sequence[int]) -> tuple[int, ...]:
    """Strides that leave gaps where `strides` do, of elements that share no place; but small ones."""
    found = [itemsize] * len(shape)
    inside = step = room = itemsize  # of the axes before, which are further inside: as they lie, and as they shall
    for axis in sorted((axis for axis, n in enumerate(shape) if n > 1), key=lambda axis: abs(strides[axis])):
        step = room + step * (abs(strides[axis]) != inside)
        inside, room = abs(strides[axis]) * shape[axis], step * shape[axis]
        found[axis] = step if strides[axis] > 0 else -step
    return tuple(found)


def with_strides(array: np.ndarray, strides: tuple[int, ...]) -> np.ndarray:
    """`array`, or a copy that has these `strides`; where several elements would share a place, as it is."""
    if array.strides == strides or not array.size:
        return array
    reach = array.itemsize
    for stride, n in sorted((abs(stride), n) for n, stride in zip(array.shape, strides, strict=True) if n > 1):
        if stride < reach:
            return array
        reach += (n - 1) * stride
    # A small part of a large array gets gaps too, but smaller ones.
    if span(array.shape, array.itemsize, strides) > 4 * array.nbytes + 64:
        strides = lean(array.shape, array.itemsize, strides)
    copy = unfilled(array.shape, array.dtype, strides)
    copy[...] = array
    return copy


def unfilled(shape: tuple[int, ...], dtype: DType, strides: Sequence[int]) -> np.ndarray:
    """An array with these `strides`, backwards too, whose elements are not set."""
    kind = np.dtype(dtype)
    if kind.hasobject and any(stride % kind.itemsize for stride in strides):  # no array owns objects at such places
        return np.empty(shape, kind)
    back = -sum(max(n - 1, 0) * min(stride, 0) for n, stride in zip(shape, strides, strict=True))
    return np.ndarray(shape, kind, room(span(shape, kind.itemsize, strides), kind).data, back, strides)


def room(size: int, dtype: DType) -> np.ndarray:
    """Memory of `size` bytes for elements of `dtype`; of Python's objects, which it owns: None at first."""
    kind = np.dtype(dtype)
    return np.empty(-(-size // kind.itemsize), kind) if kind.hasobject else np.empty(size, np.uint8)


def zeros_as_it_lies(array: np.ndarray) -> np.ndarray:
    """Zeros with the strides of `array`, those of 0 too: a model for NumPy's functions that look at no values."""
    zeros = unfilled(array.shape, array.dtype, array.strides)
    zeros[...] = 0
    return zeros


def span(shape: tuple[int, ...], itemsize: int, strides: Sequence[int]) -> int:
    """How many bytes the elements of an array span."""
    return sum(max(n - 1, 0) * abs(stride) for n, stride in zip(shape, strides, strict=True)) + itemsize


def gaps(array: Value) -> tuple[int, ...] | None:
    """The strides of an array that is not in C order, if it goes forward along all axes, and no elements share a place.

    None for what is in C order, lies otherwise, or is no array.
    """
    if not isinstance(array, np.ndarray) or array.flags.c_contiguous or not array.size:
        return None
    reach = array.itemsize
    for stride, n in sorted((s, n) for n, s in zip(array.shape, array.strides, strict=True) if n > 1):
        if stride < reach or stride % array.itemsize:
            return None
        reach += (n - 1) * stride
    return array.strides


def settled_as(memory: Memory, out: Array, given: Sequence[Array]) -> Array:
    """`out`, made from the arrays `given`, where `memory` says: copied, if it lies elsewhere."""
    model = lies(out)
    if not isinstance(model, np.ndarray):
        return out
    order: MemoryOrder = memory.order and "C"
    first: Value = None
    if order and memory.order != "C" and model.ndim > 1:
        first = next((m for x in given if isinstance(m := lies(x), np.ndarray)), None)
    if first is not None and first.ndim == model.ndim:
        order = axes_by(memory.order, first)
        kept = is_laid_out(model, order)
    else:
        kept = model.flags.c_contiguous or not order
    if kept:
        for x in given:
            if x is out or shows(out, x):
                return in_order(out, order or "K")
        return out
    return in_order(out, order)


def out_of(function: Value) -> Callable[[Sequence[object], Mapping[str, object]], Value]:
    """What finds the argument `out` of a call of `function`, by name or by place; None if there is none."""
    while hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    code = getattr(function, "__code__", None)
    names = code.co_varnames[: code.co_argcount] if code else ()
    place = names.index("out") if "out" in names else None
    return lambda args, kwargs: kwargs.get("out") if place is None or len(args) <= place else args[place]


def keeping(memory: Memory, function: C) -> C:
    """`function`, with its results where `memory` says; what it is given as ``out`` stays where it is."""
    if memory.view != "never":
        return function
    given_out = out_of(function)

    @wraps(function)
    def kept(*args: object, **kwargs: object) -> Value:
        out = function(*args, **kwargs)
        given = [x for x in (*args, *kwargs.values()) if hasattr(x, "shape")]
        if type(out) in (tuple, list):
            return type(out)(settled_as(memory, x, given) for x in out)
        target = given_out(args, kwargs)
        return out if out is target and out is not None else settled_as(memory, out, given)

    return kept  # type: ignore[return-value]  # it takes and gives the same


def overlap(things: Iterable[tuple[object, bool]]) -> bool:
    """Whether an array that is written shares memory with another one, by where they begin and end.

    Args:
        things: each with whether it is written; what is no array does not count.
    """
    spans = sorted(
        (*np.lib.array_utils.byte_bounds(x), written) for x, written in things if isinstance(x, np.ndarray) and x.size
    )
    end, last = 0, False  # of what reaches furthest so far: its end, and whether it is written
    for low, high, written in spans:
        if low < end and (written or last):
            return True
        end, last = (high, written) if high >= end else (end, last or written)
    return False


def _root(box: Array) -> Array:
    return getattr(box, "root", box)


def at_line(shape: Sequence[int], dtype: DType) -> np.ndarray:
    """A new array, not filled, in C order, that begins at a line of memory; of Python's objects, anywhere."""
    kind = np.dtype(dtype)
    if kind.hasobject:
        return np.empty(tuple(shape), kind)
    memory = room(math.prod(shape) * kind.itemsize + LINE, kind)
    return np.ndarray(tuple(shape), kind, memory, -memory.ctypes.data % LINE)
