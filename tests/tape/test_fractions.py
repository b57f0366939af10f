"""Fractions and decimals beside tensors: Python compares them exactly, although no float may be equal to them."""

import operator
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

import adjoint as ad

COMPARED = [operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne]
NUMBERS = [
    Fraction(1, 10), Fraction(0.1), Fraction(-1, 3), Fraction(2**53 + 1), Fraction(2**54 + 1, 2), Fraction(10) ** 400,
    -(Fraction(10) ** 400), Fraction(1, 10**400), Decimal("0.1"), Decimal("0.5"), Decimal("-Infinity"),
]  # fmt: skip
FLOATS = np.array([0.1, np.nextafter(0.1, 1.0), -1 / 3, 2.0**53, 2.0**53 + 2, 0.5, 0.0, -0.0, np.inf, -np.inf, np.nan])
ARRAYS = {
    "f8": FLOATS,
    "f4": FLOATS.astype("f4"),
    "i8": np.array([2**53, 2**53 + 1, 2**53 + 2, 0, -1, 1]),
    "b1": np.array([True, False]),
}


def plain(compare, array, number):
    return np.array([compare(x.item(), number) for x in array])


@pytest.mark.parametrize("compare", COMPARED)
@pytest.mark.parametrize("dtype", ARRAYS)
def test_comparisons_are_exact(dtype, compare):
    for number in NUMBERS:
        array = ARRAYS[dtype]
        if isinstance(number, Decimal) and array.dtype.kind == "f":  # which raise beside nan
            array = array[~np.isnan(array)]
        expected, turned = plain(compare, array, number), plain(lambda x, y: compare(y, x), array, number)
        assert np.array_equal(compare(ad.tensor(array), number).numpy(), expected), number
        assert np.array_equal(compare(number, ad.tensor(array)).numpy(), turned), number
        found = ad.vmap(lambda x, number=number: np.where(compare(x, number), 1.0, 0.0))(array)
        assert np.array_equal(found, expected), number


@pytest.mark.parametrize("number", [Fraction(1, 10), Decimal("0.1")])
def test_a_branch_that_asks_a_fraction_is_the_plain_one(number):
    def program(x):
        return x * (2.0 if x == number else 3.0 if x > number else 5.0)

    assert program(0.1) == ad.value_and_grad(program)(0.1)[0] == ad.jvp(program, (0.1,), (1.0,))[0]
    assert ad.grad(program)(0.1) == 3.0
