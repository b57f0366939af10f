"""Where a result has no axes, NumPy gives a number or an array: so do tensors, duals and samples, for all operations.

An array can be written, a number cannot; and ``x += 1`` writes into one, and binds the name `x` anew for the other.
"""

from contextlib import suppress

import numpy as np
import pytest

import adjoint as ad
from adjoint.core.objects.trees import flatten
from adjoint.ops.values import is_number
from adjoint.testing import walk
from tests.walk.batch import stacks

# Of matrices, where the public function refuses numbers; and the place of the only value in a number.
LEFT_OUT = {"packed_lu", "matrix_root", "unique_all", "unique_inverse"}
MODES = {
    "reverse": lambda f, points: ad.vjp(f, *points[0]),
    "forward": lambda f, points: ad.jvp(f, points[0], points[0]),
    "batched": lambda f, points: ad.vmap(f)(*map(np.stack, zip(*points, strict=True))),
}


def kinds(out):
    """Of each result without axes: is it a number?"""
    return [is_number(x) or not hasattr(x, "shape") for x in flatten(out)[0] if np.shape(x) == ()]


def trials(entry):
    """Functions with two lists of arguments: of the sample calls, and of one element of each of their arrays."""
    for stack in stacks(entry, 2):
        yield stack.case.f, [list(point) for point in stack.points]
        if all(np.size(a) for point in stack.points for a in point):
            yield stack.case.f, [[np.asarray(a).flat[0] for a in point] for point in stack.points]


@pytest.mark.parametrize("entry", list(walk()), ids=lambda e: e.name)
@pytest.mark.filterwarnings("ignore")  # of one number NumPy warns where it does not of many
def test_results_without_axes_are_numbers_where_they_are_for_numpy(entry):
    for f, points in trials(entry) if entry.name not in LEFT_OUT else ():
        for start in (np.positive, np.copy):  # a number, and an array
            given = [[start(a) if np.asarray(a).dtype.kind != "b" else a for a in point] for point in points]
            try:
                wanted = kinds(f(*given[0]))
            except (TypeError, ValueError, IndexError, ArithmeticError, np.linalg.LinAlgError):
                continue  # not of a number
            for mode, run in MODES.items() if wanted else ():
                seen = []

                def g(*arrays, f=f, start=start, seen=seen):
                    out = f(*[start(a) if a.dtype.kind != "b" else a for a in arrays])
                    seen.append(kinds(out))
                    return out

                with suppress(ad.AdjointError):  # what NumPy warns of, as of one observation, may be refused
                    run(g, given)
                    assert seen
                    assert all(kind == wanted for kind in seen), (mode, start.__name__, seen, wanted)
