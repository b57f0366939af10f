"""What NumPy's own class gives to the classes that derive from it, for arrays that hold a box."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import cast

import numpy as np
from numpy._core import _methods, umath

from adjoint.core.box import Box
from adjoint.core.errors import LeavesGraphError, NotSupportedError
from adjoint.core.objects.foreign import overrides
from adjoint.core.types import Array, DType, Function, Index, Settings, ShapeLike, Value
from adjoint.twin.standins import array_method, box_attribute, box_method, find
from adjoint.twin.standins.values import as_array, live, plainly
from adjoint.twin.subclasses.base import SubclassArray, class_of, found_in, inside, of_class, users
from adjoint.twin.subclasses.operators import ClassOperators
from adjoint.twin.subclasses.results import Answer, HowMade, asked, chooses_view, wrapped_by

_new = object.__new__
_CLIP: Value = cast(Value, umath).clip


class _ClassOfArrays(type):
    """Of twin classes: who calls one makes an object as the user's class does."""

    def __call__(cls: Value, *args: Value, **kwargs: Value) -> Value:
        return cls._adj_classes.maker(cls._adj_class)(*args, **kwargs)


class ArrayOfClass(SubclassArray, ClassOperators, metaclass=_ClassOfArrays):
    """An array of a user's class: operations are those of the array inside, and give what NumPy's protocol says."""

    __slots__ = ()
    __hash__ = None  # type: ignore[assignment]  # as NumPy's arrays
    __array_priority__ = 0.0
    #: The names that the user's class, or one that it derives from, defines.
    _adj_own: frozenset[str] = frozenset()
    _adj_answers: dict[object, Answer] = {}  # noqa: RUF012 - each twin class has its own

    # -- NumPy's protocols ----------------------------------------------------------------------------------

    def __array_finalize__(self, obj: object) -> None:
        return None

    def __array_wrap__(self, array: Array, context: Value = None, return_scalar: bool = False) -> Value:
        return made_of(inside(array), type(self), self)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Value, **kwargs: Value) -> Value:
        outs = tuple(x for x in kwargs.get("out") or () if x is not ...)
        if any(map(_answers_itself, (*inputs, *outs))):
            return NotImplemented
        if live(inside(inputs)):
            for x in outs:
                hold_tensors(x)
        given = {name: inside(x) for name, x in kwargs.items() if name != "subok"}
        if not outs:
            given.pop("out", None)
        ours = np.clip if ufunc is _CLIP and method == "__call__" else getattr(find(ufunc) or ufunc, method)
        out = ours(*inside(inputs), **given)
        if outs:
            return _given_back(out, outs)
        arrays = found_in(inputs)
        if not arrays or method == "at" or not kwargs.get("subok", True):
            return out
        small = method == "__call__" and ufunc.signature is None
        answer = asked(getattr(ufunc, method), inputs, kwargs, small)
        return dressed(out, answer.made, arrays, (ufunc, inputs))

    def __array_function__(self, function: Value, types: object, args: Value, kwargs: Settings) -> Value:
        return answered(function, find(function) or function, *args, **kwargs)

    def __array__(self, dtype: DType = None, copy: bool | None = None) -> np.ndarray:
        if live(self._adj_held):
            raise LeavesGraphError(
                f"np.asarray(a) of an array of the class {_shown(self)} would drop the gradient of the tensor inside, "
                f'in code that is not followed. Follow it: with ad.through("its_package")'
            )
        return np.array(plainly(self._adj_held), dtype, copy=copy)

    # -- Elements -------------------------------------------------------------------------------------------

    def __getitem__(self, index: Index) -> Value:
        held = self._adj_held
        out = held[inside(index)]
        is_number = cast(Value, out)._is_number() if isinstance(out, Box) else not isinstance(out, np.ndarray)
        return out if is_number else made_of(out, type(self), self)

    def __setitem__(self, index: Index, value: Value) -> None:
        value = inside(value)
        if live(value):
            hold_tensors(self)
        if type(self).__getitem__ is not ArrayOfClass.__getitem__ and chooses_view(index, self._adj_held.ndim):
            inside(self[index])[...] = value  # NumPy, too, asks a class that has an index of its own for the place
            return
        self._adj_held[inside(index)] = value

    def __len__(self) -> int:
        return len(self._adj_held)

    def __iter__(self) -> Iterator[Value]:
        if not self.shape:
            raise TypeError("iteration over a 0-d array")
        return (self[i] for i in range(len(self)))

    def __contains__(self, value: object) -> bool:
        return bool(np.any(inside(self == value)))

    def __bool__(self) -> bool:
        return bool(self._adj_held)

    def __float__(self) -> float:
        return float(self._adj_held)

    def __int__(self) -> int:
        return int(self._adj_held)

    def __complex__(self) -> complex:
        return complex(self._adj_held)

    def __index__(self) -> int:
        return self._adj_held.__index__()  # type: ignore[no-any-return]  # an array's

    def __copy__(self) -> Value:
        return cast(Value, self).copy()

    def __deepcopy__(self, memo: object) -> Value:
        return cast(Value, self).copy()

    def __repr__(self) -> str:
        values = np.array2string(np.asarray(plainly(self._adj_held)), separator=", ")
        return f"{self._adj_class.__name__}({values})"

    def __str__(self) -> str:
        return str(plainly(self._adj_held))

    def __format__(self, spec: str) -> str:
        return format(self._adj_held, spec)

    # -- Attributes -----------------------------------------------------------------------------------------

    @property
    def T(self) -> Value:  # noqa: N802 - NumPy's name
        return made_of(self._adj_held.T, type(self), self)

    @property
    def mT(self) -> Value:  # noqa: N802 - NumPy's name
        return made_of(self._adj_held.mT, type(self), self)

    @property
    def real(self) -> Value:
        return made_of(self._adj_held.real, type(self), self) if self._adj_held.dtype.kind == "c" else self

    @real.setter
    def real(self, value: Array) -> None:
        self.real[...] = value

    @property
    def imag(self) -> Value:
        return made_of(self._adj_held.imag, type(self), self)

    @imag.setter
    def imag(self, value: Array) -> None:
        self.imag[...] = value

    @property
    def flat(self) -> Value:
        return self._adj_held.flat

    @flat.setter
    def flat(self, value: Array) -> None:
        self._adj_held.flat = inside(value)

    @property
    def shape(self) -> tuple[int, ...]:
        return self._adj_held.shape  # type: ignore[no-any-return]  # an array's

    @shape.setter
    def shape(self, shape: ShapeLike) -> None:
        self._adj_held.shape = shape

    @property
    def base(self) -> Value:
        return None

    def view(self, dtype: Value = None, type: Value = None) -> Value:
        """Another array of the same memory: of the same class, or of another one."""
        is_class = isinstance(dtype, _TYPE) and issubclass(users(dtype), np.ndarray)
        kind, dtype = (dtype, None) if is_class else (type, dtype)
        held = self._adj_held.view() if dtype is None else self._adj_held.view(dtype)
        return made_of(held, _TYPE(self), self) if kind is None else self._adj_classes.viewed(held, kind, self)

    def backward(self, *args: Value, **kwargs: Value) -> None:
        """`Tensor.backward` of the tensor inside: a loss may be of the class, too."""
        self._adj_held.backward(*args, **kwargs)

    def sort(self, *args: Value, **kwargs: Value) -> None:
        self._adj_held.sort(*args, **kwargs)

    def conj(self) -> Value:
        return cast(Value, self).conjugate()


