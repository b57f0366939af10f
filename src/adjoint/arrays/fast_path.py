"""Arrays made of layers whose elementwise functions take a fast path: one closure instead of the general `process`.

Each kind of array provides its fast path for an operation. Operators, ufuncs, methods and `process` all use it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from adjoint.arrays.layered import Layered
from adjoint.core.box import apply, outermost
from adjoint.core.objects.foreign import ForeignArrayError, asking
from adjoint.core.op import NO_SETTINGS, Op
from adjoint.core.protocol import array_ufunc
from adjoint.core.registry import ANSWERS, operation
from adjoint.core.rules.pullbacks import NotDifferentiable
from adjoint.core.types import Array, Settings, Value

FastPath = Callable[..., Value]

ARRAYS = frozenset((np.ndarray, np.float64, np.float32))
PLAIN = ARRAYS | {float, int}

_MISSING: Value = object()
_OPERATORS = {"add": "add", "sub": "subtract", "mul": "multiply", "truediv": "divide", "pow": "power"}


class WithFastPaths(Layered):
    """A kind of array with a fast path for elementwise functions of one or two inputs."""

    __slots__ = ()

    def __init_subclass__(cls) -> None:
        if cls.is_python:  # these have operators of their own
            return
        for name, op in _OPERATORS.items():
            for method in (f"__{name}__", f"__r{name}__"):
                setattr(cls, method, _first_use(cls, method, op))

    @classmethod
    def fast_path(cls, op: Op, otherwise: FastPath) -> FastPath | None:
        """The fast path of `op`, if it has one; what it does not take, it hands to `otherwise`."""
        raise NotImplementedError

    def process(self, op: Op, args: Sequence[Value], settings: Settings) -> Array:
        short = op.pullbacks.get(type(self), _MISSING)
        if short is _MISSING:
            short = _made(type(self), op)
        return self.processed(op, args, settings) if short is None else short(*args)

    def processed(self, op: Op, args: Sequence[object], settings: Settings) -> Array:
        """What `process` does, for any operation and any arguments."""
        raise NotImplementedError

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Array, **kwargs: Value) -> Array:
        if not kwargs and method == "__call__":
            op = ANSWERS.get(ufunc)
            short = op.pullbacks.get(type(self)) if type(op) is Op else None
            if short is not None:
                try:
                    return short(*inputs)
                except ForeignArrayError as error:
                    if error.defers("__array_ufunc__"):
                        return NotImplemented
                    raise
        return asking(array_ufunc, ufunc, method, inputs, kwargs)


def _made(kind: type[WithFastPaths], op: Op) -> FastPath | None:
    """The fast path of `op` for `kind`; None if it has none."""
    short = None
    if _eligible(op):

        def otherwise(*args: object) -> Array:
            top = outermost(args)
            return top.processed(op, args, NO_SETTINGS) if type(top) is kind else apply(op, args, NO_SETTINGS)

        short = kind.fast_path(op, otherwise)
    op.pullbacks[kind] = short
    return short


def _eligible(op: Op) -> bool:
    return (
        op.kind == "elementwise"
        and isinstance(op.forward, np.ufunc)
        and not (op.multiple or op.settings)
        and len(op.inputs) <= 2
        and bool(op.rules)
        and not any(isinstance(rule.function, NotDifferentiable) for rule in op.rules)
    )


def _first_use(kind: type[WithFastPaths], method: str, name: str) -> FastPath:
    """An operator that looks its fast path up when it is first used."""
    slow = getattr(kind, method)

    def first(self: Array, other: Array) -> Array:
        # What it does not take goes to the operator, which rounds some numbers otherwise than the function.
        otherwise = (lambda x, y: slow(y, x)) if method.startswith("__r") else slow
        op: Value = operation(name)
        short: Value = kind.fast_path(op, otherwise)

        def forward(self: Array, other: Array) -> Array:
            return short(self, other) if type(other) is kind or type(other) in PLAIN else slow(self, other)

        def power(self: Array, other: Array) -> Array:
            return (
                slow(self, other) if type(other) in (int, float) and self.dtype.kind in "cb" else forward(self, other)
            )

        def reflected(self: Array, other: Array) -> Array:
            return short(other, self) if type(other) in PLAIN else slow(self, other)

        made = power if method == "__pow__" else reflected if method.startswith("__r") else forward
        setattr(kind, method, made)
        return getattr(self, method)(other)

    return first
