"""Exponents, and products with powers of 2, in native code: NumPy's bits, by any processor's vectors."""

import numpy as np
import pytest

import adjoint as ad
from adjoint.native.codegen import machine
from adjoint.native.lower import reals

WIDTHS = {"AVX-512": machine.AVX512, "AVX2": machine.AVX2}
SPECIAL = [0.0, -0.0, np.inf, -np.inf, np.nan, 1, -1, 0.5, 5e-324, 1e-310, -2.3e-308, 1.7e308, 1e-45, 3e-39,
           1.1754944e-38, 3.4e38, 65504, 6e-8, 6e-5]  # fmt: skip


@pytest.fixture(params=WIDTHS)
def by_width(request, monkeypatch):
    if request.param == "AVX-512" and machine.vectors() != machine.AVX512:
        pytest.skip("this processor has no AVX-512")
    monkeypatch.setattr(reals, "vectors", lambda: WIDTHS[request.param])


@pytest.fixture(params=["f8", "f4", "f2"])
def numbers(request):
    size, rng = int(request.param[1]), np.random.default_rng(0)
    bits = rng.integers(0, 2 ** (8 * size) - 1, 5000, dtype=f"u{size}").view(request.param)
    with np.errstate(over="ignore"):
        return np.concatenate(
            [np.array(SPECIAL).astype(request.param), bits, rng.normal(size=40).astype(request.param)]
        )


def same(found, wanted):
    assert found.dtype == wanted.dtype
    np.testing.assert_array_equal(found, wanted)
    there = ~np.isnan(wanted)
    np.testing.assert_array_equal(np.signbit(found)[there], np.signbit(wanted)[there])


@pytest.mark.usefixtures("by_width")
def test_mantissas_and_exponents(numbers):
    f = ad.compile(lambda x: np.frexp(x), wait=True)
    for x in (numbers, numbers[:5], numbers[:5000].reshape(-1, 2)):
        with np.errstate(all="ignore"):
            for _ in range(2):
                mantissa, exponent = f(x)
            same(mantissa, np.frexp(x)[0])
            same(exponent, np.frexp(x)[1])
    assert "by NumPy: exponents" not in f.explain()


@pytest.mark.usefixtures("by_width")
@pytest.mark.parametrize("kind", ["i1", "i4", "i8", "Python's"])
def test_powers_of_2(numbers, kind):
    rng = np.random.default_rng(1)
    far, near = rng.integers(-2200, 2200, numbers.size), rng.integers(-40, 40, numbers.size)
    n = 3 if kind == "Python's" else (near if kind == "i1" else np.where(far % 2, far, near)).astype(kind)
    f = ad.compile(lambda x, n: np.ldexp(x, n), wait=True)
    with np.errstate(all="ignore"):
        for power in (n, n * 2):
            for _ in range(2):
                found = f(numbers, power)
            same(found, np.ldexp(numbers, power))
        if kind == "i4":
            for end in (np.iinfo(np.int32).max, np.iinfo(np.int32).min):
                power = np.full(numbers.size, end, np.int32)
                same(f(numbers, power), np.ldexp(numbers, power))
