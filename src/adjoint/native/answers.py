"""Whether a value is what it was when the program was recorded, bit by bit: if not, a flag is set and the call ends."""

from __future__ import annotations

from adjoint.native.engine import Function

_LINES = """
  %ws{i} = getelementptr i64, ptr %p, i64 {at}
  %w{i} = load i64, ptr %ws{i}
  %ba{i} = getelementptr ptr, ptr %b, i64 %w{i}
  %a{i} = load ptr, ptr %ba{i}
  %os{i} = getelementptr i64, ptr %p, i64 {next}
  %o{i} = load i64, ptr %os{i}
  %m{i} = getelementptr i8, ptr %a{i}, i64 %o{i}
"""
_COMPARE = """
  %n.at = getelementptr i64, ptr %p, i64 6
  %n = load i64, ptr %n.at
  br label %head
head:
  %i = phi i64 [ 0, %0 ], [ %j, %same ]
  %all = icmp eq i64 %i, %n
  br i1 %all, label %done, label %one
one:
  %x.at = getelementptr i8, ptr %m0, i64 %i
  %y.at = getelementptr i8, ptr %m1, i64 %i
  %x = load i8, ptr %x.at
  %y = load i8, ptr %y.at
  %equal = icmp eq i8 %x, %y
  br i1 %equal, label %same, label %other
same:
  %j = add i64 %i, 1
  br label %head
other:
  store i64 1, ptr %m2
  br label %done
done:
  ret void
"""


def write() -> Function:
    """The code that compares the bytes of two values; called with these two, the flag, and how many there are."""
    text = "".join(_LINES.format(i=i, at=2 * i, next=2 * i + 1) for i in range(3)) + _COMPARE
    return Function("define void @{name}(ptr %b, ptr %p)", [line for line in text.splitlines() if line], {})
