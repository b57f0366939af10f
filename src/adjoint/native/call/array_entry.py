"""From Python into native code: a real built-in function, whose C part is written here.

``PyCFunction_NewEx`` makes a Python function of any C function. Ours checks its arguments (kind, dtype, shape, layout,
each one comparison), makes the arrays for the results, and runs a table of steps: addresses of kernels and of what
they read. So a call costs little more than allocating the results. If anything is different (other layouts,
lists, wrong shapes), it calls a Python function, which says what to call instead, and with which arrays. The same
happens if it is called while another call is inside: by a second thread, a signal or the garbage collector.

It reads NumPy's public C structure of arrays; a check at loading compares this structure with what NumPy says.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np

from adjoint.core.types import Function, Value
from adjoint.native.call.array_entry_ir import ENTER
from adjoint.native.codegen import cpython
from adjoint.native.codegen.cpython import (
    ARRAY,
    ITEMS,
    OBJECT,
    BuiltinEntry,
    ProgramWords,
    announced,
    entry,
    pointer_in,
    words_read,
)
from adjoint.native.codegen.layout import StructLayout

IN_ORDER, ALIGNED, WRITEABLE = 0x1, 0x100, 0x400  # an array's flags
GOOD = IN_ORDER | ALIGNED
_EMPTY = 184  # PyArray_Empty in NumPy's table of functions, whose numbers stay

# What describes a program: how many arguments, results and steps it has, and where the tables below and others are.
PROGRAM = StructLayout("program", {
    "count": "i64", "outs": "i64", "steps": "i64", "block": "ptr", "table": "ptr", "kinds": "ptr", "results": "ptr",
    "slow": "ptr", "busy": "i64", "releases": "i64", "targets": "i64", "spans": "ptr", "flag": "ptr",
})  # fmt: skip
# What an argument must be: its dtype, how many axes, where its lengths are, the type of a plain number that will do
# (0: none), the flags that it must have, if it is written the address at which it is known to share no memory with
# others, its bytes, and where its strides are, if it does not lie in C order.
KIND = StructLayout("kind", {
    "dtype": "ptr", "rank": "i64", "dims": "ptr", "plain": "ptr", "flags": "i64", "trusted": "ptr", "bytes": "i64",
    "strides": "ptr",
})  # fmt: skip
# What a result is, a step, and the memory of an array that is written.
RESULT = StructLayout("result", {"dtype": "ptr", "rank": "i64", "dims": "ptr"})
STEP = StructLayout("step", {"kernel": "ptr", "numbers": "ptr"})
SPAN = StructLayout("span", {"low": "ptr", "high": "ptr"})


@cache
def supported() -> bool:
    """Whether arrays look in memory as the entry expects."""
    a, number = np.zeros((3, 5), np.float32), np.float64(1.5)
    seen = ARRAY.at(id(a))
    return (
        seen.data == a.ctypes.data
        and seen.ndim == 2
        and tuple((ctypes.c_ssize_t * 2).from_address(seen.dims)) == a.shape
        and seen.descr == id(a.dtype)
        and seen.flags & (GOOD | WRITEABLE) == GOOD | WRITEABLE
        and OBJECT.at(id(a)).type == id(np.ndarray)
        and OBJECT.at(id(number)).value == 1.5
    )


class TableOwners(NamedTuple):
    """What must live as long as a program's table; `slow` turns arguments that do not fit into ones that do."""

    slow: Callable[..., tuple[Function, tuple[Value, ...]]]
    inputs: Sequence[Value]
    outputs: Sequence[Value]
    others: tuple[Value, ...]


@cache
def _enter(function: str) -> BuiltinEntry:
    """The C part, which is the same for all programs."""
    head = announced(_OBJECTS, _CALLED, {"PyArray_Empty": _numpy(_EMPTY)})
    text = f"{head}\n{ENTER % {**_PLACES, 'words': words_read(PROGRAM)}}"
    return entry(text, b"program", 0x80, b"A compiled program: arrays in, a list of arrays out.", function)


def builtin(words: ProgramWords) -> Function:
    """The Python function that runs the program described by `words`."""
    return cpython.builtin(_enter("enter"), words)


def held(words: ProgramWords) -> Function:
    """The same with a list as first argument, which also receives the list of results.

    If the caller is interrupted while it gets them, they are found there.
    """
    return cpython.builtin(_enter("held"), words)


def by_ctypes(words: ProgramWords) -> Function:
    """The same as `builtin` where arrays look otherwise in memory: several times as slow, and it writes no argument."""
    call = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)
    kept: TableOwners = words.owner
    slow, inputs, outputs = kept.slow, kept.inputs, kept.outputs

    program = PROGRAM.at(words.ctypes.data)
    program.owner = words  # whose memory it is

    def table_of(address: int, count: int) -> Value:
        return (ctypes.c_ssize_t * count).from_address(address)

    def fits(a: Value, n: Value) -> bool:
        if type(a) is not np.ndarray or a.dtype is not n.dtype or a.shape != n.shape:
            return False
        lies = a.flags.c_contiguous if n.strides is None else a.strides == n.strides
        return bool(lies and a.flags.aligned)

    def enter(*args: Value) -> object:
        good = len(args) == program.count and all(map(fits, args, inputs))
        if not good or program.busy:
            instead, arrays = slow(*args)
            return instead(*arrays)
        results = [np.empty(n.shape, n.dtype) for n in outputs]
        flag = table_of(program.flag, 1)
        flag[0], program.busy = 0, 1
        try:
            block = table_of(program.block, len(args) + len(results))
            block[:] = [a.ctypes.data for a in (*args, *results)]
            k = 0
            while k < program.steps:
                step = STEP.at(program.table + k * STEP.size)
                k += 1
                if step.kernel:
                    call(step.kernel)(program.block, step.numbers)
                elif step.numbers and table_of(step.numbers, 1)[0]:
                    k -= 2
                if flag[0]:
                    return None
        finally:
            program.busy = 0
        return results

    return enter


def _numpy(number: int) -> int:
    """Where a function of NumPy's table for C programs begins."""
    held, _ = pointer_in(np._core._multiarray_umath._ARRAY_API)  # type: ignore[attr-defined]  # NumPy's own
    return ctypes.cast(held, ctypes.POINTER(ctypes.c_void_p))[number] or 0


_PLACES = {
    name: at for layout in (OBJECT, ITEMS, ARRAY, KIND, RESULT, STEP, SPAN) for name, at in layout.places.items()
}
_CALLED = {
    "PyList_New": "ptr (i64)", "PyList_SetItem": "i32 (ptr, i64, ptr)", "Py_IncRef": "void (ptr)",
    "Py_DecRef": "void (ptr)", "PyObject_Vectorcall": "ptr (ptr, ptr, i64, ptr)", "PyEval_SaveThread": "ptr ()",
    "PyEval_RestoreThread": "void (ptr)", "PyArray_Empty": "ptr (i32, ptr, ptr, i32)",
    "PyErr_CheckSignals": "i32 ()", "PyObject_CallObject": "ptr (ptr, ptr)",
    "PyList_Append": "i32 (ptr, ptr)",
}  # fmt: skip
_OBJECTS = {"array": np.ndarray, "float": float, "double": np.float64, "none": None}
