"""Methods of users' classes that Python's own code calls, and that do what NumPy alone would not do with tensors."""

import abc
import bisect
import collections
import contextlib
import copy
import dataclasses
import enum
import functools
import heapq
import itertools
import math
import operator
import types
from collections import ChainMap, Counter, OrderedDict, UserDict, UserList, defaultdict, deque
from collections.abc import Mapping, MutableMapping, MutableSequence, Sequence
from typing import Generic, NamedTuple, TypeVar

import numpy as np

PROGRAMS = []


def program(f):
    PROGRAMS.append(f)
    return f


class P:
    """A point, whose methods pack what they have."""

    def __init__(self, x, y):
        self.x, self.y = x, y

    def size(self):
        return math.sqrt(np.sum(np.array([self.x, self.y]) ** 2))


class Truth(P):
    def __bool__(self):
        return bool(math.hypot(self.x, self.y) > 0.5)


class Long(P):
    def __len__(self):
        return int(math.ceil(np.linalg.norm(np.array([self.x, self.y]))))


@program
def if_bool(x):
    p = Truth(x[0], x[1])
    return x[0] ** 2 if p else x[1] ** 3


@program
def if_not_len(x):
    p = Long(x[0], x[1])
    return x[0] ** 2 if not p else x[1] ** 3


@program
def and_or(x):
    p = Truth(x[0] * 0.1, x[1] * 0.1)
    q = p or Truth(x[1], x[0])
    r = q and P(x[0], x[2])
    return r.size() * q.x


@program
def while_bool(x):
    p = Truth(x[0], x[1])
    n = 0.0
    while p:
        n = n + p.x * p.y
        p = Truth(p.x * 0.7, p.y * 0.7)
    return n


@program
def assert_bool(x):
    p = Truth(x[0], x[1])
    assert p
    return p.x * p.y


@program
def comp_if(x):
    ps = [Truth(x[i] * 0.6, x[i]) for i in range(3)]
    return sum([p.x**2 for p in ps if p])


@program
def filter_none(x):
    ps = [Truth(x[i] * 0.6, x[i]) for i in range(3)]
    return sum(p.x**2 for p in filter(None, ps))


@program
def any_all(x):
    ps = [Truth(x[i] * 0.6, x[i]) for i in range(3)]
    return x[0] * 2 * any(ps) + x[1] * all(ps) + x[2] ** 2


@program
def not_op(x):
    p = Truth(x[0], x[1])
    return x[0] * operator.truth(p) + x[1] ** 2 * operator.not_(p) + x[2] * bool(p)


class Key(P):
    def __hash__(self):
        return hash(np.round(np.array([self.x, self.y]), 6).sum().item())

    def __eq__(self, o):
        return bool(np.all(np.array([self.x, self.y]) == np.array([o.x, o.y])))


@program
def key_hash(x):
    d = {}
    for i in (0, 1, 0):
        k = Key(x[i], x[2])
        d[k] = d.get(k, 0.0) + x[i] ** 2
    return sum(d.values()) * len(d)


@program
def in_set(x):
    s = {Key(x[0], x[1]), Key(x[1], x[2]), Key(x[0], x[1])}
    return x[0] ** 2 * len(s) if Key(x[0], x[1]) in s else x[1]


@program
def in_list(x):
    ps = [Key(x[0], x[1]), Key(x[1], x[2])]
    return x[0] ** 2 if Key(x[1], x[2]) in ps else x[1]


@program
def list_index(x):
    ps = [Key(x[0], x[1]), Key(x[1], x[2])]
    return x[ps.index(Key(x[1], x[2]))] ** 2 + ps.count(Key(x[0], x[1])) * x[0]


@program
def list_remove(x):
    ps = [Key(x[0], x[1]), Key(x[1], x[2])]
    ps.remove(Key(x[0], x[1]))
    return ps[0].size()


@program
def list_eq(x):
    ps = [Key(x[0], x[1]), Key(x[1], x[2])]
    qs = [Key(x[0], x[1]), Key(x[1], x[2])]
    return x[0] ** 2 if ps == qs else x[1]


