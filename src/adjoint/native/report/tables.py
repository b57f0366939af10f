"""A listing as text: a table of its steps, and what all of them cost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from adjoint.core.messages.words import shortened
from adjoint.native.plan.steps import bytes_of
from adjoint.tape.observers.tables import amount, table

if TYPE_CHECKING:
    from adjoint.native.report.listing import By, Listing, PlanRow, WrittenArray


def summary(listing: Listing) -> list[str]:
    """How many steps there are, the bytes that they move, and what the arena costs."""
    words: dict[By, str] = {
        "kernel": "kernel{}",
        "product": "product{}",
        "BLAS": "by BLAS",
        "loop": "loop{}",
        "check": "check{}",
        "NumPy": "by NumPy",
    }
    rows, memory = listing.rows, listing.memory
    counts = [f"{n} {word.format('s' * (n != 1))}" for by, word in words.items() if (n := listing.count(by))]
    read, written = (amount(sum(getattr(row, side) for row in rows)) for side in ("read", "written"))
    arena, values, most = map(amount, memory)
    count = f"{len(rows)} step{'s' * (len(rows) != 1)}"
    first = f"{count} ({', '.join(counts)}), which read {read} and write {written}" if counts else count
    if not memory.values:
        return [first, "no arena is needed"]
    saved = f" ({memory.saved:.0%} saved by using places again)" if memory.saved > 0 else ""
    lines = [first, f"an arena of {arena} for {values} of values in between{saved}, of which at most {most} are "
             "needed at once"]  # fmt: skip
    if listing.again:
        size = amount(sum(bytes_of(node) for node in listing.again))
        lines.append(f"not kept, since writing and reading takes longer than computing again: {len(listing.again)} "
                     f"value{'s' * (len(listing.again) != 1)} of {size}")  # fmt: skip
    return lines


def steps(rows: Sequence[PlanRow]) -> list[str]:
    """Lines of a table: each step with what it computes, how much it reads and writes, and where to."""
    head = ("", "by", "computes", "holds", "reads", "writes", "into", "line")
    return table(head, list(_cells(rows)), "r   rr").splitlines()


def _cells(rows: Sequence[PlanRow]) -> Iterator[tuple[str, ...]]:
    for row in rows:
        texts = [("│ " * deep + text, "", "") for deep, text in row.turns]
        texts += [(v.name if row.turns else f"{v.name} = {v.formula}", v.holds, _into(v)) for v in row.writes]
        texts += [(text, "", "") for text in row.also]
        for k, (formula, holds, into) in enumerate(texts):
            first = k == 0
            why = f"  ({row.reason})" if row.reason else ""
            yield (
                str(row.number) if first else "", row.by if first else "", shortened(formula, 60) + why, holds,
                amount(row.read) if first else "", amount(row.written) if first else "", into,
                ", ".join(row.lines[:2]) + " …" * (len(row.lines) > 2) if first else "",
            )  # fmt: skip


def _into(value: WrittenArray) -> str:
    if value.home != "arena":
        return {"result": "a result", "array": "a new array", "argument": value.instead}[value.home]
    return f"arena {value.start}" + (f", over {value.instead}" if value.instead else "")