_TYPE = type


def _attribute(name: str) -> property:
    """An attribute of the array inside that is no array."""

    def get(self: Value) -> Value:
        held = self._adj_held
        ours = box_attribute(name) if isinstance(held, Box) else None
        return getattr(held, name) if ours is None else ours(held)

    return property(get)


def _method(name: str) -> Function:
    """The method `name` of NumPy's arrays."""

    def method(self: Value, *args: Value, **kwargs: Value) -> Value:
        by_ufuncs = _by_ufuncs(self, name)
        if by_ufuncs is not None:
            return by_ufuncs(self, *args, **kwargs)
        if name in _WRITING and live(inside(args)):
            hold_tensors(self)
        held = self._adj_held
        ours = box_method(name) if isinstance(held, Box) else array_method(name)
        given, named = inside(args), inside(kwargs)
        out = getattr(held, name)(*given, **named) if ours is None else ours(held, *given, **named)
        if out is None or name in _LEAVING:
            return out
        answer = asked(_numpys(name), (self, *args), kwargs)
        if answer.runs_code:
            raise NotSupportedError(
                f"a.{name}() of an array of the class {_shown(self)}, which answers NumPy's functions itself: NumPy "
                f"asks it in the middle of this method. Write it with functions: np.sum, np.multiply, …"
            )
        return dressed(out, answer.made, found_in(((self, *args), kwargs)))

    method.__name__ = name
    return method


