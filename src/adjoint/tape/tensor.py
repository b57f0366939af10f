"""`Tensor`: an array that records the operations on it on the tape."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, cast

import numpy as np

from adjoint.arrays.array_box import ArrayBox
from adjoint.arrays.count import Count
from adjoint.arrays.layered import memory_of
from adjoint.arrays.named import NamedArray
from adjoint.arrays.operators import by_objects, holds_objects
from adjoint.core.backend import converted, is_foreign, refuse_unknown, taken
from adjoint.core.box import Box, apply, outermost
from adjoint.core.errors import DTypeError
from adjoint.core.leaks.notes import EQUALITIES, compared
from adjoint.core.memory import copy_as_it_lies, views
from adjoint.core.objects.foreign import ForeignArrayError, asking
from adjoint.core.op import Op
from adjoint.core.protocol import array_ufunc
from adjoint.core.registry import ANSWERS
from adjoint.core.rules.pullbacks import freed, op_of
from adjoint.core.threads.weak import at_end
from adjoint.core.types import Array, Device, DType, Function, Index, Settings, ShapeLike, Value
from adjoint.ops.indexing.reading import PickedView
from adjoint.ops.indexing.writing import Path, extended, still_from
from adjoint.tape.fast import OPERATORS, eligible, fast_path, install
from adjoint.tape.gradients import Gradients
from adjoint.tape.leaving import Leaving
from adjoint.tape.modes import recording_floor
from adjoint.tape.node import TapeNode, output_node, record
from adjoint.tape.observers.observing import Observable
from adjoint.tape.writes.foreign import private
from adjoint.tape.writes.shapes import Shapeable
from adjoint.tape.writes.views import root_of, write, write_element

if TYPE_CHECKING:
    from adjoint.tape.methods import TensorMethods
else:
    TensorMethods = ArrayBox

new = object.__new__
MISSING: Value = object()


class Tensor(Gradients, Leaving, Shapeable, Observable, TensorMethods):
    """An n-dimensional array that records the operations applied to it.

    Args:
        data: an array, which is shared and not copied, or numbers. `adjoint.tensor` copies.
        requires_grad: collect a gradient in `grad` when `backward` is called on a result. The array given is
            then read-only, except through the tensor, as long as the graph may need it. One that cannot be
            made so (it shows memory of another array, or is read-only already) is copied.
        dtype: convert to this first.

    Raises:
        DTypeError: if whole numbers or truth values should carry a gradient.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> x = ad.Tensor(np.array([1.0, 2.0]), requires_grad=True)
        >>> np.sum(x**2).backward()
        >>> x.grad
        tensor([2., 4.])
    """

    __slots__ = ("__weakref__", "held")
    goes_back = True
    held: Array
    node: TapeNode | None

    def __init__(self, data: Array, requires_grad: bool = False, dtype: DType = None) -> None:
        if isinstance(data, Tensor):
            self.level, self.held, self.node = data.level, data.held, None
        else:
            self.level, self.held, self.node = 0, _array(data), None
        if dtype is not None:
            self.held = self.held.astype(dtype, copy=False)
        if not requires_grad:
            return
        if isinstance(data, Tensor):  # two tensors may share memory: what is written through either is noted
            self.node = self._new_leaf()
        elif self.held is data and type(data) is np.ndarray and data.base is None and data.flags.writeable:
            self._lock(data)
        else:
            self.requires_grad_()

    def _lock(self, array: np.ndarray) -> None:
        """Share the caller's `array`, read-only there for as long as this leaf lives."""
        self.node = self._new_leaf()
        self.held = array.view()
        array.flags.writeable = False
        at_end(self.node, partial(array.flags.__setattr__, "writeable"))  # to the reference, which is true

    def __init_subclass__(cls) -> None:
        """Let other kinds of tensors give way to Python's numbers, which Python asks first only beside `Tensor`."""
        if not cls.is_python:
            for name in OPERATORS:
                setattr(cls, f"__{name}__", giving_way(f"__{name}__"))

    # -- The tape -----------------------------------------------------------------------------------

    def process(self, op: Op, args: Sequence[Array], settings: Settings) -> Value:
        short = op.pullbacks.get("fast path", MISSING)
        if short is MISSING:
            short = fast_path_of(op)
        if short is None:
            return self.recorded(op, args, settings)
        return short(*args, settings) if op.settings else short(*args)

    def recorded(self, op: Op, args: Sequence[Array], settings: Settings) -> Value:
        """What `process` does, for any operation and any arguments."""
        if holds_objects(args):
            return by_objects(op, args, settings)
        level = self.level
        out, node = record(op, level, args, settings, Tensor)
        if op.kind == "constant":
            if level > 0 and op.name in EQUALITIES:
                compared(op, args, out, recording_floor.get())
            return wrap(out, None, level) if "creates" in op.flags else out
        if op.multiple:
            return outputs(out, node, level)
        if len(args) == 1 and views(op, out, self.held):
            return _view(out, node, self, op, settings)
        return wrap(out, node, level)

    def __array_ufunc__(
        self, ufunc: np.ufunc, method: str, x: Array, y: Array = MISSING, *rest: Array, **kwargs: Value
    ) -> Array:
        if type(y) is self.python_kind and type(x) is not type(y):
            return y.__array_ufunc__(ufunc, method, x, y, *rest, **kwargs)
        if not kwargs and method == "__call__":
            short = _fast_paths.get(ufunc)
            if short is not None:
                try:
                    return short(x) if y is MISSING else short(x, y)
                except ForeignArrayError as error:
                    if error.defers("__array_ufunc__"):
                        return NotImplemented
                    raise
            op = ANSWERS.get(ufunc)
            if isinstance(op, Op) and eligible(op) and ufunc.nin <= 2 and not op.settings:
                _fast_paths[ufunc] = fast_path_of(op)  # type: ignore[assignment]  # eligible: it has one
                return self.__array_ufunc__(ufunc, method, x, y)
        return asking(array_ufunc, ufunc, method, (x, *rest) if y is MISSING else (x, y, *rest), kwargs)

    def settled(self) -> Value:
        data = self.held
        return data.settled() if self.node is None and isinstance(data, Box) and data.level == self.level else self

    def __setitem__(self, index: Index, value: Array) -> None:
        element = type(index) is int and type(self) is Tensor and isinstance(value, Tensor)
        if not (element and write_element(self, index, value)):
            super().__setitem__(index, value)

    def _write(self, index: Index, value: Array) -> None:
        write(self, index, value)

    def as_memory(self) -> Tensor:
        return wrap(memory_of(self.held), self.node, self.level)

    def seen_each(self, out: Array, op: Op, settings: Settings) -> Value:
        shows_it = type(out) is Tensor and out.level == self.level
        return _view(out.held, out.node, self, op, settings) if shows_it else out

    def snapshot(self) -> Tensor:
        if self._is_number():
            return self
        data = self.held
        if isinstance(data, np.ndarray):  # written where it lies; boxes only get other layers
            kept = private(data) if data.flags.forc else data
            data = kept if kept is not data else copy_as_it_lies(data)
        return wrap(data, self.node, self.level)

    def constant(self, answer: Value) -> Value:
        kept = isinstance(answer, Box) and answer.level >= 0  # below that, it stands for a plain array
        return answer if kept else wrap(answer, None, 0)

    def _reboxed(self, node: TapeNode, saved: tuple[Array, ...]) -> tuple[object, ...]:
        """What `node` saved, as tensors with their histories: so that its rule is itself recorded."""
        pullback = node.pullback
        if pullback is None or pullback is freed:
            return saved
        values = dict(zip(pullback.names, saved, strict=True))
        op, on_tape = pullback.op, dict(zip(pullback.wanted or values["needs"], node.parents, strict=True))
        level, boxed = self.level, []
        for name, value in values.items():
            if name == "out":
                value = outputs(value, node, level) if op.multiple else wrap(value, node, level)
            elif name in op.inputs and op.inputs.index(name) in on_tape:
                value = wrap(value, on_tape[op.inputs.index(name)], level)
            elif op.inputs[0] == f"*{name}":
                value = tuple(wrap(v, on_tape[i], level) if i in on_tape else v for i, v in enumerate(value))
            boxed.append(value)
        return tuple(boxed)

    def _tensor(self, value: Array) -> Tensor:
        return value if isinstance(value, Tensor) else Tensor(value)

    def _around(self, data: Array) -> Tensor:
        return wrap(data, None, self.level)

    def detach(self) -> Tensor:
        """The same values, sharing memory, without history."""
        data = self.held
        return wrap(data.detach() if isinstance(data, Box) else data, None, self.level)  # type: ignore[attr-defined]  # every box has detach()

    # -- Looking at it ------------------------------------------------------------------------------

    @property
    def shape(self) -> tuple[int, ...]:
        return self.held.shape  # type: ignore[no-any-return]  # data is an array or a box

    @shape.setter
    def shape(self, shape: ShapeLike) -> None:
        self.take_shape(shape)

    @property
    def size(self) -> int:
        data = self.held
        if self.level or isinstance(data, Box):  # in a transform, an int as every other array's
            return int(data.size)
        return Count.of(data.size, data.shape)

    @property
    def dtype(self) -> DType:
        return self.held.dtype

    def __repr__(self) -> str:
        text = np.array2string(self.numpy(), separator=", ", prefix="tensor(", threshold=200)
        if self.dtype not in (np.float64, np.int64, np.bool_, np.complex128):
            text += f", dtype={self.dtype}"
        if self.node is not None:
            op = op_of(self.node.pullback)
            text += ", requires_grad=True" if self.is_leaf else f", op={op.name if op else 'freed'}"
        return f"tensor({text})"

    def __format__(self, spec: str) -> str:
        return format(self.item(), spec) if self.ndim == 0 and spec else str(self)


