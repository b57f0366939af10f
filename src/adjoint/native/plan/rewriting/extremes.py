"""Places of the largest and smallest elements along an axis, found together with these; extremes that leave nan out."""

from __future__ import annotations

import math

import numpy as np

from adjoint.core.op import Op
from adjoint.core.registry import op_named
from adjoint.graph.node import Node, call, constant
from adjoint.graph.rewriting.driver import reshaped
from adjoint.native.codegen.llvm_text import IRValue, key_of
from adjoint.native.codegen.loops.loop_nest import Reduction
from adjoint.native.lower.table import FLOATS, NUMBERS
from adjoint.native.plan.layout.indexing import never
from adjoint.native.plan.partial_sums import FEWEST

# a, the number of each element along the axis -> that of the first extreme, or of the first nan
PLACES = tuple(
    Op(name, never, ("a", "numbers"), settings={"axis": 0, "keepdims": False})
    for name in ("place_of_max", "place_of_min")
)
NAMES = tuple(op.name for op in PLACES)
# a -> the extreme of what is not nan; an infinity if everything is
BESIDE_NAN = tuple(
    Op(name, never, ("a",), settings={"axis": None, "keepdims": False})
    for name in ("largest_beside_nan", "smallest_beside_nan")
)
BESIDE = {"reduce_max": (BESIDE_NAN[0], -math.inf), "reduce_min": (BESIDE_NAN[1], math.inf)}
_OF = dict(zip(("argmax", "argmin"), PLACES, strict=True))
SMALL, SHORT = 1 << 12, 16  # elements in all and along the axis, for which other ways are as good


def taken_apart(node: Node, args: tuple[Node, ...]) -> Node | None:
    """`node` in one pass; None if it is another operation, or small, or goes over all elements of a large array."""
    if node.op is not None and node.op.name in BESIDE:
        return _beside_nan(node, args[0])
    op = _OF.get(node.op.name) if node.op else None
    if op is None or args[0].shape is None or key_of(args[0].dtype) not in (*NUMBERS, *FLOATS):
        return None
    axis, array = node.settings.get("axis"), args[0]
    shape, size = array.shape, math.prod(array.shape)
    if size < SMALL or (axis is None and size >= FEWEST):
        return None
    if axis is None:
        shape, axis = (size,), 0
        array = reshaped(array, shape)
    axis %= len(shape)
    if shape[axis] < SHORT:
        return None
    wide = key_of(array.dtype)[1] == "8" or shape[axis] >= 2**31  # as many bytes as elements, or near that
    numbers = np.arange(shape[axis], dtype=np.int64 if wide else np.int32)
    column = constant(np.reshape(numbers, [-1 if i == axis else 1 for i in range(len(shape))]))
    repeat = op_named("broadcast_to")
    spread = call(repeat, (column,), {**repeat.settings, "shape": shape}, shape, numbers.dtype, lambda: node.place)
    said = {"axis": axis, "keepdims": False}
    kept = tuple(n for i, n in enumerate(shape) if i != axis)
    return reshaped(call(op, (array, spread), said, kept, node.dtype, lambda: node.place), node.shape)


def _beside_nan(node: Node, arg: Node) -> Node | None:
    """The extreme of an array in which infinities replace nan, of the array itself: comparing leaves nan out."""
    op, least = BESIDE[node.op.name]  # type: ignore[union-attr]  # it has one
    if arg.op is None or arg.op.name != "choose_either" or node.settings.get("where", True) is not True:
        return None
    condition, filled, array = arg.args
    asks = condition.op is not None and condition.op.name == "isnan" and condition.args[0] is array
    if not asks or filled.kind != "constant" or filled.shape or filled.value != least or array.dtype != node.dtype:
        return None
    return call(op, (array,), node.settings, node.shape, node.dtype, lambda: node.place)


def beside_nan(node: Node) -> Reduction:
    """How elements are taken together, if those that are nan are left out."""
    is_max, kind = node.op is BESIDE_NAN[0], key_of(node.dtype)
    kept = "f4" if kind == "f2" else kind

    def combine(x: IRValue, y: IRValue) -> IRValue:
        return x.code.select(y > x if is_max else y < x, y, x)

    return Reduction(combine, _least(kept, is_max), lambda x: x, kept, ("beside nan", is_max))


def extreme(node: Node) -> Reduction:
    """How the element is found whose place is looked for."""
    assert node.op is not None
    is_max, kind = node.op is PLACES[0], key_of(node.args[0].dtype)
    kept = "f4" if kind == "f2" else kind

    def combine(x: IRValue, y: IRValue) -> IRValue:
        return x.code.select(_passes(x, y, is_max), y, x)

    return Reduction(combine, _least(kept, is_max), lambda x: x, kept, ("extreme", is_max))


def place(node: Node) -> Reduction:
    """How its place is found, beside it: from 0 on, which is right if all elements are what the extreme begins at."""
    assert node.op is not None
    is_max = node.op is PLACES[0]

    def least(x: IRValue, y: IRValue) -> IRValue:
        return x.code.select(x < y, x, y)

    def passes(x: IRValue, y: IRValue) -> IRValue:
        return _passes(x, y, is_max)

    return Reduction(least, 0, lambda x: x, key_of(node.args[1].dtype), ("place", is_max), passes)


def _passes(x: IRValue, y: IRValue, is_max: bool) -> IRValue:
    """Whether y comes before x: it is more extreme, or the first nan."""
    if x.dtype[0] != "f":
        return y > x if is_max else y < x
    beyond = x.code.put(f"fcmp {'ugt' if is_max else 'ult'} {x.type} {y.name}, {x.name}", "b1")
    return beyond & x.code.put(f"fcmp ord {x.type} {x.name}, {x.name}", "b1")


def _least(dtype: str, is_max: bool) -> float:
    """What every element passes or is equal to."""
    if dtype[0] == "f":
        return -math.inf if is_max else math.inf
    info = np.iinfo(np.dtype(dtype))
    return info.min if is_max else info.max
