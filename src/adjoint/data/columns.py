"""The contents of a table's columns: numbers, categories, a label; and how a row becomes the values of an example."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from adjoint.core.errors import DataError
from adjoint.core.types import Value
from adjoint.data.dataset import NDArray
from adjoint.data.numerals import PLAIN, Numerals, numerals_of, plain
from adjoint.data.sheet import Sheet, is_missing

_MOST_CATEGORIES = 50
_MOST_CLASSES = 20  # more different whole numbers than this are a measure, not classes
_LABELS = ("label", "class")  # a column of this name has classes, however many


@dataclass(frozen=True)
class Column:
    """A column of features.

    Attributes:
        name: in the header, or "column 3".
        kind: "numbers", "categories", or "left out".
        categories: the texts that were found; each becomes a value 0 or 1.
        fill: the replacement of a missing number: the median of the file.
        missing: how many cells are missing; of numbers, a value 0 or 1 more then tells where.
        remark: why it is left out, or what there is to know about its cells.
        numerals: how its numbers are written.

    Example:
        >>> from adjoint.data import Column
        >>> Column("age", "numbers", fill=30.0, missing=2).describe()
        'numbers; missing ones become 30'
    """

    name: str
    kind: str
    categories: tuple[str, ...] = ()
    fill: float = 0.0
    missing: int = 0
    remark: str = ""
    numerals: Numerals = PLAIN

    @property
    def width(self) -> int:
        """Values an example has of this column."""
        return {"numbers": 2 if self.missing else 1, "categories": len(self.categories), "left out": 0}[self.kind]

    def describe(self) -> str:
        """What the column holds, in a few words."""
        if self.kind == "numbers":
            said = [f"numbers {self.numerals.describe()}".strip()]
            said += [f"missing ones become {self.fill:g}"] if self.missing else []
            return "; ".join(said + ([self.remark] if self.remark else []))
        if self.kind == "categories":
            said = [f"{len(self.categories)} categories: {_listed(self.categories)}"]
            return "; ".join(said + ([self.remark] if self.remark else []))
        return f"left out: {self.remark}"

    def encode(self, sheet: Sheet) -> NDArray:
        """The values of the cells of this column: shape (rows, width)."""
        cells = sheet.column(self.name)
        if self.kind == "categories":
            return np.array([[cell == category for category in self.categories] for cell in cells], float)
        found = [np.nan if is_missing(cell) else self.numerals.read(cell) for cell in cells]
        bad = next((i for i, value in enumerate(found) if value is None or np.isinf(value)), None)
        if bad is not None:
            raise DataError(
                f"{sheet.where(bad, self.name)}: a finite number was expected, {self._as_others()}; found "
                f"{cells[bad]!r}. An empty cell is a missing value"
            )
        values = np.array(found, float)
        gaps = np.isnan(values)
        values[gaps] = self.fill
        return np.column_stack([values, gaps]) if self.missing else values[:, None]

    def _as_others(self) -> str:
        said = self.numerals.describe()
        return f"written as in the other rows, {said}" if said else "as in the other rows"

    def unseen(self, sheet: Sheet) -> list[str]:
        """Texts that no example had when the column was read first."""
        if self.kind != "categories":
            return []
        cells = set(sheet.column(self.name))
        return sorted(cell for cell in cells if cell not in self.categories and not is_missing(cell))

    def gaps(self, sheet: Sheet) -> int:
        """How many numbers are missing in a column that had all of them when it was read first."""
        if self.kind != "numbers" or self.missing:
            return 0
        return sum(is_missing(cell) for cell in sheet.column(self.name))


@dataclass(frozen=True)
class Columns:
    """How a table is read: its features, and its label.

    Attributes:
        features: in the order in which their values stand in an example.
        label: the name of the column of labels.
        classes: whether labels are classes, or real numbers.
        named: whether the file has a header; without one, columns are known by their places.
        numerals: how labels that are numbers are written.

    Example:
        >>> from adjoint.data import Column, Columns
        >>> features = Column("age", "numbers"), Column("town", "categories", ("Bern", "Rome"))
        >>> Columns(features, label="income", classes=False, named=True).width
        3
    """

    features: tuple[Column, ...]
    label: str
    classes: bool
    named: bool
    numerals: Numerals = PLAIN

    @property
    def width(self) -> int:
        """Values an example has."""
        return sum(column.width for column in self.features)

    def encode(self, sheet: Sheet) -> NDArray:
        """The examples in a table, whatever the order of its columns: shape (rows, width).

        Raises:
            DataError: if a column is missing, or a cell is no number where one is expected.
        """
        missing = [column.name for column in self.features if column.width and column.name not in sheet.names]
        if missing:
            raise DataError(f"{sheet.path}: there is no column {missing[0]!r}, which the examples before had; the "
                            f"columns are {_listed(sheet.names)}")  # fmt: skip
        return np.concatenate([column.encode(sheet) for column in self.features if column.width], axis=1)

    def labels(self, sheet: Sheet) -> NDArray | None:
        """The labels in a table: texts, or real numbers; None if it has none."""
        if self.label not in sheet.names:
            return None
        cells = sheet.column(self.label)
        expected = "a class" if self.classes else f"a finite number {self.numerals.describe()}".strip()
        values = [1.0 if self.classes else self.numerals.read(cell) for cell in cells]
        for i, (cell, value) in enumerate(zip(cells, values, strict=True)):
            if is_missing(cell) or value is None or not np.isfinite(value):
                raise DataError(f"{sheet.where(i, self.label)}: {expected} was expected, the label; found {cell!r}")
        return np.array(cells) if self.classes else np.array(values, float)

    def state(self) -> dict[str, Value]:
        """As JSON."""
        features = [{**vars(column), "numerals": vars(column.numerals)} for column in self.features]
        return {"features": features, "label": self.label, "classes": self.classes, "named": self.named,
                "numerals": vars(self.numerals)}  # fmt: skip

    @classmethod
    def of_state(cls, state: Mapping[str, Value]) -> Columns:
        """The columns that gave `state`; older models have no `numerals`."""
        features = [
            Column(**{**column, "categories": tuple(column["categories"]), "numerals": _numerals(column)})
            for column in state["features"]
        ]
        return cls(tuple(features), state["label"], state["classes"], state["named"], _numerals(state))


def _numerals(state: Mapping[str, Value]) -> Numerals:
    return Numerals(**state.get("numerals", {}))


def columns_of(sheet: Sheet, label: str | None = None, task: str | None = None) -> Columns:
    """Look at a table, and decide how it is read.

    Args:
        sheet: the table.
        label: the column of labels; otherwise the one named "label", otherwise the last one.
        task: "classes" or "numbers", what labels are; None for what they look like.

    Raises:
        DataError: if there is no such column, or no other one.
    """
    named = {name.lower(): name for name in sheet.names}
    if label is not None and label not in sheet.names:
        raise DataError(f"{sheet.path}: there is no column {label!r} for the label; the columns are "
                        f"{_listed(sheet.names)}")  # fmt: skip
    label = label if label is not None else named.get("label", sheet.names[-1])
    if len(sheet.names) < 2:
        raise DataError(f"{sheet.path}: only one column; expected a label and at least one value, separated by commas")
    _refuse_header(sheet, label)
    features = tuple(_column(sheet, name) for name in sheet.names if name != label)
    if not any(column.width for column in features):
        raise DataError(f"{sheet.path}: nothing to learn from: {features[0].name!r} is left out "
                        f"({features[0].remark})")  # fmt: skip
    present = [cell for cell in sheet.column(label) if not is_missing(cell)]
    numerals, unclear = numerals_of(present)
    classes = _are_classes(present, label, numerals) if task is None else task == "classes"
    if unclear and (task == "numbers" or (task is None and len(set(present)) > _MOST_CLASSES)):
        raise DataError(f"{sheet.path}, column {label!r}: the labels are not clear: {unclear}; or say --task classes")
    if any(column.numerals.decimal == "," for column in features):
        features = tuple(map(_with_commas_beside, features, (sheet.column(column.name) for column in features)))
    return Columns(features, label, classes, sheet.named, numerals or PLAIN)


def _refuse_header(sheet: Sheet, label: str) -> None:
    """Raise if the first line, which has numbers, names the label all the same: ``1999,2000,label``."""
    if sheet.named:
        return
    first, *others = sheet.column(label)
    alone = plain(first) is None and others and all(plain(cell) is not None for cell in others)
    if first.lower() == "label" or alone:
        other = others[0] if others else "labels"
        raise DataError(
            f"{sheet.where(0, label)}: found {first!r} where the other lines have {other!r}. "
            f"A first line that names columns has no number in it: give those columns names"
        )


def _column(sheet: Sheet, name: str) -> Column:
    cells = sheet.column(name)
    present = [cell for cell in cells if not is_missing(cell)]
    missing = len(cells) - len(present)
    if not present:
        return Column(name, "left out", missing=missing, remark="every cell is missing")
    numerals, remark = numerals_of(present)
    if numerals is not None:  # other cells are errors, which the first reading tells
        values = [value for value in map(numerals.read, present) if value is not None]
        finite = [value for value in values if np.isfinite(value)]
        fill = float(np.median(finite)) if finite else 0.0
        return Column(name, "numbers", (), fill, missing, _remark_on_digits(present), numerals)
    found = Counter(present)
    if len(found) > min(_MOST_CATEGORIES, max(len(present) // 2, 2)):
        remark = remark or f"{len(found)} different texts in {len(cells)} rows"
        return Column(name, "left out", missing=missing, remark=remark)
    folded = Counter(text.casefold() for text in found)
    twice = next((text for text in sorted(found) if folded[text.casefold()] > 1), None)
    if twice is not None and not remark:
        others = [text for text in sorted(found) if text.casefold() == twice.casefold()]
        remark = f"{_listed([repr(text) for text in others])} are different ones"
    return Column(name, "categories", tuple(sorted(found)), missing=missing, remark=remark)


def _remark_on_digits(cells: Sequence[str]) -> str:
    """What numbers lose that may be the names of things."""
    if any(len(cell) > 1 and cell[0] == "0" and cell.isdecimal() for cell in cells):
        return "zeros at the beginning do not count"
    if any(len(cell.lstrip("-")) > 16 and cell.lstrip("-").isdecimal() for cell in cells):
        return "of so many digits only the first 15 or 16 count"
    return ""


def _with_commas_beside(column: Column, cells: Sequence[str]) -> Column:
    """A column of a table in which others have decimal commas: 1.234 may be meant as 1234 there."""
    dotted = [cell for cell in cells if "." in cell]
    odd = column.kind == "numbers" and column.numerals.decimal == "." and not column.numerals.group and dotted
    if not odd or not all(Numerals(",", ".", column.numerals.mark).read(cell) is not None for cell in dotted):
        return column
    value = column.numerals.read(dotted[0])
    return replace(column, remark=f"{dotted[0]!r} is read as {value:g}, though other columns have decimal commas")


def _are_classes(cells: Sequence[str], name: str, numerals: Numerals | None) -> bool:
    if numerals is None:
        return True
    values = [numerals.read(cell) for cell in cells]
    numbers = np.array([value for value in values if value is not None], float)
    whole = bool(np.isfinite(numbers).all()) and bool((numbers == np.round(numbers)).all())
    return whole and (len(np.unique(numbers)) <= _MOST_CLASSES or name.lower() in _LABELS)


def _listed(names: Sequence[str], most: int = 6) -> str:
    return ", ".join(names[:most]) + (", …" if len(names) > most else "")
