"""PyTorch's functions in NumPy's terms, at the values where terms differ: infinite, large, of other dtypes."""

import numpy as np
import pytest

import adjoint as ad


@pytest.mark.parametrize("offset", [0, 1, -2])
def test_diag_embed(offset):
    x = np.array([1.0, np.inf, np.nan], np.float32)
    found = ad.diag_embed(ad.tensor(x), offset)
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, np.diag(x, offset))
    f, rows = lambda v: ad.diag_embed(v, offset), np.random.default_rng(0).normal(size=(2, 3))
    wanted = np.stack([np.diag(row, offset) for row in rows])
    for g in (f, ad.vmap(f), ad.compile(f)):
        for _ in range(3):
            np.testing.assert_array_equal(g(rows), wanted)
    weights = np.arange(float(wanted.size)).reshape(wanted.shape)
    gradient = ad.grad(lambda v: np.sum(f(v) * weights))(rows)
    np.testing.assert_array_equal(gradient, [np.diag(part, offset) for part in weights])


def test_block_diag_keeps_the_dtype():
    a, b = np.ones((2, 2), np.float32), np.full((1, 3), 2.0, np.float32)
    found = ad.block_diag(ad.tensor(a), ad.tensor(b))
    assert found.dtype == np.float32
    assert found.tolist() == [[1, 1, 0, 0, 0], [1, 1, 0, 0, 0], [0, 0, 2, 2, 2]]


def test_complex_numbers_of_infinite_parts():
    found = ad.complex(ad.tensor([1.0, -np.inf]), ad.tensor([np.inf, 2.0])).numpy()
    assert found.real.tolist() == [1.0, -np.inf]
    assert found.imag.tolist() == [np.inf, 2.0]
    assert ad.view_as_complex(ad.tensor([[1.0, np.inf]])).numpy().real.tolist() == [1.0]
    assert ad.complex(ad.tensor([1.0], dtype="float32"), ad.tensor([1.0], dtype="float32")).dtype == np.complex64


def test_division_of_large_whole_numbers_towards_zero():
    a, b = np.array([2**60 + 1, -(2**60) - 1, 7, -7, 7, -7, -6]), np.array([1, 1, 2, 2, -2, -2, 3])
    wanted = [2**60 + 1, -(2**60) - 1, 3, -3, -3, 3, -2]
    assert ad.div(ad.tensor(a), ad.tensor(b), rounding_mode="trunc").tolist() == wanted
    assert ad.div(ad.tensor([7.0, -7.0]), 2, rounding_mode="trunc").tolist() == [3.0, -3.0]
