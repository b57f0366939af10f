"""The worked examples of `tests/golden/sources.json`, out of captured Python functions."""

import json
from pathlib import Path

import numpy as np
import pytest

import adjoint as ad
from adjoint import capture

SOURCES = json.loads((Path(__file__).parents[1] / "golden" / "sources.json").read_text())

FUNCTIONS = {
    "(x+y)+x*(x+y)": lambda x, y: (x + y) + x * (x + y),
    "(x+1)*(x+y)": lambda x, y: (x + 1) * (x + y),
    "2*A+B": lambda A, B: 2 * A + B,
    "2*A*B": lambda A, B: 2 * A * B,
    "2*A-B": lambda A, B: 2 * A - B,
    "A/B": lambda A, B: A / B,
    "(A+B)+A+(A+B)": lambda A, B: (A + B) + A + (A + B),
    "(A+B)+2*(B*A)*(A+B)*(B*A)": lambda A, B: (A + B) + 2 * (B * A) * (A + B) * (B * A),
    "x*x+y*y+z*z": lambda x, y, z: x * x + y * y + z * z,
    "(a*b+c)*(d*e+c)": lambda a, b, c, d, e: (a * b + c) * (d * e + c),
    "((x*y)+z)*((x*y)+z)": lambda x, y, z: ((x * y) + z) * ((x * y) + z),
    "-x^2": lambda x: -(x**2),
    "2^3^2": lambda: 2**3**2,
    "a-b-c": lambda a, b, c: a - b - c,
    "1e-3*x": lambda x: 1e-3 * x,
}
EXPRESSIONS = {case["text"]: case for case in SOURCES["expressions"]}
TOLERANCE = {"rtol": 1e-9, "atol": 1e-9}


def test_every_expression_is_written_as_a_function():
    assert FUNCTIONS.keys() == EXPRESSIONS.keys()


@pytest.mark.parametrize("text", FUNCTIONS)
@pytest.mark.parametrize("kind", [float, np.float64, lambda x: np.array([x])])
def test_expressions(text, kind):
    """Captured at other values than they are run at; the gradient is captured too, and taken of the graph."""
    f, case = FUNCTIONS[text], EXPRESSIONS[text]
    state = [kind(float(x)) for x in case["state"].values()]
    elsewhere = [kind(0.3 + k) for k in range(len(state))]
    graph = capture(f, *elsewhere)
    graph.verify()
    for one in (graph, graph.rewritten()):
        one.verify()
        np.testing.assert_allclose(one(*state), np.full(np.shape(one(*state)), case["value"]), **TOLERANCE)
    if "unique_nodes" in case:
        assert len(graph) == case["unique_nodes"]
    if not state:
        return

    def total(*args):
        return np.sum(f(*args))

    by = tuple(range(len(state)))
    expected = list(case["gradient"].values())
    captured = capture(ad.grad(total, by), *elsewhere)
    captured.verify()
    for gradient in (captured(*state), captured.rewritten()(*state), ad.grad(capture(total, *elsewhere), by)(*state)):
        np.testing.assert_allclose(np.ravel(gradient), expected, **TOLERANCE)


def test_many_states():
    case = SOURCES["many_states"]
    states = [np.array(case["states"][name], float) for name in "AB"]
    graph = capture(lambda A, B: (A + B) + A * (A + B), *map(np.zeros_like, states))
    np.testing.assert_array_equal(graph(*states), case["values"])
    one = capture(lambda A, B: (A + B) + A * (A + B), 0.0, 0.0)
    np.testing.assert_array_equal(ad.vmap(one)(*states), case["values"])


def test_quadratic_with_every_intermediate():
    case = SOURCES["quadratic"]

    def f(x, y):
        steps = {"x^2": x**2, "x*y": x * y, "y^2": y**2}
        steps |= {"3*x^2": 3 * steps["x^2"], "5*y^2": 5 * steps["y^2"]}
        return steps["3*x^2"] + steps["x*y"] + steps["5*y^2"], steps

    def backward(x, y):
        x, y = (ad.tensor(v, requires_grad=True) for v in (x, y))
        total, steps = f(x, y)
        for step in steps.values():
            step.retain_grad()
        total.backward()
        return total, {"x": x.grad, "y": y.grad}, {name: step.grad for name, step in steps.items()}

    state = [float(v) for v in case["state"].values()]
    value, steps = capture(f, 0.1, 0.2)(*state)
    assert value == case["value"]
    assert steps == case["intermediates"]
    value, gradient, cotangents = capture(backward, 0.1, 0.2)(*state)
    assert value.item() == case["value"]
    assert {name: g.item() for name, g in gradient.items()} == case["gradient"]
    assert {name: g.item() for name, g in cotangents.items()} == case["cotangents"]


def test_staged():
    case = SOURCES["staged"]

    def f(x, y):
        return (x + ad.sigmoid(y)) / (ad.sigmoid(x) + (x + y) ** 2)

    state = [float(v) for v in case["state"].values()]
    graph = capture(ad.value_and_grad(f, (0, 1)), 0.1, 0.2)
    graph.verify()
    value, gradient = graph(*state)
    assert value == pytest.approx(case["value"], abs=case["tolerance"])
    assert gradient == pytest.approx(tuple(case["gradient"].values()), abs=case["tolerance"])
