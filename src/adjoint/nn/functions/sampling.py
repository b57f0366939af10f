"""Values between the elements of an image: grids of places, and what stands there."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np

from adjoint.core.errors import ArgumentError, ShapeError
from adjoint.core.types import A, Array
from adjoint.nn.functions.resizing import cubic
from adjoint.ops.shape.reshaping import merged


def affine_grid(theta: Array, size: Sequence[int], align_corners: bool = False) -> Array:
    """The places of the pixels of an image of `size` under affine maps, for `grid_sample` (Jaderberg et al., 2015).

    Args:
        theta: (n, 2, 3), or (n, 3, 4) for volumes: ``theta @ (x, y, 1)``, where x and y run from -1 to 1.
        size: (n, channels, height, width), or (n, channels, depth, height, width).
        align_corners: whether -1 and 1 are the middles of the outer pixels; else their outer borders.

    Returns:
        (n, height, width, 2), or (n, depth, height, width, 3): x first.

    Raises:
        ShapeError: if the shapes do not fit.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> same = np.array([[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]])
        >>> nn.functional.affine_grid(same, (1, 1, 1, 2))[0, 0]
        array([[-0.5,  0. ],
               [ 0.5,  0. ]])
    """
    sizes = tuple(size)[2:]
    axes = len(sizes)
    if axes not in (2, 3) or np.shape(theta) != (size[0], axes, axes + 1):
        raise ShapeError(f"affine_grid takes theta (n, 2, 3) and size (n, channels, height, width), or (n, 3, 4) and "
                         f"one axis more; got {np.shape(theta)} and {tuple(size)}")  # fmt: skip
    dtype = theta.dtype if hasattr(theta, "dtype") else float
    ends = [1.0 if align_corners else (n - 1) / n for n in sizes]
    lines = [
        np.linspace(-end, end, n, dtype=dtype) if n > 1 else np.zeros(1, dtype)
        for n, end in zip(sizes, ends, strict=True)
    ]
    places = np.stack([*np.meshgrid(*lines, indexing="ij")[::-1], np.ones(sizes, dtype)], axis=-1)
    grid = np.matmul(np.reshape(places, (-1, axes + 1)), np.swapaxes(theta, -1, -2))
    return np.reshape(grid, (size[0], *sizes, axes))


def grid_sample(
    input: A, grid: Array, mode: str = "bilinear", padding_mode: str = "zeros", align_corners: bool | None = None
) -> A:
    """`input` at the places of a grid (Jaderberg et al., Spatial Transformer Networks, 2015).

    Args:
        input: (n, channels, height, width), or (n, channels, depth, height, width).
        grid: (n, …, 2) places x, y, or (n, …, 3) places x, y, z, with as many axes as `input` has; -1 and 1 are the
            two ends of an axis.
        mode: "bilinear" (of volumes, trilinear), "nearest", or of images "bicubic".
        padding_mode: what stands outside: "zeros", "border" (the nearest element) or "reflection".
        align_corners: whether -1 and 1 are the middles of the outer elements; else their outer borders.

    Returns:
        (n, channels, …).

    Raises:
        ArgumentError: if a mode is unknown.
        ShapeError: if the shapes do not fit.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> image, places = np.array([[[[0.0, 1.0], [2.0, 3.0]]]]), np.zeros((1, 1, 1, 2))
        >>> nn.functional.grid_sample(image, places)
        array([[[[1.5]]]])
    """
    x = input if hasattr(input, "shape") else np.asarray(input)
    places = grid if hasattr(grid, "shape") else np.asarray(grid)
    axes = x.ndim - 2
    if axes not in (2, 3) or places.ndim != x.ndim or places.shape[0] != x.shape[0] or places.shape[-1] != axes:
        raise ShapeError(f"grid_sample takes input (n, channels, height, width) and grid (n, …, …, 2), or of one axis "
                         f"more with 3 in place of 2; got {x.shape} and {places.shape}")  # fmt: skip
    if mode not in ("bilinear", "nearest", "bicubic") or (mode == "bicubic" and axes == 3):
        raise ArgumentError(f'grid_sample: mode is "bilinear", "nearest", or of images "bicubic"; got {mode!r}')
    if padding_mode not in ("zeros", "border", "reflection"):
        raise ArgumentError(f'grid_sample: padding_mode is "zeros", "border" or "reflection"; got {padding_mode!r}')
    aligned = bool(align_corners)
    taps = []
    for axis, n in enumerate(x.shape[2:]):
        g = places[..., axes - 1 - axis]
        g = np.where(np.isnan(g), -1.0, g)  # as PyTorch does
        where = (g + 1) / 2 * (n - 1) if aligned else ((g + 1) * n - 1) / 2
        taps.append(_taps(where, n, mode, padding_mode, aligned))
    flat = merged(x, 2, axes)
    count = math.prod(places.shape[1:-1])
    total: Array = None
    for chosen in itertools.product(*taps):
        at: Array = 0
        weight: Array = None
        for n, (k, share) in zip(x.shape[2:], chosen, strict=True):
            at = at * n + k
            weight = share if weight is None else weight * share
        found = np.take_along_axis(flat, np.reshape(at, (x.shape[0], 1, count)), axis=-1)
        found = found * np.reshape(weight, (x.shape[0], 1, count))
        total = found if total is None else total + found
    result: Array = np.reshape(total, (*x.shape[:2], *places.shape[1:-1]))
    return result


def _taps(where: Array, n: int, mode: str, padding: str, aligned: bool) -> list[tuple[Array, Array]]:
    """The elements of an axis of `n` that count at the places `where`, and their shares."""
    if mode != "bicubic":
        where = _held(where, n, padding, aligned)
    if mode == "nearest":
        low = np.rint(where)
        return [_inside(low, np.ones_like(where), n, padding, aligned)]
    low = np.floor(where)
    t = where - low
    if mode == "bicubic":
        return [_inside(low + k, share, n, padding, aligned) for k, share in zip(range(-1, 3), cubic(t), strict=True)]
    return [_inside(low, 1 - t, n, padding, aligned), _inside(low + 1, t, n, padding, aligned)]


def _inside(k: Array, share: Array, n: int, padding: str, aligned: bool) -> tuple[Array, Array]:
    """Element numbers within 0 … n - 1, and shares that are 0 outside where zeros stand there."""
    held = k if padding == "zeros" else _held(k, n, padding, aligned)
    if padding == "zeros":
        share = np.where(np.logical_and(np.greater_equal(k, 0), np.less(k, n)), share, 0.0)
    return np.clip(held, 0, n - 1).astype(np.int64), share


def _held(where: Array, n: int, padding: str, aligned: bool) -> Array:
    """Places within an axis: those outside are moved inside, as `padding` says."""
    if padding == "zeros":
        return where
    if padding == "reflection":
        begin, span = (0.0, n - 1.0) if aligned else (-0.5, float(n))
        if span == 0:
            return np.zeros_like(where)
        far = np.abs(where - begin)
        times = np.floor(far / span)
        rest = far - times * span
        where = np.where(np.equal(times % 2, 0), rest + begin, span - rest + begin)
    # No gradient at the border itself, nor outside.
    return np.where(np.less_equal(where, 0), 0.0, np.where(np.greater_equal(where, n - 1), n - 1.0, where))
