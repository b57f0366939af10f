"""What the door does with calls: known functions are called, the user's are followed, all others are refused."""

from __future__ import annotations

import functools
import inspect
import operator
import sys
import types
from collections import OrderedDict, deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from adjoint.compiler.trace.containers import MAPPINGS, SEQUENCES
from adjoint.compiler.trace.guards import PLAIN, AttributePlace, Place
from adjoint.compiler.trace.operators import Operators
from adjoint.compiler.trace.outside import (
    MISSING,
    Closed,
    DictView,
    Frame,
    Method,
    Ours,
    Outside,
    Super,
    is_users,
    lookup,
    root_of,
)
from adjoint.compiler.trace.reads import CONTAINERS
from adjoint.core.box import Box
from adjoint.core.errors import AdjointError
from adjoint.core.op import Op
from adjoint.core.registry import Composite
from adjoint.expressions import Expr
from adjoint.graph.drawing import Drawing
from adjoint.graph.graph import Graph
from adjoint.graph.node import constant
from adjoint.graph.symbol import LEVEL, Number, Record, Symbol, symbol_of
from adjoint.optim.optimizer import Optimizer
from adjoint.tape.custom import Gate
from adjoint.tape.modes import set_grad_enabled
from adjoint.tape.tensor import Tensor
from adjoint.twin.everything import DOOR, twin
from adjoint.twin.follow import follow
from adjoint.twin.source import NoTwinError

DEEPEST = 300  # calls of the user's functions inside one another
# NumPy's functions that do something else than compute, or call what they are given.
_IMPURE = frozenset(
    ("load", "save", "savez", "savez_compressed", "savetxt", "loadtxt", "fromfile", "genfromtxt", "memmap", "seterr",
     "geterr", "seterrcall", "geterrcall", "setbufsize", "getbufsize", "get_printoptions", "set_printoptions",
     "printoptions", "show_config", "show_runtime", "info", "vectorize", "frompyfunc", "apply_along_axis",
     "apply_over_axes", "fromfunction", "piecewise", "nditer", "frombuffer", "fromregex", "from_dlpack", "test")
)  # fmt: skip
_KNOWN = ("numpy", "adjoint", "builtins", "numbers", "collections")
_SCRATCH = vars(Optimizer)["_scratch_for"]
_LAST = frozenset(("copyto", "put", "place", "putmask", "fill_diagonal", "put_along_axis"))
_OURS = ("adjoint.transforms", "adjoint.ops", "adjoint.tape", "adjoint.core.op", "adjoint.nn.functional",
         "adjoint.nn.losses", "adjoint.nn.activations", "adjoint.scipy", "adjoint.optim.functional",
         "adjoint.optim.clip", "adjoint.xp", "adjoint.core.registry", "adjoint.core.box", "adjoint.core.protocol",
         "adjoint.forward", "adjoint.batch")  # fmt: skip
_NOT_OURS = frozenset(
    ("backward", "saved_tensors_hooks", "save_on_disk", "detect_anomaly", "trace_backward", "source_lines", "saved",
     "checkpoint_scan")
)  # fmt: skip
_PURE = (abs, round, float, int, complex, divmod, pow, repr, str, format, ord, chr, bytes, bin, hex, sum, min, max,
         sorted, any, all, bool, ascii)  # fmt: skip
_STATEFUL = frozenset(
    ("random", "time", "secrets", "uuid", "datetime", "logging", "warnings", "sys", "os", "io", "subprocess", "socket",
     "threading", "queue", "multiprocessing", "ctypes", "pathlib", "shutil", "tempfile", "weakref", "gc", "pickle",
     "contextvars", "asyncio", "signal", "concurrent", "importlib", "inspect")
)  # fmt: skip


