"""A gated recurrent network, unrolled: shared weights, many small products and gates."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from benchmarks.harness import Budget, Call, Case, programs
from benchmarks.peers import everyone, load

TITLE = "Unrolled GRU"
ABOUT = (
    "Cho et al. 2014; 32 inputs, 32 hidden units, float32; forward + backward for all nine parameters, time per step "
    "of the sequence."
)


def program(xp: Any, sigmoid: Callable[[Any], Any], parameters: Any, xs: Any, h: Any) -> Any:
    """The program, in the namespace of any peer: the mean square of the last state."""
    wz, uz, bz, wr, ur, br, wn, un, bn = parameters
    for x in xs:
        z = sigmoid(x @ wz + h @ uz + bz)
        r = sigmoid(x @ wr + h @ ur + br)
        n = xp.tanh(x @ wn + (r * h) @ un + bn)
        h = n + z * (h - n)
    return xp.mean(h * h)


def with_adjoint(arrays: list[np.ndarray], xs: list[np.ndarray], h: np.ndarray) -> Call:
    ad = load("adjoint")

    def step() -> Any:
        parameters = [ad.Tensor(a, requires_grad=True) for a in arrays]
        program(np, ad.sigmoid, parameters, xs, h).backward()
        return [p.grad for p in parameters]

    return step


def with_compile(arrays: list[np.ndarray], xs: list[np.ndarray], h: np.ndarray) -> Call:
    ad = load("adjoint")
    f = ad.compile(ad.grad(lambda p, xs, h: program(np, ad.sigmoid, p, xs, h)), wait=True)
    return lambda: f(arrays, xs, h)


def _sigmoid(x: np.ndarray) -> Any:
    return 1 / (1 + np.exp(-x))


def by_hand(arrays: list[np.ndarray], xs: list[np.ndarray], h: np.ndarray) -> Call:
    wz, uz, bz, wr, ur, br, wn, un, bn = arrays

    def step() -> Any:
        state, saved = h, []
        for x in xs:
            z = _sigmoid(x @ wz + state @ uz + bz)
            r = _sigmoid(x @ wr + state @ ur + br)
            reset = r * state
            n = np.tanh(x @ wn + reset @ un + bn)
            saved.append((x, state, z, r, reset, n))
            state = n + z * (state - n)
        grads = [np.zeros_like(a) for a in arrays]
        dwz, duz, dbz, dwr, dur, dbr, dwn, dun, dbn = grads
        g = state * np.float32(2 / state.size)
        for x, before, z, r, reset, n in reversed(saved):
            dz = g * (before - n) * z * (1 - z)
            dn = g * (1 - z) * (1 - n * n)
            dreset = dn @ un.T
            dr = dreset * before * r * (1 - r)
            dwz += x.T @ dz
            duz += before.T @ dz
            dbz += dz.sum(0)
            dwr += x.T @ dr
            dur += before.T @ dr
            dbr += dr.sum(0)
            dwn += x.T @ dn
            dun += reset.T @ dn
            dbn += dn.sum(0)
            g = g * z + dreset * r + dz @ uz.T + dr @ ur.T
        return grads

    return step


def with_torch(arrays: list[np.ndarray], xs: list[np.ndarray], h: np.ndarray) -> Call:
    torch = load("torch")
    parameters = [torch.from_numpy(a).requires_grad_() for a in arrays]
    xs, h = [torch.from_numpy(x) for x in xs], torch.from_numpy(h)

    def step() -> Any:
        for p in parameters:
            p.grad = None
        program(torch, torch.sigmoid, parameters, xs, h).backward()
        return [p.grad for p in parameters]

    return step


def with_jit(arrays: list[np.ndarray], xs: list[np.ndarray], h: np.ndarray) -> Call:
    jax, jnp = load("jax"), load("jax.numpy")
    given = [jnp.asarray(a) for a in arrays]
    inputs, start = [jnp.asarray(x) for x in xs], jnp.asarray(h)
    f = jax.jit(jax.grad(lambda p, xs, h: program(jnp, jax.nn.sigmoid, p, xs, h)))
    return lambda: [g.block_until_ready() for g in f(given, inputs, start)]


def with_mygrad(arrays: list[np.ndarray], xs: list[np.ndarray], h: np.ndarray) -> Call:
    mg, sigmoid = load("mygrad"), load("mygrad.nnet.activations").sigmoid

    def step() -> Any:
        parameters = [mg.Tensor(a) for a in arrays]
        program(mg, sigmoid, parameters, xs, h).backward()
        return [p.grad for p in parameters]

    return step


def with_autograd(arrays: list[np.ndarray], xs: list[np.ndarray], h: np.ndarray) -> Call:
    anp, expit = load("autograd.numpy"), load("autograd.scipy.special").expit
    f = load("autograd").grad(lambda p: program(anp, expit, p, xs, h))
    return lambda: f(arrays)


EVERYONE = everyone(globals())


def cases(small: bool = False) -> Iterator[Case]:
    """Rows by batch size."""
    steps, width = (3, 4) if small else (30, 32)
    rng = np.random.default_rng(0)

    def normal(*shape: int) -> np.ndarray:
        return rng.standard_normal(shape).astype(np.float32)

    shapes = ((width, width), (width, width), (width,)) * 3
    arrays = [normal(*shape) / np.float32(width**0.5) for shape in shapes]
    for batch in (1, 2) if small else (1, 128):
        xs = [normal(batch, width) for _ in range(steps)]
        budgets = (Budget("PyTorch", 1.0),) if batch == 1 else (Budget("NumPy", 1.2),)
        build = programs(EVERYONE, arrays, xs, normal(batch, width))
        yield Case(f"batch {batch}, {steps} steps", build, per=steps, budgets=budgets)
