"""Programs that use what Python has, written without a thought of derivatives: one trap of the language each.

Each is a function of an array of three numbers that gives one number.
"""

import abc
import asyncio
import contextlib
import copy
import dataclasses
import enum
import functools
import inspect
import itertools
import math
import operator
import statistics
from collections import namedtuple
from numbers import Number

import numpy as np
from numpy import zeros

PROGRAMS = []


def program(f):
    PROGRAMS.append(f)
    return f


def rot(a):
    c, s = np.cos(a), np.sin(a)
    return np.array([[c, -s], [s, c]])


@program
def f1(x):
    return np.sum(rot(x[0]) @ x[:2])


@program
def f2(x):
    a = np.zeros(len(x))
    for i in range(len(x)):
        a[i] = x[i] ** 2 if i == 0 else a[i - 1] + math.sin(x[i])
    return a.sum()


@program
def f3(x):
    out = zeros((2, 2))
    row = out[0]
    row[:] = x[:2]
    out[1, 0] = float(x[0])
    return np.sum(out**2)


class Vec:
    def __init__(self, x, y):
        self.d = np.array([x, y])

    def __add__(self, o):
        return Vec(*(self.d + o.d))

    def __mul__(self, k):
        return Vec(math.exp(self.d[0]) * k, self.d[1] * k)

    __rmul__ = __mul__

    def __getitem__(self, i):
        return self.d[i]

    @property
    def norm(self):
        return math.sqrt(self.d[0] ** 2 + self.d[1] ** 2)

    @functools.cached_property
    def twice(self):
        return np.array([self.d[0], self.d[1]]) * 2


@program
def f4(x):
    v = Vec(x[0], x[1]) + 2.0 * Vec(x[1], x[0]) * 3
    return v.norm + v[0] + np.sum(v.twice)


@dataclasses.dataclass
class State:
    pos: object
    buf: np.ndarray = dataclasses.field(default_factory=lambda: np.zeros(3))

    def __post_init__(self):
        self.pos = np.asarray([self.pos, self.pos * 2])

    def step(self, v):
        self.buf[0] = v
        self.buf[1:] += self.pos
        return self


@program
def f5(x):
    return np.sum(State(x[0]).step(x[1]).buf ** 2)


@functools.lru_cache
def cached(k):
    return math.exp(k)


@contextlib.contextmanager
def scale(k):
    yield math.exp(k)


@program
def f6(x):
    with scale(x[0]) as s:
        t = cached(x[1]) * s
    g = lambda y: np.array([y, y * 2])
    return np.sum(g(t)) + sum(map(lambda i: np.array([x[i], 1.0])[0], range(2)))


def helper(acc, t):
    acc += t
    return acc


@program
def f7(x):
    s = helper(np.zeros(3), x)
    s *= x
    m = np.eye(3) * 2
    m[0, 0] = x[1]
    return np.sum(m @ s) + np.ones((3, 3)).dot(x)[0]


@program
def nod(x):
    return np.sum(np.sin(x) * x)


class Base:
    def __init__(self, k):
        self.k = np.array([k, k])

    def go(self):
        return self.k.sum()


class Sub(Base):
    def __init__(self, k):
        super().__init__(k)
        self.z = np.zeros(2)
        self.z[:] = k

    def go(self):
        return super().go() + self.z.sum() * self.__priv()

    def __priv(self):
        return math.sin(self.k[0])


@program
def f8(x):
    return Sub(x[0]).go()


def rk4(f, y, t):
    h = t[1] - t[0]
    ys = [y]
    for _ in t[:-1]:
        k1 = f(y)
        k2 = f(y + h / 2 * k1)
        k3 = f(y + h / 2 * k2)
        k4 = f(y + h * k3)
        y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        ys.append(y)
    return np.array(ys)


def rhs(y):
    return np.array([y[1], -math.sin(y[0])])


@program
def f9(x):
    return np.sum(rk4(rhs, x[:2], np.linspace(0, 1, 11)) ** 2)


@program
def mg(x):
    X, Y = np.meshgrid(np.arange(3.0), np.arange(2.0))
    X -= 0.5
    X *= x[0]
    return np.sum(X * Y)


class Q:
    def __init__(self, q):
        self.q = np.array([float(e) for e in q])

    def twice(self):
        return self.__class__(self.q * 2)

    def thrice(self):
        return type(self)(self.q * 3)

    @classmethod
    def of(cls, a):
        return cls([a, math.sin(a)])


