"""Reductions in the code of loops that write single elements: a number of all elements of an array."""

from __future__ import annotations

import math

from adjoint.graph.node import Node
from adjoint.native.codegen.llvm_text import IRValue, key_of
from adjoint.native.plan.classify import reduction_of
from adjoint.native.plan.loops.registers import lanes_of, of_lanes, together
from adjoint.native.plan.loops.structured_memory import MemoryCode, in_memory


def reduced(memory: MemoryCode, node: Node, place: str) -> IRValue:
    """What a reduction gives of all elements of the array at `place`, in the order of kernels: lane by lane."""
    arg, how, code = node.args[0], reduction_of(node), memory.code
    assert how is not None
    p, kind = code.fresh("r")[1:], in_memory(arg.dtype)
    count, lanes = math.prod(arg.shape), lanes_of(how)
    rows, rest = divmod(count, lanes)

    def element(at: str | int) -> IRValue:
        return memory.load(code.name(f"getelementptr {kind}, ptr {place}, i64 {at}"), arg.dtype).to(how.dtype)

    if rows < 3:
        total = together(how, [element(i) for i in range(count)], True)
        return how.finish(total).to(key_of(node.dtype))
    first = [element(k) for k in range(lanes)]
    code.line(f"br label %{p}.begin")
    code.label(f"{p}.begin")
    code.line(f"br label %{p}.row")
    code.label(f"{p}.row")
    code.line(f"%{p}.i = phi i64 [ {lanes}, %{p}.begin ], [ %{p}.next, %{p}.row ]")
    heads = len(code.lines)
    sums = [IRValue(code, f"%{p}.s{k}", how.dtype) for k in range(lanes)]
    with code.inner():
        new = [how.combine(x, element(code.name(f"add i64 %{p}.i, {k}"))) for k, x in enumerate(sums)]
    code.lines[heads:heads] = [
        f"  {x.name} = phi {x.type} [ {a.name}, %{p}.begin ], [ {b.name}, %{p}.row ]"
        for x, a, b in zip(sums, first, new, strict=True)
    ]
    code.line(f"%{p}.next = add i64 %{p}.i, {lanes}")
    code.line(f"%{p}.all = icmp eq i64 %{p}.next, {rows * lanes}")
    code.line(f"br i1 %{p}.all, label %{p}.over, label %{p}.row")
    code.label(f"{p}.over")
    lasts = [how.combine(x, element(rows * lanes + k)) if k < rest else x for k, x in enumerate(new)]
    return how.finish(of_lanes(how, lasts)).to(key_of(node.dtype))
