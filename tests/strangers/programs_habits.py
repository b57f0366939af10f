"""Habits of Python: classes with protocols, generators, texts and exceptions."""

import collections
import contextlib
import copy
import functools
import itertools
import math
import operator
import string
from typing import ClassVar

import numpy as np
from scipy import special

from tests.strangers.programs import at


class Vector(tuple):
    def __add__(self, o):
        return Vector((a + b for a, b in zip(self, o, strict=False)))

    def __mul__(self, k):
        return Vector(a * k for a in self)

    __rmul__ = __mul__

    def __abs__(self):
        return math.sqrt(sum(a * a for a in self))


@at(0.3, 0.6, 1.2)
def vector_that_is_a_tuple(x):
    v = Vector(x)
    return abs(v + 2 * v * 0.5 + Vector([1, 2, 3]))


class Node:
    def __init__(self, v, *c):
        self.v, self.c = (v, c)

    def __len__(self):
        return 1 + sum(map(len, self.c))

    def __iter__(self):
        yield self.v
        for k in self.c:
            yield from k

    def __getitem__(self, i):
        return list(self)[i]

    def __contains__(self, v):
        return any(v is k for k in self)

    def __eq__(self, o):
        return self.v == o.v

    def __lt__(self, o):
        return self.v < o.v

    def __hash__(self):
        return id(self)


@at(0.3, 0.6, 1.2)
def tree_of_values(x):
    t = Node(x[0], Node(x[1] * 2), Node(x[2] ** 2, Node(x[0] * x[1])))
    return (
        sum((v * i for i, v in enumerate(t)))
        + len(t) * t[-1]
        + max(Node(x[1]), Node(x[2])).v
        + sorted([Node(x[2]), Node(x[0])])[0].v
    )


@at(0.3, 0.6, 1.2)
def functions_of_functools(x):
    comp = lambda *f: functools.reduce(lambda a, b: lambda v: b(a(v)), f)
    f = comp(math.sin, lambda v: v * x[1], functools.partial(pow, 2.0), np.tanh)
    acc = list(itertools.accumulate(x, operator.mul))
    pr = list(itertools.pairwise(x))
    cb = sum((a * b for a, b in itertools.combinations(x, 2)))
    gr = {k: sum(g) for k, g in itertools.groupby(x, key=lambda v: v > 0.5)}
    return (
        f(x[0])
        + acc[-1]
        + sum((a / b for a, b in pr))
        + cb
        + gr[True] * gr[False]
        + operator.itemgetter(1)(x)
        + functools.reduce(math.hypot, x)
    )


@at(0.3, 0.6, 1.2)
def generator_that_is_sent_to(x):

    def co():
        s = 0.0
        while True:
            v = yield s
            if v is None:
                return
            s = 0.5 * s + v

    g = co()
    next(g)
    out = [g.send(v) for v in x]
    g.close()

    def lag(seq, n):
        it = iter(seq)
        buf = collections.deque(itertools.islice(it, n), maxlen=n)
        for v in it:
            yield (buf[0], v)
            buf.append(v)

    return sum(out) + sum((a * b for a, b in lag(x, 1))) + max((v for v in x if v < 1), default=0.0)


@at(0.3, 0.6, 1.2)
def texts_on_the_way(x):
    log = []
    log.append(f"{x[0]:.3f} {x!r:>10}")
    log.append(f"{x[1]:.2e}")
    log.append(f"{x[2]:8.3g}|{len(log)}")
    log.append(str(x) + repr(x[0]))
    log.append(string.Template("$a").substitute(a=x[0]))
    return x.sum() * len(log) + x[0] * ("0.3" in log[0])


@at(0.3, 0.6, 1.2)
def exceptions_on_the_way(x):

    def safe(v):
        try:
            if v < 0.5:
                raise ValueError(v)
            return math.log(v)
        except ValueError as e:
            return e.args[0] * 2
        finally:
            st.append(v)

    st = []
    r = sum(map(safe, x))
    with contextlib.suppress(ZeroDivisionError):
        r += 1 / (x[0] - x[0]) if False else x[1]
    try:
        math.sqrt(-x[0])
    except ValueError:
        r += x[0]
    try:
        int("q")
    except ValueError:
        pass
    else:
        r = 0
    return r + sum(st)