def _numpys(name: str) -> Callable[..., Value]:
    found = _CALLS.get(name)
    if found is None:
        found = _CALLS[name] = lambda x, *args, **kwargs: getattr(np.ndarray, name)(x, *args, **kwargs)
    return found


_CALLS: dict[str, Callable[..., Value]] = {}
_WRITING = frozenset(("fill", "put", "itemset", "partition", "resize", "setfield"))
_LEAVING = frozenset(("item", "tolist", "tobytes", "tofile", "dump", "dumps", "getfield"))
for _name in dir(np.ndarray):
    if _name.startswith("_") or _name in vars(ArrayOfClass):
        continue
    setattr(ArrayOfClass, _name, (_method if callable(getattr(np.ndarray, _name)) else _attribute)(_name))


# -- Methods that NumPy computes by ufuncs, which ask the class -------------------------------------------------


def _by_ufuncs(self: Value, name: str) -> Function | None:
    """What NumPy runs for the method `name` of an array of a class that answers ufuncs; None if it asks no such."""
    found = _NUMPYS.get(name)
    if found is None or type(self).__array_ufunc__ is ArrayOfClass.__array_ufunc__:
        return None
    if isinstance(found, np.ufunc):
        return partial(_accumulated, found) if found.nin == 2 else found
    return cast(Function, self._adj_classes.resolve(found))


def _accumulated(ufunc: np.ufunc, self: Value, axis: Value = None, dtype: DType = None, out: Value = None) -> Value:
    given = {} if out is None else {"out": out}
    return ufunc.accumulate(self.ravel() if axis is None else self, axis=axis or 0, dtype=dtype, **given)


_NUMPYS: Mapping[str, Value] = {
    **{name: getattr(_methods, f"_{name}") for name in ("sum", "prod", "any", "all", "mean", "var", "std", "clip")},
    **{name: getattr(_methods, f"_a{name}") for name in ("max", "min")},
    "cumsum": np.add, "cumprod": np.multiply, "conjugate": np.conjugate,
}  # fmt: skip
#: NumPy's functions that call the method of their first argument, and its name.
_METHODS_OF: Mapping[Value, str] = {
    getattr(np, name): name for name in (
        *("sum", "prod", "mean", "std", "var", "max", "min", "any", "all", "cumsum", "cumprod", "argmax", "argmin"),
        *("argsort", "take", "reshape", "choose", "repeat", "put", "swapaxes", "transpose", "partition"),
        *("argpartition", "searchsorted", "squeeze", "diagonal", "trace", "ravel", "nonzero", "clip", "round"))
} | {np.around: "round"}  # fmt: skip


# -- Results ----------------------------------------------------------------------------------------------------


def made_of(held: Value, kind: Value, parent: Value) -> Value:
    """An object of the twin class `kind` that holds `held`; ``__array_finalize__`` gets `parent`."""
    made = _new(kind)
    made._adj_held = as_array(held) if isinstance(held, Box) else np.asarray(held)
    finalize = kind.__array_finalize__
    if finalize is not ArrayOfClass.__array_finalize__ and finalize is not None:
        finalize(made, as_plain(parent))
    return made


