"""What the commands show: progress, tables, and small pictures, with and without a terminal."""

from __future__ import annotations

from collections.abc import Iterable
from time import perf_counter
from types import TracebackType

import numpy as np
from rich.console import Console, RenderableType
from rich.progress import BarColumn, Progress, TextColumn
from rich.table import Table
from rich.text import Text

from adjoint.data.dataset import Array
from adjoint.train.fit import History, Step

_PLAIN_LINES = 20  # about so many lines in a log, however many epochs there are
_LONGEST_SILENCE = 15.0  # seconds
_WIDEST_TABLE = 20  # more classes than this are told as a list of mistakes
_SHADES = " ░▒▓█"
_ASCII_SHADES = " .:-=+*#%@"


def say(console: Console, text: str, style: str = "") -> None:
    """Print one line as it is: no markup, no wrapping."""
    console.print(Text(text, style), soft_wrap=True)


def percent(share: float) -> str:
    """A share for people: 98.6 %."""
    return f"{100 * share:.1f} %"


class _TwoLines(Progress):
    """A bar, and below it, with the whole width to itself, the status."""

    def get_renderables(self) -> Iterable[RenderableType]:
        yield self.make_tasks_table(self.tasks)
        yield Text(self.tasks[0].fields["status"] if self.tasks else "")


class TrainingProgress:
    """A live line with a bar on a terminal; a line every few epochs elsewhere.

    Use as a context manager, with `step` and `epoch` as the callbacks of `adjoint.train.fit`.
    """

    def __init__(self, console: Console, epochs: int) -> None:
        self._console, self._epochs = console, epochs
        self._every = max(1, -(-epochs // _PLAIN_LINES))
        self._start = self._said = perf_counter()
        self._examples, self._before = 0, 0
        self._fraction = 0.0
        self._validation = ""
        self._live = _TwoLines(
            TextColumn("{task.description}"),
            BarColumn(bar_width=None),
            TextColumn("{task.fields[pace]}"),
            console=console,
            expand=True,
            disable=not console.is_terminal,
        )
        self._task = self._live.add_task("starting", total=1.0, status="", pace="")

    def __enter__(self) -> TrainingProgress:
        self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._live.stop()

    def step(self, step: Step) -> None:
        """Note a batch."""
        if step.examples <= self._before:  # a new epoch counts from zero
            self._before = 0
        self._examples += step.examples - self._before
        self._before = step.examples
        self._fraction = step.done / step.total
        if self._console.is_terminal:
            self._live.update(
                self._task,
                completed=self._fraction,
                description=f"epoch {step.epoch}/{self._epochs}",
                status=f"loss {step.loss:.4f}  accuracy {percent(step.accuracy)}{self._validation}",
                pace=self._pace(),
            )

    def epoch(self, history: History) -> None:
        """Note an epoch."""
        last = history.epochs[-1]
        self._validation = f"  validation {percent(last.validation_accuracy)}"
        due = last.number % self._every == 0 or last.number in (1, self._epochs)
        if self._console.is_terminal or not (due or perf_counter() - self._said > _LONGEST_SILENCE):
            return
        self._said = perf_counter()
        say(
            self._console,
            f"epoch {last.number:>{len(str(self._epochs))}}/{self._epochs}  loss {last.loss:.4f}  "
            f"accuracy {percent(last.accuracy):>7}{self._validation}  {self._pace()}",
        )

    def _pace(self) -> str:
        """Speed since the start, and the time that the rest will take at it."""
        elapsed = perf_counter() - self._start
        left = round(elapsed * (1 - self._fraction) / max(self._fraction, 1e-9))
        return f"{self._examples / max(elapsed, 1e-9):,.0f}/s  {left // 60}:{left % 60:02d} left".replace(",", " ")


def confusion_table(counts: Array, classes: tuple[str, ...]) -> Table | Text:
    """How often each class (row) was taken for each class (column); for many classes, the commonest mistakes."""
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


def _mistakes(counts: Array, classes: tuple[str, ...], most: int = 10) -> Text:
    wrong = counts * (1 - np.eye(len(classes), dtype=counts.dtype))
    order = np.argsort(-wrong, axis=None, kind="stable")[:most]
    pairs = [divmod(int(place), len(classes)) for place in order if wrong.flat[place]]
    lines = [f"  {classes[i]} read as {classes[j]}: {wrong[i, j]}" for i, j in pairs]
    return Text("\n".join(["Commonest mistakes:" if lines else "No mistakes.", *lines]))


def terminal_picture(pixels: Array, encoding: str) -> list[str]:
    """A grayscale picture (height, width) as lines of text, two characters a pixel; the brightest value is inked."""
    try:
        _SHADES.encode(encoding)
        shades = _SHADES
    except (UnicodeEncodeError, LookupError):
        shades = _ASCII_SHADES
    low, high = float(pixels.min()), float(pixels.max())
    levels = np.round((pixels - low) / max(high - low, 1e-300) * (len(shades) - 1)).astype(int)
    return ["".join(2 * shades[level] for level in row) for row in levels]
