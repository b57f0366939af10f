"""`adjoint train`: learn classes or numbers, and leave the weights, the figures and the pictures in a folder."""

from __future__ import annotations

import math
import os
import platform
from enum import StrEnum
from pathlib import Path
from time import perf_counter
from typing import Annotated

import typer
from rich.console import Console

from adjoint import distributed
from adjoint.cli.display import say
from adjoint.cli.report import introduce, report
from adjoint.cli.runs import RunSettings, TrainingRun, model_for
from adjoint.core.errors import AdjointError, ArgumentError
from adjoint.train.runs import new_run

_INTERRUPTED = 130  # what a shell expects of a program that Ctrl-C ended


class Precision(StrEnum):
    """The dtypes of networks."""

    float32 = "float32"
    float64 = "float64"


class LabelKind(StrEnum):
    """What labels are."""

    classes = "classes"
    numbers = "numbers"


def _is_given(context: typer.Context, option: str | None) -> bool:
    source = context.get_parameter_source(option or "")
    return source is not None and source.name == "COMMANDLINE"


def _learning_rate(value: float) -> float:
    if not (math.isfinite(value) and value > 0):
        raise typer.BadParameter(f"a learning rate is a positive number; got {value}")
    return value


def _widths(text: str) -> str:
    widths = [part.strip() for part in text.split(",")]
    if text.strip() != "0" and not all(width.isdecimal() and int(width) > 0 for width in widths):
        raise typer.BadParameter(f"widths of layers are whole numbers with commas between, or 0 for none; got {text!r}")
    return text


def _size(text: str | None) -> str | None:
    sides = [] if text is None else text.lower().split("x")
    if len(sides) > 2 or not all(side.strip().isdecimal() and int(side) > 0 for side in sides):
        raise typer.BadParameter(f"a size is a number of pixels, or two, as in 32 or 24x32; got {text!r}")
    return text


def _pieces(value: int | None) -> int | None:
    if value is not None and (value < 1 or value & (value - 1)):
        raise typer.BadParameter(f"a batch has 1, 2, 4, 8, … pieces; got {value}")
    return value


def _network(text: str) -> str:
    if text not in ("mlp", "conv") and ":" not in text:
        raise typer.BadParameter(f"networks are mlp, conv, and module:Class for one of your own; got {text!r}")
    return text


