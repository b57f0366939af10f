"""Results of compiled functions lie in memory as those of the plain functions do."""

import numpy as np
import pytest

import adjoint as ad

STACK = np.arange(24.0).reshape(2, 3, 4)

FUNCTIONS = {
    "transposed": lambda x: np.sin(x).T,
    "an axis moved": lambda x: np.moveaxis(np.cos(x), 0, -1),
    "twice": lambda x: (y := np.sin(x).T, y * 2.0, y),
    "one as it is and transposed": lambda x: (y := np.sin(x), y.swapaxes(0, 2)),
    "an argument": lambda x: x.T,
    "turned back": lambda x: (np.sin(x).T + 1.0).T,
    "a jacobian": ad.jacfwd(lambda x: np.sin(x[0]) * x[1, 0]),
    "of samples": ad.vmap(ad.jacfwd(lambda x: x[1] * np.cos(x[0]))),
    "with an axis of one": lambda x: np.exp(x[:, :1]).transpose(2, 0, 1),
    "a part": lambda x: np.exp(x).transpose(2, 0, 1)[::2],
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("backend", ["native", "numpy"])
def test_results_lie_as_they_do_without(name, backend):
    f = FUNCTIONS[name]
    compiled = ad.compile(f, wait=True, backend=backend)
    for _ in range(3):
        x = STACK.copy()
        expected, found = f(x), compiled(x)
        for wanted, got in zip(*(r if isinstance(r, tuple) else (r,) for r in (expected, found)), strict=True):
            np.testing.assert_allclose(got, wanted, rtol=1e-14)
            assert got.strides == wanted.strides
            assert np.shares_memory(got, x) == np.shares_memory(wanted, x)
        (found[0] if isinstance(found, tuple) else found)[...] = 0.0  # a later call is not changed


def test_results_that_are_one_array_stay_one():
    f = ad.compile(FUNCTIONS["twice"], wait=True)
    for _ in range(3):
        first, _, last = f(STACK)
        assert first is last


VIEWS = {
    "a row": lambda x, k: x[k],
    "a part of it": lambda x, k: x[k, 1:],
    "rows": lambda x, k: x[k : k + 2],
    "a column": lambda x, k: x[:, k % 3],
    "reshaped": lambda x, k: x[-k].reshape(3, 1),
    "written": lambda x, k: (row := x[k], row.__imul__(2.0), x[k + 1])[::2],
}


@pytest.mark.parametrize("name", VIEWS)
@pytest.mark.parametrize("backend", ["native", "numpy"])
def test_views_by_numbers_that_vary_are_views(name, backend):
    f = VIEWS[name]
    compiled = ad.compile(f, wait=True, backend=backend)
    for k in (1, 2, 3, 4, 5, 6, 7, 2, 8):
        x, y = np.arange(30.0).reshape(10, 3), np.arange(30.0).reshape(10, 3)
        wanted, got = f(x, k), compiled(y, k)
        for a, b in zip(*(r if isinstance(r, tuple) else (r,) for r in (wanted, got)), strict=True):
            assert np.array_equal(a, b)
            assert np.shares_memory(b, y)
        assert np.array_equal(x, y)


def test_an_index_out_of_range_writes_as_without():
    def world():
        table, count = np.arange(6.0).reshape(3, 2), [0.0]

        def f(k):
            count[0] += 1.0
            row = table[k]
            row += 1.0
            return row

        return f, table, count

    (f, table, count), (g, other, counted) = world(), world()
    g = ad.compile(g, wait=True)
    for k in (0, 1, 2, -1, -2, -3, 5, -4, 1):
        for call in (f, g):
            if -4 < k < 3:
                call(k)
            else:
                with pytest.raises(IndexError, match=f"index {k} is out of bounds"):
                    call(k)
        assert np.array_equal(table, other)
        assert count == counted


APART = {
    "reversed": lambda x: (np.exp(x), np.exp(x)[::-1]),
    "sorted": lambda x: (np.sort(x, axis=None), np.sort(x, axis=None)[1:]),
    "transposed": lambda x: ((x * 1.0), (x * 1.0).T, x.copy(), x.copy()[0]),
}


@pytest.mark.parametrize("name", APART)
@pytest.mark.parametrize("backend", ["native", "numpy"])
def test_results_that_are_computed_alike_are_arrays_of_their_own(name, backend):
    f = ad.compile(APART[name], wait=True, backend=backend)
    for _ in range(3):
        results = f(np.arange(6.0).reshape(2, 3))
        assert not any(np.shares_memory(a, b) for i, a in enumerate(results) for b in results[:i])


@pytest.mark.parametrize("backend", ["native", "numpy"])
def test_constant_gradients_are_new_arrays(backend):
    slope = ad.compile(ad.grad(lambda x: 3.0), wait=True, backend=backend)
    for _ in range(4):
        found = slope(np.ones(3))
        assert np.array_equal(found, np.zeros(3))
        found += 1.0


BY_NUMPY = {
    "its result": lambda x: np.ldexp(x, 3),
    "of what is turned": lambda x: np.ldexp(x.T, 3),
    "turned": lambda x: np.nextafter(x, 2.0).T,
    "twice": lambda x: (y := np.ldexp(x, 1), y, y.T),
    "a part": lambda x: np.ldexp(x[::2], 1)[:, 1:],
    "and natively": lambda x: (y := np.ldexp(x.T, 1), y * 2.0, y.sum(axis=0)),
    "complex": lambda x: (x + 1j).T,
}


@pytest.mark.parametrize("order", "CF")
@pytest.mark.parametrize("name", BY_NUMPY)
def test_what_numpy_computes_between_lies_as_it_does_without(name, order):
    f, given = BY_NUMPY[name], np.array(STACK[0], order=order)
    compiled = ad.compile(f, wait=True)
    kept = []
    for _ in range(3):
        x = given.copy(order="K")
        expected, found = f(x), compiled(x)
        for wanted, got in zip(*(r if isinstance(r, tuple) else (r,) for r in (expected, found)), strict=True):
            np.testing.assert_array_equal(got, wanted)
            assert [s for n, s in zip(got.shape, got.strides, strict=True) if n > 1] == list(wanted.strides)
            assert not np.shares_memory(got, x)
            kept.append((got, wanted))
    for got, wanted in kept:  # later calls change nothing
        np.testing.assert_array_equal(got, wanted)
