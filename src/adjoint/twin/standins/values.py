"""What a stand-in checks about its arguments: whether they have a history, and what their numbers are."""

from __future__ import annotations

import functools
import types
from collections import deque
from typing import TypeGuard, TypeVar, cast

import numpy as np

from adjoint.arrays.flat import Flat
from adjoint.arrays.python_number import PythonNumber, as_numpy
from adjoint.core.backend import alone, backend_of
from adjoint.core.box import Box, raw, varies
from adjoint.core.protocol import in_graph
from adjoint.core.types import Array, Function, Settings, Value
from adjoint.tape.number import TensorNumber
from adjoint.tape.tensor import Tensor
from adjoint.twin.subclasses.base import SubclassArray, class_of

C = TypeVar("C")
ndarray = np.ndarray
SEQUENCES = (list, tuple, deque)
CONTAINERS = (*SEQUENCES, set, frozenset, dict)
DEPTH = 8
#: Types of which nothing is a box or holds one.
PLAIN = {float, int, bool, complex, str, bytes, type(None), type(...), slice, range, type, np.dtype} | {
    np.float64, np.float32, np.float16, np.complex128, np.complex64, np.bool_, np.int64, np.int32, np.uint8,
}  # fmt: skip
#: Classes of ours that hold arrays in the place of SciPy's that do: rotations, sparse matrices.
CARRIERS: set[type] = set()


def carrier(cls: type[C]) -> type[C]:
    """Decorate a class whose objects are live if an attribute is."""
    CARRIERS.add(cls)
    return cls


def is_box(x: object) -> TypeGuard[Value]:
    """Whether `x` is an array that is more than numbers; any of them has NumPy's methods."""
    return isinstance(x, Box)


def live(x: Value, depth: int = DEPTH) -> bool:
    """Whether `x` is a box whose history matters, or a container that holds one."""
    kind = type(x)
    if kind is Tensor or kind is TensorNumber:
        return x.node is not None or (isinstance(x.held, Box) and live(x.held))
    if kind in PLAIN:
        return False
    if kind is ndarray:
        return x.dtype == object and depth > 0 and any(live(q, depth - 1) for q in x.flat)
    if isinstance(x, Box):
        data = x.held if isinstance(x, Tensor) else None
        return in_graph(x) or (isinstance(data, Box) and live(data))
    if issubclass(kind, SubclassArray):
        return live(x._adj_held)
    if not isinstance(x, CONTAINERS) or depth == 0:
        return kind in CARRIERS and any(live(q, depth - 1) for q in vars(x).values())
    if isinstance(x, dict):
        x = x.values()
    return not PLAIN.issuperset(map(type, x)) and any(live(q, depth - 1) for q in x)


def boxed(x: Value, depth: int = DEPTH) -> bool:
    """Whether `x` is a box, or a sequence that holds one at whatever depth."""
    kind = type(x)
    if kind in PLAIN:
        return False
    if kind is ndarray:
        return x.dtype == object and depth > 0 and any(isinstance(q, Box) for q in x.flat)
    if isinstance(x, Box) or kind is Flat:
        return True
    if not isinstance(x, SEQUENCES) or depth == 0:
        return False
    return not PLAIN.issuperset(map(type, x)) and any(boxed(q, depth - 1) for q in x)


def plainly(x: Value, depth: int = DEPTH) -> Value:
    """The numbers of `x`: of a box, its values; of a container, one of numbers; anything else as it is.

    Raises:
        BatchedValueError: for a box that holds a value for each of many samples.
    """
    kind = type(x)
    if kind in PLAIN:
        return x
    if isinstance(x, Box):
        values = alone(x) if backend_of(x) is not None else cast(Value, x).numpy()  # nothing is fetched unasked
        if x.is_python:
            return values.item()
        return values if values.ndim else values[()]
    if kind is ndarray and x.dtype != object:
        return x
    if kind is ndarray and depth and any(isinstance(q, Box) for q in x.flat):
        made = np.empty(x.shape, object)
        made.ravel()[:] = [plainly(q, depth - 1) for q in x.flat]
        return made
    if issubclass(kind, SubclassArray):
        return plainly(x._adj_held)
    if not isinstance(x, CONTAINERS) or depth == 0:
        return x
    if isinstance(x, dict):
        values = {k: plainly(v, depth - 1) for k, v in x.items()}
        same = all(values[k] is v for k, v in x.items())
        return x if same else values
    if PLAIN.issuperset(map(type, x)):
        return x
    parts = [plainly(q, depth - 1) for q in x]
    if all(new is old for new, old in zip(parts, x, strict=True)):
        return x
    return type(x)(*parts) if hasattr(x, "_fields") else type(x)(parts)


def any_live(args: tuple[object, ...], kwargs: Settings) -> bool:
    """Whether an argument of a call is live."""
    return any(map(live, args)) or (bool(kwargs) and any(map(live, kwargs.values())))


def called_plainly(f: Function, args: tuple[Array | None, ...], kwargs: Settings) -> Array:
    """``f(*args, **kwargs)`` with numbers in the place of boxes."""
    return f(*map(plainly, args), **{name: plainly(value) for name, value in kwargs.items()})


def reaches(f: object, depth: int = 3) -> bool:
    """Whether calling `f` may use live boxes that it is not given: its closure, defaults or object hold some."""
    if depth == 0 or isinstance(f, type) or not callable(f):
        return False
    if isinstance(f, functools.partial):
        return any_live(f.args, f.keywords) or reaches(f.func, depth)
    if isinstance(f, types.MethodType):
        return live(getattr(f.__self__, "__dict__", None)) or reaches(f.__func__, depth)
    if not isinstance(f, types.FunctionType):
        inside = getattr(f, "__wrapped__", None)  # of a cache
        return live(getattr(f, "__dict__", None)) or (inside is not None and reaches(inside, depth - 1))
    held = [*(f.__defaults__ or ()), *(f.__kwdefaults__ or {}).values()]
    for cell in f.__closure__ or ():
        try:
            held.append(cell.cell_contents)
        except ValueError:  # not bound yet
            continue
    return any(map(live, held)) or any(
        reaches(q, depth - 1) if callable(q) else live(getattr(q, "__dict__", None)) for q in held if not live(q)
    )


def is_open(x: Array) -> bool:
    """Whether the value of the box `x` can be looked at: it is one value, and no program is being captured."""
    return not varies(x) and not isinstance(raw(x), Box)


def checked(f: Function, *args: Array) -> None:
    """Raise what `f` raises for the numbers of `args`, where these can be looked at."""
    if all(is_open(x) for x in args if isinstance(x, Box)):
        f(*map(plainly, args))


def type_of(x: Array) -> type:
    """The result of ``type`` for the plain value in the place of `x`."""
    if not isinstance(x, Box):
        return class_of(x)
    box: Value = x
    if isinstance(box, PythonNumber):
        return box.python_type
    if box.shape:
        return ndarray
    value = raw(box)
    if isinstance(value, Box):  # a symbol
        value = getattr(value, "value", value)
        if type(value) in (float, complex, int):
            return type(value)
    return cast(type, box.dtype.type) if box._is_number() else ndarray


def as_array(x: Array) -> Array:
    """The box `x` as an array: of a number, a new one without axes, which can be written."""
    return x if x.shape or not x._is_number() else np.copy(as_numpy(x))
