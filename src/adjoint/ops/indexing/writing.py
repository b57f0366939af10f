"""Writing elements, as an operation: the array that results from ``t[index] = value``."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import cast

import numpy as np

from adjoint.core.backend import (
    as_array,
    backend_of,
    beside,
    is_foreign,
    is_writable_elsewhere,
    known_in,
    shares,
    zeros,
)
from adjoint.core.box import Box, varies
from adjoint.core.constants import constant
from adjoint.core.constructors import general, refusing
from adjoint.core.errors import NotSupportedError
from adjoint.core.memory import NEW, axes_by, lies, span, unfilled, with_strides
from adjoint.core.op import Op, call
from adjoint.core.registry import operation, register
from adjoint.core.rules.pullbacks import dtype_of, shape_of, unbroadcast
from adjoint.core.types import Array, Index, Settings, Value
from adjoint.ops.indexing.index import may_repeat, together
from adjoint.ops.indexing.reading import PickedView, getitem, pick, read
from adjoint.ops.shape.copying import astype, copy, loses_imaginary, real_part
from adjoint.ops.shape.reshaping import as_assigned, reshape

# How a view was made from its root: the operations, with their settings, one after another.
Path = tuple[tuple[Op, dict[str, Array]], ...]


def extended(path: Path, op: Op, settings: Value, shape: tuple[int, ...], of: Array = None) -> Path:
    """`path` from a root of this `shape`, and `op`, of the array `of`, after it; a slice of a slice is one step."""
    if op is reshape and of is not None and is_writable_elsewhere(of) and varies(of):
        return (*path, (op, dict(settings)), (unknown_layout, {}))
    if len(path) == 1 and op is getitem and path[0][0] is getitem:
        index = _slice_of(path[0][1]["index"], settings["index"], shape)
        if index is not None:
            return ((getitem, {"index": index, "repeats": False}),)
    return (*path, (op, dict(settings)))


def still_from(shape: tuple[int, ...], path: Path, before: tuple[int, ...]) -> Path:
    """`path` from a root that has this `shape`; it had that of `before` when the path was made."""
    return path if before == shape else ((reshape, {**reshape.settings, "shape": before}), *path)


def _slice_of(first: object, second: object, shape: tuple[int, ...]) -> tuple[slice, ...] | None:
    """The index that is `first` and then `second`, of an array of `shape`; None if these are not slices alone."""
    given = [index if isinstance(index, tuple) else (index,) for index in (first, second)]
    if not all(type(part) is slice for parts in given for part in parts):
        return None
    both = []
    for axis in range(max(map(len, given))):
        chosen: Value = range(shape[axis])
        for parts in given:
            chosen = chosen[parts[axis]] if axis < len(parts) else chosen
        both.append(slice(chosen.start, chosen.stop if chosen.stop >= 0 else None, chosen.step) if chosen else slice(0))
    return tuple(both)


def follow(a: Array, path: Path) -> Array:
    """The view of `a` that `path` leads to."""
    for op, settings in path:
        a = op(a, **settings)
    return a


def part_of(path: Path) -> str | None:
    """``"real"`` or ``"imag"``, where `path` leads to that part of numbers."""
    return next((op.name for op, _ in path if op.name in ("real", "imag")), None)


def numbered(shape: tuple[int, ...], path: Path) -> np.ndarray:
    """Which elements of an array of `shape`, counted in C order, the view that `path` leads to shows."""
    numbers = np.arange(math.prod(shape)).reshape(shape)
    for op, settings in path:
        if op.name not in ("real", "imag", "astype"):  # about values, not places
            numbers = op.forward(numbers, **settings)
    return numbers


def set_region(a: np.ndarray, path: Path, index: Index, value: Array) -> None:
    """``follow(a, path)[index] = value``, for an array `a` of any memory layout."""
    view = a
    for op, settings in path:
        view = op.forward(view, **settings)
    if loses_imaginary(value, view.dtype):
        value = real_part(value)
    if is_foreign(a) and isinstance(value, np.ndarray) and not value.ndim:
        value = value[()]
    if path and view.size and not (shares(view, a) if is_foreign(a) else np.may_share_memory(view, a)):
        # In this layout some step of the path copies: find the elements by their numbers instead.
        part, places = part_of(path), np.unravel_index(numbered(a.shape, path)[index], a.shape)
        (a if part is None else getattr(a, part))[places] = value
    else:
        view[index] = value


def warns(op: Op, args: Sequence[Array], settings: Settings) -> bool:
    """Whether NumPy warns that `op` drops imaginary parts: of an array that is converted, or written."""
    if op is astype:
        return loses_imaginary(args[0], settings["dtype"])
    if op is not overwrite:
        return False
    value, a = args
    return loses_imaginary(value, a.dtype if part_of(settings.get("path", ())) is None else np.dtype(float))


def _last_writes(shape: tuple[int, ...], index: Index, count: tuple[int, ...]) -> Array:
    """Which of the written values stay: where an index names an element twice, the last one does."""
    model = known_in(index)
    numbers = beside(model, np.arange(int(np.prod(count))).reshape(count))
    last = written(beside(model, np.zeros(shape, int)), (), index, numbers)
    return np.equal(read(last, index), numbers)


def _is_plain(index: Index) -> bool:
    return not any(isinstance(part, Box) for part in (index if isinstance(index, tuple) else (index,)))


def _mask_of_samples(index: Index, region: Array) -> Array:
    """The mask that `index` is, if it differs between samples, with an axis for each of the region's; else None."""
    mask: Array = index[0] if isinstance(index, tuple) and len(index) == 1 else index
    if isinstance(mask, tuple) or not isinstance(mask, Box) or dtype_of(mask).kind != "b":
        return None
    each: Value = mask
    return np.reshape(each, (*np.shape(each), *(1,) * (np.ndim(region) - np.ndim(each))))


