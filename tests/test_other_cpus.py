"""No test relies on one processor's rounding: those that compare bits and solutions run as on other processors, too.

Each processor has another quarter of them; with ADJOINT_WALK=whole, each has all.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from numpy._core import _multiarray_umath as core  # what NumPy chose on this processor is told nowhere else

ROOT = Path(__file__).parents[1]
SENSITIVE = [
    "tests/test_registry_compiled.py::test_by_numpy",
    "tests/test_golden.py",
    "tests/test_golden_compiled.py",
    "tests/scipy/test_optimize_solutions.py",
]
CHOSEN = [name for name in core.__cpu_dispatch__ if core.__cpu_features__[name]]
PROCESSORS = {
    "OpenBLAS of Prescott": {"OPENBLAS_CORETYPE": "Prescott"},
    "OpenBLAS of Haswell": {"OPENBLAS_CORETYPE": "Haswell"},
    "OpenBLAS of SkylakeX": {"OPENBLAS_CORETYPE": "SkylakeX"},
    "NumPy without dispatch": {"NPY_DISABLE_CPU_FEATURES": " ".join(CHOSEN)},
}
NEEDS = {"OpenBLAS of Prescott": "SSE3", "OpenBLAS of Haswell": "AVX2", "OpenBLAS of SkylakeX": "AVX512F"}


@pytest.mark.parametrize("name", PROCESSORS)
def test_results_hold_on(name):
    features = core.__cpu_features__
    if name in NEEDS and not features.get(NEEDS[name], False):
        pytest.skip(f"this processor has no {NEEDS[name]}")
    if name == "NumPy without dispatch" and not CHOSEN:
        pytest.skip("NumPy has no other code for this processor")
    command = [sys.executable, "-m", "pytest", "-q", "-n", "0", *SENSITIVE]
    environment = os.environ | PROCESSORS[name] | {"OPENBLAS_NUM_THREADS": "1"}
    whole = os.environ.get("ADJOINT_WALK") == "whole"
    environment["ADJOINT_PART"] = "0/1" if whole else f"{[*PROCESSORS].index(name)}/{len(PROCESSORS)}"
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]
