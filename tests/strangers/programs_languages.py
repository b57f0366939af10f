"""Programs with languages and schedules of their own: stacks, texts, coroutines, queues, iterators, bound arguments."""

import asyncio
import contextlib
import functools
import inspect
import itertools
import math
import operator
import queue
import re
import sched
from collections import namedtuple
from typing import Generic, TypeVar

import numpy as np

from tests.strangers.programs import at

T = TypeVar("T")

Point = namedtuple("Point", "x y")


def area(points):
    return 0.5 * abs(sum(a.x * b.y - b.x * a.y for a, b in zip(points, points[1:] + points[:1], strict=True)))


def clip_polygon(poly, inside, cross):
    out = []
    for cur, prev in zip(poly, [poly[-1], *poly[:-1]], strict=True):
        if inside(cur):
            if not inside(prev):
                out.append(cross(prev, cur))
            out.append(cur)
        elif inside(prev):
            out.append(cross(prev, cur))
    return out


@at(0.3, 0.5, 1.1)
def polygon_clipping(x):
    poly = [Point(0.0, 0.0), Point(x[2], 0.1), Point(1.0, x[2]), Point(x[0], 0.9)]
    lim = x[1] + 0.2

    def cross(a, b):
        s = (lim - a.x) / (b.x - a.x)
        return Point(lim, a.y + s * (b.y - a.y))

    p = clip_polygon(poly, lambda q: q.x <= lim, cross)
    return area(p) + p[0]._replace(x=x[0]).x + max(p, key=lambda q: q.y).y


@at(0.31, 0.223, 0.517)
def levenshtein_soft(x):
    a, b = "kitten", "sitting"
    ins, dele, sub = x
    D = np.zeros((len(a) + 1, len(b) + 1))
    D[:, 0] = np.arange(len(a) + 1) * dele
    D[0] = np.arange(len(b) + 1) * ins
    for i, j in np.ndindex(len(a), len(b)):
        c = 0 if a[i] == b[j] else sub
        D[i + 1, j + 1] = min(D[i, j + 1] + dele, D[i + 1, j] + ins, D[i, j] + c)
    return D[-1, -1] + D.mean()


@at(0.3, 0.6)
def sums_of_strings(x):
    src = "x0 * 3 + sin ( x1 ) - x0 / x1"
    env = {"x0": x[0], "x1": x[1], "sin": math.sin}
    prec = {"+": 1, "-": 1, "*": 2, "/": 2}
    ops = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv}
    out, stack = [], []
    for tok in src.split():
        if re.fullmatch(r"\d+(\.\d+)?", tok):
            out.append(float(tok))
        elif tok in prec:
            while stack and stack[-1] in prec and prec[stack[-1]] >= prec[tok]:
                out.append(stack.pop())
            stack.append(tok)
        elif tok == "(":
            stack.append(tok)
        elif tok == ")":
            while (t := stack.pop()) != "(":
                out.append(t)
            if stack and stack[-1] in ("sin",):
                out.append(stack.pop())
        elif tok == "sin":
            stack.append(tok)
        else:
            out.append(env[tok])
    while stack:
        out.append(stack.pop())
    s = []
    for t in out:
        if isinstance(t, str):
            if t in ops:
                b, a = s.pop(), s.pop()
                s.append(ops[t](a, b))
            else:
                s.append(env[t](s.pop()))
        else:
            s.append(t)
    (r,) = s
    return r


@at(0.6, 1.1, 0.2)
def coroutine_pipeline(x):
    def co(f):
        @functools.wraps(f)
        def start(*a):
            g = f(*a)
            next(g)
            return g

        return start

    out = []

    @co
    def sink():
        total = 0.0
        try:
            while True:
                total += yield
        except GeneratorExit:
            out.append(total)

    @co
    def gain(k, t):
        while True:
            t.send(k * (yield))

    @co
    def split(*ts):
        while True:
            v = yield
            for t in ts:
                t.send(v)

    s1, s2 = sink(), sink()
    p = split(gain(x[0], s1), gain(x[1] ** 2, s2))
    for v in (x[2], 1.0, x[0]):
        p.send(v)
    s1.close()
    s2.close()
    return out[0] * out[1]


