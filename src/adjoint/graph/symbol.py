"""`Symbol`: an array that computes as usual and writes down what it did, as unique nodes of a graph."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple

import numpy as np

from adjoint.core.box import Box, apply, settled
from adjoint.core.errors import LeavesGraphError
from adjoint.core.op import Op
from adjoint.graph.node import Node, call, constant, part
from adjoint.ops.writable import Layered
from adjoint.tape.lines import users_place

# Below all tensors: a tensor made of symbols records its own backward pass with them.
LEVEL = -1


class Guard(NamedTuple):
    """What the program asked of a value, and the answer that it got: on another one it might go another way."""

    node: Node
    question: str
    answer: Any
    place: Any


_guards: ContextVar[list[Guard] | None] = ContextVar("guards", default=None)


@contextmanager
def guarding() -> Iterator[list[Guard]]:
    """Collect what the program asks of its values."""
    guards: list[Guard] = []
    token = _guards.set(guards)
    try:
        yield guards
    finally:
        _guards.reset(token)


class Symbol(Layered):
    """A value and its node. Made by `adjoint.capture`."""

    __slots__ = ()
    in_index = "iu"

    @property
    def value(self) -> Any:
        return self.layers[0]

    @property
    def held(self) -> Any:
        return self  # no question about its values goes unnoticed

    @property
    def node(self) -> Node:
        """The node of the graph."""
        return self.layers[1]  # type: ignore[no-any-return]  # see the class

    def process(self, op: Op, args: Sequence[Any], settings: Mapping[str, Any]) -> Any:
        values: list[Any] = []
        nodes: list[Node] = []
        for arg in args:
            arg = settled(arg, LEVEL)
            if isinstance(arg, Symbol):
                value, node = arg.layers
            else:
                value, node = arg, None
            values.append(value)
            nodes.append(node)
        out = apply(op, values, settings)
        if "once" in op.flags:
            return out  # shapes and the like: the same for whatever values come
        if "creates" in op.flags:
            if op.name == "empty_like":  # what is there by chance is no constant
                out.fill(0)
            return Symbol.of((out, constant(out)), LEVEL)
        given = tuple(constant(v) if node is None else node for v, node in zip(values, nodes, strict=True))
        if op.multiple or isinstance(out, tuple | list):
            whole = call(
                op, given, settings, tuple(np.shape(x) for x in out), tuple(_dtype(x) for x in out), users_place
            )
            return tuple(Symbol.of((x, part(whole, i)), LEVEL) for i, x in enumerate(out))
        if not isinstance(out, np.ndarray | np.generic):
            out = np.asarray(out)[()]
        result = Symbol.of((out, call(op, given, settings, out.shape, out.dtype, users_place)), LEVEL)
        return self.viewed(result, op, settings) if len(args) == 1 else result

    def _constant(self, array: Any) -> tuple[Any, ...]:
        if isinstance(array, Box):
            raise LeavesGraphError(
                "an array that is being captured was written with values of an inner transform; write into an array "
                "made there: np.zeros_like(x)"
            )
        return array, constant(array)

    def constant(self, answer: Any) -> Any:
        return answer

    @property
    def shape(self) -> tuple[int, ...]:
        return np.shape(self.layers[0])

    @property
    def dtype(self) -> Any:
        return _dtype(self.layers[0])

    def _is_number(self) -> bool:
        return not isinstance(self.layers[0], np.ndarray)

    @property
    def requires_grad(self) -> bool:
        """Whether it must not be taken for its value alone: always."""
        return True

    def detach(self) -> Any:
        """The same values; a symbol has no history but the program's."""
        return self

    def _asked(self, question: str, answer: Any) -> Any:
        guards = _guards.get()
        if guards is None:
            raise LeavesGraphError(
                f"{question} of a symbol outside the capture that it belongs to: it was kept from there, in a global "
                f"or an attribute. Return it from the captured function instead"
            )
        guards.append(Guard(self.node, question, answer, users_place()))
        return answer

    def __bool__(self) -> bool:
        return bool(self._asked("bool", bool(self.value)))

    def __float__(self) -> float:
        return float(self._asked("float", float(self.value)))

    def __int__(self) -> int:
        return int(self._asked("int", int(self.value)))

    def __complex__(self) -> complex:
        return complex(self._asked("complex", complex(self.value)))

    def __index__(self) -> int:
        return int(self._asked("index", self.value.__index__()))

    def numpy(self) -> np.ndarray:
        """The values; a program that asks for them is right for these values only, which a guard holds."""
        value: np.ndarray = np.array(self.value)
        self._asked("values", value)
        return value

    def item(self, *index: int) -> Any:
        """The value as a Python number; see `numpy`."""
        return self.numpy().item(*index)

    def tolist(self) -> Any:
        """The values as nested lists; see `numpy`."""
        return self.numpy().tolist()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        raise LeavesGraphError(
            "np.asarray(t), or writing t into a plain array, while the program is captured: the graph would hold these "
            "values for good. Use NumPy functions that understand tensors, and np.zeros_like(t) for arrays to fill"
        )

    def __repr__(self) -> str:
        return f"symbol({self.node!r})"


def _dtype(x: Any) -> Any:
    return x.dtype if hasattr(x, "dtype") else np.asarray(x).dtype
