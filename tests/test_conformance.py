"""`docs/conformance.md` says what other libraries do with tensors; it is written anew here, and compared."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ROW = re.compile(r"^\| `([\w.]+)` \| (\w+) \|", re.MULTILINE)
HEADER = re.compile(r"Written by `scripts/conformance.py`, with (.*)\.$", re.MULTILINE)


@pytest.fixture(scope="module")
def fresh():
    command = [sys.executable, str(ROOT / "scripts" / "conformance.py"), "--print"]
    run = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert run.returncode == 0, run.stderr
    return run.stdout


def test_no_call_is_silently_constant_or_wrong(fresh):
    outcomes = [outcome for _, outcome in ROW.findall(fresh)]
    assert len(outcomes) >= 150
    assert set(outcomes) <= {"gradient", "constant", "ours", "refused", "nan"}
    assert outcomes.count("gradient") >= 150


def test_the_page_is_current(fresh):
    page = (ROOT / "docs" / "conformance.md").read_text(encoding="utf-8")
    if HEADER.findall(page) != HEADER.findall(fresh):
        pytest.skip(f"the page was written with {HEADER.findall(page)}")
    assert dict(ROW.findall(page)) == dict(ROW.findall(fresh)), "run: python scripts/conformance.py"


def test_a_dropped_graph_and_a_wrong_gradient_would_be_found():
    program = """
import sys
sys.argv = ["conformance.py"]
sys.path.insert(0, "scripts")
import numpy as np
import conformance
from conformance_cases import Case

def cut(x):
    return x.detach() if hasattr(x, "detach") else x

silent = conformance.judge(Case("SciPy", "scipy.special.erf", lambda f, x: f(cut(x))))
wrong = conformance.judge(Case("SciPy", "scipy.special.erf", lambda f, x: f(x) + x - cut(x)))
refused = conformance.judge(Case("SciPy", "scipy.ndimage.sobel", lambda f, m: f(m)))
print(silent.outcome, wrong.outcome, refused.outcome, refused.note)
"""
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT, check=False)
    assert run.stdout.split() == ["SILENT", "WRONG", "refused", "LeavesGraphError"], run.stderr
