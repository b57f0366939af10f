"""What the door does in functions that have a twin for derivatives: inside a transform, and in a user's module.

There it calls the same stand-ins as that twin, in place of NumPy's and Python's functions, and new arrays hold
histories at the same places.
"""

from __future__ import annotations

import types
import weakref
from collections.abc import Generator, Iterator
from sys import getrefcount
from typing import TYPE_CHECKING

import numpy as np

from adjoint.compiler.trace.door.known.values import Values
from adjoint.compiler.trace.outside import Again, BoundMethod, Outside
from adjoint.core.box import Box, outermost
from adjoint.core.types import Array, Function, Tree, Value
from adjoint.graph.captures.drawing import Drawing
from adjoint.graph.node import constant
from adjoint.graph.symbol import LEVEL, Symbol
from adjoint.tape.tensor import wrap
from adjoint.twin.follow import needs_twin, twins_for
from adjoint.twin.runtime.fresh import constant_like
from adjoint.twin.runtime.patterns import types_of
from adjoint.twin.syntax.names import SourceSpan
from adjoint.twin.syntax.source import as_written

if TYPE_CHECKING:
    from adjoint.twin.twins import Twins


class Histories(Values):
    """Functions whose twins keep histories.

    Attributes:
        twins: of the transform that runs, or of the module; None outside of these.
        histories: whether the function that runs keeps them: it has a "twin", or was "made" inside of another.
        models: the arguments of the calls of a transform's functions around; arrays are made like boxes among them.
        places: where functions that are made inside hold histories: the file, and the lines and columns.
    """

    places: set[tuple[str, SourceSpan]]

    twins: Twins | None = None
    histories: str = ""
    models: tuple[object, ...] = ()

    def with_twin(self, f: Value, args: tuple[object, ...], kwargs: dict[str, Array]) -> object:
        """``f(*args, **kwargs)``, as transforms and modules call it."""
        live = f.function if isinstance(f, BoundMethod) else f
        live = live.o if isinstance(live, Outside) else live
        as_it_is = live is not f and isinstance(live, types.FunctionType) and not isinstance(f, BoundMethod)
        as_it_is = as_it_is and not needs_twin(live, [x.o if isinstance(x, Outside) else x for x in args])
        before = self.twins, self.histories, self.models
        self.twins, self.models = None if as_it_is else twins_for(live), ((args, kwargs), *self.models)
        self.histories = "made" if isinstance(live, types.FunctionType) and live is f else ""
        if self.histories and self.twins is not None:
            self._learn_places(live, self.twins)
        try:
            return self.call(f, args, kwargs)
        finally:
            self.twins, self.histories, self.models = before

    def _learn_places(self, f: types.FunctionType, twins: Twins) -> None:
        """Begin again where a function that was made inside holds histories at places that were not known."""
        written = as_written(f)
        stored = None if written is f else twins.stored(written)
        places = {(f.__code__.co_filename, span) for span in stored or ()}
        if not places <= self.places:
            self.places |= places
            raise Again

    def generator(self, g: Generator[Value, Value, Value]) -> Generator[Value, Value, Value]:
        """A generator that was made inside."""
        found = self._resumed(g, (self.twins, self.histories, self.ours))
        self.begun.append(weakref.ref(found))
        return found

    def _resumed(
        self, g: Generator[Value, Value, Value], state: tuple[Twins | None, str, bool]
    ) -> Generator[Value, Value, Value]:
        """The same generator, which goes on as in the function that made it, whoever asks for the next value."""
        go_on, given = g.send, None
        while True:
            before = self.twins, self.histories, self.ours
            self.twins, self.histories, self.ours = state
            try:
                value = go_on(given)
            except StopIteration as end:
                return end.value
            finally:
                self.twins, self.histories, self.ours = before
            try:
                go_on, given = g.send, (yield value)
            except BaseException as error:  # it is thrown into the generator; also that of its end
                go_on, given = g.throw, error

    def stored(self, function: types.FunctionType) -> Value:
        """Where the twin of `function` makes arrays that hold histories; None, if it runs as it is."""
        if self.twins is None or not self.twins.follows.function(function):
            return None
        return self.twins.stored(function)

    # -- What is called instead -------------------------------------------------------------------------

    def stands_for(self, original: object, values: Value) -> Function | None:
        """Return what is called in place of `original`, if there are histories among `values`."""
        if not self.histories or not any(map(has_history, values)):
            return None
        from adjoint.twin.standins import box_method, find

        return box_method(original) if isinstance(original, str) else find(original)

    def type_of(self, x: Array) -> type:
        """What ``type(x)`` is for the plain value in the place of the box `x`."""
        found = types_of(x)
        if len(found) > 1:
            raise self.refuse("it asks for the type of a number that has a history")
        return found[0]

    # -- What is made -----------------------------------------------------------------------------------

    def fresh(self, value: Value) -> object:
        """`value`; an array of floats that nothing else refers to becomes one that holds histories."""
        kind = type(value)
        if not self.histories:
            return value
        if kind in _ARRAYS:
            return self.holding(value) if _is_alone(value, _HERE) else value
        if kind in (tuple, list) and value and type(value[0]) in _ARRAYS and getrefcount(value) <= _HERE - 1:
            return kind(self.holding(x) if type(x) in _ARRAYS and _is_alone(x, _IN_LOOP) else x for x in value)
        return value

    def holding(self, value: Array) -> Array:
        """An array of floats as a constant of the kind that the transform has."""
        array = value.value if type(value) is Symbol else value
        if not isinstance(array, np.ndarray) or array.dtype.kind not in "fc" or not array.flags.writeable:
            return value
        if value is array:
            value = Symbol.of((value, constant(value)), LEVEL)
        if self.light is not None:
            return value
        like = next((box for model in self.models if (box := outermost(list(self._boxes(model)))) is not None), None)
        return wrap(value, None, 0) if like is None else constant_like(like, value)

    def _boxes(self, tree: Tree) -> Iterator[Box]:
        """The boxes with histories in what a function was given, and in attributes that were set meanwhile."""
        if isinstance(tree, Box):
            if not isinstance(tree, Symbol):
                yield tree
        elif isinstance(tree, list | tuple | set):
            for x in tree:
                yield from self._boxes(x)
        elif isinstance(tree, dict):
            yield from self._boxes(list(tree.values()))
        elif isinstance(tree, Outside):
            space = self.memo.get(id(getattr(tree.o, "__dict__", None)))
            for known in (tree, *([space] if isinstance(space, Outside) else [])):
                held = (*known.read.values(), *known.over.values())
                yield from self._boxes([x for x in held if isinstance(x, Box | list | tuple)])


