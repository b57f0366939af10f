"""Selections of large arrays, and far from where a partial derivative is infinite."""

import tracemalloc

import numpy as np
import pytest

import adjoint as ad
from adjoint.core.rules.choosing import where_false, where_positive, where_true
from adjoint.tape import backward
from adjoint.tape.zeros import notes

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")

N = 3000


@pytest.fixture(params=[(10, 10), (10, 1 << 22), (1 << 22, 10), (1 << 22, 1 << 22)])
def size(request, monkeypatch):
    """From which size an array is looked at closely: those here are of it, or not.

    It is asked whether it is made of fewer numbers, and whether anything left to do can make nan of a zero.
    """
    for module in (backward, notes):
        monkeypatch.setattr(module, "MANY", request.param[0])
    monkeypatch.setattr(backward, "_LARGE", request.param[1])


def chain(x, place, good, length=40):
    """Elementwise functions, one of them singular at 0; where the argument is 0 nothing is selected."""
    y = x * 1.0
    for k in range(length):
        y = np.sqrt(y) if k == place else y * 1.01 + 0.0
    return np.sum(np.where(good, y, 0.0))


@pytest.mark.parametrize("retain", [True, False])
@pytest.mark.parametrize("place", [0, 7, 20, 39])
def test_what_is_left_out_is_zero_however_far_back(size, place, retain):
    x = np.linspace(1.0, 2.0, N)
    x[::3] = 0.0
    good = x > 0
    t = ad.tensor(x, requires_grad=True)
    chain(t, place, good).backward(retain_graph=retain)
    found, right = t.grad.numpy(), np.zeros(N)
    t = ad.tensor(x[good], requires_grad=True)
    chain(t, place, np.ones(good.sum(), bool)).backward()
    right[good] = t.grad.numpy()
    np.testing.assert_allclose(found, right, rtol=1e-12)


def test_a_zero_that_arithmetic_made_stays_nan(size):
    x = np.linspace(0.0, 2.0, N)
    t = ad.tensor(x, requires_grad=True)
    y = np.sqrt(t) ** 2
    for _ in range(30):
        y = y * 1.0
    np.sum(np.where(x >= 0, y, 0.0)).backward(retain_graph=False)
    assert np.isnan(t.grad.numpy()[0])
    np.testing.assert_allclose(t.grad.numpy()[1:], 1.0)


def test_graphs_are_freed_after_a_selection(size):
    t = ad.tensor(np.linspace(1.0, 2.0, N), requires_grad=True)
    y = loss = chain(t, 5, np.arange(N) % 2 == 0)
    loss.backward(retain_graph=False)
    with pytest.raises(ad.GraphFreedError):
        y.backward()


@pytest.mark.parametrize("bad", [None, np.inf, np.nan])
@pytest.mark.parametrize("again", [False, True])
def test_a_large_leaf_of_few_numbers(size, bad, again):
    """The gradient of a matrix is an outer product: nobody looks through it where its factors are finite."""
    w = ad.tensor(np.ones((60, 70)), requires_grad=True)
    x = np.linspace(1.0, 2.0, 70)
    good = np.arange(60) % 2 == 0
    if bad is not None:
        x[3] = bad
    y = np.where(good, np.outer(w @ np.where(np.isfinite(x), x, 1.0), [1.0])[:, 0], 0.0)
    z = np.where(good, w @ x, 0.0)
    loss = np.sum(y) + np.sum(z)
    if again:
        loss = loss + np.sum(np.where(good, w @ x, 0.0)) + np.sum(w)
    loss.backward(retain_graph=False)
    row = np.where(np.isfinite(x), x, 1.0) + x * (2 if again else 1)
    expected = np.where(good[:, None], row, 0.0) + (1.0 if again else 0.0)
    np.testing.assert_allclose(w.grad.numpy(), expected)
    w.grad.numpy()[...] = 7.0  # it is nobody else's memory


@pytest.mark.parametrize("hazard", [0.0, np.inf, np.nan])
@pytest.mark.parametrize("early", [True, False])
def test_a_saved_value_may_make_nan_of_a_zero(size, hazard, early):
    """The infinity stands in a constant: before the selection, or in a factor that is itself left out."""
    a = np.linspace(1.0, 2.0, N)
    a[::7] = hazard
    good = np.arange(N) % 7 != 0
    t = ad.tensor(np.linspace(-1.0, 1.0, N), requires_grad=True)
    y = np.where(good, t * a, 1.0) if early else np.where(good, np.maximum(t, 0.0), 2.0) * np.where(good, a, 1.0)
    np.sum(np.where(good, y * 3.0, 0.0)[1:]).backward(retain_graph=False)
    right = 3.0 * a * (1.0 if early else (t.numpy() > 0))
    right[~good] = right[0] = 0.0
    np.testing.assert_allclose(t.grad.numpy(), right)


