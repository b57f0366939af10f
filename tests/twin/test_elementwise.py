"""`np.vectorize` and `np.frompyfunc` call functions as NumPy does: values, dtypes and numbers of calls are its own."""

import warnings

import numpy as np
import pytest

import adjoint as ad

FUNCTIONS = {
    "sum": lambda q: q + -0.74,
    "product": lambda q: q * q * 0.3,
    "whole or not": lambda q: 1 if q.real < 1 else q * 1.5,
    "two": lambda q: (q - 0.1, q.real > 0),
    "numpy's or python's": lambda q: q * (3.7 if hasattr(q, "dtype") else 0.1),
}
OPTIONS = [{}, {"otypes": [float]}, {"otypes": "F"}, {"cache": True}]
DTYPES = ["float16", "float32", "float64", "complex64", "complex128"]


def values(dtype):
    x = np.random.default_rng(3).normal(size=(3, 4)) * 5
    return (x + 1j * x[::-1] if dtype.startswith("complex") else x).astype(dtype)


def compared(f, x):
    """`f` of `x` and of a tensor: the same bits and dtypes by as many calls; skipped, if NumPy refuses it."""
    calls = [0]

    def counting(x):
        calls[0] = 0
        return f(x, calls)

    try:
        with warnings.catch_warnings(action="ignore"):  # complex numbers that become real
            plain, count = counting(x), calls[0]
    except (TypeError, ValueError) as error:
        pytest.skip(f"NumPy refuses: {error}")
    with warnings.catch_warnings(action="ignore"):
        ours = ad.vjp(lambda x: tuple(y for y in together(counting(x)) if y.dtype.kind in "fc"), x)[0]
    assert calls[0] == count
    plain = [y for y in together(plain) if y.dtype.kind in "fc"]
    assert [a.dtype for a in plain] == [np.asarray(b).dtype for b in ours]
    for a, b in zip(plain, ours, strict=True):
        np.testing.assert_array_equal(a, np.asarray(b))


def together(y):
    return y if isinstance(y, tuple) else (y,)


def noting(g, calls):
    def noted(q):
        calls[0] += 1
        return g(q)

    return noted


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_vectorized_functions_have_numpys_bits(name, options, dtype):
    if name == "two" and "otypes" in options:
        options = {"otypes": [float, bool]}
    compared(lambda x, calls: np.vectorize(noting(FUNCTIONS[name], calls), **options)(x), values(dtype))


@pytest.mark.parametrize("dtype", DTYPES[:3])
def test_functions_of_python_objects_have_numpys_bits(dtype):
    compared(lambda x, calls: np.frompyfunc(noting(FUNCTIONS["product"], calls), 1, 1)(x).astype(float), values(dtype))
