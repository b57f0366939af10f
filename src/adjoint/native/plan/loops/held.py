"""Loops whose turns read at places that are computed, or solve with matrices that may be singular.

If a place is outside of its array, one turn cannot end the program. So the loop carries one more truth value: whether
every turn so far was valid. The program checks it after the loop, like any other guard. If it is False, NumPy computes
the call instead, and raises its own error.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from adjoint.core.registry import op_named
from adjoint.graph.graph import Graph
from adjoint.graph.loops.loop import LOOP, Loop
from adjoint.graph.node import Node, call, constant, in_order, part, placeholder
from adjoint.graph.rewriting.driver import with_args
from adjoint.native.plan.loops.body import KindOf, Native, is_loop
from adjoint.native.plan.pairs.splitting import PAIRED

_TRUTH = np.dtype(bool)


def told(outputs: Sequence[Node], kind_of: KindOf) -> tuple[list[Node], list[Node]]:
    """The same values, and the truth values of loops among them: whether all their turns were valid."""
    nodes = in_order(outputs)
    held = {node for node in nodes if is_loop(node) and kind_of(node)[0] == "loop" and _held(node)}
    if not held:
        return list(outputs), []
    made: dict[Node, Node] = {}
    asked: list[Node] = []
    for node in nodes:
        args = tuple([made.get(arg, arg) for arg in node.args])
        if node in held:
            made[node] = _telling(node, args)
            asked.append(part(made[node], node.settings["loop"].carried))
        elif node.op is None and node.args and node.args[0] in held:
            k, loop = int(node.value), node.args[0].settings["loop"]
            made[node] = part(args[0], k + (k >= loop.carried))
        elif args != node.args:
            made[node] = with_args(node, args)
    return [made.get(node, node) for node in outputs], asked


def _held(node: Node) -> bool:
    found = node.settings["loop"].native
    return isinstance(found, Native) and found.held is not None


def _telling(node: Node, args: tuple[Node, ...]) -> Node:
    """The loop `node` with one more carried value, the last one."""
    loop: Loop = node.settings["loop"]
    a, well = loop.carried, placeholder("well", (), _TRUTH)
    body, found = loop.body, loop.native
    inputs, outputs = ([*nodes[:a], well, *nodes[a:]] for nodes in (body.inputs, body.outputs))
    made = Loop(Graph(inputs, outputs, name="body"), loop.count, a + 1, loop.slices, loop.buffers, loop.places,
                loop.stacks, loop.backwards)  # fmt: skip
    made.site, made.abreast, made.ends, made.room = loop.site, loop.abreast, loop.ends, loop.room
    both = call(op_named("logical_and"), (well, found.held), op_named("logical_and").settings, (), _TRUTH)
    made.native = Native(
        [*found.inputs[:a], well, *found.inputs[a:]],
        [*found.outputs[:a], both, *found.outputs[a:]],
        [*found.nodes, both],
        {**found.kinds, both: "elementwise"},
    )
    shape, dtype = ((*kinds[:a], new, *kinds[a:]) for kinds, new in ((node.shape, ()), (node.dtype, _TRUTH)))
    place = node.place
    settings = {**node.settings, "loop": made}
    if PAIRED in settings:
        settings[PAIRED] = (*settings[PAIRED][:a], False, *settings[PAIRED][a:])
    return call(LOOP, (*args[:a], constant(np.True_), *args[a:]), settings, shape, dtype, lambda: place)
