"""The user's line of an operation: kept as a place in compiled code, and looked up when asked for."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from types import CodeType, FrameType
from typing import TYPE_CHECKING, cast

from adjoint.core.types import Array, Value
from adjoint.tape.modes import Observing

if TYPE_CHECKING:
    from adjoint.tape.node import ObservedNode, TapeNode

UsersPlace = tuple[CodeType, int]


class _LibraryModules(dict[Value, bool]):
    """Whether a module is one of adjoint's or NumPy's, by its name; kept once it is known."""

    def __missing__(self, name: Value) -> bool:
        found = self[name] = name is None or str(name).startswith(("adjoint.", "numpy."))
        return found


_within = _LibraryModules()


def users_place() -> UsersPlace:
    """Code and place in it of the innermost frame outside adjoint and NumPy."""
    frame = sys._getframe(2)
    while _within[frame.f_globals.get("__name__")] and (outer := frame.f_back) is not None:
        frame = outer
    return frame.f_code, frame.f_lasti


def recorded_place() -> UsersPlace | None:
    """The same, within the function that is being compiled; None for what its transforms do around it.

    For that, the line would be the one that happened to call the compiled function first. The module that records has
    a global `RECORDS_CALLS`.
    """
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and _within[frame.f_globals.get("__name__")]:
        frame = None if "RECORDS_CALLS" in frame.f_globals else frame.f_back
    return frame and (frame.f_code, frame.f_lasti)


def line_of(place: UsersPlace) -> str:
    """File and line of a place, the file relative to the current folder if it lies there."""
    code, at = place
    lines = (line for start, stop, line in code.co_lines() if start <= at < stop)
    folder = os.path.join(os.getcwd(), "")
    return f"{code.co_filename.removeprefix(folder)}:{next(lines)}"


def line_of_error(error: BaseException) -> str:
    """File and line of the innermost frame outside adjoint and NumPy that an error came through; empty if none."""
    line, step = "", error.__traceback__
    while step is not None:
        if not step.tb_frame.f_globals.get("__name__", "").startswith(("adjoint.", "numpy.")):
            line = line_of((step.tb_frame.f_code, step.tb_lasti))
        step = step.tb_next
    return line


def line_of_node(node: TapeNode) -> str:
    """The line that wrote `node`; empty if that was not noted."""
    place: UsersPlace | None = getattr(node, "place", None)
    return "" if place is None else line_of(place)


def source_lines() -> Observing:
    """Note with each operation the line that it stands on: for `adjoint.saved` and `adjoint.trace_backward`.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> x = ad.tensor([1.0, 2.0], requires_grad=True)
        >>> with ad.source_lines():
        ...     y = np.sum(np.sin(x))
        >>> ad.saved(y)[0].line
        '...py:...'
    """
    return Observing(line=note_line)


def note_line(node: TapeNode, values: Sequence[Array], wanted: tuple[int, ...], out: Array) -> None:
    cast("ObservedNode", node).place = users_place()
