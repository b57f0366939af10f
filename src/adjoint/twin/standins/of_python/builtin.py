"""Stand-ins for Python's own functions and types: ``float(t)`` keeps the history, ``isinstance`` sees an array."""

from __future__ import annotations

import builtins
import copy
import types
from collections.abc import Callable, Iterable
from types import FrameType

import numpy as np

from adjoint.arrays.promotion import is_python
from adjoint.arrays.python_number import PythonNumber, as_numpy, as_python, has_attribute
from adjoint.core.box import TRACKED, Box, varies
from adjoint.core.leaks.texts import seen_again
from adjoint.core.messages.frames import users_frame
from adjoint.core.protocol import detached
from adjoint.core.types import Array, DType, Function, Value
from adjoint.ops.elementwise.complex import join_parts
from adjoint.twin.standins.of_numpy.joining import copied
from adjoint.twin.standins.of_python.mathematics import whole
from adjoint.twin.standins.of_python.sample_texts import TextsOfSamples
from adjoint.twin.standins.of_python.text import joined, printed, shown, shown_array
from adjoint.twin.standins.values import CONTAINERS, is_box, plainly, type_of
from adjoint.twin.subclasses.base import class_of, of_class, users
from adjoint.twin.syntax.names import PREFIX


def _number(x: Array, kind: type, dtype: DType) -> Array:
    """The box `x` as a number of one of Python's types."""
    if x.shape:
        kind(np.empty(x.shape))  # raises what NumPy says of arrays
        x = np.reshape(x, ())
    if x.dtype.kind == "c" and kind is float:
        float(np.complex128(1j))  # raises, or warns, as NumPy does
        x = np.real(x)
    return as_python(x if x.dtype == dtype else as_numpy(x).astype(dtype))


def to_float(x: Value = 0.0, /) -> Value:
    """``float(x)``; of a box, the same box without axes."""
    if is_box(x):
        found = _number(x, float, np.dtype(float))
        return found if x.dtype.kind not in "US" or varies(x) else seen_again(plainly(found))
    if isinstance(x, int) and type(x) in TRACKED:
        return x / 1  # it knows where it came from
    return seen_again(float(x)) if isinstance(x, str | bytes) else float(x)


def to_int(*args: Array, **kwargs: object) -> object:
    """``int(x)``; of a box, the whole number, through which no derivative flows."""
    if len(args) != 1 or kwargs or not is_box(args[0]):
        return int(*args, **kwargs)
    x: Value = args[0]
    if x.shape:
        int(np.empty(x.shape))
    return whole(x, np.trunc)


def to_complex(*args: Array, **kwargs: Value) -> Array:
    """``complex(x)`` and ``complex(x, y)``."""
    if not any(is_box(x) for x in (*args, *kwargs.values())):
        made = complex(*args, **kwargs)
        return seen_again(made) if isinstance(args[0] if args else None, str) else made
    given = dict(zip(("real", "imag"), args, strict=False)) | kwargs
    if "imag" not in given:
        return _number(given["real"], complex, np.dtype(complex))
    (a, b), (c, d) = _parts(given.get("real", 0.0)), _parts(given["imag"])
    a = a if d is None else a - d
    return as_python(join_parts(as_numpy(a), as_numpy(c if b is None else b + c)))


def _parts(x: Array) -> tuple[Value, Value]:
    """The parts of an argument of ``complex(x, y)``, as numbers of 64 bits; the imaginary one is None if it is real."""
    if not is_box(x):
        z = complex(x, 0)  # raises what Python raises
        return (z.real, z.imag) if isinstance(x, complex | np.complexfloating) else (z.real, None)
    if x.dtype.kind != "c":
        return _number(x, float, np.dtype(float)), None
    z = _number(x, complex, np.dtype(complex))
    return np.real(z), np.imag(z)


def rounded(number: Array, ndigits: Value = None) -> object:
    """``round(x)``, a whole number, and ``round(x, digits)``."""
    if not is_box(number):
        return round(number) if ndigits is None else round(number, ndigits)
    x: Value = number
    if ndigits is None and not x.shape:
        return whole(x, np.rint)
    if isinstance(x, PythonNumber):
        return x.__round__(ndigits)
    return np.round(x, 0 if ndigits is None else ndigits)


def _extreme(original: Function, before: Callable[[Value, Value], Value]) -> Function:
    """``min`` and ``max``, where which one it is may differ between samples."""

    def stand_in(*args: Array, **kwargs: object) -> Array:
        items = list(args[0]) if len(args) == 1 and not isinstance(args[0], Box | np.ndarray) else args
        if kwargs or not any(map(varies, items)):
            return original(items, **kwargs) if items is not args else original(*args, **kwargs)
        items = list(items[0]) if len(items) == 1 else items
        best: Value = items[0]
        for x in items[1:]:
            python = is_python(x) and is_python(best)
            best = np.where(before(x, best), as_numpy(x), as_numpy(best))
            best = as_python(best) if python else best[()]
        return best

    return stand_in


def _classes(kinds: object) -> Iterable[object]:
    if isinstance(kinds, tuple):
        for kind in kinds:
            yield from _classes(kind)
    elif isinstance(kinds, types.UnionType):
        yield from kinds.__args__
    else:
        yield kinds


