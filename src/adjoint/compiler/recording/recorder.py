"""Record a function: its twin runs on symbols, and the result is a `Trace`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import NamedTuple, cast

import numpy as np

from adjoint.compiler.backend import Runner, debug_level
from adjoint.compiler.recording.arguments import SymbolicArguments, shares_memory
from adjoint.compiler.recording.joint import Back, refusing, unheard
from adjoint.compiler.recording.tracing import SHARED, Gives, Trace
from adjoint.compiler.trace.door.door import Door, FunctionFacts
from adjoint.compiler.trace.effects import Assembly, form_of, node_of, value_of
from adjoint.compiler.trace.guards import Guards
from adjoint.compiler.trace.inputs import Inputs
from adjoint.compiler.trace.loops.turns import LoopFacts
from adjoint.compiler.trace.outside import Again, Outside, Refuse
from adjoint.core.errors import AdjointError, GraphFreedError, InPlaceError
from adjoint.core.exchanges import go_back, position
from adjoint.core.memory import gaps
from adjoint.core.objects.trees import NAMESPACE
from adjoint.core.registry import op_named
from adjoint.core.rules.pullbacks import Pullback, op_of
from adjoint.core.threads.collector import fewer_full
from adjoint.core.types import Array, Function, Tree, Value
from adjoint.graph.captures.record import recording
from adjoint.graph.graph import Graph, needed
from adjoint.graph.loops.loop import RESULTS
from adjoint.graph.loops.results import Results
from adjoint.graph.node import Node, constant, in_order
from adjoint.graph.node import call as made_call
from adjoint.tape.observers.lines import line_of_error
from adjoint.tape.tensor import Tensor

MOST_BEGINNINGS = 40
RECORDS_CALLS = True  # see `recorded_place`


class Recorded(NamedTuple):
    """The program, and what its outputs are in this call, where that is known; or the reason why there is none."""

    recording: Trace | None
    reason: str
    again: bool = False  # whether the next call may do better
    values: list[Value] | None = None


def record(
    f: Function,
    args: tuple[object, ...],
    kwargs: dict[str, object],
    leaves: Sequence[Array],
    varies: Sequence[bool],
    make: Callable[..., Runner],
    known: FunctionFacts,
) -> Recorded:
    """Run the twin of `f` on symbols, and keep the program. Nothing outside changes; `f` itself does not run."""
    debug_level()  # which says what is wrong with it
    paths = paths_of(args, kwargs)
    loops, token = LoopFacts(), RESULTS.set(Results())
    start = position()
    try:
        for beginning in range(2 * MOST_BEGINNINGS):
            go_back(start)
            loops.ended = loops.ended or beginning > 2 * MOST_BEGINNINGS - 8  # loops turn by turn begin again no more
            with suppress(Again):
                made, values = _recorded(f, args, kwargs, leaves, paths, varies, make, known, loops)
                return Recorded(made, "", values=values)
    except Refuse as refusal:
        line = line_of_error(refusal)
        return Recorded(None, f"{refusal} ({line})" if line else str(refusal))
    except Exception as error:  # the function itself, as it is, says it better
        line = line_of_error(error)
        reason = type(error).__name__
        with suppress(Exception, Refuse):  # its own text may raise
            reason = str(error) if isinstance(error, AdjointError) else f"{reason}: {error}"
        return Recorded(None, f"{reason} ({line})" if line else reason, again=True)
    finally:
        RESULTS.reset(token)
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
    known: FunctionFacts,
    loops: LoopFacts,
) -> tuple[Trace, list[Value] | None]:
    with fewer_full(), recording(silent=True, in_place_of_calls=True) as notes, np.errstate(all="ignore"):
        arguments = SymbolicArguments(leaves, varies)
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
            for number in arguments.arrays([target for target, _ in mutations]):
                door.guards.writable(paths[number])
            cleared = [target.number for target, x in targets if x is None]
            back, ended = _joint(gone_on, [*arguments.sources(), *inputs.sources()])
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
    gives = _gives(found, assembly, ended)
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


def _gives(found: Sequence[Array], assembly: Assembly, ended: dict[int, Pullback | None]) -> Gives:
    """Describe how a call returns the results."""
    forms = [form_of(x) for x in found]
    return Gives(
        [isinstance(x, Tensor) for x in found],
        forms,
        assembly.assemble,
        assembly.same,
        ended,
        assembly.single and not assembly.looks,
        assembly.effects,
        bool(assembly.looks),
        _turned_back(found[0], assembly) if assembly.single and not assembly.effects else None,
    )


def _turned_back(x: Array, assembly: Assembly) -> tuple[int, ...] | None:
    """How axes of what native code gives are turned for the only result, if that is all there is to do with it."""
    order, value = assembly.turned.get(0), value_of(x)
    laid_out = assembly.looks == 2  # lines, which turn the axes and compare the strides
    if order is None or not laid_out or isinstance(x, Tensor) or not value.flags.writeable:
        return None
    back = tuple(map(int, np.argsort(order)))
    shape = tuple(value.shape[axis] for axis in order)
    return back if np.empty(shape, value.dtype).transpose(back).strides == value.strides else None


# The program's result where a thing that is there takes its place.
_UNREAD = constant(np.zeros(()))


def _joint(
    found: Sequence[Array | None], leaves: Sequence[tuple[Node, object]]
) -> tuple[Back | None, dict[int, Pullback | None]]:
    """The backward pass, if there is one; and the results from which none goes on, see `Gives`."""
    ended = dict[int, Pullback | None]()
    made = _made_leaves(found, [node for _, node in leaves])
    living = [None if k in made else x for k, x in enumerate(found)]
    ended |= dict.fromkeys(made)
    back = None
    if any(map(_has_graph, living)):
        try:
            back = Back(living, leaves)
        except (GraphFreedError, InPlaceError):
            for k, x in enumerate(living):
                if _has_graph(x):
                    try:
                        Back([x], leaves)
                    except (GraphFreedError, InPlaceError) as error:
                        ended[k] = refusing(op_of(cast(Value, x).node.pullback), error)
            living = [None if k in ended else x for k, x in enumerate(living)]
            back = Back(living, leaves) if any(map(_has_graph, living)) else None
    if back is not None and not back.reached.isdisjoint(made.values()):
        raise Refuse("it gives back a tensor that it made and that requires a gradient, beside what is computed of it")
    if back is not None and not back.met:
        ended |= {k: unheard(cast(Value, living[k]).node.pullback) for k in back.alive}
        back = None
    return back, ended


def _made_leaves(found: Sequence[Array | None], outside: Sequence[object]) -> dict[int, Value]:
    """The results that are leaves which the function made, by number: each call gives new ones."""
    known = set(map(id, outside))
    made: dict[int, Value] = {}
    for k, x in enumerate(found):
        if not isinstance(x, Tensor) or x.level or x.node is None or x.node.pullback is not None or id(x.node) in known:
            continue
        if x.node.grad is not None or x.node.saved or x.node in made.values():
            raise Refuse("it gives back a tensor that it made, with a gradient or hooks")
        made[k] = x.node
    return made


def _has_graph(x: Array | None) -> bool:
    return isinstance(x, Tensor) and x.node is not None
