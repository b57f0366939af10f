"""A diagram in the language of Graphviz, for those who have it."""

from __future__ import annotations

from adjoint.pictures.diagram import Diagram, Vertex
from adjoint.pictures.scene import COTANGENT, FILLS, PALE, REPEATED, VALUE

_SHAPES = {"input": "ellipse", "constant": "note", "call": "box", "again": "plaintext", "more": "plaintext"}


def dot(diagram: Diagram) -> str:
    """The text of a directed graph, from left to right."""
    names = {key: f"n{i}" for i, key in enumerate(diagram.vertices)}
    lines = [f'digraph "{_escaped(diagram.title)}" {{', "  rankdir=LR;", '  node [fontname="monospace" style=filled];']
    lines += [f"  // {note}" for note in diagram.notes]
    for key, vertex in diagram.vertices.items():
        fill, stroke = FILLS[vertex.kind] if vertex.times == 1 else REPEATED
        look = f'shape={_SHAPES[vertex.kind]} fillcolor="{fill}" color="{stroke}"'
        lines.append(f"  {names[key]} [label=<{_label(vertex)}> {look}];")
    for key, vertex in diagram.vertices.items():
        lines += [f"  {names[source]} -> {names[key]};" for source in vertex.inputs]
    return "\n".join([*lines, "}"])


def _label(vertex: Vertex) -> str:
    said = [(vertex.label, ""), (vertex.holds_short, PALE), (vertex.value, VALUE), (vertex.cotangent, COTANGENT)]
    parts = [f'<font color="{colour}">{_html(text)}</font>' if colour else _html(text) for text, colour in said if text]
    return "<br/>".join(parts)


def _html(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')
