"""`check_grads`: every entry of a derivative against differences of the function's own values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from adjoint.core.errors import ArgumentError, GradientMismatchError
from adjoint.core.rules.pullbacks import strict_cotangents
from adjoint.core.types import Array, Function, Value
from adjoint.testing.coordinates import to_arrays, to_vector
from adjoint.testing.differences import Estimate, along, jacobian
from adjoint.testing.problem import CheckedProblem, problem_of
from adjoint.transforms.forward import jvp

FULL = 200
DIRECTIONS = 4
COORDINATES = 8
SHOWN = 5

# How far rounding takes a gradient that is computed in lower precision, relative to its largest entry.
LOOSE = {np.dtype(np.float32): 2e-4, np.dtype(np.complex64): 2e-4, np.dtype(np.float16): 3e-2}


class Tolerance(NamedTuple):
    """How far apart two numbers may be: ``atol + rtol * abs(numeric)``; and the step of the differences."""

    rtol: float
    atol: float
    eps: float | None


Checker = Callable[[CheckedProblem, Tolerance, np.random.Generator], None]


def check_grads(
    f: Function,
    args: Value,
    kwargs: dict[str, Value] | None = None,
    *,
    modes: Sequence[str] = ("rev",),
    order: int = 2,
    eps: float | None = None,
    rtol: float | None = None,
    atol: float | None = None,
    seed: int = 0,
) -> None:
    """Check that derivatives of `f` are right: compare them with differences of its values.

    Up to 200 real inputs and outputs, every entry of the Jacobian is compared; beyond that, random directions
    and some single entries. The second order compares the Jacobian of the pullback in the same way, by the inputs
    and by the cotangent. Arrays are taken in double precision; derivatives in the precision that they came in
    are then compared with those, more loosely.

    Args:
        f: takes arrays, or trees of arrays; gives one array or a tree of them.
        args: its arguments, a tuple (or a single one). Real and complex arrays and Python floats vary;
            whole numbers, truth values, strings and None are passed on.
        kwargs: its keyword arguments; of these, arrays vary and Python numbers do not.
        modes: which derivatives to check: ``"rev"`` (reverse mode) and ``"fwd"`` (forward mode; its second order
            is forward over reverse).
        order: 1 for first derivatives, 2 for second ones too, and so on.
        eps: the step of the differences; chosen by what the function needs if not given.
        rtol, atol: each entry may be off by ``atol + rtol * abs(numeric)``; 1e-6 and 1e-8 if not given.
        seed: for directions and cotangents.

    Raises:
        GradientMismatchError: with the entries that differ, ours, numeric, and how many they are; also for a
            gradient of the wrong shape or dtype, and where `f` has no derivative (a kink, a jump, nan).
        ArgumentError: if there is nothing to differentiate.

    Example:
        >>> import numpy as np
        >>> from adjoint.testing import check_grads
        >>> check_grads(np.hypot, (np.array([3.0, 1.0]), np.array([4.0, 2.0])))
    """
    unknown = [mode for mode in modes if mode not in CHECKERS]
    if unknown or order < 1:
        raise ArgumentError(f"check_grads: modes are {', '.join(CHECKERS)} and order is at least 1; got modes={modes}, "
                            f"order={order}")  # fmt: skip
    problem, dtypes = problem_of(f, args, kwargs or {})
    tolerance = Tolerance(1e-6 if rtol is None else rtol, 1e-8 if atol is None else atol, eps)
    rng = np.random.default_rng(seed)
    first = problem
    with strict_cotangents():
        for k in range(1, order + 1):
            if k > 1:
                weights = [_random(rng, out) for out in problem.outputs]
                problem = problem.derived(weights, f"{('second', 'third', 'fourth')[min(k, 4) - 2]} derivative")
            for mode in modes:
                CHECKERS[mode](problem, tolerance, rng)
        if any(x.dtype != dtype for x, dtype in zip(first.point, dtypes, strict=True)):
            _low_precision(first, dtypes)


def _random(rng: np.random.Generator, like: Array) -> np.ndarray:
    drawn = rng.uniform(0.5, 1.5, np.shape(like)) * rng.choice((-1.0, 1.0), np.shape(like))
    if np.iscomplexobj(like):
        drawn = drawn + 1j * rng.uniform(0.5, 1.5, np.shape(like))
    return np.asarray(drawn)


def check_reverse(problem: CheckedProblem, tolerance: Tolerance, rng: np.random.Generator) -> None:
    """Compare reverse mode with differences: whole Jacobians of small problems, directions of large ones."""
    pullback = problem.pullback()
    x = to_vector(problem.point)
    inputs, outputs = problem.size

    def pulled(w: np.ndarray) -> np.ndarray:
        return to_vector(_pulled(problem, pullback, w))

    if max(inputs, outputs) <= FULL:
        numeric = jacobian(problem.value, x, tolerance.eps)
        rows = [pulled(w) for w in np.eye(outputs)]
        ours = np.stack(rows) if rows else np.zeros((0, inputs))

        def entry(k: int) -> str:
            i, j = divmod(k, inputs)
            return f"d {problem.output_label(i)} / d {problem.input_label(j)}"

        compare(problem, ours.ravel(), Estimate(*(a.ravel() for a in numeric)), entry, tolerance)
        return
    w = _random(rng, np.empty(outputs))
    gradient = pulled(w)
    few = rng.choice(inputs, min(COORDINATES, inputs), replace=False)
    directions = [*rng.standard_normal((DIRECTIONS, inputs)), *(np.eye(1, inputs, int(j))[0] for j in few)]
    places = [f"along random direction {k}" for k in range(DIRECTIONS)]
    places += [f"weighted sum of outputs by {problem.input_label(int(j))}" for j in few]
    found = [along(lambda y: np.array([w @ problem.value(y)]), x, v, tolerance.eps) for v in directions]
    numeric = Estimate(*(np.concatenate(part) for part in zip(*found, strict=True)))
    compare(problem, np.array([v @ gradient for v in directions]), numeric, places.__getitem__, tolerance)


def check_forward(problem: CheckedProblem, tolerance: Tolerance, rng: np.random.Generator) -> None:
    """Compare forward mode with differences: every column of small problems, directions of large ones."""
    x = to_vector(problem.point)
    inputs = problem.size[0]
    if inputs <= FULL:
        directions, places = list(np.eye(inputs)), [f" / d {problem.input_label(j)}" for j in range(inputs)]
    else:
        few = rng.choice(inputs, COORDINATES, replace=False)
        directions = [*rng.standard_normal((DIRECTIONS, inputs)), *(np.eye(1, inputs, int(j))[0] for j in few)]
        places = [f" along random direction {k}" for k in range(DIRECTIONS)]
        places += [f" / d {problem.input_label(int(j))}" for j in few]
    for v, place in zip(directions, places, strict=True):
        ours = to_vector(_pushed(problem, v))
        numeric = along(problem.value, x, v, tolerance.eps)
        entries = [f"d {problem.output_label(i)}{place}" for i in range(len(ours))]
        compare(problem, ours, numeric, entries.__getitem__, tolerance)


CHECKERS: dict[str, Checker] = {"rev": check_reverse, "fwd": check_forward}


def _pushed(problem: CheckedProblem, v: np.ndarray) -> list[Array]:
    """The tangents of all outputs for the inputs' coordinates `v`; each of its output's shape and dtype."""
    _, tangents = jvp(lambda *xs: problem.function(*xs), problem.point, to_arrays(v, problem.point))
    for k, (out, t) in enumerate(zip(problem.outputs, tangents, strict=True)):
        if np.shape(t) != out.shape or t.dtype != out.dtype:
            raise GradientMismatchError(
                f"{problem.title}, {problem.what}: the tangent of output {k} has shape {np.shape(t)} and dtype "
                f"{t.dtype}; it must have those of the output, {out.shape} and {out.dtype}"
            )
    return list(tangents)


def _pulled(problem: CheckedProblem, pullback: Function, w: np.ndarray) -> list[Array]:
    """The cotangents of all inputs for the outputs' coordinates `w`; each of its input's shape and dtype."""
    seeds = to_arrays(w, problem.outputs)
    cotangents = list(pullback(seeds))
    if not np.array_equal(to_vector(seeds), to_vector(to_arrays(w, problem.outputs))):
        raise GradientMismatchError(
            f"{problem.title}, {problem.what}: a rule wrote into the cotangent that it was given, which others use "
            f"too; it must make a new array"
        )
    for name, x, c in zip(problem.names, problem.point, cotangents, strict=True):
        if np.shape(c) != x.shape or c.dtype != x.dtype:
            raise GradientMismatchError(
                f"{problem.title}, {problem.what}: the gradient by {name} has shape {np.shape(c)} and dtype {c.dtype}; "
                f"it must have those of {name}, {x.shape} and {x.dtype}"
            )
    return cotangents


def compare(
    problem: CheckedProblem, ours: np.ndarray, numeric: Estimate, place: Callable[[int], str], tolerance: Tolerance
) -> None:
    """Raise `GradientMismatchError` unless `ours` are `numeric`, entry by entry."""
    rtol, atol, _ = tolerance
    head = f"{problem.title}, {problem.what}"
    rough = ~np.isfinite(numeric.errors)
    if rough.any():
        raise GradientMismatchError(
            f"{head}: no difference quotient settles for {place(int(np.argmax(rough)))} (and {rough.sum() - 1} more of "
            f"{rough.size} entries): the function has a kink, a jump or nan there. Check it where it is smooth"
        )
    gap = np.abs(ours - numeric.values)
    wrong = ~(gap <= atol + rtol * np.abs(numeric.values))
    if not wrong.any():
        return
    with np.errstate(divide="ignore", invalid="ignore"):
        relative = gap / np.abs(numeric.values)
    order = sorted(np.flatnonzero(wrong), key=lambda i: -gap[i])
    lines = [
        f"  {place(int(i))}: ours {ours[i]:.10g}, numeric {numeric.values[i]:.10g} ± {numeric.errors[i]:.1g}, "
        f"relative error {relative[i]:.2g}"
        for i in order[:SHOWN]
    ]
    raise GradientMismatchError(
        f"{head}: {wrong.sum()} of {wrong.size} entries differ from differences of its values "
        f"(rtol={rtol:g}, atol={atol:g})\n" + "\n".join(lines)
    )


def _low_precision(problem: CheckedProblem, dtypes: Sequence[np.dtype]) -> None:
    """Compare the gradient in the inputs' own precision with the one in double precision."""
    low = problem.cast(dtypes)
    high = low.cast([x.dtype for x in problem.point])  # at the rounded point
    w = np.ones(low.size[1])
    ours, exact = _pulled(low, low.pullback(), w), _pulled(high, high.pullback(), w)
    for name, x, a, b in zip(low.names, low.point, ours, exact, strict=True):
        allowed = LOOSE.get(x.dtype, 1e-6)
        gap = np.max(np.abs(a - b), initial=0.0)
        if not gap <= allowed * max(1.0, float(np.max(np.abs(b), initial=0.0))):
            raise GradientMismatchError(
                f"{problem.title}: the gradient by {name} in {x.dtype} is off by {gap:.3g} from the one in double "
                f"precision; at most {allowed:g} of its largest entry was expected"
            )
