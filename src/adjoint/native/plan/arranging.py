"""Chooses the order of axes for each kernel, and copies what it reads often into that order."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from adjoint.native.codegen.loops.loop_nest import Spec, contiguous
from adjoint.native.codegen.loops.memory import Operand
from adjoint.native.plan import order
from adjoint.native.plan.steps import Copy

if TYPE_CHECKING:
    from adjoint.native.plan.planner import Planner


def arranged(planner: Planner, spec: Spec) -> Spec:
    """The kernel with its axes in the order that suits it; what it writes then lies in that order, where it may."""
    free: dict[int, tuple[bool, ...]] = {}
    for k, (_, operand, reduction) in enumerate(spec.stores):
        if operand.buffer in planner.movable and operand.block is None:
            taken = spec.reduced if reduction else frozenset()
            free[k] = tuple(n > 1 and axis not in taken for axis, n in enumerate(spec.domain))
    chosen = order.chosen(spec, free)
    if chosen == tuple(range(len(chosen))):
        return _near(planner, spec)
    for k in list(free):
        node = spec.stores[k][1].buffer
        strides = order.laid(spec.domain, chosen, free[k])
        taken = spec.reduced if spec.stores[k][2] else frozenset()
        shape = tuple(1 if axis in taken else n for axis, n in enumerate(spec.domain))
        moved = order.moved_views(node, shape, strides, planner.scope)
        if moved is None:
            del free[k]
        else:
            planner.moved |= moved
    return _near(planner, order.reordered(spec, chosen, free))


def _near(planner: Planner, spec: Spec) -> Spec:
    """The kernel with copies of arrays that it reads often and that lie in another order."""
    if math.prod(spec.domain) < order.SMALL:
        return spec
    reads = [_beside(planner, read, spec.domain) if order.rare(read, spec.domain) else read for read in spec.reads]
    return spec._replace(reads=reads)


def _beside(planner: Planner, read: Operand, domain: tuple[int, ...]) -> Operand:
    """A copy of what is read, in the order of the domain."""
    key = "beside", read, domain
    shape = tuple(n if s else 1 for n, s in zip(domain, read.strides, strict=True))
    if key not in planner.copied:
        node = read.buffer.of if isinstance(read.buffer, Copy) else read.buffer
        planner.copied[key] = copy = planner.scratch(node, shape)
        there = Operand(copy, read.dtype, contiguous(shape))
        planner.write(Spec(shape, [read], [], [(0, there, None)]), ())
    own = contiguous(shape)
    strides = tuple(own[axis] if s else 0 for axis, s in enumerate(read.strides))
    return Operand(planner.copied[key], read.dtype, strides)
