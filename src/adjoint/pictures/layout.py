"""Where everything goes: layers from left to right, few crossings, no overlaps.

The steps of Sugiyama, Tagawa and Toda (Methods for visual understanding of hierarchical system structures, 1981):
each vertex goes into the layer after its latest input; a wire across several layers gets a place in each of them;
layers are ordered by the mean position of neighbours, back and forth; and heights are the nearest to the neighbours'
for which nothing overlaps. A value that is needed many layers later is not wired, but named there again.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from adjoint.pictures.diagram import Diagram, Vertex

REACH = 7  # a wire crosses at most so many layers
GAP = 16.0
LETTER, SMALL = 7.9, 6.7  # widths of a letter at font sizes 13 and 11
SWEEPS = 16


@dataclass(slots=True, eq=False)
class VertexBox:
    """A vertex with its place: of the box its left side and middle, and of the wire that leaves it the length.

    Without a vertex it is a wire's place in a layer.
    """

    vertex: Vertex | None
    layer: int = 0
    gate: float = 0.0
    wire: float = 0.0
    height: float = 10.0
    x: float = 0.0
    y: float = 0.0
    before: list[VertexBox] = field(default_factory=list)
    after: list[VertexBox] = field(default_factory=list)

    @property
    def right(self) -> float:
        return self.x + self.gate + self.wire

    def port(self, i: int) -> float:
        """The height at which input number `i` comes in."""
        n = len(self.before)
        return self.y + (i - (n - 1) / 2) * min(14.0, (self.height - 8) / max(n, 1))


@dataclass(slots=True)
class CircuitLayout:
    """Boxes with their places, layer by layer, and the size of all. Wires follow the boxes' `before`."""

    layers: list[list[VertexBox]]
    widths: list[float]
    width: float
    height: float

    def boxes(self) -> list[VertexBox]:
        """Those that are seen."""
        return [box for layer in self.layers for box in layer if box.vertex is not None]


def layout(diagram: Diagram) -> CircuitLayout:
    """Find a place for each vertex of `diagram`."""
    boxes = _boxes(diagram)
    layers = _layers(diagram, boxes)
    _order(layers)
    _heights(layers)
    widths = [max((box.gate + box.wire for box in layer), default=0.0) for layer in layers]
    x = 0.0
    for i, layer in enumerate(layers):
        for box in layer:
            box.x = x
        following = layers[i + 1] if i + 1 < len(layers) else []
        steep = max((abs(a.y - box.port(k)) for box in following for k, a in enumerate(box.before)), default=0.0)
        x += widths[i] + (32 + min(90.0, 0.16 * steep) if following else 0.0)
    everything = [box for layer in layers for box in layer]
    top = min((box.y - box.height / 2 for box in everything), default=0.0)
    for box in everything:
        box.y -= top
    height = max((box.y + box.height / 2 for box in everything), default=0.0)
    return CircuitLayout(layers, widths, x, height)


def _boxes(diagram: Diagram) -> dict[int, VertexBox]:
    """A box of its size for each vertex."""
    boxes = {}
    for key, v in diagram.vertices.items():
        gate = max(len(v.label) * LETTER, len(v.holds_short) * SMALL, 10) + 16
        wire = max(len(v.value), len(v.cotangent)) * SMALL + 12
        height = max(34.0 if not v.holds_short else 42.0, 12.0 * len(v.inputs) + 8)
        boxes[key] = VertexBox(v, gate=gate, wire=wire, height=height)
    return boxes


def _layers(diagram: Diagram, boxes: dict[int, VertexBox]) -> list[list[VertexBox]]:
    """Each box in its layer, wired only from the layer before: through places of wires, or by its name there."""
    for key, vertex in diagram.vertices.items():
        boxes[key].layer = 1 + max((boxes[k].layer for k in vertex.inputs), default=-1)
    users = diagram.users()
    for key, vertex in reversed(diagram.vertices.items()):
        # What needs only what is given stands beside its first use; so does what is not used soon.
        later = min((boxes[k].layer for k in users[key]), default=0) - 1
        alone = all(not diagram.vertices[k].inputs for k in vertex.inputs)
        if later > boxes[key].layer and (alone or (later - boxes[key].layer > REACH and len(set(vertex.inputs)) == 1)):
            boxes[key].layer = later
    layers: list[list[VertexBox]] = [[] for _ in range(1 + max((box.layer for box in boxes.values()), default=0))]
    for box in boxes.values():
        layers[box.layer].append(box)
    passing: dict[tuple[int, int], VertexBox] = {}

    def at(key: int, layer: int) -> VertexBox:
        """The box from which `key` is wired into the layer after `layer`."""
        source = boxes[key]
        box = source
        named = layer - source.layer > REACH
        for i in range(layer if named else source.layer + 1, layer + 1):
            known = passing.get((key, i))
            if known is None:
                known = passing[key, i] = _again(source) if named else VertexBox(None, before=[box])
                known.layer = i
                if not named:
                    box.after.append(known)
                layers[i].append(known)
            box = known
        return box

    for key, vertex in diagram.vertices.items():
        for k in vertex.inputs:
            source = at(k, boxes[key].layer - 1)
            boxes[key].before.append(source)
            source.after.append(boxes[key])
    return layers


