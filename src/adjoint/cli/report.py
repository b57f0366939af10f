"""What `adjoint train` says before a training, and after it."""

from __future__ import annotations

import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text

from adjoint.cli.display import confusion_table, percent, say
from adjoint.cli.runs import TrainingRun, layers_of
from adjoint.core.errors import DataError
from adjoint.data import Dataset, NDArray
from adjoint.train.history import History
from adjoint.train.metrics import accuracy, confusion
from adjoint.train.pictures import draw_curves, draw_misread
from adjoint.train.predictors import Classifier, Regressor

_MOST_COLUMNS = 40


def introduce(console: Console, run: TrainingRun) -> None:
    """Print a line about the data and one about the network."""
    learned, validated, tested = (len(part) for part in run.parts)
    data, plan = run.parts.train, run.model.plan
    colours = "colour " if data.channels == 3 else ""
    kind = f"{colours}pictures of {data.picture[0]} x {data.picture[1]} pixels" if data.picture else (
        f"{plan.features} values")  # fmt: skip
    labels = f"of {len(data.classes)} classes" if data.classes else "with a number each"
    say(console, f"{data.name}: {learned + validated + tested} examples ({kind}) {labels}; "
                 f"{learned} to learn from, {validated} to validate, {tested} to test")  # fmt: skip
    if data.columns is not None and data.picture is None and len(data.columns.features) <= _MOST_COLUMNS:
        console.print(columns_table(data))
    weights = sum(parameter.size for parameter in run.model.network.parameters())
    layers = layers_of(plan, len(data.classes) or 1)
    say(console, f"network: {layers}, {weights} parameters, {plan.dtype}")


def columns_table(data: Dataset) -> Table:
    """How each column of a table is used."""
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("column", no_wrap=True)
    table.add_column("missing", justify="right")
    table.add_column("taken for")
    for column in data.columns.features:
        style = "yellow" if column.kind == "left out" or column.remark or column.numerals.describe() else ""
        missing = str(column.missing) if column.missing else ""
        table.add_row(Text(column.name), missing, Text(column.describe(), style))
    if data.classes:
        what = f"the label: {len(data.classes)} classes: {', '.join(data.classes[:6])}"
        what += ", …" if len(data.classes) > 6 else ""
    else:
        how = f" {said}" if (said := data.columns.numerals.describe()) else ""
        what = f"the label: numbers{how}, about {data.y.min():g} to {data.y.max():g}"
    table.add_row(Text(data.columns.label), "", Text(what, "green"))
    return table


def report(console: Console, run: TrainingRun, history: History, seconds: float) -> None:
    """Judge the best weights by the test set, and say where everything is."""
    test = run.parts.test
    run.model.network.load_state_dict(history.best_state)
    which = f"the weights of epoch {history.best.number}" if history.best else "the weights so far"
    ending = f"with {which}; training took {seconds:.1f} s"
    answers = None
    say(console, "")
    if isinstance(run.model, Classifier):
        answers = run.model.probabilities(test.x)
        reached = accuracy(answers, test.y)
        say(console, "Confusion: rows are what was written, columns what was read", "bold")
        console.print(confusion_table(confusion(test.y, answers.argmax(axis=1), len(test.classes)), test.classes))
        say(console, "")
        say(console, f"Test accuracy {percent(reached)}: {round(reached * len(test))} of {len(test)}, {ending}", "bold")
    else:
        say(console, f"{errors(run.model, test.x, test.y)}, {ending}", "bold")
    _say_files(console, run, history, _drawings(console, run, history, answers))


def errors(model: Regressor, x: NDArray, y: NDArray) -> str:
    """How far predictions are from the labels."""
    off = model.predictions(x) - y
    spread = float(np.sum((y - y.mean()) ** 2))
    share = f", explains {percent(1 - float(np.sum(off**2)) / spread)} of the variance" if spread > 0 else ""
    return f"Test error {np.mean(np.abs(off)):.4g} on average{share}: {len(y)} examples"


def _drawings(console: Console, run: TrainingRun, history: History, answers: NDArray | None) -> dict[str, str]:
    """Draw what can be drawn; the names of the files and what they show."""
    test, drawn = run.parts.test, {}
    try:
        if history.epochs:
            draw_curves(history, run.folder / "curves.png", f"{run.parts.train.name}: {len(history.epochs)} epochs")
            drawn["curves.png"] = "the figures over the epochs"
        if test.picture is not None and answers is not None:
            misread = draw_misread(test, answers, run.folder / "misread.png")
            drawn |= {"misread.png": f"the misread pictures ({misread})"} if misread else {}
    except DataError as error:
        say(console, f"No pictures: {error}", "yellow")
    return drawn


def _say_files(console: Console, run: TrainingRun, history: History, drawn: dict[str, str]) -> None:
    best = f"the best weights, of epoch {history.best.number}" if history.best else "the weights so far"
    files = {
        run.weights.name: best,
        "last.safetensors": "the last weights",
        "metrics.csv": "the figures and the time of each epoch",
        "checkpoint.safetensors": "all that it takes to go on",
        "run.json": "the settings",
        **drawn,
    }
    say(console, f"Written to {run.folder}:")
    for name, what in files.items():
        say(console, f"  {name:<23} {what}")
    say(console, f"To read with it: adjoint predict {run.weights} {_example(run.parts.test)}")


def _example(test: Dataset) -> str:
    return "digits --pictures" if test.name == "digits" else "FILE"
