"""Searches in sorted arrays and questions of closeness are native, in loops too, and answer as NumPy does."""

import itertools

import numpy as np
import pytest

import adjoint as ad
from adjoint import native

DTYPES = ("f8", "f4", "f2", "i8", "u8")
TABLE = np.linspace(0.0, 10.0, 33)
HEIGHTS = np.sin(TABLE)
EDGES = [0.0, -0.0, 1.0, 1 + 1e-5, 1 + 1e-6, np.nan, np.inf, -np.inf, 1e-8, 1e-9, 60000.0, -1.0]


def natively(f, *arrays):
    graph = ad.capture(f, *arrays)
    (found,) = native.build(graph.inputs, graph.outputs)(*arrays)
    return found


def numbers(dtype, n=37):
    found = np.random.default_rng(n).integers(-1 if dtype[0] != "u" else 0, 22, (3, n)).astype(dtype)
    if dtype[0] == "f":
        found[0, :5] = [np.nan, np.inf, -np.inf, -0.0, 0.5]
    return found


def alike(got, wanted):
    assert got.dtype == np.asarray(wanted).dtype
    np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("size", [1, 3, 40])
def test_searches(size, dtype):
    table, values = np.sort(np.random.default_rng(size).integers(0, 20, size)).astype(dtype), numbers("f8")
    ended = table.copy()
    if dtype[0] == "f":
        ended[-2:] = np.nan
    for side, other in itertools.product(("left", "right"), ("f8", "i4")):
        for t, v in ((table, numbers(other, 7)), (ended, values), (table, 3.0)):
            alike(natively(lambda t, v, side=side: np.searchsorted(t, v, side=side), t, v), np.searchsorted(t, v, side))
        for bins in (table, table[::-1].copy()):
            wanted = np.digitize(values, bins, right=side == "right")
            alike(natively(lambda v, b, side=side: np.digitize(v, b, right=side == "right"), values, bins), wanted)
            alike(natively(lambda v, b=bins, side=side: np.digitize(v, b, right=side == "right"), values), wanted)


def test_bins_in_no_order_are_refused_as_by_numpy():
    compiled = ad.compile(lambda v, bins: np.digitize(v, bins) + 1, wait=True)
    values, bins = np.array([0.5, 2.5]), np.array([0.0, 1.0, 2.0])
    for _ in range(3):
        alike(compiled(values, bins), np.digitize(values, bins) + 1)
    with pytest.raises(ValueError, match="monotonically"):
        compiled(values, np.array([0.0, 2.0, 1.0]))
    alike(compiled(values, bins[::-1].copy()), np.digitize(values, bins[::-1]) + 1)


@pytest.mark.parametrize(("one", "other"), list(itertools.product(("f8", "f4", "i8", "b1"), repeat=2)))
def test_closeness(one, other):
    a = np.broadcast_to(np.array(EDGES if one[0] == "f" else range(12)).astype(one)[:, None], (12, 12)).copy()
    b = np.broadcast_to(np.array(EDGES if other[0] == "f" else range(12)).astype(other), (12, 12)).copy()
    for f in (
        lambda a, b: np.isclose(a, b),
        lambda a, b: np.isclose(a, b, 1e-3, 1e-3, equal_nan=True),
        lambda a, b: np.isclose(a, 1.0),
        lambda a, b: np.isclose(1.0, b),
        lambda a, b: np.allclose(a, b),
        lambda a, b: np.allclose(b, b * 1, equal_nan=True),
        lambda a, b: np.array_equal(a, b),
        lambda a, b: np.array_equal(a, a * 1),
    ):
        with np.errstate(all="ignore"):
            alike(natively(f, a, b), f(a, b))


def interpolated(x):
    for _ in range(12):
        x = x + 0.1 * np.interp(x, TABLE, HEIGHTS)
    return np.sum(x)


def placed(x):
    for _ in range(12):
        x = x + 0.01 * x * HEIGHTS[np.minimum(np.digitize(x, TABLE), 32)]
    return np.sum(x)


def settled(x):
    for _ in range(40):
        after = 0.5 * (x + np.cos(x))
        if np.allclose(after, x, 1e-3):
            break
        x = after
    return np.sum(x)


def counted(x):
    which = np.arange(6) % 4
    for _ in range(12):
        x = 0.9 * x + 0.01 * np.bincount(which, weights=x, minlength=5)[which] ** 2
    return np.sum(x)


@pytest.mark.parametrize("f", [interpolated, placed, settled, counted])
def test_loops_that_search(f):
    x = np.linspace(0.5, 7.5, 6)
    for g in (f, ad.grad(f)):
        compiled = ad.compile(g, wait=True)
        for _ in range(3):
            found = compiled(x)
        np.testing.assert_allclose(found, g(x), rtol=1e-12)
        assert "NumPy" not in str(compiled.plan)
