"""`fresh`: makes a new array able to hold tensors."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from contextvars import ContextVar
from sys import getrefcount

import numpy as np

from adjoint.arrays.layered import Layered
from adjoint.arrays.python_number import as_numpy
from adjoint.core.box import Box, outermost, varies
from adjoint.core.types import Array, Function, Value
from adjoint.ops.indexing.writing import created_like
from adjoint.tape.tensor import Tensor, wrap
from adjoint.twin.standins.of_numpy.structured import Structured

# The outermost box among the arguments of the transform that runs, of whose kind is what is made inside; or the
# call, which finds it when an array is made; False if there is none.
_model: ContextVar[object] = ContextVar("model", default=None)
#: The latest twins, which are needed again until the outermost call ends; then they would keep their functions alive.
LATEST: deque[Function] = deque(maxlen=64)

_ndarray = np.ndarray
# Whole numbers and truth values have no derivative, but what is written there may differ between samples.
_KINDS = "fciub"


#: What is not None while a twin is being called.
in_call = _model.get


class TwinCall:
    """A call of a twin. New arrays in it are of the kind of its outermost argument, which `boxes` finds."""

    __slots__ = ("_args", "_boxes", "_outer")

    def __init__(self, boxes: Callable[[Value], Iterable[Box]], args: Value) -> None:
        self._boxes, self._args = boxes, args

    def find(self) -> Value:
        """The outermost box among the arguments, or that of the call around."""
        box = outermost(list(self._boxes(self._args)))
        if box is not None:
            return box
        return self._outer.find() if isinstance(self._outer, TwinCall) else self._outer

    def around(self, twin: Function, args: Value, kwargs: Value) -> Array | None:
        """Call `twin`; what is made meanwhile is of this call."""
        self._outer = _model.get()
        try:
            _model.set(self)
            value = twin(*args, **kwargs)
        finally:
            _model.set(self._outer)
            if self._outer is None:
                LATEST.clear()
        return value


def fresh(value: Value) -> object:
    """`value`; an array that nothing else refers to becomes a constant of the transform's kind.

    Only such an array can be replaced without anything noticing. This is decided by Python's reference
    counts, of the array and of the memory that it shows; an array that other code holds stays as it is, and a tensor
    written into that one is refused.
    """
    if type(value) is _ndarray:
        if value.dtype.kind in _KINDS:
            return _fresh(value, _ALONE)
        if value.dtype.names and getrefcount(value) <= _HERE and value.base is None:
            return Structured.made(value, _constant)
        return value
    if type(value) in (tuple, list) and value and type(value[0]) is _ndarray and getrefcount(value) <= _HERE:
        return type(value)(_fresh(value[i], _ELEMENT) for i in range(len(value)))
    return value


def _fresh(value: object, alone: int) -> Value:
    """The same for one array. Its reference count is `alone` if nothing else holds it."""
    if type(value) is not _ndarray or value.dtype.kind not in _KINDS or getrefcount(value) > alone:
        return value
    base = value.base
    if base is not None and (type(base) is not _ndarray or getrefcount(base) > _BASE or base.base is not None):
        return value
    return _constant(value) if value.flags.writeable else value


def is_alone(value: Value) -> bool:
    """Whether nothing but a variable of the caller's refers to the array `value`, or to the memory that it shows."""
    base = value.base
    if base is not None and (type(base) is not _ndarray or getrefcount(base) > _BASE or base.base is not None):
        return False
    return getrefcount(value) <= _ALONE and bool(value.flags.writeable)


def writable(value: Array) -> Value:
    """A new array able to hold tensors."""
    return _constant(value)


def _constant(value: Array) -> Value:
    """An array that nothing else holds as a constant of the transform's kind; one of texts as it is."""
    if value.dtype.kind not in _KINDS:
        return value
    like = _model.get()
    if isinstance(like, TwinCall):
        like = like.find()
        _model.set(like if isinstance(like, Box) else False)
    if value.dtype.kind not in "fc" and not (isinstance(like, Box) and varies(like)):
        return value
    if not isinstance(like, Box):
        return wrap(value, None, 0)
    if type(like) is Tensor and type(like.held) is _ndarray:
        return wrap(value, None, like.level)
    return constant_like(like, value)


def constant_like(like: Array, value: Array) -> Array:
    """`value` as a constant of the kind that `like` is, and of those inside of that down to the kind of `value`."""
    like = as_numpy(like)
    held = like.held
    goes_on = isinstance(held, Box) and held is not like and not isinstance(held, type(value))
    inner = constant_like(held, value) if goes_on else value
    if isinstance(like, Tensor):
        return wrap(inner, None, like.level)
    if not isinstance(like, Layered):
        return created_like(like, value)
    return like.constant_of(inner)


def _count(value: object) -> int:
    return getrefcount(value)


def _counted(value: Value) -> tuple[int, int, int]:
    base = value.base
    return getrefcount(value), _count(value), getrefcount(base)


def _counted_inside(values: Value) -> int:
    return _count(values[0])


# What the counts are, in this Python, where nobody but `fresh` holds an object: seen from `fresh`, from `_fresh`, and
# of an array's base and a tuple's element.
_HERE, _ALONE, _BASE = _counted(np.zeros((2, 2)).reshape(4))
_ELEMENT = _counted_inside((np.zeros(1),))
