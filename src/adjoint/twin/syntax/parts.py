"""The part of a file that has a function in it: parsed and compiled in a fraction of the time that the file takes.

How a line begins does not always tell where a statement does. Where lines of a text begin at a margin, a part is no
program, or another. So a part only counts if it compiles to the code that is looked for.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

# What a line at the margin begins with if it goes on with the statement before.
_ON = (" ", "\t", "\n", "\r", "\f", "#", ")", "]", "}", "else", "elif", "except", "finally")
_IMPORTS = ("import ", "from ")
_DEFINES = ("def ", "class ", "async ")
LineSpan = tuple[int, int]


def parts_of(lines: Sequence[str], line: int) -> Iterator[tuple[int, str]]:
    """Parts that have line number `line` in them, the smallest first: where each begins, and its text.

    They are a statement of a class, with the head of the class; and a statement at the left margin. The imports of the
    file are in the text, too: Python makes other code of a call of what a module imports. Each line stands where it is.
    """
    outside = list(_statements(lines, 0, len(lines), 0))
    imports = [span for span in outside if lines[span[0]].startswith(_IMPORTS)]
    for span in [span for span in outside if span[0] < line <= span[1]]:
        start, stop = span
        head = next((i for i in range(start, stop) if not lines[i].startswith(("@", *_ON))), start)
        if lines[head].startswith("class "):
            margin = next((len(x) - len(x.lstrip()) for x in lines[head + 1 : stop] if x.strip()), 0)
            inside = list(_statements(lines, head + 1, stop, margin)) if margin else []
            for each in [each for each in inside if each[0] < line <= each[1]]:
                yield each[0], _text(lines, [*imports, (start, inside[0][0]), each])
        yield start, _text(lines, [*imports, span])


def _text(lines: Sequence[str], spans: Sequence[LineSpan]) -> str:
    """The lines within `spans`, and empty ones before and between."""
    kept: list[str] = []
    for start, stop in sorted(set(spans)):
        kept += ["\n"] * (start - len(kept))
        kept += lines[start:stop]
    return "".join(kept)


def _statements(lines: Sequence[str], start: int, stop: int, margin: int) -> Iterator[LineSpan]:
    """Where each statement at a margin begins and ends, its decorators with it, among the lines from `start` on."""
    begun, is_decorated = start, False
    for i in range(start, stop):
        line = lines[i]
        if margin:
            if line[:margin].strip():
                continue
            line = line[margin:]
        if not line or line.startswith(_ON):
            continue
        if not is_decorated:
            if i > begun:
                yield begun, i
            begun = i
        is_decorated = (is_decorated or line[0] == "@") and not line.startswith(_DEFINES)
    if stop > start:
        yield begun, stop
