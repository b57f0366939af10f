"""Programs of one number in which it matters what is the same object, what is equal, and what is memory of what."""

import math

import numpy as np

PROGRAMS = []


def program(f):
    PROGRAMS.append(f)
    return f


@program
def m1(x):
    y = x
    y += 1.0
    return x * y


@program
def m2(x):
    a = float(x)
    b = a
    b += 1.0
    return a * b


@program
def m3(x):
    xs = [x, 2 * x]
    s = xs[0]
    for v in xs:
        s += v
    return s * xs[0]


@program
def q1(x):
    a = np.array([1.0, 1.0, 2.0])
    a[2] = 3.0 * 1
    d = {}
    for v in a:
        d[v] = d.get(v, 0.0) + x
    return sum(v * v for v in d.values())


@program
def q2(x):
    a = np.zeros(3)
    a[0] = x
    a[1] = x
    return len(set(a)) * x


@program
def q3(x):
    memo = {}

    def g(v):
        if v not in memo:
            memo[v] = math.sin(v)
        return memo[v]

    return g(x) + g(x + 0.0) + len(memo) * x


def relu(v):
    return max(math.sin(v), 0.0)


def other(v):
    return math.cos(v)


NAMES = {relu: 2.0, other: 3.0}


class H:
    pass


h = H()
h.act = relu


@program
def f1(x):
    k = 5.0 if h.act is relu else 7.0
    return k * h.act(x)


def inner(x, act):
    return (2.0 if act is relu else 4.0) * act(x) * NAMES.get(act, 100.0) * (1 if act == relu else 9)


@program
def f2(x):
    return inner(x, relu) + inner(x, other) + (1 if relu in NAMES else 50) * x


@program
def f3(x):
    fs = [relu, other]
    return sum(NAMES[f] * f(x) for f in fs)


@program
def al(x):
    a = np.ones(3)
    b = a
    b *= x
    c = a[1:]
    c[0] = 0.5
    return a.sum() + (1.0 if a is b else 30.0) + (0 if np.shares_memory(a, c) else 7)


@program
def vw(x):
    a = np.arange(6.0).reshape(2, 3)
    r = a.ravel()
    r[0] = x
    t = a.T
    t[1, 1] = x * x
    f = a.flatten()
    f[1] = 100 * x
    return a.sum() + f[0]


@program
def it(x):
    a = np.zeros((2, 2))
    for row in a:
        row[:] = x
    for i, row in enumerate(a):
        row[i] *= 2
    return (a**2).sum()


@program
def fl(x):
    a = np.zeros((2, 2))
    a.flat[1] = x
    a.flat[:1] = x * x
    return a.sum()


@program
def dt(x):
    a = np.zeros(2, dtype=np.float32)
    a[0] = x
    return float(a[0]) * (1.0 if a.dtype == np.float32 else 3.0)


@program
def cx(x):
    a = np.zeros(2, complex)
    a[0] = x + 2j
    a[1] = complex(x, x)
    return abs(a[0]) ** 2 + (a[1] * np.conj(a[1])).real


@program
def swap(x):
    a = np.array([x, 2.0, 3.0])
    a[0], a[1] = a[1], a[0]
    a[[0, 2]] = a[[2, 0]]
    return a[0] * a[1] + a[2]


@program
def cp(x):
    a = np.zeros(2)
    b = a.copy()
    b[0] = x
    a[1] = 3 * x
    c = list(a)
    c[0] = x * x
    return b.sum() * a.sum() + sum(c)


@program
def glob(x):
    BUF[0] = 1.0
    return BUF[0] * x


BUF = np.zeros(3)


@program
def sortd(x):
    a = np.array([3 * x, x, 2 * x])
    a.sort()
    b = np.argsort(a)
    return a[0] + 10 * a[b[2]]


@program
def cond(x):
    a = np.zeros(3)
    a[a == 0] = x
    a = np.where(a > 100, a, a * 2)
    a[1:] += a[:-1]
    return a[2]


@program
def lst(x):
    L = [0.0] * 3
    L[1] = float(x)
    L.sort(reverse=True)
    return L[0] * L[0]
