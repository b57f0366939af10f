"""Of which class a result is: NumPy itself is asked, once for each kind of call.

`numpy.sum` of an array of a class gives one of that class, `numpy.stack` a plain array, ``a.round(2)`` again a plain
one. NumPy's rules differ between functions and releases. So the call is made once on arrays that only note how NumPy
makes results of them: by which ``__array_finalize__`` and ``__array_wrap__``.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from adjoint.core.box import Box
from adjoint.core.memory import lies
from adjoint.core.types import Array, Function, Value
from adjoint.twin.subclasses.base import SubclassArray, found_in

_KEPT = 4096


class HowMade(NamedTuple):
    """How NumPy makes one result: numbers are those of the arrays of classes among the arguments, in order."""

    #: The argument that is the result itself.
    itself: int | None
    #: The argument of whose class it is.
    kind: int | None = None
    #: The argument that ``__array_finalize__`` gets; None if it gets None.
    parent: int | None = None
    #: The argument whose ``__array_wrap__`` makes it.
    wrapped: int | None = None


class Answer(NamedTuple):
    """How NumPy answers a call: what is made, and whether code of the class takes part on the way."""

    #: `HowMade`, a tuple or list of such, or None for plain results.
    made: Value
    runs_code: bool


class _Noting(np.ndarray):
    """An array that notes from what it was made."""

    number: int | None = None
    parent: _Noting | None = None
    wrapped: int | None = None

    def __array_finalize__(self, obj: object) -> None:
        if isinstance(obj, _Noting):
            self.parent = obj

    def __array_wrap__(self, array: Array, context: Value = None, return_scalar: bool = False) -> Array:
        made = super().__array_wrap__(array, context, return_scalar)
        if isinstance(made, _Noting):
            made.wrapped = _origin(self)
        return made


def _origin(x: _Noting | None) -> int | None:
    while x is not None and x.number is None:
        x = x.parent
    return None if x is None else x.number


class _RunsCodeError(Exception):
    """The call runs code of the class."""


def _running(self: Value, *args: Value, **kwargs: Value) -> Value:
    """Stands for a method that the class defines itself."""
    raise _RunsCodeError


def _noting(kind: Value) -> type[_Noting]:
    """A class of arrays that notes, and derives from others as the twin class `kind` does."""
    found: type[_Noting] | None = vars(kind).get("_adj_noting")
    if found is None:
        arrays = [b for b in kind.__bases__ if issubclass(b, SubclassArray) and b._adj_class is not np.ndarray]
        bases = tuple(map(_noting, arrays))
        own: dict[str, Value] = {name: _running for name in kind._adj_own if name in _ARRAYS and name not in _MAKING}
        if "__array_priority__" in vars(kind):
            own["__array_priority__"] = vars(kind)["__array_priority__"]
        found = kind._adj_noting = type(kind.__name__, bases or (_Noting,), own)
    return found


# What a class defines that NumPy's functions do not ask for in the middle.
_MAKING = frozenset(
    (
        *("__new__", "__init__", "__array_finalize__", "__array_wrap__", "__repr__", "__str__", "__format__"),
        *("__reduce__", "__reduce_ex__", "__setstate__", "__dir__", "__getattribute__", "__setattr__", "__class__"),
    )
)
_COMPARISONS = {"__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__"}
_ARRAYS = frozenset(dir(np.ndarray)) - frozenset(dir(object)) | _COMPARISONS


def asked(call: Callable[..., Value], args: Value, kwargs: Value, small: bool = False) -> Answer:
    """How NumPy's `call` makes its results. For elementwise calls, `small` arrays tell as much.

    Raises:
        whatever NumPy raises for these arguments.
    """
    answers: dict[object, Answer] = type(found_in((args, kwargs))[0])._adj_answers
    key = _key((call, small, args, kwargs), small)
    if key is not None and (known := answers.get(key)) is not None:
        return known
    arrays: list[_Noting] = []
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        mine, named = _for_numpy(args, arrays, small), _for_numpy(kwargs, arrays, small)
        try:
            answer = Answer(_read(call(*mine, **named), arrays), False)
        except _RunsCodeError:
            answer = Answer(None, True)
    if key is not None:
        if len(answers) >= _KEPT:
            answers.clear()
        answers[key] = answer
    return answer


def _read(result: Value, arrays: Sequence[_Noting]) -> Value:
    if isinstance(result, tuple | list):
        return [_read(x, arrays) for x in result]
    if not isinstance(result, _Noting):
        return None
    if result.number is not None:
        return HowMade(result.number)
    origin = _origin(result)
    kinds = [x for x in arrays if type(x) is type(result)]
    first = kinds[0].number if kinds else origin
    return HowMade(None, first if first is not None else result.wrapped, origin, result.wrapped)


def _for_numpy(x: Value, arrays: list[_Noting], small: bool) -> Value:
    """`x` for a call of NumPy's: arrays of classes that note, and plain arrays in the place of boxes."""
    kind = type(x)
    if issubclass(kind, SubclassArray):
        made = _model(x._adj_held, small).view(_noting(kind))
        made.number = len(arrays)
        arrays.append(made)
        return made
    if isinstance(x, Box):
        model = _model(x, small)
        return model if model.shape or not x._is_number() else model[()]  # type: ignore[attr-defined]  # every array's
    if kind in (list, tuple):
        return kind([_for_numpy(q, arrays, small) for q in x])
    if kind is dict:
        return {name: _for_numpy(q, arrays, small) for name, q in x.items()}
    if kind is np.ndarray:
        return _model(x, small) if small else x.copy()
    return x


def _model(x: Value, small: bool) -> np.ndarray:
    if small:
        return np.ones((1,) * np.ndim(x), x.dtype)
    values = lies(x)
    return np.array(values) if isinstance(values, np.ndarray | np.generic) else np.ones(np.shape(x), x.dtype)


def _key(x: Value, small: bool) -> object:
    """What decides how NumPy makes results of a call; None if that cannot be told."""
    kind = type(x)
    if issubclass(kind, SubclassArray):
        held = x._adj_held
        return kind, held.ndim if small else held.shape, held.dtype
    if issubclass(kind, Box | np.ndarray):
        of_number = issubclass(kind, Box) and x._is_number()
        return Box, of_number, np.ndim(x) if small else np.shape(x), x.dtype
    if kind in (list, tuple):
        parts = tuple(_key(q, small) for q in x)
        return None if None in parts else (kind, parts)
    if kind is dict:
        parts = tuple(_key(q, small) for q in x.values())
        return None if None in parts else (kind, tuple(x), parts)
    if isinstance(x, float | complex | np.generic):
        return kind
    if x is None:
        return "None"
    try:
        hash(x)
    except TypeError:
        return None
    return kind, x


def wrapped_by(wrap: Function, *given: Value) -> Value:
    """What ``__array_wrap__`` gives, which takes an array, a context, and whether it is a number; the last may lack."""
    try:
        return wrap(*given)
    except TypeError:
        if len(given) == 1 or (len(given) == 2 and given[1] is not None):
            raise
    return wrapped_by(wrap, *given[:-1])  # as NumPy tries it


def chooses_view(index: Value, ndim: int) -> bool:
    """Whether an array of `ndim` axes at `index` is a view, and neither an element nor the array itself."""
    parts = index if type(index) is tuple else (index,)
    whole = [isinstance(x, int | np.integer) and not isinstance(x, bool) for x in parts]
    if parts == (...,) or (all(whole) and len(parts) == ndim):
        return False
    return all(w or x is None or x is ... or isinstance(x, slice) for w, x in zip(whole, parts, strict=True))
