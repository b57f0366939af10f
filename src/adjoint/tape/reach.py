"""What a function can reach: the random generators, mutable objects and parameters that it uses when it runs.

A function that runs a second time must draw the same random numbers, find its modules as they were, and leave
both as the first run left them. A function does not declare what it uses. But this can be found from its arguments,
from what it closes over, and from the global names in its code.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Container, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import starmap
from operator import call, setitem
from types import BuiltinMethodType, CodeType, FunctionType, MethodType, ModuleType
from typing import NamedTuple

import numpy as np

from adjoint.arrays.layered import Layered
from adjoint.core.box import Box
from adjoint.core.objects.trees import flatten
from adjoint.core.op import Op
from adjoint.core.types import Array, Function, Value
from adjoint.tape.tensor import Tensor, View
from adjoint.tape.writes import mutations

MISSING: Value = object()
MOST = 10_000  # a longer container is data, and looking through it would take long
# Packages whose functions use no global state, but for NumPy's own generator.
_OURS = ("adjoint.", "numpy.", "scipy.", "builtins.")
_PLAIN = (np.ndarray, np.generic, int, float, complex, str, bytes, type(None), type, Op, CodeType)


class Reached(NamedTuple):
    """What was found: generators, objects with attributes, tensors, and recordings that run."""

    generators: list[Value]
    objects: list[object]
    tensors: list[Tensor]
    recordings: list[Value]


def reach(*things: object) -> Reached:
    """Everything that `things` refer to: containers, closures, global names, and attributes, to any depth."""
    found = Reached([], [], [], [])
    seen: set[int] = set()
    stack = list(things)
    while stack:
        thing = stack.pop()
        if isinstance(thing, _PLAIN) or id(thing) in seen:
            continue
        seen.add(id(thing))
        if isinstance(thing, Tensor):
            found.tensors.append(thing)
        elif isinstance(thing, np.random.Generator | np.random.RandomState):
            found.generators.append(thing)
        elif isinstance(thing, dict | list | tuple | set | frozenset):
            if len(thing) <= MOST:
                stack += thing.values() if isinstance(thing, dict) else thing
        elif isinstance(thing, FunctionType):
            stack += _used_by(thing)
        elif isinstance(thing, MethodType):
            stack += (thing.__self__, thing.__func__)
        elif isinstance(thing, BuiltinMethodType):
            stack.append(thing.__self__)  # np.random.rand is a method of NumPy's own generator
        elif isinstance(thing, partial):
            stack += (thing.func, thing.args, thing.keywords)
        elif is_machinery(type(thing)):
            stack.append(getattr(thing, "__wrapped__", None))  # of a compiled function, the function
            source = getattr(thing, "source", None)  # of a recording, what it has drawn
            if isinstance(source, RandomSource):
                found.generators.append(source)
                found.recordings.append(thing)
        elif has_attributes(thing):
            found.objects.append(thing)
            stack += vars(thing).values()
            stack += _methods(type(thing))
    return found


def has_attributes(thing: object) -> bool:
    """Whether a thing is an object of the user's, a layer or an optimiser, whose attributes are its state."""
    if isinstance(thing, (*_PLAIN, FunctionType, MethodType, partial, Box, ModuleType)):
        return False
    return hasattr(thing, "__dict__") and not is_machinery(type(thing)) and not _is_numpys(type(thing))


def _used_by(function: FunctionType) -> Iterator[object]:
    """What a Python function closes over, has as defaults, and names in its code: globals, and what is in modules."""
    for cell in function.__closure__ or ():
        try:
            yield cell.cell_contents
        except ValueError:  # a name without a value yet
            continue
    yield from function.__defaults__ or ()
    yield from (function.__kwdefaults__ or {}).values()
    if _is_ours(function):  # our functions reach the user's objects through their arguments only
        return
    codes = [function.__code__]
    for code in codes:
        spaces = [function.__globals__]
        for space in spaces:  # `np.random.rand`: a global, what it has of these names, and so on
            named = [space[name] for name in code.co_names if name in space and name[0] != "@"]  # such are a tool's
            spaces += (vars(x) for x in named if isinstance(x, ModuleType) and vars(x) not in spaces)
            yield from named
        codes += (const for const in code.co_consts if isinstance(const, CodeType))


def _methods(kind: type) -> Iterator[object]:
    """The methods of a user's class, which may use global names."""
    for base in kind.__mro__[:-1]:
        if not _is_ours(base):
            yield from (value for value in list(vars(base).values()) if isinstance(value, FunctionType))


def _is_ours(thing: Function) -> bool:
    """Whether a function or class is of a library, and uses nothing of the user's by global names."""
    return f"{thing.__module__}.".startswith(_OURS)


