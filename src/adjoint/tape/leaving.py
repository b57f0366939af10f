"""Ways out of the graph: explicit ones, and errors for those that would drop a gradient silently."""

from __future__ import annotations

import sys
from typing import Self

import numpy as np

from adjoint.arrays.array_box import ArrayBox
from adjoint.arrays.named import NamedArray, values_of
from adjoint.arrays.operators import held_out
from adjoint.core.backend import alone, to_host
from adjoint.core.box import Box
from adjoint.core.errors import GradientError, LeavesGraphError
from adjoint.core.leaks.notes import left, matters, refused
from adjoint.core.leaks.questions import only_answers
from adjoint.core.registry import operation
from adjoint.core.types import Array, Value
from adjoint.tape.modes import no_grad, recording_floor
from adjoint.tape.node import leaf
from adjoint.tape.writes.mutations import note

# What NumPy answers by yes or no, where no gradient can get lost: `np.array_equal([t, t], [t, t])` asks each tensor
# of a list for its values, and would take our refusal for a no.
_COMPARING = frozenset(("array_equal", "array_equiv"))

NamedArray.unrecorded, NamedArray.noted = no_grad, note


class Leaving(ArrayBox):
    """What a tensor becomes outside: arrays, numbers, copies and pickles."""

    __slots__ = ()
    held: Array
    node: Value

    @property
    def is_leaf(self) -> bool:
        raise NotImplementedError

    @property
    def requires_grad(self) -> bool:
        raise NotImplementedError

    @property
    def carries(self) -> bool:
        return self.node is not None

    def _left(self, value: Array, call: str) -> Value:
        """`value` as it leaves: where a transform runs, it remembers that."""
        return left(value, self, call, recording_floor.get()) if self.level else value

    def unnested(self) -> Self:
        """This tensor. If ``t.data = tensor`` put a plain tensor into it, it now holds that tensor's array."""
        while isinstance(held := self.held, Leaving) and held.level == self.level and held.node is None:
            self.held = held.held
        return self

    @property
    def data(self) -> Array:
        """The values, as an array of NumPy's on the same memory, which answers to PyTorch's names too."""
        held = self.held
        if type(held) is np.ndarray:
            return held.view(NamedArray)
        return NamedArray.on(held) if isinstance(held, np.ndarray | np.generic) else held

    @data.setter
    def data(self, value: Array) -> None:
        if isinstance(value, Leaving):
            if value.node is None and isinstance(value.held, np.ndarray):
                value = value.held
            elif value.node is not None and value.level == self.level:
                raise GradientError(
                    "t.data = value: the value has a gradient, which would be lost. Write t.data = value.detach(), or "
                    "change a parameter in a function: nn.functional_call"
                )
        elif not hasattr(value, "dtype"):
            value = np.asarray(value, self.held.dtype)
        self.held = values_of(value, self.held)
        if self.is_leaf and self.node is not None and (self.node.shape, self.node.dtype) != (self.shape, self.dtype):
            self.node = leaf(self.shape, self.dtype)  # its cotangents are of the new shape and dtype

    def numpy(self) -> np.ndarray:
        """The values as a NumPy array; read-only where a graph holds them."""
        data = self.held
        array: np.ndarray = data.numpy() if isinstance(data, Box) else to_host(data)  # type: ignore[attr-defined]  # every box has numpy()
        if self.node is not None and array.flags.writeable:
            array = array.view()
            array.flags.writeable = False
        return self._left(array, "t.numpy()")  # type: ignore[no-any-return]  # an array

    def item(self, *index: int) -> Value:
        """The value as a Python number."""
        held: Value = self.held if isinstance(self.held, Box) else self.numpy()
        return self._left(held.item(*index), "t.item()")

    def tolist(self) -> Value:
        """The values as nested lists of Python numbers."""
        return self._left(self.numpy().tolist(), "t.tolist()")

    def _leaving(self, call: str) -> Array:
        if matters(self):
            asker = sys._getframe(2)
            if asker.f_code.co_name in _COMPARING and asker.f_globals["__name__"].startswith("numpy."):
                return alone(self)
            if self.level > 0 and only_answers(asker):
                return self.held._leaving(call) if isinstance(self.held, Box) else alone(self)  # type: ignore[attr-defined]  # see `Box`
            refused(self, call, recording_floor.get())
            raise LeavesGraphError(
                f"{call} would silently drop this tensor's history, and with it its gradient. If that is meant, say "
                f"so: t.detach(), t.numpy() or t.item()",
                conversion=True,
            )
        return alone(self)

    def __dlpack__(self, **options: object) -> Value:
        return self._leaving("__dlpack__").__dlpack__(**options)

    def __dlpack_device__(self) -> Value:
        return alone(self).__dlpack_device__()

    def __buffer__(self, flags: int) -> memoryview:
        if held_out(self, None, sys._getframe(1)) is not None:
            raise BufferError("np.asarray asks for the buffer before it asks for an array")
        array: Array = self._leaving("memoryview(t)")
        return array.__buffer__(flags)  # type: ignore[no-any-return]  # known to Python from 3.12 on

    def __bool__(self) -> bool:
        return bool(self.held)

    def __copy__(self) -> object:
        return self.copy() if not self.is_leaf else self.__deepcopy__({})

    def __deepcopy__(self, memo: dict[int, Value]) -> Value:
        if self.level > 0:  # of a function that is being differentiated: no leaf of the user's
            return self.copy()
        if not self.is_leaf:
            raise LeavesGraphError("deepcopy of a tensor in a graph; copy its values: t.detach().copy(), or t.copy()")
        twin = object.__new__(type(self))
        memo[id(self)] = twin
        twin.level, twin.node = self.level, None
        twin.held = self.unnested().held if isinstance(self.held, Box) else np.array(self.held)
        if self.node is not None:
            twin.node = leaf(twin.shape, twin.dtype)
            grad = self.node.grad
            twin.node.grad = None if grad is None else grad.detach().copy()
        return twin

    def __reduce__(self) -> str | tuple[object, ...]:
        self.unnested()
        inside = self.level > 0 and self.node is not None  # the argument of a function that is differentiated
        if inside or not self.is_leaf or isinstance(self.held, Box):
            raise LeavesGraphError("pickling a tensor in a graph; pickle its values: t.detach()")
        return type(self), (np.asarray(self.held), self.requires_grad)

    def clone(self) -> Self:
        """A copy that passes gradients on."""
        copied: Self = operation("copy")(self)
        return copied
