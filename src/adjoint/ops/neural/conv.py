"""Convolutions of networks: channels, strides, padding, dilation and groups, over any number of axes.

Three operations, each linear in both of its arrays, are one another's gradients: ``y = x * w``, its cotangent for
`x`, and its cotangent for `w`. So derivatives of every order are these three. Windows are copied for a few samples
at a time, into a buffer that stays in the cache; never for the whole batch.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from math import prod

import numpy as np

from adjoint.core.backend import as_array, empty, is_foreign, zeros
from adjoint.core.constructors import general, linear
from adjoint.core.errors import ShapeError
from adjoint.core.memory import NEW_C, in_order
from adjoint.core.op import call
from adjoint.core.rules.pullbacks import added_up
from adjoint.core.types import Array
from adjoint.ops.linalg.lapack import conj
from adjoint.ops.neural.columns import few_columns, turned
from adjoint.ops.neural.windows import Pairs, Sizes, add_windows, counts, fits, inner, padded, windows
from adjoint.ops.shape.reshaping import merged

BUFFER = 1 << 20  # bytes


def _batches(n: int, each: int) -> Iterator[slice]:
    """Slices of `n` samples whose windows, `each` bytes a sample, fit into the buffer."""
    step = max(1, BUFFER // max(each, 1))
    return (slice(i, min(i + step, n)) for i in range(0, n, step))


def _columns(x: Array, kernel: Sizes, count: Sizes, stride: Sizes, dilation: Sizes, groups: int) -> Array:
    """The windows of a few samples as columns of matrices: (n, groups, channels a group * kernel, places)."""
    shape = (len(x), groups, x.shape[1] // groups * prod(kernel), prod(count))
    if prod(kernel) == 1 and prod(stride) == 1 and (is_foreign(x) or x.flags.c_contiguous):
        return x.reshape(shape)
    return windows(x, kernel, count, stride, dilation).reshape(shape)


def _weight_cotangent(
    g: Array, x: Array, w_shape: Sizes, stride: Sizes, padding: Pairs, dilation: Sizes, groups: int
) -> Array:
    return conv_weight(conj(x), g, kernel=w_shape[2:], stride=stride, padding=padding, dilation=dilation, groups=groups)


def _conv_input_cotangent(
    g: Array, w: Array, x_shape: Sizes, stride: Sizes, padding: Pairs, dilation: Sizes, groups: int
) -> Array:
    return conv_input(g, conj(w), size=x_shape[2:], stride=stride, padding=padding, dilation=dilation, groups=groups)


def _conv_samples(r: Array) -> Array:
    return [
        call(r(2, 3, 6), r(4, 3, 2), stride=(1,), padding=((0, 0),), dilation=(1,)),
        call(r(2, 2, 5, 4), r(3, 2, 2, 3), stride=(2, 1), padding=((1, 0), (1, 1)), dilation=(1, 1)),
        call(r(1, 4, 6, 5), r(2, 2, 2, 2), stride=(1, 2), padding=((0, 0), (1, 0)), dilation=(2, 1), groups=2),
        call(r(2, 2, 3, 3, 3), r(2, 1, 2, 1, 2), stride=(1, 1, 1), padding=((0, 0),) * 3, dilation=(1, 1, 1), groups=2),
        call(r(2, 3, 4, 4), r(5, 3, 1, 1), stride=(1, 1), padding=((0, 0),) * 2, dilation=(1, 1)),
        call(r(1, 2, 5) + 1j * r(1, 2, 5), r(2, 2, 2) + 1j * r(2, 2, 2), stride=(1,), padding=((1, 1),), dilation=(1,)),
    ]


def _conv_each(
    x: Array, w: Array, stacked: Sequence[bool], n: int, stride: Sizes, padding: Pairs, dilation: Sizes, groups: int
) -> Array:
    options = {"stride": stride, "padding": padding, "dilation": dilation}
    if not stacked[1]:
        return _apart(conv(merged(x, 0), w, groups=groups, **options), n)
    out = conv(_beside(x, stacked[0], n), merged(w, 0), groups=n * groups, **options)
    return _samples_apart(out, n)


def _apart(x: Array, n: int) -> Array:
    """Samples and their first axis as two."""
    return np.reshape(x, (n, x.shape[0] // n, *x.shape[1:]))


def _beside(x: Array, stacked: bool, n: int) -> Array:
    """The channels of all samples beside one another: (batch, samples * channels, …)."""
    x = x if stacked else np.broadcast_to(x, (n, *x.shape))
    return merged(np.moveaxis(x, 0, 1), 1)


def _samples_apart(x: Array, n: int) -> Array:
    """What `_beside` put together."""
    return np.moveaxis(np.reshape(x, (x.shape[0], n, x.shape[1] // n, *x.shape[2:])), 1, 0)


@general(
    vjps=(_conv_input_cotangent, _weight_cotangent),
    batch=_conv_each,
    flags=("multilinear", "finite"),
    memory=NEW_C,
    samples=_conv_samples,
    errors=lambda r: [call(r(2, 3, 6), r(4, 2, 2), stride=(1,), padding=((0, 0),), dilation=(1,))],
)
def conv(
    x: Array, w: Array, /, stride: Sizes = (), padding: Pairs = (), dilation: Sizes = (), groups: int = 1
) -> Array:
    """Sums of products of `x` (n, channels, …) with windows `w` (out, channels / groups, …), as networks convolve."""
    x, w = as_array(x), as_array(w)
    kernel = w.shape[2:]
    if x.ndim != w.ndim or x.shape[1] != w.shape[1] * groups or w.shape[0] % groups:
        raise ShapeError(
            f"a convolution takes x (n, channels, …) and weights (out, channels / groups, …), both numbers of "
            f"channels multiples of groups; got {x.shape} and {w.shape} with groups={groups}"
        )
    count = counts(x.shape[2:], kernel, stride, padding, dilation)
    matrix = w.reshape(groups, len(w) // groups, w.shape[1] * prod(kernel))
    if type(w) is np.ndarray and (few := few_columns(x, kernel, stride, padding, dilation, groups)) is not None:
        return np.matmul(matrix, few).reshape(len(x), len(w), *count)
    n, dtype = len(x), np.result_type(x, w)
    out: Array = empty(x, (n, groups, len(w) // groups, prod(count)), dtype)
    for some in _batches(n, x.shape[1] * prod(kernel) * prod(count) * dtype.itemsize):
        columns = _columns(padded(x[some], padding), kernel, count, stride, dilation, groups)
        if is_foreign(out):
            out[some] = np.matmul(matrix, columns)
        else:
            np.matmul(matrix, columns, out=out[some])
    return out.reshape(n, len(w), *count)


def _bias_cotangent(g: Array) -> Array:
    return added_up(g, (0, *range(2, g.ndim)))


def _by_channel(b: Array, axes: int) -> Array:
    """Biases against an array with so many axes behind its channels."""
    return np.reshape(b, (*b.shape, *(1,) * axes))


def _biased_each(
    x: Array,
    w: Array,
    b: Array,
    stacked: Sequence[bool],
    n: int,
    stride: Sizes,
    padding: Pairs,
    dilation: Sizes,
    groups: int,
) -> Array:
    each = partial(_conv_each, stacked=stacked, n=n) if any(stacked[:2]) else conv
    out = each(x, w, stride=stride, padding=padding, dilation=dilation, groups=groups)
    axes = len(stride)
    return out + _by_channel(b[:, None] if stacked[2] else b, axes)


@general(
    vjps=(_conv_input_cotangent, _weight_cotangent, _bias_cotangent),
    batch=_biased_each,
    flags=("finite",),
    memory=NEW_C,
    samples=lambda r: [
        call(r(2, 3, 6), r(4, 3, 2), r(4), stride=(1,), padding=((0, 0),), dilation=(1,)),
        call(r(1, 4, 6, 5), r(2, 2, 2, 2), r(2), stride=(1, 2), padding=((0, 0), (1, 0)), dilation=(2, 1), groups=2),
    ],
    errors=lambda r: [call(r(2, 3, 6), r(4, 3, 2), r(3), stride=(1,), padding=((0, 0),), dilation=(1,))],
)
def biased_conv(
    x: Array, w: Array, b: Array, /, stride: Sizes = (), padding: Pairs = (), dilation: Sizes = (), groups: int = 1
) -> Array:
    """`conv` with biases `b` (out,): one operation in place of three, where calls take longer than the numbers."""
    out = conv.forward(x, w, stride=stride, padding=padding, dilation=dilation, groups=groups)
    if b.shape != w.shape[:1]:
        raise ShapeError(f"a convolution with weights {w.shape} takes biases ({len(w)},); got {b.shape}")
    b = _by_channel(b, w.ndim - 2)
    return np.add(out, b, out=out) if type(out) is type(b) is np.ndarray and out.dtype == b.dtype else out + b


def _of_columns(columns: Array, at: Sizes) -> Array:
    return columns[(slice(None), slice(None), *at)]


def _is_sooner_a_convolution(y: Array, w: Array, stride: Sizes, padding: Pairs, dilation: Sizes, groups: int) -> bool:
    """Whether reading windows of `y` takes less time than adding windows up; of weights that make no nan of zeros."""
    spans = zip(w.shape[2:], dilation, padding, strict=True)
    inside = all(max(around) <= d * (k - 1) for k, d, around in spans)
    few = len(w) // groups <= 2 * w.shape[1] and prod(w.shape[2:]) > 1 and prod(stride) == 1
    return few and inside and type(y) is type(w) is np.ndarray and b"\0" not in np.isfinite(w).tobytes()


def _input_each(
    y: Array,
    w: Array,
    stacked: Sequence[bool],
    n: int,
    size: Sizes,
    stride: Sizes,
    padding: Pairs,
    dilation: Sizes,
    groups: int,
) -> Array:
    options = {"size": size, "stride": stride, "padding": padding, "dilation": dilation}
    if not stacked[1]:
        return _apart(conv_input(merged(y, 0), w, groups=groups, **options), n)
    return _samples_apart(conv_input(_beside(y, stacked[0], n), merged(w, 0), groups=n * groups, **options), n)


def _transposed_weight_cotangent(
    g: Array, y: Array, w_shape: Sizes, stride: Sizes, padding: Pairs, dilation: Sizes, groups: int
) -> Array:
    return conv_weight(g, conj(y), kernel=w_shape[2:], stride=stride, padding=padding, dilation=dilation, groups=groups)


def _transposed_samples(r: Array) -> Array:
    return [
        call(r(2, 4, 5), r(4, 3, 2), size=(6,), stride=(1,), padding=((0, 0),), dilation=(1,)),
        call(r(2, 3, 3, 3), r(3, 2, 2, 3), size=(5, 4), stride=(2, 1), padding=((1, 0), (1, 0)), dilation=(1, 1)),
        call(r(1, 2, 4, 3), r(2, 2, 2, 2), size=(6, 5), stride=(1, 2), padding=((0, 0), (1, 0)), dilation=(2, 1),
             groups=2),
    ]  # fmt: skip


@general(
    vjps=(
        lambda g, w, stride, padding, dilation, groups: conv(
            g, conj(w), stride=stride, padding=padding, dilation=dilation, groups=groups
        ),
        _transposed_weight_cotangent,
    ),
    batch=_input_each,
    flags=("multilinear", "finite"),
    memory=NEW_C,
    samples=_transposed_samples,
)
def conv_input(
    y: Array,
    w: Array,
    /,
    size: Sizes = (),
    stride: Sizes = (),
    padding: Pairs = (),
    dilation: Sizes = (),
    groups: int = 1,
) -> Array:
    """What `conv` of an array of `size` with `w` asks of the array, where `y` is asked of the result: its transpose."""
    y, w = as_array(y), as_array(w)
    kernel, count = w.shape[2:], y.shape[2:]
    if y.ndim != w.ndim or y.shape[1] != len(w) or len(w) % groups:
        raise ShapeError(
            f"a transposed convolution takes x (n, in, …) and weights (in, out / groups, …); got {y.shape} and "
            f"{w.shape} with groups={groups}"
        )
    fits("a transposed convolution", count, size, kernel, stride, padding, dilation)
    if all(size) and _is_sooner_a_convolution(y, w, stride, padding, dilation, groups):
        around = tuple(
            (d * (k - 1) - before, d * (k - 1) - after)
            for k, d, (before, after) in zip(kernel, dilation, padding, strict=True)
        )
        return conv.forward(y, turned(w, groups), stride=stride, padding=around, dilation=dilation, groups=groups)
    n, channels, dtype = len(y), w.shape[1] * groups, np.result_type(y, w)
    room = [k + before + after for k, (before, after) in zip(size, padding, strict=True)]
    out: Array = zeros(y, (n, channels, *size), dtype)
    matrix = np.swapaxes(w.reshape(groups, len(w) // groups, w.shape[1] * prod(kernel)), 1, 2)
    rows = y.reshape(n, groups, len(w) // groups, prod(count))
    whole = not (any(map(any, padding)) or is_foreign(out))
    for some in _batches(n, channels * prod(kernel) * prod(count) * dtype.itemsize):
        columns = np.matmul(matrix, rows[some])
        columns = columns.reshape(len(columns), channels, *kernel, *count)
        total = out[some] if whole else zeros(y, (len(columns), channels, *room), dtype)
        add_windows(total, partial(_of_columns, columns), kernel, count, stride, dilation)
        if not whole:
            out[some] = inner(total, size, padding)
    return out


def _weight_each(
    x: Array,
    y: Array,
    stacked: Sequence[bool],
    n: int,
    kernel: Array,
    stride: Sizes,
    padding: Pairs,
    dilation: Sizes,
    groups: int,
) -> Array:
    x, y = _beside(x, stacked[0], n), _beside(y, stacked[1], n)
    options = {"kernel": kernel, "stride": stride, "padding": padding, "dilation": dilation}
    return _apart(conv_weight(x, y, groups=n * groups, **options), n)


@general(
    vjps=(
        lambda g, y, x_shape, stride, padding, dilation, groups: conv_input(
            conj(y), g, size=x_shape[2:], stride=stride, padding=padding, dilation=dilation, groups=groups
        ),
        lambda g, x, stride, padding, dilation, groups: conv(
            conj(x), g, stride=stride, padding=padding, dilation=dilation, groups=groups
        ),
    ),
    batch=_weight_each,
    flags=("multilinear", "finite"),
    memory=NEW_C,
    samples=lambda r: [
        call(r(2, 3, 6), r(2, 4, 5), kernel=(2,), stride=(1,), padding=((0, 0),), dilation=(1,)),
        call(r(2, 2, 5, 4), r(2, 3, 3, 4), kernel=(2, 3), stride=(2, 1), padding=((1, 0), (1, 1)), dilation=(1, 1)),
        call(
            r(1, 4, 6, 5),
            r(1, 2, 4, 3),
            kernel=(2, 2),
            stride=(1, 2),
            padding=((0, 0), (1, 0)),
            dilation=(2, 1),
            groups=2,
        ),
    ],
)
def conv_weight(
    x: Array,
    y: Array,
    /,
    kernel: Sizes = (),
    stride: Sizes = (),
    padding: Pairs = (),
    dilation: Sizes = (),
    groups: int = 1,
) -> Array:
    """What `conv` of `x` with weights of windows `kernel` asks of the weights, where `y` is asked of the result."""
    x, y = as_array(x), as_array(y)
    kernel, count = tuple(kernel), y.shape[2:]
    fits("the weights of a convolution", count, x.shape[2:], kernel, stride, padding, dilation)
    n, channels = x.shape[:2]
    rows = y.reshape(n, groups, y.shape[1] // groups, prod(count))
    if type(y) is np.ndarray and (few := few_columns(x, kernel, stride, padding, dilation, groups)) is not None:
        sums = np.add.reduce(np.matmul(rows, few.swapaxes(2, 3)), 0, initial=0)  # no zero of it is negative, as below
        return sums.reshape(y.shape[1], channels // groups, *kernel)
    dtype = np.result_type(x, y)
    total: Array = zeros(x, (groups, y.shape[1] // groups, channels // groups * prod(kernel)), dtype)
    for some in _batches(n, channels * prod(kernel) * prod(count) * dtype.itemsize):
        columns = _columns(padded(x[some], padding), kernel, count, stride, dilation, groups)
        total += np.matmul(rows[some], np.swapaxes(columns, 2, 3)).sum(axis=0)
    return total.reshape(y.shape[1], channels // groups, *kernel)


def _folded(g: Array, x_shape: Sizes, kernel: Array, stride: Sizes, padding: Pairs, dilation: Sizes) -> Array:
    return fold(g, size=x_shape[-len(kernel) :], kernel=kernel, stride=stride, padding=padding, dilation=dilation)


@linear(
    transpose=_folded,
    batch="leading",
    flags=("moves", "pads"),
    memory=NEW_C,
    samples=lambda r: [
        call(r(2, 6), kernel=(2,), stride=(2,), padding=((1, 0),), dilation=(1,)),
        call(r(2, 3, 5, 4), kernel=(2, 3), stride=(2, 1), padding=((1, 0), (1, 1)), dilation=(1, 1)),
    ],
)
def unfold(x: Array, /, kernel: Sizes = (), stride: Sizes = (), padding: Pairs = (), dilation: Sizes = ()) -> Array:
    """The windows over the last axes of `x`: (…, *kernel, *places)."""
    count = counts(x.shape[x.ndim - len(kernel) :], kernel, stride, padding, dilation)
    return in_order(windows(padded(x, padding), kernel, count, stride, dilation), "C")


@linear(
    transpose=lambda g, kernel, stride, padding, dilation: unfold(
        g, kernel=kernel, stride=stride, padding=padding, dilation=dilation
    ),
    batch="leading",
    flags=("moves", "selects"),
    memory=NEW_C,
    samples=lambda r: [
        call(r(2, 2, 3), size=(6,), kernel=(2,), stride=(2,), padding=((0, 0),), dilation=(1,)),
        call(r(2, 2, 3, 3, 4), size=(5, 4), kernel=(2, 3), stride=(2, 1), padding=((1, 0), (1, 1)), dilation=(1, 1)),
    ],
)
def fold(
    y: Array, /, size: Sizes = (), kernel: Sizes = (), stride: Sizes = (), padding: Pairs = (), dilation: Sizes = ()
) -> Array:
    """Zeros of `size` with each window of `y` (…, *kernel, *places) added in its place: the transpose of `unfold`."""
    axes = len(kernel)
    lead, count = y.shape[: y.ndim - 2 * axes], y.shape[y.ndim - axes :]
    fits("fold", count, tuple(size), tuple(kernel), stride, padding, dilation)
    room = [k + before + after for k, (before, after) in zip(size, padding, strict=True)]
    total = zeros(y, (*lead, *room), y.dtype)
    add_windows(total, lambda at: y[(..., *at, *(slice(None),) * axes)], kernel, count, stride, dilation)
    return in_order(inner(total, size, padding), "C")
