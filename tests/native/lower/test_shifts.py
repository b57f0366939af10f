"""Shifts by every kind of number: NumPy's values also by negative numbers, and by the length and more."""

import numpy as np
import pytest

import adjoint as ad


@pytest.mark.parametrize("dtype", ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"])
@pytest.mark.parametrize("shift", [np.left_shift, np.right_shift])
def test_edges(shift, dtype):
    info, bits = np.iinfo(dtype), 8 * np.dtype(dtype).itemsize
    values = np.array([info.min, info.min + 1, 0, 1, 5, 77, info.max - 1, info.max], dtype)
    by = [0, 1, 2, bits - 1, bits, bits + 1, info.max // 2, info.max]
    by += [-1, -2, -bits, info.min] if info.min else [info.max - 1]
    x, y = (np.ascontiguousarray(a) for a in np.broadcast_arrays(values[:, None], np.array(by, dtype)))
    found = ad.compile(shift, wait=True)
    for _ in range(3):
        assert np.array_equal(found(x, y), shift(x, y))
        assert found(x, y).dtype == x.dtype
