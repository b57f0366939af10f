"""Whether operations are recorded: `no_grad`, `enable_grad`, `set_grad_enabled`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ContextDecorator
from contextvars import ContextVar
from functools import wraps
from types import MappingProxyType
from typing import overload

from adjoint.core.threads.switches import Switch
from adjoint.core.types import F, P, R, Value

NEVER = 1 << 62

# Is told of each new node: the node, the operation's arguments, the numbers of those on the tape, and the result.
Observer = Callable[[Value, Value, tuple[int, ...], Value], None]


class Observed(int):
    """The floor `floor`, with `observers` of each node that is written above it.

    As a number it is above every level. So the fast paths, which compare with it anyway, turn aside, and
    where nothing is observed they pay nothing.
    """

    floor: int
    observers: Mapping[str, Observer]

    @classmethod
    def of(cls, floor: int, observers: Mapping[str, Observer]) -> int:
        """`floor` with `observers`; a plain number if there are none."""
        if not observers:
            return floor
        mode = cls(NEVER + 1)
        mode.floor, mode.observers = floor, observers
        return mode


class RecordingFloor:
    """Tensors of this level and above are recorded. A context variable: each thread and task has its own.

    `raw` gives what the variable holds: the floor, or while nodes are observed, an `Observed`.
    """

    def __init__(self) -> None:
        self.mode: ContextVar[int] = ContextVar("recording_floor", default=0)
        self.raw = self.mode.get
        self.restore = self.mode.set  # to what `raw` gave before

    def get(self) -> int:
        """The floor."""
        mode = self.raw()
        return mode.floor if isinstance(mode, Observed) else mode

    def set(self, floor: int) -> None:
        """Move the floor; observers stay."""
        self.mode.set(Observed.of(floor, self.observers()))

    def observers(self) -> Mapping[str, Observer]:
        """The observers of new nodes, by their kinds."""
        mode = self.raw()
        return mode.observers if isinstance(mode, Observed) else NOBODY


NOBODY: Mapping[str, Observer] = MappingProxyType({})
recording_floor = RecordingFloor()


class Observing(Switch, ContextDecorator):
    """Tells `observers` of each new node, by their kinds, instead of earlier ones of these."""

    def __init__(self, **observers: Observer) -> None:
        super().__init__(recording_floor.mode)
        self._observers = observers

    def observers(self) -> Mapping[str, Observer]:
        """The observers, by their kinds."""
        return self._observers

    def value(self) -> int:
        return Observed.of(recording_floor.get(), {**recording_floor.observers(), **self.observers()})

    def _recreate_cm(self) -> Observing:
        return Observing(**self.observers())


class GradMode(Switch):
    """Moves the floor; observers stay."""

    def __init__(self, floor: int) -> None:
        super().__init__(recording_floor.mode)
        self.floor = floor

    def value(self) -> int:
        return Observed.of(self.floor, recording_floor.observers())


class set_grad_enabled(GradMode):  # noqa: N801 - PyTorch's name, and used like a function
    """Switch recording on or off; a context manager and a decorator, nested at will and exception-safe.

    Example:
        >>> import adjoint as ad
        >>> w = ad.tensor(3.0, requires_grad=True)
        >>> with ad.set_grad_enabled(False):
        ...     print((w * 2).requires_grad)
        False
    """

    def __init__(self, mode: bool) -> None:
        super().__init__(0 if mode else NEVER)

    @overload
    def __call__(self, function: F) -> F: ...
    @overload
    def __call__(self, function: Callable[P, R]) -> Callable[P, R]: ...
    def __call__(self, function: Callable[P, R]) -> Callable[P, R]:
        @wraps(function)
        def wrapped(*args: P.args, **kwargs: P.kwargs) -> R:
            # A fresh manager a call: the decorated function may recurse or run in several threads.
            with set_grad_enabled(self.floor == 0):
                return function(*args, **kwargs)

        return wrapped


@overload
def no_grad(function: F) -> F: ...
@overload
def no_grad(function: Callable[P, R]) -> Callable[P, R]: ...
@overload
def no_grad() -> set_grad_enabled: ...
def no_grad(function: Value = None) -> Value:
    """Compute without a graph: ``with ad.no_grad():``, ``@ad.no_grad`` or ``@ad.no_grad()``.

    Example:
        >>> import adjoint as ad
        >>> w = ad.tensor(3.0, requires_grad=True)
        >>> with ad.no_grad():
        ...     w -= 1.0
        >>> w
        tensor(2., requires_grad=True)
    """
    return set_grad_enabled(False) if function is None else set_grad_enabled(False)(function)


def inference_mode(mode: bool = True) -> set_grad_enabled:
    """PyTorch's: `no_grad`; with False, as it was.

    Example:
        >>> import adjoint as ad
        >>> with ad.inference_mode():
        ...     ad.is_grad_enabled()
        False
    """
    return set_grad_enabled(not mode and is_grad_enabled())


@overload
def enable_grad(function: F) -> F: ...
@overload
def enable_grad(function: Callable[P, R]) -> Callable[P, R]: ...
@overload
def enable_grad() -> set_grad_enabled: ...
def enable_grad(function: Value = None) -> Value:
    """Record again inside `no_grad`: ``with ad.enable_grad():``, ``@ad.enable_grad`` or ``@ad.enable_grad()``.

    Example:
        >>> import adjoint as ad
        >>> with ad.no_grad(), ad.enable_grad():
        ...     ad.is_grad_enabled()
        True
    """
    return set_grad_enabled(True) if function is None else set_grad_enabled(True)(function)


def is_grad_enabled() -> bool:
    """Whether operations on eager tensors are recorded here.

    Example:
        >>> import adjoint as ad
        >>> with ad.no_grad():
        ...     ad.is_grad_enabled()
        False
    """
    return recording_floor.get() == 0
