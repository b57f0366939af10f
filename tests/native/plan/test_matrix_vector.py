"""Products of a matrix and a vector: every remainder, each width of vectors, and sums in one order."""

import numpy as np
import pytest

import adjoint as ad
from adjoint import native
from adjoint.native.codegen import machine

WIDTHS = {"AVX-512": machine.AVX512, "AVX2": machine.AVX2, "SSE2": machine.SSE2, "NEON": machine.NEON}
SIZES = [(9, 8), (20, 31), (33, 15), (64, 64), (513, 17), (1030, 33), (7, 1100), (5, 12)]
FORMS = {
    "along": lambda a, x: a @ x,
    "across": lambda a, x: x @ a,
    "turned": lambda a, x: a.T @ x,
    "a column": lambda a, x: (a @ x[:, None])[:, 0],
    "strided": lambda a, x: a @ np.repeat(x, 2)[::2],
    "backwards": lambda a, x: a @ x[::-1],
    "a part": lambda a, x: a[1:, 2:] @ x[2:],
}


@pytest.fixture(params=WIDTHS, autouse=True)
def vectors(request, monkeypatch):
    monkeypatch.setattr(machine, "vectors", lambda: WIDTHS[request.param])


def natively(f, *args):
    graph = ad.capture(f, *args)
    return native.build(graph.inputs, graph.outputs)(*args)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("form", FORMS)
def test_within_the_error_of_their_sums(form, dtype):
    rng, f = np.random.default_rng(0), FORMS[form]
    for shape in SIZES:
        a = rng.normal(size=shape).astype(dtype)
        x = rng.normal(size=shape[form in ("along", "a column", "strided", "backwards", "a part")]).astype(dtype)
        for matrix in (a, np.asfortranarray(a), np.concatenate([a, a], axis=1)[:, : shape[1]]):
            x = x if form not in ("across", "turned") else rng.normal(size=shape[0]).astype(dtype)
            exact = f(matrix.astype(np.longdouble), x.astype(np.longdouble))
            bound = f(np.abs(matrix), np.abs(x)) * (max(shape) + 2) * np.finfo(dtype).eps
            (found,) = natively(f, matrix, x)
            assert found.dtype == dtype
            assert np.all(np.abs(found - exact) <= bound), (form, shape)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_same_bits_alone_and_among_others(dtype):
    """A row's result does not depend on how many rows there are, nor on the number of threads."""
    rng = np.random.default_rng(0)
    a, x, y = (rng.normal(size=n).astype(dtype) for n in ((1301, 1090), 1090, 1301))
    along, across = natively(lambda a, x, y: (a @ x, y @ a), a, x, y)
    for rows in (slice(0, 401), slice(3, 700), slice(801, 1301)):
        np.testing.assert_array_equal(natively(FORMS["along"], a[rows].copy(), x)[0], along[rows])
        np.testing.assert_array_equal(natively(FORMS["across"], a[:, :1090][:, rows].copy(), y)[0], across[rows])
    try:
        for count in (1, 2, 3):
            ad.set_threads(count)
            found = natively(lambda a, x, y: (a @ x, y @ a), a, x, y)
            np.testing.assert_array_equal(found[0], along)
            np.testing.assert_array_equal(found[1], across)
    finally:
        ad.set_threads(None)


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
def test_infinities_and_nans_stay_in_their_rows():
    a = np.random.default_rng(0).normal(size=(11, 21))
    a[2, 20], a[7, 3], a[10, 0] = np.inf, np.nan, -np.inf
    x, y = np.ones(21), np.ones(11)
    for f, v in ((FORMS["along"], x), (FORMS["across"], y)):
        np.testing.assert_allclose(natively(f, a, v)[0], f(a, v), rtol=1e-13)


def test_stacks():
    rng = np.random.default_rng(0)
    a, x = rng.normal(size=(3, 2, 13, 21)), rng.normal(size=(2, 21))
    found = natively(lambda a, x: (a @ x[0], (a @ x[..., None])[..., 0], x[1, :13] @ a), a, x)
    for got, known in zip(found, (a @ x[0], (a @ x[..., None])[..., 0], x[1, :13] @ a), strict=True):
        np.testing.assert_allclose(got, known, rtol=1e-12, atol=1e-13)


def test_long_sums_across_rows_are_taken_in_groups():
    """Ten thousand tenths, one after another, would be 1e-4 away from 1000 in single precision."""
    a, x = np.full((10_000, 40), 0.1, np.float32), np.ones(10_000, np.float32)
    (found,) = natively(FORMS["across"], a, x)
    np.testing.assert_allclose(found, 1000.0, rtol=3e-5)
