"""Carlson's integrals: derivatives of the first three orders, above all where arguments are equal, or nearly so."""

import itertools

import mpmath as mp
import numpy as np
import pytest
from scipy import special

import adjoint as ad
from adjoint.ops.special.elliptic.carlson import integral
from tests.backends.strict import inside, strict

NEAR = 1 + 1e-9
POINTS = [
    *(("elliprc", p) for p in [(1.0, 1.0), (1.0, NEAR), (3.0, 1.0)]),
    *(("elliprd", p) for p in [(1.0, 1.0, 1.0), (2.0, 2.0, 1.0), (0.5, 2.0, 0.5), (NEAR, 1.0, 1.0), (0.0, 1.0, 1.0)]),
    *(("elliprf", p) for p in [(1.0, 1.0, 1.0), (1.0, 2.0, 2.0), (NEAR, 1.0, 2.0), (0.0, 1.0, 2.0)]),
    *(("elliprg", p) for p in [(1.0, 1.0, 1.0), (1.0, 2.0, 2.0), (NEAR, 1.0, 2.0), (0.0, 1.0, 2.0)]),
    *(
        ("elliprj", p)
        for p in [(1.0, 1.0, 1.0, 1.0), (1.0, 2.0, 3.0, 3.0), (1.0, 1.0, 2.0, NEAR), (0.0, 1.0, 2.0, 2.0)]
    ),
]


def derivative(f, indices):
    for i in indices:
        f = ad.grad(f, argnums=i)
    return f


@pytest.mark.parametrize(("name", "point"), POINTS, ids=str)
def test_derivatives_of_three_orders(name, point):
    f, exact, places = getattr(special, name), getattr(mp, name), [i for i, x in enumerate(point) if x]
    with mp.workdps(30):
        for order in (1, 2, 3) if len(set(point)) < 2 else (1, 2):
            for indices in itertools.combinations_with_replacement(places, order):
                wanted = mp.diff(exact, point, tuple(map(indices.count, range(len(point)))))
                found = derivative(f, indices)(*point)
                assert found == pytest.approx(float(wanted), rel=1e-13), indices


@pytest.mark.parametrize(
    ("f", "point"),
    [
        (special.elliprc, (1.0, -2.0)),
        (special.elliprj, (1.0, 2.0, 3.0, -1.5)),
        (special.elliprj, (0.0, 2.0, 2.0, -1.5)),
        (special.agm, (1.0, 1.0)),
        (special.ellipkinc, (0.7, 0.0)),
        (special.ellipeinc, (4.0, 0.0)),
        (special.ellipkm1, (1.0,)),
    ],
    ids=str,
)
def test_second_derivatives_by_differences(f, point):
    """Principal values, and functions whose derivatives are Carlson's."""
    h, places = 1e-4, [i for i, x in enumerate(point) if x or f is not special.elliprj]
    for i, j in itertools.product(places, repeat=2):
        slope = derivative(f, (i,))

        def moved(d, slope=slope, j=j):
            return slope(*(x + d * (k == j) for k, x in enumerate(point)))

        wanted = (8 * (moved(h) - moved(-h)) - (moved(2 * h) - moved(-2 * h))) / (12 * h)
        assert derivative(f, (i, j))(*point) == pytest.approx(wanted, rel=1e-7, abs=1e-9)


def test_where_they_are_infinite_and_where_they_are_not():
    assert derivative(special.elliprd, (0,))(0.0, 1.0, 1.0) == -np.inf
    assert derivative(special.elliprg, (2,))(0.0, 0.0, 4.0) == pytest.approx(1 / 8)  # of sqrt(z) / 2
    assert derivative(special.elliprg, (0,))(0.0, 1.0, 2.0) == pytest.approx(special.elliprf(0.0, 1.0, 2.0) / 4)


def test_complex_arguments_on_both_sides_of_the_cut():
    x = np.array([1.0 + 0.5j, -1.0 + 0.5j, -2.0 - 0.1j])

    def f(x):
        return special.elliprj(x, 1.0 + 1j, 2.0, 1.0 + 2j)

    h = 1e-4
    _, found = ad.jvp(f, (x,), (np.ones(3) + 0j,))
    np.testing.assert_allclose(found, (8 * (f(x + h) - f(x - h)) - (f(x + 2 * h) - f(x - 2 * h))) / (12 * h), rtol=1e-7)


def test_arguments_of_very_different_sizes():
    with mp.workdps(30):
        wanted = float(mp.diff(mp.elliprd, (mp.mpf("1e-6"), 1.3, mp.mpf("1e6")), (0, 1, 0)))
    assert derivative(special.elliprd, (1,))(1e-6, 1.3, 1e6) == pytest.approx(wanted, rel=1e-13)


def test_arguments_as_far_apart_as_numbers_can_be():
    powers = (0.5, 0.5, 0.5, 1.0, 0.0)
    assert integral(1e-300, 1e300, 1e300, 1e300, *powers) == 0
    assert integral(1e-300, 1e-12, 1.0, 2.0, *powers) == pytest.approx(integral(0.0, 1e-12, 1.0, 2.0, *powers))


def test_the_integral_on_a_device_of_what_stands_on_every_side():
    x = np.array([0.0, 1.0, np.inf, np.nan, -1.0, 0.0, 1e-9]), np.array([0.0, 0, 1, 1, 1, 1, 2]), np.linspace(1, 2, 7)
    turned = np.array([1 + 1j, 2 - 1j, -1 + 0.1j]), np.array([1.0, 2.0, 1j]), np.full(3, 2.0 - 1j)
    for given in (x, turned):
        here, there = (integral(*map(move, given), 1.5, 0.5, 0.5, 0.5, 1.0, 0.0) for move in (np.asarray, strict))
        np.testing.assert_allclose(inside(there), here, rtol=1e-13)
