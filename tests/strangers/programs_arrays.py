"""Arrays and containers in all the ways that Python has: views, aliases, copies, closures, tables of functions."""

import copy
import functools
import itertools
import math
import operator
from collections import ChainMap, OrderedDict
from types import SimpleNamespace

import numpy as np

from tests.strangers.programs import at


@at(0.3, 1.2)
def aliasing(x):
    a = np.zeros(4)
    b = a[1:3]
    c = a
    b[:] = x
    c[0] = a[1] * 2
    a[-1] += b.sum()
    b *= 2
    return np.dot(a, np.arange(4.0)) + c[0]


@at(0.3, 1.2)
def swap_rows(x):
    m = np.eye(3)
    m[0, 1] = x[0]
    m[2, 0] = x[1]
    m[[0, 2]] = m[[2, 0]]
    m[:, 1], m[:, 2] = (m[:, 2].copy(), m[:, 1].copy())
    return np.sum(m * np.arange(9.0).reshape(3, 3))


@at(0.3, 1.2, 0.5)
def lu_by_hand(x):
    a = np.array([[2.0 + x[0], x[1], 0.3], [0.5, 3.0, x[2]], [x[0] * x[2], 0.2, 4.0]])
    n = 3
    p = list(range(n))
    for k in range(n):
        piv = max(range(k, n), key=lambda i: abs(a[i, k]))
        if piv != k:
            a[[k, piv]] = a[[piv, k]]
            p[k], p[piv] = (p[piv], p[k])
        for i in range(k + 1, n):
            a[i, k] /= a[k, k]
            a[i, k + 1 :] -= a[i, k] * a[k, k + 1 :]
    return np.prod(np.diag(a)) + a[2, 0] + a[1, 2]


@at(0.3, 1.2, 0.5)
def gram_schmidt(x):
    v = np.array([[1.0, x[0], 0], [x[1], 1, 0.2], [0, x[2], 2]])
    q = np.zeros_like(v)
    for i in range(3):
        w = v[i].copy()
        for j in range(i):
            w -= q[j] * (q[j] @ v[i])
        q[i] = w / np.sqrt(w @ w)
    return q[2, 0] + q[1, 1] * q[2, 2]


@at(0.7, 2.2)
def memo_dict(x):
    memo = {}

    def fib(n):
        if n < 2:
            return x[n]
        if n not in memo:
            memo[n] = math.sqrt(fib(n - 1) ** 2 + fib(n - 2))
        return memo[n]

    return fib(8) + sum(memo.values())


@at(0.4, 1.5)
def complex_roots(x):
    b, c = x
    d = complex(b * b - 4 * c)
    r = (-b + d**0.5) / 2
    return abs(r) ** 2 + r.real * r.imag


@at(0.4, 1.5, 0.2)
def pandas_like(x):
    t = OrderedDict(a=x[0], b=x[1])
    t["c"] = x[2]
    t.move_to_end("a")
    u = ChainMap({"a": x[0] * 2}, t)
    return sum((k * v for k, v in enumerate(t.values()))) + u["a"] * u["c"]


@at(0.4, 1.5)
def try_except(x):
    tot = 0.0
    for v in (x[0], x[1], -x[0], 0.0):
        try:
            tot += math.log(v) * math.sqrt(1 - v)
        except (ValueError, ZeroDivisionError):
            tot += v**2
    return tot


@at(0.4, 1.5)
def while_else(x):
    a, b = x
    n = 0
    while abs(a - b) > 1e-12 and n < 100:
        a, b = ((a + b) / 2, math.sqrt(a * b))
        n += 1
    a *= 2
    return a + n * 0


@at(0.4, 1.5)
def class_state(x):

    class Acc:
        total = 0.0

        def __call__(self, v):
            self.total += v
            Acc.last = v
            return self

        def __enter__(self):
            self.total *= 2
            return self

        def __exit__(self, *e):
            self.total += 1

    a = Acc()
    a(x[0])(x[1] * 2)
    with a as b:
        b(x[0] ** 2)
    return a.total * Acc.last


