"""The contents of a table's columns: numbers, categories, a label; and how a row becomes the values of an example."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from adjoint.core.errors import DataError
from adjoint.core.types import Value
from adjoint.data.dataset import Array
from adjoint.data.sheet import Sheet, is_missing, number_of

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
        remark: why it is left out.
    """

    name: str
    kind: str
    categories: tuple[str, ...] = ()
    fill: float = 0.0
    missing: int = 0
    remark: str = ""

    @property
    def width(self) -> int:
        """Values an example has of this column."""
        return {"numbers": 2 if self.missing else 1, "categories": len(self.categories), "left out": 0}[self.kind]

    def describe(self) -> str:
        """What the column holds, in a few words."""
        if self.kind == "numbers":
            return f"numbers; missing ones become {self.fill:g}" if self.missing else "numbers"
        if self.kind == "categories":
            return f"{len(self.categories)} categories: {_listed(self.categories)}"
        return f"left out: {self.remark}"

    def encode(self, sheet: Sheet) -> Array:
        """The values of the cells of this column: shape (rows, width)."""
        cells = sheet.column(self.name)
        if self.kind == "categories":
            return np.array([[cell == category for category in self.categories] for cell in cells], float)
        found = [np.nan if is_missing(cell) else number_of(cell) for cell in cells]
        bad = next((i for i, value in enumerate(found) if value is None or np.isinf(value)), None)
        if bad is not None:
            raise DataError(
                f"{sheet.where(bad, self.name)}: a finite number was expected, as in the other rows; found "
                f"{cells[bad]!r}. An empty cell is a missing value"
            )
        values = np.array(found, float)
        gaps = np.isnan(values)
        values[gaps] = self.fill
        return np.column_stack([values, gaps]) if self.missing else values[:, None]

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
    """

    features: tuple[Column, ...]
    label: str
    classes: bool
    named: bool

    @property
    def width(self) -> int:
        """Values an example has."""
        return sum(column.width for column in self.features)

    def encode(self, sheet: Sheet) -> Array:
        """The examples in a table, whatever the order of its columns: shape (rows, width).

        Raises:
            DataError: if a column is missing, or a cell is no number where one is expected.
        """
        missing = [column.name for column in self.features if column.width and column.name not in sheet.names]
        if missing:
            raise DataError(f"{sheet.path}: there is no column {missing[0]!r}, which the examples before had; the "
                            f"columns are {_listed(sheet.names)}")  # fmt: skip
        return np.concatenate([column.encode(sheet) for column in self.features if column.width], axis=1)

    def labels(self, sheet: Sheet) -> Array | None:
        """The labels in a table: texts, or real numbers; None if it has none."""
        if self.label not in sheet.names:
            return None
        cells = sheet.column(self.label)
        for i, cell in enumerate(cells):
            expected = "a class" if self.classes else "a finite number"
            if is_missing(cell) or not (self.classes or np.isfinite(number_of(cell) or 0.0)):
                raise DataError(f"{sheet.where(i, self.label)}: {expected} was expected, the label; found {cell!r}")
            if not self.classes and number_of(cell) is None:
                raise DataError(
                    f"{sheet.where(i, self.label)}: a finite number was expected, the label; found {cell!r}"
                )
        return np.array(cells) if self.classes else np.array([number_of(cell) for cell in cells], float)

    def state(self) -> dict[str, Value]:
        """As JSON."""
        return {"features": [vars(column) for column in self.features], "label": self.label, "classes": self.classes,
                "named": self.named}  # fmt: skip

    @classmethod
    def of_state(cls, state: Mapping[str, Value]) -> Columns:
        """What gave `state`."""
        features = [Column(**{**column, "categories": tuple(column["categories"])}) for column in state["features"]]
        return cls(tuple(features), state["label"], state["classes"], state["named"])


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
    classes = _are_classes(sheet.column(label), label) if task is None else task == "classes"
    return Columns(features, label, classes, sheet.named)


def _refuse_header(sheet: Sheet, label: str) -> None:
    """Raise if the first line, which has numbers, names the label all the same: ``1999,2000,label``."""
    if sheet.named:
        return
    first, *others = sheet.column(label)
    alone = number_of(first) is None and others and all(number_of(cell) is not None for cell in others)
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
    values = [value for value in map(number_of, present) if value is not None]
    if 2 * len(values) > len(present):  # others are errors, which the first reading tells
        finite = [value for value in values if np.isfinite(value)]
        return Column(name, "numbers", fill=float(np.median(finite)) if finite else 0.0, missing=missing)
    found = Counter(present)
    if len(found) > min(_MOST_CATEGORIES, max(len(present) // 2, 2)):
        return Column(name, "left out", missing=missing, remark=f"{len(found)} different texts in {len(cells)} rows")
    return Column(name, "categories", tuple(sorted(found)), missing=missing)


def _are_classes(cells: Sequence[str], name: str) -> bool:
    values = [number_of(cell) for cell in cells if not is_missing(cell)]
    if any(value is None for value in values):
        return True
    numbers = np.array(values, float)
    whole = bool(np.isfinite(numbers).all()) and bool((numbers == np.round(numbers)).all())
    return whole and (len(np.unique(numbers)) <= _MOST_CLASSES or name.lower() in _LABELS)


def _listed(names: Sequence[str], most: int = 6) -> str:
    return ", ".join(names[:most]) + (", …" if len(names) > most else "")
