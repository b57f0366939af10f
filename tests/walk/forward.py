"""What forward mode must do for a sample call of an operation: checks that `tests/test_registry_forward.py` walks."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from adjoint.core.errors import GradientMismatchError
from adjoint.core.objects.trees import flatten
from adjoint.core.types import Array, Function, Value
from adjoint.testing.cases import Case, random_like, weighted
from adjoint.transforms.forward import jvp, linearize
from adjoint.transforms.reverse import grad, vjp


def inner(a: Sequence[Array], b: Sequence[Array]) -> float:
    """The real inner product of two lists of arrays."""
    return float(sum(np.sum(np.real(np.conj(x) * y)) for x, y in zip(a, b, strict=True)))


def check_transpose(case: Case, rng: np.random.Generator, rtol: float = 1e-10) -> None:
    """⟨w, Jv⟩ = ⟨Jᵀw, v⟩ for random v and w; and a tangent is like its value.

    Raises:
        GradientMismatchError: with both sides.
    """
    v = [random_like(rng, a) for a in case.arrays]
    value, tangent = (flatten(tree)[0] for tree in jvp(case.f, case.arrays, v))
    _like(case, value, tangent)
    found, pullback = vjp(case.f, *case.arrays)
    leaves, rebuild = flatten(found)
    w = [random_like(rng, x) for x in leaves]
    pulled = pullback(rebuild(w))
    # The tolerance for rounding is measured by the terms of a sum, because terms may cancel.
    size = inner(list(map(np.abs, w)), list(map(np.abs, tangent))) + inner(
        list(map(np.abs, pulled)), list(map(np.abs, v))
    )
    forward, reverse = inner(w, tangent), inner(pulled, v)
    if not abs(forward - reverse) <= rtol * max(size, 1.0):
        raise GradientMismatchError(f"{case.entry.name}: ⟨w, Jv⟩ = {forward!r}, but ⟨Jᵀw, v⟩ = {reverse!r}")


def check_float32(case: Case, rng: np.random.Generator) -> None:
    """In single precision, tangents are in single precision, and about those in double precision.

    Raises:
        GradientMismatchError: for another dtype, or numbers too far away.
    """
    small = [np.asarray(a, np.complex64 if a.dtype.kind == "c" else np.float32) for a in case.arrays]
    v = [random_like(rng, a) for a in small]
    value, tangent = (flatten(tree)[0] for tree in jvp(case.f, small, v))
    _like(case, value, tangent)
    wide = [[x.astype(a.dtype) for x, a in zip(xs, case.arrays, strict=True)] for xs in (small, v)]
    exact = flatten(jvp(case.f, wide[0], wide[1])[1])[0]
    for t, t64 in zip(tangent, exact, strict=True):
        gap = np.max(np.abs(t - t64), initial=0.0)
        if not gap <= 1e-3 * max(1.0, float(np.max(np.abs(t64), initial=0.0))):
            raise GradientMismatchError(f"{case.entry.name}: the tangent in single precision is off by {gap:.3g}")


def check_linearize(case: Case, rng: np.random.Generator) -> None:
    """`linearize` gives what `jvp` gives.

    Raises:
        GradientMismatchError: with both.
    """
    v = [random_like(rng, a) for a in case.arrays]
    tangents = flatten(jvp(case.f, case.arrays, v)[1])[0]
    pushed = flatten(linearize(case.f, *case.arrays)[1](*v))[0]
    for a, b in zip(tangents, pushed, strict=True):
        scale = max(1.0, float(np.max(np.abs(a), initial=0.0)))
        if np.shape(a) != np.shape(b) or not np.allclose(a, b, rtol=1e-9, atol=1e-9 * scale):
            raise GradientMismatchError(f"{case.entry.name}: jvp gives {a}, linearize {b}")


def second_derivatives(case: Case, rng: np.random.Generator) -> dict[str, float]:
    """uᵀHv for random u and v, by every nesting of two modes; H belongs to the weighted sum of all outputs."""
    x = tuple(case.arrays)
    u, v = (tuple(random_like(rng, a) for a in x) for _ in range(2))

    def total(*arrays: Array) -> Array:
        return weighted(case, arrays)

    def slope(*arrays: Array) -> Array:
        return jvp(total, arrays, v)[1]

    def along(*arrays: Array) -> Value:
        return sum(np.sum(np.real(np.conj(t) * g)) for t, g in zip(v, gradient(*arrays), strict=True))

    everything = tuple(range(len(x)))
    gradient: Function = grad(total, everything)
    return {
        "reverse over reverse": inner(grad(along, everything)(*x), u),
        "forward over reverse": inner(jvp(gradient, x, v)[1], u),
        "reverse over forward": inner(grad(slope, everything)(*x), u),
        "forward over forward": float(jvp(slope, x, u)[1]),
    }


def check_nestings(case: Case, rng: np.random.Generator) -> None:
    """All nestings of two modes give the same second derivative.

    Raises:
        GradientMismatchError: with all four.
    """
    found = second_derivatives(case, rng)
    expected = found["reverse over reverse"]
    if not all(abs(x - expected) <= 1e-8 * max(1.0, abs(expected)) for x in found.values()):
        raise GradientMismatchError(f"{case.entry.name}: second derivatives differ: {found}")


def jacobians(case: Case, arrays: Sequence[Array]) -> tuple[np.ndarray, np.ndarray]:
    """The Jacobian at real `arrays`, column by column in forward mode, and row by row in reverse mode."""
    value, pullback = vjp(case.f, *arrays)
    leaves, rebuild = flatten(value)
    rows = [_flat(pullback(rebuild(w))) for w in _units(leaves)]
    columns = [_flat(flatten(jvp(case.f, arrays, v)[1])[0]) for v in _units(arrays)]
    return np.stack(columns, axis=1), np.stack(rows)


def _units(likes: Sequence[Array]) -> list[list[np.ndarray]]:
    sizes = np.cumsum([0, *map(np.size, likes)])
    kinds = [d if d.kind == "f" else np.dtype(float) for d in map(np.result_type, likes)]
    return [
        [
            unit[start:stop].astype(kind).reshape(np.shape(x))
            for x, kind, start, stop in zip(likes, kinds, sizes, sizes[1:], strict=False)
        ]
        for unit in np.eye(sizes[-1])
    ]


def _flat(arrays: Sequence[Array]) -> np.ndarray:
    return np.concatenate([np.zeros(0), *map(np.ravel, arrays)])


def _like(case: Case, value: Sequence[Array], tangent: Sequence[Array]) -> None:
    for x, t in zip(map(np.asarray, value), map(np.asarray, tangent), strict=True):
        expected = x.dtype if x.dtype.kind in "fc" else np.dtype(float)
        if x.shape != t.shape or t.dtype != expected:
            raise GradientMismatchError(
                f"{case.entry.name}: a value of shape {x.shape} and dtype {x.dtype} has a tangent of {t.shape} and "
                f"{t.dtype}"
            )
