"""Arrays made first and filled afterwards."""

import numpy as np


def zeros_then_items(x=(0.3, 1.2)):
    out = np.zeros(3)
    out[0] = x[0] * x[1]
    out[2] = np.sin(x[1])
    return out


def zeros_then_loop(x=(0.3, 1.2, -0.5)):
    out = np.zeros(len(x))
    for i in range(len(x)):
        out[i] = x[i] ** 2 + i
    return out


def empty_then_loop(x=(0.3, 1.2)):
    out = np.empty(4)
    out[0] = x[0]
    for i in range(1, 4):
        out[i] = out[i - 1] * x[1] + 0.1
    return out


def ones_times(x=(0.3, 1.2)):
    out = np.ones(2)
    out[1] *= x[0]
    out[0] += x[1] ** 2
    return out


def matrix_of_items(x=(0.3, 1.2)):
    a = np.zeros((2, 2))
    a[0, 0], a[0, 1] = x[0], x[1]
    a[1, 0] = x[0] * x[1]
    return a @ a


def matrix_rows(x=(0.3, 1.2)):
    a = np.zeros((3, 2))
    for i in range(3):
        a[i] = x * i
    return a.sum(axis=0) ** 2


def matrix_columns(x=(0.3, 1.2)):
    a = np.empty((2, 2))
    a[:, 0] = x
    a[:, 1] = x**2
    return a


def matrix_diagonal(x=(0.3, 1.2)):
    a = np.eye(2)
    a[np.arange(2), np.arange(2)] = x
    return a @ np.ones(2)


def eye_changed(x=(0.3, 1.2)):
    f = np.eye(3)
    f[0, 1] = x[0]
    f[1, 2] = x[1]
    return f @ f @ np.arange(3.0)


def identity_minus(x=(0.3, 1.2)):
    a = np.identity(2)
    a[0] -= x
    return np.linalg.det(a)


def full_changed(x=(0.3, 1.2)):
    a = np.full(3, 2.0)
    a[1:] = x
    return a**2


def arange_changed(x=(0.3, 1.2)):
    a = np.arange(3.0)
    a[1] = x[0] * x[1]
    return np.cumsum(a)


def linspace_changed(x=(0.3, 1.2)):
    a = np.linspace(0.0, 1.0, 4)
    a[-1] = x[1]
    return np.diff(a) * x[0]


def array_of_constants_changed(x=(0.3, 1.2)):
    a = np.array([1.0, 2.0, 3.0])
    a[0] = x[0]
    return a * x[1]


def array_of_integers_as_float(x=(0.3, 1.2)):
    a = np.array([1, 2, 3], dtype=float)
    a[1] = x[0]
    return a * x[1]


def zeros_like_changed(x=(0.3, 1.2)):
    a = np.zeros_like(x)
    a[0] = x[1] ** 2
    return a


def zeros_accumulated(x=(0.3, 1.2)):
    total = np.zeros(2)
    for i in range(3):
        total += x**i
    return total


def scalar_accumulated(x=(0.3, 1.2)):
    total = 0.0
    for v in x:
        total += v**2
    return total


def product_accumulated(x=(0.3, 1.2)):
    total = np.ones(2)
    for k in range(1, 3):
        total *= x + k
    return total


def subtracted_in_place(x=(0.3, 1.2)):
    a = np.ones((2, 2))
    a -= x
    return a.prod()


def boolean_assignment(x=(0.3, -1.2, 2.0)):
    out = np.zeros(3)
    mask = x > 0
    out[mask] = 2.0
    return out * x


def masked_values(x=(0.3, -1.2, 2.0)):
    out = np.zeros(3)
    out[x > 0] = x[x > 0] ** 2
    return out


def fancy_assignment(x=(0.3, 1.2)):
    out = np.zeros(4)
    out[[1, 3]] = x
    return out**2


def slice_assignment(x=(0.3, 1.2)):
    out = np.zeros(5)
    out[1:3] = x
    out[3:] = x * x
    return out


def strided_assignment(x=(0.3, 1.2)):
    out = np.zeros(4)
    out[::2] = x
    out[1::2] = -x
    return np.cumsum(out)


