"""Convolutions in native code: every number of axes, stride, padding, dilation and group, forward and back."""

import numpy as np
import pytest

import adjoint as ad
from adjoint import native
from adjoint.native.codegen import machine
from adjoint.ops.neural.conv import conv, conv_input, conv_weight
from adjoint.ops.neural.pooling import window_number, window_pick, window_put, window_spread, window_sum

R = np.random.default_rng(0)
WIDTHS = {"AVX-512": machine.AVX512, "AVX2": machine.AVX2, "SSE2": machine.SSE2}


@pytest.fixture(params=WIDTHS)
def vectors(request, monkeypatch):
    monkeypatch.setattr(machine, "vectors", lambda: WIDTHS[request.param])


def natively(f, *arrays):
    """Native code's results, which are NumPy's within rounding."""
    graph = ad.capture(f, *arrays)
    program = native.build(graph.inputs, graph.outputs)
    assert all(row.by != "NumPy" for row in program.listing().rows), program.listing()
    for got, value in zip(program(*arrays), graph.run(list(arrays)), strict=True):
        assert (got.dtype, got.shape) == (value.dtype, value.shape)
        ulps = 500 * np.finfo(got.dtype).eps if got.dtype.kind == "f" else 0
        np.testing.assert_allclose(got, value, rtol=0, atol=ulps * (1 + np.nanmax(abs(value))))
    return program


# x, w, stride, padding, dilation, groups
CASES = {
    "one axis": ((2, 3, 40), (5, 3, 4), (1,), ((1, 2),), (1,), 1),
    "one axis, steps": ((2, 3, 41), (5, 3, 4), (3,), ((1, 0),), (2,), 1),
    "no padding": ((3, 2, 7, 9), (9, 2, 3, 3), (1, 1), ((0, 0), (0, 0)), (1, 1), 1),
    "padding": ((2, 2, 7, 35), (11, 2, 3, 3), (1, 1), ((1, 1), (1, 1)), (1, 1), 1),
    "steps": ((2, 4, 9, 12), (8, 4, 3, 3), (2, 2), ((1, 1), (1, 1)), (1, 1), 1),
    "steps that leave some out": ((2, 4, 10, 13), (8, 4, 2, 3), (3, 4), ((0, 1), (1, 0)), (1, 1), 1),
    "dilation": ((2, 3, 12, 14), (6, 3, 2, 3), (1, 1), ((2, 1), (2, 2)), (3, 2), 1),
    "groups": ((2, 6, 8, 8), (4, 3, 3, 3), (1, 1), ((1, 1), (1, 1)), (1, 1), 2),
    "each channel": ((2, 5, 8, 20), (10, 1, 3, 3), (2, 1), ((1, 1), (1, 1)), (1, 1), 5),
    "one place": ((4, 3, 5, 5), (7, 3, 5, 5), (1, 1), ((0, 0), (0, 0)), (1, 1), 1),
    "one by one": ((2, 6, 6, 18), (9, 6, 1, 1), (1, 1), ((0, 0), (0, 0)), (1, 1), 1),
    "three axes": ((2, 2, 5, 6, 7), (3, 2, 2, 3, 2), (1, 2, 1), ((1, 0), (1, 1), (0, 0)), (1, 1, 2), 1),
    "much padding": ((1, 2, 4, 4), (3, 2, 2, 2), (1, 1), ((3, 3), (2, 4)), (1, 1), 1),
}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("case", CASES)
def test_convolutions_and_what_they_ask_of_their_arrays(case, dtype, vectors):
    shape, weights, stride, padding, dilation, groups = CASES[case]
    options = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
    x, w = R.normal(size=shape).astype(dtype), R.normal(size=weights).astype(dtype)
    y = R.normal(size=conv(x, w, **options).shape).astype(dtype)
    natively(lambda x, w: conv(x, w, **options), x, w)
    natively(lambda y, w: conv_input(y, w, size=shape[2:], **options), y, w)
    natively(lambda x, y: conv_weight(x, y, kernel=weights[2:], **options), x, y)


