"""The diagram of a captured program; with values and cotangents, if it is evaluated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from adjoint.core.box import apply
from adjoint.core.errors import AdjointError, ArgumentError
from adjoint.core.types import Value
from adjoint.graph.graph import Graph
from adjoint.graph.node import Node
from adjoint.graph.python_numbers import PYTHONS, as_numpy
from adjoint.graph.text.text import named
from adjoint.pictures.diagram import Diagram, Vertex, holds, label_of, number, stands_in, summary
from adjoint.pictures.from_tape import Cotangents
from adjoint.tape.node import leaf
from adjoint.tape.observers.lines import line_of
from adjoint.tape.tensor import Tensor, wrap


def diagram_of_graph(graph: Graph, given: Sequence[Value] | None) -> Diagram:
    """The diagram of `graph`; with values where `given` has one for each input, with cotangents if one output varies.

    The cotangents are those of the first output, started from 1.

    Raises:
        GraphError: if the program would have taken another path for these values.
    """
    values: Mapping[Node, Value] = {}
    cotangents: Mapping[Node, Value] = {}
    notes: list[str] = []
    if given is not None:
        values, cotangents, notes = evaluated(graph, given)
    names, lines = named(graph), dict[Value, str]()
    nodes = list(dict.fromkeys([*graph.inputs, *graph.nodes]))
    # Whether a number is Python's or NumPy's is of no interest here.
    nodes = [node for node in nodes if node.op not in (*PYTHONS, as_numpy)]
    inline = {n for n in nodes if n.kind == "constant" and np.ndim(n.value) == 0 and n not in map(_seen, graph.outputs)}
    vertices: dict[int, Vertex] = {}
    for node in nodes:
        if node in inline:
            continue
        vertices[node.number] = vertex = Vertex(
            key=node.number,
            kind="call" if node.kind == "part" else node.kind,  # type: ignore[arg-type]  # one of the kinds
            label=_label(node, inline, names),
            name=names[node],
            inputs=[arg.number for arg in map(_seen, node.args) if arg not in inline],
            op=node.op.name if node.op else f"part {node.value}" if node.args else "",
            holds=holds(node.shape, node.dtype),
            value=summary(values[node]) if node in values else "",
            cotangent=summary(cotangents[node]) if node in cotangents else "",
            line=""
            if node.place is None
            else lines.get(node.place) or lines.setdefault(node.place, line_of(node.place)),
        )
        stands_in(vertex, node.place)
        vertex.simple = len(vertex.inputs) == 1 and node.op is not None and node.op.kind == "elementwise"
    outputs = list(dict.fromkeys(node.number for node in map(_seen, graph.outputs)))
    for i, node in enumerate(graph.outputs):
        k = i - (len(graph.outputs) - len(graph.written))
        name = (
            graph.state.name_of(graph.written[k])
            if k >= 0
            else str(i)
            if len(graph.outputs) - len(graph.written) > 1
            else ""
        )
        vertex = vertices[_seen(node).number]
        vertex.result = ", ".join(x for x in (vertex.result, name) if x)
    diagram = Diagram(graph.name if graph.name.isidentifier() else "f", vertices, outputs, notes)
    unused = [v.name for v in vertices.values() if v.kind == "input"]
    diagram.pruned()
    unused = [name for name in unused if name not in {v.name for v in diagram.vertices.values()}]
    if unused:
        diagram.notes.append(f"not used: {', '.join(unused[:8])}{' …' * (len(unused) > 8)}")
    return diagram


def _seen(node: Node) -> Node:
    """The element of the picture for `node`."""
    while node.op in (*PYTHONS, as_numpy):
        (node,) = node.args
    return node


def _label(node: Node, inline: set[Node], names: Mapping[Node, str]) -> str:
    if node.op is None:
        return f"[{node.value}]" if node.args else names[node]
    args = [number(np.asarray(arg.value)[()]) if arg in inline else None for arg in map(_seen, node.args)]
    return label_of(node.op, args, node.settings)


def evaluated(graph: Graph, given: Sequence[Value]) -> tuple[dict[Node, Value], dict[Node, Value], list[str]]:
    """Value and cotangent of each node for these inputs, and what is to be said about them."""
    if len(given) != len(graph.inputs):
        names = ", ".join(str(node.value) for node in graph.inputs)
        raise ArgumentError(f"at= gives {len(given)} values; the graph takes {len(graph.inputs)}: {names}")
    if graph.guards:
        graph.run(given)
    tensors: dict[Node, Value] = {}
    for node, value in zip(graph.inputs, given, strict=True):
        data = value.held if isinstance(value, Tensor) else value
        data = data if isinstance(data, np.ndarray | np.generic) else np.asarray(data)[()]
        varies = data.dtype.kind in "fc"
        tensors[node] = wrap(data, leaf(data.shape, data.dtype), 0) if varies else data
    for node in graph.nodes:
        if node in tensors:
            continue
        if node.op is None:
            tensors[node] = tensors[node.args[0]][node.value] if node.args else node.value
        else:
            tensors[node] = apply(node.op, [tensors[arg] for arg in node.args], node.settings)
    values = {node: _plain(x) for node, x in tensors.items()}
    result = tensors[graph.outputs[0]]
    if not isinstance(result, Tensor) or result.node is None or result.dtype.kind not in "f":
        return values, {}, ["no cotangents: the first output does not vary smoothly with any input"]
    if result.size != 1:
        return values, {}, ["no cotangents: the first output is not one number"]
    try:
        found = Cotangents(result.node, np.ones(result.shape, result.dtype)[()])
    except AdjointError as error:
        return values, {}, [f"no cotangents: {error}"]
    on_tape = {x.node: node for node, x in reversed(tensors.items()) if isinstance(x, Tensor) and x.node is not None}
    return values, {node: found.of[tape] for tape, node in on_tape.items() if tape in found.of}, []


def _plain(x: object) -> Value:
    if isinstance(x, tuple | list):
        return [_plain(item) for item in x]
    return x.held if isinstance(x, Tensor) else x
