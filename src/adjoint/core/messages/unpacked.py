"""Values that are used as PyTorch's pair of values and indices, where NumPy's call gives values alone."""

from __future__ import annotations

import sys
from itertools import islice
from types import FrameType

from adjoint.core.messages.frames import is_of, place_of, warn_at
from adjoint.core.types import Array, Axis

_BESIDE = ("CACHE", "PRECALL", "EXTENDED_ARG")  # what stands around instructions
_ROOMS = (["ops"], ["arrays"], ["core"], ["compiler"])  # through which a call of a method goes
_UNPACKED = "_adj_unpacked"  # that of twins which look at what is unpacked
_DOOR = "_R"  # the free variable of recorded functions; see `twin.recording`


def alone(name: str, axis: Axis, out: Array) -> Array:
    """`out`, what ``t.name(axis)`` gives; with a warning where it is unpacked into two names.

    So is ``t.name(1)[1]`` along the last axis, which is PyTorch's way to say ``t.argmax(1)``. NumPy's own functions
    give no warning, nor does a call that says ``axis=``.
    """
    if type(axis) is not int or not out.shape:
        return out
    frame = users_call()
    is_last = axis in (-1, len(out.shape) - (name == "sort"))
    if frame is not None and (used := _used_next(frame, out.shape[0], is_last)):
        text = (
            f"{name}(…, {axis}) gives values alone, as NumPy's does, and {used} here. Write "
            f"{name}(…, dim={axis}) for values and indices, as in PyTorch; {name}(…, axis={axis}) if rows are meant"
        )
        warn_at(place_of(frame), text, UserWarning)
    return out


def users_call() -> FrameType | None:
    """The user's frame that calls, if it calls adjoint itself: a method, or ``ad.name``, not NumPy or a transform."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and is_of(frame, "adjoint"):
        room = str(frame.f_globals.get("__name__")).split(".")[1:2]
        if (room not in _ROOMS and frame.f_code.co_name != "_of_box") or frame.f_code.co_name == "__array_function__":
            return None
        frame = frame.f_back
    return frame


def has_keywords(frame: FrameType) -> bool:
    """Whether the call that runs in `frame` names an argument."""
    from opcode import opname

    code, (before, at) = frame.f_code.co_code, _call_of(frame)
    return opname[code[before]] == "KW_NAMES" or opname[code[at]] in ("CALL_KW", "CALL_FUNCTION_EX")


def _call_of(frame: FrameType) -> tuple[int, int]:
    """Where the instruction before the call that runs is, and where the call's own."""
    from opcode import opname

    code, at = frame.f_code.co_code, frame.f_lasti
    while at > 0 and opname[code[at]] == "CACHE":  # behind a call of a Python function
        at -= 2
    before = next((k for k in range(at - 2, -1, -2) if opname[code[k]] not in _BESIDE), at)
    return before, at


def _used_next(frame: FrameType, rows: int, is_last: bool) -> str:
    """What becomes of what a call in `frame`, without keywords, will give, if that is what becomes of a pair."""
    from opcode import opname

    code = frame.f_code.co_code
    before, at = _call_of(frame)
    named = has_keywords(frame)
    if _DOOR in frame.f_code.co_freevars:  # recorded: unpack(call(f, arguments, keywords), names)
        named, behind = named or (opname[code[before]] == "BUILD_MAP" and code[before + 1] > 0), ["LOAD_CONST", "CALL"]
    else:
        behind = []
    if named or not opname[code[at]].startswith("CALL"):
        return ""
    if _UNPACKED in frame.f_code.co_freevars and (found := _used_after(frame, at, rows, ["LOAD_CONST", "CALL"], False)):
        return found
    return _used_after(frame, at, rows, behind, is_last)


def _used_after(frame: FrameType, at: int, rows: int, behind: list[str], is_last: bool) -> str:
    """The same, by the instructions after the call at `at`, of which `behind` come first."""
    from opcode import opname

    code = frame.f_code.co_code
    after = list(islice((k for k in range(at + 2, len(code), 2) if opname[code[k]] not in _BESIDE), len(behind) + 2))
    names = [opname[code[k]] for k in after]
    if names[:-1] == [*behind, "UNPACK_SEQUENCE"] and code[after[-2] + 1] == 2:
        return "its two rows are unpacked" if rows == 2 else f"its {rows} rows are unpacked into two names"
    if names[-2:] == ["LOAD_CONST", "BINARY_SUBSCR"] and not behind and is_last:
        index = frame.f_code.co_consts[code[after[-2] + 1]]
        if type(index) is int and index in (0, 1):
            return f"[{index}] takes the one of row {index}"
    return ""
