"""The rewrites that make formulas short: exact ones, and some that put numbers first and let them carry the sign."""

from __future__ import annotations

import math

import numpy as np

from adjoint.core.registry import operation
from adjoint.graph.node import Node, constant
from adjoint.graph.rewriting.driver import Rewrite, on
from adjoint.graph.rewriting.rules import EXACT, called

_MULTIPLY = operation("multiply")


@on(
    "multiply",
    examples=[lambda x: x * 3.0, lambda x: 3.0 * (2.0 * x)],
    wants=lambda heads: isinstance(heads[0], Node) or isinstance(heads[1], Node),
)
def _one_number_first(node: Node) -> Node | None:
    """A product of a number and a formula begins with the number. Two numbers are one where that rounds nothing."""
    x, y = node.args
    if node.dtype not in (None, np.float64):
        return None
    if not _is_float(x):
        return called("multiply", y, x) if _is_float(y) else None
    if y.op is not node.op or not _is_float(y.args[0]):
        return None
    outer, inner = x.value, y.args[0].value
    doubles = 1 <= inner < 1 << 40 and math.frexp(inner)[0] == 0.5  # a power of 2
    if abs(outer) < 1 or not doubles or not math.isfinite(outer * inner):
        return None
    return called("multiply", constant(outer * inner), y.args[1])


@on("negative", examples=[lambda x: -(3.0 * x)], wants=lambda heads: heads[0] is _MULTIPLY)
def _negative_number(node: Node) -> Node | None:
    """The sign of a product is that of its number."""
    (x,) = node.args
    if node.dtype not in (None, np.float64) or x.op is not _MULTIPLY or not _is_float(x.args[0]):
        return None
    return called("multiply", constant(-x.args[0].value), x.args[1])


@on("add", examples=[lambda x: x + x, lambda x: x + 2.0 * x, lambda x: 3.0 * x + x, lambda x: 4.0 * x + x])
def _multiple(node: Node) -> Node | None:
    """A sum of one number is a multiple of it, up to 5: 5 * x + x is rounded otherwise than 6 * x."""
    x, y = node.args
    if node.dtype is not None and not (node.dtype.kind == "f" and x.dtype == y.dtype == node.dtype):
        return None
    if x is y:
        return called("multiply", constant(2.0), x)
    for many, one in ((x, y), (y, x)):
        if many.op is _MULTIPLY and many.args[1] is one and _is_float(many.args[0]) and many.args[0].value in (2, 3, 4):
            return called("multiply", constant(many.args[0].value + 1), one)
    return None


def _is_float(node: Node) -> bool:
    return type(node.value) is float and node.kind == "constant"


#: Every bit stays as it is.
FORMULAS: list[Rewrite] = [*EXACT, *_one_number_first, *_negative_number, *_multiple]
