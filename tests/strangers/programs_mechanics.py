"""Rotations, robots, orbits, beams, rays: matrices from lists, `math`, loops that fill zeros, small classes."""

import math
from dataclasses import dataclass, field

import numpy as np

from tests.strangers.programs import at


def rotation(axis, angle):
    c, s = math.cos(angle), math.sin(angle)
    if axis == "x":
        return np.array([[1, 0, 0], [0, c, -s], [0, s, c]])
    if axis == "y":
        return np.array([[c, 0, s], [0, 1, 0], [-s, 0, c]])
    return np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]])


@at(0.3, -0.5, 1.1)
def euler_angles_and_back(x):
    r = rotation("z", x[0]) @ rotation("y", x[1]) @ rotation("x", x[2])
    pitch = -math.asin(r[2, 0])
    yaw = math.atan2(r[1, 0], r[0, 0])
    point = np.dot(r, np.array([1.0, 2.0, 3.0]))
    return pitch * yaw + float(point[0]) + np.trace(r)


class Quaternion:
    def __init__(self, w, x, y, z):
        self.q = np.array([w, x, y, z], dtype=float)

    @classmethod
    def about(cls, axis, angle):
        axis = np.asarray(axis) / np.linalg.norm(axis)
        return cls(math.cos(angle / 2), *(math.sin(angle / 2) * axis))

    @property
    def conjugate(self):
        return Quaternion(self.q[0], *(-self.q[1:]))

    def __mul__(self, other):
        if not isinstance(other, Quaternion):
            return Quaternion(*(self.q * float(other)))
        a, b = self.q, other.q
        w = a[0] * b[0] - a[1:].dot(b[1:])
        v = a[0] * b[1:] + b[0] * a[1:] + np.cross(a[1:], b[1:])
        return Quaternion(w, *v)

    def rotate(self, v):
        return (self * Quaternion(0, *v) * self.conjugate).q[1:]


@at(0.4, 1.2, 0.7)
def quaternion_class(x):
    turn = Quaternion.about([1.0, x[0], 0.5], x[1]) * Quaternion.about((0, 0, 1), x[2])
    v = turn.rotate([1.0, 0.0, -1.0])
    return v[0] * v[1] + v[2] + (turn * 2).q[0]


@dataclass
class Joint:
    angle: float
    length: float
    offset: np.ndarray = field(default_factory=lambda: np.zeros(3))

    @property
    def frame(self):
        t = np.eye(4)
        t[:3, :3] = rotation("z", self.angle)
        t[:3, 3] = self.offset
        t[0, 3] += self.length * math.cos(self.angle)
        t[1, 3] += self.length * math.sin(self.angle)
        return t


@at(0.3, -0.7, 0.2, 1.1)
def arm_of_dataclasses(x):
    joints = [Joint(x[0], 1.0), Joint(x[1], x[3], np.array([0.0, 0.0, 0.1])), Joint(angle=x[2], length=0.5)]
    frame = np.eye(4)
    for joint in joints:
        frame = frame @ joint.frame
    return np.hypot(frame[0, 3], frame[1, 3]) + frame[2, 3] * frame[0, 0] + frame[1, 3]


@at(0.2, 0.5)
def two_link_jacobian(x):
    lengths = [1.0, 0.8]

    def tip(q):
        p = np.zeros(2)
        for i in range(len(lengths)):
            p += lengths[i] * np.array([np.cos(sum(q[: i + 1])), np.sin(sum(q[: i + 1]))])
        return p

    jacobian = np.empty((2, 2))
    for k in range(2):
        dq = np.zeros(2)
        dq[k] = 1e-3
        jacobian[:, k] = (tip(x + dq) - tip(x - dq)) / 2e-3
    return abs(np.linalg.det(jacobian)) + float(tip(x)[0])


@at(1.0, 0.9, 0.1)
def kepler_orbit(x):
    a, e, mean = x[0], x[1] * 0.5, x[2]
    ecc = mean if e < 0.8 else math.pi
    for _ in range(30):
        step = (ecc - e * math.sin(ecc) - mean) / (1 - e * math.cos(ecc))
        ecc = ecc - step
        if abs(step) < 1e-14:
            break
    nu = 2 * math.atan2(math.sqrt(1 + e) * math.sin(ecc / 2), math.sqrt(1 - e) * math.cos(ecc / 2))
    r = a * (1 - e * math.cos(ecc))
    return r * math.cos(nu) + math.degrees(nu) * 0.01


