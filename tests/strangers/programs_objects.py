"""Objects that answer for themselves: machines of states, queues, layers, dual numbers, grids that take writes back."""

import abc
import enum
import functools
import heapq
import itertools
import math
import operator
import types
from collections import UserDict, UserList, deque
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tests.strangers.programs import at


class EventQueue:
    def __init__(self):
        self.q = []
        self.n = itertools.count()

    def push(self, t, kind, **kw):
        heapq.heappush(self.q, (t, next(self.n), kind, kw))

    def __iter__(self):
        while self.q:
            yield heapq.heappop(self.q)


@at(1.0, 0.7, 0.2)
def queue_simulation(x):
    q = EventQueue()
    rate, serve, penalty = x
    for i in range(6):
        q.push(i * rate, "arrive", who=i)
    busy = 0.0
    waits = []
    for t, _, kind, kw in q:
        if kind == "arrive":
            start = t if t > busy else busy
            busy = start + serve * (1 + kw["who"] % 3)
            q.push(busy, "leave", who=kw["who"], waited=start - t)
        else:
            waits.append(kw["waited"] + penalty * t)
    return np.mean(waits) + np.max(waits)


class Phase(enum.Enum):
    BOOST = 1
    COAST = 2
    DESCENT = 3


@at(30.0, 0.1, 2.53)
def rocket_state_machine(x):
    thrust, drag, burn = x
    state = {"phase": Phase.BOOST, "h": 0.0, "v": 0.0, "t": 0.0}
    peak = -np.inf
    dt = 0.1
    while state["phase"] is not Phase.DESCENT and state["t"] < 20:
        match state["phase"]:
            case Phase.BOOST:
                a = thrust - 9.81 - drag * state["v"] * abs(state["v"]) / 10
                if state["t"] > burn:
                    state["phase"] = Phase.COAST
            case Phase.COAST:
                a = -9.81 - drag * state["v"] * abs(state["v"]) / 10
                if state["v"] < 0:
                    state["phase"] = Phase.DESCENT
            case _:
                raise RuntimeError
        state["v"] += a * dt
        state["h"] += state["v"] * dt
        state["t"] = round(state["t"] + dt, 10)
        peak = max(peak, state["h"])
    return peak


class Layer(abc.ABC):
    registry: ClassVar[dict] = {}

    def __init_subclass__(cls, /, kind=None, **kw):
        super().__init_subclass__(**kw)
        Layer.registry[kind] = cls

    @abc.abstractmethod
    def forward(self, z): ...
    def __call__(self, z):
        return self.forward(z)

    def __rshift__(self, other):
        return Chain(self, other)


class Dense(Layer, kind="dense"):
    def __init__(self, w, b):
        self.w, self.b = w, b

    def forward(self, z):
        return z @ self.w + self.b


class Act(Layer, kind="act"):
    fns: ClassVar[dict] = {
        "relu": lambda z: np.maximum(z, 0),
        "tanh": np.tanh,
        "gelu": lambda z: 0.5 * z * (1 + np.vectorize(math.erf)(z / 1.4142135)),
    }

    def __init__(self, name):
        self.f = self.fns[name]

    def forward(self, z):
        return self.f(z)


class Chain(Layer, kind="chain"):
    def __init__(self, *ls):
        self.ls = ls

    def forward(self, z):
        for layer in self.ls:
            z = layer(z)
        return z


@at(*np.linspace(-0.7, 0.9, 12))
def layers_by_registry(x):
    cfg = [
        ("dense", (x[:6].reshape(2, 3), 0.1)),
        ("act", ("gelu",)),
        ("dense", (x[6:12].reshape(3, 2), x[:2])),
        ("act", ("tanh",)),
    ]
    net = functools.reduce(operator.rshift, (Layer.registry[k](*a) for k, a in cfg))
    X = np.array([[0.2, -0.4], [1.0, 0.5], [-0.3, 0.8]])
    return np.mean((net(X) - X) ** 2)


class Thermostat:
    def __init__(self, T):
        self._T = T
        self.log = deque(maxlen=4)

    @property
    def temperature(self):
        return self._T

    @temperature.setter
    def temperature(self, v):
        if not 0 <= v < 100:
            raise ValueError(f"bad {v:.1f}")
        self.log.append(v)
        self._T = v

    @temperature.deleter
    def temperature(self):
        self._T = 20.0


@at(0.4, 3.0, 55.0)
def property_setters(x):
    t = Thermostat(20.0)
    for i in range(12):
        try:
            t.temperature += x[1] * (x[2] - t.temperature) * x[0] * (1 + (i == 7) * 9)
        except ValueError as e:
            t.temperature = t.log[-1] * (0.5 if "bad" in str(e) else 0.9)
    r = sum(w * v for w, v in zip((1, 2, 3, 4), t.log, strict=True))
    del t.temperature
    return r + t.temperature


class Params(UserDict):
    def __missing__(self, k):
        return 0.1 * len(k)

    def __getattr__(self, k):
        if k.startswith("_") or k == "data":
            raise AttributeError(k)
        return self[k]


@at(0.4, 1.2)
def user_dict_params(x):
    p = Params(a=x[0])
    p.update({"b": x[1] ** 2})
    p |= {"c": x[0] * x[1]}
    return p.a * p["b"] + p.missing + sum(p.values()) + p.get("c", 0) ** 2


