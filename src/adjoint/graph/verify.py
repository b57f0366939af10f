"""What must hold of a graph, checked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from adjoint.core.box import apply
from adjoint.core.errors import GraphError
from adjoint.graph.node import Node, frozen

if TYPE_CHECKING:
    from adjoint.graph.graph import Graph


def verify(graph: Graph) -> None:
    """Raise `GraphError` unless `graph` is in order; see `adjoint.graph.graph.Graph.verify`.

    Each node comes after what it uses; no two nodes are the same call; every input that is used is one of the
    graph's; and operations on values of the stated shapes and dtypes give such values.
    """
    known, calls = set(graph.inputs), dict[Any, Node]()
    if len(known) != len(graph.inputs):
        raise GraphError("the graph lists an input twice")
    for node in graph.nodes:
        late = [arg for arg in node.args if arg.number >= node.number]
        if late:
            raise GraphError(f"{node!r} uses {late[0]!r}, which is younger")
        if node.kind == "input" and node not in known:
            own = ", ".join(str(n.value) for n in graph.inputs)
            raise GraphError(f"{node!r} is an input, but not one of the graph's: {own}")
        if node.op is not None and "random" not in node.op.flags:
            key = (node.op, node.args, node.shape, node.dtype, frozen(node.settings) if node.settings else ())
            if calls.setdefault(key, node) is not node:
                raise GraphError(f"{node!r} and {calls[key]!r} are the same call, but two nodes")
        if node.kind in ("call", "part"):
            _check_kind(node)


def _check_kind(node: Node) -> None:
    """The shape and dtype of `node`, against its operation's on ones."""
    if node.shape is None or any(arg.shape is None for arg in node.args):
        return
    if node.op is None:
        (whole,) = node.args
        expected = (whole.shape[node.value], whole.dtype[node.value])
    elif any(arg.value is None and arg.dtype.kind not in "fc" for arg in node.args) or "random" in node.op.flags:
        return  # whole numbers may be places, which ones are not
    else:
        expected = _kind_of(_tried(node))
    if (node.shape, node.dtype) != expected:
        raise GraphError(
            f"{node!r} says {node.shape} {node.dtype}, but its operation gives {expected[0]} {expected[1]}"
        )


def _tried(node: Node) -> Any:
    """What the operation gives for ones."""
    values = [
        arg.value if arg.kind == "constant" else np.ones(arg.shape, arg.dtype) if arg.shape else arg.dtype.type(1)
        for arg in node.args
    ]
    with np.errstate(all="ignore"):
        assert node.op is not None
        try:
            return apply(node.op, values, node.settings)
        except np.linalg.LinAlgError:  # ones are singular
            values = [
                np.eye(*v.shape[-2:], dtype=v.dtype) + np.zeros(v.shape, v.dtype) if np.ndim(v) > 1 else v
                for v in values
            ]
            return apply(node.op, values, node.settings)


def _kind_of(out: Any) -> tuple[Any, Any]:
    if isinstance(out, tuple | list):
        return tuple(np.shape(x) for x in out), tuple(np.asarray(x).dtype for x in out)
    return np.shape(out), np.asarray(out).dtype
