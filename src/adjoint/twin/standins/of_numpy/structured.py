"""Structured arrays that tensors are written into: an array for each field."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np

from adjoint.core.box import Box
from adjoint.core.errors import LeavesGraphError, NotSupportedError
from adjoint.core.types import Array, DType, Function, Index, Value
from adjoint.twin.standins.of_numpy.joining import array, joined
from adjoint.twin.standins.values import live, plainly


class Structured:
    """The stand-in of an array with named fields, which cannot hold a history: `a["x"]` is an array of its own.

    A part of it, `a[i]` or `a[1:]`, is a view: `of` and `index` say of what.
    """

    __array_ufunc__ = None

    def __init__(
        self, fields: dict[str, Value], empty: Array, of: Structured | None = None, index: Index = None
    ) -> None:
        self._fields, self._empty, self._of, self._index = fields, empty, of, index

    @classmethod
    def made(cls, array: Array, constant: Callable[[Array], Value]) -> Structured:
        """The fields of a new `array`, as `constant` makes them able to hold a history."""
        names: tuple[str, ...] = array.dtype.names
        parts = {name: np.ascontiguousarray(array[name]).reshape(array[name].shape) for name in names}
        fields = {n: cls.made(p, constant) if p.dtype.names else constant(p) for n, p in parts.items()}
        return cls(fields, _empty(array.shape, array.dtype))

    @classmethod
    def of_rows(cls, rows: Value, dtype: Value, like: Value) -> Structured:
        """What ``np.array(rows, dtype)`` is: of a record, a tuple, or of lists of records. `like` is a box of them."""
        fields: dict[str, Value] = {}
        for i, name in enumerate(dtype.names):
            kind, part = dtype[name], _of_field(rows, name, i)
            if kind.names:
                fields[name] = cls.of_rows(part, kind, like)
                continue
            fields[name] = made = array(part, kind.base)
            if not isinstance(made, Box) and kind.base.kind in "fc":  # so that it can be written
                fields[name] = np.zeros(made.shape, made.dtype, like=like)
                fields[name][...] = made
        shape = next(iter(fields.values())).shape
        return cls(fields, _empty(shape[: len(shape) - len(dtype[0].shape)], dtype))

    # -- Reading --------------------------------------------------------------------------------------

    @property
    def shape(self) -> tuple[int, ...]:
        """As NumPy's."""
        shape: tuple[int, ...] = self._empty.shape
        return shape

    @property
    def ndim(self) -> int:
        """As NumPy's."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """As NumPy's."""
        return math.prod(self.shape)

    @property
    def dtype(self) -> Value:
        """As NumPy's, with the names of the fields."""
        return self._empty.dtype

    def __len__(self) -> int:
        return len(self._empty if self.ndim else self.dtype.names or ())

    def __iter__(self) -> Iterator[Value]:
        return (self[i] for i in range(len(self)))

    def _field(self, name: str) -> Value:
        if name not in (self.dtype.names or ()):
            raise ValueError(f"no field of name {name}")
        return self._fields[name] if self._of is None else self._of._field(name)[self._index]

    def __getitem__(self, key: Value) -> Value:
        names = self.dtype.names or ()
        if isinstance(key, str):
            return self._field(key)
        if _names(key):
            return Structured({}, self._empty[key], self, ...)
        if not self.ndim and isinstance(key, int | np.integer):
            return self._field(names[key])
        if _shows(key):
            return Structured({}, _empty(np.shape(self._empty[key]), self.dtype), self, key)
        fields = {name: self._field(name)[key] for name in names}
        own = len(self.dtype[0].shape)
        shape = next(iter(fields.values())).shape
        return Structured(fields, _empty(shape[: len(shape) - own], self.dtype))

    def copy(self) -> Structured:
        """A copy, field by field."""
        return Structured({name: self._field(name).copy() for name in self.dtype.names or ()}, self._empty)

    # -- Writing --------------------------------------------------------------------------------------

    def __setitem__(self, key: Value, value: Value) -> None:
        names = self.dtype.names or ()
        if not self.ndim and isinstance(key, int | np.integer):
            key = names[key]
        if isinstance(key, str):
            return self._write(key, ..., value)
        whole = Structured({}, self._empty[key], self, ...) if _names(key) else self
        place = ... if whole is not self else key
        for i, name in enumerate(whole.dtype.names or ()):
            whole._write(name, place, _of_field(value, name, i))
        return None

    def _write(self, name: str, key: Value, value: Value) -> None:
        """Write into `field[key]`, in the memory that `self` is a view of."""
        if self._of is not None:
            if self._index is ...:
                return self._of._write(name, key, value)
            if key is ...:
                return self._of._write(name, self._index, value)
        field = self._field(name)
        if value is not field:
            field[key] = joined(value) if isinstance(value, list) else value
        return None

    # -- What needs one array -------------------------------------------------------------------------

    def _numbers(self) -> Array:
        """One array with the numbers of all fields."""
        array = np.empty(self.shape, self.dtype)
        for name in self.dtype.names or ():
            field = self._field(name)
            array[name] = field._numbers() if type(field) is Structured else plainly(field)
        return array

    def _whole(self, what: str) -> Array:
        """The same, if no field has a history."""
        if self._live():
            raise LeavesGraphError(
                f"{what} of a structured array that holds values with a history: adjoint keeps an array for each "
                f"field. Compute with its fields, a['{(self.dtype.names or ['x'])[0]}']"
            )
        whole = self._numbers()
        whole.flags.writeable = False  # it is a copy, in which a write would be lost
        return whole

    def _live(self) -> bool:
        fields = (self._field(name) for name in self.dtype.names or ())
        return any(field._live() if type(field) is Structured else live(field) for field in fields)

    def __array__(self, dtype: Value = None, copy: object = None) -> Array:
        return np.asarray(self._whole("NumPy's array"), dtype)

    def __array_function__(self, function: Value, kinds: object, args: Value, kwargs: Value) -> Value:
        if function in (np.shape, np.ndim, np.size):
            return function(self._empty)
        if function is np.copy:
            return self.copy()
        what = f"np.{function.__name__}"
        return function(*(_plain(x, what) for x in args), **{k: _plain(x, what) for k, x in kwargs.items()})

    def __getattr__(self, name: str) -> Value:
        if name[:2] == "__" or not hasattr(np.ndarray, name):
            raise AttributeError(f"'numpy.ndarray' object has no attribute '{name}'")
        return getattr(self._whole(name), name)

    def __eq__(self, other: object) -> Value:
        return self._whole("==") == _plain(other, "==")

    def __ne__(self, other: object) -> Value:
        return self._whole("!=") != _plain(other, "!=")

    __hash__ = None  # type: ignore[assignment]  # as arrays
    __class__ = property(lambda self: np.ndarray)  # what `isinstance` asks for

    def __repr__(self) -> str:
        return repr(self._numbers())

    def __str__(self) -> str:
        return str(self._numbers())


