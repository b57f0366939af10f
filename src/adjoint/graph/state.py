"""What a captured program reads and writes besides its arguments: parameters, gradients, buffers, optimisers' state."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from adjoint.core.errors import NotSupportedError
from adjoint.core.trees import flatten
from adjoint.graph.node import Node, placeholder
from adjoint.graph.symbol import DRAWS, Record, Symbol, symbol_of
from adjoint.tape import writes
from adjoint.tape.reach import Source, reach
from adjoint.tape.tensor import Tensor, View, wrap


class Cell:
    """One array that a program may read and write: where it is found, and how it is put back.

    `absent` makes what stands for it where there is none: the zeros of a gradient that is to be added to.
    """

    def __init__(
        self, name: str, get: Callable[[], Any], put: Callable[[Any], None], absent: Callable[[], Any] = lambda: None
    ) -> None:
        self.name, self.get, self.put, self._absent = name, get, put, absent

    def read(self) -> Any:
        """What it holds, or what stands for that."""
        value = self.get()
        return self._absent() if value is None else value


class State:
    """All arrays that `f` can reach and that are not among its arguments.

    Attributes:
        cells: those that hold an array, or what stands for one.
        inputs: one node a cell.
        cleared: numbers of the gradients that the program sets to None.

    With `gradients`, zeros stand for gradients that are not there: a program that adds to them holds for both.
    """

    def __init__(self, f: Any, args: Any, gradients: bool = False) -> None:
        self.cleared: list[int] = []
        found = reach(f, args)
        given = {id(leaf) for leaf in flatten(args)[0]}
        tensors = [t for t in found.tensors if id(t) not in given and t.level == 0 and not isinstance(t, View)]
        self._tensors = [t for t in tensors if t.node is None or t.is_leaf]
        self._objects = found.objects
        self._generators = found.generators
        named = _names(found.objects)
        for thing in found.objects:
            if hasattr(type(thing), "prepare") and hasattr(type(thing), "state_arrays"):
                thing.prepare()
        cells = [_of_tensor(t, named.get(id(t), f"tensor{k}")) for k, t in enumerate(self._tensors)]
        cells += [
            _of_gradient(t, named.get(id(t), f"tensor{k}"), gradients)
            for k, t in enumerate(self._tensors)
            if t.node is not None
        ]
        for thing in found.objects:
            cells += [cell for cell in _of_object(thing) if id(cell.get()) not in given]
        self._all = cells
        self.cells = [cell for cell in cells if _is_kept(cell.read())]
        self.inputs = [
            placeholder(cell.name, np.shape(x), np.asarray(x).dtype, number=not isinstance(x, np.ndarray))
            for cell in self.cells
            for x in (cell.read(),)
        ]

    @contextmanager
    def symbolic(self, record: Record) -> Iterator[list[Cell]]:
        """For a while, symbols in place of all arrays; afterwards everything is as it was."""
        attributes = [(thing, dict(vars(thing))) for thing in self._objects]
        before = [(cell, cell.get()) for cell in self._all]
        sources = {id(generator): (s, s.get()) for generator in self._generators for s in (Source.of(generator),)}
        for cell, node in zip(self.cells, self.inputs, strict=True):
            value = cell.read()
            cell.put(symbol_of(np.array(value) if isinstance(value, np.ndarray) else value, node))
        try:
            yield self._all
            for key, (source, state) in sources.items():
                _, first, known = record.generators.get(key, (source, state, {repr(state)}))
                if repr(first) != repr(state) or repr(source.get()) not in known:
                    raise NotSupportedError(DRAWS)
        finally:
            for cell, value in before:
                cell.put(value)
            for thing, values in attributes:
                for name in vars(thing).keys() - values.keys():
                    del vars(thing)[name]
                for name, value in values.items():
                    if vars(thing).get(name) is not value:
                        vars(thing)[name] = value
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
            if isinstance(now, Symbol) and now.node is not read.get(cell):
                changed[i] = now.node
            elif not isinstance(now, Symbol) and _is_kept(now):  # what does not depend on anything
                changed[i] = node_of(now)
            elif now is None and cell in read:
                self.cleared.append(i)
        return changed

    def prune(self, used: Container[Node]) -> None:
        """Leave out the inputs that stand for gradients which are not there, and which the program does not use."""
        pairs = zip(self.cells, self.inputs, strict=True)
        kept = [(cell, node) for cell, node in pairs if cell.get() is not None or node in used]
        self.cells, self.inputs = [cell for cell, _ in kept], [node for _, node in kept]

    def tensors(self) -> list[tuple[int, Tensor]]:
        """The tensors that require a gradient, by the number of their input."""
        places = {id(cell): i for i, cell in enumerate(self.cells)}
        pairs = zip(self._all, self._tensors, strict=False)  # their cells come first
        return [(places[id(cell)], t) for cell, t in pairs if t.node is not None and id(cell) in places]

    def tensor_of(self, i: int) -> Tensor:
        """The tensor of input number `i`."""
        return dict(self.tensors())[i]

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
            if isinstance(array, np.ndarray) and array.shape == value.shape and array.flags.writeable:
                array[...] = value
                written.append(array)
            else:
                cells[i].put(type(array)(value) if type(array) in (int, float) else np.array(value))
        writes.note_all(written)
        for i in self.cleared:
            self._all[i].put(None)
        return results


def _apart(value: Any, targets: dict[int, np.ndarray]) -> Any:
    """`value`, in memory that is not about to be overwritten."""
    if not isinstance(value, np.ndarray) or (value.base is None and id(value) not in targets):
        return value  # memory of its own
    return np.array(value) if any(np.may_share_memory(value, target) for target in targets.values()) else value


def _is_kept(value: Any) -> bool:
    return isinstance(value, np.ndarray) or type(value) in (int, float)


def _of_tensor(tensor: Tensor, name: str) -> Cell:
    return Cell(name, lambda: tensor.data, lambda data: setattr(tensor, "data", data))


def _of_gradient(tensor: Tensor, name: str, zeros: bool) -> Cell:
    node: Any = tensor.node

    def put(data: Any) -> None:
        node.grad = None if data is None else wrap(data, None, 0)

    def absent() -> Any:
        return np.zeros(tensor.shape, tensor.dtype) if zeros else None

    return Cell(f"{name}.grad", lambda: None if node.grad is None else node.grad.data, put, absent)


def _of_object(thing: Any) -> Iterator[Cell]:
    """The arrays among the attributes of `thing`, and in the dictionaries there."""
    arrays = getattr(thing, "state_arrays", None)
    for k, group in enumerate(getattr(thing, "param_groups", ())):  # settings that a schedule may change
        yield from (_of_item(f"group{k}.{name}", group, name) for name, value in group.items() if type(value) is float)
    if hasattr(thing, "param_groups"):
        yield _of_item("steps", vars(thing), "steps")
    places = arrays() if arrays is not None else {type(thing).__name__.lower(): vars(thing)}
    for label, place in places.items():
        for name, value in place.items():
            if isinstance(value, np.ndarray) and value.dtype.kind in "fciub":
                yield _of_item(f"{label}.{name}", place, name)


def _of_item(label: str, place: dict[str, Any], name: str) -> Cell:
    return Cell(label, lambda: place[name], lambda x: place.__setitem__(name, x))


def _names(objects: list[Any]) -> dict[int, str]:
    """What modules call their parameters and buffers."""
    names: dict[int, str] = {}
    for thing in objects:
        for kind in ("named_parameters", "named_buffers"):
            for name, tensor in getattr(thing, kind, dict)() if hasattr(type(thing), kind) else ():
                names.setdefault(id(tensor), name) if len(names.get(id(tensor), name)) >= len(name) else None
    return names
