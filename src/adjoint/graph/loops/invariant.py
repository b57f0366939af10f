"""Values that are the same in each turn of a loop are computed once, before the loop.

In: a loop and its arguments. Out: a loop whose body takes such values as arguments, and these values. The loop of the
backward pass then gets each of them once; otherwise it would read one copy for each turn. What may never happen: an
operation that raises for some values runs although no turn would have run it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from adjoint.core.types import Value
from adjoint.graph.graph import Graph
from adjoint.graph.loops.elements import ELEMENTS
from adjoint.graph.loops.loop import Loop
from adjoint.graph.loops.row import is_view, may_move
from adjoint.graph.node import Node, in_order, placeholder
from adjoint.graph.rewriting.driver import with_args


def hoisted(loop: Loop, args: Sequence[Value]) -> tuple[Loop, Sequence[Value]]:
    """The loop and its arguments, with those values that do not depend on the turn among the latter."""
    if loop.lean is None:
        loop.lean = _lean(loop)
    if not loop.lean:
        return loop, args
    made, before = loop.lean
    first = loop.carried + len(loop.slices)
    found = before.schedule.interpreted(args[first:])
    assert found is not None
    return made, with_more(args, found, loop)


def _lean(loop: Loop) -> tuple[Loop, Graph] | tuple[()]:
    """The loop with values that are the same in each turn as arguments, and their program; nothing, if none are."""
    body, first = loop.body, loop.carried + len(loop.slices)
    fixed = body.inputs[first:]
    outer = _once(body, set(fixed))
    if loop.buffers or body.guards or not outer:
        return ()
    new = {node: placeholder("once", node.shape, node.dtype) for node in outer}
    made: dict[Node, Node] = dict(new)
    for node in in_order(body.outputs):
        if node not in made and node.args:
            made[node] = with_args(node, tuple([made.get(arg, arg) for arg in node.args]))
    takes, gives = (with_more(body.inputs, list(new.values()), loop), [made.get(node, node) for node in body.outputs])
    before = Graph(fixed, outer)
    lean = Loop(Graph(takes, gives, name="body"), loop.count, loop.carried, loop.slices, 0, (), loop.stacks,
                loop.backwards)  # fmt: skip
    lean.site, lean.abreast, lean.ends, lean.room, lean.lean = loop.site, loop.abreast, loop.ends, loop.room, ()
    with np.errstate(all="ignore"):
        samples = before.schedule.interpreted(loop.samples[first:])
    assert samples is not None
    lean.samples = with_more(loop.samples, samples, loop)
    return lean, before


def _once(body: Graph, fixed: set[Node]) -> list[Node]:
    """The values that a turn needs of those which are the same in each: no views, which cost nothing."""
    same, asked = set(fixed), set[Node]()
    nodes = in_order(body.outputs)
    for node in nodes:
        if (
            may_move(node)
            and node.op not in ELEMENTS
            and all(arg in same or arg.kind == "constant" for arg in node.args)
        ):
            same.add(node)
    for node in nodes:
        if node not in same:
            asked.update(arg for arg in node.args if arg in same)
    asked.update(node for node in body.outputs if node in same)
    for node in reversed(nodes):
        if node in asked and node not in fixed and is_view(node):
            asked.discard(node)
            asked.update(arg for arg in node.args if arg in same)
    return [node for node in nodes if node in asked and node not in fixed]


def with_more(values: Sequence[Value], new: Sequence[Value], loop: Loop) -> list[Value]:
    """`values` of a loop's arguments with new ones behind, but before the number of turns."""
    end = len(values) - (loop.ends == "when told")
    return [*values[:end], *new, *values[end:]]
