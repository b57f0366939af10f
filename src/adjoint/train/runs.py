"""The folder of a run: always a new one."""

from __future__ import annotations

import csv
import os
from pathlib import Path

from adjoint.train.history import History


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
    """One line an epoch with its figures; the file is replaced at the very end."""
    rows = [epoch.row() for epoch in history.epochs]
    beside = path.with_name(f".{path.name}.new")
    with beside.open("w", newline="") as file:
        table = csv.DictWriter(file, list(rows[0]) if rows else ["epoch", "loss"])
        table.writeheader()
        for row in rows:
            table.writerow({name: f"{value:.6g}" for name, value in row.items()})
    os.replace(beside, path)
