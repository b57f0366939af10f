"""Boxes that can be written: assignment, operators that work in place, and arrays made of layers."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Self, TypeVar

import numpy as np

from adjoint.arrays.array_box import ArrayBox, plain_index
from adjoint.arrays.flat import Flat
from adjoint.arrays.operators import is_objects
from adjoint.core.box import Box, without_constants
from adjoint.core.errors import DTypeError, InPlaceError, LeavesGraphError, ReadOnlyError, ShapeError
from adjoint.core.memory import lies, owner, views
from adjoint.core.op import Op
from adjoint.core.types import Array, Index, ShapeLike, Value
from adjoint.ops.indexing.writing import Path, extended, numbered, still_from, written

Binary = Callable[[Array, Array], Array]
W = TypeVar("W", bound="Writable")


def _in_place(ufunc: np.ufunc, computed: Binary | None = None) -> Callable[[W, Array], W]:
    def method(self: W, other: Array) -> W:
        return self._update(ufunc, other, computed or ufunc)

    return method


class Writable(ArrayBox):
    """Assignment and the operators that work in place, in terms of one method, `_write`."""

    __slots__ = ()

    def as_memory(self) -> Array:
        """A number as an array without axes, which can be written."""
        raise NotImplementedError

    def _write(self, index: Index, value: Array) -> None:
        """``self[index] = value``: the history of `value` becomes part of this array's."""
        raise NotImplementedError

    def snapshot(self) -> Array:
        """The array as it is now, with its history, whatever is written into this one later."""
        raise NotImplementedError

    def _become(self, made: Value) -> None:
        """Take the memory, the shape and the history of `made` in the place of one's own."""
        raise NotImplementedError

    def take_shape(self, shape: ShapeLike) -> None:
        """``t.shape = shape``: other views of the memory keep theirs.

        Raises:
            AttributeError: of a number, and where only a copy could have that shape, as NumPy does.
        """
        if self._is_number():
            raise AttributeError(f"attribute 'shape' of '{self.dtype}' numbers is not writable")
        made = self.reshape(shape)
        if getattr(made, "root", None) is not getattr(self, "root", self):
            raise AttributeError(
                "Incompatible shape for in-place modification. Use `.reshape()` to make a copy with the desired shape."
            )
        self._become(made)

    def resize(self, *new_shape: Value, refcheck: bool = True) -> None:
        """`ndarray.resize`: in place, with zeros at the end where it gets longer.

        Raises:
            ValueError: of a view, as NumPy does.
        """
        del refcheck
        if self._is_number() or getattr(self, "root", self) is not self:
            raise ValueError("cannot resize this array: it does not own its data")
        shape = np.broadcast_shapes(new_shape[0] if len(new_shape) == 1 else new_shape)
        kept = np.ravel(self)[: math.prod(shape)]
        zeros = np.zeros(math.prod(shape) - kept.size, self.dtype)
        self._become(np.reshape(np.concatenate([kept, zeros]), shape))

    def assign(self, value: Array, index: Index = ...) -> Self:
        """``t[index] = value``, as an expression."""
        self[index] = value
        return self

    def __setitem__(self, index: Index, value: Array) -> None:
        if is_objects(value):
            value = value.tolist()
        if type(value) in (list, tuple):
            value = np.array(value, like=self) if _holds_boxes(value) else np.array(value, self.dtype)
        elif type(value) is Flat:
            value = value.copy()
        self._write(plain_index(index), value)

    __iadd__, __isub__ = _in_place(np.add), _in_place(np.subtract)
    __imul__, __itruediv__ = _in_place(np.multiply), _in_place(np.true_divide)
    __ifloordiv__, __imod__ = _in_place(np.floor_divide), _in_place(np.remainder)
    __ipow__, __imatmul__ = _in_place(np.power, pow), _in_place(np.matmul)

    def _update(self, ufunc: np.ufunc, other: Array, computed: Binary) -> Self:
        value: Self = computed(self, other)
        if self._is_number():  # the name moves on to a new one
            return value
        if value.shape != self.shape:
            raise ShapeError(
                f"np.{ufunc.__name__} in place: the result has shape {value.shape}, the tensor {self.shape}; "
                f"write t = np.{ufunc.__name__}(t, u)"
            )
        if value.dtype is not self.dtype and not np.can_cast(value.dtype, self.dtype, "same_kind"):
            raise DTypeError(
                f"np.{ufunc.__name__} in place: the result has dtype {value.dtype}, which does not fit into a tensor "
                f"of {self.dtype}; write t = np.{ufunc.__name__}(t, u)"
            )
        self._write(..., value)
        return self


