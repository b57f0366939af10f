"""Arrays put together piece by piece, running results, and half precision: native code gives what NumPy gives."""

import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view

import adjoint as ad
from adjoint import native
from adjoint.core.registry import operation
from adjoint.native.plan.classify import kind_of
from adjoint.native.plan.layout.assembly import RUNNING
from adjoint.native.plan.rewriting.decompose import primitive

R = np.random.default_rng(0)
DTYPES = [np.float64, np.float32, np.float16, np.int8, np.uint32, np.int64, np.bool_]


def natively(f, *arrays, rtol=0.0):
    """Native code alone gives NumPy's results: bit for bit, or within `rtol`."""
    with np.errstate(all="ignore"):
        graph = ad.capture(f, *arrays)
        program = native.build(graph.inputs, graph.outputs)
        assert all(row.by != "NumPy" for row in program.listing().rows), str(program.listing())
        expected = [np.asarray(value) for value in graph.run(list(arrays))]
    for got, value in zip(program(*arrays), expected, strict=True):
        assert (got.dtype, got.shape) == (value.dtype, value.shape)
        if rtol:
            np.testing.assert_allclose(got, value, rtol=rtol, atol=rtol)
        else:
            np.testing.assert_array_equal(got, value)
            assert value.dtype.kind != "f" or np.array_equal(np.signbit(got), np.signbit(value))


def array(dtype, *shape):
    return (R.normal(size=shape) * 3).astype(dtype)


