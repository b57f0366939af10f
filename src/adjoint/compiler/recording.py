"""One recorded run of a function: the program, what it holds for, and how it is run again."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from adjoint.compiler.backend import Runner
from adjoint.compiler.calling import Direct
from adjoint.compiler.environment import Environment
from adjoint.compiler.going_back import Back, operation
from adjoint.core.box import Box, settled
from adjoint.core.errors import GraphError, GraphFreedError, LeavesGraphError, NotSupportedError
from adjoint.core.trees import flatten
from adjoint.graph.graph import Graph
from adjoint.graph.node import Node, constant, in_order, placeholder
from adjoint.graph.state import State
from adjoint.graph.symbol import LEVEL, Guard, Symbol, reading, recording, symbol_of
from adjoint.tape import writes
from adjoint.tape.modes import recording_floor
from adjoint.tape.node import leaf
from adjoint.tape.reach import Source
from adjoint.tape.tensor import Tensor, wrap


class Recorded(NamedTuple):
    """What a recording run gave, and the program; or, without one, the reason why there is none."""

    value: Any
    recording: Recording | None
    reason: str


class Leaf(NamedTuple):
    """One leaf of the arguments that varies: its number, and whether it came as a tensor."""

    number: int
    tensor: bool


class Recording:
    """A program, for the way that one run of the function took.

    Attributes:
        graph: the program: inputs are the varying leaves, the state, the arrays that were found; outputs are the
            results, what is written into arguments, what the way back needs, and what is written into the state.
        environment: what it holds for.
        direct: the short way to run it for these positional arguments, once there is native code; see `calling`.
    """

    def __init__(
        self,
        graph: Graph,
        leaves: Sequence[Leaf],
        environment: Environment,
        state: State,
        written: Sequence[int],
        mutated: Sequence[int],
        gives: Gives,
        back: Back | None,
        make: Callable[..., Runner],
    ) -> None:
        self.graph, self.leaves, self.environment, self.state = graph, leaves, environment, state
        self.written, self.mutated, self.gives = written, mutated, gives
        self.back = back
        self.places = {len(graph.outputs) - len(written) + k: i for k, i in enumerate(written)}
        found = {cell: len(leaves) + i for i, cell in enumerate(state.cells)}
        into = {k: found[cell] for k, i in self.places.items() for cell in state.written_in_place(i) if cell in found}
        self.runner = make(graph, {} if mutated or back is not None else into)
        self.back_runner = None if back is None else make(back.graph, {})
        self.direct: Direct | None = None
        self._op = None if back is None else operation(graph, self._run, back, self.back_runner)
        self.floor = recording_floor.get()
        self.draws = [Source.of(n.settings["rng"]) for n in graph.nodes if n.op is not None and "random" in n.op.flags]

    def holds(self) -> bool:
        """Whether what was found outside of the arguments is as it was."""
        return self.environment.holds() and self.state.holds()

    def __call__(self, leaves: Sequence[Any]) -> Any:
        """Run the program; raises `GraphError` where a guard's answer differs, and has written nothing then."""
        given = [leaves[leaf.number].data if leaf.tensor else leaves[leaf.number] for leaf in self.leaves]
        if (self.mutated or self.written) and overlap(given, self.state.read(), [leaves[k] for k in self.mutated]):
            raise OverlapError
        given += self.state.read()
        given += [place.read() for place in self.environment.arrays]
        self._check(given)
        if self.back is None or self._op is None:
            results = self._run(*given)
        else:
            for k, tensor in self._tensors(leaves):
                given[k] = tensor
            outs = self._op(*given)
            results = tuple(x if i in self.back.alive else x.data for i, x in enumerate(outs))
        count = len(results) - len(self.mutated) - (len(self.back.residuals) if self.back else 0)
        for number, value in zip(self.mutated, results[count:], strict=False):
            overwrite(leaves[number], value)
        return self.gives(list(results[:count]))

    def _check(self, given: Sequence[Any]) -> None:
        """Refuse state of another shape or dtype."""
        for node, value in zip(self.graph.inputs[len(self.leaves) :], given[len(self.leaves) :], strict=True):
            if np.shape(value) != node.shape or (isinstance(value, np.ndarray) and value.dtype != node.dtype):
                raise GraphError(f"{node.value} had shape {node.shape} and dtype {node.dtype} when this was recorded")

    def _run(self, *given: Any) -> tuple[Any, ...]:
        """The results, what is to be written into arguments, and what the way back needs; the state is written."""
        drawn = [(source, source.get()) for source in self.draws] if self.graph.guards else []
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


class OverlapError(Exception):
    """Arrays show the same memory, in which the program writes: it would have to do so in the function's own order."""


class Gives(NamedTuple):
    """What becomes of a program's results: which are tensors, and how they are put together."""

    tensors: list[bool]
    rebuild: Callable[[list[Any]], Any]

    def __call__(self, results: list[Any]) -> Any:
        return self.rebuild([_as_result(x, t) for x, t in zip(results, self.tensors, strict=True)])


def overlap(given: Sequence[Any], state: Sequence[Any], written: Sequence[Any]) -> bool:
    """Whether arrays that are `written`, or the state, share memory with other ones."""
    arrays = {id(x): x for x in (*given, *state) if isinstance(x, np.ndarray) and x.size}
    spans = sorted((*np.lib.array_utils.byte_bounds(x), id(x)) for x in arrays.values())
    targets = {id(x.data if isinstance(x, Tensor) else x) for x in written} | {id(x) for x in state}
    end, last = 0, 0
    for low, high, key in spans:
        if low < end and (key in targets or last in targets):
            return True
        if high > end:
            end, last = high, key
    return False


