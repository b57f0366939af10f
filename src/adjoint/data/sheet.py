"""A table in text: one example a line, values separated by commas, semicolons, tabs or bars."""

from __future__ import annotations

import codecs
import csv
from collections.abc import Iterator
from io import StringIO
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from adjoint.core.errors import DataError
from adjoint.data.numerals import looks_like_one

NumberedRow = tuple[int, list[str]]

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
        content: the file, UTF-8, or UTF-16 with its mark. A first line without a number names the columns.
        path: for messages.

    Raises:
        DataError: with the number of the line, for lines of different lengths.
    """
    wide = content[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
    try:
        text = content.decode("utf-16" if wide else "utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: a CSV file is UTF-8 text; byte {error.start} is not. Save it as UTF-8") from None
    if "\n" not in text:  # lines end as on old Macs
        text = text.replace("\r", "\n")
    lines = list(_lines(text, path))
    if not lines:
        raise DataError(f"{path}: the file is empty; expected one example a line, its label in the last column")
    named = not any(looks_like_one(cell) for cell in lines[0][1])
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


def _lines(text: str, path: Path) -> Iterator[NumberedRow]:
    """Line numbers and cells, blank lines and rows of empty cells left out."""
    delimiter = _delimiter(text)
    reader, begun, ended = csv.reader(StringIO(text), delimiter=delimiter), 0, 0
    try:
        for cells in reader:
            begun, ended = ended, reader.line_num
            if any(map(str.strip, cells)):  # spreadsheets write lines of delimiters alone, too
                yield ended, cells
    except csv.Error as error:
        raise DataError(f"{path}, line {reader.line_num}: {error}") from None
    if ended - begun > 1 and _is_open("\n".join(text.split("\n")[begun:]), delimiter):
        raise DataError(f"{path}, line {begun + 1}: a quotation mark opens a cell here and none closes it, so that all "
                        f"lines that follow would be this one cell")  # fmt: skip


def _is_open(text: str, delimiter: str) -> bool:
    """Whether the text ends inside a quoted cell."""
    try:
        for _ in csv.reader(StringIO(text), delimiter=delimiter, strict=True):
            pass
    except csv.Error as error:
        return "unexpected end" in str(error)
    return False


def _delimiter(text: str, among: str = ";\t|,", most: int = 20) -> str:
    """The character that cuts the first lines into equally many cells, as many as possible; the first of `among`."""

    def cells(delimiter: str) -> int:
        try:
            counts = {len(row) for row in islice(csv.reader(StringIO(text), delimiter=delimiter), most) if row}
        except csv.Error:
            return 0
        return min(counts) if len(counts) == 1 else 0

    best = max(among, key=cells)
    first = text.lstrip().split("\n", maxsplit=1)[0]
    return best if cells(best) > 1 else max(",;\t|", key=first.count)
