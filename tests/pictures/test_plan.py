"""Pictures of plans: what is drawn is what the listing says, to scale, and nothing is drawn over anything else."""

from xml.etree import ElementTree

import numpy as np
import pytest

import adjoint as ad
from adjoint import native
from adjoint.pictures.plan import ARENA, MAP, plan_scene
from adjoint.pictures.png import png
from adjoint.pictures.scene import Rect, Text
from adjoint.pictures.svg import svg

R = np.random.default_rng(0)


def listing(f, *args, **names):
    graph = ad.capture(f, *args)
    return native.build(graph.inputs, graph.outputs).listing(**names)


def network(x, w):
    for _ in range(3):
        x = np.tanh(x @ w) + x[0]
    return np.sum(x, axis=0)


@pytest.fixture(scope="module")
def plan():
    return listing(ad.grad(lambda x, w: np.sum(network(x, w)), (0, 1)), R.normal(size=(8, 8)), R.normal(size=(8, 8)))


def arrays(scene):
    """The rectangles of arrays, by name."""
    rects = [shape for shape in scene.shapes if isinstance(shape, Rect) and shape.x >= MAP - 1 and shape.tip]
    return {rect.tip.partition(":")[0]: rect for rect in rects}


def texts(scene):
    return [shape.text for shape in scene.shapes if isinstance(shape, Text)]


def test_arrays_are_as_wide_as_their_bytes_and_reach_over_their_lives(plan):
    drawn = arrays(plan_scene(plan, "f"))
    assert drawn.keys() == {value.name for value in plan.values}
    for value in plan.values:
        rect = drawn[value.name]
        if value.home == "arena":
            assert rect.width == pytest.approx(max(value.size / plan.memory.arena * ARENA, 2.0))
            assert rect.x == pytest.approx(MAP + value.start / plan.memory.arena * ARENA)
    lives = sorted(plan.values, key=lambda value: value.last - value.first)
    assert drawn[lives[-1].name].height > 3 * drawn[lives[0].name].height


def test_no_two_arrays_are_drawn_over_each_other(plan):
    rects = list(arrays(plan_scene(plan, "f")).values())
    assert any(value.instead for value in plan.values)
    for i, a in enumerate(rects):
        for b in rects[:i]:
            apart = a.x + a.width <= b.x + 1e-6 or b.x + b.width <= a.x + 1e-6
            later = a.y + a.height <= b.y + 1e-6 or b.y + b.height <= a.y + 1e-6
            assert apart or later, (a.tip, b.tip)


def test_every_step_has_its_row_with_who_computes_it(plan):
    said = texts(plan_scene(plan, "f"))
    assert said.count("kernel") == plan.count("kernel")
    assert said.count("product") == plan.count("product") > 0
    assert [text for text in said if text.isdigit()] == [str(row.number) for row in plan.rows]
    assert any(text.startswith("arena: ") for text in said)
    assert "a product of matrices" in said
    assert "computed by NumPy" not in said


def test_numpys_steps_say_why():
    found = texts(plan_scene(listing(lambda x: np.partition(np.exp(x), 1), R.normal(size=5)), "f"))
    assert "NumPy" in found
    assert "  because: no lowering" in found
    assert "computed by NumPy" in found


def test_long_plans_are_drawn_in_part():
    def many(x):
        for _ in range(20):
            x = np.tanh(x @ x)
        return x

    plan = listing(many, R.normal(size=(6, 6)))
    scene = plan_scene(plan, "f", limit=5)
    assert "… 15 more steps" in texts(scene)
    assert scene.height < plan_scene(plan, "f").height / 2
    assert len(arrays(scene)) == 5


def test_names_are_escaped_and_both_formats_are_whole():
    plan = listing(lambda x: np.exp(x), R.normal(size=5), inputs=['<b>&"'], outputs=["</svg>\x00"])
    scene = plan_scene(plan, "<i>title</i>")
    image = svg(scene)
    assert "<b>" not in image
    words = [element.text for element in ElementTree.fromstring(image).iter() if element.text]
    assert "<i>title</i>" in words
    assert '</svg>\ufffd = exp(<b>&")' in words
    assert png(plan_scene(listing(np.exp, R.normal(size=5)), "f")).startswith(b"\x89PNG")


def test_nothing_to_do_is_a_picture_too():
    assert "no arena is needed" in texts(plan_scene(listing(lambda x: x, 1.0), "f"))
