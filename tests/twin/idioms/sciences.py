"""Programs of several sciences: classes, dictionaries, tables, lists and masks as their authors write them."""

import math
from collections import deque
from dataclasses import dataclass, field
from enum import Enum
from functools import reduce
from itertools import pairwise

import numpy as np
from scipy import linalg


class _Biquad:
    __slots__ = ("a", "b", "z1", "z2")

    def __init__(self, b, a):
        self.b, self.a = tuple(b), tuple(a)
        self.z1 = self.z2 = 0.0

    @classmethod
    def lowpass(cls, f0, q):
        w = 2 * math.pi * f0
        alpha, c = math.sin(w) / (2 * q), math.cos(w)
        a0 = 1 + alpha
        return cls(((1 - c) / 2 / a0, (1 - c) / a0, (1 - c) / 2 / a0), (1.0, -2 * c / a0, (1 - alpha) / a0))

    def __call__(self, v):
        y = self.b[0] * v + self.z1
        self.z1 = self.b[1] * v - self.a[1] * y + self.z2
        self.z2 = self.b[2] * v - self.a[2] * y
        return y


def biquad_filter(x=(0.11, 0.8)):
    filt = _Biquad.lowpass(x[0], x[1])
    n = np.arange(8)
    return np.array([filt(v) for v in np.sign(np.sin(n * 0.9)) + 0.1 * n])


def goertzel_power(x=(0.3, 1.2, -0.4, 0.7, 0.2)):
    out = {}
    for k in range(3):
        coeff = 2.0 * math.cos(2 * math.pi * k / len(x))
        last = before = 0.0
        for sample in x:
            last, before = sample + coeff * last - before, last
        out[f"bin{k}"] = before**2 + last**2 - coeff * last * before
    return np.array([out[key] for key in sorted(out)])


def _kepler(mean, e):
    angle = mean if e < 0.8 else math.pi
    for _ in range(60):
        step = (angle - e * math.sin(angle) - mean) / (1 - e * math.cos(angle))
        angle -= step
        if abs(step) < 1e-13:
            return angle
    raise RuntimeError("no convergence")


@dataclass
class _Orbit:
    a: float
    e: float
    tilt: float = 0.1
    history: list = field(default_factory=list, repr=False)

    @property
    def n(self):
        return math.sqrt(1.0 / self.a**3)

    def position(self, t):
        angle = _kepler(self.n * t, self.e)
        p = np.array([self.a * (math.cos(angle) - self.e), self.a * math.sqrt(1 - self.e**2) * math.sin(angle), 0.0])
        c, s = math.cos(self.tilt), math.sin(self.tilt)
        self.history.append((t, np.array([[1, 0, 0], [0, c, -s], [0, s, c]]) @ p))
        return self.history[-1][1]


def orbit_positions(x=(1.3, 0.2, 0.4)):
    orbit = _Orbit(*x)
    for t in (0.5, 1.5):
        orbit.position(t)
    return np.concatenate([p for _, p in orbit.history])


def epidemic_in_columns(x=(0.4, 0.1, 0.2)):
    rates = dict(zip(("beta", "gamma", "start"), x, strict=True))
    state = {"S": 1 - rates["start"], "I": rates["start"], "R": 0.0}
    log = {key: [] for key in state}
    for _ in range(5):
        new, well = rates["beta"] * state["S"] * state["I"], rates["gamma"] * state["I"]
        state = {**state, "S": state["S"] - new, "I": state["I"] + new - well, "R": state["R"] + well}
        for key, value in state.items():
            log[key].append(value)
    return np.column_stack([log[key] for key in "SIR"])[1::2]


def camera(x=(2.0, 1.0, 3.0)):
    eye = np.array(x)
    f = -eye / np.linalg.norm(eye)
    s = np.cross(f, [0, 1, 0])
    s /= np.linalg.norm(s)
    m = np.identity(4)
    m[:3, :3] = [s, np.cross(s, f), -f]
    m[:3, 3] = -m[:3, :3] @ eye
    clip = m @ np.array([[0.5, 0.2, 0.1, 1], [-0.3, 0.4, 0.2, 1]]).T
    return clip[:2] / clip[2]