def _again(source: VertexBox) -> VertexBox:
    vertex = source.vertex
    assert vertex is not None
    vertex.tagged = vertex.kind == "call"
    name = vertex.label if vertex.kind != "call" else vertex.name
    again = Vertex(key=-1, kind="again", label=f"↪ {name}", line=vertex.line)
    return VertexBox(again, gate=len(again.label) * LETTER + 12, wire=6.0, height=24.0)


def _order(layers: list[list[VertexBox]]) -> None:
    """Order each layer, so that few wires cross."""
    _by_depth(layers)
    best, kept = _crossings(layers), [list(layer) for layer in layers]
    for sweep in range(SWEEPS):
        if best == 0:
            break
        places = {box: float(i) for layer in layers for i, box in enumerate(layer)}
        for layer in layers if sweep % 2 == 0 else reversed(layers):
            means = {box: _mean(box, places, sweep % 2 == 0) for box in layer}
            layer.sort(key=lambda box: means[box])
            places.update((box, float(i)) for i, box in enumerate(layer))
        count = _crossings(layers)
        if count < best:
            best, kept = count, [list(layer) for layer in layers]
    layers[:] = kept


def _by_depth(layers: list[list[VertexBox]]) -> None:
    """A first order: as a walk from the results to what they use meets the boxes."""
    rank: dict[VertexBox, int] = {}
    stack = [box for layer in layers for box in layer if not box.after][::-1]
    while stack:
        box = stack.pop()
        if box not in rank:
            rank[box] = len(rank)
            stack += box.before[::-1]
    for layer in layers:
        layer.sort(key=lambda box: rank[box])


def _mean(box: VertexBox, places: dict[VertexBox, float], forwards: bool) -> float:
    if forwards:
        found = [places[other] for other in box.before]
    else:
        found = [places[other] + 0.5 * other.before.index(box) / len(other.before) for other in box.after]
    return sum(found) / len(found) if found else places[box]


def _crossings(layers: Sequence[Sequence[VertexBox]]) -> int:
    """How many pairs of wires cross."""
    count = 0
    for layer, following in pairwise(layers):
        place = {box: i for i, box in enumerate(layer)}
        ends: list[int] = []
        for box in following:
            own = [place[source] for source in box.before]
            for i, start in enumerate(own):
                count += len(ends) - bisect_right(ends, start) + sum(other > start for other in own[:i])
            for start in own:
                insort(ends, start)
    return count


def _heights(layers: list[list[VertexBox]]) -> None:
    """A height for each box: near its neighbours', and clear of the others in its layer."""
    for layer in layers:
        _spread(layer, [0.0] * len(layer))
    for sweep in range(SWEEPS + 1):
        for layer in layers if sweep % 2 == 1 else reversed(layers):
            wanted = []
            for box in layer:
                before = [source.y - (box.port(i) - box.y) for i, source in enumerate(box.before)]
                after = [end.port(end.before.index(box)) for end in box.after]
                if sweep == SWEEPS:  # straight wires to what comes next
                    before = before if not after else []
                elif sweep < SWEEPS // 2:
                    before, after = (before, []) if (sweep % 2 == 1 and before) or not after else ([], after)
                found = before + after
                wanted.append(sum(found) / len(found) if found else box.y)
            _spread(layer, wanted)


def _spread(layer: Sequence[VertexBox], wanted: Sequence[float]) -> None:
    """Put boxes, in their order, as near to the `wanted` heights as can be without overlaps (least squares).

    By merging neighbours that would overlap into groups that move as one.
    """
    groups: list[list[float]] = []  # the sum of a group's wishes for its first box's place, and their number
    offsets, offset = [], 0.0
    for i, box in enumerate(layer):
        if i:
            above = layer[i - 1]
            gap = GAP if box.vertex is not None and above.vertex is not None else GAP / 2
            offset += (above.height + box.height) / 2 + gap
        offsets.append(offset)
        groups.append([wanted[i] - offset, 1])
        while len(groups) > 1 and groups[-2][0] / groups[-2][1] > groups[-1][0] / groups[-1][1]:
            total, count = groups.pop()
            groups[-1][0] += total
            groups[-1][1] += count
    i = 0
    for total, count in groups:
        for _ in range(int(count)):
            layer[i].y = total / count + offsets[i]
            i += 1
