"""Views, copies and orders of elements as programs meet them: values and derivatives in every mode, against NumPy."""

import numpy as np
import pytest

import adjoint as ad

as_strided, windows_of = np.lib.stride_tricks.as_strided, np.lib.stride_tricks.sliding_window_view
X = np.array([0.7, 0.4, 0.9, 1.3])
ORDER = np.arange(16.0).reshape(4, 4)


def diagonal_by_einsum(x):
    a = np.outer(x, x)
    d = np.einsum("ii->i", a)
    d += 1
    return np.sum(a * a)


def inner_axes_by_einsum(x):
    a = np.outer(x, x).reshape(2, 2, 4)
    d = np.einsum("iij->ij", a)
    d *= 2
    return np.sum(a * a)


def diagonal_of_what_is_written(x):
    a = np.outer(x, x)
    d = np.diag(a)
    a[:, 0] *= 2
    return np.sum(d * d)


def diagonal_by_method(x):
    a = np.outer(x, x)
    d = a.diagonal(1)
    a[0, 1] = 5
    return np.sum(d)


def windows(x):
    a = x * 1.0
    v = windows_of(a, 2)
    a[0] = x[1]
    return np.sum(v * v)


def diagonal_by_strides(x):
    a = np.outer(x, x)
    d = as_strided(a, (4,), (40,))
    d += 1
    return np.sum(a * a)


def windows_by_strides(x):
    a = x * 1.0
    v = as_strided(a, (2, 2), (16, 8))
    a[0] = 2 * x[1]
    return np.sum(v * v)


def row_of_overlapping_windows(x):
    a = x * 1.0
    v = as_strided(a, (3, 2), (8, 8))
    v[1] = 5 * x[0]
    return np.sum(a * a)


def strides_of_what_lies_backwards(x):
    a = np.outer(x, x)[:, ::-1]
    v = as_strided(a, (2,), (32,))
    a[0] *= 2.0
    v[1] = 3.0
    return np.sum(v * v) + np.sum(a * a)


def row_by_take(x):
    a = np.outer(x, x)
    v = np.take(a, 0, axis=0)
    v *= 2
    w = a.take(-1, axis=1)
    w *= 3
    return np.sum(a * a) + np.sum(v * w)


def contiguous(x):
    a = x * 1.0
    v = np.ascontiguousarray(a[::2])
    v *= 2
    w = np.ascontiguousarray(a)
    w *= 3
    return np.sum(a * a) + np.sum(v)


def contiguous_turned(x):
    a = np.outer(x, x)
    v = np.ascontiguousarray(a.T)
    v *= 2
    w = np.asarray(a, order="F")
    w += 1
    return np.sum(a * a) + np.sum(v * w)


def fortran(x):
    a = np.outer(x, x)
    d = np.asfortranarray(a)
    d[0] *= 3
    same = np.asfortranarray(a.T)
    same[0] += 1
    return np.sum(a * a) + np.sum(d)


def required(x):
    a = np.outer(x, x)
    v = np.require(a.T, requirements="C")
    v *= 2
    own = np.require(a[0], requirements=["O"])
    own *= 2
    return np.sum(a * a) + np.sum(v) + np.sum(own)


def order_of_a_conversion(x):
    a = np.outer(x, x + 1)
    v = a.astype(float, order="F")
    v.reshape(-1)[0] = 0
    w = np.array(a, order="F")
    w.reshape(-1)[1] = 0
    u = a.astype(float, order="F", copy=False)
    u[0] = 0
    return np.sum(ORDER * (v + w * a + u))


def order_of_products(x):
    a = np.outer(x, x + 1)
    y = np.einsum("ij->ji", a) * 2.0
    z = np.einsum("ij,jk->ki", a, a)
    for t in (y, z):
        t.reshape(-1)[1:3] = 0
    return np.sum(ORDER * (y + z * a))


def order_of_out(x):
    y = np.outer(x, x + 1).T * 1.0
    z = y.copy()
    np.multiply(y, y, out=z)
    r = z.reshape(-1)
    r -= 1.0
    return np.sum(z * z)


def line_after_a_list(x):
    a = np.outer(x, x)
    b, c = a[[1, 0]], a[:, [1, 0]]
    for t in (b, c):
        r = t.ravel()
        r *= 2
    return np.sum(b * b) + np.sum(c * c)


def order_of_a_solution(x):
    a = np.outer(x, x) + np.eye(4)
    b = np.linalg.solve(a, a.T * 2)
    b.reshape(-1)[1] *= 3.0
    c = np.take_along_axis(a, np.array([[0], [1], [2], [0]]), 1)
    c.reshape(-1)[:2] = 0
    return np.sum(ORDER * b) + np.sum(c * c)


