"""Filters, trackers, flows and samples: recursions, sparse steps, likelihoods."""

import math

import numpy as np
from scipy import fft, linalg, optimize, signal, sparse, stats
from scipy.sparse import linalg as spla
from scipy.spatial import distance

from tests.strangers.programs import at


@at(0.3, 0.6, 1.2)
def answers_of_a_system(x):
    sys = signal.lti([x[0]], [1, x[1], x[2]])
    T = np.linspace(0, 5, 20)
    return (
        sys.step(T=T)[1].sum()
        + sys.impulse(T=T)[1].sum()
        + sys.freqresp([0.3, 1.0])[1].real.sum()
        + sys.to_ss().A.sum()
    )


@at(0.3, 0.6, 1.2)
def zeros_and_poles(x):
    z, p, _ = signal.tf2zpk([1, x[0]], [1, x[1], x[2]])
    _, h = signal.freqz([1, x[0]], [1, x[1], x[2]], worN=8)
    _, gd = signal.group_delay(([1, x[0]], [1, x[1], x[2]]), w=[0.3, 0.5])
    s = signal.tf2sos([1, x[0], 0.2], [1, 0.2 * x[1], 0.1 * x[2]])
    return np.abs(p).sum() + z.real.sum() + np.abs(h).sum() + gd.sum() + s.sum()


@at(0.3, 0.6, 1.2)
def convolved_by_transforms(x):
    n = 32
    k = np.exp(-np.arange(n) * x[0])
    s = np.cos(np.arange(n) * x[1])
    K = np.fft.rfft(k, 2 * n)
    S = np.fft.rfft(s, 2 * n)
    y = np.fft.irfft(K * S)[:n]
    d = fft.dct(y, norm="ortho")
    F = np.fft.fftshift(np.fft.fft2(np.outer(y[:8], s[:8])))
    q = fft.next_fast_len(30)
    ana = np.fft.ifft(np.fft.fft(y) * 1j * np.fft.fftfreq(n)).real
    return (d**2)[1:4].sum() + np.abs(F).sum() * x[2] + ana[3] + q * y[1]


@at(0.3, 0.6, 1.2)
def one_frequency(x):
    s = [math.sin(x[0] * i) + x[1] * math.cos(x[2] * i) for i in range(40)]
    w = 2 * math.pi * 3 / 40
    c = 2 * math.cos(w)
    a = b = 0.0
    for v in s:
        a, b = (v + c * a - b, a)
    return a * a + b * b - c * a * b


class Tracker:
    def __init__(self, dim, **kw):
        self.x = np.zeros((dim, 1))
        self.P = np.eye(dim)
        self.F = np.eye(dim)
        self.Q = np.eye(dim) * 0.01
        self.H = np.zeros((1, dim))
        self.H[0, 0] = 1
        self.R = np.array([[1.0]])
        self._ll = 0.0
        self.hist = []
        for k, v in kw.items():
            setattr(self, k, v)

    def predict(self, dt):
        self.F[0, 1] = dt
        self.x = self.F @ self.x
        self.P = self.F @ self.P @ self.F.T + self.Q

    def update(self, z):
        y = np.atleast_2d(z) - self.H @ self.x
        S = self.H @ self.P @ self.H.T + self.R
        K = self.P @ self.H.T @ np.linalg.inv(S)
        self.x = self.x + K @ y
        self.P = (np.eye(len(self.x)) - K @ self.H) @ self.P
        self._ll += (
            -0.5 * (y.T @ np.linalg.inv(S) @ y + np.log(2 * np.pi * np.linalg.det(S))).item()
            if False
            else float(-0.5 * (y.T @ np.linalg.inv(S) @ y + np.log(2 * np.pi * np.linalg.det(S)))[0, 0])
        )
        self.hist.append(self.x[:, 0].copy())

    @property
    def ll(self):
        return self._ll


@at(0.1, 0.5, 1.2)
def tracker_of_speed(x):
    k = Tracker(2, R=np.array([[x[1]]]))
    k.Q *= x[0]
    k.x[1] = x[2]
    for i in range(10):
        k.predict(0.1)
        k.update(math.sin(i * 0.3))
    return k.ll + np.vstack(k.hist)[:, 1].sum()


@at(0.1, 0.5, 1.2)
def unscented_tracker(x):

    def sig(m, P, k=1.0):
        n = len(m)
        L = np.linalg.cholesky((n + k) * P)
        return (
            np.vstack([m] + [m + L[:, i] for i in range(n)] + [m - L[:, i] for i in range(n)]),
            np.r_[k / (n + k), np.full(2 * n, 0.5 / (n + k))],
        )

    m = np.array([0.5, x[2]])
    P = np.diag([x[0], x[1]])
    for z in (0.6, 0.7, 0.9):
        X, w = sig(m, P)
        X = np.array([[a + 0.1 * b, b - 0.1 * np.sin(a)] for a, b in X])
        m = w @ X
        P = (X - m).T * w @ (X - m) + 0.01 * np.eye(2)
        X, w = sig(m, P)
        Z = X[:, 0] ** 2
        zm = w @ Z
        S = w @ (Z - zm) ** 2 + 0.05
        C = (X - m).T * w @ (Z - zm)
        K = C / S
        m = m + K * (z - zm)
        P = P - np.outer(K, K) * S
    return m.sum() + np.trace(P)


