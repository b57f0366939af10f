"""The masks of vectors that are not whole stay in vectors, and no lane of one goes through a register of its own."""

import re

import llvmlite.binding as llvm
import numpy as np
import pytest

from adjoint.native.codegen import jit
from adjoint.native.codegen.loops import edges, kernels
from adjoint.native.codegen.loops.loop_nest import Expression, Reduction, Spec
from adjoint.native.codegen.loops.memory import Operand
from adjoint.native.codegen.machine import AVX2


def _added(code, x):
    return x + x


def _sum_of(dtype):
    return Reduction(lambda x, y: x | y if dtype == "b1" else x + y, 0, lambda x: x, dtype, "sum")


def _kernel(dtype, shape, reduced):
    """The sum of an array along an axis, or twice the array."""
    strides = tuple(int(s) for s in np.cumprod((1, *shape[:0:-1]))[::-1])
    read = Operand("x", dtype, strides)
    if reduced is None:
        double = Expression(_added, (0,), ("add",))
        return Spec(shape, [read], [double], [(1, Operand("y", dtype, strides), None)])
    kept = tuple(s if axis != reduced else 0 for axis, s in enumerate(strides))
    kind = "b1" if dtype == "i4" else dtype
    return Spec(shape, [read], [], [(0, Operand("y", kind, kept), _sum_of(kind))], frozenset({reduced}))


@pytest.mark.parametrize("reduced", [None, 0, 1])
@pytest.mark.parametrize("dtype", ["f4", "f8", "i4", "i2", "u1"])
def test_lanes_have_no_registers_of_their_own(monkeypatch, dtype, reduced):
    if not llvm.get_default_triple().startswith("x86_64"):
        pytest.skip("another processor's instructions")
    monkeypatch.setattr(edges, "vectors", lambda: AVX2)
    text = jit.module_text([kernels.write(_kernel(dtype, (30, 5000), reduced), {}).function])
    machine = jit._target().create_target_machine(cpu="haswell", opt=jit.LEVEL)
    code = machine.emit_assembly(jit._parsed(text))
    assert "ymm" in code
    assert len(re.findall("pinsr|pextr", code)) <= 8  # of the result's lanes, when they are combined
