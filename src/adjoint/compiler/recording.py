"""One recorded run of a function: the program, what it holds for, and how it is run again."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from adjoint.compiler.arguments import Arguments, Leaf, Target, shares_memory, write_back
from adjoint.compiler.backend import Runner, sources
from adjoint.compiler.calling import Direct
from adjoint.compiler.environment import Environment
from adjoint.compiler.going_back import Back, operation
from adjoint.core.box import Box, settled
from adjoint.core.errors import (
    AdjointError,
    GraphError,
    GraphFreedError,
    InPlaceError,
    LeavesGraphError,
    NotSupportedError,
    SharedMemoryError,
)
from adjoint.core.trees import flatten
from adjoint.graph.graph import Graph, depends_on_values, needed
from adjoint.graph.node import Node, constant, in_order, placeholder
from adjoint.graph.state import State
from adjoint.graph.symbol import LEVEL, Number, Symbol, recording
from adjoint.tape.lines import line_of_error
from adjoint.tape.modes import recording_floor
from adjoint.tape.tensor import Tensor, wrap
from adjoint.twin.follow import callee


class Recorded(NamedTuple):
    """What a recording run gave, and the program; or, without one, the reason why there is none."""

    value: Any
    recording: Recording | None
    reason: str
    again: bool = False  # whether the next call may do better


class Recording:
    """A program, for the way that one run of the function took.

    Attributes:
        graph: the program: inputs are the varying leaves, the state, the arrays that were found; outputs are the
            results, what is written into arguments, what the way back needs, and what is written into the state.
        leaves: which arrays of the arguments the first inputs are.
        environment, state: what it holds for, and what it reads and writes besides its arguments.
        written: numbers of the cells of the state that it writes.
        mutated, cleared: what it writes into arguments, and whose gradients it takes away.
        gives: what becomes of its results.
        back: the way back, if these go on in a graph; `op` is the operation that the program is then.
        direct: the short way to run it, once there is native code; see `calling`.
    """

    def __init__(
        self,
        graph: Graph,
        leaves: Sequence[Leaf],
        environment: Environment,
        state: State,
        written: Sequence[int],
        mutated: Sequence[Target],
        cleared: Sequence[int],
        gives: Gives,
        back: Back | None,
        make: Callable[..., Runner],
    ) -> None:
        self.graph, self.leaves, self.environment, self.state = graph, leaves, environment, state
        self.written, self.mutated, self.cleared, self.gives = written, mutated, cleared, gives
        self.back = back
        self.places = {len(graph.outputs) - len(written) + k: i for k, i in enumerate(written)}
        found = {cell: len(leaves) + i for i, cell in enumerate(state.cells)}
        into = {k: found[cell] for k, i in self.places.items() for cell in state.written_in_place(i) if cell in found}
        self.runner = make(graph, {} if mutated or back is not None else into)
        self.back_runner = None if back is None else make(back.graph, {})
        self.direct: Direct | None = None
        self.op = None if back is None else operation(graph, self._run, back, self.back_runner)
        self.floor = recording_floor.get()  # where nothing is observed, as the short way wants it
        nodes = graph.nodes
        self.draws = sources(nodes)
        self.may_deviate = any(guard.question != "draw" for guard in graph.guards) or any(map(depends_on_values, nodes))

    def answers(self) -> list[Any]:
        """The questions that it asked, where, and the answers: what tells ways through one function apart."""
        return [(guard.question, guard.place, repr(guard.answer)) for guard in self.graph.guards]

    def holds(self) -> bool:
        """Whether what was found outside of the arguments is as it was."""
        return self.environment.holds() and self.state.holds()

    def __call__(self, leaves: Sequence[Any]) -> Any:
        """Run the program; raises `GraphError` where a guard's answer differs, and has written nothing then."""
        given = [leaf.read(leaves) for leaf in self.leaves]
        found = self.environment.read()
        overwritten = [leaves[target.number] for target in self.mutated]
        if shares_memory([*given, *found], self.state, self.written, overwritten):
            raise SharedMemoryError(SHARED)
        given += [*self.state.read(), *found]
        self._check(given)
        if self.back is None or self.op is None:
            results = self._run(*given)
        else:
            for k, tensor in self._tensors(leaves):
                given[k] = tensor
            outs = self.op(*given)
            results = tuple(x if i in self.back.alive else x.data for i, x in enumerate(outs))
            results = tuple(n.value if n.kind == "constant" and not n.shape else x
                            for n, x in zip(self.graph.outputs, results, strict=False))  # fmt: skip
        count = len(self.gives.tensors)
        write_back(leaves, zip(self.mutated, results[count:], strict=False), self.cleared)
        return self.gives(list(results[:count]), leaves)

    def _check(self, given: Sequence[Any]) -> None:
        """Refuse state of another shape or dtype."""
        for node, value in zip(self.graph.inputs[len(self.leaves) :], given[len(self.leaves) :], strict=True):
            if np.shape(value) != node.shape or (isinstance(value, np.ndarray) and value.dtype != node.dtype):
                raise GraphError(f"{node.value} had shape {node.shape} and dtype {node.dtype} when this was recorded")

    def _run(self, *given: Any) -> tuple[Any, ...]:
        """The results, what is to be written into arguments, and what the way back needs; the state is written."""
        drawn = [(source, source.get()) for source in self.draws] if self.may_deviate else []
        execution = self.runner.execution
        try:
            results = execution.run(given)
        except GraphError:
            for source, before in drawn:
                source.set(before)
            raise
        left = [i for k, i in self.places.items() if k not in execution.into]
        count = len(results) - len(left)
        if execution.into:
            self.state.together.note([given[i] for i in execution.into.values()])
        return tuple(self.state.write(dict(zip(left, results[count:], strict=True)), results[:count]))

    def _tensors(self, leaves: Sequence[Any]) -> Iterator[tuple[int, Tensor]]:
        """The tensors that a gradient goes back to, by the number of their input."""
        assert self.back is not None
        for k in self.back.sources:
            if k < len(self.leaves):
                yield k, leaves[self.leaves[k].number]
            else:
                yield k, self.state.tensor_of(k - len(self.leaves))


