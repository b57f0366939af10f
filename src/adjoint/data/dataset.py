"""`Dataset`: examples in rows with their labels; and its split into training, validation and test parts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import wraps
from math import isqrt
from typing import NamedTuple

import numpy as np

from adjoint.core.errors import ArgumentError, DataError
from adjoint.core.types import Value

NDArray = np.ndarray[Value, np.dtype[Value]]

_PICTURE_SIDE = 5  # a table of fewer than 25 columns is never taken for pictures


@dataclass(frozen=True)
class Dataset:
    """Labelled examples, one a row.

    Attributes:
        x: features, shape (examples, features), finite real numbers.
        y: class numbers, shape (examples,), int64, from 0 to ``len(classes) - 1``; or real numbers, float64.
        classes: the name of each class; empty where `y` has real numbers.
        picture: (height, width) where a row is a picture; None for other tables.
        name: its name in messages and in the names of runs.
        channels: values a pixel: 1 for gray, 3 for colours.
        columns: how a table with a header was read; a `Columns`.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> d = ad.data.Dataset(np.eye(3), np.array([0, 1, 0]), classes=("cat", "dog"))
        >>> len(d), d.take(np.array([1])).y
        (3, array([1]))
    """

    x: NDArray
    y: NDArray
    classes: tuple[str, ...]
    picture: tuple[int, int] | None = None
    name: str = "data"
    channels: int = 1
    columns: Value = None

    def __init_subclass__(cls, **options: Value) -> None:
        """One that has items of its own, as PyTorch's users write them, has attributes of its own as well."""
        super().__init_subclass__(**options)
        if "__getitem__" in vars(cls):
            own = ("__init__", "__setattr__", "__delattr__", "__repr__", "__eq__", "__hash__")
            for name in own:
                if name not in vars(cls):
                    setattr(cls, name, getattr(object, name))

    def __len__(self) -> int:
        return len(self.x)

    def take(self, rows: NDArray) -> Dataset:
        """The examples of these row numbers, in this order."""
        return replace(self, x=self.x[rows], y=self.y[rows])


_of_rows = Dataset.__init__


@wraps(_of_rows)
def _made(self: Dataset, *args: Value, **kwargs: Value) -> None:
    if args or kwargs or not hasattr(self, "__getitem__"):
        _of_rows(self, *args, **kwargs)


Dataset.__init__ = _made  # type: ignore[method-assign]  # a user's subclass calls super().__init__()


class Parts(NamedTuple):
    """The examples for training, those for the choice of weights, and those for the final test.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> parts = ad.data.split(ad.data.dataset(np.eye(10), [0, 1] * 5), seed=0)
        >>> len(parts.train), len(parts.validation), len(parts.test)
        (7, 1, 2)
    """

    train: Dataset
    validation: Dataset
    test: Dataset


