"""Half precision beside Python's numbers: these are rounded to half precision first, as NumPy does."""

import numpy as np
import pytest

import adjoint as ad

X = np.linspace(1, 3, 200).astype(np.float16)
NARROW = np.arange(-100, 100, dtype=np.int8)
KEPT = {"number": 0.7}
FUNCTIONS = {
    "product": lambda x, a: x * a,
    "difference": lambda x, a: a - x,
    "literal": lambda x, a: x * 0.7,
    "read": lambda x, a: x * KEPT["number"],
    "of numbers": lambda x, a: x / (a * a),
    "chosen": lambda x, a: np.where(x > 2, x, a),
    "compared": lambda x, a: x > a,
    "whole": lambda x, a: x + 2049,
    "beside bytes": lambda x, a: x * NARROW * a,
    "round": lambda x, a: np.round(x * a, 1),
    "several": lambda x, a: np.sqrt(x * a) + a,
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_is_numpys(name):
    function = FUNCTIONS[name]
    fast = ad.compile(function, wait=True)
    for a in (1.5, 1.7, 2.0, 1.234567, 0.05):
        assert np.array_equal(fast(X, a), function(X, a))


def test_a_number_that_is_too_large_is_infinite():
    fast = ad.compile(lambda x, a: x * a, wait=True)
    for a in (2.0, 3.0, 70_000.0):  # 70,000 / 2 would not be
        with np.errstate(over="ignore"):
            expected = np.full(3, 0.5, np.float16) * a
        assert np.array_equal(fast(np.full(3, 0.5, np.float16), a), expected)
