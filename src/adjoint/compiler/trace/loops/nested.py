"""Loops within the turns of another loop. One object represents the same loop in every turn, so turns can be compared.

Numbers that differ from turn to turn (``0.1 * i``) become arguments of the inner loop.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from adjoint.core.types import Value
from adjoint.graph.graph import Graph
from adjoint.graph.loops.agree import Template
from adjoint.graph.loops.invariant import with_more
from adjoint.graph.loops.loop import Loop
from adjoint.graph.node import Node, call, in_order, placeholder
from adjoint.graph.python_numbers import as_python, is_number
from adjoint.graph.rewriting.driver import with_args

ArgumentPlace = tuple[int, int]  # a call of a body, and one of its arguments


class Differ(Exception):  # noqa: N818  # no error: the recording begins again
    """The loop within has other constants in this turn: from now on they are arguments."""


class Nested:
    """The loops that were made in turns of others, by the loop of the user's."""

    def __init__(self) -> None:
        self._made: dict[Value, list[tuple[Loop, Template]]] = {}
        self._lifted: dict[Value, set[ArgumentPlace]] = {}

    def same(self, loop: Loop, args: Sequence[Value]) -> tuple[Loop, list[Value]]:
        """`loop` as it was made before, and its arguments.

        Raises:
            Differ: if constants turn out to be others than before.
        """
        key = loop.site, _form(loop)
        places = self._lifted.setdefault(key, set())
        loop, more = with_arguments(loop, places)
        outputs, inputs = loop.body.outputs, loop.body.inputs
        for known, template in self._made.setdefault(key, []):
            if template.agrees(outputs, inputs):
                if not template.differs:
                    return known, with_more(args, more, loop)
                if template.numbers:
                    break
                at = {node: i for i, node in enumerate(_calls(known.body))}
                places |= {(at[node], k) for node, k in template._constants}
                self._made[key].clear()
                raise Differ
        self._made[key] = [(known, Template(known.body.outputs, known.body.inputs, -1)) for known, _ in self._made[key]]
        self._made[key].append((loop, Template(outputs, inputs, -1)))
        return loop, with_more(args, more, loop)


def _form(loop: Loop) -> Value:
    """The properties that equal loops share, besides their bodies."""
    kinds = tuple((node.shape, node.dtype) for node in loop.body.inputs)
    return loop.count, loop.carried, loop.slices, loop.stacks, loop.abreast, loop.ends, loop.room, kinds


def _calls(body: Graph) -> list[Node]:
    return [node for node in in_order(body.outputs) if node.args]


def with_arguments(loop: Loop, places: set[ArgumentPlace]) -> tuple[Loop, list[Value]]:
    """A loop that is given its constants at these places, and the constants."""
    if not places:
        return loop, []
    body, more, values = loop.body, list[Node](), list[Value]()
    made: dict[Node, Node] = {}
    for i, node in enumerate(_calls(body)):
        args = [made.get(arg, arg) for arg in node.args]
        for k, arg in enumerate(node.args):
            if (i, k) in places and arg.kind == "constant":
                more.append(placeholder("fixed", arg.shape, arg.dtype))
                values.append(np.asarray(arg.value)[()])
                args[k] = call(as_python, (more[-1],), {}, (), arg.dtype) if is_number(arg) else more[-1]
        made[node] = with_args(node, tuple(args))
    outputs = [made.get(node, node) for node in body.outputs]
    made_body = Graph(with_more(body.inputs, more, loop), outputs, name="turn")
    new = Loop(made_body, loop.count, loop.carried, loop.slices, 0, (), loop.stacks)
    new.ends, new.room, new.site, new.abreast = loop.ends, loop.room, loop.site, loop.abreast
    new.samples = with_more(loop.samples, values, loop)
    return new, values
