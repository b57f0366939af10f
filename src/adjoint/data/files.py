"""A user's own files: IDX pairs as MNIST has them, `.npz`, CSV; each may be gzipped where that is usual."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from adjoint.core.errors import ArgumentError, DataError
from adjoint.data.columns import Column, Columns, columns_of
from adjoint.data.dataset import Dataset, NDArray, dataset, measured
from adjoint.data.idx import contents, is_idx, parse_idx
from adjoint.data.images import are_pictures, load_pictures
from adjoint.data.npz import ExampleTable, read_npy, read_npz
from adjoint.data.sheet import Sheet, read_sheet

_READS = "IDX (plain or .gz), .npz, and CSV (.csv, .tsv, .txt, plain or .gz)"
_TEXT = {".csv", ".tsv", ".txt"}
_TEST_NAMES = ("t10k", "test")


def load(
    *paths: str | Path,
    label: str | None = None,
    task: str | None = None,
    size: tuple[int, int] | None = None,
    color: bool = False,
) -> tuple[Dataset, Dataset | None]:
    """The labelled examples in files, and the test set if there is one.

    Args:
        paths: one `.npz` or CSV file; or two, the second one the test set; or IDX files, images and labels, in any
            order, those with ``t10k`` or ``test`` in their names being the test set; or a folder of IDX files; or a
            folder with a folder of pictures for each class (see `load_pictures`). For images alone, the labels are
            looked for beside them (``train-images-idx3-ubyte.gz`` has ``train-labels-idx1-ubyte.gz``).
        label: the column of labels in a CSV file; otherwise the one named "label", otherwise the last one.
        task: "classes" or "numbers", what labels are; None for what they look like: texts, and up to 20 different
            whole numbers, are classes.
        size, color: of pictures in folders.

    Raises:
        ArgumentError: without paths, or with too many.
        DataError: for files that cannot be read as such, or that do not fit together.
        OSError: for files that are not there, or must not be read.

    Example:
        >>> import numpy as np, tempfile, pathlib, adjoint as ad
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder) / "flowers.csv"
        ...     _ = path.write_text("length,colour,kind\\n3,red,rose\\n5,blue,iris\\n4,red,rose\\n,blue,iris\\n")
        ...     data, test = ad.data.load(path)
        >>> data.classes, [column.describe() for column in data.columns.features]
        (('iris', 'rose'), ['numbers; missing ones become 4', '2 categories: blue, red'])
    """
    if task not in (None, "classes", "numbers"):
        raise ArgumentError(f'load: task is "classes" or "numbers"; got {task!r}')
    if len(paths) == 1 and Path(paths[0]).is_dir() and are_pictures(Path(paths[0])):
        return load_pictures(paths[0], size=size, color=color)
    files = [file for path in paths for file in _expanded(Path(path))]
    if not files:
        raise ArgumentError(f"load: name at least one file; it reads {_READS}")
    kinds = {_kind(file) for file in files}
    name = _plain_name(Path(paths[0]))
    if label is not None and kinds != {"text"}:
        raise ArgumentError(f"load: only columns of CSV files have names; {files[0].name} has no column {label!r}")
    if kinds == {"idx"}:
        return _load_idx(files, name, task)
    if "idx" in kinds or len(files) > 2:
        raise ArgumentError(
            f"load: give one file, or two (training set, then test set), or images and labels in IDX files; "
            f"got {len(files)} files: {', '.join(file.name for file in files[:5])}"
        )
    if kinds == {"text"}:
        return _load_sheets(files, name, label, task)
    table, test = _tables(files[0])
    if len(files) == 2:
        test = _tables(files[1])[0]
    return _pair((table, files[0]), (test, files[-1]) if test is not None else None, name, task)


def read(path: str | Path, width: int | None = None, columns: Columns | None = None) -> tuple[NDArray, NDArray | None]:
    """The examples in one file as they are, and their labels if it holds any.

    Args:
        path: an IDX file of images, a `.npz`, `.npy` or CSV file.
        width: how many features an example has; it tells a CSV file without labels from one with.
        columns: how the columns of a CSV file are to be read; they are found by their names.

    Raises:
        DataError: for a file that cannot be read as such.
        OSError: for a file that is not there, or must not be read.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> np.savetxt("pets.csv", [[4.5, 0], [20, 1]], "%g", ",", header="weight,label", comments="")
        >>> x, labels = ad.data.read("pets.csv")
        >>> x.ravel(), labels
        (array([ 4.5, 20. ]), array(['0', '1'], dtype='<U1'))
    """
    path = Path(path)
    kind = _kind(path)
    if kind == "idx":
        images = parse_idx(contents(path), path)
        if images.ndim < 2:
            raise DataError(f"{path}: this IDX file holds labels; give the one that holds the images")
        return images, None
    if kind == "npy":
        return read_npy(path)
    if kind != "text":
        return _tables(path, width)[0]
    sheet = read_sheet(contents(path), path)
    if columns is not None and columns.named and not sheet.named:
        raise DataError(f"{path}: the first line must name the columns, as that of the training set did; it is "
                        f"{', '.join(sheet.rows[0][:6])}")  # fmt: skip
    if columns is None and (len(sheet.names) == width and "label" not in map(str.lower, sheet.names)):
        columns = Columns(tuple(Column(name, "numbers") for name in sheet.names), "", True, sheet.named)
    columns = columns or columns_of(sheet)
    return columns.encode(sheet), columns.labels(sheet)


def _load_sheets(
    files: Sequence[Path], name: str, label: str | None, task: str | None
) -> tuple[Dataset, Dataset | None]:
    sheet = read_sheet(contents(files[0]), files[0])
    columns = columns_of(sheet, label, task)
    learned = _of_sheet(sheet, columns, name, None)
    if len(files) == 1:
        return learned, None
    other = read_sheet(contents(files[1]), files[1])
    return learned, _of_sheet(other, columns, f"{name} (test set)", learned.classes)


def _of_sheet(sheet: Sheet, columns: Columns, name: str, classes: tuple[str, ...] | None) -> Dataset:
    x, labels = columns.encode(sheet), columns.labels(sheet)
    if labels is None:
        raise DataError(f"{sheet.path}: there is no column {columns.label!r}, which has the labels; the columns are "
                        f"{', '.join(sheet.names[:6])}")  # fmt: skip
    unknown = [i for i, text in enumerate(labels.tolist()) if text not in classes] if classes else []
    if unknown:
        known = ", ".join((classes or ())[:6]) + ", …" * (len(classes or ()) > 6)
        raise DataError(f"{sheet.where(unknown[0], columns.label)}: a class that the training set has was expected "
                        f"({known}); found {str(labels[unknown[0]])!r}")  # fmt: skip
    data = dataset(x, labels, classes=classes, name=name) if columns.classes else measured(x, labels, name=name)
    simple = all(column.kind == "numbers" and not column.missing for column in columns.features)
    return replace(data, columns=columns, picture=data.picture if simple else None)


def _kind(path: Path) -> str:
    suffix = Path(path.name.removesuffix(".gz")).suffix.lower()
    if suffix in {".npz", ".npy"}:
        with path.open("rb"):  # a missing file is told as such, whatever reads it
            return suffix[1:]
    if suffix in _TEXT:
        with path.open("rb"):
            return "text"
    if is_idx(contents(path, 4)):
        return "idx"
    raise DataError(f"{path}: not a kind of file that can be read here; these can: {_READS}")


def _tables(path: Path, width: int | None = None) -> tuple[ExampleTable, ExampleTable | None]:
    kind = _kind(path)
    if kind == "npz":
        return read_npz(path)
    if kind == "npy":
        raise DataError(f"{path}: a .npy file holds no labels; save both: np.savez('data.npz', x=x, y=labels)")
    x, labels = read(path, width)
    return ExampleTable(x, labels), None


def _pair(
    train: tuple[ExampleTable, Path], test: tuple[ExampleTable, Path] | None, name: str, task: str | None
) -> tuple[Dataset, Dataset | None]:
    learned = _labelled(*train, name, task)
    if test is None:
        return learned, None
    task = "classes" if learned.classes else "numbers"
    held_out = _labelled(*test, f"{name} (test set)", task, learned.classes or None)
    if held_out.x.shape[1] != learned.x.shape[1]:
        raise DataError(
            f"{held_out.name}: its examples must have as many values as those of the training set, "
            f"{learned.x.shape[1]}; got {held_out.x.shape[1]}"
        )
    return learned, held_out


def _labelled(
    table: ExampleTable, path: Path, name: str, task: str | None, classes: tuple[str, ...] | None = None
) -> Dataset:
    if table.labels is None:
        raise DataError(f"{path}: no labels found; the examples should stand under x or images, the labels under y "
                        f"or labels")  # fmt: skip
    if task == "numbers" or (task is None and _are_measures(table.labels)):
        return measured(table.x, table.labels, name=name)
    return dataset(table.x, table.labels, classes=classes, name=name)


def _are_measures(labels: NDArray) -> bool:
    """Whether labels are finite numbers, and not all of them whole."""
    labels = np.asarray(labels)
    return labels.dtype.kind == "f" and bool(np.isfinite(labels).all()) and bool((labels != np.round(labels)).any())


def _load_idx(files: Sequence[Path], name: str, task: str | None) -> tuple[Dataset, Dataset | None]:
    tests = [file for file in files if any(word in file.name.lower() for word in _TEST_NAMES)]
    trains = [file for file in files if file not in tests] or tests
    test = (_idx_pair(tests), tests[0]) if tests and trains is not tests else None
    return _pair((_idx_pair(trains), trains[0]), test, name, task)


def _idx_pair(files: Sequence[Path]) -> ExampleTable:
    arrays = {file: parse_idx(contents(file), file) for file in files}
    if len(files) == 1 and arrays[files[0]].ndim > 1:
        partner = _labels_beside(files[0])
        arrays[partner] = parse_idx(contents(partner), partner)
    images = [array for array in arrays.values() if array.ndim > 1]
    labels = [array for array in arrays.values() if array.ndim == 1]
    if (len(images), len(labels)) != (1, 1):
        raise DataError(f"one IDX file of images and one of labels belong together; got {len(images)} and "
                        f"{len(labels)} ({', '.join(file.name for file in files)})")  # fmt: skip
    return ExampleTable(images[0], labels[0])


def _labels_beside(images: Path) -> Path:
    stem = images.name.removesuffix(".gz").replace("images", "labels").replace("idx3", "idx1")
    for name in (stem, f"{stem}.gz"):
        if name != images.name and (found := images.with_name(name)).is_file():
            return found
    raise DataError(f"{images}: no labels for these images; name the file that holds them after this one")


def _expanded(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    found = sorted(file for file in path.iterdir() if file.is_file() and is_idx(contents(file, 4)))
    if not found:
        raise DataError(f"{path}: this folder holds no IDX files, and no folders of pictures; name the files to read")
    return found


def _plain_name(path: Path) -> str:
    return path.resolve().name.removesuffix(".gz").split(".")[0] or "data"
