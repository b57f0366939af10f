"""A training step of a small network: forward, loss, backward, optimiser."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from benchmarks.harness import Budget, Call, Case, programs
from benchmarks.peers import everyone, load

TITLE = "Training step of a small network"
ABOUT = (
    "Linear, ReLU, linear, cross-entropy, float32: zero_grad, forward, backward and the optimizer's step; time per "
    "step."
)

# So small that the thousandth step meets the same numbers as the first.
RATE = 1e-7
BETA1, BETA2, EPSILON = 0.9, 0.999, 1e-8
Arrays = list[np.ndarray]


def with_adjoint(arrays: Arrays, x: np.ndarray, labels: np.ndarray, optimizer: str, **options: Any) -> Call:
    step, parameters = _our_step(arrays, optimizer, options)
    return partial(_gradients, step, parameters, load("adjoint").Tensor(x), labels)


def with_compile(arrays: Arrays, x: np.ndarray, labels: np.ndarray, optimizer: str) -> Call:
    step, parameters = _our_step(arrays, optimizer, {})
    return partial(_gradients, load("adjoint").compile(step, wait=True), parameters, x, labels)


def _our_step(arrays: Arrays, optimizer: str, options: Any) -> tuple[Callable[..., None], Any]:
    nn, optim = load("adjoint.nn"), load("adjoint.optim")
    model = _model(nn, arrays, np.float32)
    for p, a in zip(model.parameters(), arrays, strict=True):
        p.data[...] = a
    return _step(model, nn.cross_entropy, getattr(optim, optimizer), options)


def with_torch(arrays: Arrays, x: np.ndarray, labels: np.ndarray, optimizer: str, **options: Any) -> Call:
    torch = load("torch")
    model = _model(torch.nn, arrays, torch.float32)
    for p, a in zip(model.parameters(), arrays, strict=True):
        p.data.copy_(torch.from_numpy(a))
    loss, rule = torch.nn.functional.cross_entropy, getattr(torch.optim, optimizer)
    step, parameters = _step(model, loss, rule, options)
    return partial(_gradients, step, parameters, torch.from_numpy(x), torch.from_numpy(labels))


def _model(nn: Any, arrays: Arrays, dtype: Any) -> Any:
    (hidden, inputs), outputs = arrays[0].shape, len(arrays[3])
    return nn.Sequential(nn.Linear(inputs, hidden, dtype=dtype), nn.ReLU(), nn.Linear(hidden, outputs, dtype=dtype))


def _step(
    model: Any, loss: Callable[..., Any], rule: Callable[..., Any], options: Any
) -> tuple[Callable[..., None], Any]:
    """The loop that PyTorch taught everyone, which is ours too; and the parameters."""
    parameters = list(model.parameters())
    optimizer = rule(parameters, lr=RATE)

    def step(x: Any, labels: Any) -> None:
        optimizer.zero_grad()
        loss(model(x), labels).backward(**options)
        optimizer.step()

    return step, parameters


def _gradients(step: Callable[..., None], parameters: Any, x: Any, labels: Any) -> list[Any]:
    step(x, labels)
    return [p.grad for p in parameters]


def by_hand(arrays: Arrays, x: np.ndarray, labels: np.ndarray, optimizer: str) -> Call:
    parameters = [a.copy() for a in arrays]
    update = OPTIMIZERS[optimizer](parameters)
    w1, b1, w2, b2 = parameters
    rows = np.arange(len(x))

    def step() -> Any:
        hidden = x @ w1.T + b1
        active = np.maximum(hidden, 0)
        logits = active @ w2.T + b2
        shifted = logits - logits.max(1, keepdims=True)
        exponentials = np.exp(shifted)
        total = exponentials.sum(1, keepdims=True)
        _loss = -(shifted[rows, labels] - np.log(total[:, 0])).mean()
        g = exponentials / total
        g[rows, labels] -= 1
        g /= len(x)
        back = (g @ w2) * (hidden > 0)
        grads = [back.T @ x, back.sum(0), g.T @ active, g.sum(0)]
        update(grads)
        return grads

    return step


def _sgd(parameters: Arrays) -> Callable[[Any], None]:
    def update(grads: Any) -> None:
        for p, g in zip(parameters, grads, strict=True):
            p -= RATE * g

    return update


def _adam(parameters: Arrays) -> Callable[[Any], None]:
    """Kingma & Ba 2015, algorithm 1."""
    state = [(p, np.zeros_like(p), np.zeros_like(p)) for p in parameters]
    count = 0

    def update(grads: Any) -> None:
        nonlocal count
        count += 1
        first, second = 1 - BETA1**count, 1 - BETA2**count
        for (p, m, v), g in zip(state, grads, strict=True):
            m *= BETA1
            m += (1 - BETA1) * g
            v *= BETA2
            v += (1 - BETA2) * g * g
            p -= RATE / first * m / (np.sqrt(v / second) + EPSILON)

    return update


OPTIMIZERS = {"SGD": _sgd, "Adam": _adam}


def with_jit(arrays: Arrays, x: np.ndarray, labels: np.ndarray, optimizer: str) -> Call:
    jax, jnp = load("jax"), load("jax.numpy")
    given, targets = jnp.asarray(x), jnp.asarray(labels)

    def loss(parameters: Any) -> Any:
        w1, b1, w2, b2 = parameters
        logits = jax.nn.relu(given @ w1.T + b1) @ w2.T + b2
        return -jnp.take_along_axis(jax.nn.log_softmax(logits), targets[:, None], 1).mean()

    @jax.jit
    def train(state: Any) -> Any:
        parameters, ms, vs, count = state
        grads = jax.grad(loss)(parameters)
        if optimizer == "SGD":
            return ([p - RATE * g for p, g in zip(parameters, grads, strict=True)], ms, vs, count), grads
        return adam_by_jax(state, grads), grads

    zeros = [jnp.zeros_like(a) for a in arrays]
    state = ([jnp.asarray(a) for a in arrays], zeros, zeros, jnp.float32(0))

    def step() -> Any:
        nonlocal state
        state, grads = train(state)
        return jax.block_until_ready(grads)

    return step


def adam_by_jax(state: Any, grads: Any) -> Any:
    """Parameters, both moments and the step count after a step of Adam."""
    jnp = load("jax").numpy
    parameters, ms, vs, count = state
    count = count + 1
    ms = [BETA1 * m + (1 - BETA1) * g for m, g in zip(ms, grads, strict=True)]
    vs = [BETA2 * v + (1 - BETA2) * g * g for v, g in zip(vs, grads, strict=True)]
    first, second = 1 - BETA1**count, 1 - BETA2**count
    parameters = [
        p - RATE / first * m / (jnp.sqrt(v / second) + EPSILON) for p, m, v in zip(parameters, ms, vs, strict=True)
    ]
    return parameters, ms, vs, count


def with_mygrad(arrays: Arrays, x: np.ndarray, labels: np.ndarray, optimizer: str) -> Call:
    mg, relu = load("mygrad"), load("mygrad.nnet.activations").relu
    loss = load("mygrad.nnet.losses").softmax_crossentropy
    parameters = [mg.Tensor(a) for a in arrays]
    update = OPTIMIZERS[optimizer]([p.data for p in parameters])

    def step() -> Any:
        w1, b1, w2, b2 = parameters
        loss(relu(x @ w1.T + b1) @ w2.T + b2, labels).backward()
        grads = [p.grad for p in parameters]
        update(grads)
        return grads

    return step


def with_autograd(arrays: Arrays, x: np.ndarray, labels: np.ndarray, optimizer: str) -> Call:
    anp, logsumexp = load("autograd.numpy"), load("autograd.scipy.special").logsumexp
    parameters = [a.copy() for a in arrays]
    update, rows = OPTIMIZERS[optimizer](parameters), np.arange(len(x))

    def loss(parameters: Any) -> Any:
        w1, b1, w2, b2 = parameters
        logits = anp.dot(anp.maximum(anp.dot(x, w1.T) + b1, 0), w2.T) + b2
        return anp.mean(logsumexp(logits, axis=1) - logits[rows, labels])

    gradient = load("autograd").grad(loss)

    def step() -> Any:
        grads = gradient(parameters)
        update(grads)
        return grads

    return step


EVERYONE = everyone(globals())


def cases(small: bool = False) -> Iterator[Case]:
    """Rows by network, batch size and optimiser."""
    rng = np.random.default_rng(0)

    def normal(*shape: int) -> np.ndarray:
        return rng.standard_normal(shape).astype(np.float32)

    for inputs, hidden in ((5, 4),) if small else ((64, 128), (784, 128)):
        arrays = [normal(hidden, inputs), normal(hidden), normal(10, hidden), normal(10)]
        arrays = [a / np.float32(inputs**0.5) for a in arrays]
        for batch in (1, 3) if small else (1, 128):
            x, labels = normal(batch, inputs), rng.integers(0, 10, batch)
            budgets = (Budget("PyTorch", 1.0),) if batch == 1 else (Budget("NumPy", 1.2),)
            for optimizer in OPTIMIZERS:
                yield Case(
                    f"{inputs}-{hidden}-10, batch {batch}, {optimizer}",
                    programs(EVERYONE, arrays, x, labels, optimizer),
                    budgets=budgets,
                )