@at(0.4, 1.2)
def async_gather(x):
    async def cell(v, n):
        await asyncio.sleep(0)
        return sum([v**i async for i in agen(n)])

    async def agen(n):
        for i in range(n):
            yield i

    async def main():
        async with ctx() as c:
            return sum(await asyncio.gather(*(cell(v, 3) for v in x))) * c

    @contextlib.asynccontextmanager
    async def ctx():
        yield x[0]

    return asyncio.run(main())


@at(0.4, 1.2)
def queue_and_sched(x):
    q = queue.PriorityQueue()
    out = []
    for i, v in enumerate(x):
        q.put((-v, i))
    clock = [0.0]
    s = sched.scheduler(lambda: clock[0], lambda d: clock.__setitem__(0, clock[0] + d))
    s.enter(x[0], 1, lambda: out.append(clock[0] * 2))
    s.enter(x[1], 1, lambda: out.append(clock[0] ** 2))
    s.run()
    return q.get()[0] * x[0] + sum(out)


@at(0.4, 1.2, 0.8)
def itertools_zoo(x):
    a = sum(p * q for p, q in itertools.pairwise(x))
    b = sum(k * sum(g) for k, g in ((k, list(g)) for k, g in itertools.groupby(x, key=lambda v: v > 0.5)))
    c = sum(math.prod(c) for c in itertools.combinations_with_replacement(x, 2))
    d = list(itertools.accumulate(x, lambda s, v: s * 0.5 + v, initial=1.0))[-1]
    e = sum(map(pow, x, (1, 2, 3)))
    f = (
        sum(itertools.compress(x, [1, 0, 1]))
        + sum(itertools.islice(itertools.cycle(x), 5))
        + sum(itertools.chain.from_iterable([x, x[:2]]))
    )
    g = (
        max(itertools.takewhile(lambda v: v < 2, x))
        + sum(itertools.filterfalse(lambda v: v > 1, x))
        + next(itertools.dropwhile(lambda v: v < 1, x))
    )
    t1, t2 = itertools.tee(x)
    next(t2)
    h = sum(u * v for u, v in zip(t1, t2, strict=False)) + sum(u * (v or 0) for u, v in itertools.zip_longest(x, x[:2]))
    return a + b + c + d + e + f + g + h


@at(0.4, 1.2)
def generator_returns(x):
    def inner(n):
        tot = 0.0
        for k in range(n):
            got = yield k * x[0]
            tot += got or x[1]
        return tot

    def outer():
        a = yield from inner(3)
        b = yield from inner(2)
        yield a * b

    g = outer()
    v = next(g)
    s = 0.0
    try:
        while True:
            s += v
            v = g.send(s if s > 0.5 else None)
    except StopIteration:
        pass
    return s


@at(0.4, 1.2)
def signature_binding(x):
    def inject(**deps):
        def deco(f):
            sig = inspect.signature(f)

            @functools.wraps(f)
            def w(*a, **k):
                b = sig.bind_partial(*a, **k)
                for n, v in deps.items():
                    b.arguments.setdefault(n, v)
                b.apply_defaults()
                return f(*b.args, **b.kwargs)

            return w

        return deco

    @inject(gain=x[0])
    def amp(s, *, gain, bias=0.5):
        return gain * s + bias

    return amp(x[1]) * amp(2.0, bias=x[1])


class Stack(Generic[T]):
    def __init__(self, *xs: T):
        self._xs = list(xs)

    def push(self, x: T) -> "Stack[T]":
        self._xs.append(x)
        return self

    def pop(self) -> T:
        return self._xs.pop()

    def __class_getitem__(cls, k):
        return super().__class_getitem__(k)

    def __len__(self):
        return len(self._xs)


@at(0.4, 1.2)
def forth_machine(x):
    s = Stack[float](x[0])
    words = {
        "dup": lambda: s.push(s._xs[-1]),
        "+": lambda: s.push(s.pop() + s.pop()),
        "*": lambda: s.push(s.pop() * s.pop()),
        "swap": lambda: s.push(s._xs.pop(-2)),
    }

    def run(prog):
        for w in prog.split():
            if w == "sq":
                run("dup *")
            elif w in words:
                words[w]()
            elif w.startswith("$"):
                s.push(x[int(w[1:])])
            else:
                s.push(float(w))

    run("sq $1 swap 3 * + dup 2 * sq +")
    return s.pop() + len(s)
