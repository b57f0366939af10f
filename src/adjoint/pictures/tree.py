"""A diagram as text: a tree from the results to the inputs, in which a value that is used again has a name."""

from __future__ import annotations

from collections.abc import Iterator

from adjoint.pictures.diagram import TIMES, Diagram, Vertex
from adjoint.tape.tables import table

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
    return "\n".join([lines, *diagram.notes])


def _rows(diagram: Diagram) -> Iterator[tuple[str, Vertex | None]]:
    """Each line's tree with what it stands for; None where it only refers to another line."""
    users = diagram.users()
    shared = {key for key, uses in users.items() if len(uses) > 1 and diagram.vertices[key].inputs}
    seen: set[int] = set()
    roots = list(diagram.outputs)
    for root in roots:
        stack = [(root, "", "", 0)]
        while stack:
            key, lead, below, depth = stack.pop()
            vertex = diagram.vertices[key]
            label = _label(vertex)
            named = key in shared or key in roots[len(diagram.outputs) :]
            if key in seen:
                yield lead + (f"{vertex.name or label} (above)" if vertex.inputs else label), None
                continue
            if depth >= DEEP and vertex.inputs:
                roots.append(key)
                yield f"{lead}{vertex.name or label} (below)", None
                continue
            seen.add(key)
            named = named and not vertex.tagged and bool(vertex.name) and vertex.name != label
            yield lead + (f"{vertex.name} = {label}" if named else label), vertex
            for i, k in reversed(list(enumerate(vertex.inputs))):
                last = i == len(vertex.inputs) - 1
                stack.append((k, below + ("└─ " if last else "├─ "), below + ("   " if last else "│  "), depth + 1))


def _label(vertex: Vertex) -> str:
    name = f"{vertex.name} = {vertex.label}" if vertex.tagged else vertex.label
    return f"{name}  {TIMES} {vertex.times}" if vertex.times > 1 and vertex.kind == "call" else name
