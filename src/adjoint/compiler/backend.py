"""From NumPy calls to native code: made beside the running program, which changes over when it is ready."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from adjoint.compiler.program import Program, straight
from adjoint.core.errors import GraphError
from adjoint.graph.graph import Graph


def debug_level() -> int:
    """What to say on standard error: 1 when something is recorded or compiled, 2 the graph, 3 the plan, 4 the LLVM."""
    return int(os.environ.get("ADJOINT_DEBUG", "0") or 0)


def say(level: int, text: Callable[[], str]) -> None:
    """Say something, if so much was asked for."""
    if debug_level() >= level:
        print(text(), file=sys.stderr)


PYTHONS = frozenset((float, int, bool))


class Runner:
    """Runs a graph: straight NumPy at first, native code once it is there.

    Attributes:
        native: the native program, or None.
        reason: why there is none; empty while it is being made, and once it is there.
    """

    def __init__(self, graph: Graph, backend: str, wait: bool, fastmath: bool) -> None:
        self.graph, self.reason = graph, ""
        self.native: Any = None
        self.run: Program = straight(graph)
        if backend == "numpy":
            self.reason = 'backend="numpy" was asked for'
        elif wait:
            self._make(fastmath)
        else:
            threading.Thread(target=self._make, args=(fastmath,), name="adjoint compiler", daemon=True).start()

    def _make(self, fastmath: bool) -> None:
        graph, plain = self.graph, self.run
        guarded = [guard.node for guard in graph.guards]
        try:
            from adjoint.native import build

            native = build(graph.inputs, [*graph.outputs, *guarded], fastmath=fastmath)
        except Exception as error:  # whatever went wrong, NumPy's program is there and right
            self.reason = f"{type(error).__name__}: {error}"
            say(1, lambda: f"adjoint: {graph.name} stays with NumPy: {self.reason}")
            return
        self.native = native
        self.run = _checked(graph, native, plain)
        say(1, lambda: f"adjoint: {graph.name} is native: {len(native.kernels)} kernels")
        say(3, lambda: str(native.listing()))
        say(4, lambda: native.llvm)


def _checked(graph: Graph, native: Any, plain: Program) -> Program:
    """The native program, its guards held after it: it has written nothing but its own memory by then."""
    count, guards, call = len(graph.outputs), graph.guards, native.run
    numbers = [i for i, node in enumerate(graph.outputs) if node.shape == ()]
    taken = [(i, node.dtype.type) for i, node in enumerate(graph.inputs) if node.shape == ()]

    def run(given: Sequence[Any]) -> list[Any]:
        given = list(given)
        for i, kind in taken:
            if type(given[i]) in PYTHONS:
                given[i] = kind(given[i])
        results: list[Any] = call(*given)
        for i in numbers:
            results[i] = results[i][()]
        if guards:
            for guard, value in zip(guards, results[count:], strict=True):
                graph.ask(guard.node, value)
            del results[count:]
        return results

    if not os.environ.get("ADJOINT_VERIFY"):
        return run

    def verified(given: Sequence[Any]) -> list[Any]:
        expected, found = plain(given), run(given)
        for node, a, b in zip(graph.outputs, expected, found, strict=True):
            _compare(graph.name, node, np.asarray(a), np.asarray(b))
        return found

    return verified


def _compare(name: str, node: Any, expected: np.ndarray, found: np.ndarray) -> None:
    """Refuse native results that are not NumPy's, within what summing in another order may change."""
    if expected.dtype.kind not in "fc":
        same = np.array_equal(expected, found)
    else:
        scale = np.max(np.abs(expected), initial=0.0, where=np.isfinite(expected))
        allowed = 1e4 * np.finfo(expected.dtype).eps * max(float(scale), 1e-30)
        same = np.allclose(found, expected, rtol=0.0, atol=allowed, equal_nan=True)
    if not same:
        raise GraphError(
            f"ADJOINT_VERIFY: the native program of {name} gives {found!r:.200} for {node!r}; NumPy gives "
            f"{expected!r:.200}"
        )
