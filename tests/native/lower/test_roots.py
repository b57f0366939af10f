"""Powers of whole numbers and a half go by the root: within 2 units of the right value, and NumPy's at special ones."""

import mpmath as mp
import numpy as np
import pytest

import adjoint as ad
from adjoint import native

SPECIAL = [0.0, -0.0, 1.0, -1.0, -2.5, np.inf, -np.inf, np.nan]


def natively(f, x):
    graph = ad.capture(f, x)
    (found,) = native.build(graph.inputs, graph.outputs)(x)
    return found


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("exponent", [1.5, 2.5, -0.5, -1.5])
def test_half_powers(exponent, dtype):
    info, rng = np.finfo(dtype), np.random.default_rng(3)
    x = np.ldexp(rng.uniform(1, 2, 400), rng.integers(info.minexp - info.nmant, info.maxexp, 400)).astype(dtype)
    x = np.concatenate([x, rng.uniform(0, 3, 100).astype(dtype), [info.max, info.tiny, info.smallest_subnormal]])
    x = x.astype(dtype)
    with np.errstate(all="ignore"):
        got = natively(lambda v: v**exponent, x)
        for value, base in zip(got, x, strict=True):
            right = mp.power(mp.mpf(float(base)), exponent)
            nearest = dtype(float(right))
            if not np.isfinite(nearest):
                assert value in (np.inf, info.max)
            else:
                assert abs(mp.mpf(float(value)) - right) <= 2 * float(np.spacing(abs(nearest))), (base, value)
        special = np.array(SPECIAL, dtype)
        wanted = special**exponent
        found = natively(lambda v: v**exponent, special)
    np.testing.assert_array_equal(found, wanted)
    numbers = ~np.isnan(wanted)
    np.testing.assert_array_equal(np.signbit(found[numbers]), np.signbit(wanted[numbers]))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_logarithms_of_powers_of_ten_are_whole(dtype):
    low, high = (-307, 309) if dtype is np.float64 else (-37, 39)
    x = np.array([dtype(f"1e{k}") for k in range(low, high)])
    np.testing.assert_array_equal(natively(np.log10, x), np.arange(low, high))