def _of_value(g: Array, value_shape: tuple[int, ...], path: Path, index: Index, repeats: bool) -> Array:
    if type(index) is int and type(g) is np.ndarray and g.ndim == 1 and not (path or value_shape):
        return g[index]
    region = follow(g, path)
    mask = _mask_of_samples(index, region)
    if mask is not None and not value_shape:
        return np.sum(np.where(mask, region, np.zeros_like(region)))
    c = read(region, index)
    if repeats:
        c = np.where(beside(c, _last_writes(region.shape, index, c.shape)), c, np.zeros_like(c))
    # A copy: the other rule writes zeros into g.
    return unbroadcast(np.copy(c), value_shape)


def _of_array(g: Array, path: Path, index: Index) -> Array:
    if type(index) is int and type(g) is np.ndarray and not path:
        g[index] = 0
        return g
    if isinstance(g, np.ndarray) and (type(index) is int or _is_plain(index)):
        set_region(g, path, index, 0)  # g is this rule's own: see "consumes"
        return g
    zero = zeros(g, (), g.dtype)
    return written(g, path, index, zero if part_of(path) is None else zero.real)


def _overwrite_each(
    value: Array, a: Array, path: Path, index: Index, repeats: bool, stacked: tuple[bool, ...], n: int
) -> Array:
    """The same in every array of a stack: its elements are found by their numbers."""
    if stacked[1] and backend_of(a) is not None and any(op is reshape for op, _ in path):
        unknown_layout.forward(a)
    if not stacked[1]:
        a = _for_each(a, n)
    part = part_of(path)
    if part is not None and a.dtype.kind == "c":  # that part alone is written
        rest = tuple(step for step in path if step[0].name != part)
        parts = {"real": np.real(a), "imag": np.imag(a)}
        parts[part] = _overwrite_each(value, parts[part], rest, index, repeats, (stacked[0], True), n)
        joined = operation("join_parts")(parts["real"], parts["imag"])
        return with_strides(joined, a.strides) if type(a) is np.ndarray else copy(joined, order=axes_by("K", lies(a)))
    chosen = as_array(beside(known_in(index), numbered(a.shape[1:], path))[index])
    if stacked[0]:  # lined up with the elements, from the right
        own = value.shape[1:]
        own = own[max(len(own) - chosen.ndim, 0) :]
        value = np.reshape(value, (n, *(1,) * (chosen.ndim - len(own)), *own))
    if a.ndim > 1:
        return overwrite(value, a, index=(slice(None), *np.unravel_index(chosen, a.shape[1:])), repeats=repeats)
    flat = overwrite(value, np.reshape(a, (n, 1)), index=(slice(None), chosen), repeats=repeats)  # of one number each
    return np.reshape(flat, (n,))


def _for_each(a: Array, n: int) -> Array:
    """`a` for each of `n` samples, in memory of their own in which each lies as `a` does: it says what is a view."""
    model = lies(a)
    if type(a) is np.ndarray:
        strides = (span(a.shape, a.itemsize, a.strides), *a.strides)
        return with_strides(np.array(np.broadcast_to(a, (n, *a.shape))), strides)
    backwards = tuple(i for i, step in enumerate(getattr(model, "strides", ())) if step < 0)
    a = np.flip(a, backwards)
    each = copy(np.broadcast_to(a, (n, *np.shape(a))), order=(0, *(i + 1 for i in axes_by("K", lies(a)))))
    return np.flip(each, tuple(i + 1 for i in backwards))


