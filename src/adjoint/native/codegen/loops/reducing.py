"""How a kernel takes elements together: in registers inside of its innermost loop, outside of it in memory.

Sums are taken in a fixed order: lane by lane in blocks, then the blocks, then the lanes in pairs.
"""

from __future__ import annotations

import numpy as np

from adjoint.native.codegen.llvm_text import REGISTER, IRValue
from adjoint.native.codegen.loops.edges import in_bits, lanes_of
from adjoint.native.codegen.loops.loop_nest import Reduction, Spec
from adjoint.native.codegen.loops.masked import align_of
from adjoint.native.codegen.loops.memory import Access


class Reducing(Access):
    """The part of a kernel's writer that knows of reductions.

    Attributes:
        spec: what the kernel computes.
        written_from: the number of the first operand that is written.
        last_reduced: whether the loop in vectors is reduced, so that lanes are combined in the end.
        written_out: short axes whose elements are written out, one after another.
        totals: for each store the address of what there is so far; empty, where it is no reduction's.
        sums: of short reductions, what there is so far.
        in_registers: whether the results so far of a loop of blocks are in registers, not in memory.
        blocks: these results.
        running: inside of the innermost loop: the results so far of all reductions, and the names of those after it.
    """

    spec: Spec
    written_from: int
    last_reduced: bool
    written_out: dict[int, int]
    totals: list[str]
    sums: list[IRValue | None]
    in_registers: bool
    blocks: list[IRValue]
    running: list[tuple[IRValue, str]]

    def reductions(self) -> list[tuple[int, int, Reduction]]:
        """The number of each store that is a reduction, that of its value, and how it is taken together."""
        stores = enumerate(self.spec.stores)
        return [(k, value, reduction) for k, (value, _, reduction) in stores if reduction]

    def places_of_totals(self) -> None:
        """Make memory for the results so far."""
        code = self.code
        self.totals = [
            code.name(f"alloca {code.type_of(_kept(r))}, align 64") if r else "" for _, _, r in self.spec.stores
        ]

    def begin(self) -> None:
        """Begin all reductions anew."""
        starts = [r and self.code.constant(r.identity, _kept(r)) for _, _, r in self.spec.stores]
        if not (self.written_out or self.in_registers):
            self._put([start for start in starts if start])
        self.sums = list(starts)

    def totals_of(self, n: str, entry: str) -> None:
        """At the beginning of a loop of blocks: the results of those before."""
        code = self.code
        self.blocks = [IRValue(code, f"%p{n}.{k}", start.dtype) for k, start in enumerate(self._starts())]
        for total, start in zip(self.blocks, self._starts(), strict=True):
            code.line(f"{total.name} = phi {start.type} [ {start.name}, %{entry} ], [ {total.name}.next, %u{n} ]")

    def _starts(self) -> list[IRValue]:
        return [self.code.constant(r.identity, _kept(r)) for _, _, r in self.reductions()]

    def so_far(self) -> list[IRValue]:
        """The results so far, from memory if they are there."""
        code = self.code
        if self.in_registers:
            return self.blocks
        return [
            IRValue(code, code.name(f"load {code.type_of(_kept(r))}, ptr {self.totals[k]}, align 64"), _kept(r))
            for k, _, r in self.reductions()
        ]

    def run(self, n: str, entry: str, starts: list[IRValue] | None = None) -> None:
        """At the beginning of the innermost loop `n`: its results are in registers, from `starts` on."""
        code = self.code
        starts = starts or self._starts()
        self.running = []
        for k, start in enumerate(starts):
            name = f"%s{n}.{k}"
            code.line(f"{name} = phi {start.type} [ {start.name}, %{entry} ], [ {name}.next, %t{n} ]")
            self.running.append((IRValue(code, name, start.dtype), f"{name}.next"))

    def end_run(self, combine: bool) -> None:
        """After the innermost loop, or a block of it: put the results to what there is so far, or in place of it."""
        code = self.code
        with code.inner():
            found = [IRValue(code, name, before.dtype) for before, name in self.running]
            if combine:
                found = self._combined(self.so_far(), found)
            if self.in_registers:
                for total, after in zip(self.blocks, found, strict=True):
                    self._named(f"{total.name}.next", after)
                self.blocks = [IRValue(code, f"{total.name}.next", total.dtype) for total in self.blocks]
            else:
                self._put(found)
        self.running = []

    def _combined(self, before: list[IRValue], new: list[IRValue]) -> list[IRValue]:
        """The results of all reductions of what came before and of what is new."""
        found = list[IRValue]()
        for k, ((_, _, reduction), x, y) in enumerate(zip(self.reductions(), before, new, strict=True)):
            if reduction.passes:
                found.append(self.code.select(reduction.passes(before[k - 1], new[k - 1]), y, x))
            else:
                found.append(reduction.combine(x, y))
        return found

    def _across(self, totals: list[IRValue]) -> list[IRValue]:
        """The results of all lanes."""
        code, width, found = self.code, self.code.width, list[IRValue]()
        for k, ((_, _, reduction), total) in enumerate(zip(self.reductions(), totals, strict=True)):
            if reduction.passes:
                passed = reduction.passes(totals[k - 1], code.spread(found[k - 1]))
                total = code.select(passed, np.iinfo(total.dtype).max, total)
            found.append(code.in_pairs(reduction.combine, total))
            code.width = width
        return found

    def _put(self, values: list[IRValue]) -> None:
        for (k, _, _), value in zip(self.reductions(), values, strict=True):
            self.code.line(f"store {value.type} {value.name}, ptr {self.totals[k]}, align 64")

    def _named(self, name: str, value: IRValue) -> None:
        """Give a value a name by which a line before this one knows it."""
        self.code.line(f"{name} = select i1 true, {value.type} {value.name}, {value.type} {value.name}")

    def take(self) -> None:
        """Take the values of one place, or of a vector of them, to the results."""
        given = self._given()
        if self.running:
            found = self._combined([before for before, _ in self.running], given)
            for after, (_, name) in zip(found, self.running, strict=True):
                self._named(name, after)
        elif self.written_out:
            found = self._combined([total for total in self.sums if total], given)
            for (k, _, _), after in zip(self.reductions(), found, strict=True):
                self.sums[k] = after
        else:
            self._put(self._combined(self.so_far(), given))

    def _given(self) -> list[IRValue]:
        """The values that reductions take; of a part of a vector, with what changes nothing in the other lanes.

        Whole vectors go a way of their own: only AVX-512 has cheap masks.
        """
        code, n = self.code, self.code.fresh("n")[1:]
        found = [self.values[value].to(r.dtype).to(_kept(r)) for _, value, r in self.reductions()]
        if not found or not self.last_reduced or not self.mask:
            return found
        full, _, last = self.mask
        code.line(f"br i1 {full}, label %rf{n}, label %rm{n}")
        code.label(f"rf{n}")
        code.line(f"br label %rd{n}")
        code.label(f"rm{n}")
        with code.inner():
            lanes = IRValue(code, lanes_of(code, last), "b1")
            rows = zip(self.reductions(), found, strict=True)
            part = [code.select(lanes, new, reduction.identity) for (_, _, reduction), new in rows]
        code.line(f"br label %rd{n}")
        code.label(f"rd{n}")
        for k, (new, some) in enumerate(zip(found, part, strict=True)):
            code.line(f"%r{n}.{k} = phi {new.type} [ {new.name}, %rf{n} ], [ {some.name}, %rm{n} ]")
        return [IRValue(code, f"%r{n}.{k}", new.dtype) for k, new in enumerate(found)]

    def finish(self) -> None:
        """Combine the lanes, if they were reduced, and store the results."""
        code, count, width = self.code, self.written_from, self.code.width
        with code.inner():
            totals = [total for total in self.sums if total] if self.written_out else self.so_far()
            across = self.last_reduced and not self.written_out
            if across:
                totals = self._across(totals)
            for (k, _, reduction), total in zip(self.reductions(), totals, strict=True):
                if not across:
                    self.stored([(count + k, reduction.finish(total))])
                    continue
                dtype = self.operands[count + k].dtype
                code.width = 1
                result = reduction.finish(total).to(dtype)
                kind, name = REGISTER[dtype], result.name
                if dtype == "b1":
                    kind, name = "i8", code.name(f"zext i1 {name} to i8")
                code.line(f"store {kind} {name}, ptr {self.at[count + k]}, align {align_of(dtype)}")
            code.width = width


def _kept(reduction: Reduction) -> str:
    """The dtype of the results so far: truth values are bytes, where masks are."""
    return "u1" if reduction.dtype == "b1" and not in_bits() else reduction.dtype