@at(0.3, 0.6, 1.2, 0.4)
def hidden_states(x):
    A = np.exp(np.array([[x[0], x[1]], [x[2], x[3]]]))
    A /= A.sum(1, keepdims=True)
    B = {"a": np.array([0.6, 0.2]), "b": np.array([0.4, 0.8])}
    al = np.array([0.5, 0.5]) * B["a"]
    ll = 0.0
    for o in "abbab":
        al = al @ A * B[o]
        c = al.sum()
        al /= c
        ll += np.log(c)
    V = np.log(np.array([0.5, 0.5]))
    bp = []
    for o in "abba":
        M = V[:, None] + np.log(A)
        bp.append(M.argmax(0))
        V = M.max(0) + np.log(B[o])
    path = [int(V.argmax())]
    for b in reversed(bp):
        path.append(int(b[path[-1]]))
    return ll + V.max() + sum(path)


@at(0.3, 0.6, 1.2, 2.4)
def centres(x):
    X = np.column_stack([np.r_[x, x + 2], np.r_[x**2, x * 3]])
    C = X[[0, 5]].copy()
    for _ in range(4):
        lab = np.argmin(distance.cdist(X, C), axis=1)
        C = np.array([X[lab == k].mean(axis=0) for k in range(2)])
    return sum(((X[lab == k] - C[k]) ** 2).sum() for k in range(2))


@at(0.3, 0.6, 1.2)
def process_by_cholesky(x):
    X = np.linspace(0, 1, 8)[:, None]
    y = np.sin(6 * X[:, 0])
    K = x[0] ** 2 * np.exp(-distance.cdist(X, X, "sqeuclidean") / (2 * x[1] ** 2)) + (x[2] * 0.1) ** 2 * np.eye(8)
    L = linalg.cho_factor(K, lower=True)
    a = linalg.cho_solve(L, y)
    ks = x[0] ** 2 * np.exp(-((X[:, 0] - 0.33) ** 2) / (2 * x[1] ** 2))
    v = linalg.solve_triangular(np.tril(L[0]), ks, lower=True)
    return -0.5 * y @ a - np.log(np.diag(L[0])).sum() + ks @ a + x[0] ** 2 - v @ v


@at(0.3, 0.6, 1.2)
def diffusion_by_sparse_steps(x):
    n = 20
    dx = 1 / (n - 1)
    D = sparse.diags([np.ones(n - 1), -2 * np.ones(n), np.ones(n - 1)], [-1, 0, 1], format="csc") / dx**2
    u = np.sin(np.pi * np.linspace(0, 1, n)) * x[1]
    A = sparse.identity(n, format="csc") - 0.001 * x[0] * D
    lu = spla.splu(A.tocsc())
    for _ in range(5):
        u = lu.solve(u)
        u[0] = x[2]
        u[-1] = 0
    w = spla.spsolve(A + sparse.eye(n) * x[2], u)
    return w @ w + u.sum()


@at(0.3, 0.6, 1.2)
def shock_wave(x):
    n = 24
    u = x[1] * np.sin(2 * np.pi * np.arange(n) / n) + x[2] * 0.1
    dt = 0.01
    for _ in range(10):
        f = 0.5 * u**2
        F = 0.5 * (f + np.roll(f, -1)) - 0.5 * np.maximum(np.abs(u), np.abs(np.roll(u, -1))) * (np.roll(u, -1) - u)
        u = u - dt * n * (F - np.roll(F, 1)) + x[0] * 0.001 * (np.roll(u, 1) - 2 * u + np.roll(u, -1)) * n**2 * dt
    return (u**2).mean() + u[5]


@at(0.3, 0.6)
def lattice_of_particles(x):
    c = np.array([[0, 0], [1, 0], [0, 1], [-1, 0], [0, -1], [1, 1], [-1, 1], [-1, -1], [1, -1]])
    w = np.r_[4 / 9, np.full(4, 1 / 9), np.full(4, 1 / 36)]
    f = np.einsum("i,jk->ijk", w, 1 + 0.1 * x[0] * np.sin(np.add.outer(np.arange(4), np.arange(5))))
    for _ in range(3):
        rho = f.sum(0)
        u = np.tensordot(c.T, f, axes=1) / rho
        cu = 3 * np.tensordot(c, u, axes=1)
        feq = w[:, None, None] * rho * (1 + cu + 0.5 * cu**2 - 1.5 * (u**2).sum(0))
        f += (feq - f) / (x[1] + 0.5)
        for i, (a, b) in enumerate(c):
            f[i] = np.roll(f[i], (a, b), axis=(0, 1))
    return (u[0] ** 2).sum() * 1000.0 + rho[2, 2]


