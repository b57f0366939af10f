"""Buffers, tables, steps of particles, assembled matrices, sums and outputs."""

import cmath
import heapq
import itertools
import math
from typing import ClassVar

import numpy as np
from scipy import sparse
from scipy.sparse import linalg as spla

from tests.strangers.programs import at


@at(0.31, 0.62, 1.23)
def state_machine(x):

    class Sim:
        registry: ClassVar = {}

        def __init_subclass__(cls, **k):
            Sim.registry[cls.__name__] = cls

        def __init__(self, gain, *, log=None):
            self.gain = gain
            self.log = [] if log is None else log
            self.state = np.zeros(3, dtype=np.float64)

        def step(self, u):
            raise NotImplementedError

        def run(self, us):
            for u in us:
                self.step(u)
                self.log.append(self.state.copy())
            return np.asarray(self.log)

    class A(Sim):
        def step(self, u):
            self.state[1:] = self.state[:-1]
            self.state[0] = self.gain * u + 0.3 * self.state[2]

    class B(A):
        def step(self, u):
            super().step(u)
            self.state *= 0.9

    r = Sim.registry["B"](x[0]).run([x[1], x[2], 0.5, *x])
    return r[-1] @ [1, 2, 3] + r.std() + len(r)


@at(0.31, 0.62, 1.23)
def ring_buffer(x):
    buf = np.zeros(4)
    out = []
    for idx, v in enumerate(itertools.chain(x, x * 2, [1.0, 2.0]), 1):
        buf[(idx - 1) % 4] = v
        out.append(np.roll(buf, -idx)[-2:].sum() if idx > 1 else buf.mean())
    return np.array(out).var() + float(np.array(out)[3])


@at(0.31, 0.62, 1.23)
def lookup_tables(x):
    tab = {(i, j): x[i] * x[j] for i in range(3) for j in range(3)}
    m = np.array([[tab[i, j] for j in range(3)] for i in range(3)])
    s = {k for k in tab if sum(k) % 2}
    inv = {v: k for k, v in {"a": 0, "b": 1}.items()}
    return (
        m.trace()
        + sum(tab[k] for k in sorted(s))
        + x[[*inv].index(1)]
        + max(tab.items(), key=lambda kv: kv[1])[1]
        + np.array(list(tab.values())).reshape(3, 3)[::2, 1].sum()
    )


@at(0.31, 0.62, 1.23)
def char_arrays(x):
    names = np.array(["a", "b", "a"])
    u, inv = np.unique(names, return_inverse=True)
    g = np.zeros(len(u))
    np.add.at(g, inv, x)
    w = np.array([len(n) for n in names]) * x
    d = dict.fromkeys(names.tolist(), 0.0)
    for n, v in zip(names.tolist(), x, strict=False):
        d[n] += v
    return g @ g + w.sum() + d["a"] * d["b"] + x[names == "a"].prod()


class Series:
    def __init__(self, v):
        self.v = np.asarray(v, dtype=float)

    def rolling(self, n):
        return np.array([self.v[max(0, i - n + 1) : i + 1].mean() for i in range(len(self.v))])

    def ewm(self, a):
        return list(itertools.accumulate(self.v, lambda p, q: (1 - a) * p + a * q))

    def shift(self, k):
        r = np.full_like(self.v, np.nan)
        r[k:] = self.v[:-k]
        return r


@at(0.31, 0.62, 1.23)
def series_by_hand(x):
    s = Series(x)
    return s.rolling(2).sum() + s.ewm(0.3)[-1] + s.shift(1)[2]


@at(0.31, 0.62, 1.23)
def steps_of_tuples(x):

    def rk4(f, y, t, dt, *a, **k):
        k1 = f(t, y, *a, **k)
        k2 = f(t + dt / 2, tuple((u + dt / 2 * v for u, v in zip(y, k1, strict=False))), *a, **k)
        k3 = f(t + dt / 2, tuple((u + dt / 2 * v for u, v in zip(y, k2, strict=False))), *a, **k)
        k4 = f(t + dt, tuple((u + dt * v for u, v in zip(y, k3, strict=False))), *a, **k)
        return tuple((u + dt / 6 * (p + 2 * q + 2 * r + s) for u, p, q, r, s in zip(y, k1, k2, k3, k4, strict=False)))

    y = (x[0], x[1], 1.0)
    for i in range(12):
        y = rk4(
            lambda t, y, s, r, b: (s * (y[1] - y[0]), y[0] * (r - y[2]) - y[1], y[0] * y[1] - b * y[2]),
            y,
            i * 0.02,
            0.02,
            10.0,
            28 * x[2],
            b=8 / 3,
        )
    return sum(y)


