"""The edges of a sample call: special values, ties, arrays without elements or without axes, and wrong arguments.

Each function makes variants of a `Case` in a generic way, so that an operation is tested at its edges by being in the
registry.
"""

from __future__ import annotations

import inspect
import itertools
import warnings
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from adjoint.core.errors import AdjointError
from adjoint.core.op import Op, SampleCall
from adjoint.core.registry import Entry
from adjoint.core.types import Array, Value
from adjoint.testing.cases import Case, outputs

SPECIAL = (np.nan, np.inf, -np.inf, 0.0, -0.0)
REFUSALS = (ValueError, TypeError, IndexError, ZeroDivisionError, AdjointError)  # LinAlgError and AxisError among them
EdgeCase = tuple[str, list[Value]]


class Outcome(NamedTuple):
    """What a call came to: its arrays or the error that it raised, and the warnings on its way."""

    value: list[np.ndarray]
    error: Exception | None
    warned: set[type[Warning]]

    @property
    def refused(self) -> bool:
        """Whether the call was answered with an error that speaks of its arguments."""
        return isinstance(self.error, REFUSALS) and bool(str(self.error))


def outcome(call: Callable[[], Value]) -> Outcome:
    """Carry out `call`. Warnings of floating point are off; those that a function gives itself are recorded."""
    value: list[np.ndarray] = []
    error = None
    with np.errstate(all="ignore"), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            value = outputs(call())
        except Exception as raised:
            error = raised
    return Outcome(value, error, {warning.category for warning in caught})


def planted_values(case: Case) -> Iterator[EdgeCase]:
    """One element of one array nan, infinite or 0."""
    for i, a in enumerate(case.arrays):
        if not np.size(a):
            continue
        for special in SPECIAL:
            planted = np.array(a)
            planted.flat[planted.size // 2] = special
            yield f"argument {i} with {special}", replaced(case.arrays, i, planted)


def level_values(case: Case) -> Iterator[EdgeCase]:
    """All elements of one array equal, to its first or to 0; and those of all arrays together."""
    filled = [np.full_like(a, np.reshape(a, -1)[0]) if np.size(a) else a for a in case.arrays]
    for i, a in enumerate(case.arrays):
        yield f"argument {i} tied", replaced(case.arrays, i, filled[i])
        yield f"argument {i} zero", replaced(case.arrays, i, np.zeros_like(a))
    if len(case.arrays) > 1:
        yield "all zero", [np.zeros_like(a) for a in case.arrays]
        yield "all tied", [np.full_like(a, np.reshape(np.real(filled[0]), -1)[0]) for a in case.arrays]


def replaced(arrays: list[Array], i: int, new: object) -> list[object]:
    """`arrays` with another one at place `i`."""
    return [new if k == i else a for k, a in enumerate(arrays)]


CUTS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "without columns": lambda a: a[..., :0] if a.ndim else a,
    "without rows": lambda a: a[:0] if a.ndim else a,
    "without axes": lambda a: np.reshape(a, -1)[0].reshape(()) if a.size else a,
}


def other_shapes(case: Case) -> Iterator[EdgeCase]:
    """Arrays without elements and without axes: each alone, and all together."""
    shapes = [np.shape(a) for a in case.arrays]
    for chosen in {*((i,) for i in range(len(shapes))), tuple(range(len(shapes)))}:
        for name, cut in CUTS.items():
            new = [cut(np.asarray(a)) if k in chosen else a for k, a in enumerate(case.arrays)]
            if [np.shape(a) for a in new] != shapes:
                yield f"{', '.join(map(str, chosen))} {name}", new


def rotations(arrays: list[Array], step: float) -> Iterator[list[Value]]:
    """Small steps away from `arrays` that break every tie, each element being the largest equally often.

    Positions along each axis, and the arrays among themselves, are turned round in all ways; each step comes with its
    opposite. The first one grows with the position.
    """
    lengths = [range(max((np.shape(a)[-k] for a in arrays if np.ndim(a) >= k), default=1)) for k in (3, 2, 1)]
    for *turns, turn in itertools.product(*lengths, range(len(arrays))):
        ranks = []
        for i, a in enumerate(arrays):
            rank: Value = (i + turn) % len(arrays) / len(arrays)
            places = np.indices(np.shape(a))
            for k in range(1, min(np.ndim(a), 3) + 1):
                rank = rank + 8.0 ** (k - 1) * ((places[-k] + turns[-k]) % np.shape(a)[-k])
            ranks.append(rank)
        for sign in (1.0, -1.0):
            yield [a + sign * step * rank for a, rank in zip(arrays, ranks, strict=True)]


def wrong_calls(case: Case) -> Iterator[tuple[str, SampleCall]]:
    """The call of `case` with one argument that cannot be right, as far as its signature tells."""
    args, kwargs = case.args, case.kwargs
    yield "no_such_argument", SampleCall(args, {**kwargs, "no_such_argument": 1})
    names = settings(case.entry)
    for name in ("axis", "axes"):
        if name in names and names.index(name) >= len(args):
            yield f"{name} out of range", SampleCall(args, {**kwargs, name: 99})
    for i, a in enumerate(case.arrays):
        if len(case.arrays) > 1:
            yield f"argument {i} of another shape", case.with_arrays(replaced(case.arrays, i, np.ones((7, 11))))
        for kind, word in (("text", np.full(np.shape(a), "text")), ("objects", np.full(np.shape(a), {}, object))):
            yield f"argument {i} of {kind}", case.with_arrays(replaced(case.arrays, i, word))


def settings(entry: Entry) -> list[str]:
    """The names of all arguments of `entry`, in order."""
    if isinstance(entry, Op):
        return [*entry.inputs, *entry.settings]
    return list(inspect.signature(entry.function).parameters)
