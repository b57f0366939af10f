"""From a user's class of arrays to its twin class, and how objects of it are made."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable, Sequence
from functools import partial
from types import CellType, FunctionType, GetSetDescriptorType, MemberDescriptorType, MethodType
from typing import cast

import numpy as np

from adjoint.core.box import Box
from adjoint.core.errors import LeavesGraphError, NotSupportedError
from adjoint.core.objects.foreign import has_arithmetic
from adjoint.core.objects.trees import flatten
from adjoint.core.types import DType, Function, ShapeLike, Value
from adjoint.twin.policy import package
from adjoint.twin.runtime.fresh import is_alone, writable
from adjoint.twin.subclasses.array import ArrayOfClass, as_plain, made_of, refused
from adjoint.twin.subclasses.base import MET, SubclassArray, class_of, inside, of_class, users

_KIND: Value = type(ArrayOfClass)
#: What makes arrays of a class that does not say otherwise.
NUMPYS_NEW = np.ndarray.__new__
# Names of a class that its twin class does not take over.
_LEFT = frozenset(
    ("__dict__", "__weakref__", "__slots__", "__new__", "__init_subclass__", "__class_getitem__", "__class__")
)
_OF_NUMPY = (np.matrix, np.recarray, np.memmap)


class TwinClasses:
    """The twin classes of one policy."""

    def __init__(
        self, resolve: Callable[[Value], Value], special: Callable[[type], bool], followed: Callable[[Value], Value]
    ) -> None:
        self.resolve, self.special, self._followed = resolve, special, followed
        self._known: dict[int, weakref.ref[type]] = {}
        self._kept: list[type] = []

    def forget(self) -> None:
        """Make twin classes anew when they are next needed."""
        self._known.clear()
        self._kept.clear()

    def concerns(self, cls: object) -> bool:
        """Whether `cls` is a class of arrays that is followed."""
        return isinstance(cls, type) and issubclass(cls, np.ndarray) and cls is not np.ndarray and self.special(cls)

    def of(self, cls: Value) -> Value:
        """The twin class of the user's class `cls`."""
        if issubclass(cls, SubclassArray):
            return cls
        if cls is np.ndarray:
            return ArrayOfClass
        known = self._known.get(id(cls))
        found = None if known is None else known()
        if found is None or cast(Value, found)._adj_class is not cls:
            found = self._made(cls)
            self._known[id(cls)] = weakref.ref(found)
            module = sys.modules.get(cls.__module__)
            if getattr(module, cls.__name__, None) is cls:  # others would be kept alive by it
                self._kept.append(found)
        return found

    def _made(self, cls: type) -> type:
        if issubclass(cls, _OF_NUMPY) or any(base.__module__.startswith("numpy.ma") for base in cls.__mro__):
            raise refused(
                cls,
                "has arithmetic, or memory, of NumPy's own that tensors do not follow",
                "Give its numbers: np.asarray(a)",
            )
        bases = tuple(
            self.of(base) if issubclass(base, np.ndarray) else base for base in cls.__bases__ if base is not object
        )
        made: Value = _KIND(cls.__name__, bases, {"__module__": cls.__module__, "__qualname__": cls.__qualname__})
        MET.append(cls.__qualname__)
        made._adj_class, made._adj_classes, made._adj_answers = cls, self, {}
        made._adj_own = frozenset(
            name for base in cls.__mro__ if base not in (np.ndarray, object) for name in vars(base) if name not in _LEFT
        )
        for name, value in list(vars(cls).items()):
            if name not in _LEFT and not isinstance(value, MemberDescriptorType | GetSetDescriptorType):
                type.__setattr__(made, name, self._member(made, cls, name, value))
        type.__setattr__(made, "__new__", staticmethod(partial(self._created, cls)))
        return cast(type, made)

    def _created(self, cls: type, kind: type, /, *args: Value, **kwargs: Value) -> Value:
        return self._creator(cls)(users(kind), *args, **kwargs)

    def _creator(self, cls: type) -> Function:
        """What is called in the place of ``cls.__new__``."""
        new: Value = cls.__new__
        return self.new if new is NUMPYS_NEW else cast(Function, self.resolve(new))

    def _member(self, made: type, cls: type, name: str, value: Value) -> Value:
        """What the twin class has in the place of `value`."""
        if isinstance(value, FunctionType):
            return _Late(self, _moved(value, cls, made), name)
        if isinstance(value, classmethod):
            return _OfClass(self, name)
        if isinstance(value, property):
            parts: list[Value] = [f and _moved(f, cls, made) for f in (value.fget, value.fset, value.fdel)]
            if type(value) is property:
                twins: list[Value] = [f and _Resolving(self, f) for f in parts]
                return property(*twins)
        return value

    # -- Objects --------------------------------------------------------------------------------------------

    def maker(self, cls: type) -> Function:
        """What is called in the place of `cls`."""
        second = self._creator(cls)

        def make(*args: Value, **kwargs: Value) -> Value:
            made = second(cls, *args, **kwargs)
            if issubclass(class_of(made), cls):
                own = class_of(made).__init__  # type: ignore[misc]  # of the class, and not called on an object
                if isinstance(own, FunctionType):
                    (type(made).__init__ if of_class(made) else self.resolve(own))(made, *args, **kwargs)
            return made

        return make

    def new(
        self, cls: type, shape: ShapeLike, dtype: DType = float, buffer: Value = None, offset: int = 0,
        strides: Value = None, order: Value = None,
    ) -> Value:  # fmt: skip
        """``np.ndarray.__new__``."""
        cls = users(cls)
        if isinstance(buffer, Box) or of_class(buffer):
            held: Value = buffer._adj_held if of_class(buffer) else buffer
            if offset or strides is not None or np.dtype(dtype) != held.dtype:
                raise LeavesGraphError(
                    f"np.ndarray.__new__({cls.__name__}, ..., buffer=t) reads the memory of a tensor, of which it can "
                    f"read all in its own dtype only. Take a part of it: t[offset:].reshape(shape).view({cls.__name__})"
                )
            return self.viewed(held.reshape(shape, order=order or "C"), cls, None)
        if not self.concerns(cls) or buffer is not None:
            return NUMPYS_NEW(cls, shape, dtype, buffer, offset, strides, order)
        return made_of(writable(np.ndarray(shape, dtype, order=order)), self.of(cls), None)

    def above(self, parent: Value) -> Value:
        """``super(cls, self)``: of an array of a twin class, the one that looks among twin classes."""
        me, cls = parent.__self__, parent.__thisclass__
        if not of_class(me) or issubclass(cls, SubclassArray) or not issubclass(cls, np.ndarray):
            return parent
        return super(self.of(cls), me)

    def viewed(self, held: Value, kind: Value, parent: Value) -> Value:
        """``a.view(kind)``, where `held` shows the memory of the array `parent`, or is there."""
        cls = users(kind)
        if cls is np.ndarray:
            return held
        if not self.concerns(cls):
            raise self._unfollowed(cls)
        return made_of(held, self.of(cls), parent)

    def view_of(self, a: Value, otherwise: Function) -> Function:
        """What is called in the place of ``a.view`` of a plain array or a box."""

        def view(dtype: Value = None, type: Value = None) -> Value:
            is_class = isinstance(dtype, _TYPE) and issubclass(users(dtype), np.ndarray)
            kind, dtype = (dtype, None) if is_class else (type, dtype)
            given = () if dtype is None else (dtype,)
            if kind is None or users(kind) is np.ndarray:
                return otherwise(*given)
            if not isinstance(a, Box) and not self.concerns(users(kind)):
                return otherwise(*given, type=kind)
            return self.viewed(otherwise(*given), kind, a)

        return view

    def lifted(self, a: Value) -> Value:
        """An array of a followed class as one of its twin class; anything else as it is."""
        kind = type(a)
        if kind is np.ndarray or not isinstance(a, np.ndarray) or of_class(a) or not self.concerns(kind):
            return a
        made: Value = object.__new__(self.of(kind))
        made._adj_held = a.view(np.ndarray)
        made.__dict__.update(getattr(a, "__dict__", {}))
        return made

    def like(self, args: Sequence[Value], boxes: Sequence[Value]) -> Sequence[Value]:
        """`boxes` as arrays of the classes that `args` have."""
        leaves = flatten(list(args))[0]
        if not any(of_class(x) or (isinstance(x, np.ndarray) and type(x) is not np.ndarray) for x in leaves):
            return boxes
        made, rebuild = flatten(list(boxes))
        if len(made) != len(leaves):
            return boxes
        found: Sequence[Value] = rebuild([self._like(x, box) for x, box in zip(leaves, made, strict=True)])
        return found

    def _like(self, x: Value, box: Value) -> Value:
        made: Value
        kind = type(x)
        if of_class(x):
            made = object.__new__(kind)
            made._adj_held = inside(box)
            made.__dict__.update(x.__dict__)
            return made
        if box is x or kind is np.ndarray or not isinstance(x, np.ndarray):
            return box
        if not self.concerns(kind):
            if package(kind.__module__) not in ("numpy", "adjoint") and has_arithmetic(cast(Value, kind)):
                raise self._unfollowed(kind)
            return box
        made = object.__new__(self.of(kind))
        made._adj_held = inside(box)
        made.__dict__.update(getattr(x, "__dict__", {}))
        return made

    def _unfollowed(self, cls: type) -> Exception:
        home = package(cls.__module__)
        return refused(
            cls, "has arithmetic of its own, and its package is not followed", f'Follow it: with ad.through("{home}")'
        )

    def implementation(self, function: Value) -> Function:
        """What NumPy's `function` runs for arrays of a class that answers what is called in it."""
        written: Function = function._implementation
        if not isinstance(written, FunctionType):
            raise NotSupportedError(
                f"numpy.{function.__name__} of arrays of a class that answers NumPy's functions itself is not "
                f"followed: NumPy asks the class in the middle of it. Give the numbers alone: np.asarray(a)"
            )
        return cast(Function, self._followed(written))

    def writable(self, a: Value) -> Value:
        """The array that `a` holds, able to hold tensors."""
        held, a._adj_held = a._adj_held, None
        if is_alone(held):
            return writable(held)
        a._adj_held = held
        raise LeavesGraphError(
            f"a tensor cannot be written into this array of {class_of(a).__qualname__}: it shows numbers that were "
            f"made outside of the function, or that other arrays show, and its gradient would be dropped. Write into "
            f"a copy: a = a.copy(), then a[...] = t"
        )


