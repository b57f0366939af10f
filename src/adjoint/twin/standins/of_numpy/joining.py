"""Nested lists of numbers and boxes as one box: what ``np.array([c, -s])`` means in a twin."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from adjoint.arrays.flat import flattened
from adjoint.arrays.promotion import is_python
from adjoint.arrays.python_number import as_numpy
from adjoint.core.box import Box, apply, raw, varies
from adjoint.core.errors import BatchedValueError
from adjoint.core.leaks.texts import read_of, seen_again
from adjoint.core.memory import ordered, required
from adjoint.core.protocol import detached
from adjoint.core.types import Array, Device, DType, Function, ShapeLike, Value
from adjoint.ops.shape.joining import pile
from adjoint.tape.number import TensorNumber
from adjoint.tape.tensor import Tensor
from adjoint.twin.standins.values import PLAIN, SEQUENCES, as_array, boxed, is_box, live, ndarray, plainly

_SCALARS = {
    float,
    int,
    bool,
    complex,
    np.float64,
    np.float32,
    np.float16,
    np.complex128,
    np.complex64,
    np.int64,
    np.bool_,
}
_NUMBERS = {*_SCALARS, Tensor, TensorNumber}
_LISTS = {list}
_FIRST = {"axis": 0}


def joined(x: Array) -> Value:
    """`x` as one box if it is a sequence that holds some; else `x` itself."""
    return packed(x) if not is_box(x) and boxed(x) else x


def packed(x: Value) -> Array:
    """A nested sequence of numbers and boxes as a box: one operation puts all of its parts side by side.

    Raises:
        ValueError: if parts differ in shape, as NumPy does.
    """
    x = flattened(x)
    if is_box(x):
        return x
    if type(x) is ndarray:  # of objects
        x = x.tolist()
        if is_box(x):
            return x
    parts: list[Value] = []
    shape = _opened(x, parts)
    if shape is None:
        np.array(_shapes_of(x))  # raises what NumPy says of a ragged list
        return pile(*[packed(q) if isinstance(q, SEQUENCES) else q for q in x])
    made = pile(*parts)
    return made if len(shape) == 1 else np.reshape(made, shape + made.shape[1:])


def _opened(x: Sequence[Value], parts: list[Array]) -> tuple[int, ...] | None:
    """The shape of the nest, with its innermost `parts` in order; None if these are not of one shape and depth."""
    kinds = set(map(type, x))
    if not any(issubclass(kind, SEQUENCES) for kind in kinds):
        if kinds <= _SCALARS:
            parts += x
            return (len(x),)
        these = [q if type(q) in _SCALARS or is_box(q) else np.asarray(q) for q in x]
        parts += these
        shapes = {() if type(q) in _SCALARS else q.shape for q in (*parts[:1], *these)}
        return (len(x),) if len(shapes) == 1 else None
    if not all(issubclass(kind, SEQUENCES) for kind in kinds):
        return None
    inner = {_opened(q, parts) for q in x}
    if len(inner) != 1:
        return None
    (shape,) = inner
    return None if shape is None else (len(x), *shape)


def _shapes_of(x: Value) -> object:
    """`x` with zeros in the place of arrays."""
    if isinstance(x, SEQUENCES):
        return [_shapes_of(q) for q in x]
    return np.zeros(np.shape(x)) if is_box(x) else x


def _leaves(x: object) -> list[Value]:
    return [leaf for q in x for leaf in _leaves(q)] if isinstance(x, SEQUENCES) else [x]


def _objects(x: Value, ndmin: int = 0) -> np.ndarray:
    """A nested sequence as an array of Python objects: boxes, None, strings, fractions."""
    shape: list[int] = []
    level = x
    while isinstance(level, SEQUENCES):
        shape.append(len(level))
        level = level[0] if level else None
    made = np.empty(shape, object)
    for index in np.ndindex(*shape):
        item = x
        for i in index:
            item = item[i]
        made[index] = item
    return made.reshape((1,) * (ndmin - made.ndim) + made.shape)


def array(
    object: Value,
    dtype: DType = None,
    *,
    copy: bool | None = True,
    order: Value = "K",
    subok: bool = False,
    ndmin: int = 0,
    like: object = None,
) -> Array:
    """`numpy.array`, also of boxes and of nested sequences that hold some."""
    kind = type(object)
    as_it_is = dtype is None and copy is True and order == "K" and not ndmin and not subok and like is None
    if (kind is list or kind is tuple) and as_it_is:
        made = _quickly(object)
        if made is not None:
            return made
    object = _asked(object)
    if not boxed(object):
        given = {"copy": copy, "order": order, "subok": subok, "ndmin": ndmin, "like": like}
        return read_of(np.array(object, dtype, **given), object)
    return converted(object, dtype, copy=copy, ndmin=ndmin, order=order)


def _quickly(rows: Value) -> Array | None:
    """The array of a list of numbers, or of a list of such lists; None if it is none of these."""
    kinds = set(map(type, rows))
    if kinds <= PLAIN:
        return np.array(rows)
    if kinds <= _NUMBERS:
        parts, shape = rows, None
    elif kinds == _LISTS:
        width = len(rows[0])
        parts = []
        for row in rows:
            if len(row) != width:
                return None
            parts += row
        kinds, shape = set(map(type, parts)), (len(rows), width)
        if kinds <= PLAIN:
            return np.array(rows)
        if not kinds <= _NUMBERS:
            return None
    else:
        return None
    for q in parts:
        if type(q) is Tensor and type(q.held) is not np.float64 and q.held.shape:
            return None
    made = apply(pile, tuple(parts), _FIRST)
    return made if shape is None else made.reshape(shape)


def _asked(x: Value) -> Value:
    """The array that an object of another library gives for itself, if it is a box."""
    if isinstance(x, (Box, ndarray, *SEQUENCES)) or not hasattr(type(x), "__array__") or isinstance(x, np.generic):
        return x
    try:
        given = type(x).__array__(x)
    except TypeError:
        return x
    return given if is_box(given) else x


def _numbers(parts: Sequence[object]) -> bool:
    """Whether all of `parts` are numbers, or arrays of some."""
    return all(is_box(q) or type(q) in _SCALARS or getattr(q, "dtype", np.dtype(object)).kind in "biufc"
               for q in parts)  # fmt: skip


def converted(
    x: Value, dtype: DType = None, *, copy: bool | None = None, ndmin: int = 0, order: str | None = None
) -> Array:
    """`x`, which is a box or holds some, as an array: itself where nothing has to change and no copy is asked for."""
    dtype = None if dtype is None else np.dtype(dtype)
    if isinstance(copy, np._CopyMode):
        copy = {np._CopyMode.ALWAYS: True, np._CopyMode.NEVER: False}.get(copy)
    x = flattened(x)
    if not is_box(x):
        leaves = [q if is_box(q) else np.asarray(q) for q in _leaves(x if type(x) is not ndarray else x.tolist())]
        kinds = {q.dtype.kind for q in leaves}
        if dtype is not None and dtype.kind == "O":
            return x.copy() if type(x) is ndarray else _objects(x, ndmin)
        if kinds & set("SU") or (dtype is not None and dtype.kind in "SU"):
            return np.array(plainly(x), dtype, ndmin=ndmin)
        if "O" in kinds and dtype is None:
            return _objects(x, ndmin) if isinstance(x, SEQUENCES) else x
        if type(x) is ndarray and dtype is None:
            return x.copy() if copy else x
        made = packed(x)
    else:
        if dtype is not None and dtype.kind == "O":
            made = np.empty((), object)
            made[()] = x
            return made if not x.shape else _objects(list(x), ndmin)
        made = as_array(x)
        if copy and (dtype is None or dtype == x.dtype):
            made = ordered(made, order, True)
    if dtype is not None and dtype != made.dtype:
        made = made.astype(dtype)
    made = ordered(made, order)
    missing = ndmin - made.ndim
    return np.reshape(made, (1,) * missing + made.shape) if missing > 0 else made


def asarray(
    a: Array, dtype: DType = None, order: Value = None, *, device: Device = None, copy: Value = None, like: Value = None
) -> Value:
    """`numpy.asarray`: a box is one already."""
    if is_box(a) and dtype is None and not copy and order is None:
        return as_array(a)
    a = _asked(a)
    if not boxed(a):
        return read_of(np.asarray(a, dtype, order, device=device, copy=copy, like=like), a)
    return converted(a, dtype, copy=copy, order=order)


def asanyarray(
    a: Array, dtype: DType = None, order: Value = None, *, device: Device = None, copy: Value = None, like: Value = None
) -> Array:
    """`numpy.asanyarray`; a polynomial stays one, whose operators are its own."""
    if not is_box(a) and getattr(a, "__array_ufunc__", a) is None:
        return a
    if boxed(a):
        return asarray(a, dtype, order, copy=copy)
    return np.asanyarray(a, dtype, order, device=device, copy=copy, like=like)


def ascontiguousarray(a: Array, dtype: DType = None, *, like: Value = None) -> Array:
    """`numpy.ascontiguousarray`: a copy of what is not."""
    return converted(a, dtype, ndmin=1, order="C") if boxed(a) else np.ascontiguousarray(a, dtype, like=like)


def asfortranarray(a: Value, dtype: DType = None, *, like: Value = None) -> Value:
    """`numpy.asfortranarray`: a copy of what does not lie so."""
    return converted(a, dtype, ndmin=1, order="F") if boxed(a) else np.asfortranarray(a, dtype, like=like)


def require(a: Array, dtype: DType = None, requirements: Value = None, *, like: Value = None) -> Array:
    """`numpy.require`."""
    if not boxed(a):
        return np.require(a, dtype, requirements, like=like)
    order, owned = required(requirements)
    return converted(a, dtype, copy=owned and bool(getattr(a, "path", ())), order=order)


def asarray_chkfinite(a: Array, dtype: DType = None, order: Value = None) -> Array:
    """`numpy.asarray_chkfinite`: an array without nan and infinities, or a ValueError."""
    if not boxed(a):
        return np.asarray_chkfinite(a, dtype, order)
    a = converted(a, dtype, order=order)
    if a.dtype.kind in "fc" and not np.all(np.isfinite(raw(a))):
        raise ValueError("array must not contain infs or NaNs")
    return a


def full(
    shape: ShapeLike,
    fill_value: Array,
    dtype: DType = None,
    order: Value = "C",
    *,
    device: Device = None,
    like: Value = None,
) -> Array:
    """`numpy.full`, with a box, or a list of boxes, as the fill value."""
    fill_value = joined(fill_value)
    if not live(fill_value):
        return np.full(plainly(shape), plainly(fill_value), dtype, order, device=device, like=like)
    return np.copy(np.full_like(fill_value, fill_value, dtype=dtype, shape=shape))


def arange(*args: Array, **kwargs: Value) -> Value:
    """`numpy.arange`, where bounds and the step may be live; how many numbers there are is taken from their values."""
    named = dict(zip(("start", "stop", "step", "dtype"), args, strict=False)) | kwargs
    if not any(live(named.get(name)) for name in ("start", "stop", "step")):
        return np.arange(*map(plainly, args), **{k: v if k == "like" else plainly(v) for k, v in kwargs.items()})
    start, stop, step = named.get("start"), named.get("stop"), named.get("step")
    step = 1 if step is None else step
    if stop is None:
        start, stop = 0.0, start
    count = for_all(np.ceil((detached(stop) - detached(start)) / detached(step)))
    if is_box(count):
        raise BatchedValueError(
            "np.arange: inside vmap, the samples' bounds give different counts of numbers, which do not fit into one "
            "array. Use np.linspace, with one count for all"
        )
    made = start + np.arange(max(count, 0)) * step
    return made if named.get("dtype") is None else made.astype(named["dtype"])


def for_all(x: Array) -> Array:
    """The whole number that the box `x` is; of samples that differ, a box of whole numbers."""
    if not varies(x):
        return int(raw(x))
    values = raw(x)
    return int(values.flat[0]) if values.size and np.all(values == values.flat[0]) else x.astype(int)


def fromiter(iter: Value, dtype: DType, count: int = -1, *, like: Value = None) -> Value:
    """`numpy.fromiter`, also of an iterator that gives boxes."""
    items = list(iter) if count < 0 else [q for q, _ in zip(iter, range(count), strict=False)]
    if not boxed(items):
        return np.fromiter(items, dtype, count, like=like)
    if len(items) < count:
        raise ValueError(f"iterator too short: Expected {count} but iterator had only {len(items)} items.")
    return converted(items, dtype)


def of_type(kind: type[np.generic]) -> Function:
    """The stand-in of one of NumPy's number types when it is called: ``np.float64(t)``."""
    dtype = np.dtype(kind)

    def convert(*args: Array, **kwargs: object) -> Array:
        if len(args) != 1 or kwargs or not boxed(args[0]):
            found = kind(*args, **kwargs)
            return seen_again(found) if args and isinstance(args[0], str | bytes) else found
        if is_python(args[0]) and args[0].dtype.kind == "c" and dtype.kind in "iuf":
            return kind(1j)  # raises, as for any complex number of Python's
        x = as_numpy(args[0]) if is_box(args[0]) else packed(args[0])
        return x if x is not args[0] and x.dtype == dtype else +x if x.dtype == dtype else x.astype(dtype)

    convert.__name__ = convert.__qualname__ = kind.__name__
    return convert


