"""The diagram of the tape behind a tensor, with cotangents of a backward pass that is only observed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from adjoint.core.errors import AdjointError, GradientError
from adjoint.core.rules.pullbacks import Pullback, op_of
from adjoint.core.threads.commit import commit
from adjoint.core.types import Array, Value
from adjoint.pictures.diagram import Diagram, Vertex, holds, label_of, number, stands_in, summary
from adjoint.tape.backward import backward
from adjoint.tape.inside import parent_numbers
from adjoint.tape.modes import Observing
from adjoint.tape.node import TapeNode, walk
from adjoint.tape.observers.lines import line_of_node
from adjoint.tape.observers.observing import NodeHooks
from adjoint.tape.tensor import Tensor
from adjoint.tape.zeros.selected import RuleRun


class Cotangents:
    """The cotangent of each node, `of`, in a backward pass from `root`: no gradient is added to anything."""

    def __init__(self, root: TapeNode, seed: Array) -> None:
        self.of: dict[TapeNode, Value] = {}
        hooks = [getattr(node.pullback, "hooks", None) for node in walk(root)]
        keeping = [h for h in hooks if isinstance(h, NodeHooks) and h.keeps]
        try:
            commit([(setattr, h, "keeps", False) for h in keeping])  # no result behind `root` keeps its gradient
            with Observing(show=self):
                self.of |= backward({root: seed}, retain_graph=True)
        finally:
            commit([(setattr, h, "keeps", True) for h in keeping])

    def __call__(self, node: TapeNode, values: Sequence[object], wanted: tuple[int, ...], out: Value) -> None:
        """Nodes that are written on the way are of no interest here."""

    def around(self, run: RuleRun) -> RuleRun:
        """`run`, which runs a rule, with a note of the cotangent that it is given."""

        def noted(node: TapeNode, pullback: Pullback, g: Array, saved: tuple[object, ...]) -> Sequence[Array]:
            self.of[node] = np.array(g) if isinstance(g, np.ndarray) else g  # a rule may write into it
            return run(node, pullback, g, saved)

        return noted


def diagram_of_tape(tensor: Tensor, names: Mapping[str, Tensor], gradient: object) -> Diagram:
    """The diagram of the operations that lead to `tensor`.

    Args:
        tensor: a result with a graph.
        names: what to call leaves: tensors by name.
        gradient: the cotangent to start from; None for 1, where `tensor` is one number.

    Raises:
        GradientError: if there is no graph.
    """
    root = tensor.node
    if root is None:
        raise GradientError(
            "show() of a tensor without a graph: nothing that it was computed from requires a gradient. Make a leaf "
            "with ad.tensor(..., requires_grad=True), or show a function: ad.show(f, at=(...))"
        )
    nodes = walk(root)[::-1]
    called = {t.node: name for name, t in names.items() if isinstance(t, Tensor) and t.node is not None}
    values = _values(nodes)
    values[root] = tensor.held
    values.update((t.node, t.held) for t in names.values() if isinstance(t, Tensor) and t.node is not None)
    notes = []
    cotangents: Mapping[TapeNode, Value] = {}
    if gradient is None and tensor.size != 1:
        notes.append(f"no cotangents: the tensor has shape {tensor.shape}; gradient= says what to start from")
    else:
        try:
            cotangents = Cotangents(root, tensor._seed(gradient)).of
        except AdjointError as error:
            notes.append(f"no cotangents: {error}")
    vertices: dict[int, Vertex] = {}
    leaves = 0
    for node in nodes:
        op = op_of(node.pullback)
        g, value = cotangents.get(node), values.get(node)
        first = value if value is not None else g
        vertex = Vertex(
            key=-node.order,
            kind="call" if node.pullback is not None else "input",
            label="",
            inputs=[-parent.order for parent in node.parents],
            holds=_held(node, first),
            value="" if value is None else summary(value),
            cotangent="" if g is None else summary(g),
            line=line_of_node(node),
        )
        stands_in(vertex, getattr(node, "place", None))
        if node.pullback is None:
            leaves += node not in called
            vertex.name = vertex.label = called.get(node) or f"x{leaves}"
        elif op is None:
            vertex.label = "freed"
        else:
            vertex.op, vertex.label = op.name, _label(node, node.pullback)
            vertex.name = f"v{vertex.key}"
            vertex.simple = op.kind == "elementwise" and len(vertex.inputs) == 1
        vertices[vertex.key] = vertex
    if any(v.label == "freed" for v in vertices.values()):
        notes.append("the graph was freed by an earlier backward pass")
    return Diagram("loss" if tensor.size == 1 else "result", vertices, [-root.order], notes)


def _held(node: TapeNode, like: Value) -> str:
    if node.pullback is None:
        return holds(node.shape, node.dtype)  # type: ignore[attr-defined]  # a Leaf
    like = like[0] if isinstance(like, list) and like else like
    return holds(np.shape(like), like.dtype) if hasattr(like, "dtype") else ""


def _values(nodes: Sequence[TapeNode]) -> dict[TapeNode, Array]:
    """What rules kept: of an operation its result, or of a later one its argument."""
    values: dict[TapeNode, Value] = {}
    for node in nodes:
        for name, value, number_of in _saved(node):
            if name == "out":
                values[node] = value
            elif number_of is not None:
                values.setdefault(node.parents[number_of], value)
    return values


def _saved(node: TapeNode) -> Iterator[tuple[str, object, int | None]]:
    """What the rule of `node` keeps: its name, the value, and which of the parents that is."""
    pullback: Value = node.pullback
    op = op_of(pullback)
    if op is None or type(node.saved) is not tuple:  # freed, or packed away
        return
    place = {number: k for k, number in enumerate(parent_numbers(pullback, node.saved))}
    for name, value in zip(pullback.names, node.saved, strict=False):
        if name == "out":
            yield name, value, None
        elif f"*{name}" == op.inputs[0] and isinstance(value, tuple):
            yield from ((f"{name}[{i}]", item, place.get(i)) for i, item in enumerate(value))
        elif name in op.inputs:
            yield name, value, place.get(op.inputs.index(name))


def _label(node: TapeNode, pullback: Pullback) -> str:
    """The operation, with the numbers that it was given besides tensors, as far as they were kept."""
    op = pullback.op
    kept = {name: value for name, value, place in _saved(node) if place is None}
    settings = dict(zip(pullback.names, node.saved, strict=False)) if type(node.saved) is tuple else {}
    settings = {name: value for name, value in settings.items() if name in op.settings}
    on_tape = parent_numbers(pullback, node.saved) if type(node.saved) is tuple else ()
    args: list[str | None] = [
        None if i in on_tape else _constant(kept.get(name))
        for i, name in enumerate(op.inputs)
        if name[0] != "*"
    ]  # fmt: skip
    return label_of(op, args, settings)


def _constant(value: object) -> str:
    """A number as it is, and ``c`` for what was not kept or is an array."""
    if isinstance(value, int | float) or (isinstance(value, np.ndarray | np.generic) and np.ndim(value) == 0):
        return number(np.asarray(value)[()])
    return "c"
