"""Random programs of views, and of what reads them as wholes: all are planned, and give what NumPy gives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint import nn, optim
from adjoint.native import Program

LENGTHS = (1, 2, 3, 4, 6, 16, 24, 64)
LEAST, MOST = 1 << 12, 1 << 14  # places of an array: smaller ones stay in NumPy's order


def drawn(seed: int) -> tuple[Callable[..., Any], list[np.ndarray]]:
    """A program of two arrays, and the arrays. Its values stay near 1."""
    rng = np.random.default_rng(seed)
    while True:
        shape = [int(rng.choice(LENGTHS)) for _ in range(int(rng.integers(2, 5)))]
        if LEAST <= np.prod(shape) <= MOST:
            break
    arrays = [rng.normal(size=shape), rng.normal(size=shape)]
    plan = [rng.integers(0, 1 << 30, 4).tolist() for _ in range(int(rng.integers(4, 12)))]

    def program(*given: Any) -> Any:
        pool, sums = list(given), []
        for which, first, second, third in plan:
            x, y = pool[-1 - first % min(len(pool), 3)], pool[second % len(pool)]
            made = (computed if which % 2 else shown)(which // 2, x, y, third)
            pool.append(made)
            if which % 3 == 0:
                sums.append(np.sum(made * made, axis=third % made.ndim))
        return (*sums, pool[-1])

    return program, arrays


def shown(which: int, x: Any, y: Any, number: int) -> Any:
    """A view of `x`; most have all of its elements."""
    axis, other = number % x.ndim, (number // 8) % x.ndim
    n = x.shape[axis]
    part = next((k for k in (4, 3, 2) if n % k == 0 and n > k), 1)
    views: list[Callable[[], Any]] = [
        lambda: np.transpose(x, sorted(range(x.ndim), key=lambda a: number * (a + 3) % 11)),
        lambda: np.swapaxes(x, axis, other),
        lambda: np.reshape(x, (*x.shape[:axis], part, n // part, *x.shape[axis + 1 :])),
        lambda: np.reshape(x, (*x.shape[:axis], -1, *x.shape[axis + 2 :])) if axis + 1 < x.ndim > 2 else x,
        lambda: np.reshape(x, -1).reshape(x.shape[::-1]),
        lambda: np.reshape(np.swapaxes(x, axis, other), (*x.shape[:axis], -1)),  # a copy, most often
        lambda: np.reshape(np.swapaxes(x, 0, axis), (-1, n)),
        lambda: np.reshape(np.moveaxis(x, -1, 0), (x.shape[-1] * x.shape[0], -1)) if x.ndim > 1 else x,
        lambda: np.expand_dims(x, axis),
        lambda: np.squeeze(x, tuple(a for a in range(2, x.ndim) if x.shape[a] == 1)),
        lambda: np.flip(x, axis),
        lambda: x[(*(slice(None),) * axis, slice(None, None, -1 if number % 3 else 2))],
        lambda: x[(*(slice(None),) * axis, slice(n // 3, None))],
        lambda: x[(*(slice(None),) * axis, np.arange(n)[:: -1 if number % 2 else 2])],
        lambda: x[(*(slice(None),) * axis, n // 2)] if x.ndim > 2 else x,
        lambda: np.broadcast_to(x, (2, *x.shape)) if x.size <= MOST else x,
    ]
    return views[which % len(views)]()


def computed(which: int, x: Any, y: Any, number: int) -> Any:
    """What is computed of `x`, and of `y` where its shape fits."""
    axis = number % x.ndim
    y = y if y.shape == x.shape else np.cos(x)
    made: list[Callable[[], Any]] = [
        lambda: np.tanh(x) + y * 0.5,
        lambda: (x - np.mean(x, axis=axis, keepdims=True)) * 0.5,
        lambda: np.exp(x - np.max(x, axis=axis, keepdims=True)),
        lambda: np.sum(x, axis=axis) / x.shape[axis] if x.ndim > 2 else np.sin(x),
        lambda: np.tanh(x @ np.swapaxes(y, -1, -2)) if x.ndim > 1 and x.size * x.shape[-2] <= 1 << 20 else np.sin(x),
        lambda: np.tanh(np.swapaxes(x, -1, -2) @ y) if x.ndim > 1 and x.size * x.shape[-1] <= 1 << 20 else np.sin(x),
        lambda: np.concatenate([x, y], axis=axis) if x.size <= MOST else np.sin(x),
        lambda: np.stack([x, y], axis=axis) if x.size <= MOST else np.sin(x),
    ]
    return made[which % len(made)]()


def check(seed: int, slopes: bool) -> None:
    program, arrays = drawn(seed)
    function = ad.grad(lambda *xs: sum(np.sum(np.sin(x)) for x in program(*xs)), (0, 1)) if slopes else program
    expected = function(*arrays)
    compiled = ad.compile(function, wait=True)
    compiled(*arrays)
    runner = compiled._latest.runner
    assert type(runner.native) is Program, f"seed {seed}: {runner.reason}"
    for found, wanted in zip(compiled(*arrays), expected, strict=True):
        scale = max(np.max(np.abs(wanted), initial=0.0), 1.0)
        np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-9 * scale, err_msg=f"seed {seed}")


@pytest.fixture(autouse=True)
def _nothing_on_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ADJOINT_CACHE", "off")


@pytest.mark.parametrize("slopes", [False, True])
@pytest.mark.parametrize("start", range(0, 40, 10))
def test_random_views_are_planned(start: int, slopes: bool) -> None:
    for seed in range(start, start + 10):
        check(seed, slopes)


def heads(x: Any) -> Any:
    """Heads of attention: a copy of what lies in another order, computed together with what it copies."""
    y = np.transpose(np.reshape(x, (8, 32, 4, 16)), (0, 2, 1, 3))
    weights = np.exp(y @ np.swapaxes(y, -1, -2) * 0.1)
    z = np.transpose(weights / np.sum(weights, axis=-1, keepdims=True) @ y, (0, 2, 1, 3))
    return np.sum(np.tanh(np.reshape(z, (8, 32, 64))) * x)


def test_heads_of_attention_are_native() -> None:
    x = np.random.default_rng(0).normal(size=(8, 32, 64))
    compiled = ad.compile(ad.grad(heads), wait=True)
    for _ in range(2):
        np.testing.assert_allclose(compiled(x), ad.grad(heads)(x), rtol=1e-10, atol=1e-10)
    assert type(compiled._latest.runner.native) is Program, compiled._latest.runner.reason


def test_a_training_step_of_a_transformers_block_is_native() -> None:
    x = np.random.default_rng(0).normal(size=(8, 32, 64))
    losses = []
    for wrap in (lambda f: f, lambda f: ad.compile(f, wait=True)):
        model = nn.TransformerEncoderLayer(64, 4, 128, batch_first=True, dropout=0.0, rng=0)
        optimizer = optim.Adam(model.parameters(), lr=1e-3)

        def step(x: Any) -> Any:
            optimizer.zero_grad()
            loss = (model(x) ** 2).mean()
            loss.backward()
            optimizer.step()
            return loss.detach()

        run = wrap(step)
        losses.append([run(x).item() for _ in range(3)])
    assert type(run._latest.runner.native) is Program, run._latest.runner.reason
    np.testing.assert_allclose(*losses, rtol=1e-10)