@program
def cls(x):
    return Q([x[0], 1.0]).twice().q[0] + Q.of(x[1]).thrice().q[1]


@program
def lst(x):
    A = np.eye(3)
    A[:2, 2] = [x[0], 2.0]
    return np.sum(A**2)


@program
def flags(x):
    a = np.copy(x)
    a.setflags(write=False)
    return a[0] * a[1]


@program
def wr(x):
    d = {}
    d["a"] = np.zeros(2)
    d["a"][0] = x[0]
    L = [np.zeros(2) for _ in range(2)]
    L[1][1] = x[1]

    def inner(out):
        nonlocal d
        out[0] += x[2]
        return out

    z = inner(np.ones(2))
    (w := np.zeros(1))[0] = x[0] * 2
    return d["a"].sum() + L[1].sum() + z[0] ** 2 + w[0]


@program
def wal(x):
    return sum([y * y for i in range(3) if (y := math.exp(x[i])) > 0])


@program
def gen(x):
    def g():
        for v in x:
            yield math.sin(v)

    return sum(g()) + max(g()) + np.fromiter(g(), float).sum()


@program
def lam(x):
    return (lambda a, b=np.zeros(2): np.array([a, a * 2]).sum())(x[0])


@program
def mt(x):
    match [x[0], 2]:
        case [a, 2]:
            return math.sin(a)


@program
def mt2(x):
    match x[0]:
        case float():
            return x[0] ** 2
        case np.ndarray():
            return x[0] ** 3
    return x[0]


@program
def star(x):
    a, *b = [math.sin(v) for v in x]
    return a + sum(b) + np.array([*b, a]) @ x


@program
def tryx(x):
    try:
        return math.sqrt(-1.0 + 0 * x[0])
    except ValueError:
        return math.sqrt(x[0])


@program
def fst(x):
    return float(f"{2.0}") * x[0] + len(f"{x[1]:.3f}") + len("%.2f" % x[0])


@program
def isin(x):
    if (
        isinstance(x, np.ndarray)
        and isinstance(x[0], float)
        and isinstance(x[0], (int, float))
        and type(x[0]) is not list
    ):
        return x[0] ** 2
    return 0.0 * x[0]


async def co(x):
    return math.sin(x[0])


@program
def asy(x):

    return asyncio.run(co(x))


@program
def loc(x):
    q = math.sin(x[0])
    return len(locals()) * q + (1 if "q" in vars() else 0)


def kw(x, **k):
    return math.exp(k.get("s", 0.0)) * x[0]


@program
def kwc(x):
    return kw(x, s=x[1]) + kw(x, s=x[2])


@program
def whileloop(x):
    y = x[0]
    n = 0
    while abs(y * y - 2.0 - x[1]) > 1e-12 and n < 50:
        y = 0.5 * (y + (2.0 + x[1]) / y)
        n += 1
    return np.array([y]).sum()


TABLE = {"sin": math.sin, "rot": lambda a: np.array([a, a**2])}


@program
def disp(x):
    return TABLE["sin"](x[0]) + TABLE["rot"](x[1]).sum()


@program
def part(x):
    import functools

    f = functools.partial(math.pow, x[0])
    return f(2.0) + functools.reduce(lambda a, b: a + math.sin(b), x, 0.0)


@program
def lib(x):
    return np.polynomial.polynomial.polyval(x[0], np.array([x[1], 2.0, x[2]])) + np.interp(
        0.5, [0.0, 1.0], [x[0], x[1]]
    )


@program
def outp(x):
    buf = np.empty(3)
    np.multiply(x, 2.0, out=buf)
    np.add(buf, x, buf)
    return np.sum(buf**2)


@program
def addat(x):
    z = np.zeros(2)
    np.add.at(z, [0, 1, 0], x)
    return np.sum(z**2)


@program
def ret(x):
    def make(n):
        return np.zeros(n)

    a = make(3)
    a[:] = x
    b = a[::-1]
    b[0] = 5 * x[1]
    return np.sum(a**2)


@program
def mt3(x):
    match x[0]:
        case int(v) if v > 5:
            return v
        case float(v):
            return math.sin(v)


@program
def mt4(x):
    match {"k": x, "n": None}:
        case {"k": np.ndarray(shape=(n,)) as a, "n": None}:
            return math.sin(a[0]) * n


@program
def wrapped(x):
    return scaled_twice(x[0]) + scaled_twice(x[1])


def scaling(k):
    def decorate(f):
        @functools.wraps(f)
        def inner(*args, **kwargs):
            return math.exp(k) * f(*args, **kwargs)

        return inner

    return decorate


