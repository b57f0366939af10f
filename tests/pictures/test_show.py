"""Pictures of losses, graphs, expressions and functions: what they say, and in which forms."""

import builtins
import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest

import adjoint as ad
from adjoint import nn
from adjoint.pictures.diagram import number, summary
from adjoint.pictures.picture import Picture

SVG = "{http://www.w3.org/2000/svg}"


def circuit():
    x, y, z = (ad.tensor(v, requires_grad=True) for v in (-2.0, 5.0, -4.0))
    return x * y + z, {"x": x, "y": y, "z": z}


def staged(x, y):
    sigmoid = 1 / (1 + np.exp(-y))
    return (x + sigmoid) / (1 / (1 + np.exp(-x)) + (x + y) ** 2)


def lines(picture):
    """The text without the column of source lines."""
    return [re.sub(r"  \S+\.py:\d+$", "", line).rstrip() for line in picture.text.splitlines()]


def test_the_classic_circuit():
    loss, names = circuit()
    picture = ad.show(loss, names=names)
    assert lines(picture) == [
        "loss     holds    value  cotangent",
        "+        float64  -14    1",
        "├─ \N{MULTIPLICATION SIGN}     float64         1",
        "│  ├─ x  float64  -2     5",
        "│  └─ y  float64  5      -2",
        "└─ z     float64  -4     1",
    ]
    assert all(t.grad is None for t in names.values()), "looking adds to no gradient"


def test_a_function_at_its_arguments():
    picture = ad.show(staged, at=(3.0, -4.0))
    value, (dx, dy) = ad.value_and_grad(staged, (0, 1))(3.0, -4.0)
    known = {v.name: v for v in picture.diagram.vertices.values()}
    assert known["x"].cotangent == f"{dx:.4g}"
    assert known["y"].cotangent == f"{dy:.4g}"
    (root,) = picture.diagram.outputs
    assert picture.diagram.vertices[root].value == f"{value:.4g}"
    assert all(v.value and v.cotangent for v in known.values())
    assert all(re.search(r"test_show\.py:\d+$", v.line) for v in known.values() if v.kind == "call")


def test_the_quadratic_is_one_picture_from_a_string_a_function_and_tensors():
    def f(x, y):
        return 3 * x**2 + x * y + 5 * y**2

    x, y = (ad.tensor(v, requires_grad=True) for v in (2.0, 3.0))
    shown = [
        ad.show(f, at=(2.0, 3.0)),
        ad.show(ad.expr("3*x^2 + x*y + 5*y^2"), at={"x": 2.0, "y": 3.0}),
        ad.show(ad.expr("3*x^2 + x*y + 5*y^2"), at=(2.0, 3.0)),
        ad.show(f(x, y), names={"x": x, "y": y}),
    ]
    for picture in shown:
        vertices = list(picture.diagram.vertices.values())
        assert {v.name: v.cotangent for v in vertices if v.kind == "input"} == {"x": "15", "y": "32"}
        assert sorted(v.label for v in vertices) == sorted(
            [
                "x",
                "y",
                "^ 2",
                "^ 2",
                "3 \N{MULTIPLICATION SIGN}",
                "5 \N{MULTIPLICATION SIGN}",
                "\N{MULTIPLICATION SIGN}",
                "+",
                "+",
            ]
        )
        assert vertices[-1].value == "63"


def test_whole_numbers_in_formulas_and_in_programs():
    picture = ad.show(ad.expr("(a*b+c)*(d*h+c)"), at={"a": 1, "b": 2, "c": 3, "d": 4, "h": 5})
    found = {v.name: v.cotangent for v in picture.diagram.vertices.values() if v.kind == "input"}
    assert found == {"a": "46", "b": "23", "c": "28", "d": "25", "h": "20"}
    assert len(picture.diagram.vertices) == 10
    counted = ad.show(lambda n: n * n, at=(np.array(3),))
    assert "no cotangents" in counted.text


def test_a_graph_without_arguments_has_no_values():
    graph = ad.capture(staged, 3.0, -4.0)
    picture = ad.show(graph)
    assert not any(v.value or v.cotangent for v in picture.diagram.vertices.values())
    assert "value" not in picture.text.splitlines()[0]
    with pytest.raises(ad.ArgumentError):
        ad.show(graph, at=(3.0,))


def test_one_value_is_one_vertex():
    graph = ad.capture(lambda x, y: (x + y) + x * (x + y), 1.0, 2.0)
    text = ad.show(graph).text
    assert text.count("v1 = +") == 1
    assert text.count("v1 (above)") == 1
    assert len(ad.show(graph).diagram.vertices) == 5


