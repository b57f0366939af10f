"""`Quantity`: a number without a value. Gradient rules run on it unchanged, and their operations become nodes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from adjoint.arrays.array_box import ArrayBox
from adjoint.core.box import Box, apply
from adjoint.core.errors import NotSupportedError
from adjoint.core.op import Op
from adjoint.core.registry import op_named
from adjoint.core.types import Array, Settings, Value
from adjoint.expressions.functions import TRUTHS
from adjoint.expressions.nodes import as_number, is_truth, made, number, reduced
from adjoint.graph.node import Node, constant

LEVEL = 1 << 62  # above all arrays, so that it is asked first and can say what is wrong
_SAME = frozenset(("reshape", "real", "conj", "positive", "copy", "broadcast_to", "name", "ravel", "squeeze"))
_CREATED = {"zeros_like": 0.0, "ones_like": 1.0, "empty_like": 0.0, "imag": 0.0}
_INTEGRALS = ("gamma_by_shape", "beta_by_shapes")
_BITS = {
    op_named(f"bitwise_{name}"): op_named(f"logical_{name}") for name in ("and", "or", "xor")
} | {op_named("invert"): op_named("logical_not")}  # fmt: skip


class Quantity(ArrayBox):
    """A node of an expression, in an array's clothes: of shape () and float64, or bool."""

    __slots__ = ("node",)
    is_formula = True

    def __init__(self, node: Node) -> None:
        self.node, self.level = node, LEVEL

    @property
    def held(self) -> Quantity:
        return self

    @property
    def shape(self) -> tuple[int, ...]:
        return ()

    @property
    def dtype(self) -> Value:
        return np.dtype(bool if is_truth(self.node) else float)

    def constant(self, answer: Quantity) -> Value:
        return answer

    def detach(self) -> Value:
        return self

    def process(self, op: Op, args: Sequence[Array], settings: Settings) -> Value:
        if "once" in op.flags:
            return apply(op, [0.0 if isinstance(x, Quantity) else x for x in args], settings)
        if op.name in _CREATED:
            return Quantity(number(_CREATED[op.name]))
        if op.name in _SAME:
            return args[0]
        if op.name == "astype":
            return Quantity(as_number(node_of(args[0]))) if np.dtype(settings["dtype"]).kind == "f" else args[0]
        return Quantity(reduced(taken(op, settings), [node_of(x) for x in args]))


def taken(op: Op, settings: Settings) -> Op:
    """`op` as expressions have it.

    Raises:
        NotSupportedError: if it does not work on each number by itself.
    """
    op = _BITS.get(op, op)
    if op.name in _INTEGRALS:
        raise NotSupportedError(
            "the derivative of an incomplete gamma or beta function by its shape is an integral, which expressions do "
            "not have. Give the shape as a number, or write the function in NumPy and take ad.grad of it"
        )
    if (op.kind != "elementwise" and op not in TRUTHS) or settings:
        raise NotSupportedError(
            f"{op.name} of an expression: expressions have only functions of each number by itself. Call the "
            f"expression with arrays, and take {op.name} of the result"
        )
    return op


def node_of(x: Array) -> Node:
    """The node of a quantity or a number.

    Raises:
        NotSupportedError: for arrays, which an expression does not hold.
    """
    if isinstance(x, Quantity):
        return x.node
    if isinstance(x, bool | np.bool_):
        return constant(bool(x))
    if isinstance(x, int | float | np.integer | np.floating) or (
        isinstance(x, np.ndarray) and x.ndim == 0 and x.dtype.kind in "iuf"
    ):
        return number(float(x))
    kind = "an array" if isinstance(x, np.ndarray) else f"a {type(x).__name__}"
    near = "a tensor, dual or batched array" if isinstance(x, Box) else kind
    raise NotSupportedError(
        f"an expression is made of numbers and variables; got {near}. Give values when it is called: e(x=values)"
    )


def op_node(op: Op, args: Sequence[object], settings: Settings) -> Node:
    """The node of `op` on quantities and numbers, as it is written."""
    return made(taken(op, settings), [node_of(x) for x in args])