@at(0.3, 0.6, 1.2)
def names_in_conditions(x):
    tot = 0
    i = 0
    while (v := x[i]) < 1:
        tot += v * i
        i += 1
    values = [y for w in x if (y := (w**2)) > 0.1]
    a, *b = x
    (c, d), e = ((x[0], x[1]), x[2])
    return tot + sum(values) + v + a * sum(b) + c * d * e


@at(0.3, 0.6, 1.2)
def class_with_everything(x):
    n = 0.0

    def add(v, k=x[0], *, s=2):
        nonlocal n
        n += v * k * s
        return n

    for v in x:
        add(v)

    class C:
        tot = x[1]
        items: ClassVar = collections.deque()

        def __init__(self):
            self.items.append(x[0])

        @staticmethod
        def f(v):
            return v + 1

        @classmethod
        def g(cls, v):
            return cls.f(v) * cls.tot

        def __call__(self, v):
            return self.g(v) + sum(self.items)

        def __enter__(self):
            return self

        def __exit__(self, *a):
            self.items.clear()
            return False

    with C() as c:
        r = c(x[2])
    return n + r + len(C.items)


class Lazy:
    def __init__(self, x):
        self._x = x

    @functools.cached_property
    def sq(self):
        return self._x**2

    def __getattr__(self, n):
        if n.startswith("p"):
            return self._x ** int(n[1:])
        raise AttributeError(n)

    def __setattr__(self, n, v):
        object.__setattr__(self, n, v * 1.0)


@at(0.3, 0.6, 1.2)
def attributes_on_demand(x):
    values = Lazy(x)
    return (values.sq + values.p3).sum() + hasattr(values, "zz") + values.p2[0] + copy.deepcopy(values).sq[1]


@at(0.3, 0.6, 1.2)
def functions_of_elements(x):
    f = np.vectorize(lambda a, b: a if a > b else a * b + math.exp(b))
    g = np.vectorize(lambda a: (a, a**2), otypes=[float, float])
    u = np.frompyfunc(lambda a, b: a * b + 1, 2, 1)
    s = np.vectorize(lambda v: v.sum() * v, signature="(n)->(n)")
    A = np.apply_along_axis(lambda r: np.sort(r) * r[0], 1, np.outer(x, x))
    B = np.apply_over_axes(np.sum, np.outer(x, x), [0])
    return (
        f(x, 0.5).sum()
        + g(x)[1].sum()
        + u(x, 2).sum()
        + s(np.outer(x, [1, 2])).sum()
        + A.sum()
        + B.sum()
        + np.fromfunction(lambda i, j: x[0] * i + j, (2, 2)).sum()
    )


@at(0.3, 0.6, 1.2)
def branches_with_nan(x):
    z = np.array([0.0, 1, 2])
    r = np.where(z > 0, x / np.where(z > 0, z, 1), 0.0)
    q = np.where(x > 0.5, np.sqrt(np.abs(x - 0.5)), 0)
    d = np.sqrt(np.sum((x[:, None] - x) ** 2))
    s = np.select([x < 0.4, x < 1], [x**2, np.log(x)], default=1 / x)
    p = np.piecewise(x, [x < 0.5], [lambda v: v**3, np.exp])
    lo = np.log(x, out=np.zeros_like(x), where=x > 0.5)
    dv = np.divide(1, x, out=np.ones(3), where=x > 1)
    xl = special.xlogy(z, x)
    nz = np.nan_to_num(np.array([np.nan, 1, np.inf]), posinf=0) @ x
    c = np.choose([0, 1, 0], [x, x**2])
    h = np.nanmean(np.where(x > 1, np.nan, x))
    return (
        r.sum()
        + q.sum()
        + d
        + s.sum()
        + p.sum()
        + lo.sum()
        + dv.sum()
        + xl.sum()
        + nz
        + c.sum()
        + h
        + np.heaviside(x - 0.5, 0.5) @ x
        + np.sinc(z * x).sum()
        + np.hypot(z, x).sum()
        + np.nansum(lo)
    )
