"""Shapes that depend on values, writes in place and ``like=``, in transforms within transforms.

The arrays of one level meet those of another here: each program's values are compared with NumPy's, its first and
second derivatives with differences, in every mode.
"""

import operator

import numpy as np
import pytest

import adjoint as ad

X = np.array([1.1, -2.3, 3.2, -0.6])
A = np.array([2.0, 3.0, -4.0, 5.0])
ROWS = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0]])


def into(x, write):
    y = x * 1.0
    write(y)
    return np.sum(y**3 * A[: y.size])


def of_mask(x, mask):
    return np.sum(x[mask] ** 3) / mask.sum()


def in_place(start, *steps):
    """``start(x)`` after ``y op= value(x)`` for each of `steps`."""

    def program(x):
        y = start(x)
        for name, value in steps:
            y = getattr(operator, f"i{name}")(y, value(x))
        return np.sum(y * y * x[0])

    return program


def like(make, write):
    def program(x):
        y = make(x)
        write(y, x)
        return np.sum(y**2)

    return program


def setitem(index, value):
    return lambda y: y.__setitem__(index(y), value(y))


def update(index, name, value):
    """``y[index] op= value(x)``, by a view where `index` is basic."""

    def write(y, x):
        part = y[index]
        result = getattr(part, f"__i{name}__")(value(x))
        y[index] = result

    return write


# Shapes that depend on values.
COUNTS = {
    "size of a selection": lambda x: np.sum(x[x > 0] ** 3) / x[x > 0].size,
    "len of a selection": lambda x: np.sum(x[x > 0] ** 3) / len(x[x > 0]),
    "shape of a selection": lambda x: np.sum(x[x > 0] ** 3) * x[x > 0].shape[0],
    "mean of a selection": lambda x: np.mean(x[x > 0] ** 3),
    "var of a selection": lambda x: np.var(x[x < 3] * x[0]),
    "std of a selection": lambda x: np.std(x[x < 3] ** 2, ddof=1),
    "count_nonzero": lambda x: np.sum(x**3) / np.count_nonzero(x > 0),
    "sum of truths": lambda x: np.sum(x**3) / np.sum(x > 0),
    "mean of truths": lambda x: np.sum(x**3) * np.mean(x > 0),
    "truths as a factor": lambda x: np.sum(x**3 * (x > 0)),
    "flatnonzero": lambda x: np.sum(x[np.flatnonzero(x > 0)] ** 3) / np.flatnonzero(x > 0).size,
    "nonzero": lambda x: np.sum(x[np.nonzero(x > 0)] ** 3),
    "where, places alone": lambda x: np.sum(x[np.where(x > 0)] ** 3) * len(np.where(x > 0)[0]),
    "argwhere": lambda x: np.sum(x[np.argwhere(x > 0)[:, 0]] ** 3),
    "extract": lambda x: np.mean(np.extract(x > 0, x) ** 3),
    "compress": lambda x: np.mean(np.compress(x > 0, x) ** 3),
    "delete": lambda x: np.sum(np.delete(x, np.argmax(x)) ** 3),
    "sum where": lambda x: np.sum(x**3, where=x > 0),
    "mean where": lambda x: np.mean(x**3, where=x > 0),
    "assignment to a selection": lambda x: into(x, lambda y: y.__setitem__(y > 0, 2.0 * y[y > 0])),
    "update of a selection": lambda x: into(x, lambda y: y.__setitem__(y > 0, y[y > 0] ** 2 / y[y > 0].size)),
    "sorted part": lambda x: np.sum(np.sort(x)[: np.count_nonzero(x > 0)] ** 3),
    "argsorted": lambda x: np.sum(x[np.argsort(x)[:2]] ** 3),
    "repeat": lambda x: np.sum(np.repeat(x**3, 2) * np.repeat(A, 2)),
    "searchsorted": lambda x: np.sum(x**3) * np.searchsorted(np.sort(x), 0.5),
    "bins": lambda x: np.sum(x**3 * np.bincount((x > 0).astype(int))[0]),
    "unique": lambda x: np.mean(np.unique(x) ** 3 * A),
    "loop over a selection": lambda x: sum(v**3 for v in x[x > 0]) / len(x[x > 0]),
    "rows of a matrix": lambda x: np.mean((x[:, None] * ROWS)[x > 0] ** 3),
    "number of rows": lambda x: np.sum((x[:, None] * ROWS)[x > 0] ** 2) / (x[:, None] * ROWS)[x > 0].shape[0],
    "mask that was kept": lambda x: of_mask(x, x > 0),
    "mask of another array": lambda x: np.sum(x[A > 0] ** 3) / x[A > 0].size,
    "boolean product": lambda x: np.sum(x[(x > 0) & (x < 3)] ** 3) / np.sum((x > 0) & (x < 3)),
    "places, then a write": lambda x: into(x, lambda y: y.__setitem__(np.argmax(y), y[0] * y[1])),
    "take_along_axis": lambda x: np.sum(np.take_along_axis(x, np.argsort(x), 0) ** 3 * A),
    "ravel_multi_index": lambda x: np.sum(np.outer(x, x)[np.unravel_index(np.argmax(np.outer(x, x)), (4, 4))] ** 2),
}

