"""`adjoint predict`: load weights, and name the class of each example in a file, or its number."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.console import Console

from adjoint.cli.display import percent, say, terminal_picture
from adjoint.cli.sources import parts_of, require
from adjoint.core.errors import DataError
from adjoint.data import Columns, NDArray, dataset, measured, read, read_picture
from adjoint.data.dataset import features
from adjoint.data.idx import contents
from adjoint.data.images import ENDINGS
from adjoint.data.sheet import read_sheet
from adjoint.train.metrics import accuracy
from adjoint.train.predictors import Classifier, Predictor, Regressor


def predict(
    model: Annotated[Path, typer.Argument(help="The model.safetensors of a run.", show_default=False)],
    source: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help="A .npz, .npy, CSV or IDX file of examples, with or without labels, or a picture; columns of a CSV "
            "file are found by their names. Or [bold]digits[/bold], for the digits that the model was tested on.",
            show_default=False,
        ),
    ],
    *,
    limit: Annotated[int, typer.Option(min=0, help="How many examples to show; 0 for all.")] = 20,
    pictures: Annotated[bool, typer.Option("--pictures", help="Draw the examples, if they are pictures.")] = False,
    save: Annotated[Path | None, typer.Option(help="Write all predictions to this new CSV file.")] = None,
    network: Annotated[str | None, typer.Option(help="module:Class, if the network is one of your own.")] = None,
) -> None:
    """Name the class of each example in a file, with its probability; or its number.

    [bold]Examples[/bold]

    adjoint predict runs/digits-1/model.safetensors digits --pictures

    adjoint predict runs/flowers-1/model.safetensors meadow.csv --save named.csv
    """
    console = Console(highlight=False)
    predictor: Classifier | Regressor = Predictor.load(model, network)  # type: ignore[assignment]  # there are two kinds
    x, labels = _examples(console, predictor, source)
    rows: list[tuple[str, ...]]
    if isinstance(predictor, Classifier):
        answers = predictor.probabilities(x)
        rows = [(predictor.classes[int(row.argmax())], f"{row.max():.6f}") for row in answers]
    else:
        answers = predictor.predictions(x)
        rows = [(f"{value:.6g}",) for value in answers]
    if save is not None:
        _write(save, ("class", "probability") if isinstance(predictor, Classifier) else (_label(predictor),), rows)
    count = len(x) if limit == 0 else min(limit, len(x))
    if isinstance(predictor, Classifier):
        _show(console, predictor, x[:count], answers[:count], labels, pictures=pictures)
    else:
        _show_numbers(console, predictor, answers[:count], labels)
    if count < len(x):
        say(console, f"… and {len(x) - count} more (--limit 0 shows all)", "dim")
    if labels is not None and isinstance(predictor, Classifier):
        right = accuracy(answers, labels)
        say(console, f"Accuracy {percent(right)}: {round(right * len(x))} of {len(x)}", "bold")
    elif labels is not None:
        say(console, f"Error {np.mean(np.abs(answers - labels)):.4g} on average: {len(x)} examples", "bold")
    if save is not None:
        say(console, f"Written to {save}")


def _examples(console: Console, model: Classifier | Regressor, source: str) -> tuple[NDArray, NDArray | None]:
    """The examples as a table, and the labels (of classes their numbers) if the file has them."""
    if source == "digits":
        test = parts_of(["digits"], model.plan.seed).test
        return test.x, test.y
    require(source)
    path = Path(source)
    if path.suffix.lower() in ENDINGS and model.picture is not None:
        return read_picture(path, model.picture, model.plan.channels == 3).reshape(1, -1), None
    x, labels = read(path, model.plan.features, model.columns)
    if model.columns is not None:
        _say_new(console, model.columns, path)
    if x.ndim == 1 or (model.picture is not None and x.shape[:2] == model.picture):
        x = x.reshape(1, -1)  # a single example
    if labels is None:
        return features(x, path.name)[0], None
    if isinstance(model, Classifier):
        data = dataset(x, labels, classes=model.classes, name=path.name)
    else:
        data = measured(x, labels, name=path.name)
    return data.x, data.y


def _say_new(console: Console, columns: Columns, path: Path) -> None:
    """Tell of texts that no example of the training had, and of numbers that all of them had."""
    if path.suffix.lower() in (".npz", ".npy"):
        return
    sheet = read_sheet(contents(path), path)
    for column in columns.features:
        if column.name not in sheet.names:
            continue
        if gaps := column.gaps(sheet):
            say(console, f"column {column.name}: {gaps} of {len(sheet.rows)} are missing, none was in training; "
                         f"taken as {column.fill:.4g}, the median", "yellow")  # fmt: skip
        if unseen := column.unseen(sheet):
            more = f" and {len(unseen) - 3} more" if len(unseen) > 3 else ""
            say(console, f"column {column.name}: {', '.join(unseen[:3])}{more} did not occur in training; taken as "
                         f"missing", "yellow")  # fmt: skip


def _label(model: Regressor) -> str:
    return model.columns.label if model.columns is not None else "number"


def _show_numbers(console: Console, model: Regressor, answers: NDArray, labels: NDArray | None) -> None:
    heading = _label(model)
    width = max(12, len(heading))
    say(console, f"{'example':>7}  {heading:>{width}}", "bold")
    for i, value in enumerate(answers):
        remark = f"   labelled {labels[i]:.6g}" if labels is not None else ""
        say(console, f"{i:>7}  {value:>{width}.6g}{remark}")


def _show(
    console: Console, classifier: Classifier, x: NDArray, answers: NDArray, labels: NDArray | None, *, pictures: bool
) -> None:
    width = max(len("class"), *map(len, classifier.classes))
    say(console, f"{'example':>7}  {'class':>{width}}  probability", "bold")
    for i, (pixels, chances) in enumerate(zip(x, answers, strict=True)):
        best = int(chances.argmax())
        wrong = labels is not None and labels[i] != best
        remark = f"   labelled {classifier.classes[labels[i]]}" if labels is not None and wrong else ""
        say(console, f"{i:>7}  {classifier.classes[best]:>{width}}  {percent(float(chances[best])):>11}{remark}",
            "red" if wrong else "")  # fmt: skip
        if pictures and classifier.picture is not None:
            for line in terminal_picture(_gray(pixels, classifier.picture), console.encoding):
                say(console, f"         {line.rstrip()}")
    if pictures and classifier.picture is None:
        say(console, "These examples are no pictures, so there is nothing to draw.", "yellow")


def _gray(pixels: NDArray, picture: tuple[int, int]) -> NDArray:
    gray: NDArray = pixels.reshape(*picture, -1).mean(axis=2)
    return gray


def _write(path: Path, heading: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> None:
    try:
        file = path.open("x", newline="", encoding="utf-8")
    except FileExistsError:
        raise DataError(f"{path}: there is such a file already; give --save another name") from None
    with file:
        table = csv.writer(file)
        table.writerow(["example", *heading])
        table.writerows((i, *row) for i, row in enumerate(rows))