@scaling(0.5)
@scaling(0.25)
def scaled_twice(a):
    return math.sin(a)


class Slotted:
    __slots__ = ("value",)

    def __init__(self, value):
        self.value = math.tan(value)


class Meter:
    unit = math.pi

    def __init__(self, v):
        self._v = v

    @property
    def v(self):
        return math.exp(self._v) * self.unit

    @v.setter
    def v(self, new):
        self._v = math.log(new)

    @staticmethod
    def half(a):
        return math.sqrt(a) / 2

    def __call__(self, k):
        return math.atan(self._v * k)

    def __len__(self):
        return 3

    def __iter__(self):
        for i in range(len(self)):
            yield math.cos(self._v + i)

    def __contains__(self, k):
        return k in (1, 2)

    def __neg__(self):
        return Meter(math.sinh(self._v))

    def __abs__(self):
        return math.cosh(self._v)

    def __eq__(self, other):
        return math.isclose(self._v, other._v)

    def __hash__(self):
        return 1

    def __lt__(self, other):
        return math.exp(self._v) < math.exp(other._v)


@program
def properties_and_protocols(x):
    m = Meter(x[0])
    m.v = x[1] + 2.0
    total = m.v + Meter.half(x[2]) + m(2.0) + sum(m) + (-m).v + abs(m) + Slotted(x[0]).value
    if m == Meter(m._v) and 1 in m and len(m) == 3 and m < Meter(9.0):
        total = total * 2
    return total + sorted([Meter(x[1]), Meter(x[0])])[0]._v


class Entered:
    def __init__(self, k):
        self.k = k

    def __enter__(self):
        return math.exp(self.k)

    def __exit__(self, *error):
        return error[0] is ZeroDivisionError


@program
def context_managers(x):
    y = 0.0
    with Entered(x[0]) as a, Entered(x[1]) as b:
        y = a * b
        raise ZeroDivisionError
    return y + x[2]


class Lazy:
    def __init__(self, x):
        self.x = x

    def __getattr__(self, name):
        if name.startswith("p"):
            return math.pow(self.x, int(name[1:]))
        raise AttributeError(name)


class Cell:
    def __set_name__(self, owner, name):
        self.name = "_" + name

    def __get__(self, o, cls=None):
        return math.sin(getattr(o, self.name))

    def __set__(self, o, value):
        setattr(o, self.name, value)


class Described:
    a = Cell()

    def __init__(self, a):
        self.a = a


@program
def attributes_that_run_code(x):
    return Lazy(x[0]).p2 + Lazy(x[1]).p3 + Described(x[2]).a + Described(x[0]).a + getattr(Lazy(1.0), "q", 2.0)


class Shape(abc.ABC):
    @abc.abstractmethod
    def area(self): ...

    @classmethod
    def unit(cls, k):
        return cls(k)


class Disc(Shape):
    def __init__(self, r):
        self.r = float(r)

    def area(self):
        return math.pi * self.r**2


class Ring(Disc):
    def __init__(self, r, s):
        super().__init__(r)
        self.s = s

    def area(self):
        return super().area() - Disc(self.s).area()


@program
def abstract_classes(x):
    return Ring(x[2], x[0]).area() + Disc.unit(x[1]).area()


Point = namedtuple("Point", "x y")


class Colour(enum.Enum):
    RED = 2.0
    BLUE = 3.0


@program
def tuples_with_names(x):
    p = Point(np.array([x[0]]), y=math.sin(x[1]))
    q = p._replace(y=p.y * Colour.RED.value)
    a, b = q
    return a[0] * b + p[1]


@dataclasses.dataclass(frozen=True)
class Frozen:
    a: float
    b: float = 2.0

    @functools.cached_property
    def both(self):
        return np.array([self.a, self.b])

    def moved(self, d):
        return dataclasses.replace(self, a=math.sin(self.a + d))


@program
def frozen_dataclasses(x):
    return Frozen(x[0]).moved(x[1]).both @ np.array([x[2], 3.0])


COUNTER = 0
FACTOR = 2.0


@program
def globals_and_nonlocals(x):
    global COUNTER
    COUNTER += 1
    total = 0.0

    def add(v):
        nonlocal total
        total += math.sin(v) * FACTOR

        def deeper(k):
            nonlocal total
            total = total + np.array([k])[0] ** 2

        deeper(v)

    for v in x:
        add(v)
    return total


