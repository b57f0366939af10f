"""What a function depends on besides its arguments: closure cells, globals, attributes, contents of containers.

A recording holds as long as these are what they were. Whoever reads them says so here, once, when a function is
recorded; at each call the few values that were found are compared. NumPy arrays are not compared: they are read
afresh, as inputs of the program.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Container, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from adjoint.compiler.places import SCALARS, Place, Places
from adjoint.core.errors import NotSupportedError
from adjoint.graph.drawing import Drawing
from adjoint.graph.node import Node
from adjoint.graph.state import State
from adjoint.graph.symbol import Symbol, reading, symbol_of


class Environment:
    """The places that a function reads, and what was there.

    Attributes:
        arrays: the places of NumPy arrays, which a program reads at each call.
        floats: the places of floats that are read so too, since they were seen to change.
        named: the identities of places that are left to the state.
        refusal: why the function can not be recorded; empty if it can.
    """

    def __init__(self, function: Any, args: Any, changing: Container[Any] = ()) -> None:
        found = Places(function, args, changing)
        self.arrays, self.floats, self.refusal = found.arrays, found.floats, found.refusal
        self._generators = [(place, place.read()) for place in found.generators]
        self._expected = found.expected
        self._copies = [(container, type(container)(container)) for container in found.containers]
        self._given = [place.read() for place in self.arrays]
        self._values = [np.array(array) for array in self._given]
        self._put: dict[Place, tuple[Symbol, Node]] = {}
        self.named: set[Any] = set()
        self._twins: list[tuple[Place, Place]] = []  # where one array is in two places

    def leave_out(self, state: State) -> None:
        """The arrays that are found as state are not found here too, but `named`."""
        self.named = {place.identity for place in self.arrays if state.keeps(place.holder, place.key)}
        kept = [place.identity not in self.named for place in self.arrays]
        self.arrays = [place for place, keep in zip(self.arrays, kept, strict=True) if keep]
        self._given = [array for array, keep in zip(self._given, kept, strict=True) if keep]
        self._values = [value for value, keep in zip(self._values, kept, strict=True) if keep]

    def read(self) -> list[Any]:
        """What is in the places that are inputs of the program."""
        return [place.read() for place in (*self.arrays, *self.floats)]

    @contextmanager
    def symbolic(self, nodes: Sequence[Node]) -> Iterator[None]:
        """For a while, symbols in place of floats and of arrays, one for each of the `nodes`.

        An array that is there twice is one symbol. Where an array can not be put back, it is known by its identity.

        Raises:
            NotSupportedError: if a float has been replaced by another one meanwhile.
        """
        count, values = len(self.arrays), self.read()
        known = {id(array): (array, node) for array, node in zip(values, nodes[:count], strict=False)}
        symbols = [symbol_of(value, node) for value, node in zip(values[count:], nodes[count:], strict=True)]
        for place, symbol in zip(self.floats, symbols, strict=True):
            place.write(symbol)
        met: dict[int, tuple[Place, tuple[Symbol, Node]]] = {}
        for place, array, node in zip(self.arrays, values, nodes[:count], strict=False):
            if type(place) is Place and not isinstance(place.holder, tuple):
                first, self._put[place] = met.setdefault(id(array), (place, (symbol_of(array, node), node)))
                place.write(self._put[place][0])
                if first is not place:
                    self._twins.append((first, place))
        for place, generator in self._generators:
            place.write(Drawing(generator))
        try:
            with reading(known):
                yield
            for place, symbol in zip(self.floats, symbols, strict=True):
                if place.read() is not symbol:
                    raise NotSupportedError(f"the function itself changes {place.name}, which is a float")
        finally:
            for place, value in (*zip(self.floats, values[count:], strict=True), *self._generators):
                place.write(value)
            for place, array in zip(self.arrays, values[:count], strict=True):
                if place in self._put:
                    place.write(array)

    def changed_floats(self) -> list[Any]:
        """The identities of places where another float is now."""
        found = [(place, value, place.read()) for place, value in self._expected if type(value) is float]
        return [place.identity for place, value, now in found if type(now) is float and not _equal(now, value)]

    def holds(self) -> bool:
        """Whether everything is as it was."""
        return (
            all(type(place.read()) is float for place in self.floats)
            and all(_is_still(place.read(), value) for place, value in self._expected)
            and all(map(_alike, self._copies))
            and all(a.read() is b.read() for a, b in self._twins)
        )

    def conditions(self, name_of: Callable[[Any], str]) -> Iterator[str]:
        """What has to be true in Python for this to hold; it may hold although it is not."""
        yield from (f"type({place.text(name_of)}) is float" for place in self.floats)
        for place, value in self._expected:
            if not isinstance(place.holder, tuple):
                yield f"{place.text(name_of)} is {name_of(value)}"
        yield from (f"{a.text(name_of)} is {b.text(name_of)}" for a, b in self._twins)
        for container, copy in self._copies:
            sized = f"len({name_of(container)}) == {len(copy)}"
            yield f"{name_of(container)} == {name_of(copy)}" if isinstance(container, set) else sized

    def changed(self) -> str:
        """What the function itself changed, of that which is compared; empty if nothing."""
        for place, value in self._expected:
            now = place.read()
            now = now.generator if type(now) is Drawing else now
            if not _is_still(now, value):
                return place.name
        for container, copy in self._copies:
            if not _alike((container, copy)):
                return f"a {type(container).__name__}"
        for place, before in zip(self.arrays, self._values, strict=True):
            now, (symbol, node) = place.read(), self._put.get(place, (None, None))
            if symbol is not None:
                changed = now is not symbol or symbol.node is not node
            else:
                changed = not isinstance(now, np.ndarray) or now.tobytes() != before.tobytes()
            if changed:
                return place.name
        return ""

    def forget(self) -> None:
        """Let go of what was kept to put everything back: the recording is made."""
        self._given, self._values, self._generators = [], [], []
        self._put.clear()

    def restore(self) -> None:
        """Put everything back, after a recording that came to nothing."""
        for place, value in self._expected:
            if place.read() is not value:
                place.write(value)
        for container, copy in self._copies:
            if isinstance(container, list):
                container[:] = copy
            elif isinstance(container, deque):
                container.clear()
                container.extend(copy)
            elif isinstance(container, dict):
                if container.keys() != copy.keys() or any(container[k] is not v for k, v in copy.items()):
                    container.clear()
                    container.update(copy)
            else:
                container.clear()
                container.update(copy)
        for place, array, before in zip(self.arrays, self._given, self._values, strict=True):
            if place.read() is not array:
                place.write(array)
            if array.flags.writeable and array.tobytes() != before.tobytes():
                array[...] = before


def _alike(pair: tuple[Any, Any]) -> bool:
    """Whether a container has as many items as its copy; of a set, the same."""
    container, copy = pair
    return bool(container == copy) if isinstance(container, set) else len(container) == len(copy)


def _is_still(now: Any, value: Any) -> bool:
    """Whether what is found is the same thing as before, or means the same."""
    return now is value or (type(now) is type(value) and _equal(now, value))


def _equal(a: Any, b: Any) -> bool:
    """Whether two values of one type mean the same to a program: only plain ones can."""
    if isinstance(a, float):
        return a == b or (math.isnan(a) and math.isnan(b))
    if isinstance(a, SCALARS):
        return bool(a == b)
    if isinstance(a, tuple):
        return len(a) == len(b) and all(map(_is_still, a, b))
    return False
