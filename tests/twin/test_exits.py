"""Numbers that leave as fractions, decimals or text: reported, never in silence."""

import locale
from decimal import Decimal
from fractions import Fraction

import pytest

import adjoint as ad

REPORTED = {
    "a ratio": lambda x: float(Fraction(*x.as_integer_ratio())) * x,
    "the nearest simple fraction": lambda x: Fraction(*x.as_integer_ratio()).limit_denominator(10).numerator / 3 * x,
    "a fraction of a text": lambda x: float(Fraction(str(x))) * x,
    "a decimal of a text": lambda x: float(Decimal(str(x)) * 2) * x,
    "a number in words of the country": lambda x: locale.atof(str(x)) * x,
    "a complex number of a text": lambda x: complex(str(x)).real * x,
}
REFUSED = {
    "a fraction": lambda x: float(Fraction(x)) * x,
    "a decimal": lambda x: float(Decimal(x) * 2) * x,
    "a decimal of a ratio": lambda x: float(Fraction.from_decimal(Decimal(x))) * x,
}


@pytest.mark.parametrize("name", REPORTED)
def test_what_is_computed_with_is_reported(name):
    with pytest.warns(ad.LeakWarning, match="test_exits"):
        ad.grad(REPORTED[name])(1.5)


@pytest.mark.parametrize("name", REFUSED)
def test_a_number_itself_is_refused(name):
    with pytest.raises(ad.LeavesGraphError):
        ad.grad(REFUSED[name])(1.5)


def test_fractions_of_plain_numbers_and_texts_are_themselves():
    assert ad.grad(lambda x: x * float(Fraction(3, 4) + Fraction("1/4") + Fraction("1e400") * 0))(1.5) == 1.0
    assert ad.grad(lambda x: x * float(Decimal("0.5")) * complex("2").real)(1.5) == 1.0
