"""Sums of all elements in parts: NumPy's values, the same bits for any number of threads, and several cores at work."""

import numpy as np
import pytest

import adjoint as ad
from adjoint.native import build
from adjoint.native.plan.partial_sums import FEWEST

SHAPES = ((FEWEST,), (FEWEST + 32,), (3 * FEWEST + 1,), (FEWEST - 1,), (6, FEWEST // 4, 3), (1, 2, FEWEST))
REDUCED = {
    "sum": np.sum,
    "prod": lambda x: np.prod(np.where(x > 2, -1, 1)),
    "mean": np.mean,
    "max": np.max,
    "min": np.min,
    "any": lambda x: np.any(x > 3),
    "all": lambda x: np.all(x < 4),
    "count": lambda x: np.count_nonzero(x > 0),
    "keepdims": lambda x: np.sum(x, keepdims=True),
}


def _program(f, *args):
    graph = ad.capture(f, *args).rewritten()
    return build(graph.inputs, graph.outputs)


@pytest.fixture
def threads():
    yield
    ad.set_threads(None)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64])
@pytest.mark.parametrize("name", REDUCED)
def test_values(name, dtype, shape):
    x = np.random.default_rng(0).integers(-3, 4, shape).astype(dtype)
    (found,) = _program(REDUCED[name], x)(x)
    wanted = REDUCED[name](x)
    assert np.shape(found) == np.shape(wanted)
    np.testing.assert_allclose(found, wanted, rtol=1e-5 if dtype is np.float32 else 1e-12)


@pytest.mark.parametrize("layout", [lambda x: x[:, 1:-1], lambda x: x.T, lambda x: x[::2, ::3]])
def test_layouts_and_what_is_stored_beside(layout, threads):
    x = np.random.default_rng(1).normal(size=(1030, 1024))

    def f(x):
        y = np.exp(layout(x))
        return y * 2, np.sum(y), np.max(y), np.mean(y * y), np.argmax(y)

    program = _program(f, x)
    found = []
    for count in (1, 2, 5):
        ad.set_threads(count)
        found.append(program(x))
    for first, *others in zip(*found, strict=True):
        assert all(np.array_equal(first, other) for other in others)
    for got, wanted in zip(found[0], f(x), strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-13)


def test_nan_is_kept():
    x = np.zeros(FEWEST)
    x[-5] = np.nan
    assert all(np.isnan(y) for y in _program(lambda x: (np.sum(x), np.max(x), np.min(x)), x)(x))


def test_the_parts_may_run_at_once():
    x = np.zeros(FEWEST)
    parts, end = _program(lambda x: np.sum(np.exp(x)), x).plans[0].steps
    assert parts.split is not None
    assert parts.split.length == 32
    assert parts.written == 32 * 8
    assert end.read == parts.written
