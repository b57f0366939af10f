"""The registry with one operand of another dtype: sums and products are of the result's precision, as NumPy's are.

Whole numbers up to a hundred stand beside floats: bytes would overflow if they were added up before they are converted.
"""

import numpy as np
import pytest

import adjoint as ad
from adjoint.testing.cases import carried_out, cases, outputs
from tests.walk.dtypes import in_mode
from tests.walk.edges import outcome, replaced

from .test_registry_dtypes import ENTRIES as ALL

DTYPES = ("bool", "int8", "uint8", "float16", "float32", "complex64")
MODES = ("recorded", "batched", "compiled")
ENTRIES = [entry for entry in ALL if any(len(case.arrays) > 1 for case in cases(entry))]
# {entry: why the last digits, or the dtype, are others}
EXCEPT = {
    "histogram": "NumPy adds single weights in single precision",
    "histogramdd": "NumPy's edges of half precision are rounded",
    "polyfit": "NumPy weighs single values in single precision, and takes covariances of complex ones for real",
}


def narrowed(x, dtype):
    """Numbers like `x` of `dtype`; whole ones are 25 times as large."""
    x = np.real(x)
    if dtype in ("int8", "uint8"):
        return np.round(np.where(np.isfinite(x), x, 1) * 25).astype(np.int64).astype(dtype)
    return x > 0 if dtype == "bool" else x.astype(dtype)


def trials(entry):
    """The sample calls of `entry`, with each operand in each dtype: what is called, and NumPy's outcome."""
    for case in cases(entry):
        for i in range(len(case.arrays) if len(case.arrays) > 1 else 0):
            for dtype in DTYPES:
                arrays = [np.asarray(a) for a in replaced(case.arrays, i, narrowed(case.arrays[i], dtype))]
                call = case.with_arrays(arrays)
                theirs = outcome(lambda call=call: carried_out(entry, entry.answers[0], *call))
                if theirs.error is None:
                    yield f"{i} {dtype}", case, arrays, theirs


def compiled(case, arrays):
    f = ad.compile(lambda *xs: tuple(outputs(case.f(*xs))), wait=True)
    return outcome(lambda: [np.asarray(y) for y in [f(*map(np.array, arrays)) for _ in range(3)][-1]])


def apart(a, b):
    if (a.shape, a.dtype) != (b.shape, b.dtype):
        return True
    if b.dtype.kind not in "fc":
        return not np.array_equal(a, b)
    near = 500 * float(np.finfo(b.dtype).eps)
    scale = float(np.max(np.abs(b), where=np.isfinite(b), initial=1.0))
    return not np.allclose(a, b, rtol=near, atol=near * scale, equal_nan=True)


@pytest.mark.filterwarnings("ignore")  # of numbers that do not fit, and of what NumPy drops
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("entry", ENTRIES, ids=lambda e: e.name)
def test_operands_of_another_dtype_have_numpys_values(entry, mode):
    if entry.name in EXCEPT:
        pytest.skip(EXCEPT[entry.name])
    wrong, told = [], list(trials(entry))
    for k, (name, case, arrays, theirs) in enumerate(told):
        if mode == "compiled" and k % 12 != len(entry.name) % 12:  # some of each
            continue
        with np.errstate(all="ignore"):
            ours = compiled(case, arrays) if mode == "compiled" else in_mode(mode, case, arrays)
        if ours is None or ours.error is not None:  # refused, or no array varies: test_registry_dtypes has these
            continue
        if any(map(apart, map(np.asarray, ours.value), theirs.value)):
            wrong.append(f"{name}: NumPy gives {theirs.value}; we {ours.value}")
    assert not wrong, f"{entry.name}, {mode}\n" + "\n".join(wrong)
