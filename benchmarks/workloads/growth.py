"""How the time grows with the number of inputs, of uses, of writes, of outputs: with its first power."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

import adjoint as ad
from benchmarks.harness import Budget, Call, Case, Samples, timed

TITLE = "Growth"
ABOUT = (
    "The exponent of n with which the time grows, from n to 4 n. Each row has n of something: inputs of one call, uses "
    "or slices of one value, writes, views, outputs, parameters. Linear growth is n^1.00."
)
LINEAR = "linear"
BUDGETS = (Budget(LINEAR, 1.15),)
PAIR = np.ones(2)


def leaves(n: int) -> list[Any]:
    """`n` short tensors."""
    return [ad.tensor(PAIR, requires_grad=True) for _ in range(n)]


def total(x: Any) -> Any:
    """The sum of all numbers in a list, a dict, or an array."""
    return sum(np.sum(v) for v in (x.values() if isinstance(x, dict) else x))


def of_many(function: Callable[[list[Any]], Any], n: int) -> Call:
    """Backward through one call of `n` inputs."""
    return lambda: np.sum(function(leaves(n))).backward()


def of_slices(function: Callable[[Any, int], Any], n: int) -> Call:
    """Backward through what is made of one array of `n` elements."""
    return lambda: np.sum(function(ad.tensor(np.ones(n), requires_grad=True) * 1.0, n)).backward()


def of_tree(transform: Callable[..., Any], function: Callable[..., Any], n: int) -> Call:
    """A transform of a function of a list of `n` arrays."""
    return lambda: transform(function)([PAIR] * n)


def of_number(transform: Callable[..., Any], function: Callable[..., Any], n: int) -> Call:
    """A transform of a function of one number, which does something `n` times."""
    return lambda: transform(lambda x: function(x, n))(1.0)


def pushed(function: Callable[..., Any]) -> Callable[..., Any]:
    """The tangent along all ones."""
    return lambda x: ad.jvp(function, (x,), (x,))


def mapped(function: Callable[..., Any]) -> Callable[..., Any]:
    """Over a first axis; a number is repeated."""
    return lambda x: ad.vmap(function)(np.full(2, x) if isinstance(x, float) else [np.ones((2, 2)) for _ in x])


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """Recorded by a first call, and called again."""
    run = ad.compile(function)
    return lambda *args: (run(*args), run(*args))[1]


def captured(function: Callable[..., Any]) -> Callable[..., Any]:
    """As a graph."""
    return lambda x: ad.capture(function, x)


def used(x: Any, n: int) -> Any:
    """One value added up."""
    result = 0.0 * x
    for _ in range(n):
        result = result + x
    return result


def chain(x: Any, n: int) -> Any:
    """One operation after another."""
    for _ in range(n):
        x = np.sin(x)
    return x


def written(x: Any, n: int) -> Any:
    """Each element written in turn."""
    for i in range(n):
        x[i] = x[i] * 2.0
    return x


def written_views(x: Any, n: int) -> Any:
    """Views of each element, all of them written, all of them read."""
    views = [x[i : i + 1] for i in range(n)]
    for view in views:
        view *= 2.0
    return total(views)


def nested_views(x: Any, n: int) -> Any:
    """A view of a view of …, which is written."""
    view = x
    for _ in range(n):
        view = view[:]
    view[0] = 2.0
    return x


def filled(x: Any, n: int) -> Any:
    """An array that is filled by a recurrence."""
    made = np.ones(n)
    for i in range(1, n):
        made[i] = 0.5 * x * made[i - 1]
    return np.sum(made)


def listed(x: Any, n: int) -> Any:
    """A nested list of numbers as an array."""
    return np.sum(np.array([[x * i, x] for i in range(n)]))


def products(x: Any, n: int) -> Any:
    """Numbers that are joined."""
    return np.sum(np.stack([x * i for i in range(n)]))


def added(x: Any, n: int) -> Any:
    """An array into which numbers are added."""
    made = np.zeros(4)
    for i in range(n):
        np.add.at(made, [i % 4], x)
    return np.sum(made)


def rows(x: Any, n: int) -> Any:
    """A matrix whose rows are written."""
    made = np.zeros((n, 2))
    for i in range(n):
        made[i] = x * i
    return np.sum(made)


def branches(x: Any, n: int) -> Any:
    """Questions for a value."""
    for i in range(n):
        x = x * 1.0 if x > i * 1e-9 else x + 1.0
    return x


def counted(n: int) -> Call:
    """A compiled function that writes into each of its arguments."""

    def count(all_of_them: list[dict[str, Any]]) -> None:
        for one in all_of_them:
            one["count"] = one["count"] + 1.0

    return lambda: compiled(count)([{"count": np.zeros(2)} for _ in range(n)])


def explained(function: Callable[..., Any], n: int) -> Call:
    """What a compiled function says of itself."""
    run = ad.compile(lambda x: function(x, n))
    run(1.0), run(1.0)
    return lambda: str(run.explain())


def checkpoints(x: Any, n: int) -> Any:
    """One checkpoint after another."""
    for _ in range(n):
        x = ad.checkpoint(np.sin)(x)
    return x


def hooks(n: int) -> Call:
    """Backward through a value with `n` hooks."""

    def call() -> None:
        y = ad.tensor(PAIR, requires_grad=True) * 1.0
        for _ in range(n):
            y.register_hook(lambda g: g)
        np.sum(y).backward()

    return call


def kept(n: int) -> Call:
    """Backward through `n` values that keep their gradients."""

    def call() -> None:
        x = ad.tensor(PAIR, requires_grad=True)
        for _ in range(n):
            x = np.sin(x)
            x.retain_grad()
        np.sum(x).backward()

    return call


def modules(n: int) -> Call:
    """A module of `n` modules: its state and its result."""
    model = ad.nn.Sequential(*[ad.nn.Linear(1, 1) for _ in range(n)])

    def call() -> None:
        model.load_state_dict(model.state_dict())
        np.sum(model(np.ones((1, 1)))).backward()

    return call


def chosen(xs: list[Any]) -> Any:
    """Values chosen among many."""
    return np.select([np.array([i % 2 == 0, False]) for i in range(len(xs))], xs)


def step(optimiser: Callable[..., Any], n: int) -> Call:
    """A step of an optimiser with `n` parameters."""
    parameters = leaves(n)
    chosen = optimiser(parameters, lr=0.1)

    def call() -> None:
        np.sum(np.stack(parameters)).backward()
        chosen.step()
        chosen.zero_grad()

    return call


def outputs(n: int) -> Call:
    """Backward through `n` outputs."""
    return lambda: ad.vjp(lambda x: [x * i for i in range(n)], PAIR)[1]([PAIR] * n)


PATTERNS: dict[str, Callable[[int], Call]] = {
    **{
        f"{name} of n tensors": partial(of_many, getattr(np, name))
        for name in ("stack", "concatenate", "vstack", "hstack", "dstack", "column_stack", "block")
    },
    "select of n tensors": partial(of_many, chosen),
    "choose of n tensors": partial(of_many, lambda xs: np.choose(np.array([0, 1]), xs)),
    "broadcast_arrays of n tensors": partial(of_many, lambda xs: np.stack(np.broadcast_arrays(*xs))),
    "sum of a list of n": partial(of_many, sum),
    "stack of n tensors and n arrays": partial(of_many, lambda xs: np.stack([*xs, *[PAIR] * len(xs)])),
    "stack of one tensor n times": partial(of_many, lambda xs: np.stack([xs[0]] * len(xs))),
    "checkpoint with n arguments": partial(of_many, lambda xs: ad.checkpoint(lambda *xs: total(xs))(*xs)),
    "one value used n times": partial(of_slices, lambda x, n: used(x[:1], n)),
    "a chain of n operations": partial(of_slices, lambda x, n: chain(x[:1], n)),
    "n elements": partial(of_slices, lambda x, n: total(x[i] for i in range(n))),
    "iterated": partial(of_slices, lambda x, n: sum(x)),
    "split into n": partial(of_slices, lambda x, n: total(np.split(x, n))),
    "unstacked": partial(of_slices, lambda x, n: total(np.unstack(x))),
    "n writes": partial(of_slices, written),
    "n views written and read": partial(of_slices, written_views),
    "view of view of …": partial(of_slices, nested_views),
    "grad: n leaves": partial(of_tree, ad.grad, total),
    "jvp: n leaves": partial(of_tree, pushed, lambda xs: np.sum(np.stack(xs))),
    "vmap: n leaves": partial(of_tree, mapped, np.stack),
    "jacobian: n leaves": partial(of_tree, ad.jacobian, lambda xs: np.stack(xs).sum(0)),
    "vjp: n outputs": outputs,
    "grad: filled array": partial(of_number, ad.grad, filled),
    "jvp: filled array": partial(of_number, pushed, filled),
    "vmap: filled array": partial(of_number, mapped, filled),
    "grad of grad: filled array": partial(of_number, lambda f: ad.grad(ad.grad(f)), filled),
    "grad: array of a list": partial(of_number, ad.grad, listed),
    "jvp: array of a list": partial(of_number, pushed, listed),
    "vmap: array of a list": partial(of_number, mapped, listed),
    **{
        f"{name}: {what}": partial(of_number, transform, function)
        for what, function in {"n numbers joined": products, "n additions in place": added, "n rows": rows}.items()
        for name, transform in {"grad": ad.grad, "jvp": pushed, "vmap": mapped, "compile": compiled}.items()
    },
    "grad of grad: n branches": partial(of_number, lambda f: ad.grad(ad.grad(f)), branches),
    "jvp: n branches": partial(of_number, pushed, branches),
    "compile: n branches": partial(of_number, compiled, branches),
    "explain: n numbers joined": partial(explained, products),
    "grad: n checkpoints": partial(of_number, ad.grad, checkpoints),
    "n hooks": hooks,
    "n gradients kept": kept,
    "a module of n modules": modules,
    "vmap: n outputs": partial(of_tree, mapped, lambda xs: [x * 2.0 for x in xs]),
    "compile: n outputs": partial(of_number, compiled, lambda x, n: [x * i for i in range(n)]),
    "capture: n operations": partial(of_number, captured, chain),
    "compile: n operations": partial(of_number, compiled, chain),
    "compile: n leaves": partial(of_tree, compiled, lambda xs: np.sum(np.stack(xs))),
    "compile: gradients of n leaves": partial(
        of_tree, lambda f: compiled(ad.grad(f)), lambda xs: total([x * x for x in xs])
    ),
    "compile: list of n": partial(of_number, compiled, lambda x, n: np.stack([x * i for i in range(n)])),
    "compile: n dictionaries written": counted,
    "SGD with n parameters": partial(step, ad.optim.SGD),
    "Adam with n parameters": partial(step, ad.optim.Adam),
}


def cases(small: bool) -> Iterator[Case]:
    """One row a pattern."""
    for name, build in PATTERNS.items():
        yield Case(name, measure=partial(exponents, build, 50 if small else 1000), budgets=BUDGETS, unit="n^")


def exponents(build: Callable[[int], Call], n: int, rounds: int) -> Samples:
    """The power of n with which the time grows from `n` to 4 `n`: the least times of `rounds` count."""
    build(8)()  # what is made once a process
    least = [min(timed(build(size), 1) for _ in range(min(rounds, 5))) for size in (n, 4 * n)]
    return {"adjoint": [math.log(least[1] / least[0], 4)], LINEAR: [1.0]}
