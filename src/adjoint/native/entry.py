"""The way from Python into native code: a real built-in function, whose C part is ours.

``PyCFunction_NewEx`` makes a Python function of any C function. Ours checks its arguments (kind, dtype, shape, layout,
each one comparison), makes the arrays for the results, and runs a table of steps: addresses of kernels and of what
they read. So a call costs little more than the results' allocation. Whatever is not as it should be (other layouts,
lists, wrong shapes) goes to a Python function; so does who comes while another is inside: a second thread, or what
a signal or the garbage collector calls.

What it reads of arrays is NumPy's public C structure; a check when this is loaded compares it with what NumPy says.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from adjoint.native.engine import Module, external, module
from adjoint.native.entry_code import ENTER

_HEAD = object.__basicsize__  # where an object's own fields begin
DATA, NDIM, DIMS, DESCR, FLAGS = (_HEAD + offset for offset in (0, 8, 16, 40, 48))
GOOD, WRITEABLE = 0x101, 0x400  # an array's flags: contiguous and aligned
_EMPTY = 184  # PyArray_Empty in NumPy's table of functions, whose numbers stay

# Words of the table that describes a program.
ARGS, OUTS, STEPS, BLOCK, STEP_TABLE, ARG_TABLE, OUT_TABLE, SLOW, BUSY, RELEASES, TARGETS, SPANS, FLAG = range(13)
# Words of the argument table for each argument: its dtype, how many axes, where its lengths are, the type of a plain
# number that will do (0: none), the flags that it must have, if it is written the address at which it is known to
# share no memory with others, and its bytes. The table of results has the first three.
KIND, TRUSTED = 7, 5


@cache
def supported() -> bool:
    """Whether arrays look in memory as the entry expects."""
    a = np.zeros((3, 5), np.float32)
    base = id(a)

    def word(offset: int, kind: Any = ctypes.c_ssize_t) -> Any:
        return kind.from_address(base + offset).value

    dims = (ctypes.c_ssize_t * 2).from_address(word(DIMS))
    number = np.float64(1.5)
    return (
        word(DATA) == a.ctypes.data
        and word(NDIM, ctypes.c_int) == 2
        and tuple(dims) == a.shape
        and word(DESCR) == id(a.dtype)
        and word(FLAGS, ctypes.c_int) & 0x401 == 0x401
        and ctypes.c_double.from_address(id(number) + _HEAD).value == 1.5
    )


class _Method(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


class Table(np.ndarray[Any, Any]):
    """The words that describe a program, and whatever must live as long as they are used."""

    owner: Any


def table(words: Sequence[int], owner: Any) -> Table:
    """A table of `words`."""
    made = np.array(words, np.int64).view(Table)
    made.owner = owner
    return made


@cache
def _native() -> tuple[Module, Any]:
    made = module(_text())
    method = _Method(b"program", made.address("enter"), 0x80, b"A compiled program: arrays in, a list of arrays out.")
    return made, method


def builtin(words: Table) -> Callable[..., Any]:
    """The Python function that runs the program described by `words`."""
    make = ctypes.pythonapi.PyCFunction_NewEx
    make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p]
    made: Callable[..., Any] = make(ctypes.addressof(_native()[1]), words, None)
    return made


def by_ctypes(words: Table) -> Callable[..., Any]:
    """The same as `builtin` where arrays look otherwise in memory: several times as slow."""
    call = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)
    slow, inputs, outputs = words.owner[-4], words.owner[-2], words.owner[-1]

    def table_of(which: int, count: int) -> Any:
        return (ctypes.c_ssize_t * count).from_address(int(words[which]))

    def fits(a: Any, n: Any, kind: Sequence[int], spans: Sequence[int]) -> bool:
        if not (type(a) is np.ndarray and a.dtype is n.dtype and a.shape == n.shape):
            return False
        low, high = a.ctypes.data, a.ctypes.data + a.nbytes
        alone = all(high <= start or low >= end for start, end in zip(spans[::2], spans[1::2], strict=True))
        placed = low == kind[TRUSTED] if kind[TRUSTED] else alone
        writeable = a.flags.writeable or not kind[TRUSTED]
        return bool(placed and writeable and a.flags.c_contiguous and a.flags.aligned)

    def enter(*args: Any) -> Any:
        kinds, spans = table_of(ARG_TABLE, KIND * len(inputs)), table_of(SPANS, 2 * int(words[TARGETS]))
        good = len(args) == words[ARGS] and all(
            fits(a, n, kinds[KIND * i : KIND * i + KIND], spans[:])
            for i, (a, n) in enumerate(zip(args, inputs, strict=True))
        )
        if not good or words[BUSY]:
            return slow(*args)
        results = [np.empty(n.shape, n.dtype) for n in outputs]
        flag = table_of(FLAG, 1)
        flag[0], words[BUSY] = 0, 1
        try:
            block = table_of(BLOCK, len(args) + len(results))
            block[:] = [a.ctypes.data for a in (*args, *results)]
            steps = table_of(STEP_TABLE, 2 * int(words[STEPS]))
            for kernel, numbers in zip(steps[::2], steps[1::2], strict=True):
                if kernel:
                    call(kernel)(int(words[BLOCK]), numbers)
                if flag[0]:
                    return None
        finally:
            words[BUSY] = 0
        return results

    return enter


def _python(name: str) -> int:
    return ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value or 0


def _numpy(number: int) -> int:
    capsule = np._core._multiarray_umath._ARRAY_API  # type: ignore[attr-defined]  # NumPy's own, for C programs
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    functions = ctypes.cast(get(capsule, None), ctypes.POINTER(ctypes.c_void_p))
    return functions[number] or 0


_OFFSETS = {
    "data": DATA, "ndim": NDIM, "dims": DIMS, "descr": DESCR, "flags": FLAGS, "head": _HEAD, "type": _HEAD - 8,
    "KIND": KIND, "TRUSTED": TRUSTED,
}  # fmt: skip
_CALLED = {
    "PyList_New": "ptr (i64)", "PyList_SetItem": "i32 (ptr, i64, ptr)", "Py_IncRef": "void (ptr)",
    "Py_DecRef": "void (ptr)", "PyObject_Vectorcall": "ptr (ptr, ptr, i64, ptr)", "PyEval_SaveThread": "ptr ()",
    "PyEval_RestoreThread": "void (ptr)", "PyArray_Empty": "ptr (i32, ptr, ptr, i32)",
    "PyErr_CheckSignals": "i32 ()",
}  # fmt: skip
_OBJECTS = {"array": np.ndarray, "float": float, "double": np.float64, "none": None}


def _text() -> str:
    """The entry's code. Python's functions and types go by names, whose addresses LLVM is told here."""
    lines = [f"{external(name, id(thing))} = external global i8" for name, thing in _OBJECTS.items()]
    for name, signature in _CALLED.items():
        address = _numpy(_EMPTY) if name == "PyArray_Empty" else _python(name)
        result, arguments = signature.split(" ", 1)
        lines.append(f"declare {result} {external(name, address)}{arguments}")
    return "\n".join([*lines, ENTER % _OFFSETS])
