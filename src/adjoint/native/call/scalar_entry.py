"""From Python into programs of numbers: a built-in function that takes floats by order or by name.

It is made like the one in `array_entry`, but allocates no arrays: numbers lie on the stack, and its results become
Python's own. The names of arguments are first compared as objects, since Python has one string for each name written in
a program. A call without exactly one number for each argument goes to a Python function.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from sys import intern
from typing import Literal, get_args

import numpy as np

from adjoint.core.types import Function
from adjoint.native.codegen import cpython
from adjoint.native.codegen.cpython import (
    ARRAY,
    ITEMS,
    OBJECT,
    TUPLE,
    BuiltinEntry,
    announced,
    entry,
    table,
    words_read,
)
from adjoint.native.codegen.jit import Kernel
from adjoint.native.codegen.layout import StructLayout

# What a call gives: a number, a tuple of them, a dictionary of them, or the first and a dictionary of the rest.
Form = Literal["one", "tuple", "named", "one and named"]
_FORMS = get_args(Form)
# What describes a program: how many arguments and results there are, how many results come before those with
# keys, the form, and where things are.
_FORMULA = StructLayout("formula", {
    "count": "i64", "outs": "i64", "lead": "i64", "form": "i64", "kernel": "ptr", "names": "ptr",
    "truths": "ptr", "keys": "ptr", "template": "ptr", "slow": "ptr",
})  # fmt: skip


def builtin(
    kernel: Kernel, names: Sequence[str], truths: Sequence[bool], form: Form, keys: Sequence[str], otherwise: Function
) -> Function:
    """The Python function that runs `kernel`, whose results are numbers or `truths`."""
    names, keys = list(map(intern, names)), list(map(intern, keys))
    empty = dict.fromkeys(keys)
    columns = [np.array([*words, 0], np.int64) for words in (map(id, names), map(int, truths), map(id, keys))]
    words = table(
        _FORMULA.words(
            count=len(names), outs=len(truths), lead=len(truths) - len(keys), form=_FORMS.index(form),
            kernel=kernel.address, names=columns[0].ctypes.data, truths=columns[1].ctypes.data,
            keys=columns[2].ctypes.data, template=id(empty), slow=id(otherwise),
        ),
        (kernel, names, keys, empty, columns, otherwise, _enter()),
    )  # fmt: skip
    return cpython.builtin(_enter(), words)


@cache
def _enter() -> BuiltinEntry:
    """The C part, which is the same for all programs."""
    text = "\n".join([announced(_TYPES, _CALLED, {}), _ENTER % {**_PLACES, "words": words_read(_FORMULA)}])
    return entry(text, b"formula", 0x82, b"A compiled formula: one number for each variable.")


@cache
def supported() -> bool:
    """Whether numbers and tuples look in memory as the entry expects."""
    number, double, pair, words = 1.5, np.float64(2.5), ("a", 1.5), np.zeros(1)
    return bool(
        OBJECT.at(id(number)).value == number
        and OBJECT.at(id(double)).value == double
        and OBJECT.at(id(number)).type == id(float)
        and TUPLE.at(id(pair)).count == 2
        and ITEMS.at(id(pair)).second == id(pair[1])
        and ARRAY.at(id(words)).data == words.ctypes.data
    )


_PLACES = {**OBJECT.places, **TUPLE.places, **ITEMS.places}
_TYPES = {"float": float, "double": np.float64, "int": int}
_CALLED = {
    "PyLong_AsDouble": "double (ptr)", "PyErr_Occurred": "ptr ()", "PyErr_Clear": "void ()",
    "PyFloat_FromDouble": "ptr (double)", "PyBool_FromLong": "ptr (i64)", "PyTuple_New": "ptr (i64)",
    "PyTuple_SetItem": "i32 (ptr, i64, ptr)", "PyDict_Copy": "ptr (ptr)", "PyDict_SetItem": "i32 (ptr, ptr, ptr)",
    "PyUnicode_Compare": "i32 (ptr, ptr)", "Py_DecRef": "void (ptr)", "PyObject_Vectorcall": "ptr (ptr, ptr, i64, ptr)",
}  # fmt: skip


# %(…)s are places in Python's objects; %(words)s, the lines that read the table.
_ENTER = """
define internal ptr @number(ptr %%out, ptr %%truths, i64 %%i) {
  %%at = getelementptr double, ptr %%out, i64 %%i
  %%value = load double, ptr %%at
  %%truth.at = getelementptr i64, ptr %%truths, i64 %%i
  %%truth = load i64, ptr %%truth.at
  %%is.float = icmp eq i64 %%truth, 0
  br i1 %%is.float, label %%float, label %%bool

float:
  %%made = call ptr @adjoint.PyFloat_FromDouble(double %%value)
  ret ptr %%made

bool:
  %%whole = fptosi double %%value to i64
  %%said = call ptr @adjoint.PyBool_FromLong(i64 %%whole)
  ret ptr %%said
}