def test_what_follows_a_convolution_is_computed_with_it(vectors):
    x, w = R.normal(size=(3, 2, 6, 19)), R.normal(size=(10, 2, 3, 3))
    b, z = R.normal(size=(10, 1, 1)), R.normal(size=(3, 10, 6, 19))
    options = {"stride": (1, 1), "padding": ((1, 1), (1, 1)), "dilation": (1, 1)}
    program = natively(lambda x, w, b, z: np.maximum(conv(x, w, **options) + b, 0) * z, x, w, b, z)
    assert sum(row.by == "product" for row in program.listing().rows) == 1
    assert len(program.listing().rows) == 3  # the first two write zeros around
    natively(lambda x, w, b: conv(x[..., ::2, :9], w, **options) + np.sum(b), x, w, b)


def test_long_sums_over_places_are_right_in_parts(vectors):
    x, y = R.normal(size=(16, 2, 32, 32)), R.normal(size=(16, 9, 28, 28))
    options = {"stride": (1, 1), "padding": ((0, 0), (0, 0)), "dilation": (1, 1)}
    natively(lambda x, y: conv_weight(x, y, kernel=(5, 5), **options), x, y)


def test_gradients_of_two_convolutions(vectors):
    x, w, v = R.normal(size=(3, 2, 10, 10)), R.normal(size=(4, 2, 3, 3)), R.normal(size=(6, 4, 3, 3))
    first = {"stride": (1, 1), "padding": ((1, 1), (1, 1)), "dilation": (1, 1)}
    second = {"stride": (2, 2), "padding": ((0, 0), (0, 0)), "dilation": (1, 1)}

    def loss(x, w, v):
        return np.sum(conv(np.tanh(conv(x, w, **first)), v, **second) ** 2)

    natively(ad.grad(loss, (0, 1, 2)), x, w, v)
    natively(ad.grad(lambda w: np.sum(ad.grad(loss, 1)(x, w, v) ** 2)), w)


def test_infinite_weights_meet_no_zeros_that_are_not_there(vectors):
    y, w = R.normal(size=(2, 4, 5)), R.normal(size=(4, 3, 3))
    options = {"size": (5,), "stride": (1,), "padding": ((1, 1),), "dilation": (1,)}
    program = natively(lambda y, w: conv_input(y, w, **options), y, w)
    w[0, 0, 0] = np.inf
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(np.isnan(program(y, w)[0]), np.isnan(conv_input(y, w, **options)))


POOLS = {
    "two by two": ((2, 3, 8, 12), (2, 2), (2, 2), ((0, 0), (0, 0)), (1, 1)),
    "some left over": ((2, 3, 9, 13), (2, 3), (2, 3), ((0, 0), (0, 0)), (1, 1)),
    "that overlap": ((2, 3, 9, 9), (3, 3), (2, 2), ((1, 1), (1, 1)), (1, 1)),
    "far apart": ((2, 40), (2,), (5,), ((0, 1),), (2,)),
    "three axes": ((2, 4, 5, 6), (2, 1, 3), (1, 2, 3), ((1, 0), (0, 0), (1, 1)), (1, 1, 1)),
}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("case", POOLS)
def test_pooling(case, dtype):
    shape, kernel, stride, padding, dilation = POOLS[case]
    options = {"kernel": kernel, "stride": stride, "padding": padding, "dilation": dilation}
    x = R.integers(-3, 3, shape).astype(dtype)  # with equal ones among them
    x.flat[5] = np.nan

    def largest(x):
        number = window_number(x, **options)
        return number, window_pick(np.where(np.isnan(x), 7, x), number, **options)

    natively(largest, x)
    x.flat[5] = 1.0
    number = window_number(x, **options)
    y, size = R.normal(size=number.shape).astype(dtype), shape[-len(kernel) :]
    natively(lambda y, number: window_put(y, number, size=size, **options), y, number)
    natively(lambda x: window_sum(x, **options), x)
    natively(lambda y: window_spread(y, size=size, **options), y)
