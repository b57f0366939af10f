"""Convolutions of networks, decomposed: the border around an array is written out, and the rest is a sum of products.

`SLIDE` is that sum: a matrix for each group times the windows of an array, which are never copied out. The gradient for
the array is a convolution with other weights, with zeros between them if there was a stride.
`TAPS` is the gradient for the weights: for each element of the window, the sum over all positions of one array times
the other one at that element.
"""

from __future__ import annotations

from math import prod

import numpy as np

from adjoint.core.op import Op
from adjoint.core.registry import op_named
from adjoint.core.types import Value
from adjoint.graph.node import Node, call
from adjoint.graph.rewriting.driver import converted
from adjoint.native.codegen.llvm_text import key_of
from adjoint.native.plan.layout.indexing import SLIDE, never
from adjoint.ops.neural.windows import Sizes

# x as that of `SLIDE`, y (n, groups * rows, *count) -> (groups, rows, c * prod(kernel))
TAPS = Op("taps", never, ("x", "y"), settings={"kernel": (), "step": (), "dilation": (), "groups": 1})
NAMES = ("conv", "conv_input", "conv_weight")


def taken_apart(node: Node, args: tuple[Node, ...]) -> Node | None:
    """The convolution `node` of `args` by `SLIDE` or `TAPS`; None if NumPy computes it."""
    assert node.op is not None
    if key_of(node.dtype) not in ("f4", "f8") or 0 in node.shape or any(0 in arg.shape for arg in args):
        return None
    x, y = (converted(arg, node.dtype, node.place) for arg in args)
    return {"conv": _forward, "conv_input": _back, "conv_weight": _weights}[node.op.name](node, x, y)


