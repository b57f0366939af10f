"""Numbers that leave as fractions, decimals or text: reported, never in silence."""

import locale
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

import adjoint as ad


def run(x):
    names = {}
    exec(f"y = {x} + 1", names)
    return names["y"] * x


REPORTED = {
    "a ratio": lambda x: float(Fraction(*x.as_integer_ratio())) * x,
    "the nearest simple fraction": lambda x: Fraction(*x.as_integer_ratio()).limit_denominator(10).numerator / 3 * x,
    "a fraction of a text": lambda x: float(Fraction(str(x))) * x,
    "a decimal of a text": lambda x: float(Decimal(str(x)) * 2) * x,
    "a number in words of the country": lambda x: locale.atof(str(x)) * x,
    "a complex number of a text": lambda x: complex(str(x)).real * x,
    "code that holds it": lambda x: eval(repr(x.item())) * x,
    "code that computes with it": lambda x: eval(f"2 * {x}") * x,
    "code that runs": run,
    "rounded": lambda x: float(f"{x:.3f}") * x,
    "rounded, with another sign": lambda x: float("-" + format(x, ".2e")) * x,
    "a text of what has left": lambda x: float(str(np.atleast_1d(x).numpy()[0] * 3.0)) * x,
    "a list of texts": lambda x: np.array(f"{x} {x * x}".split(), dtype=float).sum() * x,
    "its own method": lambda x: float(x.item().__repr__()) * float(x.__format__(".12g")),
}
REFUSED = {
    "a fraction": lambda x: float(Fraction(x)) * x,
    "a decimal": lambda x: float(Decimal(x) * 2) * x,
    "a decimal of a ratio": lambda x: float(Fraction.from_decimal(Decimal(x))) * x,
}


@pytest.mark.parametrize("name", REPORTED)
def test_what_is_computed_with_is_reported(name):
    with pytest.warns(ad.LeakWarning, match="test_exits"):
        ad.grad(REPORTED[name])(1.2345)


@pytest.mark.parametrize("name", REFUSED)
def test_a_number_itself_is_refused(name):
    with pytest.raises(ad.LeavesGraphError):
        ad.grad(REFUSED[name])(1.5)


def test_fractions_of_plain_numbers_and_texts_are_themselves():
    assert ad.grad(lambda x: x * float(Fraction(3, 4) + Fraction("1/4") + Fraction("1e400") * 0))(1.5) == 1.0
    assert ad.grad(lambda x: x * float(Decimal("0.5")) * complex("2").real)(1.5) == 1.0


def test_code_and_numbers_that_hold_nothing_written_are_themselves():
    def f(x):
        names, shown = {"k": 2.0}, f"{x} {x:.4f} {x.item()!r}"
        exec("k = 3.0", names)
        k = 4.0  # noqa: F841 - read by its name in a text
        return x * x * eval("k") * eval("k", names) * float("1.239") * len(shown) / len(shown)

    assert ad.grad(f)(1.2345) == pytest.approx(2 * 1.2345 * 12 * 1.239)
