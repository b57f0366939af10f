"""Values that are used as PyTorch's pair of values and indices, where NumPy's call gives values alone."""

from __future__ import annotations

import sys
from itertools import islice
from types import FrameType

from adjoint.core.messages.frames import is_of, place_of, warn_at
from adjoint.core.types import Array, Axis

_BESIDE = ("CACHE", "PRECALL", "EXTENDED_ARG")  # what stands around instructions
_DOOR = "_R"  # the free variable of recorded functions; see `twin.recording`


def alone(name: str, axis: Axis, out: Array) -> Array:
    """`out`, what ``t.name(axis)`` gives; with a warning where its two rows are unpacked into two names.

    So is ``t.name(1)[1]`` along the last axis, which is PyTorch's way to say ``t.argmax(1)``. NumPy's own functions
    give no warning, nor does a call that says ``axis=``.
    """
    last = len(out.shape) - (name == "sort")
    if type(axis) is not int or not out.shape or (out.shape[0] != 2 and axis not in (-1, last)):
        return out
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and is_of(frame, "adjoint"):
        if frame.f_code.co_name == "__array_function__":
            return out
        frame = frame.f_back
    if frame is not None and (used := _used_next(frame, out.shape[0], axis in (-1, last))):
        text = (
            f"{name}(…, {axis}) gives values alone, as NumPy's does, and {used} here. Write "
            f"{name}(…, dim={axis}) for values and indices, as in PyTorch; {name}(…, axis={axis}) if rows are meant"
        )
        warn_at(place_of(frame), text, UserWarning)
    return out


def _used_next(frame: FrameType, rows: int, is_last: bool) -> str:
    """What becomes of what a call in `frame`, without keywords, will give, if that is what becomes of a pair."""
    from opcode import opname

    code, at = frame.f_code.co_code, frame.f_lasti
    while at > 0 and opname[code[at]] == "CACHE":  # behind a call of a Python function
        at -= 2
    before = next((k for k in range(at - 2, -1, -2) if opname[code[k]] not in _BESIDE), at)
    last, call = opname[code[before]], opname[code[at]]
    named = last == "KW_NAMES" or call in ("CALL_KW", "CALL_FUNCTION_EX")
    if _DOOR in frame.f_code.co_freevars:  # recorded: unpack(call(f, arguments, keywords), names)
        named, behind = named or (last == "BUILD_MAP" and code[before + 1] > 0), ["LOAD_CONST", "CALL"]
    else:
        behind = []
    if named or not call.startswith("CALL"):
        return ""
    after = list(islice((k for k in range(at + 2, len(code), 2) if opname[code[k]] not in _BESIDE), len(behind) + 2))
    names = [opname[code[k]] for k in after]
    if names[:-1] == [*behind, "UNPACK_SEQUENCE"] and code[after[-2] + 1] == 2 and rows == 2:
        return "its two rows are unpacked"
    if names[-2:] == ["LOAD_CONST", "BINARY_SUBSCR"] and not behind and is_last:
        index = frame.f_code.co_consts[code[after[-2] + 1]]
        if type(index) is int and index in (0, 1):
            return f"[{index}] takes the one of row {index}"
    return ""