class NewAttributesError(Exception):
    """The function makes attributes; when they are there, it can be recorded."""


SHARED = "arrays that it uses share memory, in which it writes"


class Gives(NamedTuple):
    """What becomes of a program's results: which are tensors, and how they are put together.

    `same` says which results are things of the caller's: an argument, by its number, or a tensor of the state.
    `numbers` says which are Python's numbers: those of NumPy's would promote more.
    """

    tensors: list[bool]
    numbers: list[bool]
    rebuild: Callable[[list[Any]], Any]
    same: dict[int, Any]

    def __call__(self, results: list[Any], leaves: Sequence[Any]) -> Any:
        found = [_as_result(x, t) for x, t in zip(results, self.tensors, strict=True)]
        found = [x.item() if n and hasattr(x, "item") else x for x, n in zip(found, self.numbers, strict=True)]
        for i, thing in self.same.items():
            found[i] = leaves[thing] if isinstance(thing, int) else thing
        return self.rebuild(found)


def record(
    f: Callable[..., Any],
    leaves: Sequence[Any],
    rebuild: Callable[[list[Any]], Any],
    varies: Sequence[bool],
    make: Callable[..., Runner],
    changing: Container[Any] = (),
) -> Recorded:
    """Run `f` on symbols, once, with all its effects; and keep the program.

    Where that can not be done, everything is put back and `f` is run as it is. Floats at the places in `changing` are
    inputs of the program.
    """
    environment = Environment(f, rebuild(list(leaves)), changing)
    ran = callee(f, leaves)

    def as_it_is(reason: str, made: Recording | None = None, again: bool = False) -> Recorded:
        environment.restore()
        return Recorded(_run(ran, rebuild(list(leaves))), made, reason, again)

    if environment.refusal:
        return as_it_is(environment.refusal)
    arguments = Arguments(leaves, varies)
    state = State(f, rebuild(list(leaves)))
    environment.leave_out(state)
    held = [placeholder(p.name, a.shape, a.dtype) for p in environment.arrays for a in (p.read(),)]
    held += [placeholder(place.name, (), np.dtype(float), number=True) for place in environment.floats]
    try:
        with environment.symbolic(held):
            run = _Run(ran, rebuild, arguments, state, environment)
    except NewAttributesError:
        return as_it_is("it makes attributes that were not there", again=True)
    except Exception as error:  # whatever it is, the function itself, as it is, says it better
        reason = str(error) if isinstance(error, AdjointError) else f"{type(error).__name__}: {error}"
        line = line_of_error(error)
        return as_it_is(f"{reason} ({line})" if line else reason)
    except BaseException:  # it was interrupted
        environment.restore()
        raise
    back, written = run.back, run.written
    results = [*run.outputs, *(node for _, node, _ in run.mutations), *(back.residuals if back else ())]
    guards = needed(run.guards, [*results, *written.values()])
    used = in_order([*results, *written.values(), *(guard.node for guard in guards)])
    state.settle({*used, *(back.met + back.given if back else ())}, environment.named)
    overwritten = [leaves[target.number] for target, _, _ in run.mutations]
    given = [leaf.read(leaves) for leaf in arguments.chosen]
    if shares_memory([*given, *environment.read()], state, written, overwritten):
        return as_it_is(SHARED)
    inputs = [*arguments.inputs, *state.inputs, *held]
    graph = Graph(inputs, [*results, *written.values()], guards=guards, name=getattr(f, "__name__", "f"))
    if back is not None:
        back.settle(inputs)
    mutated = [target for target, _, _ in run.mutations]
    made = Recording(
        graph, arguments.chosen, environment, state, list(written), mutated, run.cleared, run.gives, back, make
    )
    if back is not None:  # the result belongs to a graph of the user's, which the program makes
        try:
            found = Recorded(made(leaves), made, "")
        except GraphError:  # native code rounds otherwise, and a guard compares bits
            found = as_it_is("", made)
    else:
        found = Recorded(run.finished(), made, "")
    environment.forget()
    state.forget()
    return found