@at(1.3, 0.6, 2.2)
def densities_of_samples(x):
    S = np.array([[x[0], 0.2], [0.2, x[1]]])
    d = stats.multivariate_normal(mean=[x[2], 0], cov=S)
    k = stats.gaussian_kde(np.array([0.1, 0.5, x[0], x[2]]))
    return (
        d.logpdf([0.3, 0.4])
        + stats.multivariate_t.logpdf([0.1, 0.2], loc=[0, x[2]], shape=S, df=4)
        + k(0.5)[0]
        + k.logpdf(1.0)[0]
        + stats.dirichlet.logpdf([0.2, 0.3, 0.5], x)
        + stats.wishart.logpdf(S, 3, np.eye(2))
    )


@at(1.3, 0.6, 2.2)
def fitted_by_likelihood(x):
    data = np.array([0.5, 1.2, 0.7, 2.2]) * x[0] + x[1]
    loc, sc = stats.norm.fit(data)
    e = stats.expon.fit(data, floc=0)
    return loc * sc + e[1]


@at(1.3, 0.6, 2.2)
def drawn_again(x):
    rng = np.random.default_rng(3)
    d = x[0] * rng.normal(size=20) + x[1]
    m = np.array([rng.choice(d, 20).mean() for _ in range(10)])
    return np.percentile(m, 90) + np.quantile(d, [0.1, 0.5]) @ [1, x[2]] + np.median(d)


@at(1.3, 0.6, 2.2)
def accepted_steps(x):
    rng = np.random.RandomState(0)
    th = x[0]
    s = []
    lp = lambda t: -0.5 * ((t - x[1]) / x[2]) ** 2
    for _ in range(20):
        pr = th + 0.5 * rng.randn()
        if np.log(rng.rand()) < lp(pr) - lp(th):
            th = pr
        s.append(th)
    return np.mean(s)


@at(0.3, 0.6, 1.2, 2.0, 0.5)
def all_shortest_paths(x):
    n = 4
    D = np.full((n, n), np.inf)
    np.fill_diagonal(D, 0)
    for (a, b), w in zip([(0, 1), (1, 2), (0, 2), (2, 3), (1, 3)], x, strict=False):
        D[a, b] = D[b, a] = w
    for k in range(n):
        D = np.minimum(D, D[:, [k]] + D[[k], :])
    return D[np.triu_indices(n, 1)].sum()


@at(0.3, 0.6, 1.2, 2.0, 0.5)
def spanning_tree(x):
    E = sorted(zip(x, [(0, 1), (1, 2), (0, 2), (2, 3), (1, 3)], strict=False))
    par = list(range(4))
    tot = 0

    def find(a):
        while par[a] != a:
            a = par[a]
        return a

    for w, (a, b) in E:
        a, b = (find(a), find(b))
        if a != b:
            par[a] = b
            tot += w
    return tot


@at(0.3, 0.6, 1.2, 2.0, 0.5)
def ranks_of_pages(x):
    A = np.zeros((4, 4))
    A[[0, 1, 0, 2, 1], [1, 2, 2, 3, 3]] = x
    A += A.T
    P = A / A.sum(axis=0)
    r = np.ones(4) / 4
    for _ in range(30):
        r = 0.85 * P @ r + 0.15 / 4
    w, _ = np.linalg.eigh(np.diag(A.sum(1)) - A)
    return r @ np.arange(4) + w[1]


@at(0.3, 0.6, 1.2, 2.0, 0.5)
def resistors(x):
    e = [(0, 1), (1, 2), (0, 2), (2, 3), (1, 3)]
    L = sparse.lil_matrix((4, 4))
    for (a, b), w in zip(e, x, strict=False):
        L[a, a] += w
        L[b, b] += w
        L[a, b] -= w
        L[b, a] -= w
    v = spla.spsolve(L.tocsc()[1:, 1:], np.array([1.0, 0, -1]))
    return v @ v


@at(1.2, 0.7)
def nearest_point_with_constraints(x):
    r = optimize.minimize(
        lambda p: np.sum((p - x) ** 2),
        [0.1, 0.1],
        constraints=[{"type": "eq", "fun": lambda p: p.sum() - 1}],
        bounds=[(0, None)] * 2,
        method="SLSQP",
        options={"ftol": 1e-13},
    )
    return r.x @ [1, 3]


@at(1.2, 0.7)
def minimum_between(x):
    r = optimize.minimize(lambda p, a, b: (p[0] - a) ** 4 + (p[0] - b) ** 2, x0=0.3, args=(x[0], x[1]), tol=1e-12)
    return r.x[0]


@at(1.2, 0.7)
def minimised_by_moments(x):
    p = np.zeros(2)
    m = np.zeros_like(p)
    v = np.zeros_like(p)
    for k in range(1, 25):
        g = 2 * (p - x) + np.array([p[1], p[0]]) * 0.1
        m = 0.9 * m + 0.1 * g
        v = 0.99 * v + 0.01 * g**2
        p -= 0.1 * (m / (1 - 0.9**k)) / (np.sqrt(v / (1 - 0.99**k)) + 1e-08)
    return p.sum()
