"""Random programs under random nestings of modes: each nesting must give what plain loops and reverse mode give.

A nesting takes a function of a vector to another one, number to number: a derivative in some direction by some mode, a
mean over samples, a checkpoint. In the reference each derivative is a gradient, samples are looped over, and nothing is
checkpointed. Reverse mode itself is held to differences by the other files of programs.
"""

import numpy as np
from hypothesis import HealthCheck, assume, given, reject, settings
from hypothesis import strategies as st

import adjoint as ad
from tests import test_programs as values
from tests import test_programs_in_place as writes

DIRECTIONS = {
    "fixed": lambda x: np.cos(np.arange(x.shape[0], dtype=float)),
    "itself": lambda x: x,  # a direction that varies: perturbations must not be confused
    "bent": lambda x: np.sin(x) + x[::-1],
}
DERIVATIVES = {
    "reverse": lambda f, x, v: np.sum(ad.grad(f)(x) * v),
    "forward": lambda f, x, v: ad.jvp(f, (x,), (v,))[1],
    "pullback": lambda f, x, v: np.sum(ad.vjp(f, x)[1](1.0)[0] * v),
    "linearized": lambda f, x, v: ad.linearize(f, x)[1](v),
    "jacfwd": lambda f, x, v: np.sum(ad.jacfwd(f)(x) * v),
}
STATED = ad.custom_jvp(np.tanh)
STATED.defjvp(lambda p, t: (STATED(p[0]), t[0] * (1 - STATED(p[0]) ** 2)))


def samples(x):
    """Three samples near `x`, so that branches mostly agree."""
    return np.stack([x, x * 1.01, x - 0.005])


WRAPPERS = {
    "vmap": lambda f: lambda x: np.mean(ad.vmap(f)(samples(x)) * np.array([1.0, -0.5, 2.0])),
    "vmap, axis 1": lambda f: lambda x: np.sum(ad.vmap(f, in_axes=1)(samples(x).T)),
    "checkpoint": lambda f: ad.checkpoint(f),
    "checkpoint with products": lambda f: ad.checkpoint(f, policy=ad.save_matmuls),
    "custom rule": lambda f: lambda x: f(STATED(x)) + np.sum(STATED(x)),
    "vmap, closing over": lambda f: lambda x: np.sum(ad.vmap(lambda w: f(x * w))(np.array([1.0, 1.02]))),
}
PLAIN = {
    "vmap": lambda f: lambda x: np.mean(np.stack([f(v) for v in samples(x)]) * np.array([1.0, -0.5, 2.0])),
    "vmap, axis 1": lambda f: lambda x: np.sum(np.stack([f(v) for v in samples(x)])),
    "vmap, closing over": lambda f: lambda x: f(x * 1.0) + f(x * 1.02),
    "custom rule": lambda f: lambda x: f(np.tanh(x)) + np.sum(np.tanh(x)),
}


def nested(f, nesting, reference=False):
    """`f` inside of `nesting`, the first the innermost."""
    for name, direction in nesting:
        if direction is not None:
            f = derivative(f, "reverse" if reference else name, DIRECTIONS[direction])
        elif reference:
            f = PLAIN.get(name, lambda f: f)(f)
        else:
            f = WRAPPERS[name](f)
    return f


def derivative(f, mode, direction):
    return lambda x: DERIVATIVES[mode](f, x, direction(x))


derivatives = st.tuples(st.sampled_from(sorted(DERIVATIVES)), st.sampled_from(sorted(DIRECTIONS)))
wrappers = st.tuples(st.sampled_from(sorted(WRAPPERS)), st.none())
nestings = st.lists(st.one_of(derivatives, wrappers), min_size=1, max_size=4).filter(
    lambda nesting: sum(direction is not None for _, direction in nesting) <= 2
)
shapes = st.tuples(st.integers(1, 3), st.integers(1, 3))
bounded = settings(
    derandomize=True, database=None, deadline=None, max_examples=500,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)  # fmt: skip


def program_of(program, shape):
    """A program of several arrays, as a function of one vector."""
    rows, columns = shape

    def f(x):
        end = rows * columns
        return values.run(program, np.reshape(x[:end], shape), x[end : end + columns], x[end + columns])

    return f, np.random.default_rng(7).uniform(-1.5, 1.5, rows * columns + columns + 1)


def holds(f, x, nesting):
    """Whether the nesting gives what its reference gives; and a gradient of it by tensors does."""
    with np.errstate(all="ignore"):
        expected = nested(f, nesting, reference=True)(x)
        assume(np.isfinite(expected) and abs(expected) < 1e8)
        try:
            got = nested(f, nesting)(x)
        except ad.BatchedValueError as error:
            if "true for some samples" in str(error):  # the program branches otherwise there
                reject()
            raise
        scale = 1 + np.max(np.abs([expected, f(x)]))
        np.testing.assert_allclose(got, expected, rtol=1e-9, atol=1e-11 * scale)
        if len(nesting) <= 2:
            tensor = ad.tensor(x, requires_grad=True)
            value = nested(f, nesting)(tensor)
            exact = ad.grad(lambda x: nested(f, nesting, reference=True)(x) + np.sum(0.0 * x))(x)
            np.testing.assert_allclose(value.numpy(), expected, rtol=1e-9, atol=1e-11 * scale)
            (value + np.sum(0.0 * tensor)).backward()
            scale = 1 + np.max(np.abs(exact))
            np.testing.assert_allclose(tensor.grad.numpy(), exact, rtol=1e-8, atol=1e-10 * scale)


@bounded
@given(st.lists(values.steps, min_size=1, max_size=6), shapes, nestings)
def test_values(program, shape, nesting):
    f, x = program_of(program, shape)
    holds(f, x, nesting)


def maps(nesting):
    return any(name.startswith("vmap") for name, _ in nesting)


@settings(bounded, max_examples=300)
@given(st.data(), st.integers(0, 5), nestings)
def test_writes(data, seed, nesting):
    step = writes.step_of_samples if maps(nesting) else writes.step
    program = data.draw(st.lists(step, min_size=1, max_size=4))
    x = np.random.default_rng(seed).uniform(0.3, 0.9, 8)
    holds(lambda x: np.tanh(writes.run(program, np.reshape(x, (2, 2, 2)))), x, nesting)
