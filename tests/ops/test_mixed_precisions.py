"""Precisions beside each other: dtypes and digits are NumPy's, also where single and double precision meet."""

import numpy as np
import pytest

import adjoint as ad

METHODS = ["linear", "hazen", "weibull", "median_unbiased", "normal_unbiased", "interpolated_inverted_cdf"]
NUMBERS = {
    "Python's": float,
    "double": np.float64,
    "single": np.float32,
    "half": np.float16,
    "an array": np.array,
    "a row": lambda q: np.array([q, q / 2], np.float32),
}


def same(found, wanted):
    found = found.detach().numpy() if isinstance(found, ad.Tensor) else found
    assert np.result_type(found) == np.result_type(wanted)
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
def test_quantiles_stand_where_numpys_do(dtype, name):
    rng = np.random.default_rng(0)
    for method in METHODS:
        for n in (2, 4, 7):
            a, q = rng.normal(size=n).astype(dtype), NUMBERS[name](rng.uniform())
            same(np.quantile(ad.tensor(a), q, method=method), np.quantile(a, q, method=method))
            same(np.nanquantile(ad.tensor(a), q, method=method), np.nanquantile(a, q, method=method))


@pytest.mark.parametrize("spacing", [2.5, np.float64(2.5), np.array(2.5), np.array([0.5, 1.5, 3.0, 3.5])])
@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.complex64])
def test_gradient_has_the_dtype_of_its_values(dtype, spacing):
    f = np.array([0.5, 1.25, -2.0, 0.125]).astype(dtype)
    for edge_order in (1, 2):
        found = np.gradient(ad.tensor(f), spacing, edge_order=edge_order).numpy()
        wanted = np.gradient(f, spacing, edge_order=edge_order)
        assert found.dtype == wanted.dtype
        np.testing.assert_allclose(found, wanted, rtol=16 * np.finfo(dtype).eps)


def test_products_are_computed_in_the_dtype_that_is_asked_for():
    a = np.array([[0.1, 0.7], [0.3, 0.9]], np.float32)
    same(np.matmul(ad.tensor(a), a, dtype=np.float64), np.matmul(a, a, dtype=np.float64))
    same(np.vecdot(ad.tensor(a), a, dtype=complex), np.vecdot(a, a, dtype=complex))


def test_a_rare_argument_of_a_write_into_a_number_of_samples():
    def f(a):
        v = np.full_like(np.sum(a), 1.0)
        np.copyto(v, np.sum(a), casting="unsafe")
        return v * 2.0

    np.testing.assert_array_equal(ad.vmap(f)(np.array([[1.0, 2.0], [3.0, 4.0]])), [6.0, 14.0])


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_parts_that_are_written_leave_samples_where_they_lie(axis):
    def f(a):
        z = a + 0j
        z.real = 2 * a
        z.reshape(-1)[0] = 1.0
        return z

    for stack in (np.arange(12.0).reshape(3, 2, 2).T, np.asfortranarray(np.arange(12.0).reshape(2, 3, 2))):
        wanted = np.stack([f(a) for a in np.moveaxis(stack, axis, 0)])
        np.testing.assert_array_equal(ad.vmap(f, in_axes=axis)(stack), wanted)


PRODUCTS = {
    "vecdot": np.vecdot,
    "vecdot by columns": lambda a, b: np.vecdot(a, b, axis=-2),
    "inner": np.inner,
    "vdot": np.vdot,
    "einsum of rows": lambda a, b: np.einsum("ij,ij->i", a, b),
    "einsum of columns": lambda a, b: np.einsum("ij,ij->j", a, b),
    "einsum of all": lambda a, b: np.einsum("ij,ij->", a, b),
    "einsum of a matrix": lambda a, b: np.einsum("ij,kj->ik", a, b),
    "tensordot": lambda a, b: np.tensordot(a, b, axes=((1,), (1,))),
    "matvec": lambda a, b: np.matvec(a, b[0]),
    "vecmat": lambda a, b: np.vecmat(a[0], b.T),
    "convolve": lambda a, b: np.convolve(a[0], b[0]),
    "correlate": lambda a, b: np.correlate(a[0], b[0], "full"),
    "mean": lambda a, b: np.mean(a * b, axis=1),
    "average": lambda a, b: np.average(a, axis=1, weights=np.abs(b)),
    "cov": np.cov,
    "var": lambda a, b: np.var(a * b, axis=1),
    "norm": lambda a, b: np.linalg.norm(a * b, axis=1),
}


@pytest.mark.parametrize("name", PRODUCTS)
def test_products_of_half_precision_add_as_numpy_does(name):
    rng = np.random.default_rng(0)
    a, b = (rng.normal(size=(3, 300)).astype(np.float16) for _ in "ab")
    f = PRODUCTS[name]
    wanted, found = f(a, b), np.asarray(f(ad.tensor(a), b).detach())
    assert found.dtype == wanted.dtype
    step = float(np.spacing(np.max(np.abs(wanted)).astype(np.float16)))
    assert np.all(np.abs(found.astype(float) - wanted) <= step)
    compiled = ad.compile(f)
    for _ in range(3):
        found = compiled(a, b)
    assert found.dtype == wanted.dtype
    assert np.all(np.abs(found.astype(float) - wanted) <= step)
