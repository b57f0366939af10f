"""The hooks of a rewritten function: each resolves its argument to what should be called instead.

The hooks of one policy share its twins. They are reached through closure cells of the rewritten functions.
"""

from __future__ import annotations

import functools
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from types import FunctionType, MethodType, MethodWrapperType, ModuleType
from typing import TYPE_CHECKING

import numpy as np

from adjoint.arrays.python_number import PythonNumber
from adjoint.core.box import Box
from adjoint.core.types import Array, Function, Index, Value
from adjoint.tape.tensor import Tensor
from adjoint.twin.runtime import containers
from adjoint.twin.runtime.fresh import fresh
from adjoint.twin.runtime.operators import operator_hooks
from adjoint.twin.runtime.patterns import is_of, is_one_of, kind
from adjoint.twin.runtime.protocols import Protocols
from adjoint.twin.runtime.tables import table
from adjoint.twin.standins import (
    array_method,
    box_attribute,
    box_method,
    filled,
    find,
    joined_text,
    number_attribute,
    of_methods,
)
from adjoint.twin.subclasses.array import answered_by_method, made_of
from adjoint.twin.subclasses.base import MET, SubclassArray, class_of, found_in, inside, of_class
from adjoint.twin.syntax.names import MISSING, PREFIX

if TYPE_CHECKING:
    from adjoint.twin.twins import Twins

#: Methods by which values leave, which look at who calls them; they take no arrays.
_LEAVING = frozenset(("numpy", "item", "tolist", "detach", "backward", "tobytes", "tofile", "dump", "dumps"))
_OWN = frozenset({list, dict, tuple, set, frozenset, deque, str, float, int, bool, np.float64})


