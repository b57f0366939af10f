"""`adjoint.compile`: whole training steps and loops as native code, how soon it is there, and what memory it takes."""

from __future__ import annotations

import gc
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from benchmarks.harness import Budget, Call, Case, Samples, fresh, interleaved
from benchmarks.peers import installed, load, one_thread
from benchmarks.workloads import memory
from benchmarks.workloads.mlp import RATE, adam_by_jax

TITLE = "Compiled functions"
ABOUT = (
    "A training step with Adam, float32: gradients, moments and parameters; time per step. JAX's has them as arguments "
    "and results, donated or not, whichever is faster; `eager` is adjoint without `compile`. A pendulum by Runge and "
    "Kutta's method, with the gradient of where it ends by where it starts; JAX's loop is `lax.scan`, or unrolled. The "
    "first two calls of a new function are timed in their own thread; the second one records. Native code is ready "
    "when a call that waits for it returns, against JAX's tracing, lowering and compiling. The arena is held against "
    "what PyTorch's eager step takes at most. A second process finds its native code on disk."
)


class Net(NamedTuple):
    """A network, and one batch for it."""

    widths: tuple[int, ...]
    batch: int

    @property
    def name(self) -> str:
        return f"{'-'.join(map(str, self.widths))}, batch {self.batch}"

    def arrays(self) -> list[np.ndarray]:
        """Weights and biases in turn."""
        rng = np.random.default_rng(0)
        shapes = [s for n, m in zip(self.widths, self.widths[1:], strict=False) for s in ((m, n), (m,))]
        return [rng.normal(size=shape, scale=self.widths[0] ** -0.5).astype(np.float32) for shape in shapes]

    def data(self) -> tuple[np.ndarray, np.ndarray]:
        """Examples and labels."""
        rng = np.random.default_rng(1)
        x = rng.normal(size=(self.batch, self.widths[0])).astype(np.float32)
        return x, rng.integers(0, self.widths[-1], self.batch)


TINY, DIGITS, SMALL = Net((4, 16, 16, 3), 16), Net((784, 128, 10), 64), Net((5, 4, 3), 2)


def _library_step(nn: Any, optim: Any, net: Net, cross_entropy: Any, put: Any, dtype: Any, **options: Any) -> Any:
    """A step as it is written with PyTorch, and with us: a function of examples and labels that gives the loss."""
    layers: list[Any] = []
    for n, m in zip(net.widths, net.widths[1:], strict=False):
        layers += [nn.Linear(n, m, dtype=dtype), nn.Tanh()]
    model = nn.Sequential(*layers[:-1])
    for parameter, array in zip(model.parameters(), net.arrays(), strict=True):
        put(parameter, array)
    optimizer = optim.Adam(model.parameters(), lr=RATE)

    def step(x: Any, labels: Any) -> Any:
        optimizer.zero_grad()
        loss = cross_entropy(model(x), labels)
        loss.backward(**options)
        optimizer.step()
        return loss

    return step


def _adjoint_step(net: Net) -> Callable[..., Any]:
    nn, optim = load("adjoint.nn"), load("adjoint.optim")

    def put(parameter: Any, array: np.ndarray) -> None:
        parameter.data[...] = array

    return _library_step(nn, optim, net, nn.cross_entropy, put, np.float32, retain_graph=False)  # type: ignore[no-any-return]  # a function


def compiled(net: Net) -> Call:
    step = load("adjoint").compile(_adjoint_step(net), wait=True)
    return partial(_numbers, step, *net.data())


def eager(net: Net) -> Call:
    return partial(_numbers, _adjoint_step(net), *net.data())


def with_torch(net: Net) -> Call:
    torch = load("torch")
    step = _library_step(torch.nn, torch.optim, net, torch.nn.functional.cross_entropy,
                         lambda p, a: p.data.copy_(torch.from_numpy(a)), torch.float32)  # fmt: skip
    return partial(_numbers, step, *map(torch.from_numpy, net.data()))


def _numbers(step: Callable[..., Any], *args: Any) -> list[Any]:
    return [step(*args)]


def _jax_step(net: Net) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """The step as a pure function of parameters, moments, count, examples and labels; and these."""
    jax, jnp = load("jax"), load("jax.numpy")

    def loss(parameters: Any, x: Any, labels: Any) -> Any:
        for k in range(0, len(parameters), 2):
            x = x @ parameters[k].T + parameters[k + 1]
            x = jnp.tanh(x) if k + 2 < len(parameters) else x
        return -jnp.take_along_axis(jax.nn.log_softmax(x), labels[:, None], 1).mean()

    def step(state: Any, x: Any, labels: Any) -> Any:
        value, grads = jax.value_and_grad(loss)(state[0], x, labels)
        return adam_by_jax(state, grads), value

    arrays = [jnp.asarray(a) for a in net.arrays()]
    zeros = [[jnp.zeros_like(a) for a in arrays] for _ in range(2)]
    x, labels = net.data()
    return step, ((arrays, *zeros, jnp.float32(0)), jnp.asarray(x), jnp.asarray(labels))


