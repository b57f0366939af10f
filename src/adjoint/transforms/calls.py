"""What functions with their own derivative share: their arguments, and the checks of what rules return."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial, update_wrapper
from typing import Concatenate, Generic, Self, TypeVar, overload

import numpy as np

from adjoint.arrays.array_box import ArrayBox
from adjoint.arrays.promotion import is_python
from adjoint.arrays.python_number import as_python
from adjoint.batch.samples import each_sample
from adjoint.core.box import Box
from adjoint.core.errors import ArgumentError, RuleError
from adjoint.core.objects.trees import flatten, is_leaf, matched, paths
from adjoint.core.rules.pullbacks import dtype_of, shape_of
from adjoint.core.types import Array, Function, P, Q, R, T, Tree, Value
from adjoint.tape.node import as_array
from adjoint.transforms.custom_rules import Derivative, Leaves, carried_out, operations
from adjoint.twin.follow import follow


class Custom(Generic[P, R]):
    """What `custom_vjp` and `custom_jvp` have in common: the function, and which of its arguments vary."""

    __name__: str

    def __init__(self, function: Callable[P, R], nondiff_argnums: Sequence[int] | int) -> None:
        if not callable(function):
            raise ArgumentError(f"{type(self).__name__} decorates a function; got {function!r}")
        self.function = function
        self.fixed = (nondiff_argnums,) if isinstance(nondiff_argnums, int) else tuple(nondiff_argnums)
        self.name = getattr(function, "__name__", type(function).__name__)
        self.ops = operations(self.name)
        self.signature: inspect.Signature | None = None
        if not isinstance(function, np.ufunc):  # whose defaults cannot be given
            with suppress(TypeError, ValueError):  # a function of some other language has none
                self.signature = inspect.signature(function)
        given = self.signature.parameters.values() if self.signature is not None else ()
        by_position = all(p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in given)
        self.count = len(given) if by_position else -1
        if any(k < 0 for k in self.fixed):
            raise ArgumentError(f"{self.name}: nondiff_argnums counts from 0; got {self.fixed}")
        update_wrapper(self, function)

    def bound(self, args: tuple[Array, ...], kwargs: dict[str, object]) -> tuple[list[object], dict[str, object]]:
        """All arguments that have a position, by position and with their defaults; and those that have none."""
        if self.signature is None or (len(args) == self.count and not kwargs):
            return list(args), kwargs
        given = self.signature.bind(*args, **kwargs)
        given.apply_defaults()
        return list(given.args), given.kwargs

    def argument(self, i: int) -> str:
        """What messages call argument number `i`."""
        names = list(self.signature.parameters) if self.signature is not None else []
        return f"argument {i}" + (f" (`{names[i]}`)" if i < len(names) else "")

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        if all(is_leaf(x) and not isinstance(x, Box) for x in args) and not kwargs:
            return self.function(*args, **kwargs)
        made = self.call(*self.bound(args, kwargs))
        if not made.boxed:
            return self.function(*args, **kwargs)
        results = made.marked(carried_out(made, made.leaves))
        made.forget()
        value: R = made.rebuilt(results)  # known by now
        return value

    @overload
    def __get__(self, instance: None, owner: Value = ...) -> Self: ...
    @overload
    def __get__(self: Custom[Concatenate[T, Q], R], instance: T, owner: Value = ...) -> Callable[Q, R]: ...
    @overload  # of a static method
    def __get__(self, instance: object, owner: Value = ...) -> Self: ...
    def __get__(self, instance: Value, owner: type | None = None) -> Value:
        """Bind like a function, so that a method can have a rule; its object is a setting: ``nondiff_argnums=0``."""
        return self if instance is None else partial(self, instance)

    def call(self, args: list[Value], settings: dict[str, Value]) -> DerivativeCall[Custom[..., Value]]:
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}>"


Rule_co = TypeVar("Rule_co", bound=Custom[..., Value], covariant=True)


class DerivativeCall(Derivative, Generic[Rule_co]):
    """One call: the arguments that vary as one list of arrays, the others as they are."""

    aside: frozenset[int] = frozenset()

    def __init__(self, custom: Rule_co, args: list[Array], settings: dict[str, Value]) -> None:
        self.custom, self.args, self.settings = custom, args, settings
        self.name, self.ops = custom.name, custom.ops
        self.numbers = [i for i in range(len(args)) if i not in custom.fixed]
        self.fixed = [args[i] for i in custom.fixed if i < len(args)]
        self.varying = tuple(args[i] for i in self.numbers)
        self.rebuilt: Callable[[list[Value]], Value] = lambda outs: outs
        self._rebuild: Callable[[list[Value]], Value]
        if all(map(is_leaf, self.varying)):
            self.leaves, self._rebuild = list(self.varying), tuple
        else:
            self.leaves, self._rebuild = flatten(self.varying)
        self._pythons, self._gives_pythons = list(map(is_python, self.leaves)), list[bool]()
        self.boxed = any(isinstance(x, Box) for x in self.leaves)
        if self.boxed and self._rebuild is not tuple:
            self._check()

    def forget(self) -> None:
        """Let go of the arrays, of which a node that refers to this call needs the shapes and dtypes only."""
        self.leaves = [_like(x) for x in self.leaves]
        self.varying = self._rebuild(list(self.leaves))
        for i in self.numbers:
            self.args[i] = None

    def _check(self) -> None:
        for i, arg in zip(self.numbers, self.varying, strict=True):
            for x in flatten(arg)[0]:
                if not _is_number(x):
                    raise ArgumentError(
                        f"{self.name}: {self.custom.argument(i)} holds {type(x).__name__}, which is no array. If it is "
                        f"a setting, say so: nondiff_argnums=({i},)"
                    )

    def called(self, xs: Leaves) -> Value:
        """The function's own value."""
        args = list(self.args)
        for i, arg in zip(self.numbers, self.arguments(xs), strict=True):
            args[i] = arg
        return self.custom.function(*args, **self.settings)

    def arguments(self, xs: Leaves) -> Value:
        """`xs` as the varying arguments, those that were Python's numbers as such."""
        return self._rebuild([_python(x) if is_one else x for x, is_one in zip(xs, self._pythons, strict=True)])

    def marked(self, results: list[Array]) -> list[Array]:
        """The results, those that were Python's numbers as such."""
        return [_python(x) if is_one else x for x, is_one in zip(results, self._gives_pythons, strict=True)]

    def results(self, value: Array) -> list[Array]:
        """The arrays in the function's value."""
        leaves, self.rebuilt = flatten(value)
        self._gives_pythons = list(map(is_python, leaves))
        for x in leaves:
            if not _is_number(x):
                raise RuleError(f"{self.name} must give arrays, or a tree of them; its value holds {type(x).__name__}")
        return [as_array(x) if hasattr(x, "dtype") else self._number(x) for x in leaves]

    def _number(self, x: Array) -> Value:
        """A Python number as one of NumPy's, in the arguments' precision: foreign code knows no other numbers."""
        given = [x.dtype for x in self.leaves if hasattr(x, "dtype") and x.dtype.kind in "fc"]
        return np.asarray(x, np.result_type(*given, x) if given else None)[()]

    def value(self, xs: Leaves) -> list[Array]:
        return self.results(each_sample(self.called, list(xs)))


