"""Products with a conjugate take the sign with their sums: no array of negatives is made for them."""

import numpy as np
import pytest

import adjoint as ad
from adjoint import native

R = np.random.default_rng(4)


def random(*shape):
    return R.normal(size=shape) + 1j * R.normal(size=shape)


@pytest.mark.parametrize(
    ("f", "x", "y", "apart"),
    [
        (np.vdot, random(90), random(90), True),
        (lambda x, y: x @ y.conj(), random(90), random(90), True),
        (lambda x, y: x.conj().T @ y, random(9, 7), random(9, 5), True),
        (lambda x, y: np.conj(x) @ y, random(3, 9, 7), random(3, 7, 5), True),
        (lambda x, y: x.conj()[::-1] @ y.real, random(9, 7), random(7, 5), False),
        (lambda x, y: x.conj() @ y.conj(), random(9, 7), random(7, 5), False),
    ],
)
def test_products_with_conjugates(f, x, y, apart):
    graph = ad.capture(f, x, y)
    program = native.build(graph.inputs, graph.outputs)
    (found,) = program(x, y)
    np.testing.assert_allclose(found, f(x, y), rtol=1e-13, atol=1e-13)
    formulas = [write.formula for row in program.listing().rows for write in row.writes]
    assert not apart or not any(formula.startswith("-") for formula in formulas), formulas
    slope = ad.grad(lambda x, y: np.sum(np.abs(f(x, y)) ** 2), (0, 1))
    compiled = ad.compile(slope, wait=True)
    for got, wanted in zip(compiled(x, y), slope(x, y), strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-11, atol=1e-11)
