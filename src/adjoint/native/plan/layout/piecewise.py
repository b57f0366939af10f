"""Arrays that a program fills and adds up region by region, tracked piece by piece.

The gradient of a loop over rows is a sum with one array of zeros for each row; a loop that fills an array copies it in
each turn. Here such an array is known by its pieces: the array below, and for each region its current value. So a node
that reads a region gets the value itself, and the array is assembled once, where it is needed whole (`ASSEMBLE`).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from adjoint.core.op import Op
from adjoint.core.registry import op_named
from adjoint.core.types import DType, Value
from adjoint.graph.node import InTurn, Node, call, constant, in_order
from adjoint.graph.rewriting.driver import with_args
from adjoint.native.codegen.llvm_text import key_of
from adjoint.native.lower.table import STORED
from adjoint.native.plan.layout.indexing import never
from adjoint.native.plan.layout.regions import Region, along, region_of

# values, the first of which may lie below all others -> an array with these at `regions`, put there or added.
ASSEMBLE = Op("assemble", never, ("values",))
FEW = 8  # pieces off the grid, which are looked through one by one


class Piece(NamedTuple):
    """The content of a region: `value`, or the array below with `value` added."""

    region: Region
    value: Node
    adds: bool


class _Log:
    """Pieces in the order in which they came; later ones say what is at their region from then on.

    Those of the first one's form, at multiples of its lengths, are the same region or have nothing in common: they are
    found by where they start.
    """

    __slots__ = ("form", "on_grid", "pieces")

    def __init__(self) -> None:
        self.pieces: list[Piece] = []
        self.form: Region | None = None
        self.on_grid: dict[tuple[int, ...], list[int]] = {}

    def key(self, region: Region) -> tuple[int, ...] | None:
        """Where a region on the grid starts."""
        form = self.form
        if form is None or region.length != form.length or not region.is_dense:
            return None
        pairs = zip(region.start, form.start, form.length, strict=True)
        return None if any((s - f) % n for s, f, n in pairs) else region.start

    def add(self, piece: Piece) -> None:
        if not self.pieces and piece.region.is_dense:
            self.form = piece.region
        key = self.key(piece.region)
        if key is not None:
            self.on_grid.setdefault(key, []).append(len(self.pieces))
        self.pieces.append(piece)

    def at(self, key: tuple[int, ...], count: int) -> Piece | None:
        """The content of a region on the grid after the first `count` pieces."""
        numbers = self.on_grid.get(key, ())
        k = bisect_left(numbers, count)
        return self.pieces[numbers[k - 1]] if k else None


class Pieces(NamedTuple):
    """An array as its pieces: what lies `below` (None: zeros), and the first `size` of a log."""

    shape: tuple[int, ...]
    dtype: DType
    below: Node | None
    log: _Log
    size: int
    loose: int  # how many of them are not on the grid; they come after the others, and are added
    sums: bool  # whether all of them are added

    def now(self) -> list[Piece]:
        """The content of each region, and the loose pieces."""
        log = self.log
        last: dict[Value, Piece] = {}
        for i, piece in enumerate(log.pieces[: self.size]):
            key = log.key(piece.region)
            last[i if key is None else key] = piece
        loose = [piece for key, piece in last.items() if isinstance(key, int)]
        return [piece for key, piece in last.items() if not isinstance(key, int)] + loose

    def with_piece(self, piece: Piece) -> Pieces | None:
        """The same with one more piece; None if it would be put over a loose one, or is loose and not added."""
        log = self.log
        if self.size < len(log.pieces):  # another array has gone on from here
            log = _Log()
            for old in self.log.pieces[: self.size]:
                log.add(old)
        key = log.key(piece.region) if self.size else piece.region.start if piece.region.is_dense else None
        if not piece.adds and (self.loose or key is None):
            return None
        before = log.at(key, self.size) if key is not None else None
        if piece.adds and before is not None:
            value = _sum(before.value, piece.value, piece.region.shape)
            piece = Piece(piece.region, value, before.adds)
        log.add(piece)
        sums = self.sums and piece.adds
        return self._replace(log=log, size=self.size + 1, loose=self.loose + (key is None), sums=sums)

    def holds(self, region: Region) -> Piece | bool:
        """The piece that has all of a region; True if there is none of it, False if that is not known."""
        if self.loose > FEW:
            return False
        log, found = self.log, list[Piece]()
        if log.form is not None and self.size > self.loose:
            cells = zip(region.bounds, log.form.start, log.form.length, strict=True)
            firsts = [(low - (low - s) % n, high - low + (low - s) % n <= n) for (low, high), s, n in cells]
            if not all(within for _, within in firsts):
                return False
            piece = log.at(tuple(first for first, _ in firsts), self.size)
            found += [piece] if piece else []
        if self.loose:
            every = self.now()
            found += [p for p in every[len(every) - self.loose :] if not p.region.misses(region)]
        return False if len(found) > 1 else found[0] if found else True


def _sum(x: Node, y: Node, shape: tuple[int, ...]) -> Node:
    if _is_zero(x):
        return _as(y, shape)
    return call(op_named("add"), (_as(x, shape), _as(y, shape)), {}, shape, y.dtype, lambda: y.place)


def _is_zero(x: Node) -> bool:
    return x.kind == "constant" and np.ndim(x.value) == 0 and x.value == 0


def _as(x: Node, shape: tuple[int, ...]) -> Node:
    """`x` in another shape: with other axes of length 1, or a number repeated."""
    if x.shape == shape:
        return x
    op = op_named("broadcast_to" if np.prod(x.shape) != np.prod(shape) else "reshape")
    return call(op, (x,), {**op.settings, "shape": shape}, shape, x.dtype, lambda: x.place)


class _Following:
    """Makes a program anew, in which arrays of pieces stay pieces as long as nothing needs them whole."""

    def __init__(self, nodes: Sequence[Node], outputs: Iterable[Node]) -> None:
        self.whole = set(outputs)
        for node in nodes:
            self.whole.update(arg for i, arg in enumerate(node.args) if not _reads_pieces(node, i))
        self.done: dict[Node, Node] = {}  # for each old node the new one, if it was made
        self.pieces: dict[Node, Pieces] = {}  # by the old node
        self.below: dict[Node, Pieces] = {}  # by the new node: what it was assembled of
        self.old: dict[Node, Node] = {}  # of an array of pieces that one operation makes

    def new(self, node: Node) -> Node:
        """The new node for `node`; its pieces are put together if they have not been yet."""
        found = self.done.get(node)
        if found is None:
            pieces = self.pieces[node]
            found = self.done[node] = self._assembled(pieces, node)
            self.below[found] = pieces
        return found

    def _assembled(self, pieces: Pieces, node: Node) -> Node:
        if node in self.old:
            return with_args(node, tuple(self.new(arg) for arg in node.args))
        every = pieces.now()
        below = () if pieces.below is None else (pieces.below,)
        settings = {
            "below": bool(below),
            "regions": tuple(piece.region for piece in every),
            "adds": tuple(piece.adds for piece in every),
        }
        values = tuple(piece.value for piece in every)
        return Node(ASSEMBLE, (*below, *values), settings, node.shape, node.dtype, None, node.place)

    def follow(self, node: Node) -> None:
        """Take the next node of the program."""
        name = node.op.name if node.op is not None else ""
        made: Node | Pieces | None = None
        if name == "getitem":
            made = self._read(node)
        elif name == "add":
            made = self._added(node)
        elif name in _MAKERS and node.shape is not None and 0 not in node.shape and key_of(node.dtype) in STORED:
            made = self._made(node)
        if isinstance(made, Pieces):
            self.pieces[node] = made
            if node in self.whole:
                self.new(node)
        elif made is not None:
            self.done[node] = made

    def _start(self, node: Node, below: Node | None = None) -> Pieces:
        return Pieces(node.shape, node.dtype, below, _Log(), 0, 0, True)

    def _open(self, node: Node) -> Pieces | None:
        """The pieces of an array that has not been put together."""
        return None if node in self.done else self.pieces.get(node)

    def _made(self, node: Node) -> Pieces | Node | None:
        """The pieces that an operation makes; the value itself, if that is written over all of an array."""
        assert node.op is not None
        if any(arg.dtype != node.dtype or arg.shape is None for arg in node.args):
            return None
        if node.op.name == "overwrite":
            below = self._open(node.args[1])
            given = _placed(node)
            if given is None:
                return None
            region, value = given[0]
            if region.is_dense and region.length == node.shape:
                return _as(_as(self.new(value), region.shape), node.shape)
            start = below or self._start(node, self.new(node.args[1]))
            found = start.with_piece(Piece(region, self.new(value), False))
            if found is None:
                start = self._start(node, self.new(node.args[1]))
                found = start.with_piece(Piece(region, self.new(value), False))
            elif below is None:
                self.old[node] = node
            return found
        given = _placed(node)
        found = self._start(node)
        for region, value in given or ():
            more = found.with_piece(Piece(region, self.new(value), True))
            if more is None:
                return None
            found = more
        if given:
            self.old[node] = node
        return found if given else None

    def _added(self, node: Node) -> Pieces | None:
        """A sum, if one side is an array of pieces."""
        x, y = node.args
        if not (x.shape == y.shape == node.shape and x.dtype == y.dtype == node.dtype):
            return None
        one, other = self._open(x), self._open(y)
        if x is y or (one is None and other is None):
            return None
        if one is None or (other is not None and (other.size > one.size or not other.sums)):
            one, other, y = other, one, x
        assert one is not None
        if other is None:
            if not one.sums:
                return None
            return one._replace(below=self._both(one.below, self.new(y), node))
        if not other.sums or (other.below is not None and not one.sums):
            return None
        found: Pieces | None = one._replace(below=self._both(one.below, other.below, node))
        for piece in other.now():
            found = found and found.with_piece(piece)
        return found

    def _both(self, x: Node | None, y: Node | None, node: Node) -> Node | None:
        if x is None or y is None:
            return x or y
        return call(op_named("add"), (x, y), {}, node.shape, node.dtype, lambda: node.place)

    def _read(self, node: Node) -> Node | None:
        """The elements that an index reads, if they lie in one piece, or in the array below all pieces."""
        (x,) = node.args
        pieces = self._open(x)
        region = region_of(x.shape, node.settings["index"]) if x.shape is not None else None
        if region is None:
            return None
        if pieces is None:
            return self._of_whole(self.done[x], region, node)
        found = pieces.holds(region)
        value = _within(found, region, node)
        if found is False or (isinstance(found, Piece) and value is None):
            return None
        if isinstance(found, Piece) and not found.adds:
            return value
        below = None
        if pieces.below is not None:
            below = self._of_whole(pieces.below, region, node)
            below = below or call(node.op, (pieces.below,), node.settings, node.shape, node.dtype, lambda: node.place)  # type: ignore[arg-type]  # getitem
        if below is None or value is None:
            return value or below or _as(constant(np.zeros((), node.dtype)), node.shape)
        return _sum(below, value, node.shape)

    def _of_whole(self, x: Node, region: Region, node: Node) -> Node | None:
        """The part of an assembled array that a region reads, if it lies in one piece."""
        pieces = self.below.get(x)
        found = pieces.holds(region) if pieces is not None else False
        if pieces is None or not isinstance(found, Piece) or (found.adds and pieces.below is not None):
            return None
        return _within(found, region, node)


def _within(piece: Piece | bool, region: Region, node: Node) -> Node | None:
    """The part of a piece that a region reads, if the piece contains the whole region."""
    if not isinstance(piece, Piece):
        return None
    value = _as(piece.value, piece.region.shape)
    index = piece.region.index_of(region)
    if index is None:
        return None
    if any(part.indices(n) != (0, n, 1) for part, n in zip(index, value.shape, strict=True)):
        op, shape = (
            op_named("getitem"),
            tuple(len(range(*p.indices(n))) for p, n in zip(index, value.shape, strict=True)),
        )
        value = call(op, (value,), {**op.settings, "index": index}, shape, value.dtype, lambda: node.place)
    return _as(value, node.shape)


def _reads_pieces(node: Node, i: int) -> bool:
    """Whether argument `i` may stay in pieces for `node`."""
    if node.op is None:
        return False
    name = node.op.name
    if name == "overwrite":
        return i == 1 and region_of(node.shape, node.settings["index"]) is not None
    return name in ("getitem", "add") and node.args[i].shape is not None


_MAKERS = ("scatter_add", "overwrite", "pad_zeros", "pile", "join")


def _placed(node: Node) -> list[tuple[Region, Node]] | None:
    """Which values an operation puts where, apart from what lies below; None if that is not known."""
    assert node.op is not None
    name, settings, shape = node.op.name, node.settings, node.shape
    if name in ("scatter_add", "overwrite"):
        region = None if settings.get("path") else region_of(shape, settings["index"])
        value = node.args[0].shape
        if region is None or (len(value) > len(region.shape) and np.prod(value) != np.prod(region.shape)):
            return None
        return [(region, node.args[0])]
    if name == "pad_zeros":
        (inner,) = node.args
        widths = np.broadcast_to(np.asarray(settings["widths"]), (len(shape), 2)).tolist()
        region = region_of(shape, tuple(slice(b, b + n) for (b, _), n in zip(widths, inner.shape, strict=True)))
        return None if region is None else [(region, inner)]
    axis, start = settings["axis"] % len(shape), 0
    found = []
    for arg in node.args:
        count = arg.shape[axis] if name == "join" else 1
        if count:
            found.append((along(shape, axis, start, count if name == "join" else None), arg))
        start += count
    return found


def followed(outputs: Sequence[Node]) -> list[Node]:
    """The same values, with arrays of pieces put together once, and read where they are not."""
    nodes = in_order(outputs)
    if not any(node.op is not None and node.op.name in _MAKERS for node in nodes):
        return list(outputs)
    following, draws = _Following(nodes, outputs), InTurn()
    for node in nodes:
        following.follow(node)
        if node not in following.done and node not in following.pieces:
            args = tuple([following.new(arg) for arg in node.args])
            following.done[node] = draws.in_turn(node, with_args(node, args))
    return [following.new(node) for node in outputs]