_TYPE = type


class _Late:
    """A method of a twin class, whose twin is made when it is first used."""

    def __init__(self, classes: TwinClasses, f: FunctionType, name: str) -> None:
        self.classes, self.f, self.name = classes, f, name

    def __get__(self, o: Value, owner: Value) -> Value:
        twin: Value = self.classes.resolve(self.f)
        if self.name == "__array_function__":
            twin = _with_types(twin)
        for kind in owner.__mro__:
            if vars(kind).get(self.name) is self:
                type.__setattr__(kind, self.name, twin)
        return twin.__get__(o, owner)


class _Resolving:
    """The getter or setter of a property, whose twin is made when it is first used."""

    def __init__(self, classes: TwinClasses, f: FunctionType) -> None:
        self.classes, self.f = classes, f
        self._twin: Value = None

    def __call__(self, *args: Value) -> Value:
        if self._twin is None:
            self._twin = self.classes.resolve(self.f)
        return self._twin(*args)


class _OfClass:
    """A class method, which gets the class that the user wrote."""

    def __init__(self, classes: TwinClasses, name: str) -> None:
        self.classes, self.name = classes, name

    def __get__(self, o: object, owner: Value) -> Value:
        found = getattr(owner._adj_class, self.name)
        return self.classes.resolve(found) if isinstance(found, MethodType) else found


