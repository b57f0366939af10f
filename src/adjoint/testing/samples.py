"""The registry's own sample calls, with numbers drawn for them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module

import numpy as np

from adjoint.core.op import SampleCall
from adjoint.core.registry import Composite, Entry, entries, operation
from adjoint.core.rules.pullbacks import NotDifferentiable


def drawer(seed: int = 0) -> Callable[..., np.ndarray]:
    """A function ``r(*shape, low=-2.0, high=2.0)`` that draws float64 arrays.

    No two elements of an array are close: a difference quotient then sees no tie among them.

    Example:
        >>> from adjoint.testing import drawer
        >>> r = drawer(seed=1)
        >>> r(2, 3).shape, r(high=0.0) < 0
        ((2, 3), np.True_)
    """
    rng = np.random.default_rng(seed)

    def r(*shape: int, low: float = -2.0, high: float = 2.0) -> np.ndarray:
        n = int(np.prod(shape))
        places = (rng.permutation(n) + rng.uniform(0.2, 0.8, n)) / max(n, 1)
        return np.reshape(low + (high - low) * places, shape)

    return r


def samples(op: str | Entry, seed: int = 0) -> list[SampleCall]:
    """The sample calls of an operation: pairs ``(args, kwargs)``; none for one that has no derivative.

    Args:
        op: an operation, or its name.
        seed: for the numbers drawn.

    Raises:
        KeyError: if there is no operation of that name.

    Example:
        >>> from adjoint.testing import samples
        >>> [[a.shape for a in args] for args, kwargs in samples("hypot")]
        [[(3, 4), (3, 4)], [(), ()], [(3, 1), (4,)], [(2, 3), ()]]
    """
    entry = operation(op) if isinstance(op, str) else op
    return [] if entry.samples is None else [SampleCall(*sample) for sample in entry.samples(drawer(seed))]


# What registers operations for SciPy's functions, when it is asked for.
SCIPY = (
    "adjoint.ops.special.scipy_special",
    "adjoint.scipy.fft",
    "adjoint.scipy.integrate",
    "adjoint.scipy.linalg",
    "adjoint.scipy.signal",
    "adjoint.scipy.sparse",
)


def walk() -> Iterator[Entry]:
    """Every operation that has a derivative, those for SciPy's functions included, in order of name.

    Operations that answer with truth values or positions, and those that say why they have no derivative, are left
    out; see `adjoint.core.registry.entries` for all.

    Example:
        >>> from adjoint.testing import walk
        >>> sum(entry.name in ("sin", "einsum", "sort", "argmax", "spacing") for entry in walk())
        3
    """
    for room in SCIPY:  # they register what they need
        import_module(room)
    for _, entry in sorted(entries().items()):
        if differentiable(entry):
            yield entry


def differentiable(entry: Entry) -> bool:
    """Whether `entry` has a gradient by some argument. A composite with error samples alone only ever refuses."""
    if isinstance(entry, Composite):
        return entry.flags.isdisjoint(("constant", "not_supported")) and (
            entry.samples is not None or entry.errors is None
        )
    return entry.kind != "constant" and any(not isinstance(rule.function, NotDifferentiable) for rule in entry.rules)
