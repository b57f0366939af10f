"""Random programs that write in place, through views of views, with control flow: against NumPy and differences."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import adjoint as ad
from adjoint.testing import check_grads

SHAPE = (2, 3, 2)

VIEWS = {
    "first": lambda a: a[0] if a.ndim > 1 else a[:1],
    "last": lambda a: a[-1:] if a.ndim else a,
    "reversed": lambda a: a[::-1] if a.ndim else a,
    "every other": lambda a: a[..., ::2],
    "transposed": lambda a: a.T,
    "flat": lambda a: a.reshape(-1),
    "new axis": lambda a: a[..., None] if a.ndim < 4 else a,
    "swapped": lambda a: np.swapaxes(a, 0, -1),
    "itself": lambda a: a,
    "real part": lambda a: a.real,
    "squeezed": lambda a: np.squeeze(a) if a.size > 1 else a,
    "in line": np.ravel,
}

EXPRESSIONS = {
    "sine": lambda a, b: np.sin(a),
    "scaled": lambda a, b: 0.7 * a + 0.1,
    "square of mean": lambda a, b: a * np.mean(b) ** 2,
    "sum of another": lambda a, b: np.sum(np.tanh(b)),
    "an element": lambda a, b: np.ravel(b)[0] * 1.5,
    "constant": lambda a, b: 0.25,
    "ratio": lambda a, b: a / (1.5 + np.max(b) ** 2),
    "previous": lambda a, b: np.roll(a, 1),
}


def assign(v, w):
    v[...] = w


def add_to(v, w):
    v += w


def times(v, w):
    v *= w


def masked(v, w):
    v[v > 0.2] = np.broadcast_to(w, v.shape)[v > 0.2]


def by_numbers(v, w):
    flat = v.reshape(-1)
    flat[np.array([0, -1, 0])] = np.ravel(np.broadcast_to(w, v.shape))[np.array([0, -1, 0])] * np.array([1.0, 2.0, 3.0])


def into(v, w):
    np.multiply(v, w, out=v)


def at(v, w):
    np.add.at(v, (0,) if v.ndim == 1 else ([0, 0],), np.sum(w))


def masked_with_a_number(v, w):
    v[v > 0.2] = np.sum(w)


def swap(v, w):
    first = v[0] * 1
    v[0] = v[-1]
    v[-1] = first


def if_positive(v, w):
    if np.sum(v) > 0:
        v -= w
    else:
        v[...] = -v


FORMS = (assign, add_to, times, masked, masked_with_a_number, by_numbers, into, at, swap, if_positive)
WRITES = {f.__name__: f for f in FORMS}


def step_of(writes):
    return st.tuples(
        st.integers(0, 5),
        st.lists(st.sampled_from(sorted(VIEWS)), max_size=3),
        st.integers(0, 5),
        st.sampled_from(sorted(EXPRESSIONS)),
        st.sampled_from(sorted(writes)),
        st.booleans(),
    )


step = step_of(WRITES)
# Neither a mask of many elements nor a branch may differ between samples.
step_of_samples = step_of(WRITES.keys() - {"masked", "if_positive"})


def run(steps, x):
    """The program `steps`, on an array or a tensor: each step writes into some view of some array that lives."""
    base = x * 1.0
    alive = [base]
    kept = 0.0
    for target, path, source, expression, write, keep in steps:
        v = alive[target % len(alive)]
        for name in path:
            v = VIEWS[name](v)
        if keep:  # something that saves what is about to be overwritten
            kept = kept + np.sum(np.cos(base) * base)
        w = EXPRESSIONS[expression](v, alive[source % len(alive)])
        WRITES[write](v, w)
        alive.append(v)
    return kept + sum(np.sum(a**2) * (0.3 + i) for i, a in enumerate(alive))


@settings(max_examples=150, deadline=None, derandomize=True)
@given(steps=st.lists(step, min_size=1, max_size=6), seed=st.integers(0, 5))
def test_against_numpy_and_differences(steps, seed):
    x = np.random.default_rng(seed).uniform(0.3, 0.9, SHAPE)
    expected = run(steps, x.copy())
    assert np.allclose(run(steps, ad.tensor(x)).item(), expected, rtol=1e-12)
    steep = abs(run(steps, x + 1e-7) - expected) > 1e-3  # waves of large numbers: no difference quotient settles
    if abs(expected) < 1e6 and not steep:
        check_grads(lambda v: run(steps, v), (x,), order=1)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(steps=st.lists(step, min_size=1, max_size=3), seed=st.integers(0, 5))
def test_second_order(steps, seed):
    x = np.random.default_rng(seed).uniform(0.3, 0.9, (2, 2))
    if abs(run(steps, x.copy())) < 1e4:
        check_grads(lambda v: run(steps, v), (x,), order=2)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(steps=st.lists(step_of_samples, min_size=1, max_size=5), seed=st.integers(0, 5))
def test_inside_vmap(steps, seed):
    xs = np.random.default_rng(seed).uniform(0.3, 0.9, (3, *SHAPE))
    expected = [run(steps, x.copy()) for x in xs]
    np.testing.assert_allclose(ad.vmap(lambda x: run(steps, x))(xs), expected, rtol=1e-12)
    if np.max(np.abs(expected)) < 1e6:
        gradient = ad.grad(lambda x: run(steps, x))
        each = np.stack([gradient(x) for x in xs])
        scale = max(1.0, float(np.max(np.abs(each))))
        np.testing.assert_allclose(ad.vmap(gradient)(xs), each, rtol=1e-10, atol=1e-12 * scale)
        outside = ad.grad(lambda xs: np.sum(ad.vmap(lambda x: run(steps, x))(xs)))(xs)
        np.testing.assert_allclose(outside, each, rtol=1e-10, atol=1e-12 * scale)
