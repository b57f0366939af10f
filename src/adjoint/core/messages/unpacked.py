"""Values that are unpacked as PyTorch's pair of values and indices, where NumPy's call gives values alone."""

from __future__ import annotations

import sys
from types import FrameType

from adjoint.core.messages.frames import is_of, place_of, warn_at
from adjoint.core.types import Array, Axis

_BESIDE = ("CACHE", "PRECALL", "EXTENDED_ARG")  # what stands around instructions
_DOOR = "_R"  # the free variable of recorded functions; see `twin.recording`


def alone(name: str, axis: Axis, out: Array) -> Array:
    """`out`, what ``t.name(axis)`` gives; with a warning where its two rows are unpacked into two names.

    NumPy's own functions give no warning, nor does a call that says ``axis=``.
    """
    if type(axis) is not int or out.shape[:1] != (2,):
        return out
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and is_of(frame, "adjoint"):
        if frame.f_code.co_name == "__array_function__":
            return out
        frame = frame.f_back
    if frame is not None and _is_unpacked_next(frame):
        text = (
            f"{name}(…, {axis}) gives values alone, as NumPy's does, and its two rows are unpacked here. Write "
            f"{name}(…, dim={axis}) for values and indices, as in PyTorch; {name}(…, axis={axis}) if rows are meant"
        )
        warn_at(place_of(frame), text, UserWarning)
    return out


def _is_unpacked_next(frame: FrameType) -> bool:
    """Whether what a call in `frame`, without keywords, will give is unpacked into two names."""
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
        return False
    after = [k for k in range(at + 2, len(code), 2) if opname[code[k]] not in _BESIDE][: len(behind) + 1]
    return [opname[code[k]] for k in after] == [*behind, "UNPACK_SEQUENCE"] and code[after[-1] + 1] == 2
