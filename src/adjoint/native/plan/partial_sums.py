"""Sums of all elements of large arrays, in parts that several cores share.

A kernel takes the sums of each part; a second one, those of the parts, in their order. How many parts there are depends
on the shape alone, so the result has the same bits for any number of threads.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from adjoint.graph.node import Node
from adjoint.native.codegen.loops.loop_nest import Reduction, Spec
from adjoint.native.codegen.loops.memory import Operand

if TYPE_CHECKING:
    from adjoint.native.plan.planner import Planner

KernelStore = tuple[int, Operand, Reduction | None]
FEWEST, MOST_PARTS = 1 << 17, 32  # elements that are worth it; parts


def parted(planner: Planner, spec: Spec, nodes: tuple[Node, ...]) -> bool:
    """Write the kernel with its sums in parts, if it is large and sums up all there is; tell whether it does."""
    sums = [(operand, reduction) for _, operand, reduction in spec.stores if reduction]
    is_whole = bool(sums) and len(spec.reduced) == len(spec.domain) and not spec.in_turn
    is_whole = is_whole and all(o.positions is None and not o.adds for _, o, _ in spec.stores)
    if not is_whole or prod(spec.domain) < FEWEST or any(o.dtype != r.dtype for o, r in sums):
        return False
    first, *rest = spec.domain
    count = next((n for n in range(MOST_PARTS, 1, -1) if first % n == 0), 1)
    if count == 1:
        return False

    def cut(operand: Operand) -> Operand:
        step, *others = operand.strides
        return operand._replace(strides=(step * (first // count), step, *others))

    stores, ends = list[KernelStore](), list[tuple[Operand, KernelStore]]()
    for value, operand, reduction in spec.stores:
        if reduction is None:
            stores.append((value, cut(operand), None))
            continue
        of_parts = Operand(planner.scratch(operand.buffer, (count,)), operand.dtype, (1, *[0] * len(spec.domain)))
        own = reduction._replace(finish=lambda total: total, key=("part", reduction.key))
        stores.append((value, of_parts, own))
        end = len(ends), operand._replace(strides=(0,)), reduction
        ends.append((of_parts._replace(strides=(1,)), end))
    expressions = [e._replace(array=e.array and cut(e.array)) for e in spec.expressions]
    domain = (count, first // count, *rest)
    axes = frozenset(range(1, len(domain)))
    planner.write(spec._replace(domain=domain, reads=[cut(read) for read in spec.reads], expressions=expressions,
                                stores=stores, reduced=axes), nodes)  # fmt: skip
    planner.write(Spec((count,), [read for read, _ in ends], [], [end for _, end in ends], frozenset((0,))), nodes)
    return True
