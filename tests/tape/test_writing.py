"""Writing in place: every form of assignment, through views, over saved values, and what is refused."""

from __future__ import annotations

import gc

import numpy as np
import pytest

import adjoint as ad
from adjoint import nn
from adjoint.tape.writes import mutations
from adjoint.testing import check_grads

W = np.random.default_rng(0).normal(size=(3, 3))
X = np.array([0.3, 0.7, 1.1])


def through_a_view(x):
    y = x * 1
    v = y[0:1]
    v *= 10
    return (y**2).sum()


def overwritten(x):
    y = np.zeros_like(x)
    y[0] = 2 * x[0]
    y[0] = 5 * x[1]
    return (y * y).sum()


def same_element_twice(x):
    y = np.zeros_like(x)
    y[[0, 0]] = x[:2]
    return (y**2).sum()


def shifted(x):
    y = x * 1
    y[1:] = 2 * y[:-1]
    return (y**3).sum()


def overlapping_copy(x):
    y = x * 1
    y[1:] = y[:-1]
    return (y**3).sum()


def over_a_saved_value(x):
    y = x * 2
    z = np.sin(y)
    y += 1
    return (z * y).sum()


def over_a_saved_view(x):
    y = x * 2
    z = np.sin(y)
    y[0:1] += 1
    w = np.cos(y[1:])
    y[1:] *= 3
    return (z * y).sum() + w.sum()


def rows(x):
    y = np.zeros_like(x, shape=(6, 3))
    y[0] = x
    for i in range(1, 6):
        y[i] = np.tanh(W @ y[i - 1])
    return (y**2).sum()


def columns(x):
    y = np.zeros_like(x, shape=(3, 6))
    y[:, 0] = x
    for i in range(1, 6):
        y[:, i] = np.tanh(W @ y[:, i - 1])
    return (y[:, -1] ** 2).sum() + (y[0] * y[1]).sum()


def heat(x):
    u = np.concatenate([x, x**2])
    for _ in range(5):
        u[1:-1] += 0.1 * u[1:-1] ** 2 * (u[2:] - 2 * u[1:-1] + u[:-2])
    return (u**2).sum()


def swapped(x):
    a = x * 1
    t = a[0]
    a[0] = a[1] * a[2]
    a[1] = t * t
    return (a**2 * np.array([1.0, 2.0, 3.0])).sum()


def views_of_views(x):
    a = x * 1
    r = a.reshape(-1)[::-1]
    r[:2] *= a[1:]
    s = a.reshape(3, 1).T[0]
    s[0] = s[2] * s[1]
    return (a**2 * np.array([1.0, 2.0, 3.0])).sum() + r[0]


def one_of_many_views(x):
    y = x * 1
    a, b, c = y.reshape(3, 1)
    a *= 2
    b[...] = a * c
    c += b
    return (y**2).sum()


def masks(x):
    y = x * 1
    y[y > 0.5] = y[y > 0.5] ** 2
    y[np.array([0, 2])] += y[1]
    return (y**3).sum()


def a_number_is_a_copy(x):
    total = x[0]
    for k in range(1, 3):
        total *= x[k]
    return total + x.sum()


def functions(x):
    y = np.zeros_like(x)
    for i in range(3):
        y[i] = np.sin(x[i])
    np.add.at(y, [0, 0, 1], x)
    np.subtract.at(y, np.array([2, 2]), x[:2])
    np.copyto(y[1:], y[:-1] * x[1:])
    np.copyto(y, x, where=np.array([False, True, False]))
    np.put(y, [0, 2], x[:2] ** 2)
    np.maximum(y, 0.1, out=y)
    np.exp(y[1:], out=y[1:])
    np.multiply(y, x, out=y, where=np.array([True, False, True]))
    np.put_along_axis(y, np.array([1]), x[2:], axis=0)
    np.putmask(y, np.array([False, False, True]), x * 3)
    y.sort()
    return (y**2 * np.array([1.0, 2.0, 3.0])).sum()


def diagonals(x):
    m = np.zeros_like(x, shape=(3, 3))
    np.fill_diagonal(m, x)
    m[np.tril_indices(3, -1)] = x * x[0]
    np.place(m, np.eye(3, k=1, dtype=bool), x[1:])
    m.fill(x[0]) if m[0, 0] > 100 else None
    return (m @ m).sum()


