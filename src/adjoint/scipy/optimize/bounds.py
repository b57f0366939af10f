"""Bounds written as trees, as the two vectors that SciPy takes."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from scipy.optimize import Bounds

from adjoint.core.errors import ArgumentError, LeavesGraphError
from adjoint.core.objects.trees import NAMESPACE, flatten, is_leaf
from adjoint.core.protocol import in_graph
from adjoint.core.rules.pullbacks import dtype_of
from adjoint.core.types import Array, Tree, Value
from adjoint.scipy.arrays import plain
from adjoint.scipy.optimize.layout import VectorLayout


class _Misfit(Exception):  # noqa: N818 - not an error yet: the other reading may fit
    """The bounds cannot be read this way."""


def bounds_of(layout: VectorLayout, bounds: object) -> Bounds | None:
    """SciPy's bounds on the vector of `layout`.

    Args:
        layout: of the parameters.
        bounds: None; or a tree like the parameters, with a pair ``(lower, upper)`` or None for each leaf or for a
            whole branch (a key that is left out is unbounded); or a pair of trees, the lower and the upper bounds,
            each of which may be one number for all; or SciPy's, on the vector. A side may be None, a number or an
            array. What fits the first form is read so.

    Raises:
        ArgumentError: if they fit no form, or a lower bound is above its upper one.
        LeavesGraphError: for a bound that is a tensor in a graph.
    """
    if bounds is None:
        return None
    if isinstance(bounds, Bounds):
        low, high = (np.broadcast_to(np.asarray(side, float), layout.size) for side in (bounds.lb, bounds.ub))
    else:
        if any(in_graph(x) for x in flatten(bounds)[0]):
            raise LeavesGraphError("a bound is a tensor in a graph, and its gradient would be lost; pass t.detach()")
        low, high = _sides(layout, bounds)
    if not np.all(low <= high):
        where = layout.where(~(low <= high))
        raise ArgumentError(f"the lower bound of {where} is above its upper bound, or one of them is nan")
    if np.any(np.isinf(low) & (low > 0)) or np.any(np.isinf(high) & (high < 0)):
        raise ArgumentError(f"{layout.where(np.isinf(low) & (low > 0) | np.isinf(high) & (high < 0))} has no room: "
                            f"a lower bound of inf or an upper one of -inf")  # fmt: skip
    return Bounds(np.array(low), np.array(high))


def _sides(layout: VectorLayout, bounds: Value) -> tuple[np.ndarray, np.ndarray]:
    try:
        pairs = [_pair(entry, shape) for entry, shape in zip(_matched(layout.tree, bounds), layout.shapes, strict=True)]
    except _Misfit as misfit:
        try:
            low, high = bounds
            sides = [_side(layout, side, end) for side, end in ((low, -np.inf), (high, np.inf))]
        except (_Misfit, TypeError, ValueError):
            raise ArgumentError(
                f"these bounds do not fit the parameters: {misfit}. Pass a tree like the parameters, with "
                f"(lower, upper) or None in the place of each leaf; or a pair of trees (lowers, uppers)"
            ) from None
        pairs = list(zip(*sides, strict=True))
    if any(d.kind == "c" and np.isfinite([*map(np.sum, p)]).any() for d, p in zip(layout.dtypes, pairs, strict=True)):
        raise ArgumentError("complex parameters have no order, so no bounds; write them as real and imaginary parts")
    doubled = [2 if dtype.kind == "c" else 1 for dtype in layout.dtypes]
    low, high = (
        np.concatenate([
            np.broadcast_to(pair[k], (times, *shape)).ravel()
            for pair, shape, times in zip(pairs, layout.shapes, doubled, strict=True)
        ])
        for k in (0, 1)
    )  # fmt: skip
    return low, high


def _matched(tree: Tree, bounds: object) -> list[Array]:
    """What `bounds` has in the place of each leaf of `tree`."""
    if tree is None:
        return []
    if is_leaf(tree) or bounds is None:
        return [bounds] * len(flatten(tree)[0])
    names, children = _children(tree)
    if isinstance(bounds, Mapping):
        unknown = [key for key in bounds if key not in names]
        if unknown:
            raise _Misfit(f"there is no {unknown[0]!r} among {', '.join(map(repr, names))}")
        parts = [bounds.get(name) for name in names]
    elif is_leaf(bounds) or len(_children(bounds)[1]) != len(children):
        raise _Misfit(f"in the place of {type(tree).__name__} with {len(children)} branches stands {bounds!r}")
    else:
        parts = _children(bounds)[1]
    return [entry for child, part in zip(children, parts, strict=True) for entry in _matched(child, part)]


def _children(tree: Tree) -> tuple[list[Array], list[Array]]:
    import optree

    flatten(tree)  # registers dataclasses
    children, _, names, _ = optree.tree_flatten_one_level(tree, none_is_leaf=False, namespace=NAMESPACE)
    return list(names), list(children)


def _pair(entry: object, shape: tuple[int, ...]) -> tuple[Array, Array]:
    """The lower and upper bounds of one leaf."""
    if entry is None:
        return -np.inf, np.inf
    if not isinstance(entry, tuple | list | np.ndarray):
        raise _Misfit(f"a pair (lower, upper) is expected where {entry!r} stands")
    if len(shape) == 1 and len(entry) == shape[0] and all(isinstance(e, tuple | list) and len(e) == 2 for e in entry):
        each = [_pair(tuple(e), ()) for e in entry]  # SciPy's form: one pair an element
        return np.array([e[0] for e in each]), np.array([e[1] for e in each])
    if len(entry) != 2:
        raise _Misfit(f"a pair (lower, upper) is expected where {entry!r} stands")
    return _end(entry[0], shape, -np.inf), _end(entry[1], shape, np.inf)


def _end(value: Array, shape: tuple[int, ...], unbounded: float) -> Array:
    if value is None:
        return unbounded
    try:
        value = plain(value)
        if value.dtype.kind not in "fiub" or np.broadcast_shapes(value.shape, shape) != shape:
            raise _Misfit(f"a bound of shape {value.shape} does not fit a leaf of shape {shape}")
    except ValueError:
        raise _Misfit(f"{value!r} is not a bound of a leaf of shape {shape}") from None
    return value.astype(float)


def _side(layout: VectorLayout, side: Value, unbounded: float) -> list[Array]:
    """One of a pair of trees: a bound for each leaf."""
    if side is None or (is_leaf(side) and np.ndim(side) == 0 and dtype_of(side).kind in "fiu"):
        return [_end(side, shape, unbounded) for shape in layout.shapes]
    entries = _matched(layout.tree, side)
    return [_end(entry, shape, unbounded) for entry, shape in zip(entries, layout.shapes, strict=True)]
