"""Elements chosen by an array of positions along an axis, or by a mask: PyTorch's gather, scatter and relatives."""

from __future__ import annotations

import numpy as np

from adjoint.core.backend import as_array, as_beside, beside, is_foreign
from adjoint.core.box import Box
from adjoint.core.constructors import composite
from adjoint.core.errors import ArgumentError
from adjoint.core.op import call
from adjoint.core.protocol import detached
from adjoint.core.types import Array, Index
from adjoint.ops.indexing.index import kept
from adjoint.ops.indexing.reading import put_along_axis, scatter

_TWICE = np.array([[0, 2, 1, 0], [1, 1, 1, 2]])


def _whole(index: Index) -> Array:
    """An index without its box, if it is the same for all samples; a number as an array of one."""
    return kept(index.numpy() if isinstance(index, Box) and index.held is not index else index)  # type: ignore[attr-defined]  # every box has numpy()


def _index(index: Index) -> Array:
    return detached(index) if isinstance(index, Box) else kept(as_array(index))


def _corner(a: Array, shape: tuple[int, ...], axis: int | None = None) -> Array:
    """The first elements of `a` along each axis, as many as `shape` has; but for `axis`, along which it has all."""
    part = tuple(slice(None) if i == axis else slice(n) for i, n in enumerate(shape))
    return a if np.shape(a) == shape else a[part]


@composite(samples=lambda r: [call(r(3, 4), 1, np.array([[0, 3], [1, 1]])), call(r(3, 4), 0, _TWICE)])
def gathered(a: Array, axis: int, index: Index) -> Array:
    """PyTorch's ``torch.gather(a, dim, index)``: along `axis`, the elements at `index`; of the shape of `index`."""
    index = _index(index)
    return np.take_along_axis(_corner(a, np.shape(index), axis % np.ndim(a)), index, axis)


def _into(a: Array, axis: int, index: Index, source: Array) -> Array:
    """Zeros of the shape of `a`, with the elements of `source` added at `index` along `axis`."""
    shape, index = np.shape(a), _index(index)
    source = (
        _corner(source, np.shape(index))
        if np.ndim(source)
        else np.broadcast_to(as_beside(index, source), np.shape(index))
    )
    return put_along_axis(source, index, shape, axis)


@composite(samples=lambda r: [call(r(3, 4), 0, _TWICE, r(2, 4)), call(r(3, 4), 1, np.array([[0, 3]]), r(3, 4))])
def scattered_sum(a: Array, axis: int, index: Index, src: Array) -> Array:
    """PyTorch's ``torch.scatter_add(a, dim, index, src)``: `a` with the elements of `src` added at `index`."""
    return a + _into(a, axis, index, src)


def _count(a: Array, axis: int, index: Index) -> Array:
    """How many elements of a source go to each place."""
    return _into(a, axis, index, 1.0)


@composite(
    samples=lambda r: [call(r(3, 4), 1, np.array([[0, 3]]), r(3, 4)), call(r(3, 4), 1, np.array([[2], [0]]), 1.5)]
)
def scattered(a: Array, axis: int, index: Index, src: Array) -> Array:
    """PyTorch's ``torch.scatter(a, dim, index, src)``: `a` with elements of `src`, or a number, written at `index`.

    Of several elements that go to one place, the last is taken.
    """
    index = _index(index)
    source = np.broadcast_to(as_beside(a, src), np.shape(index)) if not np.ndim(src) else _corner(src, np.shape(index))
    if np.max(_count(a, axis, index), initial=0) > 1:
        source = np.where(np.equal(_ranks(index, axis), _into_places(a, axis, index)), source, 0.0)
    return np.where(_count(a, axis, index) > 0, put_along_axis(source, index, np.shape(a), axis), a)


def _into_places(a: Array, axis: int, index: Index) -> Array:
    """For each element of a source the highest rank (see `_ranks`) of those that go to the same place."""
    return np.take_along_axis(_count(a, axis, index), index, axis)[tuple(map(slice, np.shape(index)))] - 1


def _ranks(index: Index, axis: int) -> Array:
    """How many elements before each one go to the same place."""
    along = np.moveaxis(index, axis, -1)
    same = np.equal(along[..., :, None], along[..., None, :])
    earlier = beside(along, np.tri(np.shape(along)[-1], k=-1, dtype=bool))
    return np.moveaxis(np.sum(np.logical_and(same, earlier), axis=-1), -1, axis)


