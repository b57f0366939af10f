"""Numbers as keys: containers find them by value, and what they keep that does not depend on them is reported."""

from collections import Counter, defaultdict

import numpy as np
import pytest

import adjoint as ad

X = np.array([1.0, 3.0])
TABLE = {1.0: 10.0, 2.0: 20.0}
TABLE_OF_NUMPY = {np.float64(1.0): 10.0}

ALL = {
    "grad": lambda f, x: ad.value_and_grad(f)(x),
    "jvp": lambda f, x: ad.jvp(f, (x,), (1.0,)),
    "jacfwd": lambda f, x: (f(x), ad.jacfwd(f)(x)),
    "vmap": lambda f, x: [column[0] for column in ad.vmap(ad.value_and_grad(f))(np.array([x, x]))],
}


def pairs(x):
    return len({x, x + 0.0}) * x


def beside_a_constant(x):
    return len({x, 0.7}) * x


def tally(x):
    found = {}
    for v in (x, x + 0.0, 2 * x):
        found[v] = found.get(v, 0.0) + v
    return sum(v * v for v in found.values())


def counts(x):
    return len(Counter([x, x + 0.0, 2 * x])) * x


def groups(x):
    found = defaultdict(list)
    for v in (x, x + 0.0, 2 * x):
        found[v].append(v)
    return len(found) * x


def in_order(x):
    return sum(dict.fromkeys([x, x + 0.0, 2 * x]))


class Squares(dict):
    made = 0

    def __missing__(self, key):
        self.made += 1
        self[key] = key * key
        return self[key]


def missing(x):
    squares = Squares()
    return squares[x] + squares[x + 0.0] + squares.made * x


def local_memo(x):
    memo = {}

    def square(v):
        if v not in memo:
            memo[v] = v * v
        return memo[v]

    return square(x) + square(x * 1.0) + len(memo)


def asked_for(x):
    return x * (x in TABLE) + x * (x in {0.7}) + x * (0.7 in [x]) + x * (x == 0.7)


class Point:
    def __init__(self, v):
        self.v = v

    def __hash__(self):
        return hash(round(self.v, 3))

    def __eq__(self, other):
        return abs(self.v - other.v) < 1e-3


def points(x):
    return len({Point(x), Point(x + 1e-9)}) * x


@pytest.mark.parametrize(
    ("f", "slope"),
    [
        (pairs, 1.0), (beside_a_constant, 1.0), (tally, 11.2), (counts, 2.0), (groups, 2.0), (in_order, 3.0),
        (missing, 3.8), (local_memo, 2.8), (asked_for, 3.0), (points, 1.0),
    ],
    ids=lambda p: getattr(p, "__name__", ""),
)  # fmt: skip
@pytest.mark.parametrize("transform", ALL)
def test_numbers_are_found_by_value_without_a_word(transform, f, slope):
    value, derivative = ALL[transform](f, 0.7)
    assert value == pytest.approx(f(0.7))
    assert derivative == pytest.approx(slope)


@pytest.mark.parametrize("table", [TABLE, TABLE_OF_NUMPY], ids=["Python's", "NumPy's"])
@pytest.mark.parametrize("look_up", [lambda t, k: t.get(k, 1.0), lambda t, k: t[k]], ids=["get", "item"])
def test_a_table_of_constants_gives_the_plain_value_and_a_warning(table, look_up):
    def f(x):
        return look_up(table, x[0]) * x[1]

    for transform in (ad.grad, ad.jacfwd, ad.jacrev):
        with pytest.warns(ad.LeakWarning, match="under an equal key"):
            np.testing.assert_array_equal(transform(f)(X), [0.0, 10.0])
    with ad.leaks("error"), pytest.raises(ad.LeavesGraphError, match="does not depend on it"):
        ad.jvp(f, (X,), (X,))
    with ad.leaks("ignore"):
        assert ad.value_and_grad(f)(X)[0] == 30.0


@pytest.mark.parametrize(
    "first",
    [lambda f: f(0.7), lambda f: f(np.float64(0.7)), lambda f: ad.grad(f)(0.7)],
    ids=["float", "NumPy's", "grad"],
)
@pytest.mark.parametrize("kind", [dict, Squares])
def test_a_memo_that_was_filled_before_is_reported(first, kind):
    memo = kind()

    def f(x):
        if kind is dict and x not in memo:
            memo[x] = x * x
        return memo[x]

    first(f)
    for again in (ad.grad, ad.jacfwd, lambda f: lambda x: ad.jvp(f, (x,), (1.0,))):
        with pytest.warns(ad.LeakWarning, match="kept (before|from an earlier)") as said:
            again(f)(0.7)
        assert any("kept before" in str(warning.message) for warning in said)
    memo.clear()
    assert ad.grad(f)(0.7) == pytest.approx(1.4)


def test_what_an_outer_transform_kept_is_reported_inside():
    def f(x):
        memo = {x: x * x}
        return ad.grad(lambda y: memo.get(y, 0.0) + 0.0 * y)(x)

    with pytest.warns(ad.LeakWarning, match="kept before"):
        ad.grad(f)(0.7)


def test_what_is_recorded_for_backward_is_reported():
    x = ad.tensor([0.7, 0.2], requires_grad=True)
    with pytest.warns(ad.LeakWarning, match="kept before"):
        assert {0.7: 3.0}[x[0]] == 3.0


def test_samples_that_differ_are_no_keys():
    with pytest.raises(ad.BatchedValueError, match="looked up"):
        ad.vmap(lambda x: TABLE.get(x, 1.0) * x)(np.array([1.0, 3.0]))


@pytest.mark.parametrize("shape", [(0,), (2, 0), (3,)])
def test_a_number_is_compared_with_an_array_element_by_element(shape):
    """No container asks for the truth of an array, which may have no element or several."""
    c = np.ones(shape)
    for number in (1.0, np.float64(1.0), ad.tensor(1.0)):

        def f(x, number=number):
            return np.sum((number == c * x) * x) + np.sum((number != c * x) * 3.0 * x)

        assert ad.grad(f)(1.0) == c.size
        assert ad.grad(f)(2.0) == 3 * c.size
