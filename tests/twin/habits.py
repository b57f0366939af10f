"""More programs of one number: classes, containers and arrays as people write them."""

import functools
import math

import numpy as np

PROGRAMS = []


def program(f):
    PROGRAMS.append(f)
    return f


def normalise(v):
    v /= math.sqrt(np.dot(v, v))
    return v


@program
def a1(x):
    v = np.array([x, 2.0])
    n = normalise(v)
    return (n * v).sum() + v[0]


class D:
    @functools.singledispatchmethod
    def go(self, v):
        return 1000.0 * v

    @go.register
    def _(self, v: float):
        return math.sin(v)

    @go.register
    def _(self, v: np.ndarray):
        return np.array([v[0]]).sum()


@program
def a2(x):
    return D().go(x) + D().go(np.array([x, x]))


class Meta(type):
    made = []

    def __new__(m, n, b, d):
        c = super().__new__(m, n, b, d)
        Meta.made.append(c)
        return c


class M(metaclass=Meta):
    def __init__(self, x):
        self.v = np.array([x, 1.0])
        self.w = math.exp(x)


@program
def a3(x):
    return M(x).v[0] * M(x).w


@program
def a4(x):
    return x * 2 if type(x) is float or type(x) is np.float64 else x * 1000


@program
def a5(x):
    return x * 2 if isinstance(x, float) else 1000 * x


@program
def a6(x):
    return x if type(x) == float or isinstance(x, np.floating) else x * 1000


class Stack(list):
    def total(self):
        return math.fsum(self)


@program
def a7(x):
    s = Stack()
    s.append(x)
    s.append(math.sin(x))
    return s.total() * len(s)


class Cfg(dict):
    def __getattr__(self, k):
        return self[k]


@program
def a8(x):
    c = Cfg(a=math.exp(x), b=np.zeros(2))
    c.b[1] = x
    return c.a * c.b.sum()


@program
def a9(x):
    f = lambda *a: np.array(a).sum()
    return f(x, 2 * x) + (lambda: float(x))()


def deco(fn):
    calls = {"n": 0}

    @functools.wraps(fn)
    def w(*a, **k):
        calls["n"] += 1
        r = fn(*a, **k)
        return float(r)

    w.calls = calls
    return w


@deco
def ident(x):
    return np.array([x])[0]


@program
def a10(x):
    return ident(x) * ident(2 * x)


class Poly:
    def __init__(self, c):
        self.c = np.asarray(c, dtype=float)

    def __call__(self, x):
        r = 0.0
        for k in self.c[::-1]:
            r = r * x + k
        return r

    def __add__(self, o):
        n = max(len(self.c), len(o.c))
        z = np.zeros(n)
        z[: len(self.c)] += self.c
        z[: len(o.c)] += o.c
        return Poly(z)

    def deriv(self):
        return Poly([i * k for i, k in enumerate(self.c)][1:])


P0 = Poly([1.0, 2.0, 3.0])


@program
def a11(x):
    p = P0 + Poly([x, x * x])
    return p(2.0) + p.deriv()(x) + P0(x)


class Acc:
    total = 0.0
    hist = []

    def add(self, v):
        self.total += v
        self.hist.append(float(v))
        return self


@program
def a12(x):
    a = Acc().add(x).add(x * x)
    Acc.hist.clear()
    return a.total


@program
def a13(x):
    import itertools
    import operator

    return (
        sum(itertools.starmap(operator.mul, [(x, 2.0), (3.0, x)]))
        + list(itertools.accumulate([x, x], operator.mul))[-1]
    )


@program
def a14(x):
    m = np.eye(2)
    m[0] = [x, 1.0]
    m = m @ m
    m[1, :] = m[0] * 2
    d = np.diag(m).copy()
    d[0] *= x
    return d.sum() + np.trace(m)


@program
def a15(x):
    grid = [[0.0] * 3 for _ in range(2)]
    grid[0][1] = x
    grid[1][2] = math.cos(x)
    return np.array(grid).sum() * np.max(grid)


@program
def a16(x):
    q = [x]
    while len(q) < 5:
        q.append(q[-1] * 0.5 + math.sin(q[-1]))
    a = np.asarray(q)
    return np.mean(a) + np.std(q) + np.percentile(q, 50) + np.diff(q).sum() + np.cumsum(q)[-1]


@program
def a17(x):
    t = np.linspace(0, 1, 5)
    y = np.exp(-x * t)
    y[0] = 0.5
    s = np.zeros_like(t)
    s[1:] = np.cumsum(np.diff(t) * (y[1:] + y[:-1]) / 2)
    return s[-1]


@program
def a18(x):
    s = 0.0
    for (i, j), v in np.ndenumerate(np.array([[x, 1.0], [2.0, x]])):
        s += (i + 1) * v * (j + 2)
    return s


@program
def a19(x):
    return np.where(np.array([x > 0, False]), [x, 2.0], [3.0, x * x]).sum() + np.select(
        [x > 100, x > 0], [x, 2 * x], 5.0
    )


@program
def a20(x):
    r = np.empty((3,))
    r.fill(x)
    r[r > 0] += 1
    b = np.broadcast_to(r, (2, 3)).copy()
    b[1] = 0
    return b.sum() + r.prod()


@program
def a21(x):
    z = 1j * x
    w = np.exp(z)
    return abs(w + 1) ** 2 + w.real + math.atan2(w.imag, w.real)


@program
def a22(x):
    names = ["a", "b"]
    d = dict(zip(names, [x, x**2]))
    d.update(c=d["a"] * d["b"])
    return sum(v for k, v in sorted(d.items()) if k != "a")


@program
def types_in_conditions(x):
    y = x * 2
    total = 0.0
    if type(x) is float or type(y) == float:
        total += x
    if type(x) in (int, float) and type(x) not in (list, np.ndarray):
        total += 3 * x
    if type(np.array([x])) is np.ndarray and type(x) == type(1.0) and type(x) is not int:
        total += 7 * x
    if type(complex(x, 1.0)) is complex:
        total += 11 * x
    return total
