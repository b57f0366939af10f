"""Other sizes, as functions: interpolation, pixels from channels, padding, and windows as columns."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from adjoint.core.errors import ArgumentError, ShapeError
from adjoint.core.types import A, Array, Size
from adjoint.nn.functions import pooling
from adjoint.nn.functions.convolution import each
from adjoint.ops.neural.conv import fold as folded
from adjoint.ops.neural.conv import unfold as unfolded
from adjoint.ops.neural.windows import counts

#: The kernels of each mode: how far it reaches, and the number of axes that it is for.
MODES = {"nearest": None, "nearest-exact": None, "linear": 1, "bilinear": 2, "bicubic": 2, "trilinear": 3, "area": None}


def interpolate(
    input: A,
    size: Size | None = None,
    scale_factor: float | Sequence[float] | None = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> A:
    """`input` at more or fewer places along its last axes.

    Args:
        input: (n, channels, …) with one, two or three axes behind.
        size: the new size, for each axis or for all.
        scale_factor: instead of `size`: the factor of the size, rounded down.
        mode: "nearest", "nearest-exact", "linear" (one axis), "bilinear", "bicubic" (two), "trilinear" (three), "area".
        align_corners: whether the first and last elements stay where they are; else the outer borders do.
        recompute_scale_factor: whether coordinates follow from the sizes, instead of from `scale_factor`.
        antialias: whether kernels of "bilinear" and "bicubic" widen where the image gets smaller, as Pillow's do.

    Returns:
        (n, channels, *size).

    Raises:
        ArgumentError: if the mode is unknown or for other numbers of axes, or if not one of `size` and `scale_factor`
            is given.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.functional.interpolate(np.array([[[0.0, 1.0]]]), size=4, mode="linear", align_corners=True)[0, 0]
        array([0.        , 0.33333333, 0.66666667, 1.        ])
    """
    x = input if hasattr(input, "shape") else np.asarray(input)
    axes = x.ndim - 2
    if mode not in MODES or axes not in (1, 2, 3) or MODES[mode] not in (None, axes):
        raise ArgumentError(
            f"interpolate has the modes {', '.join(MODES)}, the linear ones for one, two or three axes by name; got "
            f"{mode!r} for {axes} axes"
        )
    if (size is None) == (scale_factor is None):
        raise ArgumentError("interpolate takes size or scale_factor, one of both")
    if align_corners is not None and (mode.startswith("nearest") or mode == "area"):
        raise ArgumentError(f"interpolate: mode={mode!r} has no align_corners")
    if antialias and mode not in ("bilinear", "bicubic"):
        raise ArgumentError(f'interpolate: antialias is for "bilinear" and "bicubic"; got {mode!r}')
    old = x.shape[2:]
    factors: list[float | None] = [None] * axes
    if size is not None:
        new = each("size", size, axes)
    else:
        given = scale_factor if isinstance(scale_factor, Sequence) else (scale_factor,) * axes
        new = tuple(math.floor(n * f) for n, f in zip(old, given, strict=True))
        factors = [None if recompute_scale_factor else f for f in given]
    if mode == "area":
        return pooling.adaptive_avg_pool(axes, x, new)
    for i, (n, m, factor) in enumerate(zip(old, new, factors, strict=True)):
        axis = i - axes
        step = n / m if factor is None else 1 / factor
        if mode.startswith("nearest"):
            shift = 0.5 if mode == "nearest-exact" else 0.0
            places = np.minimum(np.floor((np.arange(m) + shift) * step).astype(int), n - 1)
            x = np.take(x, places, axis=axis)
        else:
            weights = _smooth_weights if antialias else _weights
            matrix = weights(n, m, step, mode, bool(align_corners)).astype(x.dtype)
            x = np.moveaxis(np.matmul(np.moveaxis(x, axis, -1), matrix), -1, axis)
    result: Array = x
    return result


def _weights(n: int, m: int, step: float, mode: str, align: bool) -> np.ndarray:
    """The matrix (n, m) from the old elements of one axis to the new ones."""
    k = np.arange(m)
    where = k * ((n - 1) / (m - 1) if m > 1 else 0.0) if align else (k + 0.5) * step - 0.5
    if mode != "bicubic":
        where = np.maximum(where, 0.0)
    low = np.floor(where).astype(int)
    t = where - low
    matrix = np.zeros((n, m))
    if mode == "bicubic":
        for j, weight in zip(range(-1, 3), cubic(t), strict=True):
            np.add.at(matrix, (np.clip(low + j, 0, n - 1), k), weight)
        return matrix
    np.add.at(matrix, (np.minimum(low, n - 1), k), 1 - t)
    np.add.at(matrix, (np.minimum(low + 1, n - 1), k), t)
    return matrix


def _smooth_weights(n: int, m: int, step: float, mode: str, align: bool) -> np.ndarray:
    """The same with kernels that are as wide as the step, where it is longer than an element."""
    if align:
        step = (n - 1) / (m - 1) if m > 1 else 0.0
    wide = max(step, 1.0)
    reach = wide * (2 if mode == "bicubic" else 1)
    middle = step * (np.arange(m) + 0.5)
    first = np.maximum((middle - reach + 0.5).astype(int), 0)
    last = np.minimum((middle + reach + 0.5).astype(int), n)
    k = np.arange(n)[:, None]
    far = np.abs(k - middle + 0.5) / wide
    if mode == "bicubic":
        weights = np.where(far < 1, _near(far, -0.5), np.where(far < 2, _far(far, -0.5), 0.0))
    else:
        weights = np.maximum(1 - far, 0.0)
    weights = np.where((k >= first) & (k < last), weights, 0.0)
    smooth: np.ndarray = weights / weights.sum(axis=0)
    return smooth


def cubic(t: Array, a: float = -0.75) -> list[Array]:
    """Weights of four neighbours, for a place that is `t` behind the second."""
    return [_far(t + 1, a), _near(t, a), _near(1 - t, a), _far(2 - t, a)]


def _near(x: Array, a: float) -> Array:
    """The cubic kernel at distances up to 1 (Keys, Cubic convolution interpolation, 1981)."""
    return ((a + 2) * x - (a + 3)) * x * x + 1


def _far(x: Array, a: float) -> Array:
    """The same at distances from 1 to 2."""
    return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a


def pixel_shuffle(input: A, upscale_factor: int) -> A:
    """Channels as pixels: (…, c * r**2, h, w) becomes (…, c, h * r, w * r) (Shi et al., 2016).

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.functional.pixel_shuffle(np.arange(4.0).reshape(4, 1, 1), 2)
        array([[[0., 1.],
                [2., 3.]]])
    """
    r = upscale_factor
    *lead, c, h, w = np.shape(input)
    if c % (r * r):
        raise ShapeError(f"pixel_shuffle: the channels are a multiple of {r * r}; got {np.shape(input)}")
    x = np.reshape(input, (*lead, c // (r * r), r, r, h, w))
    k = len(lead)
    x = np.transpose(x, (*range(k + 1), k + 3, k + 1, k + 4, k + 2))
    result: Array = np.reshape(x, (*lead, c // (r * r), h * r, w * r))
    return result


def pixel_unshuffle(input: A, downscale_factor: int) -> A:
    """The inverse of `pixel_shuffle`: (…, c, h * r, w * r) becomes (…, c * r**2, h, w).

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.functional.pixel_unshuffle(np.arange(4.0).reshape(1, 2, 2), 2).ravel()
        array([0., 1., 2., 3.])
    """
    r = downscale_factor
    *lead, c, h, w = np.shape(input)
    if h % r or w % r:
        raise ShapeError(f"pixel_unshuffle: height and width are multiples of {r}; got {np.shape(input)}")
    k = len(lead)
    x = np.reshape(input, (*lead, c, h // r, r, w // r, r))
    x = np.transpose(x, (*range(k + 1), k + 2, k + 4, k + 1, k + 3))
    result: Array = np.reshape(x, (*lead, c * r * r, h // r, w // r))
    return result


def pad(input: A, pad: Sequence[int], mode: str = "constant", value: float = 0.0) -> A:
    """`input` with more elements around.

    Args:
        input: an array.
        pad: how many before and after the last axis, then the one before it, and so on; negative ones take away.
        mode: "constant", "reflect", "replicate" or "circular".
        value: what is put there, for "constant".

    Raises:
        ArgumentError: if the mode is unknown or the numbers do not come in pairs.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.functional.pad(np.array([1.0, 2.0]), (1, 2))
        array([0., 1., 2., 0., 0.])
    """
    names = {"constant": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}
    x = input if hasattr(input, "shape") else np.asarray(input)
    if mode not in names or len(pad) % 2 or len(pad) > 2 * x.ndim:
        raise ArgumentError(
            f"pad takes two numbers for each of the last axes, and a mode of {', '.join(names)}; got {tuple(pad)} and "
            f"{mode!r} for {x.ndim} axes"
        )
    around = [(0, 0)] * (x.ndim - len(pad) // 2) + [(pad[i], pad[i + 1]) for i in range(len(pad) - 2, -1, -2)]
    if any(n < 0 for pair in around for n in pair):
        sizes = zip(x.shape, around, strict=True)
        x = x[tuple(slice(max(0, -before), n - max(0, -after)) for n, (before, after) in sizes)]
        around = [(max(0, before), max(0, after)) for before, after in around]
    if mode == "constant":
        result: Array = np.pad(x, around, constant_values=value)
        return result
    return np.pad(x, around, mode=names[mode])  # type: ignore[call-overload]  # a mode's name


def unfold(input: A, kernel_size: Size, dilation: Size = 1, padding: Size = 0, stride: Size = 1) -> A:
    """The windows of (n, channels, height, width) as columns: (n, channels * k1 * k2, places).

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.functional.unfold(np.arange(9.0).reshape(1, 1, 3, 3), 2)[0, :, 0]
        array([0., 1., 3., 4.])
    """
    x = input if hasattr(input, "shape") else np.asarray(input)
    if x.ndim not in (3, 4):
        raise ShapeError(f"unfold takes (n, channels, height, width) or (channels, height, width); got {x.shape}")
    kernel, around = each("kernel_size", kernel_size, 2), each("padding", padding, 2, 0)
    found = unfolded(x, kernel=kernel, stride=each("stride", stride, 2), padding=tuple((p, p) for p in around),
                     dilation=each("dilation", dilation, 2))  # fmt: skip
    rows = x.shape[-3] * math.prod(kernel)
    result: Array = np.reshape(found, (*x.shape[:-3], rows, math.prod(found.shape[-2:])))
    return result


def fold(input: A, output_size: Size, kernel_size: Size, dilation: Size = 1, padding: Size = 0, stride: Size = 1) -> A:
    """The sum of columns (n, channels * k1 * k2, places) in their places: the transpose of `unfold`.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.functional.fold(np.ones((1, 4, 4)), 3, 2)[0, 0]
        array([[1., 2., 1.],
               [2., 4., 2.],
               [1., 2., 1.]])
    """
    x = input if hasattr(input, "shape") else np.asarray(input)
    size, kernel = each("output_size", output_size, 2), each("kernel_size", kernel_size, 2)
    stride, dilation = each("stride", stride, 2), each("dilation", dilation, 2)
    around = tuple((p, p) for p in each("padding", padding, 2, 0))
    count = counts(size, kernel, stride, around, dilation)
    if x.ndim not in (2, 3) or x.shape[-2] % math.prod(kernel) or x.shape[-1] != math.prod(count):
        raise ShapeError(
            f"fold takes (n, channels * {math.prod(kernel)}, {math.prod(count)}), or without n; got {x.shape}"
        )
    y = np.reshape(x, (*x.shape[:-2], x.shape[-2] // math.prod(kernel), *kernel, *count))
    return folded(y, size=size, kernel=kernel, stride=stride, padding=around, dilation=dilation)
