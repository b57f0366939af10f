"""What a captured program reads and writes besides its arguments: parameters, gradients, buffers, optimisers' state."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np

from adjoint.core.errors import NotSupportedError
from adjoint.core.trees import flatten
from adjoint.graph.node import Node, placeholder
from adjoint.graph.symbol import DRAWS, Record, Symbol, symbol_of
from adjoint.tape import writes
from adjoint.tape.node import Leaf
from adjoint.tape.node import Node as TapeNode
from adjoint.tape.reach import Source, reach
from adjoint.tape.tensor import Tensor, View, wrap


class Cell:
    """One array that a program may read and write: where it is found, and how it is put back.

    `key` names an item of the dictionary `holder`; DATA and GRAD are a tensor's, which may get another leaf.
    """

    __slots__ = ("holder", "key", "name", "stands_for_none")

    def __init__(self, name: str, holder: Any, key: str, stands_for_none: Callable[[], Any] | None = None) -> None:
        self.name, self.holder, self.key, self.stands_for_none = name, holder, key, stands_for_none

    def get(self) -> Any:
        """What is there; None, if a tensor has no gradient."""
        if self.key is DATA:
            return self.holder.data
        if self.key is GRAD:
            node = self.holder.node
            held = None if node is None else SLOT.__get__(node)  # looking here does not count as looking
            return None if held is None else held.data
        return self.holder[self.key]

    def put(self, value: Any) -> None:
        """Let `value` be there, in place of what was."""
        if self.key is DATA:
            self.holder.data = value
        elif self.key is GRAD:
            SLOT.__set__(self.holder.node, None if value is None else wrap(value, None, 0))
        else:
            self.holder[self.key] = value

    def kept(self) -> Any:
        """What `put_back` needs: of a gradient, the tensor itself too."""
        return (SLOT.__get__(self.holder.node), self.get()) if self.key is GRAD else self.get()

    def stand_in(self, symbol: Any) -> None:
        """Let `symbol` be there for a while: a tensor that is a gradient stays the same tensor."""
        held = SLOT.__get__(self.holder.node) if self.key is GRAD else None
        if held is None:
            self.put(symbol)
        else:
            held.data = symbol

    def put_back(self, kept: Any) -> None:
        """Let all be as it was."""
        if self.key is not GRAD:
            return self.put(kept)
        held, data = kept
        SLOT.__set__(self.holder.node, held)
        if held is not None:
            held.data = data
        return None

    def read(self) -> Any:
        """What it holds, or what stands for that."""
        value = self.get()
        return self.stands_for_none() if value is None and self.stands_for_none else value


DATA, GRAD = "a tensor's data", "a leaf's gradient"
SLOT: Any = vars(TapeNode)["grad"]


class Untouched(Leaf):
    """A leaf whose gradient nobody has looked at or set since recording began; who does so changes the class."""

    __slots__ = ()

    def _look(self) -> Any:
        self.__class__ = Looked  # type: ignore[assignment]  # of the same layout
        return SLOT.__get__(self)

    def _set(self, value: Any) -> None:
        self.__class__ = Leaf  # type: ignore[assignment]  # of the same layout
        SLOT.__set__(self, value)


setattr(Untouched, "grad", property(Untouched._look, Untouched._set))  # noqa: B010 - a slot of its base to mypy


class Looked(Leaf):
    """A leaf whose gradient was looked at before it was set: the program depends on whether there was one."""

    __slots__ = ()


class State:
    """All arrays that `f` can reach and that are not among its arguments.

    Attributes:
        cells: those that hold an array, or what stands for one.
        inputs: one node a cell.
        cleared: numbers of the gradients that the program sets to None.
        in_place: numbers of the cells whose arrays the program writes into; others it replaces.
        without: gradients that must not be there, since the program went its way without them.
        shaped: cells of which the program may depend on the shape alone, with that and the dtype.
        needing: all tensors, each with whether it requires a gradient.

    With `gradients`, zeros stand for gradients that are not there: a program that adds to them holds for both.
    """

    def __init__(self, f: Any, args: Any, gradients: bool = False) -> None:
        self.cleared: list[int] = []
        self.in_place: set[int] = set()
        self.without: list[Cell] = []
        self.shaped: list[tuple[Cell, tuple[int, ...], Any]] = []
        self.together = writes.Together()
        self._put: dict[int, Any] = {}
        found = reach(f, args)
        given = {id(leaf) for leaf in flatten(args)[0]}
        tensors = [t for t in found.tensors if id(t) not in given and t.level == 0 and not isinstance(t, View)]
        grads = {id(t.grad) for t in tensors if t.node is not None}
        self._tensors = [t for t in tensors if (t.node is None or t.is_leaf) and id(t) not in grads]
        self._objects = found.objects
        self._generators = found.generators
        named = names_of(found.objects)
        for thing in found.objects:
            if hasattr(type(thing), "prepare") and hasattr(type(thing), "state_arrays"):
                thing.prepare()
        names = [named.get(id(t), f"tensor{k}") for k, t in enumerate(self._tensors)]
        cells = [Cell(name, t, DATA) for name, t in zip(names, self._tensors, strict=True)]
        cells += [
            Cell(f"{name}.grad", t, GRAD, partial(np.zeros, t.shape, t.dtype) if gradients else None)
            for name, t in zip(names, self._tensors, strict=True)
            if t.node is not None
        ]
        for thing in found.objects:
            cells += [cell for cell in _of_object(thing) if id(cell.get()) not in given]
        self._all = cells
        self.needing = [(t, t.node is not None) for t in self._tensors]
        self.cells = [cell for cell in cells if _is_kept(cell.read())]
        self.inputs = [
            placeholder(cell.name, np.shape(x), np.asarray(x).dtype, number=not isinstance(x, np.ndarray))
            for cell in self.cells
            for x in (cell.read(),)
        ]

    @contextmanager
    def symbolic(self, record: Record) -> Iterator[list[Cell]]:
        """For a while, symbols in place of all arrays; afterwards everything is as it was."""
        attributes = self._attributes = [(space, dict(space)) for space in _spaces(self._objects)]
        before = [(cell, cell.kept()) for cell in self._all]
        sources = {id(generator): (s, s.get()) for generator in self._generators for s in (Source.of(generator),)}
        places = {cell: i for i, cell in enumerate(self._all)}
        for cell, node in zip(self.cells, self.inputs, strict=True):
            value = cell.read()
            symbol = symbol_of(np.array(value) if isinstance(value, np.ndarray) else value, node)
            self._put[places[cell]] = symbol
            cell.stand_in(symbol)
        own = [(t, t.node) for t in self._tensors]
        leaves = [leaf for _, leaf in own if type(leaf) is Leaf]
        for leaf in leaves:
            leaf.__class__ = Untouched
        try:
            yield self._all
            if any((t.node is None) is not (was is None) for t, was in own):
                raise NotSupportedError("the function itself changes which tensors require a gradient")
            for key, (source, state) in sources.items():
                _, first, known = record.generators.get(key, (source, state, {repr(state)}))
                if repr(first) != repr(state) or repr(source.get()) not in known:
                    raise NotSupportedError(DRAWS)
        finally:
            self._looked = {leaf for leaf in leaves if type(leaf) is Looked}
            for leaf in leaves:
                leaf.__class__ = Leaf
            for t, was in own:
                t.node = was
            for cell, value in before:
                cell.put_back(value)
            for space, values in attributes:
                for name in space.keys() - values.keys():
                    del space[name]
                for name, value in values.items():
                    if space.get(name) is not value:
                        space[name] = value
            for source, state in sources.values():
                source.set(state)
            for key, (source, state, _) in record.generators.items():
                if key not in sources:
                    source.set(state)

    def written(self, cells: list[Cell], node_of: Callable[[Any], Node]) -> dict[int, Node]:
        """The new node of each cell that was written, by the cell's number."""
        read = dict(zip(self.cells, self.inputs, strict=True))
        changed = {}
        for i, cell in enumerate(cells):
            now = cell.get()
            if now is not None and now is self._put.get(i):
                self.in_place.add(i)
            if isinstance(now, Symbol) and now.node is not read.get(cell):
                changed[i] = now.node
            elif not isinstance(now, Symbol) and _is_kept(now):  # what does not depend on anything
                changed[i] = node_of(now)
            elif now is None and (cell in read or (cell.key is GRAD and type(cell.holder.node) is Leaf)):
                self.cleared.append(i)
            elif not (isinstance(now, Symbol) or now is None or (cell.key is GRAD and not _is_kept(now))):
                raise NotSupportedError(f"it puts a {type(now).__name__} into {cell.name}, where an array was")
        return changed

    def prune(self, used: Container[Node]) -> None:
        """Leave out the inputs that stand for gradients which are not there, and which the program does not use."""
        pairs = zip(self.cells, self.inputs, strict=True)
        kept = [(cell, node) for cell, node in pairs if cell.get() is not None or node in used]
        self.cells, self.inputs = [cell for cell, _ in kept], [node for _, node in kept]

    def written_in_place(self, i: int) -> Iterator[Cell]:
        """Cell number `i`, if the program writes into the array that is there."""
        if i in self.in_place:
            yield self._all[i]

    def read_only(self, written: Iterable[int]) -> list[Any]:
        """The arrays of the cells that are not written in place."""
        targets = {cell for i in written for cell in self.written_in_place(i)}
        return [cell.read() for cell in self.cells if cell not in targets]

    def holds(self) -> bool:
        """Whether the same tensors require gradients, which are there where they were, as far as that matters."""
        return (
            all((t.node is not None and not t.node.saved) is needs for t, needs in self.needing)
            and all(cell.get() is None for cell in self.without)
            and all((np.shape(x), x.dtype) == (s, d) for cell, s, d in self.shaped for x in (np.asarray(cell.get()),))
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

    def read(self) -> list[Any]:
        """The arrays as they are now."""
        return [cell.read() for cell in self.cells]

    def write(self, new: dict[int, Any], results: list[Any]) -> list[Any]:
        """Put `new` values where they belong; in place, where an array is there. Gives `results`, safe from that."""
        cells = self._all
        arrays = [cells[i].get() for i in new]
        targets = {id(array): array for array in arrays if isinstance(array, np.ndarray)}
        values = [_apart(value, targets) for value in new.values()]
        results = [_apart(value, targets) for value in results]
        written = []
        for i, array, value in zip(new, arrays, values, strict=True):
            if i in self.in_place and isinstance(array, np.ndarray):
                array[...] = value
                written.append(array)
            else:
                cells[i].put(type(array)(value) if type(array) in (int, float) else np.array(value))
        if written:
            self.together.note(written)
        for i in self.cleared:
            cells[i].put(None)
        return results


def _apart(value: Any, targets: dict[int, np.ndarray]) -> Any:
    """`value`, in memory that is not about to be overwritten."""
    if not isinstance(value, np.ndarray) or (value.base is None and id(value) not in targets):
        return value  # memory of its own
    return np.array(value) if any(np.may_share_memory(value, target) for target in targets.values()) else value


def _is_kept(value: Any) -> bool:
    return isinstance(value, np.ndarray) or type(value) in (int, float)


def _of_object(thing: Any) -> Iterator[Cell]:
    """The arrays among the attributes of `thing`, and in the dictionaries there."""
    arrays = getattr(thing, "state_arrays", None)
    for k, group in enumerate(getattr(thing, "param_groups", ())):  # settings that a schedule may change
        yield from (Cell(f"group{k}.{name}", group, name) for name, value in group.items() if type(value) is float)
    if hasattr(thing, "param_groups"):
        yield Cell("steps", vars(thing), "steps")
    places = arrays() if arrays is not None else {type(thing).__name__.lower(): vars(thing)}
    for label, place in places.items():
        for name, value in place.items():
            if isinstance(value, np.ndarray) and value.dtype.kind in "fciub":
                yield Cell(f"{label}.{name}", place, name)


def _spaces(objects: Iterable[Any]) -> Iterator[dict[str, Any]]:
    """The attributes of objects, and what optimisers keep for each parameter."""
    for thing in objects:
        yield vars(thing)
        if hasattr(thing, "state_arrays"):
            yield from thing.state_arrays().values()


def names_of(objects: list[Any]) -> dict[int, str]:
    """What modules call their parameters and buffers."""
    names: dict[int, str] = {}
    for thing in objects:
        for kind in ("named_parameters", "named_buffers"):
            for name, tensor in getattr(thing, kind, dict)() if hasattr(type(thing), kind) else ():
                names.setdefault(id(tensor), name) if len(names.get(id(tensor), name)) >= len(name) else None
    return names