# An array of one level, in place with arrays, numbers and boxes of another.
IN_PLACE = {
    "array *= array": in_place(lambda x: x * 1.0, ("mul", lambda x: A)),
    "constant += array": in_place(lambda x: np.zeros_like(x), ("add", lambda x: A), ("mul", lambda x: x)),
    "like, then boxes": in_place(lambda x: np.ones(4, like=x), ("mul", lambda x: A), ("add", lambda x: x * x)),
    "number *= array": in_place(lambda x: x[0] * 1.0, ("mul", lambda x: A), ("add", lambda x: x)),
    "number += number": in_place(lambda x: x[0] ** 2, ("add", lambda x: x[1] * x[2]), ("mul", lambda x: 3.0)),
    "python number *= array": in_place(lambda x: 2.0, ("mul", lambda x: x), ("mul", lambda x: A)),
    "sum *= array": in_place(lambda x: np.sum(x * x), ("mul", lambda x: A)),
    "array **= array": in_place(lambda x: np.exp(x / 4), ("pow", lambda x: A / 2), ("truediv", lambda x: A)),
    "array /= box": in_place(lambda x: x * A, ("truediv", lambda x: x[::-1]), ("sub", lambda x: x[0])),
    "array @= matrix": in_place(lambda x: x[:2] * ROWS[:2], ("matmul", lambda x: ROWS[:2]), ("mul", lambda x: x[3])),
    "part *= array": lambda x: into(x, lambda y: y.__setitem__(slice(1, 3), y[1:3].__imul__(A[1:3]))),
    "mask *= array": lambda x: into(x, lambda y: y.__setitem__(A > 0, y[A > 0] * A[A > 0])),
    "element += number": lambda x: into(x, lambda y: y.__setitem__(0, y[0] + y[1] * y[1])),
    "element of a copy": lambda x: into(np.copy(x), lambda y: y.__setitem__(2, 5.0)),
    "np.add, out=": lambda x: into(x, lambda y: np.add(y, A, out=y)),
    "np.multiply.at": lambda x: into(x, lambda y: np.add.at(y, [0, 0, 1], A[:3])),
    "np.copyto": lambda x: into(x, lambda y: np.copyto(y, y[::-1] * A, where=A > 0)),
    "fill": lambda x: into(x * x, lambda y: y[1:2].fill(3.0)) * x[1],
    "sort": lambda x: into(x, lambda y: y.sort()),
    "two views": lambda x: into(x, lambda y: (y[:3].__imul__(2.0), y[1:].__iadd__(y[:3] * y[:3]))),
    "transposed view": lambda x: np.sum(transposed(np.reshape(x, (2, 2)) * 1.0, x) ** 2),
    "running": lambda x: running(x)[-1] * x[1],
}

