"""What Python's library and stores into arrays run of users' classes: in every mode, compared with differences."""

import heapq
import math
import random

import numpy as np
import pytest
from numpy.testing import assert_allclose

import adjoint as ad
from tests.strangers.judge import MODES, judge
from tests.twin.library import PROGRAMS, Cost

POINT = (0.3, 0.7, 1.1)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_program(program):
    outcomes = judge(program, POINT).outcomes
    assert outcomes == dict.fromkeys(MODES, "right")


@pytest.mark.parametrize("size", [1, 2, 3, 10, 33])
def test_heaps_are_pythons(size):
    """Items that compare as equal come in the order in which `heapq` gives them."""
    values = [random.Random(size).randrange(6) / 3 for _ in range(size)]

    def order(x):
        heap = [(Cost(x[int(3 * v)]), str(i)) for i, v in enumerate(values)]
        plain = [Named(v, i) for i, v in enumerate(values)]
        same = [Named(x[int(3 * v)], i) for i, v in enumerate(values)]
        for heaps in (heap, plain, same):
            heapq.heapify(heaps)
        heapq.heappushpop(same, Named(x[0] + 0.5, -1))
        heapq.heappushpop(plain, Named(0.5, -1))
        heapq.heapreplace(same, Named(x[1] + 0.1, -2))
        heapq.heapreplace(plain, Named(1 / 3 + 0.1, -2))
        found.append(([n.i for n in same], [n.i for n in plain]))
        return np.sum(x) * len(heap)

    found = []
    ad.grad(order)(np.arange(6) / 3)
    assert found[0][0] == found[0][1]


class Named:
    def __init__(self, x, i):
        self.x, self.i = x, i

    def __lt__(self, other):
        return float(self.x) < float(other.x)


class Shown(Cost):
    def __str__(self):
        return f"{math.fabs(self.x):.1f}"


def test_a_class_that_is_no_number_is_refused_as_python_does():
    def percent(x):
        return x[0] * len("%d" % Named(x[0], 1))  # noqa: UP031 - what is tested

    with pytest.raises(TypeError, match="%d format"):
        ad.grad(percent)(np.ones(2))


def test_samples_whose_texts_differ_are_refused():
    def length(x):
        return x[0] * len("{:>5}".format(Shown(x[0])))  # noqa: UP032 - what is tested

    def each(x):
        return x[0] * len("%s" % Shown(x[0]))  # noqa: UP031 - what is tested

    near = np.array([[0.21], [0.22]])
    assert_allclose(ad.vmap(length)(near), [1.05, 1.10])
    assert_allclose(ad.vmap(each)(near * [[1.0], [2.0]]), [0.63, 1.32])
    with pytest.raises(ad.BatchedValueError, match="texts"):
        ad.vmap(length)(np.array([[0.2], [11.3]]))
