"""What capture must do for a sample call of an operation: checks that `tests/test_registry_graph.py` walks."""

from __future__ import annotations

import numpy as np

from adjoint.core.errors import GradientMismatchError, GraphError
from adjoint.core.objects.trees import flatten
from adjoint.core.types import Array, Function, Value
from adjoint.graph.captures.on_symbols import on_symbols
from adjoint.testing.cases import outputs, random_like
from adjoint.transforms.forward import jvp
from adjoint.transforms.reverse import vjp
from tests.walk.batch import SampleStackTrial

# On plain arrays these do the same in another order: the last digits differ from those of a graph.
ROUNDED = {
    "cholesky", "cholesky_factor", "cholesky_solved", "triangular_solve", "unitary_factor_and_svd", "eigen",
    "det", "det_keeping_factors", "slogdet", "slogdet_keeping_factors", "solve", "solve_keeping_factors", "tensorsolve",
    "least_squares", "lstsq", "polyfit", "nansum", "histogram_bin_edges", "histogramdd",
    "interp", "modfresnelp", "rational_filter", "voigt_profile",
    "bdtrik", "bdtrin", "btdtria", "btdtrib", "fdtridfd", "nbdtrik", "nbdtrin", "stdtridf",
}  # fmt: skip


def check_capture(stack: SampleStackTrial, rng: np.random.Generator) -> int:
    """A graph made with one point gives at another what the function gives: value, pullback and tangent.

    Bit for bit, but for the operations in `ROUNDED`; before and after rewriting. Where the function takes another
    way at the other point, the graph may say so.

    Returns:
        How many of the graphs held at the other point.

    Raises:
        GradientMismatchError: with both.
        GraphError: for a graph that is not in order, or does not hold at the point that it was made with.
    """
    f, (first, other) = stack.case.f, stack.points
    outs, rebuild = flatten(f(*first))
    cotangents = [random_like(rng, x) for x in outs]
    tangents = [random_like(rng, x) for x in first]

    def pulled(w: Array, *arrays: Array) -> Value:
        value, pullback = vjp(f, *arrays)
        return value, pullback(rebuild(w))

    def pushed(t: Array, *arrays: Array) -> Value:
        return jvp(f, arrays, t)

    held = _check(stack, "value", f, first, other)
    held += _check(stack, "vjp", pulled, [cotangents, *first], [cotangents, *other])
    return held + _check(stack, "jvp", pushed, [tangents, *first], [tangents, *other])


def _check(stack: SampleStackTrial, what: str, function: Function, first: Value, other: Array) -> int:
    graph = on_symbols(function, *first)
    graph.verify()
    simpler = graph.rewritten()
    simpler.verify()
    for one in (graph, simpler):
        _same(stack, what, one(*first), function(*first))
    try:
        expected = function(*other)
    except (ArithmeticError, ValueError):  # another shape, or nothing at all
        return 0
    try:
        found = graph(*other), simpler(*other)
    except GraphError:
        return 0
    for one in found:
        _same(stack, what, one, expected)
    return 1


def _same(stack: SampleStackTrial, what: str, found: Value, expected: Value) -> None:
    pairs = list(zip(outputs(found), outputs(expected), strict=True))
    for x, y in pairs:
        head = f"{stack.name}: the graph of its {what} gives"
        if x.shape != y.shape or x.dtype != y.dtype:
            raise GradientMismatchError(f"{head} an array {x.shape} of {x.dtype}, the call {y.shape} of {y.dtype}")
        if stack.case.entry.name in ROUNDED:
            scale = max(1.0, float(np.max(np.abs(y), initial=0.0)))
            same = np.allclose(x, y, rtol=1e-12, atol=1e-12 * scale, equal_nan=True)
        else:
            same = x.tobytes() == y.tobytes()
        if not same:
            raise GradientMismatchError(f"{head} {x}, the call {y}")
