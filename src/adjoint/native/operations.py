"""Operations of plain arrays as native code, without NumPy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from adjoint.core.op import Op
from adjoint.core.threads.locks import COMPILING
from adjoint.core.types import Function, Value
from adjoint.graph.node import Node, call, placeholder
from adjoint.native.program import Program


def native_operation(
    op: Op, arrays: Sequence[np.ndarray], settings: Mapping[str, Value], out: np.ndarray
) -> Function | None:
    """What computes `op` of arrays like these, and gives a list of one array like `out`; None, if NumPy would do some.

    Args:
        op: the operation.
        arrays: those of a call.
        settings: its settings.
        out: its result.
    """
    with COMPILING:
        inputs = [placeholder(name, a.shape, a.dtype) for name, a in zip(op.inputs, arrays, strict=True)]
        return native_program(inputs, [call(op, tuple(inputs), dict(settings), out.shape, out.dtype)])


def native_program(inputs: Sequence[Node], outputs: Sequence[Node]) -> Function | None:
    """What computes `outputs` of arrays, and gives a list of them; None, if NumPy would do some of it."""
    program = Program(inputs, outputs)
    return program.run if program.whole and not program.finite else None
