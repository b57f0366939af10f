"""`adjoint train`: learn to tell classes apart, and leave the weights, the figures and the pictures in a folder."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console

from adjoint.cli.display import confusion_table, percent, say
from adjoint.cli.sources import parts_of
from adjoint.core.errors import AdjointError, DataError
from adjoint.data import Array, Dataset, Parts, shifted
from adjoint.nn import CrossEntropyLoss
from adjoint.optim import AdamW
from adjoint.train.classifier import Classifier
from adjoint.train.fit import fit
from adjoint.train.history import History
from adjoint.train.metrics import accuracy, confusion
from adjoint.train.pictures import draw_curves, draw_misread
from adjoint.train.runs import new_run
from adjoint.train.threads import blas_threads_for

_LABEL_SMOOTHING = 0.05
_INTERRUPTED = 130  # what a shell expects of a program that Ctrl-C ended


class DType(StrEnum):
    """The dtypes of networks."""

    float32 = "float32"
    float64 = "float64"


def _learning_rate(value: float) -> float:
    if not (math.isfinite(value) and value > 0):
        raise typer.BadParameter(f"a learning rate is a positive number; got {value}")
    return value


def _widths(text: str) -> str:
    widths = [part.strip() for part in text.split(",")]
    if text.strip() != "0" and not all(width.isdecimal() and int(width) > 0 for width in widths):
        raise typer.BadParameter(f"widths of layers are whole numbers with commas between, or 0 for none; got {text!r}")
    return text


def train(
    source: Annotated[
        list[str],
        typer.Argument(
            help="[bold]digits[/bold], or your own data: a .npz file (arrays x and y), a CSV file (the label in the "
            "first column, or in the one named label), IDX files of images and labels, or a folder of these. "
            "A second file is the test set.",
            show_default=False,
        ),
    ],
    *,
    epochs: Annotated[int, typer.Option(min=1, help="Passes over the training examples.")] = 40,
    batch_size: Annotated[int, typer.Option(min=1, help="Examples a step.")] = 32,
    lr: Annotated[float, typer.Option(callback=_learning_rate, help="The learning rate at the start.")] = 3e-3,
    hidden: Annotated[
        str, typer.Option(callback=_widths, help="Widths of the hidden layers, as in 256,128; 0 for none.")
    ] = "256",
    dropout: Annotated[float, typer.Option(min=0, max=0.95, help="Share of hidden units dropped at random.")] = 0.2,
    shift: Annotated[float, typer.Option(min=0, max=8, help="Move pictures at random by up to so many pixels.")] = 0.5,
    seed: Annotated[int, typer.Option(min=0, help="Of the split, the weights and the order of examples.")] = 0,
    dtype: Annotated[DType, typer.Option(help="What to compute in.")] = DType.float32,
    eager: Annotated[bool, typer.Option("--eager", help="Run each step as it is, not as native code.")] = False,
    out: Annotated[Path, typer.Option(help="The folder to put the folder of this run in.")] = Path("runs"),
) -> None:
    """Train a network to tell classes apart.

    A tenth of the training examples chooses the best weights; the test set
    (a fifth of the data, unless you bring one) judges them at the end.
    Everything is written to a new folder. Ctrl-C saves what there is.
    Steps are compiled first, unless you say --eager.

    [bold]Examples[/bold]

    adjoint train digits

    adjoint train mnist/ --epochs 10   (a folder of MNIST's four files)

    adjoint train flowers.csv --hidden 32,32 --lr 0.01
    """
    console = Console(highlight=False)
    parts = parts_of(source, seed)
    widths = () if hidden.strip() == "0" else tuple(int(width) for width in hidden.split(","))
    model = Classifier.for_data(parts.train, hidden=widths, dropout=dropout, dtype=dtype.value, seed=seed)
    _introduce(console, parts, model)
    run = _Run(model, parts, new_run(out, parts.train.name))
    start = perf_counter()
    try:
        history = _learn(
            console, run, epochs=epochs, batch_size=batch_size, lr=lr, shift=shift, seed=seed, compiled=not eager
        )
    except AdjointError as error:
        raise type(error)(f"{error}. {run.what_is_left()}") from None
    if history.interrupted:
        say(console, f"Stopped by Ctrl-C in epoch {len(history.epochs) + 1}; saving what was learned so far.", "yellow")
    _report(console, run, history, perf_counter() - start)
    if history.interrupted:
        raise typer.Exit(_INTERRUPTED)


@dataclass
class _Run:
    model: Classifier
    parts: Parts
    folder: Path

    @property
    def weights(self) -> Path:
        return self.folder / "model.safetensors"

    def what_is_left(self) -> str:
        """Remove the folder if nothing was put in it; say so, or what it holds."""
        if self.weights.exists():
            return f"The best weights before that are in {self.weights}"
        self.folder.rmdir()
        return "Nothing was saved"


def _introduce(console: Console, parts: Parts, model: Classifier) -> None:
    learned, validated, tested = (len(part) for part in parts)
    data, plan = parts.train, model.plan
    kind = f"pictures of {data.picture[0]} x {data.picture[1]} pixels" if data.picture else f"{plan.features} values"
    say(console, f"{data.name}: {learned + validated + tested} examples ({kind}) of {len(data.classes)} classes; "
                 f"{learned} to learn from, {validated} to validate, {tested} to test")  # fmt: skip
    layers = " → ".join(map(str, (plan.features, *plan.hidden, len(data.classes))))
    weights = sum(parameter.size for parameter in model.network.parameters())
    say(console, f"network: {layers}, {weights} parameters, {plan.dtype}")


def _learn(
    console: Console, run: _Run, *, epochs: int, batch_size: int, lr: float, shift: float, seed: int, compiled: bool
) -> History:
    model, parts, picture = run.model, run.parts, run.model.picture

    def moved(batch: Any, rng: np.random.Generator) -> Any:
        x, y = batch
        return (shifted(x, picture, shift, rng) if picture is not None and shift else x), y

    widths = (model.plan.features, *model.plan.hidden, len(model.classes))
    largest = batch_size * max(inputs * outputs for inputs, outputs in pairwise(widths))
    # nan and infinity are looked for in the loss; NumPy's warnings about them would only garble the display.
    with np.errstate(all="ignore"), blas_threads_for(largest):
        return fit(
            model.network,
            (model.prepared(parts.train.x), parts.train.y),
            loss=CrossEntropyLoss(label_smoothing=_LABEL_SMOOTHING),
            metrics=["accuracy"],
            optimizer=AdamW(model.network.parameters(), lr=lr),
            scheduler="cosine",
            validation=(model.prepared(parts.validation.x), parts.validation.y),
            epochs=epochs,
            batch_size=batch_size,
            seed=seed,
            transform=moved,
            compiled=compiled,
            progress=True,
            folder=run.folder,
            save_weights=model.save,
        )


def _report(console: Console, run: _Run, history: History, seconds: float) -> None:
    model, test = run.model, run.parts.test
    model.network.load_state_dict(history.best_state)
    answers = model.probabilities(test.x)
    reached = accuracy(answers, test.y)
    say(console, "")
    say(console, "Confusion: rows are what was written, columns what was read", "bold")
    console.print(confusion_table(confusion(test.y, answers.argmax(axis=1), len(test.classes)), test.classes))
    which = f"the weights of epoch {history.best.number}" if history.best else "the weights so far"
    say(console, "")
    say(console, f"Test accuracy {percent(reached)}: {round(reached * len(test))} of {len(test)}, with {which}; "
                 f"training took {seconds:.1f} s", "bold")  # fmt: skip
    _say_files(console, run, history, _drawings(console, run, history, answers))


def _drawings(console: Console, run: _Run, history: History, answers: Array) -> dict[str, str]:
    """Draw what can be drawn; the names of the files and what they show."""
    test, drawn = run.parts.test, {}
    try:
        if history.epochs:
            draw_curves(history, run.folder / "curves.png", f"{run.parts.train.name}: {len(history.epochs)} epochs")
            drawn["curves.png"] = "loss and accuracy over the epochs"
        if test.picture is not None:
            misread = draw_misread(test, answers, run.folder / "misread.png")
            drawn |= {"misread.png": f"the misread pictures ({misread})"} if misread else {}
    except DataError as error:
        say(console, f"No pictures: {error}", "yellow")
    return drawn


def _say_files(console: Console, run: _Run, history: History, drawn: dict[str, str]) -> None:
    best = f"the best weights, of epoch {history.best.number}" if history.best else "the weights so far"
    files = {
        run.weights.name: best,
        "last.safetensors": "the last weights",
        "metrics.csv": "loss, accuracy and time of each epoch",
        "checkpoint.safetensors": "all that it takes to go on",
        **drawn,
    }
    say(console, f"Written to {run.folder}:")
    for name, what in files.items():
        say(console, f"  {name:<23} {what}")
    say(console, f"To read with it: adjoint predict {run.weights} {_example(run.parts.test)}")


def _example(test: Dataset) -> str:
    return "digits --pictures" if test.name == "digits" else "FILE"
