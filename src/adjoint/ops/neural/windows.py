"""Windows over the last axes of arrays: how many there are, the padding around an array, and views of the windows.

A padding is a pair for each axis: elements before and after. Dumoulin and Visin, A guide to convolution arithmetic for
deep learning, 2016, has the shapes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache, wraps
from itertools import product

import numpy as np
from numpy.lib.stride_tricks import as_strided

from adjoint.core.backend import is_foreign, zeros
from adjoint.core.errors import ShapeError
from adjoint.core.types import Array, Index, P, R

Pairs = tuple[tuple[int, int], ...]
Sizes = tuple[int, ...]


def _remembered(function: Callable[P, R]) -> Callable[P, R]:
    """`function` of sizes and settings, which remembers what it gave; of lists, which have no hash, it computes."""
    found = lru_cache(1024)(function)

    @wraps(function)
    def remembering(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return found(*args, **kwargs)  # type: ignore[arg-type]  # they are looked at
        except TypeError:
            return function(*args, **kwargs)

    return remembering


@_remembered
def counts(
    size: Sequence[int], kernel: Sequence[int], stride: Sequence[int], padding: Pairs, dilation: Sequence[int]
) -> Sizes:
    """How many windows there are along each axis.

    Raises:
        ShapeError: where none fits.
    """
    spans = zip(size, kernel, stride, padding, dilation, strict=True)
    found = tuple((n + before + after - d * (k - 1) - 1) // s + 1 for n, k, s, (before, after), d in spans)
    if min(found) < 1:
        spread = f" with dilation {tuple(dilation)}" if any(d > 1 for d in dilation) else ""
        around = f" with padding {padding}" if any(map(any, padding)) else ""
        raise ShapeError(f"a window of {tuple(kernel)}{spread} is larger than the array's axes, {tuple(size)}{around}")
    return found


def fits(name: str, places: Sizes, size: Sizes, kernel: Sizes, stride: Sizes, padding: Pairs, dilation: Sizes) -> None:
    """Refuse an array of another number of windows than there are."""
    count = counts(size, kernel, stride, padding, dilation)
    if count != places:
        raise ShapeError(f"{name}: windows {kernel} over {size} have {count} places; got {places}")


def padded(x: Array, padding: Pairs, value: float = 0.0) -> Array:
    """`x` with `value` around its last axes; `x` itself, if there is no padding."""
    around = _around(x.shape, padding)
    if around is None:
        return x
    shape, index = around
    plain = value == 0 and type(x) is np.ndarray
    out: Array = zeros(x, shape, x.dtype) if plain else np.full_like(x, value, shape=shape)
    out[index] = x
    return out


@_remembered
def _around(shape: Sizes, padding: Pairs) -> tuple[Sizes, Index] | None:
    """The shape of a padded array, and where in it the array is; None, if there is no padding."""
    if not any(map(any, padding)):
        return None
    lead = len(shape) - len(padding)
    size = (n + before + after for n, (before, after) in zip(shape[lead:], padding, strict=True))
    return (*shape[:lead], *size), within(shape[lead:], padding)


def within(size: Sequence[int], padding: Pairs) -> Index:
    """The index of the elements of a padded array that are no padding."""
    return (..., *(slice(before, before + n) for n, (before, _) in zip(size, padding, strict=True)))


def add_windows(total: Array, rows: Array, kernel: Sizes, count: Sizes, stride: Sizes, dilation: Sizes) -> None:
    """Add to each element of each window of `total` what ``rows(at)`` gives for its place `at` in the window."""
    if not is_foreign(total):
        for at, part in parts(total, kernel, count, stride, dilation):
            part += rows(at)
        return
    for at in product(*map(range, kernel)):  # whose parts may be no views
        total[_places(at, count, stride, dilation)] += rows(at)


def inner(x: Array, size: Sequence[int], padding: Pairs) -> Array:
    """The elements of a padded array that are no padding."""
    return x[within(size, padding)]


def windows(x: Array, kernel: Sizes, count: Sizes, stride: Sizes, dilation: Sizes) -> np.ndarray:
    """Views of a padded array: (…, *kernel, *count), an element of the window and a place of it."""
    lead = x.ndim - len(kernel)
    if is_foreign(x):  # which says nothing of its memory
        each = [part for _, part in parts(x, kernel, count, stride, dilation)]
        return np.stack(each, axis=lead).reshape((*x.shape[:lead], *kernel, *count))
    last = x.strides[lead:]
    steps = [s * d for s, d in zip(last, dilation, strict=True)] + [s * n for s, n in zip(last, stride, strict=True)]
    shape, strides = (*x.shape[:lead], *kernel, *count), (*x.strides[:lead], *steps)
    if type(x) is not np.ndarray or not x.flags.c_contiguous:
        return as_strided(x, shape, strides, writeable=False)
    views: np.ndarray = np.ndarray(shape, x.dtype, x, 0, strides)  # in a tenth of the time
    views.flags.writeable = False
    return views


def parts(x: Array, kernel: Sizes, count: Sizes, stride: Sizes, dilation: Sizes) -> Iterator[tuple[Sizes, Array]]:
    """For each element of a window, where it lies in the window, and these elements of all windows."""
    for at in product(*map(range, kernel)):
        yield at, x[_places(at, count, stride, dilation)]


def _places(at: Sizes, count: Sizes, stride: Sizes, dilation: Sizes) -> Index:
    """The index of the elements `at` this place of all windows."""
    spans = zip(at, dilation, stride, count, strict=True)
    return (..., *(slice(i * d, i * d + s * (n - 1) + 1, s) for i, d, s, n in spans))