def test_where_a_program_asks_values_its_picture_is_of_these():
    graph = ad.capture(lambda x: np.sin(x) if x > 0 else np.cos(x), 1.0)
    assert ad.show(graph, at=(2.0,)).diagram.vertices
    with pytest.raises(ad.AdjointError, match="bool"):
        ad.show(graph, at=(-2.0,))


def test_a_network_and_its_training_step():
    rng = np.random.default_rng(0)
    net = nn.Sequential(nn.Linear(6, 5), nn.ReLU(), nn.Linear(5, 3))
    x, labels = rng.normal(size=(8, 6)), rng.integers(0, 3, 8)
    picture = ad.show(nn.functional.cross_entropy(net(x), labels), names=net)
    inputs = {v.name: v for v in picture.diagram.vertices.values() if v.kind == "input"}
    assert set(inputs) == {name for name, _ in net.named_parameters()}
    assert inputs["0.weight"].holds == "float64[5, 6]"
    optimizer = ad.optim.SGD(net.parameters(), lr=0.1)

    def step(x, labels):
        loss = nn.functional.cross_entropy(net(x), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    picture = ad.show(ad.capture(step, x, labels), at=(x, labels))
    results = [v.result for v in picture.diagram.vertices.values() if v.result]
    assert {"0.weight", "0.bias", "2.weight", "2.bias", "2.bias.grad"} <= set(results)
    assert "2.bias.grad ← sum axis=0" in picture.text
    assert not any(p.grad is not None for p in net.parameters()), "looking trains nothing"


def test_cotangents_leave_kept_gradients_hooks_and_the_graph_as_they_are():
    x = ad.tensor([1.0, 2.0], requires_grad=True)
    h = np.sin(x)
    h.retain_grad()
    loss = np.sum(h * h)
    ad.show(loss)
    assert h.grad is None
    loss.backward()
    np.testing.assert_allclose(h.grad.numpy(), 2 * np.sin([1.0, 2.0]))
    before = x.grad.numpy().copy()
    ad.show(loss)
    assert np.array_equal(x.grad.numpy(), before)


def test_what_cannot_be_known_is_said():
    x = ad.tensor([1.0, 2.0], requires_grad=True)
    y = np.exp(x) * 3.0
    assert "no cotangents: the tensor has shape (2,); gradient= says what to start from" in ad.show(y).text
    assert "[3, 3]" in ad.show(y, gradient=np.ones(2)).text
    loss = np.sum(y)
    loss.backward(retain_graph=False)
    assert "freed" in ad.show(loss).text
    w = ad.tensor([1.0, 2.0], requires_grad=True)
    product = np.sum(w * w)
    with ad.no_grad():
        w += 1.0
    assert "no cotangents: the gradient of multiply needs" in " ".join(ad.show(product).text.split())


def test_nothing_to_draw():
    with pytest.raises(ad.GradientError, match="requires_grad=True"):
        ad.show(ad.tensor(1.0))
    with pytest.raises(ad.ArgumentError, match=r"ad\.show\(f, at="):
        ad.show(np.sin)
    with pytest.raises(ad.ArgumentError, match="got list"):
        ad.show([1, 2])
    with pytest.raises(ad.ArgumentError, match="lacks a value for y; the variables of the expression are x, y"):
        ad.show(ad.expr("x*y"), at={"x": 1.0})
    with pytest.raises(ad.ArgumentError, match="names z; the variables of the expression are x"):
        ad.show(ad.expr("x*x"), at={"x": 1.0, "z": 2.0})
    for at in (3.0, (1.0,)):
        with pytest.raises(ad.ArgumentError, match="one value a variable"):
            ad.show(ad.expr("x*y"), at=at)
    with pytest.raises(ad.ArgumentError, match="got float"):
        ad.show(lambda x: x * x, at=2.0)


def test_svg_is_xml_that_holds_everything():
    loss, names = circuit()
    root = ET.fromstring(ad.show(loss, names=names).svg)
    texts = {t.text: t for t in root.iter(f"{SVG}text")}
    assert {"x", "y", "z", "+", "\N{MULTIPLICATION SIGN}", "-14", "-2", "5", "-4", "1"} <= set(texts)
    assert len(list(root.iter(f"{SVG}path"))) == 4 + 5  # a wire for each use, and what leaves each box
    assert len(list(root.iter(f"{SVG}title"))) == 5
    assert texts["-14"].get("fill") != texts["z"].get("fill")
    width, height = float(root.get("width")), float(root.get("height"))
    assert all(0 < float(t.get("x")) < width and 0 < float(t.get("y")) < height for t in texts.values())
    greens = [t for t in root.iter(f"{SVG}text") if t.get("fill") == "#1a7f37" and t.text == "5"]
    reds = [t for t in root.iter(f"{SVG}text") if t.get("fill") == "#cf222e" and t.text == "-2"]
    assert float(greens[0].get("y")) < float(reds[0].get("y")), "values above, cotangents below"


def test_svg_escapes_what_xml_reads_otherwise():
    x = ad.tensor([1.0, 3.0], requires_grad=True)
    root = ET.fromstring(ad.show(ad.name(np.sum(x), "<a & b>"), names={"p['<w>']": x}).svg)
    assert {"<a & b>", "p['<w>']"} <= {t.text for t in root.iter(f"{SVG}text")}
    root = ET.fromstring(ad.show(np.sum(x), names={"a\x01\x1b\ud800b": x}).svg)
    assert "a\ufffd\ufffd\ufffdb" in {t.text for t in root.iter(f"{SVG}text")}


def test_dot():
    loss, names = circuit()
    dot = ad.show(loss, names=names).dot
    assert dot.startswith('digraph "loss" {')
    assert dot.count(" -> ") == 4
    assert len(re.findall(r"^  n\d+ \[label=<", dot, re.MULTILINE)) == 5
    assert '<font color="#1a7f37">-14</font>' in dot


def test_files_by_ending(tmp_path):
    loss, names = circuit()
    for ending in (".svg", ".dot", ".txt", ".png"):
        ad.show(loss, tmp_path / f"circuit{ending}", names=names)
    picture = ad.show(loss, names=names)
    assert (tmp_path / "circuit.svg").read_text("utf-8") == picture.svg + "\n"
    assert (tmp_path / "circuit.dot").read_text("utf-8") == picture.dot + "\n"
    assert (tmp_path / "circuit.txt").read_text("utf-8") == str(picture) + "\n"
    assert (tmp_path / "circuit.png").read_bytes().startswith(b"\x89PNG")
    ad.show(loss, tmp_path / "plain", "dot", names=names)
    assert (tmp_path / "plain").read_text("utf-8").startswith("digraph")
    with pytest.raises(ad.ArgumentError, match=r"\.svg, \.png, \.dot, \.txt; got 'circuit\.pdf'"):
        ad.show(loss, tmp_path / "circuit.pdf")


def test_png_without_matplotlib_says_what_to_install(monkeypatch):
    load = builtins.__import__

    def without(name, *args, **kwargs):
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return load(name, *args, **kwargs)

    picture = ad.show(circuit()[0])
    monkeypatch.setattr(builtins, "__import__", without)
    assert picture.svg
    with pytest.raises(ad.NotSupportedError, match=r"pip install 'adjoint\[plot\]'"):
        _ = picture.png


def test_notebooks():
    loss, names = circuit()
    picture = ad.show(loss, names=names)
    assert isinstance(picture, Picture)
    assert picture._repr_svg_() == picture.svg
    assert picture.svg in picture._repr_html_()
    graph = ad.capture(staged, 3.0, -4.0)
    page = graph._repr_html_()
    assert page.startswith("<pre>staged(x: float64, y: float64):")
    assert "<svg " in page


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1.0, "1"),
        (np.float64(-1.23456), "-1.235"),
        (True, "True"),
        (3, "3"),
        (1 + 2j, "1+2j"),
        (float("nan"), "nan"),
        (np.array([1.0, -2.5]), "[1, -2.5]"),
        (np.arange(100.0), "0 … 99"),
        (np.full((3, 4), 0.5), "all 0.5"),
        (np.array([True, False, True, True]), "3 of 4 true"),
        (np.array([1.0, np.inf, np.nan, 2.0]), "2 of 4 not finite"),
        (np.zeros((0, 2)), "empty"),
        (np.array([3 + 4j, 0, 0, 1]), "|·| ≤ 5"),
        ((np.zeros(2), np.ones(3)), "2 arrays"),
        (ad.tensor([1.0, 2.0]), "[1, 2]"),
    ],
    ids=str,
)
def test_values_in_short(value, text):
    assert summary(value) == text


def test_numbers():
    assert number(1e-10) == "1e-10"
    assert number(np.float32(0.1)) == "0.1"
    assert number(-np.inf) == "-inf"
