"""One recorded run of a function: the program, the conditions under which it holds, and how it runs again."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from itertools import repeat, starmap
from operator import call, setitem
from typing import NamedTuple

import numpy as np

from adjoint.compiler.backend import Runner, sources
from adjoint.compiler.call.fast_path import Direct
from adjoint.compiler.call.selecting import Sight
from adjoint.compiler.recording.arguments import ArgumentTarget, ArrayLeaf, shares_memory
from adjoint.compiler.recording.joint import Back, ended, operation
from adjoint.compiler.trace.effects import Assemble
from adjoint.compiler.trace.guards import Guards
from adjoint.compiler.trace.inputs import Inputs
from adjoint.core.box import Box
from adjoint.core.errors import GraphError, SharedMemoryError
from adjoint.core.rules.pullbacks import Pullback
from adjoint.core.threads.commit import Action, commit
from adjoint.core.types import Array, Value
from adjoint.graph.graph import SEEN, Graph
from adjoint.graph.node import in_order
from adjoint.tape.modes import recording_floor
from adjoint.tape.node import next_order
from adjoint.tape.number import TensorNumber
from adjoint.tape.tensor import Tensor, wrap


class Trace:
    """A program, for the path that one run of the function took.

    Attributes:
        graph: the program: inputs are the varying leaves, the state, the arrays that were found; outputs are the
            results, what is written into arguments, what the backward pass needs, and what is written into the state.
        leaves: which arrays of the arguments the first inputs are.
        guards, state: what it holds for, and what it reads and writes besides its arguments.
        written: numbers of the cells of the state that it writes.
        mutated, cleared: what it writes into arguments, and whose gradients it takes away.
        arguments: the numbers of the outputs that may be written where an argument lies, with that input's.
        gives: what becomes of its results.
        back: the backward pass, if these go on in a graph; `op` is the operation that the program is then.
        turns: notes about its loops.
        draws, exchanges: the generators that it draws from, and whether it sends messages to other processes.
        direct: the fast path to run it, once there is native code; see `calling`.
        sight: what tells its calls from others.
    """

    def __init__(
        self,
        graph: Graph,
        leaves: Sequence[ArrayLeaf],
        guards: Guards,
        state: Inputs,
        written: Sequence[int],
        mutated: Sequence[ArgumentTarget],
        cleared: Sequence[int],
        gives: Gives,
        back: Back | None,
        make: Callable[..., Runner],
    ) -> None:
        self.graph, self.leaves, self.guards, self.state = graph, leaves, guards, state
        self.written, self.mutated, self.cleared, self.gives = written, mutated, cleared, gives
        self.back = back
        self.turns: list[str] = []
        self.places = {len(graph.outputs) - len(written) + k: i for k, i in enumerate(written)}
        found = {cell: len(leaves) + i for i, cell in enumerate(state.cells)}
        into = {k: found[cell] for k, i in self.places.items() for cell in state.written_in_place(i) if cell in found}
        first = len(gives.tensors)
        numbers = {leaf.number: i for i, leaf in enumerate(leaves) if not leaf.gradient and not leaf.tensor}
        self.arguments = {first + j: numbers[t.number] for j, t in enumerate(mutated)
                          if t.in_place and not t.gradient and numbers.get(t.number) is not None
                          and numbers[t.number] not in graph.lies}  # fmt: skip
        self.runner = make(graph, {} if back is not None else {**into, **self.arguments})
        self.back_runner = None if back is None else make(back.graph, {})
        self.direct: Direct | None = None
        self.used = False  # whether a later call than that which recorded it was answered by it
        self.sight = Sight({}, {})
        self.op = None if back is None else operation(graph, self._run, back, self.back_runner, len(written))
        self.floor = recording_floor.get()  # where nothing is observed, as the fast path wants it
        self.draws, self.exchanges = sources(graph.nodes), graph.exchanges

    def outcomes(self) -> list[Value]:
        """The questions that it asked, where, and the answers. These tell specializations of one function apart.

        Their loops do so too: a loop holds for the branches that were seen, and for a limited number of turns.
        """
        return [*((guard.question, guard.place, repr(guard.answer)) for guard in self.graph.guards), *self.turns]

    def asks_for(self, numbers: Container[int]) -> frozenset[int]:
        """Of the leaves with these numbers, those whose values the program asks for, or what it computes of them."""
        nodes = {node: leaf.number for leaf, node in zip(self.leaves, self.graph.inputs, strict=False)}
        wanted = [guard.node for guard in self.graph.guards if guard.question not in ("bool", *SEEN)]
        return frozenset(nodes[node] for node in in_order(wanted) if nodes.get(node) in numbers)

    def holds(self, args: object, kwargs: object) -> bool:
        """Whether what was read besides arrays is as it was."""
        try:
            return self.guards.holds(args, kwargs) and self.state.holds()
        except (KeyError, IndexError, ValueError, AttributeError):  # what it reads is not there any more
            return False

    def __call__(self, leaves: Sequence[Value], args: Value, kwargs: Value, values: list[Value] | None = None) -> Value:
        """Run the program, unless the `values` of its outputs are known. All is computed, then all is written.

        Raises:
            GraphError: where a guard's answer differs; nothing was written then.
        """
        drawn: list[Action] = [(source.set, source.get()) for source in self.draws]
        undone = starmap(call, drawn)
        try:
            results, writes = self._results(leaves) if values is None else self._to_write(values, [])
            count = len(self.gives.tensors)
            for target, value in zip(self.mutated, results[count:], strict=False):
                writes += target.writes(leaves, value)
            writes += [(setattr, leaves[number].node, "grad", None) for number in self.cleared]
            value, effects = self.gives(results[:count], leaves, args, kwargs, writes, self._fresh_level(leaves))
            commit([(drawn.clear,), *writes, *effects])
        except BaseException:
            deque(undone, 0)
            raise
        return value

    def _fresh_level(self, leaves: Sequence[Value]) -> int:
        """The level of tensors without history that it gives: in a transform, that of its arguments."""
        tensors = [x for x in leaves if isinstance(x, Tensor)]
        return tensors[0].level if tensors and self.is_all_inside(tensors) else 0

    def is_all_inside(self, tensors: Iterable[Tensor]) -> bool:
        """Whether all tensors that it computes with are a transform's: these arguments, and none from outside."""
        return not self.state.needing and all(x.node is not None and x.level for x in tensors)

    def _results(self, leaves: Sequence[Array]) -> tuple[list[object], list[Action]]:
        """The program's results, and the writes into the state."""
        given = [leaf.read(leaves) for leaf in self.leaves]
        found = [place.read() for place, _ in self.state.numbers]
        overwritten = [leaves[target.number] for target in self.mutated]
        if shares_memory([*given, *found], self.state, self.written, overwritten):
            raise SharedMemoryError(SHARED)
        given += [*self.state.read(), *found]
        self._check(given)
        if self.back is None or self.op is None:
            return self._by_copies(given)
        tensors = dict(self._tensors(leaves))
        # Of other arrays nobody sees when they change, and what the backward pass needs may be a view of them.
        given = [tensors.get(k, np.array(x) if isinstance(x, np.ndarray) else x) for k, x in enumerate(given)]
        outs = self.op(*given)
        results = [x if i in self.back.alive else x.held for i, x in enumerate(outs)]
        values = [n.value if n.kind == "constant" and not n.shape else x
                  for n, x in zip(self.graph.outputs, results, strict=True)]  # fmt: skip
        results, writes = self._to_write(values, {})
        # The backward pass does not need what is written: that happens before the operation, as far as that is asked.
        alive = [outs[i].node for i in self.back.alive]
        nodes = dict.fromkeys([*(parent for node in alive for parent in node.parents), *alive])
        ordered = map(setattr, nodes, repeat("order"), iter(next_order, None)).__next__
        return results, [*writes, *([(ordered,)] * len(nodes) if writes else [])]

    def _by_copies(self, given: list[Array]) -> tuple[list[object], list[Action]]:
        """What the program gives and writes: where it writes in place, it is given copies."""
        execution = self.runner.execution
        arrays = {i: given[i] for i in execution.into.values()}
        copies = {i: np.array(array, order="C") for i, array in arrays.items()}
        found = execution.run([copies.get(i, x) for i, x in enumerate(given)])
        for k in sorted(set(execution.into) & set(self.arguments)):
            found.insert(k, copies.pop(execution.into[k]))
        results, writes = self._to_write(found, execution.into)
        new: list[Action] = [(setitem, arrays[i], Ellipsis, copy) for i, copy in copies.items()]
        return results, [*new, *self.state.together.noting([arrays[i] for i in copies]), *writes] if new else writes

    def _check(self, given: Sequence[Array]) -> None:
        """Refuse state of another shape or dtype."""
        for node, value in zip(self.graph.inputs[len(self.leaves) :], given[len(self.leaves) :], strict=True):
            as_it_was = value.dtype == node.dtype if isinstance(value, np.ndarray) else not isinstance(value, Box)
            if not as_it_was or np.shape(value) != node.shape:
                raise GraphError(f"{node.value} had shape {node.shape} and dtype {node.dtype} when this was recorded")

    def _run(self, *given: Array) -> list[Value]:
        """All outputs."""
        return self.runner.run(given)

    def _to_write(self, results: list[Array], into: Container[int]) -> tuple[list[object], list[Action]]:
        """The results, and what is to be written into the state, but for the outputs numbered `into`."""
        left = [i for k, i in self.places.items() if k not in into]
        count = len(results) - len(left)
        return self.state.writes(dict(zip(left, results[count:], strict=True)), results[:count])

    def _tensors(self, leaves: Sequence[Array]) -> Iterator[tuple[int, Tensor]]:
        """The tensors that a gradient goes back to, by the number of their input."""
        assert self.back is not None
        for k in self.back.sources:
            if k < len(self.leaves):
                yield k, leaves[self.leaves[k].number]
            else:
                yield k, self.state.tensor_of(k - len(self.leaves))


