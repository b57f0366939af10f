"""Methods of users' classes that Python's own code calls: programs in every mode, compared with differences."""

import numpy as np
import pytest

import adjoint as ad
from tests.strangers.judge import MODES, judge
from tests.twin.protocols import PROGRAMS

POINT = (0.3, 0.7, 1.1)
# What asks a dictionary, a heap or a text for one answer, which is another for each sample.
OF_ONE_SAMPLE = {
    "key_hash", "in_set", "list_eq", "tuple_eq", "dict_fromkeys", "counter", "cache_key", "heap", "heapify",
    "heap_tuples", "bisect_lt", "total", "formats", "prints", "set_frozen", "index_slice", "dc_order", "instcheck",
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


def cheapest_in_a_heap(x):
    import heapq

    heap = [Kept(x[1]), Kept(x[0])]
    heapq.heapify(heap)
    return heap[0].cost


def test_what_an_order_keeps_has_its_derivative():
    np.testing.assert_allclose(ad.grad(cheapest)(np.array([0.3, 0.7])), [2.0, 0.0])


def test_what_an_order_keeps_is_refused_where_no_twin_runs():
    with pytest.raises(ad.LeavesGraphError, match="test_protocols"):
        ad.grad(cheapest_in_a_heap)(np.array([0.3, 0.7]))


class Named:
    def __init__(self, x):
        self.x = x

    def __repr__(self):
        return f"{np.array([self.x, 1.0])[0]:.17g}"


def read_again(x):
    return float(str([Named(x)])[1:-1]) * 2.0


def test_a_number_that_is_read_from_a_text_is_reported():
    with pytest.warns(ad.LeakWarning):
        ad.grad(read_again)(0.3)


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
