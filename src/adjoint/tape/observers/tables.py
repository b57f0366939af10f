"""Text tables, and amounts in them."""

from __future__ import annotations

from collections.abc import Sequence


def table(head: Sequence[str], rows: Sequence[Sequence[str]], right: str = "") -> str:
    """Lines with aligned columns; those named by a letter ``r`` in `right` are flush right."""
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    flush = [str.rjust if mark == "r" else str.ljust for mark in right.ljust(len(head))]
    return "\n".join(
        "  ".join(pad(cell, width) for pad, cell, width in zip(flush, row, widths, strict=True)).rstrip()
        for row in (head, *rows)
    )


def amount(nbytes: int) -> str:
    """``1.5 MB``: bytes with a unit."""
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if nbytes >= size:
            return f"{nbytes / size:.3g} {unit}" if nbytes < 1000 * size else f"{nbytes / size:.0f} {unit}"
    return f"{nbytes} B"


def duration(seconds: float) -> str:
    """``12.3 µs``: seconds with a unit."""
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e6:.3g} µs"