@at(0.4, 1.5)
def nested_gen(x):

    def g(n):
        for i in range(n):
            got = yield (x[0] * i)
            if got:
                yield (got * x[1])

    it = g(4)
    s = next(it)
    s += it.send(2.0)
    s += sum(it)
    return s**2


@at(0.4, 1.5, 0.7)
def sorting(x):
    d = sorted(zip(x, [3, 1, 2], strict=True), key=lambda p: -p[0])
    order = np.argsort(x)
    y = x[order]
    med = np.median(x)
    return sum((a * b for a, b in d)) + np.cumsum(y)[1] + med * np.max(x) + np.partition(x, 1)[0]


@at(0.4, 1.5, 0.7)
def einsum_loop(x):
    t = np.zeros((2, 3, 3))
    for i, j, k in itertools.product(range(2), range(3), range(3)):
        t[i, j, k] = x[j] * math.cos(i + k * x[k])
    return np.einsum("ijk,ikj->", t, t) + np.tensordot(t, t, 3)


@at(0.4, 1.5)
def object_array(x):
    a = np.empty(2, dtype=object)
    a[0] = x[0] * 2
    a[1] = x[1]
    return sum(a) + np.sum(a * a)


@at(0.4, 1.5)
def deepcopies(x):
    s = {"w": [x[0], np.array([x[1], 1.0])], "n": SimpleNamespace(v=x[0])}
    t = copy.deepcopy(s)
    t["w"][0] += 1
    t["w"][1][0] *= 3
    t["n"].v **= 2
    return s["w"][0] * t["w"][0] + s["w"][1].sum() * t["w"][1].sum() + t["n"].v * s["n"].v


@at(0.4, 1.5)
def reduce_ops(x):
    return (
        functools.reduce(operator.mul, [x[0], x[1], 2.0], 1)
        + functools.reduce(lambda a, b: a * b + 1, x)
        + operator.itemgetter(1)(x)
        + operator.truediv(*x)
        + functools.partial(pow, x[0])(2)
    )


@at(0.4, 1.5)
def global_out(x):
    out = np.empty((2, 2))
    np.multiply.outer(x, x, out=out)
    np.add(out, 1, out=out)
    np.exp(out, out=out)
    b = np.zeros(2)
    np.dot(out, x, out=b)
    return b.sum()


@at(0.4, 1.5)
def histogram_weights(x):
    h = np.zeros(3)
    np.add.at(h, [0, 1, 1, 2], [x[0], x[1], x[0], 1.0])
    g = np.bincount([0, 1, 1], weights=[x[0], x[1], 2.0])
    return np.dot(h, h) + g[1] ** 2


@at(0.4, 1.5)
def apply_axis(x):
    m = np.outer([1.0, 2.0], x)
    return (
        np.apply_along_axis(lambda r: math.hypot(*r), 1, m).sum()
        + np.fromiter((v**2 for v in x), float).sum()
        + np.frompyfunc(lambda a: a * x[0], 1, 1)(np.array([1.0, 2.0])).sum()
    )


@at(0.4, 1.5)
def rollpad(x):
    a = np.r_[x, [1.0, 2.0], x[::-1]]
    b = np.c_[a, a**2]
    c = np.pad(a, (1, 2), "edge")
    return np.roll(a, 2) @ np.arange(6.0) + b[1, 1] + np.convolve(c, [1, -1], "valid").std() + np.diff(a, 2).max()


@at(0.4, 1.5)
def bool_of(x):
    t = 0.0
    if x[0] and (not (x[1] < 1 or x[0] > 1)):
        t = x[0]
    t += x[1] if 0 < x[0] < 1 else 5.0
    return t * (x[0] > 0.1) + any(v > 1 for v in x) * x[1] + (x[0] or 2.0) * (x[1] and 3.0)


@at(1.4, 0.5)
def star(x):

    def f(a, *r, k=2.0, **o):
        return a * k + sum(r) + o.get("z", 0)

    first, *rest = x
    d = {"z": x[0] ** 2}
    return f(*x, k=x[1], **d) * f(first, *rest)