class PolicyHooks:
    """The hooks of one policy."""

    def __init__(self, twins: Twins) -> None:
        self.resolve = self._resolve = twins.resolve
        self._method, self._special = twins.method, twins.special
        self._of_module = twins.of_module
        self._inert, self._classes = twins.inert, twins.classes
        self.protocols = Protocols(twins, self)
        self.operators = operator_hooks(self._method, twins.classes.lifted, self.protocols.texts.written)
        self._plain: set[tuple[type, str]] = set()

    def table(self) -> Mapping[str, Function]:
        """The hooks, by the names that the rewriter gives them."""
        return {
            "call": self._resolve,
            "attribute": self.attribute,
            "method": self.method,
            "filling": self.filling,
            "set": self.set,
            "update": self.update,
            "update_item": self.update_item,
            "table": table,
            "fresh": fresh,
            "joined_text": joined_text,
            "names": _names,
            "kind": kind,
            "is_of": is_of,
            "is_one_of": is_one_of,
            **self.operators,
            **self.protocols.table(),
        }

    def attribute(self, o: Value, name: str) -> Value:
        """``o.name``, by the twin of the code that it runs."""
        if issubclass(type(o), PythonNumber):  # `isinstance` would ask `o` for its ``__class__``
            return number_attribute(o, name)
        if issubclass(type(o), Box):
            stand_in = box_attribute(name)
            return getattr(o, name) if stand_in is None else stand_in(o)
        if type(o) in _OWN or type(o) is np.ndarray:
            return getattr(o, name)
        cls = type(o)
        if (cls, name) in self._plain:
            return getattr(o, name)
        if cls is super:
            o = self._classes.above(o)
        elif name == "__class__" and issubclass(cls, SubclassArray):
            return class_of(o)
        found = self._getter(o, name)
        if found is not None:
            return found()
        if _static(cls.__mro__, name) is MISSING and not hasattr(cls, "__getattr__") and cls is not super:
            self._plain.add((cls, name))  # nothing but an instance's own value
        return getattr(o, name)

    def forget(self) -> None:
        """Look at classes anew."""
        self._plain.clear()
        self.protocols.forget()

    def _getter(self, o: Value, name: str) -> Callable[[], Value] | None:
        """The twin of the code that an attribute runs; None if it is a value, or its code is not followed."""
        cls = type(o)
        if cls is super:
            return self._of_parent(o, name)
        if not self._special(cls):
            return None
        missing = self._method(cls, "__getattr__")
        if (asked := self._method(cls, "__getattribute__")) is not None:
            return _or_missing(functools.partial(asked, o, name), missing, o, name)
        static = _static(cls.__mro__, name)
        if name in getattr(o, "__dict__", ()) and not hasattr(type(static), "__set__"):  # only data descriptors win
            return None
        if static is MISSING:
            return None if missing is None else lambda: missing(o, name)
        getter = self._getter_of(static, o, name)
        return None if getter is None else _or_missing(getter, missing, o, name)

    def _getter_of(self, static: Value, o: Value, name: str) -> Callable[[], Value] | None:
        """The twin of the code of what the class of `o` has under `name`."""
        cls = type(o)
        if isinstance(static, property) and static.fget is not None:
            twin = self._resolve(static.fget)
            return lambda: twin(o)
        if isinstance(static, functools.cached_property):
            make = self._resolve(static.func)

            def cached() -> Array:
                o.__dict__[name] = value = make(o)
                return value

            return cached
        if isinstance(static, functools.singledispatchmethod):
            return lambda: functools.partial(self._dispatched, static.dispatcher, o, cls)
        if isinstance(getattr(type(static), "__get__", None), FunctionType):
            getter = self._resolve(type(static).__get__)
            return lambda: getter(static, o, cls)
        return None

    def _dispatched(self, dispatcher: Value, o: Value, cls: type, first: Array, *args: Value, **kwargs: Value) -> Array:
        """A method that is chosen by the type that its first argument stands for."""
        kind: Value = find(type) or type
        return self._resolve(dispatcher.dispatch(kind(first)).__get__(o, cls))(first, *args, **kwargs)

    def _of_parent(self, o: Value, name: str) -> Callable[[], Value] | None:
        """The same for ``super().name``."""
        me = o.__self__
        order = (me if issubclass(type(me), type) else type(me)).__mro__
        static = _static(order[order.index(o.__thisclass__) + 1 :], name)
        if isinstance(static, property) and static.fget is not None:
            twin = self._resolve(static.fget)
            return lambda: twin(me)
        return None

    def method(self, o: Value, name: str) -> Value:
        """Resolve ``o.name``, just before it is called."""
        cls = type(o)
        stand_in: object = None
        if cls is ModuleType:
            return self._of_module(getattr(o, name))
        if cls is super and name == "__call__" and isinstance(getattr(o, name), MethodWrapperType):
            return functools.partial(self._resolve(type.__call__), o.__self__)  # of a metaclass, which makes an object
        if name == "view" and (cls is np.ndarray or isinstance(o, Box)):
            return self._viewing(o)
        if cls is Tensor or isinstance(o, Box):
            stand_in = box_method(name)
            if MET and name not in _LEAVING:
                return functools.partial(self._of_box, o, name, stand_in)
        elif cls is np.ndarray:
            stand_in = array_method(name)
        elif issubclass(cls, np.ndarray) and array_method(name) is not None and self._classes.concerns(cls):
            return functools.partial(self._of_lifted, o, name)
        elif cls in _OWN:
            stand_in = find(getattr(cls, name, None)) if cls is str else None
            if self.protocols.runs(name):
                plain = getattr(o, name) if stand_in is None else MethodType(stand_in, o)
                return containers.method_of(o, name, plain, self.protocols)
        elif name == "_implementation":  # of NumPy's functions, called by classes that answer some of them themselves
            return getattr(self._resolve(o), name, None) or getattr(o, name)
        elif cls not in self._inert and (found := of_methods(o)) is not None and not isinstance(o, type):
            method = getattr(found, name)
            is_own = isinstance(method, MethodType) and method.__self__ is o
            return self._resolve(method) if is_own or method is getattr(o, "__dict__", {}).get(name) else method
        else:
            return self._resolve(self.attribute(o, name))
        return getattr(o, name) if stand_in is None else MethodType(stand_in, o)

    def lifted_beside_boxes(self, args: tuple[Value, ...]) -> tuple[Value, ...]:
        """`args`; where there are boxes among them, arrays of users' classes can hold boxes too."""
        flat = [q for x in args for q in (x if type(x) in (list, tuple) else (x,))]
        if not any(isinstance(q, np.ndarray) and type(q) is not np.ndarray for q in flat):
            return args
        if not any(isinstance(q, Box) or of_class(q) for q in flat):
            return args
        lifted = self._classes.lifted
        return tuple(type(x)(map(lifted, x)) if type(x) in (list, tuple) else lifted(x) for x in args)

    def array_of(self, f: Value, otherwise: Function, x: Value, *args: Value, **kwargs: Value) -> Value:
        """`numpy.array` and its like of `x`, an array of a user's class or a list that holds some."""
        if not of_class(x) or not (f is np.asanyarray or kwargs.pop("subok", False)):
            return otherwise(inside(x), *args, **kwargs)
        held = x._adj_held
        made = otherwise(held, *args, **kwargs)
        return x if made is held else made_of(made, type(x), x)

    def _of_box(self, o: Value, name: str, stand_in: Function | None, *args: Value, **kwargs: Value) -> Value:
        """The method ``o.name`` of a box, where arrays of users' classes may be among the arguments."""
        method = getattr(o, name) if stand_in is None else MethodType(stand_in, o)
        args = self.lifted_beside_boxes((o, *args))[1:]
        if not found_in((args, kwargs)):
            return method(*args, **kwargs)
        return answered_by_method(o, name, method, *args, **kwargs)

    def _of_lifted(self, o: Value, name: str, *args: Value, **kwargs: Value) -> Value:
        """The method ``o.name`` of an array of a user's class; beside boxes, of one that can hold some."""
        o = self._classes.lifted(o) if any(isinstance(x, Box) or of_class(x) for x in (*args, *kwargs.values())) else o
        return self._resolve(self.attribute(o, name))(*args, **kwargs)

    def _viewing(self, o: Value) -> Function:
        """What is called in the place of ``o.view``: the view may be of a class."""
        own = box_method("view") if isinstance(o, Box) else None
        return self._classes.view_of(o, o.view if own is None else MethodType(own, o))

    def filling(self, o: object, name: str) -> Value:
        """Resolve ``o.name``, just before it is called with ``out=``."""
        return functools.partial(filled, o, name) if type(o) is np.ndarray else self.method(o, name)

    def set(self, o: Value, name: str, value: Array) -> None:
        """``o.name = value``, by the twin of a property's setter."""
        cls = type(o)
        if self._special(cls):
            static = _static(cls.__mro__, name)
            if (twin := self._method(cls, "__setattr__")) is not None:
                twin(o, name, value)
                return
            if isinstance(static, property) and static.fset is not None:
                self._resolve(static.fset)(o, value)
                return
            if (twin := self._method(type(static), "__set__")) is not None:
                twin(static, o, value)
                return
        setattr(o, name, value)

    def update(self, o: object, name: str, operator: Function, value: object) -> None:
        """``o.name += value``, or another operator that works in place."""
        self.set(o, name, operator(self.attribute(o, name), value))

    def update_item(self, o: Value, index: Index, operator: Function, value: Array) -> None:
        """``o[index] += value``, or another operator that works in place."""
        o = self.protocols.items(o)
        o[index] = operator(o[index], value)


def _or_missing(getter: Callable[[], Value], missing: Function | None, o: Value, name: str) -> Callable[[], Value]:
    """What gets an attribute: `getter`, and `missing`, which is ``__getattr__``, if that raises."""
    if missing is None:
        return getter

    def found() -> Value:
        try:
            return getter()
        except AttributeError:
            return missing(o, name)

    return found


def _static(order: Iterable[type], name: str) -> Value:
    """The value of `name` in the first class in `order` that defines it, which may be None; MISSING if none does."""
    return next((vars(cls)[name] for cls in order if name in vars(cls)), MISSING)


def _names(found: Value) -> object:
    """The result of `locals()`, `vars()` or `dir()` without our hooks."""
    if isinstance(found, dict):
        return {name: value for name, value in found.items() if not name.startswith(PREFIX)}
    return [name for name in found if not name.startswith(PREFIX)]
