"""What a plan says of its loops, run as a program of its own: it computes what the native code does."""

import inspect
import re

import numpy as np
import pytest

import adjoint as ad
from adjoint.pictures.plan import FORMULA, MAP, STEP_IN, plan_scene
from adjoint.pictures.scene import Rect, Text

R = np.random.default_rng(0)
MATRICES = R.normal(size=(20, 20)), 0.3 * R.normal(size=(20, 20))
NAMES = {name: getattr(np, name) for name in ("sin", "cos", "tanh", "any", "all", "isnan", "isfinite", "abs")}


def evaluated(text, known):
    return eval(text.replace("next ", "next_"), NAMES, known)


def run(listing, known):
    """Compute what the rows of a plan say, from the arguments in `known`."""
    for row in listing.rows:
        if row.turns:
            loop(row.turns, known)
        for value in row.writes if not row.turns else ():
            if not value.formula.endswith(" in rows"):  # the same values, in another order
                known[value.name] = evaluated(value.formula, known)
    return known


def loop(lines, known):
    """Run what a frame says: turns, until their number is reached or the condition fails."""
    (_, title), *lines = lines
    lines = [text for _, text in lines]
    end = re.search(r"= 0 … (.*)$", title)
    most = 1000 if end is None else evaluated(end[1], known) + 1
    for text in (text for text in lines if text.startswith("carries ")):
        name, start = text.removeprefix("carries ").split(", at first ")
        known[name] = evaluated(start, known)
    steps = [text.split(" = ", 1) for text in lines if not text.startswith("carries ")]
    known |= {"turns": most, "goes_on": True}
    for i in range(most):
        known["i"] = i
        for name, text in steps:
            value = evaluated(text, known)
            if name.endswith("]"):
                array, place = name[:-1].split("[", 1)
                known.setdefault(array, {})[evaluated(place, known)] = value
            else:
                known[name.replace(" ", "_")] = value
        if not known["goes_on"]:
            known["turns"] = i
            break
        known |= {name[5:]: known[name] for name in list(known) if name.startswith("next_")}
    known |= {name: known["turns"] for name, text in steps if text == "turns"}


def recurrence(r, x):
    for _ in range(101):
        x = r * x * (1.0 - x) + 0.01 * np.sin(r)
    return x


def root(a):
    x = a
    while abs(x * x - a) > 1e-9:
        x = 0.5 * (x + a / x)
    return x


def field(x, w):
    for _ in range(101):
        x = np.tanh(x @ w)
    return x


@pytest.mark.parametrize(
    ("f", "calls"),
    [
        (ad.grad(recurrence, (0, 1)), [(3.7, 0.3), (3.8, 0.4), (3.9, 0.7)]),
        (ad.value_and_grad(root), [(2.0,), (3.0,), (5.0,), (7.5,)]),
        (ad.grad(lambda x, w: np.sum(field(x, w)), (0, 1)), [MATRICES] * 3),
    ],
    ids=["in registers", "by a condition", "by kernels"],
)
def test_what_is_said_of_turns_computes_the_result(f, calls):
    compiled = ad.compile(f, wait=True)
    for call in calls:
        wanted = compiled(*call)
    plan = compiled.plan
    assert plan.count("loop") == 2, plan
    names = [value.name for value in plan.values if value.name.startswith("result")]
    arguments = dict(zip(re.findall(r"\w+", _arguments(f)), calls[-1], strict=True))
    known = run(plan, arguments)
    for name, value in zip(names, wanted, strict=True):
        np.testing.assert_allclose(known[name], value, rtol=1e-10)


def _arguments(f):
    return " ".join(inspect.signature(f).parameters)


def rows_of_neighbours(x):
    y = np.zeros(50)
    for i in range(40):
        for j in range(30):
            y[i] = y[i] + x[j] * y[j]
    return np.sum(y**2)


def test_loops_in_loops_have_frames_in_frames():
    compiled = ad.compile(rows_of_neighbours, wait=True)
    for _ in range(3):
        compiled(np.linspace(0.0, 1.0, 50))
    (row,) = [row for row in compiled.plan.rows if row.by == "loop"]
    said = [text for deep, text in row.turns if deep == 0] + [text for deep, text in row.turns if deep == 1]
    assert said[0] == "40 turns i = 0 … 39"
    assert "30 turns j = 0 … 29" in said
    inside = [text for deep, text in row.turns if deep == 2]
    said_of = re.compile(r"next (t\d+) = \1\.flat\[c1\] := \1\.flat\[c1\] \+ x\.flat\[(c\d)\] \* \1\.flat\[\2\]")
    assert any(said_of.fullmatch(text) for text in inside), inside
    scene = plan_scene(compiled.plan, "f")
    texts = {shape.text: shape for shape in scene.shapes if isinstance(shape, Text)}
    frames = [shape for shape in scene.shapes if isinstance(shape, Rect) and shape.fill == "none" and shape.x < MAP - 1]
    outer, inner = sorted(frames, key=lambda frame: frame.x)
    assert inner.x - outer.x == STEP_IN
    for frame, title, last in ((outer, said[0], said[-1]), (inner, "30 turns j = 0 … 29", inside[-1])):
        assert frame.y < texts[title].y - 8
        assert texts[last].y < frame.y + frame.height
        assert frame.x < texts[title].x == FORMULA + STEP_IN * (frame is inner)
    assert outer.y < inner.y
    assert inner.y + inner.height <= outer.y + outer.height
    assert inner.x + inner.width <= outer.x + outer.width


def test_arrays_say_whether_they_are_carried_or_kept_of_each_turn():
    compiled = ad.compile(ad.grad(recurrence, (0, 1)), wait=True)
    for call in ((3.7, 0.3), (3.8, 0.4), (3.9, 0.7)):
        compiled(*call)
    of_loops = [value for row in compiled.plan.rows if row.by == "loop" for value in row.writes]
    stacked = [value for value in of_loops if value.what == "stacked"]
    carried = [value for value in of_loops if value.what == "carried"]
    assert stacked
    assert carried
    assert len(stacked) + len(carried) == len(of_loops)
    assert all(value.holds == "float64" for value in carried)
    assert all(re.fullmatch(r"float64\[\d\d+\]", value.holds) for value in stacked)
    said = [shape.text for shape in plan_scene(compiled.plan, "f").shapes if isinstance(shape, Text)]
    assert {"carried from turn to turn", "a row for each turn"} <= {*said}
