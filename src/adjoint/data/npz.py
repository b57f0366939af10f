"""Examples and labels in NumPy's own files, `.npz` and `.npy`."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np

from adjoint.core.errors import DataError
from adjoint.data.dataset import Array

_EXAMPLES = ("x", "images", "data", "features")
_LABELS = ("y", "labels", "label", "target", "targets")


class Table(NamedTuple):
    """Examples and their labels as a file holds them, not yet checked."""

    x: Array
    labels: Array | None


def read_npy(path: Path) -> Table:
    """The examples in a `.npy` file; it has no labels."""
    try:
        array = np.load(path, allow_pickle=False)
    except (ValueError, EOFError, zipfile.BadZipFile) as error:
        raise DataError(f"{path}: not a readable .npy file ({_sentence(error)})") from None
    if not isinstance(array, np.ndarray):
        raise DataError(f"{path}: a .npy file with one array was expected; this one is an archive, rename it to .npz")
    return Table(array, None)


def read_npz(path: Path) -> tuple[Table, Table | None]:
    """The examples in a `.npz` file, and its test set if it has one (x_train, y_train, x_test, y_test)."""
    try:
        with np.load(path, allow_pickle=False) as archive:
            if isinstance(archive, np.ndarray):
                raise DataError(f"{path}: a .npz archive was expected; this file holds a single array")
            arrays = {key.lower(): archive[key] for key in archive.files}
    except (ValueError, EOFError, zipfile.BadZipFile) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(f"{path}: not a readable .npz file ({_sentence(error)})") from None
    table = _table(arrays, "") or _table(arrays, "_train")
    test = _table(arrays, "_test")
    if table is None and test is None:
        raise DataError(f"{path}: no examples found: the arrays should be called x and y, or images and labels; "
                        f"found {', '.join(sorted(arrays)) or 'none'}")  # fmt: skip
    return (table, test) if table is not None else (test, None)  # type: ignore[return-value]  # one of them is there


def _table(arrays: Mapping[str, Array], ending: str) -> Table | None:
    def first(names: tuple[str, ...]) -> Array | None:
        return next((arrays[name + ending] for name in names if name + ending in arrays), None)

    x = first(_EXAMPLES)
    return None if x is None else Table(x, first(_LABELS))


def _sentence(error: Exception) -> str:
    return str(error).split(". ", maxsplit=1)[0].strip().rstrip(".") or type(error).__name__
