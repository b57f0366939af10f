"""The plan of a compiled program as a picture: its steps from top to bottom, and beside them what lies in memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from textwrap import wrap
from typing import TYPE_CHECKING, NamedTuple

from adjoint.core.messages.words import shortened
from adjoint.pictures.diagram import TIMES
from adjoint.pictures.layout import SMALL
from adjoint.pictures.scene import INK, MARGIN, PALE, Rect, Scene, Text, Wire
from adjoint.tape.observers.tables import amount

if TYPE_CHECKING:
    from adjoint.native.report.listing import Listing, PlanRow, WrittenArray

COLOURS = {
    "elementwise": ("#dbe9fb", "#4a6fa5", "elementwise"),
    "reduction": ("#d3efe9", "#1b7f79", "sums and the like"),
    "product": ("#eadffa", "#7d5ba6", "a product of matrices"),
    "copy": ("#eceff2", "#6e7781", "a copy"),
    "carried": ("#fff3c4", "#9a6700", "carried from turn to turn"),
    "stacked": ("#fde4ec", "#b0416b", "a row for each turn"),
    "NumPy": ("#ffe2cc", "#bc4c00", "computed by NumPy"),
}  # fmt: skip
KINDS = {"product": "product", "BLAS": "product", "loop": "carried", "check": "copy", "NumPy": "NumPy"}
LINE, BADGE, LETTERS = 18.0, 54.0, 54
FORMULA = MARGIN + 34 + BADGE + 8  # where the formulas begin
MAP = FORMULA + (LETTERS + 2) * SMALL  # where the memory does
ARENA, ARRAYS, GAP = 440.0, 260.0, 24.0
TEXTS, TURNS = 8, 24  # lines a step or a loop has at most
STEP_IN = 10.0  # by how much a frame lies within another one
HOW_TO_READ = (
    "Each row is a step. Each rectangle is an array: as wide as its bytes, and it reaches from the step that writes it "
    "down to the last one that reads it. What lies below another rectangle uses its memory again; what begins inside a "
    "row is computed in place."
)
ROUND = 2.5

PlanShapes = list[Rect | Text | Wire]


class Band(NamedTuple):
    """A stretch of memory: where it is drawn, and how many bytes it has."""

    title: str
    x: float
    width: float
    size: int

    def span(self, start: int, size: int) -> tuple[float, float]:
        """Where so many bytes from `start` on are drawn, and how wide."""
        scale = self.width / max(self.size, 1)
        wide = max(size * scale, 2.0)
        return min(self.x + start * scale, self.x + self.width - wide), wide


def plan_scene(listing: Listing, title: str, limit: int = 200) -> Scene:
    """Lay a plan out.

    Args:
        listing: the plan.
        title: the text above it.
        limit: how many steps are drawn; it is said how many more there are.
    """
    rows = listing.rows[:limit]
    values = [value for row in rows for value in row.writes]
    apart = [value for value in values if value.home != "arena"]
    lanes, wide = _lanes(apart)
    bands = [Band(f"arena: {amount(listing.memory.arena)}", MAP, ARENA, listing.memory.arena)] * bool(
        listing.memory.arena
    )
    right = bands[0].x + bands[0].width + GAP if bands else MAP
    bands += [Band(f"{_apart(apart)}: {amount(wide)}", right, ARRAYS, wide)] * bool(apart)
    width = max([band.x + band.width for band in bands], default=MAP) + MARGIN
    shapes, top = _head(listing, title, {value.what for value in values}, width)
    for band in bands:
        shapes.append(Text(band.x, top + 12, band.title, 11, INK))
    top += 20
    tops = _tops(rows, top)
    for row, y, below in zip(rows, tops, tops[1:], strict=False):
        shapes += _step(row, y, below, width)
    for band in bands:
        shapes.append(Rect(band.x, top, band.width, tops[-1] - top, "none", "#d0d7de", radius=0))
    for value in values:
        band = bands[0] if value.home == "arena" else bands[-1]
        start = value.start if value.home == "arena" else lanes[value.name]
        shapes += _array(value, *band.span(start, value.size), *_lifetime(value, values, tops))
    if len(rows) < len(listing.rows):
        shapes.append(Text(FORMULA, tops[-1] + 14, f"… {len(listing.rows) - len(rows)} more steps", 11, PALE))
    return Scene(width, tops[-1] + 20 + MARGIN, shapes)


def _apart(values: Sequence[WrittenArray]) -> str:
    """The memory outside of the arena."""
    words = {"array": "new", "result": "results", "argument": "in place (dashed)"}
    return ", ".join(word for home, word in words.items() if any(value.home == home for value in values))


def _head(listing: Listing, title: str, used: set[str], width: float) -> tuple[PlanShapes, float]:
    """The title, the figures, how to read the picture, and what the colours mean; and where that ends."""
    letters = int((width - 2 * MARGIN) / SMALL)
    shapes: PlanShapes = [Text(MARGIN, MARGIN + 12, title, 13, INK)]
    y = MARGIN + 32
    said = [(line, INK) for text in listing.summary for line in wrap(text, letters)]
    for line, colour in [*said, *((line, PALE) for line in wrap(HOW_TO_READ, letters))]:
        shapes.append(Text(MARGIN, y, line, 11, colour))
        y += 16
    x = MARGIN
    for what, (fill, stroke, meaning) in COLOURS.items():
        if what in used:
            shapes += [Rect(x, y - 9, 14, 12, fill, stroke, radius=ROUND), Text(x + 20, y, meaning, 11, INK)]
            x += 20 + (len(meaning) + 3) * SMALL
    return shapes, y + 14


def _tops(rows: Sequence[PlanRow], top: float) -> list[float]:
    """Where each row begins, and where the last one ends."""
    tops = [top]
    for row in rows:
        tops.append(tops[-1] + LINE * max(1, len(_texts(row))) + 4)
    return tops


def _texts(row: PlanRow) -> list[tuple[int, str]]:
    texts, most = row.texts(), TURNS if row.turns else TEXTS
    if len(texts) > most:
        texts[most - 1 :] = [(0, f"… {len(texts) - most + 1} more")]
    if row.reason:
        texts.append((0, f"  because: {row.reason}"))
    rooms = [LETTERS - int(deep * STEP_IN / SMALL) for deep, _ in texts]
    return [(deep, shortened(text, room)) for (deep, text), room in zip(texts, rooms, strict=True)]


def _step(row: PlanRow, y: float, below: float, width: float) -> PlanShapes:
    """A row's stripe, its number, what computes it (a kernel, BLAS, NumPy), and its formulas."""
    what = KINDS.get(row.by, "elementwise")
    fill, stroke, _ = COLOURS[what]
    shapes: PlanShapes = []
    if row.number % 2:
        shapes.append(Rect(MARGIN, y, width - 2 * MARGIN, below - y, "#f6f8fa", "none", radius=0))
    number = str(row.number)
    shapes += [
        Text(MARGIN + 28 - len(number) * SMALL, y + 14, number, 11, PALE),
        Rect(MARGIN + 34, y + 2, BADGE, LINE - 2, fill, stroke, tip=_about(row), radius=ROUND),
        Text(MARGIN + 34 + BADGE / 2, y + 14, row.by, 11, INK, "middle"),
    ]
    texts = _texts(row)
    shapes += _frames([deep for deep, _ in texts] if row.turns else [], y)
    for k, (deep, text) in enumerate(texts):
        colour = stroke if text.startswith("  because") else INK
        shapes.append(Text(FORMULA + deep * STEP_IN, y + 14 + k * LINE, text, 11, colour))
    return shapes


