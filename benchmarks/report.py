"""The results as tables: in the terminal, and in a Markdown file."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.harness import Budget, Row
from benchmarks.peers import PEERS, versions

TIMES, NONE = "\N{MULTIPLICATION SIGN}", "\N{EN DASH}"


def shown(value: float, unit: str) -> str:
    """A figure with its unit: ``12.3 µs``."""
    if unit == "n^":
        return f"n^{value:.2f}"
    if unit == "B":
        return f"{value:.0f} B" if value < 1e5 else f"{value / 1e6:.3g} MB"
    for scale, name in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns")):
        if value >= scale:
            return f"{value / scale:.3g} {name}"
    return "0 s"


def verdict(row: Row, budget: Budget) -> tuple[bool, str]:
    """Whether a budget is met, and the sentence that says so."""
    value = budget.value(row.samples) / (row.case.per if budget.beyond else 1)
    met = value <= budget.limit
    if budget.beyond:
        text = f"{shown(value, row.case.unit)} ≤ {shown(budget.limit, row.case.unit)} beyond {budget.peer}"
    else:
        text = f"{value:.2f} ≤ {budget.limit:g} {TIMES} {budget.peer}"
    return met, f"met: {text}" if met else f"missed: {text.replace('≤', '>')}"


def verdicts(row: Row) -> list[tuple[bool, str]]:
    """Those of all budgets whose peer was measured."""
    measured = [b for b in row.case.budgets if {b.peer, "adjoint"} <= row.samples.keys()]
    return [verdict(row, budget) for budget in measured]


def columns(rows: Sequence[Row]) -> list[str]:
    """The peers that any of these rows has; and what else is compared there, after them."""
    found = list(dict.fromkeys(peer for row in rows for peer in row.samples))
    return [peer for peer in PEERS if peer in found] + [peer for peer in found if peer not in PEERS]


def cell(row: Row, peer: str) -> str:
    """A peer's figure, and what adjoint costs as a multiple of it."""
    if peer not in row.samples:
        return NONE
    value = row.median(peer)
    text = shown(value, row.case.unit)
    if peer == "adjoint" or "adjoint" not in row.samples or value <= 0:
        return text
    return f"{text} ({row.ratio(peer):.2g}{TIMES})"


def terminal(title: str, rows: Sequence[Row]) -> Any:
    """A table for rich."""
    from rich.table import Table

    table = Table(title=title, title_justify="left")
    table.add_column("")
    for peer in columns(rows):
        table.add_column(peer, justify="right")
    table.add_column("budget")
    for row in rows:
        marks = (f"[{'green' if met else 'red'}]{text}[/]" for met, text in verdicts(row))
        table.add_row(row.case.name, *(cell(row, peer) for peer in columns(rows)), "\n".join(marks))
    return table


def markdown(title: str, about: str, rows: Sequence[Row]) -> Iterator[str]:
    """The same table in Markdown, line by line."""
    peers = columns(rows)
    yield from (f"## {title}", "", about, "")
    yield f"| | {' | '.join(peers)} | budget |"
    yield f"|---|{'---:|' * len(peers)}---|"
    for row in rows:
        marks = (text if met else f"**{text}**" for met, text in verdicts(row))
        cells = (row.case.name, *(cell(row, peer) for peer in peers), "<br>".join(marks))
        yield f"| {' | '.join(cells)} |"
    yield ""


def machine() -> str:
    """The machine and the versions, in one paragraph."""
    given = {"Python": platform.python_version(), **versions([*dict.fromkeys(PEERS.values()), "scipy"])}
    named = ", ".join(f"{name} {number}" for name, number in given.items())
    return f"{_processor()}, {os.cpu_count()} cores, {platform.system()} {platform.machine()}; {named}."


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), "CPU")


def write(path: Path, sections: Iterable[Iterable[str]], rounds: int) -> None:
    """Write the whole page."""
    page = [
        "# Benchmarks",
        "",
        f"Written by `make bench`. {machine()}",
        "",
        f"Every library has one thread. Figures are medians over {rounds} rounds in which the libraries take turns, "
        "in processor time. In brackets: what adjoint costs as a multiple of that library, the median of the ratios "
        "within a round; below 1, adjoint is faster. NumPy is the same computation and its derivative written out by "
        "hand; `compiled` is adjoint under `ad.compile`, against which JAX's jit is held where both are there.",
        "",
    ]
    for section in sections:
        page += section
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(page).rstrip() + "\n", encoding="utf-8")