class Body:
    def __init__(self, mass, position, velocity):
        self.mass = mass
        self.position = np.asarray(position, dtype=float)
        self.velocity = np.asarray(velocity, dtype=float)

    def pullback(self, other):
        d = other.position - self.position
        return other.mass * d / np.linalg.norm(d) ** 3

    @property
    def energy(self):
        return 0.5 * self.mass * np.sum(self.velocity**2)


@at(1.0, 0.9, 0.1)
def three_bodies(x):
    bodies = [Body(x[0], [0, 0], [0, 0]), Body(0.1, [1.0, 0.0], [0.0, x[1]]), Body(x[2], [-1.2, 0], [0, -0.8])]
    for _ in range(8):
        pullbacks = [sum((a.pullback(b) for b in bodies if b is not a), np.zeros(2)) for a in bodies]
        for body, pullback in zip(bodies, pullbacks, strict=True):
            body.velocity = body.velocity + 0.05 * pullback
            body.position = body.position + 0.05 * body.velocity
    return sum(b.energy for b in bodies) + bodies[1].position[0]


@at(2.0, 0.3, 1.5)
def beam_deflection(x):
    n, length = 9, x[2]
    h = length / (n + 1)
    k = np.zeros((n, n))
    for i in range(n):
        k[i, i] = 2.0
        if i > 0:
            k[i, i - 1] = -1.0
        if i < n - 1:
            k[i, i + 1] = -1.0
    load = np.zeros(n)
    for i in range(n):
        load[i] = x[0] * math.sin((i + 1) * h) + x[1]
    w = np.linalg.solve(k / h**2, load)
    return max(w) + w.mean()


@at(1.2, 40.0, 70.0)
def truss_stiffness(x):
    nodes = [(0.0, 0.0), (1.0, 0.0), (0.5, x[0])]
    members = [(0, 2, x[1]), (1, 2, x[2]), (0, 1, 50.0)]
    k = np.zeros((6, 6))
    for i, j, area in members:
        dx, dy = nodes[j][0] - nodes[i][0], nodes[j][1] - nodes[i][1]
        length = math.hypot(dx, dy)
        b = np.array([-dx, -dy, dx, dy]) / length
        index = [2 * i, 2 * i + 1, 2 * j, 2 * j + 1]
        k[np.ix_(index, index)] += area / length * np.outer(b, b)
    free = [3, 4, 5]
    load = np.array([0.0, 1.0, -2.0])
    u = np.zeros(6)
    u[free] = np.linalg.solve(k[np.ix_([2, *free[1:]], [2, *free[1:]])], load)
    return 10 * np.abs(u).sum()


class Lens:
    def __init__(self, radius, index, thickness):
        self.radius, self.index, self.thickness = radius, index, thickness

    def matrix(self):
        power = (self.index - 1.0) / self.radius
        return np.array([[1.0, self.thickness], [-power, 1.0 - power * self.thickness]])


@at(50.0, 1.5, 3.0, 0.02)
def lens_train(x):
    ray = np.array([1.0, float(x[3])])
    for lens in (Lens(x[0], x[1], x[2]), Lens(-80.0, 1.6, 2.0)):
        ray = lens.matrix().dot(ray)
    focus = -ray[0] / ray[1]
    return 0.01 * focus if np.isfinite(focus) else 0.0


@at(0.7, 5.0, 30.0)
def projectile_with_drag(x):
    state = [0.0, 0.0, x[2] * math.cos(x[0]), x[2] * math.sin(x[0])]
    path = []
    t, dt = 0.0, 0.05
    while state[1] >= 0.0 and t < 1.0:
        speed = math.sqrt(state[2] ** 2 + state[3] ** 2)
        drag = 0.01 * x[1] * speed
        state[0] += dt * state[2]
        state[1] += dt * state[3]
        state[2] -= dt * drag * state[2]
        state[3] -= dt * (9.81 + drag * state[3])
        path.append(tuple(state))
        t += dt
    path = np.array(path)
    return path[:, 1].max() + path[-1, 0]
