"""Likelihoods, fits, kernels, chains, prices: sums in loops, `np.vectorize`, closures, dictionaries of arrays."""

import math
from collections import defaultdict, deque

import numpy as np
from scipy import optimize, special

from tests.strangers.programs import at

X = np.array([0.2, 0.5, 0.9, 1.4, 2.0, 2.2])
Y = np.array([0.3, 0.4, 0.9, 1.1, 1.9, 2.5])


@at(1.1, 0.1, 0.5)
def normal_likelihood(x):
    def log_density(value, mean, deviation):
        return -0.5 * ((value - mean) / deviation) ** 2 - math.log(deviation * math.sqrt(2 * math.pi))

    total = 0.0
    for a, b in zip(X, Y, strict=True):
        total += log_density(b, x[0] * a + x[1], x[2])
    return -total / len(X)


@at(0.8, 1.2, 0.1)
def gaussian_process(x):
    n = len(X)
    k = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            k[i, j] = x[0] ** 2 * math.exp(-0.5 * (X[i] - X[j]) ** 2 / x[1] ** 2)
    k += x[2] ** 2 * np.eye(n)
    lower = np.linalg.cholesky(k)
    alpha = np.linalg.solve(lower.T, np.linalg.solve(lower, Y))
    return 0.5 * Y.dot(alpha) + np.log(np.diag(lower)).sum() + 0.5 * n * np.log(2 * np.pi)


@at(0.5, 0.3, 0.7)
def ridge_regression(x):
    columns = [np.ones(len(X)), X, X**2]
    design = np.column_stack(columns) * np.array([1.0, x[0], x[1]])
    normal = design.T.dot(design)
    normal[np.diag_indices(3)] += x[2]
    weights = np.linalg.inv(normal).dot(design.T).dot(Y)
    residual = Y - design.dot(weights)
    return residual.dot(residual) + float(weights[0])


@at(0.2, 0.6)
def hidden_markov(x):
    a = np.array([[1 - x[0], x[0]], [0.3, 0.7]])
    emission = {"walk": np.array([x[1], 0.1]), "shop": np.array([0.3, 0.4]), "clean": np.array([0.7 - x[1], 0.5])}
    forward = np.array([0.6, 0.4])
    log = 0.0
    for seen in ["walk", "shop", "clean", "clean", "walk"]:
        forward = forward.dot(a) * emission[seen]
        scale = forward.sum()
        log += math.log(scale)
        forward /= scale
    return log


@at(0.5, 0.9)
def markov_chain(x):
    p = np.zeros((3, 3))
    p[0, 1], p[0, 0] = x[0], 1 - x[0]
    p[1, 2], p[1, 0] = x[1], 1 - x[1]
    p[2] = [0.2, 0.3, 0.5]
    state = np.full(3, 1 / 3)
    for _ in range(20):
        state = state @ p
    entropy = -sum(q * math.log(q) for q in state if q > 0)
    return entropy + state[2]


@at(1.0, 0.05, 0.3, 0.8)
def black_scholes(x):
    def normal(z):
        return 0.5 * (1.0 + math.erf(z / math.sqrt(2.0)))

    strike, rate, sigma, years = x[0], x[1], x[2], x[3]
    d1 = (math.log(1.1 / strike) + (rate + sigma**2 / 2) * years) / (sigma * math.sqrt(years))
    d2 = d1 - sigma * math.sqrt(years)
    return 1.1 * normal(d1) - strike * math.exp(-rate * years) * normal(d2)


@at(0.3, 0.05, 1.0)
def binomial_tree(x):
    n = 6
    dt = 1.0 / n
    up = math.exp(x[0] * math.sqrt(dt))
    p = (math.exp(x[1] * dt) - 1 / up) / (up - 1 / up)
    prices = np.zeros(n + 1)
    for j in range(n + 1):
        prices[j] = max(x[2] * up ** (n - 2 * j) - 0.95, 0.0)
    for i in range(n - 1, -1, -1):
        for j in range(i + 1):
            prices[j] = math.exp(-x[1] * dt) * (p * prices[j] + (1 - p) * prices[j + 1])
    return prices[0]


@at(0.02, 0.3)
def bond_yield(x):
    flows = [(t, 5.0 + (100.0 if t == 3 else 0.0)) for t in (1, 2, 3)]
    price = sum(flow / (1 + x[0] + 0.01 * x[1] * t) ** t for t, flow in flows)

    def gap(rate):
        return sum(flow * math.exp(-rate * t) for t, flow in flows) - price

    return optimize.brentq(gap, 0.0, 0.5)


@at(1.5, 0.7)
def gamma_likelihood(x):
    shape, rate = x
    logs = [shape * math.log(rate) + (shape - 1) * math.log(v) - rate * v - math.lgamma(shape) for v in Y]
    return sum(logs) / len(logs) + special.digamma(shape)


@at(0.4, 0.8, 1.7)
def mixture_by_expectation(x):
    means, weight = np.array([x[0], x[2]]), x[1]
    for _ in range(3):
        weights = np.array([weight, 1 - weight])
        density = np.empty((len(Y), 2))
        for k in range(2):
            density[:, k] = weights[k] * np.exp(-0.5 * (Y - means[k]) ** 2)
        share = density / density.sum(axis=1, keepdims=True)
        means = (share * Y[:, None]).sum(axis=0) / share.sum(axis=0)
        weight = share[:, 0].mean()
    return means[0] * means[1] + weight


@at(0.5, 1.5, 2.5)
def kernel_smoother(x):
    def weight(u):
        return 0.75 * (1 - u**2) if abs(u) < 1 else 0.0

    kernel = np.vectorize(weight)
    estimates = []
    for centre in (0.6, 1.3, 1.9):
        w = kernel((X - centre) / x[1])
        estimates.append(np.sum(w * Y) / np.sum(w))
    return float(np.dot(estimates, [x[0], 1.0, x[2]]))


@at(0.3, 1.2, 0.8, 0.4)
def grouped_means(x):
    groups = defaultdict(list)
    for i, value in enumerate(np.concatenate([x, X])):
        groups["odd" if i % 2 else "even"].append(value)
    means = {name: np.mean(values) for name, values in groups.items()}
    spread = sorted(groups["odd"])[-1] - min(groups["even"])
    return means["odd"] * means["even"] + spread


@at(0.3, 0.9, 0.5)
def robust_distance(x):
    points = np.array([[x[0], 1.0], [x[1], 0.2], [1.5, x[2]], [0.1, 0.4]])
    distances = np.zeros((4, 4))
    for i in range(4):
        for j in range(i):
            distances[i, j] = distances[j, i] = np.sqrt(np.sum((points[i] - points[j]) ** 2))
    return np.median(distances[np.triu_indices(4, 1)]) + distances.max()


@at(0.4, 1.1, 2.3)
def moving_statistics(x):
    window, means = deque(maxlen=3), {}
    for i, value in enumerate((*X[:4], *x)):
        window.append(math.sqrt(value) + x[0])
        means[i] = np.mean(window)
    low, *middle, high = sorted(means.values())
    pairs = [np.prod(pair) for pair in zip(x, X, strict=False)]
    return np.median(tuple(middle)) + high / low + sum(map(math.exp, pairs)) / np.sum(list(means.values()))
