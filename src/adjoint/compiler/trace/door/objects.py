"""What the door does with objects that the function makes, and with methods of plain ones."""

from __future__ import annotations

import abc
import enum
import functools
import inspect
import sys
import types
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Mapping, Sequence
from itertools import islice

import numpy as np

from adjoint.compiler.trace.door.known.histories import has_history
from adjoint.compiler.trace.door.known.libraries import OURS, Libraries
from adjoint.compiler.trace.door.known.library_calls import EXPRESSIONS, of_expression
from adjoint.compiler.trace.door.known.values import DICTS
from adjoint.compiler.trace.guards import AttributeBinding, Binding
from adjoint.compiler.trace.outside import MISSING, Outside, Unsaid, is_users, lookup, root_of
from adjoint.core.box import has_box
from adjoint.core.types import Array, Function, Value
from adjoint.graph.captures.record import ERRORS, SILENT
from adjoint.optim.optimizer import Optimizer
from adjoint.tape.modes import set_grad_enabled
from adjoint.tape.tensor import Tensor
from adjoint.twin.standins import array_method

PURE = (abs, round, float, int, complex, divmod, pow, repr, str, format, ord, chr, bytes, bin, hex, sum, min, max,
         sorted, any, all, bool, ascii)  # fmt: skip
MADE = (list, tuple, set, frozenset, dict, OrderedDict, Counter)
TEXTS = (repr, str, format, ascii)

_NO_MEMBER = (vars(enum.Enum)["_missing_"], vars(enum.Flag)["_missing_"])