def dataset(x: Value, labels: object, *, classes: tuple[str, ...] | None = None, name: str = "data") -> Dataset:
    """A checked `Dataset` of features and labels as they come in files.

    Args:
        x: real numbers of shape (examples, ...); what follows the first axis is flattened.
        labels: whole numbers or names, shape (examples,).
        classes: the names of the classes, where they are known; otherwise the distinct labels in order.
        name: its name in messages.

    Raises:
        DataError: for shapes that do not fit, values that are not finite, and labels that are not classes.

    Example:
        >>> import adjoint as ad
        >>> d = ad.data.dataset([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], ["cat", "dog", "cat"])
        >>> d.classes, d.y
        (('cat', 'dog'), array([0, 1, 0]))
    """
    x, picture = features(x, name)
    texts = label_texts(labels, name)
    if len(x) != len(texts):
        raise DataError(f"{name}: every example needs one label; got {len(x)} examples and {len(texts)} labels")
    if classes is None:
        classes = _classes(texts, name)
    numbers = {text: number for number, text in enumerate(classes)}
    unknown = sorted(set(texts.tolist()) - numbers.keys())
    if unknown:
        raise DataError(f"{name}: the label {unknown[0]!r} is not one of the known classes ({_listed(classes)})")
    found, inverse = np.unique(texts, return_inverse=True)
    y = np.array([numbers[text] for text in found.tolist()], dtype=np.int64)[inverse]
    return Dataset(x, y, classes, picture, name, x.shape[1] // (picture[0] * picture[1]) if picture else 1)


def measured(x: Value, y: Value, *, name: str = "data") -> Dataset:
    """A checked `Dataset` whose labels are real numbers.

    Raises:
        DataError: for shapes that do not fit, and values that are not finite.

    Example:
        >>> import adjoint as ad
        >>> ad.data.measured([[0.0, 1.0], [1.0, 0.0]], [2.5, 3.5]).classes
        ()
    """
    x, picture = features(x, name)
    y = np.asarray(y)
    y = y[:, 0] if y.ndim == 2 and y.shape[1] == 1 else y
    if y.dtype.kind not in "biuf" or y.shape != (len(x),) or not np.isfinite(y).all():
        raise DataError(f"{name}: labels must be {len(x)} finite numbers, one an example; got shape {y.shape}, dtype "
                        f"{y.dtype}")  # fmt: skip
    channels = x.shape[1] // (picture[0] * picture[1]) if picture else 1
    return Dataset(x, y.astype(float), (), picture, name, channels)


def features(x: Value, name: str) -> tuple[NDArray, tuple[int, int] | None]:
    """`x` as a table of finite real numbers, and the shape of the pictures in its rows if they are pictures."""
    x = np.asarray(x)
    if x.dtype.kind not in "biuf":
        raise DataError(f"{name}: examples must be real numbers; got dtype {x.dtype}")
    if x.ndim < 2 or x.size == 0:
        raise DataError(f"{name}: examples must have the shape (examples, features) or (examples, height, width[, 3]), "
                        f"and there must be some; got shape {x.shape}")  # fmt: skip
    table = x.reshape(len(x), -1)
    if table.dtype.kind == "f" and not np.isfinite(table).all():
        row = int(np.argmin(np.isfinite(table).all(axis=1)))
        raise DataError(f"{name}: example {row} holds nan or infinity; every value must be a finite number")
    shape = x.shape[:-1] if x.ndim == 4 and x.shape[-1] in (1, 3) else x.shape
    if len(shape) == 3:
        return table, (shape[1], shape[2])
    return table, _square(table) if x.ndim == 2 else None


def _square(table: NDArray) -> tuple[int, int] | None:
    """The side lengths, if rows look like flattened square pictures: one byte or one share a pixel."""
    side = isqrt(table.shape[1])
    if side < _PICTURE_SIDE or side * side != table.shape[1] or table.min() < 0:
        return None
    largest = table.max()
    is_bytes = largest <= 255 and (table.dtype.kind != "f" or bool((table == np.round(table)).all()))
    return (side, side) if largest <= 1 or is_bytes else None


def label_texts(labels: object, name: str) -> NDArray:
    """Labels as an array of names: whole numbers lose their decimal point, texts their outer blanks."""
    labels = np.asarray(labels)
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    if labels.ndim != 1:
        raise DataError(f"{name}: labels must have the shape (examples,), one class an example; "
                        f"got shape {labels.shape}. For one-hot rows, give labels.argmax(axis=1)")  # fmt: skip
    if labels.dtype.kind == "S":
        labels = np.char.decode(labels, "utf-8", "replace")
    if labels.dtype.kind == "U":
        texts = np.char.strip(labels)
        try:
            labels = texts.astype(float)
        except ValueError:
            return texts
    if labels.dtype.kind not in "biuf":
        raise DataError(f"{name}: labels must be whole numbers or names; got dtype {labels.dtype}")
    odd = labels[~np.isfinite(labels) | (labels != np.round(labels))]
    if odd.size:
        raise DataError(f"{name}: labels must be whole numbers or names; got {odd[0]:g}")
    whole: NDArray = labels.astype(np.int64).astype(str)
    return whole


def _classes(texts: NDArray, name: str) -> tuple[str, ...]:
    found: list[str] = np.unique(texts).tolist()
    if len(found) < 2:
        raise DataError(f"{name}: there must be at least two classes to tell apart; every label is {found[0]!r}")
    if len(found) > max(len(texts) // 2, 2):
        raise DataError(f"{name}: {len(found)} different labels in {len(texts)} examples; labels must be classes, "
                        f"each with several examples; measures are learned as numbers (--task numbers)")  # fmt: skip
    try:
        return tuple(sorted(found, key=int))
    except ValueError:
        return tuple(found)


def _listed(classes: tuple[str, ...]) -> str:
    return ", ".join(classes[:10]) + (", …" if len(classes) > 10 else "")


def split(data: Dataset, *, seed: int = 0, validation: float = 0.1, test: float = 0.2,
          held_out: Dataset | None = None) -> Parts:  # fmt: skip
    """Shuffle `data` and part it for training, validation and test.

    Args:
        data: all examples (or all but the test set).
        seed: the same seed gives the same parts.
        validation: share of the examples that chooses among weights.
        test: share of the examples that judges the result; not used if there is a `held_out`.
        held_out: a test set that comes with the data.

    Raises:
        ArgumentError: for shares that leave nothing to learn from.
        DataError: for fewer than 10 examples.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> d = ad.data.dataset(np.arange(40.0).reshape(20, 2), np.arange(20) % 2)
        >>> [len(part) for part in ad.data.split(d, seed=1)]
        [14, 2, 4]
    """
    shares = (validation, test)
    if min(shares) <= 0 or sum(shares) >= 1:
        raise ArgumentError(f"split: the shares must be positive and leave examples to learn from; "
                            f"got validation={validation}, test={test}")  # fmt: skip
    n = len(data)
    if n < 10:
        raise DataError(f"{data.name}: at least 10 examples are needed for training, validation and test; got {n}")
    rows = np.random.default_rng(seed).permutation(n)
    n_test = 0 if held_out is not None else max(1, round(n * test))
    n_validation = max(1, round(n * validation))
    tested, validated, learned = np.split(rows, [n_test, n_test + n_validation])
    return Parts(data.take(learned), data.take(validated), data.take(tested) if held_out is None else held_out)