@program
def closures_made_in_loops(x):
    fs = [lambda k, i=i: math.sin(k) * i for i in range(3)] + [lambda k: np.array([k, i]) @ np.ones(2) for i in (1, 2)]
    return sum(f(x[1]) for f in fs)


@program
def recursion(x):
    def power(a, n):
        return 1.0 if n == 0 else float(a) * power(a, n - 1)

    return power(x[0], 4) + factorial_like(x[1], 5)


def factorial_like(a, n):
    return math.exp(a) if n == 0 else math.cos(factorial_like(a, n - 1))


@program
def exceptions(x):
    total = 0.0
    for v in (x[0], -1.0, "text"):
        try:
            total += math.sqrt(v)
        except ValueError:
            total += 1.0
        except TypeError:
            total += math.sin(x[1])
        else:
            total *= 2
        finally:
            total += 0.5
    try:
        raise KeyError("k") from ValueError("v")
    except* KeyError:
        total *= float(x[2])
    return total


@program
def loops_with_else(x):
    n = 0
    while n < 3:
        n += 1
        if n == 5:
            break
    else:
        n = 10
    for i, (a, b) in enumerate(zip(x, x[::-1])):
        if i == 1:
            continue
        n += math.sin(a) * b
    return n * 1.0


@program
def functional(x):
    add = functools.partial(operator.add, x[0])
    xs = list(map(math.sin, x)) + list(filter(lambda v: v > 0.5, x))
    run = list(itertools.accumulate(x, lambda a, b: math.hypot(a, b)))
    best = max(x, key=lambda v: math.cos(v))
    order = sorted(x, key=math.sin, reverse=True)
    return add(1.0) + sum(xs) + run[-1] + best + order[0] * 2 + functools.reduce(lambda a, b: a * math.exp(b), x, 1.0)


@program
def methods_as_values(x):
    m = Meter(x[0])
    f, g = m.__call__, Meter.half
    table = {"f": f, "g": g}
    return table["f"](x[1]) + table["g"](x[2]) + list(map(m, [1.0, 2.0]))[1]


@functools.singledispatch
def measure(v):
    return math.inf


@measure.register
def _(v: float):
    return math.sin(v)


@measure.register
def _(v: np.ndarray):
    return np.array([v[0], v[1]]).sum()


@program
def single_dispatch(x):
    return measure(x[0]) + measure(x)


@program
def types_are_asked(x):
    total = 0.0
    for v in (x, x[0], 2.0, [x[1]]):
        if isinstance(v, np.ndarray):
            total += v[0]
        elif isinstance(v, Number):
            total += v * 2
        elif type(v) is list:
            total += v[0] ** 2
    return total + (1.0 if np.isscalar(x[0]) else 2.0) * x[2]


@program
def copies(x):
    v = {"a": np.array([x[0], x[1]]), "b": [x[2]]}
    w = copy.deepcopy(v)
    w["a"][0] = 5.0 * x[1]
    u = copy.copy(v["b"])
    return (w["a"] * v["a"]).sum() + u[0]


@program
def numbers_made_of_numbers(x):
    z = complex(x[0], x[1])
    return abs(z) ** 2 + divmod(x[2], 0.4)[1] + round(x[2], 3) * 0.0 + pow(x[0], 2) + statistics.mean(x) + z.imag


@program
def matrices_by_hand(x):
    m = [[x[0], 1.0], [2.0, x[1]]]
    a = np.array(m)
    return np.linalg.det(a) + np.trace(np.asarray(m) @ a) + np.sum(np.dot(m, [x[2], 1.0])) + np.block([[a, a]]).sum()


@program
def windows(x):
    out = np.full((3, 3), 0.5)
    for i in range(3):
        for j in range(3):
            if i != j:
                out[i, j] = math.exp(-abs(x[i] - x[j]))
    out[np.diag_indices(3)] *= x
    view = out[1:, :2]
    view += x[0]
    return np.sum(out**2)


@program
def vectorised(x):
    f = np.vectorize(lambda a, b: math.sin(a) if a < 0.5 else math.cos(b))
    return f(x, 2.0).sum() + step(x, 0.6).sum()


@np.vectorize
def step(a, level):
    return a * a if a > level else 0.0


@program
def along_axes(x):
    a = np.outer(x, x)
    return (
        np.apply_along_axis(lambda r: np.array([r.sum(), r[0]]), 1, a).sum()
        + np.r_[x, 1.0, x[0]].sum() * np.c_[x, x][1, 0]
    )