@program
def tuple_eq(x):
    return x[0] ** 2 if (1, Key(x[0], x[1])) == (1, Key(x[0], x[1])) else x[1]


@program
def dict_fromkeys(x):
    d = dict.fromkeys([Key(x[0], x[1]), Key(x[0], x[1]), Key(x[1], x[2])], 1.0)
    return x[0] ** 2 * len(d)


@program
def counter(x):
    c = Counter([Key(x[0], x[1]), Key(x[0], x[1]), Key(x[1], x[2])])
    return sum(k.size() * v for k, v in c.items())


@program
def cache_key(x):
    @functools.lru_cache(None)
    def f(k):
        return k.size()

    return f(Key(x[0], x[1])) + f(Key(x[0], x[1]))


class Ord(P):
    def __lt__(self, o):
        return math.hypot(self.x, self.y) < np.linalg.norm(np.array([o.x, o.y]))


def ords(x):
    return [Ord(x[2], x[1]), Ord(x[0], x[1]), Ord(x[1], x[1])]


@program
def sort_lt(x):
    ps = ords(x)
    ps.sort()
    return ps[0].size() + 2 * ps[-1].x


@program
def sorted_lt(x):
    ps = sorted(ords(x), reverse=True)
    return ps[0].size() + 2 * ps[-1].x


@program
def sorted_key(x):
    ps = sorted([(1, o) for o in ords(x)], key=lambda t: t[1])
    return ps[0][1].size() + 2 * ps[-1][1].x


@program
def sorted_tuples(x):
    ps = sorted([(1, o) for o in ords(x)])
    return ps[0][1].size() + 2 * ps[-1][1].x


@program
def min_max(x):
    return min(ords(x)).size() + 2 * max(*ords(x)).x + min(ords(x), key=lambda o: o).y


@program
def heap(x):
    h = []
    for o in ords(x):
        heapq.heappush(h, o)
    a = heapq.heappop(h)
    return a.size() + 2 * heapq.nsmallest(1, h)[0].x + heapq.nlargest(1, h)[0].y


@program
def heapify(x):
    h = ords(x)
    heapq.heapify(h)
    return heapq.heapreplace(h, Ord(x[0], x[0])).size() + h[0].x


@program
def heap_tuples(x):
    h = []
    for o in ords(x):
        heapq.heappush(h, (1, o))
    return heapq.heappop(h)[1].size()


@program
def bisect_lt(x):
    ps = sorted(ords(x))
    i = bisect.bisect(ps, Ord(x[1], x[1] * 1.01))
    bisect.insort(ps, Ord(x[0] * 0.5, x[0]))
    return x[0] ** 2 * i + ps[0].size()


@functools.total_ordering
class Tot(P):
    def __lt__(self, o):
        return math.hypot(self.x, self.y) < np.linalg.norm(np.array([o.x, o.y]))

    def __eq__(self, o):
        return np.array([self.x, self.y]).sum() == np.array([o.x, o.y]).sum()


@program
def total(x):
    a, b = Tot(x[0], x[1]), Tot(x[1], x[2])
    return x[0] ** 2 * (a >= b) + x[1] ** 2 * (a <= b) + x[2] * (a > b)


class Text(P):
    def __format__(self, spec):
        return format(np.array([self.x, self.y]).sum(), spec or ".3f")

    def __str__(self):
        return "%.3f" % math.hypot(self.x, self.y)

    def __repr__(self):
        return "P(%s)" % np.round(np.array([self.x, self.y]), 3).tolist()


@program
def fstring(x):
    t = Text(x[0], x[1])
    s = f"{t}|{t!s}|{t!r}|{t:.2f}"
    return x[0] ** 2 * len(s)


@program
def formats(x):
    t = Text(x[0], x[1])
    return x[0] ** 2 * len(format(t, ".2f") + str(t) + repr(t) + ascii(t))


@program
def join(x):
    s = ", ".join(map(str, [Text(x[0], x[1])]))
    return x[0] ** 2 * len(s)


@program
def prints(x):
    import io

    b = io.StringIO()
    print(Text(x[0], x[1]), [Text(x[1], x[0])], file=b)
    return x[0] ** 2 * len(b.getvalue())


