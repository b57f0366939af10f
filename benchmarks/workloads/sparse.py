"""A sparse Jacobian where a dense one would not fit into memory: its pattern, its colours, its values."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.harness import Call, Case, programs
from benchmarks.peers import load

TITLE = "Sparse Jacobian"
ABOUT = (
    "A band of five diagonals: the residual of a nonlinear equation on a line, by its unknowns. NumPy is the same "
    "values by SciPy's central differences, by groups of columns that are known; they have half of the digits."
)


def residual(u: Any) -> Any:
    """Swift and Hohenberg's equation at rest, but for its ends."""
    bent = u[2:] - 2.0 * u[1:-1] + u[:-2]
    inner = u[2:-2]
    return bent[2:] - 2.0 * bent[1:-1] + bent[:-2] + 2.0 * bent[1:-1] + 0.7 * inner - inner**3


def _point(n: int) -> np.ndarray:
    return np.random.default_rng(0).uniform(-1, 1, n)


def pattern(u: np.ndarray) -> Call:
    f = load("adjoint").sparsity(residual)
    return lambda: [f(u).tocoo().row]


def colouring(u: np.ndarray) -> Call:
    colours = load("adjoint.transforms.sparse").colours
    known = load("adjoint").sparsity(residual)(u)
    return lambda: [colours(known)]


def values(u: np.ndarray) -> Call:
    ad = load("adjoint")
    f = ad.sparse_jacobian(residual, pattern=ad.sparsity(residual)(u))
    return lambda: [f(u).data]


def everything(u: np.ndarray) -> Call:
    f = load("adjoint").sparse_jacobian(residual)
    return lambda: [f(u).data]


def by_differences(u: np.ndarray) -> Call:
    numeric, sparse = load("scipy.optimize._numdiff"), load("scipy.sparse")
    known = sparse.csr_array(sparse.diags_array([np.ones(u.size)] * 5, offsets=range(5), shape=(u.size - 4, u.size)))
    groups = np.arange(u.size) % 5
    return lambda: [numeric.approx_derivative(residual, u, "3-point", sparsity=(known, groups)).data]


def cases(small: bool = False) -> Iterator[Case]:
    """One row a part of the work, and one for all of it."""
    n = 200 if small else 100_000
    for name, ours in (("pattern", pattern), ("colours", colouring), ("values, pattern known", values)):
        theirs = {"NumPy": by_differences} if ours is values else {}
        yield Case(f"{n} unknowns: {name}", programs({"adjoint": ours, **theirs}, _point(n)))
    yield Case(f"{n} unknowns: all of it", programs({"adjoint": everything}, _point(n)))