def _with_types(twin: Function) -> Function:
    """``__array_function__`` with the types that the plain program has."""

    def __array_function__(self: Value, function: Value, types: Value, args: Value, kwargs: Value) -> Value:  # noqa: N807 - NumPy's name
        kinds = tuple(np.ndarray if issubclass(kind, Box) else users(kind) for kind in types)
        return twin(self, function, kinds, args, kwargs)

    return __array_function__


def _moved(f: Value, cls: type, made: type) -> Value:
    """`f`, whose ``super()`` looks among twin classes: ``__class__`` is `made` in the place of `cls`."""
    if not isinstance(f, FunctionType) or not f.__closure__:
        return f
    cells = []
    for cell in f.__closure__:
        try:
            value = cell.cell_contents
        except ValueError:  # not bound yet
            cells.append(cell)
            continue
        new = made if value is cls else _moved(value, cls, made)
        cells.append(cell if new is value else CellType(new))
    if all(a is b for a, b in zip(cells, f.__closure__, strict=True)):
        return f
    moved = FunctionType(f.__code__, f.__globals__, f.__name__, f.__defaults__, tuple(cells))
    moved.__kwdefaults__, moved.__qualname__, moved.__doc__ = f.__kwdefaults__, f.__qualname__, f.__doc__
    moved.__dict__.update(f.__dict__)
    return moved


__all__ = ["NUMPYS_NEW", "TwinClasses", "as_plain"]