class Maps(P):
    def keys(self):
        return ["a", "b"]

    def __getitem__(self, k):
        return math.sqrt(np.array([self.x, self.y])["ab".index(k)])


@program
def star_star(x):
    d = {**Maps(x[0], x[1])}

    def f(a, b):
        return a * b**2

    return d["a"] + f(**Maps(x[0], x[1]))


@program
def dict_of(x):
    d = dict(Maps(x[0], x[1]))
    e = {}
    e.update(Maps(x[1], x[2]))
    return d["a"] + d["b"] ** 2 + e["a"] * e["b"]


class Seq(P):
    def __getitem__(self, i):
        return math.sin(np.array([self.x, self.y])[i])


class Len(Seq):
    def __len__(self):
        return 2


class It(P):
    def __iter__(self):
        v = np.array([self.x, math.cos(self.y)])
        yield v[0]
        yield v[1]


@program
def iters(x):
    s = Seq(x[0], x[1])
    it = iter(s)
    a = next(it) + sum(s)
    a = a + sum(list(s)) + np.sum(np.array([*s])) + max(s)
    p, q = s
    return a + p * q


@program
def iter_it(x):
    s = It(x[0], x[1])
    it = iter(s)
    a = next(it) + sum(s)
    p, q = s
    (p2, *q2) = s
    l = [1.0]
    l.extend(s)
    t = tuple(s)
    return (
        a
        + p * q
        + p2 * q2[0]
        + sum(l)
        + t[0] * t[1]
        + functools.reduce(operator.mul, s)
        + sum(map(math.sin, s))
        + dict(enumerate(s))[1]
    )


@program
def star_args(x):
    def f(a, b):
        return a * b**2

    return f(*It(x[0], x[1])) + f(*Seq(x[0], x[1])) + math.hypot(*It(x[0], x[2]))


@program
def reversed_len(x):
    a, b = reversed(Len(x[0], x[1]))
    return a * b**2 + len(Len(x[0], x[1]))


@program
def yield_from(x):
    def g():
        yield from It(x[0], x[1])

    return sum(g())


@program
def zips(x):
    return (
        sum(a * b for a, b in zip(It(x[0], x[1]), It(x[1], x[2])))
        + sum(itertools.chain(It(x[0], x[1]), It(x[1], x[2])))
        + math.prod(It(x[0], x[1]))
        + deque(It(x[0], x[1]), maxlen=1)[0]
        + math.fsum(It(x[0], x[1]))
    )


@program
def set_frozen(x):
    return sum(set(It(x[0], x[1]))) + sum(frozenset(It(x[0], x[1])))


@program
def np_of_seq(x):
    return np.sum(np.array(Len(x[0], x[1])) ** 2) + np.asarray(list(It(x[0], x[1]))).sum()


@program
def join_iter(x):
    return x[0] * len("".join(Txt(x[0])))


class Txt:
    def __init__(self, x):
        self.x = x

    def __iter__(self):
        return iter(["%.2f" % v for v in np.array([self.x, self.x])])


class V(P):
    def __add__(self, o):
        d = np.array([self.x, self.y]) + np.array([o.x, o.y])
        return V(d[0], d[1])

    def __radd__(self, o):
        if o == 0:
            return V(math.sin(self.x), self.y)
        return NotImplemented

    def __mul__(self, k):
        d = np.array([self.x, self.y]) * k
        return V(d[0], d[1])

    __rmul__ = __mul__

    def __matmul__(self, o):
        return np.array([self.x, self.y]) @ np.array([o.x, o.y])

    def __neg__(self):
        d = -np.array([self.x, self.y])
        return V(*d)

    def __abs__(self):
        return math.hypot(self.x, self.y)

    def __call__(self, k):
        return np.array([self.x, self.y]).sum() * k

    def __index__(self):
        return int(np.array([self.x, self.y]).sum())

    def __int__(self):
        return int(np.array([self.x, self.y]).sum())

    def __float__(self):
        return float(np.array([self.x, self.y]).sum())

    def __round__(self, n=0):
        return round(float(np.array([self.x, self.y]).sum()) * 2, n)

    def __contains__(self, k):
        return bool(np.any(np.array([self.x, self.y]) > k))