def broadcast(x):
    m = np.zeros_like(x, shape=(2, 3))
    m[...] = x
    m[:, 1:] *= x[0]
    m[0] /= x
    m[1] **= 2
    m[:, 0:1] -= np.ones((2, 1)) * x[2]
    return (m**2).sum()


def views_that_change_nothing(x):
    y = x * 1
    np.squeeze(y)[0] *= y[1]
    part = y.real
    part += 0.1 * y[2]
    y.astype(float, copy=False)[1:] *= 3
    y.conj()[2] += y[0]
    y.view()[1] += y[0]
    y.real = y.real * 2 + 0.1
    return (y**2 * np.array([1.0, 2.0, 3.0])).sum()


def lines(x):
    y = np.stack([x, x**2])
    y.ravel()[1] *= 2  # a view
    y.T.ravel()[1] *= 2  # a copy
    y[:, ::-1].ravel()[0] *= 2  # a copy
    backwards = y[0, ::-1]
    backwards.ravel()[0] *= 2  # a copy: NumPy's line has no gaps
    backwards.reshape(-1)[0] *= 3  # a view
    np.block(backwards)[1] *= 5  # a copy
    y.flatten()[0] = 0.0  # a copy
    return (y**2 * np.arange(6.0).reshape(2, 3)).sum() + y.flat[1:5:2].sum()


def layouts(x):
    y = np.stack([x, x**2])
    y.T.copy().reshape(-1)[0] *= 2  # of a copy
    c = y.T.copy()
    c.reshape(-1)[:2] *= 3  # the copy lies in rows: a view
    y[...] = y[::-1]
    np.flip(y, 0).reshape(-1)[0] *= 5  # still a copy
    return (y**2 * np.arange(6.0).reshape(2, 3)).sum() + (c**2).sum()


def by_flat_numbers(x):
    y = np.zeros_like(x, shape=(3, 3))
    y.flat[::4] = x
    y.flat[[1, -1]] = x[:2] ** 2
    y.T.flat[1:4] = x[0] * np.ones(2)  # filled in turn
    y.flat[[]] = x
    y[1].flat = x[1]
    return (y**2 * np.arange(9.0).reshape(3, 3)).sum() + sum(v * (len(y.flat) + i) for i, v in enumerate(y.flat))


def parts_of_numbers(x):
    z = np.stack([x, x**2]) + 1j * np.stack([x[::-1], x])
    z.real *= 2
    z.T.imag[1:] += z.T.real[:2] * x[0]
    flat = z.reshape(-1)
    flat.imag[2] = x[1] * flat.real[0]
    flat.real = flat.imag * x[2]
    z.imag = z.imag**2
    return np.sum(np.abs(np.exp(z.T * (1 + 0.5j))) ** 2)


def lists(x):
    y = np.zeros_like(x, shape=(3, 3))
    y[:2, 2] = [x[0], 2.0]
    y[0, :2] = (1.0, x[1])
    y[1:, :2] = [[x[2], 3], [4, x[0] * x[1]]]
    return (y**2).sum()


def copy_that_is_locked(x):
    y = np.copy(x)
    y.setflags(write=False)
    return y[0] * y[1] + y[2]


PROGRAMS = [
    through_a_view, overwritten, same_element_twice, shifted, overlapping_copy, over_a_saved_value, over_a_saved_view,
    rows, columns, heat, swapped, views_of_views, one_of_many_views, masks, a_number_is_a_copy, functions, diagonals,
    broadcast, views_that_change_nothing, lines, layouts, by_flat_numbers, parts_of_numbers,
    lists, copy_that_is_locked,
]  # fmt: skip


