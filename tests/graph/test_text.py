"""The listing of a graph."""

import re

import numpy as np

import adjoint as ad


def lines(graph):
    return [re.sub(r" +# \S+\.py:\d+$", "", line) for line in str(graph).splitlines()]


def test_a_line_for_each_value():
    def f(x, w):
        y = np.tanh(x @ w)
        return np.sum(y[1:], axis=0), y

    graph = ad.capture(f, np.ones((3, 2)), np.ones((2, 2), np.float32))
    assert lines(graph) == [
        "f(x: float64[3, 2], w: float32[2, 2]):",
        "  let v1: float64[3, 2] = matmul(x, w)",
        "  let v2: float64[3, 2] = tanh(v1)",
        "  let v3: float64[2, 2] = getitem(v2, index=slice(1, None, None))",
        "  let v4: float64[2] = reduce_sum(v3, axis=0)",
        "  return v4, v2",
    ]
    assert re.search(r"tanh\(v1\) +# \S*test_text\.py:16$", str(graph), re.MULTILINE)


def test_constants_have_lines_of_their_own():
    table = np.arange(20.0).reshape(2, 10)
    graph = ad.capture(lambda x: np.sum(x * table) + x @ np.zeros(10) + x @ np.array([1.0, 2.0] * 5), np.ones(10))
    constants = [line for line in lines(graph) if line.startswith("  const")]
    assert "  const c1: float64[2, 10] = [[ 0., 1., ..., 8., 9.], [10., 11., ..., 18., 19.]]" in constants
    assert "  const c2: float64[10] = all 0.0" in constants
    assert len(constants) == 3
    assert not [line for line in lines(ad.capture(lambda x: 2 * x + 1, 1.0)) if "const" in line]


def test_guards_and_state_are_listed():
    w = ad.tensor([1.0, 2.0], requires_grad=True)

    def step(x):
        loss = np.sum(w * x)
        if loss > 0:
            loss.backward()
        return loss

    graph = ad.capture(step, np.array([3.0, 4.0]))
    text = lines(graph)
    assert any(re.fullmatch(r"  where bool\(v\d+\) is True", line) for line in text)
    assert any(line.startswith("  write ") and line.split(" = ")[0].endswith(".grad") for line in text)
    assert text[-1].startswith("  return ")


def test_repetitions_of_long_graphs_are_listed_once():
    def f(x):
        for i in range(60):
            x = np.tanh(x * 2.0 + i) - np.cos(x)
        return x

    graph = ad.capture(f, np.ones(3))
    text = lines(graph)
    assert len(text) < 30
    (told,) = [line for line in text if "…" in line]
    assert re.fullmatch(r"  … the 5 lines above, \d\d times more, up to v\d+", told)
    assert text[-1] == f"  return v{len([n for n in graph.nodes if n.kind == 'call'])}"
    short = ad.capture(lambda x: f(x) if False else np.tanh(np.tanh(x)), np.ones(3))
    assert "…" not in str(short)
