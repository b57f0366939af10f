"""The way from Python into native code: a real built-in function, whose C part is ours.

``PyCFunction_NewEx`` makes a Python function of any C function. Ours checks its arguments (kind, dtype, shape, layout,
each one comparison), makes the arrays for the results, and runs a table of steps: addresses of kernels and of what
they read. So a call costs little more than the results' allocation. Whatever is not as it should be (other layouts,
lists, wrong shapes) goes to a Python function, which says what to call instead, and with which arrays; so does who
comes while another is inside: a second thread, or what a signal or the garbage collector calls.

What it reads of arrays is NumPy's public C structure; a check when this is loaded compares it with what NumPy says.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from adjoint.native.call.array_entry_ir import ENTER
from adjoint.native.codegen import cpython
from adjoint.native.codegen.cpython import HEAD, BuiltinEntry, Table, announced, entry, pointer_in, words_read

DATA, NDIM, DIMS, DESCR, FLAGS = (HEAD + offset for offset in (0, 8, 16, 40, 48))
GOOD, WRITEABLE = 0x101, 0x400  # an array's flags: contiguous and aligned
_EMPTY = 184  # PyArray_Empty in NumPy's table of functions, whose numbers stay

# Words of the table that describes a program.
_WORDS = {
    "count": "i64", "outs": "i64", "steps": "i64", "block": "ptr", "table": "ptr", "kinds": "ptr", "results": "ptr",
    "slow": "ptr", "busy": "i64", "releases": "i64", "targets": "i64", "spans": "ptr", "flag": "ptr",
}  # fmt: skip
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
        and ctypes.c_double.from_address(id(number) + HEAD).value == 1.5
    )


class Kept(NamedTuple):
    """What must live as long as a program's table; `slow` is called with what does not fit, and says what does."""

    slow: Callable[..., tuple[Callable[..., Any], tuple[Any, ...]]]
    inputs: Sequence[Any]
    outputs: Sequence[Any]
    others: tuple[Any, ...]


@cache
def _enter(function: str) -> BuiltinEntry:
    """The C part, which is the same for all programs."""
    head = announced(_OBJECTS, _CALLED, {"PyArray_Empty": _numpy(_EMPTY)})
    text = f"{head}\n{ENTER % {**_OFFSETS, 'words': words_read(_WORDS)}}"
    return entry(text, b"program", 0x80, b"A compiled program: arrays in, a list of arrays out.", function)


def builtin(words: Table) -> Callable[..., Any]:
    """The Python function that runs the program described by `words`."""
    return cpython.builtin(_enter("enter"), words)


def held(words: Table) -> Callable[..., Any]:
    """The same with a list before the arrays, which gets the list of results too.

    Who interrupts the caller while it is given them finds them there.
    """
    return cpython.builtin(_enter("held"), words)


def by_ctypes(words: Table) -> Callable[..., Any]:
    """The same as `builtin` where arrays look otherwise in memory: several times as slow, and it writes no argument."""
    call = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)
    kept: Kept = words.owner
    slow, inputs, outputs = kept.slow, kept.inputs, kept.outputs

    def table_of(which: int, count: int) -> Any:
        return (ctypes.c_ssize_t * count).from_address(int(words[which]))

    def fits(a: Any, n: Any) -> bool:
        alike = type(a) is np.ndarray and a.dtype is n.dtype and a.shape == n.shape
        return bool(alike and a.flags.c_contiguous and a.flags.aligned)

    def enter(*args: Any) -> Any:
        good = len(args) == words[ARGS] and all(map(fits, args, inputs))
        if not good or words[BUSY]:
            instead, arrays = slow(*args)
            return instead(*arrays)
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


def _numpy(number: int) -> int:
    """Where a function of NumPy's table for C programs begins."""
    held, _ = pointer_in(np._core._multiarray_umath._ARRAY_API)  # type: ignore[attr-defined]  # NumPy's own
    return ctypes.cast(held, ctypes.POINTER(ctypes.c_void_p))[number] or 0


_OFFSETS = {
    "data": DATA, "ndim": NDIM, "dims": DIMS, "descr": DESCR, "flags": FLAGS, "head": HEAD, "type": HEAD - 8,
    "KIND": KIND, "TRUSTED": TRUSTED, "items": tuple.__basicsize__,
}  # fmt: skip
_CALLED = {
    "PyList_New": "ptr (i64)", "PyList_SetItem": "i32 (ptr, i64, ptr)", "Py_IncRef": "void (ptr)",
    "Py_DecRef": "void (ptr)", "PyObject_Vectorcall": "ptr (ptr, ptr, i64, ptr)", "PyEval_SaveThread": "ptr ()",
    "PyEval_RestoreThread": "void (ptr)", "PyArray_Empty": "ptr (i32, ptr, ptr, i32)",
    "PyErr_CheckSignals": "i32 ()", "PyObject_CallObject": "ptr (ptr, ptr)",
    "PyList_Append": "i32 (ptr, ptr)",
}  # fmt: skip
_OBJECTS = {"array": np.ndarray, "float": float, "double": np.float64, "none": None}
