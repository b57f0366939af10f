"""Nothing overlaps, whatever is drawn."""

from itertools import combinations, pairwise

import numpy as np
import pytest

import adjoint as ad
from adjoint.pictures.diagram import Diagram, Vertex
from adjoint.pictures.layout import LETTER, REACH, SMALL, VertexBox, _crossings, _spread, layout
from adjoint.pictures.scene import Rect, Text, scene


def random_diagram(seed, count=60):
    """Calls that use the values before them: near ones mostly, and some from far away."""
    rng = np.random.default_rng(seed)
    vertices = {}
    for k in range(count):
        sources = [int(max(0, k - 1 - rng.geometric(0.3))) if rng.random() < 0.9 else int(rng.integers(0, k))
                   for _ in range(rng.integers(1, 4))] if k > 3 else []  # fmt: skip
        label = "x" * int(rng.integers(1, 12))
        value, cotangent = (f"{x:.4g}" if x > -1 else "" for x in rng.normal(size=2))
        kind = "call" if sources else "input"
        vertices[k] = Vertex(
            k, kind, label, f"v{k}", sources, "f", "float64[3]" if k % 3 else "float64", value, cotangent
        )
    used = {i for v in vertices.values() for i in v.inputs}
    return Diagram("random", vertices, [k for k in vertices if k not in used])


def overlaps(a, b):
    """Whether two rectangles (left, top, right, bottom) have an area in common."""
    return min(a[2], b[2]) - max(a[0], b[0]) > 0.01 and min(a[3], b[3]) - max(a[1], b[1]) > 0.01


def rectangle(shape):
    """The room that a shape takes."""
    if isinstance(shape, Rect):
        return shape.x, shape.y, shape.x + shape.width, shape.y + shape.height
    width = len(shape.text) * (LETTER if shape.size > 11 else SMALL)
    left = shape.x - (width / 2 if shape.anchor == "middle" else 0)
    return left, shape.y - shape.size * 0.8, left + width, shape.y + shape.size * 0.2


@pytest.mark.parametrize("seed", range(8))
def test_boxes_texts_and_picture_keep_clear_of_one_another(seed):
    drawn = scene(random_diagram(seed))
    rects = [rectangle(s) for s in drawn.shapes if isinstance(s, Rect)]
    texts = [rectangle(s) for s in drawn.shapes if isinstance(s, Text)]
    assert not [(a, b) for a, b in combinations(rects, 2) if overlaps(a, b)]
    assert not [(a, b) for a, b in combinations(texts, 2) if overlaps(a, b)]
    for text in texts:
        inside = [r for r in rects if overlaps(text, r)]
        assert len(inside) <= 1
        for r in inside:  # a text that touches a box lies in it
            assert text[0] >= r[0]
            assert text[2] <= r[2]
            assert text[1] >= r[1]
            assert text[3] <= r[3]
        assert text[0] >= 0
        assert text[2] <= drawn.width
    assert max(r[3] for r in rects) <= drawn.height


@pytest.mark.parametrize("seed", range(8))
def test_wires_go_from_layer_to_layer_and_through_no_box(seed):
    placed = layout(random_diagram(seed))
    for box in placed.boxes():
        assert all(source.layer == box.layer - 1 for source in box.before)
        assert len(box.before) in (len(box.vertex.inputs), 0)
    for layer in placed.layers:
        for above, below in pairwise(layer):
            assert above.y + above.height / 2 <= below.y - below.height / 2 + 1e-6


def test_every_use_has_its_wire():
    diagram = random_diagram(3)
    placed = layout(diagram)
    for box in placed.boxes():
        ends = []
        for source in box.before:
            while source.vertex is None:
                (source,) = source.before
            ends.append(source.vertex)
        named = [end.label.removeprefix("↪ ") if end.kind == "again" else end.name for end in ends]
        expected = [diagram.vertices[k] for k in box.vertex.inputs]
        assert all(n in (v.name, v.label) for n, v in zip(named, expected, strict=True))


def test_what_is_needed_far_away_is_named_there_again():
    chain = {0: Vertex(0, "input", "x", "x"), 1: Vertex(1, "call", "first", "v1", [0])}
    for k in range(2, 20):
        chain[k] = Vertex(k, "call", "f", f"v{k}", [k - 1])
    chain[20] = Vertex(20, "call", "+", "v20", [19, 1, 0])
    placed = layout(Diagram("chain", chain, [20]))
    again = [box.vertex.label for box in placed.boxes() if box.vertex.kind == "again"]
    assert again == ["↪ v1", "↪ x"]
    assert chain[1].holds_short == "v1"
    spans = [box.layer - source.layer for box in placed.boxes() for source in box.before]
    assert set(spans) == {1}
    assert REACH < 19


def test_crossings_are_counted_and_few():
    a, b, c, d = (VertexBox(Vertex(i, "call", "f")) for i in range(4))
    c.before, d.before = [b], [a]
    assert _crossings([[a, b], [c, d]]) == 1
    assert _crossings([[a, b], [d, c]]) == 0
    c.before = [b, a]
    assert _crossings([[a, b], [d, c]]) == 1
    placed = layout(Diagram("twisted", {
        0: Vertex(0, "input", "a"), 1: Vertex(1, "input", "b"), 2: Vertex(2, "call", "f", "", [1]),
        3: Vertex(3, "call", "g", "", [0]), 4: Vertex(4, "call", "+", "", [3, 2]),
    }, [4]))  # fmt: skip
    assert _crossings(placed.layers) == 0


def test_heights_are_the_nearest_without_overlaps():
    boxes = [VertexBox(Vertex(i, "call", "f"), height=20) for i in range(3)]
    _spread(boxes, [0.0, 100.0, 200.0])
    assert [box.y for box in boxes] == [0, 100, 200]
    _spread(boxes, [50.0, 50.0, 50.0])
    assert [box.y for box in boxes] == [14, 50, 86]  # a gap of 16, and the middle where it should be
    _spread(boxes, [0.0, -50.0, 200.0])
    assert [box.y for box in boxes] == [-43, -7, 200]


def test_pictures_of_programs_keep_clear_too():
    x = ad.tensor(np.arange(1.0, 5.0), requires_grad=True)
    h = x
    for k in range(6):
        h = np.tanh(h * x + k) / (1 + np.exp(-h[::-1]))
    drawn = ad.show(np.sum(h) + np.max(x), fold=False).scene
    rects = [rectangle(s) for s in drawn.shapes if isinstance(s, Rect)]
    assert len(rects) > 25
    assert not [(a, b) for a, b in combinations(rects, 2) if overlaps(a, b)]
