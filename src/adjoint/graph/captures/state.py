"""What a captured program reads and writes besides its arguments: parameters, gradients, buffers, optimisers' state."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from operator import setitem

import numpy as np

from adjoint.core.threads.commit import Action
from adjoint.core.types import Array, Value
from adjoint.graph.node import Node
from adjoint.graph.symbol import Symbol
from adjoint.tape.node import Leaf, TapeNode
from adjoint.tape.observers.observing import NodeHooks
from adjoint.tape.tensor import Tensor, wrap
from adjoint.tape.writes.mutations import Together


class Cell:
    """One array that a program may read and write: where it is found, and how it is put back.

    `key` names an item of the dictionary `holder`; DATA and GRAD are a tensor's, which may get another leaf.
    """

    __slots__ = ("holder", "key", "name", "stands_for_none")

    def __init__(self, name: str, holder: Value, key: str, stands_for_none: Callable[[], Value] | None = None) -> None:
        self.name, self.holder, self.key, self.stands_for_none = name, holder, key, stands_for_none

    def get(self) -> Value:
        """The content of the cell; None, if a tensor has no gradient."""
        if self.key is DATA:
            return self.holder.held
        if self.key is GRAD:
            node = self.holder.node
            held = None if node is None else SLOT.__get__(node)  # looking here does not count as looking
            return None if held is None else held.held
        return self.holder[self.key]

    def writes(self, value: Value) -> Iterator[Action]:
        """The writes that put `value` in place of the old value."""
        if self.key is DATA:
            yield setattr, self.holder, "held", value
        elif self.key is GRAD:
            yield setattr, self.holder.node, "grad", None if value is None else wrap(value, None, 0)
        else:
            yield setitem, self.holder, self.key, value

    def read(self) -> Value:
        """Its value, or the stand-in of it."""
        value = self.get()
        return self.stands_for_none() if value is None and self.stands_for_none else value


DATA, GRAD = "a tensor's data", "a leaf's gradient"
SLOT: Value = vars(TapeNode)["grad"]


class Untouched(Leaf):
    """A leaf whose gradient was neither read nor set since recording began. Reading or setting it changes the class."""

    __slots__ = ()

    def _look(self) -> Array | None:
        self.__class__ = Looked  # type: ignore[assignment]  # of the same layout
        return SLOT.__get__(self)

    def _set(self, value: object) -> None:
        self.__class__ = Leaf  # type: ignore[assignment]  # of the same layout
        SLOT.__set__(self, value)


setattr(Untouched, "grad", property(Untouched._look, Untouched._set))  # noqa: B010 - a slot of its base to mypy


class Looked(Leaf):
    """A leaf whose gradient was looked at before it was set: the program depends on whether there was one."""

    __slots__ = ()


class State:
    """The arrays that a program reads and writes besides its arguments.

    Attributes:
        cells: those that hold an array, or the stand-in of one.
        inputs: one node a cell.
        cleared: numbers of the gradients that the program sets to None.
        sets: places that get other plain values, each with its value.
        in_place: numbers of the cells whose arrays the program writes into; others it replaces.
        without: gradients that must not be there: the program was recorded without them.
        shaped: cells of which the program may depend on the shape alone, with that and the dtype.
        needing: all tensors, each with whether it requires a gradient, and its hooks, of which only `whole` is set.
    """

    def __init__(self) -> None:
        self.cells: list[Cell] = []
        self.inputs: list[Node] = []
        self.cleared: list[int] = []
        self.sets: list[tuple[Value, Value]] = []
        self.in_place: set[int] = set()
        self.without: list[Cell] = []
        self.shaped: list[tuple[Cell, tuple[int, ...], Value]] = []
        self.needing: list[tuple[Tensor, bool, NodeHooks | None]] = []
        self.together = Together()
        self._all: list[Cell] = []

    def written_in_place(self, i: int) -> Iterator[Cell]:
        """Cell number `i`, if the program writes into its existing array."""
        if i in self.in_place:
            yield self._all[i]

    def read_only(self, written: Iterable[int]) -> list[Array]:
        """The arrays of the cells that are not written in place."""
        targets = {cell for i in written for cell in self.written_in_place(i)}
        return [cell.read() for cell in self.cells if cell not in targets]

    def holds(self) -> bool:
        """Whether the same tensors require gradients, which are there where they were, as far as that matters."""
        return (
            all(
                t.node is not None and (hooks.are_all_of(t.node) if hooks else not t.node.saved)
                if needs
                else t.node is None
                for t, needs, hooks in self.needing
            )
            and all(cell.get() is None for cell in self.without)
            and all(_is_like(cell.get(), shape, dtype) for cell, shape, dtype in self.shaped)
            and all(cell.key is not GRAD or cell.get() is not None for cell in self.cells)
        )

    def tensor_of(self, i: int) -> Tensor:
        """The tensor of input number `i`."""
        tensor: Tensor = self.cells[i].holder
        return tensor

    def cell(self, i: int) -> Cell:
        """Cell number `i`, of all."""
        return self._all[i]

    def name_of(self, i: int) -> str:
        """The name of cell number `i`."""
        return self._all[i].name

    def read(self) -> list[Value]:
        """The arrays as they are now."""
        return [cell.read() for cell in self.cells]

    def writes(self, new: dict[int, Value], results: list[Value]) -> tuple[list[Value], list[Action]]:
        """The writes that put `new` values over existing arrays; and `results`, safe from these writes."""
        cells = self._all
        arrays = [cells[i].get() for i in new]
        targets = {id(array): array for array in arrays if isinstance(array, np.ndarray)}
        values = [_apart(value, targets) for value in new.values()]
        results = [_apart(value, targets) for value in results]
        writes: list[Action] = []
        written = []
        for i, array, value in zip(new, arrays, values, strict=True):
            if i in self.in_place and isinstance(array, np.ndarray):
                writes.append((setitem, array, Ellipsis, np.asarray(value)))
                written.append(array)
            else:
                writes += cells[i].writes(type(array)(value) if type(array) in (int, float) else np.array(value))
        if written:
            writes += self.together.noting(written)
        for i in self.cleared:
            writes += cells[i].writes(None)
        # What a user's class may do at a write comes last.
        return results, [*writes, *(place.writing(value) for place, value in self.sets)]


def _is_like(x: object, shape: tuple[int, ...], dtype: Value) -> bool:
    """Whether `x` is an array of this shape and dtype, and not a tensor, say."""
    return isinstance(x, np.ndarray) and x.shape == shape and x.dtype == dtype


def _apart(value: Array, targets: dict[int, np.ndarray]) -> Value:
    """`value`, in memory that is not about to be overwritten."""
    if not isinstance(value, np.ndarray) or (value.base is None and id(value) not in targets):
        return value  # memory of its own
    return np.array(value) if any(np.may_share_memory(value, target) for target in targets.values()) else value


def gradient_in(shadow: Tensor) -> Symbol | None:
    """The array of a gradient; None, if there is none."""
    held = None if shadow.node is None else SLOT.__get__(shadow.node)
    return None if held is None else held.held


def names_of(objects: list[object]) -> dict[int, str]:
    """The names that modules give their parameters and buffers."""
    names: dict[int, str] = {}
    for thing in objects:
        for kind in ("named_parameters", "named_buffers"):
            for name, tensor in getattr(thing, kind, dict)() if hasattr(type(thing), kind) else ():
                names.setdefault(id(tensor), name) if len(names.get(id(tensor), name)) >= len(name) else None
    return names
