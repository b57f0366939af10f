"""Loops whose turns compute a few numbers: one function is the whole loop, and what is carried lies in registers.

A turn that calls kernels needs time for each call, for loads and stores, and for vectors that are only partly filled.
Here each number of each array of a turn is a separate value, and views and joins need no code. The addresses of arrays
come from the same block as those of other loops (`native/codegen/loops/turns.py`), which also holds the next turn's
number.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from adjoint.graph.loops.loop import Loop
from adjoint.graph.node import Node
from adjoint.native.codegen.jit import FunctionText
from adjoint.native.codegen.llvm_text import REGISTER, Code, IRValue, key_of
from adjoint.native.codegen.loops.loop_nest import Reduction
from adjoint.native.codegen.loops.masked import align_of
from adjoint.native.codegen.loops.memory import addresses, sum_of
from adjoint.native.lower.numbers import WRITTEN_OUT, number
from adjoint.native.lower.table import lowered
from adjoint.native.plan.classify import reduction_of
from adjoint.native.plan.fusion import axes_reduced
from adjoint.native.plan.layout.assembly import parts
from adjoint.native.plan.layout.views import VIEWS, StridedView, plain, through
from adjoint.native.plan.loops.body import Inner, LoopBlock, LoopSteps, Native, row_bytes
from adjoint.native.plan.memory.arena import Arena
from adjoint.native.plan.rewriting.decompose import REDUCED
from adjoint.native.plan.rewriting.extremes import PLACES
from adjoint.native.plan.steps import Plan, bytes_of

if TYPE_CHECKING:
    from adjoint.native.plan.planner import Planner

MOST = 1500  # numbers that a turn computes
LARGEST = 128  # numbers of an array
FEW = 8  # numbers of a sine or another function of long code, which is better in vectors
VECTORS = 200  # numbers of a turn, from which on LLVM looks for vectors: it takes some 0.1 s
LONG = 1 << 14  # bytes that could be moved while a turn is run, at most
_KINDS = ("view", "identity", "elementwise", "reduce", "assemble")
_ASSEMBLED = ("assemble", "join", "pile", "overwrite", "pad_zeros", "scatter_add")


def fits(found: Native) -> bool:
    """Whether the numbers of a turn are few enough."""
    for node in found.nodes:
        kind = found.kinds[node]
        if (
            kind not in _KINDS
            or node.op in PLACES
            or (kind == "elementwise" and not lowered(node).plain and math.prod(node.shape) > FEW)
        ):
            return False
        if kind == "assemble" and (node.op is None or node.op.name not in _ASSEMBLED or parts(node) is None):
            return False
    values = [*found.inputs, *found.outputs, *(arg for node in found.nodes for arg in node.args)]
    large = any(math.prod(node.shape) > LARGEST or key_of(node.dtype) == "f2" for node in values)
    return not large and sum(map(_work, found.nodes)) <= MOST


def _work(node: Node) -> int:
    """How many numbers are computed."""
    name = node.op.name if node.op is not None else ""
    if name in VIEWS or name in _ASSEMBLED:
        return 0
    return math.prod((node.args[0] if name in REDUCED else node).shape)


class Place(NamedTuple):
    """An array of a turn: its number in the block, by how many bytes it moves on, whether from the last turn on."""

    number: int
    stride: int = 0
    from_end: bool = False
    again: bool = True  # whether it is read in each turn


class Slots(NamedTuple):
    """Where the arrays of a turn lie: its inputs in order; where carried values go; what else is written in a turn.

    Attributes:
        inputs: of the body.
        final: where the carried values of the last turn come to.
        written: outputs of the body, by their number, and where they go in each turn.
        times: where the number of turns is read, if it is given.
        flag: which output says whether the turn takes place, if one does.
        said: where the number of turns is written, if it is.
        fills: stacks, the bytes of a row and of all: rows that no turn wrote get zeros.
        end: how many places there are.
    """

    inputs: list[Place]
    final: list[int]
    written: list[tuple[int, Place]]
    times: int
    flag: int
    said: int
    fills: list[tuple[int, int, int]]
    end: int


def planned(outer: Planner, node: Node, results: dict[int, Node]) -> tuple[LoopSteps, FunctionText] | None:
    """The steps of a loop, as `planned` in `body.py` gives them, and its code; None if it is too large."""
    block = LoopBlock(node, results)
    loop, found = block.loop, block.loop.native
    assert isinstance(found, Native), found
    if not fits(found):
        return None
    a, first, last = loop.carried, loop.first_row, loop.first_row + loop.stacks
    block.inputs(outer)
    moves = dict(zip(block.moves[::2], block.moves[1::2], strict=True))
    again = a + len(loop.slices) + len(loop.places)  # what comes before is read in each turn
    inputs = [Place(k, moves.get(k, 0), k in block.ends.aims[::2], k < again) for k in range(len(found.inputs))]
    final = [block.at(block.result(k), 0) for k in range(a)]
    windows = [inputs[a + len(loop.slices) + k] for k, place in enumerate(loop.places) if place.written]
    begun, ended = len(block.places), len(found.outputs) - loop.asks
    block.stacks(len(found.outputs))
    moves = dict(zip(block.moves[::2], block.moves[1::2], strict=True))
    rows = [Place(begun + k, moves.get(begun + k, 0), begun + k in block.ends.aims[::2]) for k in range(ended - first)]
    written = [*enumerate(windows, a), *enumerate(rows, first)]
    fills = list[tuple[int, int, int]]()
    for k in range(a, a + loop.stacks) if loop.ends else ():
        stack = block.result(k)
        fills.append((block.at(stack, 0), row_bytes(stack), bytes_of(stack)))
    said = block.at(block.result(a + loop.stacks), 0) if loop.asks else -1
    flag = len(found.outputs) - 1 if loop.asks else -1
    places = Slots(inputs, final, written, block.ends.times, flag, said, fills, len(block.places))
    function = _RegisterWriter(loop, found, places, outer.fastmath).function()
    size = sum(map(bytes_of, found.inputs)), sum(map(bytes_of, found.outputs[a:last]))
    nothing = Plan([], [], Arena(0, {}), [], {}, 0)
    return block.steps(Inner(nothing, {}, 0), [], size), function


class _RegisterWriter:
    def __init__(self, loop: Loop, found: Native, places: Slots, fastmath: bool) -> None:
        self.loop, self.found, self.places, self.fastmath = loop, found, places, fastmath
        self.code = Code()
        self.values: list[IRValue] = []
        self.known: dict[Node, np.ndarray] = {}  # for each array the numbers of its values
        long = sum(math.prod(node.shape) for node in found.nodes
                   if found.kinds[node] == "elementwise" and not lowered(node).plain)  # fmt: skip
        self.helpers: dict[str, str] = {}
        self.own = None if long <= WRITTEN_OUT else self.helpers

    def function(self) -> FunctionText:
        """The whole code: the code before the turns, a turn, and the code after them."""
        code, found, a = self.code, self.found, self.loop.carried
        before, stop = self._addresses()
        first = [self._loaded(node, self.at[place.number]) for node, place in self._inputs(0, a)]
        for node, place in self._inputs(a):
            if not place.again:
                self.known[node] = self._kept(self._loaded(node, self.at[place.number]))
        code.line("br label %begin")
        code.label("begin")
        code.line("br label %turn")
        code.label("turn")
        code.line(f"%t = phi i64 [ {before}, %begin ], [ %t.next, %last ]")
        phis = [[f"%c{k}.{i}" for i in range(len(each))] for k, each in enumerate(first)]
        heads = len(code.lines)  # the phis come here, once they are known
        code.line(f"%all = icmp uge i64 %t, {stop}")
        code.line("br i1 %all, label %done, label %body")
        code.label("body")
        for node, names in zip(found.inputs[:a], phis, strict=True):
            self.known[node] = self._kept([IRValue(code, name, key_of(node.dtype)) for name in names])
        results = self._turn()
        code.line("%t.next = add i64 %t, 1")
        code.line("br label %turn")
        code.lines[heads:heads] = [
            f"  {name} = phi {x.type} [ {x.name}, %begin ], [ {y.name}, %last ]"
            for names, start, last in zip(phis, first, results, strict=False)
            for name, x, y in zip(names, start, last, strict=True)
        ]
        self._over(phis)
        passes = sum(_work(node) for node in found.nodes if math.prod(node.shape) > FEW) > VECTORS
        return FunctionText("define void @{name}(ptr %b, ptr %p)", code.lines, code.declared, self.helpers, passes)

    def _inputs(self, start: int, stop: int | None = None) -> list[tuple[Node, Place]]:
        return list(zip(self.found.inputs, self.places.inputs, strict=True))[start:stop]

    def _addresses(self) -> tuple[str, str]:
        """Read the addresses of arrays; the turn with which this call begins, and the one before which it stops."""
        code, places = self.code, self.places
        (block,) = addresses(code, 1)
        few, count = (self._word(code.name(f"getelementptr i64, ptr %p, i64 {i}")) for i in (2, 3))
        self.done_at = code.name(f"getelementptr ptr, ptr {block}, i64 {places.end}")
        before = self._word(self.done_at)
        self.slots = {k: code.name(f"getelementptr ptr, ptr {block}, i64 {k}") for k in range(places.end)}
        self.at = {k: code.name(f"load ptr, ptr {slot}") for k, slot in self.slots.items()}
        self.limit = self._word(self.at[places.times]) if places.times >= 0 else count
        self.ahead = code.name(f"sub i64 {self.limit}, 1")
        return before, code.least(self.limit, code.name(f"add i64 {before}, {few}"))

    def _address(self, place: Place) -> str:
        """Where an array of this turn lies."""
        if not place.stride:
            return self.at[place.number]
        turn = self.code.name(f"sub i64 {self.ahead}, %t") if place.from_end else "%t"
        far = self.code.name(f"mul i64 {turn}, {-place.stride if place.from_end else place.stride}")
        return self.code.name(f"getelementptr i8, ptr {self.at[place.number]}, i64 {far}")

    def _turn(self) -> list[list[IRValue]]:
        """Write the code of a turn. Returns the values of the body's outputs."""
        code, places = self.code, self.places
        for node, place in self._inputs(self.loop.carried):
            if place.again:
                self.known[node] = self._kept(self._loaded(node, self._address(place)))
        for node in self.found.nodes:
            self.known[node] = self._computed(node)
        results = [[self.values[i] for i in self._of(node).ravel().tolist()] for node in self.found.outputs]
        if places.flag >= 0:
            (takes_place,) = results[places.flag]
            code.line(f"br i1 {takes_place.name}, label %takes.place, label %ended")
            code.label("ended")
            code.line("br label %over")
            code.label("takes.place")
        for k, place in places.written:
            self._store(results[k], self._address(place))
        code.line("br label %last")
        code.label("last")
        return results

    def _over(self, phis: list[list[str]]) -> None:
        """Write the end of a call: carried values go to memory, where the next call finds them."""
        code, places = self.code, self.places
        code.label("done")
        more = code.name(f"icmp ult i64 %t, {self.limit}")
        code.line("br label %over")
        code.label("over")
        ended = ", [ false, %ended ]" if places.flag >= 0 else ""
        unfinished = code.name(f"phi i1 [ {more}, %done ]{ended}")
        code.line(f"store i64 %t, ptr {self.done_at}")
        for k, (node, place) in enumerate(self._inputs(0, self.loop.carried)):
            self._store([IRValue(code, name, key_of(node.dtype)) for name in phis[k]], self.at[places.final[k]])
            code.line(f"store ptr {self.at[places.final[k]]}, ptr {self.slots[place.number]}")
        if self.loop.ends:
            self._end(unfinished)
        code.line("ret void")

    def _end(self, unfinished: str) -> None:
        """Say whether more turns follow; if none do, how many there were, and what the rows are that none wrote."""
        code = self.code
        word_at = code.name(f"getelementptr i64, ptr {self.done_at}, i64 1")
        code.line(f"store i64 {code.name(f'zext i1 {unfinished} to i64')}, ptr {word_at}")
        code.line(f"br i1 {unfinished}, label %leave, label %finish")
        code.label("finish")
        if self.places.said >= 0:
            code.line(f"store i64 %t, ptr {self.at[self.places.said]}")
        for k, row, size in self.places.fills:
            there = code.name(f"mul i64 %t, {row}")
            rest = code.name(f"getelementptr i8, ptr {self.at[k]}, i64 {there}")
            left = code.name(f"sub i64 {size}, {there}")
            code.declare("llvm.memset.p0.i64", "void", ["ptr", "i8", "i64", "i1"])
            code.line(f"call void @llvm.memset.p0.i64(ptr {rest}, i8 0, i64 {left}, i1 false)")
        code.line("br label %leave")
        code.label("leave")

    def _word(self, place: str) -> str:
        return self.code.name(f"load i64, ptr {place}")

    # -- Arrays as numbers ----------------------------------------------------------------------------

    def _kept(self, values: Sequence[IRValue], shape: tuple[int, ...] | None = None) -> np.ndarray:
        start = len(self.values)
        self.values += values
        found = np.arange(start, len(self.values))
        return found if shape is None else found.reshape(shape)

    def _of(self, node: Node) -> np.ndarray:
        """The numbers of the values of an array."""
        if node not in self.known:
            flat = np.broadcast_to(node.value, node.shape).ravel().tolist() if node.kind == "constant" else []
            self.known[node] = self._kept([self.code.constant(x, key_of(node.dtype)) for x in flat])
        return self.known[node].reshape(node.shape)

    def _loaded(self, node: Node, place: str) -> list[IRValue]:
        code, dtype = self.code, key_of(node.dtype)
        kind, found = "i8" if dtype == "b1" else REGISTER[dtype], list[IRValue]()
        for i in range(math.prod(node.shape)):
            here = code.name(f"getelementptr {kind}, ptr {place}, i64 {i}") if i else place
            name = code.name(f"load {kind}, ptr {here}, align {align_of(dtype)}")
            found.append(IRValue(code, code.name(f"trunc i8 {name} to i1") if dtype == "b1" else name, dtype))
        return found

    def _store(self, values: Sequence[IRValue], place: str) -> None:
        code = self.code
        for i, value in enumerate(values):
            kind, name = value.type, value.name
            if value.dtype == "b1":
                kind, name = "i8", code.name(f"zext i1 {name} to i8")
            here = code.name(f"getelementptr {kind}, ptr {place}, i64 {i}") if i else place
            code.line(f"store {kind} {name}, ptr {here}, align {align_of(value.dtype)}")

    def _computed(self, node: Node) -> np.ndarray:
        kind = self.found.kinds[node]
        if kind in ("view", "identity"):
            of = self._of(node.args[0])
            view = through(node, plain(node.args[0]))
            return of.ravel()[_within(view)] if view is not None else of
        if kind == "assemble":
            return self._assembled(node)
        if kind == "reduce":
            return self._reduced(node)
        args = [np.broadcast_to(self._of(arg), node.shape).ravel() for arg in node.args]
        made: dict[tuple[int, ...], IRValue] = {}
        for each in zip(*(arg.tolist() for arg in args), strict=True):
            if each not in made:
                made[each] = number(self.code, node, [self.values[i] for i in each], self.own, self.fastmath)
        return self._kept([made[each] for each in zip(*(arg.tolist() for arg in args), strict=True)], node.shape)

    def _assembled(self, node: Node) -> np.ndarray:
        dtype, zero = key_of(node.dtype), self._kept([self.code.constant(0, key_of(node.dtype))])
        whole = np.full(math.prod(node.shape), zero[0])
        for part in parts(node) or ():
            value = None if part.value is None else self._of(part.value)
            own = zero if value is None else value.ravel()
            if part.terms and part.box is not None:
                raise AssertionError("a large array in registers")
            where = _within(part.place).ravel()
            new = [self.values[i].to(dtype) for i in np.broadcast_to(own, where.shape).tolist()]
            if part.adds:
                new = [sum_of(self.values[i], x) for i, x in zip(whole[where].tolist(), new, strict=True)]
            whole[where] = self._kept(new)
        return whole.reshape(node.shape)

    def _reduced(self, node: Node) -> np.ndarray:
        arg, how = node.args[0], reduction_of(node)
        assert how is not None
        axes = sorted(axes_reduced(node))
        others = [axis for axis in range(len(arg.shape)) if axis not in axes]
        rows = self._of(arg).transpose([*others, *axes]).reshape(-1, math.prod(arg.shape[axis] for axis in axes))
        side_by_side = axes == [*range(len(others), len(arg.shape))]
        made = []
        for row in rows.tolist():
            each = [self.values[i].to(how.dtype) for i in row]
            made.append(how.finish(together(how, each, side_by_side)).to(key_of(node.dtype)))
        return self._kept(made, node.shape)


