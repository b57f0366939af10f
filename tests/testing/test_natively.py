"""What coverage says of compiling is what a compiled program does."""

import numpy as np
import pytest
from scipy import special

import adjoint as ad
from adjoint.testing.natively import Compiled, compiled_as


@pytest.mark.parametrize(
    ("function", "way"),
    [
        (np.tanh, Compiled.NATIVE),
        (np.einsum, Compiled.NATIVE),
        (np.isnan, Compiled.NATIVE),
        (np.quantile, Compiled.NATIVE),
        (np.nanquantile, Compiled.PARTLY),
        (np.sort, Compiled.NATIVE),
        (np.partition, Compiled.NUMPY),
        (np.linalg.svd, Compiled.NUMPY),
        (np.shape, Compiled.FIXED),
        (np.result_type, Compiled.REFUSED),
        (np.savez, Compiled.NONE),
        (np.finfo, Compiled.NONE),
        (print, Compiled.NONE),
    ],
)
def test_the_compiler_is_asked(function, way):
    assert compiled_as(function) is way


@pytest.mark.parametrize("function", [np.exp, np.arctan, np.cumsum, np.sort, np.linalg.inv, special.airy])
def test_the_programs_say_the_same(function):
    compiled = ad.compile(lambda x: function(x), wait=True)
    x = np.array([[1.0, 0.5], [0.25, 2.0]])
    for _ in range(3):
        compiled(x)
    steps = str(compiled.explain())
    assert ("by NumPy: " in steps) is (compiled_as(function) is Compiled.NUMPY)
