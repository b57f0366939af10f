"""The steps of a convolution: the tiles of a product whose rows of B are windows, and sums over all positions."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

import numpy as np

from adjoint.core.types import Value
from adjoint.graph.node import Node, constant
from adjoint.native.codegen import machine
from adjoint.native.codegen.llvm_text import key_of
from adjoint.native.codegen.loops.loop_nest import contiguous
from adjoint.native.codegen.routines import window_sums
from adjoint.native.codegen.routines.matrix_product import Tiles
from adjoint.native.codegen.routines.window_sums import Sums
from adjoint.native.plan.fusion import Group
from adjoint.native.plan.layout.views import StridedView
from adjoint.native.plan.memory.arena import StepUse
from adjoint.native.plan.products import multiplying
from adjoint.native.plan.products.multiply import tile
from adjoint.native.plan.windows.convolution import offsets

if TYPE_CHECKING:
    from adjoint.native.plan.planner import Planner

SAMPLES = 3 << 13  # bytes of a tile's rows that are gone through at a time, which stay in the first cache
TAPS = 3  # elements of a window at a time


def slide(planner: Planner, node: Node, group: Group | None = None, needed: set[Node] | None = None) -> None:
    """Add the steps that compute a `SLIDE`, and what `group` computes of it; of that, what is `needed` is stored."""
    x, w = (_in_rows(planner, node, planner.view(arg)) for arg in node.args)
    settings, vectors, size = node.settings, machine.vectors(), node.dtype.itemsize
    width, (groups, rows, inner), count = vectors.bytes // size, w.shape, settings["count"]
    *lead, across = count
    apart = bool(lead) and across <= width
    places = lead[-1] * width if apart else across
    high, columns = tile(rows, places, width, vectors.registers)
    full, left = divmod(places, columns * width)
    levels = [(groups, w.strides[0], (x.shape[1] // groups) * x.strides[1])] if groups > 1 else []
    steps = [s * stride for s, stride in zip(settings["step"], x.strides[2:-2], strict=False)]
    inside = list(zip(lead, (0,) * len(lead), steps, strict=True))
    levels += inside[:-1] if apart else inside
    tiles = Tiles(key_of(node.dtype), high, rows % high, columns, -(-left // width) if full else 0, across % width != 0,
                  False, scattered=True, apart=apart, levels=len(levels))  # fmt: skip
    end = multiplying.end_of(planner, node, group, needed or set())
    table = planner.hold(constant(size * _offsets(x, settings, x.shape[1] // groups)))
    wide = columns * steps[-1] if apart else columns * width
    told = [0, x.shape[0], 1, rows // high, rows // high, max(1, full), inner, across % width,
            w.strides[1] * size, size, 0, wide * size, 0, x.strides[0] * size]  # fmt: skip
    told += [steps[-1] * size] if apart else []
    for n, a, b in levels:
        told += (n, a * size, b * size)
    moves = []
    for strides, item in multiplying.strides_of(end, node.shape):
        inner_axes = strides[2:-1]
        own = [
            strides[1],
            strides[0],
            *(inner_axes[-1:] if apart else ()),
            *([rows * strides[1]] if groups > 1 else ()),
        ]
        moves += [item * s for s in (*own, *(inner_axes[:-1] if apart else inner_axes))]
    function = multiplying.kernel_of(planner, tiles, end, group)
    operands = [
        (w.base, w.offset * size),
        (x.base, x.offset * size),
        (table, 0),
        *multiplying.operands_of(planner, end),
    ]
    use = multiplying.use_of(end, (w.base, x.base), node.shape)
    nodes = tuple(group.members) if group else (node,)
    done = groups * rows, x.shape[0] * prod(count), inner
    planner.multiplied(function, operands, [*told, *moves], nodes, use, "product", done)


def taps(planner: Planner, node: Node) -> None:
    """Add the steps that compute a `TAPS`."""
    x, y = (_in_rows(planner, node, planner.view(arg)) for arg in node.args)
    settings, vectors, size = node.settings, machine.vectors(), node.dtype.itemsize
    groups, rows, inner = node.shape
    width, (*lead, across) = vectors.bytes // size, y.shape[2:]
    high = min(rows, 8 if vectors.registers > 16 else 4)
    wide = min(inner, TAPS)
    steps = [s * stride for s, stride in zip(settings["step"], x.strides[2:-2], strict=False)]
    sums = Sums(
        key_of(node.dtype), high, rows % high, wide, inner % wide, across >= width, across % width != 0, len(lead)
    )
    few = max(1, SAMPLES // (size * high * prod(y.shape[2:])))
    table = planner.hold(constant(size * _offsets(x, settings, x.shape[1] // groups)))
    told = [0, -(-inner // wide), x.shape[0], few, rows // high, inner // wide, across // width, across % width,
            y.strides[1] * size, y.strides[0] * size, x.strides[0] * size, inner * size]  # fmt: skip
    for n, y_step, x_step in zip(lead, y.strides[2:-1], steps, strict=True):
        told += (n, y_step * size, x_step * size)
    key = sums, vectors
    if key not in planner.known:
        planner.known[key] = window_sums.write(sums, vectors)
    use = StepUse(tuple(dict.fromkeys((y.base, x.base))), (node,), {})
    for g in range(groups):
        here = (
            (y.offset + g * rows * y.strides[1]) * size,
            (x.offset + g * (x.shape[1] // groups) * x.strides[1]) * size,
        )
        operands = [(y.base, here[0]), (x.base, here[1]), (table, 0), (node, g * rows * inner * size)]
        done = rows, inner, x.shape[0] * prod(y.shape[2:])
        planner.multiplied(planner.known[key], operands, told, (node,), use, "product", done)


def _in_rows(planner: Planner, node: Node, view: StridedView) -> StridedView:
    """`view`, whose rows lie without gaps between their elements; a copy, where they do not."""
    planner.hold(view.base)
    if view.strides[-1] == 1 or view.shape[-1] == 1:
        return view
    copy = planner.scratch(node, view.shape)
    planner.put_in_order(view, copy)
    return StridedView(copy, view.shape, contiguous(view.shape))  # type: ignore[arg-type]  # a value all the same


def _offsets(x: StridedView, settings: Value, channels: int) -> np.ndarray:
    return offsets(x.shape, x.strides, settings["kernel"], settings["dilation"], channels)
