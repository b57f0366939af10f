"""A diagram as text: a tree from the results to the inputs, in which a value that is used again has a name."""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import wrap

from adjoint.pictures.diagram import TIMES, Diagram, Vertex
from adjoint.tape.observers.tables import table

DEEP = 24  # levels after which a branch goes on as a tree of its own


def text(diagram: Diagram) -> str:
    """Lines of a tree, with columns for shape and dtype, value, cotangent and source line where these are known."""
    rows = list(_rows(diagram))
    vertices = [vertex for _, vertex in rows]
    columns = {
        "": [label for label, _ in rows],
        "holds": [v.holds if v else "" for v in vertices],
        "value": [v.value if v else "" for v in vertices],
        "cotangent": [v.cotangent if v else "" for v in vertices],
        "line": [v.line if v else "" for v in vertices],
    }
    columns = {head: cells for head, cells in columns.items() if any(cells)}
    head = [diagram.title if name == "" else name for name in columns]
    lines = table(head, list(zip(*columns.values(), strict=True)))
    return "\n".join([lines, *(line for note in diagram.notes for line in wrap(note, 120))])


def _rows(diagram: Diagram) -> Iterator[tuple[str, Vertex | None]]:
    """Each line's tree with its vertex; None if it only refers to another line."""
    users = diagram.users()
    shared = {key for key, uses in users.items() if len(uses) > 1 and diagram.vertices[key].inputs}
    seen, continued = set[int](), set[int]()
    roots = list(diagram.outputs)
    for root in roots:
        if root in seen and root not in continued:  # its line says so
            continue
        stack = [(root, "", "", 0)]
        while stack:
            key, lead, below, depth = stack.pop()
            vertex = diagram.vertices[key]
            named = key in shared or key in continued
            label = _label(vertex, named)
            if key in seen:
                yield lead + (f"{_name(vertex)} (above)" if vertex.inputs else label), None
                continue
            if depth >= DEEP and vertex.inputs:
                roots.append(key)
                continued.add(key)
                yield f"{lead}{_name(vertex)} (below)", None
                continue
            seen.add(key)
            yield lead + label, vertex
            for i, k in reversed(list(enumerate(vertex.inputs))):
                last = i == len(vertex.inputs) - 1
                stack.append((k, below + ("└─ " if last else "├─ "), below + ("   " if last else "│  "), depth + 1))


def _name(vertex: Vertex) -> str:
    return vertex.name or vertex.label


def _label(vertex: Vertex, named: bool) -> str:
    label = vertex.label
    if (named or vertex.tagged) and vertex.name not in ("", label):
        label = f"{vertex.name} = {label}"
    if vertex.result:
        label = f"{vertex.result} ← {label}"
    return f"{label}  {TIMES} {vertex.times}" if vertex.times > 1 and vertex.kind == "call" else label
