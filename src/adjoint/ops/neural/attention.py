"""Attention of long sequences, some rows at a time: the weights of all queries and keys are never there together.

The gradient computes each block's weights again. They lie transposed there, keys first, so a program that is compiled
does not take them for those of the forward pass, which it would have to keep.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from adjoint.core.backend import beside, zeros
from adjoint.core.constructors import general
from adjoint.core.op import call
from adjoint.core.types import Array
from adjoint.ops.neural.activation import softmax


def weights_of(scores: Array, mask: Array | None, axis: int = -1) -> Array:
    """The softmax of scores under a mask: truth values, True where a key is seen, or numbers to be added.

    A query that sees no key has weights 0.
    """
    weights = softmax(_masked(scores, mask), axis)
    if mask is None or mask.dtype != bool or (type(mask) is np.ndarray and mask.any(axis=axis).all()):
        return weights
    return np.where(np.any(mask, axis=axis, keepdims=True), weights, 0.0)


def _masked(scores: Array, mask: Array | None) -> Array:
    if mask is None:
        return scores
    return np.where(mask, scores, -np.inf) if mask.dtype == bool else scores + mask


class _QueryBlock:
    """Some queries: their rows, how many keys they see, and the mask for these."""

    def __init__(self, arrays: Sequence[Array], rows: slice, causal: bool) -> None:
        self.query, self.key, self.value = arrays[0][..., rows, :], arrays[1], arrays[2]
        self.rows, self.stop, self.mask = rows, self.key.shape[-2], None
        if causal:
            self.stop = min(self.stop, rows.stop)
            self.mask = beside(self.query, np.arange(rows.start, rows.stop)[:, None] >= np.arange(self.stop))
            self.key, self.value = self.key[..., : self.stop, :], self.value[..., : self.stop, :]
        elif len(arrays) > 3:
            mask = arrays[3]
            self.mask = mask[..., rows, :] if mask.ndim > 1 and mask.shape[-2] > 1 else mask

    def result(self) -> Array:
        scores = np.matmul(self.query, np.swapaxes(self.key, -1, -2))
        return np.matmul(weights_of(scores, self.mask), self.value)

    def cotangents(self, g: Array) -> tuple[Array, Array, Array, Array]:
        """Those of the queries, of the keys and values that they see, and of the scores; these are transposed."""
        mask = self.mask if self.mask is None or self.mask.ndim < 2 else np.swapaxes(self.mask, -1, -2)
        mask = mask[:, None] if mask is not None and mask.ndim == 1 else mask
        scores = np.matmul(self.key, np.swapaxes(self.query, -1, -2))
        most = np.max(_masked(scores, mask), axis=-2, keepdims=True) if self.stop else 0.0
        weights = weights_of(scores, mask, -2)
        slope = np.matmul(self.value, np.swapaxes(g, -1, -2))
        slope = slope - np.sum(weights * slope, axis=-2, keepdims=True)
        stays = np.equal(most, np.inf)  # an infinity whatever is added to it, so its factors have no derivative
        scores = np.where(stays, 0.0, weights * slope)
        rows = np.swapaxes(stays, -1, -2) if self.stop else stays
        query = np.where(rows, 0.0, np.matmul(np.swapaxes(scores, -1, -2), self.key))
        return query, np.matmul(scores, np.where(rows, 0.0, self.query)), np.matmul(weights, g), scores


def _blocks(arrays: Sequence[Array], rows: int, causal: bool) -> Iterator[_QueryBlock]:
    m = arrays[0].shape[-2]
    for start in range(0, m, rows):
        yield _QueryBlock(arrays, slice(start, min(start + rows, m)), causal)


def _cotangents(g: Array, arrays: Sequence[Array], needs: Sequence[int], causal: bool, rows: int) -> list[Array | None]:
    queries, bias = list[Array](), list[Array]()
    keys = values = None
    for block in reversed(list(_blocks(arrays, rows, causal))):  # the last ones see most keys
        query, key, value, scores = block.cotangents(g[..., block.rows, :])
        queries.append(query)
        keys, values = _added(keys, key), _added(values, value)
        if 3 in needs and block.mask is not None:
            bias.append(_summed(np.swapaxes(scores, -1, -2), block.mask.shape))
    found = [np.concatenate(queries[::-1], axis=-2), *map(_lengthened, (keys, values), arrays[1:3])]
    if len(arrays) > 3:
        found.append(_joined(bias[::-1], np.shape(arrays[3])) if 3 in needs else None)
    return found


def _added(total: Array | None, part: Array) -> Array:
    """The sum of cotangents, of which `part` is that of the first rows."""
    if total is None:
        return part
    n = part.shape[-2]
    if n == total.shape[-2]:
        return total + part
    return np.concatenate([total[..., :n, :] + part, total[..., n:, :]], axis=-2)


def _lengthened(total: Array, like: Array) -> Array:
    """The cotangent of all keys or values from that of those which some query sees."""
    unseen = like.shape[-2] - total.shape[-2]
    rest = (*total.shape[:-2], unseen, total.shape[-1])
    return np.concatenate([total, zeros(total, rest, total.dtype)], axis=-2) if unseen else total


def _summed(x: Array, shape: tuple[int, ...]) -> Array:
    """The sum over the axes along which an array of this shape was repeated."""
    x = np.sum(x, axis=tuple(range(x.ndim - len(shape))))
    repeated = tuple(axis for axis, n in enumerate(shape) if n == 1 and x.shape[axis] != 1)
    return np.sum(x, axis=repeated, keepdims=True) if repeated else x


def _joined(parts: list[Array], shape: tuple[int, ...]) -> Array:
    """The cotangent of a mask from those of its rows; if it has one row for all queries, their sum."""
    if len(shape) > 1 and shape[-2] > 1:
        return np.concatenate(parts, axis=-2)
    return sum(parts[1:], parts[0])


def _of_each(arrays: Sequence[Array], causal: bool, rows: int) -> Array:
    """For a stack of samples: axes are lined up behind the first one."""
    most = max(x.ndim for x in arrays)
    lined = [np.reshape(x, (x.shape[0], *(1,) * (most - x.ndim), *x.shape[1:])) for x in arrays]
    return attend(*lined, causal=causal, rows=rows)


@general(
    vjp=_cotangents,
    batch=_of_each,
    flags=("real", "finite", "selects"),
    samples=lambda r: [
        call(r(5, 3), r(4, 3), r(4, 2), rows=2),
        call(r(2, 5, 3), r(2, 5, 3), r(2, 5, 2), causal=True, rows=2),
        call(r(3, 3), r(5, 3), r(5, 2), causal=True, rows=2),
        call(r(2, 3, 3), r(2, 4, 3), r(2, 4, 2), r(3, 4), rows=2),
        call(r(2, 3, 3), r(2, 4, 3), r(2, 4, 2), r(2, 1, 4), rows=2),
        call(r(3, 3), r(4, 3), r(4, 2), np.array([[True, False, True, True], [False] * 4, [True] * 4]), rows=2),
    ],
)
def attend(*arrays: Array, causal: bool = False, rows: int = 128) -> Array:
    """``softmax(query @ key.T + mask) @ value``, so many rows of queries at a time.

    `arrays`: queries (…, m, d), keys (…, n, d), values (…, n, e), the same axes in front, and perhaps a mask that
    broadcasts to (…, m, n); see `weights_of`. With `causal`, and no mask, query i sees keys 0 to i alone.
    """
    return np.concatenate([block.result() for block in _blocks(arrays, rows, causal)], axis=-2)
