"""Methods of users' classes that Python's library and stores into arrays run: heaps, bisection, texts, enumerations."""

import bisect
import enum
import heapq
import math

import numpy as np

PROGRAMS = []


def program(f):
    PROGRAMS.append(f)
    return f


class Cost:
    """A number that is compared, stored and shown by code that NumPy's or `math`'s functions take part in."""

    def __init__(self, x):
        self.x = x

    def __lt__(self, other):
        return math.exp(self.x) < math.exp(other.x)

    def __float__(self):
        return float(math.sin(self.x))

    def __int__(self):
        return math.ceil(self.x)

    def __str__(self):
        return "low" if math.fabs(self.x) < 1 else "high"

    def __repr__(self):
        return f"Cost({'low' if math.exp(self.x) < math.e else 'high'})"

    def __format__(self, spec):
        return format(str(self), spec)


class Pair:
    def __init__(self, x, y):
        self.x, self.y = x, y

    def __array__(self, dtype=None, copy=None):
        return np.array([math.sin(self.x), math.exp(self.y)])


class Level(enum.Enum):
    LOW = 1.0
    HIGH = 3.0

    @classmethod
    def _missing_(cls, value):
        return min(cls, key=lambda member: math.fabs(member.value - math.exp(value)))


@program
def pushed_and_popped(x):
    heap = []
    for v in (x[2], x[0], x[1], x[0] * 0.5, x[2] * 3):
        heapq.heappush(heap, Cost(v))
    return sum((i + 1) ** 2 * heapq.heappop(heap).x for i in range(5))


@program
def heap_of_tuples(x):
    heap = [(Cost(v), i, v) for i, v in enumerate((x[2], x[0], x[1], x[0]))]
    heapq.heapify(heap)
    first = heapq.heapreplace(heap, (Cost(x[1] * 2), 9, x[1]))
    second = heapq.heappushpop(heap, (Cost(x[0] * 0.1), 8, x[2]))
    return first[2] + 2 * second[2] + 3 * heap[0][2] * heap[0][1]


@program
def smallest_and_largest(x):
    costs = [Cost(v) for v in (x[2], x[0], x[1], x[0] * x[1])]
    near = heapq.nsmallest(2, costs)
    far = heapq.nlargest(2, costs, key=lambda c: (Cost(c.x), 0))
    merged = list(heapq.merge([Cost(x[0]), Cost(x[2])], [Cost(x[1])]))
    return near[0].x + 2 * near[1].x ** 2 + 3 * far[0].x + 4 * far[1].x + 5 * merged[1].x ** 2


@program
def bisected(x):
    costs = sorted(map(Cost, x))
    bisect.insort(costs, Cost(x[0] * 1.5))
    bisect.insort_left(costs, Cost(x[2] * 1.5))
    i, j = bisect.bisect(costs, Cost(x[0] * 1.1)), bisect.bisect_left(costs, Cost(x[1]), 1)
    return sum(k * c.x for k, c in enumerate(costs)) + i * x[0] + j * x[1] ** 2


@program
def numbers_stored(x):
    a = np.zeros((3, 2))
    a[0, 0] = Cost(x[0])
    a[1, :] = Cost(x[1])
    a[2] = [Cost(x[2]), 2.0]
    a[:, 1] *= x[0]
    kept = [None, Cost(x[1])]
    kept[0] = Cost(x[2])
    return np.sum(a**2) + kept[0].x * kept[1].x


@program
def arrays_stored(x):
    a = np.zeros((3, 2))
    a[0] = Pair(x[0], x[1])
    a[1:] = Pair(x[1], x[2])
    return np.sum(a**2 * np.arange(6.0).reshape(3, 2))


@program
def percent(x):
    c = Cost(x[0])
    text = "%s|%r|%4d|%.*f%%|%i|%s" % (c, c, c, 0, c, c, "x")  # noqa: UP031 - what is tested
    by_name = "%(a)s %(b)d" % {"a": Cost(x[2]), "b": Cost(x[1])}  # noqa: UP031 - as above
    return x[0] * len(text) + x[1] ** 2 * len(by_name) + x[2] * ("%s" % c == "low")  # noqa: UP031 - as above


@program
def formatted_texts(x):
    c, template = Cost(x[0]), "{0} {0!r} {c:>6} {p.x}"
    return x[0] * template.format(c, c=Cost(x[2]), p=Pair(Cost(x[1]), x[0])).count("low") + x[1] ** 2


@program
def text_of_array(x):
    text = np.array2string(x > 0.5) + np.array_str(np.round(x)) + np.array_repr(x < 1)
    return x[0] * len(text) + x[1] ** 2 * text.count("rue") + x[2]


@program
def missing_members(x):
    return Level(x[0]).value * x[1] + Level(3.0).value * x[2] ** 2 + Level(x[0] * 0 + 1.0).value * x[0]
