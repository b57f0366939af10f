"""What the commands show: tables and small pictures, with and without a terminal."""

from __future__ import annotations

import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text

from adjoint.data.dataset import NDArray

_WIDEST_TABLE = 20  # more classes than this are told as a list of mistakes
_SHADES = " ░▒▓█"
_ASCII_SHADES = " .:-=+*#%@"


def say(console: Console, text: str, style: str = "") -> None:
    """Print one line as it is: no markup, no wrapping."""
    console.print(Text(text, style), soft_wrap=True)


def percent(share: float) -> str:
    """A share for people: 98.6 %."""
    return f"{100 * share:.1f} %"


def confusion_table(counts: NDArray, classes: tuple[str, ...]) -> Table | Text:
    """How often each class (row) was predicted as each class (column); for many classes, the commonest mistakes."""
    if len(classes) > _WIDEST_TABLE:
        return _mistakes(counts, classes)
    table = Table(box=None, padding=(0, 1), header_style="bold")
    table.add_column("", style="bold", no_wrap=True)
    for name in classes:
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("right", justify="right", style="dim", no_wrap=True)
    for i, name in enumerate(classes):
        cells = [_cell(int(count), right=i == j) for j, count in enumerate(counts[i])]
        total = counts[i].sum()
        table.add_row(name, *cells, percent(counts[i, i] / total) if total else "none")
    return table


def _cell(count: int, *, right: bool) -> Text:
    if not count:
        return Text("·", "dim")
    return Text(str(count), "green" if right else "bold red")


def _mistakes(counts: NDArray, classes: tuple[str, ...], most: int = 10) -> Text:
    wrong = counts * (1 - np.eye(len(classes), dtype=counts.dtype))
    order = np.argsort(-wrong, axis=None, kind="stable")[:most]
    pairs = [divmod(int(place), len(classes)) for place in order if wrong.flat[place]]
    lines = [f"  {classes[i]} read as {classes[j]}: {wrong[i, j]}" for i, j in pairs]
    return Text("\n".join(["Commonest mistakes:" if lines else "No mistakes.", *lines]))


def terminal_picture(pixels: NDArray, encoding: str) -> list[str]:
    """A grayscale picture (height, width) as lines of text, two characters a pixel; the brightest value is inked."""
    try:
        _SHADES.encode(encoding)
        shades = _SHADES
    except (UnicodeEncodeError, LookupError):
        shades = _ASCII_SHADES
    low, high = float(pixels.min()), float(pixels.max())
    levels = np.round((pixels - low) / max(high - low, 1e-300) * (len(shades) - 1)).astype(int)
    return ["".join(2 * shades[level] for level in row) for row in levels]
