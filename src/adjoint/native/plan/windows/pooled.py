"""Pooling in calls that are lowered: which element of a window is the largest, that element, sums, and back.

Each element of a window, over all windows, is a view of the array. Values are the operations', bit for bit.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from math import prod

import numpy as np

from adjoint.core.op import Op
from adjoint.core.types import Array, Function, Value
from adjoint.graph.node import Node, call
from adjoint.native.codegen.llvm_text import key_of
from adjoint.native.plan.layout.indexing import SCATTER, never
from adjoint.native.plan.windows.convolution import around, reshaped
from adjoint.ops.neural.pooling import first_inside
from adjoint.ops.neural.windows import Pairs, Sizes, counts, parts


def _around(x: Value, padding: Pairs, value: Value = 0) -> Array:
    """`x` with `value` around its last axes."""
    if not any(map(any, padding)):
        return x
    wide = ((0, 0),) * (x.ndim - len(padding)) + tuple(padding)
    padded = np.pad(x, wide)
    if value == 0:
        return padded
    inside = np.pad(np.ones(x.shape[x.ndim - len(padding) :], bool), padding)
    return np.where(inside, padded, np.asarray(value, x.dtype))


def _parts(x: Array, kernel: Sizes, stride: Sizes, padding: Pairs, dilation: Sizes, value: object = 0) -> list[Array]:
    count = counts(x.shape[x.ndim - len(kernel) :], kernel, stride, padding, dilation)
    return [part for _, part in parts(_around(x, padding, value), kernel, count, stride, dilation)]


def _number(x: Value, kernel: Sizes, stride: Sizes, padding: Pairs, dilation: Sizes) -> Value:
    least = -np.inf if x.dtype.kind == "f" else np.iinfo(x.dtype).min if x.dtype.kind in "iu" else False
    best, *others = _parts(x, kernel, stride, padding, dilation, least)
    first = first_inside(best.shape[x.ndim - len(kernel) :], kernel, stride, padding, dilation)
    number = np.zeros(best.shape, np.min_scalar_type(prod(kernel))) + first.astype(np.min_scalar_type(prod(kernel)))
    for k, part in enumerate(others, 1):
        better = np.greater(part, best)
        if x.dtype.kind == "f":
            better = np.logical_or(better, np.isnan(part))  # nan wins
        number = np.where(better, np.asarray(k, number.dtype), number)
        best = np.where(better, part, best)
    return number


def _pick(x: object, number: Value, kernel: Sizes, stride: Sizes, padding: Pairs, dilation: Sizes) -> object:
    found, *others = _parts(x, kernel, stride, padding, dilation)
    for k, part in enumerate(others, 1):
        found = np.where(np.equal(number, k), part, found)
    return found


def _places(number: Value, size: Sizes, kernel: Sizes, stride: Sizes, padding: Pairs, dilation: Sizes) -> object:
    """Where the elements with these numbers lie, counted over a whole padded array."""
    lead, count = number.shape[: number.ndim - len(kernel)], number.shape[number.ndim - len(kernel) :]
    room = _room(size, padding)
    steps = [prod(room[i + 1 :]) for i in range(len(room))]
    inside, begins = np.zeros(1, np.int64), np.zeros((), np.int64)
    for k, d, step in zip(kernel, dilation, steps, strict=True):
        inside = np.add.outer(inside, np.arange(k) * d * step).ravel()
    for n, s, step in zip(count, stride, steps, strict=True):
        begins = np.add.outer(begins, np.arange(n) * s * step)
    where = np.zeros(number.shape, np.int64)
    for k, far in enumerate(inside.tolist()):
        where = np.where(np.equal(number, k), far, where)
    first = np.reshape(np.arange(prod(lead)) * prod(room), (*lead, *(1,) * len(count)))
    return where + begins + first


def _room(size: Sizes, padding: Pairs) -> Sizes:
    return tuple(k + before + after for k, (before, after) in zip(size, padding, strict=True))


# number -> where each element lies that a `window_put` writes
PLACES = Op("window_places", never, ("number",), settings={"size": (), "kernel": (), "stride": (), "padding": (),
            "dilation": ()})  # fmt: skip


def put(node: Node, args: tuple[Node, ...], apart: Callable[[Node, tuple[Node, ...]], Node]) -> Node | None:
    """A `window_put` of `args` as numbers added at places; `apart` takes an operation apart."""
    y, number = args
    settings, axes = node.settings, len(node.settings["kernel"])
    if key_of(node.dtype) not in ("f4", "f8") or 0 in (*node.shape, *y.shape):
        return None
    places = call(PLACES, (number,), settings, number.shape, np.dtype(np.int64), lambda: node.place)
    room = (*node.shape[: len(node.shape) - axes], *_room(settings["size"], settings["padding"]))
    said = {"strides": (0,) * len(y.shape), "offset": 0, "region": y.shape, "inside": ()}
    flat = call(SCATTER, (y, apart(places, (number,))), said, (prod(room),), node.dtype, lambda: node.place)
    widths = [(-before, -after) for before, after in settings["padding"]]
    return around(reshaped(flat, room), widths)


def _sum(x: Array, kernel: Sizes, stride: Sizes, padding: Pairs, dilation: Sizes) -> Array:
    total, *others = _parts(x, kernel, stride, padding, dilation)
    for part in others:
        total = total + part
    return total


def _spread(y: Value, size: Sizes, kernel: Sizes, stride: Sizes, padding: Pairs, dilation: Sizes) -> Value:
    """Each place has something of the windows over it: of each, at which element of the window it lies."""
    axes = []
    spans = zip(size, y.shape[y.ndim - len(kernel) :], kernel, stride, padding, dilation, strict=True)
    for n, count, k, s, (before, _), d in spans:
        found = []
        for j in range(k):
            start = np.arange(n) + before - j * d
            valid = (start % s == 0) & (start >= 0) & (start < count * s)
            if valid.any():
                found.append((np.clip(start // s, 0, count - 1), valid))
        axes.append(found)
    total: Value = None
    for chosen in product(*axes):
        valid = np.ones((), bool)
        for _, there in chosen:
            valid = np.logical_and.outer(valid, there)
        term = np.where(valid, y[(..., *np.ix_(*(at for at, _ in chosen)))], np.zeros((), y.dtype))
        total = term if total is None else total + term
    return total


INSTEAD: dict[str, Function] = {
    "window_number": _number,
    "window_pick": _pick,
    "window_places": _places,
    "window_sum": _sum,
    "window_spread": _spread,
}
