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
    return "\n".join([*lines, _ENTER % _OFFSETS])


# %(…)s are places in Python's objects, and what is said above of the argument table.
_ENTER = """
define ptr @enter(ptr %%self, ptr %%args, i64 %%given) {
  %%words.at = getelementptr i8, ptr %%self, i64 %(data)s
  %%w = load ptr, ptr %%words.at
  %%count = load i64, ptr %%w
  %%w1 = getelementptr i64, ptr %%w, i64 1
  %%outs = load i64, ptr %%w1
  %%w2 = getelementptr i64, ptr %%w, i64 2
  %%steps = load i64, ptr %%w2
  %%w3 = getelementptr i64, ptr %%w, i64 3
  %%block = load ptr, ptr %%w3
  %%w4 = getelementptr i64, ptr %%w, i64 4
  %%table = load ptr, ptr %%w4
  %%w5 = getelementptr i64, ptr %%w, i64 5
  %%kinds = load ptr, ptr %%w5
  %%w6 = getelementptr i64, ptr %%w, i64 6
  %%results = load ptr, ptr %%w6
  %%w7 = getelementptr i64, ptr %%w, i64 7
  %%slow = load ptr, ptr %%w7
  %%busy.at = getelementptr i64, ptr %%w, i64 8
  %%busy = load i64, ptr %%busy.at
  %%w9 = getelementptr i64, ptr %%w, i64 9
  %%releases = load i64, ptr %%w9
  %%w10 = getelementptr i64, ptr %%w, i64 10
  %%targets = load i64, ptr %%w10
  %%w11 = getelementptr i64, ptr %%w, i64 11
  %%spans = load ptr, ptr %%w11
  %%w12 = getelementptr i64, ptr %%w, i64 12
  %%flag = load ptr, ptr %%w12
  %%fits = icmp eq i64 %%count, %%given
  %%free = icmp eq i64 %%busy, 0
  %%ok = and i1 %%fits, %%free
  br i1 %%ok, label %%check, label %%python

check:
  %%i = phi i64 [ 0, %%0 ], [ %%i.next, %%filled ]
  %%all = icmp eq i64 %%i, %%count
  br i1 %%all, label %%allocate, label %%one

one:
  %%arg.at = getelementptr ptr, ptr %%args, i64 %%i
  %%arg = load ptr, ptr %%arg.at
  %%kind = getelementptr [%(KIND)s x i64], ptr %%kinds, i64 %%i
  %%type.at = getelementptr i8, ptr %%arg, i64 %(type)s
  %%type = load i64, ptr %%type.at
  %%is.array = icmp eq i64 %%type, ptrtoint (ptr @adjoint.array to i64)
  br i1 %%is.array, label %%array, label %%number

number:
  %%plain.at = getelementptr i64, ptr %%kind, i64 3
  %%plain = load i64, ptr %%plain.at
  %%is.plain = icmp eq i64 %%type, %%plain
  %%is.float = icmp eq i64 %%type, ptrtoint (ptr @adjoint.float to i64)
  %%is.double = icmp eq i64 %%plain, ptrtoint (ptr @adjoint.double to i64)
  %%float.fits = and i1 %%is.float, %%is.double
  %%number.fits = or i1 %%is.plain, %%float.fits
  br i1 %%number.fits, label %%number.data, label %%python

number.data:
  %%value = getelementptr i8, ptr %%arg, i64 %(head)s
  br label %%filled

array:
  %%descr.at = getelementptr i8, ptr %%arg, i64 %(descr)s
  %%descr = load i64, ptr %%descr.at
  %%wanted = load i64, ptr %%kind
  %%same.descr = icmp eq i64 %%descr, %%wanted
  %%flags.at = getelementptr i8, ptr %%arg, i64 %(flags)s
  %%flags = load i32, ptr %%flags.at
  %%must.at = getelementptr i64, ptr %%kind, i64 4
  %%must = load i32, ptr %%must.at
  %%good = and i32 %%flags, %%must
  %%is.good = icmp eq i32 %%good, %%must
  %%ndim.at = getelementptr i8, ptr %%arg, i64 %(ndim)s
  %%ndim = load i32, ptr %%ndim.at
  %%rank.at = getelementptr i64, ptr %%kind, i64 1
  %%rank = load i64, ptr %%rank.at
  %%ndim.64 = zext i32 %%ndim to i64
  %%same.rank = icmp eq i64 %%ndim.64, %%rank
  %%and1 = and i1 %%same.descr, %%is.good
  %%and2 = and i1 %%and1, %%same.rank
  br i1 %%and2, label %%lengths, label %%python

lengths:
  %%dims.at = getelementptr i8, ptr %%arg, i64 %(dims)s
  %%dims = load ptr, ptr %%dims.at
  %%shape.at = getelementptr i64, ptr %%kind, i64 2
  %%shape = load ptr, ptr %%shape.at
  br label %%length

length:
  %%d = phi i64 [ 0, %%lengths ], [ %%d.next, %%length.one ]
  %%d.all = icmp eq i64 %%d, %%rank
  br i1 %%d.all, label %%array.data, label %%length.one

length.one:
  %%have.at = getelementptr i64, ptr %%dims, i64 %%d
  %%have = load i64, ptr %%have.at
  %%want.at = getelementptr i64, ptr %%shape, i64 %%d
  %%want = load i64, ptr %%want.at
  %%d.next = add i64 %%d, 1
  %%same.length = icmp eq i64 %%have, %%want
  br i1 %%same.length, label %%length, label %%python

array.data:
  %%array.data.at = getelementptr i8, ptr %%arg, i64 %(data)s
  %%array.value = load ptr, ptr %%array.data.at
  %%low = ptrtoint ptr %%array.value to i64
  %%trusted.at = getelementptr i64, ptr %%kind, i64 %(TRUSTED)s
  %%trusted = load i64, ptr %%trusted.at
  %%is.target = icmp ne i64 %%trusted, 0
  br i1 %%is.target, label %%target, label %%reader

target:
  %%same.place = icmp eq i64 %%low, %%trusted
  br i1 %%same.place, label %%array.good, label %%python

reader:
  %%bytes.at = getelementptr i64, ptr %%kind, i64 6
  %%bytes = load i64, ptr %%bytes.at
  %%high = add i64 %%low, %%bytes
  br label %%span

span:
  %%t = phi i64 [ 0, %%reader ], [ %%t.next, %%span.one ]
  %%t.all = icmp eq i64 %%t, %%targets
  br i1 %%t.all, label %%array.good, label %%span.one

span.one:
  %%span.at = getelementptr [2 x i64], ptr %%spans, i64 %%t
  %%span.low = load i64, ptr %%span.at
  %%span.end.at = getelementptr i64, ptr %%span.at, i64 1
  %%span.end = load i64, ptr %%span.end.at
  %%before = icmp ule i64 %%high, %%span.low
  %%after = icmp uge i64 %%low, %%span.end
  %%apart = or i1 %%before, %%after
  %%t.next = add i64 %%t, 1
  br i1 %%apart, label %%span, label %%python

array.good:
  br label %%filled

filled:
  %%from = phi ptr [ %%value, %%number.data ], [ %%array.value, %%array.good ]
  %%slot = getelementptr ptr, ptr %%block, i64 %%i
  store ptr %%from, ptr %%slot
  %%i.next = add i64 %%i, 1
  br label %%check

allocate:
  store i64 1, ptr %%busy.at
  store i64 0, ptr %%flag
  %%list = call ptr @adjoint.PyList_New(i64 %%outs)
  %%no.list = icmp eq ptr %%list, null
  br i1 %%no.list, label %%failed, label %%results.head

results.head:
  %%o = phi i64 [ 0, %%allocate ], [ %%o.next, %%result.made ]
  %%o.all = icmp eq i64 %%o, %%outs
  br i1 %%o.all, label %%run, label %%result

result:
  %%out = getelementptr [3 x i64], ptr %%results, i64 %%o
  %%out.descr = load ptr, ptr %%out
  %%out.rank.at = getelementptr i64, ptr %%out, i64 1
  %%out.rank = load i32, ptr %%out.rank.at
  %%out.dims.at = getelementptr i64, ptr %%out, i64 2
  %%out.dims = load ptr, ptr %%out.dims.at
  call void @adjoint.Py_IncRef(ptr %%out.descr)
  %%new = call ptr @adjoint.PyArray_Empty(i32 %%out.rank, ptr %%out.dims, ptr %%out.descr, i32 0)
  %%no.new = icmp eq ptr %%new, null
  br i1 %%no.new, label %%drop, label %%result.made

result.made:
  %%set = call i32 @adjoint.PyList_SetItem(ptr %%list, i64 %%o, ptr %%new)
  %%new.data.at = getelementptr i8, ptr %%new, i64 %(data)s
  %%new.data = load ptr, ptr %%new.data.at
  %%out.number = add i64 %%count, %%o
  %%out.slot = getelementptr ptr, ptr %%block, i64 %%out.number
  store ptr %%new.data, ptr %%out.slot
  %%o.next = add i64 %%o, 1
  br label %%results.head

run:
  %%lets.go = icmp ne i64 %%releases, 0
  br i1 %%lets.go, label %%save, label %%steps.head

save:
  %%thread = call ptr @adjoint.PyEval_SaveThread()
  br label %%steps.head

steps.head:
  %%state = phi ptr [ null, %%run ], [ %%thread, %%save ]
  br label %%step

step:
  %%s = phi i64 [ 0, %%steps.head ], [ %%s.next, %%step.done ]
  %%thread.now = phi ptr [ %%state, %%steps.head ], [ %%thread.next, %%step.done ]
  %%s.all = icmp eq i64 %%s, %%steps
  br i1 %%s.all, label %%ran, label %%step.one

step.one:
  %%step.at = getelementptr [2 x ptr], ptr %%table, i64 %%s
  %%kernel = load ptr, ptr %%step.at
  %%is.pause = icmp eq ptr %%kernel, null
  br i1 %%is.pause, label %%pause, label %%step.run

step.run:
  %%places.at = getelementptr ptr, ptr %%step.at, i64 1
  %%places = load ptr, ptr %%places.at
  call void %%kernel(ptr %%block, ptr %%places)
  %%failed.check = load i64, ptr %%flag
  %%deviates = icmp ne i64 %%failed.check, 0
  br i1 %%deviates, label %%deviated, label %%step.done

pause:
  br i1 %%lets.go, label %%pause.restore, label %%pause.ask

pause.restore:
  call void @adjoint.PyEval_RestoreThread(ptr %%thread.now)
  br label %%pause.ask

pause.ask:
  %%signals = call i32 @adjoint.PyErr_CheckSignals()
  %%stop = icmp ne i32 %%signals, 0
  br i1 %%stop, label %%stopped, label %%pause.go

pause.go:
  br i1 %%lets.go, label %%pause.save, label %%step.done

pause.save:
  %%thread.new = call ptr @adjoint.PyEval_SaveThread()
  br label %%step.done

step.done:
  %%thread.next = phi ptr [ %%thread.now, %%step.run ], [ %%thread.now, %%pause.go ], [ %%thread.new, %%pause.save ]
  %%s.next = add i64 %%s, 1
  br label %%step

stopped:
  br label %%drop

deviated:
  br i1 %%lets.go, label %%deviated.restore, label %%deviated.done

deviated.restore:
  call void @adjoint.PyEval_RestoreThread(ptr %%thread.now)
  br label %%deviated.done

deviated.done:
  store i64 0, ptr %%busy.at
  call void @adjoint.Py_DecRef(ptr %%list)
  call void @adjoint.Py_IncRef(ptr @adjoint.none)
  ret ptr @adjoint.none

ran:
  br i1 %%lets.go, label %%restore, label %%done

restore:
  call void @adjoint.PyEval_RestoreThread(ptr %%thread.now)
  br label %%done

done:
  store i64 0, ptr %%busy.at
  ret ptr %%list

drop:
  call void @adjoint.Py_DecRef(ptr %%list)
  br label %%failed

failed:
  store i64 0, ptr %%busy.at
  ret ptr null

python:
  %%answer = call ptr @adjoint.PyObject_Vectorcall(ptr %%slow, ptr %%args, i64 %%given, ptr null)
  ret ptr %%answer
}
"""