@at(0.31, 0.62, 1.23)
def stars_that_leap(x):
    q = np.array([[1.0, 0], [-1, x[0]], [0, 1.5]])
    p = np.zeros_like(q)
    p[:, 1] = [x[1], -0.3, 0.1]
    m = np.array([1, x[2], 0.5])[:, None]

    def pulls(q):
        d = q[None] - q[:, None]
        r2 = (d**2).sum(-1) + np.eye(3)
        w = r2 ** (-1.5)
        np.fill_diagonal(w, 0)
        return m * np.einsum("ij,ijk,j->ik", w, d, m[:, 0])

    a = pulls(q)
    for _ in range(15):
        p += 0.005 * a
        q += 0.01 * p / m
        a = pulls(q)
        p += 0.005 * a
    return (p**2 / m).sum() / 2 + np.linalg.norm(q[0] - q[1])


@at(0.31, 0.62, 1.23)
def bars_assembled(x):
    n = 6
    K = np.zeros((n, n))
    F = np.zeros(n)
    E = np.interp(np.linspace(0, 1, n - 1), [0, 0.5, 1], x)
    for e in range(n - 1):
        ix = np.ix_([e, e + 1], [e, e + 1])
        K[ix] += E[e] * n * np.array([[1, -1], [-1, 1]])
        F[e : e + 2] += 0.5 / n
    free = np.setdiff1d(np.arange(n), [0])
    u = np.zeros(n)
    u[free] = np.linalg.solve(K[np.ix_(free, free)], F[free])
    rows, J, V = ([], [], [])
    for e in range(n - 1):
        rows += [e, e, e + 1, e + 1]
        J += [e, e + 1, e, e + 1]
        V += [E[e], -E[e], -E[e], E[e]]
    S = sparse.coo_matrix((V, (rows, J)), shape=(n, n)).tocsr()
    w = spla.spsolve(S[1:, 1:].tocsc(), F[1:])
    return u @ F + w[-1]


@at(0.31, 0.62, 1.23)
def drawn_prices(x):
    rng = np.random.default_rng(0)
    z = rng.standard_normal((50, 3))
    L = np.linalg.cholesky(np.eye(3) + 0.2 * np.outer(x, x))
    S = np.exp(z @ L.T * 0.1 + x)
    pay = np.maximum(S.mean(1) - 1.5, 0)
    perm = rng.permutation(50)
    b = rng.uniform(x[0], x[2], 5)
    e = rng.exponential(x[1], 3)
    n = rng.normal(x[0], x[1], (2, 2))
    c = rng.choice(x, 4)
    rng.shuffle(perm)
    return pay.mean() + np.quantile(S[perm, 0], 0.7) + b.sum() + e.sum() + n.sum() + c.sum()


@at(0.31, 0.62, 1.23)
def crystals(x):
    a, b, c = x * 10
    G = np.diag([a, b, c])
    R = np.linalg.inv(G).T
    hkl = np.array([h for h in itertools.product(range(-1, 2), repeat=3) if any(h)])
    q = np.linalg.norm(hkl @ R, axis=1)
    pos = np.array([[0, 0, 0], [0.5, 0.5, x[0]]])
    Fh = np.exp(2j * np.pi * hkl @ pos.T).sum(1)
    rows = np.abs(Fh) ** 2 / (q**2 + 0.01)
    o = np.lexsort((rows, np.round(q, 6)))
    return (rows[o][:10] * np.arange(10)).sum() + np.angle(Fh).sum() * 0 + Fh.real.sum()


@at(0.31, 0.62, 1.23)
def mean_field(x):
    m = np.full((4, 4), 0.3)
    for _ in range(20):
        n = sum(np.roll(m, s, a) for s in (1, -1) for a in (0, 1))
        new = np.tanh(x[0] * n + x[1] * 0.1)
        if np.abs(new - m).max() < 1e-14:
            break
        m = new
    return m.sum() * x[2]


