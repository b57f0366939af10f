"""Loops over turns: a table of steps that runs many times, while the addresses that the steps use move on.

The steps of a body find their arrays in their own table, a *block* of addresses. `begin` fills it from the outer
one. `turn` runs the steps; after each turn it moves the addresses of windows by their strides, and swaps those of
carried values. It stops after some turns, to be called again, so it can be interrupted.
"""

from __future__ import annotations

from functools import cache

from adjoint.native.codegen.jit import FunctionText
from adjoint.native.codegen.llvm_text import Code
from adjoint.native.codegen.loops.memory import addresses

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

# The same for a loop that ends when it is told, or by a condition. More numbers stand before the windows: places of the
# flag, of the number of turns that it is told, and of the one that it gives (-1: none); how many windows begin at the
# last turn, values are copied at the end, and stacks are filled. The tables of these come after the swaps. The word
# behind the number of turns done says whether more follow.
_TURN_TO_END = (
    _TURN.replace("i64 9\n", "i64 15\n")
    .replace(
        """  %until = add""",
        """  %copied.at = getelementptr [3 x i64], ptr %swaps, i64 %carried
  %n9.at = getelementptr i64, ptr %p, i64 9
  %flag.place = load i64, ptr %n9.at
  %n10.at = getelementptr i64, ptr %p, i64 10
  %times.place = load i64, ptr %n10.at
  %n11.at = getelementptr i64, ptr %p, i64 11
  %count.place = load i64, ptr %n11.at
  %n12.at = getelementptr i64, ptr %p, i64 12
  %aims = load i64, ptr %n12.at
  %n13.at = getelementptr i64, ptr %p, i64 13
  %copies = load i64, ptr %n13.at
  %n14.at = getelementptr i64, ptr %p, i64 14
  %fills = load i64, ptr %n14.at
  %copy.table = getelementptr [2 x i64], ptr %copied.at, i64 %aims
  %fill.table = getelementptr [3 x i64], ptr %copy.table, i64 %copies
  %is.told = icmp sge i64 %times.place, 0
  br i1 %is.told, label %told, label %asks
told:
  %times.at = getelementptr ptr, ptr {block}, i64 %times.place
  %times.value.at = load ptr, ptr %times.at
  %times = load i64, ptr %times.value.at
  br label %asks
asks:
  %limit = phi i64 [ %most, %0 ], [ %times, %told ]
  %is.first = icmp eq i64 %before, 0
  br i1 %is.first, label %aim, label %ready
aim:
  %m = phi i64 [ 0, %asks ], [ %m.next, %aim.one ]
  %m.all = icmp eq i64 %m, %aims
  br i1 %m.all, label %ready, label %aim.one
aim.one:
  %aim.at = getelementptr [2 x i64], ptr %copied.at, i64 %m
  %aimed = load i64, ptr %aim.at
  %row.at = getelementptr i64, ptr %aim.at, i64 1
  %row = load i64, ptr %row.at
  %ahead = sub i64 %limit, 1
  %far = mul i64 %ahead, %row
  %aim.place = getelementptr ptr, ptr {block}, i64 %aimed
  %aim.from = load ptr, ptr %aim.place
  %aim.to = getelementptr i8, ptr %aim.from, i64 %far
  store ptr %aim.to, ptr %aim.place
  %m.next = add i64 %m, 1
  br label %aim
ready:
  %until = add""",
    )
    .replace("%count = load", "%most = load")
    .replace("i64 %count, ", "i64 %limit, ")
    .replace("[ %before, %0 ]", "[ %before, %ready ]")
    .replace("label %move, label %step.one", "label %asked, label %step.one")
    .replace(
        """move:
  %j = phi i64 [ 0, %step ]""",
        """asked:
  %has.flag = icmp sge i64 %flag.place, 0
  br i1 %has.flag, label %ask, label %takes.place
ask:
  %flag.at = getelementptr ptr, ptr {block}, i64 %flag.place
  %flag.value.at = load ptr, ptr %flag.at
  %flag = load i8, ptr %flag.value.at
  %goes.on = icmp ne i8 %flag, 0
  br i1 %goes.on, label %takes.place, label %ended
ended:
  br label %over
takes.place:
  br label %move
move:
  %j = phi i64 [ 0, %takes.place ]""",
    )
    .replace(
        """  store i64 %t, ptr %done.at
  ret void
""",
        """  %more = icmp ult i64 %t, %limit
  br label %over
over:
  %unfinished = phi i1 [ %more, %done ], [ false, %ended ]
  store i64 %t, ptr %done.at
  %word.at = getelementptr i64, ptr %done.at, i64 1
  %word = zext i1 %unfinished to i64
  store i64 %word, ptr %word.at
  br i1 %unfinished, label %leave, label %counted
counted:
  %gives.count = icmp sge i64 %count.place, 0
  br i1 %gives.count, label %give, label %copy
give:
  %given.at = getelementptr ptr, ptr {block}, i64 %count.place
  %given = load ptr, ptr %given.at
  store i64 %t, ptr %given
  br label %copy
copy:
  %c = phi i64 [ 0, %counted ], [ 0, %give ], [ %c.next, %copy.one ]
  %c.all = icmp eq i64 %c, %copies
  br i1 %c.all, label %fill, label %copy.one
copy.one:
  %copy.at = getelementptr [3 x i64], ptr %copy.table, i64 %c
  %copy.from.place = load i64, ptr %copy.at
  %copy.to.at = getelementptr i64, ptr %copy.at, i64 1
  %copy.to.place = load i64, ptr %copy.to.at
  %copy.bytes.at = getelementptr i64, ptr %copy.at, i64 2
  %copy.bytes = load i64, ptr %copy.bytes.at
  %copy.from.at = getelementptr ptr, ptr {block}, i64 %copy.from.place
  %copy.from = load ptr, ptr %copy.from.at
  %copy.into.at = getelementptr ptr, ptr {block}, i64 %copy.to.place
  %copy.into = load ptr, ptr %copy.into.at
  call void @llvm.memmove.p0.p0.i64(ptr %copy.into, ptr %copy.from, i64 %copy.bytes, i1 false)
  %c.next = add i64 %c, 1
  br label %copy
fill:
  %f = phi i64 [ 0, %copy ], [ %f.next, %fill.one ]
  %f.all = icmp eq i64 %f, %fills
  br i1 %f.all, label %leave, label %fill.one
fill.one:
  %fill.at = getelementptr [3 x i64], ptr %fill.table, i64 %f
  %fill.place = load i64, ptr %fill.at
  %fill.row.at = getelementptr i64, ptr %fill.at, i64 1
  %fill.row = load i64, ptr %fill.row.at
  %fill.bytes.at = getelementptr i64, ptr %fill.at, i64 2
  %fill.bytes = load i64, ptr %fill.bytes.at
  %filled.at = getelementptr ptr, ptr {block}, i64 %fill.place
  %filled = load ptr, ptr %filled.at
  %used = mul i64 %t, %fill.row
  %left = sub i64 %fill.bytes, %used
  %rest = getelementptr i8, ptr %filled, i64 %used
  call void @llvm.memset.p0.i64(ptr %rest, i8 0, i64 %left, i1 false)
  %f.next = add i64 %f, 1
  br label %fill
leave:
  ret void
""",
    )
)
_MEMORY = {
    "llvm.memmove.p0.p0.i64": "declare void @llvm.memmove.p0.p0.i64(ptr, ptr, i64, i1)",
    "llvm.memset.p0.i64": "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)",
}


def _written(text: str, declared: dict[str, str] | None = None) -> FunctionText:
    code = Code()
    (block,) = addresses(code, 1)
    return FunctionText(
        "define void @{name}(ptr %b, ptr %p)", [*code.lines, *text.format(block=block).splitlines()[1:]], declared or {}
    )


@cache
def begin() -> FunctionText:
    """The code that fills the block of a loop."""
    return _written(_BEGIN)


@cache
def turn() -> FunctionText:
    """The code that runs some turns."""
    return _written(_TURN)


@cache
def turn_to_end() -> FunctionText:
    """The code that runs some turns of a loop that ends at a given number of turns, or by a condition."""
    return _written(_TURN_TO_END, _MEMORY)
