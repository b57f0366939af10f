"""Extremes that leave nan out, in native code: of every precision, along every axis, beside infinities."""

import numpy as np
import pytest

import adjoint as ad


@pytest.mark.filterwarnings("ignore:All-NaN:RuntimeWarning")
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
@pytest.mark.parametrize("function", [np.nanmax, np.nanmin])
@pytest.mark.parametrize("axis", [None, 0, -1])
def test_extremes_leave_nan_out(function, axis, dtype):
    rng = np.random.default_rng(0)
    for shape in ((5,), (3, 7), (40, 60), (2, 3, 70), (500, 3), (3, 500)):
        run = ad.compile(lambda x: function(x, axis=axis), wait=True)
        for few in (0.1, 0.5, 0.95):
            x = rng.normal(size=shape).astype(dtype)
            x[rng.random(shape) < few] = np.nan
            x[rng.random(shape) < 0.05] = -np.inf
            x[rng.random(shape) < 0.05] = np.inf
            found, wanted = run(x), function(x, axis=axis)
            assert found.dtype == wanted.dtype
            np.testing.assert_array_equal(found, wanted)
