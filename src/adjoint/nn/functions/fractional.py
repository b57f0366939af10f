"""Max pooling whose windows begin at drawn places, so that a result may have any smaller size (Graham, 2014)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import prod

import numpy as np

from adjoint.core.errors import ArgumentError, ShapeError
from adjoint.core.types import Array, Size, Value
from adjoint.nn.functions.convolution import each
from adjoint.nn.init import Rng
from adjoint.tape.tensor import Tensor

Ratio = float | Sequence[float]


def begins(samples: np.ndarray, n: int, count: int, kernel: int) -> np.ndarray:
    """Where the windows of one axis begin: (…, count), for `samples` in [0, 1), one for each sequence.

    As PyTorch computes them, in the precision of `samples`.
    """
    last = np.full((*samples.shape, 1), n - kernel, np.int64)
    if count == 1:
        return last
    step = samples.dtype.type(n - kernel) / samples.dtype.type(count - 1)
    places = (np.arange(count - 1, dtype=samples.dtype) + samples[..., None]) * step
    whole: np.ndarray = places.astype(np.int64) - (samples * step).astype(np.int64)[..., None]
    return np.concatenate([whole, last], axis=-1)


def wanted_sizes(
    name: str, size: Sequence[int], kernel: Sequence[int], output_size: Size | None, output_ratio: Ratio | None
) -> tuple[int, ...]:
    """The size of the result, given itself or as a share of `size`."""
    axes = len(size)
    if (output_size is None) == (output_ratio is None):
        raise ArgumentError(f"{name} takes either output_size or output_ratio; got {output_size} and {output_ratio}")
    if output_ratio is not None:
        ratios = tuple(output_ratio) if isinstance(output_ratio, Sequence) else (output_ratio,) * axes
        if len(ratios) != axes or not all(0 < r < 1 for r in ratios):
            raise ArgumentError(f"{name}: output_ratio is a share between 0 and 1, or {axes}; got {output_ratio!r}")
        output_size = tuple(int(n * r) for n, r in zip(size, ratios, strict=True))
    wanted = each("output_size", output_size, axes)
    if any(w + k - 1 > n for w, k, n in zip(wanted, kernel, size, strict=True)):
        raise ShapeError(f"{name}: {wanted} windows of {tuple(kernel)} do not fit into {tuple(size)}")
    return wanted


def fractional_max_pool(
    axes: int,
    x: Array,
    kernel_size: Size,
    output_size: Size | None = None,
    output_ratio: Ratio | None = None,
    return_indices: bool = False,
    _random_samples: Array = None,
    *,
    rng: Rng = None,
) -> Array:
    """The largest elements of windows that begin at drawn places and cover the last axes, which may overlap.

    Args:
        x: (n, channels, …) with 2 or 3 axes behind, or without n.
        kernel_size: the windows' sizes.
        output_size: how many windows there are along each axis; or
        output_ratio: their number as a share of the axis, between 0 and 1.
        return_indices: give where the elements lie, too, counted over the last axes.
        rng: a seed or generator for where windows begin.

    Raises:
        ShapeError: if so many windows do not fit.
        ArgumentError: if a setting makes no sense.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.functional.fractional_max_pool2d(np.ones((1, 3, 9, 9)), 2, output_ratio=0.7, rng=0).shape
        (1, 3, 6, 6)
    """
    name = f"fractional_max_pool{axes}d"
    x = x if hasattr(x, "shape") else np.asarray(x)
    if x.ndim not in (axes + 1, axes + 2):
        raise ShapeError(f"{name} takes (n, channels, …) or (channels, …) with {axes} axes behind; got {x.shape}")
    alone, size, kernel = x.ndim == axes + 1, x.shape[-axes:], each("kernel_size", kernel_size, axes)
    wanted = wanted_sizes(name, size, kernel, output_size, output_ratio)
    x = x[None] if alone else x
    samples = _random_samples.held if isinstance(_random_samples, Tensor) else _random_samples
    if samples is None:
        samples = np.random.default_rng(rng).random((*x.shape[:2], axes)).astype(x.dtype)
    samples = np.asarray(samples)
    if samples.shape != (*x.shape[:2], axes):
        raise ShapeError(f"{name}: _random_samples are {(*x.shape[:2], axes)}; got {samples.shape}")
    flat: Value = 0  # where each element of each window lies: (n, channels, *wanted, *kernel)
    for i, (n, count, k) in enumerate(zip(size, wanted, kernel, strict=True)):
        sample = samples[..., axes - 1 - i if axes == 2 else i]  # PyTorch's order: the width first if there are two
        place = begins(sample, n, count, k)[..., None] + np.arange(k)
        shape = (*x.shape[:2], *(1,) * i, count, *(1,) * (axes - 1), k, *(1,) * (axes - 1 - i))
        flat = flat * n + place.reshape(shape)
    flat = np.reshape(flat, (*x.shape[:2], prod(wanted), prod(kernel)))
    rows = np.reshape(x, (*x.shape[:2], prod(size)))
    values = np.take_along_axis(rows, np.reshape(flat, (*x.shape[:2], -1)), axis=-1).reshape(flat.shape)
    first = np.expand_dims(np.argmax(values, axis=-1), -1)  # nan is the largest
    shape = x.shape[1:2] + wanted if alone else (*x.shape[:2], *wanted)
    out = np.reshape(np.take_along_axis(values, first, axis=-1), shape)
    return (out, np.reshape(np.take_along_axis(flat, first, axis=-1), shape)) if return_indices else out


fractional_max_pool2d, fractional_max_pool3d = (partial(fractional_max_pool, n) for n in (2, 3))
