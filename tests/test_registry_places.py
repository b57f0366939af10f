"""Elements that are read and written at places that differ between samples, or in half precision: more of the walk."""

import math

import numpy as np
import pytest

import adjoint as ad
from adjoint.core.registry import operation
from adjoint.testing import check_grads, walk
from adjoint.testing.cases import cases, gradients
from tests.fuzz.programs import made

R = np.random.default_rng(0)
ROWS, ROW, NUMBER = R.normal(size=(4, 3, 5)), R.normal(size=(4, 5)), R.normal(size=4)
PLACES = R.integers(0, 3, 4), R.integers(0, 5, 4), R.integers(0, 5, (4, 2))
MASK, MASKS = R.random((4, 3)) < 0.6, R.random((4, 3, 5)) < 0.5


READ = "a[i] * v; a[i, j] * c; a[:, k] ** 2; a[i, k] ** 2; a[1, k] + a[0][j]; np.take(a[0], k) * c"
READ += "; a[i, Q] ** 2; a[i, [2]]"
WRITTEN = "a[i] = v; a[i, j] = c; a[i, 1:4] = v[:3]; a[:, k] = c; a[1:].T[j] = v[:2]; a[i][1:3] = c; a[m] = c; a[n] = c"
WRITTEN += "; a[n] = 0.3; a[i] = v[None, None]; a[i] += v; a[2, j] *= c; a[m,] = c; a[i] = v[None]; a[i, Q] = c"
PROGRAMS = {text: f"def f(a, v, c, i, j, k, m, n):\n    return {text}\n" for text in READ.split("; ")}
PROGRAMS |= {
    text: f"def f(a, v, c, i, j, k, m, n):\n    a = a * 1.0\n    {text}\n    return a**2\n"
    for text in WRITTEN.split("; ")
}
OPERATIONS = [operation(name) for name in ("getitem", "overwrite", "pick", "place_at")]


@pytest.mark.parametrize("entry", OPERATIONS, ids=lambda e: e.name)
@pytest.mark.parametrize("name", PROGRAMS)
def test_places_that_differ_between_samples_are_a_loop(entry, name):
    f, given = (
        made(PROGRAMS[name].replace("Q", "np.array([[0, 1], [4, 2]])")),
        (ROWS, ROW, NUMBER, *PLACES, MASK, MASKS),
    )

    def slopes(*args):
        return ad.grad(lambda *args: np.sum(f(*args) * 0.7), (0, 1, 2))(*args)

    for axes in ((0,) * 8, (0, None, None, 0, 0, 0, 0, 0)):
        args = [x if axis == 0 else x[0] for x, axis in zip(given, axes, strict=True)]
        each = [[x[s] if axis == 0 else x for x, axis in zip(args, axes, strict=True)] for s in range(4)]
        np.testing.assert_allclose(ad.vmap(f, in_axes=axes)(*args), np.stack([f(*one) for one in each]), rtol=1e-12)
        expected = zip(*(slopes(*one) for one in each), strict=True)
        for x, column in zip(ad.vmap(slopes, in_axes=axes)(*args), expected, strict=True):
            np.testing.assert_allclose(x, np.stack(column), rtol=1e-12, atol=1e-12)


# Whose rules compute otherwise in half precision, which ends at 65504.
HALVES = [entry for entry in walk() if entry.name.startswith("reduce_")]
HALVES += [operation(name) for name in ("arctan", "arctan2", "arcsinh")]


@pytest.mark.parametrize("entry", HALVES, ids=lambda e: e.name)
def test_gradients_in_half_precision(entry):
    for case in cases(entry):
        small = [np.asarray(a, np.float16) for a in case.arrays]
        for found, expected in zip(gradients(case, small), gradients(case, case.arrays), strict=True):
            assert found.dtype == np.float16
            scale = max(1.0, np.max(np.abs(expected), initial=0.0))
            np.testing.assert_allclose(found, expected, atol=0.02 * scale)


ELLIPTIC = [entry for entry in walk() if entry.name.startswith("ellipr")]


@pytest.mark.parametrize("entry", ELLIPTIC, ids=lambda e: e.name)
def test_slopes_where_arguments_are_equal(entry):
    """Where a quotient of a rule would be 0 / 0. Second derivatives are not right there."""
    points = np.array([(1.2, 0.7, 1.2), (0.7, 1.2, 1.2), (0.8, 0.8, 1.3), (1.1, 1.1, 1.1)]).T
    check_grads(entry, [*points, *points[:1] * 1.7][: len(entry.inputs)], order=1)


@pytest.mark.parametrize("entry", [operation("sinc")], ids=lambda e: e.name)
def test_the_slope_of_sinc_near_0_is_its_series(entry):
    x = np.linspace(-0.0099, 0.0099, 50)
    terms = [(-1) ** k * 2 * k * np.pi ** (2 * k) * x ** (2 * k - 1) / math.factorial(2 * k + 1) for k in range(1, 8)]
    np.testing.assert_allclose(ad.grad(lambda x: np.sum(np.sinc(x)))(x), sum(terms[::-1]), rtol=4e-15)


@pytest.mark.parametrize("entry", [operation("overwrite")], ids=lambda e: e.name)
def test_the_last_write_is_numpys(entry):
    """An index that lies backwards or in Fortran order, and names elements twice."""
    del entry  # the walk of mutants asks for it
    turned = np.array([[0, 1], [1, 2], [2, 0]]).T, np.array([[0, 1], [2, 1]]).T
    for places in (*turned, np.array([1, 2, 1, 0, 0])[::-1]):
        for v in (
            R.normal(size=places.shape),
            R.normal(size=(*places.shape, 3)),
            R.normal(size=places.shape).T.copy().T,
        ):
            x = R.normal(size=(3, *v.shape[places.ndim :]))

            def f(x, v, places=places):
                y = x * 1.0
                y[places] = v
                return y

            value, pullback = ad.vjp(f, x, v)
            np.testing.assert_array_equal(value, f(x, v))
            w = R.normal(size=x.shape)
            each = np.reshape([np.sum(w * (f(x, v + e) - f(x, v))) for e in ones_at(v)], v.shape)
            np.testing.assert_allclose(pullback(w)[1], each, atol=1e-12)


def ones_at(v):
    """For each element of `v`, 1 there and 0 elsewhere, in memory as `v` lies."""
    for number in range(v.size):
        e = np.zeros_like(v)
        e[np.unravel_index(number, v.shape)] = 1.0
        yield e