def is_machinery(kind: type) -> bool:
    """Whether a class is adjoint's own, and no layer or optimiser: its attributes are not part of any state."""
    module = f"{kind.__module__}."
    return module.startswith(("adjoint.", "llvmlite.")) and not module.startswith(("adjoint.nn.", "adjoint.optim."))


def _is_numpys(kind: type) -> bool:
    return f"{kind.__module__}.".startswith(("numpy.", "builtins."))


class RandomSource(NamedTuple):
    """A source of random numbers: how to ask for its state and how to set it."""

    get: Callable[[], Value]
    set: Callable[[Value], None]

    @classmethod
    def of(cls, generator: np.random.Generator) -> RandomSource:
        if isinstance(generator, RandomSource):
            return generator
        if isinstance(generator, np.random.Generator):
            bits = generator.bit_generator
            return cls(lambda: bits.state, partial(setattr, bits, "state"))
        return cls(lambda: generator.get_state(legacy=False), generator.set_state)


class CallState:
    """The state in which `function` is called, to call it in once more.

    Attributes:
        changed: buffers that the first run wrote.
        parameters: tensors on the tape that were found, other than the arguments'.
    """

    def __init__(self, function: Value, args: Value) -> None:
        found, given = reach(function, args), {id(leaf) for leaf in flatten(args)[0]}
        self._sources = [(s, s.get()) for s in map(RandomSource.of, found.generators)]
        self._attributes = [(thing, dict(vars(thing))) for thing in found.objects]
        # A write to memory that something else refers to, too, is noted.
        self._watched = [t.held for t in self._buffers()]
        self._recorded = [(recording, recording.attributes.written()) for recording in found.recordings]
        self.changed: list[np.ndarray] = []
        self.parameters = [t for t in found.tensors if t.node is not None and id(t) not in given]

    def settle(self, since: int) -> None:
        """The first run is over: forget sources that it did not draw from, note the buffers that it wrote."""
        self._sources = [(s, state) for s, state in self._sources if not _same(state, s.get())]
        buffers = [t.held for t in self._buffers() if isinstance(t.held, np.ndarray)]
        self.changed = [held for held in buffers if mutations.last(held) < since]
        self._watched = []

    def versions(self, nodes: Container[Value]) -> list[dict[Value, Value]]:
        """In recordings that run, what parameters hold whose leaves are among `nodes`."""
        return [recording.attributes.versions(nodes) for recording, _ in self._recorded]

    def _buffers(self) -> Iterator[Value]:
        """Tensors without a history among the attributes of what was found."""
        for thing, _ in self._attributes:
            for value in list(vars(thing).values()):
                if isinstance(value, Tensor) and not isinstance(value, View) and value.node is None:
                    if isinstance(value.held, np.ndarray | Layered):
                        yield value

    @contextmanager
    def restored(self) -> Iterator[None]:
        """The state of the first run's beginning; afterwards, the one that there is now."""
        random = [(source, source.get()) for source, _ in self._sources]
        attributes = [(thing, dict(vars(thing))) for thing, _ in self._attributes]
        buffers = [(tensor, tensor.held) for tensor in self._buffers()]
        roots = [held.root for _, held in buffers if isinstance(held, Layered)]
        arrays = [v for _, d in attributes for v in d.values() if isinstance(v, np.ndarray) and v.flags.writeable]
        recorded = [recording.attributes for recording, _ in self._recorded]
        back = starmap(  # functions of C's alone, which one call carries out: no interrupt comes between them
            call,
            (
                *((source.set, state) for source, state in random),
                *((dict.update, vars(thing), wanted) for thing, wanted in attributes),
                *((setattr, tensor, "held", data) for tensor, data in buffers),
                *((setattr, root, "_layers", root._layers) for root in roots),
                *((setitem, array, ..., np.array(array)) for array in (*self.changed, *arrays)),
                *((own.write, own.written()) for own in recorded),
                *((own.write_arrays, own.arrays()) for own in recorded),
            ),
        )
        try:
            _set(self._sources, self._attributes)
            for recording, written in self._recorded:
                recording.attributes.write(written)
            yield
        finally:
            deque(back, 0)
            _set([], attributes)  # what the run has added goes


def _set(sources: list[tuple[RandomSource, object]], attributes: list[tuple[object, dict[str, object]]]) -> None:
    """Set states and attributes; only those that differ, since other threads may look at the others."""
    for source, state in sources:
        source.set(state)
    for thing, wanted in attributes:
        own = vars(thing)
        for name in own.keys() - wanted.keys():
            del own[name]
        for name, value in wanted.items():
            if own.get(name, MISSING) is not value:
                own[name] = value


def _same(a: Array, b: Array) -> bool:
    """Whether two states of a generator are equal."""
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(_same(a[key], b[key]) for key in a)
    return bool(np.array_equal(a, b)) if isinstance(a, np.ndarray) else bool(a == b)
