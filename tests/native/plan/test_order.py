"""Kernels go along long axes, and cheap values are computed again: results stay NumPy's, special values too."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint import native
from adjoint.graph.rules import EXACT
from adjoint.native.plan.again import LARGE


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