LIKE = {
    "zeros[:] + x": lambda x: np.sum((np.zeros(2, like=x)[:] + x[:2]) ** 3),
    "ones[:] * x": lambda x: np.sum((np.ones(4, like=x)[::-1] * x) ** 3),
    "zeros, part written": like(lambda x: np.zeros(4, like=x), lambda y, x: y.__setitem__(slice(1, 3), x[:2] ** 2)),
    "zeros, element": like(lambda x: np.zeros(4, like=x), lambda y, x: y.__setitem__(2, x[0] * x[1])),
    "zeros of rows": like(lambda x: np.zeros((3, 4), like=x), lambda y, x: y.__setitem__(1, x * x)),
    "view, then written": like(lambda x: np.ones((2, 4), like=x), update(0, "add", lambda x: x * x)),
    "view of a view": like(lambda x: np.ones((2, 4), like=x)[1:][0], lambda y, x: y.__imul__(x)),
    "column": like(lambda x: np.ones((4, 2), like=x), update((slice(None), 1), "mul", lambda x: x**2)),
    "transposed": like(lambda x: np.ones((4, 2), like=x).T, update(0, "mul", lambda x: x**2)),
    "reshaped": like(lambda x: np.zeros((2, 2), like=x).reshape(4), lambda y, x: y.__iadd__(x**2)),
    "full": like(lambda x: np.full((2, 4), 3.0, like=x), lambda y, x: y.__imul__(x)),
    "full of a box": like(lambda x: np.full((2, 4), x[0], like=x), lambda y, x: y.__imul__(x)),
    "eye": like(lambda x: np.eye(4, like=x), lambda y, x: y.__imul__(x)),
    "arange": like(lambda x: np.arange(4.0, like=x)[1:], lambda y, x: y.__iadd__(x[1:] ** 2)),
    "array": like(lambda x: np.array([1.0, 2.0], like=x)[:], lambda y, x: y.__imul__(x[:2])),
    "array of boxes": lambda x: np.sum(np.array([x[0], x[1] * x[2]], like=x)[:] ** 3),
    "asarray": lambda x: np.sum(np.asarray(x, like=x)[1:] ** 3),
    "empty": like(lambda x: np.empty(4, like=x), lambda y, x: y.__setitem__(slice(None), x**2)),
    "zeros_like with a shape": like(lambda x: np.zeros_like(x, shape=(2, 4))[1], lambda y, x: y.__iadd__(x)),
    "ones_like of a part": like(lambda x: np.ones_like(x[:2])[:], lambda y, x: y.__imul__(x[2:])),
    "full_like": like(lambda x: np.full_like(x, 2.0)[:], lambda y, x: y.__imul__(x)),
    "no axes": lambda x: np.sum((np.zeros((), like=x)[...] + x) ** 3),
    "like a matrix": lambda x: np.sum((np.zeros(2, like=x[:, None] * ROWS)[:] + x[:2]) ** 3),
}


def transposed(y, x):
    y.T[0] *= x[:2]
    return y


def running(x):
    y = np.ones(5, like=x)
    for i in range(4):
        y[i + 1] = y[i]
        y[i + 1] *= x[i]
        y[i + 1 :] += 0.5
    return y


def plain_views(x, write):
    """Of an array that is the same for all samples, until it is written through a view."""
    m = np.zeros_like(x, shape=(3, 3)) if isinstance(x, ad.Tensor) else np.zeros((3, 3))
    write(m)
    return np.sum((m + 1.0) ** 3 * ROWS[:3, :1])


VIEWS = {
    "diagonal by strides": lambda x: plain_views(x, lambda m: m.reshape(-1)[1::4].__setitem__(..., x[:2])),
    "transposed": lambda x: plain_views(x, lambda m: m.T[0].__setitem__(slice(None), x[:3])),
    "row of a row": lambda x: plain_views(x, lambda m: m[1:][0][1:].__setitem__(0, x[0] * x[1])),
    "written before": lambda x: plain_views(x, lambda m: (m.__setitem__(0, 2.0), m[0].__setitem__(1, x[0] ** 2))),
    "two views": lambda x: plain_views(x, lambda m: (m.ravel()[::2].__setitem__(..., 3.0), m[1].__setitem__(1, x[2]))),
    "constant by a view": lambda x: plain_views(
        x, lambda m: (m[1:].__setitem__(0, 5.0), m[:, 0].__setitem__(..., x[:3]))
    ),
}

