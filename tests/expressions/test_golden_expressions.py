"""The worked examples of `tests/golden`: out of strings, of captured Python functions, and of eager tensors alike."""

import json
from pathlib import Path

import numpy as np
import pytest

import adjoint as ad

SOURCES = json.loads((Path(__file__).parents[1] / "golden" / "sources.json").read_text())
SINGLE = [
    *SOURCES["expressions"],
    {"text": SOURCES["quadratic"]["expression"], **SOURCES["quadratic"]},
    {"text": SOURCES["staged"]["expression"], **SOURCES["staged"]},
]


def python(case):
    """The same formula as a Python function of the state's names."""
    names = ", ".join(case["state"])
    return eval(f"lambda {names}: {case['text'].replace('^', '**')}", {"sigmoid": ad.sigmoid})


def by_string(case):
    return ad.expr(case["text"]).value_and_gradient(**case["state"])


def by_capture(case):
    f, state = python(case), [float(x) for x in case["state"].values()]
    if not state:
        return f(), {}
    graph = ad.capture(ad.value_and_grad(f, argnums=tuple(range(len(state)))), *state)
    graph.verify()
    value, gradient = graph(*state)
    return value, dict(zip(case["state"], gradient, strict=True))


def by_tensors(case):
    state = {name: ad.tensor(float(x), requires_grad=True) for name, x in case["state"].items()}
    value = python(case)(**state)
    if not state:
        return value, {}
    value.backward()
    return value.item(), {name: x.grad.item() for name, x in state.items()}


@pytest.mark.parametrize("way", [by_string, by_capture, by_tensors])
@pytest.mark.parametrize("case", SINGLE, ids=lambda case: case["text"])
def test_value_and_gradient(case, way):
    tolerance = case.get("tolerance", 1e-12)
    value, gradient = way(case)
    assert value == pytest.approx(case["value"], rel=tolerance, abs=tolerance)
    assert gradient == {name: pytest.approx(x, rel=tolerance) for name, x in case["gradient"].items()}


@pytest.mark.parametrize("case", [c for c in SINGLE if "unique_nodes" in c], ids=lambda case: case["text"])
def test_counts_of_nodes(case):
    e = ad.expr(case["text"])
    assert (len(e.nodes), e.tree_size) == (case["unique_nodes"], case["tree_nodes"])


@pytest.mark.parametrize("key", ["quadratic", "staged"])
def test_every_intermediate_and_cotangent(key):
    case = SOURCES[key]
    if key == "staged":
        text = (
            "sigy = sigmoid(y); num = x + sigy; sigx = sigmoid(x); xpy = x + y; xpysqr = xpy^2; den = sigx + xpysqr\n"
            "invden = 1/den; num*invden"
        )
        parts = {
            "sigy": "sigmoid(y)", "num": "x + sigmoid(y)", "sigx": "sigmoid(x)", "xpy": "x + y",
            "xpysqr": "(x + y)^2", "den": "sigmoid(x) + (x + y)^2", "invden": "1/(sigmoid(x) + (x + y)^2)",
        }  # fmt: skip
    else:
        text, parts = case["expression"], {name: name for name in case["intermediates"]}
    e = ad.expr(text)
    slopes = e.cotangents()
    for name, value in case["intermediates"].items():
        assert ad.expr(parts[name], e.variables)(**case["state"]) == pytest.approx(value, rel=1e-8)
    for name, value in case["cotangents"].items():
        (node,) = ad.expr(parts[name]).roots
        assert slopes[node](**case["state"]) == pytest.approx(value, rel=1e-8), name


def test_many_states():
    case = SOURCES["many_states"]
    e = ad.expr(case["text"])
    states = {name: np.array(x, float) for name, x in case["states"].items()}
    np.testing.assert_array_equal(e(**states), case["values"])
    np.testing.assert_array_equal(e(np.stack([states[n] for n in e.variables], axis=1)), case["values"])
    graph = ad.capture(lambda A, B: (A + B) + A * (A + B), *states.values())
    np.testing.assert_array_equal(graph(*states.values()), case["values"])
    A, B = (ad.tensor(x, requires_grad=True) for x in states.values())
    np.testing.assert_array_equal(((A + B) + A * (A + B)).numpy(), case["values"])


@pytest.mark.parametrize("case", SOURCES["postfix"], ids=lambda case: case["infix"])
def test_postfix(case):
    assert ad.expr(case["infix"]).postfix == case["postfix"]


def test_nodes_are_known_by_their_inputs_not_by_their_labels():
    """Both sums are `+` of a product and c; merged by label they would be one."""
    e = ad.expr("(a*b+c)*(d*e+c)")
    left, right = e.roots[0].args
    assert left is not right
    assert len(e.nodes) == 10
    state = {"a": 2, "b": 3, "c": 5, "d": 7, "e": 11}
    assert e.gradient(**state) == {"a": 246, "b": 164, "c": 93, "d": 121, "e": 77}


def test_a_node_that_is_both_inputs_gives_both_their_shares():
    e = ad.expr("((x*y)+z)*((x*y)+z)")
    left, right = e.roots[0].args
    assert left is right
    assert e.gradient(x=2, y=3, z=5) == {"x": 66, "y": 44, "z": 22}
    assert e.hessian(x=2, y=3, z=5).tolist() == [[18, 34, 6], [34, 8, 4], [6, 4, 2]]
