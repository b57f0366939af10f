"""Pictures of a run, drawn by matplotlib: the curves, and what was misread."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from adjoint.core.errors import DataError
from adjoint.data.dataset import Array, Dataset
from adjoint.train.fit import History

_LEARNED, _VALIDATED = "#3b6fb6", "#d1742f"  # told apart by colour-blind readers too
_LONG = 15  # epochs; shorter curves show their points, and all of them


def draw_curves(history: History, path: Path, title: str) -> None:
    """Loss and accuracy over the epochs, as a PNG file.

    Raises:
        DataError: if matplotlib is not installed.
    """
    figure = _figure((9.0, 3.8))
    left, right = figure.subplots(1, 2)
    epochs = [epoch.number for epoch in history.epochs]
    shares = {name: [100 * getattr(e, name) for e in history.epochs] for name in ("accuracy", "validation_accuracy")}
    for axes, learned, validated, label in (
        (left, [e.loss for e in history.epochs], [e.validation_loss for e in history.epochs], "cross-entropy loss"),
        (right, shares["accuracy"], shares["validation_accuracy"], "accuracy (%)"),
    ):
        marker = "o" if len(epochs) < _LONG else None
        axes.plot(epochs, learned, color=_LEARNED, marker=marker, markersize=4, label="training (while learning)")
        axes.plot(epochs, validated, color=_VALIDATED, marker=marker, markersize=4, label="validation")
        axes.set(xlabel="epoch", ylabel=label)
        axes.xaxis.get_major_locator().set_params(integer=True)
        axes.grid(alpha=0.25)
        axes.spines[["top", "right"]].set_visible(False)
        if history.best is not None:
            axes.axvline(history.best.number, color="0.5", linestyle=":", label=f"best: epoch {history.best.number}")
    left.set_ylim(bottom=0)
    if len(epochs) >= _LONG:  # the first epochs are far below the rest, which could not be told apart with them
        right.set_ylim(_lower_end(shares), 100.5 if max(map(max, shares.values())) > 90 else None)
    right.legend(loc="lower right", framealpha=1, edgecolor="none")
    figure.suptitle(title)
    figure.savefig(path, dpi=150)


def _lower_end(shares: dict[str, list[float]]) -> float:
    values = np.array([value for series in shares.values() for value in series])
    return max(0.0, 5 * float(np.floor((np.quantile(values, 0.1) - 3) / 5)))


def draw_misread(data: Dataset, probabilities: Array, path: Path, most: int = 24) -> int:
    """The pictures that were misread, the most confident mistakes first, as a PNG file.

    Args:
        data: pictures with their labels.
        probabilities: what the model thinks of them, shape (examples, classes).
        path: where to; nothing is written if nothing was misread.
        most: how many pictures are drawn.

    Returns:
        How many were misread.

    Raises:
        DataError: if `data` holds no pictures, or matplotlib is not installed.
    """
    if data.picture is None:
        raise DataError(f"{data.name}: only pictures can be drawn, and these examples are rows of a table")
    read = probabilities.argmax(axis=1)
    wrong = np.flatnonzero(read != data.y)
    if not wrong.size:
        return 0
    shown = wrong[np.argsort(-probabilities[wrong, read[wrong]], kind="stable")][:most]
    rows = -(-len(shown) // 8)
    columns = -(-len(shown) // rows)
    figure = _figure((max(1.45 * columns, 4.2), 1.85 * rows + 0.6))
    grid = figure.subplots(rows, columns, squeeze=False)
    for axes in grid.flat:
        axes.set_axis_off()
    for axes, i in zip(grid.flat, shown, strict=False):
        axes.imshow(data.x[i].reshape(data.picture), cmap="gray_r")
        # The frame of axes that are off is not drawn; a blank border would hide where a picture ends.
        axes.add_patch(_frame(data.picture))
        written, taken = data.classes[data.y[i]], data.classes[read[i]]
        gap = " " if len(written + taken) <= 10 else "\n"
        axes.set_title(f"{written}{gap}read as {taken}\n{probabilities[i, read[i]]:.0%} sure", fontsize=9)
    which = "" if len(shown) == len(wrong) else f": the {len(shown)} most confident mistakes"
    figure.suptitle(f"{len(wrong)} of {len(data)} misread{which}", fontsize=11)
    figure.savefig(path, dpi=150)
    return len(wrong)


def _frame(picture: tuple[int, int]) -> Any:
    from matplotlib.patches import Rectangle

    height, width = picture
    return Rectangle((-0.5, -0.5), width, height, fill=False, edgecolor="0.7", linewidth=1, clip_on=False)


def _figure(size: tuple[float, float]) -> Any:
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise DataError("pictures need matplotlib, which is not installed; run: pip install 'adjoint[plot]'") from None
    return Figure(figsize=size, layout="constrained")
