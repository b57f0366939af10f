"""Short sequences in small recurrent layers: gradients by steps at once are those of the general way."""

from __future__ import annotations

import numpy as np
import pytest

from adjoint.ops.neural import lstm, recurrence
from adjoint.ops.neural.few_steps import of_one_dtype

STEPS, N, SIZE, HIDDEN = 4, 3, 2, 5


def drawn(gates, states, dtype):
    rng = np.random.default_rng(0)
    shapes = [(STEPS, N, SIZE), *[(N, HIDDEN)] * states, (gates * HIDDEN, SIZE), (gates * HIDDEN, HIDDEN)]
    return [rng.normal(size=shape).astype(dtype) for shape in (*shapes, (gates * HIDDEN,))]


def same(found, expected, dtype):
    tolerance = 1e-5 if dtype is np.float32 else 1e-12
    for a, b in zip(found, expected, strict=True):
        assert a.dtype == b.dtype == dtype
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_an_lstm(dtype, monkeypatch):
    arrays = drawn(4, 2, dtype)
    out = lstm.lstm_steps.forward(*arrays)
    rng = np.random.default_rng(1)
    g = [rng.normal(size=o.shape).astype(dtype) for o in out[:2]] + [lstm_unused(out[2])]
    short = lstm._lstm_cotangents(g, arrays, out, range(6))
    monkeypatch.setattr(lstm, "_is_short", lambda kept: False)
    same(short, lstm._lstm_cotangents(g, arrays, out, range(6)), dtype)
    partly = lstm._lstm_cotangents(g, arrays, out, (1, 4))
    assert [k for k, c in enumerate(partly) if c is not None] == [1, 4]


def lstm_unused(kept):
    """The cotangent of a result that nobody used."""
    zeros = np.broadcast_to(np.zeros((), kept.dtype), kept.shape)
    assert lstm.unused(zeros)
    return zeros


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_plain_layer(dtype, monkeypatch):
    arrays = drawn(1, 1, dtype)
    out = recurrence.rnn_steps.forward(*arrays)
    g = np.random.default_rng(1).normal(size=out.shape).astype(dtype)
    short = recurrence._plain_cotangents(g, arrays, out, range(5), "tanh")
    monkeypatch.setattr(recurrence, "of_one_dtype", lambda *arrays: False)
    same(short, recurrence._plain_cotangents(g, arrays, out, range(5), "tanh"), dtype)


def test_only_plain_real_arrays_of_one_dtype_go_this_way():
    x = np.ones(2)
    assert of_one_dtype(x, x)
    assert not of_one_dtype(x, x.astype(np.float32))
    assert not of_one_dtype(x.astype(complex), x.astype(complex))
    assert not of_one_dtype(x, 1.0)