#: What an array without axes has in place of a root: it is none of NumPy's numbers, which cannot be written.
_ALONE: Value = (None, ())


class Layered(Writable):
    """An array made of one or several arrays, its `layers`, that are only ever replaced, never written.

    A write replaces the layers of the whole array, its `root`. A view remembers its root and the path from
    there, and takes the path again when the root has been written since.
    """

    __slots__ = ("_base", "_layers", "_seen")
    #: Whether the first layer alone says what shape and dtype an array has, and how it lies.
    lies_first = False
    #: Which layer says what makes the values, if one does: where it is the same, so are they.
    maker: int | None = None
    _layers: tuple[Value, ...]
    _base: tuple[Self, Path] | None
    _seen: tuple[Value, ...]

    @classmethod
    def of(cls, layers: tuple[object, ...], level: int) -> Self:
        """The array of `level` that is made of `layers`."""
        box = object.__new__(cls)
        box._layers, box.level, box._base = layers, level, None
        return box

    @property
    def root(self) -> Self:
        """The array whose memory this one shows."""
        base = self._base
        return self if base is None or base is _ALONE else base[0]

    @property
    def path(self) -> Path:
        """The way from `root` to here."""
        return () if self._base is None else self._base[1]

    @property
    def layers(self) -> tuple[Array, ...]:
        base = self._base
        if base is not None and base is not _ALONE and self._seen is not base[0]._layers:
            root, path = base
            path = still_from(root.shape, path, self.of(self._seen, root.level).shape)
            self._base = root, path
            shown: Value = self.of(root._layers, root.level)
            for op, settings in path:
                shown = op(shown, **settings)
            self._layers, self._seen, self.level = shown._layers, root._layers, root.level
        return self._layers

    def viewed(self, result: Array, op: Op, settings: Value) -> Array:
        """`result`, which `op` made of this array; as a view, if it shows the same memory."""
        if views(op, result._layers[0], self.layers[0]):
            root = self.root
            result._base, result._seen = (root, extended(self.path, op, settings, root.shape, self)), root._layers
        return result

    def seen_each(self, out: Array, op: Op, settings: Value) -> Array:
        if type(out) is type(self) and out._base is None:
            out._base, out._seen = (self.root, (*self.path, (op, settings))), self.root._layers
        return out

    def _write(self, index: Index, value: Array) -> None:
        if index is ... and self.lies_first and self._base is None and type(value) is type(self):
            layers = value.layers
            if value.level == self.level and _takes_place(layers[0], self._layers[0]):  # most writes of optimizers
                self._layers = layers
                return
        root = self.root
        _ = self.layers
        if self.path:
            refuse_repeated(root.shape, self.path, index)
        refuse_locked(self.path, lies(self))
        if isinstance(value, Layered) and value._base is not None:
            _ = value.layers  # takes the path again, and with it the level that its root may have got
        whole = self.of(root._layers, root.level)
        if isinstance(value, Box) and value.level > root.level:
            root._layers, root.level = self._constant(whole), value.level
        before = whole.settled()  # of what it only holds, the history
        if type(value) is not type(before) and isinstance(value, Box) and value.level == before.level:
            before = without_constants(before, before.level - 1)  # two kinds of a level do not nest
        new: Value = written(before, self.path, index, value)
        if type(new) is not type(self):
            new = new.as_array() if isinstance(new, Box) else new
        same = type(new) is type(self) and new.level == root.level
        layers = new._layers if same else self._constant(as_now(new))
        if not root.shape:  # NumPy gives numbers where an array without axes stays one
            layers = memory_of(layers[0]), *layers[1:]
            root.keep_array()
        root._layers = layers

    def _become(self, made: Value) -> None:
        _ = made.layers
        self._layers = made._layers
        if self.root is self:
            self.keep_array()
        else:
            self._base, self._seen = made._base, made._seen

    def keep_array(self) -> Self:
        """This array, which is none of NumPy's numbers although it has no axes: it can be written."""
        if self._base is None:
            self._base = _ALONE
        return self

    def as_memory(self) -> Array:
        first, *others = self.layers
        return self.of((memory_of(first), *others), self.level).keep_array()

    def snapshot(self) -> Array:
        if self._is_number():
            return self
        now = self.of(self.layers, self.level)
        return now if now.shape else now.keep_array()

    def _constant(self, array: Array) -> tuple[Array, ...]:
        """The layers of an array of this kind that is the constant `array`."""
        raise NotImplementedError

    def constant_of(self, array: Array) -> Value:
        """The constant `array` as one of this level, which can be written with such."""
        made = self.of(self._constant(array), self.level)
        return made if array.shape else made.keep_array()

    @property
    def held(self) -> Array:
        return self.layers[0]

    def settled(self) -> Array:
        held = (self._layers if self._base is None else self.layers)[0]
        return held.settled() if isinstance(held, Box) and held.level == self.level else self

    def __bool__(self) -> bool:
        return bool(self.layers[0])

    def __reduce_ex__(self, protocol: Value) -> Array:
        raise LeavesGraphError(
            f"a {type(self).__name__} array means something only inside the transform that made it, so it cannot be "
            f"pickled; pickle its values, t.numpy(), or what the transform returns"
        )

    def __copy__(self) -> Array:
        return self.copy()

    def __deepcopy__(self, memo: dict[int, Value]) -> Array:
        return self.copy()


