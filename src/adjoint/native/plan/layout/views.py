"""Operations that only change where elements lie: no code is made for them; their readers use other strides.

NumPy itself tells which elements a view shows: it gets an array of the right shape that has no memory behind it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from adjoint.core.op import Op
from adjoint.core.types import Array, DType, Index, Settings, ShapeLike
from adjoint.graph.node import Node, is_repeated
from adjoint.native.codegen.llvm_text import key_of
from adjoint.native.codegen.loops.loop_nest import broadcast_strides, contiguous
from adjoint.native.codegen.loops.memory import Operand
from adjoint.native.plan.layout.indexing import affine, apart, never, terms
from adjoint.ops.indexing.index import is_basic
from adjoint.ops.indexing.writing import Path

VIEWS = frozenset(
    {"reshape", "transpose", "matrix_transpose", "swapaxes", "moveaxis", "squeeze", "expand_dims", "broadcast_to",
     "flip", "rot90", "diagonal", "diagonals", "getitem", "name", "copy", "real", "windows"}
)  # fmt: skip
# pairs of numbers -> the first of each, or the second: the parts of complex numbers.
PART = Op("part_of_pair", never, ("a",), settings={"number": 0})


class StridedView(NamedTuple):
    """Elements of what `base` gives: strides and offset count them."""

    base: Node
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int = 0

    @property
    def whole(self) -> bool:
        """Whether it shows all elements of its base, in their order."""
        return self.offset == 0 and self.is_contiguous and self.size == int(np.prod(self.base.shape))

    def read(self, dtype: DType, domain: tuple[int, ...]) -> Operand:
        """How a kernel over `domain` reads these elements, broadcast to it; ones in front of more axes are left out."""
        more = max(len(self.shape) - len(domain), 0)
        strides = broadcast_strides(self.strides[more:], self.shape[more:], domain)
        return Operand(self.base, key_of(dtype), strides, self.offset * np.dtype(dtype).itemsize)

    @property
    def size(self) -> int:
        return int(np.prod(self.shape))

    @property
    def is_contiguous(self) -> bool:
        """Whether its elements lie in order, side by side."""
        wanted = contiguous(self.shape)
        return all(n == 1 or s == w for n, s, w in zip(self.shape, self.strides, wanted, strict=True))


def plain(node: Node) -> StridedView:
    """All of a node's own elements."""
    return StridedView(node, node.shape, (0,) * len(node.shape) if is_repeated(node) else contiguous(node.shape))


def through(node: Node, view: StridedView) -> StridedView | None:
    """The view that `node`, an operation in `VIEWS`, makes of `view`, its argument; None if it must be copied."""
    assert node.op is not None
    return seen(node.op, node.settings, view, node.shape)


def seen(op: Op, settings: Settings, view: StridedView, shape: ShapeLike = None) -> StridedView | None:
    """What an operation in `VIEWS` shows of `view`: an array of `shape`, which is that of its settings if not given."""
    if op.name == "copy":
        return view
    if op.name == "getitem":
        return named(view, settings["index"])
    if op is PART:
        return named(view, (..., settings["number"]))
    start = np.empty(1, np.int8)
    model = np.lib.stride_tricks.as_strided(start, view.shape, view.strides)
    if op.name == "reshape":
        if settings["order"] not in ("C", "A") or (settings["order"] == "A" and model.flags.f_contiguous):
            return None
        return reshaped(view, settings["shape"] if shape is None else shape)
    return _moved(view, start, op.forward(model, **settings))


def reshaped(view: StridedView, shape: ShapeLike) -> StridedView | None:
    """The elements of `view` as an array of another shape; None if they must be copied for that."""
    start = np.empty(1, np.int8)
    try:
        shown = np.reshape(np.lib.stride_tricks.as_strided(start, view.shape, view.strides), shape, copy=False)
    except ValueError:
        return None
    return _moved(view, start, shown)


def _moved(view: StridedView, start: np.ndarray, shown: Array) -> StridedView:
    """The view `shown`, which NumPy took of the empty array `start`, as the same view of `view`."""
    if not isinstance(shown, np.ndarray):  # NumPy gives a number of its own for an array without axes
        return view
    offset = shown.__array_interface__["data"][0] - start.__array_interface__["data"][0]
    return StridedView(view.base, shown.shape, shown.strides, view.offset + offset)


def named(view: StridedView, index: Index) -> StridedView | None:
    """The elements of `view` that an index names; None if they lie irregularly."""
    if is_basic(index):
        start = np.empty(1, np.int8)
        model = np.lib.stride_tricks.as_strided(start, view.shape, view.strides)
        parts = index if isinstance(index, tuple) else (index,)
        # With an ellipsis one element is a view too.
        shown = model[parts if any(part is Ellipsis for part in parts) else (*parts, Ellipsis)]
        return _moved(view, start, shown)
    found = terms(view.shape, view.strides, index)
    if found is None or (regular := affine(found)) is None:
        return None
    strides, offset = regular
    return StridedView(view.base, found.shape, strides, view.offset + offset)


def region(node: Node, index: Index, path: Path = ()) -> StridedView | None:
    """The elements of `node`, or of the view of it that `path` leads to, that an index names; None if that is none.

    It is none if an element is named twice, or if elements lie irregularly.
    """
    view: StridedView | None = plain(node)
    for op, settings in path:
        view = seen(op, settings, view) if view is not None and op.name in VIEWS else None
    found = view and named(view, index)
    return found if found and (is_basic(index) or apart(found.shape, found.strides)) else None
