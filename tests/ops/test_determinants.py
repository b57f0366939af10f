"""Derivatives of the determinant near singular matrices, of every order and in every mode."""

import numpy as np
import pytest

import adjoint as ad

RNG = np.random.default_rng(5)


def by_minors(m):
    """The determinant of a matrix of three rows as the polynomial that it is."""
    (a, b, c), (d, e, f), (g, h, i) = m
    return a * (e * i - f * h) - b * (d * i - f * g) + c * (d * h - e * g)


def gram(det):
    """The determinant of M M^T; M has rank two at p = (1, 3), up to rounding where `scale` is no whole number."""

    def function(p, scale=1.0):
        m = np.stack(
            [scale * np.stack([p[0], 2.0, 3.0]), scale * np.stack([2.0, p[1], 6.0]), scale * np.array([3.0, 5.0, 9.0])]
        )
        return det(m @ np.swapaxes(m, -1, -2))

    return function


OURS, EXACT = gram(np.linalg.det), gram(by_minors)
MODES = {
    "hessian": ad.hessian,
    "reverse over reverse": lambda f: ad.jacobian(ad.grad(f)),
    "forward over forward": lambda f: ad.jacfwd(ad.jacfwd(f)),
    "compiled": lambda f: ad.compile(ad.hessian(f)),
    "compiled gradient": lambda f: ad.jacfwd(ad.compile(ad.grad(f))),
    "vmap": lambda f: lambda p, *rest: ad.vmap(lambda q: ad.hessian(f)(q, *rest))(np.stack([p, p]))[1],
    "third": lambda f: ad.jacobian(ad.hessian(f)),
    "fourth": lambda f: ad.jacfwd(ad.jacobian(ad.hessian(f))),
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("scale", [1.0, 0.1, 1 / 3])
def test_higher_derivatives_near_a_singular_matrix(mode, scale):
    p = np.array([1.0, 3.0])
    found, expected = MODES[mode](OURS)(p, scale), MODES[mode](EXACT)(p, scale)
    np.testing.assert_allclose(found, expected, atol=1e-11 * np.max(np.abs(expected)))


UNITS = np.array([1e8, 1.0, 1e-6])


def matrices():
    a = RNG.normal(size=(3, 3))
    units = np.diag(UNITS)
    yield "regular", a
    yield "rank two", np.array([[1.0, 2.0, 3.0], [2.0, 3.0, 6.0], [3.0, 5.0, 9.0]]) / 7
    yield "rank one", np.outer(a[0], a[1])
    yield "zero", np.zeros((3, 3))
    yield "units", units @ a @ units
    yield "tiny", 1e-150 * a
    yield "complex of rank two", np.outer(a[0], a[1]) + 1j * np.outer(a[1], a[2])


@pytest.mark.parametrize("a", [pytest.param(a, id=name) for name, a in matrices()])
def test_every_element_of_the_second_derivative(a):
    def hessian(det):
        value = det if a.dtype.kind != "c" else lambda m: np.real(det(m))
        return ad.jvp(ad.grad(value), (a,), (unit,))[1]

    for k in range(9):
        unit = np.zeros(9, a.dtype)
        unit[k] = 1.0
        unit = unit.reshape(3, 3)
        sizes = np.outer(UNITS, UNITS) if np.max(np.abs(a)) > 1e10 else 1.0  # each element has units of its own
        found, expected = hessian(np.linalg.det) * sizes, hessian(by_minors) * sizes
        np.testing.assert_allclose(found, expected, atol=1e-14 * np.max(np.abs(expected)))


def test_second_derivatives_of_a_stack_of_single_precision():
    a = np.stack([np.ones((3, 3)), np.outer([1, 2, 3], [3, 1, 2]), RNG.normal(size=(3, 3))]).astype(np.float32)
    total = lambda det: lambda a: np.sum(det(a) * np.float32([1, 2, 3]))
    each = lambda a: np.stack([by_minors(m) for m in a])
    found, expected = ad.hessian(total(np.linalg.det))(a), ad.hessian(total(each))(a)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, expected, atol=1e-5)


@pytest.mark.filterwarnings("ignore:invalid value encountered in det:RuntimeWarning")
def test_a_matrix_that_is_not_finite_has_no_second_derivative():
    a = np.array([[1.0, np.nan], [2.0, 3.0]])
    assert np.isnan(ad.hessian(np.linalg.det)(a)).all()
