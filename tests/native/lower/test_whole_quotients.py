"""Whole numbers are divided in vectors by way of floating-point numbers: each quotient and remainder is exact."""

import numpy as np
import pytest

import adjoint as ad
from adjoint import native

FUNCTIONS = {
    "floor_divide": np.floor_divide,
    "remainder": np.remainder,
    "fmod": np.fmod,
    "by 3": lambda x, y: x // 3 + x % 7,
}


def natively(f, *arrays):
    graph = ad.capture(f, *arrays)
    (found,) = native.build(graph.inputs, graph.outputs)(*arrays)
    return found


def ends(dtype):
    """Where formats end, and where floating-point numbers no longer have every whole number."""
    info = np.iinfo(dtype)
    far = [s * (2**k + d) for k in (1, 23, 24, 31, 32, 50, 51, 52, 53) for d in (-1, 0, 1) for s in (-1, 1)]
    near = [info.min, info.min + 1, info.max // 2, info.max - 1, info.max, 0, 3, 7]
    return np.array([v for v in (*near, *far) if info.min <= v <= info.max], dtype)


@pytest.mark.parametrize("dtype", ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_quotient(name, dtype):
    f, rng, bits = FUNCTIONS[name], np.random.default_rng(6), 8 * np.dtype(dtype).itemsize - (dtype[0] == "i")
    x, y = (np.ravel(m) for m in np.meshgrid(ends(dtype), ends(dtype)))
    numbers = [int(rng.integers(0, 2 ** int(b), dtype=np.uint64)) for b in rng.integers(0, bits, 6000)]
    over, under = np.array(numbers, dtype).reshape(2, -1)
    under = np.where(under == 0, 1, under).astype(dtype)
    beside = (over // under * under + rng.integers(-1, 2, over.size).astype(dtype)).astype(dtype)  # whole ones, nearly
    with np.errstate(all="ignore"):
        for a, b in ((x, y), (over, under), (beside, under)):
            np.testing.assert_array_equal(natively(f, a, b), f(a, b))
