"""What ``t.data`` and ``t.argmax(1)`` give: an array of NumPy's that answers to tensors' names too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import wraps
from typing import Self

import numpy as np

from adjoint.core.types import Array, Function, Value

#: Words that only PyTorch has: a method with one of them is the tensors'.
_WORDS = frozenset(("dim", "keepdim", "unbiased", "correction", "descending", "stable", "decimals"))
#: Methods whose places mean another thing in PyTorch: given no words, the tensors' give NumPy's value and warn.
_WARNING = frozenset(("max", "min", "transpose", "std", "var", "repeat", "nonzero"))
_BOTH = (
    *("all", "any", "argmax", "argmin", "argsort", "cumprod", "cumsum", "max", "mean", "min", "nonzero", "prod"),
    *("repeat", "round", "sort", "squeeze", "std", "sum", "transpose", "var"),
)


class NamedArray(np.ndarray):
    """An array of NumPy's; names that NumPy's arrays do not have are those of a tensor that shares the memory.

    What these names give is such an array again, and so is what NumPy computes from it.
    """

    #: `Tensor`, `no_grad` and `mutations.note`, whose modules need this one.
    tensor: Value = None
    unrecorded: Value = None
    noted: Value = None
    #: Its operators give what those of plain arrays do, or leave it to a tensor beside it.
    computes_plainly = True

    def __getattr__(self, name: str) -> Value:
        if name.startswith("_") or name in ("held", "level", "node"):
            raise AttributeError(f"arrays have no attribute {name!r}")
        found = getattr(self._tensor(), name)
        return self._giving_arrays(found) if callable(found) else _as_array(found, type(self))

    def _tensor(self) -> Value:
        return self.tensor(np.asarray(self))

    def _giving_arrays(self, method: Function) -> Function:
        @wraps(method)
        def called(*args: Value, **kwargs: Value) -> Value:
            with NamedArray.unrecorded():  # what is written over is not kept
                return _as_array(method(*args, **kwargs), type(self))

        return called

    def __setitem__(self, index: Value, value: Value) -> None:
        np.ndarray.__setitem__(self, index, value)
        NamedArray.noted(self)

    @property
    def size(self) -> Value:
        return self._tensor().size

    def view(self, *kind: Value, **named: Value) -> Value:
        if kind and not isinstance(kind[0], type | np.dtype | str):
            return self.reshape(*kind)
        return np.ndarray.view(self, *kind, **named)

    def __round__(self, digits: int = 0) -> Value:
        return round(self.item(), digits) if self.ndim == 0 else self.round(digits)

    def __reduce__(self) -> Value:
        return np.asarray(self).__reduce__()  # whoever reads a pickle of values may lack this class

    def __repr__(self) -> str:
        return repr(np.asarray(self))

    @classmethod
    def on(cls, held: Value) -> Self:
        """The memory of a tensor that holds `held`. One of NumPy's numbers cannot be written."""
        if isinstance(held, np.ndarray):
            return np.ndarray.view(held, cls)
        number = np.asarray(held).view(cls)
        number.flags.writeable = False
        return number


def plain(x: Value) -> Value:
    """`x`; what ``t.data`` gives as a plain array."""
    return np.asarray(x) if isinstance(x, NamedArray) else x


def with_arrays(f: Function, args: Sequence[Value], kwargs: Mapping[str, Value]) -> Value:
    """What `f` gives for the plain arrays in `args` and `kwargs`; arguments that it hands back, as they came."""
    arrays, named = [*map(plain, args)], {name: plain(x) for name, x in kwargs.items()}
    found = f(*arrays, **named)
    given = dict(zip(map(id, (*arrays, *named.values())), (*args, *kwargs.values()), strict=True))
    return _as_given(found, {key: x for key, x in given.items() if isinstance(x, NamedArray)})


def _as_given(found: Value, given: dict[int, Value]) -> Value:
    """`found`, with what is `given` for the arrays of these ids, also in tuples, lists and dictionaries."""
    kind = type(found)
    if (kind is list or kind is dict) and id(found) not in given:
        given[id(found)] = found  # which may be within itself
    elif kind is not tuple:
        return given.get(id(found), found)
    if kind is list:
        found[:] = [_as_given(x, given) for x in found]
    elif kind is dict:
        found.update({key: _as_given(x, given) for key, x in found.items()})
    else:
        return tuple(_as_given(x, given) for x in found)
    return found


def values_of(value: Value, held: Value) -> Value:
    """What a tensor that holds `held` holds after ``t.data = value``."""
    if isinstance(value, NamedArray) and value.base is held:  # ``t.data += x`` has written it
        return held
    return plain(value)


def _both(name: str) -> Function:
    numpys = getattr(np.ndarray, name)

    @wraps(numpys)
    def method(self: NamedArray, *args: Value, **kwargs: Value) -> Value:
        if not _WORDS.isdisjoint(kwargs) or (not kwargs and name in _WARNING and not any(map(np.ndim, args))):
            out = _as_array(getattr(self._tensor(), name)(*args, **kwargs), type(self))
        else:
            out = numpys(self, *args, **kwargs)
        if name == "sort":
            NamedArray.noted(self)
        is_number = isinstance(out, NamedArray) and out.ndim == 0 and kwargs.get("out") is None
        return out[()] if is_number else out  # as NumPy gives it

    return method


def _in_place(name: str) -> Function:
    numpys = getattr(np.ndarray, name)

    @wraps(numpys, assigned=("__name__", "__qualname__"))  # its examples are NumPy's
    def written(self: NamedArray, *args: Value, **kwargs: Value) -> Value:
        out = numpys(self, *args, **kwargs)
        NamedArray.noted(self)
        return out

    return written


def _compared(name: str) -> Function:
    numpys = getattr(np.ndarray, name)

    @wraps(numpys)
    def method(self: NamedArray, other: Value) -> Value:
        return NotImplemented if isinstance(other, NamedArray.tensor) else numpys(self, other)  # whose turn it is then

    return method


for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    setattr(NamedArray, f"__{_name}__", _compared(f"__{_name}__"))
for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and", "or", "xor"):
    setattr(NamedArray, f"__i{_name}__", _in_place(f"__i{_name}__"))
for _name in ("fill", "partition", "put"):
    setattr(NamedArray, _name, _in_place(_name))
for _name in _BOTH:
    setattr(NamedArray, _name, _both(_name))


def _as_array(value: Array, kind: type[NamedArray]) -> Value:
    """A tensor without history as an array; anything else as it is."""
    if isinstance(value, np.ndarray):
        return value
    if hasattr(value, "numpy") and not value.requires_grad:
        return kind.on(value.numpy())
    return value