@composite(
    samples=lambda r: (
        [call(r(3, 4), 0, _TWICE, r(2, 4), reduce) for reduce in ("sum", "prod", "mean", "amax", "amin")]
        + [call(r(3, 4), 0, _TWICE, r(2, 4), reduce, include_self=False) for reduce in ("sum", "prod", "mean", "amax")]
    )
)
def scattered_reduction(a: Array, axis: int, index: Index, src: Array, reduce: str, include_self: bool = True) -> Array:
    """PyTorch's ``torch.scatter_reduce(a, dim, index, src, reduce)``.

    Args:
        a: an array.
        axis: the axis along which `index` counts.
        index: whole numbers, with as many axes as `a`.
        src: an array at least as long along each axis as `index`.
        reduce: "sum", "prod", "mean", "amax" or "amin" of the elements that go to one place.
        include_self: whether the element of `a` is one of them.
    """
    if reduce not in ("sum", "prod", "mean", "amax", "amin"):
        raise ArgumentError(f'scatter_reduce: reduce is "sum", "prod", "mean", "amax" or "amin"; got {reduce!r}')
    index = _index(index)
    src, count = _corner(src, np.shape(index)), _count(a, axis, index)
    start = {"prod": 1.0, "amax": -np.inf, "amin": np.inf}.get(reduce, 0.0)
    own = a if include_self else np.where(count > 0, start, a)
    if reduce == "prod":
        return _products(own, axis, index, src)
    if reduce in ("amax", "amin"):
        return _extremes(own, axis, index, src, np.maximum if reduce == "amax" else np.minimum)
    total = own + _into(a, axis, index, src)
    return total if reduce == "sum" else total / np.maximum(count + include_self, 1)


def _products(a: Array, axis: int, index: Index, src: Array) -> Array:
    """Each element times those that go to its place: of all places at once, one element after another."""
    ranks = _ranks(index, axis)
    for rank in range(int(np.max(ranks, initial=-1)) + 1):
        now = np.equal(ranks, rank)
        a = a * np.where(_into(a, axis, index, 1.0 * now) > 0, _into(a, axis, index, np.where(now, src, 0.0)), 1.0)
    return a


def _extremes(a: Array, axis: int, index: Index, src: Array, larger: np.ufunc) -> Array:
    ranks = _ranks(index, axis)
    best = detached(a)
    for rank in range(int(np.max(ranks, initial=-1)) + 1):
        now = np.equal(ranks, rank)
        there = _into(a, axis, index, 1.0 * now) > 0
        best = np.where(there, larger(best, _into(a, axis, index, np.where(now, detached(src), 0.0))), best)
    mine = np.equal(a, best)
    theirs = np.equal(src, np.take_along_axis(best, index, axis)[tuple(map(slice, np.shape(index)))])
    winners = mine + _into(a, axis, index, 1.0 * theirs)  # equal elements share the gradient
    moved = np.where(mine, a, 0.0) + _into(a, axis, index, np.where(theirs, src, 0.0))
    return best + (moved - detached(moved)) / winners


@composite(
    samples=lambda r: [
        call(r(2, 3), np.array([True, False, True]), -1.5),
        call(r(3), np.array([True, False, True]), r()),
    ]
)
def masked_fill(a: Array, mask: Array, value: Array) -> Array:
    """`a`, with `value` where `mask` is true."""
    dtype = np.result_type(a)
    value = value if isinstance(value, Box) or is_foreign(value) else np.asarray(value, dtype)[()]
    return np.where(mask, value, a)


@composite(samples=lambda r: [call(r(2, 3), np.array([True, False, True]))])
def masked_select(a: Array, mask: Array) -> Array:
    """The elements of `a` where `mask` is true, in one line."""
    return a[np.broadcast_to(_whole(mask), np.shape(a))]


@composite(samples=lambda r: [call(r(3, 4), 1, np.array([0, 3, 3]))])
def index_select(a: Array, axis: int, index: Index) -> Array:
    """The parts of `a` at `index` along `axis`."""
    return np.take(a, _index(index), axis)


@composite(
    samples=lambda r: [call(r(3, 4), 0, np.array([2, 2]), r(2, 4)), call(r(3, 4), 1, np.array([1]), r(3, 1), 2.0)]
)
def index_add(a: Array, axis: int, index: Index, source: Array, alpha: float = 1.0) -> Array:
    """`a` with ``alpha * source`` added to the parts at `index` along `axis`."""
    axis, shape, index = axis % np.ndim(a), np.shape(a), _whole(index)
    added = np.broadcast_to(source * alpha, (*shape[:axis], *np.shape(index), *shape[axis + 1 :]))
    return a + scatter(added, (*(slice(None),) * axis, index), shape)