def with_jit(net: Net, donate: bool = False) -> Call:
    jax = load("jax")
    step, (state, *batch) = _jax_step(net)
    train = jax.jit(step, donate_argnums=(0,) if donate else ())

    def call() -> Any:
        nonlocal state
        state, value = jax.block_until_ready(train(state, *batch))
        return [value]

    return call


STEPS: dict[str, Callable[..., Call]] = {
    "adjoint": compiled, "eager": eager, "PyTorch": with_torch, "JAX jit": with_jit,
    "JAX jit, donated": partial(with_jit, donate=True),
}  # fmt: skip


def programs(everyone: dict[str, Callable[..., Call]], *args: Any) -> dict[str, Call]:
    """The programs of those whose library is here."""
    also = {"eager": "adjoint", "JAX jit, donated": "JAX jit"}
    return {peer: make(*args) for peer, make in everyone.items() if installed(also.get(peer, peer))}


def steps(net: Net, rounds: int) -> Samples:
    """Everyone's step; of JAX's two, the faster one in each round."""
    samples = interleaved(programs(STEPS, net), rounds)
    if "JAX jit, donated" in samples:
        samples["JAX jit"] = list(map(min, samples["JAX jit"], samples.pop("JAX jit, donated")))
    return samples


def pendulum(count: int, scan: bool) -> dict[str, Callable[..., Call]]:
    """Where a pendulum is after `count` steps, and the gradient of that by where and how fast it was: two numbers."""

    def advance(xp: Any, q: Any, p: Any, h: float = 0.01) -> tuple[Any, Any]:
        a, u = p, -xp.sin(q)
        b, v = p + h / 2 * u, -xp.sin(q + h / 2 * a)
        c, w = p + h / 2 * v, -xp.sin(q + h / 2 * b)
        d, x = p + h * w, -xp.sin(q + h * c)
        return q + h / 6 * (a + 2 * b + 2 * c + d), p + h / 6 * (u + 2 * v + 2 * w + x)

    def end(xp: Any, q: Any, p: Any) -> Any:
        for _ in range(count):
            q, p = advance(xp, q, p)
        return q

    def ours(**options: Any) -> Call:
        ad = load("adjoint")
        gradient = ad.grad(partial(end, np), (0, 1))
        run = ad.compile(gradient, **options) if options else gradient
        return lambda: list(run(1.0, 0.0))

    def jax_loop() -> Call:
        jax = load("jax")

        def rolled(q: Any, p: Any) -> Any:
            return jax.lax.scan(lambda s, _: (advance(jax.numpy, *s), None), (q, p), None, length=count)[0][0]

        gradient = jax.jit(jax.grad(rolled if scan else partial(end, jax.numpy), (0, 1)))
        return lambda: list(jax.block_until_ready(gradient(1.0, 0.0)))

    return {"adjoint": partial(ours, wait=True), "eager": ours, "JAX jit": jax_loop}


# -- The first call, and native code ------------------------------------------------------------------


@contextmanager
def cache_at(folder: str) -> Iterator[None]:
    """For a while, native code is kept in `folder`; nowhere, if that is ``off``."""
    before = os.environ.get("ADJOINT_CACHE")
    os.environ["ADJOINT_CACHE"] = folder
    try:
        yield
    finally:
        del os.environ["ADJOINT_CACHE"]
        os.environ |= {} if before is None else {"ADJOINT_CACHE": before}


def early_calls(net: Net, which: int, rounds: int) -> Samples:
    """Call number `which` of a new step, compiled and eager: processor time of the calling thread."""
    ad, data = load("adjoint"), net.data()
    samples: Samples = {"adjoint": [], "eager": []}
    with cache_at("off"):
        for number in range(rounds + 1):
            for peer in samples:
                step = _adjoint_step(net)
                called = ad.compile(step) if peer == "adjoint" else step
                for _ in range(which - 1):
                    called(*data)
                gc.collect()
                start = time.thread_time()
                called(*data)
                seconds = time.thread_time() - start
                if number:  # the round before the first imports what is imported late
                    samples[peer].append(seconds)
                if peer == "adjoint" and which > 1:
                    _wait_for(called)
    return samples


