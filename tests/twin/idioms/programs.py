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


def quotients_where_they_exist(x=(0.5, 0.0, -2.0, 0.25)):
    c = np.array(x)
    c[1] = 0.0
    inverse = np.divide(1.0, c, out=np.zeros(4), where=c != 0)
    summed = np.cumsum(inverse, out=np.empty(4))
    doubled = np.multiply(c, 2.0, np.empty_like(c))
    whole, rest = np.divmod(c + 7.125, 1.5, out=(np.empty(4), np.empty(4)))
    return np.concatenate([inverse, summed, doubled, whole * x[0], rest])


def elements_one_after_another(x=(0.5, 1.2, -0.7, 0.3)):
    m = np.zeros((2, 2))
    m[0], m[:, 1] = x[:2], x[2:]
    both = np.array([m.flat, (m @ m).flat])
    return np.append(m.flat, x[0]) * np.sum(m.flat) + np.concatenate([both[0], both[1][:1]]) * np.dot(m.flat, both[1])


def rotated_in_the_plane_of_two(x=(2.0, 0.5, 1.0, 3.0)):
    a = np.diag(x)
    a[0, 2] = a[2, 0] = x[1]
    largest = np.abs(np.triu(a, 1)).argmax()
    p, q = np.unravel_index(largest, a.shape)
    angle = 0.5 * np.arctan2(2.0 * a[p, q], a[q, q] - a[p, p])
    turn = np.eye(4)
    turn[[p, q], [p, q]] = np.cos(angle)
    turn[p, q], turn[q, p] = np.sin(angle), -np.sin(angle)
    turn[[p]] *= 2.0
    turn[:, (q, 3)] += 1.0
    return turn.T @ a @ turn + a[[p, q, 0]][:, [q, p, 1]].sum()


def ranks_and_tables_of_places(x=(0.6, 1.0, -2.0, 0.3)):
    order = np.argsort(x)
    rank = np.empty(4, int)
    rank[order] = np.arange(4)
    seen = np.zeros(4, dtype=bool)
    seen[np.argmax(x)] = True
    best = np.zeros((2, 2), dtype=int)
    for i in range(2):
        best[i, 0] = np.argmin(x[i : i + 2])
    path = [int(np.argmax(x))]
    path.insert(0, best[1, path[0] % 2])
    counts = np.zeros(3)
    np.add.at(counts, np.digitize(x, [0.0, 0.5]), x)
    return np.concatenate([rank * x, np.where(seen, 2.0, 3.0) * x, x[path], counts, np.outer(x, x)[range(2), path]])


def _line(template, *values, width=8):
    return (template % values).rjust(width)


def formats_in_names(x=(1.25, 2.5)):
    fmt, found = "%.3f;", {"v": x[0], "n": 3}
    named = "%(v).2f of %(n)d"
    texts = [fmt % x[0], named % found, _line("%s|%5.1f", "a", x[1])]
    texts += [pattern % x[1] for pattern in ("%e ", "%8.2g")]
    return x * len("".join(texts))
