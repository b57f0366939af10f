"""Remainders of real numbers have the bits of C's, whatever the sizes of both numbers."""

import numpy as np
import pytest

import adjoint as ad
from adjoint.native.codegen.loops.kernels import INLINED

FUNCTIONS = {
    "fmod": np.fmod,
    "remainder": np.remainder,
    "floor_divide": np.floor_divide,
    "by a number": lambda x, y: (np.fmod(x, 0.3), x % -7, x // 0.1),
}


def pairs(dtype: type) -> tuple[np.ndarray, np.ndarray]:
    """Numbers near multiples of others, of all sizes, subnormal ones, and special ones."""
    rng, info = np.random.default_rng(0), np.finfo(dtype)
    y = np.ldexp(rng.uniform(1, 2, INLINED), rng.integers(-90, 90, INLINED))
    times = np.floor(np.exp2(rng.uniform(0, info.nmant + 8, INLINED)))
    x = y.astype(dtype) * times.astype(dtype)
    x[::3] = np.nextafter(x[::3], dtype(0))
    x[1::3] = np.nextafter(x[1::3], dtype(np.inf))
    tiny = info.smallest_subnormal * rng.integers(0, 2000, (2, 4000)).astype(dtype)
    special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1, -1, 3, 0.1, info.max, info.tiny, info.eps], dtype)
    first, second = (part.ravel() for part in np.meshgrid(special, special))
    small, other = rng.normal(size=(2, 8000)).astype(dtype)
    xs, ys = np.concatenate([x, tiny[0], first, small]), np.concatenate([y, tiny[1], second, other])
    signs = rng.choice([-1, 1], (2, len(xs)))
    return (xs * signs[0]).astype(dtype), (ys * signs[1]).astype(dtype)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_bits_are_numpys(name: str, dtype: type) -> None:
    x, y = pairs(dtype)
    compiled = ad.compile(FUNCTIONS[name], wait=True)
    for length in (len(x), 37):
        for start in (0, INLINED - 5, len(x) - length):
            given = x[start : start + length], y[start : start + length]
            with np.errstate(all="ignore"):
                found, expected = compiled(*given), FUNCTIONS[name](*given)
            found, expected = (r if isinstance(r, tuple) else (r,) for r in (found, expected))
            for one, other in zip(found, expected, strict=True):
                np.testing.assert_array_equal(one, other, strict=True)
                number = ~np.isnan(other)
                np.testing.assert_array_equal(np.signbit(one[number]), np.signbit(other[number]))
    assert "by NumPy" not in str(compiled.explain())
