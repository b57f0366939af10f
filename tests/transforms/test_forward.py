"""`jvp`, `linearize`, `hvp`: what goes in and what comes out."""

import numpy as np
import pytest

import adjoint as ad

X, V = np.array([1.0, 2.0, 3.0]), np.array([1.0, 0.0, 2.0])


def test_values_of_any_kind_have_tangents():
    def f(x):
        return {"y": x * 2, "n": [np.argmax(x), x > 1, 3, True], "none": None, "text": "a"}

    value, tangent = ad.jvp(f, (X,), (V,))
    np.testing.assert_array_equal(tangent["y"], 2 * V)
    assert [np.asarray(t).dtype for t in tangent["n"]] == [np.float64] * 4
    assert not any(np.any(t) for t in tangent["n"])
    assert [np.shape(t) for t in tangent["n"]] == [(), (3,), (), ()]
    assert value["none"] is tangent["none"] is tangent["text"] is None


def test_parts_that_do_not_vary():
    np.testing.assert_array_equal(ad.jvp(lambda x, y: x * y, (X, X), (V, None))[1], V * X)
    _, tangent = ad.jvp(
        lambda d: d["a"] * d["b"][d["i"]], ({"a": X, "b": X, "i": 2},), ({"a": V, "b": None, "i": None},)
    )
    np.testing.assert_array_equal(tangent, 3 * V)
    assert ad.jvp(lambda text, x: x * len(text), ("abc", 2.0), (None, 1.0)) == (6.0, 3.0)


def test_auxiliary_values_are_passed_through():
    _, tangent, aux = ad.jvp(lambda x: (x * 2, {"k": x + 1, "s": "hi"}), (X,), (V,), has_aux=True)
    np.testing.assert_array_equal(tangent, 2 * V)
    assert type(aux["k"]) is np.ndarray
    assert aux["s"] == "hi"
    with pytest.raises(ad.ArgumentError, match="has_aux"):
        ad.jvp(lambda x: x, (X,), (V,), has_aux=True)


def test_numbers_are_tangents_too():
    assert ad.jvp(lambda x: x * x, (3.0,), (1,)) == (9.0, 6.0)
    assert ad.jvp(lambda v: v[0] * v[1], ([1.0, 2.0],), ([True, 0.5],))[1] == 2.5
    value, tangent = ad.jvp(np.sin, (X.astype(np.float32),), (V,))
    assert value.dtype == tangent.dtype == np.float32


@pytest.mark.parametrize(
    ("primals", "tangents", "error", "words"),
    [
        (X, V, ad.ArgumentError, "tuple"),
        ((X,), (V, V), ad.ArgumentError, "1 primals and 2 tangents"),
        ((X,), (V[:2],), ad.ShapeError, r"argument 0 has shape \(3,\), its tangent \(2,\)"),
        (([X, X],), ([V],), ad.ArgumentError, "structure"),
        (({"a": X},), ({"b": V},), ad.ArgumentError, "structure"),
        ((np.arange(3),), (V,), ad.DTypeError, "int64"),
        ((X,), (1j * V,), ad.DTypeError, "complex128"),
        ((X,), ("abc",), ad.DTypeError, "its tangent"),
    ],
)
def test_wrong_directions_are_refused(primals, tangents, error, words):
    with pytest.raises(error, match=words):
        ad.jvp(lambda x: x, primals, tangents)


def test_a_linear_map_is_called_many_times():
    calls = []

    def f(x, y):
        calls.append(1)
        return np.sin(x) * y, np.sum(x)

    _, push = ad.linearize(f, X, 2.0)
    for v, w in ((V, 1.0), (X, 0), (V, None)):
        expected = ad.jvp(f, (X, 2.0), (v, w))[1]
        for ours, theirs in zip(push(v, w), expected, strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-14)
    assert len(calls) == 4  # one by linearize, three by jvp
    with pytest.raises(ad.ArgumentError, match="2 tangents"):
        push(V)
    with pytest.raises(ad.ShapeError, match="argument 0"):
        push(V[:2], 1.0)


def test_complex_tangents_follow_both_parts():
    z, v = np.array([1 + 2j, -0.5j]), np.array([0.3 - 1j, 2.0 + 0j])
    for f in (np.sin, np.conj, np.abs, np.angle, lambda z: z * np.conj(z), lambda z: np.real(z) * z):
        h = 1e-6
        expected = (f(z + h * v) - f(z - h * v)) / (2 * h)
        np.testing.assert_allclose(ad.jvp(f, (z,), (v,))[1], expected, rtol=1e-8)
    assert ad.jvp(lambda x: x * (1 + 2j), (1.0,), (3.0,))[1] == 3 + 6j


def test_refusals_of_reverse_mode_hold():
    with pytest.raises(ad.NotDifferentiableError, match="no derivative"):
        ad.jvp(np.spacing, (X,), (V,))
    with pytest.raises(ad.DTypeError, match="real numbers only"):
        ad.jvp(ad.softmax, (X + 1j,), (V + 0j,))


def test_products_with_hessians():
    def f(p):
        return np.sum(np.exp(p["a"]) * p["b"] ** 2)

    p, v = {"a": X, "b": V + 1}, {"a": V, "b": X}
    found = ad.hvp(f, p, v)
    np.testing.assert_allclose(found["a"], np.exp(X) * (V * p["b"] ** 2 + 2 * p["b"] * X))
    np.testing.assert_allclose(found["b"], np.exp(X) * (2 * p["b"] * V + 2 * X))