def _wait_for(step: Any) -> None:
    """Until native code is there, so that it is not made beside what is measured next."""
    for _ in range(3000):
        if step.plan is not None:
            return
        time.sleep(0.01)
    raise TimeoutError(f"no native code after 30 seconds: {step.explain()}")


def until_ready(net: Net, rounds: int) -> Samples:
    """What it takes from a new function to native code that has run, or has been compiled."""
    ad, data = load("adjoint"), net.data()
    samples: Samples = {"adjoint": [], "JAX jit": []} if installed("JAX jit") else {"adjoint": []}

    def ours() -> Any:
        step = ad.compile(_adjoint_step(net), wait=True)
        return lambda: step(*data)

    def theirs() -> Any:
        step, args = _jax_step(net)
        return lambda: load("jax").jit(step).lower(*args).compile()

    with cache_at("off"):
        for number in range(rounds + 1):
            for peer in samples:
                make = (ours if peer == "adjoint" else theirs)()
                gc.collect()
                start = time.process_time()
                make()
                if number:
                    samples[peer].append(time.process_time() - start)
                del make  # and with it the kernels, which others would find
    return samples


def in_second_process(net: Net, rounds: int) -> Samples:
    """The same in a process of its own, which finds native code on disk, or does not (`cold`)."""
    samples: Samples = {"adjoint": [], "cold": []}
    for _ in range(min(rounds, 3)):
        with tempfile.TemporaryDirectory() as folder, cache_at(folder):
            for peer in ("cold", "adjoint"):
                seconds = fresh("-m", __name__, *map(str, (net.batch, *net.widths)))
                if seconds is not None:
                    samples[peer].append(seconds)
    return samples


def _ready_here(net: Net) -> float:
    """Seconds until native code has run, in this process."""
    step, data = load("adjoint").compile(_adjoint_step(net), wait=True), net.data()
    start = time.process_time()
    step(*data)
    return time.process_time() - start


# -- Memory -------------------------------------------------------------------------------------------


def arena(size: int, rounds: int) -> Samples:
    """Bytes of the arena of a compiled step of the network whose eager step `memory` measures; and PyTorch's."""
    net = Net((784, size, 10), 4 * size)
    ad, nn, optim = load("adjoint"), load("adjoint.nn"), load("adjoint.optim")
    model = nn.Sequential(nn.Linear(784, size, dtype=np.float32), nn.ReLU(), nn.Linear(size, 10, dtype=np.float32))
    sgd = optim.SGD(model.parameters(), lr=RATE)

    @ad.compile(wait=True)  # type: ignore[untyped-decorator]  # of a function or of options
    def step(x: Any, labels: Any) -> None:
        sgd.zero_grad()
        nn.cross_entropy(model(x), labels).backward(retain_graph=False)
        sgd.step()

    step(*net.data())
    samples = memory.measure("network", size, 1)
    return {"adjoint": [float(step.plan.memory.arena)]} | {k: v for k, v in samples.items() if k == "PyTorch"}


def cases(small: bool = False) -> Iterator[Case]:
    """Steps, loops, the first call, native code, memory."""
    jit = Budget("JAX jit", 0.2)
    nets: Sequence[Net] = (SMALL,) if small else (TINY, DIGITS)
    for net in nets:
        budgets = (jit,) if net is TINY else (Budget("eager", 1.0),)
        yield Case(f"{net.name}, Adam", measure=partial(steps, net), budgets=budgets)
    yield Case(f"pendulum, {4 if small else 1000} steps", partial(programs, pendulum(4 if small else 1000, True)),
               budgets=(Budget("JAX jit", 1.0),))  # fmt: skip
    yield Case(f"pendulum, {3 if small else 50} steps, JAX's unrolled",
               partial(programs, pendulum(3 if small else 50, False)), budgets=(jit,))  # fmt: skip
    for net in nets:
        early = (Budget("eager", 1.3),)
        yield Case(f"first call, {net.name}", measure=partial(early_calls, net, 1), budgets=early)
        yield Case(f"second call, {net.name}", measure=partial(early_calls, net, 2))
        ready = (Budget("JAX jit", 0.25),)
        yield Case(f"native code ready, {net.name}", measure=partial(until_ready, net), budgets=ready)
    yield Case(f"native code from disk, {nets[0].name}", measure=partial(in_second_process, nets[0]))
    size = 32 if small else 2048
    yield Case(f"arena, 784-{size}-10, batch {4 * size}, SGD", measure=partial(arena, size), unit="B",
               budgets=(Budget("PyTorch", 1.0),))  # fmt: skip


if __name__ == "__main__":
    one_thread()
    batch, *widths = map(int, sys.argv[1:])
    print(json.dumps(_ready_here(Net(tuple(widths), batch))))
