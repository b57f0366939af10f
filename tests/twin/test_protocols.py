"""Methods of users' classes that Python's own code calls: programs in every mode, compared with differences."""

import heapq
import math

import numpy as np
import pytest

import adjoint as ad
from tests.foreign import foreign
from tests.strangers.judge import MODES, judge
from tests.twin.protocols import PROGRAMS

POINT = (0.3, 0.7, 1.1)
# What asks a dictionary, a heap or a text for one answer, which is another for each sample.
OF_ONE_SAMPLE = {
    "key_hash", "in_set", "list_eq", "tuple_eq", "dict_fromkeys", "counter", "cache_key", "total", "prints",
    "set_frozen", "index_slice", "dc_order", "instcheck",
    "chained", "index_obj",
}  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_program(program):
    outcomes = judge(program, POINT).outcomes
    assert set(outcomes) == set(MODES)
    bad = {mode: outcome for mode, outcome in outcomes.items() if outcome != "right"}
    if program.__name__ in OF_ONE_SAMPLE:
        assert bad.pop("vmap").startswith(("BatchedValueError", "IndexError"))
    assert not bad


def test_there_are_many():
    assert len(PROGRAMS) > 80
    assert {program.__name__ for program in PROGRAMS} >= OF_ONE_SAMPLE


class Kept:
    """What compares itself by a cost that it keeps."""

    def __init__(self, x):
        self.x, self.cost = x, None

    def __lt__(self, other):
        for each in (self, other):
            if each.cost is None:
                each.cost = float(np.array([each.x, each.x]).sum())
        return self.cost < other.cost


def cheapest(x):
    return sorted([Kept(x[0]), Kept(x[1])])[0].cost


class Listed:
    """What compares itself, and lists by what: elsewhere, or by a method."""

    seen = []  # noqa: RUF012 - of all objects, as it is meant

    def __init__(self, x):
        self.x, self.own, self.named = x, [], {}

    def __lt__(self, other):
        cost = math.sqrt(self.x)
        Listed.seen.append(cost)
        return cost < math.sqrt(other.x)

    def noted(self, cost):
        self.own.append(cost)
        return cost

    def __gt__(self, other):
        return self.noted(math.sqrt(self.x)) > other.noted(math.sqrt(other.x))

    def __hash__(self):
        self.named.setdefault("cost", float(self.x))
        return 1

    def __eq__(self, other):
        return self is other


class Plain(Listed):
    """What only answers."""

    def __lt__(self, other):
        return math.sqrt(self.x) < max(math.sqrt(v) for v in (other.x, 0.1))

    def __hash__(self):
        return hash(round(float(self.x), 6))

    def __eq__(self, other):
        close = math.isclose(self.x, other.x, rel_tol=1e-9)
        return close and all(math.isclose(a, b) for a, b in [(self.x, other.x)])


def heap_of(kind):
    def f(x):
        heap = [kind(x[1]), kind(x[0])]
        heapq.heapify(heap)
        return heap[0].x ** 2

    return f


def largest(x):
    return heapq.nlargest(1, [(1, Reversed(x[0])), (1, Reversed(x[1]))])[0][1].x


class Reversed(Listed):
    __lt__ = Listed.__gt__


def key_of(kind):
    return lambda x: {kind(x[0]): x[1]}[kind(x[0])] if kind is Plain else next(iter({kind(x[0]): 1})).x


ORDERING = {
    "an attribute": (heap_of(Kept), [0.6, 0.0]),
    "a list of the class": (heap_of(Listed), [0.6, 0.0]),
    "a list, by a method": (largest, [0.0, 1.0]),
}


def test_what_an_order_keeps_has_its_derivative():
    np.testing.assert_allclose(ad.grad(cheapest)(np.array([0.3, 0.7])), [2.0, 0.0])


@pytest.mark.parametrize("name", ORDERING)
def test_what_a_heap_keeps_has_its_derivative(name):
    f, wanted = ORDERING[name]
    np.testing.assert_allclose(ad.grad(f)(np.array([0.3, 0.7])), wanted)


def test_what_an_answer_keeps_is_refused_where_no_twin_runs():
    with pytest.raises(ad.LeavesGraphError, match="test_protocols"):
        ad.grad(key_of(Listed))(np.array([0.3, 0.7]))


def test_what_only_answers_takes_plain_numbers():
    x = np.array([0.3, 0.7])
    np.testing.assert_allclose(ad.grad(heap_of(Plain))(x), [0.6, 0.0])
    np.testing.assert_allclose(ad.grad(key_of(Plain))(x), [0.0, 1.0])
    np.testing.assert_allclose(ad.jvp(heap_of(Plain), (x,), (x,))[1], 0.18)
    np.testing.assert_allclose(ad.hessian(heap_of(Plain))(x), [[2.0, 0.0], [0.0, 0.0]])


class Limit:
    """What makes an object of a comparison, as libraries for models do."""

    def __lt__(self, other):
        return [float(other)]


def limited(x):
    return foreign("lambda limit, x: limit < x")(Limit(), x)[0] * 2.0


def asked(x):
    return foreign("lambda limit, x: x * 2.0 if limit < x else x")(Limit(), x)


def test_a_comparison_whose_result_is_no_truth_is_refused():
    with pytest.raises(ad.LeavesGraphError, match=r"float\(t\)"):
        ad.grad(limited)(0.5)
    assert ad.grad(asked)(0.5) == 2.0


class Named:
    def __init__(self, x):
        self.x = x

    def __repr__(self):
        return f"{np.array([self.x, 1.0])[0]:.17g}"


def read_again(x):
    return float(repr(Named(x))) * 2.0


def read_of_a_list(x):
    return float(str([Named(x)])[1:-1]) * 2.0


def test_a_number_that_is_read_from_a_text_is_reported():
    with pytest.warns(ad.LeakWarning):
        ad.grad(read_again)(0.3)
    with pytest.raises(ad.LeavesGraphError):
        ad.grad(read_of_a_list)(0.3)


class Unpacked:
    def __init__(self, *values):
        self.values = values

    def __iter__(self):
        return iter(np.array(self.values) * 1.0)


def too_few(x):
    a, b, c = Unpacked(x, x)
    return a + b + c


def too_many(x):
    (a, (b, c)) = [x, Unpacked(x, x, x)]
    return a + b + c


@pytest.mark.parametrize("f", [too_few, too_many])
def test_python_says_how_many_values_it_expected(f):
    with pytest.raises(ValueError) as plain:  # noqa: PT011 - the text is compared
        f(0.3)
    with pytest.raises(ValueError) as error:  # noqa: PT011 - the text is compared
        ad.grad(f)(0.3)
    assert str(error.value).partition(",")[0] == str(plain.value).partition(",")[0]
