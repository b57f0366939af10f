"""A function of plain arrays, of adjoint's own, as native code."""

from __future__ import annotations

from collections.abc import Sequence
from contextvars import Context

import numpy as np

from adjoint.compiler.capture import capture
from adjoint.core.types import Function
from adjoint.native.operations import native_program


def native_function(function: Function, arrays: Sequence[np.ndarray]) -> Function | None:
    """What computes `function` of arrays like these, and gives a list of arrays; None, if NumPy would do some of it.

    Args:
        function: takes arrays, and gives one or a tuple of them.
        arrays: those of a call.
    """
    graph = Context().run(capture, function, *arrays)  # whatever recording the caller is in
    return native_program(graph.inputs, graph.outputs)
