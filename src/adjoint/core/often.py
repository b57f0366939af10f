"""What plain arrays are computed by again and again: native code that gives the same bits.

NumPy computes until it has taken `ENOUGH` seconds for arrays of one kind. Then native code is made for these, if
llvmlite is installed. So short programs never wait for a compiler. The bits are the same, so results do not tell when
that was, and a resumed training goes on as it would have.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Hashable, Sequence
from time import perf_counter

import numpy as np

from adjoint.core.late import service
from adjoint.core.registry import Entry
from adjoint.core.types import Array, Function, Value

ENOUGH = 0.02  # seconds in NumPy, for arrays of one kind
LOADING = 0.7  # the same, for arrays of all kinds, where no native code is loaded yet
LEAST = 1 << 15  # bytes of the first array
MOST = 256  # kinds of arrays


class Often:
    """Native code for each kind of arrays that NumPy has taken long for.

    Args:
        make: ``make(*arguments)`` gives what native code is made of; the function that it gives takes arrays, and gives
            a list of new ones.
    """

    def __init__(self, make: Callable[..., Function | None]) -> None:
        self._make = make
        self._spent: dict[Hashable, float] = {}
        self._native: dict[Hashable, Function | None] = {}

    def found(self, key: Hashable) -> Function | None:
        """The native function for arrays of this kind, if it was made."""
        return self._native.get(key)

    def took(self, key: Hashable, seconds: float, *arguments: Value) -> None:
        """Note how long NumPy took for arrays of this kind. If that is enough, make native code."""
        if key in self._native or len(self._native) >= MOST:
            return
        spent = self._spent[key] = self._spent.get(key, 0.0) + seconds
        loaded = "llvmlite" in sys.modules
        if spent < ENOUGH or (not loaded and sum(self._spent.values()) < LOADING):
            return
        self._native[key] = None  # for threads that come here meanwhile, and where llvmlite is not installed
        try:
            self._native[key] = self._make(*arguments)
        except ImportError:
            return


class OftenCalled:
    """What computes an operation of plain arrays: NumPy, and later native code.

    Args:
        function: ``function(*arrays, **settings)``, by NumPy. Settings are numbers and tuples of them.
        op: gives the operation, whose native code has the same bits.
    """

    def __init__(self, function: Function, op: Callable[[], Entry]) -> None:
        self._function = function
        self.often = Often(lambda *given: service("native operation")(op(), *given))

    def __call__(self, *arrays: Array, **settings: Value) -> Array:
        if arrays[0].nbytes < LEAST or any(type(a) is not np.ndarray for a in arrays):
            return self._function(*arrays, **settings)
        key = (*kinds(arrays), *settings.values())
        try:
            run = self.often.found(key)
        except TypeError:  # settings are lists
            return self._function(*arrays, **settings)
        if run is not None:
            return run(*arrays)[0]
        start = perf_counter()
        out = self._function(*arrays, **settings)
        self.often.took(key, perf_counter() - start, arrays, settings, out)
        return out


def kinds(arrays: Sequence[np.ndarray]) -> tuple[Hashable, ...]:
    """What native code depends on."""
    return tuple((a.shape, a.dtype) for a in arrays)