def written(a: Array, path: Path, index: Index, value: Array) -> Array:
    """`a` with `value` at `index` of the view that `path` leads to; the index may differ between samples."""
    for k, (op, settings) in enumerate(path):
        if isinstance(op, PickedView):
            picked = pick(follow(a, path[:k]), *settings["places"], form=settings["form"])  # also of a plain array
            row = written(np.copy(picked), path[k + 1 :], index, value)
            return written(a, path[:k], together(settings["form"], settings["places"]), row)
    if (
        index is ...
        and not path
        and isinstance(value, Box)
        and dtype_of(value) == a.dtype
        and shape_of(value) == a.shape
        and getattr(lies(value), "strides", None) == getattr(lies(a), "strides", None)  # they say what is a view of it
    ):
        return cast(Value, value).snapshot()  # another array from now on
    if _is_plain(index):
        if order_matters(index, value):
            index, value = written_once(np.shape(follow(a, path)), index, value)
        return overwrite(value, a, path=path, index=index, repeats=may_repeat(index))
    region = follow(a, path)
    mask = _mask_of_samples(index, region)
    if mask is not None and not np.size(mask):  # NumPy takes an empty one of any length
        return a
    if mask is not None and np.ndim(value) == 0:
        return overwrite(np.where(mask, value, region), a, path=path, index=...)
    # By the elements' numbers: the value that is written last where there is one, what was there elsewhere.
    chosen = np.reshape(read(np.arange(region.size).reshape(region.shape), index), -1)
    if not chosen.shape[0]:
        return a
    value = np.reshape(as_assigned(value, np.shape(read(np.empty(region.shape), index))), -1)
    writer = _last_writer(chosen, size=region.size)
    flat = np.where(np.greater_equal(writer, 0), read(value, np.maximum(writer, 0)), np.reshape(region, -1))
    return overwrite(np.reshape(flat, region.shape), a, path=path, index=...)


def order_matters(index: Index, value: Array) -> bool:
    """Whether NumPy may write in another order than that of the places: it goes through arrays as they lie."""
    places = [part for part in (index if isinstance(index, tuple) else (index,)) if isinstance(part, np.ndarray)]
    places = [part for part in places if part.dtype.kind in "iu" and part.ndim]
    model = lies(value)
    if not places or is_foreign(model):  # which says nothing of its memory
        return False
    return any(map(_lies_otherwise, [*places, model] if isinstance(model, np.ndarray) else places))


def _lies_otherwise(x: np.ndarray) -> bool:
    return (x.ndim > 1 and not x.flags.c_contiguous) or min(x.strides, default=0) < 0


def written_once(shape: tuple[int, ...], index: Index, value: Array) -> tuple[Index, Array]:
    """The same assignment to a region of `shape`, with each element written once: NumPy decides which write is last."""
    value = value if isinstance(value, Box) else np.asarray(value)
    found = np.full(shape, -1)
    found[index] = _numbered_like(np.asarray(lies(value)))
    places = np.nonzero(found >= 0)
    return places, read(np.reshape(value, -1), found[places]) if np.ndim(value) else value


def _numbered_like(model: np.ndarray) -> np.ndarray:
    """The numbers of the elements of `model`, in C order, which lie in memory as these do."""
    model = np.empty_like(model, subok=False) if 0 in model.strides else model  # repeated elements have a number each
    numbers = unfilled(model.shape, np.int64, [stride * 8 // model.itemsize for stride in model.strides])
    numbers[...] = np.arange(model.size).reshape(model.shape)
    return numbers


def last_writer(chosen: np.ndarray, size: int) -> np.ndarray:
    """For each of `size` elements, which of the numbers `chosen` (…, n) names it last; -1 if none does."""
    count = chosen.shape[-1]
    rows = np.reshape(chosen, (-1, count))
    found = np.full((len(rows), size), -1)
    found[np.arange(len(rows))[:, None], rows] = np.arange(count)
    return found.reshape(*chosen.shape[:-1], size)


(_last_writer,) = constant(last_writer, batch="leading")


@general(
    vjps=(_of_value, _of_array),
    batch=_overwrite_each,
    linear=True,
    flags=("consumes", "moves", "selects"),
    samples=lambda r: [
        call(r(2), r(4), index=slice(1, 3)),
        call(r(), r(4), index=2),
        call(r(1, 2), r(3, 2), index=1),
        call(r(), r(3, 4), index=(1, slice(None, None, 2))),
        call(r(3), r(2, 3), index=np.array([[True, False, True], [True, False, False]])),
        call(r(2), r(3), index=np.array([0, 0]), repeats=True),
    ],
)
def overwrite(value: Array, a: Array, /, path: Value = (), index: Index = ..., repeats: bool = False) -> Array:
    """A copy of `a` in which the view that `path` leads to has `value` at `index`.

    The rule of `a` writes zeros into the cotangent that it is given; ``consumes`` tells the backward pass
    to hand it one that nothing else needs. So a loop of small writes costs small writes on the backward pass too.
    """
    out = np.copy(a, order="K") if is_foreign(a) else with_strides(np.array(a), np.asarray(a).strides)
    set_region(out, path, index, value)
    return out


#: The end of a path that must not be taken again: one sample alone may lie otherwise than in its stack.
unknown_layout = refusing(
    "unknown_layout",
    NotSupportedError,
    "a write to samples of another library's array, or to what np.reshape or np.ravel gave of them: whether that "
    "is a view depends on how one sample would lie in memory, which is not known. Take a copy: np.copy(x.reshape(…))",
)


# The values, as an array of the kind that `model` is.
created_like: Op = Op(
    "created_like",
    lambda model, values: values,
    ("model", "values"),
    batch=lambda model, values: created_like(model, np.copy(values)),  # one array to write into for each sample
    memory=NEW,
    kind="constant",
    flags=frozenset({"creates"}),
)
register(created_like)