def test_a_locked_tensor_refuses_writes():
    t = ad.tensor(X, requires_grad=True) * 1
    t.setflags(write=False)
    with pytest.raises(ValueError, match="read-only"):
        t[0] = 1.0


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
class TestPrograms:
    """Plain NumPy programs that write in place, as they are."""

    def test_value_is_numpys(self, program):
        assert program(ad.tensor(X)).item() == pytest.approx(program(X.copy()).item(), rel=1e-14)
        assert ad.value_and_grad(program)(X)[0] == pytest.approx(program(X.copy()), rel=1e-14)

    def test_gradients_to_second_order(self, program):
        check_grads(program, (X,), order=2)

    def test_eagerly_and_twice(self, program):
        x = ad.tensor(X, requires_grad=True)
        loss = program(x)
        loss.backward()
        once = x.grad.tolist()
        np.testing.assert_allclose(once, ad.grad(program)(X), rtol=1e-13)
        loss.null_gradients()
        loss.backward()
        assert x.grad.tolist() == once

    def test_forward_mode_and_inside_vmap(self, program):
        value, tangent = ad.jvp(program, (X,), (np.ones(3),))
        assert value == pytest.approx(program(X.copy()), rel=1e-13)
        assert tangent == pytest.approx(ad.grad(program)(X).sum(), rel=1e-10)
        if program not in (masks, functions):  # masks that differ between samples
            np.testing.assert_allclose(ad.vmap(program)(np.stack([X, X + 0.1])), [program(X.copy()), program(X + 0.1)])

    def test_create_graph(self, program):
        x = ad.tensor(X, requires_grad=True)
        program(x).backward(create_graph=True)
        g, x.grad = x.grad, None
        g.sum().backward()
        np.testing.assert_allclose(x.grad, ad.hessian(program)(X).sum(axis=0), rtol=1e-10, atol=1e-12)


class TestConstants:
    def test_written_like_arrays(self):
        t = ad.tensor(np.zeros((2, 2)))
        t[0] = 1.0
        t[:, 1] += 5.0
        t *= 2.0
        assert t.tolist() == [[2.0, 12.0], [0.0, 10.0]]

    def test_shared_memory_stays_shared(self):
        a = np.zeros(3)
        t = ad.Tensor(a)
        t[1] = 5.0
        t += 1.0
        assert a.tolist() == [1.0, 6.0, 1.0]

    def test_a_constant_that_a_rule_saved(self):
        c = ad.tensor([2.0, 3.0])
        x = ad.tensor([1.0, 1.0], requires_grad=True)
        y = x * c
        c[0] = 100.0
        y.sum().backward()
        assert x.grad.tolist() == [2.0, 3.0]


class TestLeaves:
    def test_only_under_no_grad(self):
        t = ad.tensor([1.0, 2.0], requires_grad=True)
        for write in (lambda: t.__setitem__(0, 5.0), lambda: t.__iadd__(1), lambda: t[0:1].__imul__(2)):
            with pytest.raises(ad.InPlaceError, match="copy"):
                write()
        with pytest.raises(ad.InPlaceError):
            np.exp(t, out=t)
        assert t.tolist() == [1.0, 2.0]
        with ad.no_grad():
            t -= 1.0
            t[1] = 9.0
        assert t.tolist() == [0.0, 9.0]
        assert t.is_leaf

    def test_a_step_between_forward_and_backward_is_found(self):
        w = ad.tensor([2.0], requires_grad=True)
        loss = (w * w * w).sum()
        with ad.no_grad():
            w -= 1.0
        with pytest.raises(ad.InPlaceError, match="outside the graph"):
            loss.backward()


class TestArraysOfTheCaller:
    """Whatever a leaf was made of: a write behind its back fails, or has no part in the gradient."""

    @pytest.mark.parametrize("made", [lambda a: ad.Tensor(a, requires_grad=True), nn.Parameter])
    def test_a_shared_array_is_read_only_as_long_as_the_leaf_lives(self, made):
        a = np.array([1.0, 2.0])
        t = made(a)
        loss = (t**3).sum()
        assert np.shares_memory(t.numpy(), a)
        with pytest.raises(ValueError, match="read-only"):
            a[0] = 100.0
        loss.backward()
        assert t.grad.tolist() == [3.0, 12.0]
        del t, loss
        gc.collect()
        a[0] = 100.0

    @pytest.mark.parametrize(
        "made",
        [
            lambda a: ad.tensor(a, requires_grad=True),
            lambda a: ad.Tensor(a).requires_grad_(),
            lambda a: ad.Tensor(a[:]).requires_grad_(),
            lambda a: ad.Tensor(a[:], requires_grad=True),
            lambda a: nn.Parameter(a[:]),
            lambda a: nn.Parameter(np.broadcast_to(a, (2,))),
            lambda a: ad.Tensor(np.from_dlpack(a), requires_grad=True),
            lambda a: ad.from_dlpack(a).requires_grad_(),
            lambda a: ad.Tensor(memoryview(a), requires_grad=True),
            lambda a: nn.Parameter(a[:]).requires_grad_(False).requires_grad_(),
        ],
    )
    def test_other_memory_is_copied(self, made):
        a = np.array([1.0, 2.0])
        t = made(a)
        loss = (t**3).sum()
        a[:] = 100.0
        loss.backward()
        assert t.grad.tolist() == [3.0, 12.0]
        with ad.no_grad():
            t -= 1.0
        assert t.tolist() == [0.0, 1.0]

    def test_two_leaves_of_one_array(self):
        a = np.array([1.0, 2.0])
        first = ad.Tensor(a, requires_grad=True)
        second = ad.Tensor(a, requires_grad=True)
        loss = (second**3).sum()
        del first
        gc.collect()
        a[:] = 100.0
        loss.backward()
        assert second.grad.tolist() == [3.0, 12.0]

    def test_a_parameter_of_a_tensor_shares_its_memory_and_sees_what_is_written_to_it(self):
        t = ad.tensor([1.0, 2.0])
        p = nn.Parameter(t)
        assert p.held is t.held
        loss = (p**3).sum()
        t[0] = 100.0
        loss.backward()
        assert p.grad.tolist() == [3.0, 12.0]

    def test_memory_that_nobody_else_has_is_not_copied(self):
        t = ad.tensor(np.ones(3))
        address = t.data.ctypes.data
        assert t.requires_grad_().data.ctypes.data == address