class Poly(UserList):
    def __call__(self, t):
        return functools.reduce(lambda acc, c: acc * t + c, reversed(self.data), 0.0)

    def __mul__(self, other):
        out = [0.0] * (len(self) + len(other) - 1)
        for i, a in enumerate(self):
            for j, b in enumerate(other):
                out[i + j] += a * b
        return Poly(out)

    @classmethod
    def from_roots(cls, *r):
        return functools.reduce(operator.mul, (cls([-q, 1.0]) for q in r), cls([1.0]))

    def d(self):
        return type(self)([k * c for k, c in enumerate(self)][1:])


@at(0.4, 1.2, -0.3)
def user_list_poly(x):
    p = Poly.from_roots(*x)
    return p(0.7) * p.d()(x[0]) + (p * p)(0.2) + sum(p[1:])


class Dual2:
    __slots__ = ("d", "v")

    def __init__(self, v, d=0.0):
        self.v, self.d = v, d

    @staticmethod
    def lift(o):
        return o if isinstance(o, Dual2) else Dual2(o)

    def __add__(self, o):
        o = self.lift(o)
        return Dual2(self.v + o.v, self.d + o.d)

    __radd__ = __add__

    def __mul__(self, o):
        o = self.lift(o)
        return Dual2(self.v * o.v, self.d * o.v + self.v * o.d)

    __rmul__ = __mul__

    def __sub__(self, o):
        return self + (-1) * self.lift(o)

    def __rsub__(self, o):
        return self.lift(o) - self

    def __truediv__(self, o):
        o = self.lift(o)
        return self * Dual2(1 / o.v, -o.d / o.v**2)

    def __pow__(self, n):
        return Dual2(self.v**n, n * self.v ** (n - 1) * self.d)

    def sin(self):
        return Dual2(math.sin(self.v), math.cos(self.v) * self.d)

    def exp(self):
        e = np.exp(self.v)
        return Dual2(e, e * self.d)


@at(0.4, 1.2)
def own_forward_mode(x):
    t = Dual2(x[0], 1.0)
    y = (t * 3 + 2 * t.sin() - x[1] / 1) / (1 + t**2) * np.exp(t)
    arr = np.array([t, Dual2(x[1], 0.5)], dtype=object)
    z = (arr * 2 + arr[::-1]).sum()
    return y.d + y.v + z.v * z.d


class Grid:
    def __init__(self, n, m):
        self.a = np.zeros((n, m))
        self.hist = []

    def __setitem__(self, k, v):
        self.hist.append(k)
        self.a[k] = v

    def __getitem__(self, k):
        return self.a[k]

    def __matmul__(self, o):
        return self.a @ o.a

    def __iter__(self):
        yield from self.a

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.a, dtype)

    def __len__(self):
        return len(self.a)

    def __bool__(self):
        return bool(self.a.any())

    def __contains__(self, v):
        return np.any(self.a == v)

    def __enter__(self):
        self.old = self.a.copy()
        return self

    def __exit__(self, t, v, tb):
        if t is not None:
            self.a[...] = self.old
        return True


@at(0.4, 1.2)
def grid_with_rollback(x):
    g = Grid(3, 3)
    g[1, 1:] = x
    with g as h:
        h[0] = x[0] * np.arange(3)
        h[2] = 1 / 0
    with g as h:
        h[2, ::-1] = x[1] * np.arange(3.0)
    assert g
    assert len(g) == 3
    return np.linalg.norm(np.asarray(g)) + (g @ g).sum() + sum(r[1] for r in g) + np.mean(g)


@at(0.6, 1.1, 0.2)
def matching_of_shapes(x):
    @dataclass
    class Circle:
        r: float

    @dataclass
    class Rect:
        w: float
        h: float

    def area(s):
        match s:
            case Circle(r=r) if r > 1:
                return math.pi * r**2
            case Circle(r):
                return math.pi * r
            case Rect(w, h):
                return w * h
            case {"kind": "tri", "b": b, **rest}:
                return 0.5 * b * rest["h"]
            case [first, *others]:
                return area(first) + sum(map(area, others))
            case float() | int():
                return s
            case _:
                raise TypeError

    return area(
        [Circle(x[0]), Rect(x[1], x[2]), {"kind": "tri", "b": x[0], "h": x[1]}, Circle(x[1]), [Rect(x[2], 2.0)]]
    ) + area(x[0])


class Shape:
    @functools.singledispatchmethod
    def scale(self, k):
        raise NotImplementedError

    @scale.register
    def _(self, k: float):
        return k * self.base()

    @scale.register(list)
    def _(self, k):
        return sum(self.scale(q) for q in k)

    @scale.register(str)
    def _(self, k):
        return float(k) * self.base()

    def base(self):
        return self.x**2


def patched(self):
    return self.x**3


@at(0.4, 1.2)
def dispatch_and_patching(x):
    s = Shape()
    s.x = x[0]
    a = s.scale([x[1], 2.0, "0.5"])
    s.base = types.MethodType(patched, s)
    K = type("K", (Shape,), {"base": lambda self: super(K, self).base() + x[1], "n": 2})
    k = K()
    k.x = x[0] * 2
    return a + s.scale(x[1]) + k.scale(1.0) * K.n
