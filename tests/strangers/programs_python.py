"""The same with more of Python between the formulas: inheritance, generators, recursion, containers, its library."""

import copy
import heapq
import math
import numbers
from abc import ABC, abstractmethod
from bisect import bisect_right
from collections import deque, namedtuple
from contextlib import contextmanager
from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property, singledispatch, total_ordering, wraps
from itertools import accumulate, chain, combinations, product, takewhile

import numpy as np

from tests.strangers.programs import at


class Kernel(ABC):
    def __init__(self, scale=1.0):
        self.scale = scale

    @abstractmethod
    def __call__(self, a, b): ...

    def __add__(self, other):
        return Sum(self, other)

    def matrix(self, points):
        n = len(points)
        k = np.zeros((n, n))
        for i, j in product(range(n), repeat=2):
            k[i, j] = self(points[i], points[j])
        return k


class Squared(Kernel):
    def __init__(self, length, **options):
        super().__init__(**options)
        self.length = length

    def __call__(self, a, b):
        return self.scale * math.exp(-0.5 * ((a - b) / self.length) ** 2)


class White(Kernel):
    def __call__(self, a, b):
        return self.scale if a == b else 0.0


class Sum(Kernel):
    def __init__(self, *parts):
        super().__init__()
        self.parts = parts

    def __call__(self, a, b):
        return sum(part(a, b) for part in self.parts)


@at(0.7, 1.3, 0.2)
def kernels_that_inherit(x):
    kernel = Squared(x[0], scale=x[1]) + White(scale=x[2])
    k = kernel.matrix([0.0, 0.4, 1.0, 1.7])
    sign, log = np.linalg.slogdet(k)
    return log * sign + k[0, 1]


class Vector:
    __slots__ = ("x", "y")

    def __init__(self, x, y):
        self.x, self.y = x, y

    def __add__(self, other):
        return Vector(self.x + other.x, self.y + other.y)

    def __mul__(self, k):
        if isinstance(k, numbers.Number):
            return Vector(self.x * k, self.y * k)
        return self.x * k.x + self.y * k.y

    __rmul__ = __mul__

    def __neg__(self):
        return Vector(-self.x, -self.y)

    def __abs__(self):
        return math.hypot(self.x, self.y)

    def __iter__(self):
        yield self.x
        yield self.y

    def __getitem__(self, i):
        return (self.x, self.y)[i]


@at(0.3, 1.2, -0.5)
def vector_with_slots(x):
    a, b = Vector(x[0], x[1]), Vector(x[2], 1.0)
    c = 2.0 * a + -b * x[0]
    total = sum([a, b, c], Vector(0.0, 0.0))
    first, second = c
    return abs(total) * (a * b) + first * total[1] + second


def checked(low):
    def decorate(function):
        @wraps(function)
        def inner(*args, **kwargs):
            result = function(*args, **kwargs)
            if result < low:
                raise ArithmeticError(f"{function.__name__} gave {result:.3f}, below {low}")
            return result

        return inner

    return decorate


@checked(0.0)
def vapour_pressure(celsius, a=17.27, b=237.7):
    return 0.6108 * math.exp(a * celsius / (celsius + b))


@at(21.0, 0.6)
def dew_point_by_bisection(x):
    target = vapour_pressure(x[0]) * x[1]
    low, high = -20.0, 40.0
    for _ in range(6):
        middle = (low + high) / 2
        low, high = (middle, high) if vapour_pressure(middle) < target else (low, middle)
    t = (low + high) / 2
    for _ in range(4):
        slope = (vapour_pressure(t + 0.01) - vapour_pressure(t - 0.01)) / 0.02
        t -= (vapour_pressure(t, b=237.7) - target) / slope
    return t