def hold_tensors(x: Value) -> None:
    """Let `x` be able to hold tensors, if it is an array of a user's class that holds a plain array."""
    if of_class(x) and not isinstance(x._adj_held, Box):
        made = x._adj_classes.writable(x)
        x._adj_held = made


def as_plain(x: Value) -> Value:
    """`x` as ``__array_finalize__`` gets it: a box as an array of NumPy's own class, which has no names but those."""
    if not isinstance(x, Box):
        return x
    made = _new(cast(Value, ArrayOfClass))
    made._adj_held = x
    return made


def answered(function: Value, ours: Function, /, *args: Value, **kwargs: Value) -> Value:
    """NumPy's `function` of arrays of users' classes, which are not asked themselves; `ours` is of others."""
    name = _METHODS_OF.get(function)
    if name is not None and args and of_class(args[0]):
        return getattr(args[0], name)(*args[1:], **kwargs)
    arrays = found_in((args, kwargs))
    if not arrays:
        return ours(*args, **kwargs)
    answer = asked(_written(function), args, kwargs)
    if answer.runs_code:
        return arrays[0]._adj_classes.implementation(function)(*args, **kwargs)
    return dressed(ours(*inside(args), **inside(kwargs)), answer.made, arrays)


def answered_by_method(o: Value, name: str, method: Function, /, *args: Value, **kwargs: Value) -> Value:
    """The `method` called `name` of a plain array or a box `o`, of arrays of users' classes."""
    answer = asked(_numpys(name), (o, *args), kwargs)
    return dressed(method(*inside(args), **inside(kwargs)), answer.made, found_in((args, kwargs)))


def dressed(out: Value, made: Value, arrays: list[Value], call: tuple[np.ufunc, Value] | None = None) -> Value:
    """The result `out` as NumPy would make it, which `made` says."""
    if isinstance(made, list):
        kind = type(out)
        parts = [dressed(x, m, arrays, call) for x, m in zip(out, made, strict=True)]
        return kind(*parts) if hasattr(out, "_fields") else kind(parts)
    if made is None:
        return out
    how: HowMade = made
    if how.itself is not None:
        return arrays[how.itself]
    if how.wrapped is not None:
        wrapper = arrays[how.wrapped]
        if type(wrapper).__array_wrap__ is not ArrayOfClass.__array_wrap__:
            context = None if call is None else (*call, 0)
            out, is_number = as_array(out) if isinstance(out, Box) else out, np.ndim(out) == 0
            return wrapped_by(wrapper.__array_wrap__, out, context, is_number)
    kind = type(arrays[how.kind if how.kind is not None else 0])
    return made_of(out, kind, None if how.parent is None else arrays[how.parent])


def _written(function: Value) -> Function:
    """What NumPy's `function` runs where nobody else answers."""
    return cast(Function, getattr(function, "_implementation", function))


def _given_back(out: Value, outs: tuple[Value, ...]) -> Value:
    if len(outs) == 1:
        return outs[0] if outs[0] is not None else out
    return tuple(x if given is None else given for x, given in zip(out, outs, strict=True))


def _answers_itself(x: Value) -> bool:
    """Whether NumPy would ask `x` in the place of its own class."""
    kind: Value = type(x)
    if of_class(x):
        return kind.__array_ufunc__ is not ArrayOfClass.__array_ufunc__
    return not isinstance(x, Box | np.ndarray | np.generic) and overrides(kind)


def _shown(x: object) -> str:
    kind = class_of(x)
    return f"{kind.__module__}.{kind.__qualname__}"


def refused(kind: type, why: str, instead: str) -> NotSupportedError:
    """The error for a class that has no twin class."""
    return NotSupportedError(f"an array of the class {kind.__module__}.{kind.__qualname__} {why}. {instead}")
