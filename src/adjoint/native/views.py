"""Operations that only say where elements lie: no code is made for them, their readers go through their strides.

Which elements a view shows, NumPy itself tells: it is given an array of the right shape that has no memory behind it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from adjoint.graph.node import Node
from adjoint.native.indexing import PUT, SCATTER, affine, apart, terms
from adjoint.native.nest import contiguous
from adjoint.ops.indexing import is_basic

VIEWS = frozenset(
    {"reshape", "transpose", "matrix_transpose", "swapaxes", "moveaxis", "squeeze", "expand_dims", "broadcast_to",
     "flip", "rot90", "getitem", "name", "copy", "real", "windows"}
)  # fmt: skip


class View(NamedTuple):
    """Elements of what `base` gives: strides and offset count them."""

    base: Node
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int = 0

    @property
    def whole(self) -> bool:
        """Whether it shows all elements of its base, in their order."""
        return self.offset == 0 and self.is_contiguous and self.size == int(np.prod(self.base.shape))

    @property
    def size(self) -> int:
        return int(np.prod(self.shape))

    @property
    def is_contiguous(self) -> bool:
        """Whether its elements lie in order, side by side."""
        wanted = contiguous(self.shape)
        return all(n == 1 or s == w for n, s, w in zip(self.shape, self.strides, wanted, strict=True))


def plain(node: Node) -> View:
    """All of a node's own elements."""
    return View(node, node.shape, contiguous(node.shape))


def through(node: Node, view: View) -> View | None:
    """What `node`, an operation in `VIEWS`, shows of the `view` that is its argument; None if it must be copied."""
    assert node.op is not None
    if node.op.name == "copy":
        return view
    if node.op.name == "getitem" and not is_basic(node.settings["index"]):
        return _regular(view, node.settings["index"])
    start = np.empty(1, np.int8)
    model = np.lib.stride_tricks.as_strided(start, view.shape, view.strides)
    if node.op.name == "reshape":
        if node.settings["order"] not in ("C", "A") or (node.settings["order"] == "A" and model.flags.f_contiguous):
            return None
        try:
            shown: Any = np.reshape(model, node.shape, copy=False)
        except ValueError:
            return None
    else:
        shown = (
            _index(model, node.settings["index"])
            if node.op.name == "getitem"
            else node.op.forward(model, **node.settings)
        )
    if not isinstance(shown, np.ndarray):  # NumPy gives a number of its own for an array without axes
        return view
    offset = shown.__array_interface__["data"][0] - start.__array_interface__["data"][0]
    return View(view.base, shown.shape, shown.strides, view.offset + offset)


def region(node: Node, index: Any) -> View:
    """The elements of `node` that an index names which lie regularly."""
    if not is_basic(index):
        found = _regular(plain(node), index)
        assert found is not None
        return found
    model = np.lib.stride_tricks.as_strided(np.empty(1, np.int8), node.shape, contiguous(node.shape))
    shown = _index(model, index)
    offset = shown.__array_interface__["data"][0] - model.__array_interface__["data"][0]
    return View(node, shown.shape, shown.strides, offset)


def _regular(view: View, index: Any) -> View | None:
    """What an index of known arrays shows, if that lies regularly."""
    found = terms(view.shape, view.strides, index)
    if found is None or (regular := affine(found)) is None:
        return None
    strides, offset = regular
    return View(view.base, found.shape, strides, view.offset + offset)


def _index(model: np.ndarray, index: Any) -> Any:
    """``model[index]`` as a view, where it is one element too."""
    parts = index if isinstance(index, tuple) else (index,)
    return model[parts if any(part is Ellipsis for part in parts) else (*parts, Ellipsis)]


def _is_region(node: Node, index: Any) -> bool:
    """Whether the index names elements that lie regularly, none of them twice."""
    if is_basic(index):
        return True
    found = _regular(plain(node), index)
    return found is not None and apart(found.shape, found.strides)


def pieces(node: Node) -> list[tuple[Node | None, View]] | None:
    """For an array put together of others: each, and the place to which it goes, None for zeros; None if it is none."""
    assert node.op is not None
    name, settings = node.op.name, node.settings
    if name == "scatter_add" and _is_region(node, settings["index"]):
        return [(None, plain(node)), (node.args[0], region(node, settings["index"]))]
    if name == "overwrite" and not settings["path"] and _is_region(node, settings["index"]):
        return [(node.args[1], plain(node)), (node.args[0], region(node, settings["index"]))]
    if node.op in (SCATTER, PUT):  # what comes below the elements that are written one by one
        return [(None if node.op is SCATTER else node.args[2], plain(node))]
    if name not in ("join", "pile"):
        return None
    axis = settings["axis"] % len(node.shape)
    found: list[tuple[Node | None, View]] = []
    start = 0
    for arg in node.args:
        length = arg.shape[axis] if name == "join" else 1
        part = slice(start, start + length) if name == "join" else start
        found.append((arg, region(node, (slice(None),) * axis + (part,))))
        start += length
    return found