def test_writing_after_use_is_a_hazard(size):
    """What a node saved was written since: whether it was finite cannot be seen."""
    t = ad.tensor(np.ones(N), requires_grad=True)
    y = t * 1.0
    y[0] = 0.0
    z = y**0.5
    y[0] = 1.0
    np.sum(np.where(np.arange(N) > 0, z, 0.0)).backward(retain_graph=False)
    np.testing.assert_array_equal(t.grad.numpy(), np.where(np.arange(N) > 0, 0.5, 0.0))


def peak(call):
    """The most bytes that `call` holds at once."""
    call()
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_saved_values_of_a_large_pass_go_as_they_are_used():
    """A selection comes first; nothing after it can make nan of a zero, so nothing is kept for a second pass."""
    n, depth = 600, 6
    r = np.random.default_rng(0)
    weights = [ad.tensor(r.standard_normal((n, n)) / 30, requires_grad=True) for _ in range(depth)]
    x, labels = ad.tensor(r.standard_normal((n, n))), np.arange(n)

    def step():
        h = x
        for w in weights:
            w.grad, h = None, np.tanh(h @ w)
        (np.sum(h[labels, labels]) if chosen else np.sum(h)).backward(retain_graph=False)

    chosen = False
    without = peak(step)
    chosen = True
    assert peak(step) < without + 1.5 * 8 * n * n  # the zeros of the selection's own cotangent


def test_masks_of_large_arrays_stay_small():
    x, g = np.linspace(-1.0, 1.0, 1 << 21), np.ones(1 << 21)
    assert peak(lambda: where_positive(x, g)) < 1.1 * g.nbytes
    assert peak(lambda: where_true(x > 0, g)) < 1.3 * g.nbytes  # the truth values are the caller's


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, ">f8", np.complex128])
@pytest.mark.parametrize("count", [5, 2000, 50000])
def test_choosing_is_numpys_where(dtype, count):
    r = np.random.default_rng(0)
    g = r.standard_normal((count, 6)).astype(dtype)
    g[0, :4] = [np.nan, np.inf, -np.inf, -0.0]
    for array in (g, g.T, g[::2, ::3], np.broadcast_to(g[:1], g.shape)):
        for condition in (
            r.random(array.shape) > 0.5,
            r.random((6, 6))[:1, : array.shape[1] if array.shape[1] < 7 else 1] > 0.5,
            True,
        ):
            for ours, theirs in (
                (where_true, np.where(condition, array, 0.0)),
                (where_false, np.where(condition, 0.0, array)),
            ):
                found = ours(condition, array)
                assert found.dtype == theirs.dtype
                np.testing.assert_array_equal(found, theirs)
                np.testing.assert_array_equal(np.signbit(found.real), np.signbit(theirs.real))


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
@pytest.mark.parametrize("count", [5, 50000])
def test_choosing_where_positive(dtype, count):
    r = np.random.default_rng(0)
    x, g = r.standard_normal((2, count, 6)).astype(dtype)
    x[0, :4], g[1, :4] = [np.nan, np.inf, -np.inf, -0.0], [np.nan, np.inf, -np.inf, -0.0]
    for a, b in ((x, g), (x.T, g.T), (x, g[::-1]), (x[:, :1], g)):
        np.testing.assert_array_equal(where_positive(a, b), np.where(a > 0, b, 0.0))


@pytest.mark.parametrize("count", [4, 2000])
@pytest.mark.parametrize("f", [np.maximum, np.minimum, np.fmax, np.fmin])
def test_the_larger_of_many(f, count):
    r = np.random.default_rng(1)
    x, y = r.standard_normal(count), r.standard_normal(count)
    for ties, nans in ((0, 0), (1, 0), (0, 1), (1, 1)):
        a, b = x.copy(), y.copy()
        if ties:
            a[:2] = b[:2]
        if nans:
            a[2] = np.nan
        s, t = ad.tensor(a, requires_grad=True), ad.tensor(b, requires_grad=True)
        np.sum(f(s, t) * np.arange(1.0, count + 1)).backward(retain_graph=False)
        g = np.arange(1.0, count + 1)
        out = f(a, b)
        won, lost = (a == out) | (np.isnan(a) & np.isnan(out)), (b == out) | (np.isnan(b) & np.isnan(out))
        np.testing.assert_array_equal(s.grad.numpy(), np.where(won, np.where(lost, g / 2, g), 0.0))
        np.testing.assert_array_equal(t.grad.numpy(), np.where(lost, np.where(won, g / 2, g), 0.0))