class Calls(Operators):
    """Calls."""

    made_codes: set[Any]
    made_objects: dict[int, Any]
    depth = 0
    dead: str
    notes: Record
    keywords: Sequence[str]

    @property
    def fills(self) -> bool:
        """Whether arrays that are made inside become part of the program, since values are written into them."""
        raise NotImplementedError

    # -- Values for code that is known ------------------------------------------------------------------

    def val(self, x: Any) -> Any:
        """A value as code that is known takes it."""
        kind = type(x)
        if isinstance(x, Box) or kind in PLAIN:
            return x
        if kind is Outside:
            return self._val_outside(x)
        if kind is list or kind is tuple:
            return kind(map(self.val, x))
        if kind is dict:
            return {k: self.val(v) for k, v in x.items()}
        if kind is slice:
            return slice(self.val(x.start), self.val(x.stop), self.val(x.step))
        if kind is DictView:
            return self.items(x)
        if kind is Ours:
            return x.function
        if kind is Drawing:
            return x
        if kind is Method or kind is types.FunctionType:
            return self.callback(x)
        if isinstance(x, tuple) and hasattr(x, "_fields"):
            return kind._make(map(self.val, x))
        if isinstance(x, np.ndarray | np.generic | np.dtype | set | frozenset | Exception) or inspect.isgenerator(x):
            return x
        if hasattr(x, "__next__") and not isinstance(x, Closed) and root_of(kind) in ("builtins", "itertools"):
            return x
        raise self.refuse(f"it hands a {kind.__name__.lower()} to code that is not known")

    def _val_outside(self, x: Outside) -> Any:
        o = x.o
        if type(o) in SEQUENCES:
            return [self.val(e) for e in self.items(x)]
        if type(o) in MAPPINGS:
            return {k: self.val(v) for k, v in self.mapping(x).items()}
        if type(o) is set:
            return set(self.items(x))
        if isinstance(o, type | np.ufunc | Op | Composite | types.ModuleType) and root_of(o) in _KNOWN:
            return o
        if isinstance(o, types.UnionType) or (isinstance(o, type) and issubclass(o, BaseException)):
            return o
        if isinstance(o, types.BuiltinFunctionType) and root_of(o) in ("builtins", "math", "numpy", "_operator"):
            return o
        if callable(o):
            return self.callback(x)
        raise self.refuse(f"it hands a {x.what} to code that is not known")

    def callback(self, f: Any) -> Callable[..., Any]:
        """A function of the user's for code that is known, which calls it."""

        def called(*args: Any, **kwargs: Any) -> Any:
            return self.val_out(self.call(f, args, kwargs))

        name = getattr(f.o, "__name__", "f") if isinstance(f, Outside) else getattr(f, "__name__", "f")
        called.__name__ = called.__qualname__ = str(name)
        target = f.o if isinstance(f, Outside) else self._function_of(f)
        with suppress(TypeError, ValueError):
            called.__signature__ = inspect.signature(target)  # type: ignore[attr-defined]  # what a function may have
        return called

    def _function_of(self, f: Any) -> Any:
        if isinstance(f, Method) and isinstance(f.function, Outside):
            return types.MethodType(f.function.o, object())
        return f

    def val_out(self, x: Any) -> Any:
        """What the user's function gave, for code that is known."""
        return self.val(x)

    def is_plain(self, x: Any) -> bool:
        """Whether methods of `x` are Python's, NumPy's or ours, to any depth."""
        kind = type(x)
        if kind in PLAIN or isinstance(x, Box | np.ndarray | np.generic | np.dtype):
            return True
        if kind in (list, tuple, set, frozenset, deque):
            return all(map(self.is_plain, x))
        if kind in (dict, OrderedDict):
            return all(self.is_plain(k) and self.is_plain(v) for k, v in x.items())
        return kind is slice or isinstance(x, Exception) or (isinstance(x, type) and root_of(x) == "builtins")

    def native(self, f: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What known code gives for values; what it raises, the plain function gets too, or the call is refused."""
        try:
            return f(*args, **kwargs)
        except AdjointError as error:
            raise self.refuse(str(error)) from error
        except Exception as error:
            if not any(isinstance(x, Box) for x in (*args, *kwargs.values())) or error in self.notes.raised:
                self.genuine(error)
            raise

    # -- Calls ------------------------------------------------------------------------------------------

    def made(self, f: Any) -> Any:
        """A function that was made inside: its calls go through the door by themselves."""
        self.made_codes.add(f.__code__)
        return f

    def call(self, f: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """``f(*args, **kwargs)``"""
        if self.dead:
            raise self.refuse(self.dead)
        kind = type(f)
        if kind is types.FunctionType:
            if DOOR in f.__code__.co_freevars or f.__code__ in self.made_codes:
                return f(*args, **kwargs)
            raise self.refuse(f"it calls {f.__qualname__}, which it got from a call")
        if kind is Method:
            return self._method(f, args, kwargs)
        if kind is Ours:
            return self._ours(f.function, args, kwargs)
        if kind is not Outside:
            if self.is_made(f):
                return self.call(self.special(f, f, "__call__"), args, kwargs)
            if isinstance(f, Box | Closed):
                raise self.refuse(f"it calls a {kind.__name__.lower()}")
            if callable(f) and root_of(kind) in ("functools",):
                raise self.refuse(f"it calls a {kind.__name__}")
            raise self.genuine(TypeError(f"{kind.__name__!r} object is not callable"))
        return self._call_outside(f, args, kwargs)

    def _call_outside(self, f: Outside, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        g = f.o
        special = _SPECIAL.get(g) if g.__hash__ is not None and callable(g) else None
        if special is not None:
            return special(self, *args, **kwargs)
        root = root_of(g)
        if isinstance(g, types.FunctionType):
            module = g.__module__ or ""
            if root == "numpy" or (root == "scipy" and module.startswith(("scipy.special", "scipy.linalg"))):
                return self._known(g, args, kwargs)
            if root == "adjoint" and module.startswith(_OURS) and not _has_users(g, args):
                if g.__name__ in _NOT_OURS:
                    raise self.refuse(f"it calls {g.__name__}")
                return self._ours(g, args, kwargs)
            if g is _SCRATCH:
                return np.zeros_like(self.val(args[2]))
            if g.__qualname__ == "Module.__call__" and root == "adjoint":
                return self._module(args, kwargs)
            if root in _STATEFUL or root == "scipy":
                raise self.refuse(f"it calls {module}.{g.__name__}")
            return self.follow(f, args, kwargs)
        if isinstance(g, Op | Composite):
            return self._ours(g, args, kwargs)
        if isinstance(g, type):
            return self._construct(f, g, args, kwargs)
        if isinstance(g, np.ufunc) or type(g) is type(np.where):
            return self._known(g, args, kwargs)
        if isinstance(g, types.BuiltinFunctionType):
            if isinstance(g.__self__, types.ModuleType | None) and root in ("numpy", "math", "cmath", "_operator"):
                return self._known(g, args, kwargs)
            raise self.refuse(f"it calls {_called(g)}, which has to happen at each call")
        if isinstance(g, functools.partial):
            before = self.take(g.args, AttributePlace(g, "args"))
            named = self.mapping(self.take(g.keywords, AttributePlace(g, "keywords")))
            return self.call(self.take(g.func, AttributePlace(g, "func")), (*before, *args), {**named, **kwargs})
        if hasattr(type(g), "explain") and root_of(type(g)) == "adjoint":  # a compiled function
            return self.call(self.take(g.function, AttributePlace(g, "function")), args, kwargs)
        if isinstance(g, types.WrapperDescriptorType | types.MethodDescriptorType):
            return self._slot_call(g, args, kwargs)
        if is_users(type(g)):
            if isinstance(g, Gate | Graph | Expr):
                return self._ours(g, args, kwargs)
            return self.call(self.special(f, g, "__call__"), args, kwargs)
        raise self.refuse(f"it calls a {type(g).__name__} of {root_of(type(g))}")

    def _module(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A call of a module, which is one of its `forward`."""
        of, *rest = args
        kind = self.kind_of(of)
        if root_of(kind) != "adjoint":
            _followed(self, self.pinned(getattr(kind, "forward", None)))
        return self.call(self.attr(of, "forward"), tuple(rest), kwargs)

    def _slot_call(self, g: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        of, *rest = args
        live = of.o if isinstance(of, Outside) else of
        if g is object.__setattr__:
            self.set_plainly(of, live, rest[0], rest[1], self.static(type(live), rest[0]))
            return None
        if g is object.__init__:
            return None
        raise self.refuse(f"it calls {g.__qualname__}")

    def follow(self, f: Outside, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call a function of the user's, by its twin."""
        function: types.FunctionType = f.o
        if "twin" not in f.read:
            code = function.__code__
            if root_of(function) != "adjoint":
                self.guards.at(AttributePlace(function, "__code__"), code)
                for name in ("__defaults__", "__kwdefaults__"):
                    if getattr(function, name) is not None:
                        self.guards.at(AttributePlace(function, name), getattr(function, name))
            frame = Frame(f, self.pinned(function.__globals__))
            try:
                made = twin(function, self, frame)
            except NoTwinError as error:
                raise self.refuse(str(error)) from None
            defaults, named = function.__defaults__, function.__kwdefaults__
            if defaults:
                made.__defaults__ = tuple(self.take(x, Place(defaults, i)) for i, x in enumerate(defaults))
            if named:
                made.__kwdefaults__ = {k: self.take(x, Place(named, k)) for k, x in named.items()}
            if code.co_flags & inspect.CO_VARKEYWORDS and self.depth == 0 and len(self.keywords) > 1:
                known = list(self.keywords)
                self.guards.text("keywords", lambda _: f"[*kwargs] == {known!r}")
            f.read["twin"] = made
        if self.depth > DEEPEST:
            raise self.refuse("it calls itself too deeply")
        self.depth += 1
        before, self.ours = self.ours, root_of(function) == "adjoint"
        try:
            return f.read["twin"](*args, **kwargs)
        except TypeError as error:
            if error.__traceback__ is not None and error.__traceback__.tb_next is None:
                self.genuine(error)  # of arguments that do not fit
            raise
        finally:
            self.depth -= 1
            self.ours = before

    def _known(self, g: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A function of NumPy's, or of Python's mathematics."""
        name = getattr(g, "__name__", "")
        if name in _IMPURE and root_of(g) == "numpy":
            raise self.refuse(f"it calls numpy.{name}")
        values, named = [self.val(a) for a in args], {k: self.val(v) for k, v in kwargs.items()}
        if not all(map(self._harmless, (*values, *named.values()))):
            raise self.refuse(f"it hands objects to {name}")
        symbols = any(map(_has_box, (*values, *named.values())))
        if not symbols:
            return self._constant(g, name, values, named)
        if name in _LAST and values and isinstance(values[0], np.ndarray):
            raise self.symbolic("it writes into an array that it made")
        out = named.get("out")
        if isinstance(out, np.ndarray):
            raise self.symbolic("it writes into an array that it made")
        if root_of(g) in ("math", "cmath"):
            return self._of_mathematics(g, name, values, named)
        if name in ("array", "asarray", "asanyarray", "ascontiguousarray"):
            return self._array(name, values, named)
        if (
            root_of(g) == "_operator"
            and len(values) == 2
            and all(type(v) is Number or type(v) in PLAIN for v in values)
        ):
            return (
                self.op(name.rstrip("_"), *args)
                if name.rstrip("_") in _BINARY
                else self.native(g, tuple(values), named)
            )
        return self.native(g, tuple(values), named)

    def _harmless(self, x: Any) -> bool:
        if isinstance(x, list | tuple):
            return all(map(self._harmless, x))
        if isinstance(x, dict):
            return all(map(self._harmless, x.values()))
        return self.is_plain(x) or isinstance(x, type | np.ufunc) or inspect.isgenerator(x) or callable(x)

    def _constant(self, g: Any, name: str, values: list[Any], named: dict[str, Any]) -> Any:
        """Of what is made inside alone."""
        found = self.native(g, tuple(values), named)
        if self.fills and name in _MAKERS and isinstance(found, np.ndarray) and found.dtype.kind in "fciub":
            return Symbol.of((found, constant(found)), LEVEL)
        return found

    def _array(self, name: str, values: list[Any], named: dict[str, Any]) -> Any:
        """``np.array`` of numbers and lists of these."""
        x, *rest = values
        dtype = named.get("dtype", rest[0] if rest else None)
        if not set(named) <= {"dtype", "copy"} or len(rest) > 1:
            raise self.refuse(f"it calls numpy.{name} in a way that is not known")
        found = self._stacked(x)
        if dtype is not None and found.dtype != np.dtype(dtype):
            found = found.astype(dtype)
        elif found is x and name == "array":
            found = found.copy() if isinstance(found.value if isinstance(found, Symbol) else 0, np.ndarray) else found
        return found

    def _stacked(self, x: Any) -> Any:
        if isinstance(x, Symbol):
            return x.as_array()
        if isinstance(x, Tensor) or (isinstance(x, Box) and not isinstance(x, Symbol)):
            raise self.refuse("it makes a plain array of a tensor")
        if isinstance(x, list | tuple):
            parts = [self._stacked(e) for e in x]
            if any(isinstance(p, Box) for p in parts):
                return np.stack(parts)
            return np.array(x)
        return np.asarray(x)

    def _of_mathematics(self, g: Any, name: str, values: list[Any], named: dict[str, Any]) -> Any:
        """A function of `math` of Python's numbers, whose domain errors stay."""
        similar = _MATHEMATICS.get(name)
        if similar is None or len(values) != 1 or root_of(g) != "math":
            options = {k: self.value(v) if isinstance(v, Symbol) else v for k, v in named.items()}
            return self.native(g, tuple(self.value(v) if isinstance(v, Symbol) else v for v in values), options)
        (x,) = values
        if isinstance(x, Symbol) and x.dtype.kind == "f" and not np.ndim(x.value):
            number = x if type(x) is Number else x.item()
            allowed, function = similar
            if allowed is not None and not self.truth(allowed(number)):
                return self.native(g, (self.value(number),), {})
            found = function(number)
            if not self.truth(np.isfinite(found)):
                return self.native(g, (self.value(number),), {})
            return found.item() if type(found) is not Number else found
        return self.native(g, (self.value(x),), {})

    def _ours(self, g: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """One of our functions, which may call the user's."""
        values, named = tuple(self.val(a) for a in args), {k: self.val(v) for k, v in kwargs.items()}
        if isinstance(g, Op) and "random" in g.flags and not any(isinstance(v, Box) for v in values):
            values = tuple(
                Symbol.of((v, constant(v)), LEVEL) if isinstance(v, np.ndarray | np.generic | float) else v
                for v in values
            )
        found = self.native(g, values, named)
        return self._result(found)

    def _result(self, found: Any) -> Any:
        if isinstance(found, tuple) and type(found) is tuple:
            return tuple(map(self._result, found))
        if isinstance(found, Box | np.ndarray | np.generic | set_grad_enabled) or type(found) in (*PLAIN, list, dict):
            return found
        return Ours(found) if callable(found) else found

    # -- Methods ----------------------------------------------------------------------------------------

    def _method(self, m: Method, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        of, name = m.of, m.function
        if not isinstance(name, str):
            return self.call(name, (of, *args), kwargs)
        if isinstance(of, Outside):
            if type(of.o) in CONTAINERS:
                return self.container_method(of, name, args, kwargs)
            if isinstance(of.o, Optimizer):
                return self.native(getattr(self.inputs.optimizer(of.o, self.take), name), args, kwargs)
            if isinstance(of.o, np.ufunc):
                return self._known(getattr(of.o, name), args, kwargs) if name != "at" else self._at_ufunc(of.o, args)
            if isinstance(of.o, Op | Composite) or (isinstance(of.o, type) and root_of(of.o) == "numpy"):
                return self._ours(getattr(of.o, name), args, kwargs)
            raise self.refuse(f"it calls {name} of a {of.what}")
        if isinstance(of, Super | DictView):
            raise self.refuse(f"it calls {name} of a {of.what}")
        if isinstance(of, Box | Drawing):
            values, named = tuple(self.val(a) for a in args), {k: self.val(v) for k, v in kwargs.items()}
            if name == "item" and type(of) is Number:
                return of
            found = self.native(getattr(of, name), values, named)
            if type(of) is Number and type(found) is Symbol:
                return symbol_of(found.value.item(), found.node)
            return found
        return self.plain_method(of, name, args, kwargs)

    def _at_ufunc(self, ufunc: np.ufunc, args: tuple[Any, ...]) -> Any:
        values = tuple(self.val(a) for a in args)
        if isinstance(values[0], np.ndarray) and any(map(_has_box, values)):
            raise self.symbolic("it writes into an array that it made")
        return self.native(ufunc.at, values, {})

    def plain_method(self, o: Any, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A method of a plain thing that was made inside."""
        kind = type(o)
        if kind in (list, deque):
            if name in ("append", "insert", "pop", "reverse", "clear", "copy", "appendleft", "popleft", "rotate"):
                return self.native(
                    getattr(o, name), tuple(self.value(a) if name in ("pop", "rotate") else a for a in args), kwargs
                )
            if name in ("extend", "extendleft"):
                return self.native(getattr(o, name), (self.items(args[0]),), {})
            if name == "sort":
                o[:] = self._sorted(o, **kwargs)
                return None
            if name in ("index", "remove", "count"):
                return self._search(o, name, *args)
        if kind in (dict, OrderedDict):
            if name in ("get", "pop", "setdefault"):
                return self.native(getattr(o, name), (self.key(args[0]), *args[1:]), kwargs)
            if name == "update":
                o.update({**(self.pairs(args[0]) if args else {}), **kwargs})
                return None
            if name in ("keys", "values", "items", "copy", "clear", "popitem", "move_to_end"):
                return self.native(getattr(o, name), args, kwargs)
        if kind is set:
            if name in ("add", "discard", "remove"):
                return self.native(getattr(o, name), (self.key(args[0]),), {})
            if name not in ("pop",):
                return self.native(getattr(o, name), tuple(set(map(self.key, self.lazy(a))) for a in args), {})
        if kind in (str, bytes, int, float, complex, tuple, range, frozenset, slice) or isinstance(
            o, np.ndarray | np.generic | np.dtype
        ):
            if name == "join":
                args = (self.items(args[0]),)
            values, named = tuple(self.val(a) for a in args), {k: self.val(v) for k, v in kwargs.items()}
            if kind is str and name == "format":
                values, named = tuple(map(self.shown, values)), {k: self.shown(v) for k, v in named.items()}
            if not all(map(self._harmless, (*values, *named.values()))):
                raise self.refuse(f"it hands objects to {name}")
            if isinstance(o, np.ndarray) and any(map(_has_box, (*values, *named.values()))):
                function = getattr(np, name, None)
                if function is None or name in ("put", "fill", "sort", "partition"):
                    raise self.symbolic(f"it calls {name} of an array that it made")
                return self.native(function, (o, *values), named)
            return self.native(getattr(o, name), values, named)
        if inspect.isgenerator(o) and name in ("send", "close", "throw"):
            return self.native(getattr(o, name), args, kwargs)
        if isinstance(o, set_grad_enabled):
            raise self.refuse(f"it calls {name}")
        if isinstance(o, Exception) and name in ("with_traceback", "add_note"):
            return o
        if isinstance(o, tuple) and name in ("_replace", "_asdict"):
            return self.native(getattr(o, name), args, kwargs)
        raise self.refuse(f"it calls {name} of a {kind.__name__}")

    def _search(self, o: Any, name: str, x: Any) -> Any:
        found = [i for i, e in enumerate(o) if e is x or self.truth(self.compare("eq", e, x))]
        if name == "count":
            return len(found)
        if not found:
            raise self.genuine(ValueError("x not in list"))
        if name == "remove":
            del o[found[0]]
            return None
        return found[0]

    # -- Objects ----------------------------------------------------------------------------------------

    def _construct(self, f: Outside, kind: type, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if kind in (list, tuple, set, frozenset, deque):
            values = self.items(args[0]) if args else []
            return kind(map(self.key, values)) if kind in (set, frozenset) else kind(values)
        if kind is dict or kind is OrderedDict:
            return kind({**(self.pairs(args[0]) if args else {}), **kwargs})
        if kind in _PURE:
            return self.pure(kind, args, kwargs)
        if issubclass(kind, np.generic) or kind is np.dtype:
            return self._scalar(kind, args, kwargs)
        if issubclass(kind, Exception):
            if lookup(kind, "__init__") is not lookup(Exception, "__init__") and is_users(kind):
                raise self.refuse(f"it makes a {kind.__name__}")
            return kind(*args)
        if issubclass(kind, set_grad_enabled) or kind is np.errstate:
            return kind(*map(self.val, args), **{k: self.val(v) for k, v in kwargs.items()})
        if kind is Tensor:
            return self._ours(kind, args, kwargs)
        if kind is functools.partial:
            first, *rest = args
            return self.made(lambda *a, **k: self.call(first, (*rest, *a), {**kwargs, **k}))
        if (
            issubclass(kind, tuple)
            and hasattr(kind, "_fields")
            and lookup(kind, "__new__").__code__.co_filename.startswith("<string")
        ):
            return self.native(kind, args, kwargs)
        if root_of(kind) == "adjoint" and not issubclass(kind, Optimizer) and kind.__module__.startswith(_OURS):
            return self._ours(kind, args, kwargs)
        if not is_users(kind) or root_of(kind) == "adjoint" or root_of(kind) in sys.stdlib_module_names:
            raise self.refuse(f"it makes a {kind.__name__}")
        return self._object(kind, args, kwargs)

    def _object(self, kind: type, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        bases = kind.__mro__[:-1]
        if (
            type(kind) is not type
            or not all(is_users(base) for base in bases)
            or any(root_of(b) == "adjoint" for b in bases)
        ):
            raise self.refuse(f"it makes a {kind.__name__}")
        if self.static(kind, "__new__") is not object.__dict__["__new__"] or lookup(kind, "__del__") is not MISSING:
            raise self.refuse(f"it makes a {kind.__name__}")
        made: Any = object.__new__(kind)
        self.made_objects[id(made)] = made
        begin = self.static(kind, "__init__")
        if isinstance(begin, types.FunctionType):
            if begin.__code__.co_filename == "<string>":
                self._dataclass(kind, made, begin, args, kwargs)
            else:
                self.call(self.pinned(begin), (made, *args), kwargs)
        elif args or kwargs:
            raise self.genuine(TypeError(f"{kind.__name__}() takes no arguments"))
        return made

    def _dataclass(self, kind: type, made: Any, begin: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        import dataclasses

        fields = getattr(kind, "__dataclass_fields__", None)
        if fields is None or any(
            f.default_factory is not dataclasses.MISSING or f._field_type is not dataclasses._FIELD  # type: ignore[attr-defined]  # not public
            for f in fields.values()
        ):
            raise self.refuse(f"it makes a {kind.__name__}")
        bound = inspect.signature(begin).bind(made, *args, **kwargs)
        bound.apply_defaults()
        for name, value in list(bound.arguments.items())[1:]:
            object.__setattr__(made, name, value)
        after = self.static(kind, "__post_init__")
        if isinstance(after, types.FunctionType):
            self.call(self.pinned(after), (made,), {})

    def is_made(self, o: Any) -> bool:
        return id(o) in self.made_objects

    # -- Python's own functions -------------------------------------------------------------------------

    def _scalar(self, kind: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if args and isinstance(args[0], Symbol) and not kwargs:
            if not np.ndim(args[0].value):
                return args[0].as_array().astype(kind)
            return args[0].astype(kind)
        return self.native(kind, tuple(map(self.val, args)), kwargs)

    def _sorted(self, xs: Any, key: Any = None, reverse: Any = False) -> list[Any]:
        values = self.items(xs)
        keys = values if key is None else [self.call(key, (x,), {}) for x in values]
        if not all(map(self.is_plain, keys)):
            raise self.refuse("it sorts objects")
        order = self.native(sorted, (range(len(values)),), {"key": keys.__getitem__, "reverse": self.truth(reverse)})
        return [values[i] for i in order]

    def pure(self, g: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A function of Python's that only computes."""
        if g is bool:
            return self.truth(args[0]) if args else False
        if g is sum:
            return functools.reduce(
                lambda a, b: self.op("add", a, b),
                self.lazy(args[0]),
                args[1] if len(args) > 1 else kwargs.get("start", 0),
            )
        if g in (any, all):
            tested = (self.truth(x) for x in self.lazy(args[0]))
            return any(tested) if g is any else all(tested)
        if g is sorted:
            return self._sorted(*args, **kwargs)
        if g in (min, max):
            return self._extreme(g, args, **kwargs)
        if g in (pow, divmod) and len(args) == 2:
            if g is pow:
                return self.op("pow", *args)
            return self.op("floordiv", *args), self.op("mod", *args)
        if args and (isinstance(args[0], Closed) or self.is_made(args[0])):
            return self._pure_of_object(g, args, kwargs)
        values = tuple(map(self.val, args))
        if g in (repr, str, format, ascii) and values and not isinstance(values[0], Exception):
            values = (self.shown(values[0]), *values[1:])
        if not all(map(self.is_plain, values)):
            raise self.refuse(f"it calls {g.__name__} of objects")
        if g is float and type(values[0] if values else 0) is Number and _is_real(values[0]):
            return values[0]
        if (
            g is float
            and values
            and type(values[0]) is Symbol
            and values[0].dtype.kind == "f"
            and np.size(values[0].value) == 1
            and np.ndim(values[0].value) == 0
        ):
            return values[0].item()
        found = self.native(g, values, {k: self.val(v) for k, v in kwargs.items()})
        if g is abs and type(values[0]) is Number and type(found) is Symbol:
            return symbol_of(found.value.item(), found.node)
        return found

    def _pure_of_object(self, g: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        x = args[0]
        plain = self._as_plain(x)
        if plain is not x and self.is_plain(self.val(plain)):
            return self.native(g, (self.val(plain), *args[1:]), kwargs)
        kind = self.kind_of(x)
        name = {float: "__float__", int: "__int__", abs: "__abs__", round: "__round__", complex: "__complex__",
                repr: "__repr__", str: "__str__"}.get(g)  # fmt: skip
        if name is not None and is_users(kind):
            found = self.static(kind, name)
            if isinstance(found, types.FunctionType):
                return self.call(Method(x, self.pinned(found)), args[1:], kwargs)
        raise self.refuse(f"it calls {g.__name__} of a {kind.__name__}")

    def _extreme(self, g: Any, args: tuple[Any, ...], key: Any = None, default: Any = MISSING) -> Any:
        values = self.items(args[0]) if len(args) == 1 else list(args)
        if not values:
            if default is not MISSING:
                return default
            raise self.genuine(ValueError(f"{g.__name__}() iterable argument is empty"))
        keys = values if key is None else [self.call(key, (x,), {}) for x in values]
        best = 0
        for i in range(1, len(values)):
            if self.truth(self.compare("lt" if g is min else "gt", keys[i], keys[best])):
                best = i
        return values[best]

    def super_(self, kind: Any, of: Any) -> Super:
        """``super()``"""
        return Super(kind.o, of)


def _has_users(g: types.FunctionType, args: tuple[Any, ...]) -> bool:
    """Whether one of our functions has something of the user's by itself: a closure, or the method of an object."""
    of = args[0] if args else None
    return bool(g.__closure__) or (isinstance(of, Outside) and g is vars(type(of.o)).get(g.__name__))


def _has_box(x: Any) -> bool:
    if isinstance(x, list | tuple):
        return any(map(_has_box, x))
    if isinstance(x, dict):
        return any(map(_has_box, x.values()))
    if isinstance(x, slice):
        return _has_box((x.start, x.stop, x.step))
    return isinstance(x, Box)


def _is_real(x: Any) -> bool:
    return type(x.value) is float


def _called(g: Any) -> str:
    owner = g.__self__
    if isinstance(owner, types.ModuleType):
        name = owner.__name__.lstrip("_")
        return f"{g.__name__}" if name == "builtins" else f"{name}.{g.__name__}"
    return f"{g.__name__} of a {type(owner).__name__} of {root_of(type(owner)).lstrip('_')}"


_BINARY = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul")
_MAKERS = frozenset(("zeros", "ones", "empty", "full", "zeros_like", "ones_like", "empty_like", "full_like", "arange",
                     "linspace", "eye", "identity", "array", "copy", "tile", "repeat", "asarray"))  # fmt: skip
_MATHEMATICS: dict[str, tuple[Any, Any]] = {
    "sqrt": (lambda x: x >= 0.0, np.sqrt), "fabs": (None, np.fabs),
}  # fmt: skip


def _length(door: Calls, x: Any) -> Any:
    if isinstance(x, Outside) and (type(x.o) in SEQUENCES or type(x.o) in MAPPINGS or type(x.o) is set):
        if type(x.o) in MAPPINGS and not x.changed:
            door._sized(x)
            return len(x.o)
        return len(door.items(x))
    if isinstance(x, DictView):
        return len(door.items(x))
    if (isinstance(x, Outside) and is_users(type(x.o))) or door.is_made(x):
        kind = door.kind_of(x)
        found = door.static(kind, "__len__")
        if not isinstance(found, types.FunctionType):
            raise door.refuse(f"it takes the length of a {kind.__name__}")
        return door.call(Method(x, door.pinned(found)), (), {})
    if isinstance(x, Closed):
        raise door.refuse(f"it takes the length of a {x.what}")
    return door.native(len, (x,), {})


def _type(door: Calls, x: Any, *more: Any) -> Any:
    if more:
        raise door.refuse("it makes a class")
    if isinstance(x, Drawing):
        return door.pinned(np.random.Generator)
    if isinstance(x, Method):
        return door.pinned(types.MethodType)
    return door.pinned(door.kind_of(x))


def _isinstance(door: Calls, x: Any, kinds: Any) -> bool:
    if isinstance(x, Box) and (door.ours or not isinstance(x, Symbol | Tensor)):
        return isinstance(x, door.val(kinds))
    kind = _type(door, x).o
    return _is_subclass(door, kind, kinds)


def _is_subclass(door: Calls, kind: Any, kinds: Any) -> bool:
    if isinstance(kinds, tuple):
        return any(_is_subclass(door, kind, k) for k in kinds)
    if isinstance(kinds, types.UnionType):
        return any(_is_subclass(door, kind, door.pinned(k)) for k in kinds.__args__)
    if isinstance(kinds, Outside) and isinstance(kinds.o, types.UnionType):
        return any(_is_subclass(door, kind, door.pinned(k)) for k in kinds.o.__args__)
    if not isinstance(kinds, Outside) or not isinstance(kinds.o, type):
        raise door.refuse("it asks isinstance of something that is no class")
    other = kinds.o
    ask = type(other).__instancecheck__
    if ask is not type.__instancecheck__ and root_of(other) not in ("numbers", "collections", "typing", "abc", "enum"):
        if type(other).__module__ != "enum":
            raise door.refuse(f"{other.__name__} says itself what is one of it")
    kind = kind.o if isinstance(kind, Outside) else kind
    return issubclass(kind, other)


def _getattr(door: Calls, o: Any, name: Any, *default: Any) -> Any:
    name = door.value(name)
    known = len(door.raised)
    try:
        return door.attr(o, name)
    except AttributeError as error:
        door.check(error)
        del door.raised[known:]
        if default:
            return default[0]
        raise door.genuine(error) from None


def _hasattr(door: Calls, o: Any, name: Any) -> bool:
    return _getattr(door, o, name, MISSING) is not MISSING


def _setattr(door: Calls, o: Any, name: Any, value: Any) -> None:
    door.setattr(o, door.value(name), value)


def _vars(door: Calls, o: Any) -> Any:
    return door.attr(o, "__dict__")


def _id(door: Calls, o: Any) -> int:
    if isinstance(o, Outside) and o.path is None:
        return id(o.o)
    live = door.inputs.live.get(id(o))
    if isinstance(o, Tensor) and live is not None and not isinstance(live, int):
        return id(live)
    raise door.refuse("it asks for the id of a value")


def _range(door: Calls, *args: Any) -> Any:
    values = tuple(operator.index(door.value(a)) if not isinstance(a, Closed) else a for a in args)
    return door.native(range, values, {})


def _map(door: Calls, f: Any, *xs: Any) -> Any:
    return (door.call(f, each, {}) for each in zip(*map(door.lazy, xs), strict=False))


def _filter(door: Calls, f: Any, xs: Any) -> Any:
    return (x for x in door.lazy(xs) if door.truth(x if f is None else door.call(f, (x,), {})))


def _zip(door: Calls, *xs: Any, strict: Any = False) -> Any:
    return zip(*map(door.lazy, xs), strict=door.truth(strict))


def _enumerate(door: Calls, xs: Any, start: Any = 0) -> Any:
    return enumerate(door.lazy(xs), door.value(start))


def _reversed(door: Calls, xs: Any) -> Any:
    return iter(door.items(xs)[::-1])


def _next(door: Calls, xs: Any, *default: Any) -> Any:
    if isinstance(xs, Closed):
        raise door.refuse(f"it calls next of a {xs.what}, which gives something else at each call")
    return door.native(next, (xs, *default), {})


def _callable(door: Calls, x: Any) -> bool:
    return callable(x.o) if isinstance(x, Outside) else isinstance(x, Method | Ours) or callable(x)


def _reduce(door: Calls, f: Any, xs: Any, *first: Any) -> Any:
    return functools.reduce(lambda a, b: door.call(f, (a, b), {}), door.lazy(xs), *first)


def _property_free(door: Calls, f: Any) -> Any:
    return f


def _wraps(door: Calls, *_: Any, **__: Any) -> Any:
    return door.made(lambda f: f)


def _followed(door: Calls, f: Any) -> Any:
    """A module's `forward`; one that has a twin for derivatives, and makes arrays, gives tensors in their place."""
    if isinstance(f.o, types.FunctionType) and follow(f.o) is not f.o and not _MAKERS.isdisjoint(f.o.__code__.co_names):
        raise door.refuse(f"{f.o.__qualname__} is rewritten for derivatives")
    return f


def _hash(door: Calls, x: Any) -> int:
    return hash(door.key(x))


def _pure(g: Any) -> Any:
    return lambda door, *args, **kwargs: door.pure(g, args, kwargs)


_SPECIAL: dict[Any, Any] = {
    len: _length, type: _type, isinstance: _isinstance, issubclass: _is_subclass, getattr: _getattr, hasattr: _hasattr,
    setattr: _setattr, vars: _vars, id: _id, range: _range, map: _map, filter: _filter, zip: _zip,
    enumerate: _enumerate, reversed: _reversed, next: _next, iter: lambda door, x: iter(door.lazy(x)),
    callable: _callable, slice: lambda door, *args: slice(*args), functools.reduce: _reduce, functools.wraps: _wraps,
    follow: _followed, hash: _hash, delattr: lambda door, o, name: door.delattr(o, name),
    **{g: _pure(g) for g in _PURE},
    np.shape: lambda door, x: door.native(np.shape, (door.val(x),), {}),
}  # fmt: skip
