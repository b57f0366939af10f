"""Pictures of a run, drawn by matplotlib: the curves, and what was misread."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from adjoint.core.errors import DataError
from adjoint.core.types import Value
from adjoint.data.dataset import Dataset, NDArray
from adjoint.train.history import History

_LEARNED, _VALIDATED = "#3b6fb6", "#d1742f"  # told apart by colour-blind readers too
_LONG = 15  # epochs; shorter curves show their points, and all of them


def draw_curves(history: History, path: str | Path, title: str = "") -> None:
    """Loss and metrics over the epochs, as a PNG file: a panel for each, with the validation beside the training.

    Raises:
        DataError: if matplotlib is not installed, or no epoch has finished.

    Example:
        >>> import adjoint as ad
        >>> one, two = ad.train.Epoch(1, {"loss": 0.5}, 0.01, 2.0), ad.train.Epoch(2, {"loss": 0.25}, 0.01, 2.0)
        >>> history = ad.train.History([one, two])
        >>> ad.train.draw_curves(history, "curves.png")
    """
    if not history.epochs:
        raise DataError("there is nothing to draw before the first epoch has finished")
    names = [name for name in history.epochs[0].figures if not name.startswith("validation_")]
    figure = _figure((4.5 * max(len(names), 1), 3.8))
    epochs = [epoch.number for epoch in history.epochs]
    for name, axes in zip(names, figure.subplots(1, len(names), squeeze=False)[0], strict=True):
        scale = 100.0 if name.endswith("accuracy") else 1.0
        marker = "o" if len(epochs) < _LONG else None
        curves = [(name, _LEARNED, "training (while learning)"), (f"validation_{name}", _VALIDATED, "validation")]
        drawn = [(key, color, label) for key, color, label in curves if key in history.epochs[0].figures]
        values = {key: scale * np.array(history[key]) for key, _, _ in drawn}
        for key, color, label in drawn:
            axes.plot(epochs, values[key], color=color, marker=marker, markersize=4, label=label)
        axes.set(xlabel="epoch", ylabel=name.replace("_", " ") + (" (%)" if scale > 1 else ""))
        axes.xaxis.get_major_locator().set_params(integer=True)
        axes.grid(alpha=0.25)
        axes.spines[["top", "right"]].set_visible(False)
        if history.best is not None:
            axes.axvline(history.best.number, color="0.5", linestyle=":", label=f"best: epoch {history.best.number}")
        if scale > 1 and len(epochs) >= _LONG:  # the first epochs are far below the rest, which could not be told apart
            axes.set_ylim(_lower_end(values), 100.5 if max(map(max, values.values())) > 90 else None)
        elif min(map(min, values.values())) >= 0:
            axes.set_ylim(bottom=0)
        axes.legend(framealpha=1, edgecolor="none")
    figure.suptitle(title)
    figure.savefig(path, dpi=150)


def _lower_end(shares: dict[str, NDArray]) -> float:
    values = np.concatenate(list(shares.values()))
    return max(0.0, 5 * float(np.floor((np.quantile(values, 0.1) - 3) / 5)))


def draw_misread(data: Dataset, probabilities: NDArray, path: Path, most: int = 24) -> int:
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
        axes.imshow(_shaped(data.x[i], data), cmap="gray_r")
        # The frame of axes that are off is not drawn; a blank border would hide where a picture ends.
        axes.add_patch(_frame(data.picture))
        written, taken = data.classes[data.y[i]], data.classes[read[i]]
        gap = " " if len(written + taken) <= 10 else "\n"
        axes.set_title(f"{written}{gap}read as {taken}\n{probabilities[i, read[i]]:.0%} sure", fontsize=9)
    which = "" if len(shown) == len(wrong) else f": the {len(shown)} most confident mistakes"
    figure.suptitle(f"{len(wrong)} of {len(data)} misread{which}", fontsize=11)
    figure.savefig(path, dpi=150)
    return len(wrong)


def _shaped(pixels: NDArray, data: Dataset) -> NDArray:
    if data.picture is None or data.channels == 1:
        return pixels.reshape(data.picture or pixels.shape)
    return np.clip(pixels / max(float(data.x.max()), 1e-300), 0, 1).reshape(*data.picture, data.channels)


def _frame(picture: tuple[int, int]) -> object:
    from matplotlib.patches import Rectangle

    height, width = picture
    return Rectangle((-0.5, -0.5), width, height, fill=False, edgecolor="0.7", linewidth=1, clip_on=False)


def _figure(size: tuple[float, float]) -> Value:
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise DataError("pictures need matplotlib, which is not installed; run: pip install 'adjoint[plot]'") from None
    return Figure(figsize=size, layout="constrained")
