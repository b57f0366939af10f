"""Kernels go along long axes, and cheap values are computed again: results stay NumPy's, special values too."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint import native
from adjoint.graph.rewriting.rules import EXACT
from adjoint.native.plan.rewriting.again import LARGE


def built(function: Callable[..., Any], *args: np.ndarray) -> native.Program:
    graph = ad.capture(function, *args).rewritten(EXACT)
    return native.build(graph.inputs, graph.outputs)


def nearest(c: Any, x: Any) -> Any:
    return np.sum(np.min(np.sum((x[:, None] - c[None]) ** 2, axis=-1), axis=1))


def crossed(x: Any, y: Any) -> Any:
    a = x[:, :, None] * np.stack([y, y + 1.0, y - 1.0], axis=-1)[None]
    return np.sum(a * a[:, :, ::-1], axis=(0, 2)), np.max(a, axis=-1), a[..., 1]


PROGRAMS: dict[str, tuple[Callable[..., Any], tuple[tuple[int, ...], ...]]] = {
    "nearest centre": (nearest, ((40, 3), (200, 3))),
    "its gradient": (ad.grad(nearest, (0, 1)), ((40, 3), (200, 3))),
    "short axis in the midst": (crossed, ((30, 200), (200,))),
    "means of pairs": (lambda x, y: (np.mean(x * y, axis=-1), np.min(x - y, axis=-1)), ((5000, 2), (2,))),
    "short axis first": (lambda x, y: np.sum(x * y, axis=0), ((3, 4000), (3, 1))),
    "products": (lambda x, y: np.prod(x + y, axis=-1, keepdims=True) * x, ((1500, 5), (1500, 1))),
}


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("special", [0.0, np.nan, np.inf, -np.inf, -0.0])
@pytest.mark.parametrize("name", PROGRAMS)
def test_results_are_numpys(name: str, special: float, dtype: Any) -> None:
    function, shapes = PROGRAMS[name]
    rng = np.random.default_rng(0)
    args = [rng.normal(size=shape).astype(dtype) for shape in shapes]
    for arg in args:
        arg.flat[:: max(arg.size // 7, 1)] = special
    program = built(function, *args)
    with np.errstate(all="ignore"):
        expected = function(*args)
    for found, wanted in zip(program(*args), expected if isinstance(expected, tuple) else (expected,), strict=True):
        scale = np.max(np.abs(wanted), where=np.isfinite(wanted), initial=1.0)
        np.testing.assert_allclose(found, wanted, rtol=40 * np.finfo(dtype).eps, atol=40 * np.finfo(dtype).eps * scale)


def test_a_short_sum_has_numpys_bits() -> None:
    x = np.random.default_rng(0).normal(size=(3000, 3))
    program = built(lambda x: np.sum(x * x, axis=-1), x)
    np.testing.assert_array_equal(program(x)[0], np.sum(x * x, axis=-1))


def test_what_is_cheap_is_not_kept() -> None:
    c, x = np.zeros((40, 3)), np.ones((2000, 3))
    program = built(ad.grad(nearest), c, x)
    differences = 2000 * 40 * 3 * 8
    assert differences > LARGE
    assert all(plan.arena.size < differences for plan in program.plans)


def test_differences_of_a_grid_are_read_once_more_and_never_written() -> None:
    def energy(u: Any) -> Any:
        return np.sum((u[1:] - u[:-1]) ** 2) + np.sum((u[:, 1:] - u[:, :-1]) ** 2)

    u = np.random.default_rng(0).normal(size=(100, 90))
    program = built(ad.grad(energy), u)
    np.testing.assert_allclose(program(u)[0], ad.grad(energy)(u), rtol=1e-13)
    assert program.plans[0].arena.size < LARGE


def test_expensive_values_are_kept() -> None:
    x = np.ones((200, 100))

    def twice(x: Any) -> Any:
        y = np.exp(x)
        return np.sum(y / np.sum(y, axis=1, keepdims=True), axis=0)

    kernels = built(twice, x).kernels
    assert sum(sum(node.label == "exp" for node in kernel.nodes) for kernel in kernels) == 1


def test_low_memory_computes_again_what_it_can() -> None:
    def program(x: Any) -> Any:
        y = np.exp(x) * x
        return np.sum(y / np.sum(y, axis=1, keepdims=True), axis=0)

    x = np.random.default_rng(0).normal(size=(300, 200))
    kept, low = (ad.compile(program, wait=True, memory=memory) for memory in ("auto", "low"))
    np.testing.assert_array_equal(kept(x), low(x))
    assert low.plan.memory.arena < x.nbytes <= kept.plan.memory.arena
    assert "not kept, since writing" in str(low.plan)


def test_memory_is_one_of_two_words() -> None:
    with pytest.raises(ad.ArgumentError, match='memory is "auto" or "low"'):
        ad.compile(np.sin, memory="none")  # type: ignore[call-overload]  # which is the test


def apart(x: Any, y: Any) -> Any:
    """Differences of all pairs, of which one sum along the short axis is read three times."""
    d = np.sum((x[:, None] - y[None]) * (x[:, None] + y[None]), axis=2)
    return np.max(d, axis=1), np.sum(np.where(d > 0.0, d, 0.0)[..., None] * (x[:, None] - y[None]), axis=0), d


@pytest.mark.parametrize("special", [0.5, -0.0, np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("short", [2, 3, 4, 5])
def test_short_sums_of_pairs_have_numpys_bits(short: int, special: float) -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(90, short)), rng.normal(size=(70, short))
    x[3, 1], y[:2] = special, special
    with np.errstate(all="ignore"):
        expected = apart(x, y)
    found = built(apart, x, y)(x, y)
    np.testing.assert_array_equal(found[0], expected[0])
    np.testing.assert_array_equal(found[2], expected[2])
    np.testing.assert_allclose(found[1], expected[1], rtol=1e-11, atol=1e-11)


def test_sums_of_negative_zeros_have_numpys_sign() -> None:
    def program(x: Any, y: Any) -> Any:
        return np.sum(x[:, None] * y[None], axis=-1)

    x, y = np.full((80, 2), -0.0), np.ones((80, 2))
    np.testing.assert_array_equal(np.signbit(built(program, x, y)(x, y)[0]), np.signbit(program(x, y)))


@pytest.mark.parametrize("shape", [(3000, 40), (300, 7, 20), (2, 500, 64), (40, 3000)])
def test_sums_row_after_row_are_numpys(shape: tuple[int, ...]) -> None:
    x = np.random.default_rng(0).normal(size=shape)
    for axis in range(len(shape) - 1):
        program = built(lambda x, axis=axis: (np.sum(np.tanh(x) * x, axis=axis), np.tanh(x)), x)
        np.testing.assert_allclose(program(x)[0], np.sum(np.tanh(x) * x, axis=axis), rtol=1e-12)
        np.testing.assert_array_equal(program(x)[0], program(x)[0])


def test_a_few_long_sums_are_no_product_of_matrices() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(5, 4000, 3)), rng.normal(size=(5, 4000, 2))
    program = built(lambda x, y: (np.swapaxes(x, 1, 2) @ y, x[0].T @ y[0]), x, y)
    assert not any(row.by in ("product", "BLAS") for row in program.listing().rows)
    for found, expected in zip(program(x, y), (np.swapaxes(x, 1, 2) @ y, x[0].T @ y[0]), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-11)
