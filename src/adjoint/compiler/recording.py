"""One recorded run of a function: the program, what it holds for, and how it is run again."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from adjoint.compiler.backend import Runner
from adjoint.compiler.environment import Environment
from adjoint.compiler.going_back import Back, operation
from adjoint.core.box import Box, settled
from adjoint.core.errors import GraphFreedError, LeavesGraphError, NotSupportedError
from adjoint.core.trees import flatten
from adjoint.graph.graph import Graph
from adjoint.graph.node import Node, constant, placeholder
from adjoint.graph.state import State
from adjoint.graph.symbol import LEVEL, Guard, Symbol, reading, recording, symbol_of
from adjoint.tape import writes
from adjoint.tape.node import leaf
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
        graph: the program: inputs are the varying leaves, the state, the arrays and settings that were found.
        environment: what it holds for.
    """

    def __init__(
        self,
        graph: Graph,
        leaves: Sequence[Leaf],
        environment: Environment,
        state: State,
        written: Sequence[int],
        mutated: Sequence[int],
        gives: Callable[[list[Any]], Any],
        back: Back | None,
        make: Callable[[Graph], Runner],
    ) -> None:
        self.graph, self.leaves, self.environment, self.state = graph, leaves, environment, state
        self.written, self.mutated, self.gives = written, mutated, gives
        self.back = back
        self.runner = make(graph)
        self.back_runner = None if back is None else make(back.graph)
        self._op = None if back is None else operation(graph, self._run, back, self.back_runner)

    def __call__(self, leaves: Sequence[Any]) -> Any:
        """Run the program; raises `GraphError` where a guard's answer differs, and has written nothing then."""
        given = [leaves[leaf.number].data if leaf.tensor else leaves[leaf.number] for leaf in self.leaves]
        given += self.state.read()
        given += [place.read() for place in self.environment.arrays]
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

    def _run(self, *given: Any) -> tuple[Any, ...]:
        """The results, what is to be written into arguments, and what the way back needs; the state is written."""
        results = self.runner.run(given)
        count = len(results) - len(self.written)
        return tuple(self.state.write(dict(zip(self.written, results[count:], strict=True)), results[:count]))

    def _tensors(self, leaves: Sequence[Any]) -> Iterator[tuple[int, Tensor]]:
        """The tensors that a gradient goes back to, by the number of their input."""
        assert self.back is not None
        for k in self.back.sources:
            if k < len(self.leaves):
                yield k, leaves[self.leaves[k].number]
            else:
                yield k, self.state.tensor_of(k - len(self.leaves))


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
    make: Callable[[Graph], Runner],
) -> Recorded:
    """Run `f` on symbols, once, with all its effects; and keep the program.

    Where that can not be done, everything is put back and `f` is run as it is.
    """
    environment = Environment(f, rebuild(list(leaves)))
    if environment.refusal:
        return Recorded(_run(f, rebuild(list(leaves))), None, environment.refusal)
    chosen = [Leaf(k, isinstance(x, Tensor)) for k, x in enumerate(leaves) if varies[k]]
    boxed, inputs = list(leaves), list[Node]()
    symbols: dict[int, Symbol] = {}
    for k, is_tensor in chosen:
        data = leaves[k].data if is_tensor else leaves[k]
        same = next((j for j in symbols if leaves[j] is leaves[k]), None)
        node = placeholder(f"x{k}", np.shape(data), np.asarray(data).dtype, number=not hasattr(data, "dtype"))
        inputs.append(node)
        symbols[k] = symbol_of(data, node) if same is None else symbols[same]
        boxed[k] = _as_tensor(symbols[k], leaves[k]) if is_tensor else symbols[k]
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
            leaf_nodes = [(i, boxed[c.number].node) for i, c in enumerate(chosen) if c.tensor]
            leaf_nodes += [(len(chosen) + i, t.node) for i, t in state.tensors()]
            goes_on = any(isinstance(x, Tensor) and x.node is not None for x in found)
            back_way = _way_back(found, leaf_nodes) if goes_on else None
            changed = environment.changed()
            drawn = [(source, source.get()) for source, _, _ in notes.generators.values()]
        if changed:
            raise NotSupportedError(f"the function itself changes {changed}, which Python has to do at each call")
    except (LeavesGraphError, NotSupportedError) as error:
        environment.restore()
        return Recorded(_run(f, rebuild(list(leaves))), None, str(error))
    tensors = [isinstance(x, Tensor) for x in found]

    def gives(results: list[Any]) -> Any:
        return back([_as_result(x, t) for x, t in zip(results, tensors, strict=True)])

    graph = Graph(
        [*inputs, *state.inputs, *held],
        [*outputs, *(node for _, node in mutations), *(back_way.residuals if back_way else ()), *written.values()],
        guards=_once(notes.guards),
        name=getattr(f, "__name__", "f"),
    )
    made = Recording(graph, chosen, environment, state, list(written), mutated, gives, back_way, make)
    if back_way is not None:  # the result belongs to a graph of the user's, which the program makes
        return Recorded(made(leaves), made, "")
    for source, drawn_state in drawn:
        source.set(drawn_state)
    values = state.write(new, [_value_of(x) for x in found])
    for k, (value, _) in zip(mutated, mutations, strict=True):
        overwrite(leaves[k], value)
    return Recorded(gives(values), made, "")


def _way_back(found: Sequence[Any], leaves: Sequence[tuple[int, Any]]) -> Back | None:
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


def _as_tensor(symbol: Symbol, like: Tensor) -> Tensor:
    return wrap(symbol, None if like.node is None else leaf(like.shape, like.dtype), like.level)


def _once(guards: Sequence[Guard]) -> list[Guard]:
    """Each question once."""
    return list({(guard.node, guard.question): guard for guard in guards}.values())


def _node_of(x: Any) -> Node:
    x = x.data if isinstance(x, Tensor) else x
    if isinstance(x, Symbol):
        return x.node
    if isinstance(x, Box) or not isinstance(x, np.ndarray | np.generic | float | int | complex):
        raise LeavesGraphError(f"it returns a {type(x).__name__}, which is no array")
    return constant(x)


def _value_of(x: Any) -> Any:
    x = x.data if isinstance(x, Tensor) else x
    return x.value if isinstance(x, Symbol) else x