def lines_in_memorys_order(x):
    a = np.outer(x, x + 1).reshape(2, 2, 4)
    turned, wide = np.transpose(a, (1, 2, 0)), np.broadcast_to(a[:, :1], (2, 3, 4))
    lines = [t.ravel(order) for t in (a, turned, wide, a.T, a[:, :, ::2]) for order in ("K", "A")]
    turned.ravel("K")[3] = 7.0
    lines += [np.copy(a.T, order="F").flatten("K"), np.ravel(wide.T, "K")]
    return sum(np.sum(line * np.arange(len(line))) for line in lines) + np.sum(a * a)


def grids(x):
    a, b = np.meshgrid(x, x + 1)
    a[0] += 1
    a[1] *= 2.0
    b[:, 0] = 1.0
    return np.sum(a * b)


def filled_like(x):
    b = np.full_like(x, 2.0)
    b[0] = x[0]
    c = np.array(x, copy=True)
    c[1] = 3 * x[2]
    return np.sum(b * c * np.ascontiguousarray(x))


def long_chain(x):
    a = v = np.outer(x, np.ones(20)).ravel()
    while len(v) > 5:
        v[0] *= 2
        v = v[1:]
    v *= 3
    return np.sum(a * a)


PROGRAMS = [
    value for value in list(globals().values()) if getattr(value, "__module__", None) == __name__ and callable(value)
]


def _compiled(f, x):
    compiled = ad.compile(f, wait=True)
    compiled(x * 1.1)
    compiled(x * 1.2)
    return compiled(x)


def _backward(f, x):
    t = ad.tensor(x, requires_grad=True)
    ad.differentiable(f)(t).backward()
    return t.grad.numpy()


VALUES = {
    "grad": lambda f: ad.value_and_grad(f)(X)[0],
    "jvp": lambda f: ad.jvp(f, (X,), (X,))[0],
    "vmap": lambda f: ad.vmap(f)(np.stack([X * 2, X]))[1],
    "vmap, Fortran": lambda f: ad.vmap(f)(np.asfortranarray(np.stack([X * 2, X])))[1],
    "vmap, last axis": lambda f: ad.vmap(f, -1)(np.stack([X * 2, X], -1))[1],
    "compiled": lambda f: _compiled(f, X),
}
GRADIENTS = {
    "grad": lambda f: ad.grad(f)(X),
    "jacfwd": lambda f: ad.jacfwd(f)(X),
    "vmap of grad": lambda f: ad.vmap(ad.grad(f))(np.stack([X * 2, X]))[1],
    "backward": lambda f: _backward(f, X),
    "compiled": lambda f: _compiled(ad.grad(f), X),
}


@pytest.mark.parametrize("mode", VALUES)
@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_values(f, mode):
    assert np.isclose(VALUES[mode](f), f(X), rtol=1e-10)


@pytest.mark.parametrize("mode", GRADIENTS)
@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_gradients(f, mode):
    steps = 1e-6 * np.eye(4)
    expected = [(f(X + step) - f(X - step)) / 2e-6 for step in steps]
    assert np.allclose(GRADIENTS[mode](f), expected, rtol=1e-6, atol=1e-6)


