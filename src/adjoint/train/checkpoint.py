"""`Checkpoint`: everything that decides how a training continues, in one file that is whole at every moment."""

from __future__ import annotations

import os
import random
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import numpy as np

from adjoint import io
from adjoint.core.errors import ArgumentError, DataError
from adjoint.core.types import Value
from adjoint.data.loader import DataLoader
from adjoint.tape.reach import reach

_FORMAT = 1


class Checkpoint:
    """Saves parts of a program and the random generators they use, and sets them back to go on with the same bits.

    Save between two steps, not within one. The file is written beside the old one and then renamed, so that at every
    moment the old or the new one is there.

    Args:
        path: the file.
        parts: what has ``state_dict`` and ``load_state_dict``: models, optimisers, schedules, loaders. All random
            generators of NumPy that they can reach are kept too: those of dropout, of data sets and samplers.
        also: functions and other objects whose generators are to be kept: losses, transforms.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> model = ad.nn.Sequential(ad.nn.Linear(2, 2, rng=0), ad.nn.Dropout(0.5, rng=1))
        >>> adam = ad.optim.Adam(model.parameters())
        >>> checkpoint = ad.train.Checkpoint("run.safetensors", model=model, optimizer=adam)
        >>> checkpoint.save(step=7)
        >>> before = model(np.ones(2)).numpy()
        >>> checkpoint.load()
        {'step': 7}
        >>> np.array_equal(model(np.ones(2)).numpy(), before)
        True
    """

    def __init__(self, path: str | os.PathLike[str], *, also: Value = (), **parts: Value) -> None:
        self.path, self.also, self.parts = Path(path), also, parts
        for name, part in parts.items():
            if not (hasattr(part, "state_dict") and hasattr(part, "load_state_dict")):
                raise ArgumentError(f"Checkpoint: {name} is {type(part).__name__}, which has no state_dict and "
                                    f"load_state_dict; numbers go to save({name}=...)")  # fmt: skip

    def save(self, **extra: Value) -> None:
        """Write everything, and `extra`: numbers, texts, arrays, and lists and dicts of these.

        Raises:
            OSError: if the file cannot be written; the old one is then as it was.
        """
        io.save(self.path, {
            "format": _FORMAT,
            "parts": {name: part.state_dict() for name, part in self.parts.items()},
            "generators": [_state_of(generator) for generator in self._generators()],
            "python": _plain(random.getstate()),
            "extra": extra,
        })  # fmt: skip

    def exists(self) -> bool:
        """Whether there is something to load."""
        return self.path.is_file()

    def load(self) -> dict[str, Value]:
        """Set everything back, and give what was `extra`.

        Raises:
            DataError: if there is no such file, or it is no checkpoint.
            ArgumentError, ShapeError: if it holds other parts than this program has.
        """
        kept = io.load(self.path)
        if kept.get("format") != _FORMAT or "generators" not in kept:
            raise DataError(f"{self.path}: not a checkpoint of this version of adjoint")
        if kept["parts"].keys() != self.parts.keys():
            raise ArgumentError(
                f"{self.path} holds the parts {', '.join(kept['parts'])}; this program has {', '.join(self.parts)}"
            )
        generators = self._generators()
        kinds = [_kind(generator) for generator in generators]
        if [state["kind"] for state in kept["generators"]] != kinds:
            raise ArgumentError(
                f"{self.path} holds the states of {len(kept['generators'])} random generators; model, loss and data "
                f"of this program use {len(kinds)}. It must be the program that saved it"
            )
        for name, part in self.parts.items():
            part.load_state_dict(kept["parts"][name])
        for generator, state in zip(generators, kept["generators"], strict=True):
            _set(generator, state["state"])
        version, words, gauss = kept["python"]
        random.setstate((version, tuple(words.tolist()), gauss))
        self._tidy()
        return dict(kept["extra"])

    def _generators(self) -> list[Value]:
        """NumPy's own, and those that the parts use, in an order that the program decides."""
        things: list[Value] = []
        for part in (*self.parts.values(), *(self.also if isinstance(self.also, tuple | list) else (self.also,))):
            loading = isinstance(part, DataLoader)
            things += (
                (part.dataset, part.sampler, part.batch_sampler, part.collate_fn, part.transform)
                if loading
                else (part,)
            )
        found = {id(generator): generator for thing in things for generator in reach(thing).generators}
        own = np.random.mtrand._rand  # NumPy's own generator has no public name
        found.pop(id(own), None)
        return [own, *found.values()]

    def _tidy(self) -> None:
        """Remove what a save that was killed has left."""
        for left in self.path.parent.glob(f".{self.path.name}.*"):
            with suppress(OSError):
                left.unlink()


def _kind(generator: Value) -> str:
    return type(getattr(generator, "bit_generator", generator)).__name__


def _state_of(generator: Value) -> dict[str, Value]:
    legacy = isinstance(generator, np.random.RandomState)
    state = generator.get_state(legacy=False) if legacy else generator.bit_generator.state
    return {"kind": _kind(generator), "state": state}


def _set(generator: Value, state: Mapping[str, Value]) -> None:
    if isinstance(generator, np.random.RandomState):
        generator.set_state(dict(state))
    else:
        generator.bit_generator.state = state


def _plain(state: Value) -> list[Value]:
    version, words, gauss = state
    return [version, np.array(words, np.uint32), gauss]
