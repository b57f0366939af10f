"""Filters and convolutions: SciPy's values, closed forms of gradients, errors."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.signal
from numpy.testing import assert_allclose

import adjoint as ad
from adjoint.scipy import signal
from adjoint.testing import check_grads

rng = np.random.default_rng(0)
SHAPES = [((5,), (3,)), ((3,), (6,)), ((4, 4), (3, 2)), ((2, 3), (4, 5))]
X = rng.normal(size=(2, 8, 2))
COEFFICIENTS = scipy.signal.butter(3, 0.2)


def drawn(shape, kind):
    return rng.normal(size=shape) + (1j * rng.normal(size=shape) if kind == "complex" else 0)


@pytest.mark.parametrize("shapes", SHAPES, ids=str)
@pytest.mark.parametrize("kind", ["real", "complex"])
@pytest.mark.parametrize("mode", ["full", "same", "valid"])
def test_convolutions_have_scipys_values(shapes, kind, mode):
    a, v = (drawn(s, kind) for s in shapes)
    for name in ("convolve", "correlate"):
        for method in ("direct", "fft", "auto"):
            ours = getattr(signal, name)(ad.tensor(a, requires_grad=True), v, mode, method)
            assert_allclose(ours.numpy(), getattr(scipy.signal, name)(a, v, mode, method), atol=1e-12)
    assert_allclose(signal.fftconvolve(a, v, mode), scipy.signal.fftconvolve(a, v, mode), atol=1e-12)
    axes = tuple(range(1, a.ndim + 1))
    expected = scipy.signal.fftconvolve(a[None], v[None], mode, axes=axes)
    assert_allclose(signal.fftconvolve(a[None], v[None], mode, axes=axes), expected, atol=1e-12)


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
@pytest.mark.parametrize("name", ["convolve", "correlate", "fftconvolve"])
def test_convolutions_have_gradients(name, mode):
    check_grads(lambda a, v: getattr(signal, name)(a, v, mode), (drawn((3, 4), "real"), drawn((2, 3), "real")))
    check_grads(lambda a, v: signal.fftconvolve(a, v, mode, axes=1), (drawn((1, 4), "real"), drawn((2, 3), "real")))


@pytest.mark.parametrize("n", [2, 8])
def test_filters_have_scipys_values(n):
    b, a = COEFFICIENTS
    state = rng.normal(size=(2, 3, 2))
    assert_allclose(signal.lfilter(b, a, X, axis=1), scipy.signal.lfilter(b, a, X, axis=1))
    ours, theirs = (s.lfilter(b, 2 * a, X[:, :n], 1, state) for s in (signal, scipy.signal))
    for got, value in zip(ours, theirs, strict=True):
        assert_allclose(got, value)


@pytest.mark.parametrize("lead", [1.0, 2.5])
def test_states_to_start_from_have_scipys_values_and_gradients(lead):
    """By ``a[0]`` too, where it is 1 and SciPy does not divide by it."""
    for nb, na in ((1, 2), (2, 1), (2, 3), (4, 2)):
        b, a = rng.normal(size=nb), np.append(lead, 0.3 * rng.normal(size=na - 1))
        assert_allclose(signal.lfilter_zi(b, a), scipy.signal.lfilter_zi(b, a), atol=1e-12)
        check_grads(signal.lfilter_zi, (b, a))
        for y, x in ((1, None), (5, None), (2, 1), (0, 4), (3, 6)):
            given = (b, a, rng.normal(size=y), *(() if x is None else (rng.normal(size=x),)))
            assert_allclose(signal.lfiltic(*given), scipy.signal.lfiltic(*given), atol=1e-12)
            check_grads(signal.lfiltic, given)
    b, a = np.array([0.2, 0.3]), np.array([lead, -0.4])  # the filter is the same if both are multiplied by a number
    change = ad.jvp(lambda b, a: scipy.signal.filtfilt(b, a, np.sqrt(np.arange(20.0))), (b, a), (b, a))[1]
    assert_allclose(change, np.zeros(20), atol=1e-12)
    assert_allclose(signal.lfilter_zi([1.0], [0.0, 1.0, -0.5]), scipy.signal.lfilter_zi([1.0], [1.0, -0.5]))
    with pytest.raises(ad.ArgumentError, match="not 0"):
        signal.lfilter_zi(np.ones(2), np.zeros(2))
    with pytest.raises(ad.ArgumentError, match="leading zeros"):
        signal.lfiltic(np.ones(2), np.array([0.0, 1.0]), np.ones(1))
    with pytest.raises(ad.ShapeError, match="vectors"):
        signal.lfilter_zi(np.ones((2, 2)), np.ones(2))


def test_filters_have_gradients_by_everything():
    b, a = COEFFICIENTS
    check_grads(lambda b, a, x, zi: signal.lfilter(b, a, x, 1, zi), (b, 2 * a, X[:1, :4], rng.normal(size=(1, 3, 2))))


def test_gradient_of_a_filter_is_the_filter_backward_in_time():
    b, a = COEFFICIENTS
    x, g = rng.normal(size=(2, 30))
    expected = scipy.signal.lfilter(b, a, g[::-1])[::-1]
    assert_allclose(ad.vjp(lambda x: signal.lfilter(b, a, x), x)[1](g)[0], expected)


def test_sections():
    sos = scipy.signal.butter(4, 0.3, output="sos")
    state = rng.normal(size=(2, 2, 2, 2))
    assert_allclose(signal.sosfilt(sos, X, 1), scipy.signal.sosfilt(sos, X, 1))
    for got, value in zip(signal.sosfilt(sos, X, 1, state), scipy.signal.sosfilt(sos, X, 1, state), strict=True):
        assert_allclose(got, value)
    check_grads(signal.sosfilt, (sos, X[0, :4, 0]))


@pytest.mark.parametrize("options", [{}, {"type": "constant"}, {"bp": [2, 5], "axis": 1}], ids=str)
def test_detrend(options):
    assert_allclose(signal.detrend(X, **options), scipy.signal.detrend(X, **options), atol=1e-12)
    check_grads(lambda x: signal.detrend(x, **options), (X[:1],))


@pytest.mark.parametrize("n", [None, 6, 9])
def test_analytic_signal(n):
    assert_allclose(signal.hilbert(X, n, axis=1), scipy.signal.hilbert(X, n, axis=1), atol=1e-12)
    check_grads(lambda x: np.abs(signal.hilbert(x, n)), (X[0, :7, 0],))


@pytest.mark.parametrize(
    ("call", "error", "match"),
    [
        (lambda t: signal.convolve(t, t, "some"), ad.ArgumentError, "mode"),
        (lambda t: signal.convolve(t, np.ones((2, 2))), ad.ShapeError, "axes"),
        (lambda t: signal.convolve(np.ones((2, 4)), np.ones((4, 2)), "valid"), ad.ShapeError, "valid"),
        (lambda t: signal.lfilter(np.ones((2, 2)), [1.0], t), ad.ShapeError, "vectors"),
        (lambda t: signal.lfilter([1.0, 2.0], [1.0], t, zi=np.ones(3)), ad.ShapeError, "zi"),
        (lambda t: signal.sosfilt(np.ones(6), t), ad.ShapeError, "sections"),
        (lambda t: signal.detrend(t, type="cubic"), ad.ArgumentError, "type"),
        (lambda t: signal.detrend(t, bp=99), ad.ArgumentError, "breakpoints"),
        (lambda t: signal.hilbert(t * 1j), ad.ArgumentError, "real"),
    ],
)
def test_refusals(call, error, match):
    with pytest.raises(error, match=match):
        call(ad.tensor(X[0, :, 0], requires_grad=True))
