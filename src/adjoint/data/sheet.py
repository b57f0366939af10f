"""A table in text: one example a line, values separated by commas, semicolons or tabs."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from io import StringIO
from pathlib import Path
from typing import NamedTuple

from adjoint.core.errors import DataError

Line = tuple[int, list[str]]

_MISSING = frozenset({"", "na", "n/a", "nan", "null", "none", "?"})


class Sheet(NamedTuple):
    """The cells of a table as texts.

    Attributes:
        path: for messages.
        names: of the columns; "column 1" and so on where the file has no header.
        named: whether the file has a header.
        rows: the cells of each example.
        lines: the numbers of their lines in the file.
    """

    path: Path
    names: tuple[str, ...]
    named: bool
    rows: list[list[str]]
    lines: list[int]

    def column(self, name: str) -> list[str]:
        """The cells of a column."""
        place = self.names.index(name)
        return [row[place] for row in self.rows]

    def where(self, row: int, name: str) -> str:
        """The place of a cell, for messages."""
        return f"{self.path}, line {self.lines[row]}, column {name!r}"


def read_sheet(content: bytes, path: Path) -> Sheet:
    """The table in a CSV file.

    Args:
        content: the file, UTF-8. A first line without a number names the columns.
        path: for messages.

    Raises:
        DataError: with the number of the line, for lines of different lengths.
    """
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: a CSV file is UTF-8 text; byte {error.start} is not") from None
    lines = list(_lines(text, path))
    if not lines:
        raise DataError(f"{path}: the file is empty; expected one example a line, its label in the last column")
    named = not any(number_of(cell) is not None for cell in lines[0][1])
    if named and len(lines) == 1:
        raise DataError(f"{path}: the file has a header and no examples")
    first = lines[0][1]
    names = tuple(cell.strip() if named else f"column {i}" for i, cell in enumerate(first, 1))
    twice = next((name for i, name in enumerate(names) if name in names[:i]), None)
    if twice is not None:
        raise DataError(f"{path}, line {lines[0][0]}: two columns are named {twice!r}; each needs a name of its own")
    for number, cells in lines:
        if len(cells) != len(names):
            raise DataError(f"{path}, line {number}: {len(names)} columns expected, as above; found {len(cells)}")
    examples = lines[1:] if named else lines
    return Sheet(path, names, named, [[cell.strip() for cell in cells] for _, cells in examples],
                 [number for number, _ in examples])  # fmt: skip


def is_missing(cell: str) -> bool:
    """Whether a cell says that there is no value."""
    return cell.lower() in _MISSING


def number_of(cell: str) -> float | None:
    """The number in a cell, if it is one."""
    if "_" in cell:  # which Python leaves out of numbers
        return None
    try:
        return float(cell)
    except ValueError:
        return None


def _lines(text: str, path: Path) -> Iterator[Line]:
    """Line numbers and cells, blank lines left out."""
    start = text.lstrip().split("\n", maxsplit=1)[0]
    reader = csv.reader(StringIO(text), delimiter=_delimiter(start))
    try:
        for cells in reader:
            if cells:
                yield reader.line_num, cells
    except csv.Error as error:
        raise DataError(f"{path}, line {reader.line_num}: {error}") from None


def _delimiter(start: str, among: Sequence[str] = ",;\t") -> str:
    return max(among, key=start.count)
