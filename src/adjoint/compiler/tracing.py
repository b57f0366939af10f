"""One recorded run of a function: the program, the conditions under which it holds, and how it runs again."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Container, Iterator, Sequence
from contextlib import suppress
from itertools import repeat, starmap
from operator import call, setitem
from typing import NamedTuple

import numpy as np

from adjoint.compiler.arguments import Arguments, ArrayLeaf, Target, shares_memory
from adjoint.compiler.backend import Runner, debug_level, sources
from adjoint.compiler.calling import Direct
from adjoint.compiler.joint import Back, operation
from adjoint.compiler.trace.door.door import Door, Known
from adjoint.compiler.trace.effects import Assemble, Assembly, form_of, node_of, value_of
from adjoint.compiler.trace.guards import Guards
from adjoint.compiler.trace.inputs import Inputs
from adjoint.compiler.trace.loops.turns import Known as Loops
from adjoint.compiler.trace.outside import Again, Outside, Refuse
from adjoint.core.errors import AdjointError, GraphError, GraphFreedError, InPlaceError, SharedMemoryError
from adjoint.core.memory import gaps
from adjoint.core.threads.collector import fewer_full
from adjoint.core.threads.commit import Write, commit
from adjoint.core.trees import NAMESPACE
from adjoint.core.types import Array, Function, Tree, Value
from adjoint.graph.graph import SEEN, Graph, needed
from adjoint.graph.node import Node, constant, in_order
from adjoint.graph.node import call as made_call
from adjoint.graph.record import ERRORS, SILENT, recording
from adjoint.graph.rewrite import op_named
from adjoint.tape.modes import recording_floor
from adjoint.tape.node import next_order
from adjoint.tape.observers.lines import line_of_error
from adjoint.tape.tensor import Tensor, wrap


class Recorded(NamedTuple):
    """The program, and what its outputs are in this call, where that is known; or the reason why there is none."""

    recording: Trace | None
    reason: str
    again: bool = False  # whether the next call may do better
    values: list[Value] | None = None


class Trace:
    """A program, for the way that one run of the function took.

    Attributes:
        graph: the program: inputs are the varying leaves, the state, the arrays that were found; outputs are the
            results, what is written into arguments, what the backward pass needs, and what is written into the state.
        leaves: which arrays of the arguments the first inputs are.
        guards, state: what it holds for, and what it reads and writes besides its arguments.
        written: numbers of the cells of the state that it writes.
        mutated, cleared: what it writes into arguments, and whose gradients it takes away.
        gives: what becomes of its results.
        back: the backward pass, if these go on in a graph; `op` is the operation that the program is then.
        turns: notes about its loops.
        direct: the fast path to run it, once there is native code; see `calling`.
    """

    def __init__(
        self,
        graph: Graph,
        leaves: Sequence[ArrayLeaf],
        guards: Guards,
        state: Inputs,
        written: Sequence[int],
        mutated: Sequence[Target],
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
        self.runner = make(graph, {} if mutated or back is not None else into)
        self.back_runner = None if back is None else make(back.graph, {})
        self.direct: Direct | None = None
        self.op = None if back is None else operation(graph, self._run, back, self.back_runner, len(written))
        self.floor = recording_floor.get()  # where nothing is observed, as the fast path wants it
        self.draws = sources(graph.nodes)

    def answers(self) -> list[Value]:
        """The questions that it asked, where, and the answers: what tells specializations of one function apart.

        So do their loops, which hold for the ways that were seen, and have room for some turns.
        """
        return [*((guard.question, guard.place, repr(guard.answer)) for guard in self.graph.guards), *self.turns]

    def takes_numbers(self, leaves: Sequence[object]) -> bool:
        """Whether whole numbers among the arguments are inputs of the program."""
        return any(type(leaves[leaf.number]) is int for leaf in self.leaves)

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
        drawn: list[Write] = [(source.set, source.get()) for source in self.draws]
        undone = starmap(call, drawn)
        try:
            results, writes = self._results(leaves) if values is None else self._to_write(values, [])
            count = len(self.gives.tensors)
            for target, value in zip(self.mutated, results[count:], strict=False):
                writes += target.writes(leaves, value)
            writes += [(setattr, leaves[number].node, "grad", None) for number in self.cleared]
            value, effects = self.gives(results[:count], leaves, args, kwargs, writes)
            commit([(drawn.clear,), *writes, *effects])
        except BaseException:
            deque(undone, 0)
            raise
        return value

    def _results(self, leaves: Sequence[Array]) -> tuple[list[object], list[Write]]:
        """What the program gives, and what is to be written into the state."""
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
        results = [x if i in self.back.alive else x.data for i, x in enumerate(outs)]
        values = [n.value if n.kind == "constant" and not n.shape else x
                  for n, x in zip(self.graph.outputs, results, strict=True)]  # fmt: skip
        results, writes = self._to_write(values, {})
        # The backward pass does not need what is written: that happens before the operation, as far as that is asked.
        alive = [outs[i].node for i in self.back.alive]
        nodes = dict.fromkeys([*(parent for node in alive for parent in node.parents), *alive])
        ordered = map(setattr, nodes, repeat("order"), iter(next_order, None)).__next__
        return results, [*writes, *([(ordered,)] * len(nodes) if writes else [])]

    def _by_copies(self, given: list[Array]) -> tuple[list[object], list[Write]]:
        """What the program gives and writes: where it writes in place, it is given copies."""
        execution = self.runner.execution
        arrays = {i: given[i] for i in execution.into.values()}
        copies = {i: np.array(array, order="C") for i, array in arrays.items()}
        found = execution.run([copies.get(i, x) for i, x in enumerate(given)])
        results, writes = self._to_write(found, execution.into)
        new: list[Write] = [(setitem, array, Ellipsis, copies[i]) for i, array in arrays.items()]
        return results, [*new, *self.state.together.noting(list(arrays.values())), *writes] if new else writes

    def _check(self, given: Sequence[Array]) -> None:
        """Refuse state of another shape or dtype."""
        for node, value in zip(self.graph.inputs[len(self.leaves) :], given[len(self.leaves) :], strict=True):
            if np.shape(value) != node.shape or (isinstance(value, np.ndarray) and value.dtype != node.dtype):
                raise GraphError(f"{node.value} had shape {node.shape} and dtype {node.dtype} when this was recorded")

    def _run(self, *given: Array) -> list[Value]:
        """All outputs."""
        return self.runner.run(given)

    def _to_write(self, results: list[Array], into: Container[int]) -> tuple[list[object], list[Write]]:
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
    """What becomes of a program's results: which are tensors, and how they are put together.

    `same` says which results are things of the caller's: an argument, by its number, or a tensor of the state.
    `forms` says what those without axes are: numbers of Python's or of NumPy's, or arrays; these promote differently.
    `assemble` makes the call's value of them, and what the call writes into other things, if it has such `effects`;
    `single` says that the only result is the value.
    """

    tensors: list[bool]
    forms: list[str]
    assemble: Assemble
    same: dict[int, Value]
    single: bool
    effects: bool

    def __call__(
        self, results: list[Value], leaves: Sequence[Value], args: Value, kwargs: Value, writes: Sequence[Write]
    ) -> tuple[Value, Sequence[Write]]:
        found = [_as_result(x, t) for x, t in zip(results, self.tensors, strict=True)]
        found = [_FORMS[form](x) for x, form in zip(found, self.forms, strict=True)]
        for i, thing in self.same.items():
            found[i] = leaves[thing] if isinstance(thing, int) else thing
        return (found[0], ()) if self.single else self.assemble(found, args, kwargs, writes)


MOST_BEGINNINGS = 40


def record(
    f: Function,
    args: tuple[object, ...],
    kwargs: dict[str, object],
    leaves: Sequence[Array],
    varies: Sequence[bool],
    make: Callable[..., Runner],
    known: Known,
) -> Recorded:
    """Run the twin of `f` on symbols, and keep the program. Nothing outside changes; `f` itself does not run."""
    debug_level()  # which says what is wrong with it
    if not SILENT.issuperset(np.geterr().values()):
        return Recorded(None, ERRORS)
    paths = paths_of(args, kwargs)
    loops = Loops()
    try:
        for _ in range(MOST_BEGINNINGS):
            with suppress(Again):
                made, values = _recorded(f, args, kwargs, leaves, paths, varies, make, known, loops)
                return Recorded(made, "", values=values)
    except Refuse as refusal:
        line = line_of_error(refusal)
        return Recorded(None, f"{refusal} ({line})" if line else str(refusal))
    except Exception as error:  # the function itself, as it is, says it better
        line = line_of_error(error)
        reason = str(error) if isinstance(error, AdjointError) else f"{type(error).__name__}: {error}"
        return Recorded(None, f"{reason} ({line})" if line else reason, again=True)
    return Recorded(None, "it changes too many numbers")


def paths_of(args: tuple[object, ...], kwargs: dict[str, object]) -> list[str]:
    """The expression that reads each leaf of the arguments."""
    import optree

    tree: Tree = args, kwargs
    texts = []
    for accessor in optree.tree_accessors(tree, namespace=NAMESPACE):
        which = 0 if accessor[0].entry == 0 else 1
        texts.append(accessor.codify("").replace(f"[{which}]", ("args", "kwargs")[which], 1))
    return texts


def _recorded(
    f: Function,
    args: tuple[Value, ...],
    kwargs: dict[str, Value],
    leaves: Sequence[Value],
    paths: Sequence[str],
    varies: Sequence[bool],
    make: Callable[..., Runner],
    known: Known,
    loops: Loops,
) -> tuple[Trace, list[Value] | None]:
    with fewer_full(), recording(silent=True, in_place_of_calls=True) as notes, np.errstate(all="ignore"):
        arguments = Arguments(leaves, varies)
        door = Door(Inputs(arguments, Guards()), paths, known, notes)
        door.loops, loops.visits, loops.spans = loops, {}, []
        try:
            assembly = Assembly(door, door.run(f, args, kwargs))
            inputs, found = door.inputs, assembly.found
            gone_on = [None if n in assembly.replaced else x for n, x in enumerate(found)]
            outputs = [_output(x, n, assembly) for n, x in enumerate(found)]
            new = inputs.new()
            written = {i: node_of(x) for i, x in new.items()}
            targets = list(arguments.targets(inputs.replaced))
            changed = [(target, x) for target, x in targets if x is not None]
            mutations = [(target, node_of(x)) for target, x in changed]
            door.guards.writable(arguments.arrays([target for target, _ in mutations]), paths)
            cleared = [target.number for target, x in targets if x is None]
            back = _joint(gone_on, [*arguments.sources(), *inputs.sources()])
            if back is not None and arguments.inside_transform and not set(back.met) <= set(arguments.inputs):
                raise Refuse("it uses parameters, while a transform differentiates by its arguments alone")
        except BaseException as error:
            again = loops.after(error, door.light)
            door.give_up()
            if again:
                raise Again from None
            raise
    results = [*outputs, *(node for _, node in mutations), *(back.residuals if back else ())]
    guards = needed(notes.guards, [*results, *written.values()])
    used = in_order([*results, *written.values(), *(guard.node for guard in guards)])
    inputs.rename([o.o for o in door.memo.values() if isinstance(o, Outside)])
    inputs.prune_to({*used, *(back.met + back.given if back else ())})
    gives = _gives(found, assembly)
    if loops.refused([*used, *(() if back is None else (*in_order(back.graph.outputs), *back.given))]):
        door.give_up()
        raise Again
    door.forget()
    kept = frozenset(used)
    inputs.numbers = [(place, node) for place, node in inputs.numbers if node in kept]
    given = [leaf.read(leaves) for leaf in arguments.chosen]
    if shares_memory(given, inputs, written, [leaves[target.number] for target, _ in mutations]):
        raise Refuse(SHARED)
    nodes = [*arguments.inputs, *inputs.inputs, *(node for _, node in inputs.numbers)]
    graph = Graph(
        nodes, [*results, *written.values()], guards=guards, name=getattr(f, "__name__", "f"), lies=_lie(given, inputs)
    )
    _refuse_strangers(used, set(nodes))
    if back is not None:
        back.settle(nodes)
    mutated = [target for target, _ in mutations]
    made = Trace(graph, arguments.chosen, door.guards, inputs, list(written), mutated, cleared, gives, back, make)
    made.turns = loops.said
    if back is not None or notes.drawn:
        return made, None
    values = map(value_of, (*found, *(x for _, x in changed), *new.values()))
    return made, [
        _own(x, v, assembly.turned.get(n)) for n, (x, v) in enumerate(zip(graph.outputs, values, strict=True))
    ]


def _lie(given: Sequence[Value], inputs: Inputs) -> dict[int, tuple[int, ...]]:
    """The strides of arrays that native code reads where they lie, by number."""
    values = (*given, *(cell.get() for cell in inputs.cells))
    return {i: strides for i, x in enumerate(values) if (strides := gaps(x)) is not None}


def _refuse_strangers(used: Sequence[Node], inputs: set[Node]) -> None:
    """Refuse a program that uses other inputs than its own."""
    strange = [node for node in used if node.op is None and node.kind == "input" and node not in inputs]
    if strange:
        raise Refuse(f"it uses {strange[0].value} of another trace")


def _output(x: object, n: int, assembly: Assembly) -> Node:
    """The node of result `n`, with its axes as they lie in memory."""
    if n in assembly.replaced or n not in assembly.turned:
        return _UNREAD if n in assembly.replaced else node_of(x)
    node, axes, op = node_of(x), assembly.turned[n], op_named("transpose")
    shape = tuple(node.shape[axis] for axis in axes)
    return made_call(op, (node,), {**op.settings, "axes": axes}, shape, node.dtype, lambda: node.place)


def _own(node: Node, value: Array, axes: tuple[int, ...] | None) -> Array:
    """The value of a result, with its axes in this order if one is given; what is an input or a constant, as a copy."""
    if axes is not None:
        return value.transpose(axes)
    return np.array(value) if isinstance(value, np.ndarray) and node.kind in ("input", "constant") else value


def _gives(found: Sequence[Array], assembly: Assembly) -> Gives:
    """What becomes of results."""
    forms = [form_of(x) for x in found]
    return Gives(
        [isinstance(x, Tensor) for x in found],
        forms,
        assembly.assemble,
        assembly.same,
        assembly.single,
        assembly.effects,
    )


# The program's result where a thing that is there takes its place.
_UNREAD = constant(np.zeros(()))


def _joint(found: Sequence[Array | None], leaves: Sequence[tuple[Node, object]]) -> Back | None:
    """The backward pass; None if the function let go of its graph, or has then written parameters that it needs."""
    if not any(isinstance(x, Tensor) and x.node is not None for x in found):
        return None
    try:
        return Back(found, leaves)
    except (GraphFreedError, InPlaceError):
        return None


_FORMS: dict[str, Callable[[Value], Value]] = {
    "": lambda x: x,
    "python": lambda x: x.item() if hasattr(x, "item") else x,
    "number": lambda x: x[()] if isinstance(x, np.ndarray) else x,
    "array": np.array,  # a constant stays the program's
}


def _as_result(x: Array, tensor: bool) -> Array:
    return wrap(x, None, 0) if tensor and not isinstance(x, Tensor) else x
