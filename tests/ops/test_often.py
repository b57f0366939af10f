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
    by_places = pooling._few_windows
    for of in (pooling._NUMBERS, pooling._PUT, pooling._PICKED):
        monkeypatch.setattr(of.often, "_native", {})
    kernel, stride, padding, dilation, size = SETTINGS[name]
    options = {"kernel": kernel, "stride": stride, "padding": padding, "dilation": dilation}
    r = np.random.default_rng(0)
    x = r.integers(-3, 3, (3, 2, *size)).astype(dtype)
    for special in (np.nan, -0.0, np.inf, -np.inf):
        x[r.random(x.shape) < 0.1] = special
    ways = (by_places, lambda *_: None, lambda *_: None)  # as small arrays, by NumPy, and natively

    def each(compute):
        for way in ways:
            monkeypatch.setattr(pooling, "_few_windows", way)
            yield compute()

    for given in (x, np.where(np.isnan(x), dtype(-0.0), x)):
        numbers = list(each(lambda given=given: pooling.window_number(given, **options)))
        picked = list(each(lambda given=given: pooling.window_pick(given, numbers[0], **options)))
        y = np.where(r.random(picked[0].shape) < 0.3, dtype(-0.0), picked[0])
        put = list(each(lambda: pooling.window_put(y, numbers[0], size=size, **options)))
        for first, *others in (numbers, picked, put):
            for other in others:
                assert first.dtype == other.dtype
                assert first.tobytes() == other.tobytes()
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


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_softmax_and_normalised_rows_of_large_arrays_are_those_of_small_ones(dtype, monkeypatch):
    """Sums of many short rows are products; largest elements of rows are found natively after some time."""
    pytest.importorskip("llvmlite")
    for limit in ("ENOUGH", "LOADING"):
        monkeypatch.setattr(often, limit, 0)
    r = np.random.default_rng(0)
    x = r.standard_normal((40, 4, 33)).astype(dtype)
    x[0, 0] = -np.inf
    x[1, 0, 3], x[2, 0, 4], x[3, 0, 5] = np.inf, np.nan, -np.inf
    g = r.standard_normal(x.shape).astype(dtype)

    def computed(f, x, g):
        t = ad.tensor(x, requires_grad=True)
        out = f(t)
        out.backward(g)
        return out.numpy(), t.grad.numpy()

    with np.errstate(invalid="ignore"):
        for f in (ad.softmax, ad.log_softmax, lambda t: nn.functional.layer_norm(t, 33)):
            found = [computed(f, x, g) for _ in range(2)]
            parts = [computed(f, part, h) for part, h in zip(x, g, strict=True)]
            wanted = [np.stack(arrays) for arrays in zip(*parts, strict=True)]
            for each in found:
                for a, b in zip(each, wanted, strict=True):
                    np.testing.assert_allclose(a, b, rtol=2e-5 if dtype == np.float32 else 1e-12, atol=1e-6)
            assert found[0][0].tobytes() == found[1][0].tobytes()
