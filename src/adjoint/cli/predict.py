"""`adjoint predict`: load weights, and name the class of each example in a file."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from adjoint.cli.display import percent, say, terminal_picture
from adjoint.cli.sources import parts_of, require
from adjoint.core.errors import DataError
from adjoint.data import Array, dataset, read
from adjoint.data.dataset import features
from adjoint.train.classifier import Classifier
from adjoint.train.metrics import accuracy


def predict(
    model: Annotated[Path, typer.Argument(help="The model.safetensors of a run.", show_default=False)],
    source: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help="A .npz, .npy, CSV or IDX file of examples, with or without labels; or [bold]digits[/bold], for the "
            "digits that the model was tested on.",
            show_default=False,
        ),
    ],
    *,
    limit: Annotated[int, typer.Option(min=0, help="How many examples to show; 0 for all.")] = 20,
    pictures: Annotated[bool, typer.Option("--pictures", help="Draw the examples, if they are pictures.")] = False,
    save: Annotated[Path | None, typer.Option(help="Write all predictions to this new CSV file.")] = None,
) -> None:
    """Name the class of each example in a file, with its probability.

    [bold]Examples[/bold]

    adjoint predict runs/digits-1/model.safetensors digits --pictures

    adjoint predict runs/flowers-1/model.safetensors meadow.csv --save named.csv
    """
    console = Console(highlight=False)
    classifier = Classifier.load(model)
    x, labels = _examples(classifier, source)
    answers = classifier.probabilities(x)
    if save is not None:
        _write(save, classifier, answers)
    count = len(x) if limit == 0 else min(limit, len(x))
    _show(console, classifier, x[:count], answers[:count], labels, pictures=pictures)
    if count < len(x):
        say(console, f"… and {len(x) - count} more (--limit 0 shows all)", "dim")
    if labels is not None:
        right = accuracy(answers, labels)
        say(console, f"Accuracy {percent(right)}: {round(right * len(x))} of {len(x)}", "bold")
    if save is not None:
        say(console, f"Written to {save}")


def _examples(classifier: Classifier, source: str) -> tuple[Array, Array | None]:
    """The examples as a table, and the numbers of their classes if the file has labels."""
    if source == "digits":
        test = parts_of(["digits"], classifier.plan.seed).test
        return test.x, test.y
    require(source)
    x, labels = read(source, classifier.plan.features)
    if x.ndim == 1 or (classifier.picture is not None and x.shape == classifier.picture):
        x = x.reshape(1, -1)  # a single example
    name = Path(source).name
    if labels is None:
        return features(x, name)[0], None
    data = dataset(x, labels, classes=classifier.classes, name=name)
    return data.x, data.y


def _show(
    console: Console, classifier: Classifier, x: Array, answers: Array, labels: Array | None, *, pictures: bool
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
            for line in terminal_picture(pixels.reshape(classifier.picture), console.encoding):
                say(console, f"         {line.rstrip()}")
    if pictures and classifier.picture is None:
        say(console, "These examples are no pictures, so there is nothing to draw.", "yellow")


def _write(path: Path, classifier: Classifier, answers: Array) -> None:
    try:
        file = path.open("x", newline="", encoding="utf-8")
    except FileExistsError:
        raise DataError(f"{path}: there is such a file already; give --save another name") from None
    with file:
        table = csv.writer(file)
        table.writerow(["example", "class", "probability"])
        for i, chances in enumerate(answers):
            best = int(chances.argmax())
            table.writerow([i, classifier.classes[best], f"{chances[best]:.6f}"])
