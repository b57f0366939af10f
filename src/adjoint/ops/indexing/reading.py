"""Reading elements: every kind of index, and the functions that pick, place and select."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import cast

import numpy as np

from adjoint.core.backend import as_array, backend_of, beside, is_elsewhere, known_in
from adjoint.core.box import ELSEWHERE, Box, apply, stays_in_index
from adjoint.core.constructors import composite, general, linear
from adjoint.core.errors import ArgumentError, DeviceError, DTypeError, ShapeError
from adjoint.core.memory import AS_MADE, NEW_C, VIEW
from adjoint.core.op import Op, call
from adjoint.core.protocol import put
from adjoint.core.rules.cotangents import Scattered
from adjoint.core.types import Array, Axis, Index, ShapeLike, Value
from adjoint.ops.indexing.index import (
    SIMPLE,
    BoxedIndex,
    apart,
    is_basic,
    kept,
    may_repeat,
    numbers_at,
    rank_of_part,
    together,
)


def _within(index: Index) -> Array:
    """`index` of a sample, in a stack of them."""
    return (slice(None), *(index if isinstance(index, tuple) else (index,)))


def _read_each(a: Array, index: Index, repeats: bool) -> Array:
    if is_basic(index):
        return a[_within(index)]
    chosen = numbers_at(a.shape[1:], index)
    return getitem(np.reshape(a, (a.shape[0], -1)), index=(slice(None), chosen), repeats=repeats)


def _scatter_each(value: Array, index: Index, shape: tuple[int, ...], repeats: bool) -> Array:
    n = value.shape[0]
    if is_basic(index):
        return scatter_add(value, index=_within(index), shape=(n, *shape), repeats=repeats)
    chosen = numbers_at(shape, index)
    flat = scatter_add(value, index=(slice(None), chosen), shape=(n, math.prod(shape)), repeats=repeats)
    return np.reshape(flat, (n, *shape))


@linear(
    transpose=lambda g, index: g[index],
    batch=_scatter_each,
    flags=("moves", "pads"),
    samples=lambda r: [
        call(r(2), index=(slice(1, 3),), shape=(4,)),
        call(r(3), index=(np.array([0, 2, 0]),), shape=(4,), repeats=True),
    ],
)
def scatter_add(value: Array, /, index: Index = (), shape: ShapeLike = (), repeats: bool = False) -> Array:
    """Zeros of `shape` with `value` added at `index`: the transpose of ``a[index]``."""
    return Scattered(value, index, shape, np.result_type(value), repeats).dense()


def read(a: Array, index: Index) -> Array:
    """``a[index]``, where the index may differ between samples."""
    if type(index) in SIMPLE:  # the usual ones, in a third of the time
        return apply(getitem, (a,), {"index": index, "repeats": False})
    parts = index if isinstance(index, tuple) else (index,)
    if any(isinstance(part, Box) for part in parts):
        form, places = apart(parts)
        if not places:
            return read(a, form)
        out = pick(a, *places, form=form)
        if isinstance(a, Box) and isinstance(out, Box) and np.shape(cast(Array, out)) and all(map(_is_one, parts)):
            return a.seen_each(out, picked_view, {"form": form, "places": places})
        return out
    return getitem(a, index=index, repeats=may_repeat(index))


def scatter(value: Array, index: Index, shape: tuple[int, ...], repeats: bool = True) -> Array:
    """Zeros of `shape` with `value` added at `index`, which may differ between samples."""
    parts = index if isinstance(index, tuple) else (index,)
    if any(isinstance(part, Box) for part in parts):
        form, places = apart(parts)
        if not places:
            return scatter(value, form, shape, repeats)
        return place_at(value, *places, form=form, shape=shape)
    return scatter_add(value, index=index, shape=shape, repeats=repeats)


def _is_one(part: object) -> bool:
    """Whether `part` of an index is a number, or what else gives a view."""
    return part._is_number() if isinstance(part, Box) else is_basic(part)  # type: ignore[attr-defined]  # of samples


class PickedView(Op):
    """A step on the path to what ``x[i]`` shows, where the number ``i`` differs between samples."""

    __slots__ = ()

    def __call__(self, a: Array, **settings: Value) -> Array:
        return (
            pick(a, *settings["places"], form=settings["form"]) if isinstance(a, Box) else self.forward(a, **settings)
        )


def _like_one(a: Array, form: Value, places: Value) -> Array:
    """The view, or how such views lie, where places are of many samples: as the one at the first place."""
    return a[together(form, [p if isinstance(p, int | np.integer) else 0 for p in places])]


picked_view = PickedView("x[i]", _like_one, ("a",), settings={"form": (), "places": ()}, memory=VIEW)


def chosen_each(
    shape: tuple[int, ...], form: tuple[object, ...], places: Sequence[Array], stacked: Sequence[bool], n: int
) -> Array:
    """Which elements each of `n` samples of `shape` names, counted in C order: an array with one row a sample."""
    ranks = [np.ndim(p) - s for p, s in zip(places, stacked, strict=True)]
    most = max(*ranks, *map(rank_of_part, form))
    lined_up = [
        np.reshape(p, (n, *(1,) * (most - rank), *p.shape[1:])) if s else p
        for p, s, rank in zip(places, stacked, ranks, strict=True)
    ]

    def with_rows(count: int) -> tuple[int, ...]:
        zeros = [
            np.zeros((count, *p.shape[1:]) if s else np.shape(p), int) for p, s in zip(lined_up, stacked, strict=True)
        ]
        return np.shape(beside(known_in(form), np.empty(shape))[together(form, zeros)])

    # NumPy has its rules for where the axes of an index go: see which one grows with the number of samples.
    front = next(i for i, (a, b) in enumerate(zip(with_rows(2), with_rows(3), strict=True)) if a != b)
    return np.moveaxis(_numbers(shape, form, lined_up), front, 0)


def _numbers(shape: tuple[int, ...], form: tuple[object, ...], places: Sequence[Array]) -> Array:
    return read(beside(known_in(tuple(places)), np.arange(math.prod(shape)).reshape(shape)), together(form, places))


def _rows(chosen: Array, n: int) -> Array:
    return beside(chosen, np.arange(n).reshape(n, *(1,) * (np.ndim(chosen) - 1)))


def _pick_each(xs: Sequence[Array], form: Value, stacked: tuple[bool, ...], n: int) -> Array:
    a, *places = xs
    shape = np.shape(a)[1:] if stacked[0] else np.shape(a)
    if not any(stacked[1:]):
        return read(np.reshape(a, (n, -1)), (slice(None), _numbers(shape, form, places)))
    chosen = chosen_each(shape, form, places, stacked[1:], n)
    if not stacked[0]:
        return read(np.reshape(a, -1), chosen)
    return read(np.reshape(a, (n, -1)), (_rows(chosen, n), chosen))


def _place_each(xs: Sequence[Array], form: Value, shape: tuple[int, ...], stacked: tuple[bool, ...], n: int) -> Array:
    value, *places = xs
    if not any(stacked[1:]):
        flat = scatter(value, (slice(None), _numbers(shape, form, places)), (n, math.prod(shape)))
        return np.reshape(flat, (n, *shape))
    chosen = chosen_each(shape, form, places, stacked[1:], n)
    value = value if stacked[0] else np.broadcast_to(value, (n, *np.shape(value)))
    return np.reshape(scatter(value, (_rows(chosen, n), chosen), (n, math.prod(shape))), (n, *shape))


def _picked(a: Array, xs: Sequence[Array], form: object) -> Array:
    return pick(a, *xs[1:], form=form)


def _placed_at(value: Array, xs: Sequence[Array], form: object, shape: tuple[int, ...]) -> Array:
    return place_at(value, *xs[1:], form=form, shape=shape)


def _unpick(g: Array, xs: Sequence[Array], form: object) -> list[Array]:
    return [_placed_at(g, xs, form, np.shape(xs[0]))] + [None] * (len(xs) - 1)


@general(
    vjp=_unpick,
    jvp=lambda t, xs, form: _picked(t[0], xs, form),
    batch=_pick_each,
    flags=("moves", "selects", "finite"),
    samples=lambda r: [
        call(r(4), np.array([0, 2, 0]), form=(BoxedIndex(0),)),
        call(r(3, 4), np.array([0, 2]), np.array([[1], [3]]), form=(BoxedIndex(0), BoxedIndex(1))),
        call(r(3, 4, 2), np.array([0, 2]), np.array([1]), form=(BoxedIndex(0), slice(1, 3), BoxedIndex(1))),
    ],
)
def pick(*xs: Array, form: Value = ()) -> Array:
    """``a[index]`` for arrays ``a, *places``; the index has the form `form`, with `places` in their places."""
    a, *places = xs
    return a[together(form, places)]


@general(
    vjp=lambda g, xs, form: [_picked(g, xs, form)] + [None] * (len(xs) - 1),
    jvp=lambda t, xs, form, shape: _placed_at(t[0], xs, form, shape),
    batch=_place_each,
    flags=("moves", "pads", "finite"),
    samples=lambda r: [call(r(3), np.array([0, 2, 0]), form=(BoxedIndex(0),), shape=(4,))],
)
def place_at(*xs: Array, form: Value = (), shape: ShapeLike = ()) -> Array:
    """Zeros of `shape` with a value added at an index: the transpose of `pick`."""
    value, *places = xs
    return Scattered(value, together(form, places), shape, np.result_type(value), True).dense()


def _is_whole(part: object) -> bool:
    """Whether `part` of an index leaves nothing out."""
    if type(part) is slice:
        return part.start is part.stop is part.step is None
    return part is None or part is ...


def scattered(g: Array, a_shape: tuple[int, ...], index: Index, repeats: bool) -> Array:
    """The transpose of `getitem`: zeros of `a_shape` with `g` added at `index`."""
    if type(index) is tuple and index and all(map(_is_whole, index)):
        return np.reshape(g, a_shape)  # nothing was left out
    if issubclass(type(g), np.ndarray | np.generic):  # added in place, straight into the cotangent of `a`
        return Scattered(g, index, a_shape, g.dtype, repeats)
    return scatter_add(g, index=index, shape=a_shape, repeats=repeats)


@linear(
    transpose=scattered,
    batch=_read_each,
    memory=AS_MADE,
    flags=("moves", "selects"),
    samples=lambda r: [
        call(r(4), index=2),
        call(r(3, 4), index=(slice(None), slice(None, None, -2))),
        call(r(3, 4), index=(Ellipsis, None, 1)),
        call(r(3, 4), index=(slice(None), None)),
        call(r(3, 4), index=np.array([0, 2, 0]), repeats=True),
        call(r(3, 4), index=(slice(None), np.array([[0, 1], [3, 3]])), repeats=True),
        call(r(3, 4), index=(np.array([0, 2]), slice(1, 3), None), repeats=True),
        call(r(3, 4), index=np.array([True, False, True])),
    ],
    errors=lambda r: [call(r(3), index=5), call(r(3), index=(0, 0))],
)
def getitem(a: Array, /, index: Index = (), repeats: bool = False) -> Array:
    """``a[index]``; `repeats` says that the index may name an element twice."""
    if ELSEWHERE and type(a) is np.ndarray and (library := backend_of(known_in(index))) is not None:
        raise DeviceError(
            f"an array of NumPy's at places that an array of {library.name} holds, which NumPy would fetch; "
            f"{library.move}"
        )
    return a[index]


def put_along_axis(g: Array, index: Index, shape: tuple[int, ...], axis: int) -> Array:
    """Zeros of `shape` with `g` added along `axis` at `index`: the transpose of `numpy.take_along_axis`."""
    places = np.indices(index.shape, sparse=True)
    where = tuple(index if i == axis % len(shape) else beside(index, place) for i, place in enumerate(places))
    return scatter(g, where, shape)


@composite(
    np.take_along_axis,
    samples=lambda r: [
        call(r(3, 4), np.array([[0], [3], [0]]), axis=1),
        call(r(3, 4), np.array([[0, 2, 1, 0], [0, 1, 1, 2]]), 0),
        call(r(5), np.array([4, 4]), axis=None),
    ],
)
def take_along_axis(arr: Array, indices: Array, axis: Axis = -1) -> Array:
    if axis is None:
        if np.ndim(indices) != 1:
            raise ShapeError(f"np.take_along_axis with axis=None takes a row of indices; got shape {np.shape(indices)}")
        arr, axis = np.ravel(arr), 0
    if np.ndim(indices) != np.ndim(arr):
        raise ShapeError(
            f"np.take_along_axis takes indices of as many axes as the array; got shapes {np.shape(indices)} and "
            f"{np.shape(arr)}. Give the index these axes: indices[..., None]"
        )
    shape = list(np.shape(arr))
    shape[axis] = 1
    indices = kept(np.broadcast_to(indices, np.broadcast_shapes(np.shape(indices), tuple(shape))))
    places = np.indices(tuple(shape), sparse=True)
    along = axis % len(shape)
    return read(arr, tuple(indices if i == along else beside(indices, place) for i, place in enumerate(places)))


@composite(
    np.take,
    memory=NEW_C,
    samples=lambda r: [
        call(r(3, 4), [0, 5, 5]),
        call(r(3, 4), np.array([[0, 1], [3, 3]]), axis=1),
        call(r(5), 2),
        call(r(5), [-7, 9], mode="wrap"),
    ],
    errors=lambda r: [call(r(3), 7)],
)
def take(a: Array, indices: Array, axis: Axis = None, out: Array = None, mode: str = "raise") -> Array:
    if out is not None:
        return put(np.take(a, indices, axis, mode=mode), out, np.take)  # type: ignore[call-overload]  # any str
    if axis is None or (np.ndim(a) == 0 and axis in (0, -1)):  # NumPy takes a number for a row of one
        a, axis = np.ravel(a), 0
    if mode not in ("raise", "wrap", "clip"):
        raise ArgumentError(f"np.take: mode is 'raise', 'wrap' or 'clip'; got {mode!r}")
    n, axis = np.shape(a)[axis], axis % np.ndim(a)
    if not isinstance(indices, Box):
        indices = as_array(kept(indices))
    if 0 in np.shape(a)[:axis]:  # there NumPy looks at no index
        return np.copy(np.reshape(a, (*np.shape(a)[:axis], *np.shape(indices), *np.shape(a)[axis + 1 :])))
    if indices.dtype.kind not in "iub":
        raise DTypeError(f"np.take: indices must be whole numbers; got {indices.dtype}")
    if mode == "wrap":
        indices = indices % n
    elif mode == "clip":
        indices = np.clip(indices, 0, n - 1)
    index = indices if indices.ndim or stays_in_index(indices) or is_elsewhere(indices) else int(indices)
    return read(a, (slice(None),) * axis + (index,))
