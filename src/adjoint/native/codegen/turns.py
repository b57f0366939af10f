"""Loops over turns: a table of steps that is run many times, with the addresses that the steps use moving on.

The steps of a body find their arrays in a table of their own, a *block* of addresses. `begin` fills it from the outer
one. `turn` runs the steps; after each turn it moves the addresses of windows by their strides, and what was written as
the next carried value becomes what is read. It stops after so many turns, to be called again, so it can be interrupted.
"""

from __future__ import annotations

from functools import cache

from adjoint.native.codegen.jit import Function
from adjoint.native.codegen.llvm_text import Code
from adjoint.native.codegen.memory import addresses

# Operands: the block, then an array for each of its places; then -1. The number of turns done lies in the block's end.
_BEGIN = """
  br label %head
head:
  %k = phi i64 [ 0, %0 ], [ %k.next, %one ]
  %at = getelementptr [2 x i64], ptr %p, i64 %k
  %from.at = getelementptr [2 x i64], ptr %at, i64 1
  %from = load i64, ptr %from.at
  %place = getelementptr ptr, ptr {block}, i64 %k
  %end = icmp slt i64 %from, 0
  br i1 %end, label %done, label %one
one:
  %outer = getelementptr ptr, ptr %b, i64 %from
  %base = load ptr, ptr %outer
  %offset.at = getelementptr i64, ptr %from.at, i64 1
  %offset = load i64, ptr %offset.at
  %there = getelementptr i8, ptr %base, i64 %offset
  store ptr %there, ptr %place
  %k.next = add i64 %k, 1
  br label %head
done:
  store i64 0, ptr %place
  ret void
"""

# Operands: the block. Numbers: turns a call, turns, the table of steps and how many, places of the block, windows,
# carried values; for each window its place and stride in bytes; for each carried value the places where it is read,
# written, and written next.
_TURN = """
  %n0.at = getelementptr i64, ptr %p, i64 2
  %few = load i64, ptr %n0.at
  %n1.at = getelementptr i64, ptr %p, i64 3
  %count = load i64, ptr %n1.at
  %n2.at = getelementptr i64, ptr %p, i64 4
  %table = load ptr, ptr %n2.at
  %n3.at = getelementptr i64, ptr %p, i64 5
  %steps = load i64, ptr %n3.at
  %n4.at = getelementptr i64, ptr %p, i64 6
  %places = load i64, ptr %n4.at
  %n5.at = getelementptr i64, ptr %p, i64 7
  %windows = load i64, ptr %n5.at
  %n6.at = getelementptr i64, ptr %p, i64 8
  %carried = load i64, ptr %n6.at
  %moves = getelementptr i64, ptr %p, i64 9
  %swaps = getelementptr [2 x i64], ptr %moves, i64 %windows
  %done.at = getelementptr i64, ptr {block}, i64 %places
  %before = load i64, ptr %done.at
  %until = add i64 %before, %few
  %late = icmp ult i64 %count, %until
  %stop = select i1 %late, i64 %count, i64 %until
  br label %turn
turn:
  %t = phi i64 [ %before, %0 ], [ %t.next, %swap.all ]
  %t.all = icmp uge i64 %t, %stop
  br i1 %t.all, label %done, label %step
step:
  %i = phi i64 [ 0, %turn ], [ %i.next, %step.one ]
  %i.all = icmp eq i64 %i, %steps
  br i1 %i.all, label %move, label %step.one
step.one:
  %step.at = getelementptr [2 x ptr], ptr %table, i64 %i
  %kernel = load ptr, ptr %step.at
  %numbers.at = getelementptr ptr, ptr %step.at, i64 1
  %numbers = load ptr, ptr %numbers.at
  call void %kernel(ptr {block}, ptr %numbers)
  %i.next = add i64 %i, 1
  br label %step
move:
  %j = phi i64 [ 0, %step ], [ %j.next, %move.one ]
  %j.all = icmp eq i64 %j, %windows
  br i1 %j.all, label %swap, label %move.one
move.one:
  %move.at = getelementptr [2 x i64], ptr %moves, i64 %j
  %moved = load i64, ptr %move.at
  %stride.at = getelementptr i64, ptr %move.at, i64 1
  %stride = load i64, ptr %stride.at
  %window.at = getelementptr ptr, ptr {block}, i64 %moved
  %window = load ptr, ptr %window.at
  %window.next = getelementptr i8, ptr %window, i64 %stride
  store ptr %window.next, ptr %window.at
  %j.next = add i64 %j, 1
  br label %move
swap:
  %k = phi i64 [ 0, %move ], [ %k.next, %swap.one ]
  %k.all = icmp eq i64 %k, %carried
  br i1 %k.all, label %swap.all, label %swap.one
swap.one:
  %swap.at = getelementptr [3 x i64], ptr %swaps, i64 %k
  %read = load i64, ptr %swap.at
  %written.at = getelementptr i64, ptr %swap.at, i64 1
  %written = load i64, ptr %written.at
  %spare.at = getelementptr i64, ptr %swap.at, i64 2
  %spare = load i64, ptr %spare.at
  %read.place = getelementptr ptr, ptr {block}, i64 %read
  %written.place = getelementptr ptr, ptr {block}, i64 %written
  %spare.place = getelementptr ptr, ptr {block}, i64 %spare
  %new = load ptr, ptr %written.place
  %other = load ptr, ptr %spare.place
  store ptr %new, ptr %read.place
  store ptr %other, ptr %written.place
  store ptr %new, ptr %spare.place
  %k.next = add i64 %k, 1
  br label %swap
swap.all:
  %t.next = add i64 %t, 1
  br label %turn
done:
  store i64 %t, ptr %done.at
  ret void
"""


def _written(text: str) -> Function:
    code = Code()
    (block,) = addresses(code, 1)
    return Function(
        "define void @{name}(ptr %b, ptr %p)", [*code.lines, *text.format(block=block).splitlines()[1:]], {}
    )


@cache
def begin() -> Function:
    """The code that fills the block of a loop."""
    return _written(_BEGIN)


@cache
def turn() -> Function:
    """The code that runs some turns."""
    return _written(_TURN)
