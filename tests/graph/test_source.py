"""A graph written as NumPy source, run: what the graph gives, bit for bit."""

import re

import numpy as np
import pytest

import adjoint as ad
from adjoint import nn
from adjoint.graph.text.source import identifier


def function_of(graph):
    namespace = {}
    exec(graph.to_source(), namespace)
    return namespace[identifier(graph.name)]


def test_a_graph_as_a_function():
    def f(x, y):
        return np.sin(x) * y, (x @ y) ** 2

    x, y = np.linspace(0, 1, 5), np.linspace(1, 2, 5)
    graph = ad.capture(f, x, y)
    for a, b in zip(function_of(graph)(x, y), graph(x, y), strict=True):
        assert np.array_equal(a, b)
    assert graph.to_source().startswith("import numpy as np\n\n\ndef f(x, y):\n")


def test_leaves_of_trees_are_parameters():
    graph = ad.capture(lambda p, q: p["w"] @ p["list"][0] + q, {"w": np.ones(2), "list": [np.ones(2)]}, 1.0)
    assert re.search(r"^def f\(p_list_0, p_w, q\):$", graph.to_source(), re.MULTILINE)


def test_names_that_are_taken():
    graph = ad.capture(lambda np_, v1, x: np_ * v1 + x, 1.0, 2.0, 3.0)
    assert function_of(graph)(2.0, 3.0, 4.0) == 10.0

    def f(a, b):
        return a["x y"] * a["x-y"] + b

    assert function_of(ad.capture(f, {"x y": 2.0, "x-y": 3.0}, 1.0))(3.0, 2.0, 1.0) == 7.0
    assert identifier("class") == "_class"
    assert identifier("0.weight") == "_0_weight"
    assert identifier("<lambda>") == "f"


def test_the_program_of_a_training_step_gives_its_new_state():
    rng = np.random.default_rng(0)
    net = nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 2))
    optimizer = ad.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    x, labels = rng.normal(size=(6, 4)), rng.integers(0, 2, 6)

    def step(x, labels):
        loss = nn.functional.cross_entropy(net(x), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    graph = ad.capture(step, x, labels)
    given = [x, labels, *graph.state.read()]
    loss, new = function_of(graph)(*[np.array(a) for a in given])
    expected = graph.run([np.array(a) for a in given])
    assert np.array_equal(loss, expected[0])
    assert set(new) >= {"0.weight", "0.bias", "2.weight", "2.bias"}
    for value, wanted in zip(new.values(), expected[1:], strict=True):
        assert np.asarray(value).tobytes() == np.asarray(wanted).tobytes()


def test_a_program_that_asked_for_values_asks_again():
    run = function_of(ad.capture(lambda x: np.sin(x) if x > 0 else np.cos(x), 1.0))
    assert run(2.0) == np.sin(2.0)
    with pytest.raises(AssertionError):
        run(-2.0)


def test_precision_is_kept():
    x = np.linspace(0.1, 1, 7, dtype=np.float32)
    for f in (lambda x: x * 1.1 + np.sqrt(x) / 3, lambda x: np.float64(1.1) * x, lambda x: x.astype(np.float16) * 2):
        graph = ad.capture(f, x)
        found, expected = function_of(graph)(x), graph(x)
        assert found.dtype == expected.dtype
        assert found.tobytes() == expected.tobytes()
    graph = ad.capture(lambda a, x: (a * 1.7 - 1) * x, 0.3, x)
    assert function_of(graph)(0.3, x).tobytes() == graph(0.3, x).tobytes()


def test_division_by_zero_is_numpys():
    with np.errstate(divide="ignore"):
        assert function_of(ad.capture(lambda x, y: np.divide(x, y), 1.0, 2.0))(1.0, 0.0) == np.inf


def test_division_by_zero_of_pythons_is_an_error():
    graph = ad.capture(lambda x, y: x / y, 1.0, 2.0)
    with pytest.raises(ad.GraphError, match="bool"):
        graph(1.0, 0.0)
    with pytest.raises(AssertionError):
        function_of(graph)(1.0, 0.0)
