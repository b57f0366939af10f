"""Methods and attributes: those of a plain array with boxes as arguments, and of a box where an array is expected."""

from __future__ import annotations

import operator
from collections.abc import Callable

import numpy as np

from adjoint.arrays.python_number import PythonNumber, as_python, has_attribute
from adjoint.core.box import TRACKED, varies
from adjoint.core.errors import LeavesGraphError
from adjoint.core.leaks.texts import seen_again
from adjoint.core.types import Array, DType, Function, Index, Value
from adjoint.tape.tensor import Tensor
from adjoint.twin.standins import drawing
from adjoint.twin.standins.of_numpy.calls import carried
from adjoint.twin.standins.of_numpy.joining import converted, joined
from adjoint.twin.standins.of_python import builtin
from adjoint.twin.standins.of_python.exits import ratio, taken, wrote
from adjoint.twin.standins.of_python.text import shown
from adjoint.twin.standins.values import boxed, called_plainly, is_box, live, ndarray, plainly, type_of
from adjoint.twin.subclasses.base import SubclassArray

Method = Callable[..., Value]


def _through(function: Method) -> Callable[[str], Method]:
    """A method of a plain array by the `function` of the same name, where an argument is live."""

    def make(name: str) -> Method:
        def method(array: Array, *args: Array, **kwargs: object) -> Value:
            args = tuple(map(joined, args))
            kwargs = {k: joined(v) for k, v in kwargs.items()}
            if any(is_box(x) for x in (*args, *kwargs.values())):
                return function(array, *args, **kwargs)
            return getattr(array, name)(*args, **kwargs)

        return method

    return make


def _plain(name: str) -> Method:
    """A method of a plain array whose arguments are numbers: constant boxes become some."""

    def method(array: Array, *args: object, **kwargs: object) -> Value:
        for x in (*args, *kwargs.values()):
            if live(x) and array.dtype != object:
                raise LeavesGraphError(
                    f"array.{name}(t) would write the values of a tensor into an array that was made outside of the "
                    f"function, and drop their gradient. Write into a copy: a = array.copy(), then a[...] = t"
                )
        return (
            getattr(array, name)(*args, **kwargs)
            if array.dtype == object
            else called_plainly(getattr(array, name), args, kwargs)
        )

    return method


def _choose(array: Value, choices: Value, *args: Value, **kwargs: Value) -> object:
    return np.choose(
        array, [joined(c) for c in choices] if isinstance(choices, list | tuple) else choices, *args, **kwargs
    )


def _clip(array: Value, min: Value = None, max: Value = None, out: Value = None, **kwargs: Value) -> object:
    return np.clip(array, joined(min), joined(max), out=out, **kwargs)


_BY_FUNCTION: dict[str, Method] = {
    "compress": lambda array, condition, *rest, **kwargs: np.compress(plainly(condition), array, *rest, **kwargs),
    **{name: carried(getattr(np, name)) for name in ("dot", "searchsorted", "take")},
}
_ARRAY: dict[str, Method] = {
    **{name: _through(function)(name) for name, function in _BY_FUNCTION.items()},
    **{name: _plain(name) for name in ("put", "fill", "itemset", "setfield", "__setitem__")},
    "clip": _through(_clip)("clip"),
    "choose": _choose,
    "astype": lambda array, *args, **kwargs: _read(array, *args, **kwargs),
    **{f"__{name}__": _through(function)(f"__{name}__") for name, function in (
        ("add", np.add), ("sub", np.subtract), ("mul", np.multiply), ("truediv", np.true_divide), ("pow", np.power),
        ("matmul", np.matmul), ("radd", lambda a, b: b + a), ("rmul", lambda a, b: b * a), ("rsub", lambda a, b: b - a),
        ("rtruediv", lambda a, b: b / a))},
}  # fmt: skip


def array_method(name: str) -> Method | None:
    """Return what a twin calls for ``array.name(...)`` of a plain array; the array is the first argument."""
    return _ARRAY.get(name)