_ARRAYS = (Symbol, np.ndarray)


def has_history(x: object) -> bool:
    """Whether there is a box in `x` that a transform, or the tape, made."""
    if isinstance(x, Box):
        return not isinstance(x, Symbol | Drawing)
    if isinstance(x, list | tuple):
        return any(map(has_history, x))
    return isinstance(x, dict) and any(map(has_history, x.values()))


def _is_alone(value: Array, count: int) -> bool:
    """Whether nothing else holds an array (`count` references lead to it then) or the memory that it shows."""
    if getrefcount(value) > count:
        return False
    base = value.base if type(value) is np.ndarray else value.root
    return base is None or base is value or (type(base) is type(value) and getrefcount(base) <= _BASE)


class _ReferenceCounts:
    """The reference counts of an array that nothing else holds: in `fresh`, in its loop, and of what it shows."""

    def fresh(self, value: Array) -> tuple[int, int]:
        return self._of(value, 0)

    def in_loop(self, values: Value) -> int:
        return next(self._of(x, 0)[0] for x in values)

    @staticmethod
    def _of(value: Array, _: int) -> tuple[int, int]:
        count = getrefcount(value)
        base = value.base
        return count, getrefcount(base)


_HERE, _BASE = _ReferenceCounts().fresh(np.zeros((2, 2)).reshape(4))
_IN_LOOP = _ReferenceCounts().in_loop((np.zeros(1),))
