"""What the door does where a function reads: names, and outside objects when they are first met."""

from __future__ import annotations

import builtins
import sys
import types
from collections import OrderedDict, defaultdict, deque
from collections.abc import Sequence
from functools import partial
from importlib.util import resolve_name
from typing import TYPE_CHECKING

import numpy as np

from adjoint.compiler.trace.door.items.trees import is_spec
from adjoint.compiler.trace.guards import PLAIN, AttributeBinding, Binding, CellBinding, Guards
from adjoint.compiler.trace.loops.numbers.reaches import LARGEST, Reaches
from adjoint.compiler.trace.outside import MISSING, BoundMethod, Frame, Outside, Refuse, is_users, lookup, root_of
from adjoint.core.box import Box
from adjoint.core.op import Op
from adjoint.core.registry import Composite
from adjoint.core.types import Array, Function, Value
from adjoint.expressions import Expr
from adjoint.tape.tensor import Tensor

if TYPE_CHECKING:
    from adjoint.compiler.trace.inputs import Inputs
    from adjoint.compiler.trace.rebound import ReboundTensors
    from adjoint.graph.captures.record import CaptureNotes

CONTAINERS = (list, dict, set, deque, OrderedDict, defaultdict)
CALLABLES = (types.FunctionType, types.BuiltinFunctionType, type, types.ModuleType, np.ufunc, Op, Composite,
             types.MethodDescriptorType, types.WrapperDescriptorType, type(np.where))  # fmt: skip


def fields_of(value: object) -> Value:
    """The class of a named tuple."""
    return type(value)


def _apart(changed: Sequence[Outside], others: Sequence[Outside], name_of: Function) -> str:
    """The condition that the objects that are `changed` are as many objects, and none of the others."""
    ids, rest = (", ".join(f"id({o.path or name_of(o.o)})" for o in some) for some in (changed, others))
    return f"len({{{ids}}}) == {len(changed)}" + (f" and {{{ids}}}.isdisjoint(({rest},))" if others else "")


class GivenBinding(Binding):
    """A thing among the arguments, by the expression for it."""

    __slots__ = ()

    def text(self, name_of: Function) -> str:
        return str(self.key)

    @property
    def identity(self) -> object:
        return "given", self.key