@program
def sum_radd(x):
    v = sum([V(x[0], x[1]), V(x[1], x[2])])
    return abs(v)


@program
def reduces(x):
    vs = [V(x[0], x[1]), V(x[1], x[2])]
    v = functools.reduce(operator.add, vs)
    w = list(itertools.accumulate(vs))[-1]
    return abs(v) + abs(w) ** 2 + v @ w + operator.matmul(v, w)


@program
def maps(x):
    vs = [V(x[0], x[1]), V(x[1], x[2])]
    return (
        sum(map(abs, vs))
        + sum(map(float, vs))
        + sum(map(vs[0], [1.0, 2.0]))
        + abs(sum(map(operator.neg, vs), V(0.0, 1.0)))
        + sum(itertools.starmap(operator.matmul, [(vs[0], vs[1])]))
    )


@program
def index_obj(x):
    return (
        x[V(x[0] * 0.1, x[1])] ** 2
        + [x[0], x[1], x[2]][V(x[0], x[2])]
        + sum([x[0] ** 2 for i in range(V(x[0], x[2]))])
        + [1.0, 2.0][operator.index(V(x[0] * 0.5, x[2]))] * x[1]
    )


@program
def index_slice(x):
    return np.sum(x[: V(x[0], x[2])] ** 2) + sum([x[0], x[1], x[2]][: V(x[0], x[2])])


@program
def contains(x):
    return x[0] ** 2 if 0.5 in V(x[0], x[1]) else x[1]


@program
def op_contains(x):
    return x[0] ** 2 if operator.contains(V(x[0], x[1]), 0.5) else x[1]


@program
def floats(x):
    v = V(x[0], x[1] * 1.1)
    return (
        float(v) ** 2
        + math.sin(v)
        + np.float64(v)
        + np.sin(float(v))
        + round(v, 2) * x[0]
        + int(v) * x[2]
        + complex(v).real
        + np.array([v, v], float).sum()
        + np.float64(v)
    )


class Ctx:
    def __init__(self, x):
        self.x = x
        self.v = 0.0

    def __enter__(self):
        self.v = np.array([self.x, math.sin(self.x)])
        return self

    def __exit__(self, *e):
        self.v = np.array([self.v[0] * 2, self.v[1]])
        return e[0] is ZeroDivisionError


@program
def withs(x):
    with Ctx(x[0]) as c, Ctx(x[1]) as d:
        y = c.v.sum() * d.v.sum()
        1 / 0
    return y * c.v[0]


@program
def exitstack(x):
    with contextlib.ExitStack() as s:
        c = s.enter_context(Ctx(x[0]))
        y = c.v.sum()
    return y * c.v[0]


@contextlib.contextmanager
def ctx(x):
    yield np.array([x, math.sin(x)])


@program
def ctxman(x):
    with ctx(x[0]) as v:
        return v.sum()


class Closes:
    def __init__(self, x):
        self.x = x

    def close(self):
        self.x = np.array([self.x, math.sin(self.x)]).sum()


@program
def closing(x):
    with contextlib.closing(Closes(x[0])) as c:
        pass
    return c.x


class Deco(contextlib.ContextDecorator):
    def __init__(self, x):
        self.x = x

    def __enter__(self):
        self.v = np.array([self.x, math.sin(self.x)])
        return self

    def __exit__(self, *e):
        self.v = np.array([self.v[0] * 2, math.cos(self.v[1])])


@program
def ctxdeco(x):
    d = Deco(x[0])

    @d
    def f():
        return d.v.sum()

    return f() * d.v[0]


class Cop(P):
    def __copy__(self):
        return Cop(*np.array([math.sin(self.x), self.y]))

    def __deepcopy__(self, memo):
        return Cop(*np.array([self.x, math.cos(self.y)]))


@program
def copies(x):
    c = Cop(x[0], x[1])
    return copy.copy(c).size() * copy.deepcopy(c).size() + copy.deepcopy([c])[0].size()


