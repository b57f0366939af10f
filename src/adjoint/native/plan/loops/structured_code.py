"""The code of loops that read and write single elements: loops within loops, in one function."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from adjoint.core.types import Array
from adjoint.graph.loops.elements import ADDED, ELEMENT
from adjoint.graph.loops.loop import Loop
from adjoint.graph.node import Node
from adjoint.native.codegen.jit import FunctionText
from adjoint.native.codegen.llvm_text import Code, IRValue, key_of
from adjoint.native.codegen.loops.memory import addresses, sum_of
from adjoint.native.lower.numbers import number
from adjoint.native.lower.table import lowered
from adjoint.native.plan.layout.views import plain, through
from adjoint.native.plan.loops.body import Inner, LoopBlock, LoopSteps, Native, Scratch, row_bytes
from adjoint.native.plan.loops.structured import Order, by_turn, is_array
from adjoint.native.plan.loops.structured_memory import LoopEntry, LoopValues, MemoryCode, in_memory
from adjoint.native.plan.loops.structured_sums import reduced
from adjoint.native.plan.memory.arena import Arena
from adjoint.native.plan.steps import Plan, bytes_of

if TYPE_CHECKING:
    from adjoint.native.plan.planner import Planner


def planned(outer: Planner, node: Node, results: dict[int, Node]) -> tuple[LoopSteps, FunctionText]:
    """The steps of a loop, as `adjoint.native.plan.loops.body.planned` gives them, and its code."""
    writer = _StructuredWriter(outer, node, results)
    function = writer.function()
    found = writer.block.loop.native
    size = sum(map(bytes_of, found.inputs)), sum(bytes_of(x) for x in found.outputs[writer.block.loop.carried :])
    nothing = Plan([], [], Arena(0, {}), [], {}, 0)
    return writer.block.steps(Inner(nothing, {}, 0), [], size), function


class _StructuredWriter(MemoryCode):
    def __init__(self, outer: Planner, node: Node, results: dict[int, Node]) -> None:
        self.outer, self.node = outer, node
        self.block, self.results = LoopBlock(node, results), results
        self.code = Code()
        self.helpers: dict[str, str] = {}
        self.count = 0
        self.held: dict[Node, int] = {}  # the places of constants

    # -- The whole ------------------------------------------------------------------------------------

    def function(self) -> FunctionText:
        """The whole code."""
        code, block, loop = self.code, self.block, self.block.loop
        found = loop.native
        assert isinstance(found, Native), found
        a, b = loop.carried, loop.carried + len(loop.slices)
        block.inputs(self.outer)
        final = [block.at(block.result(k), 0) for k in range(a)]
        begun, ended = len(block.places), len(found.outputs) - loop.asks
        block.stacks(len(found.outputs))
        moves = dict(zip(block.moves[::2], block.moves[1::2], strict=True))
        from_end = block.ends.aims[::2]
        fills = [(block.at(block.result(k), 0), row_bytes(block.result(k)), bytes_of(block.result(k)))
                 for k in range(a, a + loop.stacks if loop.ends else a)]  # fmt: skip
        said = block.at(block.result(a + loop.stacks), 0) if loop.asks else -1
        times = block.ends.times
        first = [self._given(node, k) for k, node in enumerate(found.inputs[:a])]
        fixed = [self._given(node, k) for k, node in enumerate(found.inputs[b:], b)]
        for k, node in enumerate(found.inputs[:a]):
            if is_array(node):
                self.move(_at(final[k]), _at(k), bytes_of(node))
        rows = [(_at(k), moves.get(k, 0), k in from_end) for k in range(a, b)]
        stacks = [(_at(k), moves.get(k, 0), k in from_end) for k in range(begun, begun + ended - loop.first_row)]
        limit = self.word(_at(times)) if times >= 0 else "%count"
        code.line("%until = add i64 %before, %few")
        stop = code.least(limit, "%until")
        made = self._loop(loop, LoopEntry(first, rows, fixed, [*stacks], [*map(_at, final)], "%before", stop, limit))
        code.line(f"store i64 {made.turns}, ptr %done.at")
        for k, node in enumerate(found.inputs[:a]):
            if not is_array(node):
                self.store(made.results[k], _at(final[k]))
            code.line(f"store ptr {_at(final[k])}, ptr %slot{k}")
        if loop.ends:
            code.line(f"store i64 {code.name(f'zext i1 {made.unfinished} to i64')}, ptr %more.at")
            code.line(f"br i1 {made.unfinished}, label %leave, label %finish")
            code.label("finish")
            if said >= 0:
                code.line(f"store i64 {made.turns}, ptr {_at(said)}")
            for k, row, size in fills:
                self.fill(_at(k), made.turns, row, size)
            code.line("br label %leave")
            code.label("leave")
        code.line("ret void")
        body, code.lines = code.lines, []
        self._head()
        return FunctionText(
            "define void @{name}(ptr %b, ptr %p)", [*code.lines, *body], code.declared, self.helpers, True
        )

    def _head(self) -> None:
        """Read the addresses of arrays, which turn has come, and how many are run."""
        code, count = self.code, len(self.block.places)
        (block,) = addresses(code, 1)
        for name, i in (("few", 2), ("count", 3)):
            code.line(f"%{name}.at = getelementptr i64, ptr %p, i64 {i}")
            code.line(f"%{name} = load i64, ptr %{name}.at")
        code.line(f"%done.at = getelementptr ptr, ptr {block}, i64 {count}")
        code.line(f"%more.at = getelementptr ptr, ptr {block}, i64 {count + 1}")
        code.line("%before = load i64, ptr %done.at")
        for k in range(count):
            code.line(f"%slot{k} = getelementptr ptr, ptr {block}, i64 {k}")
            code.line(f"{_at(k)} = load ptr, ptr %slot{k}")

    def _given(self, node: Node, k: int) -> Array:
        return _at(k) if is_array(node) else self.load(_at(k), node.dtype)

    def _scratch(self, shape: tuple[int, ...], dtype: Array) -> str:
        self.count += 1
        return _at(self.block.at(Scratch(self.node, f"own{self.count}", shape, dtype), 0))

    def _constant(self, node: Node) -> str:
        if node not in self.held:
            self.held[node] = self.block.at(*self.outer.whole(node))
        return _at(self.held[node])

    # -- A loop -----------------------------------------------------------------------------------------

    def _loop(self, loop: Loop, entry: LoopEntry) -> LoopValues:
        """Write a loop."""
        code, found, a = self.code, loop.native, loop.carried
        self.count += 1
        p = f"l{self.count}"
        inputs = found.inputs
        numbers = [k for k in range(a) if not is_array(inputs[k])]
        code.line(f"br label %{p}.begin")
        code.label(f"{p}.begin")
        code.line(f"br label %{p}.turn")
        code.label(f"{p}.turn")
        code.line(f"%{p}.t = phi i64 [ {entry.before}, %{p}.begin ], [ %{p}.t.next, %{p}.last ]")
        heads = len(code.lines)
        code.line(f"%{p}.all = icmp uge i64 %{p}.t, {entry.stop}")
        code.line(f"br i1 %{p}.all, label %{p}.done, label %{p}.body")
        code.label(f"{p}.body")
        phis = {k: IRValue(code, f"%{p}.c{k}", key_of(inputs[k].dtype)) for k in numbers}
        with code.inner():
            turn = _LoopTurn(self, loop, entry, p, phis)
            lasts = turn.write()
        code.line(f"br label %{p}.last")
        code.label(f"{p}.last")
        code.line(f"%{p}.t.next = add i64 %{p}.t, 1")
        code.line(f"br label %{p}.turn")
        code.lines[heads:heads] = [
            f"  {x.name} = phi {x.type} [ {entry.first[k].name}, %{p}.begin ], [ {lasts[k].name}, %{p}.last ]"
            for k, x in phis.items()
        ]
        code.label(f"{p}.done")
        code.line(f"%{p}.more = icmp ult i64 %{p}.t, {entry.limit}")
        code.line(f"br label %{p}.over")
        if loop.asks:
            code.label(f"{p}.ended")
            code.line(f"br label %{p}.over")
        code.label(f"{p}.over")
        ended = f", [ false, %{p}.ended ]" if loop.asks else ""
        unfinished = code.name(f"phi i1 [ %{p}.more, %{p}.done ]{ended}")
        return LoopValues([phis[k] if k in phis else entry.final[k] for k in range(a)], f"%{p}.t", unfinished)


class _LoopTurn:
    """One turn of a loop: what its nodes are, as numbers in registers or as addresses."""

    def __init__(
        self, writer: _StructuredWriter, loop: Loop, entry: LoopEntry, p: str, phis: dict[int, IRValue]
    ) -> None:
        self.writer, self.loop, self.entry, self.p = writer, loop, entry, p
        self.code, self.found = writer.code, loop.native
        self.order = Order(loop, self.found)
        self.known: dict[Node, Array] = {}
        self.made: dict[Node, list[Array]] = {}
        inputs, a, b = self.found.inputs, loop.carried, loop.carried + len(loop.slices)
        for k, node in enumerate(inputs[:a]):
            self.known[node] = phis.get(k, entry.final[k])
        for node, (place, stride, from_end) in zip(inputs[a:b], entry.rows, strict=True):
            there = self._row(place, stride, from_end)
            self.known[node] = there if is_array(node) else writer.load(there, node.dtype)
        for node, x in zip(inputs[b:], entry.fixed, strict=False):
            self.known[node] = x

    def _row(self, place: str, stride: int, from_end: bool) -> str:
        """The address of a row of an array in this turn."""
        if not stride:
            return place
        code = self.code
        turn = f"%{self.p}.t"
        if from_end:
            turn = code.name(f"sub i64 {code.name(f'sub i64 {self.entry.limit}, 1')}, {turn}")
        far = code.name(f"mul i64 {turn}, {-stride if from_end else stride}")
        return code.name(f"getelementptr i8, ptr {place}, i64 {far}")

    def write(self) -> list[Array]:
        """Write the turn; what is carried on."""
        code, loop, outputs, a = self.code, self.loop, self.found.outputs, self.loop.carried
        for i, step in enumerate((*self.order.steps, None)):
            if i == self.order.before and loop.asks:
                takes_place = self._number(outputs[-1])
                code.line(f"br i1 {takes_place.name}, label %{self.p}.takes.place, label %{self.p}.ended")
                code.label(f"{self.p}.takes.place")
            if isinstance(step, Node):
                self._compute(step)
            elif step is not None:
                self._put(step)
        for k in range(a, a + loop.stacks):
            if not is_array(outputs[k]):
                self._put(k)
        moves = []
        for k, node in enumerate(outputs[:a]):
            if is_array(node) and (source := self._address(node)) != self.entry.final[k]:
                if source in self.entry.final:
                    copy = self.writer._scratch(node.shape, node.dtype)
                    self.writer.move(copy, source, bytes_of(node))
                    source = copy
                moves.append((self.entry.final[k], source, bytes_of(node)))
        for move in moves:
            self.writer.move(*move)
        return [None if is_array(node) else self._number(node) for node in outputs[:a]]

    def _put(self, k: int) -> None:
        """Put an output into its stack."""
        stack, node = self.entry.stacks[k - self.loop.carried], self.found.outputs[k]
        if stack is None:
            return
        there = self._row(*stack)
        if is_array(node):
            self.writer.move(there, self._address(node), bytes_of(node))
        else:
            self.writer.store(self._number(node), there)

    def _number(self, node: Node) -> IRValue:
        if node not in self.known:
            assert node.kind == "constant", node
            return self.code.constant(np.asarray(node.value).item(), key_of(node.dtype))
        found: IRValue = self.known[node]
        return found

    def _address(self, node: Node) -> str:
        if node not in self.known:
            assert node.kind == "constant", node
            return self.writer._constant(node)
        found: str = self.known[node]
        return found

    # -- Nodes ----------------------------------------------------------------------------------------

    def _compute(self, node: Node) -> None:
        kind = self.found.kinds[node]
        if kind == "loop":
            self._inner(node)
        elif kind == "result":
            self.known[node] = self.made[node.args[0]][int(node.value)]
        elif kind == "element":
            self._element(node)
        elif kind in ("view", "identity"):
            self._view(node)
        elif kind == "reduce":
            self._keep(node, reduced(self.writer, node, self._address(node.args[0])))
        elif is_array(node):
            self._each(node)
        else:
            self.known[node] = self._applied(node, [self._number(arg) for arg in node.args])

    def _applied(self, node: Node, args: Sequence[IRValue]) -> IRValue:
        own = None if lowered(node).plain else self.writer.helpers
        return number(self.code, node, args, own, self.writer.outer.fastmath)

    def _view(self, node: Node) -> None:
        (arg,) = node.args
        if not is_array(arg):
            self._keep(node, self._number(arg))
            return
        view = through(node, plain(arg))
        assert view is not None
        far = view.offset * arg.dtype.itemsize
        there = self.code.name(f"getelementptr i8, ptr {self._address(arg)}, i64 {far}")
        self.known[node] = there if is_array(node) else self.writer.load(there, node.dtype)

    def _keep(self, node: Node, value: IRValue) -> None:
        """A number, or an array of this one element."""
        self.known[node] = value
        if is_array(node):
            self.known[node] = self.writer._scratch(node.shape, node.dtype)
            self.writer.store(value, self.known[node])

    def _element(self, node: Node) -> None:
        code, array, at = self.code, node.args[0], self._number(node.args[1]).to("i8")
        place = self._address(array)
        if node.op is not ELEMENT and (node, 0) not in self.order.in_place:
            copy = self.writer._scratch(array.shape, array.dtype)
            self.writer.move(copy, place, bytes_of(array))
            place = copy
        if node.args[1].kind != "constant":
            at = code.intrinsic("smin", code.intrinsic("smax", at, 0), math.prod(array.shape) - 1)
        there = code.put(f"getelementptr {in_memory(array.dtype)}, ptr {place}, i64 {at.name}", "i8").name
        if node.op is ELEMENT:
            self.known[node] = self.writer.load(there, node.dtype)
            return
        value = self._number(node.args[2]).to(key_of(array.dtype))
        if node.op is ADDED:
            value = sum_of(self.writer.load(there, array.dtype), value)
        self.writer.store(value, there)
        self.known[node] = place

    def _each(self, node: Node) -> None:
        """An array, element by element."""
        code, writer = self.code, self.writer
        writer.count += 1
        p, place = f"e{writer.count}", writer._scratch(node.shape, node.dtype)
        numbers = {arg: self._number(arg) for arg in node.args if not is_array(arg)}
        arrays = {arg: self._address(arg) for arg in node.args if is_array(arg)}
        numbers |= {arg: writer.load(at, arg.dtype) for arg, at in arrays.items() if math.prod(arg.shape) == 1}
        code.line(f"br label %{p}.begin")
        code.label(f"{p}.begin")
        code.line(f"br label %{p}.one")
        code.label(f"{p}.one")
        code.line(f"%{p}.i = phi i64 [ 0, %{p}.begin ], [ %{p}.next, %{p}.one ]")
        with code.inner():
            args = []
            for arg in node.args:
                if arg in numbers:
                    args.append(numbers[arg])
                    continue
                there = code.name(f"getelementptr {in_memory(arg.dtype)}, ptr {arrays[arg]}, i64 %{p}.i")
                args.append(writer.load(there, arg.dtype))
            value = self._applied(node, args)
            writer.store(value, code.name(f"getelementptr {in_memory(node.dtype)}, ptr {place}, i64 %{p}.i"))
        code.line(f"%{p}.next = add i64 %{p}.i, 1")
        code.line(f"%{p}.all = icmp eq i64 %{p}.next, {math.prod(node.shape)}")
        code.line(f"br i1 %{p}.all, label %{p}.over, label %{p}.one")
        code.label(f"{p}.over")
        self.known[node] = place

    def _inner(self, node: Node) -> None:
        """A loop in this one."""
        code, writer, inner = self.code, self.writer, node.settings["loop"]
        a, b = inner.carried, inner.carried + len(inner.slices)
        first, final = list[Array](), list[str]()
        for k, arg in enumerate(node.args[:a]):
            place = ""
            if is_array(arg):
                place = self._address(arg)
                if (node, k) not in self.order.in_place:
                    copy = writer._scratch(arg.shape, arg.dtype)
                    writer.move(copy, place, bytes_of(arg))
                    place = copy
            first.append(place or self._number(arg))
            final.append(place)
        fixed = [self._address(arg) if is_array(arg) else self._number(arg) for arg in node.args[b:]]
        limit = str(inner.count)
        if inner.ends == "when told":
            limit = code.least(self._number(node.args[-1]).name, limit)
        rows = []
        for arg, window in zip(node.args[a:b], inner.slices, strict=True):
            row, from_end = row_bytes(arg), window.start < 0
            there = 0 if from_end else window.start * row
            place = code.name(f"getelementptr i8, ptr {self._address(arg)}, i64 {there}")
            rows.append((place, window.step * row, from_end))
        users = [(user, i) for user in self.found.nodes for i, arg in enumerate(user.args)]
        stacks = list[tuple[str, int, bool] | None]()
        whole = list[tuple[str, int, int]]()
        for k in range(a, a + inner.stacks):
            part = next((p for p in self.found.nodes if p.op is None and p.args[0] is node and p.value == k), None)
            if part is None:
                stacks.append(None)
                continue
            place, size, row = writer._scratch(part.shape, part.dtype), bytes_of(part), row_bytes(part)
            backwards = inner.stacks - (k - a) <= inner.backwards
            read = [i for user, i in users if user.args[i] is part and not by_turn(user, i)]
            if inner.ends:
                stacks.append((place, -row if backwards else row, backwards))
                if read or any(x is part for x in self.found.outputs):
                    whole.append((place, row, size))
            else:
                there = code.name(f"getelementptr i8, ptr {place}, i64 {(inner.count - 1) * row if backwards else 0}")
                stacks.append((there, -row if backwards else row, False))
            final.append(place)
        made = writer._loop(inner, LoopEntry(first, rows, fixed, stacks, final, "0", limit, limit))
        for place, row, size in whole:
            writer.fill(place, made.turns, row, size)
        results = [*made.results]
        places = iter(final[a:])
        results += [next(places) if stack is not None else None for stack in stacks]
        self.made[node] = [*results, IRValue(code, made.turns, "i8")] if inner.asks else results


def _at(k: int) -> str:
    return f"%at{k}"