class TestRefused:
    def test_read_only_views(self):
        x = ad.tensor([1.0], requires_grad=True)
        with pytest.raises(ValueError, match="read-only"):
            np.broadcast_to(x * 1, (3,)).__imul__(2)
        with pytest.raises(ValueError, match="read-only"):
            np.lib.stride_tricks.sliding_window_view(ad.tensor(np.arange(5.0)) * 1, 3).__iadd__(1)

    def test_gradients_do_not_fit_into_whole_numbers(self):
        t = ad.tensor([1, 2])
        with pytest.raises(ad.DTypeError, match=r"astype\(float\)"):
            t[0] = ad.tensor(1.5, requires_grad=True)
        with pytest.raises(TypeError):
            t += 0.5
        assert t.tolist() == [1, 2]

    def test_wrong_shapes_leave_the_tensor_as_it_was(self):
        x = ad.tensor([1.0, 2.0], requires_grad=True)
        y = x * 2
        with pytest.raises(ValueError, match="broadcast"):
            y[...] = np.ones(3)
        with pytest.raises(ad.ShapeError, match="in place"):
            y += np.ones((2, 2))
        y.sum().backward()
        assert x.grad.tolist() == [2.0, 2.0]

    def test_plain_arrays_as_targets(self):
        with pytest.raises(ad.LeavesGraphError, match="zeros_like"):
            np.copyto(np.zeros(2), ad.tensor([1.0, 2.0], requires_grad=True))
        plain = np.zeros(2)
        with pytest.raises(ad.LeavesGraphError):
            ad.vmap(lambda x: np.copyto(plain, x))(np.ones(2))
        with pytest.raises(ad.LeavesGraphError):
            ad.grad(lambda x: np.add.at(plain, [0], x[:1]))(np.ones(2))

    @pytest.mark.parametrize(
        "write",
        [
            lambda a, v: np.copyto(a, v),
            lambda a, v: np.copyto(a, v, where=[True, False, True]),
            lambda a, v: np.put(a, [2, 0], v),
            lambda a, v: np.place(a, [True, False, True], v),
            lambda a, v: np.putmask(a, [True, False, True], v),
            lambda a, v: np.put_along_axis(a, np.array([2, 0, 1]), v, 0),
            lambda a, v: np.fill_diagonal(a[:, None], v),
            lambda a, v: np.add.at(a, [2, 0, 2], v),
            lambda a, v: np.subtract.at(a, [2, 0, 2], v),
        ],
    )
    def test_a_tensor_without_a_gradient_is_written_into_a_plain_array(self, write):
        values = np.array([1.5, -2.0, 0.25])
        ours, numpys = np.ones(3), np.ones(3)
        write(ours, ad.tensor(values))
        write(numpys, values)
        assert ours.tolist() == numpys.tolist()


