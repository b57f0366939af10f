"""Pooling and LSTMs of plain arrays by native code, once NumPy has taken long: the same bits."""

import numpy as np
import pytest

import adjoint as ad
from adjoint import nn
from adjoint.core import often
from adjoint.ops.neural import lstm, pooling

SETTINGS = {
    "apart": ((2, 2), (2, 2), ((0, 0), (0, 0)), (1, 1), (8, 6)),
    "padded": ((3, 2), (3, 2), ((1, 1), (0, 1)), (1, 1), (9, 7)),
    "dilated": ((2, 2), (2, 3), ((0, 1), (0, 0)), (1, 2), (8, 9)),
    "one axis": ((2,), (2,), ((1, 0),), (1,), (9,)),
}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", SETTINGS)
def test_native_code_gives_the_same_bits(name, dtype, monkeypatch):
    pytest.importorskip("llvmlite")
    for limit in ("ENOUGH", "LOADING", "LEAST"):
        monkeypatch.setattr(often, limit, 0)
    for of in (pooling._NUMBERS, pooling._PUT, pooling._PICKED):
        monkeypatch.setattr(of.often, "_native", {})
    kernel, stride, padding, dilation, size = SETTINGS[name]
    options = {"kernel": kernel, "stride": stride, "padding": padding, "dilation": dilation}
    r = np.random.default_rng(0)
    x = r.integers(-3, 3, (3, 2, *size)).astype(dtype)
    for special in (np.nan, -0.0, np.inf, -np.inf):
        x[r.random(x.shape) < 0.1] = special
    numbers = [pooling.window_number(x, **options) for _ in range(2)]
    picked = [pooling.window_pick(x, numbers[0], **options) for _ in range(2)]
    y = np.where(r.random(picked[0].shape) < 0.3, dtype(-0.0), picked[0])
    put = [pooling.window_put(y, numbers[0], size=size, **options) for _ in range(2)]
    for first, second in (numbers, picked, put):  # by NumPy, and natively
        assert first.dtype == second.dtype
        assert first.tobytes() == second.tobytes()
    assert all(any(of.often._native.values()) for of in (pooling._NUMBERS, pooling._PUT, pooling._PICKED))


def test_short_programs_never_wait_for_a_compiler():
    x, of = np.ones((4, 4, 64, 64)), pooling._NUMBERS
    before = dict(of.often._native)
    pooling.window_number(x, kernel=(2, 2), stride=(2, 2), padding=((0, 0), (0, 0)), dilation=(1, 1))
    assert of.often._native == before


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("sizes", [(3, 2, 5), (4, 3, 96)])
def test_the_gradient_of_an_lstm_has_the_same_bits(sizes, dtype, monkeypatch):
    pytest.importorskip("llvmlite")
    for limit in ("ENOUGH", "LOADING"):
        monkeypatch.setattr(often, limit, 0)
    monkeypatch.setattr(lstm, "LEAST", 0)
    monkeypatch.setattr(lstm._STEP, "_native", {})
    n, size, hidden = sizes
    net = nn.LSTM(size, hidden, rng=0, dtype=dtype)
    x = np.random.default_rng(0).standard_normal((4, n, size)).astype(dtype)
    found = []
    for _ in range(2):  # by NumPy, and natively
        net.zero_grad()
        t = ad.tensor(x, requires_grad=True)
        out, (last, cell) = net(t)
        (np.sum(out * out) + np.sum(cell * last)).backward()
        found.append([g.grad.numpy().tobytes() for g in (t, *net.parameters())])
    assert found[0] == found[1]
    assert any(lstm._STEP._native.values())
