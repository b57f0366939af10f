"""Rows of a larger batch: a process that computes some rows draws the same random numbers as for the whole batch."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar

from adjoint.core.types import Value

#: The first row, the one behind the last, and how many the whole batch has; None where the batch is whole.
ROWS: ContextVar[tuple[int, int, int] | None] = ContextVar("rows of a larger batch", default=None)


def drawn(shape: tuple[int, ...], draw: Callable[[tuple[int, ...]], Value]) -> Value:
    """``draw(shape)``; of an array with the rows that are computed with, these rows of the whole batch's draw."""
    rows = ROWS.get()
    if rows is None or not shape or shape[0] != rows[1] - rows[0]:
        return draw(shape)
    return draw((rows[2], *shape[1:]))[rows[0] : rows[1]]
