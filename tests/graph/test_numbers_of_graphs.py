"""Numbers that a captured program takes out of arrays keep their derivatives, and promote as Python's do."""

import numpy as np
import pytest

import adjoint as ad


def by_float(a, b):
    return float(np.sum(b * b)) * a


def by_item(a, b):
    return np.sum(b * b).item() * a


def by_element(a, b):
    return np.multiply(float(b[0]) + float(b[1]) ** 2, a)


PROGRAMS = [by_float, by_item, by_element]
POINTS = [np.array([0.5, 1.5]), np.array([0.5, 1.5], np.float32), np.array([0.5, 1.5 + 1j], np.complex64)]


def alike(x, y):
    assert x.dtype == y.dtype
    np.testing.assert_allclose(x, y, rtol=1e-6)


@pytest.mark.parametrize("a", POINTS, ids=lambda a: a.dtype.name)
@pytest.mark.parametrize("f", PROGRAMS)
def test_derivatives_of_the_graph_are_those_of_the_program(f, a):
    b, weights = np.array([0.3, 0.7]), np.array([1.0, -2.0]).astype(a.dtype)
    graph = ad.capture(f, a, b)
    for there, plain in [(graph, f), (ad.capture(lambda a, b: graph(a, b), a, b), f)]:
        value, pullback = ad.vjp(there, a, b)
        wanted, plain_pullback = ad.vjp(plain, a, b)
        alike(value, wanted)
        for x, y in zip(pullback(weights), plain_pullback(weights), strict=True):
            alike(x, y)
        for x, y in zip(*(ad.jvp(g, (a, b), (weights, b)) for g in (there, plain)), strict=True):
            alike(x, y)
    rows = np.stack([b, 2 * b, -b])
    alike(ad.vmap(graph, (None, 0))(a, rows), np.stack([f(a, row) for row in rows]))


@pytest.mark.parametrize("f", PROGRAMS)
def test_second_derivatives_and_compiled_ones(f):
    a, b = POINTS[0], np.array([0.3, 0.7])
    graph = ad.capture(f, a, b)
    alike(ad.hessian(lambda b: np.sum(graph(a, b)))(b), ad.hessian(lambda b: np.sum(f(a, b)))(b))
    slope = ad.compile(ad.grad(lambda b: np.sum(graph(a, b))), wait=True)
    for scale in (1.0, 2.0, 3.0):
        alike(slope(scale * b), ad.grad(lambda b: np.sum(f(a, b)))(scale * b))
