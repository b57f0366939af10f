"""A graph as a straight Python function of NumPy calls: what runs until native code is there, and where there is none.

For ``sum(sin(x) * y)`` the function written here reads ::

    def run(given):
        x0, x1 = given
        v2 = f2(x0)
        v3 = f3(v2, x1)
        v4 = f4(v3)
        return [v4]
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from adjoint.core.codegen import defined
from adjoint.graph.graph import Graph, as_captured, depends_on_values
from adjoint.graph.node import Node

Program = Callable[[Sequence[Any]], list[Any]]
# Beyond so many nodes Python takes longer to compile the text than the text saves.
LONGEST = 20_000
# Smaller values are not worth a line that drops them.
LARGE = 1 << 16


def straight(graph: Graph) -> Program:
    """The function that computes the outputs of `graph` from plain arrays, one an input."""
    nodes = graph.nodes
    if len(nodes) > LONGEST:
        return graph.run
    names = {node: f"x{i}" for i, node in enumerate(graph.inputs)}
    scope: dict[str, Any] = {"ask": graph.ask, "as_captured": as_captured, "array": np.array}
    guarded = {guard.node for guard in graph.guards}
    last = {arg: node for node in nodes for arg in node.args}
    lines = [f"{''.join(f'{names[node]}, ' for node in graph.inputs)}= given"] if graph.inputs else []
    lines += [f"ask({_bound(scope, node)}, {names[node]})" for node in graph.inputs if node in guarded]
    for node in nodes:
        if node not in names:
            names[node] = f"v{len(names)}"
            lines.append(f"{names[node]} = {_value(node, names, scope)}")
            if node in guarded or depends_on_values(node):
                lines += [
                    f"as_captured({_bound(scope, node)}, {names[node]})",
                    f"ask({_bound(scope, node)}, {names[node]})",
                ]
        gone = [
            arg for arg in dict.fromkeys(node.args) if last[arg] is node and _is_large(arg) and arg not in graph.outputs
        ]
        lines += [f"{names[arg]} = None" for arg in gone]
    results = [f"array({names[n]})" if n.kind in ("input", "constant") and n.shape else names[n] for n in graph.outputs]
    text = "\n    ".join(["def run(given):", *lines, f"return [{', '.join(results)}]"])
    program: Program = defined(text, f"program of {graph.name}", scope, "run")
    return program


def _value(node: Node, names: dict[Node, str], scope: dict[str, Any]) -> str:
    """The expression for `node`."""
    if node.op is None:
        return f"{names[node.args[0]]}[{node.value}]" if node.args else _bound(scope, node.value)
    function = partial(node.op.forward, **node.settings) if node.settings else node.op.forward
    return f"{_bound(scope, function)}({', '.join(names[arg] for arg in node.args)})"


def _bound(scope: dict[str, Any], value: Any) -> str:
    """A name for `value` in the program's scope."""
    name = f"f{len(scope)}"
    scope[name] = value
    return name


def _is_large(node: Node) -> bool:
    return (
        not isinstance(node.dtype, tuple)
        and node.shape is not None
        and node.dtype.itemsize * np.prod(node.shape) > LARGE
    )
