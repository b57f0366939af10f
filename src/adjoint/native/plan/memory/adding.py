"""Sums that are added up in memory, row after row.

So arrays are read in the order in which they lie in memory. The sums stay in the cache, side by side for the kernel's
vectors, and are copied to their final positions at the end.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from adjoint.graph.node import Node
from adjoint.native.codegen.loops.loop_nest import Expression, Reduction, Spec, contiguous
from adjoint.native.codegen.loops.memory import Operand
from adjoint.native.plan.layout.assembly import number_as
from adjoint.native.plan.order import reordered, width_of

if TYPE_CHECKING:
    from adjoint.native.plan.planner import Planner

LINES, LONG, FAR = 2048, 32, 1 << 15  # sums that stay in the cache; of how many rows; in how many places


def add_up(planner: Planner, spec: Spec, nodes: tuple[Node, ...]) -> bool:
    """Write the kernel with its sums added up in memory, if they can be; tell whether they can."""
    if (added := _added_up(spec)) is None:
        return False
    identity = next(reduction.identity for _, _, reduction in spec.stores if reduction)
    stores: list[tuple[int, Operand, Reduction | None]] = []
    moved: list[Spec] = []
    for value, there, _ in added.stores:
        operand = there
        if there.adds:
            shape = tuple(n if s else 1 for n, s in zip(added.domain, there.strides, strict=True))
            if there.strides[-1] != 1:
                own = tuple(s if t else 0 for s, t in zip(contiguous(shape), there.strides, strict=True))
                operand = Operand(planner.scratch(there.buffer, shape), there.dtype, own, adds=True)
                read = operand._replace(adds=False)
                moved.append(_copied(shape, read, there._replace(adds=False)))
            planner.write(_copied(shape, number_as(identity, there.dtype), operand._replace(adds=False)), ())
        stores.append((value, operand, None))
    planner.write(added._replace(stores=stores), nodes)
    for copy in moved:
        planner.write(copy, ())
    return True


def _copied(shape: tuple[int, ...], source: Operand | Expression, target: Operand) -> Spec:
    reads, made = ([source], []) if isinstance(source, Operand) else ([], [source])
    return Spec(shape, reads, made, [(0, target, None)])


def _added_up(spec: Spec) -> Spec | None:
    """The kernel with its sums added up in memory, in the same order; None where vectors go along what is summed up."""
    sums = [(operand, reduction) for _, operand, reduction in spec.stores if reduction]
    last = len(spec.domain) - 1
    few = all(prod(n for n, s in zip(spec.domain, o.strides, strict=True) if s) <= LINES for o, _ in sums)
    plain = all(r.key == "reduce_sum" and r.dtype == o.dtype and o.dtype[0] == "f" for o, r in sums)
    places = prod(n for axis, n in enumerate(spec.domain) if axis in spec.reduced)
    if not sums or not few or not plain or last in spec.reduced or places < LONG or prod(spec.domain) < FAR:
        return None
    if spec.domain[-1] < width_of(spec) or spec.in_turn:
        return None
    order = (*sorted(spec.reduced), *(axis for axis in range(last + 1) if axis not in spec.reduced))
    turned = reordered(spec, order, {})
    stores: list[tuple[int, Operand, Reduction | None]] = []
    for value, operand, reduction in turned.stores:
        stores.append((value, operand._replace(adds=reduction is not None), None))
    return turned._replace(stores=stores, reduced=frozenset(), in_turn=turned.reduced)
