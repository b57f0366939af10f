"""The backward pass through a trace: one program for the values, and one for the gradients.

Both come from one recorded run: on symbols, the backward pass goes from its results to the tensors that it used. The
nodes that depend on a cotangent are the second program. The first program returns the values that the second needs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from adjoint.core.box import Box
from adjoint.core.op import Op, Rule
from adjoint.core.rules.pullbacks import Pullback, freed
from adjoint.core.types import Array, Value
from adjoint.graph.captures.record import RECORD
from adjoint.graph.graph import Graph
from adjoint.graph.node import Node, constant, in_order, placeholder
from adjoint.graph.rewriting.driver import with_args
from adjoint.graph.symbol import LEVEL, Symbol
from adjoint.tape.backward import backward
from adjoint.tape.node import TapeNode, leaf, next_order
from adjoint.tape.tensor import Tensor, wrap
from adjoint.transforms.reverse import vjp


class Back:
    """The second program of a trace.

    Attributes:
        alive: the numbers of the results that a gradient may come back to.
        residuals: what the first program has to leave.
        given: inputs of the first program that the second one needs too.
        graph: from residuals, `given` and cotangents to the cotangents of `met`.
        met: which of the trace's inputs have a gradient.
        reached: all leaves that have one, with those that the function made.
        sources, taken: numbers of `met` and `given` among the trace's inputs, once these are settled.
    """

    sources: list[int]
    taken: list[int]

    def __init__(self, found: Sequence[Array], leaves: Sequence[tuple[Node, Value]]) -> None:
        self.alive = [i for i, x in enumerate(found) if isinstance(x, Tensor) and x.node is not None]
        seeds = [placeholder(f"g{i}", found[i].shape, found[i].dtype) for i in self.alive]
        start: dict[Value, Value] = {}
        for i, seed in zip(self.alive, seeds, strict=True):
            g = Symbol.of((np.ones(found[i].shape, found[i].dtype)[()], seed), LEVEL)
            start[found[i].node] = start[found[i].node] + g if found[i].node in start else g
        record = RECORD.get()
        assert record is not None, "it is part of a recording"
        record.cut = True
        try:
            pulled = backward(start)
        finally:
            record.cut = False
        self.reached = set(pulled)
        met = [(source, pulled[node]) for source, node in leaves if node in pulled]
        self.met = [source for source, _ in met]
        self.residuals, self.given, self.graph = _parted([_node(c) for _, c in met], seeds)

    def settle(self, inputs: Sequence[Node]) -> None:
        """The trace's inputs are these."""
        place = {node: k for k, node in enumerate(inputs)}
        self.sources = [place[node] for node in self.met]
        self.taken = [place[node] for node in self.given]


def _node(x: Symbol) -> Node:
    return x.node if isinstance(x, Symbol) else constant(x)


def _parted(outputs: Sequence[Node], seeds: Sequence[Node]) -> tuple[list[Node], list[Node], Graph]:
    """Values that the rest needs and that do not depend on `seeds`, computed and given; the program to `outputs`."""
    depends = set(seeds)
    made: dict[Node, Node] = {}
    for node in in_order(outputs):
        if any(arg in depends for arg in node.args):
            depends.add(node)
    needed = {arg for node in depends for arg in node.args if arg not in depends} | set(outputs) - depends
    ordered = sorted(needed, key=lambda node: node.number)
    given = [node for node in ordered if node.kind == "input"]
    residuals = [node for node in ordered if node.kind not in ("input", "constant")]
    left = [placeholder(f"r{k}", node.shape, node.dtype) for k, node in enumerate(residuals)]
    made |= zip(residuals, left, strict=True)
    for node in in_order(outputs):
        if node in depends:
            made[node] = with_args(node, tuple(made.get(arg, arg) for arg in node.args))
    return residuals, given, Graph([*left, *given, *seeds], [made.get(node, node) for node in outputs], name="back")


def operation(graph: Graph, run: Callable[..., list[Value]], back: Back, runner: Value, written: int) -> Op:
    """The operation that the first program is: its gradient rule is the second one.

    Its last outputs, so many as are `written`, go into the state; those before them are what the second one needs.
    """
    end = len(graph.outputs) - written
    left = slice(end - len(back.residuals), end)

    def again(*xs: object) -> list[Value]:
        results = graph.run(xs)
        return [results[i] for i in back.alive]

    def rule(g: Sequence[Value], xs: Sequence[Value], out: Sequence[Value]) -> list[Value]:
        cotangents: list[Value] = [None] * len(xs)
        seeds = [g[i] for i in back.alive]
        if any(isinstance(x, Box) for x in (*g, *out)):  # differentiated again: by its inputs, not by what is left
            varying = [xs[k] for k in back.sources]

            def of_sources(*given: object) -> list[object]:
                changed = dict(zip(back.sources, given, strict=True))
                return again(*(changed.get(k, x) for k, x in enumerate(xs)))

            found: Sequence[Value] = vjp(of_sources, *varying)[1](seeds)
        else:
            found = runner.run([*out[left], *(xs[k] for k in back.taken), *seeds])
        for k, c in zip(back.sources, found, strict=True):
            cotangents[k] = c
        return cotangents

    def arrays(*xs: Array) -> tuple[Value, ...]:
        return tuple(x if isinstance(x, np.ndarray | np.generic) else np.asarray(x) for x in run(*xs))

    return Op(graph.name, arrays, ("*xs",), (Rule(rule, ("g", "xs", "out")),), joint=True, multiple=True)


def pullback(op: Op, back: Back) -> Pullback:
    """The pullback of `op` where only one of its results goes on: it is handed that one's cotangent."""
    rule: Value = op.rules[0].function
    (alive,), sources = back.alive, back.sources

    def pullback(g: Array, saved: tuple[Value, ...]) -> list[Value]:
        xs, out = saved
        cotangents = [None] * len(out)
        cotangents[alive] = g
        found = rule(cotangents, xs, out)
        return [found[k] for k in sources]

    return Pullback(pullback, op, ("xs", "out"), tuple(sources), straight=True)


def refusing(op: Op | None, error: Exception) -> Pullback:
    """The pullback of a result whose graph cannot be gone through any more: it raises what that gives."""
    kind, text = type(error), str(error)

    def pullback(*_: object) -> list[Value]:
        raise kind(text)

    return Pullback(pullback, freed.op if op is None else op, ())


def unheard(made: Pullback) -> Pullback:
    """In place of the pullback `made` of a result that leads only to leaves that the function made."""
    return Pullback(lambda g, saved: [], made.op, ())


def ended(array: Array, pullback: Pullback | None) -> Tensor:
    """A result from which no gradient goes on: a new leaf, or one whose graph cannot be gone through any more."""
    if pullback is None:
        made = wrap(array, None, 0)
        made.node = leaf(made.shape, made.dtype)
        return made
    node = TapeNode()
    node.order, node.pullback, node.parents, node.saved = next_order(), pullback, (), ()
    return wrap(array, node, 0)