def transform(values):
    n = len(values)
    if n == 1:
        return [values[0]]
    even, odd = transform(values[::2]), transform(values[1::2])
    turned = [complex(math.cos(2 * math.pi * k / n), -math.sin(2 * math.pi * k / n)) * odd[k] for k in range(n // 2)]
    return [e + o for e, o in zip(even, turned, strict=True)] + [e - o for e, o in zip(even, turned, strict=True)]


@at(0.5, 1.0, -0.3, 0.8)
def fourier_by_recursion(x):
    spectrum = transform([*x, 0.0, 1.0, x[0] * x[1], 0.5])
    return sum(abs(c) ** 2 * k for k, c in enumerate(spectrum)) / 8


def newton_iterates(f, start, step=1e-4):
    while True:
        slope = (f(start + step) - f(start - step)) / (2 * step)
        start = start - f(start) / slope
        yield start


@at(2.5, 0.7)
def generator_of_iterates(x):
    def f(t):
        return t**3 - x[0] * t - x[1]

    iterates = newton_iterates(f, 2.0)
    *_, root = (next(iterates) for _ in range(12))
    return root + sum(takewhile(lambda v: v > 0.1, accumulate([1.0, x[1], -0.5])))


State = namedtuple("State", "position velocity mass")


@at(1.0, 0.2, 0.5)
def named_tuple_states(x):
    def step(state, force, dt=0.1):
        v = state.velocity + dt * force / state.mass
        return state._replace(position=state.position + dt * v, velocity=v)

    state, seen = State(x[0], 0.0, mass=x[2]), deque(maxlen=3)
    for _ in range(6):
        state = step(state, -state.position - x[1] * state.velocity)
        seen.append(state.position)
    position, velocity, _ = state
    return sum(seen) / len(seen) + position * velocity


class Phase(Enum):
    SOLID = 2.1
    LIQUID = 4.2
    VAPOUR = 1.9

    @classmethod
    def at(cls, celsius):
        return cls.SOLID if celsius < 0 else cls.LIQUID if celsius < 100 else cls.VAPOUR


@dataclass
class Sample:
    mass: float
    celsius: float

    @cached_property
    def heat(self):
        return self.mass * Phase.at(self.celsius).value * self.celsius

    def heated(self, joules):
        return replace(self, celsius=self.celsius + joules / (self.mass * Phase.at(self.celsius).value))


@at(2.0, -5.0, 30.0)
def phases_of_a_sample(x):
    sample = Sample(mass=x[0], celsius=x[1])
    for _ in range(5):
        sample = sample.heated(x[2])
    other = copy.deepcopy(sample)
    other.mass *= 1.5
    return sample.heat + other.heat / 10 + sample.celsius


@singledispatch
def area(shape):
    raise TypeError(type(shape))


@dataclass
class Circle:
    radius: float


@dataclass
class Polygon:
    corners: list


@area.register
def _(shape: Circle):
    return math.pi * shape.radius**2


@area.register
def _(shape: Polygon):
    pairs = zip(shape.corners, shape.corners[1:] + shape.corners[:1], strict=True)
    return abs(sum(a[0] * b[1] - a[1] * b[0] for a, b in pairs)) / 2


@at(0.7, 2.0, 1.5)
def shapes_by_dispatch(x):
    shapes = [Circle(x[0]), Polygon([(0, 0), (x[1], 0), (x[1], x[2]), (0.2, x[2])]), Circle(radius=x[2])]
    areas = list(map(area, shapes))
    return max(areas) - min(areas) + math.prod(areas)


@total_ordering
class Node:
    def __init__(self, distance, name):
        self.distance, self.name = distance, name

    def __eq__(self, other):
        return self.distance == other.distance

    def __lt__(self, other):
        return self.distance < other.distance

    __hash__ = None


@at(1.0, 2.5, 0.7, 1.2)
def shortest_path(x):
    roads = {"a": {"b": x[0], "c": x[1]}, "b": {"c": x[2], "d": 4.0}, "c": {"d": x[3]}, "d": {}}
    best, queue = {"a": 0.0}, [Node(0.0, "a")]
    while queue:
        node = heapq.heappop(queue)
        for name, length in roads[node.name].items():
            distance = node.distance + length
            if distance < best.get(name, math.inf):
                best[name] = distance
                heapq.heappush(queue, Node(distance, name))
    return best["d"] ** 2 + sum(best.values())


class Table:
    def __init__(self, xs, ys):
        self.xs, self.ys = list(xs), list(ys)

    def __call__(self, t):
        i = min(max(bisect_right(self.xs, t) - 1, 0), len(self.xs) - 2)
        share = (t - self.xs[i]) / (self.xs[i + 1] - self.xs[i])
        return self.ys[i] + share * (self.ys[i + 1] - self.ys[i])

    def __len__(self):
        return len(self.xs)


@at(0.4, 1.7, 3.0)
def table_lookup(x):
    table = Table([0.0, 1.0, 2.0], [x[0], x[2], 0.5])
    inner = [table(t) for t in np.linspace(0.1, 1.9, 5)]
    return table(x[1]) + np.trapezoid(inner, dx=0.45) + len(table)


@at(0.2, 0.9, 1.4)
def clusters(x):
    points = [np.array([x[0], 0.0]), np.array([x[1], 0.3]), np.array([x[2], 1.0]), np.array([2.0, 1.1])]
    centres = [points[0], points[3]]
    for _ in range(3):
        groups = [[], []]
        for p in points:
            distances = [np.linalg.norm(p - c) for c in centres]
            groups[int(np.argmin(distances))].append(p)
        centres = [np.mean(g, axis=0) for g in groups]
    return sum(np.linalg.norm(a - b) for a, b in combinations(centres, 2)) + centres[0][0]


@contextmanager
def scaled(model, factor):
    old, model.factor = model.factor, factor
    try:
        yield model
    finally:
        model.factor = old


class Model:
    factor = 1.0
    layers = ()

    def __init__(self, weights):
        self.layers = [np.reshape(w, (2, 2)) for w in weights]

    def __call__(self, v):
        for layer in self.layers:
            v = np.maximum(layer.dot(v), 0.1 * layer.dot(v))
        return self.factor * v


@at(0.5, -0.2, 0.8, 0.3)
def model_in_a_context(x):
    model = Model([x, x[::-1]])
    with scaled(model, x[3] * 2) as m:
        inside = m(np.array([1.0, 2.0]))
    return np.sum(inside * model(np.array([0.5, -1.0]))) + max(chain(inside, model.layers[0].ravel()))


@at(0.6, 0.25)
def game_of_rates(x):
    history = []

    def remember(value, *, name="rate", **extra):
        nonlocal count
        count += 1
        history.append({"name": name, "value": value, **extra})
        return value

    count = 0
    if (rate := remember(x[0] * 2, unit="1/s")) > 1:
        rate = remember(rate / 2, name="half")
    match count:
        case 1:
            bonus = 0.0
        case n if n > 1:
            bonus = x[1] ** n
        case _:
            bonus = math.nan
    text = ", ".join(f"{h['name']}={h['value']:.2f}" for h in history)
    return rate**2 + bonus + len(text) * 0.0


class Backend:
    def __init__(self, module):
        self._module = module

    def __getattr__(self, name):
        return getattr(self._module, name)


backend = Backend(np)


@at(0.4, 0.3)
def backend_that_can_be_swapped(x):
    angles = backend.empty(3, dtype=complex)
    angles[0] = x[0]
    for i in (1, 2):
        angles[i] = backend.emath.arcsin(backend.sin(angles[i - 1]) / (1 + x[1]))
    last = angles[-1]
    if hasattr(last, "__len__") and len(last) > 1:
        last = last[0]
    matrix = backend.asarray([[backend.cos(last), 0], [x[1], 1]])
    return abs(backend.trace(matrix)) + backend.hypot(*x)