def filled(array: Array, name: str, *args: Value, **kwargs: Value) -> Value:
    """``array.name(..., out=...)`` of a plain array: NumPy's methods do not ask what they write into."""
    method = _ARRAY.get(name)
    if method is not None:
        return method(array, *args, **kwargs)
    if is_box(kwargs["out"]) and hasattr(np, name):
        return carried(getattr(np, name))(array, *args, **kwargs)
    return getattr(array, name)(*args, **kwargs)


def _item(t: Array, *index: Index) -> Array:
    if index:
        at = index[0] if len(index) == 1 else index
        return as_python(np.ravel(t)[at] if len(index) == 1 and not isinstance(at, tuple) else t[at])
    if t.size != 1:
        raise ValueError("can only convert an array of size 1 to a Python scalar")
    return as_python(t)


def _tolist(t: Array) -> object:
    return [_tolist(row) for row in t] if t.shape else as_python(t)


def _array(t: object, dtype: DType = None, copy: Value = None) -> object:
    return converted(t, dtype, copy=copy)


def _put(t: Value, indices: Value, values: object, mode: Value = "raise") -> None:
    np.put(t, plainly(indices), joined(values), mode)


def _itemset(t: Value, *args: object) -> None:
    *index, value = args
    at = tuple(index) if len(index) != 1 else index[0]
    t[np.unravel_index(at, t.shape) if isinstance(at, int) and t.ndim > 1 else at] = value


def _view(t: Array, *args: object, **kwargs: object) -> Array:
    kind = args[0] if args else kwargs.get("dtype", kwargs.get("type"))
    if kind is None or kind is ndarray or (not isinstance(kind, int | tuple) and _same(kind, t.dtype)):
        return t.view()
    return t.view(*args, **kwargs)


def _same(kind: Value, dtype: DType) -> bool:
    try:
        return bool(np.dtype(kind) == dtype)
    except TypeError:
        return False


def _clipped(t: Value, min: object = None, max: object = None, out: object = None, **more: object) -> object:
    return t.clip(joined(min), joined(max), out=out, **more)


def _of_lists(name: str) -> Method:
    def method(t: Array, *args: Array, **kwargs: object) -> Value:
        return getattr(t, name)(*map(joined, args), **{k: joined(v) for k, v in kwargs.items()})

    return method


def _astype(t: Array, dtype: DType, *args: object, **kwargs: object) -> object:
    if np.dtype(dtype).kind in "USO":
        wrote(t, "t.astype(str)")
    found = t.astype(dtype, *args, **kwargs)
    return _reread(found) if t.dtype.kind in "USO" else found


def _written_by(name: str) -> Method:
    def method(t: object, *args: object, **kwargs: object) -> Value:
        values = np.asarray(plainly(t))
        return taken(t, f"t.{name}", getattr(values, name)(*args, **kwargs))

    return method


def _reread(found: Array) -> object:
    """Numbers that an array of texts was converted to, if they were written there."""
    read = seen_again(plainly(found)) if not varies(found) else found
    return read if type(read) in TRACKED else found


def _read(array: Array, dtype: DType, *args: object, **kwargs: object) -> Array:
    if array.dtype == object and boxed(array):
        return converted(array, dtype)
    found = array.astype(dtype, *args, **kwargs)
    return _reread(found) if array.dtype.kind in "USO" else found


_BOX: dict[str, Method] = {
    "item": _item,
    "tolist": _tolist,
    "__array__": _array,
    "__float__": builtin.to_float,
    "__int__": builtin.to_int,
    "__complex__": builtin.to_complex,
    "__round__": builtin.rounded,
    "__copy__": builtin.shallow,
    "__deepcopy__": builtin.deep,
    "put": _put,
    "itemset": _itemset,
    "view": _view,
    "clip": _clipped,
    "astype": _astype,
    **{name: _written_by(name) for name in ("tofile", "dump", "dumps")},
    "tobytes": lambda t, order="C": taken(t, "t.tobytes()", plainly(t).tobytes(order)),
    **{f"__{show.__name__}__": shown(show) for show in (str, repr, format)},
    "is_integer": lambda t: bool(np.all(t == np.trunc(t))),
    "as_integer_ratio": ratio,
    "hex": lambda t: taken(t, "t.hex()", float(plainly(t)).hex()),
    "__getitem__": lambda t, index: t[index],
    "__setitem__": lambda t, index, value: t.__setitem__(index, joined(value)),
    **{name: _of_lists(name) for name in ("dot", "searchsorted", "take", "choose", "compress")},
}  # fmt: skip


