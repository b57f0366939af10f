"""`Borrowed`: a large argument of a transform, which is not copied until an operation may keep it.

An operation that keeps nothing of the argument, and gives no view of it, reads the owner's memory: `x @ w`, say, where
`x` is a constant. Whatever else asks for the data makes the argument an ordinary tensor, around a copy.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from adjoint.core.memory import shows
from adjoint.core.op import Op
from adjoint.core.registry import ANSWERS, operation
from adjoint.core.types import Array, Function, Index, Settings, ShapeLike, Value
from adjoint.tape.fast import OPERATORS, PLAIN, is_saved
from adjoint.tape.modes import recording_floor
from adjoint.tape.node import TapeNode
from adjoint.tape.tensor import Tensor, fast_path_of, giving_way, wrap
from adjoint.tape.writes.foreign import recycled

#: The bytes from which an argument is borrowed. Below, to copy it costs less than to ask each operation.
BORROWED = 1 << 17
_KINDS = frozenset((np.dtype("float64"), np.dtype("float32")))
_SLOT: Value = Tensor.__dict__["held"]  # where Borrowed has a property


def may_be_borrowed(array: np.ndarray) -> bool:
    """Whether a transform takes the argument `array` without a copy."""
    return array.nbytes >= BORROWED and array.flags.forc and array.dtype in _KINDS and array.ndim > 0


class Borrowed(Tensor):
    """A leaf that shows its owner's memory. The first read of `held` copies that, and makes it a `Tensor`."""

    __slots__ = ()

    @classmethod
    def of(cls, array: np.ndarray, node: TapeNode, level: int) -> Borrowed:
        """A tensor of `level` around the user's `array`, with the leaf `node`."""
        tensor: Borrowed = object.__new__(cls)
        _SLOT.__set__(tensor, array)
        tensor.node, tensor.level = node, level
        return tensor

    @property
    def held(self) -> Array:
        return self._own(recycled)

    @held.setter
    def held(self, value: Array) -> None:
        _SLOT.__set__(self, value)
        self.__class__ = Tensor  # of the same layout

    def _own(self, copy: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        """Become an ordinary tensor, around a `copy` of the array."""
        made = copy(_SLOT.__get__(self))
        self.held = made
        return made

    def _write(self, index: Index, value: Array) -> None:
        self._own(np.copy)  # in memory that no copy used before: it may be written where it lies
        self._write(index, value)

    @property
    def shape(self) -> tuple[int, ...]:
        return _SLOT.__get__(self).shape  # type: ignore[no-any-return]  # an array's

    @shape.setter
    def shape(self, shape: ShapeLike) -> None:
        self.take_shape(shape)

    def _become(self, made: Value) -> None:
        self._own(np.copy)
        self._become(made)

    @property
    def dtype(self) -> np.dtype[Value]:
        return _SLOT.__get__(self).dtype  # type: ignore[no-any-return]  # an array's

    @property
    def size(self) -> int:
        return _SLOT.__get__(self).size  # type: ignore[no-any-return]  # an array's

    def process(self, op: Op, args: Sequence[Array], settings: Settings) -> Value:
        out = _borrowing(op, fast_path_of(op), args, settings)
        return Tensor.process(self, op, args, settings) if out is None else out

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Array, **kwargs: Value) -> Array:
        op = ANSWERS.get(ufunc)
        if not kwargs and method == "__call__" and isinstance(op, Op) and len(inputs) == len(op.inputs):
            out = _borrowing(op, fast_path_of(op), inputs, op.settings)
            if out is not None:
                return out
        return Tensor.__array_ufunc__(self, ufunc, method, *inputs, **kwargs)


def _borrowing(op: Op, short: Function | None, args: Sequence[Array], settings: Settings) -> Tensor | None:
    """The result of `op`, whose fast path is `short`, if it keeps nothing of the borrowed `args`; else None."""
    if short is None or type(recording_floor.raw()) is not int:  # an observer may keep it
        return None
    given: list[Array] = []
    form: list[str] = []
    memory: Value = None
    for x in args:
        kind = type(x)
        if kind is Borrowed:
            memory = _SLOT.__get__(x)
            given.append(wrap(memory, x.node, x.level))
            form.append("borrowed")
        elif kind is Tensor or kind in PLAIN:
            given.append(x)
            form.append("wanted" if kind is Tensor and x.node is not None else "")
        else:
            return None
    key = ("keeps", *form)
    keeps = op.pullbacks.get(key)
    if keeps is None:
        keeps = op.pullbacks[key] = _keeping(op, form)
    if keeps:
        return None
    out = short(*given, settings) if op.settings else short(*given)
    if type(out) is not Tensor or (out.held.base is not None and shows(out.held, memory)) or out.held is memory:
        return None
    return out


def _keeping(op: Op, form: Sequence[str]) -> bool:
    """Whether `op` keeps something of a borrowed argument, or may show it, where its arguments are of this `form`."""
    if op.memory.view != "never" or form.count("borrowed") > 1:
        return True
    wanted = [i for i, what in enumerate(form) if what]
    return is_saved(op, op.inputs[form.index("borrowed")], wanted)


def _operator(method: str, name: str) -> Function:
    """The operator `method` of tensors, which stands for the operation `name`, asked first whether it borrows."""
    reflected = method.startswith("__r")
    gives_way = giving_way(method)

    def asked(self: Borrowed, other: Array) -> Value:
        op: Value = operation(name)
        args = (other, self) if reflected else (self, other)
        out = _borrowing(op, fast_path_of(op), args, op.settings)
        return gives_way(self, other) if out is None else out

    return asked


for _name, (_op, _) in OPERATORS.items():
    for _method in (f"__{_name}__", f"__r{_name}__"):
        setattr(Borrowed, _method, _operator(_method, _op))
