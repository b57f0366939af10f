"""Half precision on processors that do not convert it: the same numbers, where LLVM would call what is not there."""

import os
import subprocess
import sys

import pytest

PROGRAM = """
import sys
import numpy as np
import llvmlite.binding as llvm

known, without = llvm.get_host_cpu_features(), set(sys.argv[1].split())
lacking = type(known)({name: has and name not in without for name, has in known.items()})
llvm.get_host_cpu_features = lambda: lacking
import adjoint as ad
from adjoint.native.codegen.machine import converts_halves

assert converts_halves() is (not without)
every = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
step = np.float32(2.0) ** np.arange(-26, 17, dtype=np.float32)
with np.errstate(all="ignore"):
    near = every.astype(np.float32)[:, None] + np.array([-1, -0.5, 0, 0.5, 1], np.float32) * np.float32(2.0) ** -13
odd = np.uint32([0x7F800001, 0xFF800001]).view(np.float32)  # nan
far = np.float32([65504, 65519.996, 65520, 70000, 3e38, 1e-45, np.inf, -np.inf, np.nan, 0.0, -0.0])
between = [near.ravel(), near.ravel() * np.float32(1.0004883), step, -step, step * np.float32(1.5), odd, far]
between = np.concatenate(between)
programs = [
    (lambda x: x.astype(np.float32), every),
    (lambda x: x.astype(np.float64), every),
    (lambda x: x.astype(np.float16), between),
    (lambda x: x.astype(np.float16), between.astype(np.float64) * (1 + 1e-12)),
    (lambda x: x * np.float16(3) + np.float16(1), every),
    (lambda x: np.maximum(x, np.float16(0.5)), every),
    (lambda x: np.sum(x), every[:5000] / 512),
    (lambda x: np.argmax(x.reshape(64, -1), axis=1), every[:31744]),
]
with np.errstate(all="ignore"):
    for k, (f, x) in enumerate(programs):
        g = ad.compile(f, wait=True)
        for _ in range(4):
            found = g(x)
        wanted = f(x)
        assert found.dtype == wanted.dtype, k
        assert np.array_equal(found, wanted, equal_nan=True), (k, np.flatnonzero(found != wanted)[:5])
        signs = ~np.isnan(wanted)
        assert np.array_equal(np.signbit(found)[signs], np.signbit(wanted)[signs]), k
        assert "native" in g.explain(), g.explain()
"""


@pytest.mark.parametrize("without", ["", "f16c avx512fp16", "f16c avx512fp16 avx512f avx512vl avx2 fma avx"])
def test_every_half_is_numpys(without, tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    environment = os.environ | {"ADJOINT_CACHE": "off"}
    command = [sys.executable, str(tmp_path / "program.py"), without]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, (done.returncode, done.stderr[-2000:])
