"""Convolution in all modes, windows that overlap, and polynomials."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view

import adjoint as ad
from adjoint import nn
from adjoint.ops.neural import columns, pooling
from adjoint.ops.neural.conv import biased_conv, conv, conv_input, conv_weight
from adjoint.ops.neural.pooling import window_number, window_pick, window_put, window_spread
from adjoint.ops.neural.windows import add_windows


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
    shown = sliding_window_view(ad.tensor(np.ones(4)), 2, writeable=True)
    with pytest.raises(ValueError, match="read-only"):
        shown[0, 0] = 5.0


def test_polynomials():
    p, x = np.array([1.0, -2.0, 3.0]), 2.0
    assert ad.grad(lambda p: np.polyval(p, x))(p).tolist() == [4.0, 2.0, 1.0]
    assert ad.grad(lambda x: np.polyval(p, x))(x) == np.polyval(np.polyder(p), x)
    t = ad.tensor(p, requires_grad=True)
    assert np.polyder(np.polyint(t)).tolist() == p.tolist()
    assert np.polymul(t, t).tolist() == np.polymul(p, p).tolist()


@pytest.mark.parametrize("groups", [1, 2, 4])
@pytest.mark.parametrize("padding", [((0, 0), (0, 0)), ((1, 0), (2, 1)), ((2, 2), (3, 0))])
@pytest.mark.parametrize("outs", [4, 12])
def test_transposed_convolutions_are_transposes_whichever_way_they_are_computed(groups, padding, outs):
    """``<conv(x, w), y> = <x, conv_input(y, w)>``: a convolution of turned weights, and sums of windows."""
    r, options = np.random.default_rng(groups), {"stride": (1, 1), "padding": padding, "dilation": (1, 2)}
    x, w = r.standard_normal((2, 4, 7, 8)), r.standard_normal((outs, 4 // groups, 3, 2))
    out = conv(x, w, groups=groups, **options)
    y = r.standard_normal(out.shape)
    found = conv_input(y, w, size=(7, 8), groups=groups, **options)
    np.testing.assert_allclose(np.sum(out * y), np.sum(x * found), rtol=1e-12)


def test_infinite_weights_of_a_transposed_convolution_meet_no_padding():
    w = np.ones((1, 1, 3, 3))
    w[0, 0, 0, 0] = np.inf
    options = {"stride": (1, 1), "padding": ((1, 1), (1, 1)), "dilation": (1, 1)}
    assert not np.isnan(conv_input(np.ones((1, 1, 4, 4)), w, size=(4, 4), **options)).any()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("kernel", "stride", "dilation"),
    [((2, 2), (2, 2), (1, 1)), ((1, 3), (2, 4), (1, 1)), ((2, 2), (3, 4), (2, 3)), ((2,), (2,), (1,))],
)
def test_small_arrays_are_pooled_with_the_bits_of_large_ones(monkeypatch, dtype, kernel, stride, dilation):
    rng = np.random.default_rng(0)
    x = rng.choice(np.array([-0.0, 0.0, 1.0, -2.0, -np.inf, np.inf, 3.0], dtype), (3, 2, 8, 9))
    with_nan = x.copy()
    with_nan[rng.random(x.shape) < 0.3] = np.nan
    settings = {"kernel": kernel, "stride": stride, "padding": ((0, 0),) * len(kernel), "dilation": dilation}

    def found(x):
        number = window_number(x, **settings)
        out = window_pick(x, number, **settings)
        return number, out, window_put(out, number, size=x.shape[-len(kernel) :], **settings)

    small = [found(a) for a in (x, with_nan, x.swapaxes(0, 1), x[:0])]
    monkeypatch.setattr(pooling, "_few_windows", lambda *_: None)
    for few, many in zip(small, (found(a) for a in (x, with_nan, x.swapaxes(0, 1), x[:0])), strict=True):
        for one, other in zip(few, many, strict=True):
            assert (one.tobytes(), one.shape, one.dtype) == (other.tobytes(), other.shape, other.dtype)
            assert one.flags.c_contiguous


@pytest.mark.parametrize("dtype", [np.float32, complex, int])
@pytest.mark.parametrize("size", [(6, 12), (7, 12), (6, 14)])
@pytest.mark.parametrize("lead", [(), (2, 3), (0,)])
def test_windows_that_fill_an_array_are_spread_with_the_bits_of_others(lead, size, dtype):
    y = np.random.default_rng(0).choice(np.array([-0.0, 0.0, 1.0, -2.0]), (*lead, 3, 4)).astype(dtype)
    found = window_spread(y, size=size, kernel=(2, 3), stride=(2, 3), padding=((0, 0),) * 2, dilation=(1, 1))
    expected = np.zeros((*lead, *size), dtype)
    add_windows(expected, lambda at: y, (2, 3), (3, 4), (2, 3), (1, 1))
    assert (found.tobytes(), found.shape, found.dtype) == (expected.tobytes(), expected.shape, expected.dtype)


def test_settings_of_windows_may_be_lists():
    x = np.arange(12.0).reshape(1, 1, 3, 4)
    settings = {"stride": [1, 1], "padding": [[1, 0], [0, 1]], "dilation": [1, 1]}
    of_tuples = {"stride": (1, 1), "padding": ((1, 0), (0, 1)), "dilation": (1, 1)}
    w = np.ones((1, 1, 2, 2))
    np.testing.assert_array_equal(conv(x, w, **settings), conv(x, w, **of_tuples))


@pytest.mark.parametrize("axes", [1, 2])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.complex128])
def test_small_arrays_by_remembered_places_have_the_bits_of_large_ones(axes, dtype, monkeypatch):
    rng, size = np.random.default_rng(0), (6, 5)[:axes]
    for groups, stride, around, between, k in product((1, 2), (1, 2), ((0, 0), (1, 2)), (1, 2), (1, 2)):
        x, w = (rng.normal(size=s).astype(dtype) for s in ((3, 4, *size), (6, 4 // groups, *(k,) * axes)))
        x[rng.random(x.shape) < 0.2] = -0.0
        options = {"stride": (stride,) * axes, "padding": (around,) * axes, "dilation": (between,) * axes}
        options["groups"] = groups

        def every(x=x, w=w, k=k, options=options):
            y = conv(x, w, **options)
            return y, conv_input(y, w, size=size, **options), conv_weight(x, y, kernel=(k,) * axes, **options)

        small = every()
        with monkeypatch.context() as patch:
            patch.setattr(columns, "_MOST", -1)
            columns._places.cache_clear()
            large = every()
        columns._places.cache_clear()
        for a, b in zip(small, large, strict=True):
            assert (a.shape, a.dtype) == (b.shape, b.dtype)
            assert a.tobytes() == b.tobytes()


def test_settings_may_be_lists():
    x, w, b = np.ones((1, 1, 3)), np.ones((1, 1, 2)), np.ones(1)
    assert conv(x, w, stride=[1], padding=[[1, 0]], dilation=[1]).tolist() == [[[1, 2, 2]]]
    assert biased_conv(x, w, b, stride=[1], padding=[[1, 0]], dilation=[1]).tolist() == [[[2, 3, 3]]]


@pytest.mark.parametrize("alone", [False, True])
def test_a_convolution_with_biases_is_one_operation_with_the_bits_of_three(alone):
    layer = nn.Conv2d(2, 3, 2, stride=(2, 1), padding=1, rng=0)
    x = ad.tensor(np.random.default_rng(0).normal(size=(2, 5, 4) if alone else (2, 2, 5, 4)), requires_grad=True)

    def apart(x):
        options = {"stride": (2, 1), "padding": ((1, 1), (1, 1)), "dilation": (1, 1)}
        out = conv(x[None] if alone else x, layer.weight, **options) + np.reshape(layer.bias, (3, 1, 1))
        return out[0] if alone else out

    found = []
    for f in (layer, apart):
        out = f(x)
        first = ad.autograd.grad(np.sum(np.sin(out)), [x, layer.weight, layer.bias], create_graph=True)
        second = ad.autograd.grad(sum(np.sum(g**2) for g in first), [x, layer.weight, layer.bias])
        found.append([out, *first, *second])
    assert layer(x).grad_fn.name in ("biased_conv", "getitem")
    for a, b in zip(*found, strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-13, atol=1e-13)
    for a, b in zip(found[0][:4], found[1][:4], strict=True):
        assert a.numpy().tobytes() == b.numpy().tobytes()


def test_biases_of_a_convolution_that_broadcast_are_added_apart():
    x, w = np.ones((1, 1, 3)), ad.tensor(np.ones((2, 1, 2)), requires_grad=True)
    out = nn.functional.conv1d(x, w, np.array([0.5]))
    assert out.tolist() == [[[2.5, 2.5], [2.5, 2.5]]]


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
@pytest.mark.parametrize("f", [np.convolve, np.correlate])
def test_samples_whose_kernel_is_not_finite(f, mode):
    x = np.array([[1.0, 2.0, 3.0, 4.0], [np.nan, 1.0, 1.0, np.inf], [1.0, -1.0, 0.5, 2.0]])
    kernels = np.array([[1.0, np.nan], [np.inf, 2.0], [1.0, 3.0]])
    for a, v in ((x, kernels), (kernels, x)):
        wanted = [f(*each, mode) for each in zip(a, v, strict=True)]
        np.testing.assert_array_equal(ad.vmap(lambda a, v: f(a, v, mode))(a, v), np.stack(wanted))
