"""Values as plain data: numbers, texts, bytes and tuples of these, for digests and for files.

Equal data mean equal values, bit for bit, in any process. A value that has no such form (an object of the user's, a
function that is not a library's) raises `NotPlainError`; the caller then continues without a digest.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from importlib import import_module
from types import BuiltinFunctionType, FunctionType

import numpy as np

from adjoint.core.errors import AdjointError
from adjoint.core.op import Op
from adjoint.core.registry import ENTRIES, operation
from adjoint.core.types import Function, Value

_SELF = frozenset({type(None), bool, int, float, complex, str, bytes})
_FUNCTIONS = frozenset({np.ufunc, FunctionType, BuiltinFunctionType, type(np.sum)})
_LIBRARIES = frozenset({"adjoint", "numpy", "scipy", "math", "cmath", "operator", "builtins", "_operator"})


class NotPlainError(AdjointError, TypeError):
    """A value that has no plain form."""


class PlainData:
    """Makes plain data of values, and values of plain data.

    Args:
        objects: what only this process has, such as generators of random numbers: data name them by their place here.
        growing: whether further ones are put there.
    """

    def __init__(self, objects: list[Value], growing: bool = False) -> None:
        self.objects, self.growing = objects, growing

    def data(self, x: Value) -> Value:
        """`x` as plain data."""
        kind = type(x)
        if kind in _SELF:
            return x
        if kind is tuple:
            return ("tuple", *map(self.data, x))
        if kind is list:
            return ("list", *map(self.data, x))
        if kind is slice:
            return ("slice", self.data(x.start), self.data(x.stop), self.data(x.step))
        if x is Ellipsis:
            return ("...",)
        if kind is np.ndarray:
            return ("array", *_array(x))
        if isinstance(x, np.generic):
            return ("number", _dtype(x.dtype), x.tobytes())
        if isinstance(x, np.dtype):
            return ("dtype", _dtype(x))
        if isinstance(x, type):
            return ("found", *_found(x))
        if kind is Op:
            return ("op", *_op(x))
        if isinstance(x, Mapping):
            return ("dict", *((self.data(key), self.data(x[key])) for key in sorted(x)))
        if kind in _FUNCTIONS:
            return ("found", *_found(x))
        if kind.__module__.startswith("numpy.random"):
            return ("object", self._place(x), kind.__name__)
        raise NotPlainError(f"{kind.__module__}.{kind.__qualname__} has no plain form")

    def value(self, data: object) -> Value:
        """What `data` was made of."""
        if type(data) is not tuple:
            return data
        word, *parts = data
        made: Function = getattr(self, f"_{_WORDS[word]}")
        return made(*parts)

    def _place(self, x: object) -> int:
        for i, known in enumerate(self.objects):
            if known is x:
                return i
        if not self.growing:
            raise NotPlainError("a further object")
        self.objects.append(x)
        return len(self.objects) - 1

    def _tuple(self, *parts: object) -> tuple[object, ...]:
        return tuple(map(self.value, parts))

    def _list(self, *parts: object) -> list[object]:
        return list(map(self.value, parts))

    def _slice(self, *parts: object) -> slice:
        return slice(*map(self.value, parts))

    def _ellipsis(self) -> object:
        return ...

    def _array(self, dtype: str, shape: tuple[int, ...], repeated: bool, content: bytes) -> np.ndarray:
        found = np.frombuffer(content, np.dtype(dtype))
        array = np.broadcast_to(found.reshape(()), shape) if repeated else found.reshape(shape).copy()
        array.flags.writeable = False
        return array

    def _number(self, dtype: str, content: bytes) -> Value:
        return np.frombuffer(content, np.dtype(dtype))[0]

    def _dtype(self, text: str) -> np.dtype[Value]:
        return np.dtype(text)

    def _found(self, module: str, name: str) -> object:
        return getattr(import_module(module), name)

    def _op(self, name: str, module: str, *described: object) -> Op:
        found: Value = getattr(import_module(module), name) if module else operation(name)
        if _op(found) != (name, module, *described):
            raise NotPlainError(f"{name} is another operation here")
        return found  # type: ignore[no-any-return]  # an operation, as its description says

    def _dict(self, *items: Value) -> dict[object, object]:
        return {self.value(key): self.value(value) for key, value in items}

    def _object(self, place: int, _kind: str) -> object:
        return self.objects[place]


_WORDS = {
    word: word for word in ("tuple", "list", "slice", "array", "number", "dtype", "found", "op", "dict", "object")
}
_WORDS["..."] = "ellipsis"


def _dtype(dtype: np.dtype[Value]) -> str:
    """The text of which NumPy makes this very dtype."""
    text = dtype.char if dtype.isbuiltin == 1 else dtype.str
    made = np.dtype(text) if dtype.kind in "biufcSUmM" and dtype.metadata is None else None
    if made is None or made != dtype or made.char != dtype.char or (dtype.isbuiltin == 1 and made is not dtype):
        raise NotPlainError(f"dtype {dtype!r} has no plain form")
    return text


def _array(x: np.ndarray) -> tuple[str, tuple[int, ...], bool, bytes]:
    """The dtype, the shape, whether one element is there for all, and the bytes."""
    repeated = x.size > 1 and not any(x.strides)
    content = x[(slice(0, 1),) * x.ndim] if repeated else x
    return _dtype(x.dtype), x.shape, repeated, content.tobytes()


def _found(x: Function) -> tuple[str, str]:
    """The module and the name under which any process finds a library's class or function."""
    name = getattr(x, "__name__", "")
    for module in _modules_of(x):
        if module.partition(".")[0] in _LIBRARIES and getattr(sys.modules.get(module), name, None) is x:
            return module, name
    raise NotPlainError(f"{x!r} is nothing that a library has")


