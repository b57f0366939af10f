"""Indices of arrays as positions in an array's memory, which kernels read from and write to.

An index consists of slices, whose elements lie a stride apart, and of arrays of whole numbers, whose elements may lie
anywhere: these become one array of positions. Known positions are constants, and a view if they lie a
stride apart too. Others are computed, clamped to the array, and checked: see `checks`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from adjoint.core.op import Op
from adjoint.core.registry import op_named
from adjoint.core.types import Index, Value
from adjoint.graph.node import Node, call, constant
from adjoint.graph.rewriting.driver import converted
from adjoint.native.codegen.llvm_text import REGISTER, key_of
from adjoint.ops.indexing.index import BoxedIndex, is_basic


def never(*args: object, **settings: Value) -> Value:
    """Stands for the function of an operation that NumPy never computes."""
    raise AssertionError("an operation of native code alone was asked to compute arrays")


# a, positions -> the elements there; value, positions -> zeros with these added there; value, positions, a -> a copy
# of `a` with these put there, the last one where there are several.
GATHER = Op("gather", never, ("a", "positions"))
SCATTER = Op("scatter", never, ("value", "positions"))
PUT = Op("put", never, ("value", "positions", "a"))
# x (n, groups * c, *room, phases, row), w (groups, rows, c * prod(kernel)) -> (n, groups * rows, *count)
SLIDE = Op("slide", never, ("x", "w"), settings={"kernel": (), "step": (), "dilation": (), "count": (), "inside": ()})
FROM_INDEX = ("getitem", "pick", "scatter_add", "place_at", "overwrite", "last_writer")


class Terms(NamedTuple):
    """Where the elements lie that an index names.

    Attributes:
        shape: of the elements that it names.
        strides: how far its elements lie apart; 0 along the axes of the index arrays.
        offset: of the first element.
        arrays: the index arrays (or their stand-ins), each with the length and the stride of its axis.
        common: the shape to which they are broadcast.
        front: which axis of `shape` is the first of theirs.
    """

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int
    arrays: list[tuple[Value, int, int]]
    common: tuple[int, ...]
    front: int


def terms(shape: Sequence[int], strides: Sequence[int], index: Index, shapes: Sequence[Value] = ()) -> Terms | None:
    """What `index` names of an array with these strides; None for kinds of index that are left to NumPy.

    `shapes` are those of the arrays for which a `BoxedIndex` stands.
    """
    given = index if isinstance(index, tuple) else (index,)
    parts = expanded(given, len(shape))
    if parts is None:
        return None
    lengths: list[int] = []
    steps: list[int] = []
    arrays: list[tuple[Value, int, int]] = []
    offset, axis, fronts = 0, 0, list[int]()
    for part in parts:
        if part is None:
            lengths, steps = [*lengths, 1], [*steps, 0]
            continue
        n, stride = shape[axis], strides[axis]
        axis += 1
        if isinstance(part, slice):
            start, stop, step = part.indices(n)
            lengths, steps = [*lengths, len(range(start, stop, step))], [*steps, step * stride]
            offset += start * stride
            continue
        fronts.append(len(lengths))
        if isinstance(part, int | np.integer):
            offset += (int(part) + (n if part < 0 else 0)) * stride
        else:
            arrays.append((part, n, stride))
    common = np.broadcast_shapes(*(shapes[a.number] if isinstance(a, BoxedIndex) else a.shape for a, _, _ in arrays))
    front = 0 if _separated(given) or not fronts else fronts[0]
    return Terms(
        (*lengths[:front], *common, *lengths[front:]),
        (*steps[:front], *(0,) * len(common), *steps[front:]),
        offset,
        arrays,
        common,
        front,
    )


def _separated(parts: tuple[object, ...]) -> bool:
    """Whether a slice, a new axis or Ellipsis, be it of no axes, stands between arrays and numbers."""
    between = [part is None or part is Ellipsis or isinstance(part, slice) for part in parts]
    while between and between[-1]:
        between.pop()
    return any(between[between.index(False) :]) if between else False


def expanded(parts: tuple[object, ...], rank: int) -> list[Value] | None:
    """One part for each axis, and None for new ones: without Ellipsis, masks as the numbers that they stand for."""
    found: list[Value] = []
    for part in parts:
        if isinstance(part, list):
            part = np.array(part, int if not part else None)
        if isinstance(part, bool | np.bool_) or (isinstance(part, np.ndarray) and part.dtype.kind not in "iub"):
            return None
        if isinstance(part, np.ndarray) and part.dtype.kind == "b":
            if not part.ndim:
                return None
            found += np.nonzero(part)
        else:
            found.append(part)
    missing = rank - sum(part is not None and part is not Ellipsis for part in found)
    where = next((i for i, part in enumerate(found) if part is Ellipsis), len(found))
    return [*found[:where], *(slice(None),) * missing, *found[where + 1 :]]


def _inside(array: np.ndarray, length: int) -> np.ndarray:
    return np.where(array < 0, array + length, array).astype(np.int64)


def affine(found: Terms) -> tuple[tuple[int, ...], int] | None:
    """Strides and offset of what an index of known arrays names, if its elements lie regularly."""
    strides, offset = np.array(found.strides, np.int64), found.offset
    for array, length, stride in found.arrays:
        if isinstance(array, BoxedIndex):
            return None
        places = _inside(array, length)
        if not places.size:
            return None
        first = (0,) * places.ndim
        for k, n in enumerate(places.shape):
            if n > 1:
                along = np.diff(places, axis=k)
                step = along.flat[0]
                if not (along == step).all():
                    return None
                strides[found.front + len(found.common) - places.ndim + k] += step * stride
        offset += int(places[first]) * stride
    return tuple(strides.tolist()), int(offset)


def apart(shape: Sequence[int], strides: Sequence[int]) -> bool:
    """Whether no two elements of these strides lie at one place."""
    pairs = sorted((abs(s), n) for n, s in zip(shape, strides, strict=True) if n > 1)
    reached = 0
    for stride, n in pairs:
        if stride <= reached:
            return False
        reached += stride * (n - 1)
    return True


def by_positions(node: Node, args: tuple[Node, ...]) -> Node | None:
    """An operation in `FROM_INDEX` on `args` as one that reads or writes at positions; None if it stays what it is."""
    assert node.op is not None
    name, settings = node.op.name, node.settings
    if node.shape is None or any(arg.shape is None for arg in args) or settings.get("path"):
        return None
    if any(0 in n.shape or key_of(n.dtype) not in REGISTER for n in (node, *args)):
        return None
    if name == "last_writer":
        return _last_writer(node, args[0]) if len(node.shape) == 1 else None
    places: tuple[Node, ...] = args[1:] if name in ("pick", "place_at") else ()
    index = settings["form"] if places else settings["index"]
    if not places and is_basic(index):
        return None
    whole = args[0].shape if name in ("getitem", "pick") else node.shape
    strides = tuple(math.prod(whole[i + 1 :]) for i in range(len(whole)))
    found = terms(whole, strides, index, [p.shape for p in places])
    if found is None or 0 in found.shape:
        return None
    if not places:
        regular = affine(found)
        if regular is not None and (name == "getitem" or apart(found.shape, regular[0])):
            return None  # a view, or a region
    positions, inside = _positions(found, places)
    positions = _reshaped(positions, (*found.common, *(1,) * (len(found.shape) - found.front - len(found.common))))
    said = {"strides": found.strides, "offset": found.offset, "region": found.shape, "inside": inside}
    if name in ("getitem", "pick"):
        return call(GATHER, (args[0], positions), said, node.shape, node.dtype, lambda: node.place)
    if name == "overwrite":
        return call(PUT, (args[0], positions, args[1]), said, node.shape, node.dtype, lambda: node.place)
    return call(SCATTER, (args[0], positions), said, node.shape, node.dtype, lambda: node.place)


def _last_writer(node: Node, chosen: Node) -> Node:
    """The numbers 0, 1 … written to the chosen places of an array of -1, one after another."""
    within = _with("maximum", _with("minimum", converted(chosen, np.dtype(np.int64)), node.shape[0] - 1), 0)
    said = {"strides": (0,), "offset": 0, "region": chosen.shape, "inside": ()}
    args = (constant(np.arange(*chosen.shape)), within, constant(np.asarray(-1)))
    return call(PUT, args, said, node.shape, node.dtype, lambda: node.place)


def _positions(found: Terms, places: Sequence[Node]) -> tuple[Node, tuple[Node, ...]]:
    """The sum of the index arrays' shares, and the nodes that say whether their numbers are inside."""
    known = np.zeros(found.common, np.int64)
    computed: Node | None = None
    inside: list[Node] = []
    for array, length, stride in found.arrays:
        if not isinstance(array, BoxedIndex):
            known = known + _inside(array, length) * stride
            continue
        number = converted(places[array.number], np.dtype(np.int64))
        low, high = _with("greater_equal", number, -length), _with("less", number, length)
        inside.append(every(_with("logical_and", low, high)))
        counted = _with("choose_either", _with("less", number, 0), _with("add", number, length), number)
        share = _with("multiply", _with("maximum", _with("minimum", counted, length - 1), 0), stride)
        computed = share if computed is None else _with("add", computed, share)
    if computed is None:
        return constant(known), ()
    if known.any() or computed.shape != found.common:
        computed = _with("add", computed, constant(known))
    return computed, tuple(inside)


