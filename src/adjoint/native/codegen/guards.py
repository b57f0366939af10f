"""Whether a value is the same as when the program was recorded, bit by bit: if not, a flag is set and the call ends."""

from __future__ import annotations

from adjoint.native.codegen.jit import FunctionText
from adjoint.native.codegen.llvm_text import Code
from adjoint.native.codegen.loops.memory import addresses

_COMPARE = """
  %n.at = getelementptr i64, ptr %p, i64 6
  %n = load i64, ptr %n.at
  br label %head
head:
  %i = phi i64 [ 0, %0 ], [ %j, %same ]
  %all = icmp eq i64 %i, %n
  br i1 %all, label %done, label %one
one:
  %x.at = getelementptr i8, ptr {m0}, i64 %i
  %y.at = getelementptr i8, ptr {m1}, i64 %i
  %x = load i8, ptr %x.at
  %y = load i8, ptr %y.at
  %equal = icmp eq i8 %x, %y
  br i1 %equal, label %same, label %other
same:
  %j = add i64 %i, 1
  br label %head
other:
  store i64 1, ptr {m2}
  br label %done
done:
  ret void
"""


def write() -> FunctionText:
    """The code that compares the bytes of two values; called with these two, the flag, and how many there are."""
    code = Code()
    m0, m1, m2 = addresses(code, 3)
    lines = _COMPARE.format(m0=m0, m1=m1, m2=m2).splitlines()[1:]
    return FunctionText("define void @{name}(ptr %b, ptr %p)", [*code.lines, *lines], {})
