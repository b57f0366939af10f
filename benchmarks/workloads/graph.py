"""Graphs of unique nodes: making them, capturing programs, running what was captured."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from benchmarks.harness import Budget, Call, Case, Samples, programs
from benchmarks.peers import load

TITLE = "Graphs"
ABOUT = (
    "Time per node or operation. Nodes are made as expressions make them: each is looked up, and kept if it is new. "
    "A repeated node is one that is there already. Capture runs a program of small operations, with its gradient, once "
    "on symbols, and a graph runs it again without Python's program; for both, NumPy is the gradient as it runs "
    "without capture. Rewriting looks at all nodes with all safe rules, on a graph in which each third node goes."
)


def _sum_of_products(count: int) -> Callable[[], Any]:
    node = load("adjoint.graph.node")
    add, multiply = (load("adjoint.core.registry").operation(name) for name in ("add", "multiply"))
    x, small = node.variable("x"), node.constant(1e-6)

    def made() -> Any:
        total = x
        for _ in range(count // 2):
            total = node.call(add, (node.call(multiply, (total, small)), x))
        return total

    return made


def building(count: int, rounds: int) -> Samples:
    """How long it takes to make nodes, without the time that they take to go."""
    made, samples = _sum_of_products(count), []
    gc.collect()
    gc.freeze()
    for _ in range(rounds):
        start = time.process_time()
        kept = made()
        samples.append(time.process_time() - start)
        del kept
    gc.unfreeze()
    return {"adjoint": samples}


def nodes(count: int) -> Call:
    made = _sum_of_products(count)
    return lambda: [made().number > 0]


def repeated(count: int) -> Call:
    made = _sum_of_products(count)
    kept = made()
    return lambda: [made() is kept]


def walked(count: int) -> Call:
    made, in_order = _sum_of_products(count), load("adjoint.graph.node").in_order
    kept = made()
    return lambda: [len(in_order([kept]))]


def rewriting(count: int) -> Call:
    graph, node = load("adjoint.graph"), load("adjoint.graph.node")
    sin, negative = (load("adjoint.core.registry").operation(name) for name in ("sin", "negative"))
    x = node.placeholder("x", (), np.dtype(float))
    last = x
    for op in (sin, negative, negative) * (count // 3):
        last = node.call(op, (last,), {}, (), x.dtype)
    whole = graph.Graph([x], [last])
    return lambda: [len(whole.rewritten())]


def _program(count: int) -> Callable[[Any], Any]:
    def f(x: Any) -> Any:
        y = x
        for _ in range(count // 2):
            y = np.sin(y) * x
        return np.sum(y)

    return load("adjoint").grad(f)  # type: ignore[no-any-return]  # a function


def eager(count: int) -> Call:
    gradient, x = _program(count), np.linspace(0.5, 1.5, 4)
    return lambda: [gradient(x)]


def capturing(count: int) -> Call:
    gradient, x, capture = _program(count), np.linspace(0.5, 1.5, 4), load("adjoint").capture
    return lambda: [capture(gradient, x)(x)]


def running(count: int) -> Call:
    gradient, x = _program(count), np.linspace(0.5, 1.5, 4)
    graph = load("adjoint").capture(gradient, x)
    return lambda: [graph(x)]


def cases(small: bool = False) -> Iterator[Case]:
    """A row for each thing that is done with graphs."""
    many, few = (3_000, 60) if small else (1_000_000, 200)
    yield Case(f"{many} nodes made", measure=partial(building, many), per=many)
    rows = (("made and dropped", nodes, many), ("repeated", repeated, many), ("in order", walked, many),
            ("rewritten", rewriting, many // 10))  # fmt: skip
    for name, ours, count in rows:
        yield Case(f"{count} nodes {name}", programs({"adjoint": ours}, count), per=count)
    for name, ours in (("captured and run", capturing), ("run", running)):
        budgets = (Budget("NumPy", 1.0),) if ours is running else ()
        yield Case(
            f"gradient of {few} operations, {name}", programs({"adjoint": ours, "NumPy": eager}, few), few, budgets
        )
