"""Cells of the grid: sample calls of an operation × dtypes and shapes × how their arrays lie in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from adjoint.core.registry import Entry
from adjoint.testing.cases import Case, carried_out
from tests.walk.batch import stacks
from tests.walk.dtypes import along_no_axis, variants
from tests.walk.edges import Outcome, outcome


def _permuted(a: np.ndarray) -> np.ndarray:
    """Neither by rows nor by columns: the last axis goes in the largest steps, the others as they are."""
    return np.moveaxis(np.array(np.moveaxis(a, -1, 0), order="C"), 0, -1)


LAYOUTS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "by rows": lambda a: a,
    "by columns": lambda a: np.array(a, order="F"),
    "backwards": lambda a: np.flip(np.array(np.flip(a), order="C")),
    "with gaps": lambda a: np.stack([a, a], axis=-1)[..., 0],
    "permuted": lambda a: _permuted(a) if a.ndim > 2 else a,
    "last backwards": lambda a: np.array(a[..., ::-1], order="F")[..., ::-1] if a.ndim > 1 else a,
}


class Cell(NamedTuple):
    """A call by two lists of arrays that are alike but for their numbers."""

    case: Case
    name: str
    first: list[np.ndarray]
    other: list[np.ndarray]

    def numpys(self, arrays: Sequence[np.ndarray]) -> Outcome:
        """What NumPy does; or, for an operation that is no function of NumPy's, what ours does with arrays."""
        case = self.case
        if not case.entry.answers:
            return outcome(lambda: case.f(*arrays))
        return outcome(lambda: carried_out(case.entry, case.entry.answers[0], *case.with_arrays(arrays)))


def cells(entry: Entry, layouts: Sequence[str] = tuple(LAYOUTS)) -> Iterator[Cell]:
    """All cells of `entry`. A layout in which no array lies otherwise than by rows is left out."""
    for stack in stacks(entry, 2):
        case = stack.case
        pairs = zip(variants(case), variants(case._replace(arrays=stack.points[1])), strict=True)
        for (name, first), (_, other) in pairs:
            if not case.entry.answers and not name.startswith("all"):
                continue  # other shapes and mixtures come from its public functions alone
            for layout in layouts if name.startswith(("all", "leading")) else layouts[:1]:
                laid = [[LAYOUTS[layout](np.asarray(a)) for a in arrays] for arrays in (first, other)]
                if layout == "by rows" or any(not a.flags.c_contiguous for a in laid[0]):
                    yield Cell(case, f"{name}, {layout}", *laid)
        call = along_no_axis(case)
        if call is not None and case.entry.answers:
            alone = case._replace(
                f=lambda x, f=case.entry, call=call: _with(f, call, x), args=call.args, kwargs=call.kwargs
            )
            number = next(x for x in call.args if isinstance(x, np.ndarray) and not x.ndim)
            alone = alone._replace(arrays=[number])
            yield Cell(alone, "number along axis 0", [number], [number + 0.25])


def _with(entry, call, x):
    """The call of `entry` by `x` in the place of its number."""
    number = next(a for a in call.args if isinstance(a, np.ndarray) and not a.ndim)
    return entry(*(x if a is number else a for a in call.args), **call.kwargs)
