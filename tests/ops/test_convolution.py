"""Convolution in all modes, windows that overlap, and polynomials."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view

import adjoint as ad


@pytest.mark.parametrize("f", [np.convolve, np.correlate])
@pytest.mark.parametrize("mode", ["full", "same", "valid"])
def test_every_mode_and_length_agrees_with_numpy(f, mode):
    rng = np.random.default_rng(0)
    for n, m in product(range(1, 6), repeat=2):
        a, v = rng.normal(size=n) + 1j * rng.normal(size=n), rng.normal(size=m) + 1j * rng.normal(size=m)
        np.testing.assert_allclose(f(ad.tensor(a), v, mode).numpy(), f(a, v, mode), atol=1e-14)


def test_correlation_with_itself():
    # sum of a[0] a[0] + a[1] a[1]
    assert ad.grad(lambda a: np.correlate(a, a)[0])(np.array([2.0, 3.0])).tolist() == [4.0, 6.0]


@pytest.mark.parametrize("shapes", [((0,), (2,)), ((2, 2), (2,))])
def test_convolve_takes_two_vectors(shapes):
    a, v = (np.ones(shape) for shape in shapes)
    with pytest.raises(ad.ArgumentError, match="two vectors"):
        np.convolve(ad.tensor(a, requires_grad=True), v)


def test_overlapping_windows_add_their_gradients():
    x = np.arange(1.0, 6.0)
    value, pullback = ad.vjp(lambda x: sliding_window_view(x, 3), x)
    assert value.tolist() == [[1, 2, 3], [2, 3, 4], [3, 4, 5]]
    assert pullback(np.ones((3, 3)))[0].tolist() == [1, 2, 3, 2, 1]


def test_windows_twice_over_one_axis():
    x = np.random.default_rng(0).normal(size=6)
    t = ad.tensor(x, requires_grad=True)
    out = sliding_window_view(t, (2, 3), (0, 0))
    assert np.array_equal(out.numpy(), sliding_window_view(x, (2, 3), (0, 0)))
    out.sum().backward()
    assert t.grad.tolist() == [1.0, 3.0, 5.0, 5.0, 3.0, 1.0]


def test_windows_of_a_tensor_are_read_only():
    with pytest.raises(ad.ArgumentError, match="read-only"):
        sliding_window_view(ad.tensor(np.ones(4)), 2, writeable=True)


def test_polynomials():
    p, x = np.array([1.0, -2.0, 3.0]), 2.0
    assert ad.grad(lambda p: np.polyval(p, x))(p).tolist() == [4.0, 2.0, 1.0]
    assert ad.grad(lambda x: np.polyval(p, x))(x) == np.polyval(np.polyder(p), x)
    t = ad.tensor(p, requires_grad=True)
    assert np.polyder(np.polyint(t)).tolist() == p.tolist()
    assert np.polymul(t, t).tolist() == np.polymul(p, p).tolist()
