"""`compile`: record a function once for each kind of arguments, and run the recording from then on."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import update_wrapper
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from adjoint.compiler.recording import Recording, record
from adjoint.core.box import Box
from adjoint.core.errors import GraphError
from adjoint.core.trees import flatten
from adjoint.tape.modes import recording_floor
from adjoint.tape.tensor import Tensor

# So many ways through a function of one signature: beyond them it is run as it is.
MOST_WAYS = 16


class Compiled:
    """A function that records itself. Made by `adjoint.compile`."""

    def __init__(self, f: Callable[..., Any], static: Sequence[str] = ()) -> None:
        update_wrapper(self, f)
        self.function, self.static = f, frozenset(static)
        self._ways: dict[Any, list[Recording]] = {}
        self._reasons: dict[Any, str] = {}
        self._bound: WeakKeyDictionary[Any, Compiled] = WeakKeyDictionary()
        self._lock = threading.RLock()

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        """A method: each instance has recordings of its own."""
        if instance is None:
            return self
        if instance not in self._bound:
            self._bound[instance] = Compiled(self.function.__get__(instance, owner), tuple(self.static))
        return self._bound[instance]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        leaves, rebuild = flatten((args, kwargs))
        key = self._signature(leaves, args, kwargs)
        if key is None or key in self._reasons:
            return self.function(*args, **kwargs)
        for recording in reversed(self._ways.get(key, ())):
            if recording.environment.holds():
                try:
                    return recording(leaves)
                except GraphError:  # another way through the function
                    continue
        return self._recorded(key, leaves, rebuild)

    def _signature(self, leaves: Sequence[Any], args: Any, kwargs: Any) -> Any:
        """What a recording depends on: structure, kinds of arrays, static values, aliases. None: do not record."""
        parts: list[Any] = [len(args), *kwargs, recording_floor.get()]
        seen: dict[int, int] = {}
        for k, x in enumerate(leaves):
            kind = type(x)
            if kind is np.ndarray:
                parts.append((x.shape, x.dtype, seen.setdefault(id(x), k)))
            elif isinstance(x, Tensor):
                if x.level or isinstance(x.data, Box) or not x.is_leaf:
                    return None
                parts.append((x.shape, x.dtype, seen.setdefault(id(x), k), x.node is not None))
            elif isinstance(x, Box):
                return None
            elif isinstance(x, np.generic):
                parts.append(x.dtype)
            else:
                parts.append(kind if kind is float or kind is complex else (kind, x))
        return tuple(parts)

    def _recorded(self, key: Any, leaves: Sequence[Any], rebuild: Callable[[list[Any]], Any]) -> Any:
        varies = [isinstance(x, np.ndarray | np.generic | Tensor) or type(x) in (float, complex) for x in leaves]
        with self._lock:
            value, recording, reason = record(self.function, leaves, rebuild, varies)
            ways = self._ways.setdefault(key, [])
            ways[:] = [way for way in ways if way.environment.holds()]
            if recording is not None:
                ways.append(recording)
            if reason or len(ways) > MOST_WAYS:
                self._reasons[key] = reason or f"it went {MOST_WAYS} different ways for arguments of one kind"
        return value

    def explain(self) -> str:
        """What was recorded: signatures, ways through the function, and why something was not."""
        lines = [f"{getattr(self.function, '__name__', 'f')}: {len(self._ways)} signature(s)"]
        for ways in self._ways.values():
            lines += [f"  {way.graph!r}, {len(way.graph.guards)} guard(s)" for way in ways]
        lines += [f"  runs as it is, because {reason}" for reason in self._reasons.values()]
        return "\n".join(lines)


def compile(f: Callable[..., Any] | None = None, *, static: Sequence[str] = ()) -> Any:
    """Record `f` at its first call, and run the recording from then on."""
    return (lambda g: Compiled(g, static)) if f is None else Compiled(f, static)
