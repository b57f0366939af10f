"""What the commands take for data: a data set known by name, or files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from adjoint.core.errors import DataError
from adjoint.data import Dataset, Parts, digits, load, split


def parts_of(sources: Sequence[str], seed: int) -> Parts:
    """The data that `sources` name, split with `seed`."""
    data, held_out = _data(sources)
    return split(data, seed=seed, held_out=held_out)


def _data(sources: Sequence[str]) -> tuple[Dataset, Dataset | None]:
    if list(sources) == ["digits"]:
        return digits(), None
    for source in sources:
        require(source)
    return load(*sources)


def require(source: str) -> None:
    """Complain if there is no such file or folder."""
    if not Path(source).exists():
        raise DataError(f"{source}: there is no such file or folder (the one data set known by name is: digits)")
