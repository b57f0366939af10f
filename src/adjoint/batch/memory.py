"""How stacks of samples lie: sample after sample, and each as NumPy's array of that sample alone.

So the strides of a stack show what is a view of one sample, and what a write changes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from adjoint.core.box import Box
from adjoint.core.memory import axes_by, is_laid_out, lies, without_repeats
from adjoint.core.op import Op
from adjoint.core.types import Array, Settings, Value
from adjoint.ops.shape.copying import copy


def as_given(x: Array) -> Array:
    """A copy of the argument `x`, a stack, whose samples have strides in the proportions that they have in `x`.

    Elements with gaps between them keep some, since `ravel` and its like copy such.
    """
    model = lies(x)
    if not isinstance(model, np.ndarray) or isinstance(x, Box):
        return x if not isinstance(model, np.ndarray) or is_by_sample(model) else copy(x, order=by_sample("K", model))
    count, *shape = x.shape
    strides = [s // x.itemsize for n, s in zip(shape, x.strides[1:], strict=True) if n > 1]
    if x.size and 0 in strides:
        samples = (slice(None), *without_repeats(x[0]))
        return np.broadcast_to(as_given(x[samples]), x.shape)
    if not x.size or x[0].flags.c_contiguous:
        return np.array(x, order="C")
    unit = math.gcd(*strides)
    steps = [s // x.itemsize // unit * (1 + (unit > 1)) for s in x.strides[1:]]
    spans = [(n - 1) * s for n, s in zip(shape, steps, strict=True)]
    room = sum(map(abs, spans)) + 1
    if room > 4 * math.prod(shape) + 4:  # a small part of large samples
        padded = np.empty((count, *(n + 1 for n in shape)), x.dtype)[(slice(None), *map(slice, shape))]
    else:
        memory = np.empty((count, room), x.dtype)
        first = -sum(span for span in spans if span < 0)
        padded = np.lib.stride_tricks.as_strided(
            memory[:, first:], x.shape, (room * x.itemsize, *(s * x.itemsize for s in steps))
        )
    padded[...] = x
    return padded


def by_sample(order: Value, stack: np.ndarray) -> tuple[int, ...]:
    """The axes of a stack like `stack` whose samples lie in `order`, the outermost first."""
    sample = stack[0, ...] if len(stack) else np.empty(stack.shape[1:])
    return (0, *(axis + 1 for axis in axes_by(order, sample)))


def is_by_sample(stack: np.ndarray) -> bool:
    """Whether samples lie one after another."""
    return stack.flags.c_contiguous or abs(stack.strides[0]) >= max(map(abs, stack.strides))


def settled(op: Op, out: Array, args: Sequence[Array], stacked: Sequence[bool], settings: Settings) -> Array:
    """The stack `out`, which `op` made of `args`, with its samples as NumPy's result for one of them lies."""
    model = out if type(out) is np.ndarray else lies(out)
    if not isinstance(model, np.ndarray) or model.ndim < 2 or not model.size or not model.flags.writeable:
        return out
    order: Value = "K"
    if op.memory.order and not _broadcasts(op):
        first = next((m for x, s in zip(args, stacked, strict=True) if (m := _sample(x, s)) is not None), None)
        same = first is not None and first.ndim == model.ndim - 1
        order = axes_by(op.memory.order, first) if same and first is not None else "C"
    elif "own_order" in op.flags:
        ones = [_sample(x, s) if s else lies(x) for x, s in zip(args, stacked, strict=True)]
        order = axes_by("K", np.asarray(op.forward(*ones, **settings)))
    elif is_by_sample(model):
        return out
    axes = by_sample(order, model)
    return out if is_laid_out(model, axes) else copy(out, order=axes)


def _broadcasts(op: Op) -> bool:
    """Whether NumPy chooses the order by all arguments together, or by what is left, as it then does for stacks."""
    elementwise = op.kind == "elementwise" or isinstance(op.forward, np.ufunc) or op.batch == "elementwise"
    return elementwise or "keepdims" in op.settings


def _sample(x: Array, is_stacked: bool) -> np.ndarray | None:
    model = lies(x)
    if not isinstance(model, np.ndarray):
        return None
    return model if not is_stacked else model[0, ...] if len(model) else np.empty(model.shape[1:])


def shown(op: Op, model: np.ndarray, settings: Settings) -> np.ndarray | None:
    """What `op` gives for one sample that lies as `model` does; None if that is no array."""
    out = op.forward(model, **settings)
    return out if isinstance(out, np.ndarray) else None
