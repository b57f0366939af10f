"""Arrays among the arguments that a compiled function writes: native code writes where they lie, on the fast path."""

import numpy as np
import pytest

import adjoint as ad
from adjoint.core.objects.trees import flatten


def _step(w, g):
    w -= 0.1 * g


def _all(w, g):
    w[:] = w - 0.1 * g
    return w


def _swap(w, g):
    w[...], g[...] = g.copy(), w.copy()


def _swap_and_more(w, g):
    old = w * 2
    w[...] = g
    g[...] = old
    return old, w + g


def _shift(w, g):
    w[1:] = w[:-1] + g[1:]
    return np.sum(w)


def _backwards(w, g):
    w[:] = w[::-1]
    g[::-1] = w


def _running(w, g):
    np.cumsum(w, out=w)
    g[:] = w
    g *= 2
    return g


def _part(w, g):
    w[2:5] += g[2:5]
    return w[1:3] * 2


def _broadcast(w, g):
    w[...] = g[0]
    g[:] = w[:1] + 1


def _branch(w, g):
    if np.sum(g) > 0:
        w += g
    else:
        w -= 2 * g
    return np.max(w)


def _twice(w, g):
    g[...] = np.sin(w)
    w[...] = g
    return g, np.sin(w)


STEPS = (_step, _all, _swap, _swap_and_more, _shift, _backwards, _running, _part, _broadcast, _branch, _twice)


def _arrays(seed, dtype=np.float64, n=40):
    rng = np.random.default_rng(seed)
    return [(rng.normal(size=n) * 8).astype(dtype) for _ in range(2)]


def _same(f, compiled, given, expected):
    result, wanted = compiled(*given), f(*expected)
    for x, y in zip(given, expected, strict=True):
        np.testing.assert_array_max_ulp(x, y, 2)
    for x, y in zip(flatten(result)[0], flatten(wanted)[0], strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-6 if np.asarray(y).dtype == np.float32 else 1e-14)
    return result


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("f", STEPS, ids=lambda f: f.__name__)
def test_like_the_plain_function(f, dtype):
    compiled = ad.compile(f, wait=True)
    for seed in range(6):
        given, expected = _arrays(seed, dtype), _arrays(seed, dtype)
        result = _same(f, compiled, given, expected)
        if f in (_all, _running):
            assert result is given[f is _running]
    given, expected = _arrays(7, dtype), _arrays(7, dtype)
    for _ in range(4):  # the same arrays again
        _same(f, compiled, given, expected)


@pytest.mark.parametrize("f", [_step, _all, _part, _branch])
def test_the_fast_path_writes_where_the_argument_lies(f):
    compiled = ad.compile(f, wait=True)
    for _ in range(3):
        compiled(*_arrays(1))
    (trace,) = [trace for traces in compiled._specializations.values() for trace in traces]
    assert trace.direct is not None
    assert trace.runner.execution.into == trace.arguments
    assert "w'" in str(compiled.plan)


def test_square_arrays_transposed_in_place():
    def f(w):
        w[...] = w.T + 1

    compiled = ad.compile(f, wait=True)
    for seed in range(4):
        w = np.random.default_rng(seed).normal(size=(70, 70))
        expected = w.T + 1
        compiled(w)
        np.testing.assert_array_equal(w, expected)


@pytest.mark.parametrize("f", STEPS, ids=lambda f: f.__name__)
def test_arrays_that_share_memory_lie_otherwise_or_are_one(f):
    compiled = ad.compile(f, wait=True)
    for seed in range(3):
        compiled(*_arrays(seed))
    for part in (lambda m: (m[:40], m[1:41]), lambda m: (m[1:41], m[:40]), lambda m: (m[:80:2], m[1:81:2]),
                 lambda m: (m[39::-1], m[40:80]), lambda m: (m[:40], m[:40])):  # fmt: skip
        memory, expected = (np.random.default_rng(9).normal(size=90) for _ in range(2))
        for _ in range(2):
            compiled(*part(memory))
            f(*part(expected))
            np.testing.assert_allclose(memory, expected, rtol=1e-13, atol=1e-13)
    w, v = (np.random.default_rng(9).normal(size=40) for _ in range(2))
    compiled(w, w)
    f(v, v)
    np.testing.assert_allclose(w, v, rtol=1e-13)


def test_a_read_only_array_is_refused_and_nothing_is_written():
    compiled = ad.compile(_swap, wait=True)
    for seed in range(3):
        compiled(*_arrays(seed))
    w, g = _arrays(5)
    w.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        compiled(w, g)
    np.testing.assert_array_equal(g, _arrays(5)[1])


def test_many_dtypes_and_shapes():
    def f(w, g):
        w += g
        g[...] = w

    for dtype in (np.int8, np.int64, np.uint16, np.bool_, np.complex128, np.float16):
        for shape in ((), (0,), (3,), (2, 3), (300, 70)):
            compiled = ad.compile(f, wait=True)
            for seed in range(3):
                rng = np.random.default_rng(seed)
                w, g = (np.asarray(rng.integers(0, 9, shape)).astype(dtype) for _ in range(2))
                v, h = w.copy(), g.copy()
                compiled(w, g)
                f(v, h)
                np.testing.assert_array_equal(w, v)
                np.testing.assert_array_equal(g, h)


def test_what_is_saved_is_protected():
    """A write into an argument is seen by the tape, which has saved it."""

    def f(w):
        w *= 2

    compiled = ad.compile(f, wait=True)
    for _ in range(3):
        compiled(np.ones(50))
    x, w = ad.tensor(np.ones(50), requires_grad=True), np.full(50, 3.0)
    y = np.sum(x * w)
    compiled(w)
    y.backward()
    assert np.all(x.grad.data == 3.0)


def test_submitted_calls_write_too():
    compiled = ad.compile(_step, wait=True)
    w, g = _arrays(3)
    v, h = _arrays(3)
    for _ in range(5):
        compiled.submit(w, g).result()
        _step(v, h)
    np.testing.assert_array_max_ulp(w, v, 2)


OUT = np.zeros(3)


def _into_a_global(w):
    np.matmul(np.eye(3) * 2.5, np.ones(3), out=OUT)
    w[0] = 1.0


def _over_a_global(w):
    w[0] = 7.0
    OUT[...] = np.ones(3)


@pytest.mark.parametrize("program", [_into_a_global, _over_a_global])
def test_an_array_from_outside_that_becomes_the_argument_is_written_in_order(program, monkeypatch):
    results = []
    for f in (program, ad.compile(program, wait=True)):
        monkeypatch.setitem(globals(), "OUT", np.zeros(3))
        w = np.array([4.0, 5.0, 6.0])
        for _ in range(4):
            f(w)
        apart = w.copy(), OUT.copy()
        monkeypatch.setitem(globals(), "OUT", w)
        f(w)
        results.append([*apart, w])
    np.testing.assert_array_equal(results[1], results[0])


@pytest.mark.parametrize("asked", [np.shares_memory, np.may_share_memory])
def test_functions_that_ask_where_arrays_lie_run_as_they_are(asked):
    compiled = ad.compile(lambda w: asked(w, OUT) * 1.0, wait=True)
    apart = np.ones(3)
    assert [compiled(apart), compiled(OUT), compiled(apart)] == [0.0, 1.0, 0.0]
    assert asked.__name__ in str(compiled.explain())