def box_method(name: str) -> Method | None:
    """Return what a twin calls for ``t.name(...)`` of a box; the box is the first argument."""
    return _BOX.get(name)


class Flags:
    """The flags of a plain array that owns its memory, in C's order."""

    c_contiguous = contiguous = owndata = writeable = aligned = carray = behaved = True
    f_contiguous = farray = fortran = fnc = writebackifcopy = False
    forc = True

    def __init__(self, f_contiguous: bool) -> None:
        self.f_contiguous = self.fortran = f_contiguous

    def __getitem__(self, name: str) -> bool:
        return bool(getattr(self, name.lower()))


class Ctypes:
    """Asking a box where its numbers lie is refused: foreign code would read them there."""

    def __init__(self, t: Value) -> None:
        raise LeavesGraphError(
            "t.ctypes would give foreign code the address of a tensor's values, whose gradient it does not know. If "
            "that is meant, say so: t.detach().numpy().ctypes; or declare the function's derivative with ad.op"
        )


def _strides(t: Value) -> tuple[int, ...]:
    return np.empty(t.shape, np.int8).strides if t.dtype.itemsize == 1 else tuple(
        stride * t.dtype.itemsize for stride in np.empty(t.shape, np.int8).strides
    )  # fmt: skip


def _data(t: Array) -> Array:
    """The value of ``t.data``: the box itself, as an array's memory; for a tensor that the user made, its values."""
    return t.data if isinstance(t, Tensor) and t.level == 0 and t.is_leaf else t


_ATTRIBUTES: dict[str, Callable[[Value], Value]] = {
    "__class__": type_of,
    "base": lambda t: None,
    "data": _data,
    "flags": lambda t: Flags(sum(n > 1 for n in t.shape) <= 1),
    "strides": _strides,
    "itemsize": lambda t: t.dtype.itemsize,
    "nbytes": lambda t: t.dtype.itemsize * t.size,
    "ctypes": Ctypes,
}


def number_attribute(t: PythonNumber, name: str) -> Array:
    """The attribute ``t.name`` of one of Python's numbers, which has none of an array's."""
    if name == "__class__":
        return t.python_type
    if not has_attribute(t, name):
        raise AttributeError(f"'{t.python_type.__name__}' object has no attribute '{name}'")
    return getattr(t, name)


def box_attribute(name: str) -> Callable[[Value], Value] | None:
    """Return what a twin calls for the attribute ``t.name`` of a box."""
    return _ATTRIBUTES.get(name)


#: The names of methods of random generators and of strings that have stand-ins.
OTHER_METHODS = frozenset(("format", "format_map", "join", "fromhex", *drawing.METHODS))


def _numpys_own(cls: type, name: str) -> Function:
    """The method that arrays of a user's class have in the place of NumPy's, below those of the class."""
    ours = (vars(base) for base in cls.__mro__ if base.__module__.startswith("adjoint.") and name in vars(base))
    found: Function = next(ours)[name]
    return found


def unbound(original: Value) -> Method | None:
    """Return what a twin calls for ``float.__mul__`` or ``np.ndarray.sum``; None for a method of another class."""
    if original.__objclass__ not in (float, int, complex, np.float64, ndarray):
        return None
    name = original.__name__
    plain = name.strip("_") if name.startswith("__") else ""
    plain = plain + "_" if plain in ("and", "or") else plain
    mirrored = getattr(operator, plain[1:], None) if plain.startswith("r") else None
    direct = getattr(operator, plain, None)

    def stand_in(x: Value, *args: Value, **kwargs: Value) -> Value:
        if issubclass(type(x), SubclassArray):  # not its own method, which may be what calls this one
            return _numpys_own(type(x), name)(x, *args, **kwargs)
        if not any(map(is_box, (x, *args))):
            return original(x, *args, **kwargs)
        if direct is not None:
            return direct(x, *args)
        if mirrored is not None:
            return mirrored(*args, x)
        method = box_method(name) if is_box(x) else None
        return getattr(x, name)(*args, **kwargs) if method is None else method(x, *args, **kwargs)

    return stand_in
