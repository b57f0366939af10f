"""Small tools of Python's library and NumPy's in compiled functions: recorded, and right at later calls."""

import bisect
import collections
import dataclasses
import enum
import heapq
import itertools
import operator

import numpy as np
import pytest

import adjoint as ad
from tests.compiler import iterating


class Kind(enum.Enum):
    SMALL, LARGE = "small", "large"


@dataclasses.dataclass
class Record:
    x: object
    seen: list = dataclasses.field(default_factory=list)
    named: dict = dataclasses.field(default_factory=lambda: {"two": 2.0})


def groups(x):
    found = collections.defaultdict(list)
    for i, v in enumerate(x):
        found[i % 2].append(v * v)
    return sum(found[0]) * sum(found[1])


def sums(x):
    found = collections.defaultdict(float, {"a": x[0]})
    for v in x:
        found["large" if v > 1.2 else "small"] += v * v
    return found["a"] * found["large"] + found["small"] * len(found) + found.get("none", 2.0)


def nested(x):
    table = collections.defaultdict(lambda: collections.defaultdict(float))
    for i, v in enumerate(x):
        table[i % 2]["sum"] += v * x[0]
    return sum(row["sum"] ** 2 for row in table.values())


def lasts(x):
    kept = collections.deque(maxlen=2)
    for v in x:
        kept.append(v * v)
    return kept[0] * kept[-1] * len(kept)


def counts(x):
    count = collections.Counter("abca")
    count["b"] += 2
    return sum(v * count[k] for v, k in zip(x, "abz", strict=True)) * len(count.most_common(1))


def numbered(x):
    total = collections.Counter()
    for v in x:
        total["all"] += v * v
    return total["all"] * total["none"] + total["all"]


def heap(x):
    waiting = [(v * 2.0, i) for i, v in enumerate(x)]
    heapq.heapify(waiting)
    first, at = heapq.heappop(waiting)
    heapq.heappush(waiting, (first + 10.0, 7))
    other, _ = heapq.heapreplace(waiting, (x[at], 8))
    last, _ = heapq.heappushpop(waiting, (x[0] * x[1], 9))
    return first * other + last + sum(k * v for k, (v, _) in enumerate(waiting))


def inserted(x):
    line = [0.5, 1.2, 2.2]
    at = bisect.bisect(line, x[0])
    bisect.insort(line, x[1])
    return x[2] * at + line[1] * x[0] + bisect.bisect_left([1.0, 1.5], x[0], 1)


def recorded(x):
    record = Record(x[0])
    record.seen.append(x[1])
    return record.x * record.seen[0] * record.named["two"] * len(Record(0, [1, 2]).seen)


PROGRAMS = {
    "groups": groups,
    "sums": sums,
    "nested": nested,
    "lasts": lasts,
    "counts": counts,
    "numbered": numbered,
    "heap": heap,
    "largest": lambda x: sum(heapq.nlargest(2, list(x))) * x[0],
    "inserted": inserted,
    "recorded": recorded,
    "itemgetter": lambda x: operator.mul(*operator.itemgetter(0, 2)(x)) + operator.itemgetter(1)(x),
    "itemgetter as a key": lambda x: max(enumerate(x), key=operator.itemgetter(1))[1] ** 2,
    "attrgetter": lambda x: operator.attrgetter("x")(Record(x[0])) * 2,
    "methodcaller": lambda x: operator.methodcaller("sum")(x) * x[0],
    "fromkeys": lambda x: operator.mul(*dict.fromkeys("ab", x[0]).values()),
    "ndindex": lambda x: sum(x[i] * x[j] for i, j in np.ndindex(3, 2)),
    "ndenumerate": lambda x: sum(v * (i + 1) for (i,), v in np.ndenumerate(x * x)),
    "member of an enum": lambda x: x[0] ** (2 if Kind("large") is Kind.LARGE else 3),
}
POINTS = [np.array(p) for p in ([1.0, 2.0, 3.0], [1.5, 2.5, 0.5], [1.1, 2.1, 3.1], [3.0, 1.0, 2.0])]


@pytest.mark.parametrize("name", PROGRAMS | iterating.PROGRAMS)
def test_recorded_and_right(name):
    gradient = ad.value_and_grad((PROGRAMS | iterating.PROGRAMS)[name])
    f = ad.compile(gradient, wait=True)
    for x in POINTS * 2:
        for found, wanted in zip(f(x), gradient(x), strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-13)
    assert "as it is" not in f.explain()


def given(x):
    groups = collections.defaultdict(list, {"all": [x]})
    return groups, collections.deque([x * 2, x], maxlen=2), collections.Counter(a=2)


def test_what_leaves_is_what_was_made():
    f = ad.compile(given, wait=True)
    for x in POINTS:
        groups, line, count = f(x)
        assert (type(groups), groups.default_factory, type(line), line.maxlen) == (
            collections.defaultdict, list, collections.deque, 2,
        )  # fmt: skip
        np.testing.assert_array_equal(groups["all"][0], x)
        assert groups["new"] == []
        assert (type(count), count["none"]) == (collections.Counter, 0)
        line.append(1)
        assert len(line) == 2


def test_a_member_that_does_not_exist_raises():
    f = ad.compile(lambda x, which: x * (2.0 if Kind(which) is Kind.SMALL else 3.0))
    for _ in range(3):
        assert f(np.float64(1.0), "small") == 2.0
        with pytest.raises(ValueError, match="medium"):
            f(np.float64(1.0), "medium")


def test_an_iterator_of_another_call_is_not_recorded():
    numbers = itertools.count()
    f = ad.compile(lambda x: x * next(numbers))
    assert [f(np.float64(1.0)) for _ in range(4)] == [0.0, 1.0, 2.0, 3.0]


@pytest.mark.parametrize("start", [0, 0.5, 1j, True])
def test_sums_of_constants_are_pythons_own(start):
    """From Python 3.12 on they make up for rounding."""

    def f(x):
        return sum([0.1] * 10) * x, sum((0.1 for _ in range(10)), start) * x, sum([1, 2, 0.1, 0.1, 0.1, x, 0.1], start)

    compiled = ad.compile(f)
    for x in (3.0, 0.25, 7.0):
        found, expected = compiled(x), f(x)
        assert found[:2] == expected[:2]
        np.testing.assert_allclose(found[2], expected[2], rtol=1e-15)
