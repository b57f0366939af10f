"""Numbers that are written as bytes or text, or taken apart, and read again: they know that they left the transform."""

from __future__ import annotations

import ast
import json
import locale
import pickle
import struct
import sys
from collections.abc import Iterable

import numpy as np

from adjoint.core.box import varies
from adjoint.core.errors import BatchedValueError
from adjoint.core.leaks.left import tracked
from adjoint.core.leaks.texts import notes_in, seen_again, written
from adjoint.core.types import Array, Function, Value
from adjoint.tape.modes import recording_floor
from adjoint.twin.standins.of_python.sample_texts import TextsOfSamples, one_of
from adjoint.twin.standins.values import CONTAINERS, DEPTH, is_box, plainly


def wrote(x: object, call: str, depth: int = DEPTH) -> None:
    """Note that `call` writes the numbers of `x`, or of the boxes in it, as text or bytes."""
    if is_box(x):
        if not varies(x):
            written(x, call, recording_floor.get())
    elif depth and isinstance(x, CONTAINERS):
        for part in x.values() if isinstance(x, dict) else x:
            wrote(part, call, depth - 1)


def taken(x: Array, call: str, value: Value) -> object:
    """What `call` made of the numbers of `x`: if it is text or bytes, reading it gives the numbers back."""
    wrote(x, call)
    return value


def ratio(x: Value) -> tuple[object, object]:
    """``x.as_integer_ratio()``"""
    note = written(x, "t.as_integer_ratio()", recording_floor.get())
    numerator, denominator = plainly(x).as_integer_ratio()
    if note is None:
        return numerator, denominator
    from adjoint.core.leaks.left import whole

    return whole(numerator, (note,)), whole(denominator, (note,))


def _saving(original: Function) -> Function:
    name = f"np.{original.__name__}"

    def stand_in(*args: object, **kwargs: object) -> object:
        given = [*args, *kwargs.values()]
        if any(varies(part) for x in given for part in (x if isinstance(x, CONTAINERS) else (x,))):
            raise BatchedValueError(
                f"{name}: inside vmap this is a value for each of many samples, and a file would hold one. Return the "
                f"values, and save what vmap gives"
            )
        wrote(given, name)
        return original(*map(plainly, args), **{key: plainly(value) for key, value in kwargs.items()})

    return stand_in


def _packing(original: Function) -> Function:
    def stand_in(*args: object) -> object:
        wrote(args, f"struct.{original.__name__}")
        return original(*map(plainly, args))

    return stand_in


def reading(original: Function) -> Function:
    """The stand-in of a function that reads numbers from text or bytes."""

    def stand_in(*args: Value, **kwargs: object) -> object:
        for text in (x for x in args if type(x) is TextsOfSamples):
            one_of(text.each)
        found = original(*args, **kwargs)
        return _archive(found) if isinstance(found, np.lib.npyio.NpzFile) else seen_again(found)

    return stand_in


def _running(original: Function) -> Function:
    """The stand-in of `eval` and `exec`, in whose code numbers may stand that were written there."""

    def stand_in(source: Value, /, *args: Value, **kwargs: Value) -> object:
        frame = sys._getframe(1)
        names = (frame.f_globals, frame.f_locals) if not args and "globals" not in kwargs else ()
        found = original(source, *args, *names, **kwargs)
        notes = notes_in(source) if isinstance(source, str | bytes) else ()
        if original is exec:
            for note in notes:
                note.enter()
        return tracked(found, notes)

    return stand_in


def _archive(found: Array) -> object:
    """An open file of several arrays, which are read when they are asked for."""

    class NpzFile(type(found)):  # type: ignore[misc]  # a class that is known when it comes
        def __getitem__(self, key: str) -> object:
            return seen_again(super().__getitem__(key))

    found.__class__ = NpzFile
    return found


def table() -> Iterable[tuple[Value, Function]]:
    """The functions, and their stand-ins."""
    for save in (np.save, np.savez, np.savez_compressed, np.savetxt):
        yield save, _saving(save)
    for pack in (struct.pack, struct.pack_into):
        yield pack, _packing(pack)
    for read in (np.frombuffer, np.fromstring, np.load, np.loadtxt, np.genfromtxt, np.fromfile, struct.unpack,
                 struct.unpack_from, pickle.loads, pickle.load, json.loads, json.load, ast.literal_eval,
                 locale.atof):  # fmt: skip
        yield read, reading(read)
    for run in (eval, exec):
        yield run, _running(run)
    yield float.as_integer_ratio, lambda x: ratio(x) if is_box(x) else x.as_integer_ratio()
    yield float.hex, lambda x: taken(x, "t.hex()", float(plainly(x)).hex())
