"""Pooling: sums over windows, and which element of a window is the largest."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from math import prod

import numpy as np

from adjoint.core.backend import as_array, beside, empty, is_foreign, zeros
from adjoint.core.constructors import general, linear
from adjoint.core.errors import ShapeError
from adjoint.core.memory import NEW_C, in_order
from adjoint.core.often import LEAST, OftenCalled
from adjoint.core.op import Op, call
from adjoint.core.rules.choosing import where_true
from adjoint.core.types import Array, ShapeLike, Value
from adjoint.ops.neural.windows import Pairs, Sizes, add_windows, counts, fits, inner, padded, parts

_FEW = 9  # elements of a window
_BLOCK = 1 << 18  # bytes


def _spread(g: Array, x_shape: ShapeLike, kernel: Array, stride: object, padding: object, dilation: object) -> Array:
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
def window_sum(x: Array, /, kernel: Sizes = (), stride: Sizes = (), padding: Pairs = (), dilation: Sizes = ()) -> Array:
    """The sum of each window over the last axes of `x`, where what is around `x` is 0."""
    count = counts(x.shape[x.ndim - len(kernel) :], kernel, stride, padding, dilation)
    total: Array = None
    for _, part in parts(padded(x, padding), kernel, count, stride, dilation):
        if total is None or is_foreign(x):
            total = in_order(part, "C") if total is None else total + part
        else:
            np.add(total, part, out=total)
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
    y: Array, /, size: Sizes = (), kernel: Sizes = (), stride: Sizes = (), padding: Pairs = (), dilation: Sizes = ()
) -> Array:
    """Zeros of `size` with each element of `y` added to all elements of its window: the transpose of `window_sum`."""
    lead, count = y.shape[: y.ndim - len(kernel)], y.shape[y.ndim - len(kernel) :]
    fits("window_spread", count, tuple(size), tuple(kernel), stride, padding, dilation)
    room = [k + before + after for k, (before, after) in zip(size, padding, strict=True)]
    tiles = tuple(n * k for n, k in zip(count, kernel, strict=True))
    if type(y) is np.ndarray and tuple(kernel) == tuple(stride) and tiles == tuple(room) == tuple(size):
        found: np.ndarray = empty(y, (*lead, *(n for pair in zip(count, kernel, strict=True) for n in pair)), y.dtype)
        found[...] = np.reshape(y + y.dtype.type(0), (*lead, *(n for c in count for n in (c, 1))))
        return found.reshape(*lead, *size)
    total = zeros(y, (*lead, *room), y.dtype)
    add_windows(total, lambda at: y, kernel, count, stride, dilation)
    return in_order(inner(total, size, padding), "C")


def first_inside(count: Sizes, kernel: Sizes, stride: Sizes, padding: Pairs, dilation: Sizes) -> Array:
    """The number in each window of its first element that is not in the padding."""
    number = np.zeros((), np.int64)
    for c, k, s, (before, _), d in zip(count, kernel, stride, padding, dilation, strict=True):
        skipped = -(-np.maximum(before - np.arange(c) * s, 0) // d)
        number = np.add.outer(number * k, np.minimum(skipped, k - 1))
    return number


def _window_number(
    x: Array, /, kernel: Sizes = (), stride: Sizes = (), padding: Pairs = (), dilation: Sizes = ()
) -> Array:
    """The number in each window of its largest element, over the last axes of `x`; the first of equal ones."""
    x = as_array(x)
    count = counts(x.shape[x.ndim - len(kernel) :], kernel, stride, padding, dilation)
    if type(x) is np.ndarray:
        few = _few_windows(x.shape, x, kernel, count, stride, padding, dilation)
        if few is not None and x.size and not _has_nan(x):
            numbers: np.ndarray = x.reshape(-1).take(few[2]).argmax(-1)
            return numbers.astype(np.uint8)
        return _NUMBERS(x, kernel=kernel, stride=stride, padding=padding, dilation=dilation)
    return _largest(x, kernel, count, stride, padding, dilation)


def _has_nan(x: np.ndarray) -> bool:
    """Whether a window may have several nan, of which the last one counts."""
    return bool(np.isnan(np.maximum.reduce(x, None)))


def _numbers(x: np.ndarray, kernel: Sizes, stride: Sizes, padding: Pairs, dilation: Sizes) -> np.ndarray:
    count = counts(x.shape[x.ndim - len(kernel) :], kernel, stride, padding, dilation)
    found = np.empty((*x.shape[: x.ndim - len(kernel)], *count), np.min_scalar_type(prod(kernel)))
    for some, xs in _blocks(len(kernel), found, x):
        some[...] = _largest(xs, kernel, count, stride, padding, dilation)
    return found


_NUMBERS = OftenCalled(_numbers, lambda: window_number)


def _largest(x: Array, kernel: Sizes, count: Sizes, stride: Sizes, padding: Pairs, dilation: Sizes) -> Array:
    least = -np.inf if x.dtype.kind == "f" else np.iinfo(x.dtype).min if x.dtype.kind in "iu" else False
    best: Value = None
    number: Array = None
    # A later element that is larger has a larger number: the largest number so far is that of the largest element.
    for k, (_, part) in enumerate(parts(padded(x, padding, least), kernel, count, stride, dilation)):
        part = in_order(part, "C")
        if best is None:
            best, number = part, zeros(part, part.shape, np.min_scalar_type(prod(kernel)))
            if any(before for before, _ in padding):  # an element may be as small as the padding
                first = first_inside(count, kernel, stride, padding, dilation)
                number += beside(number, first.astype(number.dtype))
            continue
        better = part > best
        if x.dtype.kind == "f":
            np.logical_or(better, np.not_equal(part, part), out=better)  # nan wins
        np.maximum(number, np.multiply(better, k, dtype=number.dtype), out=number)
        np.maximum(best, part, out=best)
    return number


window_number: Op = Op("window_number", _window_number, ("x",), kind="constant", batch="leading", memory=NEW_C,
                   settings={"kernel": (), "stride": (), "padding": (), "dilation": ()})  # fmt: skip


def _put(g: Array, number: Array, kernel: Array, stride: object, padding: object, dilation: object) -> Array:
    return window_pick(g, number, kernel=kernel, stride=stride, padding=padding, dilation=dilation)


def _put_tangent(
    t: Array, number: Array, size: object, kernel: Array, stride: object, padding: object, dilation: object
) -> Array:
    return window_put(t, number, size=size, kernel=kernel, stride=stride, padding=padding, dilation=dilation)


def _put_each(
    y: Array,
    number: Array,
    stacked: Array,
    n: int,
    size: object,
    kernel: Array,
    stride: object,
    padding: object,
    dilation: object,
) -> Array:
    y, number = _alike(y, number, stacked, n)
    return window_put(y, number, size=size, kernel=kernel, stride=stride, padding=padding, dilation=dilation)


@general(
    vjps=(_put, None),
    jvps=(_put_tangent, None),
    batch=_put_each,
    memory=NEW_C,
    flags=("finite", "moves", "pads", "selects"),
    samples=lambda r: [
        call(r(2, 3), np.array([[1, 0, 1], [0, 1, 1]]), size=(5,), kernel=(2,), stride=(2,), padding=((1, 0),),
             dilation=(1,)),
        call(r(2, 2), np.array([[3, 0], [2, 1]]), size=(3, 3), kernel=(2, 2), stride=(1, 1), padding=((0, 0), (0, 0)),
             dilation=(1, 1)),
    ],
)  # fmt: skip
def window_put(
    y: Array,
    number: Array,
    /,
    size: Sizes = (),
    kernel: Sizes = (),
    stride: Sizes = (),
    padding: Pairs = (),
    dilation: Sizes = (),
) -> Array:
    """Zeros of `size` with each element of `y` added to the element of its window with this `number`."""
    y = as_array(y)
    lead, count = y.shape[: y.ndim - len(kernel)], y.shape[y.ndim - len(kernel) :]
    fits("window_put", count, tuple(size), tuple(kernel), stride, padding, dilation)
    if np.shape(number) != y.shape:
        raise ShapeError(f"window_put: there are {y.shape} windows; got numbers of {np.shape(number)}")
    if type(y) is type(number) is np.ndarray:
        few = _few_windows((*lead, *size), y, kernel, count, stride, padding, dilation)
        if few is not None:
            return _put_few(y, number, few, (*lead, *size))
    room = [k + before + after for k, (before, after) in zip(size, padding, strict=True)]
    apart = all(s >= d * (k - 1) + 1 for k, s, d in zip(kernel, stride, dilation, strict=True))  # the windows
    if apart and _chosen_by_bits(y, number, kernel):
        return _PUT(y, number, size=size, kernel=kernel, stride=stride, padding=padding, dilation=dilation)
    where = _flat(as_array(number), lead, room, kernel, stride, dilation)
    if apart:
        total = zeros(y, (*lead, *room), y.dtype)
        total.reshape(-1)[where] = y
    elif y.dtype.kind == "f" or (is_foreign(y) and y.dtype.kind != "c"):
        sums = np.bincount(where.reshape(-1), y.reshape(-1), minlength=prod(lead) * prod(room))
        total = sums.astype(y.dtype).reshape(*lead, *room)
    else:
        total = zeros(y, (*lead, *room), y.dtype)
        np.add.at(total.reshape(-1), where, y)
    return in_order(inner(total, size, padding), "C")


def _put_few(
    y: np.ndarray, number: np.ndarray, few: tuple[np.ndarray, np.ndarray, np.ndarray], shape: Sizes
) -> np.ndarray:
    """`window_put` into a small array, by places that are remembered."""
    begins, inside, _ = few
    where = inside.take(number)
    where += begins
    total = np.zeros(shape, y.dtype)
    total.reshape(-1)[where] = y + y.dtype.type(0)  # a sum: no zero is negative
    return total


def _put_apart(
    y: np.ndarray, number: np.ndarray, size: Sizes, kernel: Sizes, stride: Sizes, padding: Pairs, dilation: Sizes
) -> np.ndarray:
    """`window_put` where no element is in two windows."""
    lead, count = y.shape[: y.ndim - len(kernel)], y.shape[y.ndim - len(kernel) :]
    room = [k + before + after for k, (before, after) in zip(size, padding, strict=True)]
    found = np.empty((*lead, *size), y.dtype)
    for some, ys, numbers in _blocks(len(kernel), found, y, number):
        total = np.zeros((len(ys), *room), y.dtype)
        for k, (_, part) in enumerate(parts(total, kernel, count, stride, dilation)):
            np.add(where_true(numbers == k, ys), y.dtype.type(0), out=part)  # as above
        some[...] = inner(total, size, padding)
    return found


_PUT = OftenCalled(_put_apart, lambda: window_put)


def _blocks(axes: int, *arrays: np.ndarray) -> Iterator[list[np.ndarray]]:
    """A few samples of all of these at a time, so that they stay in the cache: views of the first array."""
    flat = [np.reshape(a, (prod(a.shape[: a.ndim - axes]), *a.shape[a.ndim - axes :])) for a in arrays]
    step = max(1, _BLOCK // max(1, *(a.nbytes // max(1, len(a)) for a in flat)))
    return ([a[start : start + step] for a in flat] for start in range(0, len(flat[0]), step))


def _chosen_by_bits(x: Array, number: Array, kernel: Sizes) -> bool:
    """Whether elements of windows are chosen one number after another, without an array of where they lie."""
    plain = type(x) is np.ndarray and type(number) is np.ndarray
    return plain and x.dtype in (np.float32, np.float64) and prod(kernel) <= _FEW


def _flat(number: Array, lead: Sizes, room: Value, kernel: Sizes, stride: Sizes, dilation: Sizes) -> Array:
    """Where elements with these numbers lie, counted over a whole padded array."""
    begins, inside = _laid_out((*lead, *room), kernel, number.shape[number.ndim - len(kernel) :], stride, dilation)
    return np.take(beside(number, inside), number) + beside(number, begins)


def _laid_out(
    shape: Sizes, kernel: Sizes, count: Sizes, stride: Sizes, dilation: Sizes
) -> tuple[np.ndarray, np.ndarray]:
    """Where windows begin, counted over an array of `shape`, and how far from there their elements lie."""
    lead, room = shape[: len(shape) - len(kernel)], shape[len(shape) - len(kernel) :]
    steps = [prod(room[i + 1 :]) for i in range(len(room))]
    inside = np.zeros(1, np.intp)
    for k, d, step in zip(kernel, dilation, steps, strict=True):
        inside = np.add.outer(inside, np.arange(k) * d * step).ravel()
    begins = np.arange(prod(lead))[:, None] * prod(room)
    for c, s, step in zip(count, stride, steps, strict=True):
        begins = np.add.outer(begins, np.arange(c) * s * step)
    return begins.reshape(*lead, *count), inside


@lru_cache(32)
def _few(
    shape: Sizes, itemsize: int, kernel: Sizes, count: Sizes, stride: Sizes, padding: Pairs, dilation: Sizes
) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    apart = all(s >= d * (k - 1) + 1 for k, s, d in zip(kernel, stride, dilation, strict=True))
    if not apart or any(map(any, padding)) or prod(shape) * itemsize >= LEAST or prod(kernel) > _FEW:
        return None
    begins, inside = _laid_out(shape, kernel, count, stride, dilation)
    return begins, inside, begins[..., None] + inside


def _few_windows(
    shape: Sizes, x: np.ndarray, kernel: Sizes, count: Sizes, stride: Sizes, padding: Pairs, dilation: Sizes
) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """`_laid_out`, and where all elements lie, for a small array of `x` whose windows lie apart; None of any other.

    What is computed by these places takes few calls.
    """
    try:
        return _few(shape, x.itemsize, kernel, count, stride, padding, dilation) if x.dtype.char in "fd" else None
    except TypeError:  # settings are lists
        return None


def _alike(y: Array, number: Array, stacked: Array, n: int) -> tuple[Array, Array]:
    """Both with an axis of samples."""
    y = y if stacked[0] else np.broadcast_to(y, (n, *y.shape))
    return y, number if stacked[1] else np.broadcast_to(number, (n, *number.shape))


def _pick_cotangent(
    g: Array, number: Array, x_shape: ShapeLike, kernel: Array, stride: object, padding: object, dilation: object
) -> Array:
    size = x_shape[-len(kernel) :]
    return window_put(g, number, size=size, kernel=kernel, stride=stride, padding=padding, dilation=dilation)


def _pick_tangent(t: Array, number: Array, kernel: Array, stride: object, padding: object, dilation: object) -> Array:
    return window_pick(t, number, kernel=kernel, stride=stride, padding=padding, dilation=dilation)


def _pick_each(
    x: Array, number: Array, stacked: Array, n: int, kernel: Array, stride: object, padding: object, dilation: object
) -> Array:
    x, number = _alike(x, number, stacked, n)
    return window_pick(x, number, kernel=kernel, stride=stride, padding=padding, dilation=dilation)


@general(
    vjps=(_pick_cotangent, None),
    jvps=(_pick_tangent, None),
    batch=_pick_each,
    memory=NEW_C,
    flags=("finite", "moves", "pads", "selects"),
    samples=lambda r: [
        call(r(2, 5), np.array([[1, 0, 1], [0, 1, 1]]), kernel=(2,), stride=(2,), padding=((1, 0),), dilation=(1,)),
        call(r(3, 3), np.array([[3, 0], [2, 1]]), kernel=(2, 2), stride=(1, 1), padding=((0, 0), (0, 0)),
             dilation=(1, 1)),
    ],
)  # fmt: skip
def window_pick(
    x: Array, number: Array, /, kernel: Sizes = (), stride: Sizes = (), padding: Pairs = (), dilation: Sizes = ()
) -> Array:
    """The element with this `number` of each window over the last axes of `x`; 0 in the padding."""
    x = as_array(x)
    count = counts(x.shape[x.ndim - len(kernel) :], kernel, stride, padding, dilation)
    lead = x.shape[: x.ndim - len(kernel)]
    if np.shape(number) != (*lead, *count):
        raise ShapeError(f"window_pick: there are {(*lead, *count)} windows; got numbers of {np.shape(number)}")
    if type(x) is type(number) is np.ndarray:
        few = _few_windows(x.shape, x, kernel, count, stride, padding, dilation)
        if few is not None:
            where = few[1].take(number)
            where += few[0]
            return x.reshape(-1).take(where)
    if _chosen_by_bits(x, number, kernel):
        return _PICKED(x, number, kernel=kernel, stride=stride, padding=padding, dilation=dilation)
    around = padded(x, padding)
    where = _flat(as_array(number), lead, around.shape[x.ndim - len(kernel) :], kernel, stride, dilation)
    return np.take(around, where)


def _picked(
    x: np.ndarray, number: np.ndarray, kernel: Sizes, stride: Sizes, padding: Pairs, dilation: Sizes
) -> np.ndarray:
    """`window_pick`, one element of the windows after another."""
    count = counts(x.shape[x.ndim - len(kernel) :], kernel, stride, padding, dilation)
    found = np.zeros((*x.shape[: x.ndim - len(kernel)], *count), x.dtype)
    for some, xs, numbers in _blocks(len(kernel), found, x, number):
        bits = some.view(f"u{x.itemsize}")
        for k, (_, part) in enumerate(parts(padded(xs, padding), kernel, count, stride, dilation)):
            bits |= where_true(numbers == k, in_order(part, "C")).view(bits.dtype)
    return found


_PICKED = OftenCalled(_picked, lambda: window_pick)


def places(number: Array, size: Sizes, kernel: Sizes, stride: Sizes, padding: Pairs, dilation: Sizes) -> Array:
    """Where the elements with these numbers lie, counted over all axes of `size`."""
    count = counts(size, kernel, stride, padding, dilation)
    total: Array = 0
    left: Array = number
    found = []
    for k in reversed(kernel):
        found.append(left % k)
        left = left // k
    spans = zip(reversed(found), size, count, stride, padding, dilation, strict=True)
    for axis, (i, n, c, s, (before, _), d) in enumerate(spans):
        begins = beside(number, np.reshape(np.arange(c) * s - before, (c, *(1,) * (len(size) - 1 - axis))))
        total = total * n + np.clip(begins + i.astype(np.int64) * d, 0, n - 1)
    return total
