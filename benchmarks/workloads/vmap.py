"""Per-example gradients of a multilayer perceptron."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from benchmarks.harness import Budget, Call, Case, programs
from benchmarks.peers import everyone, load

TITLE = "Per-example gradients"
ABOUT = (
    "The gradients of each example's loss by the weights of a perceptron, by `vmap` of `grad`; beside one ordinary "
    "gradient of the batch's mean loss, and a loop over the examples. Of the larger one, the gradients are 100 MB: to "
    "write these alone takes longer than the budget of three ordinary gradients, so it is held to NumPy and PyTorch."
)

Data = tuple[list[Any], np.ndarray, np.ndarray]


def data(batch: int, widths: tuple[int, ...]) -> Data:
    """Layers, examples and labels."""
    rng = np.random.default_rng(0)
    layers = [(rng.standard_normal((m, n)) / n**0.5, np.zeros(m)) for n, m in pairwise(widths)]
    return layers, rng.standard_normal((batch, widths[0])), rng.integers(0, widths[-1], batch)


def gradients() -> tuple[Any, Any]:
    """Our function of layers, examples and labels: for each example, and for the mean over all."""
    ad, nn = load("adjoint"), load("adjoint.nn")

    def loss(layers: list[Any], x: Any, y: Any) -> Any:
        (w, b), (v, c) = layers
        return nn.cross_entropy(nn.functional.linear(ad.relu(nn.functional.linear(x, w, b)), v, c), y)

    return ad.vmap(ad.grad(loss), in_axes=(None, 0, 0)), ad.grad(loss)


def weights(layers: Any) -> list[Any]:
    return [layer[0] for layer in layers]


def with_adjoint(given: Data) -> Call:
    each, _ = gradients()
    return lambda: weights(each(*given))


def by_hand(given: Data) -> Call:
    ((w, b), (v, c)), x, y = given
    rows = np.arange(len(x))

    def written_out() -> list[Any]:
        h = np.maximum(x @ w.T + b, 0.0)
        logits = h @ v.T + c
        p = np.exp(logits - logits.max(axis=1, keepdims=True))
        p /= p.sum(axis=1, keepdims=True)
        p[rows, y] -= 1.0
        return [((p @ v) * (h > 0))[:, :, None] * x[:, None, :], p[:, :, None] * h[:, None, :]]

    return written_out


def one_after_another(given: Data) -> Call:
    _, one = gradients()
    layers, x, y = given

    def loop() -> list[Any]:
        found = [weights(one(layers, x[i], y[i])) for i in range(len(x))]
        return [np.stack(column) for column in zip(*found, strict=True)]

    return loop


def with_torch(given: Data) -> Call:
    torch = load("torch")
    layers = [tuple(map(torch.from_numpy, layer)) for layer in given[0]]
    x, y = map(torch.from_numpy, given[1:])
    linear, relu, cost = (getattr(torch.nn.functional, name) for name in ("linear", "relu", "cross_entropy"))

    def loss(layers: list[Any], x: Any, y: Any) -> Any:
        (w, b), (v, c) = layers
        return cost(linear(relu(linear(x, w, b)), v, c), y)

    each = torch.func.vmap(torch.func.grad(loss), in_dims=(None, 0, 0))
    return lambda: weights(each(layers, x, y))


def with_jit(given: Data) -> Call:
    jax = load("jax")
    layers, x, y = jax.tree.map(load("jax.numpy").asarray, given)

    def loss(layers: list[Any], x: Any, y: Any) -> Any:
        (w, b), (v, c) = layers
        logits = v @ jax.nn.relu(w @ x + b) + c
        return jax.nn.logsumexp(logits) - logits[y]

    each = jax.jit(jax.vmap(jax.grad(loss), in_axes=(None, 0, 0)))
    return lambda: [w.block_until_ready() for w in weights(each(layers, x, y))]


def in_one(given: Data) -> Call:
    _, one = gradients()
    return lambda: weights(one(*given))


EVERYONE = everyone(globals())


def build(given: Data) -> dict[str, Call]:
    return programs(EVERYONE, given)() | {"one gradient": in_one(given), "a loop": one_after_another(given)}


def cases(small: bool = False) -> Iterator[Case]:
    """A small network, and a usual one."""
    sizes = [
        (8, (20, 16, 4), (Budget("one gradient", 3.0),)),
        (128, (784, 128, 10), (Budget("NumPy", 1.2), Budget("PyTorch", 1.0))),
    ]
    for batch, widths, budgets in sizes[: 1 if small else 2]:
        given = data(batch, widths)
        yield Case(f"{'-'.join(map(str, widths))}, batch {batch}", partial(build, given), budgets=budgets)
