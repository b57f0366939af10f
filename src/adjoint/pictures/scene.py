"""A laid-out diagram as rectangles, texts and wires with colours: what SVG and Matplotlib draw alike."""

from __future__ import annotations

from itertools import pairwise
from textwrap import wrap
from typing import NamedTuple

from adjoint.pictures.diagram import TIMES, Diagram, Vertex
from adjoint.pictures.layout import SMALL, CircuitLayout, VertexBox, layout

VALUE, COTANGENT, INK, PALE = "#1a7f37", "#cf222e", "#24292f", "#6e7781"
FILLS = {
    "input": ("#fff8e1", "#b78103"),
    "constant": ("#f6f8fa", "#8c959f"),
    "call": ("#eef4fc", "#4a6fa5"),
    "again": ("#ffffff", "#d0d7de"),
    "more": ("#ffffff", "#8c959f"),
}
REPEATED = ("#f3ecfb", "#7d5ba6")
MARGIN = 20.0


class Rect(NamedTuple):
    x: float
    y: float
    width: float
    height: float
    fill: str
    stroke: str
    dashed: bool = False
    tip: str = ""
    radius: float = 7.0


class Text(NamedTuple):
    """Its `x` is where it starts, or its middle (`anchor`); its `y` the line it stands on."""

    x: float
    y: float
    text: str
    size: float = 11.0
    colour: str = INK
    anchor: str = "start"


class Wire(NamedTuple):
    """A line through `points`: straight within a layer's width, curved between layers."""

    points: tuple[tuple[float, float], ...]
    colour: str = "#57606a"


class Scene(NamedTuple):
    width: float
    height: float
    shapes: list[Rect | Text | Wire]


def scene(diagram: Diagram) -> Scene:
    """Lay `diagram` out, and say what is to be drawn."""
    placed = layout(diagram)
    if any(box.vertex.tagged for box in placed.boxes() if box.vertex):  # their names need room
        placed = layout(diagram)
    head = _head(diagram, max(90, int(placed.width / SMALL)))
    left, top = MARGIN, MARGIN + 18 * len(head) + 8
    shapes: list[Rect | Text | Wire] = []
    for i, line in enumerate(head):
        shapes += _coloured(line, left, MARGIN + 12 + 18 * i)
    for layer in placed.layers:
        for box in layer:
            box.x += left
            box.y += top
    shapes += _wires(placed)
    shapes += [shape for box in placed.boxes() for shape in _gate(box)]
    width = max(placed.width, *(len("".join(t for t, _ in line)) * SMALL for line in head)) + 2 * MARGIN
    return Scene(width, top + placed.height + MARGIN, shapes)


def _head(diagram: Diagram, letters: int) -> list[list[tuple[str, str]]]:
    """Lines of coloured texts above the picture: what the colours mean, and the notes."""
    first = [(diagram.title, INK)]
    vertices = diagram.vertices.values()
    if any(v.value for v in vertices):
        first.append(("   values above the wires", VALUE))
    if any(v.cotangent for v in vertices):
        first.append(("   cotangents below", COTANGENT))
    return [first, *([(line, PALE)] for note in diagram.notes for line in wrap(note, letters))]


def _coloured(line: list[tuple[str, str]], x: float, y: float) -> list[Text]:
    texts = []
    for text, colour in line:
        texts.append(Text(x + SMALL * (len(text) - len(text.lstrip())), y, text.strip(), 11, colour))
        x += len(text) * SMALL
    return texts


def _gate(box: VertexBox) -> list[Rect | Text | Wire]:
    """The box of a vertex, its text, and its outgoing wire with value and cotangent."""
    v = box.vertex
    assert v is not None
    fill, stroke = FILLS[v.kind] if v.times == 1 else REPEATED
    plain = v.kind in ("again", "more")
    second = v.holds_short
    middle = box.x + box.gate / 2
    tall = box.height if len(v.inputs) > 2 else (38.0 if second else 26.0)
    shapes: list[Rect | Text | Wire] = [
        Wire(((box.x + box.gate, box.y), (box.right, box.y))),
        Rect(box.x, box.y - tall / 2, box.gate, tall, fill, stroke, plain, tip(v)),
        Text(middle, box.y + (-2 if second else 4.5), v.label, 13, INK, "middle"),
    ]
    if second:
        shapes.append(Text(middle, box.y + 13, second, 11, PALE, "middle"))
    if v.value:
        shapes.append(Text(box.x + box.gate + 6, box.y - 4, v.value, 11, VALUE))
    if v.cotangent:
        shapes.append(Text(box.x + box.gate + 6, box.y + 13, v.cotangent, 11, COTANGENT))
    return shapes


def tip(v: Vertex) -> str:
    """All that is known of a vertex, one thing a line."""
    said = [f"{v.name} = {v.label}" if v.name and v.name != v.label else v.label, v.holds]
    said += [f"value {v.value}"] * bool(v.value) + [f"cotangent {v.cotangent}"] * bool(v.cotangent)
    said += [f"{TIMES} {v.times}"] * (v.times > 1) + [v.line]
    return "\n".join(line for line in said if line)


def _wires(placed: CircuitLayout) -> list[Rect | Text | Wire]:
    """A wire for each use: from where a value ends, through its places in other layers, to the port."""
    ends = [placed.layers[i][0].x + placed.widths[i] for i in range(len(placed.layers))]
    wires: list[Rect | Text | Wire] = []
    for box in placed.boxes():
        for i, source in enumerate(box.before):
            points = [(box.x, box.port(i))]
            while source.vertex is None:
                points += [(ends[source.layer], source.y), (source.x, source.y)]
                (source,) = source.before
            points += [(ends[source.layer], source.y), (source.right, source.y)]
            wires.append(Wire(tuple(points[::-1])))
    return wires


def curves(wire: Wire) -> list[tuple[tuple[float, float], ...]]:
    """Pieces of a wire: two points for a straight one, four for a curve of Bézier's."""
    pieces: list[tuple[tuple[float, float], ...]] = []
    for (x0, y0), (x1, y1) in pairwise(wire.points):
        if abs(y1 - y0) < 0.5:
            pieces.append(((x0, y0), (x1, y1)))
        else:
            half = (x1 - x0) / 2
            pieces.append(((x0, y0), (x0 + half, y0), (x1 - half, y1), (x1, y1)))
    return pieces