def giving_way(name: str) -> Function:  # to one of Python's numbers, which knows what is beside it
    return lambda self, other: NotImplemented if type(other) is self.python_kind else getattr(Tensor, name)(self, other)


class View(Tensor):
    """A tensor that shows part of another one's memory: what is written to either shows in both."""

    __slots__ = ("_seen", "_shown_data", "_shown_node", "path", "root")
    root: Tensor
    path: Path
    _shown_data: object
    _shown_node: TapeNode | None
    _seen: tuple[TapeNode | None, Value]

    def _refreshed(self) -> View:
        """Take the path from the root again, if the root has been written since."""
        root = self.root
        if self._seen[0] is not root.node or self._seen[1] is not root.held:
            self.path = still_from(root.shape, self.path, getattr(self._seen[1], "shape", root.shape))
            self._seen = root.node, root.held
            before = recording_floor.raw()
            try:
                recording_floor.set(0)
                shown: Value = wrap(root.held, root.node, root.level)
                for op, settings in self.path:
                    if isinstance(op, PickedView):
                        shown = op(shown, **settings)
                    else:
                        shown = wrap(*record(op, root.level, (shown,), settings, Tensor), root.level)
            finally:
                recording_floor.restore(before)
            self._shown_data, self._shown_node = shown.held, shown.node
        return self

    @property
    def level(self) -> int:  # type: ignore[override]  # looked up anew where Tensor has a slot
        return self.root.level

    @property
    def held(self) -> Array:
        return self._refreshed()._shown_data

    @held.setter
    def held(self, value: Array) -> None:
        self._shown_data = value

    @property
    def node(self) -> TapeNode | None:
        return self._refreshed()._shown_node

    @node.setter
    def node(self, value: TapeNode | None) -> None:
        self._shown_node = value

    def __deepcopy__(self, memo: dict[int, Value]) -> Value:
        return wrap(self.held, self.node, self.level).__deepcopy__(memo)

    def __reduce__(self) -> str | tuple[object, ...]:
        return wrap(self.held, self.node, self.level).__reduce__()


