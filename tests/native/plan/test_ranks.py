"""Short rows are sorted natively, and medians found, by comparing each element with each other one: as NumPy does."""

import numpy as np
import pytest

import adjoint as ad
from adjoint import native

CALLS = {
    "sort": lambda x: np.sort(x, axis=1),
    "sort along rows": lambda x: np.sort(x, axis=0),
    "argsort": lambda x: np.argsort(x, axis=1, kind="stable"),
    "argsort, stable": lambda x: np.argsort(x, axis=0, stable=True),
    "median": lambda x: np.median(x, axis=1),
    "percentile": lambda x: np.percentile(x, [20, 70], axis=1),
    "quantile": lambda x: np.quantile(x, 0.3, axis=0, method="lower"),
}


@pytest.mark.parametrize("dtype", ["f8", "f4", "f2", "i4", "i8", "u1"])
@pytest.mark.parametrize("name", CALLS)
def test_short_rows(name, dtype):
    rng, f = np.random.default_rng(2), CALLS[name]
    for shape in ((2, 1), (2, 3), (3, 5), (1, 9), (2, 20)):
        x = rng.integers(0, 6, shape).astype(dtype)  # with equal ones
        rows = [x]
        if dtype[0] == "f":
            rows[:] = [x * rng.normal(size=shape).astype(dtype), np.where(x == 2, np.nan, np.where(x == 3, np.inf, x))]
        for y in rows:
            with np.errstate(all="ignore"):
                graph = ad.capture(f, y)
                (got,) = native.build(graph.inputs, graph.outputs)(y)
                wanted = f(y)
            assert got.dtype == wanted.dtype
            np.testing.assert_array_equal(got, wanted)


def sorted_again(x):
    for _ in range(12):
        x = 0.9 * np.sort(x) + 0.1 * np.sin(x)
    return np.sum(x * x)


def around_the_median(x):
    for _ in range(12):
        x = 0.9 * x + 0.1 * np.median(x) ** 2
    return np.sum(x * x)


@pytest.mark.parametrize("g", [sorted_again, around_the_median, ad.grad(around_the_median)])
def test_loops_that_sort(g):
    x = np.array([0.3, -0.2, 1.5, 0.8, 0.31, 2.0, -1.0])
    compiled = ad.compile(g, wait=True)
    for _ in range(3):
        found = compiled(x)
    np.testing.assert_allclose(found, g(x), rtol=1e-12)
    assert "NumPy" not in str(compiled.plan)
