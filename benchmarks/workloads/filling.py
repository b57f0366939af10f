"""Gradients by `adjoint.grad` of programs as they are written for NumPy: filled arrays, selections, wide layers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

import adjoint as ad
from benchmarks.harness import Budget, Call, Case

TITLE = "Programs as they are"
ABOUT = (
    "The gradient by `ad.grad`; NumPy is the value and its gradient by hand. Filled arrays stand beside the same "
    "program with `np.stack`: for these a twin of the function is made."
)
STACK = "np.stack"


def filled(x: Any) -> Any:
    """Writes each element of a fresh array."""
    a = np.zeros(len(x))
    for i in range(len(x)):
        a[i] = np.sin(x[i])
    return np.sum(a * a)


def stacked(x: Any) -> Any:
    """The same with a list."""
    a = np.stack([np.sin(x[i]) for i in range(len(x))])
    return np.sum(a * a)


def turned(x: Any) -> Any:
    """A rotation, written into a fresh matrix."""
    a = np.zeros((2, 2))
    a[0, 0], a[0, 1] = np.cos(x), -np.sin(x)
    a[1, 0], a[1, 1] = np.sin(x), np.cos(x)
    return np.sum(a @ a)


def turned_stack(x: Any) -> Any:
    """The same with lists."""
    rows = [[np.cos(x), -np.sin(x)], [np.sin(x), np.cos(x)]]
    return np.sum((a := np.stack([np.stack(row) for row in rows])) @ a)


def clipped(x: Any) -> Any:
    """A selection."""
    return np.sum(np.clip(x, 0.1, 0.5))


def clipped_by_hand(x: np.ndarray) -> list[np.ndarray]:
    np.sum(np.clip(x, 0.1, 0.5))
    return [np.where((x >= 0.1) & (x <= 0.5), 1.0, 0.0)]


def network(x: np.ndarray, labels: np.ndarray) -> Callable[[Any], Any]:
    """The loss of a network with one hidden layer by its weights, in plain NumPy."""
    rows = np.arange(len(x))

    def loss(parameters: Any) -> Any:
        w1, b1, w2, b2 = parameters
        z = np.maximum(x @ w1 + b1, 0) @ w2 + b2
        z = z - np.max(z, axis=1, keepdims=True)
        return np.mean(np.log(np.sum(np.exp(z), axis=1)) - z[rows, labels])

    return loss


def network_by_hand(x: np.ndarray, labels: np.ndarray, parameters: list[np.ndarray]) -> list[np.ndarray]:
    rows, (w1, b1, w2, b2) = np.arange(len(x)), parameters
    hidden = x @ w1 + b1
    active = np.maximum(hidden, 0)
    z = active @ w2 + b2
    e = np.exp(z - np.max(z, axis=1, keepdims=True))
    p = e / np.sum(e, axis=1, keepdims=True)
    p[rows, labels] -= 1
    p /= len(x)
    back = (p @ w2.T) * (hidden > 0)
    return [x.T @ back, np.sum(back, 0), active.T @ p, np.sum(p, 0)]


def gradient(f: Callable[[Any], Any], x: Any) -> Call:
    """A program that gives the gradient of `f` at `x`."""
    found = ad.grad(f)
    return lambda: found(x) if isinstance(x, list) else [found(x)]


def cases(small: bool = False) -> Iterator[Case]:
    """Filled arrays, a selection, and a wide network."""
    rng = np.random.default_rng(0)
    size, inputs, hidden = (5, 6, 4) if small else (100, 784, 128)
    pairs = {
        f"{size} elements filled": (filled, stacked, rng.random(size)),
        "a rotation filled": (turned, turned_stack, 0.3),
    }
    for name, (f, other, x) in pairs.items():
        programs = {"adjoint": gradient(f, x), STACK: gradient(other, x)}
        yield Case(name, partial(dict, programs), budgets=(Budget(STACK, 1.3),))
    for count in (5,) if small else (10, 1000):
        x = np.linspace(0.0, 1.0, count)
        programs = {"adjoint": gradient(clipped, x), "NumPy": partial(clipped_by_hand, x)}
        yield Case(f"np.clip, {count} elements", partial(dict, programs))
    for batch in (1, 3) if small else (1, 128):
        shapes = ((inputs, hidden), (hidden,), (hidden, 10), (10,))
        weights = [(rng.standard_normal(shape) / 28).astype(np.float32) for shape in shapes]
        x, labels = rng.standard_normal((batch, inputs)).astype(np.float32), rng.integers(0, 10, batch)
        by_hand = partial(network_by_hand, x, labels, weights)
        programs = {"adjoint": gradient(network(x, labels), weights), "NumPy": by_hand}
        yield Case(f"{inputs}-{hidden}-10, batch {batch}", partial(dict, programs))
