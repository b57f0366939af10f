"""What the door does with writes to names and attributes, with contexts and with exceptions."""

from __future__ import annotations

import types
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from adjoint.compiler.recording.arguments import lost
from adjoint.compiler.trace.door.operators import Operators
from adjoint.compiler.trace.guards import Binding, CellBinding
from adjoint.compiler.trace.loops.numbers.reaches import LARGEST
from adjoint.compiler.trace.outside import (
    MISSING,
    Again,
    BoundMethod,
    Closed,
    Frame,
    Outside,
    Refuse,
    Unsaid,
    is_fixed,
    is_users,
    lookup,
    root_of,
    space_of,
)
from adjoint.core.box import Box
from adjoint.core.types import Array, Value
from adjoint.graph.symbol import Symbol
from adjoint.optim.optimizer import Optimizer
from adjoint.tape.modes import set_grad_enabled
from adjoint.tape.tensor import Tensor


class Writes(Operators):
    """Writes, contexts and exceptions."""

    varying: set[Value]
    dead: str  # why nothing is recorded any more

    # -- Writes -----------------------------------------------------------------------------------------

    def setglob(self, frame: Frame, name: str, value: Array) -> None:
        """``name = value`` of a global."""
        frame.space.over[name] = value

    def setfree(self, frame: Frame, name: str, value: Array) -> None:
        """``name = value`` of a variable of the function around."""
        self.cell(frame, name).over[""] = value

    def setattr(self, o: object, name: str, value: Array) -> None:
        """``o.name = value``"""
        if isinstance(o, Tensor):
            if name not in ("grad", "data", "requires_grad"):
                raise self.refuse(f"it sets {name} of a tensor")
            if name == "data":
                self._owned(o, value)
                if id(o) in self.inputs.gradients():
                    raise self.refuse("it sets data of a gradient")
            if name == "grad" and isinstance(value, Tensor) and value is not o.grad:
                self._own_gradient(value)
            self.rebound.asked_for(o)
            live = self.inputs.live.get(id(o))
            if name == "requires_grad" and isinstance(live, int):
                raise self.refuse("it changes which of its arguments require a gradient")
            if name == "data" and live is not None and value is not o.held:
                number = live if isinstance(live, int) else id(live)
                if number not in self.inputs.replaced and o.held.node.kind != "input":
                    raise lost()
                self.inputs.replaced.add(number)
            self.native(setattr, (o, name, self.val(value)), {})
            return
        if isinstance(o, Box) or (isinstance(o, Closed) and not isinstance(o, Outside)):
            raise self.refuse(f"it sets {name}")
        x = o.o if isinstance(o, Outside) else o
        if isinstance(x, Optimizer) and is_fixed(type(x)):
            if name != "lr" or not isinstance(o, Outside):
                raise self.refuse(f"it sets {name} of an optimiser")
            setattr(self.inputs.optimizer(x, self.take), name, self.val(value))
            return
        if isinstance(x, types.FunctionType):
            if not isinstance(o, Outside):
                object.__setattr__(o, name, value)
            elif name.startswith("__"):
                raise self.refuse(f"it sets {name} of a function")
            else:
                self.setitem(self.pinned(x.__dict__), name, value)
            return
        if hasattr(type(x), "explain") and root_of(type(x)) == "adjoint":  # a compiled function
            if name[0] == "_" or name in ("function", "options"):
                raise self.refuse(f"it sets {name} of a compiled function")
            self.setitem(self.pinned(vars(x)), name, value)
            return
        if isinstance(x, types.ModuleType) and isinstance(o, Outside):
            self.setitem(self.pinned(vars(x)), name, value)
            return
        if isinstance(x, type):
            if type(x) is not type or is_fixed(x):
                raise self.refuse(f"it sets {name} of a class")
            self.static(x, name)
            self.pinned(x).over[name] = value
            return
        self._set_instance(o, x, name, value)

    def _own_gradient(self, value: Tensor) -> None:
        """Refuse a gradient that somebody else has, too, or whose memory; and one with a graph."""
        if value.node is not None:
            raise self.refuse("it gives a tensor a gradient that has a graph")
        if id(value) in self.inputs.gradients() or id(value) in self.inputs.live or self._is_held(value.held, None):
            raise self.refuse("it gives a tensor a gradient that something else has, too")

    def _is_held(self, array: Array, own: Array) -> bool:
        """Whether an array shows something from outside, or a tensor's data or gradient; but for `own`."""
        root = array.root if isinstance(array, Symbol) else array
        gradients = [box.grad for box in self.inputs.gradients().values()]
        held = (t.held for t in (*self.inputs.tensors(), *gradients) if t is not None)
        return id(root) in self.inputs.live or (root is not own and any(root is x for x in held))

    def _owned(self, o: Tensor, value: Array) -> None:
        """Refuse data that the tensor would share with something else, or that cannot be written."""
        data = value.value if isinstance(value, Symbol) else value
        if not isinstance(data, np.ndarray):
            raise self.refuse("it sets data of a tensor to something else than an array")
        if not data.flags.writeable:
            raise self.refuse("it gives a tensor an array that cannot be written")
        shows = isinstance(value, Symbol) and value.root is not value and value.root is not o.held
        if shows or self._is_held(value, o.held):
            raise self.refuse("it gives a tensor the array of something else")

    def _set_instance(self, o: object, x: object, name: str, value: object) -> None:
        kind = type(x)
        if kind is types.SimpleNamespace:
            found: Value = MISSING
        elif not is_users(kind) or not (isinstance(o, Outside) or self.is_made(o)):
            raise self.refuse(f"it sets {name} of a {kind.__name__}")
        else:
            setter = self.static(kind, "__setattr__")
            if isinstance(setter, types.FunctionType):
                self.call(BoundMethod(o, self.pinned(setter)), (name, value), {})
                return
            if setter not in (object.__setattr__, BaseException.__setattr__):
                raise self.refuse(f"it sets {name} of a {kind.__name__}")
            found = self.static(kind, name)
        self.set_plainly(o, x, name, value, found)

    def set_plainly(self, o: object, x: object, name: str, value: object, found: object) -> None:
        """As ``object.__setattr__`` does; `found` is the class's own attribute of that name."""
        if isinstance(found, property):
            if found.fset is None:
                raise self.genuine(AttributeError(Unsaid()))
            self.call(self.pinned(found.fset), (o, value), {})
        elif isinstance(found, types.MemberDescriptorType):
            if isinstance(o, Outside):
                o.over[name] = value
            else:
                object.__setattr__(o, name, value)
        elif found is not MISSING and hasattr(type(found), "__set__"):
            setter = self.static(type(found), "__set__") if is_users(type(found)) else MISSING
            if not isinstance(setter, types.FunctionType):
                raise self.refuse(f"{name} is a {type(found).__name__}")
            self.call(BoundMethod(self.pinned(found), self.pinned(setter)), (o, value), {})
        elif not isinstance(o, Outside):
            (BaseException if isinstance(o, BaseException) else object).__setattr__(o, name, value)
        elif o.path is not None:
            o.over[name] = value
        else:
            self.setitem(self.pinned(x.__dict__), name, value)

    def delattr(self, o: Value, name: str) -> None:
        """``del o.name``"""
        if self.is_made(o):
            deletes = self.static(type(o), "__delattr__")
            if isinstance(deletes, types.FunctionType):
                self.call(BoundMethod(o, self.pinned(deletes)), (name,), {})
            elif hasattr(type(lookup(type(o), name)), "__delete__"):
                raise self.refuse(f"it deletes {name}")
            else:
                self.native(object.__delattr__, (o, name), {})
            return
        if isinstance(o, Outside) and o.path is None and is_users(type(o.o)) and space_of(o.o) is not None:
            if lookup(type(o.o), "__delattr__") is object.__delattr__ and lookup(type(o.o), name) is MISSING:
                self.static(type(o.o), name)
                space = self.pinned(o.o.__dict__)
                if self.get(space, name) is MISSING:
                    raise self.genuine(AttributeError(f"{type(o.o).__name__!r} object has no attribute {name!r}"))
                self.delitem(space, name)
                return
        raise self.refuse(f"it deletes {name}")

    def counts(self, o: object, key: object, is_attribute: bool) -> None:
        """``o.key += …`` begins: a number there is another one at each call."""
        if not isinstance(o, Outside) or o.path is not None or (isinstance(o.o, Optimizer) and is_fixed(type(o.o))):
            return
        if is_attribute:
            space = space_of(o.o)
            if not isinstance(space, dict) or isinstance(o.o, type):
                return
            place = Binding(space, key)
        elif type(o.o) in (dict, list) and type(key) in (str, int):
            place = Binding(o.o, key)
        else:
            return
        self._begin_again(place)

    def _begin_again(self, place: Binding) -> None:
        known = self.memo.get(id(place.holder))
        if place.identity in self.varying or (isinstance(known, Outside) and known.changed):
            return
        try:
            value = place.read()
        except (KeyError, IndexError, ValueError):
            return
        if type(value) in (int, float) and abs(value) < LARGEST:
            self.varying.add(place.identity)
            raise Again

    def countsglob(self, frame: Frame, name: str) -> None:
        """``name += …`` of a global begins."""
        if name in frame.space.o and name not in frame.space.over:
            self._begin_again(Binding(frame.space.o, name))

    def countsfree(self, frame: Frame, name: str) -> None:
        """``name += …`` of a variable of the function around begins."""
        cell = self.cell(frame, name)
        if not cell.over:
            self._begin_again(CellBinding(cell.o, name))

    # -- Contexts and exceptions ------------------------------------------------------------------------

    def context(self, x: Outside | set_grad_enabled) -> object:
        """What ``with x`` enters."""
        if isinstance(x, set_grad_enabled | np.errstate):
            if self.light is not None:
                raise self.light.off("it switches how it computes")
            return x
        if (isinstance(x, Outside) and is_users(type(x.o))) or self.is_made(x):
            return self._users_context(x)
        if hasattr(x, "gen") and hasattr(x, "__enter__"):
            return x
        raise self.refuse(f"it enters a {self.kind_of(x).__name__}")

    @contextmanager
    def _users_context(self, x: Outside) -> Iterator[object]:
        live = x.o if isinstance(x, Outside) else x
        value = self.call(self.special(x, live, "__enter__"), (), {})
        leave = self.special(x, live, "__exit__")
        try:
            yield value
        except Exception as error:
            self.check(error)
            if not self.truth(self.call(leave, (self.pinned(type(error)), error, error.__traceback__), {})):
                raise
        else:
            self.call(leave, (None, None, None), {})

    def assertion(self, *message: object) -> BaseException:
        """What a failed ``assert`` raises."""
        return self.genuine(AssertionError(*message))

    def exception(self, x: object) -> object:
        """What ``raise x`` raises."""
        if isinstance(x, Outside) and isinstance(x.o, type) and issubclass(x.o, Exception):
            x = self.call(x, (), {})
        if x is None:
            return None
        if not isinstance(x, Exception):
            raise self.refuse(f"it raises a {self.kind_of(x).__name__}")
        vars(x)["_by_user"] = True
        return self.genuine(x)

    def caught(self, kinds: Value = None) -> Value:
        """What an ``except`` catches."""
        import sys

        error = sys.exc_info()[1]
        if isinstance(error, GeneratorExit):  # a generator is closed, perhaps with the trace
            if not self.dead and issubclass(GeneratorExit, BaseException if kinds is None else self._kinds(kinds)):
                raise self.refuse("it catches a GeneratorExit")
            return ()
        if error is not None:
            self.check(error)
        return Exception if kinds is None else self._kinds(kinds)

    def check(self, error: BaseException) -> None:
        """Refuse to go on from an exception that the plain function might not get."""
        if isinstance(error, Again | Refuse):
            raise error
        if not self.notes.is_genuine(error):
            if not isinstance(error, Exception):
                raise error  # an interrupt
            raise self.refuse(f"it catches a {type(error).__name__}: {error}")

    def _kinds(self, kinds: Outside) -> type:
        if isinstance(kinds, tuple):
            return tuple(map(self._kinds, kinds))
        if isinstance(kinds, Outside) and isinstance(kinds.o, type):
            return kinds.o
        raise self.refuse("it catches something else than a class of exceptions")