def train(
    context: typer.Context,
    source: Annotated[
        list[str] | None,
        typer.Argument(
            help="[bold]digits[/bold], or your own data: a CSV file, a .npz file (arrays x and y), IDX files of images "
            "and labels, a folder of these, or a folder with a folder of pictures for each class. "
            "A second file is the test set.",
            show_default=False,
        ),
    ] = None,
    *,
    label: Annotated[
        str | None, typer.Option(help="The column of labels; otherwise the one named label, otherwise the last one.")
    ] = None,
    task: Annotated[
        LabelKind | None, typer.Option(help="What labels are; otherwise what they look like.", show_default=False)
    ] = None,
    network: Annotated[
        str,
        typer.Option(
            callback=_network,
            help="mlp, conv (for pictures), or module:Class: your own, made as Class(features, outputs).",
        ),
    ] = "mlp",
    epochs: Annotated[int, typer.Option(min=1, help="Passes over the training examples.")] = 40,
    batch_size: Annotated[
        int, typer.Option("--batch-size", "--batch", min=1, help="Examples a step, of all ranks together.")
    ] = 32,
    lr: Annotated[float, typer.Option(callback=_learning_rate, help="The learning rate at the start.")] = 3e-3,
    hidden: Annotated[
        str, typer.Option(callback=_widths, help="Widths of the hidden layers, as in 256,128; 0 for none.")
    ] = "256",
    dropout: Annotated[float, typer.Option(min=0, max=0.95, help="Share of hidden units dropped at random.")] = 0.2,
    shift: Annotated[float, typer.Option(min=0, max=8, help="Move pictures at random by up to so many pixels.")] = 0.5,
    size: Annotated[
        str | None, typer.Option(callback=_size, help="Scale pictures in folders to so many pixels: 32, or 24x32.")
    ] = None,
    color: Annotated[bool, typer.Option("--color", help="Read pictures in folders with their colours.")] = False,
    seed: Annotated[int, typer.Option(min=0, help="Of the split, the weights and the order of examples.")] = 0,
    dtype: Annotated[Precision, typer.Option(help="What to compute in.")] = Precision.float32,
    eager: Annotated[bool, typer.Option("--eager", help="Run each step as it is, not as native code.")] = False,
    pieces: Annotated[
        int | None,
        typer.Option(
            callback=_pieces,
            help="Pieces of each batch, a power of two: as many ranks as divide it have the same bits. Otherwise 4 in "
            "float32, but 1 for networks that normalise over batches.",
            show_default=False,
        ),
    ] = None,
    out: Annotated[Path, typer.Option(help="The folder to put the folder of this run in.")] = Path("runs"),
    resume: Annotated[
        Path | None, typer.Option(help="Go on with the run in this folder, with its data and settings.")
    ] = None,
) -> None:
    """Train a network to tell classes apart, or to give numbers.

    A tenth of the training examples chooses the best weights; the test set
    (a fifth of the data, unless you bring one) judges them at the end.
    Everything is written to a new folder. Ctrl-C saves the current state, and
    --resume goes on from there, also after a crash, to the same bits.
    Steps are compiled first, unless you say --eager.

    [bold]Examples[/bold]

    adjoint train digits

    adjoint train digits --network conv --epochs 10

    adjoint train mnist/ --epochs 10   (a folder of MNIST's four files)

    adjoint train houses.csv --label price --hidden 32,32 --lr 0.01

    adjoint train animals/ --network conv --size 32 --color

    adjoint train --resume runs/digits-1

    mpiexec -n 4 adjoint train digits   (the same training, on four processes)
    """
    first = distributed.rank() == 0  # rank 0 speaks and writes
    console = Console(highlight=False, quiet=not first)
    if resume is not None and source:
        raise ArgumentError(f"--resume goes on with the data of the run; leave out {source[0]}")
    given = [
        option.opts[0]
        for option in context.command.params
        if option.name not in ("source", "resume") and _is_given(context, option.name)
    ]
    if resume is not None and given:
        raise ArgumentError(f"--resume goes on with the settings of the run; leave out {', '.join(given)}")
    if resume is not None:
        settings = RunSettings.read(resume)
    elif source:
        sides = None if size is None else [int(side) for side in size.lower().split("x")]
        settings = RunSettings(
            source, epochs, batch_size, lr,
            [] if hidden.strip() == "0" else [int(width) for width in hidden.split(",")], dropout, shift, seed,
            dtype.value, eager, network, label, None if task is None else task.value,
            None if sides is None else [sides[0], sides[-1]], color, pieces,
        )  # fmt: skip
    else:
        raise ArgumentError("name data to learn from, as in `adjoint train digits`, or a run to --resume")
    parts = settings.parts()
    model = model_for(settings, parts)
    folder = resume or (new_run(out, parts.train.name) if first else None)
    ranks = distributed.gather_objects((folder, f"{os.getpid()} at {platform.node()}"))
    run = TrainingRun(settings, parts, model, ranks[0][0])
    if resume is None and first:
        settings.write(run.folder)
    introduce(console, run)
    if len(ranks) > 1:  # the launcher names a rank that was killed by its process
        say(console, "processes: " + ", ".join(f"rank {k} is {place}" for k, (_, place) in enumerate(ranks)))
    start = perf_counter()
    try:
        history = run.learn(resume=resume is not None)
    except AdjointError as error:
        raise type(error)(f"{error}. {run.what_is_left()}" if first else str(error)) from None
    if history.interrupted:
        say(console, f"Stopped by Ctrl-C in epoch {len(history.epochs) + 1}; saving what was learned so far.", "yellow")
    if first:
        report(console, run, history, perf_counter() - start)
    if history.interrupted:
        say(console, f"To go on: adjoint train --resume {run.folder}")
        raise typer.Exit(_INTERRUPTED)
