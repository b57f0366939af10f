"""A graph as a Python function that needs nothing but NumPy: `source`."""

from __future__ import annotations

import keyword
import linecache
import os
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from adjoint.core.op import NO_SETTINGS
from adjoint.core.types import Value
from adjoint.graph.node import Node
from adjoint.graph.python_numbers import PYTHONS, as_numpy, is_number
from adjoint.graph.symbol import still
from adjoint.graph.text.numpy_source import literal, spelled
from adjoint.tape.observers.lines import line_of

if TYPE_CHECKING:
    from adjoint.graph.graph import Graph

Headings = Mapping[Node, list[str]]
_QUESTIONS = {"bool": "bool({0}) == {1}", "float": "float({0}) == {1}", "complex": "complex({0}) == {1}"}
_QUESTIONS |= {"values": "np.array_equal({0}, {1})", "shape": "np.shape({0}) == {1}"}


def source(
    graph: Graph,
    *,
    names: Mapping[Node, str] | None = None,
    headings: Callable[[SourceWriter], Headings] | None = None,
    returns: Callable[[SourceWriter], str] | None = None,
    name: str | None = None,
) -> str:
    """The text of a function of the graph's inputs that computes what the graph does.

    Args:
        graph: what to write.
        names: of some nodes; the others are numbered.
        headings: comment lines before some nodes' lines; by default the user's lines, where they change.
        returns: what the function returns; by default the outputs, and a dictionary of the state that it writes.
        name: of the function.
    """
    writer = SourceWriter(graph, names or {})
    return writer.text(identifier(name or graph.name), headings or users_lines, returns or _returned)


class SourceWriter:
    """The names of a graph's nodes, and the lines that compute them."""

    def __init__(self, graph: Graph, names: Mapping[Node, str]) -> None:
        self.graph, self.nodes = graph, graph.nodes
        self.names: dict[Node, str] = {}
        self._taken = {"np", "scipy", "operation", *keyword.kwlist}
        for node in graph.inputs:
            self._name(node, identifier(str(node.value)))
        kinds = {n.dtype.str[1:] for n in self.nodes if isinstance(n.dtype, np.dtype) and n.dtype.kind in "fc"}
        numbers = [n for n in graph.inputs if n.shape == () and n.dtype.kind == "f"]
        # With one precision everywhere it makes no difference that Python's numbers promote less than NumPy's.
        self._single = kinds <= {"f8", "c16"}
        self.converted = [n for n in numbers if self._single or not is_number(n)]
        for node in self.nodes:
            if node in names and (root := self.root(node)) not in self.names:
                self._name(root, identifier(names[node]))
        count = constants = 0
        for node in self.nodes:
            if node in self.names:
                continue
            if self.root(node) is not node:
                self.names[node] = self.names[self.root(node)]
                continue
            if node.kind == "constant":
                if np.ndim(node.value) == 0:
                    self.names[node] = literal(node.value)
                else:
                    self._name(node, f"c{(constants := constants + 1)}")
            else:
                self._name(node, f"v{(count := count + 1)}")

    def root(self, node: Node) -> Node:
        """The node of which `node` is another name."""
        while self._single and (node.op in PYTHONS or node.op is as_numpy):
            (node,) = node.args
        return node

    def _name(self, node: Node, wanted: str) -> None:
        name, k = wanted, 1
        while name in self._taken:
            name = f"{wanted}_{(k := k + 1)}"
        self._taken.add(name)
        self.names[node] = name

    def lines(self, node: Node) -> list[str]:
        """The statements that compute `node`; none for what needs no computing."""
        name = self.names[node]
        if node.kind == "constant":
            return [] if np.ndim(node.value) == 0 else [f"{name} = {literal(node.value)}"]
        if node.kind == "input" or self.root(node) is not node:
            return []
        if node.op in PYTHONS:
            return [f"{name} = {self.names[node.args[0]]}.item()"]
        if node.op is still:
            return [f"{name} = {self.names[node.args[0]]}"]
        if node.op is as_numpy:
            return [f"{name} = np.asarray({self.names[node.args[0]]})[()]"]
        if node.op is None:
            return [f"{name} = {self.names[node.args[0]]}[{node.value}]"]
        plain = [arg not in self.converted and self.root(arg) is arg and is_number(arg) for arg in node.args]
        args = [self.names[arg] for arg in node.args]
        shapes = [arg.shape or () for arg in node.args]
        return spelled(node.op, args, node.settings or NO_SETTINGS, name, node.dtype, shapes, plain)

    def text(
        self, name: str, headings: Callable[[SourceWriter], Headings], returns: Callable[[SourceWriter], str]
    ) -> str:
        """The whole module: imports and the function."""
        body = [f"{self.names[n]} = {literal(n.dtype)}({self.names[n]})" for n in self.converted]
        said = headings(self)
        asked: dict[Node, list[str]] = {}
        for guard in self.graph.guards:
            if guard.question == "run":
                continue
            question = _QUESTIONS.get(guard.question, "int({0}) == {1}")
            test = question.format(self.names[guard.node], literal(guard.answer))
            asked.setdefault(guard.node, []).append(
                f"assert {test}  # or the program at {_at(guard.place)} takes another path"
            )
        fixed = [line for node in self.nodes if node.kind == "constant" for line in self.lines(node)]
        body += fixed
        for node in self.nodes:
            body += said.get(node, [])
            if node.kind != "constant":
                body += self.lines(node)
            body += asked.get(node, [])
        body.append(f"return {returns(self)}")
        code = "\n".join(f"    {line}" if line else "" for line in body)
        imports = ["import numpy as np"]
        if "scipy.special." in code:
            imports.append("import scipy.special")
        if "operation(" in code:
            imports += ["", "from adjoint.core.registry import operation"]
        head = ", ".join(self.names[n] for n in self.graph.inputs)
        return "\n".join([*imports, "", "", f"def {name}({head}):", code, ""])


def identifier(text: str) -> str:
    """`text` as a name in Python: ``params['w']`` becomes ``params_w``."""
    if text == "<lambda>":
        return "f"
    name = re.sub(r"\W+", "_", text).strip("_") or "f"
    return f"_{name}" if name[0].isdigit() or keyword.iskeyword(name) else name


def users_lines(writer: SourceWriter) -> Headings:
    """Before each node that another line of the user's made than the node before: that line, as a comment."""
    said, last = {}, ""
    for node in writer.nodes:
        if node.kind not in ("call", "part") or node.place is None:
            continue
        line = users_line(node)
        if line != last:
            said[node] = [f"# {line}"]
            last = line
    return said


def users_line(node: Node) -> str:
    """``file.py:3: y = np.sin(x)``: where `node` was made; empty where that is not known."""
    return _said(line_of(node.place)) if node.place is not None else ""


def _said(place: str) -> str:
    file, _, number = place.rpartition(":")
    text = linecache.getline(file, int(number)).strip() if number.isdigit() else ""
    text = text if len(text) <= 80 else f"{text[:77]}..."
    return f"{os.path.basename(file)}:{number}" + (f": {text}" if text else "")


def _at(place: Value) -> str:
    return _said(line_of(place)).partition(": ")[0] if place is not None else "hand"


def _returned(writer: SourceWriter) -> str:
    graph = writer.graph
    count = len(graph.outputs) - len(graph.written)
    values = [writer.names[node] for node in graph.outputs[:count]]
    new = [
        f"{graph.state.name_of(i)!r}: {writer.names[node]}"
        for i, node in zip(graph.written, graph.outputs[count:], strict=True)
    ]
    return ", ".join([*values, *([f"{{{', '.join(new)}}}"] if new else [])])