class Objects(Libraries):
    """Objects that are made inside."""

    made_objects: dict[int, object]

    def construct(self, f: Outside, kind: type, args: tuple[Value, ...], kwargs: dict[str, Value]) -> object:
        if kind in MADE and (len(args) > 1 or (kwargs and kind not in DICTS)):
            raise self.refuse(f"it calls {kind.__name__} with more than one thing")
        if kind is deque:
            return self._deque(*args, **kwargs)
        if kind is defaultdict:
            return self._defaults(*args, **kwargs)
        if kind is Counter and not kwargs and args and not issubclass(self.kind_of(args[0]), Mapping):
            return Counter(map(self.key, self.lazy(args[0])))
        if kind in (set, frozenset):
            return kind(self.table(args[0]) if args else ())
        if kind in (list, tuple):
            return kind(self.items(args[0]) if args else [])
        if kind in DICTS:
            mapping: Value = kind
            return mapping({**(self.pairs(args[0]) if args else {}), **kwargs})
        if kind in PURE:
            return self.pure(kind, args, kwargs)
        if issubclass(kind, np.generic) or kind is np.dtype:
            return self.scalar(kind, args, kwargs)
        if issubclass(kind, Exception):
            return self._exception(kind, args, kwargs)
        if kind is np.errstate and not SILENT.issuperset(v for k, v in kwargs.items() if k != "call" and v is not None):
            raise self.refuse(ERRORS)
        if issubclass(kind, set_grad_enabled) or kind is np.errstate:
            return kind(*map(self.val, args), **{k: self.val(v) for k, v in kwargs.items()})
        if kind is Tensor:
            return self.of_ours(kind, args, kwargs)
        if kind is functools.partial:
            first, *rest = args
            return self.made(lambda *a, **k: self.call(first, (*rest, *a), {**kwargs, **k}))
        if (
            issubclass(kind, tuple)
            and hasattr(kind, "_fields")
            and lookup(kind, "__new__").__code__.co_filename.startswith("<string")
        ):
            return self.native(kind, args, kwargs)
        if type(kind) is enum.EnumMeta and len(args) == 1 and not kwargs and lookup(kind, "_missing_") in _NO_MEMBER:
            return self.pinned(self.native(kind, (self.value(args[0]),), {}))
        if root_of(kind) == "adjoint" and not issubclass(kind, Optimizer) and kind.__module__.startswith(OURS):
            return self.of_ours(kind, args, kwargs)
        if not is_users(kind) or root_of(kind) == "adjoint" or root_of(kind) in sys.stdlib_module_names:
            raise self.refuse(f"it makes a {kind.__name__}")
        return self._object(kind, args, kwargs)

    def _exception(self, kind: type, args: tuple[Value, ...], kwargs: dict[str, Value]) -> object:
        """An exception; one of a user's class is begun by the user's code."""
        begin = self.static(kind, "__init__")
        if not isinstance(begin, types.FunctionType):
            return self.native(kind, args, kwargs)
        if isinstance(self.static(kind, "__new__"), staticmethod | types.FunctionType) or type(kind) is not type:
            raise self.refuse(f"it makes a {kind.__name__}")
        made: Value = kind.__new__(kind, *args)
        self.made_objects[id(made)] = made
        self.call(self.pinned(begin), (made, *args), kwargs)
        return made

    def _deque(self, values: Value = (), maxlen: Value = None) -> object:
        return deque(self.items(values), self.value(maxlen))

    def _defaults(self, factory: Value = None, *given: Value, **named: Value) -> object:
        """A dictionary whose missing values come through the door."""

        def missing() -> Value:
            return self.call(factory, (), {})

        missing.factory = factory  # type: ignore[attr-defined]  # what it leaves the function with
        pairs = {**(self.pairs(given[0]) if given else {}), **named}
        return defaultdict(None if factory is None else missing, pairs)

    def _object(self, kind: type, args: tuple[object, ...], kwargs: dict[str, object]) -> Value:
        bases = kind.__mro__[:-1]
        if (
            type(kind) not in (type, abc.ABCMeta)
            or not all(is_users(base) for base in bases)
            or any(root_of(b) == "adjoint" for b in bases)
        ):
            raise self.refuse(f"it makes a {kind.__name__}")
        if self.static(kind, "__new__") is not object.__dict__["__new__"] or lookup(kind, "__del__") is not MISSING:
            raise self.refuse(f"it makes a {kind.__name__}")
        made: Value = self.native(object.__new__, (kind,), {})
        self.made_objects[id(made)] = made
        begin = self.static(kind, "__init__")
        if isinstance(begin, types.FunctionType):
            if begin.__code__.co_filename == "<string>":
                self._dataclass(kind, made, begin, args, kwargs)
            elif self.call(self.pinned(begin), (made, *args), kwargs) is not None:
                raise self.genuine(TypeError(Unsaid()))
        elif args or kwargs:
            raise self.genuine(TypeError(f"{kind.__name__}() takes no arguments"))
        return made

    def _dataclass(
        self, kind: Value, made: Value, begin: Function, args: tuple[object, ...], kwargs: dict[str, object]
    ) -> None:
        import dataclasses

        fields = getattr(kind, "__dataclass_fields__", None)
        if fields is None or any(
            f._field_type is not dataclasses._FIELD  # type: ignore[attr-defined]  # not public
            for f in fields.values()
        ):
            raise self.refuse(f"it makes a {kind.__name__}")
        signature = inspect.signature(begin)
        given = signature.bind(made, *args, **kwargs).arguments
        otherwise: dict[str, Binding] = {}
        if begin.__defaults__:
            self.guards.at(AttributeBinding(begin, "__defaults__"), begin.__defaults__)
            names, count = [*signature.parameters][: begin.__code__.co_argcount], len(begin.__defaults__)
            otherwise = {name: Binding(begin.__defaults__, k) for k, name in enumerate(names[-count:])}
        otherwise |= {name: Binding(begin.__kwdefaults__, name) for name in begin.__kwdefaults__ or ()}
        for name in [*signature.parameters][1:]:
            value = given[name] if name in given else otherwise[name].read()
            if value is dataclasses._HAS_DEFAULT_FACTORY:  # type: ignore[attr-defined]  # not public
                value = self.call(self.pinned(fields[name].default_factory), (), {})
            elif name not in given:
                value = self.take(value, otherwise[name])
            if kind.__dataclass_params__.frozen:
                self.set_plainly(made, made, name, value, self.static(kind, name))
            else:
                self.setattr(made, name, value)
        after = self.static(kind, "__post_init__")
        if isinstance(after, types.FunctionType):
            self.call(self.pinned(after), (made,), {})

    def is_made(self, o: object) -> bool:
        return id(o) in self.made_objects

    def plain_method(self, o: Value, name: str, args: tuple[Value, ...], kwargs: dict[str, Value]) -> object:
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
                o[:] = self.sort(o, **kwargs)
                return None
            if name in ("index", "remove", "count"):
                return self._search(o, name, *args)
        if kind in DICTS:
            if kind is Counter and name in ("most_common", "elements", "total") and self.is_plain(o):
                return self.native(getattr(o, name), tuple(map(self.value, args)), kwargs)
            if kind is Counter and name in ("update", "subtract"):
                raise self.refuse(f"it calls {name} of a Counter")
            if name in ("get", "pop", "setdefault"):
                return self.native(getattr(o, name), (self.key(args[0]), *args[1:]), kwargs)
            if name == "update":
                o.update({**(self.pairs(args[0]) if args else {}), **kwargs})
                return None
            if name in ("keys", "values", "items", "copy", "clear", "popitem", "move_to_end"):
                found = self.native(getattr(o, name), args, kwargs)
                return (self.from_key(found[0]), found[1]) if name == "popitem" else found
        if kind is set:
            if name in ("add", "discard", "remove"):
                return self.native(getattr(o, name), (self.key(args[0]),), {})
            if name not in ("pop",):
                return self.native(getattr(o, name), tuple(map(self.table, args)), {})
        if kind in (str, bytes, int, float, complex, tuple, range, frozenset, slice) or isinstance(
            o, np.ndarray | np.generic | np.dtype
        ):
            if name == "join":
                args = (self.items(args[0]),)
            taken = self.shown if kind is str and name in ("format", "__mod__") else self.val
            values, named = tuple(map(taken, args)), {k: taken(v) for k, v in kwargs.items()}
            if not all(map(self.harmless, (*values, *named.values()))):
                raise self.refuse(f"it hands objects to {name}")
            if isinstance(o, np.ndarray) and any(map(has_box, (*values, *named.values()))):
                if any(map(has_history, (*values, *named.values()))):
                    return self.with_histories(o, name, values, named)
                function = getattr(np, name, None)
                if function is None or name in ("put", "fill", "sort", "partition"):
                    raise self.symbolic(o, f"it calls {name} of an array that it made")
                return self.native(function, (o, *values), named)
            return self.native(getattr(o, name), values, named)
        if kind in EXPRESSIONS:
            return of_expression(self, o, name, args, kwargs)
        if inspect.isgenerator(o) and name == "throw":
            return self.native(o.throw, (self.exception(args[0]), *args[1:]), kwargs)
        if inspect.isgenerator(o) and name in ("send", "close", "throw"):
            return self.native(getattr(o, name), args, kwargs)
        if isinstance(o, set_grad_enabled):
            raise self.refuse(f"it calls {name}")
        if isinstance(o, Exception) and name == "add_note":
            return self.native(o.add_note, tuple(map(self.value, args)), {})
        if isinstance(o, Exception) and name == "with_traceback":
            return o
        if isinstance(o, tuple) and name in ("_replace", "_asdict"):
            return self.native(getattr(o, name), args, kwargs)
        raise self.refuse(f"it calls {name} of a {kind.__name__}")

    def with_histories(self, o: Array, name: str, values: Sequence[Value], named: dict[str, Value]) -> Value:
        """A method of a plain array, which is given tensors: NumPy's makes arrays of these."""
        stand_in = array_method(name) if self.histories else None
        if stand_in is None:
            raise self.refuse(f"it hands a tensor to {name} of an array")
        return self.native(stand_in, (o, *values), named)

    def _search(self, o: Value, name: str, x: Value) -> object:
        places = (i for i, e in enumerate(o) if self.is_found(e, x))
        if name == "count":
            return len([*places])
        found = [*islice(places, 1)]  # as lists do, which ask no further
        if not found:
            raise self.genuine(ValueError(Unsaid()))
        if name == "remove":
            del o[found[0]]
            return None
        return found[0]

    # -- Of the other parts of the door -----------------------------------------------------------------

    def made(self, f: Value) -> Value:
        raise NotImplementedError

    def pure(self, g: Value, args: tuple[Value, ...], kwargs: dict[str, Value]) -> Value:
        raise NotImplementedError

    def sort(self, xs: Value, key: Value = None, reverse: Value = False) -> list[Value]:
        raise NotImplementedError