def _forward(node: Node, x: Node, w: Node) -> Node:
    settings, kernel = node.settings, w.shape[2:]
    count, groups = node.shape[2:], settings["groups"]
    room = _room(x, kernel, count, settings["stride"], settings["padding"], settings["dilation"])
    matrix = reshaped(w, (groups, w.shape[0] // groups, prod(w.shape[1:])))
    return _slide(room, matrix, kernel, settings["stride"], settings["dilation"], count, node)


def _back(node: Node, y: Node, w: Node) -> Node:
    settings, kernel, size, dilation = node.settings, w.shape[2:], node.shape[2:], node.settings["dilation"]
    groups, rows, ones = settings["groups"], w.shape[1], (1,) * len(kernel)
    spread = _spread(y, settings["stride"])
    wanted = [(d * (k - 1) - before, n - p + before) for n, k, d, p, (before, _) in
              zip(size, kernel, dilation, spread.shape[2:], settings["padding"], strict=True)]  # fmt: skip
    room = around(spread, wanted)
    parts = reshaped(w, (groups, w.shape[0] // groups, rows, *kernel))
    flipped = _part(parts, (..., *(slice(None, None, -1) for _ in kernel)), parts.shape)
    order = (0, 2, 1, *range(3, 3 + len(kernel)))
    turned = _transposed(flipped, order)
    matrix = reshaped(turned, (groups, rows, prod(turned.shape[2:])))
    zeros = any(n > 0 for pair in wanted for n in pair) or prod(settings["stride"]) > 1
    inside = (_finite(w),) if zeros else ()  # infinite weights times zeros would be nan, which NumPy does not compute
    return _slide(_in_phases(room, 1), matrix, kernel, ones, dilation, size, node, inside)


def _weights(node: Node, x: Node, y: Node) -> Node:
    settings, kernel, count = node.settings, tuple(node.settings["kernel"]), y.shape[2:]
    groups, step, dilation = settings["groups"], settings["stride"], settings["dilation"]
    room = _room(x, kernel, count, step, settings["padding"], dilation)
    chosen = {"kernel": kernel, "step": tuple(step), "dilation": tuple(dilation), "groups": groups}
    shape = (groups, y.shape[1] // groups, x.shape[1] // groups * prod(kernel))
    return reshaped(call(TAPS, (room, y), chosen, shape, node.dtype, lambda: node.place), node.shape)


def _finite(w: Node) -> Node:
    """Whether all of `w` is finite."""
    each, every = op_named("isfinite"), op_named("all")
    found = call(each, (w,), each.settings, w.shape, np.dtype(bool), lambda: w.place)
    settings = {**every.settings, "axis": None, "keepdims": False}
    return call(every, (found,), settings, (), np.dtype(bool), lambda: w.place)


def _slide(
    x: Node, w: Node, kernel: Sizes, step: Sizes, dilation: Sizes, count: Sizes, node: Node,
    inside: tuple[Node, ...] = (),
) -> Node:  # fmt: skip
    settings = {"kernel": tuple(kernel), "step": tuple(step), "dilation": tuple(dilation), "count": tuple(count),
                "inside": inside}  # fmt: skip
    return call(SLIDE, (x, w), settings, node.shape, node.dtype, lambda: node.place)


def _room(x: Node, kernel: Sizes, count: Sizes, step: Sizes, padding: Value, dilation: Sizes) -> Node:
    """`x` with zeros around it, as far as windows reach; its rows in as many phases as windows go on by."""
    spans = zip(x.shape[2:], kernel, count, step, padding, dilation, strict=True)
    wanted = [(before, s * (c - 1) + d * (k - 1) + 1 - n - before) for n, k, c, s, (before, _), d in spans]
    wide = x.shape[-1] + sum(wanted[-1])
    wanted[-1] = wanted[-1][0], wanted[-1][1] + -wide % step[-1]
    return _in_phases(around(x, wanted), step[-1])


def _in_phases(x: Node, phases: int) -> Node:
    """Rows as so many rows, of each number and the ones so many places on."""
    if phases == 1:
        return reshaped(x, (*x.shape[:-1], 1, x.shape[-1]))
    parts = reshaped(x, (*x.shape[:-1], x.shape[-1] // phases, phases))
    last = len(parts.shape) - 1
    return _transposed(parts, (*range(last - 1), last, last - 1))


def around(x: Node, widths: list[tuple[int, int]]) -> Node:
    """`x` with so many zeros before and after it along its last axes; with less of it, where numbers are negative."""
    lead = len(x.shape) - len(widths)
    index = tuple(slice(max(-before, 0), n - max(-after, 0)) for n, (before, after) in
                  zip(x.shape[lead:], widths, strict=True))  # fmt: skip
    lengths = [part.stop - part.start for part in index]
    x = _part(x, (..., *index), (*x.shape[:lead], *lengths))
    wide = ((0, 0),) * lead + tuple((max(before, 0), max(after, 0)) for before, after in widths)
    if not any(map(any, wide)):
        return x
    op = op_named("pad_zeros")
    shape = tuple(n + before + after for n, (before, after) in zip(x.shape, wide, strict=True))
    return call(op, (x,), {**op.settings, "widths": wide}, shape, x.dtype, lambda: x.place)


def _spread(y: Node, step: Sizes) -> Node:
    """`y` with zeros between its places, as many as windows leave out."""
    for axis, s in enumerate(step, len(y.shape) - len(step)):
        if s > 1:
            shape = y.shape
            apart = reshaped(y, (*shape[: axis + 1], 1, *shape[axis + 1 :]))
            after = [(0, s - 1), *((0, 0),) * (len(shape) - axis - 1)]
            joined = reshaped(around(apart, after), (*shape[:axis], shape[axis] * s, *shape[axis + 1 :]))
            y = around(joined, [(0, 1 - s), *after[1:]])
    return y


def reshaped(x: Node, shape: Sizes) -> Node:
    if x.shape == tuple(shape):
        return x
    op = op_named("reshape")
    return call(op, (x,), {**op.settings, "shape": tuple(shape)}, tuple(shape), x.dtype, lambda: x.place)


def _transposed(x: Node, axes: Sizes) -> Node:
    if axes == tuple(range(len(axes))):
        return x
    op = op_named("transpose")
    shape = tuple(x.shape[a] for a in axes)
    return call(op, (x,), {**op.settings, "axes": tuple(axes)}, shape, x.dtype, lambda: x.place)


def _part(x: Node, index: tuple[object, ...], shape: Sizes) -> Node:
    if shape == x.shape and all(part is Ellipsis or part == slice(0, n) for part, n in
                                zip(index, (0, *x.shape[1 - len(index) :]), strict=True)):  # fmt: skip
        return x
    op = op_named("getitem")
    return call(op, (x,), {**op.settings, "index": index}, shape, x.dtype, lambda: x.place)


def offsets(x: Sizes, strides: Sizes, kernel: Sizes, dilation: Sizes, channels: int) -> np.ndarray:
    """For each element of a window, channel by channel, how many elements it lies from where the window begins.

    `x` is the shape (…, channels, *room, phases, row), `strides` its strides.
    """
    *before, phase, _ = strides[-len(kernel) - 2 :]
    found: np.ndarray = np.arange(channels) * before[0]
    for k, d, s in zip(kernel[:-1], dilation[:-1], before[1:], strict=True):
        found = np.add.outer(found, np.arange(k) * d * s)
    along = np.arange(kernel[-1]) * dilation[-1]
    phases = x[-2]
    found = np.add.outer(found, along % phases * phase + along // phases)
    return found.ravel().astype(np.int64)
