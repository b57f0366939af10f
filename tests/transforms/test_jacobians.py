"""jacrev, jacfwd and hessian agree with rows by the pullback, whatever structure they find on the way."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import adjoint as ad
from adjoint.forward.structure import Diagonal

rng = np.random.default_rng(1)
W = rng.normal(size=(4, 3))


def by_rows(f, x):
    value, pullback = ad.vjp(f, x)
    rows = [pullback(row.reshape(np.shape(value)))[0] for row in np.eye(np.size(value))]
    return np.reshape(rows, np.shape(value) + np.shape(x))


PROGRAMS = {
    "elementwise": lambda x: np.where(x > 0, np.sin(x) * np.exp(x) / (1 + x**2), -x),
    "elementwise in place": lambda x: np.sin(x).__imul__(x),
    "a shift added": lambda x: np.roll(x, 1) * x + x,
    "a broadcast": lambda x: x * np.ones((2, 1, 1)),
    "products": lambda x: np.tanh(x @ W) @ W.T,
    "a reduction": lambda x: np.sum(x**2, axis=0),
    "one number": lambda x: np.sum(x**3),
    "not all of it": lambda x: x[0] * 2,
    "a constant": lambda x: np.ones(2),
}


@pytest.mark.parametrize("transform", [ad.jacrev, ad.jacfwd])
@pytest.mark.parametrize("name", PROGRAMS)
def test_against_rows(name, transform):
    f, x = PROGRAMS[name], rng.normal(size=(2, 4))
    found = transform(f)(x)
    expected = by_rows(f, x)
    assert np.shape(found) == expected.shape
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14)
    for size in (1, 3, 100):
        np.testing.assert_allclose(transform(f, chunk_size=size)(x), expected, rtol=1e-12, atol=1e-14)


def test_an_elementwise_program_stays_diagonal():
    kinds = []

    def seen(t):
        kinds.append(type(t))
        return t * 1.0

    spy = ad.general(vjp=lambda g: seen(g), jvp=lambda t: seen(t))

    def spy_on_tangents(a, /):
        return a * 1.0

    spying = spy(spy_on_tangents)
    x = rng.normal(size=5)
    for transform in (ad.jacfwd, ad.jacrev):
        kinds.clear()
        found = transform(lambda x: np.exp(spying(np.sin(x) * x)) - x)(x)
        assert kinds == [Diagonal]
        np.testing.assert_allclose(found, np.diag(np.exp(np.sin(x) * x) * (np.cos(x) * x + np.sin(x)) - 1), rtol=1e-12)


def test_trees_and_other_arguments():
    def f(scale, p):
        return {"y": scale * p["w"] * p["b"], "z": (np.sum(p["w"]), p["b"] ** 2)}

    p = {"w": rng.normal(size=3), "b": 2.0}
    for transform in (ad.jacrev, ad.jacfwd):
        j = transform(f, argnums=1)(3.0, p)
        np.testing.assert_allclose(j["y"]["w"], np.eye(3) * 6)
        np.testing.assert_allclose(j["y"]["b"], 3 * p["w"])
        np.testing.assert_allclose(j["z"][0]["w"], np.ones(3))
        assert j["z"][1]["b"] == 4.0
        assert j["z"][1]["w"].shape == (3,)


def test_derivatives_of_jacobians():
    f = PROGRAMS["a shift added"]
    x = rng.normal(size=(2, 2))

    def total(transform):
        return lambda x: np.sum(transform(f)(x) ** 2)

    expected = ad.grad(total(lambda f: lambda x: np.stack([ad.vjp(f, x)[1](e.reshape(2, 2))[0] for e in np.eye(4)])))(x)
    for transform in (ad.jacrev, ad.jacfwd):
        np.testing.assert_allclose(ad.grad(total(transform))(x), expected, rtol=1e-11)
        np.testing.assert_allclose(ad.jvp(total(transform), (x,), (x,))[1], np.sum(expected * x), rtol=1e-11)


def test_complex():
    z = rng.normal(size=3) + 1j * rng.normal(size=3)
    a = rng.normal(size=(2, 3)) + 1j

    def f(z):
        return a @ z**2

    for transform in (ad.jacrev, ad.jacfwd):
        np.testing.assert_allclose(transform(f)(z), a * 2 * z, rtol=1e-12)


@pytest.mark.parametrize("chunk_size", [None, 2])
@pytest.mark.parametrize("transform", [ad.jacrev, ad.jacfwd])
def test_complex_values_of_real_arguments(transform, chunk_size):
    x = rng.normal(size=3)
    found = transform(lambda x: np.exp(1j * x) * x[0], chunk_size=chunk_size)(x)
    expected = np.diag(1j * np.exp(1j * x) * x[0])
    expected[:, 0] += np.exp(1j * x)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    np.testing.assert_allclose(transform(lambda t: np.exp(1j * t))(0.3), 1j * np.exp(0.3j), rtol=1e-12)
    tree = transform(lambda a: (a["x"] * a["z"], a["x"]), chunk_size=chunk_size)({"x": 2.0, "z": 3j})
    assert tree == ({"x": 3j, "z": 2.0}, {"x": 1.0, "z": 0.0})
    assert transform(lambda x: x * 1j)(np.float32(1.0)).dtype == np.complex64


def test_single_precision_and_empty():
    x = rng.normal(size=3).astype(np.float32)
    for transform in (ad.jacrev, ad.jacfwd, lambda f: ad.hessian(lambda x: np.sum(f(x)))):
        assert transform(np.sin)(x).dtype == np.float32
        assert transform(np.sin)(np.zeros(0)).shape == (0, 0)


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.sampled_from(sorted(set(PROGRAMS) - {"one number", "a constant"})), min_size=1, max_size=3),
    st.integers(0, 99),
)
def test_hessians_of_programs(names, seed):
    def f(x):
        for name in names:
            x = PROGRAMS[name](np.broadcast_to(x, (2, 4)) if np.ndim(x) < 2 else np.reshape(x, (-1, 4))[:2])
        return np.sum(np.sin(x))

    x = np.random.default_rng(seed).normal(size=(2, 4))
    expected = by_rows(ad.grad(f), x)
    np.testing.assert_allclose(ad.hessian(f)(x), expected, rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(ad.hvp(f, x, x), np.tensordot(expected, x, 2), rtol=1e-9, atol=1e-10)


def test_what_is_refused():
    for transform in (ad.jacrev, ad.jacfwd, ad.hessian):
        with pytest.raises(ad.ArgumentError, match=r"one argument, argnums=0 for example; got argnums=\(0, 1\)"):
            transform(lambda x, y: np.sum(x * y), (0, 1))(1.0, 2.0)
        with pytest.raises(ad.ArgumentError, match="at least 1, or None for all at once; got 0"):
            transform(lambda x: np.sum(x**2), chunk_size=0)(np.ones(3))


def test_results_may_be_written_and_are_nobody_elses():
    x, v = np.ones(3), np.ones(3)
    stacks = np.ones((2, 3))
    results = [
        *ad.jvp(lambda x: x, (x,), (v,)),
        *ad.jvp(lambda x: np.broadcast_to(x[:2], (3, 2)), (x,), (v,)),
        ad.vmap(lambda x: x)(stacks),
        ad.vmap(lambda x: 3.0)(stacks),
        ad.vmap(lambda x: x[1:], out_axes=1)(stacks),
        ad.jacrev(np.sum)(x),
        ad.jacfwd(lambda x: np.ones(2))(x),
        ad.jacrev(lambda x: np.ones(2))(x),
    ]
    for result in results:
        result[...] = 7.0
    assert all(np.all(given == 1) for given in (x, v, stacks))