def curve_by_de_casteljau(x=(0.0, 1.0, 2.0, 0.5)):
    points = np.stack([np.asarray(x), np.asarray(x)[::-1] ** 2], axis=1)

    def point(p, t):
        return p[0] if len(p) == 1 else point([(1 - t) * a + t * b for a, b in pairwise(p)], t)

    return np.array([point(list(points), t) for t in (0.25, 0.6)])


def turn_by_quaternions(x=(0.4, 0.3, -0.2)):
    angle = np.linalg.norm(x)
    to = np.concatenate(([np.cos(angle / 2)], np.sin(angle / 2) * np.array(x) / angle))
    start = np.array([1.0, 0, 0, 0])
    th = np.arccos(np.clip(np.dot(start, to), -1, 1))
    return np.vstack([(np.sin((1 - t) * th) * start + np.sin(t * th) * to) / np.sin(th) for t in (0.25, 0.5)])


class _Joint(Enum):
    TURNS = "R"
    SLIDES = "P"


def _link(theta, d, a, alpha):
    ct, st, ca, sa = math.cos(theta), math.sin(theta), math.cos(alpha), math.sin(alpha)
    return np.array([[ct, -st * ca, st * sa, a * ct], [st, ct * ca, -ct * sa, a * st], [0, sa, ca, d], [0, 0, 0, 1]])


class _Arm:
    links = ((_Joint.TURNS, 0.0, 0.3, 0.0, math.pi / 2), (_Joint.TURNS, 0.0, 0.0, 0.5, 0.0),
             (_Joint.SLIDES, 0.1, 0.2, 0.3, 0.1))  # fmt: skip

    def forward(self, q):
        frames = [np.eye(4)]
        for (kind, theta, d, *rest), qi in zip(self.links, q, strict=True):
            turns = kind is _Joint.TURNS
            frames.append(frames[-1] @ _link(theta + qi if turns else theta, d if turns else d + qi, *rest))
        return frames

    def jacobian(self, q):
        frames = self.forward(q)
        p = frames[-1][:3, 3]
        j = np.zeros((6, len(q)))
        for i, ((kind, *_), frame) in enumerate(zip(self.links, frames[:-1], strict=True)):
            z = frame[:3, 2]
            if kind == _Joint.TURNS:
                j[:3, i], j[3:, i] = np.cross(z, p - frame[:3, 3]), z
            else:
                j[:3, i] = z
        return j


def robot_arm(x=(0.3, -0.5, 0.8)):
    j = _Arm().jacobian(x)
    return np.append(_Arm().forward(x)[-1][:3, 3], np.sqrt(np.linalg.det(j[:3] @ j[:3].T)))


class _Controller:
    def __init__(self, kp, ki, kd, limit=(-5.0, 5.0)):
        self.kp, self.ki, self.kd, self.limit = kp, ki, kd, limit
        self._sum, self._last = 0.0, None

    def __call__(self, e, dt):
        self._sum = min(max(self._sum + e * dt, self.limit[0]), self.limit[1])
        slope = 0.0 if self._last is None else (e - self._last) / dt
        self._last = e
        return self.kp * e + self.ki * self._sum + self.kd * slope


def controlled_mass(x=(2.0, 0.5, 0.1)):
    control = _Controller(*x)
    place, speed, log = 0.0, 0.0, deque(maxlen=3)
    for _ in range(8):
        speed += (control(1.0 - place, 0.1) - 0.5 * speed) * 0.1
        place += speed * 0.1
        log.append((place, speed))
    return np.array(log).T


def rod_of_two_materials(x=(1.0, 0.5)):
    n = 5
    main, off = np.full(n, 2.0), -np.ones(n - 1)
    k = np.where(np.arange(n) < 3, x[0], x[1])
    return linalg.solve_banded((1, 1), np.array([np.r_[0, off], main + 0.1 * k, np.r_[off, 0]]), k * 2.0)


