"""What coverage says of compiling is what a compiled program does."""

import numpy as np
import pytest
from scipy import special

import adjoint as ad
from tests.walk.natively import HowCompiled, compiled_as


@pytest.mark.parametrize(
    ("function", "way"),
    [
        (np.tanh, HowCompiled.NATIVE),
        (np.einsum, HowCompiled.NATIVE),
        (np.isnan, HowCompiled.NATIVE),
        (np.quantile, HowCompiled.NATIVE),
        (np.nanquantile, HowCompiled.PARTLY),
        (np.sort, HowCompiled.NATIVE),
        (np.partition, HowCompiled.NUMPY),
        (np.linalg.svd, HowCompiled.NUMPY),
        (np.shape, HowCompiled.FIXED),
        (np.result_type, HowCompiled.REFUSED),
        (np.savez, HowCompiled.NONE),
        (np.finfo, HowCompiled.NONE),
        (print, HowCompiled.NONE),
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
    assert ("by NumPy: " in steps) is (compiled_as(function) is HowCompiled.NUMPY)