@program
def the_frame_is_the_users(x):
    assert inspect.currentframe().f_code.co_name == "the_frame_is_the_users"
    assert set(locals()) == {"x"}
    y = np.array([x[0]])
    assert sorted(vars()) == ["x", "y"]
    return y[0]


@program
def generators_two_ways(x):
    def averager():
        total, n, got = 0.0, 0, None
        while True:
            got = yield (math.sin(total / n) if n else 0.0)
            total += got
            n += 1

    g = averager()
    next(g)
    out = [g.send(v) for v in x]
    g.close()

    def outer():
        back = yield from inner()
        yield back

    def inner():
        yield math.exp(x[0])
        return math.exp(x[1])

    return sum(out) + sum(outer())


class Grid:
    def __init__(self, n):
        self.data = np.zeros((n, n))

    def __getitem__(self, key):
        return self.data[key] * 2

    def __setitem__(self, key, value):
        self.data[key] = math.sin(value)

    def __matmul__(self, other):
        return self.data @ np.asarray(other)

    def __imul__(self, k):
        self.data *= math.exp(k)
        return self

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.data, dtype)


@program
def containers_of_ones_own(x):
    g = Grid(3)
    g[0, 0] = x[0]
    g[1, 2] = x[1]
    g *= x[2]
    g[2, 2] = g[0, 0]
    return np.sum(g @ [1.0, x[0], 2.0]) + g[1, 2] + g.data.sum()


@program
def classes_inside(x):
    class Inner:
        def __init__(self, v):
            self.__v = np.array([v, 2 * v])

        def norm(self):
            return math.sqrt(self.__v @ self.__v)

    return Inner(x[0]).norm() * x[1]


@program
def text(x):
    shown = f"{x[0]:.3f} {x[1]!r:>5} {x[2]}" + "%.2e" % x[0] + "%s" % x + f"{x[1]:5.1f}" + str(float(x[0]))
    return len(shown) * 0.0 + x[0]


@program
def conditional_expressions(x):
    y = math.sin(x[0]) if x[0] > 0 else math.cos(x[0])
    z = x[1] or 5.0
    w = (x[2] > 0.5) and math.exp(x[2])
    return y + z * (0.0 if not w else w) + (1.0 if 0.1 < x[0] < 0.5 else 100.0)


@program
def swaps_and_deletes(x):
    a, b = math.sin(x[0]), np.array([x[1]])
    a, b = b[0], a
    c = {"k": a, "j": b}
    del c["j"]
    xs = [math.exp(v) for v in x]
    xs[0], xs[-1] = xs[-1], xs[0]
    del xs[1]
    xs[0:1] = [b, a]
    return c["k"] + sum(xs[:2]) * xs[-1]


@program
def keyword_only(x):
    def f(a, /, b, *rest, c=2.0, **more):
        return math.sin(a) * b + sum(rest) * c + math.exp(more["d"])

    args, named = (x[0], x[1], x[2]), {"c": x[0], "d": x[1]}
    return f(*args, **named)


@program
def solver_with_callback(x):
    def newton(f, df, start, tol=1e-13):
        y = start
        for _ in range(60):
            step = f(y) / df(y)
            y -= step
            if abs(step) < tol:
                return y
        return y

    return newton(lambda y: math.exp(y) - 2.0 - x[0], lambda y: math.exp(y), 1.0) * x[1] + x[2]


class Clock:
    """Turns and what is left of them, as numbers that know no other operators."""

    def __init__(self, turns, rest):
        self.parts = np.array([turns, rest])

    def __divmod__(self, other):
        parts = other.parts if isinstance(other, Clock) else other
        return Clock(*(self.parts // parts)), Clock(*(self.parts % parts))

    def __rdivmod__(self, other):
        return divmod(Clock(other, other), self)

    def __pow__(self, n):
        return Clock(self.parts[0] ** n, self.parts[1])

    def __rpow__(self, base):
        return Clock(base ** self.parts[0], self.parts[1])


@program
def divided_and_raised(x):
    whole, rest = divmod(Clock(9 * x[0], 3.1), Clock(1.7, x[1]))
    other = divmod(float(x[2]) * 9, Clock(2.0, 3.0))[1]
    raised = pow(Clock(x[0], 1.0), 3), pow(2.0, Clock(x[1], 1.0)), pow(7, 2, 5)
    return whole.parts[0] * rest.parts.sum() + other.parts @ x[:2] + raised[0].parts[0] * raised[1].parts.sum()