def _takes_place(new: Array, old: Array) -> bool:
    """Whether the array `new` may take the place of `old`, which can be written: they lie alike."""
    alike = type(new) is type(old) is np.ndarray and new.shape == old.shape and new.strides == old.strides
    return alike and new.dtype == old.dtype and new.ndim > 0 and bool(old.flags.writeable)


def as_now(x: Array) -> Array:
    """The box `x` as it is now, whatever is written into it later."""
    return x.snapshot() if isinstance(x, Writable) else x


def memory_of(x: Array) -> Array:
    """The array `x`, or a new one without axes that holds the number `x`."""
    if isinstance(x, Writable):
        return x.as_memory() if x._is_number() else x
    return np.asarray(x) if isinstance(x, np.generic) else x


def refuse_locked(path: Path, model: Array) -> None:
    """Refuse to write to a view, at the end of `path`, that NumPy gives read-only; `model` is an array that lies so.

    Raises:
        ReadOnlyError: if it is one.
    """
    locked = next((op.name for op, _ in path if op.memory.locked), None)
    if isinstance(model, np.ndarray) and not model.flags.writeable:
        by = f" np.{locked} gives a view that is, as NumPy's." if locked else ""
        raise ReadOnlyError(
            f"assignment destination is read-only.{by} Write into the array that it shows, or into a copy: t = t.copy()"
        )


def refuse_repeated(shape: tuple[int, ...], path: Path, index: Index) -> None:
    """Refuse to write to a view, at the end of `path`, in which an element of the array of `shape` stands twice.

    Raises:
        InPlaceError: if `index` names one such.
    """
    if not any("overlaps" in op.flags for op, _ in path):
        return
    places = np.asarray(numbered(shape, path)[index])
    if len(np.unique(places)) < places.size:
        raise InPlaceError(
            "a write through as_strided names an element twice, so which value stays depends on the order in which "
            "NumPy happens to write. Write through an index or a view without overlaps"
        )


def memories(arrays: Iterable[Array]) -> frozenset[int]:
    """By number, what owns the memory of those of `arrays` that are NumPy's."""
    return frozenset(id(owner(x)) for x in arrays if issubclass(type(x), np.ndarray))


def own(x: Array, given: frozenset[int] = frozenset()) -> Array:
    """`x` as a result that the caller may write: a copy, if it is read-only or one of `given` owns its memory."""
    if not issubclass(type(x), np.ndarray):
        model = lies(x)
        return np.copy(x) if isinstance(model, np.ndarray) and not model.flags.writeable else x
    return x if x.flags.writeable and id(owner(x)) not in given else np.array(x)


def _holds_boxes(values: Sequence[Array]) -> bool:
    return any(isinstance(v, Box) or (type(v) in (list, tuple) and _holds_boxes(v)) for v in values)
