"""What the door does with calls: known functions are called, the user's are followed, all others are refused."""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Sequence

import numpy as np

from adjoint.arrays.count import Count
from adjoint.compiler.trace.door.items.trees import OPTREE, is_spec, of_optree, of_spec
from adjoint.compiler.trace.door.known import library_calls
from adjoint.compiler.trace.door.known.forms import in_form
from adjoint.compiler.trace.door.known.histories import has_history
from adjoint.compiler.trace.door.known.libraries import OURS
from adjoint.compiler.trace.door.known.pythons import SPECIAL, Pythons
from adjoint.compiler.trace.door.known.sourceless import without_source
from adjoint.compiler.trace.door.reads import CONTAINERS
from adjoint.compiler.trace.guards import AttributeBinding, Binding, CellBinding
from adjoint.compiler.trace.outside import (
    BoundMethod,
    Closed,
    DictView,
    Frame,
    Ours,
    Outside,
    Super,
    Unsaid,
    is_users,
    root_of,
)
from adjoint.core.box import Box
from adjoint.core.messages.keywords import answering
from adjoint.core.op import Op
from adjoint.core.registry import Composite
from adjoint.core.types import Array, Function, Value
from adjoint.expressions import Expr
from adjoint.graph.captures.drawing import Drawing
from adjoint.graph.graph import Graph
from adjoint.graph.symbol import Number, Symbol, symbol_of
from adjoint.optim.optimizer import Optimizer
from adjoint.tape.custom import Gate
from adjoint.tape.modes import recording_floor
from adjoint.tape.tensor import Tensor
from adjoint.twin.follow import needs_twin
from adjoint.twin.recording.everything import twin
from adjoint.twin.recording.expressions import DOOR
from adjoint.twin.syntax.names import SourceSpan
from adjoint.twin.syntax.source import NoTwinError, as_written

DEEPEST = 300  # calls of the user's functions inside one another
_DISPATCHES = vars(functools)["singledispatch"](lambda x: x).__code__
_ANSWERING = answering(lambda x: x).__code__  # of one of our functions that takes PyTorch's names too
_WHOLE = vars(Optimizer)["step"].__code__  # of a method in whose midst Ctrl-C waits
_SCRATCH = vars(Optimizer)["_scratch_for"]
_NOT_OURS = frozenset(
    ("backward", "saved_tensors_hooks", "save_on_disk", "detect_anomaly", "trace_backward", "source_lines", "saved",
     "checkpoint_scan")
)  # fmt: skip
_STATEFUL = frozenset(
    ("random", "time", "secrets", "uuid", "datetime", "logging", "warnings", "sys", "os", "io", "subprocess", "socket",
     "threading", "queue", "multiprocessing", "ctypes", "pathlib", "shutil", "tempfile", "weakref", "gc", "pickle",
     "contextvars", "asyncio", "signal", "concurrent", "importlib", "inspect")
)  # fmt: skip


#: Methods of tensors whose names end as those that write.
_NO_WRITES = frozenset(("requires_grad_", "detach_"))


