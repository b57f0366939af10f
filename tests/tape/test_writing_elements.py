"""Elements that are written one by one, as loops fill arrays: the same as any other write."""

import numpy as np
import pytest

import adjoint as ad


def check(fill, x):
    """The gradient of the sum of squares of what `fill` makes, against that of the same made of lists."""
    point = np.asarray(x)
    found = ad.grad(lambda x: np.sum(fill(x) ** 2))(point)
    eps = 1e-6
    for i in range(len(point)):
        up, down = point.copy(), point.copy()
        up[i] += eps
        down[i] -= eps
        expected = (np.sum(fill(up) ** 2) - np.sum(fill(down) ** 2)) / (2 * eps)
        np.testing.assert_allclose(found[i], expected, rtol=1e-5, atol=1e-7)
    assert ad.hessian(lambda x: np.sum(fill(x) ** 2))(point).shape == (len(point),) * 2


def recurrence(x):
    a = np.zeros(6)
    a[0] = x[0]
    for i in range(1, 6):
        a[i] = np.sin(a[i - 1]) + x[1]
    return a


def backwards(x):
    a = np.ones(5)
    for i in range(1, 6):
        a[-i] = x[0] * i * a[0]
    return a


def rows(x):
    a = np.zeros((3, 2))
    for i in range(3):
        a[i] = x * (i + 1.0)
    a[1] = x[0]
    return a


def repeated(x):
    a = np.zeros(3)
    for i in (0, 1, 0, 2, 0):
        a[i] = x[i % 2] * (i + 1) + a[0]
    return a


def used_between(x):
    a = np.full(3, 2.0)
    a[0] = x[0] * 1.0
    b = a * a
    a[0] = x[1] * 3.0
    a[1] = b[0] * x[1]
    return a + b


def seen_before(x):
    a = np.zeros(4)
    a[0] = x[0] * 2.0
    first = a[:2]
    a[1] = x[1] * 5.0
    kept = first * 1.0
    a[0] = x[1] * a[1]
    return np.concatenate([kept, first, a])


def swapped(x):
    a = np.zeros(2)
    a[0], a[1] = x[0] * 1.0, x[1] * 2.0
    a[0], a[1] = a[1], a[0]
    a[1] = a[0]
    return a


def mixed(x):
    a = np.zeros(3)
    a[0] = x[0] * 1.0
    a[1] = 7.0
    a[0] = a[0] * x[1]
    a[2] = 3
    a[1] = x[1] * a[2]
    return a


@pytest.mark.parametrize("fill", [recurrence, backwards, rows, repeated, used_between, seen_before, swapped, mixed])
def test_loops_that_fill(fill):
    check(fill, [0.3, 0.8])


def test_single_precision_and_mixtures():
    for of_value in (np.float32, np.float64):
        for of_array in (np.float32, np.float64):

            def f(x, of_value=of_value, of_array=of_array):
                a = np.zeros(2, of_array)
                a[0] = (x * 2.0).astype(of_value)
                a[1] = a[0] * 3.0
                return np.sum(a)

            found = ad.grad(f)(np.float64(0.25))
            assert found == 8.0
            assert found.dtype == np.float64


def test_a_write_that_numpy_refuses_changes_nothing():
    a = ad.tensor(np.zeros(2))
    x = ad.tensor(3.0, requires_grad=True)
    a[0] = x * 2.0
    node = a.node
    with pytest.raises(IndexError):
        a[2] = x * 5.0
    with pytest.raises(ValueError, match=r"sequence|array element"):
        a[0] = np.stack([x * 1.0, x * 2.0])
    with pytest.raises(IndexError):
        ad.tensor(np.zeros(()))[0] = x * 1.0
    assert a.node is node
    np.sum(a).backward()
    assert x.grad.item() == 2.0


def test_leaves_and_foreign_memory():
    x = ad.tensor(3.0, requires_grad=True)
    leaf = ad.tensor(np.ones(2), requires_grad=True)
    with pytest.raises(ad.InPlaceError):
        leaf[0] = x * 1.0
    mine = np.zeros(2)
    t = ad.Tensor(mine)
    used = x * t
    t[0] = x * 4.0
    assert mine[0] == 12.0
    (np.sum(used) + np.sum(t)).backward()
    assert x.grad.item() == 4.0


def test_without_recording_nothing_is_recorded():
    a, x = ad.tensor(np.zeros(2)), ad.tensor(3.0, requires_grad=True)
    y = x * 2.0
    with ad.no_grad():
        a[0] = y
    assert a.node is None
    assert a[0].item() == 6.0


def test_levels_meet():
    def inner(x):
        a = np.zeros(2)
        a[0] = x * x
        return ad.grad(lambda y: helper(a, y))(x)

    def helper(a, y):
        b = np.zeros(2)
        b[0] = y * a[0]
        b[1] = b[0] * y
        return np.sum(b)

    # a = x², d/dy (a y + a y²) at y = x: x² + 2 x³; its derivative: 2 x + 6 x²
    assert ad.grad(inner)(0.5) == pytest.approx(1.0 + 1.5)