@at(0.31, 0.62, 1.23)
def huffman(x):
    p = np.abs(x) / np.abs(x).sum()
    h = [(w, i, [i]) for i, w in enumerate(p)]
    heapq.heapify(h)
    d = [0] * 3
    while len(h) > 1:
        a = heapq.heappop(h)
        b = heapq.heappop(h)
        for i in a[2] + b[2]:
            d[i] += 1
        heapq.heappush(h, (a[0] + b[0], min(a[1], b[1]), a[2] + b[2]))
    return sum((d_ * p_ for d_, p_ in zip(d, p, strict=False))) - sum(q * math.log2(q) for q in p)


@at(0.31, 0.62, 1.23)
def polynomials(x):
    p = np.poly1d(x)
    q = np.polynomial.Polynomial(x)
    c = np.polynomial.chebyshev.Chebyshev.fit(np.linspace(0, 1, 5), np.linspace(0, 1, 5) ** 2 * x[0] + x[1], 2)
    return (
        p(2.0)
        + p.deriv()(1.0)
        + (p * p)(0.5)
        + q.roots().real.sum()
        + q.integ()(1.0)
        + c(0.3)
        + np.polynomial.hermite.hermval(0.3, x)
        + np.polynomial.polynomial.polyfromroots(x)[1]
        + p.integ(2)(0.4)
        + np.polyder(x)[0]
        + q.convert(kind=np.polynomial.Legendre).coef.sum()
        + p.r.real.max()
    )


@at(0.31, 0.62, 1.23)
def sums_by_letters(x):
    T = np.einsum("i,j,k->ijk", x, x**2, np.sin(x))
    return (
        np.einsum("iij->j", T) @ x
        + np.einsum("ijk,kj->i", T, np.outer(x, x), optimize=True).sum()
        + np.einsum(T, [0, 1, 2], [2, 0]).sum()
        + np.einsum("...i,i", T, x).sum()
        + np.tensordot(T, x, ([1], [0])).sum()
        + np.inner(x, x) * np.vdot(x, x)
        + np.linalg.tensorsolve(np.eye(3) + np.outer(x, x) * 0.1, x).sum()
    )


@at(0.31, 0.62, 1.23)
def outputs_everywhere(x):
    b = np.empty((3, 3))
    np.multiply.outer(x, x, out=b)
    np.cumsum(b, axis=1, out=b)
    c = np.zeros(3)
    np.dot(b, x, out=c)
    np.clip(c, 0.1, 2, out=c)
    np.add(c, 1, out=c, where=c > 0.5)
    d = c.view()
    d /= 2
    np.negative(d[1:], out=d[1:])
    c[::2], c[1] = (c[1], c[0])
    np.copyto(b[0], c)
    np.put(b, [4], x[0])
    b.T[2][...] = 7 * x[1]
    b.itemset((0, 0), 1) if hasattr(b, "itemset") else None
    np.einsum("ij,j->i", b, x, out=c)
    np.matmul(b, b, out=b)
    e = np.sum(b, axis=0, out=np.empty(3))
    np.sqrt(np.abs(e), e)
    np.take(x, [0, 2], out=c[:2])
    np.mean(b, axis=1, out=c)
    x2 = x.copy()
    x2.sort()
    x2[...] = x2[::-1]
    x2.partition(1)
    return b.sum() + c.sum() + e.sum() + x2 @ [1, 2, 3]


@at(0.31, 0.62, 1.23)
def complex_numbers(x):
    z = complex(x[0], x[1])
    w = cmath.exp(z) * cmath.sqrt(z) + z.conjugate() ** 2
    p = cmath.polar(w)
    r = np.roots([1, x[0], x[1], x[2]])
    v = np.array([z, w, 1j])
    return (
        p[0]
        + p[1]
        + abs(w)
        + r.prod().real
        + np.abs(v).sum()
        + np.angle(v)[0]
        + (v @ v.conj()).real
        + v.imag.sum()
        + cmath.phase(z)
        + np.real_if_close(v * v.conj()).sum().real
        + np.sort_complex(v)[0].real
        + cmath.rect(x[0], x[1]).imag
    )