def overwrite(target: Any, value: Any) -> None:
    """Write `value` into an argument that the function writes into."""
    array = target.data if isinstance(target, Tensor) else target
    array[...] = value
    writes.note(array)


def record(
    f: Callable[..., Any],
    leaves: Sequence[Any],
    rebuild: Callable[[list[Any]], Any],
    varies: Sequence[bool],
    make: Callable[..., Runner],
) -> Recorded:
    """Run `f` on symbols, once, with all its effects; and keep the program.

    Where that can not be done, everything is put back and `f` is run as it is.
    """
    environment = Environment(f, rebuild(list(leaves)))
    if environment.refusal:
        return Recorded(_run(f, rebuild(list(leaves))), None, environment.refusal)
    chosen = [Leaf(k, isinstance(x, Tensor)) for k, x in enumerate(leaves) if varies[k]]
    inputs, symbols, boxed = _boxed(leaves, chosen)
    state = State(f, rebuild(list(leaves)))
    held = [placeholder(p.name, a.shape, a.dtype) for p in environment.arrays for a in (p.read(),)]
    known = {id(place.read()): (place.read(), node) for place, node in zip(environment.arrays, held, strict=True)}
    try:
        with recording() as notes, state.symbolic(notes) as cells, reading(known):
            value = _run(f, rebuild(boxed))
            found, back = flatten(value)
            found = [settled(x, LEVEL) for x in found]
            outputs = [_node_of(x) for x in found]
            written = state.written(cells, _node_of)
            new = {i: _value_of(cells[i].get()) for i in written}
            mutated = [k for k in symbols if symbols[k].node is not inputs[[c.number for c in chosen].index(k)]]
            mutations = [symbols[k].layers for k in mutated]
            sources = [(inputs[i], boxed[c.number].node) for i, c in enumerate(chosen) if c.tensor]
            sources += [(node, t.node) for node, t in state.tensors()]
            goes_on = any(isinstance(x, Tensor) and x.node is not None for x in found)
            back_way = _way_back(found, sources) if goes_on else None
            changed = environment.changed()
            drawn = [(source, source.get()) for source, _, _ in notes.generators.values()]
        if changed:
            raise NotSupportedError(f"the function itself changes {changed}, which Python has to do at each call")
        given = [_data(leaves[leaf.number]) for leaf in chosen]
        if (written or mutated) and overlap(given, state.read(), [leaves[k] for k in mutated]):
            raise NotSupportedError("arrays that it uses share memory, in which it writes")
    except (LeavesGraphError, NotSupportedError) as error:
        environment.restore()
        return Recorded(_run(f, rebuild(list(leaves))), None, str(error))
    gives = Gives([isinstance(x, Tensor) for x in found], back)
    results = [*outputs, *(node for _, node in mutations), *(back_way.residuals if back_way else ())]
    guards = _once(notes.guards)
    used = {*in_order([*results, *written.values(), *(guard.node for guard in guards)])}
    state.settle(used | {*(back_way.met if back_way else ())})
    graph = Graph(
        [*inputs, *state.inputs, *held], [*results, *written.values()], guards=guards, name=getattr(f, "__name__", "f")
    )
    if back_way is not None:
        back_way.sources = [graph.inputs.index(node) for node in back_way.met]
    made = Recording(graph, chosen, environment, state, list(written), mutated, gives, back_way, make)
    if back_way is not None:  # the result belongs to a graph of the user's, which the program makes
        return Recorded(made(leaves), made, "")
    for source, drawn_state in drawn:
        source.set(drawn_state)
    values = state.write(new, [_value_of(x) for x in found])
    for k, (value, _) in zip(mutated, mutations, strict=True):
        overwrite(leaves[k], value)
    return Recorded(gives(values), made, "")


def _boxed(leaves: Sequence[Any], chosen: Sequence[Leaf]) -> tuple[list[Node], dict[int, Symbol], list[Any]]:
    """An input for each of the `chosen` leaves, its symbol by the leaf's number, and all leaves with these in place."""
    inputs: list[Node] = []
    symbols: dict[int, Symbol] = {}
    boxed = list(leaves)
    for k, is_tensor in chosen:
        data = _data(leaves[k])
        same = next((j for j in symbols if leaves[j] is leaves[k]), None)
        inputs.append(placeholder(f"x{k}", np.shape(data), np.asarray(data).dtype, number=not hasattr(data, "dtype")))
        symbols[k] = symbol_of(data, inputs[-1]) if same is None else symbols[same]
        boxed[k] = _as_tensor(symbols[k], leaves[k]) if is_tensor else symbols[k]
    return inputs, symbols, boxed


def _way_back(found: Sequence[Any], leaves: Sequence[tuple[Node, Any]]) -> Back | None:
    """The way back; None if the function has gone it already, and let go of its graph."""
    try:
        return Back(found, leaves)
    except GraphFreedError:
        return None


def _as_result(x: Any, tensor: bool) -> Any:
    return wrap(x, None, 0) if tensor and not isinstance(x, Tensor) else x


def _run(f: Callable[..., Any], call: Any) -> Any:
    args, kwargs = call
    return f(*args, **kwargs)


def _data(x: Any) -> Any:
    return x.data if isinstance(x, Tensor) else x


def _as_tensor(symbol: Symbol, like: Tensor) -> Tensor:
    return wrap(symbol, None if like.node is None else leaf(like.shape, like.dtype), like.level)


def _once(guards: Sequence[Guard]) -> list[Guard]:
    """Each question once."""
    return list({(guard.node, guard.question): guard for guard in guards}.values())


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
