"""Optics, robots, markets, astronomy and images, in classes, matrices and loops."""

import dataclasses
import functools
import math

import numpy as np
from scipy import integrate, interpolate, ndimage, optimize, stats

from tests.strangers.programs import at


class Ray:
    __slots__ = ("n", "u", "y")

    def __init__(self, y, u, n=1.0):
        self.y, self.u, self.n = (y, u, n)

    def refract(self, c, n2):
        self.u = (self.n * self.u - self.y * c * (n2 - self.n)) / n2
        self.n = n2
        return self

    def go(self, d):
        self.y = self.y + d * self.u
        return self

    def __iter__(self):
        yield self.y
        yield self.u


@at(0.02, -0.015, 0.6, 1.5)
def rays_through_lenses(x):
    tot = 0
    for y0 in np.linspace(-1, 1, 5):
        r = Ray(y0, 0.0)
        r.refract(x[0], x[3]).go(x[2]).refract(x[1], 1.0).go(50)
        y, u = r
        tot += y**2 + 10 * u**2
    return tot


@at(0.5, 1.2)
def polarised_light(x):

    def rot(t):
        return np.array([[math.cos(t), math.sin(t)], [-math.sin(t), math.cos(t)]])

    def wp(d, t):
        return rot(-t) @ np.diag([np.exp(1j * d / 2), np.exp(-1j * d / 2)]) @ rot(t)

    E = functools.reduce(np.matmul, [wp(x[0], 0.3), wp(np.pi / 2, x[1]), wp(x[0] * x[1], -0.2)]) @ np.array([1, 0])
    light = np.abs(E) ** 2
    s = np.array([light.sum(), light[0] - light[1], 2 * np.real(E[0] * E[1].conj()), 2 * np.imag(E[0] * np.conj(E[1]))])
    return s @ np.array([1, 2, 3, 4.0])


@at(550.0, 1.38, 100.0)
def mirror_of_layers(x):
    lam, n1, d = x
    M = np.eye(2, dtype=complex)
    for n, t in [(n1, d), (2.3, 60.0)]:
        k = 2 * np.pi * n * t / lam
        M = M @ np.array([[np.cos(k), 1j * np.sin(k) / n], [1j * n * np.sin(k), np.cos(k)]])
    (A, B), (C, D) = M
    r = (A + B * 1.5 - C - D * 1.5) / (A + B * 1.5 + C + D * 1.5)
    return abs(r) ** 2


@dataclasses.dataclass
class DH:
    a: float
    alpha: float
    d: float
    theta: float = 0.0

    @property
    def matrix(self):
        ct, st = (np.cos(self.theta), np.sin(self.theta))
        ca, sa = (np.cos(self.alpha), np.sin(self.alpha))
        return np.array(
            [
                [ct, -st * ca, st * sa, self.a * ct],
                [st, ct * ca, -ct * sa, self.a * st],
                [0, sa, ca, self.d],
                [0, 0, 0, 1],
            ]
        )


@at(0.3, -0.5, 0.8)
def arm_of_matrices(x):
    links = [DH(0, np.pi / 2, 0.6), DH(0.4, 0, 0), DH(0.35, -np.pi / 2, 0.1)]
    T = np.eye(4)
    for link, q in zip(links, x, strict=False):
        T = T.dot(dataclasses.replace(link, theta=q).matrix)
    p = T[:3, 3]
    R = T[:3, :3]
    return np.linalg.norm(p - np.array([0.2, 0.3, 0.9])) + np.trace(R)


@at(0.3, 0.1, -0.2, 0.9)
def turning_halfway(x):
    q0 = x / np.linalg.norm(x)
    q1 = np.array([0.1, 0.5, 0.3, 0.7])
    q1 /= np.linalg.norm(q1)
    d = np.clip(q0 @ q1, -1, 1)
    if d < 0:
        q1, d = (-q1, -d)
    th = np.arccos(d)
    q = (np.sin(0.3 * th) * q1 + np.sin(0.7 * th) * q0) / np.sin(th)
    w, a, b, c = q
    R = np.array(
        [
            [1 - 2 * (b * b + c * c), 2 * (a * b - c * w), 2 * (a * c + b * w)],
            [2 * (a * b + c * w), 1 - 2 * (a * a + c * c), 2 * (b * c - a * w)],
            [2 * (a * c - b * w), 2 * (b * c + a * w), 1 - 2 * (a * a + b * b)],
        ]
    )
    return np.sum(R * np.arange(9).reshape(3, 3))


