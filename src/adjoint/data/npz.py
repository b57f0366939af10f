"""Examples and labels in NumPy's own files, `.npz` and `.npy`."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np

from adjoint.core.errors import DataError
from adjoint.data.dataset import NDArray

_EXAMPLES = ("x", "images", "data", "features")
_LABELS = ("y", "labels", "label", "target", "targets")


class ExampleTable(NamedTuple):
    """Examples and their labels as a file holds them, not yet checked."""

    x: NDArray
    labels: NDArray | None


def read_npy(path: Path) -> ExampleTable:
    """The examples in a `.npy` file; it has no labels."""
    arrays = _arrays(path)
    if arrays.keys() != {""}:
        raise DataError(f"{path}: a .npy file with one array was expected; this one is an archive, rename it to .npz")
    return ExampleTable(arrays[""], None)


def read_npz(path: Path) -> tuple[ExampleTable, ExampleTable | None]:
    """The examples in a `.npz` file, and its test set if it has one (x_train, y_train, x_test, y_test)."""
    arrays = _arrays(path)
    if arrays.keys() == {""}:
        raise DataError(f"{path}: a .npz archive was expected; this file holds a single array, rename it to .npy")
    table = _table(arrays, "") or _table(arrays, "_train")
    test = _table(arrays, "_test")
    if table is not None:
        return table, test
    if test is not None:
        return test, None
    raise DataError(f"{path}: no examples found: the arrays should be called x and y, or images and labels; "
                    f"found {', '.join(sorted(arrays)) or 'none'}")  # fmt: skip


def _arrays(path: Path) -> dict[str, NDArray]:
    """The arrays of an archive by their names in lower case; a single array has no name."""
    # The file is opened here: np.load leaves it open if it is no archive.
    with path.open("rb") as file:
        try:
            loaded = np.load(file, allow_pickle=False)
            if isinstance(loaded, np.ndarray):
                return {"": loaded}
            with loaded:
                return {key.lower(): loaded[key] for key in loaded.files}
        except (ValueError, EOFError, zipfile.BadZipFile, zlib.error) as error:
            raise DataError(f"{path}: not a readable {path.suffix} file ({_sentence(error)})") from None


def _table(arrays: Mapping[str, NDArray], ending: str) -> ExampleTable | None:
    def first(names: tuple[str, ...]) -> NDArray | None:
        return next((arrays[name + ending] for name in names if name + ending in arrays), None)

    x = first(_EXAMPLES)
    return None if x is None else ExampleTable(x, first(_LABELS))


def _sentence(error: Exception) -> str:
    return str(error).split(". ", maxsplit=1)[0].strip().rstrip(".") or type(error).__name__
