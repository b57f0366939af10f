"""What a checkpointed function that runs again leaves in the attributes of objects, while a program is recorded."""

from __future__ import annotations

from collections.abc import Container, Iterator
from typing import TYPE_CHECKING

import numpy as np

from adjoint.arrays.layered import Layered
from adjoint.compiler.trace.outside import Outside, space_of
from adjoint.core.types import Value
from adjoint.tape.node import TapeNode
from adjoint.tape.reach import has_attributes
from adjoint.tape.tensor import Tensor, View

if TYPE_CHECKING:
    from adjoint.compiler.trace.door.door import Door

Written = dict[int, tuple[dict[Value, Value], Value]]


class RecordedAttributes:
    """The attributes of outside objects as the program has them: what it wrote, and its arrays among them."""

    def __init__(self, door: Door) -> None:
        self._door = door

    def _holders(self) -> Iterator[Outside]:
        """What holds attributes: the dictionaries of objects, and objects among the arguments."""
        known = [w for w in self._door.memo.values() if type(w) is Outside]
        objects = [w for w in known if has_attributes(w.o)]
        spaces = {id(space_of(w.o)) for w in objects}
        yield from (w for w in known if id(w.o) in spaces)
        yield from (w for w in objects if w.path is not None)

    def written(self) -> Written:
        """What was written to them, by the id of what holds them."""
        return {id(w): (dict(w.over), w.content and dict(w.content)) for w in self._holders()}

    def write(self, known: Written) -> None:
        """Go back to what was written to them at another time; others had not been met then."""
        for w in self._holders():
            over, content = known.get(id(w), ({}, None))
            w.over, w.content = dict(over), content and dict(content)

    def arrays(self) -> list[tuple[Value, Value]]:
        """The arrays and buffers among the attributes, each with what it holds now."""
        return [(x, _held(x)) for w in self._holders() for x in self._values(w)]

    def _values(self, w: Outside) -> Iterator[Value]:
        space = w.o if isinstance(w.o, dict) else space_of(w.o)
        now = w.content if w.content is not None else {**space, **w.over}
        for value in now.values():
            x = self._door.inputs.stand_in_of(value)
            if isinstance(x, Layered | np.ndarray):
                yield x
            elif isinstance(x, Tensor) and not isinstance(x, View) and x.node is None and not x.level:
                yield x
                yield x.held

    def versions(self, nodes: Container[TapeNode]) -> dict[TapeNode, Value]:
        """What tensors whose leaves are among `nodes` hold, by their leaves."""
        leaves = [(x.node, x.held) for x in self._door.inputs.tensors() if x.node is not None and x.node in nodes]
        return {node: held.root._layers for node, held in leaves if isinstance(held, Layered)}

    def write_arrays(self, known: list[tuple[Value, Value]]) -> None:
        """Let arrays hold what they held at another time."""
        for x, held in known:
            if isinstance(x, Tensor):
                x.held = held
            elif isinstance(x, Layered):
                x.root._layers = held
            elif x.flags.writeable:
                x[...] = held


def _held(x: Value) -> Value:
    if isinstance(x, Tensor):
        return x.held
    return x.root._layers if isinstance(x, Layered) else np.array(x)
