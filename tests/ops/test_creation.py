"""Arrays made from arrays, and calls that only work in place."""

from __future__ import annotations

import numpy as np
import pytest

import adjoint as ad
from adjoint.testing import check_grads


def test_full_like_is_differentiable_in_its_value():
    t = ad.tensor(np.zeros((2, 3)), requires_grad=True)
    assert ad.grad(lambda v: np.sum(np.full_like(t.detach(), v)))(2.0) == 6.0
    # NumPy asks only the first argument who answers, so with a plain one the call is ours.
    assert ad.grad(lambda v: np.sum(ad.full_like(np.zeros((2, 3)), v)))(2.0) == 6.0


def test_full_like_of_integers_cannot_hold_a_gradient():
    with pytest.raises(ad.ArgumentError, match="dtype=float"):
        ad.full_like(np.zeros(3, int), ad.tensor(2.0, requires_grad=True))


def test_linspace_weighs_its_ends():
    assert ad.vjp(lambda a, b: np.linspace(a, b, 3), 0.0, 1.0)[1](np.ones(3)) == (1.5, 1.5)


def test_geomspace_of_negative_numbers():
    out = np.geomspace(ad.tensor(-1.0, requires_grad=True), -8.0, 4)
    np.testing.assert_allclose(out.numpy(), [-1.0, -2.0, -4.0, -8.0])


@pytest.mark.parametrize("kind", [np.float64, np.float32, np.float16, np.complex64])
@pytest.mark.parametrize("options", [{}, {"endpoint": False}, {"num": 1}, {"num": 0}, {"num": 2}, {"dtype": "c16"}])
def test_geomspace_has_the_bits_of_numpys(kind, options):
    given = kind(2.5), kind(9)
    expected, found = np.geomspace(*given, **options), np.geomspace(ad.tensor(given[0]), given[1], **options)
    np.testing.assert_array_equal(found.numpy(), expected)
    assert found.dtype == expected.dtype


@pytest.mark.parametrize("obj", [0, 2, -1, [1], [0, 0, 3], slice(0, 3, 2), np.array([True, False, True])])
def test_insert_and_delete_at_any_index(obj):
    x = np.arange(3.0)
    t = ad.tensor(x, requires_grad=True)
    if not (isinstance(obj, list) and 3 in obj):
        assert np.delete(t, obj).tolist() == np.delete(x, obj).tolist()
    out = np.insert(t, obj, 9.0)
    assert out.tolist() == np.insert(x, obj, 9.0).tolist()
    out.sum().backward()
    assert t.grad.tolist() == [1.0, 1.0, 1.0]


def test_inserted_values_have_gradients():
    assert ad.grad(lambda v: np.insert(np.zeros((2, 2)), 1, v, axis=1)[1, 1])(np.array([3.0, 4.0])).tolist() == [0, 1]


def test_unique_elements_send_their_gradient_to_the_first():
    values, counts = np.unique(t := ad.tensor([2.0, 1.0, 2.0], requires_grad=True), return_counts=True)
    assert (values.tolist(), counts.tolist()) == ([1.0, 2.0], [1, 2])
    values.sum().backward()
    assert t.grad.tolist() == [1.0, 1.0, 0.0]


def test_grids_can_be_written():
    def f(x):
        gx, gy = np.meshgrid(x, 2 * x)
        gx -= 1.0
        gy *= gx
        return np.sum(gy**2)

    check_grads(f, (np.array([0.3, 0.5]),))


def test_meshgrid_sums_over_the_axes_it_repeats():
    x, y = np.arange(3.0), np.arange(2.0)
    gx, gy = ad.grad(lambda x, y: np.sum(np.multiply(*np.meshgrid(x, y))), (0, 1))(x, y)
    assert (gx.tolist(), gy.tolist()) == ([1.0, 1.0, 1.0], [3.0, 3.0])


def test_apply_along_axis_puts_axes_where_numpy_does():
    x = np.arange(24.0).reshape(2, 3, 4)
    for axis in (0, 1, -1):
        f = lambda row: np.outer(row, np.ones(2))
        ours = np.apply_along_axis(f, axis, ad.tensor(x, requires_grad=True))
        assert np.array_equal(ours.numpy(), np.apply_along_axis(f, axis, x))


def test_piecewise_calls_each_function_on_its_own_elements_only():
    x = np.array([-4.0, 9.0])
    value, pullback = ad.vjp(lambda x: np.piecewise(x, [x >= 0], [np.sqrt, lambda v: -v]), x)
    assert value.tolist() == [4.0, 3.0]
    np.testing.assert_allclose(pullback(np.ones(2))[0], [-1.0, 1 / 6])
