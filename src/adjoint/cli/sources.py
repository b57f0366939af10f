"""The data that the commands take: a data set known by name, or files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from adjoint.core.errors import ArgumentError, DataError
from adjoint.core.types import Value
from adjoint.data import Dataset, Parts, digits, load, split


def parts_of(sources: Sequence[str], seed: int, **reading: Value) -> Parts:
    """The data that `sources` name, split with `seed`; `reading` is for `load`."""
    data, held_out = _data(sources, reading)
    return split(data, seed=seed, held_out=held_out)


def _data(sources: Sequence[str], reading: dict[str, Value]) -> tuple[Dataset, Dataset | None]:
    if list(sources) == ["digits"]:
        if reading.get("label") is not None:
            raise ArgumentError(f"digits has no columns, and so none named {reading['label']!r}")
        return digits(), None
    for source in sources:
        require(source)
    return load(*sources, **reading)


def require(source: str) -> None:
    """Complain if there is no such file or folder."""
    if not Path(source).exists():
        raise DataError(f"{source}: there is no such file or folder (the one data set known by name is: digits)")
