"""What batching must do for a sample call of an operation: checks that `tests/test_registry_batch.py` walks."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from adjoint.core.errors import GradientMismatchError
from adjoint.core.objects.trees import flatten
from adjoint.core.op import Op
from adjoint.core.registry import Entry
from adjoint.core.types import Array, Function, Value
from adjoint.testing.cases import Case, case_of, outputs, random_like, writes
from adjoint.testing.samples import samples
from adjoint.transforms.batch import vmap
from adjoint.transforms.forward import jvp
from adjoint.transforms.reverse import vjp


class SampleStackTrial:
    """One sample call of an operation, `case`, and `n` lists of arrays with which it may be called, `points`."""

    def __init__(self, case: Case, points: Sequence[Sequence[Value]]) -> None:
        self.case, self.points = case, points

    @property
    def name(self) -> str:
        return f"{self.case.entry.name}{tuple(np.shape(a) for a in self.case.arrays)}"

    def stacked(self, k: int) -> Array:
        """Argument number `k` of all points, along a first axis."""
        return np.stack([point[k] for point in self.points])

    def chosen(self, batched: Sequence[bool]) -> tuple[list[Value], list[int | None], list[list[Value]]]:
        """The arguments of a call in which those that are `batched` are stacks; its in_axes; and each sample's."""
        first = self.points[0]
        args = [self.stacked(k) if yes else first[k] for k, yes in enumerate(batched)]
        axes = [0 if yes else None for yes in batched]
        each = [[point[k] if yes else first[k] for k, yes in enumerate(batched)] for point in self.points]
        return args, axes, each


def stacks(entry: Entry, n: int = 4) -> list[SampleStackTrial]:
    """The sample calls of `entry` that have arrays, each with `n` sets of them."""
    drawn = [[case_of(entry, sample) for sample in samples(entry, seed)] for seed in range(n)]
    return [
        SampleStackTrial(group[0], [case.arrays for case in group])
        for group in zip(*drawn, strict=True)
        if group[0].arrays and len({str([np.shape(a) for a in case.arrays]) for case in group}) == 1
    ]


def combinations(stack: SampleStackTrial) -> list[list[bool]]:
    """Which arguments are batched: all of them, and each one alone. One that is written into always is."""
    count = len(stack.case.arrays)
    alone = [[i == k or (i == 0 and writes(stack.case.entry)) for i in range(count)] for k in range(count)]
    return [[True] * count, *(alone if count > 1 else [])]


def check_values(stack: SampleStackTrial) -> None:
    """`vmap` gives what a loop gives: for all arguments, each one alone, along a last axis, and nested.

    Raises:
        GradientMismatchError: with both.
    """
    f, count = stack.case.f, len(stack.case.arrays)
    for batched in combinations(stack):
        args, axes, each = stack.chosen(batched)
        exact = isinstance(stack.case.entry, Op) and stack.case.entry.kind == "elementwise"
        _same(stack, "vmap", vmap(f, tuple(axes))(*args), _loop(f, each), 0.0 if exact else 1e-12)
    args, _, each = stack.chosen([True] * count)
    expected = _loop(f, each)
    last = vmap(f, -1, -1)(*(np.moveaxis(a, 0, -1) for a in args))
    _same(stack, "vmap(in_axes=-1)", [np.moveaxis(x, -1, 0) for x in flatten(last)[0]], expected)
    square = vmap(vmap(f))(*(np.reshape(a, (2, len(each) // 2, *a.shape[1:])) for a in args))
    merged = [np.reshape(x, (len(each), *np.shape(x)[2:])) for x in outputs(square)]
    _same(stack, "vmap(vmap(f))", merged, expected)


def check_derivatives(stack: SampleStackTrial, rng: np.random.Generator) -> None:
    """Pullbacks and tangents inside `vmap`, and pullbacks of it, are those of a loop.

    Raises:
        GradientMismatchError: with both.
    """
    f, count = stack.case.f, len(stack.case.arrays)
    like, rebuild = flatten(f(*stack.points[0]))
    if len({str([x.dtype for x in outputs(f(*point))]) for point in stack.points}) > 1:
        return  # the eigenvalues of some samples are complex: one array of them all has cotangents that theirs have not
    weights = [[random_like(rng, x) for x in like] for _ in stack.points]
    tangents = [[random_like(rng, a) for a in point] for point in stack.points]
    w, t = (list(map(np.stack, zip(*rows, strict=True))) for rows in (weights, tangents))

    def pulled(cotangents: Sequence[Value], *arrays: Array) -> Value:
        return vjp(f, *arrays)[1](rebuild(list(cotangents)))

    def pushed(directions: Sequence[Value], *arrays: Array) -> Value:
        return jvp(f, arrays, directions)[1]

    for batched in combinations(stack):
        args, axes, each = stack.chosen(batched)
        inside = vmap(pulled, (0, *axes))(w, *args)
        _same(stack, "vmap of vjp", inside, _loop(pulled, [(c, *x) for c, x in zip(weights, each, strict=True)]))
        inside = vmap(pushed, (0, *axes))(t, *args)
        _same(stack, "vmap of jvp", inside, _loop(pushed, [(v, *x) for v, x in zip(tangents, each, strict=True)]))
    args, _, each = stack.chosen([True] * count)
    outside = vjp(vmap(f), *args)[1](rebuild(w))
    _same(stack, "vjp of vmap", outside, _loop(pulled, [(c, *x) for c, x in zip(weights, each, strict=True)]))


def _loop(f: Function, each: Sequence[Sequence[Value]]) -> list[np.ndarray]:
    """The values of `f` for one sample after another, stacked."""
    return [np.stack(column) for column in zip(*(outputs(f(*args)) for args in each), strict=True)]


def _same(
    stack: SampleStackTrial, what: str, found: object, expected: Sequence[np.ndarray], rtol: float = 1e-12
) -> None:
    found = outputs(found)
    if len(found) != len(expected):
        raise GradientMismatchError(f"{stack.name}: {what} gives {len(found)} arrays, a loop {len(expected)}")
    for x, y in zip(found, expected, strict=True):
        head = f"{stack.name}: {what} gives"
        if x.shape != y.shape or x.dtype != y.dtype:
            raise GradientMismatchError(f"{head} an array {x.shape} of {x.dtype}, a loop {y.shape} of {y.dtype}")
        finite = np.abs(y[np.isfinite(y)]) if y.dtype.kind in "fc" else np.zeros(0)
        scale = max(1.0, float(np.max(finite, initial=0.0)))
        close = np.array_equal(x, y) if y.dtype.kind not in "fc" else np.allclose(
            x, y, rtol=rtol, atol=rtol * scale, equal_nan=True
        )  # fmt: skip
        if not close:
            raise GradientMismatchError(f"{head} {x}, a loop {y}")
