"""The registry in ten dtypes, on numbers, with leading axes and without elements: NumPy's value, dtype and refusals.

In every mode: as constants, recorded, in forward mode, and in a batch. What is different stands in one table, each with
its reason.
"""

import numpy as np
import pytest

import adjoint as ad
from adjoint.testing import walk
from adjoint.testing.cases import carried_out, cases
from tests.walk.dtypes import MODES, along_no_axis, difference, in_mode, variants
from tests.walk.edges import outcome


def every(names, reason):
    return {name: reason for name in names.split()}  # noqa: C420 - fromkeys would not split


DOUBLE = "SciPy's form for float32 gives nan: computed in float64"
OWN = "in the precision of the argument, where SciPy's function, written in Python, gives float64"
HALF = "LAPACK knows no half precision; next to others it is converted"
WHOLE = "a value with a gradient does not fit into whole numbers: refused"
REAL = "it has a derivative for real numbers only: refused"
LENIENT = "we take a number for an array of one element, where NumPy fails in passing"
CARELESS = "NumPy reads what happens to lie in memory"

# {entry: {part of the mode's and variant's name: reason}}.
EXCEPT = {
    **every(
        "mathieu_cem mathieu_modcem1 mathieu_modcem2 mathieu_modsem1 mathieu_modsem2 mathieu_sem obl_ang1_cv "
        "obl_rad1_cv pro_ang1_cv pro_rad1_cv",
        {"float32": DOUBLE},
    ),
    **every("multigammaln zeta", {"float32": OWN, "float16": OWN}),
    "polygamma": {"float32": OWN, "float16": OWN, "complex": REAL},
    **every("airye digamma ive jve yve", {"forward, all complex": REAL, "recorded, all complex": REAL}),
    **every("solve tensorsolve polyfit", {"float16": HALF}),
    **every("fill_diagonal", {f"recorded, first {dtype}": WHOLE for dtype in ("bool", "int", "uint8")}),
    "put_into_axis": {
        "0, 1 without axes": LENIENT,
        **{f"recorded, first {dtype}": WHOLE for dtype in ("bool", "int", "uint8")},
    },
    **every("max min prod sum", {"without axes": LENIENT, "number": LENIENT}),
    **every("average norm vector_norm roots poly tensorinv", {"without": LENIENT, "number": LENIENT}),
    **every("cov corrcoef", {"without": "no degree of freedom is left: refused, with what to do"}),
    "choose": {"0, 1 without axes": "choices are broadcast against the index first"},
    "cross": {"leading": "axis 0 has other lengths then; vectors of 2 components are refused"},
    "einsum": {"0 without rows": CARELESS},
    **every("fftshift ifftshift", {"batched, 0 without axes": "a number has no halves: it stays"}),
    "full_like": {f"first {dtype}": WHOLE for dtype in ("bool", "int", "uint8")},
    "gradient": {
        "complex": "a spacing is real",
        "first bool": "differences of truth values are refused, also with coordinates",
        "1 without axes": "a spacing of one number is taken for all steps alike",
    },
    "histogram": {"without": "edges of no bins are refused"},
    "histogramdd": {"first complex": "places are real", "0 without rows": "as histogram"},
    "interp": {
        "complex": "complex places are refused, also where NumPy drops their imaginary parts with a warning",
        "all uint8": "its points do not rise any more, for which NumPy promises nothing",
    },
    "irfft": {"without": CARELESS},
    "lstsq": {"float16": HALF},
    "median": {"without columns": "NumPy's own reshape fails"},
    "nanquantile": {"without": "NumPy forgets the axis of `q`"},
    "pad": {"without axes": "a number has no side to pad"},
    "piecewise": {"without axes": "conditions of a number are refused"},
    "polyder": {"leading": "rows of coefficients stay rows"},
    "polydiv": {"without": LENIENT},
    "polyfit": {"float16": HALF, "without axes": LENIENT, "all complex": "its covariance is that of real numbers"},
    "put": {
        "without": "nothing to put changes nothing; a number has one place",
        **{f"recorded, first {dtype}": WHOLE for dtype in ("bool", "int", "uint8")},
    },
    "qr": {"without columns": "columns that are not determined are refused"},
    "quantile": {"batched, 1 without": "no quantiles are no result", "batched, 0, 1 without": "as above"},
    "roots": {"without": LENIENT, "leading": "a coefficient in brackets is a number"},
    "unique_values": {"all": "in rising order, which NumPy leaves open"},
}
# Sums whose order decides the sign of 0.
UNSIGNED = {"det", "einsum", "tensordot"}
# SciPy's own function does not return from infinities, or from single precision; nor, at times, does LAPACK.
ENDLESS = {"hyp1f1", "obl_ang1", "obl_rad1", "pro_ang1", "pro_rad1", "svd"}

ENTRIES = [entry for entry in walk() if entry.answers and entry.name not in ENDLESS]


def told(entry, where):
    return any(part in where for part in EXCEPT.get(entry.name, ()))


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda e: e.name)
def test_dtypes_and_shapes_are_numpys(entry):
    wrong = []
    for case in cases(entry):
        for name, arrays in variants(case):
            call = case.with_arrays(arrays)
            theirs = outcome(lambda call=call: carried_out(entry, entry.answers[0], *call))
            for mode in MODES:
                ours = None if told(entry, f"{mode}, {name}") else in_mode(mode, case, arrays)
                text = difference(ours, theirs, arrays, entry.name not in UNSIGNED) if ours else None
                if text:
                    wrong.append(f"{tuple(map(np.shape, case.arrays))}, {mode}, {name}: {text}")
    assert not wrong, f"{entry.name}\n" + "\n".join(wrong)


ALONG_AN_AXIS = [entry for entry in ENTRIES if any(map(along_no_axis, cases(entry)))]


@pytest.mark.parametrize("entry", ALONG_AN_AXIS, ids=lambda e: e.name)
def test_numbers_along_axis_0_are_taken_as_numpy_takes_them(entry):
    for case in cases(entry):
        call = along_no_axis(case)
        if call is None or told(entry, "number along axis 0"):
            continue
        theirs = outcome(lambda call=call: entry.answers[0](*call.args, **call.kwargs))
        number = next(x for x in call.args if isinstance(x, np.ndarray) and not x.ndim)
        boxed = tuple(ad.tensor(x, requires_grad=True) if x is number else x for x in call.args)
        ours = outcome(lambda boxed=boxed, call=call: entry(*boxed, **call.kwargs))
        assert not difference(ours, theirs, [number]), f"{entry.name}: {difference(ours, theirs, [number])}"
