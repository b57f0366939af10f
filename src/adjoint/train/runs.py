"""The folder that a run leaves behind: never one that was there before."""

from __future__ import annotations

import csv
from dataclasses import asdict, fields
from pathlib import Path

from adjoint.train.fit import Epoch, History


def new_run(parent: Path, name: str) -> Path:
    """Make the folder ``<parent>/<name>-<n>`` with the lowest number n that is above all others.

    Example:
        >>> import tempfile, pathlib
        >>> from adjoint.train.runs import new_run
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     [new_run(pathlib.Path(folder), "digits").name for _ in range(3)]
        ['digits-1', 'digits-2', 'digits-3']
    """
    parent.mkdir(parents=True, exist_ok=True)
    endings = (path.name.removeprefix(f"{name}-") for path in parent.glob("*") if path.name.startswith(f"{name}-"))
    number = max((int(ending) for ending in endings if ending.isdecimal()), default=0)
    while True:
        number += 1
        try:
            (folder := parent / f"{name}-{number}").mkdir()
        except FileExistsError:  # another run took it just now
            continue
        return folder


def write_metrics(history: History, path: Path) -> None:
    """One line an epoch, with the fields of `Epoch` as columns."""
    with path.open("w", newline="") as file:
        table = csv.DictWriter(file, [field.name for field in fields(Epoch)])
        table.writeheader()
        for epoch in history.epochs:
            table.writerow({name: f"{value:.6g}" for name, value in asdict(epoch).items()})
