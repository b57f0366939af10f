"""Long programs made short, and what is left out said."""

import numpy as np
import pytest

import adjoint as ad
from adjoint import nn
from adjoint.graph.loops.repeats import runs

rng = np.random.default_rng(0)
PARAMETERS = {name: 0.3 * rng.normal(size=shape) for name, shape in
              [("u", (4, 4)), ("w", (3, 4)), ("v", (4, 4)), ("q", (3, 4)), ("b", 4)]}  # fmt: skip


def gated(p, xs):
    h = np.zeros((2, 4))
    for x in xs:
        gate = 1 / (1 + np.exp(-(x @ p["w"] + h @ p["u"])))
        h = gate * h + (1 - gate) * np.tanh(x @ p["q"] + h @ p["v"] + p["b"])
    return np.mean(h**2)


XS = rng.normal(size=(50, 2, 3))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("aaaaaaaaaaaa", [(0, 1, 12)]),
        ("abcabcabcabcabc", [(0, 3, 5)]),
        ("xyabcabcabcabcabcz", [(2, 3, 5)]),
        ("abcdeabcdefabcdeg", []),
        ("aaabbb", []),
        ("aaaaaaaaaabcbcbcbcbcbc", [(0, 1, 10), (10, 2, 6)]),
    ],
)
def test_runs(text, expected):
    assert runs([ord(letter) for letter in text]) == expected


def test_a_recurrent_network_is_one_step():
    picture = ad.show(gated, at=(PARAMETERS, list(XS)))
    vertices = list(picture.diagram.vertices.values())
    steps = [v for v in vertices if v.times > 1 and v.kind == "call"]
    assert {v.times for v in steps} == {50}
    assert [v.label for v in steps].count("@") == 4
    assert len(steps) == 16
    again = [v for v in vertices if v.kind == "again"]
    assert len(again) == 1, "the state is what a step gets from the one before"
    (start,) = again[0].inputs
    assert picture.diagram.vertices[start].kind == "constant"
    assert picture.text.count("50: of so many equal steps of 16 operations") == 1
    assert "49 values that only repetitions use are not shown" in picture.text
    assert {v.name for v in vertices if v.kind == "input"} == {"xs[49]", *(f"p['{k}']" for k in PARAMETERS)}


def test_so_is_a_recurrent_loss_on_the_tape():
    p = {name: ad.tensor(value, requires_grad=True) for name, value in PARAMETERS.items()}
    picture = ad.show(gated(p, list(XS)), names=p)
    steps = [v for v in picture.diagram.vertices.values() if v.times > 1 and v.kind == "call"]
    assert steps
    assert min(v.times for v in steps) >= 48
    assert len(picture.diagram.vertices) < 45
    grads = {v.name: v.cotangent for v in picture.diagram.vertices.values() if v.kind == "input"}
    assert set(grads) == set(p)
    assert all(grads.values())


def test_the_backward_pass_is_folded_too():
    graph = ad.capture(ad.grad(gated), PARAMETERS, XS)
    picture = ad.show(graph)
    assert len(graph) > 1500
    assert len(picture.diagram.vertices) < 140
    assert {v.times for v in picture.diagram.vertices.values()} >= {1, 50}
    assert max(len(v.inputs) for v in picture.diagram.vertices.values()) < 10


def test_doublings_are_one():
    x = ad.tensor(1.0, requires_grad=True)
    y = x
    for _ in range(60):
        y = y + y
    picture = ad.show(y, names={"x": x})
    assert len(picture.diagram.vertices) == 3
    (plus,) = [v for v in picture.diagram.vertices.values() if v.label == "+"]
    assert plus.times == 60
    assert plus.value == f"{2.0**60:.4g}"


def test_short_programs_are_shown_whole():
    f = ad.capture(lambda x: np.sum(np.exp(-np.sin(x) * 2) + 1), np.ones(3))
    assert ad.show(f).text == ad.show(f, fold=False).text
    assert not ad.show(f).diagram.notes


def test_chains_are_one_in_long_programs():
    functions = [np.sin, np.exp, np.tanh, np.cos, np.arctan, np.square]
    orders = [rng.permutation(6)[: rng.integers(2, 6)] for _ in range(25)]

    def f(x):
        total = 0.0
        for i, order in enumerate(orders):
            y = x[i]
            for k in order:
                y = functions[k](y)
            total = total * y
        return total

    picture = ad.show(f, at=(np.ones(25),))
    labels = [v.label for v in picture.diagram.vertices.values()]
    assert len([label for label in labels if label.count(" → ") >= 1]) > 15
    whole = ad.show(f, at=(np.ones(25),), fold=False)
    folded = len(whole.diagram.vertices) - len(picture.diagram.vertices)
    assert folded >= sum(len(order) - 1 for order in orders)
    assert f"{folded} values within chains of elementwise operations (→) are not shown" in picture.text


class Mixing(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.weight = nn.Parameter(np.linspace(-1, 1, n * n).reshape(n, n))
        self.n = n

    def forward(self, x):
        h = x[..., : self.n] @ self.weight
        g = np.tanh(h) * (1 + h**2)
        return g / (1 + np.exp(-g)) - h


def test_modules_of_ones_own_are_one_box_in_long_programs():
    net = nn.Sequential(*(Mixing(n) for n in (9, 8, 7, 6, 5, 4)))
    x = np.ones((2, 9))
    with ad.source_lines():
        loss = np.mean(net(x) ** 2)
    for picture in (ad.show(loss, names=net), ad.show(ad.capture(lambda x: np.mean(net(x) ** 2), x))):
        vertices = list(picture.diagram.vertices.values())
        assert [v.label for v in vertices].count("Mixing") == 6
        assert not any("tanh" in v.label for v in vertices)
        assert {v.name for v in vertices if v.kind == "input"} >= {f"{i}.weight" for i in range(6)}
        assert "values within modules are not shown" in picture.text


def test_unfolded_pictures_are_cut_and_say_so():
    graph = ad.capture(gated, PARAMETERS, XS)
    picture = ad.show(graph, fold=False, limit=50)
    kept = [v for v in picture.diagram.vertices.values() if v.kind != "more"]
    assert len(kept) == 50
    whole = len(ad.show(graph, fold=False, limit=10**6).diagram.vertices)
    assert f"{whole - 50} values farther from the result are left out (…): limit={whole} shows them" in picture.text
    assert any(v.kind == "more" for v in picture.diagram.vertices.values())


def test_a_long_chain_is_shown_without_recursion():
    def f(x):
        for i in range(3000):
            x = np.sin(x) if i % 7 in (0, 3) else x * 1.5 if i % 5 else np.cos(x + i)
        return x

    graph = ad.capture(f, 0.3)
    for fold in (True, False):
        picture = ad.show(graph, fold=fold, limit=5000)
        assert picture.text
        assert picture.svg
