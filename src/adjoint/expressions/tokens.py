"""Text to tokens, each with its position; and the error that shows a position in the text."""

from __future__ import annotations

import math
import re
import unicodedata
from typing import NamedTuple

from adjoint.core.errors import ExprError

MAX_LENGTH = 4_000_000
MAX_DIGITS = 400
MAX_NAME = 200
_SHOWN = 60  # characters of the text that an error shows on each side

_TOKEN = re.compile(
    r"(?P<space>[^\S\n]+|\#[^\n]*)"
    r"|(?P<number>(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)"
    r"|(?P<name>[^\W\d](?:\w|[^\x00-\x7f\s\u2212\u00b7\u00d7\u2264\u2265\u2260])*)"
    r"|(?P<sign>\*\*|<=|>=|==|!=|[-+*/^<>=(),;\n\u2212\u00b7\u00d7\u2264\u2265\u2260])"
)
# Typeset signs: minus, the point and the cross of products, and comparisons.
_SAME = {"**": "^", "\u2212": "-", "\u00b7": "*", "\u00d7": "*", "\u2264": "<=", "\u2265": ">=", "\u2260": "!="}


class Token(NamedTuple):
    """`kind` is ``"number"``, ``"name"``, ``"end"``, or the sign itself; `at` counts characters from 0."""

    kind: str
    text: str
    at: int


def tokens(text: str) -> list[Token]:
    """The tokens of `text`, and one of kind ``"end"``. Time and memory grow with its length.

    Raises:
        ExprError: for a character that no expression has, and for what is longer than the limits.
    """
    if len(text) > MAX_LENGTH:
        raise ExprError(f"the text has {len(text)} characters; at most {MAX_LENGTH} are read")
    found: list[Token] = []
    end = 0
    for m in _TOKEN.finditer(text):
        at = m.start()
        if at != end:
            break
        kind, word, end = m.lastgroup, m.group(), m.end()
        if kind == "sign":
            word = _SAME.get(word, word)
            found.append(Token(word, word, at))
        elif kind == "number":
            _check_number(text, word, at)
            found.append(Token("number", word, at))
        elif kind == "name":
            found.append(Token("name", _name(text, word, at), at))
    if end != len(text):
        raise complaint(text, end, f"{shown(text[end])} has no meaning here", expected="a number, a name or a sign")
    found.append(Token("end", "", len(text)))
    return found


def _check_number(text: str, word: str, at: int) -> None:
    if len(word) > MAX_DIGITS:
        raise complaint(text, at, f"a number of {len(word)} characters", expected=f"at most {MAX_DIGITS}")
    if math.isinf(float(word)):
        raise complaint(text, at, f"{word} is more than float64 can hold", expected="at most 1.797e308; or write inf")


def _name(text: str, word: str, at: int) -> str:
    """The name as Python would spell it, so that ``e(µ=1)`` finds µ, whichever of the two it is."""
    if word.isascii() and len(word) <= MAX_NAME:
        return word
    if len(word) > MAX_NAME:
        raise complaint(text, at, f"a name of {len(word)} characters", expected=f"at most {MAX_NAME}")
    if not word.isidentifier():
        bad = next(i for i in range(len(word)) if not word[: i + 1].isidentifier())
        hint = "; write a power with ^, as in x^2" if word[bad] in "²³¹⁰⁴⁵⁶⁷⁸⁹" else ""
        raise complaint(text, at + bad, f"{shown(word[bad])} cannot be part of a name{hint}")
    usual = unicodedata.normalize("NFKC", word)
    again = _TOKEN.fullmatch(usual)
    if again is None or again.lastgroup != "name" or not usual.isidentifier():
        raise complaint(text, at, f"{shown(word)} cannot be a name")
    return usual


def shown(text: str) -> str:
    """`text` as a message may print it, whatever is in it."""
    return ascii(text) if any(not c.isprintable() for c in text) else repr(text)


def complaint(text: str, at: int, what: str, *, expected: str = "", hint: str = "") -> ExprError:
    """The error that shows where in `text` it is: the line, and a caret under the place."""
    start = max(text.rfind("\n", 0, at) + 1, at - _SHOWN)
    stop = text.find("\n", at, at + _SHOWN)
    stop = min(len(text), at + _SHOWN) if stop < 0 else stop
    line = "".join(c if c.isprintable() else "?" for c in text[start:stop])
    margin = "  "
    if start > 0 and text[start - 1] != "\n":
        margin = "  …"
    tail = "…" if stop < len(text) and text[stop] != "\n" else ""
    number, column = text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)
    where = f"column {column}" if "\n" not in text else f"line {number}, column {column}"
    said = f"{what}; expected {expected}" if expected else what
    caret = " " * (len(margin) + _width(line[: at - start])) + "^"
    error = ExprError(f"{where}: {said}{f' ({hint})' if hint else ''}\n{margin}{line}{tail}\n{caret}")
    error.position = at
    return error


def _width(text: str) -> int:
    """How many places `text` takes on a terminal."""
    if text.isascii():
        return len(text)
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)