class _Run:
    """One run of a function on symbols, and what it did.

    Attributes:
        outputs, values: nodes and arrays of its results.
        gives: how these are put together.
        written: nodes of what it wrote into the state, by the number of the cell.
        mutations: what it wrote into arguments: each with its node and its array.
        cleared: arguments whose gradients it took away.
        guards: what it asked.
        back: the way back, if its results go on in a graph.
    """

    def __init__(
        self,
        f: Callable[..., Any],
        rebuild: Callable[[list[Any]], Any],
        arguments: Arguments,
        state: State,
        environment: Environment,
    ) -> None:
        self._leaves, self._state = arguments.leaves, state
        with recording() as notes, state.symbolic(notes) as cells:
            found, back = flatten(_run(f, rebuild(arguments.boxed)))
            found = [settled(x, LEVEL) for x in found]
            self.outputs, self.values = [_node_of(x) for x in found], [_value_of(x) for x in found]
            self.written = state.written(cells, _node_of)
            self._new = {i: _value_of(cells[i].get()) for i in self.written}
            targets = list(arguments.targets())
            self.mutations = [(target, _node_of(x), _value_of(x)) for target, x in targets if x is not None]
            self.cleared = [target.number for target, x in targets if x is None]
            leaves = [*arguments.sources(), *((node, t.node) for node, t in state.tensors())]
            goes_on = any(isinstance(x, Tensor) and x.node is not None for x in found)
            self.back = _way_back(found, leaves) if goes_on else None
            if self.back is not None and arguments.inside_transform and not set(self.back.met) <= set(arguments.inputs):
                raise NotSupportedError("it uses parameters, while a transform differentiates by its arguments alone")
            changed = environment.changed()
            if state.has_new():
                raise NewAttributesError
            self._drawn = [(source, source.get()) for source, _, _ in notes.generators.values()]
        if changed:
            raise NotSupportedError(f"the function itself changes {changed}, which Python has to do at each call")
        same = {**arguments.returned(found), **{i: x for i, x in enumerate(found) if state.has(x)}}
        numbers = [type(x) in (Number, int, float, complex, bool) for x in found]
        self.gives = Gives([isinstance(x, Tensor) for x in found], numbers, back, same)
        self.guards = notes.guards

    def finished(self) -> Any:
        """Do what the run did to the state, to arguments and to generators, which were put back; and give its value."""
        for source, drawn in self._drawn:
            source.set(drawn)
        values = self._state.write(self._new, self.values)
        write_back(self._leaves, ((target, value) for target, _, value in self.mutations), self.cleared)
        return self.gives(values, self._leaves)


def _way_back(found: Sequence[Any], leaves: Sequence[tuple[Node, Any]]) -> Back | None:
    """The way back; None if the function let go of its graph, or has then written parameters that it needs."""
    try:
        return Back(found, leaves)
    except (GraphFreedError, InPlaceError):
        return None


def _as_result(x: Any, tensor: bool) -> Any:
    return wrap(x, None, 0) if tensor and not isinstance(x, Tensor) else x


def _run(f: Callable[..., Any], call: Any) -> Any:
    args, kwargs = call
    return f(*args, **kwargs)


def _data(x: Any) -> Any:
    return x.data if isinstance(x, Tensor) else x


def _node_of(x: Any) -> Node:
    x = _data(x)
    if isinstance(x, Symbol):
        return x.node
    if isinstance(x, Box) or not isinstance(x, np.ndarray | np.generic | float | int | complex):
        raise LeavesGraphError(f"it returns a {type(x).__name__}, which is no array")
    return constant(x)


def _value_of(x: Any) -> Any:
    x = _data(x)
    return x.value if isinstance(x, Symbol) else x
