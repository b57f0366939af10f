"""``python -m benchmarks.readme``: rows that have a budget and a peer, from the results page into the README."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).parent
NONE = "\N{EN DASH}"
PEERS = ("adjoint", "NumPy", "PyTorch", "JAX jit", "MyGrad", "autograd")
# What a reader of the README looks for first.
SHOWN = (
    "Compiled functions",
    "Native code",
    "Chain of operations",
    "Unrolled GRU",
    "Training step of a small network",
    "Deep chains",
    "Import",
)


def rows(page: str) -> Iterator[tuple[str, dict[str, str]]]:
    """The title of each table and its rows, by column."""
    title, names = "", []
    for line in page.splitlines():
        if line.startswith("## "):
            title = line[3:]
        elif line.startswith("| | "):
            names = ["", *(cell.strip() for cell in line.strip("|").split("|")[1:])]
        elif line.startswith("| "):
            yield title, dict(zip(names, (cell.strip() for cell in line[1:-1].split("|")), strict=True))


def table(page: str) -> str:
    """The compact table. A cell is the time, and what adjoint takes as a multiple of it."""
    lines = [f"| | {' | '.join(PEERS)} |", f"|---|{'---:|' * len(PEERS)}"]
    previous = ""
    for title, row in sorted((pair for pair in rows(page) if pair[0] in SHOWN), key=lambda pair: SHOWN.index(pair[0])):
        if not row["budget"] or all(row.get(peer, NONE) == NONE for peer in PEERS[1:]):
            continue
        if title != previous:
            lines.append(f"| **{title}** |{' |' * len(PEERS)}")
            previous = title
        lines.append(f"| {row['']} | {' | '.join(row.get(peer, NONE) for peer in PEERS)} |")
    return "\n".join(lines)


def main() -> None:
    """Write the table between the README's markers."""
    page = (HERE / "results" / "eager.md").read_text(encoding="utf-8")
    machine = re.search(r"Written by `make bench`\. (.*?);", page)
    about = (
        f"Measured on {machine[1] if machine else 'one machine'}, one thread each; in brackets what adjoint takes as "
        "a multiple of that library, so below 1 adjoint is faster. NumPy is the program and its derivative written out "
        "by hand, under native code adjoint itself without compiling. `make bench` prints the whole; the [full "
        "tables](benchmarks/results/eager.md) say which budgets are met and which are missed."
    )
    readme = HERE.parent / "README.md"
    text = readme.read_text(encoding="utf-8")
    new = re.sub(
        r"(<!-- bench:begin -->\n).*?(<!-- bench:end -->)",
        lambda m: f"{m[1]}{about}\n\n{table(page)}\n{m[2]}",
        text,
        flags=re.DOTALL,
    )
    readme.write_text(new, encoding="utf-8")


if __name__ == "__main__":
    main()