def is_instance(x: object, kinds: Value, /) -> bool:
    """``isinstance(x, kinds)``; a box is an instance of what the plain value in its place would be."""
    if not is_box(x):
        if not of_class(x):
            return isinstance(x, kinds)
        return any(issubclass(class_of(x), users(c)) for c in _classes(kinds))
    kind = type_of(x)
    return any(_is_one(x, kind, c) for c in _classes(kinds))


def _is_one(x: Array, kind: type, c: Value) -> bool:
    try:
        return isinstance(x, c) if issubclass(c, Box) else issubclass(kind, c)
    except TypeError:  # a protocol that asks for attributes
        return isinstance(x, c)


def kind_of(*args: object, **kwargs: object) -> type:
    """``type(x)``; of a box, the type of the plain value in its place."""
    if len(args) == 1 and type(args[0]) is TextsOfSamples:
        return str
    return type_of(args[0]) if len(args) == 1 else type(*args, **kwargs)


def has(x: Array, name: str, /) -> bool:
    """``hasattr(x, name)``; a box has what the plain value in its place would have.

    A module that knows adjoint finds a box's own names besides. To any other, ``x.detach`` would say that `x` is a
    tensor of some other library.
    """
    if not is_box(x):
        return hasattr(x, name)
    if isinstance(x, PythonNumber):
        return has_attribute(x, name)
    return hasattr(type_of(x), name) or (name[:2] != "__" and hasattr(x, name) and _knows_adjoint(users_frame()))


def got(x: Array, name: str, /, *default: Value) -> Value:
    """``getattr(x, name, default)``; a box has the attributes that `has` says."""
    if default and is_box(x) and not has(x, name):
        return default[0]
    return getattr(x, name, *default)


def _knows_adjoint(frame: FrameType) -> bool:
    """Whether the code of `frame` can name something of adjoint's."""
    here = [v for name, v in frame.f_locals.items() if not name.startswith(PREFIX) and isinstance(v, _IMPORTED)]
    return any(map(_is_ours, (*frame.f_globals.values(), *here)))


_IMPORTED = (types.ModuleType, type, types.FunctionType)


def _is_ours(x: Value) -> bool:
    home = x.__name__ if isinstance(x, types.ModuleType) else getattr(type(x) if is_box(x) else x, "__module__", None)
    return isinstance(home, str) and home.partition(".")[0] == "adjoint"


def is_scalar(element: Array) -> bool:
    """`numpy.isscalar`."""
    return type_of(element) is not np.ndarray if is_box(element) else np.isscalar(element)


def is_iterable(y: Value) -> bool:
    """`numpy.iterable`."""
    return bool(y.shape) if is_box(y) else np.iterable(y)


def shallow(x: Array) -> Array:
    """`copy.copy`; a box's copy has its history."""
    return copied(x) if is_box(x) else copy.copy(x)


def deep(x: object, memo: Value = None) -> object:
    """`copy.deepcopy`; boxes in whatever it copies are copied with their histories."""
    if is_box(x):
        return copied(x)
    memo = {} if memo is None else memo
    seen: set[int] = set()
    todo = [x]
    while todo:
        item = todo.pop()
        if id(item) in seen:
            continue
        seen.add(id(item))
        if is_box(item):
            memo[id(item)] = copied(item)
        elif isinstance(item, dict):
            todo += item.values()
        elif isinstance(item, CONTAINERS):
            todo += item
        elif not isinstance(item, type | types.ModuleType | types.FunctionType):
            todo += getattr(item, "__dict__", {}).values()
            todo += [getattr(item, slot) for slot in _slots(type(item)) if hasattr(item, slot)]
    return copy.deepcopy(x, memo)


def _slots(kind: type) -> list[str]:
    found: list[str] = []
    for base in kind.__mro__:
        slots = base.__dict__.get("__slots__", ())
        found += (slots,) if isinstance(slots, str) else [s for s in slots if isinstance(s, str)]
    return [name for name in found if name not in ("__dict__", "__weakref__")]


def truth(x: object = False, /) -> Value:
    """``bool(x)``."""
    return bool(detached(x)) if is_box(x) else bool(x)


def say(*values: Value, **options: Value) -> None:
    """``print``, of the numbers."""
    print(*map(printed, values), **options)


def table() -> Iterable[tuple[Value, Function]]:
    """Python's functions and types that need a stand-in, and these."""
    yield from (
        (float, to_float),
        (int, to_int),
        (complex, to_complex),
        (bool, truth),
        (round, rounded),
        (min, _extreme(min, lambda x, best: x < best)),
        (max, _extreme(max, lambda x, best: x > best)),
        (isinstance, is_instance),
        (type, kind_of),
        (hasattr, has),
        (getattr, got),
        (np.isscalar, is_scalar),
        (np.iterable, is_iterable),
        (copy.copy, shallow),
        (copy.deepcopy, deep),
        (builtins.print, say),
        (str, shown(str)),
        (repr, shown(repr)),
        (ascii, shown(ascii)),
        (format, shown(format)),
        (str.format, shown(str.format)),
        (str.join, joined),
        (str.format_map, shown(str.format_map)),
        (np.format_float_positional, shown(np.format_float_positional)),
        (np.format_float_scientific, shown(np.format_float_scientific)),
        (np.array2string, shown_array(np.array2string)),
        (np.array_str, shown_array(np.array_str)),
        (np.array_repr, shown_array(np.array_repr)),
    )