MODES = {
    "grad": lambda f: ad.grad(f)(X),
    "jvp": lambda f: ad.jvp(f, (X,), (X,)),
    "vmap": lambda f: ad.vmap(f)(np.stack([X, X])),
}
READ_ONLY = {
    "diagonal": lambda a: np.diagonal(a),
    "diag": lambda a: np.diag(a),
    "windows": lambda a: windows_of(a, 2, axis=0),
    "broadcast": lambda a: np.broadcast_to(a[0], (3, 4)),
    "a slice of one": lambda a: np.diagonal(a)[1:],
    "read-only strides": lambda a: as_strided(a, (4,), (40,), writeable=False),
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", READ_ONLY)
def test_read_only_views(name, mode):
    def f(x):
        v = READ_ONLY[name](np.outer(x, x))
        v[...] = 1.0
        return np.sum(v)

    with pytest.raises(ValueError, match="read-only"):
        f(X)
    with pytest.raises(ad.ReadOnlyError, match=r"read-only.* t\.copy\(\)"):
        MODES[mode](f)


@pytest.mark.parametrize("mode", MODES)
def test_a_write_that_names_an_element_twice(mode):
    def f(x):
        v = as_strided(x * 1.0, (3, 2), (8, 8))
        v[...] = np.outer(x[:3], x[:2])
        return np.sum(v)

    with pytest.raises(ad.InPlaceError, match="names an element twice"):
        MODES[mode](f)


@pytest.mark.parametrize("mode", MODES)
def test_strides_that_lead_elsewhere(mode):
    with pytest.raises(ad.ArgumentError, match="outside of it"):
        MODES[mode](lambda x: np.sum(as_strided((x * 1.0)[1:3], (3,), (8,))))


def test_a_chain_of_written_views_costs_its_length():
    def f(x):
        a = v = x * 1.0
        while len(v) > 1:
            v[0] = v[1] * 2
            v = v[1:]
        return np.sum(a)

    v = ad.tensor(np.ones(500), requires_grad=True) * 1.0
    for _ in range(60):
        v = v[1:]
    assert len(v.path) == 1
    assert np.array_equal(ad.grad(f)(np.ones(500))[:3], [0.0, 2.0, 2.0])


def test_results_outside_of_transforms():
    m = ad.tensor([[1.0, 2.0], [3.0, 4.0]])
    d = np.einsum("ii->i", m)
    d *= 10
    assert np.array_equal(m.numpy(), [[10.0, 2.0], [3.0, 40.0]])
    assert isinstance(np.full_like(m, 3.0), ad.Tensor)
    assert isinstance(np.array(m, copy=True, like=m), ad.Tensor)
    assert isinstance(np.ascontiguousarray(m, like=m), ad.Tensor)


def orders(x):
    return x.T * 2.0, np.asfortranarray(x + 1), (x * 2.0)[:, ::-1], np.transpose(np.sin(x)), np.take(x, [1, 0], axis=1)


@pytest.mark.parametrize("backend", ["numpy", "native"])
def test_results_of_compiled_functions_lie_as_numpys(backend):
    x = np.arange(12.0).reshape(3, 4)
    compiled = ad.compile(orders, wait=True, backend=backend)
    compiled(x + 1), compiled(x + 2)
    for found, expected in zip(compiled(x), orders(x), strict=True):
        assert found.strides == expected.strides
        assert np.allclose(found, expected)
    t = ad.tensor(x, requires_grad=True)
    compiled = ad.compile(lambda t: np.transpose(t * 3.0) * t.T, wait=True, backend=backend)
    compiled(t), compiled(t)
    y = compiled(t)
    assert y.data.strides == (np.transpose(x * 3.0) * x.T).strides
    y.reshape(-1)[0] = 100.0
    y.sum().backward()
    assert np.allclose(t.grad.numpy(), 6 * x)


ARGUMENTS = {
    "Fortran": lambda: np.asfortranarray(np.linspace(0.3, 1.4, 12).reshape(3, 4)),
    "strided": lambda: np.linspace(0.3, 1.4, 24).reshape(3, 8)[:, ::2],
    "backwards": lambda: np.linspace(0.3, 1.4, 12).reshape(3, 4)[:, ::-1],
    "a part": lambda: np.linspace(0.3, 1.4, 60).reshape(3, 20)[:, 3:7],
}
ONE = {
    "grad": lambda f, x: ad.value_and_grad(f)(x)[0],
    "jvp": lambda f, x: ad.jvp(f, (x,), (np.ones(x.shape),))[0],
    "vmap": lambda f, x: ad.vmap(f)(np.asfortranarray(np.stack([x, x])))[1],
}


@pytest.mark.parametrize("mode", ONE)
@pytest.mark.parametrize("name", ARGUMENTS)
def test_arguments_keep_their_layout(name, mode):
    def f(x):
        line, same, copy = np.ravel(x), np.reshape(x, -1), np.ascontiguousarray(x)
        line[0] = 5.0
        same[1] = 7.0
        copy[2] = 9.0
        return np.sum(x * np.arange(12.0).reshape(3, 4))

    x = ARGUMENTS[name]()
    expected = f(np.asfortranarray(np.stack([x, x]))[1] if mode == "vmap" else ARGUMENTS[name]())
    assert np.isclose(ONE[mode](f, x), expected)


def rolled(x):
    a = x * 1.0
    np.concatenate([a[1:], a[:1]], out=a)
    return a


def rows_turned(x):
    a = np.outer(x, x)
    np.stack([a[1], a[0]], out=a[:2])
    return a


def line_of_columns(x):
    a = np.outer(x, x + 1)
    np.concatenate([a.T, a[:0]], axis=None, out=a.reshape(-1))
    return a


def range_of_what_it_is_written_into(x):
    a = np.outer(x, x)
    np.ptp(a, axis=0, out=a[2])
    return a


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("f", [rolled, rows_turned, line_of_columns, range_of_what_it_is_written_into])
def test_results_that_numpy_writes_over_what_it_still_reads(f, mode):
    with pytest.raises(ad.InPlaceError, match="lie in the memory that is written"):
        MODES[mode](lambda x: np.sum(f(x)))


def moved_by_one(x):
    a = x * 1.0
    np.concatenate([a[1:], [5.0]], out=a)
    return np.sum(a * x)


@pytest.mark.parametrize("mode", VALUES)
def test_the_first_array_may_lie_where_all_are_put(mode):
    assert np.isclose(VALUES[mode](moved_by_one), moved_by_one(X))
