"""Random programs, compiled, against the same programs as they are: by NumPy and natively, at several values.

The programs are those of `test_programs` and `test_programs_in_place`: sharing, broadcasting, indexing, writes through
views of views, loops, and branches on values, which make a recording ask again at each call.
"""

import numpy as np
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import adjoint as ad
from tests import test_programs as values
from tests import test_programs_in_place as writes

BACKENDS = ("numpy", "native")
bounded = settings(
    derandomize=True, database=None, deadline=None, max_examples=30,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)  # fmt: skip


def point(seed):
    """Arguments of one signature: arrays, and a number of Python's."""
    rng = np.random.default_rng(seed)
    return (*(rng.uniform(-1.5, 1.5, shape) for shape in ((2, 3), (3,), ())), float(rng.uniform(-1.0, 1.0)))


def same(found, expected, backend, size=1.0):
    """The same numbers; natively, but for what the rounding of a few operations more can make of them."""
    assert len(found) == len(expected)
    for x, y in zip(found, expected, strict=True):
        x, y = np.asarray(x), np.asarray(y)
        assert (x.shape, x.dtype) == (y.shape, y.dtype)
        scale = max(size, float(np.max(np.abs(y), initial=0.0, where=np.isfinite(y))))
        np.testing.assert_allclose(x, y, rtol=0.0, atol=(1e-12 if backend == "native" else 1e-13) * scale)


def steady(f, args):
    """Whether `f` goes one way at `args` and next to it: a branch on what rounding leaves of 0 may go either way."""
    expected = f(*args)
    for seed in range(4):
        rng = np.random.default_rng(seed)
        near = [x * (1 + 4e-16 * rng.choice([-1.0, 1.0], np.shape(x))) for x in args]
        for x, y in zip(f(*near), expected, strict=True):
            if not np.allclose(x, y, rtol=1e-9, atol=1e-9 * (1 + np.max(np.abs(y), initial=0.0))):
                return False
    return True


def agrees(f, points, **options):
    """`f`, compiled, gives at each of `points` what it gives as it is; and at the first one again, afterwards."""
    for backend in BACKENDS:
        compiled = ad.compile(f, wait=True, backend=backend, **options)
        for args in [points[0], *points, points[0]]:
            given = [np.copy(x) if isinstance(x, np.ndarray) else x for x in args]
            with np.errstate(all="ignore"):
                assume(steady(f, args))
                expected = f(*args)
                found = compiled(*given)
            assume(all(np.all(np.abs(y) < 1e8) for y in expected))
            same(found, expected, backend)
            for x, y in zip(given, args, strict=True):
                np.testing.assert_array_equal(x, y)  # no argument is written


def program_of(program, scale):
    """Value and gradients of a program of `test_programs` that closes over an array and takes a number."""

    def f(a, b, c, number):
        def loss(a, b, c, number):
            return values.run(program, a * scale, b + number, c)

        value, pullback = ad.vjp(loss, a, b, c, number)
        return value, *pullback(np.float64(1.0))

    return f


@bounded
@given(st.lists(values.steps, min_size=1, max_size=8))
def test_values_and_gradients(program):
    agrees(program_of(program, np.array([1.0, -0.5, 0.25])), [point(k) for k in range(4)])


@settings(bounded, max_examples=15)
@given(st.lists(values.steps, min_size=1, max_size=6))
def test_tensors(program):
    """Gradients go through compiled programs, to arguments and to tensors that they close over."""

    def gradients(compiled, weight, tensors):
        weight.grad = None
        loss = compiled(*tensors)
        if loss.requires_grad:
            (loss * 2.0 + loss).backward()
        return [loss.detach(), *(np.zeros(t.shape) if t.grad is None else t.grad for t in (*tensors, weight))]

    weight = ad.tensor([0.5, 1.0, -2.0], requires_grad=True)

    def f(a, b, c):
        return values.run(program, a * weight, b, c)

    for backend in BACKENDS:
        compiled = ad.compile(f, wait=True, backend=backend)
        for seed in (0, 0, 1, 2):
            assume(steady(lambda *args: [f(*map(ad.tensor, args)).numpy()], point(seed)[:3]))
            new = [[ad.tensor(x, requires_grad=True) for x in point(seed)[:3]] for _ in range(2)]
            same(gradients(compiled, weight, new[0]), gradients(f, weight, new[1]), backend)


@settings(bounded, max_examples=25)
@given(st.lists(writes.step, min_size=1, max_size=5))
def test_writes(program):
    points = [(np.random.default_rng(seed).uniform(0.3, 0.9, writes.SHAPE),) for seed in range(3)]

    def f(x):
        value, pullback = ad.vjp(lambda x: np.tanh(writes.run(program, x) * 0.1), x)
        return value, *pullback(1.0)

    agrees(f, points)


@settings(bounded, max_examples=15)
@given(st.lists(writes.step, min_size=1, max_size=3))
def test_arguments_that_are_written(program):
    """What a program writes into its arguments is there after each call."""

    def f(x, y):
        writes.run(program, y)
        x[0] += np.mean(y)
        for target, path, _, _, write, _ in program:
            v = x
            for name in path:
                v = writes.VIEWS[name](v)
            if np.shares_memory(v, x) if isinstance(x, np.ndarray) else True:
                writes.WRITES[write](v, 0.1 * target)
        return np.sum(x * y)

    for backend in BACKENDS:
        compiled = ad.compile(f, wait=True, backend=backend)
        for seed in (0, 0, 1, 2):
            x, y = (np.random.default_rng(seed + k).uniform(0.3, 0.9, writes.SHAPE) for k in (0, 10))
            assume(steady(lambda x, y: [f(x.copy(), y.copy())], (x, y)))
            mine, theirs = (x.copy(), y.copy()), (x.copy(), y.copy())
            same([compiled(*mine), *mine], [f(*theirs), *theirs], backend)


MODES = {
    "grad": lambda f: lambda x: ad.grad(f)(x),
    "jvp": lambda f: lambda x: ad.jvp(f, (x,), (np.cos(x),))[1],
    "vmap": lambda f: lambda x: ad.vmap(f)(np.stack([x, x * 1.01])),
    "hvp": lambda f: lambda x: ad.grad(lambda x: np.sum(ad.grad(f)(x) * np.sin(x)))(x),
    "compile": lambda f: lambda x: ad.compile(f, backend="numpy")(x) * 2.0,
    "grad of compile": lambda f: lambda x: ad.grad(ad.compile(f, backend="numpy"))(x),
    "checkpoint": lambda f: lambda x: ad.grad(ad.checkpoint(f))(x),
}


@settings(bounded, max_examples=25)
@given(st.lists(values.steps, min_size=1, max_size=5), st.sampled_from(sorted(MODES)), st.booleans())
def test_modes(program, mode, inside):
    """A compiled function inside of a mode, and a mode compiled."""

    def f(x):
        return values.run(program, np.reshape(x[:6], (2, 3)), x[6:9], x[9])

    points = [np.random.default_rng(seed).uniform(-1.5, 1.5, 10) for seed in (0, 0, 1, 2)]
    for backend in BACKENDS:
        compiled = ad.compile(f if inside else MODES[mode](f), wait=True, backend=backend)
        ours = MODES[mode](compiled) if inside else compiled
        for x in points:
            try:
                expected = MODES[mode](f)(x)
            except ad.BatchedValueError:  # a branch that differs between samples
                assume(False)
            assume(steady(lambda x: [MODES[mode](f)(x)], [x]))
            same([ours(x)], [expected], backend)
