"""The state between two turns except arrays: if it is the same, the next turn does the same for the same answers."""

from __future__ import annotations

import types
from collections import deque
from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from adjoint.compiler.trace.guards import PLAIN
from adjoint.compiler.trace.outside import Closed, Frame, Outside
from adjoint.core.box import Box
from adjoint.core.types import Array, Value
from adjoint.graph.captures.state import SLOT
from adjoint.graph.node import bits_of
from adjoint.graph.symbol import Symbol
from adjoint.tape.modes import recording_floor
from adjoint.tape.node import Leaf
from adjoint.tape.tensor import Tensor

if TYPE_CHECKING:
    from adjoint.compiler.trace.door.door import Door

_KNOWN = (types.BuiltinFunctionType, types.ModuleType, type, np.ufunc, np.dtype, np.random.Generator)


class UnknownError(Exception):
    """There is something that cannot be compared."""


def standing(door: Door, values: Iterable[object]) -> object:
    """A key of all that `values` reach, and of writes to outside objects: equal keys mean equal states.

    An object is known by its contents and by its owners: a list that is made anew in each turn counts as the same
    one.

    Raises:
        UnknownError: if something else is reached, as a generator.
    """
    walk = _Walk()
    found = [walk.of(x) for x in values]
    written = [(id(o.o), walk.of(o.over), walk.of(o.added), walk.of(o.content))
               for o in door.memo.values() if isinstance(o, Outside) and o.changed]  # fmt: skip
    inputs = door.inputs
    arrays = (
        [walk.of(now()) for now in inputs._now.values()],
        [walk.of(x) for x in inputs.arguments.boxed if isinstance(x, Box)],
    )
    settings = [walk.of(now) for _, now, _ in inputs.settings]
    return found, written, [*arrays[1], *settings], arrays[0], recording_floor.raw(), len(door.notes.draws)


def is_same(before: Value, after: Value) -> bool:
    """Whether two answers of `standing` say that nothing changed; arrays may have been found meanwhile."""
    *first, arrays, floor, draws = before
    *then, others, floor_then, draws_then = after
    alike = first == then and floor is floor_then and draws == draws_then
    return bool(alike and arrays == others[: len(arrays)])


class _Walk:
    """Goes through things, each once."""

    def __init__(self) -> None:
        self.met: dict[int, int] = {}
        self.kept: list[Value] = []  # so that no id is used again

    def of(self, x: Value) -> Value:
        """A key for `x` and all that it reaches."""
        kind = type(x)
        if kind is float or kind is complex:
            return kind, bits_of(x)
        if kind is tuple:
            return kind, [self.of(e) for e in x]
        if kind in PLAIN:
            return kind, x
        if isinstance(x, np.generic):
            return kind, x.dtype, x.tobytes()
        if id(x) in self.met:
            return "again", self.met[id(x)]
        self.met[id(x)] = len(self.met)
        self.kept.append(x)
        return self._new(x, kind)

    def _new(self, x: Value, kind: type) -> object:
        if isinstance(x, Box):
            return self._box(x)
        if isinstance(x, Outside):
            return "outside", id(x.o)
        if isinstance(x, _KNOWN) or kind is Frame:
            return "is", id(x)
        if isinstance(x, Closed):
            parts = [getattr(x, name) for base in kind.__mro__ for name in getattr(base, "__slots__", ())]
            return kind, [self.of(part) for part in parts]
        if kind is np.ndarray:
            return kind, x.dtype, x.shape, x.strides, [self.of(e) for e in x.flat] if x.dtype == object else x.tobytes()
        if kind in (list, deque):
            return kind, [self.of(e) for e in x]
        if kind is dict:
            return kind, [(self.of(k), self.of(v)) for k, v in x.items()]
        if kind in (set, frozenset) and all(type(e) in PLAIN for e in x):
            return kind, set(x)
        if isinstance(x, tuple) and hasattr(kind, "_fields"):
            return kind, [self.of(e) for e in x], self.of(getattr(x, "__dict__", None))
        if kind is slice:
            return kind, [self.of(e) for e in (x.start, x.stop, x.step)]
        if kind is types.FunctionType:
            cells = [self._cell(cell) for cell in x.__closure__ or ()]
            return kind, id(x.__code__), cells, self.of(x.__defaults__), self.of(x.__kwdefaults__), self.of(vars(x))
        if kind is types.MethodType:
            return kind, self.of(x.__self__), self.of(x.__func__)
        if all(
            base is object or (base.__flags__ & (1 << 9) and not vars(base).get("__slots__")) for base in kind.__mro__
        ):
            return kind, self.of(vars(x))  # it holds its attributes, and nothing else
        raise UnknownError(f"it has a {kind.__name__}")

    def _cell(self, cell: Value) -> object:
        try:
            held = cell.cell_contents
        except ValueError:  # it is empty
            return ()
        return "door" if type(held).__name__ == "Door" or type(held) is Frame else self.of(held)

    def _box(self, x: Array) -> object:
        path = [id(x)]
        while isinstance(x, Tensor):
            path += id(x.node), id(x.held) if isinstance(x.held, Symbol) else 0
            if isinstance(x.node, Leaf):
                path.append(id(SLOT.__get__(x.node)))
            x = x.held
        if isinstance(x, Symbol):
            path.append(x.layers[1].number)
        elif not isinstance(x, np.ndarray | np.generic):
            raise UnknownError("it uses an array of another kind")
        return tuple(path)
