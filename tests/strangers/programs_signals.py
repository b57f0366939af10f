"""Filters, controllers, networks by hand, images: arrays that are filled, updated in place, collected in lists."""

import math
from functools import partial
from itertools import pairwise

import numpy as np

from tests.strangers.programs import at

SIGNAL = np.array([0.1, 0.4, -0.2, 0.9, 0.3, -0.5, 0.2, 0.7])


@at(0.2, 0.5)
def butterworth(x):
    c = 1.0 / math.tan(math.pi * x[0])
    a0 = 1.0 / (1.0 + math.sqrt(2.0) * x[1] * c + c * c)
    b = [a0, 2 * a0, a0]
    a = [2 * a0 * (1 - c * c), a0 * (1 - math.sqrt(2.0) * x[1] * c + c * c)]
    y = np.zeros_like(SIGNAL)
    for n in range(len(SIGNAL)):
        y[n] = sum(b[k] * SIGNAL[n - k] for k in range(3) if n >= k)
        y[n] -= sum(a[k - 1] * y[n - k] for k in range(1, 3) if n >= k)
    return np.sum(y**2) + y[-1]


class Kalman:
    def __init__(self, q, r):
        self.F = np.array([[1.0, 1.0], [0.0, 1.0]])
        self.H = np.array([[1.0, 0.0]])
        self.Q = np.eye(2) * q
        self.R = np.array([[r]])
        self.x = np.zeros((2, 1))
        self.P = np.eye(2)

    def predict(self):
        self.x = self.F.dot(self.x)
        self.P = self.F.dot(self.P).dot(self.F.T) + self.Q

    def update(self, z):
        s = self.H.dot(self.P).dot(self.H.T) + self.R
        k = self.P.dot(self.H.T).dot(np.linalg.inv(s))
        self.x = self.x + k.dot(np.array([[z]]) - self.H.dot(self.x))
        self.P = (np.eye(2) - k.dot(self.H)).dot(self.P)


@at(0.1, 0.5)
def kalman_class(x):
    f = Kalman(x[0], x[1])
    track = np.zeros(len(SIGNAL))
    for i, z in enumerate(SIGNAL):
        f.predict()
        f.update(z)
        track[i] = f.x[0, 0]
    return np.mean((track - SIGNAL) ** 2) + f.P[0, 1]


class Pid:
    def __init__(self, kp, ki, kd, limit=None):
        self.kp, self.ki, self.kd, self.limit = kp, ki, kd, limit
        self.total, self.last = 0.0, None

    def __call__(self, error, dt):
        self.total += error * dt
        slope = 0.0 if self.last is None else (error - self.last) / dt
        self.last = error
        out = self.kp * error + self.ki * self.total + self.kd * slope
        if self.limit is not None:
            out = max(-self.limit, min(self.limit, out))
        return out


@at(1.5, 0.4, 0.05)
def pid_loop(x):
    pid, y, cost = Pid(x[0], x[1], kd=x[2], limit=5.0), 0.0, []
    for _ in range(12):
        y += 0.1 * (pid(1.0 - y, 0.1) - 0.2 * y)
        cost.append((1.0 - y) ** 2)
    return float(np.mean(cost)) + y


@at(0.1, 0.3, -0.2, 0.5, 0.7, -0.4, 0.2, 0.9, 0.05)
def network_by_hand(x):
    w1, b1, w2, b2 = x[:4].reshape(2, 2), x[4:6], x[6:8].reshape(2, 1), x[8]

    def sigmoid(z):
        return 1.0 / (1.0 + np.exp(-z))

    loss = 0.0
    for inputs, target in [((0, 0), 0), ((0, 1), 1), ((1, 0), 1), ((1, 1), 0)]:
        hidden = sigmoid(np.dot(np.array(inputs), w1) + b1)
        out = sigmoid(np.dot(hidden, w2) + b2)[0]
        loss += -(target * np.log(out) + (1 - target) * np.log(1 - out))
    return loss / 4


@at(0.5, -0.3, 0.2, 0.8)
def trained_by_hand(x):
    w = np.array([[x[0], x[1]], [x[2], x[3]]])
    data = np.array([[1.0, 0.5], [0.2, -0.4], [0.7, 0.1]])
    targets = np.array([[0.3], [0.1], [0.4]])
    v = np.ones((2, 1))
    for _ in range(4):
        hidden = np.tanh(data @ w)
        error = hidden @ v - targets
        grad_v = hidden.T @ error
        grad_w = data.T @ ((error @ v.T) * (1 - hidden**2))
        v -= 0.1 * grad_v
        w -= 0.1 * grad_w
    return np.sum((np.tanh(data @ w) @ v - targets) ** 2)


@at(0.3, 0.6, -0.1)
def recurrent_cell(x):
    h = np.zeros(2)
    states = []
    for value in SIGNAL:
        gate = 1 / (1 + math.exp(-x[0] * value))
        h = gate * np.tanh(np.array([x[1] * h[0] + value, x[2] * h[1] - value])) + (1 - gate) * h
        states.append(h)
    states = np.array(states)
    return states.std() + states[-1].sum()


@at(0.5, 0.25, 2.0)
def convolved_image(x):
    image = np.outer(np.arange(5.0), np.arange(6.0)) % 4
    kernel = np.array([[x[1], x[0], x[1]], [x[0], x[2], x[0]], [x[1], x[0], x[1]]])
    kernel /= kernel.sum()
    out = np.zeros((3, 4))
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            out[i, j] = np.sum(image[i : i + 3, j : j + 3] * kernel)
    return np.sum(out**2) / out.size


@at(2.0, 0.3)
def spectrum(x):
    t = np.arange(16) / 16.0
    wave = np.array([math.sin(2 * math.pi * x[0] * s) + x[1] for s in t])
    window = np.hanning(16)
    power = np.abs(np.fft.rfft(wave * window)) ** 2
    return float(np.dot(power, np.arange(len(power))) / power.sum())


@at(0.7, 0.2)
def exponential_smoothing(x):
    level, trend = SIGNAL[0], 0.0
    fitted = np.empty(len(SIGNAL))
    for i, value in enumerate(SIGNAL):
        fitted[i] = level + trend
        old = level
        level = x[0] * value + (1 - x[0]) * (level + trend)
        trend = x[1] * (level - old) + (1 - x[1]) * trend
    return np.sqrt(((fitted - SIGNAL) ** 2).mean())


def clipped(value, low, high):
    return low if value < low else high if value > high else value


@at(0.6, 1.4)
def compressor(x):
    gain = np.vectorize(partial(clipped, low=0.1, high=1.0))
    envelope, out = 0.0, []
    for s in SIGNAL:
        envelope = x[0] * envelope + (1 - x[0]) * abs(s)
        out.append(s / (1 + x[1] * envelope))
    return np.sum(gain(np.asarray(out) * 2))


@at(0.4, 1.1, 0.3)
def bezier_curve(x):
    control = [(0.0, 0.0), (x[0], x[1]), (1.0, x[2]), (1.5, 0.0)]
    points = np.zeros((7, 2))
    for i, t in enumerate(np.linspace(0, 1, 7)):
        level = [np.array(p) for p in control]
        while len(level) > 1:
            level = [(1 - t) * a + t * b for a, b in pairwise(level)]
        points[i] = level[0]
    steps = np.diff(points, axis=0)
    return np.sqrt((steps**2).sum(axis=1)).sum() + points[3, 1]
