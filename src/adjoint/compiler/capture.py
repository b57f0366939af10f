"""`capture`: record a Python function once, through its twin, and keep what it did as a graph."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

import numpy as np

from adjoint.compiler.recording.outside_state import CaptureFacts, OutsideState
from adjoint.compiler.recording.recorder import MOST_BEGINNINGS
from adjoint.compiler.trace.door.door import Door
from adjoint.compiler.trace.door.items import trees
from adjoint.compiler.trace.guards import PLAIN
from adjoint.compiler.trace.outside import Again, Outside, Refuse
from adjoint.core.box import Box
from adjoint.core.errors import AdjointError, LeavesGraphError, NotSupportedError
from adjoint.core.types import Function, Value
from adjoint.graph.captures.drawing import Drawing
from adjoint.graph.captures.record import ERRORS, heeds_errors, recording
from adjoint.graph.captures.signature import CaptureArguments, node_of, results
from adjoint.graph.graph import Graph, needed
from adjoint.graph.node import in_order
from adjoint.tape.observers.lines import line_of_error

DoorRun = Callable[[Door, tuple[Value, ...], dict[str, Value]], Value]


def capture(f: Function, *examples: object, **named: object) -> Graph:
    """Record `f` once and keep what it does: a graph of unique nodes, which gives the same for other values.

    Through `grad`, `jvp`, `vmap`, `backward()` and an optimiser's step: what is kept is the whole program, derivatives
    included. The twin of `f` runs, which is its source with symbols in place of what it reads; `f` itself does not,
    and nothing that it would write changes.

    Tensors, modules and optimisers that `f` uses without being given them are read afresh at each call of the graph,
    and written back, as `f` would do. So are attributes, items, globals and arrays that it writes, and generators that
    it draws from. All else that it finds outside of its arguments is part of the program as it is now.

    Args:
        f: takes arrays, numbers, tensors or trees of these.
        examples, named: arguments. Arrays and Python floats stand for any of their shape and dtype; whole numbers,
            truth values, strings and None stay what they are.

    Returns:
        A `Graph`, to be called with arguments like the examples.

    Raises:
        LeavesGraphError: if `f` takes values out of the graph, as np.asarray(t) does.
        NotSupportedError: if `f` does what a graph cannot: it prints, it reads a file, it calls foreign code, it sets
            what decides its branches; or if it has no source. The message says what, and where.

    What `f` writes into its arguments is part of the program, but not written into the arguments of a call.

    Where `f` asks for a value (``if t > 0``, ``int(t)``), the graph holds for values that give the same answer;
    called with others it raises `GraphError`.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> graph = ad.capture(lambda x, y: (x + y) + x * (x + y), 1.0, 2.0)
        >>> len(graph), graph(3.0, 4.0)
        (5, np.float64(28.0))
    """
    return captured(f, examples, named)


def capture_around(around: Function, f: Function, examples: tuple[object, ...], double: bool = False) -> Graph:
    """The graph of ``around(f, *examples)``, where `around` is ours: called with symbols, and with the twin of `f`.

    Its signature has the parameters without `f`.
    """

    def run(door: Door, args: tuple[object, ...], _: dict[str, object]) -> Value:
        return around(door.callback(door.known_function(f)), *args)

    return captured(around, examples, {}, run, double)


def captured(
    f: Function,
    examples: tuple[object, ...],
    named: dict[str, object],
    run: DoorRun | None = None,
    double: bool = False,
) -> Graph:
    """The graph of a call of `f`, or of what `run` does instead; `double` as in `CaptureArguments`."""

    def call(door: Door, args: tuple[Value, ...], kwargs: dict[str, Value]) -> Value:
        return door.call(door.known_function(f), args, kwargs)

    if heeds_errors():
        raise NotSupportedError(ERRORS)
    found = CaptureFacts()
    try:
        for _ in range(MOST_BEGINNINGS):
            with suppress(Again):
                return _captured(f, run or call, CaptureArguments(f, examples, named, double), found)
    except Refuse as refusal:
        if isinstance(refusal.__cause__, AdjointError):
            raise refusal.__cause__ from None
        line = line_of_error(refusal)
        where = f" ({line})" if line else ""
        raise NotSupportedError(f"capture: {getattr(f, '__name__', 'f')} cannot be a graph: {refusal}{where}") from None
    raise NotSupportedError("capture: the function changes too many numbers outside of its arguments")


def _captured(f: Function, run: DoorRun, given: CaptureArguments, known: CaptureFacts) -> Graph:
    state = OutsideState(known, given.tensors)
    with recording(silent=True) as notes, np.errstate(all="ignore"):
        door = Door(state, (), known, notes)
        try:
            args, kwargs = trees.made(door, given.arguments(lambda x: _stand_in(door, x)))
            value = trees.plain(door, door.ended(run(door, args, kwargs)), True)
            outputs, gives = results(value)
            written = state.written(door, node_of)
        except BaseException:
            door.give_up()
            raise
    outputs += written.values()
    guards = needed(notes.guards, outputs)
    used = set(in_order([*outputs, *(guard.node for guard in guards)]))
    state.rename([o.o for o in door.memo.values() if isinstance(o, Outside)])
    state.keep(used)
    inputs = [*given.inputs, *state.inputs]
    strange = next((node for node in used.difference(inputs) if node.kind == "input"), None)
    if strange is not None:
        raise LeavesGraphError(
            f"the function uses a symbol of another capture, which stands for {strange.value} there: it was kept in a "
            f"global or an attribute. Return it from that function, and pass it as an argument"
        )
    return Graph(
        inputs,
        outputs,
        takes=given.takes,
        gives=gives,
        guards=guards,
        state=state if state.inputs or written or state.cleared or state.sets else None,
        written=list(written),
        name=getattr(f, "__name__", "f"),
    )


def _stand_in(door: Door, x: object) -> Value:
    """The stand-in of a leaf of the arguments that is no array."""
    plain = isinstance(x, Box | Drawing | np.generic | np.dtype) or type(x) in PLAIN
    return x if plain else door.pinned(x)