class Red(P):
    def __reduce__(self):
        return (Red, tuple(np.array([math.sin(self.x), self.y])))


@program
def reduce_copy(x):
    return copy.copy(Red(x[0], x[1])).size()


class Stt(P):
    def __getstate__(self):
        return {"v": np.array([self.x, math.sin(self.y)])}

    def __setstate__(self, s):
        self.x, self.y = np.array([s["v"][0], s["v"][1]]) * 2


@program
def state_copy(x):
    return copy.copy(Stt(x[0], x[1])).size() * copy.deepcopy(Stt(x[0], x[1])).size()


class Rep(P):
    def __replace__(self, **kw):
        return Rep(np.array([kw["x"], self.y])[0], math.sin(self.y))


class Unit:
    def __set_name__(self, o, n):
        self.n = "_" + n

    def __get__(self, o, t=None):
        return np.array([getattr(o, self.n), 1.0])[0]

    def __set__(self, o, v):
        setattr(o, self.n, math.sin(v))


class Desc:
    a = Unit()
    b = Unit()

    def __init__(self, a, b):
        self.a, self.b = a, b


@program
def descriptors(x):
    d = Desc(x[0], x[1])
    d.a += x[2]
    setattr(d, "b", d.b * 2)
    return d.a * d.b + getattr(d, "a") + operator.attrgetter("b")(d)


class GA:
    def __init__(self, x):
        self.x = x

    def __getattr__(self, n):
        if n.startswith("_"):
            raise AttributeError(n)
        return np.array([self.x, math.sin(self.x)])[len(n) - 1]


@program
def getattrs(x):
    g = GA(x[0])
    return g.a * g.bb + getattr(g, "a") + operator.attrgetter("bb")(g) + (1 if hasattr(g, "aa") else 0)


class Miss(dict):
    def __missing__(self, k):
        v = self[k] = np.array([math.sin(self["x"]) * k, 1.0])[0]
        return v


@program
def missing(x):
    d = Miss(x=x[0])
    return d[2] * d[3] + operator.itemgetter(4)(d)


class Attr(dict):
    def __getattr__(self, k):
        return np.array([self[k], 1.0])[0]

    def __setattr__(self, k, v):
        self[k] = math.sin(v)

    def __setitem__(self, k, v):
        dict.__setitem__(self, k, np.array([v, v]).sum())


@program
def attr_dict(x):
    d = Attr()
    d.x = x[0]
    d["y"] = x[1]
    return d.x * d.y


class Cls:
    def __class_getitem__(cls, k):
        return np.array([k, math.sin(k)])


@program
def class_getitem(x):
    return Cls[x[0]].sum()


class Base0:
    regs = {}

    def __init_subclass__(cls, scale=1.0, **kw):
        super().__init_subclass__(**kw)
        cls.scale = np.array([scale, math.sin(scale)]).sum()


class Nm:
    def __init__(self, x):
        self.x = x

    def __set_name__(self, o, n):
        self.v = np.array([self.x, math.sin(self.x)]).sum()


@dataclasses.dataclass
class DC:
    x: float
    y: float = 1.0
    z: object = dataclasses.field(init=False)

    def __post_init__(self):
        self.z = np.array([self.x, math.sin(self.y)])


@program
def dataclass_post(x):
    d = DC(x[0], x[1])
    e = dataclasses.replace(d, x=x[2])
    return d.z.sum() * e.z.sum() + dataclasses.astuple(d)[0] + dataclasses.asdict(d)["y"]


@dataclasses.dataclass(frozen=True)
class Frozen:
    x: float
    y: float

    def __post_init__(self):
        object.__setattr__(self, "n", math.hypot(self.x, self.y))


@program
def frozen_dc(x):
    return Frozen(x[0], x[1]).n * (1 if Frozen(x[0], x[1]) == Frozen(x[0], x[1]) else 0)


@dataclasses.dataclass(order=True)
class DO:
    k: "Ord"
    v: float = dataclasses.field(compare=False)


@program
def dc_order(x):
    a = sorted([DO(o, x[0]) for o in ords(x)])
    return a[0].k.size() * a[0].v + (a[0] < a[1]) * x[1]