class Calls(Pythons):
    """Calls."""

    made_codes: set[Value]
    depth = 0
    dead: str
    sourceless: bool  # whether functions without source may run as they are, with stand-ins
    keywords: Sequence[str]

    def made(self, f: Value) -> Value:
        """A function that was made inside: its calls go through the door by themselves."""
        self.made_codes.add(f.__code__)
        return f

    def each_once(self, *parts: dict[str, Value]) -> dict[str, Value]:
        """The keywords of a call, where some come from ``**mapping``: none may come twice."""
        merged: dict[str, Value] = {}
        for part in parts:
            if not merged.keys().isdisjoint(part):
                raise self.genuine(TypeError(Unsaid()))
            merged |= part
        return merged

    def call(self, f: Value, args: tuple[Value, ...], kwargs: dict[str, Value]) -> Value:
        """``f(*args, **kwargs)``"""
        if self.dead:
            raise self.refuse(self.dead)
        kind = type(f)
        if kind is types.FunctionType:
            if DOOR in f.__code__.co_freevars or f.__code__ in self.made_codes:
                return f(*args, **kwargs)
            if str(f.__globals__.get("__name__")).startswith(OURS):
                return self.of_ours(f, args, kwargs)
            raise self.refuse(f"it calls {f.__qualname__}, which it got from a call")
        if kind is BoundMethod:
            return self._method(f, args, kwargs)
        if kind is Count:
            return self.native(f, tuple(map(self.value, args)), kwargs)
        if kind is Ours:
            return self.of_ours(f.function, args, kwargs)
        if kind is not Outside:
            if self.is_made(f):
                return self.call(self.special(f, f, "__call__"), args, kwargs)
            if isinstance(f, Box | Closed):
                raise self.refuse(f"it calls a {kind.__name__.lower()}")
            if callable(f) and root_of(kind) in ("functools",):
                raise self.refuse(f"it calls a {kind.__name__}")
            raise self.genuine(TypeError(f"{kind.__name__!r} object is not callable"))
        return self._call_outside(f, args, kwargs)

    def _call_outside(self, f: Outside, args: tuple[Value, ...], kwargs: dict[str, Value]) -> Value:
        g = f.o
        hashes = type(g).__hash__
        special = None if hashes is None or isinstance(hashes, types.FunctionType) else SPECIAL.get(g)
        if special is not None:
            return special(self, *args, **kwargs)
        if type(g) is np.ufunc:
            return self.elementwise(g, args, kwargs)
        root = root_of(g)
        if type(g) is library_calls.CACHE:
            return library_calls.cached(self, f, args, kwargs)
        if isinstance(g, types.FunctionType):
            if g.__code__ is _ANSWERING and kwargs.keys() <= inspect.signature(g).parameters.keys():
                return self.call(self.pinned(vars(g)["__wrapped__"]), args, kwargs)
            module = g.__module__ or ""
            if root == "numpy" or (root == "scipy" and module.startswith(("scipy.special", "scipy.linalg"))):
                return self.known(g, args, kwargs)
            if str(g.__globals__.get("__name__")).startswith(OURS) and g.__closure__:
                return self.of_ours(self.stand_in(f), args, kwargs)
            if root == "adjoint" and module.startswith(OURS) and not _has_users(g, args):
                if g.__name__ in _NOT_OURS:
                    raise self.refuse(f"it calls {g.__name__}")
                return self.of_ours(g, args, kwargs)
            if module.startswith("adjoint.compiler.") and g.__name__ in ("capture", "compile"):
                raise self.refuse(
                    f"it calls ad.{g.__name__} inside a function that is being captured or compiled: call the function "
                    f"itself, which becomes part of the same graph"
                )
            if g.__code__ is _WHOLE:  # what is recorded is done at once
                return self.call(self.pinned(vars(g)["__wrapped__"]), args, kwargs)
            if g is _SCRATCH:
                return np.zeros_like(self.val(args[2]))
            if g.__qualname__ == "Module.__call__" and root == "adjoint":
                return self._module(args, kwargs)
            if g.__code__ is library_calls.CONTEXTS:
                return library_calls.context_of(self, f, args, kwargs)
            if g.__code__ is _DISPATCHES:
                return self._dispatched(f, args, kwargs)
            if root in _STATEFUL or root == "scipy":
                raise self.refuse(f"it calls {module}.{g.__name__}")
            return self.follow(f, args, kwargs)
        if isinstance(g, Op | Composite):
            return self.of_ours(g, args, kwargs)
        if isinstance(g, type):
            return self.construct(f, g, args, kwargs)
        if isinstance(g, np.ufunc) or type(g) is type(np.where):
            return self.known(g, args, kwargs)
        if isinstance(g, types.BuiltinFunctionType):
            if isinstance(g.__self__, types.ModuleType | None) and root in ("numpy", "math", "cmath", "_operator"):
                return self.known(g, args, kwargs)
            if g.__module__ == OPTREE:
                return of_optree(self, g, args, kwargs)
            raise self.refuse(f"it calls {_called(g)}, which has to happen at each call")
        if isinstance(g, functools.partial):
            before = self.take(g.args, AttributeBinding(g, "args"))
            named = self.mapping(self.take(g.keywords, AttributeBinding(g, "keywords")))
            return self.call(self.take(g.func, AttributeBinding(g, "func")), (*before, *args), {**named, **kwargs})
        if hasattr(type(g), "explain") and root_of(type(g)) == "adjoint":  # a compiled function
            return self.call(self.take(g.function, AttributeBinding(g, "function")), args, kwargs)
        if isinstance(g, types.WrapperDescriptorType | types.MethodDescriptorType):
            return self._slot_call(g, args, kwargs)
        if root == "numpy" and hasattr(g, "__name__"):
            raise self.refuse(f"it calls {g.__module__}.{g.__name__}, which has to happen at each call")
        if is_users(type(g)):
            if isinstance(g, Graph) and g.state is not None:
                raise self.refuse(f"it calls the graph {g.name}, which reads tensors: call its function")
            if isinstance(g, Gate | Graph | Expr):
                return self.of_ours(g, args, kwargs)
            if type(g).__module__.startswith(OURS):
                if hasattr(type(g), "register_forward_hook"):  # a module
                    self._without_hooks(f)
                return self.of_ours(self.stand_in(f), args, kwargs)
            return self.call(self.special(f, g, "__call__"), args, kwargs)
        raise self.refuse(f"it calls a {type(g).__name__} of {root_of(type(g))}")

    def _dispatched(self, f: Outside, args: tuple[Value, ...], kwargs: dict[str, Value]) -> Value:
        """A call of a generic function, which chooses by the class of its first argument."""
        generic: Value = f.o
        if not args:
            raise self.refuse("it calls a generic function without arguments")
        kind = self.type_of(args[0]) if self.histories and has_history(args[0]) else self.kind_of(args[0])
        chosen = generic.dispatch(kind)
        dispatch = generic.dispatch
        self.guards.text(
            ("dispatch", id(generic), id(kind)),
            lambda name_of: f"{name_of(dispatch)}({name_of(kind)}) is {name_of(chosen)}",
        )
        return self.call(self.pinned(chosen), args, kwargs)

    def stand_in(self, f: Outside) -> object:
        """Replace a function that one of ours made of the user's (`grad(f)`): functions in it are then followed."""
        if "stand-in" not in f.read:
            g: Value = f.o
            if isinstance(g, types.FunctionType):
                names = g.__code__.co_freevars
                held = [
                    self.take(c.cell_contents, CellBinding(c, n))
                    for n, c in zip(names, g.__closure__ or (), strict=True)
                ]
                cells = tuple(types.CellType(self._inside(x)) for x in held)
                made: Value = types.FunctionType(g.__code__, g.__globals__, g.__name__, g.__defaults__, cells)
                made.__kwdefaults__ = g.__kwdefaults__
            else:
                made = object.__new__(type(g))
                for name, value in vars(g).items():
                    object.__setattr__(made, name, self._inside(self.take(value, Binding(vars(g), name))))
            f.read["stand-in"] = made
        return f.read["stand-in"]

    def _inside(self, x: object) -> object:
        if isinstance(x, tuple):
            return tuple(map(self._inside, x))
        if isinstance(x, Outside) and not getattr(type(x.o), "never_changes", False):
            home = getattr(x.o, "__globals__", {}).get("__name__", type(x.o).__module__)
            if str(home).startswith(OURS) and not isinstance(x.o, type):
                plain = isinstance(x.o, types.FunctionType) and not x.o.__closure__
                return x.o if plain or isinstance(x.o, Gate | Op | Composite) else self.stand_in(x)
            if isinstance(x.o, inspect.Signature):
                return x.o
        return self.val(x)

    def _without_hooks(self, module: object) -> None:
        """Refuse modules with hooks: a hook is the user's code, and must run at each call."""
        hooks = self.attr(module, "_hooks")
        if getattr(hooks, "o", hooks) is not None:
            raise self.refuse("it calls a module with hooks, which are called each time")

    def _module(self, args: tuple[object, ...], kwargs: dict[str, Array | None]) -> object:
        """A call of a module, which calls its `forward`."""
        of, *rest = args
        self._without_hooks(of)
        kind = self.kind_of(of)
        forward = self.attr(of, "forward")
        users = root_of(kind) != "adjoint" and isinstance(forward, BoundMethod) and forward.of is of
        plain = getattr(kind, "forward", None)
        if isinstance(plain, types.FunctionType) and not needs_twin(plain, [getattr(x, "o", x) for x in rest]):
            users = False
        return (self.with_twin if users else self.call)(forward, tuple(rest), kwargs)

    def _slot_call(self, g: Function, args: tuple[Value, ...], kwargs: dict[str, object]) -> object:
        of, *rest = args
        live = of.o if isinstance(of, Outside) else of
        if g is object.__setattr__:
            self.set_plainly(of, live, rest[0], rest[1], self.static(type(live), rest[0]))
            return None
        if g is object.__init__:
            return None
        if name_of_init(g, live):
            return self.native(g, (live, *map(self.val, rest)), {})
        raise self.refuse(f"it calls {g.__qualname__}")

    def follow(self, f: Outside, args: tuple[Value, ...], kwargs: dict[str, Value]) -> Value:
        """Call a function of the user's, by its twin."""
        function: types.FunctionType = f.o
        stored = None if self.twins is None else self.stored(function)
        which = "twin" if stored is None else "twin for derivatives"
        if which not in f.read:
            code = function.__code__
            if root_of(function) != "adjoint":
                self.guards.at(AttributeBinding(function, "__code__"), code)
                for name in ("__defaults__", "__kwdefaults__"):
                    if getattr(function, name) is not None:
                        self.guards.at(AttributeBinding(function, name), getattr(function, name))
            frame = Frame(f, self.pinned(function.__globals__))
            try:
                made = twin(as_written(function), self, frame, (stored or frozenset()) | self.places_in(code))
            except NoTwinError as error:
                if not self.sourceless:
                    raise self.refuse(str(error)) from None
                f.read[which] = without_source(self, frame, str(error))
                return f.read[which](*args, **kwargs)
            defaults, named = function.__defaults__, function.__kwdefaults__
            if defaults:
                made.__defaults__ = tuple(self.take(x, Binding(defaults, i)) for i, x in enumerate(defaults))
            if named:
                made.__kwdefaults__ = {k: self.take(x, Binding(named, k)) for k, x in named.items()}
            if code.co_flags & inspect.CO_VARKEYWORDS and self.depth == 0 and len(self.keywords) > 1:
                known = list(self.keywords)
                self.guards.text("keywords", lambda _: f"[*kwargs] == {known!r}")
            f.read[which] = made
        if self.light is not None and recording_floor.raw() != self.light.floor:
            raise self.light.off("recording is switched in it")
        if self.depth > DEEPEST:
            raise self.refuse("it calls itself too deeply")
        self.depth += 1
        before = self.ours, self.histories
        self.ours, self.histories = root_of(function) == "adjoint", "" if stored is None else "twin"
        try:
            found = f.read[which](*args, **kwargs)
            return self.generator(found) if type(found) is types.GeneratorType else found
        except TypeError as error:
            if error.__traceback__ is not None and error.__traceback__.tb_next is None:
                self.genuine(error)  # of arguments that do not fit
            raise
        finally:
            self.depth -= 1
            self.ours, self.histories = before

    def places_in(self, code: types.CodeType) -> frozenset[SourceSpan]:
        """Where functions that are made inside hold histories, in the file of `code`."""
        return frozenset(span for file, span in self.places if file == code.co_filename)

    def _method(self, m: BoundMethod, args: tuple[object, ...], kwargs: dict[str, Array | None]) -> object:
        of, name = m.of, m.function
        if not isinstance(name, str):
            return self.call(name, (of, *args), kwargs)
        if isinstance(of, Outside):
            if type(of.o) in CONTAINERS:
                return self.container_method(of, name, args, kwargs)
            if isinstance(of.o, Optimizer):
                return self.native(getattr(self.inputs.optimizer(of.o, self.take), name), args, kwargs)
            if isinstance(of.o, library_calls.EXPRESSIONS):
                return library_calls.of_expression(self, of.o, name, args, kwargs)
            if isinstance(of.o, np.ufunc):
                return self.known(getattr(of.o, name), args, kwargs) if name != "at" else self.at_ufunc(of.o, args)
            if isinstance(of.o, Op | Composite) or (isinstance(of.o, type) and root_of(of.o) == "numpy"):
                return self.of_ours(getattr(of.o, name), args, kwargs)
            raise self.refuse(f"it calls {name} of a {of.what}")
        if is_spec(of):
            return of_spec(self, of, name, args, kwargs)
        if isinstance(of, Super | DictView):
            raise self.refuse(f"it calls {name} of a {of.what}")
        if isinstance(of, Box | Drawing):
            of = self.now(of)
            values, named = tuple(self.val(a) for a in args), {k: self.val(v) for k, v in kwargs.items()}
            if name == "item" and type(of) is Number:
                return of
            if type(of) is Number and name.startswith("__") and values:  # Python's answer for others' numbers
                raise self.refuse(f"it calls {name} of a number")
            if name == "requires_grad_" and isinstance(self.inputs.live.get(id(of)), int):
                raise self.refuse("it changes which of its arguments require a gradient")
            if name in ("fill", "put"):
                listed = name == "fill" and any(map(np.ndim, values))
                self.of_numbers(name, [None] if listed else values[:2])
                for value in values[name == "put" :]:
                    self.writes_into(of, value)
            if name == "__setitem__":
                self.writes_into(of, values[-1])
            if isinstance(of, Tensor) and name[-1] == "_" and name[-2:] != "__" and name not in _NO_WRITES:
                self.writes_into(of)  # ``t.add_(x)``
            stand_in = self.stands_for(name, (of,))
            if stand_in is not None:
                return self.native(stand_in, (of, *values), named)
            if type(of) is Symbol and any(map(has_history, (*values, *named.values()))):
                return self.with_histories(of, name, values, named)
            if name == "numpy" and isinstance(of, Tensor) and not of.level and isinstance(of.held, Symbol):
                if of.node is not None:  # read-only
                    return self.native(np.broadcast_to, (of.held, of.shape), {})
                return of.held if self.kind_of(of.held) is np.ndarray else self.native(np.copy, (of.held,), {})
            found = self.native(getattr(of, name), values, named)
            if isinstance(of, Tensor) and name == "detach":
                self.taken += [getattr(of, "root", of), found]
            if type(of) is Number and type(found) is Symbol:
                return symbol_of(found.value.item(), found.node)
            if type(of) is Symbol:
                return in_form(name, (of, *values), named, found, self.refuse)
            return found
        return self.plain_method(of, name, args, kwargs)


def name_of_init(g: Value, of: object) -> bool:
    """Whether `g` is the `__init__` of an exception class, and `of` an exception that was made inside."""
    return g.__name__ == "__init__" and issubclass(g.__objclass__, BaseException) and isinstance(of, Exception)


def _has_users(g: types.FunctionType, args: tuple[object, ...]) -> bool:
    """Whether one of our functions has something of the user's by itself: a closure, or the method of an object."""
    of = args[0] if args else None
    return bool(g.__closure__) or (isinstance(of, Outside) and g is vars(type(of.o)).get(g.__name__))


def _called(g: Value) -> str:
    owner = g.__self__
    if isinstance(owner, types.ModuleType):
        name = owner.__name__.lstrip("_")
        return f"{g.__name__}" if name == "builtins" else f"{name}.{g.__name__}"
    return f"{g.__name__} of a {type(owner).__name__} of {root_of(type(owner)).lstrip('_')}"
