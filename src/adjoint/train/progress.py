"""`Progress`: one line that is written over on terminals and in notebooks, and a line every few epochs in a log."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Mapping, Sequence
from time import perf_counter
from typing import TextIO

from adjoint.core.types import Value
from adjoint.train.history import Callback, History, Step

_LINES = 20  # about so many lines in a log, however many epochs there are
_LONGEST_SILENCE = 15.0  # seconds
_BETWEEN = 0.1  # seconds from one update of the line to the next
_NOTEBOOK_WIDTH = 100


class Progress(Callback):
    """Shows how far a training is, its figures, its speed, and how long it will take.

    Args:
        epochs: how many there will be.
        file: where to; standard output.
        live: whether the line is written over; as `file` is a terminal or a notebook.
        width: columns; those of the terminal, asked again for each line.

    Example:
        >>> import adjoint as ad
        >>> line = ad.train.Progress(epochs=1, live=False, width=80)
        >>> line.on_epoch(ad.train.History([ad.train.Epoch(1, {"loss": 0.5}, learning_rate=0.01, seconds=2.0)]))
        epoch 1/1  loss 0.5 ...
    """

    def __init__(
        self, epochs: int, file: TextIO | None = None, live: bool | None = None, width: int | None = None
    ) -> None:
        self._epochs, self._file, self._width = epochs, file or sys.stdout, width
        self._live = is_live(self._file) if live is None else live
        self._every = max(1, -(-epochs // _LINES))
        self._start = self._said = self._drawn = perf_counter()
        self._examples = self._before = 0
        self._first: int | None = None  # steps that a resumed run had made before
        self._left: float | None = None
        self._long = 0

    def on_step(self, step: Step) -> None:
        self._first = step.done - 1 if self._first is None else self._first
        if step.examples <= self._before:  # a new epoch counts from zero
            self._before = 0
        self._examples += step.examples - self._before
        self._before = step.examples
        now, share = perf_counter(), 0.0
        if step.total:
            share = step.done / step.total
            self._left = (now - self._start) * (step.total - step.done) / (step.done - self._first)
        if self._live and (now - self._drawn > _BETWEEN or step.done == step.total):
            self._drawn = now
            self._over(
                [self._epoch(step.epoch), _bar(share) if step.total else "", *_shown(step.figures), self._pace()]
            )

    def on_epoch(self, history: History) -> None:
        last = history.epochs[-1]
        due = last.number % self._every == 0 or last.number in (1, self._epochs)
        if not due and perf_counter() - self._said < _LONGEST_SILENCE:
            return
        self._said = perf_counter()
        parts = [self._epoch(last.number), *_shown(last.figures), self._pace()]
        self._over(parts)
        self._file.write("\n")
        self._file.flush()
        self._long = 0

    def on_end(self, history: History) -> None:
        self._over([])

    def _over(self, parts: Sequence[str]) -> None:
        """Replace the text of the line; in a log, write the line."""
        width = self._width or (shutil.get_terminal_size().columns if self._file.isatty() else _NOTEBOOK_WIDTH)
        text = fitting(parts, width - 1) if self._live else "  ".join(part for part in parts if part)
        if self._live:
            self._file.write("\r" + text.ljust(min(self._long, width - 1)) + ("" if parts else "\r"))
            self._long = len(text)
        else:
            self._file.write(text)
        self._file.flush()

    def _epoch(self, number: int) -> str:
        return f"epoch {number:>{len(str(self._epochs))}}/{self._epochs}"

    def _pace(self) -> str:
        """Examples a second since the start, and the time that the rest will take at this speed."""
        speed = self._examples / max(perf_counter() - self._start, 1e-9)
        left = "" if self._left is None else f"  {_clock(self._left)} left"
        return f"{speed:,.0f}/s{left}".replace(",", " ")


def is_live(file: Value) -> bool:
    """Whether a line in `file` can be written over: a terminal, or the output of a notebook's cell."""
    return bool(file.isatty()) or type(file).__module__.startswith("ipykernel")


def fitting(parts: Sequence[str], width: int) -> str:
    """As many of `parts`, the first ones, as fit into `width` columns.

    Example:
        >>> from adjoint.train.progress import fitting
        >>> fitting(["epoch 1/3", "loss 0.5", "accuracy 98.1 %"], 24)
        'epoch 1/3  loss 0.5'
    """
    text = ""
    for part in parts:
        longer = f"{text}  {part}" if text and part else text or part
        if len(longer) > width:
            break
        text = longer
    return text


def shown(name: str, value: float) -> str:
    """A figure for people: shares in percent, others with four digits."""
    name = name.replace("_", " ")
    return f"{name} {100 * value:.1f} %" if name.endswith("accuracy") else f"{name} {value:.4g}"


def _shown(figures: Mapping[str, float]) -> list[str]:
    return [shown(name, value) for name, value in figures.items()]


def _bar(share: float, width: int = 16) -> str:
    return f"[{('=' * round(share * width)).ljust(width, '.')}]"


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"