@dataclasses.dataclass
class DF:
    x: float
    h: list = dataclasses.field(default_factory=lambda: np.zeros(2))

    def __post_init__(self):
        self.h[0] = self.x


@program
def dc_factory(x):
    return DF(x[0]).h.sum() ** 2


class NT(NamedTuple):
    x: float
    y: float = 2.0

    def size(self):
        return math.sqrt((np.array([self.x, self.y]) ** 2).sum())

    def __add__(self, o):
        return NT(*(np.array(self) + np.array(o)))

    @property
    def s(self):
        return np.array([self.x, self.y]).sum()


@program
def named_tuple(x):
    a = NT(x[0], x[1]) + NT(x[1], x[2])
    return a.size() * a.s + a._replace(x=x[0]).size() + NT._make([x[0], x[1]]).size() + NT(x[0]).size()


class En(enum.Enum):
    A = 1.0
    B = 2.0

    def __call__(self, x):
        return np.array([self.value, x]).prod()

    def f(self, x):
        return math.sin(x) * self.value

    @property
    def g(self):
        return self.value

    @classmethod
    def _missing_(cls, v):
        return cls.A if math.sin(v) > 0 else cls.B


@program
def enums(x):
    return En.A(x[0]) * En.B.f(x[1]) + En("B" and 2.0).f(x[2]) + sum(e.f(x[0]) for e in En)


class CP(P):
    @functools.cached_property
    def n(self):
        return np.array([self.x, math.sin(self.y)]).sum()

    @functools.singledispatchmethod
    def g(self, a):
        return np.array([a, self.x]).sum()

    @g.register
    def _(self, a: int):
        return np.array([a * 2, self.x]).prod()

    @g.register
    def _(self, a: float):
        return np.array([a * 3, self.x]).prod()

    def h(self, a, b):
        return np.array([a, b * self.x]).sum()

    ph = functools.partialmethod(h, 2.0)

    @staticmethod
    def st(a):
        return np.array([a, math.sin(a)]).sum()

    @classmethod
    def cl(cls, a):
        return cls(*np.array([a, math.sin(a)]))


@program
def functoolses(x):
    c = CP(x[0], x[1])
    return c.n * c.n + c.g(2) + c.g(float(x[1])) + c.ph(x[2]) + CP.st(x[0]) + CP.cl(x[0]).size() + c.g("a" and x[2])


@functools.singledispatch
def sd(a):
    return np.array([a, a]).sum()


@sd.register
def _(a: P):
    return np.array([a.x, math.sin(a.y)]).sum()


@program
def singled(x):
    return sd(V(x[0], x[1])) * sum(map(sd, [P(x[1], x[2])])) + sd(x[0])


class Cal:
    def __init__(self, k):
        self.k = k

    def __call__(self, x):
        return np.array([x, math.sin(x * self.k)]).sum()


@program
def callables(x):
    c = Cal(x[0])
    return (
        c(x[1])
        + sum(map(c, [x[1], x[2]]))
        + functools.partial(c, x[2])()
        + max([x[0], x[1]], key=c)
        + functools.reduce(lambda a, b: a + c(b), [x[0], x[1]])
        + np.vectorize(c)(x).sum()
        + sorted(x, key=c)[0]
    )


class ML(MutableSequence):
    def __init__(self, *a):
        self.a = list(a)

    def __getitem__(self, i):
        return math.sin(np.array(self.a)[i])

    def __setitem__(self, i, v):
        self.a[i] = np.array([v, v]).sum()

    def __delitem__(self, i):
        del self.a[i]

    def __len__(self):
        return len(self.a)

    def insert(self, i, v):
        self.a.insert(i, np.array([v, 1.0]).prod())


@program
def abc_seq(x):
    m = ML(x[0], x[1])
    m.append(x[2])
    m[0] = x[1]
    m.extend([x[0]])
    m += [x[1]]
    return sum(m) + m.pop() * m[0] + sum(reversed(m)) + (1 if x[5 - 5] in m else 0) + m.index(m[1])