LAYOUTS = {
    "rows": lambda x: x,
    "reversed": lambda x: x[::-1, ::-1],
    "transposed": lambda x: x.T,
    "steps": lambda x: x[::2, 1::3],
    "column": lambda x: x[:, :1],
    "broadcast": lambda x: np.broadcast_to(x[:1], (3, x.shape[1])),
    "line": lambda x: x[1],
    "one": lambda x: x[1:2, 1:2],
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_running_results(dtype, layout):
    shown = LAYOUTS[layout]
    x = array(dtype, 5, 37)
    for axis in range(-1, shown(x).ndim):
        natively(lambda x: (np.cumsum(shown(x), axis), np.cumprod(shown(x), axis)), x)
        if dtype is not np.bool_:
            natively(lambda x: (np.maximum.accumulate(shown(x), axis), np.minimum.accumulate(shown(x), axis)), x)


def test_running_results_of_special_values():
    x = np.array([[1.0, np.nan, 2.0, np.inf, -np.inf, -0.0], [-0.0, -0.0, 0.0, np.inf, np.inf, np.nan]])
    for axis in (0, 1):
        natively(lambda x: (np.cumsum(x, axis), np.cumprod(x, axis), np.maximum.accumulate(x, axis)), x)
        natively(lambda x: np.logaddexp.accumulate(x, axis), x, rtol=1e-15)
    natively(lambda x: np.cumsum(x > 0, axis=1), x)
    natively(lambda x: np.cumsum(x, dtype=np.float32), x)


def test_gradients_of_running_results():
    x = R.normal(size=(4, 33))
    for axis in (None, 0, 1):
        natively(ad.grad(lambda x: np.sum(np.cumsum(x, axis) ** 2)), x, rtol=1e-12)
        natively(ad.grad(lambda x: np.sum(np.cumprod(x, axis) ** 2)), x, rtol=1e-9)
    natively(ad.grad(lambda x: np.sum(np.maximum.accumulate(x, 1) ** 2)), x)


def test_a_running_result_over_an_axis_of_one_width_keeps_its_order():
    for n in (1, 2, 7, 8, 9, 16, 100):  # the same code in vectors, and what is left of them
        natively(lambda x: np.cumsum(x, 0), R.normal(size=(9, n)))
        natively(lambda x: np.cumsum(x, 1), R.normal(size=(3, n, 5)))


MADE = {
    "tril": lambda x: (np.tril(x), np.triu(x, 1), np.tril(x[:3, :9], -2)),
    "roll": lambda x: (np.roll(x, 3), np.roll(x, (1, -2), (0, 1)), np.roll(x, 50, 1), np.roll(x, 0), np.roll(x, 2, -1)),
    "tile": lambda x: (np.tile(x, 2), np.tile(x, (2, 1, 3)), np.tile(x[0], (2, 2)), np.tile(x, (1, 1))),
    "repeat": lambda x: (np.repeat(x, 3), np.repeat(x, 2, axis=0), np.repeat(x, [1, 0, 2, 1, 3], 0)),
    "pad": lambda x: (np.pad(x, 1), np.pad(x, ((0, 2), (1, 0))), np.pad(x, 2, "edge"), np.pad(x, 3, "reflect")),
    "windows": lambda x: (sliding_window_view(x, (2, 3)), sliding_window_view(x, 4, axis=1) * x.dtype.type(1)),
    "diagonals": lambda x: (np.diag(x[0]), np.diag(x[0], 2), np.diagonal(x, 1), np.diagflat(x[:2, :2])),
    "joins": lambda x: (np.concatenate([x, x[:1]]), np.stack([x, x[::-1]], 1), np.append(x, x[0, 0])),
    "deletes": lambda x: (np.delete(x, 2, 0), np.delete(x, [1, 3], 1), np.insert(x, 1, x[0], 0)),
    "columns": lambda x: (np.reshape(x, (12, 5), order="F"), np.ravel(x, order="F"), x.flatten("F")),
    "real": lambda x: (np.real(x), np.imag(x)),
    "places": lambda x: (np.argmax(x, 0), np.argmin(x, 1), np.argmax(x), np.count_nonzero(x, axis=0)),
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", MADE)
def test_made_of_pieces(name, dtype):
    x = array(dtype, 5, 12)
    natively(MADE[name], x)
    natively(lambda x: MADE[name](x.T[::-1]), array(dtype, 12, 5))


@pytest.mark.parametrize("name", sorted(set(MADE) - {"places"}))
def test_gradients_of_what_is_made_of_pieces(name):
    def total(x):
        parts = [part * np.arange(1.0, part.size + 1).reshape(part.shape) for part in MADE[name](x)]
        return sum(np.sum(part * part) for part in parts)

    natively(ad.grad(total), R.normal(size=(5, 12)), rtol=1e-12)


def test_windows_add_up_as_numpy_adds_them():
    for shape, windows, axis in [
        ((9,), (3,), 0),
        ((4, 40), (2, 3), (0, 1)),
        ((3, 5, 18), (4,), (2,)),
        ((6,), (2, 2), (0, 0)),
    ]:
        x = R.normal(size=shape)
        of = lambda x, windows=windows, axis=axis: sliding_window_view(x, windows, axis)
        weights = R.normal(size=of(x).shape)
        natively(ad.grad(lambda x, w: np.sum(of(x) * w)), x, weights)


def test_extremes_places_with_nan_and_ties():
    x = np.array([[1.0, np.nan, 3.0, np.nan], [2.0, 2.0, -0.0, 0.0], [np.inf, -np.inf, np.inf, 1.0]])
    natively(lambda x: (np.argmax(x, 1), np.argmin(x, 1), np.argmax(x), np.argmin(x, keepdims=True)), x)
    natively(lambda x: (np.isposinf(x), np.isneginf(x), np.nan_to_num(x), np.sinc(x * 0)), x)


def test_writes_through_views():
    def written(x):
        y = x * 1.0
        y[1:][:, ::2][0] = 7.0
        y.T[3] += y[:, 0]
        y.reshape(3, 2, 10)[..., 4] = x[:3, :2]
        y[:, 1][[0, 2]] = x[0, :2]
        y[::-1, -1:] *= 2.0
        return y

    natively(written, R.normal(size=(6, 10)))
    natively(ad.grad(lambda x: np.sum(written(x) ** 2)), R.normal(size=(6, 10)), rtol=1e-14)


def test_norms():
    x = R.normal(size=(4, 7))
    natively(
        lambda x: (np.linalg.norm(x), np.linalg.norm(x, axis=1), np.linalg.norm(x, 3, 0), np.vdot(x, x)), x, rtol=1e-14
    )
    natively(ad.grad(lambda x: np.linalg.norm(x) + np.sum(np.linalg.norm(x, 1.5, axis=1))), x, rtol=1e-12)
    natively(ad.grad(lambda x: np.linalg.norm(x)), np.zeros(3))


@pytest.mark.parametrize("decimals", [0, 1, 3, -1])
def test_rounding(decimals):
    x = np.array([0.5, 1.5, 2.5, -0.4, 0.05, 0.15, 1234.5678, np.nan, np.inf, -0.0, 1e30])
    natively(lambda x: np.round(x, decimals), x)
    natively(lambda x: np.round(x, decimals), x.astype(np.float32))
    natively(lambda x: np.round(x, max(decimals, 0)), np.arange(9))


def test_every_running_operation_is_native_and_no_other_is_refused_silently():
    for name in RUNNING:
        op = operation(name)
        graph = ad.capture(lambda x, op=op: op(x, axis=0), np.ones(3))
        assert kind_of(primitive(graph.outputs)[0]) == ("assemble", "")


# -- Half precision -----------------------------------------------------------------------------------

HALVES = np.arange(1 << 16, dtype=np.uint16).view(np.float16)


def test_every_half_is_read_and_rounded_as_numpy_does():
    natively(lambda h: h.astype(np.float32), HALVES)
    natively(lambda h: h.astype(np.float64), HALVES)
    natively(lambda h: (-h, np.abs(h), h * h, h + np.float16(1), 1 / h, np.sqrt(h), np.floor(h)), HALVES)
    wide = np.concatenate([R.normal(size=20000) * 10.0 ** R.integers(-9, 6, 20000), HALVES.astype(np.float64)])
    with np.errstate(all="ignore"):
        between = np.nextafter(wide, np.inf), np.nextafter(wide, -np.inf), wide * (1 + 2.0**-11), wide * (1 - 2.0**-12)
    natively(lambda x: x.astype(np.float16), np.concatenate([wide, *between]))  # rounded once, not twice
    with np.errstate(all="ignore"):
        natively(lambda x: x.astype(np.float16), np.concatenate([wide, *between]).astype(np.float32))
    natively(lambda i: i.astype(np.float16), np.arange(-70000, 70000, 7))
    natively(lambda h: h.astype(np.int32), HALVES[np.abs(HALVES) < 1e4])


def test_each_operation_in_half_precision_is_rounded():
    x, y = R.normal(size=(33, 5)).astype(np.float16), R.normal(size=5).astype(np.float16)
    natively(lambda x, y: (x * y + y, (x + y) / y - x, np.where(x > y, x, y), x % y, np.maximum(x, y) ** 2), x, y)
    natively(lambda x, y: (x > y, x == y, np.isnan(x), np.max(x, 0), np.min(x), x.T, x[::-2, 1]), x, y)
    natively(lambda x, y: (np.sum(x), np.mean(x, 1), np.sum(x * y, 1)), x, y, rtol=2e-3)
    natively(lambda x, y: x @ y, x, y, rtol=2e-3)
    graph = ad.capture(lambda x: np.sum(x, 0), x)  # NumPy rounds at each element here, native code at the end
    (total,) = native.build(graph.inputs, graph.outputs)(x)
    np.testing.assert_allclose(total, np.sum(x.astype(float), 0), rtol=5e-4)
    natively(lambda x: (np.exp(x), np.tanh(x)), x, rtol=1e-3)
    natively(ad.grad(lambda x, y: np.sum(np.tanh(x * y) ** 2)), x, y, rtol=2e-2)
