"""Short programs that fill arrays turn by turn."""

import numpy as np


def euler_steps(x=(0.3, 1.2)):
    n = 5
    y = np.zeros(n)
    y[0] = x[0]
    for i in range(n - 1):
        y[i + 1] = y[i] + 0.1 * (x[1] - y[i] ** 2)
    return y


def state_history(x=(0.3, 1.2)):
    states = np.zeros((4, 2))
    states[0] = x
    for k in range(3):
        states[k + 1] = states[k] + 0.1 * np.array([states[k, 1], -states[k, 0]])
    return states


def tridiagonal(x=(0.3, 1.2)):
    a = np.zeros((3, 3))
    for i in range(3):
        a[i, i] = 2 + x[0]
        if i > 0:
            a[i, i - 1] = -x[1]
        if i < 2:
            a[i, i + 1] = -1.0
    return np.linalg.solve(a, np.ones(3))


def distance_matrix(x=(0.3, 1.2, 2.5)):
    n = len(x)
    d = np.zeros((n, n))
    for i in range(n):
        for j in range(i):
            d[i, j] = d[j, i] = (x[i] - x[j]) ** 2
    return d


def toeplitz_by_loop(x=(0.3, 1.2, 2.5)):
    t = np.empty((3, 3))
    for i in range(3):
        for j in range(3):
            t[i, j] = x[abs(i - j)]
    return t @ np.arange(3.0)


def convolution_by_loop(x=(0.3, 1.2, 2.5)):
    k = np.array([0.5, 0.25])
    out = np.zeros(len(x) + len(k) - 1)
    for i in range(len(x)):
        for j in range(len(k)):
            out[i + j] += x[i] * k[j]
    return out


def histogram_weights(x=(0.3, 1.2, 2.5)):
    out = np.zeros(2)
    for i, v in enumerate(x):
        out[i % 2] += v**2
    return out


def swap_of_rows(x=(0.3, 1.2, 2.0, 1.0)):
    a = np.array(x.reshape(2, 2))
    a[[0, 1]] = a[[1, 0]]
    return a @ np.array([1.0, 3.0])


def gaussian_elimination(x=(2.0, 1.2)):
    a = np.array([[x[0], 1.0], [0.5, x[1]]])
    b = np.array([1.0, x[0]])
    factor = a[1, 0] / a[0, 0]
    a[1] -= factor * a[0]
    b[1] -= factor * b[0]
    y = np.zeros(2)
    y[1] = b[1] / a[1, 1]
    y[0] = (b[0] - a[0, 1] * y[1]) / a[0, 0]
    return y


def cholesky_by_hand(x=(2.0, 0.5)):
    a = np.array([[x[0], x[1]], [x[1], 3.0]])
    lower = np.zeros_like(a)
    for i in range(2):
        for j in range(i + 1):
            s = a[i, j] - np.sum(lower[i, :j] * lower[j, :j])
            lower[i, j] = np.sqrt(s) if i == j else s / lower[j, j]
    return lower


def complex_filled(x=(0.3, 1.2)):
    z = np.zeros(2, dtype=complex)
    z[0] = x[0] + 1j * x[1]
    z[1] = x[1] ** 2
    return np.abs(z) ** 2


def float32_filled_from_constants(x=(0.3, 1.2)):
    a = np.zeros(2, dtype=np.float64)
    a[:] = [x[0], 2.0]
    return a * x[1]


def triangle_indices(x=(0.3, 1.2, 2.0)):
    a = np.zeros((2, 2))
    a[np.tril_indices(2)] = x
    return a @ a.T


def nditer_written(x=(0.3, 1.2)):
    y = x * 1.0
    with np.nditer(y, op_flags=["readwrite"]) as it:
        for v in it:
            v[...] = v * v
    return y


def while_filled(x=(0.3, 1.2)):
    out, i = np.zeros(3), 0
    while i < 3:
        out[i] = np.exp(-i * x[0])
        i += 1
    return out * x[1]