def _frames(depths: Sequence[int], y: float) -> Iterator[Rect]:
    """A frame around the lines of each loop: the first stands less deep than those that follow."""
    _, stroke, _ = COLOURS["carried"]
    for k, deep in enumerate(depths):
        end = next((i for i in range(k + 1, len(depths)) if depths[i] <= deep), len(depths))
        if end > k + 1:
            x, height = FORMULA - 5 + deep * STEP_IN, (end - k) * LINE - 2 * deep
            yield Rect(x, y + 2 + k * LINE, MAP - SMALL - deep * 3 - x, height, "none", stroke, radius=ROUND)


def _about(row: PlanRow) -> str:
    """All that is known of a step, one thing a line."""
    many = f"{row.operations} operation{'s' * (row.operations != 1)}"
    over = f" over {f' {TIMES} '.join(map(str, row.domain))}" if row.domain else ""
    said = [f"step {row.number}: {many}{over}", f"reads {amount(row.read)}, writes {amount(row.written)}"]
    said += ["  " * deep + text for deep, text in row.texts()]
    return "\n".join([*said, *row.lines])


def _array(value: WrittenArray, x: float, wide: float, top: float, bottom: float) -> Iterator[Rect | Text | Wire]:
    """The rectangle of an array, with its name and size where there is room."""
    fill, stroke, _ = COLOURS[value.what]
    last = "the end" if value.home in ("result", "argument") else f"step {value.last}"
    tip = [f"{value.name}: {value.holds}, {amount(value.size)}", f"{value.name} = {value.formula}",
           f"from step {value.first} to {last}"]  # fmt: skip
    tip += [f"bytes {value.start} to {value.start + value.size} of the arena"] * (value.home == "arena")
    tip += [f"in the place of {value.instead}"] * bool(value.instead)
    dashed = value.home == "argument"
    yield Rect(x, top, wide, bottom - top, fill, stroke, dashed, "\n".join(tip), min(ROUND, wide / 2))
    room = int((wide - 6) / SMALL)
    whole = f"{value.name}  {amount(value.size)}"
    text = whole if len(whole) <= room else value.name
    if len(text) <= room and bottom - top >= 12:
        yield Text(x + wide / 2, top + min((bottom - top) / 2 + 4, 13), text, 11, INK, "middle")


def _lifetime(value: WrittenArray, values: Iterable[WrittenArray], tops: Sequence[float]) -> tuple[float, float]:
    """From where to where an array is drawn: in place of another one, from the middle of the row in which that ends."""
    taken = any(other.instead == value.name and other.first == value.last for other in values)
    last = min(value.last, len(tops) - 1)
    inside = value.instead and value.home == "arena"
    top = tops[value.first - 1] + ((tops[value.first] - tops[value.first - 1]) / 2 if inside else 1)
    bottom = tops[last] - ((tops[last] - tops[last - 1]) / 2 if taken and last == value.last else 1)
    return top, bottom


def _lanes(values: Sequence[WrittenArray]) -> tuple[dict[str, int], int]:
    """A place for each array outside of the arena, so that no two that live at once are drawn over each other."""
    starts: dict[str, int] = {}
    end = 0
    placed: list[tuple[int, WrittenArray]] = []
    for value in values:
        busy = sorted((start, start + other.size) for start, other in placed if other.last >= value.first)
        at = 0
        for start, stop in busy:
            if at + value.size <= start:
                break
            at = max(at, stop)
        starts[value.name] = at
        placed.append((at, value))
        end = max(end, at + value.size)
    return starts, end
