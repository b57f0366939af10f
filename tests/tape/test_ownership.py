"""A gradient is memory of its own: no other gradient's, no saved value's, no argument's."""

from itertools import combinations

import numpy as np
import pytest

import adjoint as ad
from adjoint.tape.node import walk

R = np.random.default_rng(5)


def first_done_then_selected(a, b):
    """The gradient of `a` is whole, in a buffer of the pass, before the selection is met."""
    return np.sum(a * 2.0 * np.sum(np.maximum(b, 0.0))) + np.sum(b[1:] * b[:-1])


def written(a, b):
    c = a * 1.0
    c[:2] = b[:2]
    return np.sum(c * c)


PROGRAMS = {
    "sum": lambda a, b: np.sum(a + b),
    "same": lambda a, b: np.sum(a + a) + np.sum(b),
    "difference": lambda a, b: np.sum(a - b),
    "product": lambda a, b: np.sum(a * b),
    "reshaped": lambda a, b: np.sum(a.reshape(2, -1).T) + np.sum(b[::-1] * 1.0),
    "slices": lambda a, b: np.sum((a[1:] - a[:-1]) ** 2) + np.sum(b[1:]),
    "selected last": lambda a, b: np.sum(np.where(a > 0, a * b, b)),
    "selected first": first_done_then_selected,
    "alone, then selected": lambda a, b: np.sum(np.exp(a)) * 1.0 + np.sum(np.maximum(b, a)),
    "a zero selected": lambda a, b: np.sum(np.where(b > 9.0, np.sqrt(b - b), b)) + np.sum(a * 3.0),
    "broadcast": lambda a, b: np.sum(np.broadcast_to(a, (3, 6)) * b),
    "parts": lambda a, b: np.sum(np.split(a, 2)[0]) + np.sum(np.concatenate([a, b])),
    "written": written,
    "identity": lambda a, b: np.sum(a * 1.0) + 0.0 * np.sum(b),
}


def arrays(x):
    """The plain arrays in a saved value."""
    if isinstance(x, np.ndarray):
        yield x
    elif isinstance(x, tuple | list):
        for item in x:
            yield from arrays(item)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", PROGRAMS)
def test_gradients_share_memory_with_nothing(name):
    x, y = R.standard_normal(6), R.standard_normal(6)
    a, b = ad.tensor(x, requires_grad=True), ad.tensor(y, requires_grad=True)
    loss = PROGRAMS[name](a, b)
    loss.backward()
    found = [t.grad.data for t in (a, b)]
    saved = [array for node in walk(loss.node) for value in node.saved for array in arrays(value)]
    for one, other in (*combinations(found, 2), *((g, s) for g in found for s in (*saved, a.data, b.data))):
        assert not np.shares_memory(one, other)
    before = [g.copy() for g in found]
    for g in found:  # a second pass through the same graph does not see what is written into these
        g[...] = 0.0
    loss.backward()
    for g, right in zip(found, before, strict=True):
        np.testing.assert_array_equal(g, right)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", PROGRAMS)
def test_what_transforms_give_shares_memory_with_nothing(name):
    x, y = R.standard_normal(6), R.standard_normal(6)
    kept, given = [], (x.copy(), y.copy())

    def program(a, b):
        kept.extend((a, b))
        return PROGRAMS[name](a, b)

    value, found = ad.value_and_grad(program, argnums=(0, 1))(x, y)
    for one, other in (*combinations(found, 2), *((g, s) for g in found for s in (x, y, *(t.data for t in kept)))):
        assert not np.shares_memory(one, other)
    _, pullback = ad.vjp(program, x, y)
    first = pullback(np.ones_like(value))
    for g in first:
        g[...] = 7.0
    for g, right in zip(pullback(np.ones_like(value)), found, strict=True):
        np.testing.assert_array_equal(g, right)
    np.testing.assert_array_equal((x, y), given)


@pytest.mark.parametrize("shape", [(), (1,)])
def test_the_value_of_a_gradient_is_the_callers(shape):
    """A function may return what its graph saved, or its own argument."""
    x = np.full(shape, 2.0)
    kept = []

    def program(t):
        kept.append(t)
        return t

    value, gradient = ad.value_and_grad(program)(x)
    assert value == 2.0
    assert gradient == 1.0
    assert not any(np.shares_memory(value, other) for other in (x, kept[0].data, gradient))