def _plain(x: Value, what: str) -> Value:
    """`x`, in which structured arrays are NumPy's."""
    if isinstance(x, list | tuple):
        return type(x)(_plain(part, what) for part in x)
    return x._whole(what) if type(x) is Structured else x


def _empty(shape: tuple[int, ...], dtype: Value) -> Array:
    """What knows the shape and the fields, without numbers."""
    return np.broadcast_to(np.empty((), dtype), shape)


def _of_field(value: Value, name: str, i: int) -> Value:
    """The part of `value` for one field: of a tuple, a list of tuples, or another structured array."""
    if type(value) is Structured or getattr(getattr(value, "dtype", None), "names", None):
        return value[value.dtype.names[i]]
    if isinstance(value, tuple):
        return value[i]
    if isinstance(value, list):
        return [_of_field(part, name, i) for part in value]
    return value


def _names(key: Value) -> bool:
    return isinstance(key, list) and bool(key) and all(isinstance(k, str) for k in key)


def _shows(key: Value) -> bool:
    """Whether `a[key]` shows the memory of `a`: no index of arrays or lists is in it."""
    parts = key if isinstance(key, tuple) else (key,)
    return all(part is None or part is ... or isinstance(part, int | np.integer | slice) for part in parts)


def _boxes(rows: Value) -> Iterator[Value]:
    """The boxes in records, which are tuples or structured arrays, and in lists of these."""
    if isinstance(rows, Box):
        yield rows
    elif type(rows) is Structured:
        yield from _boxes([rows._field(name) for name in rows.dtype.names or ()])
    elif isinstance(rows, list | tuple) or (type(rows) is np.ndarray and rows.dtype == object):
        for part in rows:
            yield from _boxes(part)


def of_rows(original: Function, own: Function) -> Function:
    """The stand-in of a function that makes arrays: of one array for each field, if the dtype has some; else `own`."""

    def stand_in(object: Value, dtype: DType = None, *args: Value, **kwargs: Value) -> Value:
        if dtype is not None and np.dtype(dtype).names:
            rows = object if isinstance(object, tuple | Structured) else list(object)
            if (like := next(_boxes(rows), None)) is not None:
                return Structured.of_rows(rows, np.dtype(dtype), like)
            return original(rows, dtype, *args, **kwargs)
        return own(object, dtype, *args, **kwargs)

    stand_in.__name__ = stand_in.__qualname__ = original.__name__
    return stand_in


def _of_records(original: Function) -> Function:
    """The stand-in of a function that makes record arrays, whose fields are attributes: these hold numbers alone."""

    def stand_in(*args: Value, **kwargs: Value) -> Value:
        if any(True for _ in _boxes([*args, *kwargs.values()])):
            raise NotSupportedError(
                f"np.rec.{original.__name__} makes a record array, which holds no tensors. Make a structured array, "
                "which does: a = np.array([(x, y)], dtype=[('x', float), ('y', float)]); a['x']"
            )
        return original(*args, **kwargs)

    stand_in.__name__ = stand_in.__qualname__ = original.__name__
    return stand_in


#: The stand-ins of functions that make record arrays.
RECORDS = tuple((made, _of_records(made)) for made in (np.rec.array, np.rec.fromarrays, np.rec.fromrecords))
