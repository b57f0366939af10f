"""Functions on shapes and parts of arrays that PyTorch has and NumPy has not, or under another name; and windows."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from adjoint.core.backend import beside
from adjoint.core.messages.meanings import note
from adjoint.core.types import Array, Axis, Value
from adjoint.ops.order.extremes import marked, plain


def tril_indices(row: int, col: int, offset: int = 0) -> Array:
    """The places of the lower triangle: rows, and columns."""
    return np.stack(np.tril_indices(row, offset, col))


def triu_indices(row: int, col: int, offset: int = 0) -> Array:
    """The places of the upper triangle: rows, and columns."""
    return np.stack(np.triu_indices(row, offset, col))


def cat(tensors: Sequence[Array], dim: int = 0, *, axis: int | None = None) -> Array:
    """``np.concatenate(tensors, dim)``."""
    return np.concatenate(tensors, axis=dim if axis is None else axis)


def block_diag(*tensors: Array) -> Array:
    """Matrices along the diagonal, and zeros beside."""
    blocks = [np.atleast_2d(t) for t in tensors]
    return np.block([[b if i == k else np.zeros_like(b, shape=(b.shape[0], c.shape[1])) for k, c in enumerate(blocks)]
                     for i, b in enumerate(blocks)])  # fmt: skip


def cartesian_prod(*tensors: Array) -> Array:
    """All combinations of one element of each vector, one a row."""
    if len(tensors) == 1:
        return tensors[0]
    return np.reshape(np.stack(np.meshgrid(*tensors, indexing="ij"), -1), (-1, len(tensors)))


def combinations(input: Array, r: int = 2, with_replacement: bool = False) -> Array:
    """All choices of `r` elements of a vector, one a row."""
    choose = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    return input[np.array(list(choose(range(len(input)), r)), int).reshape(-1, r)]


def diag_embed(input: Array, offset: int = 0) -> Array:
    """Matrices with the last axis on their diagonal."""
    length = np.shape(input)[-1]
    out = np.zeros_like(input, shape=(*np.shape(input)[:-1], length + abs(offset), length + abs(offset)))
    places = beside(input, np.arange(length))
    out[..., places + max(-offset, 0), places + max(offset, 0)] = input
    return out


def nonzero(a: Array, *, as_tuple: bool | None = None) -> Value:
    """The places of elements that are not 0: ``np.nonzero(t)``.

    PyTorch's are tensors: an array for each axis (``as_tuple=True``), or a row for each element (``as_tuple=False``).
    """
    if as_tuple is None:
        note("nonzero", a)
        return np.nonzero(a)
    found = np.nonzero(plain(a))
    return tuple(marked(a, places) for places in found) if as_tuple else marked(a, np.stack(found, -1))


def broadcast_to(input: Array, size: Value) -> Array:
    """``np.broadcast_to(t, size)``."""
    return np.broadcast_to(input, size)


def reshape_as(input: Array, other: Array) -> Array:
    """``t.reshape(other.shape)``."""
    return np.reshape(input, other.shape)


view_as = reshape_as


def swapdims(input: Array, dim0: int, dim1: int) -> Array:
    """``np.swapaxes(t, dim0, dim1)``."""
    return np.swapaxes(input, dim0, dim1)


def fliplr(input: Array) -> Array:
    """``np.fliplr(t)``."""
    return np.fliplr(input)


def flipud(input: Array) -> Array:
    """``np.flipud(t)``."""
    return np.flipud(input)


def rot90(input: Array, k: int = 1, dims: Value = (0, 1)) -> Array:
    """``np.rot90(t, k, dims)``."""
    return np.rot90(input, k, dims)


def tensor_split(input: Array, indices_or_sections: Value, dim: int = 0) -> Sequence[Array]:
    """So many parts along an axis, or parts that begin at these places."""
    return tuple(np.array_split(input, indices_or_sections, dim))


def unfold(input: Array, dimension: int, size: int, step: int = 1) -> Array:
    """Windows of `size` along an axis, every `step` elements; their elements are the last axis."""
    windows = np.lib.stride_tricks.sliding_window_view(input, size, dimension)
    return windows[(*(slice(None),) * (dimension % np.ndim(input)), slice(None, None, step))]


def take_along_dim(input: Array, indices: Array, dim: int | None = None) -> Array:
    """``np.take_along_axis(t, indices, dim)``."""
    return np.take_along_axis(input, plain(indices), dim)


def _before(input: Array, dim: int) -> tuple[slice, ...]:
    return (slice(None),) * (dim % np.ndim(input))


def index_copy(input: Array, dim: int, index: Array, source: Array) -> Array:
    """A copy with the parts of `source` written at `index` along an axis."""
    out = np.copy(input) if isinstance(input, np.ndarray) else input.copy()
    out[(*_before(input, dim), plain(index))] = source
    return out


def index_fill(input: Array, dim: int, index: Array, value: Array) -> Array:
    """A copy with `value` written at `index` along an axis."""
    return index_copy(input, dim, index, value)


def index_put(input: Array, indices: Sequence[Array], values: Array, accumulate: bool = False) -> Array:
    """A copy with `values` written at ``t[indices]``, or added there."""
    out, places = input.copy(), tuple(plain(index) for index in indices)
    if accumulate:
        np.add.at(out, places, values)
    else:
        out[places] = values
    return out


def masked_scatter(input: Array, mask: Array, source: Array) -> Array:
    """A copy with the first elements of `source` where `mask` is true."""
    out, chosen = input.copy(), np.broadcast_to(plain(mask), np.shape(input))
    out[chosen] = np.reshape(source, -1)[: int(np.count_nonzero(chosen))]
    return out


def fill_diagonal(input: Array, value: float) -> Array:
    """A copy with `value` along the diagonal."""
    out = input.copy()
    out[(beside(input, np.arange(min(np.shape(input)))),) * np.ndim(input)] = value
    return out


def flip(input: Array, *given: Value, dims: Axis = None, axis: Axis = None) -> Array:
    """``np.flip(t, dims)``."""
    along: Value = given[0] if len(given) == 1 else given or (axis if dims is None else dims)
    return np.flip(input, tuple(along) if isinstance(along, list) else along)


# -- Windows --------------------------------------------------------------------------------------


def _window(ratio: float, n: int, periodic: bool) -> Array:
    return ratio - (1 - ratio) * np.cos(2 * np.pi * np.arange(n) / max(n if periodic else n - 1, 1))


def hann_window(window_length: int, periodic: bool = True) -> Array:
    """Half a period of a cosine, from 0 to 1 and back."""
    return _window(0.5, window_length, periodic)


def hamming_window(window_length: int, periodic: bool = True, alpha: float = 0.54) -> Array:
    """A cosine around `alpha`."""
    return _window(alpha, window_length, periodic)


def bartlett_window(window_length: int, periodic: bool = True) -> Array:
    """A triangle."""
    return np.bartlett(window_length + periodic)[:window_length]


def blackman_window(window_length: int, periodic: bool = True) -> Array:
    """Two cosines."""
    return np.blackman(window_length + periodic)[:window_length]