def _modules_of(x: Function) -> Sequence[str]:
    return "numpy" if isinstance(x, np.ufunc) else str(getattr(x, "__module__", "")), "numpy", "scipy.special"


def _op(op: Op) -> tuple[Value, ...]:
    """The name of an operation, its module unless the registry has it, and its description."""
    name, module = op.name, ""
    if ENTRIES.get(name) is not op:
        name, module = _at_home(op)
    settings = PlainData([]).data(dict(op.settings))
    described = (op.name, op.kind, op.joint, op.multiple, tuple(sorted(op.flags)), op.inputs, settings, repr(op.memory))
    return (name, module, described, _code(op.forward))


def _at_home(op: Op) -> tuple[str, str]:
    """The name and the module of an operation that is not in the registry."""
    for module, held in list(sys.modules.items()):
        if module.startswith("adjoint."):
            for name, x in list(vars(held).items()):
                if x is op:
                    return name, module
    raise NotPlainError(f"{op!r} is no operation of the library's")


def _code(x: object) -> object:
    """What a function of a library's is: where its code stands, and what it closes over."""
    if isinstance(x, FunctionType):
        code = x.__code__
        home = _home(code.co_filename)
        inner = [cell.cell_contents for cell in x.__closure__ or ()]
        inner += [*(x.__defaults__ or ()), *(x.__kwdefaults__ or {}).values()]
        return (home, code.co_qualname if sys.version_info >= (3, 11) else code.co_name, code.co_firstlineno,
                *map(_code, inner))  # fmt: skip
    if isinstance(x, partial):
        return ("partial", _code(x.func), *map(_code, x.args), *((k, _code(v)) for k, v in sorted(x.keywords.items())))
    if type(x) is tuple:
        return ("tuple", *map(_code, x))
    return PlainData([]).data(x)


def _home(file: str) -> str:
    """Where in a library a file of code is."""
    for library in ("adjoint", "numpy", "scipy"):
        folder = os.path.dirname(getattr(sys.modules.get(library), "__file__", None) or "") + os.sep
        if folder != os.sep and file.startswith(folder):
            return f"{library}/{file[len(folder) :]}"
    raise NotPlainError(f"code of {file} is not a library's")