def _python(x: Array) -> Array:
    """A number without axes as Python's."""
    if isinstance(x, ArrayBox):
        return as_python(x) if x.dtype.itemsize >= 8 else x  # of arguments in single precision
    return x.item() if isinstance(x, np.generic) else x


def _like(x: Array) -> np.ndarray:
    """An array of the shape and dtype of `x`, that takes no memory."""
    shape = shape_of(x)
    return np.ndarray(shape, dtype_of(x), bytes(32), 0, (0,) * len(shape))


def _is_number(x: Array) -> bool:
    return hasattr(x, "dtype") or isinstance(x, float | int | complex)


def taken(rule: Value, settings: dict[str, Value]) -> dict[str, Value]:
    """Those of `settings` that `rule` takes by name."""
    if not settings:
        return settings
    parameters = inspect.signature(rule).parameters
    every = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
    return {name: value for name, value in settings.items() if every or name in parameters}


def ruling(rule: Function, *args: Value) -> Function:
    """What is called in place of a rule with these arguments: its twin, if there are boxes among them."""
    return follow(rule, args) if any(isinstance(x, Box) for x in flatten(args)[0]) else rule


def fitting(where: str, tree: Tree, like: Array) -> list[Value]:
    """The arrays in `tree`, which must have the structure, shapes and kinds of numbers of `like`; None is zero."""
    try:
        found = matched(tree, like)
    except ValueError as error:
        raise RuleError(f"{where} has another structure: {error}") from None
    leaves = flatten(like)[0]
    for k, (c, x) in enumerate(zip(found, leaves, strict=True)):
        if c is None:
            continue
        if not _is_number(c):
            raise RuleError(f"{where}{paths(like)[k]} must be an array, or None for no derivative; got {what(c)}")
        kind, shape = dtype_of(c).kind, shape_of(c)
        wanted = dtype_of(x)
        if shape != shape_of(x):
            raise RuleError(f"{where}{paths(like)[k]} has shape {shape}; it must have shape {shape_of(x)}")
        if wanted.kind in "fc" and (kind not in "fc" or (kind == "c" and wanted.kind == "f")):
            raise RuleError(f"{where}{paths(like)[k]} has dtype {dtype_of(c)}; it must be of the kind of {wanted}")
    pairs = zip(found, leaves, strict=True)
    return [None if c is None or dtype_of(x).kind not in "fc" else as_array(c) for c, x in pairs]


def what(x: Array) -> str:
    """What messages say of something that a rule returned."""
    if isinstance(x, tuple | list):
        return f"{type(x).__name__} of {len(x)}"
    shape = getattr(x, "shape", None)
    return type(x).__name__ if shape is None else f"one array of shape {shape}"
