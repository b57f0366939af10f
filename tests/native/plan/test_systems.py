"""Linear equations in native code: values and gradients are NumPy's, and a singular matrix raises."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint import native
from adjoint.native.plan.systems import LARGEST
from adjoint.scipy.linalg import solve_triangular

PROGRAMS: dict[str, Callable[..., Any]] = {
    "solve, vector": lambda a, b: np.sum(np.linalg.solve(a, b[..., 0]) ** 2),
    "solve, matrix": lambda a, b: np.sum(np.linalg.solve(a, b) ** 2),
    "solve, transposed too": lambda a, b: np.sum(np.linalg.solve(a, b) * np.linalg.solve(a.T, b)),
    "stack": lambda a, b: np.sum(np.linalg.solve(a * np.arange(1.0, 4.0, dtype=a.dtype)[:, None, None], b) ** 2),
    "inv": lambda a, b: np.sum(np.linalg.inv(a) @ b),
    "slogdet": lambda a, b: np.linalg.slogdet(a)[1] * np.linalg.slogdet(a)[0] + np.sum(b),
    "det of a stack": lambda a, b: np.sum(np.linalg.det(np.stack([a, -a, a.T])) * np.sum(b)),
    "cholesky": lambda a, b: np.sum(np.linalg.cholesky(a @ a.T + np.eye(len(a), dtype=a.dtype)) ** 3) + np.sum(b),
    "lower triangle": lambda a, b: np.sum(solve_triangular(a, b, lower=True) ** 2),
    "upper triangle, transposed": lambda a, b: np.sum(solve_triangular(a, b, trans=1) ** 2),
}


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n", [1, 2, 3, 8, 17])
@pytest.mark.parametrize("name", PROGRAMS)
def test_values_and_gradients_are_numpys(name: str, n: int, dtype: Any) -> None:
    rng = np.random.default_rng(n)
    a, b = (rng.normal(size=shape).astype(dtype) for shape in ((n, n), (n, 2)))
    a += 2 * np.eye(n, dtype=dtype)
    run = ad.compile(ad.value_and_grad(PROGRAMS[name], (0, 1)), wait=True)
    (value, slopes), (expected, wanted) = run(a, b), ad.value_and_grad(PROGRAMS[name], (0, 1))(a, b)
    assert run.plan.count("NumPy") == 0
    bound = 100 * np.finfo(dtype).eps * max(np.linalg.cond(a), np.linalg.cond(np.tril(a)), np.linalg.cond(np.triu(a)))
    for x, y in zip((value, *slopes), (expected, *wanted), strict=True):
        np.testing.assert_allclose(x, y, rtol=bound, atol=bound * np.max(np.abs(y)))


def test_one_matrix_is_taken_apart_once() -> None:
    def density(k: Any, r: Any) -> Any:
        return r @ np.linalg.solve(k, r) + np.linalg.slogdet(k)[1]

    run = ad.compile(ad.grad(density, (0, 1)), wait=True)
    run(np.eye(3) * 2.0, np.ones(3))
    assert sum("factors(" in row.writes[0].formula for row in run.plan.rows if row.writes) == 1


def test_large_matrices_are_lapacks() -> None:
    run = ad.compile(np.linalg.inv, wait=True)
    run(np.eye(LARGEST + 1))
    assert run.plan.count("NumPy") == 1


@pytest.mark.parametrize("matrix", [np.zeros((3, 3)), np.ones((3, 3)), np.diag([1.0, 0.0, 2.0])])
def test_a_singular_matrix_raises_as_in_numpy(matrix: np.ndarray) -> None:
    run = ad.compile(lambda a, b: np.linalg.solve(a, b), wait=True)
    run(np.eye(3), np.ones(3))
    with pytest.raises(np.linalg.LinAlgError, match="Singular matrix"):
        run(matrix, np.ones(3))
    np.testing.assert_array_equal(run(2 * np.eye(3), np.ones(3)), np.full(3, 0.5))


def test_a_matrix_that_is_not_positive_raises_as_in_numpy() -> None:
    run = ad.compile(np.linalg.cholesky, wait=True)
    run(np.eye(2))
    with pytest.raises(np.linalg.LinAlgError, match="positive definite"):
        run(np.array([[1.0, 2.0], [2.0, 1.0]]))
    np.testing.assert_array_equal(run(4 * np.eye(2)), 2 * np.eye(2))


def test_whoever_raises_in_numpy_is_asked_again() -> None:
    """Where rounding decides whether a matrix is singular, native code leaves the answer to NumPy."""
    rng = np.random.default_rng(0)
    graph = ad.capture(np.linalg.inv, np.eye(3))
    program = native.build(graph.inputs, graph.outputs, exact=True)
    raised = 0
    for _ in range(500):
        a = rng.integers(-3, 4, (3, 3)).astype(float)
        a[2] = a[0] * rng.integers(1, 4) + a[1]
        try:
            np.linalg.inv(a)
        except np.linalg.LinAlgError:
            raised += 1
        assert program(a) is None
    assert raised


@pytest.mark.parametrize("scale", [1.0, 1e-150, 1e150])
def test_badly_scaled_matrices_are_no_singular_ones(scale: float) -> None:
    graph = ad.capture(np.linalg.inv, np.eye(2))
    program = native.build(graph.inputs, graph.outputs, exact=True)
    a = np.array([[2.0, 0.0], [0.0, 1e-30]]) * scale
    np.testing.assert_allclose(program(a)[0], np.linalg.inv(a), rtol=1e-14)


@pytest.mark.parametrize("special", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_stays_so(special: float) -> None:
    graph = ad.capture(np.linalg.solve, np.eye(2), np.ones(2))
    program = native.build(graph.inputs, graph.outputs, exact=True)
    for a in (np.diag([special, 1.0]), np.array([[1.0, special], [0.5, 3.0]])):
        found, expected = program(a, np.ones(2)), np.linalg.solve(a, np.ones(2))
        assert found is None or not np.isfinite(found[0][~np.isfinite(expected)]).any()


def test_signs_of_exchanged_rows() -> None:
    run = ad.compile(lambda a: np.linalg.slogdet(a), wait=True)
    for order in ([0, 1, 2], [1, 0, 2], [1, 2, 0], [2, 1, 0]):
        a = np.eye(3)[order] * 2.0
        assert run(a)[0] == np.linalg.slogdet(a)[0]
    assert tuple(run(np.zeros((3, 3)))) == (0.0, -np.inf)
