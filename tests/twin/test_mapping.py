"""Functions that take functions: what stands for them resolves these."""

import collections
import copy
import enum
import functools
import itertools
import math
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


class Both:
    """Something to call and to go through."""

    def __init__(self, parts):
        self.parts = parts

    def __call__(self, x):
        return math.sin(x) * len(self.parts)

    def __iter__(self):
        yield from self.parts


both = Both([0.5, 2.0])


def sine(x):
    return math.sin(x)


SINES = [sine, sine]
GOING_THROUGH = {
    "list": lambda x: x * list(both)[-1],
    "sum": lambda x: x * sum(both),
    "max": lambda x: x * max(both),
    "sorted": lambda x: x * sorted(both)[1],
    "enumerate": lambda x: x * dict(enumerate(both))[1],
    "zip": lambda x: x * sum(a * b for a, b in zip(both, both, strict=True)),
    "deque": lambda x: x * collections.deque(both)[0],
    "chain": lambda x: x * sum(itertools.chain(both, both)),
    "copy": lambda x: copy.copy(both)(x) * sum(copy.copy(both).parts),
    "map": lambda x: sum(map(both, [x, 2 * x])),
    "tuple of functions": lambda x: tuple(SINES)[-1](x),
}


@pytest.mark.parametrize("name", GOING_THROUGH)
def test_an_object_that_is_called_and_gone_through_stays_one(name):
    f = GOING_THROUGH[name]
    np.testing.assert_allclose(ad.grad(f)(0.5), (f(0.5 + 1e-6) - f(0.5 - 1e-6)) / 2e-6, rtol=1e-8)


@pytest.mark.parametrize("keep", [list, tuple, collections.deque, functools.partial(np.array, dtype=object)])
def test_functions_and_objects_are_kept_themselves(keep):
    kept = []

    def f(x):
        kept.extend(keep([sine, both]))
        kept.append(np.array([sine, both])[0])
        kept.append(dict(zip("f", [sine], strict=True))["f"])
        kept.append(copy.copy(both).__class__)
        return x * 1.0

    ad.grad(f)(1.0)
    assert [x is y for x, y in zip(kept, [sine, both, sine, sine, Both], strict=True)] == [True] * 5


class Color(enum.Enum):
    RED = 1
    BLUE = 2


class Loose:
    """Has any name, so that reads of attributes go through the twin."""

    @property
    def kind(self):
        return 5

    def __getattr__(self, name):
        raise AttributeError(name)


loose = Loose()


def matched(x, z):
    match z:
        case Color.RED:
            return x * 2
        case {Color.BLUE: v}:
            return x * v
        case [Color.BLUE, *_]:
            return x * 7
        case loose.kind:
            return x * 11
        case float(y):
            return x * y
    return x * 13


@pytest.mark.parametrize(
    ("z", "slope"), [(Color.RED, 2), ({Color.BLUE: 4.0}, 4), ([Color.BLUE], 7), (5, 11), (2.5, 2.5), ("", 13)]
)
def test_dotted_names_in_patterns_stay_names(z, slope):
    assert ad.grad(matched)(2.0, z) == slope