@at(0.02, 0.3, 0.01)
def yield_curve(x):
    ten = [0.5, 1, 2, 3, 5]
    par = np.array([0.02, 0.022, 0.025, 0.027, 0.03]) + x[2]
    df = {}
    for t, c in zip(ten, par, strict=False):
        known = sum(df[s] * c for s in df if s < t)
        df[t] = (1 - known) / (1 + c)
    zero = [-math.log(d) / t for t, d in df.items()]
    f = interpolate.interp1d(ten, zero, kind="linear")
    cs = interpolate.CubicSpline(ten, zero, bc_type="natural")
    return float(f(1.5)) + cs(2.5, 1) + x[0] * x[1] * min(zero)


@at(0.05, 0.2, -0.3)
def characteristic_function(x):
    u = np.linspace(0.1, 20, 60)
    k, th, rho = (2.0, x[0], x[2])
    s = x[1]
    d = np.sqrt((rho * s * 1j * u - k) ** 2 + s**2 * (1j * u + u**2))
    g = (k - rho * s * 1j * u - d) / (k - rho * s * 1j * u + d)
    C = k * th / s**2 * (k - rho * s * 1j * u - d - 2 * np.log((1 - g * np.exp(-d)) / (1 - g)))
    return integrate.trapezoid(np.real(np.exp(C - 1j * u * 0.1) / (1j * u)), u)


@at(0.1, 0.15, 0.12)
def efficient_portfolio(x):
    mu = x
    S = np.array([[0.04, 0.01, 0.0], [0.01, 0.09, 0.02], [0.0, 0.02, 0.16]])
    K = np.block([[S, mu[:, None], np.ones((3, 1))], [mu[None], np.zeros((1, 2))], [np.ones((1, 3)), np.zeros((1, 2))]])
    w = np.linalg.solve(K, np.r_[np.zeros(3), 0.13, 1])[:3]
    return np.sqrt(w @ S @ w)


@at(100.0, 105.0, 0.2, 1.0)
def implied_vol(x):
    N = stats.norm.cdf

    def bs(s):
        d1 = (np.log(x[0] / x[1]) + 0.5 * s**2 * x[3]) / (s * np.sqrt(x[3]))
        return x[0] * N(d1) - x[1] * N(d1 - s * np.sqrt(x[3]))

    price = bs(x[2]) + 0.3
    return optimize.brentq(lambda s: bs(s) - price, 0.01, 2.0)


@at(2.5, 0.3)
def growth_of_ages(x):
    L = np.zeros((4, 4))
    L[0] = [0, x[0], 1.2, 0.4]
    L[np.arange(1, 4), np.arange(3)] = [x[1], 0.5, 0.3]
    ev = np.linalg.eigvals(L)
    return np.max(np.abs(ev))


@at(0.3, 1.2, 0.8)
def place_on_an_orbit(x):
    e, M, a = x
    E = optimize.newton(lambda E: E - e * np.sin(E) - M, M, fprime=lambda E: 1 - e * np.cos(E), tol=1e-13)
    nu = 2 * np.arctan2(np.sqrt(1 + e) * np.sin(E / 2), np.sqrt(1 - e) * np.cos(E / 2))
    return a * (1 - e * np.cos(E)) * np.cos(nu)


@at(1.0, 0.1, 0.2)
def transit(x):
    t = np.linspace(-1, 1, 41)
    z = np.sqrt((t * 2) ** 2 + x[1] ** 2)
    p = x[2]
    f = np.select(
        [z >= 1 + p, z <= 1 - p],
        [np.ones_like(z), 1 - p**2 * np.ones_like(z)],
        1
        - (
            p**2 * np.arccos((p**2 + z**2 - 1) / (2 * p * z))
            + np.arccos((1 - p**2 + z**2) / (2 * z))
            - 0.5 * np.sqrt(np.maximum(4 * z**2 - (1 + z**2 - p**2) ** 2, 0))
        )
        / np.pi,
    )
    return x[0] * np.mean(f)


