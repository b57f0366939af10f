"""From NumPy calls to native code: made while the program runs, and used as soon as it is ready."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple
from weakref import WeakMethod

import numpy as np

from adjoint.compiler.background import later
from adjoint.core.errors import ArgumentError, GraphError, WrongCodeError
from adjoint.core.exchanges import exchanging
from adjoint.core.memory import copy_as_it_lies
from adjoint.core.registry import op_named
from adjoint.core.threads.locks import COMPILING
from adjoint.core.types import Array, Value
from adjoint.graph.captures.record import Guard
from adjoint.graph.graph import SEEN, Graph
from adjoint.graph.node import Node, call, constant
from adjoint.tape.reach import RandomSource

if TYPE_CHECKING:
    from adjoint.native.call.driver import Runnable


GraphFunction = Callable[[Sequence[Value]], list[Value]]


def debug_level() -> int:
    """What to say on standard error: 1 when something is recorded or compiled, 2 the graph, 3 the plan, 4 the LLVM.

    Raises:
        ArgumentError: if $ADJOINT_DEBUG is no number.
    """
    given = os.environ.get("ADJOINT_DEBUG", "").strip()
    if given and not given.isdecimal():
        raise ArgumentError(f"ADJOINT_DEBUG is a number from 0 (nothing) to 4 (everything); got {given!r}")
    return int(given or 0)


def say(level: int, text: Callable[[], str]) -> None:
    """Say something, if so much was asked for."""
    if debug_level() >= level:
        print(text(), file=sys.stderr)


class Execution(NamedTuple):
    """How a graph is run.

    Attributes:
        run: takes a value for each input, and gives the outputs; raises `GraphError` if a guard is answered otherwise.
        into: outputs that `run` does not give but writes over an input: by their number, that input's.
        direct: whether the native program may be called without it.
    """

    run: GraphFunction
    into: dict[int, int]
    direct: bool = False


def _apart(results: list[Value]) -> list[Value]:
    """Results in memory of their own: NumPy's may show a constant, or another result that is computed alike."""
    return [copy_as_it_lies(x) if isinstance(x, np.ndarray) and x.base is not None else x for x in results]


class Runner:
    """Runs a graph: straight NumPy at first, native code once it is there.

    Args:
        graph: what is run.
        into: outputs that may be written over an input, once everything that reads it is done.
        backend, wait, fastmath, memory: as in `adjoint.compile`.

    Attributes:
        execution: how it is run now.
        native: the native program, or None.
        reason: why there is none; empty while it is being made, and once it is there.
    """

    def __init__(
        self, graph: Graph, into: dict[int, int], backend: str, wait: bool, fastmath: bool, memory: str = "auto"
    ) -> None:
        self.graph, self.reason = graph, ""
        self.native: Value = None
        self._stays = self._ran = False
        self.execution = Execution(self._by_numpy, {})
        if backend == "numpy":
            self.reason = 'backend="numpy" was asked for'
        elif wait or graph.exchanges:  # all processes change to native code, which may round otherwise, at once
            self._make(into, fastmath, memory)
        else:
            later(WeakMethod(self._make), into, fastmath, memory)

    def _by_numpy(self, given: Sequence[Value]) -> list[Value]:
        """Run the graph by NumPy. If it runs a second time, a Python function is written for it."""
        if not self._ran:
            self._ran = True
            return _apart(self.graph.run(given))
        function = self.graph.schedule.function()
        execution = Execution(lambda given: _apart(function(given)), {})
        if self.execution.run == self._by_numpy:
            self.execution = execution
        return execution.run(given)

    def stay(self, reason: str) -> None:
        """Run it by NumPy from now on."""
        self._stays, self.native, self.reason = True, None, reason
        self.execution = Execution(self._by_numpy, {})

    def run(self, given: Sequence[Array]) -> list[Value]:
        """All outputs, for a graph that writes nothing."""
        return self.execution.run(given)

    def _make(self, into: dict[int, int], fastmath: bool, memory: str) -> None:
        with COMPILING:
            self._compile(into, fastmath, memory)

    def _compile(self, into: dict[int, int], fastmath: bool, memory: str) -> None:
        graph = self.graph
        try:
            from adjoint.native.stored import program

            native = program(
                graph,
                into,
                (fastmath, memory, tuple(graph.lies.items())),
                lambda: _built(graph, into, fastmath, memory),
            )
        except Exception as error:  # whatever went wrong, NumPy's program is there and right
            self.reason = f"{type(error).__name__}: {error}"
            say(1, lambda: f"adjoint: {graph.name} stays with NumPy: {self.reason}")
            return
        execution = Execution(_natively(graph, native), native.into, True)
        if os.environ.get("ADJOINT_VERIFY"):
            execution = Execution(_verified(graph, execution, graph.schedule.function()), native.into)
        if self._stays:
            return
        self.native, self.execution = native, execution
        say(1, lambda: f"adjoint: {graph.name} is native: {native.count} kernels")
        say(3, lambda: str(native.listing()))
        say(4, lambda: native.llvm)

    @property
    def loops(self) -> list[str]:
        """Remarks on turns that repeat: which are loops of native code, and why others are not."""
        return [] if self.native is None else list(self.native.loops)