def _view(data: Array, node: TapeNode | None, of: Tensor, op: Op, settings: Settings) -> Tensor:
    """The result of `op` as a view of the tensor whose memory it shows."""
    root, path = root_of(of)
    view: View = new(View)
    view.root, view._seen, view._shown_data, view._shown_node = root, (root.node, root.held), data, node
    longer = path or isinstance(data, Box)
    view.path = extended(path, op, settings, root.held.shape, data) if longer else ((op, dict(settings)),)
    return view


def _array(data: Array) -> Array:
    if is_foreign(data):  # no library but NumPy makes an array read-only for others
        return taken(data)
    array = converted(data)
    if array.dtype == object:
        raise DTypeError(
            f"a tensor holds numbers; got {type(data).__name__} that NumPy can only keep as Python objects. "
            f"To join tensors, use np.stack([...]) or np.concatenate([...])"
        )
    return array


def wrap(data: Array, node: TapeNode | None, level: int) -> Tensor:
    """A tensor around `data` as it is."""
    tensor: Tensor = new(Tensor)
    tensor.held = data if hasattr(data, "dtype") else np.asarray(data)
    tensor.node = node
    tensor.level = level
    return tensor


def outputs(outs: Sequence[Array], node: TapeNode | None, level: int) -> tuple[Tensor, ...]:
    """Tensors for the several results of one operation; each hands its cotangent to the one node."""
    if node is None:
        return tuple(wrap(out, None, level) for out in outs)
    likes = tuple((out.shape, out.dtype) for out in outs)
    return tuple(wrap(out, output_node(i, node, likes), level) for i, out in enumerate(outs))


