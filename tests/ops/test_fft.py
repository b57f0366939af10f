"""Fourier transforms: lengths, scales, and the transposes of half spectra."""

from __future__ import annotations

import numpy as np
import pytest

import adjoint as ad


@pytest.mark.parametrize("norm", [None, "backward", "ortho", "forward"])
@pytest.mark.parametrize("n", [None, 1, 2, 3, 4, 7, 8])
@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"])
def test_inner_products_agree_across_the_transpose(name, n, norm):
    rng = np.random.default_rng(0)
    f = lambda x: getattr(np.fft, name)(x, n, norm=norm)
    x = rng.normal(size=5)
    if name in ("fft", "ifft", "irfft", "hfft"):
        x = x + 1j * rng.normal(size=5)
    y, pullback = ad.vjp(f, x)
    np.testing.assert_allclose(y, f(x), atol=1e-14)
    w = rng.normal(size=y.shape) + (1j * rng.normal(size=y.shape) if np.iscomplexobj(y) else 0.0)
    assert np.real(np.vdot(w, y)) == pytest.approx(np.real(np.vdot(pullback(w)[0], x)), abs=1e-12)


def test_parseval():
    x = np.random.default_rng(0).normal(size=6)
    energy = lambda x: np.sum(np.abs(np.fft.fft(x, norm="ortho")) ** 2)
    np.testing.assert_allclose(ad.grad(energy)(x), 2 * x)


def test_there_and_back_again():
    x = np.random.default_rng(0).normal(size=(3, 4))
    value, pullback = ad.vjp(lambda x: np.fft.irfft2(np.fft.rfft2(x)), x)
    np.testing.assert_allclose(value, x, atol=1e-14)
    np.testing.assert_allclose(pullback(x)[0], x, atol=1e-14)


def test_a_filter_learnt_in_frequency_space():
    x, y = np.random.default_rng(0).normal(size=(2, 8))
    loss = lambda h: np.mean((np.fft.irfft(np.fft.rfft(x) * np.fft.rfft(h)) - y) ** 2)
    step = 1e-6
    direction = np.arange(8.0)
    difference = (loss(y + step * direction) - loss(y - step * direction)) / (2 * step)
    assert ad.grad(loss)(y) @ direction == pytest.approx(difference, rel=1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.complex64])
def test_single_precision_stays_single(dtype):
    t = ad.tensor(np.ones(4, dtype), requires_grad=True)
    np.sum(np.abs(np.fft.fft(t))).backward()
    assert t.grad.dtype == dtype


@pytest.mark.parametrize("kwargs", [{"n": 0}, {"norm": "unit"}])
@pytest.mark.parametrize("f", [np.fft.fft, np.fft.rfft, np.fft.irfft, np.fft.hfft])
def test_refusals(f, kwargs):
    with pytest.raises(ad.ArgumentError, match="got"):
        f(ad.tensor(np.ones(3), requires_grad=True), **kwargs)


def test_shifts_undo_each_other_for_odd_lengths():
    x = np.arange(15.0).reshape(3, 5)
    assert np.array_equal(np.fft.ifftshift(np.fft.fftshift(ad.tensor(x))).numpy(), x)