def _with(name: str, *args: object) -> Node:
    """An elementwise operation on nodes of whole numbers, and on plain ones."""
    op = op_named(name)
    nodes = tuple(arg if isinstance(arg, Node) else constant(arg) for arg in args)
    is_question = name in ("greater_equal", "less", "logical_and")
    shape = np.broadcast_shapes(*(n.shape for n in nodes))
    return call(op, nodes, op.settings, shape, np.dtype(bool if is_question else np.int64))


def every(node: Node) -> Node:
    """Whether all of its elements are true."""
    op = op_named("all")
    return call(op, (node,), {**op.settings, "axis": None}, (), np.dtype(bool)) if node.shape else node


def _reshaped(node: Node, shape: tuple[int, ...]) -> Node:
    if node.shape == shape:
        return node
    if node.kind == "constant":
        return constant(np.reshape(node.value, shape))
    reshape = op_named("reshape")
    return call(reshape, (node,), {**reshape.settings, "shape": shape}, shape, node.dtype)


def checks(nodes: Iterable[Node]) -> list[Node]:
    """Whether all index arrays of `nodes` name elements that are there: at most one node."""
    return together(list(dict.fromkeys(c for n in nodes for c in _settings(n).get("inside", ()))))


def together(conditions: Sequence[Node]) -> list[Node]:
    """Whether all of these truth values are true, as at most one node."""
    if not conditions:
        return []
    held = conditions[0]
    for other in conditions[1:]:
        held = _with("logical_and", held, other)
    return [held]


def _settings(node: Node) -> Mapping[str, Value]:
    return node.settings if node.op in (GATHER, SCATTER, PUT, SLIDE) else {}