PROGRAMS = COUNTS | IN_PLACE | LIKE | VIEWS


def differences(f, x, h=1e-5):
    """The derivative of `f`, of any shape, by each element of `x`, along a last axis."""
    return np.stack([(np.asarray(f(x + h * e)) - np.asarray(f(x - h * e))) / (2 * h) for e in np.eye(x.size)], axis=-1)


V = np.array([0.3, -1.0, 0.7, 2.0])
TWO = np.stack([X, X[::-1] * 0.9])


def each(f, points):
    return np.stack([f(x) for x in points])


FIRST = {
    "grad": lambda f: (ad.grad(f)(X), lambda g: g(X)),
    "jvp": lambda f: (ad.jvp(f, (X,), (V,))[1], lambda g: g(X) @ V),
    "jacfwd": lambda f: (ad.jacfwd(f)(X), lambda g: g(X)),
    "linearize": lambda f: (ad.linearize(f, X)[1](V), lambda g: g(X) @ V),
    "backward": lambda f: (backward(f), lambda g: g(X)),
    "vmap of grad": lambda f: (ad.vmap(ad.grad(f))(TWO), lambda g: each(g, TWO)),
    "grad of vmap": lambda f: (ad.grad(lambda xs: np.sum(ad.vmap(f)(xs)))(TWO), lambda g: each(g, TWO)),
    "vmap of jvp": lambda f: (ad.vmap(lambda x: ad.jvp(f, (x,), (V,))[1])(TWO), lambda g: each(g, TWO) @ V),
    "jvp of vmap": lambda f: (ad.jvp(ad.vmap(f), (TWO,), (np.stack([V, V]),))[1], lambda g: each(g, TWO) @ V),
}
SECOND = {
    "hessian": lambda f: (ad.hessian(f)(X), lambda h: h(X)),
    "reverse over reverse": lambda f: (ad.jacrev(ad.grad(f))(X), lambda h: h(X)),
    "forward over forward": lambda f: (ad.jacfwd(ad.jacfwd(f))(X), lambda h: h(X)),
    "jvp of grad": lambda f: (ad.jvp(ad.grad(f), (X,), (V,))[1], lambda h: h(X) @ V),
    "grad of jvp": lambda f: (ad.grad(lambda x: ad.jvp(f, (x,), (V,))[1])(X), lambda h: h(X) @ V),
    "vmap of hessian": lambda f: (ad.vmap(ad.hessian(f))(TWO), lambda h: each(h, TWO)),
}


def backward(f):
    x = ad.tensor(X, requires_grad=True)
    f(x).backward()
    return x.grad.numpy()


def compared(name, mode, reference, tolerance):
    try:
        found, right = mode(PROGRAMS[name])
    except ad.BatchedValueError:  # of each sample, another shape
        assert name in COUNTS
        return
    np.testing.assert_allclose(found, right(reference), rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("mode", FIRST)
@pytest.mark.parametrize("name", PROGRAMS)
def test_first_derivatives(name, mode):
    compared(name, FIRST[mode], lambda x: differences(PROGRAMS[name], x), 1e-5)


@pytest.mark.parametrize("mode", SECOND)
@pytest.mark.parametrize("name", PROGRAMS)
def test_second_derivatives(name, mode):
    compared(name, SECOND[mode], lambda x: differences(ad.grad(PROGRAMS[name]), x), 1e-5)


@pytest.mark.parametrize("name", PROGRAMS)
def test_values(name):
    f = PROGRAMS[name]
    np.testing.assert_allclose(ad.value_and_grad(f)(X)[0], f(X), rtol=1e-12)
    try:
        found = ad.vmap(f)(TWO)
    except ad.BatchedValueError:
        assert name in COUNTS
        return
    np.testing.assert_allclose(found, each(f, TWO), rtol=1e-12)