class TestCost:
    def test_nothing_is_kept_when_nothing_was_saved(self):
        x = ad.tensor(2.0, requires_grad=True)
        y = ad.tensor(np.zeros(100))
        for i in range(100):
            y[i] = x
        assert id(y.held) not in mutations._written
        y.sum().backward()
        assert x.grad.item() == 100.0

    def test_what_is_kept_goes_with_the_array(self):
        x = ad.tensor(np.ones(10), requires_grad=True)
        y = x * 2
        z = y * y
        y[3] = 5.0
        key = id(y.held)
        assert key in mutations._written
        del y, z
        gc.collect()
        assert key not in mutations._written

    def test_a_path_of_views_may_be_long(self):
        y = a = ad.tensor(np.ones((2, 2)), requires_grad=True) * 1
        for _ in range(101):
            y = y.T
        y[0] = [2.0, 3.0]
        assert a.tolist() == [[2.0, 1.0], [3.0, 1.0]]


def test_a_write_through_one_view_shows_in_another():
    x = ad.tensor(np.arange(4.0), requires_grad=True)
    y = x * 1
    first, second = y[:3], y[1:]
    first[1] = x[3] * 10
    assert second.tolist() == [30.0, 2.0, 3.0]
    (second * second).sum().backward()
    assert x.grad.tolist() == [0.0, 0.0, 4.0, 6.0 + 2 * 30 * 10]


def test_a_view_of_a_leaf_follows_an_optimiser():
    w = ad.tensor(np.ones((2, 3)), requires_grad=True)
    t = w.T
    with ad.no_grad():
        w += 1.0
    assert t.tolist() == [[2.0, 2.0]] * 3


@pytest.mark.parametrize("which", [0, 1, 2])
def test_a_write_into_one_of_several_results_leaves_their_rule_what_it_saved(which):
    a = np.random.default_rng(0).normal(size=(5, 3))

    def program(a, in_place):
        parts = list(np.linalg.svd(a, full_matrices=False))
        if in_place:
            parts[which] *= -2.0
        else:
            parts[which] = parts[which] * -2.0
        return np.sum(parts[0][0] * parts[1] * parts[2][1])

    expected = ad.grad(lambda a: program(a, False))(a)
    np.testing.assert_allclose(ad.grad(lambda a: program(a, True))(a), expected, rtol=1e-12)


def test_a_write_into_one_of_any_number_of_arguments():
    def program(x):
        y, z = x * 1.0, x + 1.0
        out = np.einsum("i,i,i->i", x, y, z)
        y *= 5.0
        return np.sum(out + y)

    x = np.array([1.0, 2.0])
    np.testing.assert_allclose(ad.grad(program)(x), 3 * x**2 + 2 * x + 5)


@pytest.mark.parametrize("order", list("CFAK"))
@pytest.mark.parametrize("arranged", [np.copy, np.transpose, np.fliplr, lambda x: np.stack([x, x]).transpose(1, 2, 0)])
def test_a_line_in_the_order_of_memory(arranged, order):
    x = np.arange(6.0).reshape(2, 3)
    a, weights = arranged(x), np.arange(1.0, 1 + arranged(x).size)
    expected = np.bincount(np.ravel(a, order).astype(int), weights).reshape(2, 3)
    for line in (np.ravel, lambda a, order: a.flatten(order)):
        t = ad.tensor(x, requires_grad=True)
        out = line(arranged(t), order)
        np.testing.assert_array_equal(out.detach(), np.ravel(a, order))
        np.sum(out * weights).backward()
        np.testing.assert_array_equal(t.grad, expected)


def test_a_reshape_by_the_order_of_memory_is_numpys_where_the_shape_has_a_name():
    t = ad.tensor(W, requires_grad=True)
    for turned, expected in ((t.T, W.T), (t, W)):
        line = np.reshape(turned, shape=W.size, order="A")
        np.testing.assert_array_equal(line.detach(), np.reshape(expected, W.size, order="A"))


@pytest.mark.parametrize("chosen", [lambda y: y, lambda y: y[::-1]])
def test_places_that_are_filled_with_the_same_memory_are_refused(chosen):
    def program(x):
        y = x * 1.0
        np.place(y, y > 0.0, chosen(y))
        return np.sum(y)

    for derived in (ad.grad, ad.vmap, lambda f: lambda x: ad.jvp(f, (x,), (x,))):
        with pytest.raises(ad.InPlaceError, match=r"np.place\(arr, mask, vals.copy\(\)\)"):
            derived(program)(np.array([[1.0, -2.0, 3.0]]))
