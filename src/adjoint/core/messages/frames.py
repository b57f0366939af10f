"""Places in the user's code: frames, and lines as text."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Mapping
from types import CodeType, FrameType

from adjoint.core.record import Record
from adjoint.core.types import Value


class CodePlace(Record):
    """A place in compiled code, and the globals that it runs with."""

    __slots__ = ()

    code: CodeType
    at: int
    names: Mapping[str, Value]


def place_of(frame: FrameType) -> CodePlace:
    """Where `frame` is now."""
    return CodePlace(frame.f_code, frame.f_lasti, frame.f_globals)


def line_number(code: CodeType, at: int) -> int:
    """The line of a place in `code`."""
    lines = (line for start, stop, line in code.co_lines() if start <= at < stop and line is not None)
    return next(lines, code.co_firstlineno)


def short_name(file: str) -> str:
    """A file's name, relative to the current folder if it lies there."""
    return file.removeprefix(os.path.join(os.getcwd(), ""))


def is_of(frame: FrameType, *packages: str) -> bool:
    """Whether the code of `frame` belongs to one of these packages."""
    return (frame.f_globals.get("__name__") or "").partition(".")[0] in packages


def warn_at(place: CodePlace, text: str, category: type[Warning]) -> None:
    """Warn as code at `place` does."""
    code, at, names = place
    registry = names.setdefault("__warningregistry__", {}) if isinstance(names, dict) else {}
    module = names.get("__name__") or "<unknown>"
    warnings.warn_explicit(text, category, code.co_filename, line_number(code, at), module, registry)


def users_frame(depth: int = 1) -> FrameType:
    """The innermost frame outside adjoint, NumPy and SciPy; the outermost if there is none."""
    frame = sys._getframe(depth)
    while frame.f_back is not None and is_of(frame, "adjoint", "numpy", "scipy"):
        frame = frame.f_back
    return frame


def is_entered_next(frame: FrameType | None) -> bool:
    """Whether a ``with`` statement enters what the call that runs in `frame` will give."""
    from opcode import opname

    while frame is not None:
        code = frame.f_code.co_code
        after = (opname[code[at]] for at in range(frame.f_lasti + 2, len(code), 2))
        first = next((name for name in after if name != "CACHE"), "")
        if first == "COPY":  # from Python 3.14 on
            return next(after, "") == "LOAD_SPECIAL"
        if first != "RETURN_VALUE":
            return first == "BEFORE_WITH"
        frame = frame.f_back  # a function gives it to its caller
    return False