class Reads:
    """Names, and the objects that have them.

    Attributes:
        guards, inputs: what was read, as conditions, and as inputs of the program.
        memo: the wrapper of each outside object, by identity.
        of_libraries: what was read of libraries' modules, with its wrapper, by the modules' identities and names.
        varying: the identities of places of numbers that change, and are inputs.
        begun: the generators that were made inside.
        taken: tensors whose memory was taken out, and those made of it.
        tuples: those from outside: the wrapper of each, by identity, where it is, and the tuple.
    """

    guards: Guards
    inputs: Inputs
    rebound: ReboundTensors
    notes: CaptureNotes
    reaches: Reaches
    memo: dict[int, Value]
    of_libraries: dict[tuple[int, str], tuple[Value, Outside]]
    varying: set[Value]
    begun: list[Value]
    taken: list[Tensor]
    tuples: dict[int, tuple[Value, Value, Value]]
    leaf_of: dict[str, int]
    ours: bool  # whether one of our functions is followed
    texts: list[Array]  # what stands for arrays of texts from outside
    loops: Value = None  # what is known of the function's loops, where these may be recorded as loops
    light: Value = None  # the loop whose turns are recorded each for itself, if there is one

    def now(self, x: Array) -> Array:
        """The stand-in of the box `x` at this point of the program."""
        if not isinstance(x, Box):
            return x
        if self.loops is not None and self.loops.spans:
            self.loops.hold(x)
        return x if self.light is None else self.light.entered(x)

    def refuse(self, why: str) -> Refuse:
        """The exception to raise, which goes through whatever the function catches."""
        raise NotImplementedError

    def reads_error(self, error: BaseException) -> None:
        """The text of `error`, or what else it has, is read: it holds for this text.

        What Python and NumPy say of kinds of things is refused: here other things stand for them.
        """
        if isinstance(error, TypeError | AttributeError) and "_by_user" not in vars(error):
            raise self.refuse(f"it reads what a {type(error).__name__} says of kinds of things")
        self.notes.hold_text(error)

    def raises(self) -> None:
        """Note that the code raises here. A turn that runs on another path could not tell it from its numbers."""

    def genuine(self, error: Exception) -> Exception:
        """An exception that the plain function gets too."""
        raise NotImplementedError

    def call(self, f: object, args: tuple[object, ...], kwargs: dict[str, object]) -> Value:
        raise NotImplementedError

    # -- Things from outside --------------------------------------------------------------------------

    def pinned(self, thing: object) -> Value:
        """The stand-in of a thing that is known by its identity, which is guarded already or cannot change."""
        found = self.memo.get(id(thing))
        if found is None:
            found = self.memo[id(thing)] = Outside(thing)
        return found

    def take(self, value: Value, place: Binding) -> Value:
        """The stand-in of a value from outside; a guard checks the value at each call."""
        kind = type(value)
        if kind in PLAIN or issubclass(kind, (np.dtype, np.generic)):
            return self._plain(value, place)
        if kind is np.ndarray:
            if value.dtype.kind in "SU":
                return self._texts(value, place)
            return self.inputs.array(value, place)
        if isinstance(value, Tensor):
            known = self.rebound.take(value, place)
            return self.inputs.tensor(value, place) if known is None else known
        if kind is np.random.Generator:
            return self.inputs.generator(value, place)
        if isinstance(value, Box | np.ndarray) and not isinstance(value, Expr):
            raise self.refuse(f"{place.name} is a {kind.__name__}")
        if isinstance(value, tuple):
            return self._tuple(value, place)
        if kind is slice or kind is frozenset:
            self.guards.equal(place, value)
            return value
        if kind is types.MethodType:
            self.guards.at(place, value)
            if is_spec(value.__self__):
                return BoundMethod(value.__self__, value.__name__)
            return BoundMethod(
                self.take(value.__self__, AttributeBinding(value, "__self__")), self.pinned(value.__func__)
            )
        known = self.memo.get(id(value))
        if isinstance(known, Outside) and known.path is not None:
            path = known.path
            self.guards.text(("given", place.identity), lambda name_of: f"{place.text(name_of)} is {path}")
            return known
        if lookup(kind, "__del__") is not MISSING and is_users(kind) and root_of(kind) != "adjoint":
            raise self.refuse(f"it uses a {kind.__name__}, whose end runs code, and which it would keep")
        self.guards.at(place, value)
        if kind is types.BuiltinFunctionType and isinstance(
            value.__self__, (np.random.Generator, np.ufunc, *CONTAINERS)
        ):
            of = self.take(value.__self__, AttributeBinding(value, "__self__"))
            return BoundMethod(of, value.__name__)
        return self.pinned(value)

    def of_library(self, module: types.ModuleType, name: str, value: Value) -> Value:
        """The stand-in of `value`, which a library's module has under a name; most functions are read many times."""
        known = self.of_libraries.get((id(module), name))
        if known is not None and known[0] is value:
            return known[1]
        space = vars(module)
        found = self.take(value, Binding(space, name) if name in space else AttributeBinding(module, name))
        if type(found) is Outside:
            self.of_libraries[id(module), name] = value, found
        return found

    def _texts(self, value: Array, place: Binding) -> Array:
        """An array of texts: what stands for it is a copy that cannot be written or leave the function."""
        self.guards.equal(place, np.array(value))
        self.texts.append(np.array(value))
        self.texts[-1].flags.writeable = False
        return self.texts[-1]

    def _plain(self, value: object, place: Binding) -> Value:
        if value is None or type(value) is bool or value is Ellipsis or value is NotImplemented:
            self.guards.at(place, value)
            return value
        number = type(value) in (int, float, complex) or (isinstance(value, np.generic) and value.dtype.kind in "fciu")
        if number and place.identity in self.varying and not (type(value) is int and abs(value) >= LARGEST):
            return self.inputs.number(value, place)
        if isinstance(value, np.generic) and value.dtype.kind not in "fciubSUmM":
            raise self.refuse(f"{place.name} is a {type(value).__name__}")
        self.guards.equal(place, value)
        return value

    def _tuple(self, value: Value, place: Binding) -> object:
        if type(value) is not tuple and not hasattr(value, "_fields"):
            raise self.refuse(f"{place.name} is a {type(value).__name__}")
        self.guards.equal(place, value)
        self._without_attributes(value, place.identity, place.text)
        kind: Value = type(value)
        parts = [self.take(x, Binding(value, i)) for i, x in enumerate(value)]
        made = tuple(parts) if kind is tuple else kind._make(parts)
        self.tuples[id(made)] = made, place, value
        return made

    def _without_attributes(self, value: Value, key: object, text: Value) -> None:
        """A named tuple has nothing but its fields: it is made anew from them."""
        if getattr(value, "__dict__", None):
            raise self.refuse(f"a {type(value).__name__} has attributes besides its fields")
        if hasattr(value, "__dict__"):
            self.guards.text(("fields", key), lambda name_of: f"not {text(name_of)}.__dict__")

    def given(self, value: Value, path: str) -> Value:
        """The stand-in of a part of the arguments, which the expression `path` reads."""
        k = self.leaf_of.get(path)
        if k is not None:
            box = self.inputs.arguments.boxed[k]
            if box is not value or type(value) in PLAIN or isinstance(value, np.generic | np.dtype):
                return box
            return self.take(value, GivenBinding(None, path))
        if value is None:
            return None
        if isinstance(value, tuple):
            fields = getattr(value, "_fields", None)
            self._without_attributes(value, path, lambda _: path)
            parts = [
                self.given(x, f"{path}[{i}]" if fields is None else f"{path}.{fields[i]}") for i, x in enumerate(value)
            ]
            made = tuple(parts) if fields is None else fields_of(value)._make(parts)
            self.tuples[id(made)] = made, path, value
            return made
        known = self.memo.get(id(value))
        if known is None:
            known = self.memo[id(value)] = Outside(value, path)
        elif known.path is None:
            self.guards.text(("given", path), lambda name_of: f"{path} is {name_of(value)}")
        elif known.path != path:
            first = known.path
            self.guards.text(("given", path), lambda name_of: f"{path} is {first}")
        return known

    def hold_apart(self, a: Outside, b: Outside) -> None:
        """Two objects, at least one of which is an argument, stay two: another call may give one for both."""
        first, second = (b, a) if a.path is None else (a, b)
        if first.o is second.o or first.path is None or type(first.o) is not type(second.o):
            return
        path, other, thing = first.path, second.path, second.o
        self.guards.text(
            ("apart", path, other or id(thing)), lambda name_of: f"{path} is not {other or name_of(thing)}"
        )

    def hold_changed_apart(self) -> None:
        """What is written into an object from outside is not seen in others that were met, if they are others."""
        kinds = defaultdict[type, list[Outside]](list)
        for o in self.memo.values():
            if isinstance(o, Outside):
                kinds[type(o.o)].append(o)
        for kind, met in kinds.items():
            changed = [o for o in met if o.changed]
            if changed and len(met) > 1 and any(o.path is not None for o in met):
                self.guards.text(("changed apart", kind), partial(_apart, changed, [o for o in met if not o.changed]))

    def given_attribute(self, kind: type, value: Value, path: str, name: str) -> Value:
        """The stand-in of an attribute of a dataclass among the arguments; only fields belong to their structure."""
        path = f"{path}.{name}"
        if name in getattr(kind, "__dataclass_fields__", ()):
            return self.given(value, path)
        if type(value) in PLAIN or isinstance(value, np.ndarray | np.generic | tuple | Box):
            raise self.refuse(f"{path} is no field, and a {type(value).__name__}")
        return self.take(value, GivenBinding(None, path))

    # -- Names ----------------------------------------------------------------------------------------

    def glob(self, frame: Frame, name: str) -> Value:
        """A global name, or a built-in one."""
        if name in frame.space.over:
            return frame.space.over[name]
        if name not in frame.cache:
            space = frame.space.o
            if self.ours:
                frame.cache[name] = self._in_ours(space, name)
            elif name in space:
                frame.cache[name] = self.take(space[name], Binding(space, name))
            else:
                self.guards.has(space, name, False)
                found = getattr(builtins, name, MISSING)
                if found is MISSING:
                    raise self.genuine(NameError(f"name {name!r} is not defined"))
                space = vars(builtins)
                frame.cache[name] = self.take(found, Binding(space, name))
        return frame.cache[name]

    def globals_(self, frame: Frame) -> object:
        """``globals()``"""
        found = self.glob(frame, "globals")
        return frame.space if isinstance(found, Outside) and found.o is globals else self.call(found, (), {})

    def _in_ours(self, space: dict[str, object], name: str) -> object:
        """A name in one of adjoint's own modules, which does not change."""
        found = space[name] if name in space else getattr(builtins, name)
        if type(found) is tuple:
            return tuple(map(self.pinned, found))
        return found if type(found) in PLAIN else self.pinned(found)

    def free(self, frame: Frame, name: str) -> Value:
        """A variable of the function around."""
        cell = self.cell(frame, name)
        if "" in cell.over:
            return cell.over[""]
        if "" not in cell.read:
            try:
                value = cell.o.cell_contents
            except ValueError:
                raise self.refuse(f"{name} has no value yet") from None
            cell.read[""] = self.pinned(value) if name == "__class__" else self.take(value, CellBinding(cell.o, name))
        return cell.read[""]

    def cell(self, frame: Frame, name: str) -> Outside:
        """The closure's cell of a variable."""
        function = frame.function.o
        found: Outside = self.pinned(function.__closure__[function.__code__.co_freevars.index(name)])
        return found

    def module(self, name: str, whole: bool) -> object:
        """The result of ``import name``, for a module that was imported already."""
        found = sys.modules.get(name)
        if found is None:
            raise self.refuse(f"it imports {name}")
        key = name if whole else name.partition(".")[0]
        return self.take(sys.modules[key], Binding(sys.modules, key))

    def beside(self, frame: Frame, name: str) -> object:
        """The module that ``from .name import`` names, seen from the package of a function."""
        package = self.glob(frame, "__package__")
        if not isinstance(package, str) or not package:
            raise self.refuse(f"it imports {name} without a package")
        return self.module(resolve_name(name, package), True)

    # -- Of the other parts of the door ---------------------------------------------------------------

    def get(self, o: Outside, key: object) -> Value:
        """An item of a dictionary from outside; MISSING, if it has none."""
        raise NotImplementedError

    def setattr(self, o: object, name: str, value: object) -> None:
        raise NotImplementedError

    def attr(self, o: object, name: str) -> Value:
        raise NotImplementedError

    def is_made(self, o: object) -> bool:
        """Whether it is an object of a user's class that was made while recording."""
        raise NotImplementedError