NamedArray.tensor = Tensor
_fast_paths: dict[np.ufunc, Function] = {}


def fast_path_of(op: Op) -> Function | None:
    """The fast path of `op`, compiled when first asked for; None if it has none."""

    def otherwise(*given: Value) -> Value:
        *args, settings = given if op.settings else (*given, op.settings)
        top = outermost(args)
        return top.recorded(op, args, settings) if isinstance(top, Tensor) else apply(op, args, settings)

    def view(tensor: Tensor, of: Tensor, settings: Settings) -> Tensor:
        return _view(tensor.held, tensor.node, of, op, settings) if views(op, tensor.held, of.held) else tensor

    if "fast path" not in op.pullbacks:
        op.pullbacks["fast path"] = fast_path(op, Tensor, otherwise, view) if eligible(op) else None
    short: Function | None = op.pullbacks["fast path"]
    return short


install(Tensor, fast_path_of)  # type: ignore[arg-type]  # operators are eligible: they have one


def tensor(data: Array, dtype: DType = None, requires_grad: bool = False, *, device: Device = None) -> Tensor:
    """A new tensor with a copy of `data`.

    Args:
        data: numbers, nested sequences of numbers, or an array.
        dtype: its type; taken from the data if not given (Python floats are float64, as in NumPy).
        requires_grad: collect a gradient in `grad` when `backward` is called on a result.
        device: "cpu", or "cuda" for a GPU; where the data are, if not given.

    Raises:
        DTypeError: if whole numbers or truth values should carry a gradient.
        DeviceError: if this machine does not have the device.

    Example:
        >>> import adjoint as ad
        >>> ad.tensor([1.0, 2.0], requires_grad=True)
        tensor([1., 2.], requires_grad=True)
    """
    values: Array = data.held if isinstance(data, Tensor) else data
    if isinstance(values, Box) and values.held is values:  # a symbol
        made = wrap(cast(Value, np.copy)(values) if dtype is None else cast(Value, values).astype(dtype), None, 0)
    elif is_foreign(values):
        made = Tensor(values, dtype=dtype)
    else:
        if type(data) is not list and type(data) is not np.ndarray:
            refuse_unknown(values)
        made = Tensor(np.array(data.numpy() if isinstance(data, Tensor) else data, dtype=dtype))
    made = made if device is None else made.to(device=device)
    return made.requires_grad_() if requires_grad else made