@at(10.0, 0.5, 2.0)
def mass_of_a_halo(x):
    r = np.geomspace(0.01, 5, 20)
    c, rs = (x[0], x[1])
    rho = np.piecewise(
        r, [r < rs, r >= rs], [lambda r: x[2] / (r / rs * (1 + r / rs) ** 2), lambda r: x[2] / (r / rs) ** 3 / c]
    )
    m = integrate.cumulative_trapezoid(4 * np.pi * r**2 * rho, r, initial=0)
    return np.interp(1.3, r, m)


@at(0.3, 1.2)
def turned_image(x):
    im = np.outer(np.sin(np.arange(10) / 2), np.cos(np.arange(10) / 3))
    c, s = (np.cos(x[0]), np.sin(x[0]))
    out = ndimage.affine_transform(im * x[1], np.array([[c, -s], [s, c]]), offset=[1, 2], order=3, mode="nearest")
    m = ndimage.map_coordinates(im, [[1.3 + x[0], 4.2], [2.0, 3.3 * x[1]]], order=1)
    return out.sum() + m @ np.array([1, 2.0])


@at(0.3, 1.2)
def labelled_regions(x):
    im = np.array([[1, 1, 0, 0], [0, 1, 0, 2], [0, 0, 3, 3]], float) * x[0] + x[1] * (
        np.array([[1, 1, 0, 0], [0, 1, 0, 2], [0, 0, 3, 3]]) > 0
    )
    lab, n = ndimage.label(np.array([[1, 1, 0, 0], [0, 1, 0, 1], [0, 0, 0, 1]]))
    s = ndimage.sum(im, lab, index=np.arange(1, n + 1))
    m = ndimage.mean(im, lab, [1, 2])
    return np.dot(s, [1, 2.0]) + m[0] * m[1] + ndimage.maximum(im, lab, 2)


@at(0.8, 0.2, 1.1, 0.5)
def windows_by_strides(x):
    a = np.concatenate([x, x**2, np.ones(4)])
    w = np.lib.stride_tricks.as_strided(a, shape=(5, 4), strides=(2 * a.strides[0], a.strides[0]))
    return (w * np.arange(20).reshape(5, 4)).sum()


@at(0.8, 0.2, 1.1, 0.5)
def elements_by_position(x):
    a = np.outer(x, [1, 2, 3.0])
    b = np.zeros_like(a)
    for v, i in zip(a.flat, np.ndindex(a.shape), strict=False):
        b[i] = v**2 if sum(i) % 2 else math.sin(v)
    for idx, v in np.ndenumerate(a):
        b[idx] += v * idx[0]
    it = np.nditer(np.arange(4), flags=["multi_index"])
    t = 0
    for k in it:
        t += x[int(k)] * (it.multi_index[0] + 1)
    return b.sum() + t


@at(0.8, 0.2, 1.1, 0.5)
def elements_one_by_one(x):
    t = 0.0
    for v in np.nditer(x):
        t = t + v**3
    return t


@at(0.8, 0.2, 1.1, 0.5)
def elements_written_one_by_one(x):
    y = np.zeros(4)
    with np.nditer([x, y], op_flags=[["readonly"], ["writeonly"]]) as it:
        for a, b in it:
            b[...] = a * a
    return y.sum()


@at(0.8, 0.2, 1.1, 0.5)
def places_hit_twice(x):
    h = np.zeros(3)
    np.add.at(h, [0, 1, 0, 2], x)
    np.multiply.at(h, [0, 0], x[1])
    np.maximum.at(h, [2], x[0])
    np.subtract.at(h, np.array([1]), x[2] ** 2)
    return h @ np.array([1, 2, 3])


@at(0.8, 0.2, 1.1, 0.5)
def assertions_on_the_way(x):
    np.testing.assert_allclose(x, x.copy())
    np.testing.assert_array_less(x, 10)
    assert np.allclose(x, x)
    assert np.array_equal(x, x)
    np.testing.assert_equal(x.shape, (4,))
    np.testing.assert_almost_equal(float(x[0]), x[0])
    return (x**2).sum()
