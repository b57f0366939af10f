"""Examples and labels in text: one example a line, values separated by commas, semicolons or tabs."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from io import StringIO
from pathlib import Path

import numpy as np

from adjoint.core.errors import DataError
from adjoint.data.npz import Table

Line = tuple[int, list[str]]


def parse_csv(content: bytes, path: Path, width: int | None = None) -> Table:
    """The examples in a CSV file; the label stands in the column named ``label``, otherwise in the first.

    Args:
        content: the file, UTF-8. A first line that is not numbers names the columns.
        path: for messages.
        width: how many features an example has, where that is known; a file with just that many columns and none
            named ``label`` has no labels.

    Raises:
        DataError: with the line number, for lines of different lengths and for values that are no numbers.
    """
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: a CSV file is UTF-8 text; byte {error.start} is not") from None
    lines = _lines(text, path)
    first = next(lines, None)
    if first is None:
        raise DataError(f"{path}: the file is empty; expected one example a line, its label in the first column")
    header = [cell.strip().lower() for cell in first[1]] if _is_header(first[1]) else []
    columns = len(first[1])
    label: int | None = header.index("label") if "label" in header else 0
    if columns == width and "label" not in header:
        label = None
    elif columns < 2:
        raise DataError(f"{path}: only one column; expected a label and at least one value, separated by commas")
    rows, labels = [], []
    for number, cells in lines if header else _chain(first, lines):
        if len(cells) != columns:
            raise DataError(f"{path}, line {number}: {columns} columns expected, as above; found {len(cells)}")
        if label is not None:
            labels.append(cells.pop(label))
        try:
            rows.append(np.array([float(cell) for cell in cells]))
        except ValueError:
            raise DataError(f"{path}, line {number}: {_no_number(cells)!r} is not a number") from None
    if not rows:
        raise DataError(f"{path}: the file has a header and no examples")
    if "" in labels:
        raise DataError(f"{path}: example {labels.index('')} has no label")
    return Table(np.stack(rows), None if label is None else np.array(labels))


def _lines(text: str, path: Path) -> Iterator[Line]:
    """Line numbers and cells, blank lines left out."""
    start = text.lstrip().split("\n", maxsplit=1)[0]
    reader = csv.reader(StringIO(text), delimiter=max(",;\t", key=start.count))
    try:
        for cells in reader:
            if cells:
                yield reader.line_num, cells
    except csv.Error as error:
        raise DataError(f"{path}, line {reader.line_num}: {error}") from None


def _chain(first: Line, lines: Iterator[Line]) -> Iterator[Line]:
    yield first
    yield from lines


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _is_header(cells: Sequence[str]) -> bool:
    """Whether these are names: the label may be a word, but then the values beside it are numbers."""
    return not any(_is_number(cell) for cell in (cells[1:] if len(cells) > 1 else cells))


def _no_number(cells: Sequence[str]) -> str:
    return next(cell for cell in cells if not _is_number(cell))
