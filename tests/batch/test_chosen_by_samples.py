"""Questions and orders that differ between the samples of a vmap, or are not known when a program is captured."""

import numpy as np
import pytest

import adjoint as ad

SAMPLES = np.array([[0.1, 0.2, 5.0], [0.6, 3.0, 0.1], [0.7, 0.7, 0.2]])
WEIGHTS = np.array([1.0, 2.0, 3.0])
FUNCTIONS = {
    "any where": lambda q: np.where(np.any(q > 0.5, where=q < 2), np.sum(q**2), 0.0),
    "all where": lambda q: np.where(np.all(q > 0.3, where=q > 0.15), np.sum(q**2), 0.0),
    "any along an axis": lambda q: np.where(np.any(np.outer(q, q) > 0.3, axis=0, where=q[:, None] < 2), q, 0.0),
    "lexsort": lambda q: q[np.lexsort((-q, np.round(q)))] * WEIGHTS,
    "lexsort beside texts": lambda q: q[np.lexsort((q, np.array(["b", "a", "b"])))] * WEIGHTS,
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_each_sample_has_its_own_answer(name):
    f = FUNCTIONS[name]
    np.testing.assert_array_equal(ad.vmap(f)(SAMPLES), [f(q) for q in SAMPLES])
    np.testing.assert_array_equal(ad.vmap(ad.jacobian(f))(SAMPLES), [ad.jacobian(f)(q) for q in SAMPLES])


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_captured_program_asks_again(name):
    f = FUNCTIONS[name]
    program, compiled = ad.capture(f, SAMPLES[0]), ad.compile(f)
    for q in SAMPLES:
        np.testing.assert_array_equal(program(q), f(q))
        np.testing.assert_array_equal(compiled(q), f(q))