def ellipsis_assignment(x=(0.3, 1.2)):
    out = np.zeros((2, 2))
    out[..., 1] = x
    return out.sum(axis=0)


def added_at(x=(0.3, 1.2)):
    out = np.zeros(3)
    np.add.at(out, [0, 2, 0], np.array([x[0], x[1], x[0] * x[1]]))
    return out


def subtracted_at(x=(0.3, 1.2)):
    out = np.ones(3)
    np.subtract.at(out, [0, 0], x)
    return out * x[0]


def put_into(x=(0.3, 1.2)):
    out = np.zeros(3)
    np.put(out, [0, 2], x)
    return out**2


def put_method(x=(0.3, 1.2)):
    out = np.zeros(3)
    out.put([0, 2], x)
    return out**2


def fill_method(x=(0.3, 1.2)):
    out = np.zeros(3)
    out.fill(x[0])
    return out * x[1]


def fill_diagonal(x=(0.3, 1.2)):
    a = np.ones((2, 2))
    np.fill_diagonal(a, x)
    return np.linalg.det(a)


def copyto(x=(0.3, 1.2)):
    a = np.zeros(2)
    np.copyto(a, x**2)
    return a


def place(x=(0.3, 1.2)):
    a = np.zeros(3)
    np.place(a, np.array([True, False, True]), x)
    return a


def putmask(x=(0.3, 1.2)):
    a = np.zeros(2)
    np.putmask(a, np.array([False, True]), x)
    return a * x


def out_argument(x=(0.3, 1.2)):
    out = np.empty(2)
    np.multiply(x, x, out=out)
    return out


def out_of_sin(x=(0.3, 1.2)):
    out = np.zeros(2)
    np.sin(x, out)
    return out * x


def out_of_sum(x=(0.3, 1.2)):
    out = np.zeros(2)
    np.sum(np.outer(x, x), axis=0, out=out)
    return out


def out_of_dot(x=(0.3, 1.2)):
    out = np.zeros(2)
    np.dot(np.array([[1.0, 2.0], [3.0, 4.0]]), x, out=out)
    return out**2


def view_written(x=(0.3, 1.2)):
    a = np.zeros((2, 3))
    row = a[1]
    row[1:] = x
    return a.sum(axis=1) ** 2


def reshaped_written(x=(0.3, 1.2)):
    a = np.zeros((2, 2))
    flat = a.reshape(-1)
    flat[1:3] = x
    return np.linalg.det(a + np.eye(2))


def ravel_written(x=(0.3, 1.2)):
    a = np.zeros((2, 2))
    a.ravel()[0:2] = x
    return a.T @ x


def transpose_written(x=(0.3, 1.2)):
    a = np.zeros((2, 2))
    a.T[0] = x
    return a @ np.array([1.0, 2.0])


def flat_written(x=(0.3, 1.2)):
    a = np.zeros((2, 2))
    a.flat[3] = x[0] * x[1]
    return a.sum(axis=0)


def copy_written(x=(0.3, 1.2)):
    y = x.copy()
    y[0] = y[1] * 2
    return y * x


def zeros_in_helper(x=(0.3, 1.2)):
    def make(n):
        return np.zeros(n)

    a = make(2)
    a[0] = x[1]
    return a + x


def passed_to_helper(x=(0.3, 1.2)):
    def fill(a, v):
        a[0] = v
        a[1] = v**2

    out = np.zeros(2)
    fill(out, x[0])
    return out * x[1]


def returned_by_helper(x=(0.3, 1.2)):
    def table(v):
        a = np.zeros(3)
        for i in range(3):
            a[i] = v**i
        return a

    return table(x[0]) + table(x[1])


def list_of_zeros(x=(0.3, 1.2)):
    rows = [np.zeros(2) for _ in range(2)]
    rows[0][1] = x[0]
    rows[1][0] = x[1]
    return np.array(rows)


def dictionary_of_zeros(x=(0.3, 1.2)):
    store = {"a": np.zeros(2), "b": np.ones(1)}
    store["a"][0] = x[0]
    store["b"][0] = x[1]
    return np.concatenate([store["a"], store["b"]]) ** 2
