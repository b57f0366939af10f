"""Objects that a submitted call works on: code that uses one waits for the call.

During the call, a tensor, a leaf or an optimiser has another class with the same layout. It differs in one thing:
reading what the call may read or write waits. So nothing is slower where nothing is submitted.
"""

from __future__ import annotations

from collections.abc import Callable

from adjoint.core.threads.scheduler import Scheduler
from adjoint.core.types import Array, Function, Value
from adjoint.tape.node import Leaf
from adjoint.tape.tensor import Tensor

_CLASS: Value = vars(object)["__class__"]
_COPIED = ("__copy__", "__deepcopy__", "__reduce_ex__")  # these ask for the class before they ask for values
_MISSING = object()


class Holder:
    """Puts things into their waiting class, and back. `names` gives the attributes to wait for, of other kinds."""

    def __init__(self, names: Callable[[Value], tuple[str, ...]], threads: int) -> None:
        self.names = names
        self.scheduler = Scheduler(self.hold, self.release, threads)
        self._made: dict[type, type] = {}

    def hold(self, thing: object) -> None:
        """Let others wait for `thing`."""
        kind = type(thing)
        made = self._made.get(kind) or self._made.setdefault(kind, self._make(kind))
        _CLASS.__set__(thing, made)

    def release(self, thing: Value) -> None:
        """Let others use `thing` again."""
        kind = type(thing)
        if "_free" in vars(kind):
            _CLASS.__set__(thing, kind._free)

    def _make(self, kind: type) -> type:
        names = ("held",) if issubclass(kind, Tensor) else ("grad",) if issubclass(kind, Leaf) else self.names(kind)
        space: dict[str, Value] = {name: self._waiting(kind, name) for name in names}
        space |= {name: self._copying(name) for name in _COPIED if hasattr(kind, name)}
        about = {
            "_free": kind,
            "__module__": kind.__module__,
            "__qualname__": kind.__qualname__,
            "__doc__": kind.__doc__,
        }
        slots = {} if hasattr(kind, "__dict__") and "__dict__" in dir(kind) else {"__slots__": ()}
        return type(kind)(kind.__name__, (kind,), {**slots, **about, **space})

    def _waiting(self, kind: type, name: str) -> property:
        """An attribute that can be read or set only when no task uses it."""
        slot: Value = getattr(kind, name, None)
        is_slot = hasattr(slot, "__set__")

        def look(thing: Array) -> Array:
            self.scheduler.wait_for(thing)
            if is_slot:
                return slot.__get__(thing)
            found = vars(thing).get(name, _MISSING)
            if found is _MISSING:
                raise AttributeError(name)
            return found

        def put(thing: Leaf, value: Tensor) -> None:
            self.scheduler.wait_for(thing)
            if is_slot:
                slot.__set__(thing, value)
            else:
                vars(thing)[name] = value

        return property(look, put)

    def _copying(self, name: str) -> Function:
        def copying(thing: object, *args: object) -> object:
            self.scheduler.wait_for(thing)
            kind = type(thing)
            return getattr(getattr(kind, "_free", kind), name)(thing, *args)

        return copying
