"""How numbers are written in a column of texts: 1,5 or 1.234,5 or 10% or $5; and dates."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from functools import lru_cache

_BEFORE = r"(?P<before>[$€£¥₹]|(?:USD|EUR|GBP|CHF|JPY|Fr\.?)(?=[\s\d]))?"
_BEHIND = r"(?P<behind>[%‰$€£¥₹]|USD|EUR|GBP|CHF|JPY|kr|zł)?"
_DIGITS = r"(?P<body>[-+]?[\d.,'\s]*\d[\d.,]*(?:[eE][-+]?\d+)?)"
_MARKS = re.compile(rf"^(?P<sign>[-+]?)\s*{_BEFORE}\s*{_DIGITS}\s*{_BEHIND}$")
_MINUS, _QUOTE = "\u2212", "\u2019"  # as typesetters have them
_SPACES = re.compile("[\u00a0\u2007\u2009\u202f ]")
_DATE = re.compile(r"^\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d+)?)?)?$")
_OTHER_DATE = re.compile(r"^\d{1,4}[./-]\d{1,2}[./-]\d{1,4}([T ]\d{1,2}:\d\d.*)?$")
_TIME = re.compile(r"^\d{1,2}:\d\d(:\d\d(\.\d+)?)?$")


@dataclass(frozen=True)
class Numerals:
    """How the numbers of a column are written.

    Attributes:
        decimal: between the whole part and the rest.
        group: between thousands; "" for nothing.
        mark: what stands before or behind each number: "%", "€"; or "date".
    """

    decimal: str = "."
    group: str = ""
    mark: str = ""

    def read(self, cell: str) -> float | None:
        """The number in a cell; None if it is not written in this way."""
        if self == PLAIN and (value := plain(cell)) is not None:
            return value
        if self.mark == "date":
            return _days(cell)
        mark, body = _parted(cell)
        if mark != self.mark or not _pattern(self.decimal, self.group).match(body):
            return None
        return float(body.replace(self.group, "").replace(self.decimal, ".") if self.group else
                     body.replace(self.decimal, "."))  # fmt: skip

    def describe(self) -> str:
        """In a few words, for the table before a training; "" for numbers as Python writes them."""
        if self.mark == "date":
            return "days since 1970-01-01, from dates"
        said = [f"with {self.decimal!r} before the decimals"] if self.decimal != "." else []
        said += [f"with {self.group!r} between thousands"] if self.group else []
        said += [f"without their {self.mark!r}"] if self.mark else []
        return " and ".join(said)


PLAIN = Numerals()
_WAYS = [(decimal, group) for group in ("", ",", ".", "'", " ") for decimal in ".," if decimal != group]


def plain(cell: str) -> float | None:
    """The number in a cell, as Python writes one."""
    if "_" in cell:  # which Python leaves out of numbers
        return None
    try:
        return float(cell)
    except ValueError:
        return None


def looks_like_one(cell: str) -> bool:
    """Whether a cell is a number or a date, however it is written."""
    if plain(cell) is not None or _DATE.match(cell):
        return True
    _, body = _parted(cell)
    return any(_pattern(*way).match(body) for way in _WAYS)


def numerals_of(cells: Sequence[str]) -> tuple[Numerals | None, str]:
    """How the numbers in most of these cells are written, which are not missing; or None, and why it is not clear.

    Cells that are no numbers at all are left to whoever reads the column, if they are fewer than half.
    """
    found = [cell for cell in cells if looks_like_one(cell)]
    if 2 * len(found) <= len(cells):
        return None, _remark_on(cells)
    numerals, remark = _common(found)
    if numerals is None and 2 * sum(plain(cell) is not None for cell in found) > len(cells):
        return PLAIN, ""  # the others are errors
    return numerals, remark


def _common(found: Sequence[str]) -> tuple[Numerals | None, str]:
    """How all of these are written."""
    if all(plain(cell) is not None for cell in found):
        return PLAIN, ""
    if all(_DATE.match(cell) for cell in found):
        return Numerals(mark="date"), ""
    parted = {_parted(cell) for cell in found}
    marks = {mark for mark, _ in parted}
    if len(marks) > 1:
        some = [next(cell for cell in found if _parted(cell)[0] == mark) for mark in sorted(marks)[:2]]
        return None, f"numbers with and without a mark, or with two: {some[0]!r}, {some[1]!r}"
    mark = marks.pop()
    ways = [Numerals(*way, mark) for way in _WAYS if all(_pattern(*way).match(body) for _, body in parted)]
    if not ways:
        return None, f"numbers are written in several ways: {_two_ways(found, mark)}"
    for cell in found:
        read = {way.read(cell) for way in ways}
        if len(read) > 1:
            a, b = sorted(value for value in read if value is not None)[:2]
            return None, f"{cell!r} may be {a:g} or {b:.15g}: write it in one way, without a separator of thousands"
    return ways[0], ""


def _two_ways(cells: Sequence[str], mark: str) -> str:
    """Two cells that do not go together."""
    for other in cells:
        if not any(Numerals(*way, mark).read(cells[0]) is not None and Numerals(*way, mark).read(other) is not None
                   for way in _WAYS):  # fmt: skip
            return f"{cells[0]!r}, {other!r}"
    return ", ".join(map(repr, sorted(set(cells), key=len)[-3:]))


def _remark_on(cells: Sequence[str]) -> str:
    """What texts are that might have been numbers; "" if they are just texts."""
    for pattern, what in ((_OTHER_DATE, "dates; written as 2024-01-31 they become numbers"),
                          (_TIME, "times of day; give them as numbers")):  # fmt: skip
        if 2 * sum(bool(pattern.match(cell)) for cell in cells) > len(cells):
            return what
    return ""


def _tidy(cell: str) -> str:
    return _SPACES.sub(" ", cell).replace(_MINUS, "-").replace(_QUOTE, "'").strip()


def _parted(cell: str) -> tuple[str, str]:
    """The mark of a number, and its sign and digits."""
    found = _MARKS.match(_tidy(cell))
    if found is None:
        return "?", ""
    return found["before"] or found["behind"] or "", found["sign"] + found["body"].strip()


@lru_cache
def _pattern(decimal: str, group: str) -> re.Pattern[str]:
    d, g = re.escape(decimal), re.escape(group)
    whole = rf"(\d{{1,3}}({g}\d{{3}})+|\d+)" if group else r"\d+"
    return re.compile(rf"^[-+]?({whole}({d}\d*)?|{d}\d+)([eE][-+]?\d+)?$")


def _days(cell: str) -> float | None:
    if not _DATE.match(cell):
        return None
    try:
        moment = datetime.fromisoformat(cell)
    except ValueError:
        return None
    seconds = moment.hour * 3600 + moment.minute * 60 + moment.second + moment.microsecond / 1e6
    return moment.toordinal() - date(1970, 1, 1).toordinal() + seconds / 86400
