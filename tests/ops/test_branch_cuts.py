"""Derivatives of complex functions on both sides of their branch cuts: the sign of a zero says which side is meant."""

import numpy as np
import pytest

import adjoint as ad

#: Where each function has its cuts: at these real parts, or at these imaginary ones.
REAL = {
    "arcsin": (2.0, -2.0),
    "arccos": (2.0, -2.0),
    "arccosh": (0.5, -0.5, -2.0),
    "arctanh": (2.0, -2.0),
    "sqrt": (-2.0,),
    "log": (-2.0,),
    "log2": (-2.0,),
    "log10": (-2.0,),
    "log1p": (-3.0,),
}
IMAGINARY = {"arcsinh": (2.0, -2.0), "arctan": (2.0, -2.0)}
STEP = 1e-6
CASES = [(name, at, False) for name, places in REAL.items() for at in places]
CASES += [(name, at, True) for name, places in IMAGINARY.items() for at in places]


@pytest.mark.parametrize("zero", [0.0, -0.0])
@pytest.mark.parametrize(("name", "at", "upright"), CASES)
def test_slopes_are_those_of_the_side_that_numpy_takes(name, at, upright, zero):
    f = getattr(np, name)

    def beside(t):
        return np.complex128(complex(zero, at + t) if upright else complex(at + t, zero))

    wanted = (f(beside(STEP)) - f(beside(-STEP))) / (2 * STEP) / (1j if upright else 1)
    pushed = ad.jvp(f, (beside(0),), (np.complex128(1),))[1]
    pulled = ad.vjp(f, beside(0))[1](np.complex128(1))
    assert pushed == pytest.approx(wanted, rel=1e-6)
    assert np.conj(pulled) == pytest.approx(wanted, rel=1e-6)
    compiled = ad.compile(lambda x: ad.jvp(f, (x,), (np.ones_like(x),))[1], wait=True)
    x = np.array([beside(0)] * 3)
    for _ in range(2):
        np.testing.assert_allclose(compiled(x), [pushed] * 3, rtol=1e-12)
