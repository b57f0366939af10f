"""Writing elements, as an operation: what ``t[index] = value`` makes of the array that ``t`` was."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.core.constructors import general
from adjoint.core.op import Op, call
from adjoint.core.pulls import unbroadcast

# How a view was made from its root: the operations, with their settings, one after another.
Path = tuple[tuple[Op, dict[str, Any]], ...]


def follow(a: Any, path: Path) -> Any:
    """The view of `a` that `path` leads to."""
    for op, settings in path:
        a = op(a, **settings)
    return a


def set_region(a: np.ndarray, path: Path, index: Any, value: Any) -> None:
    """``follow(a, path)[index] = value``, for an array `a` of any memory layout."""
    view = a
    for op, settings in path:
        view = op.forward(view, **settings)
    if path and not np.may_share_memory(view, a):
        # In this layout some step of the path copies: find the elements by their numbers instead.
        numbers = np.arange(a.size).reshape(a.shape)
        for op, settings in path:
            numbers = op.forward(numbers, **settings)
        chosen = numbers[index]
        a[np.unravel_index(chosen, a.shape)] = value
    else:
        view[index] = value


def _last_writes(shape: tuple[int, ...], index: Any, count: tuple[int, ...]) -> Any:
    """Which of the written values stay: where an index names an element twice, the last one does."""
    numbers = np.arange(int(np.prod(count))).reshape(count)
    last = np.zeros(shape, int)
    last[index] = numbers
    return last[index] == numbers


def _of_value(g: Any, value_shape: tuple[int, ...], path: Path, index: Any, repeats: bool) -> Any:
    region = follow(g, path)
    c = region[index]
    if repeats:
        c = np.where(_last_writes(region.shape, index, c.shape), c, np.zeros_like(c))
    # A copy: the other rule writes zeros into g.
    return unbroadcast(np.copy(c), value_shape)


def _of_array(g: Any, path: Path, index: Any) -> Any:
    if isinstance(g, np.ndarray):
        set_region(g, path, index, 0)  # g is this rule's own: see "consumes"
        return g
    return overwrite(np.zeros((), g.dtype), g, path=path, index=index)


@general(
    vjps=(_of_value, _of_array),
    flags=("consumes",),
    samples=lambda r: [
        call(r(2), r(4), index=slice(1, 3)),
        call(r(), r(3, 4), index=(1, slice(None, None, 2))),
        call(r(3), r(2, 3), index=np.array([[True, False, True], [True, False, False]])),
        call(r(2), r(3), index=np.array([0, 0]), repeats=True),
    ],
)
def overwrite(value: Any, a: Any, /, path: Any = (), index: Any = ..., repeats: bool = False) -> Any:
    """A copy of `a` in which the view that `path` leads to has `value` at `index`.

    The rule of `a` writes zeros into the cotangent that it is given; ``consumes`` tells the backward pass
    to hand it one that nobody else needs. So a loop of small writes costs small writes on the way back too.
    """
    out = np.array(a)
    set_region(out, path, index, value)
    return out
