"""What a captured program reads and writes besides its arguments: parameters, gradients, buffers, optimisers' state."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from adjoint.core.errors import NotSupportedError
from adjoint.core.trees import flatten
from adjoint.graph.node import Node, placeholder
from adjoint.graph.symbol import LEVEL, Symbol
from adjoint.tape import writes
from adjoint.tape.reach import reach
from adjoint.tape.tensor import Tensor, View, wrap


class Cell:
    """One array that a program may read and write: where it is found, and how it is put back."""

    def __init__(self, name: str, get: Callable[[], Any], put: Callable[[Any], None]) -> None:
        self.name, self.get, self.put = name, get, put


class State:
    """All arrays that `f` can reach and that are not among its arguments.

    Attributes:
        cells: those that hold an array.
        inputs: one node a cell.
    """

    def __init__(self, f: Any, args: Any) -> None:
        found = reach(f, args)
        given = {id(leaf) for leaf in flatten(args)[0]}
        tensors = [t for t in found.tensors if id(t) not in given and t.level == 0 and not isinstance(t, View)]
        self._tensors = [t for t in tensors if t.node is None or t.is_leaf]
        self._objects = found.objects
        self._generators = found.generators
        named = _names(found.objects)
        for thing in found.objects:
            if hasattr(thing, "prepare"):
                thing.prepare()
        cells = [_of_tensor(t, named.get(id(t), f"tensor{k}")) for k, t in enumerate(self._tensors)]
        cells += [
            _of_gradient(t, named.get(id(t), f"tensor{k}")) for k, t in enumerate(self._tensors) if t.node is not None
        ]
        for thing in found.objects:
            cells += _of_object(thing)
        self._all = cells
        self.cells = [cell for cell in cells if isinstance(cell.get(), np.ndarray)]
        self.inputs = [placeholder(cell.name, c.shape, c.dtype) for cell in self.cells for c in (cell.get(),)]

    @contextmanager
    def symbolic(self) -> Iterator[list[Cell]]:
        """For a while, symbols in place of all arrays; afterwards everything is as it was."""
        attributes = [(thing, dict(vars(thing))) for thing in self._objects]
        before = [(cell, cell.get()) for cell in self._all]
        states = [_state_of(generator) for generator in self._generators]
        for cell, node in zip(self.cells, self.inputs, strict=True):
            cell.put(Symbol.of((np.array(cell.get()), node), LEVEL))
        try:
            yield self._all
            if [_state_of(generator) for generator in self._generators] != states:
                raise NotSupportedError(
                    "the captured function draws random numbers, which would be the same at every call of the graph; "
                    "draw them outside and pass them as an argument"
                )
        finally:
            for cell, array in before:
                cell.put(array)
            for thing, values in attributes:
                for name in vars(thing).keys() - values.keys():
                    del vars(thing)[name]
                for name, value in values.items():
                    if vars(thing).get(name) is not value:
                        vars(thing)[name] = value

    def written(self, cells: list[Cell], node_of: Callable[[Any], Node]) -> dict[int, Node]:
        """The new node of each cell that was written, by the cell's number."""
        read = dict(zip(self.cells, self.inputs, strict=True))
        changed = {}
        for i, cell in enumerate(cells):
            now = cell.get()
            if isinstance(now, Symbol) and now.node is not read.get(cell):
                changed[i] = now.node
        return changed

    def name_of(self, i: int) -> str:
        """The name of cell number `i`."""
        return self._all[i].name

    def read(self) -> list[Any]:
        """The arrays as they are now."""
        return [cell.get() for cell in self.cells]

    def write(self, new: dict[int, Any], results: list[Any]) -> list[Any]:
        """Put `new` values where they belong; in place, where an array is there. Gives `results`, safe from that."""
        targets = [array for i in new if isinstance(array := self._all[i].get(), np.ndarray)]
        values = [_apart(value, targets) for value in new.values()]
        results = [_apart(value, targets) for value in results]
        for i, value in zip(new, values, strict=True):
            cell = self._all[i]
            array = cell.get()
            if isinstance(array, np.ndarray) and array.shape == np.shape(value) and array.flags.writeable:
                array[...] = value
                writes.note(array)
            else:
                cell.put(np.array(value))
        return results


def _apart(value: Any, targets: list[np.ndarray]) -> Any:
    """`value`, in memory that is not about to be overwritten."""
    if isinstance(value, np.ndarray) and any(np.may_share_memory(value, target) for target in targets):
        return np.array(value)
    return value


def _of_tensor(tensor: Tensor, name: str) -> Cell:
    return Cell(name, lambda: tensor.data, lambda data: setattr(tensor, "data", data))


def _of_gradient(tensor: Tensor, name: str) -> Cell:
    node: Any = tensor.node

    def put(data: Any) -> None:
        node.grad = None if data is None else wrap(data, None, 0)

    return Cell(f"{name}.grad", lambda: None if node.grad is None else node.grad.data, put)


def _of_object(thing: Any) -> Iterator[Cell]:
    """The arrays among the attributes of `thing`, and in the dictionaries there."""
    arrays = getattr(thing, "state_arrays", None)
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
            for name, tensor in getattr(thing, kind, dict)() if hasattr(thing, kind) else ():
                names.setdefault(id(tensor), name) if len(names.get(id(tensor), name)) >= len(name) else None
    return names


def _state_of(generator: Any) -> Any:
    return repr(generator.bit_generator.state if hasattr(generator, "bit_generator") else generator.get_state())
