"""Where numbers belong in sorted arrays: `np.searchsorted` and `np.digitize` as steps that halve what is left.

Every number takes the same steps, so that they go in vectors, and loops that look something up run natively.
"""

from __future__ import annotations

import numpy as np

from adjoint.core.registry import op_named
from adjoint.core.types import DType, Value
from adjoint.graph.node import Node, call, constant
from adjoint.graph.rewriting.driver import converted
from adjoint.native.codegen.llvm_text import REGISTER, key_of
from adjoint.native.plan.layout.indexing import GATHER, every

NAMES = ("searchsorted", "digitize")
_INT = np.dtype(np.int64)


def taken_apart(node: Node, args: tuple[Node, ...]) -> Node | None:
    """`node` as primitive operations; None if it is left to NumPy."""
    assert node.op is not None
    if len(args) != 2 or node.shape is None or 0 in node.shape or any(key_of(a.dtype) not in REGISTER for a in args):
        return None
    by_bins = node.op.name == "digitize"
    table, values = args[::-1] if by_bins else args
    if len(table.shape) != 1 or 0 in table.shape or values.shape != node.shape:
        return None
    if by_bins:
        return _among_bins(table, values, behind=not node.settings.get("right", False))
    side = node.settings.get("side", "left")
    if side not in ("left", "right") or node.settings.get("sorter") is not None:
        return None
    return _searched(table, values, side == "right")


def _among_bins(bins: Node, values: Node, behind: bool) -> Node | None:
    """Bins rise or fall; other ones NumPy refuses, for which it gets the call."""
    if bins.shape == (1,):
        return _searched(bins, values, behind)
    first, last = (np.asarray(part) for part in (np.arange(bins.shape[0] - 1), np.arange(1, bins.shape[0])))
    if bins.kind == "constant":
        steps = bins.value[first] <= bins.value[last], bins.value[first] >= bins.value[last]
        up, down = (bool(step.all()) for step in steps)
        return _searched(bins, values, behind, constant(np.bool_(not up))) if up or down else None
    before, after = _read(bins, constant(first), bins.dtype), _read(bins, constant(last), bins.dtype)
    rises, falls = (every(_with(word, after, before)) for word in ("greater_equal", "less_equal"))
    turned = _with("logical_not", rises)
    return _searched(bins, values, behind, turned, (_with("logical_or", rises, falls),))


def _searched(
    table: Node, values: Node, behind: bool, falls: Node | None = None, inside: tuple[Node, ...] = ()
) -> Node:
    """How many elements come before each number, or, where the table `falls`, after it; nan is the largest.

    Equal elements come before it too if `behind`. Unless all of `inside` hold, NumPy gets the call.
    """
    common = np.result_type(table.dtype, values.dtype)
    values = converted(values, common, values.place)
    before, left = constant(np.zeros(values.shape, np.int64)), table.shape[0]
    while left:
        half = (left + 1) // 2
        probe = _with("add", before, constant(np.int64(half - 1)))
        passed = _passed(_read(table, probe, common, inside), values, behind)
        passed = passed if falls is None else _with("logical_xor", passed, falls)
        before = _with("choose_either", passed, _with("add", before, constant(np.int64(half))), before)
        left -= half
    return before


def _passed(element: Node, value: Node, behind: bool) -> Node:
    """Whether a number comes after an element; after equal ones too, if `behind`."""
    word = "greater" if behind else "greater_equal"  # whose opposite is True of nan
    passed = _with("logical_not", _with(word, element, value))
    if element.dtype.kind != "f":
        return passed
    element_nan, value_nan = _with("isnan", element), _with("isnan", value)
    both = _with("logical_and", element_nan, value_nan) if behind else constant(np.bool_(False))
    return _with("logical_and", passed, _with("logical_or", _with("logical_not", element_nan), both))


def _read(table: Node, positions: Node, dtype: DType, inside: tuple[Node, ...] = ()) -> Node:
    """The elements at positions that are there."""
    said = {"strides": (0,) * len(positions.shape), "offset": 0, "region": positions.shape, "inside": inside}
    return converted(call(GATHER, (table, positions), said, positions.shape, table.dtype), dtype, None)


def _with(name: str, *args: Value) -> Node:
    """An elementwise operation on nodes."""
    op = op_named(name)
    shape = np.broadcast_shapes(*(n.shape for n in args))
    return call(op, args, op.settings, shape, _INT if name in ("add", "choose_either") else np.dtype(bool))