define ptr @enter(ptr %%self, ptr %%args, i64 %%given, ptr %%kwnames) {
%(words)s
  %%in = alloca double, i64 %%count
  %%out = alloca double, i64 %%outs
  %%in.order = icmp eq ptr %%kwnames, null
  br i1 %%in.order, label %%ordered, label %%named

ordered:
  %%as.many = icmp eq i64 %%given, %%count
  br i1 %%as.many, label %%each, label %%python

named:
  %%size.at = getelementptr i8, ptr %%kwnames, i64 %(tuple.count)s
  %%size = load i64, ptr %%size.at
  %%all.named = icmp eq i64 %%size, %%count
  %%none.given = icmp eq i64 %%given, 0
  %%only.named = and i1 %%all.named, %%none.given
  %%items = getelementptr i8, ptr %%kwnames, i64 %(items.first)s
  br i1 %%only.named, label %%each, label %%python

each:
  %%from = phi ptr [ null, %%ordered ], [ %%items, %%named ]
  br label %%head

head:
  %%i = phi i64 [ 0, %%each ], [ %%i.next, %%store ]
  %%all = icmp eq i64 %%i, %%count
  br i1 %%all, label %%run, label %%one

one:
  br i1 %%in.order, label %%placed, label %%name

name:
  %%name.at = getelementptr ptr, ptr %%from, i64 %%i
  %%word = load ptr, ptr %%name.at
  %%same.at = getelementptr ptr, ptr %%names, i64 %%i
  %%same = load ptr, ptr %%same.at
  %%in.place = icmp eq ptr %%word, %%same
  br i1 %%in.place, label %%placed, label %%search

search:
  %%j = phi i64 [ 0, %%name ], [ %%j.next, %%further ]
  %%known.at = getelementptr ptr, ptr %%names, i64 %%j
  %%known = load ptr, ptr %%known.at
  %%found = icmp eq ptr %%word, %%known
  br i1 %%found, label %%placed, label %%further

further:
  %%j.next = add i64 %%j, 1
  %%j.all = icmp eq i64 %%j.next, %%count
  br i1 %%j.all, label %%compare, label %%search

compare:
  %%k = phi i64 [ 0, %%further ], [ %%k.next, %%unlike ]
  %%like.at = getelementptr ptr, ptr %%names, i64 %%k
  %%like = load ptr, ptr %%like.at
  %%order = call i32 @adjoint.PyUnicode_Compare(ptr %%word, ptr %%like)
  %%equal = icmp eq i32 %%order, 0
  br i1 %%equal, label %%placed, label %%unlike

unlike:
  %%k.next = add i64 %%k, 1
  %%k.all = icmp eq i64 %%k.next, %%count
  br i1 %%k.all, label %%python, label %%compare

placed:
  %%slot = phi i64 [ %%i, %%one ], [ %%i, %%name ], [ %%j, %%search ], [ %%k, %%compare ]
  %%arg.at = getelementptr ptr, ptr %%args, i64 %%i
  %%arg = load ptr, ptr %%arg.at
  %%type.at = getelementptr i8, ptr %%arg, i64 %(object.type)s
  %%type = load i64, ptr %%type.at
  %%is.float = icmp eq i64 %%type, ptrtoint (ptr @adjoint.float to i64)
  %%is.double = icmp eq i64 %%type, ptrtoint (ptr @adjoint.double to i64)
  %%either = or i1 %%is.float, %%is.double
  br i1 %%either, label %%float, label %%other

float:
  %%value.at = getelementptr i8, ptr %%arg, i64 %(object.value)s
  %%float.value = load double, ptr %%value.at
  br label %%store

other:
  %%is.int = icmp eq i64 %%type, ptrtoint (ptr @adjoint.int to i64)
  br i1 %%is.int, label %%whole, label %%python

whole:
  %%int.value = call double @adjoint.PyLong_AsDouble(ptr %%arg)
  %%suspect = fcmp oeq double %%int.value, -1.0
  br i1 %%suspect, label %%doubt, label %%store

doubt:
  %%error = call ptr @adjoint.PyErr_Occurred()
  %%fine = icmp eq ptr %%error, null
  br i1 %%fine, label %%store, label %%large

large:
  call void @adjoint.PyErr_Clear()
  br label %%python

store:
  %%value = phi double [ %%float.value, %%float ], [ %%int.value, %%whole ], [ -1.0, %%doubt ]
  %%place = getelementptr double, ptr %%in, i64 %%slot
  store double %%value, ptr %%place
  %%i.next = add i64 %%i, 1
  br label %%head

run:
  call void %%kernel(ptr %%in, ptr %%out)
  switch i64 %%form, label %%dict [ i64 0, label %%single i64 1, label %%tuple ]

single:
  %%alone = call ptr @number(ptr %%out, ptr %%truths, i64 0)
  ret ptr %%alone

tuple:
  %%several = call ptr @adjoint.PyTuple_New(i64 %%outs)
  %%no.tuple = icmp eq ptr %%several, null
  br i1 %%no.tuple, label %%failed, label %%tuple.head

tuple.head:
  %%t = phi i64 [ 0, %%tuple ], [ %%t.next, %%tuple.put ]
  %%t.all = icmp eq i64 %%t, %%outs
  br i1 %%t.all, label %%tuple.done, label %%tuple.one

tuple.one:
  %%item = call ptr @number(ptr %%out, ptr %%truths, i64 %%t)
  %%no.item = icmp eq ptr %%item, null
  br i1 %%no.item, label %%tuple.drop, label %%tuple.put

tuple.put:
  %%put = call i32 @adjoint.PyTuple_SetItem(ptr %%several, i64 %%t, ptr %%item)
  %%t.next = add i64 %%t, 1
  br label %%tuple.head

tuple.drop:
  call void @adjoint.Py_DecRef(ptr %%several)
  br label %%failed

tuple.done:
  ret ptr %%several

dict:
  %%pairs = call ptr @adjoint.PyDict_Copy(ptr %%template)
  %%no.dict = icmp eq ptr %%pairs, null
  br i1 %%no.dict, label %%failed, label %%dict.head

dict.head:
  %%d = phi i64 [ 0, %%dict ], [ %%d.next, %%dict.put ]
  %%o = add i64 %%d, %%lead
  %%d.all = icmp eq i64 %%o, %%outs
  br i1 %%d.all, label %%dict.done, label %%dict.one

dict.one:
  %%slope = call ptr @number(ptr %%out, ptr %%truths, i64 %%o)
  %%no.slope = icmp eq ptr %%slope, null
  br i1 %%no.slope, label %%dict.drop, label %%dict.put

dict.put:
  %%key.at = getelementptr ptr, ptr %%keys, i64 %%d
  %%key = load ptr, ptr %%key.at
  %%kept = call i32 @adjoint.PyDict_SetItem(ptr %%pairs, ptr %%key, ptr %%slope)
  call void @adjoint.Py_DecRef(ptr %%slope)
  %%d.next = add i64 %%d, 1
  %%stays = icmp eq i32 %%kept, 0
  br i1 %%stays, label %%dict.head, label %%dict.drop

dict.done:
  %%only.dict = icmp eq i64 %%form, 2
  br i1 %%only.dict, label %%dict.give, label %%both

dict.give:
  ret ptr %%pairs

both:
  %%pair = call ptr @adjoint.PyTuple_New(i64 2)
  %%no.pair = icmp eq ptr %%pair, null
  br i1 %%no.pair, label %%dict.drop, label %%first

first:
  %%put.second = call i32 @adjoint.PyTuple_SetItem(ptr %%pair, i64 1, ptr %%pairs)
  %%value.one = call ptr @number(ptr %%out, ptr %%truths, i64 0)
  %%no.value = icmp eq ptr %%value.one, null
  br i1 %%no.value, label %%pair.drop, label %%second

second:
  %%put.first = call i32 @adjoint.PyTuple_SetItem(ptr %%pair, i64 0, ptr %%value.one)
  ret ptr %%pair

pair.drop:
  call void @adjoint.Py_DecRef(ptr %%pair)
  br label %%failed

dict.drop:
  call void @adjoint.Py_DecRef(ptr %%pairs)
  br label %%failed

failed:
  ret ptr null

python:
  %%answer = call ptr @adjoint.PyObject_Vectorcall(ptr %%slow, ptr %%args, i64 %%given, ptr %%kwnames)
  ret ptr %%answer
}
"""
