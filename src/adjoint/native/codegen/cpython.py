"""Python's C interface: addresses of functions, contents of capsules, and built-in functions with C code from here."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from adjoint.core.types import Function, Value
from adjoint.native.codegen.jit import NativeModule, external, module
from adjoint.native.codegen.layout import StructLayout

_HEAD = object.__basicsize__  # where an object's own fields begin; the word before them is its type
# Objects of Python's and NumPy's, as far as native code reads them: any one, with the value of a float; how many items
# a tuple has; the first of them; an array.
OBJECT = StructLayout("object", {"type": "ptr", "value": "double"}, _HEAD - 8)
TUPLE = StructLayout("tuple", {"count": "i64"}, _HEAD)
ITEMS = StructLayout("items", {"first": "ptr", "second": "ptr"}, tuple.__basicsize__)
ARRAY = StructLayout(
    "array",
    {"data": "ptr", "ndim": "i32", "dims": "ptr", "strides": "ptr", "base": "ptr", "descr": "ptr", "flags": "i32"},
    _HEAD,
)


def address_of(function: Value) -> int:
    """Where a function of a C library begins."""
    return ctypes.cast(function, ctypes.c_void_p).value or 0


def pointer_in(capsule: object) -> tuple[int, bytes | None]:
    """What a capsule holds: an address, and the name that goes with it."""
    get_name, get = ctypes.pythonapi.PyCapsule_GetName, ctypes.pythonapi.PyCapsule_GetPointer
    get_name.restype, get_name.argtypes = ctypes.c_char_p, [ctypes.py_object]
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    name: bytes | None = get_name(capsule)
    return int(get(capsule, name)), name


def announced(objects: Mapping[str, object], called: Mapping[str, str], elsewhere: Mapping[str, int]) -> str:
    """LLVM's declarations of Python's `objects`, and of the functions `called`, by name with what they give and take.

    Functions lie where `elsewhere` says, the others in Python.
    """
    lines = [f"{external(name, id(thing))} = external global i8" for name, thing in objects.items()]
    for name, signature in called.items():
        result, arguments = signature.split(" ", 1)
        address = elsewhere[name] if name in elsewhere else address_of(getattr(ctypes.pythonapi, name))
        lines.append(f"declare {result} {external(name, address)}{arguments}")
    return "\n".join(lines)


class _MethodDefinition(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


class BuiltinEntry(NamedTuple):
    """C code that Python calls, and what Python has to know of it."""

    code: NativeModule
    method: _MethodDefinition


def entry(text: str, name: bytes, takes: int, doc: bytes, function: str = "enter") -> BuiltinEntry:
    """A `function` of this LLVM text; `takes` are Python's flags for its arguments."""
    code = module(text)
    made = BuiltinEntry(code, _MethodDefinition(name, code.address(function), takes, doc))
    _ENTRIES.append(made)
    return made


# Python's functions, and its collector, read these as long as any such function is there: they stay.
_ENTRIES: list[BuiltinEntry] = []


class ProgramWords(np.ndarray[Value, Value]):
    """The words that describe a program, and whatever must live as long as they are used."""

    owner: Value


def table(words: Sequence[int], owner: Value) -> ProgramWords:
    """A table of `words`."""
    made = np.array(words, np.int64).view(ProgramWords)
    made.owner = owner
    return made


def words_read(layout: StructLayout) -> str:
    """The lines with which C code begins: they read the table, the data of the array that is its ``self``."""
    lines = [
        f"  %self.data = getelementptr i8, ptr %self, i64 {ARRAY.offsets['data']}",
        "  %words = load ptr, ptr %self.data",
    ]
    return "\n".join([*lines, layout.read("%words")])


def builtin(enter: BuiltinEntry, words: ProgramWords) -> Function:
    """The Python function whose C code is `enter`, and whose ``self`` are the `words`."""
    make = ctypes.pythonapi.PyCFunction_NewEx
    make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p]
    made: Function = make(ctypes.addressof(enter.method), words, None)
    return made
