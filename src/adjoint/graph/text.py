"""A graph as text: one line a value, as one would write the program by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from adjoint.graph.node import Node
from adjoint.tape.lines import line_of

if TYPE_CHECKING:
    from adjoint.graph.graph import Graph


def listing(graph: Graph) -> str:
    """``f(x: float64[3]):``, a line ``let`` for each value with its shape and the user's line, and what is returned."""
    names = named(graph)
    head = ", ".join(f"{names[node]}: {kind_of(node)}" for node in graph.inputs)
    rows = [
        (f"  let {names[node]}: {kind_of(node)} = {expression(node, names)}", line_of(node.place) if node.place else "")
        for node in graph.nodes
        if node.kind in ("call", "part")
    ]
    width = max((len(text) for text, _ in rows), default=0)
    body = [f"{text:<{min(width, 88)}}  # {line}" if line else text for text, line in rows]
    guards = [f"  where {g.question}({names[g.node]}) is {g.answer}" for g in graph.guards]
    count = len(graph.outputs) - len(graph.written)
    result = [f"  return {', '.join(names[node] for node in graph.outputs[:count])}"]
    writes = [f"  write {graph.state.name_of(i)} = {names[node]}"
              for i, node in zip(graph.written, graph.outputs[count:], strict=True)]  # fmt: skip
    return "\n".join([f"{graph.name}({head}):", *body, *guards, *writes, *result])


def named(graph: Graph) -> dict[Node, str]:
    """A name for each node: inputs have theirs, small constants are their values, the others are numbered."""
    names: dict[Node, str] = {}
    taken: set[str] = set()
    for node in graph.inputs:
        name = str(node.value)
        while name in taken:
            name += "'"
        names[node] = name
        taken.add(name)
    count = constants = 0
    for node in graph.nodes:
        if node in names:
            continue
        if node.kind == "constant":
            small = np.ndim(node.value) == 0
            names[node] = repr(np.asarray(node.value).item()) if small else f"c{(constants := constants + 1)}"
        else:
            count += 1
            names[node] = f"v{count}"
    return names


def expression(node: Node, names: dict[Node, str]) -> str:
    """The call that makes `node`."""
    args = ", ".join(names[arg] for arg in node.args)
    if node.op is None:
        return f"{args}[{node.value}]"
    settings = "".join(
        f", {name}={_shown(value)}" for name, value in node.settings.items() if _worth_saying(node, name)
    )
    return f"{node.op.name}({args}{settings})"


def _worth_saying(node: Node, name: str) -> bool:
    """Whether a setting differs from its default."""
    default = node.op.settings.get(name) if node.op else None
    value = node.settings[name]
    return not (
        value is default or (type(value) is type(default) and not isinstance(value, np.ndarray) and value == default)
    )


def _shown(value: Any) -> str:
    text = " ".join(repr(value).split())
    return text if len(text) <= 40 else f"{text[:37]}..."


def kind_of(node: Node) -> str:
    """``float64[3, 4]``, or ``any`` for what may have any shape."""
    if node.shape is None:
        return "any"
    if isinstance(node.dtype, tuple):
        return "(" + ", ".join(f"{d}{list(s)}" for s, d in zip(node.shape, node.dtype, strict=True)) + ")"
    return f"{node.dtype}{list(node.shape) if node.shape else ''}"
