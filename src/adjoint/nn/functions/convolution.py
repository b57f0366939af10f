"""Convolutions over one, two or three axes, and their transposes, as functions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from adjoint.core.errors import ArgumentError, ShapeError
from adjoint.core.types import A, Array, Size, Value
from adjoint.ops.neural.conv import biased_conv, conv, conv_input
from adjoint.tape.creation import are_plain


def each(name: str, value: Array, axes: int, least: int = 1) -> tuple[int, ...]:
    """A whole number for each axis, from one for all or from a sequence.

    Raises:
        ArgumentError: if it is neither, or too small.
    """
    if type(value) is int and value >= least:
        return (value,) * axes
    values = tuple(value) if isinstance(value, Sequence) else (value,) * axes
    if len(values) != axes or not all(isinstance(v, int | np.integer) and v >= least for v in values):
        raise ArgumentError(
            f"{name} is a whole number from {least} on, or {axes} of them, one for each axis; got {value!r}"
        )
    return tuple(map(int, values))


def pairs(
    padding: Size | str, axes: int, kernel: Sequence[int], stride: Sequence[int], dilation: Sequence[int]
) -> Value:
    """The padding before and after each axis; ``"same"`` keeps its length."""
    if padding == "valid":
        return ((0, 0),) * axes
    if padding == "same":
        if any(s > 1 for s in stride):
            raise ArgumentError(f'padding="same" keeps the lengths of the axes, which stride={tuple(stride)} does not')
        spans = [d * (k - 1) for k, d in zip(kernel, dilation, strict=True)]
        return tuple((n // 2, n - n // 2) for n in spans)
    if isinstance(padding, str):
        raise ArgumentError(f'padding is "same", "valid", or whole numbers; got {padding!r}')
    return tuple((n, n) for n in each("padding", padding, axes, 0))


def convolved(
    name: str,
    axes: int,
    x: Array,
    weight: Array,
    bias: Array,
    stride: Size,
    padding: Size | str,
    dilation: Size,
    groups: int,
) -> Array:
    stride, dilation = each("stride", stride, axes), each("dilation", dilation, axes)
    x, alone = batch(name, x, axes, np.shape(weight)[1] * groups)
    around = pairs(padding, axes, np.shape(weight)[2:], stride, dilation)
    return through(x, weight, bias, alone, stride=stride, padding=around, dilation=dilation, groups=groups)


def through(x: Array, weight: Array, bias: Array, alone: bool, **options: Value) -> Array:
    """The convolution of a batch with its biases, without the axis of samples if there was none."""
    if bias is not None and are_plain(x, weight, bias) and bias.shape == weight.shape[:1]:
        out = biased_conv(x, weight, bias, **options)
        return out[0] if alone else out
    return finished(conv(x, weight, **options), bias, x.ndim - 2, alone)


def batch(name: str, x: Array, axes: int, channels: int) -> tuple[Value, bool]:
    """`x` with an axis of samples, and whether it had none."""
    x = x if hasattr(x, "shape") else np.asarray(x)
    if x.ndim not in (axes + 1, axes + 2) or x.shape[-axes - 1] != channels:
        sizes = ", ".join(("length",) if axes == 1 else ("depth", "height", "width")[-axes:])
        raise ShapeError(f"{name} takes (n, {channels}, {sizes}) or ({channels}, {sizes}); got {x.shape}")
    return (x[None], True) if x.ndim == axes + 1 else (x, False)


def finished(out: A, bias: Array, axes: int, alone: bool) -> A:
    """The result with its biases; without the axis of samples, if there was none."""
    out = out if bias is None else out + np.reshape(bias, (-1,) + (1,) * axes)
    return out[0] if alone else out


def conv1d(
    input: Array,
    weight: Array,
    bias: Array = None,
    stride: Size = 1,
    padding: Size | str = 0,
    dilation: Size = 1,
    groups: int = 1,
) -> Array:
    """Sums of products with windows over the last axis, as `conv2d` has them over two.

    Args:
        input: (n, in, length) or (in, length).
        weight: (out, in / groups, k).

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.functional.conv1d(np.arange(5.0)[None], np.array([[[1.0, 0.0, -1.0]]]))
        array([[-2., -2., -2.]])
    """
    return convolved("conv1d", 1, input, weight, bias, stride, padding, dilation, groups)


def conv2d(
    input: Array,
    weight: Array,
    bias: Array = None,
    stride: Size = 1,
    padding: Size | str = 0,
    dilation: Size = 1,
    groups: int = 1,
) -> Array:
    """``out[n, o, i, j] = bias[o] + sum(weight[o] * window(i, j))``: cross-correlation, as networks convolve.

    Args:
        input: (n, in, height, width), or (in, height, width) for one sample.
        weight: (out, in / groups, k1, k2).
        bias: (out,), or None.
        stride: the step between windows, for each axis or for all.
        padding: how many zeros lie around the input; ``"same"`` for as many as keep its size, ``"valid"`` for none.
        dilation: the step between the elements of a window.
        groups: into how many parts the channels fall that do not see one another.

    Returns:
        (n, out, h, w), with ``h = (height + 2 * padding - dilation * (k1 - 1) - 1) // stride + 1``.

    Raises:
        ShapeError: if shapes do not fit.
        ArgumentError: if a setting makes no sense.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.functional.conv2d(np.ones((1, 4, 4)), np.ones((2, 1, 3, 3)), padding=1)[0, 0]
        array([4., 6., 6., 4.])
    """
    return convolved("conv2d", 2, input, weight, bias, stride, padding, dilation, groups)


def conv3d(
    input: Array,
    weight: Array,
    bias: Array = None,
    stride: Size = 1,
    padding: Size | str = 0,
    dilation: Size = 1,
    groups: int = 1,
) -> Array:
    """`conv2d` over three axes: input (n, in, depth, height, width), weight (out, in / groups, k1, k2, k3).

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.functional.conv3d(np.ones((1, 2, 2, 2)), np.ones((1, 1, 2, 2, 2))).item()
        8.0
    """
    return convolved("conv3d", 3, input, weight, bias, stride, padding, dilation, groups)


def transposed(
    name: str,
    axes: int,
    x: Array,
    weight: Array,
    bias: Array,
    stride: Size,
    padding: Size | str,
    output_padding: Size,
    groups: int,
    dilation: Size,
) -> Array:
    """The transposed convolution over `axes` axes, for the function or layer `name`."""
    stride, dilation = each("stride", stride, axes), each("dilation", dilation, axes)
    around, more = each("padding", padding, axes, 0), each("output_padding", output_padding, axes, 0)
    x, alone = batch(name, x, axes, np.shape(weight)[0])
    settings = zip(x.shape[2:], np.shape(weight)[2:], stride, dilation, strict=True)
    full = [(n - 1) * s + d * (k - 1) + 1 for n, k, s, d in settings]
    size = tuple(n - 2 * p + m for n, p, m in zip(full, around, more, strict=True))
    if min(size) < 1:
        raise ShapeError(f"{name}: padding {around} takes more away than there is; the result would be {size}")
    if any(m >= max(s, d) for m, s, d in zip(more, stride, dilation, strict=True)):
        raise ArgumentError(f"{name}: output_padding is smaller than stride or dilation; got {more}")
    options = {"stride": stride, "dilation": dilation, "groups": groups}
    if all(m < s for m, s in zip(more, stride, strict=True)):
        out = conv_input(x, weight, size=size, padding=tuple((p, p) for p in around), **options)
    else:
        out = conv_input(x, weight, size=tuple(full), padding=((0, 0),) * axes, **options)
        short = [max(0, p + m - n) for n, p, m in zip(full, around, size, strict=True)]
        out = np.pad(out, [(0, 0), (0, 0), *((0, n) for n in short)])
        part: Value = (..., *(slice(p, p + m) for p, m in zip(around, size, strict=True)))
        out = out[part]
    return finished(out, bias, axes, alone)


def conv_transpose1d(
    input: Array,
    weight: Array,
    bias: Array = None,
    stride: Size = 1,
    padding: Size = 0,
    output_padding: Size = 0,
    groups: int = 1,
    dilation: Size = 1,
) -> Array:
    """`conv_transpose2d` over one axis: input (n, in, length), weight (in, out / groups, k).

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.functional.conv_transpose1d(np.array([[1.0, 2.0]]), np.ones((1, 1, 2)), stride=2)
        array([[1., 1., 2., 2.]])
    """
    return transposed("conv_transpose1d", 1, input, weight, bias, stride, padding, output_padding, groups, dilation)


def conv_transpose2d(
    input: Array,
    weight: Array,
    bias: Array = None,
    stride: Size = 1,
    padding: Size = 0,
    output_padding: Size = 0,
    groups: int = 1,
    dilation: Size = 1,
) -> Array:
    """The transpose of `conv2d`: each element of `input` adds its multiple of the window to the result.

    Args:
        input: (n, in, height, width), or without n.
        weight: (in, out / groups, k1, k2).
        bias: (out,), or None.
        stride, padding, dilation: those of the convolution whose transpose it is.
        output_padding: how much longer the result is at the end of each axis.
        groups: as in `conv2d`.

    Returns:
        (n, out, h, w), with ``h = (height - 1) * stride - 2 * padding + dilation * (k1 - 1) + output_padding + 1``.

    Raises:
        ShapeError: if shapes do not fit.
        ArgumentError: if a setting makes no sense.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.functional.conv_transpose2d(np.ones((1, 2, 2)), np.ones((1, 1, 2, 2)))[0]
        array([[1., 2., 1.],
               [2., 4., 2.],
               [1., 2., 1.]])
    """
    return transposed("conv_transpose2d", 2, input, weight, bias, stride, padding, output_padding, groups, dilation)


def conv_transpose3d(
    input: Array,
    weight: Array,
    bias: Array = None,
    stride: Size = 1,
    padding: Size = 0,
    output_padding: Size = 0,
    groups: int = 1,
    dilation: Size = 1,
) -> Array:
    """`conv_transpose2d` over three axes.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.functional.conv_transpose3d(np.ones((1, 1, 1, 1)), np.ones((1, 2, 2, 2, 2))).shape
        (2, 2, 2, 2)
    """
    return transposed("conv_transpose3d", 3, input, weight, bias, stride, padding, output_padding, groups, dilation)
