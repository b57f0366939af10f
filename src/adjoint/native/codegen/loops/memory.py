"""How a kernel reads and writes its arrays: whole vectors, remainders, single elements, strided ones."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple, TypeAlias

from adjoint.core.memory import LINE
from adjoint.native.codegen.llvm_text import REGISTER, Code, IRValue
from adjoint.native.codegen.loops import columns as tables_of
from adjoint.native.codegen.loops import masked
from adjoint.native.codegen.loops.edges import lanes_of
from adjoint.native.codegen.loops.masked import align_of, suffix

_AHEAD = 2048  # how many bytes ahead prefetches ask for
GATHERED = 4  # bytes of an element, from which on processors gather them
NEAR = range(2, 5)  # strides for which reading what lies between is faster than gathering


#: An array, as the planner names it: a node of the graph, or memory of its own. Code needs only to tell them apart.
BufferKey: TypeAlias = Any


class Operand(NamedTuple):
    """An array that a kernel reads or writes: which one, and how far apart its elements lie along the domain's axes.

    `strides` count elements; `offset`, bytes. Of an array that is written at computed positions, `positions` is the
    number of the value that holds these; with `adds`, a written value is added to the old one. Where `block` is
    given, the number lies so many bytes `within` the place of that value, which the code may rely on.
    """

    buffer: BufferKey
    dtype: str
    strides: tuple[int, ...]
    offset: int = 0
    positions: int | None = None
    adds: bool = False
    block: BufferKey = None
    within: int = 0

    @property
    def place(self) -> tuple[BufferKey, int]:
        """The value whose address the kernel gets, and the offset there."""
        return (self.buffer if self.block is None else self.block), self.offset


class Access:
    """The part of a kernel's writer that knows of memory.

    Attributes:
        code: what is written.
        operands: the arrays: those that are read, then those that are written.
        places: the operands whose addresses the kernel gets.
        step: for each of them and each axis the stride, a number or its name in the code.
        strides: the same as numbers.
        at: where each of them is, inside of the loops that are open.
        values: what has been read and computed, by its number.
        vector: the axis that goes in vectors.
        mask: inside of the loop in vectors: whether all lanes are there, which, and which those of the last vector are.
        columns: operands that lie side by side in each row of a table; see `columns`.
    """

    code: Code
    operands: list[Operand]
    places: dict[tuple[BufferKey, int], int]
    step: list[list[int | str]]
    strides: list[list[int]]
    at: list[str]
    values: dict[int, IRValue]
    vector: int
    mask: tuple[str, str, str] | None
    columns: list[tuple[int, ...]]

    def pointers(self) -> list[str]:
        """The addresses of the operands."""
        names = addresses(self.code, len(self.places))
        return [self._inside(names[self.places[operand.place]], operand.within) for operand in self.operands]

    def _inside(self, place: str, within: int) -> str:
        return self.code.name(f"getelementptr i8, ptr {place}, i64 {within}") if within else place

    def _all_moved(self, axis: int, index: str) -> list[str]:
        """The addresses of all operands at the place `index` along `axis`; of columns, from that of the first one."""
        first = {k: table[0] for table in self.columns for k in table[1:]}
        moved = ["" if k in first else self._moved(k, axis, index) for k in range(len(self.at))]
        for k, head in first.items():
            moved[k] = self._inside(moved[head], self.operands[k].within - self.operands[head].within)
        return moved

    def _moved(self, k: int, axis: int, index: str) -> str:
        """The address of operand `k` at the place `index` along `axis`."""
        step = self.step[k][axis]
        if step == 0:
            return self.at[k]
        places = index if step == 1 else self.code.name(f"mul i64 {index}, {step}")
        return self.code.name(f"getelementptr {self._one(k)}, ptr {self.at[k]}, i64 {places}")

    def alone(self, k: int) -> IRValue:
        """One number, the same in all lanes."""
        code, operand = self.code, self.operands[k]
        kind = "i8" if operand.dtype == "b1" else REGISTER[operand.dtype]
        name = code.name(f"load {kind}, ptr {self.at[k]}, align {align_of(operand.dtype)}")
        if operand.dtype == "b1":
            name, kind = code.name(f"trunc i8 {name} to i1"), "i1"
        if code.width > 1:
            start = code.name(f"insertelement <{code.width} x {kind}> poison, {kind} {name}, i32 0")
            name = code.name(f"shufflevector <{code.width} x {kind}> {start}, <{code.width} x {kind}> poison, "
                             f"<{code.width} x i32> zeroinitializer")  # fmt: skip
        return IRValue(code, name, operand.dtype)

    def looked_up(self, k: int, positions: IRValue, spread: bool) -> IRValue:
        """The elements of operand `k` at these positions, counted from its address; `spread`: each lane has its own."""
        code, saved = self.code, self.at[k]
        if spread and code.width > 1:
            assert self.mask is not None
            pointers = self._pointers(saved, k, positions)
            lanes = lanes_of(code, self.mask[1])
            return self._in_register(self._gathered(k, lanes, pointers), self.operands[k].dtype)
        self.at[k] = self._at_position(k, positions)
        value = self._here(k)
        self.at[k] = saved
        return value

    def _at_position(self, k: int, positions: IRValue) -> str:
        """The address of operand `k` at positions that are the same in all lanes."""
        place = positions.name
        if self.code.width > 1:
            place = self.code.name(f"extractelement {positions.type} {place}, i32 0")
        return self.code.name(f"getelementptr {self._one(k)}, ptr {self.at[k]}, i64 {place}")

    def _here(self, k: int) -> IRValue:
        """The element at the present address of operand `k`."""
        return self._read_in_vectors([k])[k] if self.mask and self.step[k][self.vector] != 0 else self.alone(k)

    def _one(self, k: int) -> str:
        """The type of an element of operand `k` in memory."""
        dtype = self.operands[k].dtype
        return "i8" if dtype == "b1" else REGISTER[dtype]

    def _pointers(self, base: str, k: int, positions: IRValue) -> str:
        """The addresses of operand `k` at a position for each lane."""
        code, w, step = self.code, self.code.width, self.step[k][self.vector]
        places = positions.name
        if step != 0:
            places = code.name(f"add <{w} x i64> {places}, {self._apart_by(step)}")
        return code.name(f"getelementptr {self._one(k)}, ptr {base}, <{w} x i64> {places}")

    def ask_ahead(self, ks: Iterable[int]) -> None:
        """Have the processor fetch what is read soon, of operands whose elements lie side by side.

        What lies beyond an array's end does no harm: nothing is read.
        """
        for k in ks:
            if self.step[k][self.vector] == 1:
                self.code.declare("llvm.prefetch.p0", "void", ["ptr", "i32", "i32", "i32"])
                for line in range(0, self.code.width * align_of(self.operands[k].dtype), LINE):
                    place = self._inside(self.at[k], _AHEAD + line)
                    self.code.line(f"call void @llvm.prefetch.p0(ptr {place}, i32 0, i32 3, i32 1)")

    def in_vectors(self, ks: list[int]) -> None:
        """Read whole vectors, or at the end what is left of them, and keep them as values."""
        for k, value in self._read_in_vectors(ks).items():
            self.values[k] = value

    def _read_in_vectors(self, ks: list[int]) -> dict[int, IRValue]:
        if not ks:
            return {}
        assert self.mask is not None
        code, (full, lanes, last), n = self.code, self.mask, self.code.fresh("n")[1:]
        tables = [table for table in self.columns if table[0] in ks]
        dense = [table for table in tables if self._table(table).dense]
        close = [k for k in ks if self.step[k][self.vector] == 1]
        apart = [k for k in ks if k not in close and not any(k in table for table in tables)]
        near = [k for k in apart if self.step[k][self.vector] in NEAR and align_of(self.operands[k].dtype) >= GATHERED]
        code.line(f"br i1 {full}, label %lf{n}, label %lm{n}")
        code.label(f"lf{n}")
        short = [k for k in apart if align_of(self.operands[k].dtype) < GATHERED]
        apart = [k for k in apart if k not in short and k not in near]
        fast = {k: self._load(k) for k in close} | {k: self._one_by_one(k) for k in short}
        fast |= {k: self._leaving_out(k) for k in near}
        for table in tables:
            fast |= zip(table, tables_of.read(code, self._table(table)), strict=True)
        code.line(f"br label %ld{n}")
        code.label(f"lm{n}")
        slow = {k: masked.load(code, self.operands[k].dtype, self.at[k], last) for k in close}
        last = lanes_of(code, last)
        for table in dense:
            slow |= zip(table, tables_of.read(code, self._table(table), last), strict=True)
        wide = [k for table in tables if table not in dense for k in table]
        slow |= {k: self._gathered(k, last, self._apart(k)) for k in (*wide, *short, *near)}
        close += [*(k for table in tables for k in table), *short, *near]
        code.line(f"br label %le{n}")
        code.label(f"le{n}")
        code.line(f"br label %ld{n}")
        code.label(f"ld{n}")
        for k in close:
            kind = code.memory_type(self.operands[k].dtype)
            code.line(f"%q{n}.{k} = phi {kind} [ {fast[k]}, %lf{n} ], [ {slow[k]}, %le{n} ]")
        lanes = lanes_of(code, lanes) if apart else ""
        values = {k: self._in_register(f"%q{n}.{k}", self.operands[k].dtype) for k in close}
        for k in apart:
            values[k] = self._in_register(self._gathered(k, lanes, self._apart(k)), self.operands[k].dtype)
        return values

    def _in_register(self, name: str, dtype: str) -> IRValue:
        code = self.code
        if dtype == "b1":
            name = code.name(f"trunc {code.memory_type(dtype)} {name} to {code.type_of(dtype)}")
        return IRValue(code, name, dtype)

    def _load(self, k: int) -> str:
        dtype = self.operands[k].dtype
        return self.code.name(f"load {self.code.memory_type(dtype)}, ptr {self.at[k]}, align {align_of(dtype)}")

    def _leaving_out(self, k: int) -> str:
        """A vector of elements that lie a few places apart; what lies between is read too, but nothing after the last.

        Each vector in memory gives the lanes whose elements it holds; the last vector ends with the last element.
        """
        code, step, w = self.code, int(self.step[k][self.vector]), self.code.width
        kind, one, total = code.memory_type(self.operands[k].dtype), self._one(k), self._load(k)
        for v in range(1, step):
            first = v * w if v < step - 1 else (step - 1) * (w - 1)
            at = code.name(f"getelementptr {one}, ptr {self.at[k]}, i64 {first}")
            more = code.name(f"load {kind}, ptr {at}, align {align_of(self.operands[k].dtype)}")
            places = range(0, step * w, step)
            before = [i if v > 1 else place for i, place in enumerate(places)]
            lanes = [old if place < v * w else w + min(place - first, w - 1)
                     for old, place in zip(before, places, strict=True)]  # fmt: skip
            total = tables_of.shuffled(code, kind, total, more, lanes)
        return total

    def _one_by_one(self, k: int) -> str:
        """A vector of elements that lie apart and that no instruction gathers."""
        code, dtype, step = self.code, self.operands[k].dtype, self.step[k][self.vector]
        kind, one, total, at = code.memory_type(dtype), self._one(k), "poison", self.at[k]
        for i in range(code.width):
            at = code.name(f"getelementptr {one}, ptr {at}, i64 {step}") if i else at
            element = code.name(f"load {one}, ptr {at}, align {align_of(dtype)}")
            total = code.name(f"insertelement {kind} {total}, {one} {element}, i32 {i}")
        return total

    def _apart(self, k: int) -> str:
        """Where the elements lie of an operand whose elements do not lie side by side."""
        places = self._apart_by(self.step[k][self.vector])
        return self.code.name(f"getelementptr {self._one(k)}, ptr {self.at[k]}, <{self.code.width} x i64> {places}")

    def _apart_by(self, step: int | str) -> str:
        """0, `step`, 2 `step` … in the lanes."""
        code, w = self.code, self.code.width
        start = code.name(f"insertelement <{w} x i64> poison, i64 {step}, i32 0")
        same = code.name(f"shufflevector <{w} x i64> {start}, <{w} x i64> poison, <{w} x i32> zeroinitializer")
        return code.name(f"mul <{w} x i64> {same}, <{', '.join(f'i64 {i}' for i in range(w))}>")

    def _gathered(self, k: int, lanes: str, pointers: str) -> str:
        code, dtype, w = self.code, self.operands[k].dtype, self.code.width
        kind = code.memory_type(dtype)
        name = f"llvm.masked.gather.{suffix(code.width, dtype)}.v{w}p0"
        code.declare(name, kind, [f"<{w} x ptr>", "i32", f"<{w} x i1>", kind])
        arguments = f"<{w} x ptr> {pointers}, i32 {align_of(dtype)}, <{w} x i1> {lanes}, {kind} zeroinitializer"
        return code.name(f"call {kind} @{name}({arguments})")

    def placed(self, k: int, value: IRValue, positions: IRValue | None) -> None:
        """Store a value so many elements from where operand `k` is, or add it to the old one."""
        saved = self.at[k]
        if positions is not None:
            self.at[k] = self._at_position(k, positions)
        if self.operands[k].adds:
            before = self._here(k)
            value = sum_of(before, value)
        self.stored([(k, value)])
        self.at[k] = saved

    def stored(self, pairs: list[tuple[int, IRValue]]) -> None:
        """Store values to operands, with whole vectors or with what is left of them."""
        if not pairs:
            return
        code, n = self.code, self.code.fresh("n")[1:]
        ready = []
        for k, value in pairs:
            dtype = self.operands[k].dtype
            value = value.to(dtype)
            name = value.name
            if dtype == "b1":
                name = code.name(f"zext {value.type} {name} to {code.memory_type(dtype)}")
            ready.append((k, name, code.memory_type(dtype), align_of(dtype)))
        if self.mask is None:
            for k, name, kind, align in ready:
                if code.width > 1:
                    one = kind.split(" x ")[1][:-1]
                    name, kind = code.name(f"extractelement {kind} {name}, i32 0"), one
                code.line(f"store {kind} {name}, ptr {self.at[k]}, align {align}")
            return
        full, _, last = self.mask
        close = [r for r in ready if self.step[r[0]][self.vector] == 1]
        names = {k: name for k, name, _, _ in ready}
        tables = [table for table in self.columns if table[0] in names]
        for k, name, kind, _ in ready:
            if self.step[k][self.vector] != 1 and not any(k in table for table in tables):
                self._scatter(k, name, kind)
        if not close and not tables:
            return
        code.line(f"br i1 {full}, label %sf{n}, label %sm{n}")
        code.label(f"sf{n}")
        for k, name, kind, align in close:
            code.line(f"store {kind} {name}, ptr {self.at[k]}, align {align}")
        for table in tables:
            tables_of.write(code, self._table(table), [names[k] for k in table])
        code.line(f"br label %sd{n}")
        code.label(f"sm{n}")
        for table in tables:
            if self._table(table).dense:
                tables_of.write(code, self._table(table), [names[k] for k in table], lanes_of(code, last))
                continue
            for k in table:
                self._scatter(k, names[k], code.memory_type(self.operands[k].dtype))
        for k, name, _, _ in close:
            masked.store(code, self.operands[k].dtype, name, self.at[k], last)
        code.line(f"br label %sd{n}")
        code.label(f"sd{n}")

    def _table(self, table: tuple[int, ...]) -> tables_of.ColumnTable:
        """Where these columns are now."""
        k = table[0]
        dense = tables_of.is_dense(self.strides[k][self.vector], len(table))
        return tables_of.ColumnTable(self.at[k], self.step[k][self.vector], self.operands[k].dtype, len(table), dense)

    def _scatter(self, k: int, name: str, kind: str) -> None:
        assert self.mask is not None
        code, align, lanes = self.code, align_of(self.operands[k].dtype), lanes_of(self.code, self.mask[1])
        scatter = f"llvm.masked.scatter.{suffix(code.width, self.operands[k].dtype)}.v{code.width}p0"
        places, mask = self._apart(k), f"<{code.width} x i1>"
        code.declare(scatter, "void", [kind, f"<{code.width} x ptr>", "i32", mask])
        code.line(f"call void @{scatter}({kind} {name}, <{code.width} x ptr> {places}, i32 {align}, {mask} {lanes})")


def addresses(code: Code, count: int) -> list[str]:
    """The first `count` places of a step: each by its number in the table of addresses, and an offset."""
    names = []
    for i in range(count):
        slot = code.name(f"getelementptr i64, ptr %p, i64 {2 * i}")
        which = code.name(f"load i64, ptr {slot}")
        base_at = code.name(f"getelementptr ptr, ptr %b, i64 {which}")
        base = code.name(f"load ptr, ptr {base_at}")
        offset_at = code.name(f"getelementptr i64, ptr %p, i64 {2 * i + 1}")
        offset = code.name(f"load i64, ptr {offset_at}")
        names.append(code.name(f"getelementptr i8, ptr {base}, i64 {offset}"))
    return names


def sum_of(x: IRValue, y: IRValue) -> IRValue:
    """x + y, as NumPy adds elements of that dtype."""
    if x.dtype == "b1":
        return x | y
    return (x.to("f4") + y.to("f4")).to("f2") if x.dtype == "f2" else x + y