class Options(NamedTuple):
    """What was asked of `compile`."""

    wait: bool = False
    backend: str = "native"
    static: frozenset[str] = frozenset()
    fastmath: bool = False
    memory: str = "auto"

    def runner(self, graph: Graph, into: dict[int, int]) -> Runner:
        """The runner of `graph`; outputs that are named in `into` may be written over these inputs."""
        say(2, lambda: str(graph))
        return Runner(graph, into, self.backend, self.wait, self.fastmath, self.memory)


def _built(graph: Graph, into: dict[int, int], fastmath: bool, memory: str) -> Value:
    """The native program of `graph`."""
    from adjoint.graph.loops.roll import roll
    from adjoint.graph.rewriting.rules import EXACT
    from adjoint.native import build, not_native

    rolled = roll(graph, not_native)
    simple = graph if rolled is None else rolled.graph
    simple = simple.rewritten(EXACT)  # what NumPy gives, also where more accurate rules give something else
    checks: list[tuple[Node, np.ndarray]] = []
    seen: list[Node] = []
    after: dict[int, int] = {}
    for guard in simple.guards:
        if guard.question not in SEEN:
            checks.append(_check(guard))
            continue
        if guard.node.op is not None and "collective" in guard.node.op.flags and checks:
            after[len(seen)] = len(checks)
        seen.append(guard.node)
    native = build(simple.inputs, simple.outputs, fastmath=fastmath, memory=memory, into=into, checks=checks, seen=seen,
                   after=after, exact=True, lies=graph.lies)  # fmt: skip
    native.loops = rolled.said if rolled else []
    return native


def _check(guard: Guard) -> tuple[Node, np.ndarray]:
    """A node, and the value that it has as long as the guard's question is answered as it was."""
    node, answer = guard.node, guard.answer
    if guard.question == "bool" and node.dtype != bool:
        compared = np.not_equal.resolve_dtypes((node.dtype, node.dtype, None))
        zero = constant(np.zeros((), compared[1]))
        node = call(op_named("not_equal"), (node, zero), {}, node.shape, np.dtype(bool))
    elif guard.question in ("int", "index") and node.dtype.kind == "f":
        node = call(op_named("trunc"), (node,), {}, node.shape, node.dtype)
    return node, np.asarray(answer, node.dtype).reshape(node.shape)


def _natively(graph: Graph, native: Runnable) -> GraphFunction:
    """The native program, for values as they come."""
    call, outputs = native.run, native.given
    numbers = [i for i, node in enumerate(outputs) if node.shape == ()]
    taken = [(i, node.dtype.type) for i, node in enumerate(graph.inputs) if node.shape == ()]
    exchanges = graph.exchanges

    def run(given: Sequence[Array]) -> list[Value]:
        with exchanging() as begin:
            return computed(given, begin)

    def computed(given: Sequence[Array], begin: Callable[[], None] | None = None) -> list[Value]:
        given = list(given)
        for i, kind in taken:
            if type(given[i]) in (float, int, bool):
                given[i] = kind(given[i])
        try:
            results: list[Value] | None = call(*given)
        except (ArithmeticError, ValueError):
            if graph.guards:
                if begin is not None:
                    begin()
                graph.run(given)  # the step may be on another path: the guards, which say so, are asked first
            raise
        if results is None:
            raise GraphError("the captured program asked for a value that is another one now")
        for i in numbers:
            results[i] = results[i][()]
        return results

    return run if exchanges else computed


def sources(nodes: Iterable[Node]) -> list[RandomSource]:
    """The generators that a program draws from, each once."""
    drawn = {id(rng): rng for n in nodes if n.op and "random" in n.op.flags for rng in (n.settings["rng"],)}
    return [RandomSource.of(rng) for rng in drawn.values()]


def _verified(graph: Graph, execution: Execution, plain: GraphFunction) -> GraphFunction:
    """The native program, held against NumPy's at each call."""
    draws = sources(graph.nodes)

    def run(given: Sequence[Value]) -> list[Value]:
        states = [(source, source.get()) for source in draws]
        expected = [np.array(value) for value in plain(given)]
        for source, state in states:
            source.set(state)
        results = execution.run(given)
        left = iter(results)
        for k, (node, value) in enumerate(zip(graph.outputs, expected, strict=True)):
            found = given[execution.into[k]] if k in execution.into else next(left)
            compare(graph.name, node, value, np.asarray(found))
        return results

    return run


def compare(name: str, node: Value, expected: np.ndarray, found: np.ndarray) -> None:
    """Refuse native results that are not NumPy's, within what summing in another order may change."""
    if expected.dtype.kind not in "fc":
        same = np.array_equal(expected, found)
    else:
        scale = np.max(np.abs(expected), initial=0.0, where=np.isfinite(expected))
        allowed = 1e4 * np.finfo(expected.dtype).eps * max(float(scale), 1e-30)
        same = np.allclose(found, expected, rtol=0.0, atol=allowed, equal_nan=True)
    if not same:
        raise WrongCodeError(
            f"ADJOINT_VERIFY: the native program of {name} gives {found!r:.200} for {node!r}; NumPy gives "
            f"{expected!r:.200}"
        )