class MM(Mapping):
    def __init__(self, x):
        self.x = x

    def __getitem__(self, k):
        return np.array([self.x, math.sin(self.x)])["ab".index(k)]

    def __iter__(self):
        return iter("ab")

    def __len__(self):
        return 2


@program
def abc_map(x):
    m = MM(x[0])
    return (
        sum(m.values()) * m.get("a")
        + sum(v for k, v in m.items())
        + dict(m)["b"]
        + {**m}["a"]
        + ("a" in m)
        + ChainMap({}, m)["b"]
    )


class UD(UserDict):
    def __setitem__(self, k, v):
        super().__setitem__(k, np.array([v, math.sin(v)]).sum())


@program
def user_dict(x):
    u = UD(a=x[0])
    u["b"] = x[1]
    u.update(c=x[2])
    return u["a"] * u["b"] + u["c"] + u.setdefault("d", x[0])


class UL(UserList):
    def norm(self):
        return np.linalg.norm(np.array(self))

    def __getitem__(self, i):
        return math.sin(self.data[i])


@program
def user_list(x):
    u = UL([x[0], x[1]])
    u.append(x[2])
    return u.norm() * u[0] + sum(u) + (u + [x[0]]).norm()


class Hook(P):
    def __array__(self, dtype=None, copy=None):
        return np.array([self.x, math.sin(self.y)])


@program
def arrays(x):
    return (
        np.sum(np.asarray(Hook(x[0], x[1])))
        + np.linalg.norm(Hook(x[0], x[1]))
        + np.dot(Hook(x[0], x[1]), x[:2])
        + np.sum(Hook(x[0], x[1]) * x[:2] if False else np.multiply(Hook(x[0], x[1]), x[:2]))
    )


class Del(P):
    def __delitem__(self, k):
        self.x = np.array([self.x, math.sin(self.x)]).sum()

    def __delattr__(self, k):
        self.y = np.array([self.y, math.sin(self.y)]).sum()


@program
def deletes(x):
    d = Del(x[0], x[1])
    del d[0]
    del d.foo
    return d.x * d.y


class Nx:
    def __init__(self, x):
        self.x = x
        self.i = 0

    def __iter__(self):
        return self

    def __next__(self):
        self.i += 1
        if self.i > 3:
            raise StopIteration
        self.x = np.array([self.x, math.sin(self.x)]).sum()
        return self.x


@program
def nexts(x):
    return (
        sum(Nx(x[0])) * next(Nx(x[1]))
        + sum(itertools.islice(Nx(x[1]), 2))
        + sum(a * b for a, b in itertools.pairwise(Nx(x[2])))
    )


class InstMeta(type):
    def __instancecheck__(cls, o):
        return bool(math.sin(o.x) > 0)

    def __contains__(cls, k):
        return bool(np.array([k, k]).sum() > 0)

    def __iter__(cls):
        return iter([1.0, 2.0])

    def __len__(cls):
        return 2


class Inst(metaclass=InstMeta):
    pass


@program
def instcheck(x):
    return (x[0] ** 2 if isinstance(P(x[0], x[1]), Inst) else x[1]) + (x[0] ** 2 if x[1] in Inst else x[2])


class EqT(P):
    def __eq__(self, o):
        return np.array([self.x, self.y]).sum() == np.array([o.x, o.y]).sum()

    __hash__ = None


@program
def chained(x):
    a, b, c = Tot(x[0], x[1]), Tot(x[1], x[1]), Tot(x[1], x[2])
    return x[0] ** 2 if a < b < c else x[1]


@program
def match_eq(x):
    match P(x[0], x[1]):
        case P(x=a, y=b):
            return a * math.sin(b)


class MA:
    __match_args__ = ("n", "m")

    def __init__(self, x):
        self.x = x

    @property
    def n(self):
        return np.array([self.x, math.sin(self.x)]).sum()

    @property
    def m(self):
        return math.cos(self.x)


@program
def unpack_nested(x):
    for i, (a, b) in enumerate([It(x[0], x[1]), It(x[1], x[2])]):
        y = a * b * (i + 1)
    return y


@program
def unpack_for(x):
    return sum(a * b for a, b in [It(x[0], x[1]), It(x[1], x[2])])
