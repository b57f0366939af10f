"""Kernels that write elements directly to their positions in the joined arrays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from adjoint.graph.node import Node
from adjoint.native.codegen.llvm_text import key_of
from adjoint.native.codegen.loops.loop_nest import Reduction, Spec
from adjoint.native.codegen.loops.memory import Operand
from adjoint.native.plan.fusion import Group, Scope
from adjoint.native.plan.layout import assembly
from adjoint.native.plan.layout.piecewise import ASSEMBLE
from adjoint.native.plan.layout.regions import meeting

Placed = dict[Node, dict[Node, list[Operand]]]  # by a value and an array: its parts there


def placed(scope: Scope, order: Sequence[Group | Node]) -> Placed:
    """Values that a kernel may write right to their parts of arrays that are put together, and where in which array."""
    home = {node: group for group in order if isinstance(group, Group) and not group.product for node in group.nodes}
    found: Placed = {}
    for node in order:
        if not isinstance(node, Node) or node.op is not ASSEMBLE:
            continue
        met = meeting(node.shape, node.settings["regions"])
        if node.settings["below"] or any(met.earlier) or not met.covered:
            continue
        for part in assembly.parts(node) or ():
            value, place = part.value, part.place
            if value in home and value.shape == place.shape == home[value].domain:
                operand = Operand(node, key_of(node.dtype), place.strides, place.offset * node.dtype.itemsize)
                found.setdefault(value, {}).setdefault(node, []).append(operand)
    return found


def stores(
    nodes: Sequence[Node], placed: Placed, places: dict[Node, int]
) -> Iterator[tuple[int, Operand, Reduction | None]]:
    """What a kernel of these nodes, which have `places` in it, stores to parts of arrays."""
    for node in nodes:
        for parts in placed.get(node, {}).values():
            yield from ((places[node], part, None) for part in parts)


def in_tables(spec: Spec, scope: Scope) -> Spec:
    """The kernel with its code told which of its arrays are columns of one table, and where in it."""

    if not scope.by_element:
        return spec

    def told(operand: Operand) -> Operand:
        is_column = len(operand.strides) == 1 and operand.strides[0] not in (0, 1) and operand.block is None
        return operand._replace(offset=0, block=operand.buffer, within=operand.offset) if is_column else operand

    stores = [(value, operand if reduction else told(operand), reduction) for value, operand, reduction in spec.stores]
    return spec._replace(reads=list(map(told, spec.reads)), stores=stores)