def lanes_of(how: Reduction) -> int:
    """How many lanes kernels have in which they take numbers together that lie side by side."""
    return 64 // max(4, int(how.dtype[1]) if how.dtype[0] == "f" else 0)


def together(how: Reduction, values: list[IRValue], side_by_side: bool) -> IRValue:
    """Numbers taken together as kernels do: of those that lie side by side lane by lane, then lanes in pairs."""
    if not side_by_side:
        return _with_identity(how, _in_turn(how, values))
    lanes = lanes_of(how)
    return of_lanes(how, [_in_turn(how, values[k::lanes]) for k in range(min(lanes, len(values)))])


def of_lanes(how: Reduction, values: list[IRValue]) -> IRValue:
    """What the lanes have, taken together in pairs."""
    lanes = lanes_of(how)
    while lanes > 1:
        lanes //= 2
        values = [how.combine(x, values[k + lanes]) if k + lanes < len(values) else x
                  for k, x in enumerate(values[:lanes])]  # fmt: skip
    return _with_identity(how, values[0])


def _with_identity(how: Reduction, total: IRValue) -> IRValue:
    if isinstance(how.identity, float) and not how.identity and math.copysign(1.0, how.identity) > 0:
        total = how.combine(total, total.code.constant(how.identity, how.dtype))
    return total


def _in_turn(how: Reduction, values: Sequence[IRValue]) -> IRValue:
    total = values[0]
    for x in values[1:]:
        total = how.combine(total, x)
    return total


def _within(view: StridedView) -> np.ndarray:
    """For each element of a view, its place in what it shows."""
    at = np.full(view.shape, view.offset)
    for axis, (n, stride) in enumerate(zip(view.shape, view.strides, strict=True)):
        at += (np.arange(n) * stride).reshape(-1, *(1,) * (len(view.shape) - axis - 1))
    return at