class Concatenator:
    """The stand-in of ``np.r_`` and ``np.c_``."""

    def __init__(self, original: Array) -> None:
        self.original = original

    def __getattr__(self, name: str) -> object:
        return getattr(self.original, name)

    def __len__(self) -> int:
        return 0

    def __getitem__(self, key: object) -> object:
        items = key if isinstance(key, tuple) else (key,)
        ends = [
            q for item in items for q in ((item.start, item.stop, item.step) if isinstance(item, slice) else (item,))
        ]
        if not any(map(boxed, ends)):
            return self.original[key]
        places: list[Value] = [self.original.axis, self.original.ndmin, self.original.trans1d]
        if isinstance(items[0], str):
            given, items = [int(part) for part in items[0].split(",")], items[1:]
            places[: len(given)] = given
        axis, ndmin, first = places
        parts = [self._part(item, ndmin, first) for item in items]
        kinds = [item if _is_pythons(item) else part.dtype for item, part in zip(items, parts, strict=True)]
        dtype = np.result_type(*kinds)
        return np.concatenate([part if part.dtype == dtype else part.astype(dtype) for part in parts], axis=axis)

    @staticmethod
    def _part(item: Value, ndmin: int, first: int) -> Value:
        """One of the arrays that are put together, with `ndmin` axes; its own ones begin at `first`."""
        if isinstance(item, slice):
            start = 0 if item.start is None else item.start
            step = 1 if item.step is None else item.step
            if isinstance(step, complex):
                item = np.linspace(start, item.stop, int(abs(step)))
            else:
                item = arange(start, item.stop, step)
        item = asarray(item)
        added = ndmin - item.ndim
        if added <= 0:
            return item
        own = item.ndim
        item = np.reshape(item, (1,) * added + item.shape)
        if first == -1 or own == 0:
            return item
        first += added + 1 if first < 0 else 0
        axes = list(range(ndmin))
        return np.transpose(item, axes[:first] + axes[added:] + axes[first:added])


def _is_pythons(x: Value) -> bool:
    """Whether `x` is one of Python's numbers, which make no dtype wider."""
    return type(x) in (bool, int, float, complex) or (is_box(x) and is_python(x))


def copied(x: Array) -> Array:
    """A copy of the box `x` of its own memory, with its history."""
    return x.copy()
