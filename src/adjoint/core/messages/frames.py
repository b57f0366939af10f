"""Places in the user's code: frames, and lines as text."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator
from types import CodeType, FrameType

from adjoint.core.record import Record
from adjoint.core.types import Value


class CodePlace(Record):
    """A place in compiled code, and the globals that it runs with."""

    __slots__ = ()

    code: CodeType
    at: int
    names: dict[str, Value]


def place_of(frame: FrameType) -> CodePlace:
    """Where `frame` is now."""
    return CodePlace(frame.f_code, frame.f_lasti, frame.f_globals)


def place_in(code: CodeType, at: int) -> CodePlace:
    """A place in code of the user's that was kept, with the globals of its module.

    Code that has called adjoint again is at another line by now, which counts.
    """
    frame = users_frame(2)
    if frame.f_code is code:
        return place_of(frame)
    if frame.f_code.co_filename == code.co_filename:
        return CodePlace(code, at, frame.f_globals)
    modules = [m for m in tuple(sys.modules.values()) if getattr(m, "__file__", None) == code.co_filename]
    return CodePlace(code, at, vars(modules[0]) if modules else {"__name__": code.co_filename})


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
    registry = names.setdefault("__warningregistry__", {})
    module = names.get("__name__") or "<unknown>"
    warnings.warn_explicit(text, category, code.co_filename, line_number(code, at), module, registry)


def warn_user(text: str, category: type[Warning]) -> None:
    """Warn as NumPy's functions do: the warning names the line that calls them."""
    warn_at(place_of(users_frame(2)), text, category)


def users_frame(depth: int = 1) -> FrameType:
    """The innermost frame outside adjoint, NumPy and SciPy; the outermost if there is none."""
    frame = sys._getframe(depth)
    while frame.f_back is not None and is_of(frame, "adjoint", "numpy", "scipy"):
        frame = frame.f_back
    return frame


def frames_of(error: BaseException) -> Iterator[FrameType]:
    """The frames that an error came through, the outermost first."""
    trace = error.__traceback__
    while trace is not None:
        yield trace.tb_frame
        trace = trace.tb_next


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