@at(0.4, 1.5)
def late_binding(x):
    fs = [lambda v, i=i: v * i + x[0] for i in range(3)]
    gs = [lambda v: v * i + x[1] for i in range(3)]  # all of them see the last i
    return sum(f(x[1]) for f in fs) * sum(g(x[0]) for g in gs)


@at(0.4, 1.5)
def string_dispatch(x):
    ops = {"sin": math.sin, "sq": lambda v: v * v, "np": np.tanh}
    return sum((ops[k](x[i % 2]) for i, k in enumerate(["sin", "sq", "np"]))) * math.exp(x[0])


# Arrays with named fields


@at(1.0, 2.0, 0.5, 0.3)
def structured_particles(x):
    p = np.zeros(2, dtype=[("pos", float), ("vel", float), ("id", int)])
    p["pos"] = x[:2]
    p["vel"] = x[2:]
    p["id"] = [1, 2]
    for _ in range(5):
        p["vel"] -= 0.1 * p["pos"]
        p["pos"] += 0.1 * p["vel"]
    return np.sum(p["pos"] ** 2 * p["id"])


@at(1.0, 2.0, 0.5)
def structured_rows(x):
    a = np.zeros(3, dtype=[("r", float), ("xyz", float, 3)])
    for i in range(3):
        a[i]["r"] = x[i]
        a["xyz"][i] = x * i
    b = a[1:]
    b["r"] *= 2
    b[0]["xyz"] += 1.0
    b[1]["xyz"][2] = x[0] ** 2
    c = a[a["r"] > 1.5]
    c["r"] = 100.0
    return (a["r"][:, None] * a["xyz"]).sum() + len(a) + sum(r["r"] ** 2 for r in a) + sum(v["r"] for v in b)


@at(1.0, 2.0, 0.5)
def structured_tuples(x):
    dt = np.dtype([("t", "f8"), ("s", [("u", "f8"), ("v", "f8")])])
    a = np.empty((2, 2), dtype=dt)
    a[...] = (0.0, (1.0, 2.0))
    a[0, 0] = (x[0], (x[1], x[2]))
    a["s"]["u"][1] = x[:2]
    a["s"][0, 1]["v"] = x[0] * x[1]
    a[1]["t"] = x[1:]
    t, s = a[0, 0]
    a[1, 1] = a[0, 0]
    q = a[["t"]]
    q["t"] += x[2]
    d = a.copy()
    d["t"] = 0
    return t * a["s"]["u"].sum() + (a["s"]["v"] * a["t"]).sum() + s["u"] * s["v"] + a[1, 1][0]


@at(1.0, 2.0, 0.5)
def structured_table(x):
    people = np.array([("a", 1.0, 2), ("b", 3.0, 4), ("c", 2.0, 1)], dtype=[("name", "U8"), ("w", float), ("k", "i4")])
    people["w"] *= x
    people["w"][people["k"] > 1] += x[0]
    order = np.argsort(people["k"])
    best = people[order[::-1]][0]
    by = {row["name"]: row["w"] for row in people}
    return best["w"] * by["a"] + people["w"].max() * people[2]["k"] + (people["name"] == "b") @ people["w"]


def step(s, dt):
    n = s.copy()
    n["x"] = s["x"] + dt * s["v"]
    n["v"] = s["v"] - dt * np.sin(s["x"])
    return n


@at(1.0, 2.0, 0.5)
def structured_through_functions(x):
    s = np.zeros((), dtype=[("x", float), ("v", float)])
    s["x"] = x[0]
    s["v"] = x[1]
    for _ in range(4):
        s = step(s, x[2])
    z = np.zeros(2, dtype=s.dtype)
    z[0] = s
    z[1] = s["x"], 2 * s["v"]
    return z["x"].sum() * z[1]["v"]


@at(1.0, 2.0, 0.5)
def structured_masks(x):
    a = np.zeros(3, dtype=[("r", float), ("xyz", float, 3)])
    a["r"] = x
    a["xyz"] = np.outer(x, x)
    b = a[a["r"] > 0.7]
    b["r"] *= 3
    return (b["r"][:, None] * b["xyz"]).sum() + a["r"].sum() + b.shape[0] + a.size + a.ndim