SHARED = "arrays that it uses share memory, in which it writes"


class Gives(NamedTuple):
    """How a program's results are returned: which are tensors, and how they are put together.

    `same` says which results are things of the caller's: an argument, by its number, or a tensor of the state.
    `ended` has the results from which no gradient goes on: leaves that the function made (None), and those whose graph
    cannot be gone through any more, since the function wrote what it needs.
    `forms` says what those without axes are: numbers of Python's or of NumPy's, or arrays; these promote differently.
    `assemble` makes the call's value of them, and what the call writes into other things, if it has such `effects`;
    `single` says that the only result is the value; `views`, that results may show memory of other things; `turned`,
    that the value is the only result of native code with its axes in this order, and nothing else.
    """

    tensors: list[bool]
    forms: list[str]
    assemble: Assemble
    same: dict[int, Value]
    ended: dict[int, Pullback | None]
    single: bool
    effects: bool
    views: bool
    turned: tuple[int, ...] | None = None

    def __call__(
        self, results: list[Value], leaves: Sequence[Value], args: Value, kwargs: Value, writes: Sequence[Action],
        level: int,
    ) -> tuple[Value, Sequence[Action]]:  # fmt: skip
        found = list(map(_as_result, results, self.tensors, self.forms, repeat(level)))
        for i, pullback in self.ended.items():
            found[i] = ended(found[i].held, pullback)
        for i, thing in self.same.items():
            found[i] = leaves[thing] if isinstance(thing, int) else thing
        return (found[0], ()) if self.single else self.assemble(found, args, kwargs, writes)


_FORMS: dict[str, Callable[[Value], Value]] = {
    "": lambda x: x,
    "python": lambda x: x.item() if hasattr(x, "item") else x,
    "number": lambda x: x[()] if isinstance(x, np.ndarray) else x,
    "array": np.array,  # a constant stays the program's
}


def _as_result(x: Array, tensor: bool, form: str, level: int) -> Array:
    if isinstance(x, Tensor):
        if form == "python":
            return x.of_python()
        if form and isinstance(x.held, np.ndarray | np.generic):
            x.held = _FORMS[form](x.held)
        return x
    if tensor and form == "python":
        return TensorNumber.of(_FORMS["number"](x), None, level)
    return wrap(_FORMS[form](x), None, level) if tensor else _FORMS[form](x)
