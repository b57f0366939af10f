"""Pooling: sums over windows, and which element of a window is the largest."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.core.constructors import linear
from adjoint.core.memory import NEW_C
from adjoint.core.op import Op, call
from adjoint.ops.conv import Pairs, Sizes, counts, fits, inner, padded, parts


def _spread(g: Any, x_shape: Any, kernel: Any, stride: Any, padding: Any, dilation: Any) -> Any:
    size = x_shape[-len(kernel) :]
    return window_spread(g, size=size, kernel=kernel, stride=stride, padding=padding, dilation=dilation)


@linear(
    transpose=_spread,
    batch="leading",
    memory=NEW_C,
    samples=lambda r: [
        call(r(2, 6), kernel=(2,), stride=(2,), padding=((1, 0),), dilation=(1,)),
        call(r(2, 3, 5, 4), kernel=(2, 3), stride=(2, 1), padding=((1, 0), (1, 1)), dilation=(1, 1)),
    ],
)
def window_sum(x: Any, /, kernel: Sizes = (), stride: Sizes = (), padding: Pairs = (), dilation: Sizes = ()) -> Any:
    """The sum of each window over the last axes of `x`, where what is around `x` is 0."""
    count = counts(x.shape[x.ndim - len(kernel) :], kernel, stride, padding, dilation)
    total: Any = None
    for _, part in parts(padded(x, padding), kernel, count, stride, dilation):
        total = np.array(part, order="C") if total is None else np.add(total, part, out=total)
    return total


@linear(
    transpose=lambda g, kernel, stride, padding, dilation: window_sum(
        g, kernel=kernel, stride=stride, padding=padding, dilation=dilation
    ),
    batch="leading",
    memory=NEW_C,
    samples=lambda r: [
        call(r(2, 3), size=(5,), kernel=(2,), stride=(2,), padding=((1, 0),), dilation=(1,)),
        call(r(2, 3, 4), size=(5, 4), kernel=(2, 3), stride=(2, 1), padding=((1, 0), (1, 1)), dilation=(1, 1)),
    ],
)
def window_spread(
    y: Any, /, size: Sizes = (), kernel: Sizes = (), stride: Sizes = (), padding: Pairs = (), dilation: Sizes = ()
) -> Any:
    """Zeros of `size` with each element of `y` added to all elements of its window: the transpose of `window_sum`."""
    lead, count = y.shape[: y.ndim - len(kernel)], y.shape[y.ndim - len(kernel) :]
    fits("window_spread", count, tuple(size), tuple(kernel), stride, padding, dilation)
    room = [k + before + after for k, (before, after) in zip(size, padding, strict=True)]
    total = np.zeros((*lead, *room), y.dtype)
    for _, part in parts(total, kernel, count, stride, dilation):
        part += y
    return np.ascontiguousarray(inner(total, size, padding))


def _window_argmax(x: Any, /, kernel: Sizes = (), stride: Sizes = (), padding: Pairs = (), dilation: Sizes = ()) -> Any:
    """Where the largest element of each window is, counted over the last axes; the first of equal ones; nan wins."""
    x = np.asarray(x)
    size = x.shape[x.ndim - len(kernel) :]
    count = counts(size, kernel, stride, padding, dilation)
    least = -np.inf if x.dtype.kind == "f" else np.iinfo(x.dtype).min
    best: Any = None
    where = np.zeros((*x.shape[: x.ndim - len(kernel)], *count), np.intp)
    for at, part in parts(padded(x, padding, least), kernel, count, stride, dilation):
        place = _places(at, size, count, stride, padding, dilation)
        if best is None:
            best = np.array(part)
            where[...] = place
            continue
        better = part > best
        if x.dtype.kind == "f":
            better |= np.isnan(part) & ~np.isnan(best)
        np.copyto(best, part, where=better)
        np.copyto(where, np.broadcast_to(place, where.shape), where=better)
    return where


def _places(at: Sizes, size: Sizes, count: Sizes, stride: Sizes, padding: Pairs, dilation: Sizes) -> Any:
    """Where element `at` of each window lies, counted over all axes; the nearest element, if it is in the padding."""
    total: Any = 0
    for i, n, c, s, (before, _), d in zip(at, size, count, stride, padding, dilation, strict=True):
        along = np.clip(np.arange(c) * s + i * d - before, 0, n - 1)
        total = np.asarray(total)[..., None] * n + along
    return total


window_argmax = Op("window_argmax", _window_argmax, ("x",), kind="constant", batch="leading", memory=NEW_C,
                   settings={"kernel": (), "stride": (), "padding": (), "dilation": ()})  # fmt: skip