def quantiles_with_weights(x=(0.3, 1.2, -0.4, 0.8)):
    order = np.argsort(x)
    w = np.array([1.0, 2.0, 0.5, 1.5])[order]
    return np.interp([0.25, 0.5, 0.8], (np.cumsum(w) - 0.5 * w) / w.sum(), np.asarray(x)[order])


def best_threshold(x=(0.1, 0.2, 0.8, 0.9, 0.85)):
    v = np.asarray(x)
    best = -1
    for t in np.linspace(0.15, 0.87, 6):
        low, high = v[v <= t], v[v > t]
        if low.size and high.size:
            best = max(best, low.size * high.size * (low.mean() - high.mean()) ** 2)
    return np.array([best])


def means_of_clusters(x=(0.1, 0.2, 0.9, 1.1, 0.17)):
    points, centers = np.array(x)[:, None], np.array([[0.0], [1.0]])
    for _ in range(3):
        d = np.linalg.norm(points[:, None] - centers[None], axis=-1)
        labels = d.argmin(axis=1)
        centers = np.array([points[labels == k].mean(axis=0) for k in range(2)])
    return np.append(centers.ravel(), d.min(axis=1).sum())


def fourier_by_halves(x=(0.3, 1.2, -0.4, 0.8)):
    def halves(v):
        n = len(v)
        if n == 1:
            return [complex(v[0])]
        even, odd = halves(v[0::2]), halves(v[1::2])
        turned = [
            complex(math.cos(2 * math.pi * k / n), -math.sin(2 * math.pi * k / n)) * odd[k] for k in range(n // 2)
        ]
        both = list(zip(even, turned, strict=True))
        return [e + t for e, t in both] + [e - t for e, t in both]

    f = np.array(halves(x))
    return np.concatenate([f.real, f.imag, abs(f)])


def values_of_states(x=(1.0, 0.5, 0.9)):
    reward = {"a": x[0], "b": x[1], "c": 0.1}
    moves = {"a": {"stay": "a", "go": "b"}, "b": {"stay": "b", "go": "c"}, "c": {"stay": "c", "go": "a"}}
    value = dict.fromkeys(reward, 0.0)
    for _ in range(6):
        value = {s: reward[s] + x[2] * max(value[t] for t in moves[s].values()) for s in moves}
    return np.fromiter(value.values(), dtype=float)


def best_moves(x=(0.3, 1.2, -0.4, 0.8)):
    tree = ((x[0], x[1] ** 2), (x[2], (x[3], x[0] * x[3])))

    def value(node, largest):
        if not isinstance(node, tuple):
            return node
        return (max if largest else min)(value(n, not largest) for n in node)

    return np.array([value(tree, True), value(tree, False)])


def ratings_of_players(x=(15.0, 16.0, 15.5)):
    ratings = dict(zip("ABC", x, strict=True))
    for one, other, score in (("A", "B", 1.0), ("B", "C", 0.5), ("C", "A", 0.0)):
        delta = 0.3 * (score - 1 / (1 + 10 ** ((ratings[other] - ratings[one]) / 4)))
        ratings[one] += delta
        ratings[other] -= delta
    return np.array([v for _, v in sorted(ratings.items(), key=lambda item: -item[1])])


class _Running:
    def __init__(self):
        self.n, self.mean, self.squares = 0, 0.0, 0.0

    def push(self, v):
        self.n += 1
        delta = v - self.mean
        self.mean += delta / self.n
        self.squares += delta * (v - self.mean)
        return self

    variance = property(lambda self: self.squares / (self.n - 1) if self.n > 1 else float("nan"))


def running_variance(x=(0.3, 1.2, -0.4, 0.8)):
    found = reduce(lambda sums, v: sums.push(v), x, _Running())
    return np.array([found.mean, found.variance])


def rows_of_a_table(x=(0.3, 1.2, 0.7)):
    table = np.eye(3) + np.arange(9.0).reshape(3, 3)
    nearest = int(np.argmax(x))
    return table[nearest] * x + table[0, np.argsort(x)] + (1.0, 2.0, 4.0)[nearest]
