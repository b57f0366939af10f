"""Vectors of which only some lanes are read or written. Their elements lie side by side."""

from __future__ import annotations

from adjoint.native.codegen.llvm_text import REGISTER, Code
from adjoint.native.codegen.loops.edges import in_bits, lanes_of

SHORT = 4  # bytes; no instruction but AVX-512's masks shorter elements


def align_of(dtype: str) -> int:
    return int(dtype[1])


def suffix(width: int, dtype: str) -> str:
    """The ending of the names of LLVM's functions of vectors."""
    one = {"f4": "f32", "f8": "f64", "b1": "i8"}.get(dtype) or REGISTER[dtype]
    return f"v{width}{one}"


def load(code: Code, dtype: str, at: str, mask: str) -> str:
    """The lanes of a part of a `Mask` from the address `at` on, 0 in the others."""
    kind, bits, align = code.memory_type(dtype), f"<{code.width} x i1>", align_of(dtype)
    if align < SHORT and not in_bits():
        room = _room(code, "part", code.width * align)
        code.line(f"store {kind} zeroinitializer, ptr {room}, align 64")
        _copy_lanes(code, align, mask, at, room)
        return code.name(f"load {kind}, ptr {room}, align 64")
    name = f"llvm.masked.load.{suffix(code.width, dtype)}.p0"
    code.declare(name, kind, ["ptr", "i32", bits, kind])
    lanes = lanes_of(code, mask)
    return code.name(f"call {kind} @{name}(ptr {at}, i32 {align}, {bits} {lanes}, {kind} zeroinitializer)")


def store(code: Code, dtype: str, value: str, at: str, mask: str) -> None:
    """Write the lanes of a part of a `Mask` from the address `at` on."""
    kind, bits, align = code.memory_type(dtype), f"<{code.width} x i1>", align_of(dtype)
    if align < SHORT and not in_bits():
        room = _room(code, "part", code.width * align)
        code.line(f"store {kind} {value}, ptr {room}, align 64")
        _copy_lanes(code, align, mask, room, at)
        return
    name = f"llvm.masked.store.{suffix(code.width, dtype)}.p0"
    code.declare(name, "void", [kind, "ptr", "i32", bits])
    code.line(f"call void @{name}({kind} {value}, ptr {at}, i32 {align}, {bits} {lanes_of(code, mask)})")


def _room(code: Code, name: str, size: int) -> str:
    """Memory of the kernel's own, which all that asks for this name and size shares."""
    line = f"  %{name}{size} = alloca [{size} x i8], align 64"
    if line not in code.lines:
        code.lines.insert(0, line)
    return f"%{name}{size}"


def _copy_lanes(code: Code, size: int, mask: str, source: str, target: str) -> None:
    """Copy the elements of so many bytes in these lanes, in a loop: LLVM would write code for each lane."""
    one, n, lanes = f"i{8 * size}", code.fresh("n")[1:], _room(code, "lanes", code.width)
    code.line(f"store <{code.width} x i8> {mask}, ptr {lanes}, align 64")
    code.line(f"br label %cb{n}")
    code.label(f"cb{n}")
    code.line(f"br label %ch{n}")
    code.label(f"ch{n}")
    code.line(f"%ci{n} = phi i64 [ 0, %cb{n} ], [ %cj{n}, %ct{n} ]")
    there = code.name(f"load i8, ptr {code.name(f'getelementptr i8, ptr {lanes}, i64 %ci{n}')}")
    code.line(f"br i1 {code.name(f'icmp ne i8 {there}, 0')}, label %cw{n}, label %ct{n}")
    code.label(f"cw{n}")
    a, b = (code.name(f"getelementptr {one}, ptr {at}, i64 %ci{n}") for at in (source, target))
    element = code.name(f"load {one}, ptr {a}, align {size}")
    code.line(f"store {one} {element}, ptr {b}, align {size}")
    code.line(f"br label %ct{n}")
    code.label(f"ct{n}")
    code.line(f"%cj{n} = add i64 %ci{n}, 1")
    code.line(f"%cc{n} = icmp ult i64 %cj{n}, {code.width}")
    code.line(f"br i1 %cc{n}, label %ch{n}, label %ce{n}")
    code.label(f"ce{n}")
