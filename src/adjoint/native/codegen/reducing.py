"""How a kernel takes elements together: in registers inside of its innermost loop, outside of it in memory.

Sums are taken in a fixed order: lane by lane in blocks, then the blocks, then the lanes in pairs.
"""

from __future__ import annotations

from adjoint.native.codegen.edges import in_bits, lanes_of
from adjoint.native.codegen.llvm_text import REGISTER, IRValue
from adjoint.native.codegen.loop_nest import Reduction, Spec
from adjoint.native.codegen.masked import align_of
from adjoint.native.codegen.memory import Access


class Reducing(Access):
    """The part of a kernel's writer that knows of reductions.

    Attributes:
        spec: what the kernel computes.
        written_from: the number of the first operand that is written.
        last_reduced: whether the loop in vectors is reduced, so that lanes are combined in the end.
        written_out: short axes whose elements are written out, one after another.
        totals: for each store the address of what there is so far; empty, where it is no reduction's.
        sums: of short reductions, what there is so far.
        running: inside of the innermost loop: the results so far of all reductions, and the names of those after it.
    """

    spec: Spec
    written_from: int
    last_reduced: bool
    written_out: dict[int, int]
    totals: list[str]
    sums: list[IRValue | None]
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
        if not self.written_out:
            self._put([start for start in starts if start])
        self.sums = list(starts)

    def so_far(self) -> list[IRValue]:
        """The results so far, from memory."""
        code = self.code
        return [
            IRValue(code, code.name(f"load {code.type_of(_kept(r))}, ptr {self.totals[k]}, align 64"), _kept(r))
            for k, _, r in self.reductions()
        ]

    def run(self, n: str, entry: str, starts: list[IRValue] | None = None) -> None:
        """At the beginning of the innermost loop `n`: its results are in registers, from `starts` on."""
        code = self.code
        starts = starts or [code.constant(r.identity, _kept(r)) for _, _, r in self.reductions()]
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
                rows = zip(self.reductions(), self.so_far(), found, strict=True)
                found = [reduction.combine(before, new) for (_, _, reduction), before, new in rows]
            self._put(found)
        self.running = []

    def _put(self, values: list[IRValue]) -> None:
        for (k, _, _), value in zip(self.reductions(), values, strict=True):
            self.code.line(f"store {value.type} {value.name}, ptr {self.totals[k]}, align 64")

    def take(self) -> None:
        """Take the values of one place, or of a vector of them, to the results."""
        code, given = self.code, self._given()
        if self.running:
            for (_, _, reduction), new, (before, name) in zip(self.reductions(), given, self.running, strict=True):
                after = reduction.combine(before, new)
                code.line(f"{name} = select i1 true, {after.type} {after.name}, {after.type} {after.name}")
        elif self.written_out:
            for (k, _, reduction), new in zip(self.reductions(), given, strict=True):
                total = self.sums[k]
                assert total is not None
                self.sums[k] = reduction.combine(total, new)
        else:
            rows = zip(self.reductions(), self.so_far(), given, strict=True)
            self._put([reduction.combine(before, new) for (_, _, reduction), before, new in rows])

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
            for (k, _, reduction), total in zip(self.reductions(), totals, strict=True):
                if self.written_out or not self.last_reduced:
                    self.stored([(count + k, reduction.finish(total))])
                    continue
                dtype = self.operands[count + k].dtype
                result = reduction.finish(code.in_pairs(reduction.combine, total)).to(dtype)
                kind, name = REGISTER[dtype], result.name
                if dtype == "b1":
                    kind, name = "i8", code.name(f"zext i1 {name} to i8")
                code.line(f"store {kind} {name}, ptr {self.at[count + k]}, align {align_of(dtype)}")
                code.width = width


def _kept(reduction: Reduction) -> str:
    """The dtype of the results so far: truth values are bytes, where masks are."""
    return "u1" if reduction.dtype == "b1" and not in_bits() else reduction.dtype
