"""``python -m benchmarks.readme``: rows that have a budget and a peer, from the results page into the README."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).parent
NONE = "\N{EN DASH}"
COLUMNS = {
    "adjoint": "adjoint, eager",
    "compiled": "adjoint, compiled",
    "NumPy": "NumPy, by hand",
    "PyTorch": "PyTorch, eager",
    "JAX jit": "JAX, jit",
    "MyGrad": "MyGrad",
    "autograd": "autograd",
}
# What a reader of the README looks for first; and what the columns of some pages are called here.
SHOWN: dict[str, dict[str, str]] = {
    "Training step of a small network": {},
    "Unrolled GRU": {},
    "Chain of operations": {},
    "Compiled functions": {"adjoint": "compiled", "eager": "adjoint"},
    "Native code": {"adjoint": "compiled", "NumPy": "adjoint"},
    "Import": {},
}


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
    lines = [f"| | {' | '.join(COLUMNS.values())} |", f"|---|{'---:|' * len(COLUMNS)}"]
    previous = ""
    order = list(SHOWN)
    for title, row in sorted((pair for pair in rows(page) if pair[0] in SHOWN), key=lambda pair: order.index(pair[0])):
        cells = {SHOWN[title].get(peer, peer): cell for peer, cell in row.items()}
        peers = [peer for peer in COLUMNS if peer not in ("adjoint", "compiled")]
        if not row["budget"] or all(cells.get(peer, NONE) == NONE for peer in peers):
            continue
        if title != previous:
            lines.append(f"| **{title}** |{' |' * len(COLUMNS)}")
            previous = title
        lines.append(f"| {row['']} | {' | '.join(_cell(cells, peer) for peer in COLUMNS)} |")
    return "\n".join(lines)


def _cell(cells: dict[str, str], peer: str) -> str:
    """The figure; ours without a ratio, which is that of our own columns."""
    text = cells.get(peer, NONE)
    return text.partition(" (")[0] if peer in ("adjoint", "compiled") else text


def main() -> None:
    """Write the table between the README's markers."""
    page = (HERE / "results" / "eager.md").read_text(encoding="utf-8")
    machine = re.search(r"Written by `make bench`\. (.*?);", page)
    about = (
        f"Measured on {machine[1] if machine else 'one machine'}, one thread each. **Eager** runs the program as it "
        "is; **compiled** is the same under `ad.compile`; by hand, the derivative is written out in NumPy. In brackets "
        "is what adjoint takes as a multiple of that library, below 1 where adjoint is faster: of JAX's jit the "
        "compiled function, of the others the eager one (in the last two groups the compiled one). `make bench` prints "
        "the whole; the [full "
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
