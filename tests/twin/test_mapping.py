"""Functions that take functions: what stands for them resolves these."""

import functools
import operator

import numpy as np
import pytest

import adjoint as ad
from adjoint.twin.standins import maker, plainly

X = np.array([0.3, 1.2])


def same(f):
    return f


def leaf(x=X):
    return ad.tensor(x, requires_grad=True) * 1.0


def test_vectorize_has_the_first_results_type():
    f = maker(np.vectorize)(same)(lambda v: 1 if v < 1 else v * 1.5)
    np.testing.assert_array_equal(plainly(f(leaf())), np.vectorize(lambda v: 1 if v < 1 else v * 1.5)(X))


def test_vectorize_of_nothing():
    f = maker(np.vectorize)(same)(lambda v: v)
    with pytest.raises(ValueError, match="size 0"):
        f(leaf(np.zeros(0)))


def test_makers_resolve_what_they_are_given():
    seen = []

    def resolve(f):
        seen.append(f)
        return f

    for original, args in [
        (map, (abs, [1.0])),
        (filter, (None, [1.0])),
        (sorted, ([1.0],)),
        (functools.reduce, (operator.add, [1.0, 2.0])),
        (functools.partial, (max, 1.0)),
    ]:
        made = maker(original)(resolve)(*args, **({"key": abs} if original is sorted else {}))
        del made
    assert seen == [abs, abs, operator.add, max]


def test_vectorize_calls_once_an_element():
    seen = []
    f = maker(np.vectorize)(same)(lambda v: seen.append(v) or v * 2, otypes=[float])
    np.testing.assert_array_equal(f(X), 2 * X)
    np.testing.assert_array_equal(plainly(f(leaf())), 2 * X)
    assert len(seen) == 4


def test_frompyfunc_of_numbers_gives_objects():
    f = maker(np.frompyfunc)(same)(lambda a, b: a + b, 2, 1)
    made = f(X, 1.0)
    assert made.dtype == object
    assert made.tolist() == (X + 1.0).tolist()
    assert f(leaf(), 1.0).requires_grad


@pytest.mark.parametrize("make", [np.vectorize, lambda f: np.frompyfunc(f, 1, 1)])
def test_functions_of_elements_take_plain_arrays_in_any_order(make):
    plain = np.arange(6.0).reshape(3, 2).T
    twin = maker(np.vectorize)(same) if make is np.vectorize else lambda f: maker(np.frompyfunc)(same)(f, 1, 1)
    made = twin(lambda v: v * 2.0)
    np.testing.assert_array_equal(made(plain).astype(float), 2.0 * plain)
    assert made(plain).strides == make(lambda v: v * 2.0)(plain).strides


class Scaled(ad.nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = 2.0

    def forward(self, x):
        return x * self.scale


scaled = Scaled()
other = Scaled()


def test_what_is_read_of_a_callable_is_its_own():
    slope = ad.grad(lambda x: np.sum(x * scaled.scale) + np.sum({scaled: 1.0, other: 5.0}[scaled] * scaled(x)))
    np.testing.assert_array_equal(slope(np.ones(3)), np.full(3, 4.0))
