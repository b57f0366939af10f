"""Cotangents of 0 that a loop gives where no path leads, since a turn read something else: 0 * inf would be nan.

Within a turn, and in a pass without loops, such zeros are kept apart from others (`adjoint.tape.zeros.selected`). From
turn to turn, and before the loop, they are numbers. So a program whose gradient has nan there is recorded turn by turn.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial

import numpy as np

from adjoint.core.rules.pullbacks import is_finite, selects
from adjoint.core.types import Array, Value
from adjoint.graph.captures.record import RECORD
from adjoint.graph.node import Node
from adjoint.tape.node import TapeNode
from adjoint.tape.tensor import Tensor
from adjoint.tape.writes import mutations
from adjoint.tape.zeros.hazards import program_masks


class LoopError(BaseException):
    """A loop has no gradient that is a loop."""


def is_zero(node: Node) -> bool:
    """Whether it is a constant of zeros."""
    return node.kind == "constant" and not np.any(node.value)


def is_careful(values: Iterable[Node]) -> bool:
    """Whether a partial derivative of one of these values may be infinite, although its arguments are finite."""
    return not all(node.op is None or node.op.kind == "constant" or is_finite(node.op) for node in values)


def vanishes(values: Iterable[Node], carried: Iterable[Node]) -> bool:
    """Whether a turn with these values may leave some out: it selects, or one of these cotangents is 0."""
    return any(node.op is not None and selects(node.op) for node in values) or any(map(is_zero, carried))


def is_cut() -> bool:
    """Whether the backward pass that runs can be asked nothing that depends on its cotangents."""
    record = RECORD.get()
    return record is not None and record.cut


def refuse_nan(cotangents: Iterable[Value]) -> None:
    """Refuse nan in these; None stands for one that is not there.

    Raises:
        LoopError: if there is any, now; later calls are asked by the program.
    """
    if any(bool(np.any(np.isnan(c))) for c in cotangents if c is not None):
        raise LoopError("a partial derivative is infinite, or nan")


def refuse_nan_at_ends(args: Sequence[Array]) -> None:
    """Refuse nan at the end of passes through a loop with these arguments, if what they are made of may give it."""
    record = RECORD.get()
    if record is None or not record.in_place_of_calls or record.at_ends is not None:
        return
    nodes = list[TapeNode]()
    for x in args:
        while isinstance(x, Tensor):
            nodes += [x.node] if x.node is not None and x.node.pullback is not None else []
            x = x.held
    if nodes and program_masks(nodes, mutations.latest()):
        record.at_ends = partial(_ended, _leaves(nodes))


def _ended(leaves: set[TapeNode], leaf: TapeNode, gradient: Array) -> None:
    """Refuse nan in the gradient of one of these leaves."""
    if leaf in leaves:
        refuse_nan([gradient])


def _leaves(nodes: Iterable[TapeNode]) -> set[TapeNode]:
    """The leaves that lead to these nodes."""
    seen = set(nodes)
    pending = list(seen)
    while pending:
        new = [parent for parent in pending.pop().parents if parent not in seen]
        seen.update(new)
        pending += new
    return {node for node in seen if node.pullback is None}
