"""How stacks of samples lie: sample after sample, and each as NumPy's array of that sample alone.

So the strides of a stack show what is a view of one sample, and what a write changes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from adjoint.core.box import Box
from adjoint.core.memory import axes_by, is_laid_out, lean, lies, span, unfilled, without_repeats
from adjoint.core.op import Op
from adjoint.core.types import Array, Settings, Value
from adjoint.ops.shape.copying import copy


def as_given(x: Array) -> Array:
    """A copy of the argument `x`, a stack, whose samples have strides in the proportions that they have in `x`.

    Elements with gaps between them keep some, since `ravel` and its like copy such.
    """
    if type(x) is np.ndarray and x.flags.c_contiguous:
        return x.copy()
    model = lies(x)
    if not isinstance(model, np.ndarray):
        return x
    if isinstance(x, Box):
        return x if is_by_sample(model) else _boxed_as_given(x, model)
    shape = x.shape[1:]
    strides = [s for n, s in zip(shape, x.strides[1:], strict=True) if n > 1]
    if x.size and 0 in strides:
        samples = (slice(None), *without_repeats(x[0]))
        return np.broadcast_to(as_given(x[samples]), x.shape)
    if not x.size or x[0].flags.c_contiguous:
        return np.array(x, order="C")
    unit = math.gcd(*strides)
    steps = tuple(s // unit * x.itemsize * (1 + (unit > x.itemsize)) for s in x.strides[1:])
    if span(shape, x.itemsize, steps) > 4 * x[0].nbytes + 64:  # a small part of large samples
        steps = lean(shape, x.itemsize, steps)
    padded = unfilled(x.shape, x.dtype, (span(shape, x.itemsize, steps), *steps))
    padded[...] = x
    return padded


def _boxed_as_given(x: Array, model: np.ndarray) -> Array:
    """The same for a box of which samples do not lie one after another; `model` is an array that lies so."""
    axes = by_sample("K", model)
    laid = np.transpose(model, axes)
    long = [axis for axis in range(1, laid.ndim) if laid.shape[axis] > 1]
    strides, counts = ([abs(each[axis]) for axis in long] for each in (laid.strides, laid.shape))
    after = [n * s for n, s in zip(counts[1:], strides[1:], strict=True)]
    gaps = [0, *(int(s != more) for s, more in zip(strides, after, strict=False))]  # after the last element of an axis
    step = 1 + (bool(strides) and strides[-1] > model.itemsize)
    if not model.size or 0 in strides or (step == 1 and not any(gaps)):
        return copy(x, order=axes)
    back = (slice(None), *(slice(None, None, -1 if s < 0 else None) for s in laid.strides[1:]))
    numbers = np.zeros((*(n + gap for n, gap in zip(counts, gaps, strict=True)), step), int)
    shown: Value = (*map(slice, counts), 0)
    numbers[shown] = np.arange(math.prod(counts)).reshape(counts)
    memory = np.take(np.reshape(np.transpose(x, axes)[back], (len(model), -1)), numbers.reshape(-1), axis=1)
    samples = np.reshape(memory, (len(model), *numbers.shape))[(slice(None), *shown)]
    return np.transpose(np.reshape(samples, laid.shape)[back], np.argsort(axes))


def by_sample(order: Value, stack: np.ndarray) -> tuple[int, ...]:
    """The axes of a stack like `stack` whose samples lie in `order`, the outermost first."""
    sample = stack[0, ...] if len(stack) else np.zeros(stack.shape[1:])
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
    if "own_order" in op.flags or ("creates" in op.flags and settings):
        ones = [_sample(x, s) if s else lies(x) for x, s in zip(args, stacked, strict=True)]
        order = axes_by("K", np.asarray(op.forward(*ones, **settings)))
    elif op.memory.order and not _broadcasts(op):
        first = next((m for x, s in zip(args, stacked, strict=True) if (m := _sample(x, s)) is not None), None)
        same = first is not None and first.ndim == model.ndim - 1
        order = axes_by(op.memory.order, first) if same and first is not None else "C"
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
    return model if not is_stacked else model[0, ...] if len(model) else np.zeros(model.shape[1:])


def shown(op: Op, model: np.ndarray, settings: Settings) -> np.ndarray | None:
    """What `op` gives for one sample that lies as `model` does; None if that is no array."""
    out = op.forward(model, **settings)
    return out if isinstance(out, np.ndarray) else None
