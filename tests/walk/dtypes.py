"""A sample call in other dtypes and shapes, as constants and in every mode: what NumPy gives, and which calls raise."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from adjoint.core.op import SampleCall
from adjoint.core.types import Array, DType, Value
from adjoint.tape.tensor import Tensor
from adjoint.testing.cases import Case, outputs
from adjoint.transforms.batch import vmap
from adjoint.transforms.forward import jvp
from tests.walk.edges import EdgeCase, Outcome, other_shapes, outcome, replaced, settings

DTYPES = ("bool", "int8", "uint8", "int32", "int64", "float16", "float32", "float64", "complex64", "complex128")
MODES = ("constant", "recorded", "forward", "batched")


def in_dtype(a: Array, dtype: DType) -> np.ndarray:
    """Numbers of `dtype` that are about `a`: whole ones are rounded, truth values say which are positive."""
    a, dtype = np.asarray(a), np.dtype(dtype)
    if dtype.kind == "c":
        return np.asarray(a * (1 + 0.3j) if a.dtype.kind == "f" else a, dtype)
    real = np.real(a)
    if dtype.kind == "f":
        return np.asarray(real, dtype)
    real = np.where(np.isfinite(real), real, 1.25)
    if dtype.kind == "b":
        return np.asarray(real > 0)
    whole = np.round(real * 2)
    return np.asarray(np.abs(whole) if dtype.kind == "u" else whole, dtype)


def variants(case: Case) -> Iterator[EdgeCase]:
    """All arrays, and the first one alone, in each of ten dtypes; without elements or axes; with a leading axis."""
    arrays = case.arrays
    for dtype in DTYPES if arrays else ():
        yield f"all {dtype}", [in_dtype(a, dtype) for a in arrays]
        if len(arrays) > 1:
            yield f"first {dtype}", replaced(arrays, 0, in_dtype(arrays[0], dtype))
    yield from other_shapes(case)
    more = [np.stack([a, a + 0.25]) for a in arrays]
    yield "leading all", more
    for i in range(len(more) if len(more) > 1 else 0):
        yield f"leading {i}", replaced(arrays, i, more[i])


def along_no_axis(case: Case) -> SampleCall | None:
    """The call of `case` by a number, along axis 0: NumPy takes it for a row of one, or refuses it."""
    names = settings(case.entry)
    if len(case.arrays) != 1 or "axis" not in names or names.index("axis") < len(case.args):
        return None
    if not any(x is case.arrays[0] for x in case.args):
        return None
    call = case.with_arrays([np.asarray(np.reshape(case.arrays[0], -1)[0])])
    return SampleCall(call.args, {**call.kwargs, "axis": 0})


def in_mode(mode: str, case: Case, arrays: Sequence[Array]) -> Outcome | None:
    """What `case` comes to at `arrays` in one of `MODES`; None where no array can vary."""
    floating = [np.asarray(a).dtype.kind in "fc" for a in arrays]
    if mode == "constant":
        return outcome(lambda: case.f(*map(Tensor, arrays)))
    if mode == "recorded":
        return outcome(lambda: case.f(*map(Tensor, arrays, floating)))
    if mode == "batched":
        stacked = [np.stack([a, a]) for a in arrays]
        return outcome(lambda: [np.asarray(x)[0] for x in outputs(vmap(case.f)(*stacked))])
    point = [a for a, varies in zip(arrays, floating, strict=True) if varies]

    def f(*values: Value) -> Value:
        given = iter(values)
        return case.f(*(next(given) if varies else Tensor(a) for a, varies in zip(arrays, floating, strict=True)))

    return outcome(lambda: jvp(f, point, point)[0]) if point else None


def difference(ours: Outcome, theirs: Outcome, arrays: Sequence[Array], signed: bool = True) -> str | None:
    """How `ours` is not `theirs`, in words; None where it is. `signed`: zeros have signs, too."""
    if theirs.error is not None:
        if ours.refused or type(ours.error) is type(theirs.error):
            return None
        return f"NumPy raises {theirs.error!r}; we {ours.error or ours.value!r}"
    if ours.error is not None:
        return f"NumPy gives {theirs.value}; we raise {ours.error!r}"
    if not ours.warned <= theirs.warned:
        return f"we warn: {ours.warned}"
    if len(ours.value) != len(theirs.value):
        return f"NumPy gives {len(theirs.value)} results; we {len(ours.value)}"
    found = (_apart(a, b, arrays, signed) for a, b in zip(ours.value, theirs.value, strict=True))
    return next((text for text in found if text), None)


def _apart(a: np.ndarray, b: np.ndarray, arrays: Sequence[Array], signed: bool) -> str | None:
    if (a.shape, a.dtype) != (b.shape, b.dtype):
        return f"NumPy gives {b.dtype} of shape {b.shape}; we {a.dtype} of shape {a.shape}"
    text = f"NumPy gives {b}; we {a}"
    if a.dtype.kind not in "fc":
        return None if np.array_equal(a, b) else text
    step = max(float(np.finfo(x.dtype).eps) for x in (b, *map(np.asarray, arrays)) if x.dtype.kind in "fc")
    scale = float(np.max(np.abs(b), where=np.isfinite(b), initial=1.0))
    if not np.allclose(a, b, rtol=200 * step, atol=200 * step * scale, equal_nan=True):
        return text
    if not signed or a.dtype.kind == "c":
        return None
    return text if np.any((a == 0) & (b == 0) & (np.signbit(a) != np.signbit(b))) else None
