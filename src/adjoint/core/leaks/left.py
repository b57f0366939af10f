"""Numbers and arrays that have left a transform. They compute like plain ones, and remember that they left.

Python's and NumPy's arithmetic with them gives such values again. Comparing and printing them is harmless.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Iterator
from types import FrameType
from typing import TYPE_CHECKING, cast

import numpy as np

from adjoint.core.box import TRACKED, Box
from adjoint.core.messages.frames import is_of
from adjoint.core.types import Array, Function, Index, Settings, Value

if TYPE_CHECKING:
    from adjoint.core.leaks.notes import Note


_TWO = ("add", "sub", "mul", "truediv", "floordiv", "mod", "divmod", "pow")
_ARITHMETIC = (*_TWO, *(f"r{name}" for name in _TWO), "neg", "pos", "abs", "round")
_METHODS = ("conj", "conjugate", "round", "clip", "astype", "reshape", "sum", "mean", "prod", "max", "min", "dot",
            "item", "tolist", "copy", "ravel", "flatten", "squeeze")  # fmt: skip
_TEXTS = frozenset(("str", "repr", "format"))
_SIGHTS = ("lt", "le", "gt", "ge", "eq", "ne", "bool", "int", "trunc", "floor", "ceil", *_TEXTS)


# These put values into plain arrays, which have no memory of where they came from.
_WRITING = frozenset((np.copyto, np.put, np.place, np.putmask, np.put_along_axis, np.fill_diagonal))


def notes_of(x: Array) -> tuple[Note, ...]:
    """The notes of a value, or of those in a list or tuple."""
    if type(x) in TRACKED:
        return cast("tuple[Note, ...]", x.notes)
    if isinstance(x, list | tuple):
        return tuple({note: None for item in x for note in notes_of(item)})
    return ()


def plain(x: Array) -> Value:
    """The value as any other; of a list or tuple, its values."""
    if type(x) in TRACKED:
        return x.plain()
    if isinstance(x, list | tuple) and notes_of(x):
        made = [plain(item) for item in x]
        return made if isinstance(x, list) else tuple(made)
    return x


def tracked(x: Array, notes: tuple[Note, ...]) -> object:
    """`x` with `notes`, if it holds numbers that vary and a transform that it left still runs."""
    if not notes or not any(note.running for note in notes):
        return x
    if isinstance(x, list | tuple) and type(x) in (list, tuple):
        return type(x)(tracked(item, notes) for item in x)
    kind = _KINDS.get(type(x))
    if kind is None or (isinstance(x, np.ndarray) and x.dtype.kind not in "fc"):
        return x
    made: Value = x.view(kind) if kind is LeftArray else type(x).__new__(kind, x)
    made.notes = notes
    for note in notes:
        if len(note.values) < 1000:
            note.values.append(weakref.ref(made))
    return made


def _arithmetic(base: type, name: str) -> Function:
    method = getattr(base, name)

    def tracking(self: Array, *others: Array) -> object:
        if any(isinstance(x, Box) for x in others):
            return NotImplemented  # the box's own method answers
        result = method(plain(self), *map(plain, others))
        return result if result is NotImplemented else tracked(result, self.notes + notes_of(others))

    return tracking


def _sight(base: type, name: str) -> Function:
    method = getattr(base, name)

    def seen(self: Value, *others: Value) -> Value:
        for note in self.notes:
            note.seen = True
            if name[2:-2] in _TEXTS:
                note.write(plain(self))
        return method(plain(self), *map(plain, others))

    return seen


def _ufunc(self: object, ufunc: np.ufunc, method: str, *inputs: Value, **kwargs: Value) -> Value:
    if any(isinstance(x, Box) for x in inputs):
        return NotImplemented
    if "out" in kwargs:
        kwargs["out"] = tuple(plain(x) for x in kwargs["out"])
    result = getattr(ufunc, method)(*(plain(x) for x in inputs), **kwargs)
    return _computed(result, notes_of(inputs), sys._getframe(1))


def _function(self: object, function: Value, types: Value, args: tuple[Value, ...], kwargs: Settings) -> Value:
    if any(issubclass(kind, Box) for kind in types):
        return NotImplemented
    result = function(*map(plain, args), **{name: plain(x) for name, x in kwargs.items()})
    if function in _WRITING:
        for note in notes_of((*args, *kwargs.values())):
            note.enter()
    return _computed(result, notes_of((*args, *kwargs.values())), sys._getframe(1))


def _computed(result: Array | None, notes: tuple[Note, ...], asker: FrameType) -> object:
    """What was computed of plain values, for `asker`: if that is an operation of ours, a derivative is lost."""
    if not _varies(result):  # an answer, such as that of a comparison
        for note in notes:
            note.seen = True
        return result
    if not is_of(asker, "adjoint"):
        return tracked(result, notes)
    for note in notes:
        note.enter()
    return result


def _varies(x: Array) -> bool:
    if isinstance(x, list | tuple):
        return any(map(_varies, x))
    return isinstance(x, float | complex) or (hasattr(x, "dtype") and x.dtype.kind in "fc")


def _converted(self: Value) -> float:
    """``float(x)``; arrays take their numbers by it too, and one that an operation of ours makes is computed with."""
    asker: FrameType | None = sys._getframe(1)
    while asker is not None and is_of(asker, "numpy"):
        asker = asker.f_back
    inside = asker is not None and is_of(asker, "adjoint")
    for note in self.notes:
        note.converted = True
        if inside:
            note.enter()
    return float(plain(self))


def _digits(base: type, name: str) -> Function:
    method = getattr(base, name)

    def read(self: Value) -> Value:
        for note in self.notes:
            note.enter()
        return method(plain(self))

    return read


def _part(name: str) -> property:
    return property(lambda self: tracked(getattr(plain(self), name), self.notes))


def _kind(base: Value) -> type:
    """The class of values that left and are otherwise of class `base`."""
    body: dict[str, Value] = {"__slots__": ("__weakref__", "notes")} if base in (float, complex) else {}
    names = [name for name in (*(f"__{name}__" for name in _ARITHMETIC), *_METHODS) if hasattr(base, name)]
    body |= {name: _arithmetic(base, name) for name in names}
    body |= {f"__{name}__": _sight(base, f"__{name}__") for name in _SIGHTS if hasattr(base, f"__{name}__")}
    body |= {name: _digits(base, name) for name in ("as_integer_ratio", "hex") if hasattr(base, name)}
    body |= {name: _part(name) for name in ("real", "imag", "T") if hasattr(base, name)}
    body |= {"__new__": lambda cls, *given: base(*given), "plain": lambda self: base.__pos__(self)}
    body |= {"__hash__": base.__hash__, "__array_ufunc__": _ufunc, "__array_function__": _function}
    body |= {"__float__": _converted, "__reduce_ex__": lambda self, _: (base, (plain(self),))}
    body |= {"__copy__": lambda self: self, "__deepcopy__": lambda self, memo: self}
    return type(base.__name__, (base,), body | {"__module__": base.__module__, "__doc__": base.__doc__})


def whole(x: int, notes: tuple[Note, ...]) -> Value:
    """A whole number that a value was taken apart into: a float that is computed of it is that value again."""
    made: Value = int.__new__(_WHOLE, x)
    made.notes = notes
    return made


class LeftArray(np.ndarray):
    """An array that left a transform."""

    notes: tuple[Note, ...] = ()
    __array_ufunc__ = _ufunc
    __array_function__: Value = _function

    def __array_finalize__(self, like: object) -> None:
        self.notes = getattr(like, "notes", ())

    def __getitem__(self, index: Index) -> Value:
        return tracked(plain(self)[plain(index)], self.notes)

    def __iter__(self) -> Iterator[Value]:
        return (tracked(x, self.notes) for x in plain(self))

    def plain(self) -> np.ndarray:
        return self.view(np.ndarray)

    def item(self, *index: Index) -> Value:
        return tracked(plain(self).item(*index), self.notes)

    def tolist(self) -> Value:
        return tracked(plain(self).tolist(), self.notes)

    def __reduce__(self) -> str | tuple[object, ...]:
        return cast(tuple[object, ...], plain(self).__reduce__())

    def __reduce_ex__(self, protocol: Value) -> Value:
        return plain(self).__reduce_ex__(protocol)

    def __deepcopy__(self, memo: Value) -> Value:
        return self.copy()

    @property
    def flat(self) -> Value:
        return self.reshape(-1)


for _name in ("repr", "str", "format", "bool", "int"):
    setattr(LeftArray, f"__{_name}__", _sight(np.ndarray, f"__{_name}__"))

_BASES: tuple[Value, ...] = (float, complex, np.float64, np.float32, np.complex128, np.complex64)
_KINDS: dict[Value, Value] = {np.ndarray: LeftArray} | {base: _kind(base) for base in _BASES}
_WHOLE: Value = _kind(int)
TRACKED.update((*_KINDS.values(), _WHOLE))
