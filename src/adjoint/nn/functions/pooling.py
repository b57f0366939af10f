"""Pooling: the largest, the mean or another mean of each window; and windows that give a result of a wanted size."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import prod

import numpy as np

from adjoint.core.errors import ArgumentError, ShapeError
from adjoint.core.types import Array, Size, Value
from adjoint.nn.functions.convolution import each
from adjoint.ops.neural.pooling import places, window_number, window_pick, window_sum
from adjoint.ops.neural.windows import Pairs


def _batched(name: str, x: Array, axes: int) -> Array:
    x = x if hasattr(x, "shape") else np.asarray(x)
    if x.ndim not in (axes + 1, axes + 2):
        raise ShapeError(f"{name} takes (n, channels, …) or (channels, …) with {axes} axes behind; got {x.shape}")
    return x


def _layout(
    name: str, x: Array, axes: int, kernel: Array, stride: Size | None, padding: Size, dilation: Size, ceil_mode: bool
) -> tuple[tuple[int, ...], tuple[int, ...], Pairs, tuple[int, ...]]:
    """Kernel, stride, padding and dilation for each axis; with `ceil_mode`, one more window where elements are left."""
    if not ceil_mode and type(kernel) is type(padding) is type(dilation) is int:
        step = kernel if stride is None else stride
        if type(step) is int and min(kernel, step, dilation) > 0 and 0 <= 2 * padding <= kernel:
            return (kernel,) * axes, (step,) * axes, ((padding, padding),) * axes, (dilation,) * axes
    kernel = each("kernel_size", kernel, axes)
    stride = kernel if stride is None else each("stride", stride, axes)
    around, dilation = each("padding", padding, axes, 0), each("dilation", dilation, axes)
    if any(2 * p > k for p, k in zip(around, kernel, strict=True)):
        raise ArgumentError(f"{name}: padding is at most half the kernel {kernel}; got {around}")
    size = x.shape[-axes:]
    pairs = tuple((p, p) for p in around)
    if ceil_mode:
        last = []
        for n, k, s, p, d in zip(size, kernel, stride, around, dilation, strict=True):
            count = -(-(n + 2 * p - d * (k - 1) - 1) // s) + 1
            count -= (count - 1) * s >= n + p  # a window begins in the array or in what is before it
            last.append(max(0, (count - 1) * s + d * (k - 1) + 1 - n - p))
        pairs = tuple((p, max(p, more)) for p, more in zip(around, last, strict=True))
    return kernel, stride, pairs, dilation


def max_pool(
    axes: int,
    x: Array,
    kernel_size: Size,
    stride: Size | None = None,
    padding: Size = 0,
    dilation: Size = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Array:
    """`max_pool2d` over the last `axes` axes."""
    name = f"max_pool{axes}d"
    x = _batched(name, x, axes)
    kernel, stride, around, dilation = _layout(name, x, axes, kernel_size, stride, padding, dilation, ceil_mode)
    number = window_number(x, kernel=kernel, stride=stride, padding=around, dilation=dilation)
    out = window_pick(x, number, kernel=kernel, stride=stride, padding=around, dilation=dilation)
    return (out, places(number, x.shape[-axes:], kernel, stride, around, dilation)) if return_indices else out


def max_pool1d(
    input: Array,
    kernel_size: Size,
    stride: Size | None = None,
    padding: Size = 0,
    dilation: Size = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Array:
    """`max_pool2d` over one axis.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.functional.max_pool1d(np.array([[1.0, 3.0, 2.0, 0.0]]), 2)
        array([[3., 2.]])
    """
    return max_pool(1, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


def max_pool2d(
    input: Array,
    kernel_size: Size,
    stride: Size | None = None,
    padding: Size = 0,
    dilation: Size = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Array:
    """The largest element of each window; its gradient goes to the first of equal ones.

    Args:
        input: (n, channels, height, width), or without n.
        kernel_size: the windows' sizes.
        stride: the step between windows; their size, if it is None.
        padding: how much, of -inf, lies around the input; at most half a window.
        dilation: the step between the elements of a window.
        ceil_mode: whether a last window may reach beyond the end.
        return_indices: give where the elements lie, too, counted over height and width.

    Raises:
        ShapeError: if no window fits.
        ArgumentError: if a setting makes no sense.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.functional.max_pool2d(np.arange(16.0).reshape(1, 4, 4), 2)
        array([[[ 5.,  7.],
                [13., 15.]]])
    """
    return max_pool(2, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


def max_pool3d(
    input: Array,
    kernel_size: Size,
    stride: Size | None = None,
    padding: Size = 0,
    dilation: Size = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Array:
    """`max_pool2d` over three axes.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.functional.max_pool3d(np.arange(8.0).reshape(1, 2, 2, 2), 2).item()
        7.0
    """
    return max_pool(3, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


def avg_pool(
    axes: int,
    x: Array,
    kernel_size: Size,
    stride: Size | None = None,
    padding: Size = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Array:
    """`avg_pool2d` over the last `axes` axes."""
    name = f"avg_pool{axes}d"
    x = _batched(name, x, axes)
    kernel, stride, around, ones = _layout(name, x, axes, kernel_size, stride, padding, 1, ceil_mode)
    total = window_sum(x, kernel=kernel, stride=stride, padding=around, dilation=ones)
    if divisor_override is not None:
        if divisor_override == 0:
            raise ArgumentError(f"{name}: divisor_override is a number other than 0")
        return total / divisor_override
    if not any(map(any, around)):
        return total / float(prod(kernel))
    size = x.shape[-axes:]
    before = each("padding", padding, axes, 0)
    if count_include_pad:  # what ceil_mode adds does not count
        counted = np.ones([n + 2 * p for n, p in zip(size, before, strict=True)], x.dtype)
        around = tuple((0, after - p) for (_, after), p in zip(around, before, strict=True))
    else:
        counted = np.ones(size, x.dtype)
    shares = window_sum(counted, kernel=kernel, stride=stride, padding=around, dilation=ones)
    return total / (shares if shares.min() < prod(kernel) else float(prod(kernel)))


def avg_pool1d(
    input: Array,
    kernel_size: Size,
    stride: Size | None = None,
    padding: Size = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Array:
    """`avg_pool2d` over one axis.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.functional.avg_pool1d(np.array([[1.0, 3.0, 2.0, 0.0]]), 2)
        array([[2., 1.]])
    """
    return avg_pool(1, input, kernel_size, stride, padding, ceil_mode, count_include_pad)


def avg_pool2d(
    input: Array,
    kernel_size: Size,
    stride: Size | None = None,
    padding: Size = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Array:
    """The mean of each window.

    Args:
        input, kernel_size, stride, ceil_mode: as in `max_pool2d`.
        padding: how many zeros lie around the input; at most half a window.
        count_include_pad: whether these count as elements.
        divisor_override: by what the sums are divided, instead of the number of elements.

    Raises:
        ShapeError: if no window fits.
        ArgumentError: if a setting makes no sense.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.functional.avg_pool2d(np.arange(16.0).reshape(1, 4, 4), 2)
        array([[[ 2.5,  4.5],
                [10.5, 12.5]]])
    """
    return avg_pool(2, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)


def avg_pool3d(
    input: Array,
    kernel_size: Size,
    stride: Size | None = None,
    padding: Size = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Array:
    """`avg_pool2d` over three axes.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.functional.avg_pool3d(np.arange(8.0).reshape(1, 2, 2, 2), 2).item()
        3.5
    """
    return avg_pool(3, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)


def lp_pool(
    axes: int, x: Array, norm_type: float, kernel_size: Size, stride: Size | None = None, ceil_mode: bool = False
) -> Array:
    """``sum(x**p)**(1/p)`` of each window over the last `axes` axes; one cut off by the end counts as a whole one."""
    name = f"lp_pool{axes}d"
    x = _batched(name, x, axes)
    if np.isinf(norm_type):
        sign = np.sign(norm_type)
        return sign * max_pool(axes, sign * np.abs(x), kernel_size, stride, ceil_mode=ceil_mode)
    kernel = each("kernel_size", kernel_size, axes)
    total = avg_pool(axes, x**norm_type, kernel, stride, 0, ceil_mode) * prod(kernel)
    zero = np.equal(total, 0)
    return np.where(zero, 0.0, np.where(zero, 1.0, total) ** (1.0 / norm_type))


# -- A result of a wanted size ------------------------------------------------------------------------


def _bounds(n: int, count: int) -> list[tuple[int, int]]:
    """Where `count` windows that cover `n` elements begin and end."""
    return [(i * n // count, -(-(i + 1) * n // count)) for i in range(count)]


def _sizes(name: str, x: Array, axes: int, output_size: Size | Sequence[int | None] | None) -> tuple[int, ...]:
    wanted = tuple(output_size) if isinstance(output_size, Sequence) else (output_size,) * axes
    if len(wanted) != axes:
        raise ArgumentError(f"{name}: output_size is a number, or {axes} of them or None; got {output_size!r}")
    return each("output_size", [n if w is None else w for n, w in zip(x.shape[-axes:], wanted, strict=True)], axes)


def adaptive_avg_pool(axes: int, x: Array, output_size: Size | Sequence[int | None] | None) -> Array:
    """The means of windows that cover the input, as many along each axis as `output_size` says.

    Window i of m over n elements is ``floor(i n / m)`` to ``ceil((i + 1) n / m)``. None keeps an axis.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.functional.adaptive_avg_pool2d(np.arange(16.0).reshape(1, 4, 4), 1).item()
        7.5
    """
    x = _batched(f"adaptive_avg_pool{axes}d", x, axes)
    wanted = _sizes(f"adaptive_avg_pool{axes}d", x, axes, output_size)
    size = x.shape[-axes:]
    if all(w == 1 for w in wanted):
        return np.mean(x, axis=tuple(range(-axes, 0)), keepdims=True)
    if all(n % w == 0 for n, w in zip(size, wanted, strict=True)):
        return avg_pool(axes, x, tuple(n // w for n, w in zip(size, wanted, strict=True)))
    for i, (n, w) in enumerate(zip(size, wanted, strict=True)):
        matrix = np.zeros((n, w), x.dtype)
        for k, (start, end) in enumerate(_bounds(n, w)):
            matrix[start:end, k] = 1 / (end - start)
        x = np.moveaxis(np.matmul(np.moveaxis(x, i - axes, -1), matrix), -1, i - axes)
    return x


def adaptive_max_pool(
    axes: int, x: Array, output_size: Size | Sequence[int | None] | None, return_indices: bool = False
) -> Array:
    """The largest elements of the windows of `adaptive_avg_pool`.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.functional.adaptive_max_pool2d(np.arange(25.0).reshape(1, 5, 5), 2)
        array([[[12., 14.],
                [22., 24.]]])
    """
    x = _batched(f"adaptive_max_pool{axes}d", x, axes)
    wanted = _sizes(f"adaptive_max_pool{axes}d", x, axes, output_size)
    size = x.shape[-axes:]
    if all(n % w == 0 for n, w in zip(size, wanted, strict=True)):
        kernel = tuple(n // w for n, w in zip(size, wanted, strict=True))
        return max_pool(axes, x, kernel, return_indices=return_indices)
    lengths = [max(end - start for start, end in _bounds(n, w)) for n, w in zip(size, wanted, strict=True)]
    # Windows differ by one in length: a shorter one takes its last element twice, which changes no maximum.
    places = [
        np.array([[min(start + k, end - 1) for k in range(length)] for start, end in _bounds(n, w)])
        for n, w, length in zip(size, wanted, lengths, strict=True)
    ]
    flat: Value = 0
    for i, place in enumerate(places):
        lined = place.reshape(*(1,) * i, place.shape[0], *(1,) * (axes - 1), place.shape[1], *(1,) * (axes - 1 - i))
        flat = flat * size[i] + lined
    flat = np.broadcast_to(flat, (*wanted, *lengths)).reshape(*wanted, -1)  # (*wanted, elements of a window)
    values = np.reshape(x, (*x.shape[:-axes], prod(size)))[..., flat]
    first = np.argmax(values, axis=-1)
    where = np.take_along_axis(np.broadcast_to(flat, values.shape), np.expand_dims(first, -1), axis=-1)[..., 0]
    out = np.take_along_axis(values, np.expand_dims(first, -1), axis=-1)[..., 0]
    return (out, where) if return_indices else out


def max_unpool(
    axes: int,
    x: Array,
    indices: Array,
    kernel_size: Size,
    stride: Size | None = None,
    padding: Size = 0,
    output_size: Sequence[int] | None = None,
) -> Array:
    """Zeros with the elements of `x` where `max_pool` with ``return_indices=True`` found them.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> out, where = nn.functional.max_pool1d(np.array([[1.0, 3.0, 2.0, 0.0]]), 2, return_indices=True)
        >>> nn.functional.max_unpool1d(out, where, 2)
        array([[0., 3., 2., 0.]])
    """
    x = _batched(f"max_unpool{axes}d", x, axes)
    kernel = each("kernel_size", kernel_size, axes)
    stride = kernel if stride is None else each("stride", stride, axes)
    around = each("padding", padding, axes, 0)
    spans = zip(x.shape[-axes:], kernel, stride, around, strict=True)
    size = tuple((n - 1) * s - 2 * p + k for n, k, s, p in spans)
    size = size if output_size is None else tuple(output_size)[-axes:]
    lead = x.shape[:-axes]
    flat = np.reshape(x, (*lead, prod(x.shape[-axes:])))
    places = np.reshape(indices, flat.shape)
    if np.max(places, initial=0) >= prod(size) or np.min(places, initial=0) < 0:
        raise ArgumentError(f"max_unpool{axes}d: indices lie within {size}; the largest is {np.max(places)}")
    out = np.zeros_like(x, shape=(*lead, prod(size)))
    np.put_along_axis(out, places, flat, axis=-1)
    return np.reshape(out, (*lead, *size))


adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d = (partial(adaptive_avg_pool, n) for n in (1, 2, 3))
adaptive_max_pool1d, adaptive_max_pool2d, adaptive_max_pool3d = (partial(adaptive_max_pool, n) for n in (1, 2, 3))
lp_pool1d, lp_pool2d, lp_pool3d = (partial(lp_pool, n) for n in (1, 2, 3))
max_unpool1d, max_unpool2d, max_unpool3d = (partial(max_unpool, n) for n in (1, 2, 3))
