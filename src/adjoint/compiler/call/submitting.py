"""`submit`: a call of a compiled function that runs beside the program, in the order of the program.

The fast path in two halves. The first runs at once, in the caller's thread: it checks whether the trace holds,
copies the caller's arrays, and reads everything outside that the program does not write. The second runs later, as a
task: it reads what earlier calls write, computes, and writes. Other code that reads what such a call uses
waits for it (`adjoint.tape.tasks.awaited`). If other code cannot be made to wait, the call is made before `submit`
returns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from adjoint.compiler.call.argument_checks import MISS
from adjoint.compiler.call.fast_path import CallWriter, writer_for
from adjoint.compiler.call.signatures import signature_of
from adjoint.compiler.trace.inputs import BindingCell
from adjoint.core.codegen import defined
from adjoint.core.objects.trees import flatten
from adjoint.core.threads.scheduler import Future, Task
from adjoint.core.types import Array, Function, Value
from adjoint.graph.captures.state import DATA, GRAD, Cell
from adjoint.optim.optimizer import Optimizer
from adjoint.tape.modes import recording_floor
from adjoint.tape.observers.lines import line_of, users_place
from adjoint.tape.tasks.awaited import Holder
from adjoint.tape.tensor import Tensor, wrap

if TYPE_CHECKING:
    from adjoint.compiler.compiled import Compiled
    from adjoint.compiler.recording.tracing import Trace

LARGEST = 1 << 24  # bytes of an array outside of the arguments that is copied at each call
THREADS = 4


@cache
def holder() -> Holder:
    """The object that guards the state of calls under way, with their scheduler."""
    return Holder(lambda kind: ("steps", "_state") if issubclass(kind, Optimizer) else (), THREADS)


class Halves(NamedTuple):
    """The fast path of one trace, in two parts.

    Attributes:
        before: takes the arguments, and gives the values that the second half begins with; MISS if they do not fit.
        after: takes these values and the arguments, and does the rest; MISS if the program was another one.
        leaves: of which leaves of the arguments the first values are.
        settings: of the values, the numbers of those that are read from the settings of optimisers, with their cells.
        reads, writes: gives the things that are used.
    """

    before: Callable[[Value, Value], Value]
    after: Callable[[Value, Value, Value], Value]
    leaves: Sequence[int]
    settings: Sequence[tuple[int, Cell]]
    reads: Callable[[], list[Value]]
    writes: Callable[[], list[Value]]


def halves_for(trace: Trace, leaves: Sequence[Array], rebuild: Function) -> Halves | None:
    """The two halves of a call like this one; None if it has to be made at once."""
    state = trace.state
    kept = {k for k, thing in trace.gives.same.items() if isinstance(thing, int)}
    if trace.back is not None or trace.draws or trace.exchanges or trace.mutated:
        return None
    if trace.gives.effects or kept or state.sets:
        return None
    owners = {id(held): optimizer for optimizer in state.steppers for held in _dictionaries(optimizer)}
    written = [state.cell(i) for i in (*trace.written, *state.cleared)]
    if not all(type(cell) is Cell and (cell.key in (DATA, GRAD) or id(cell.holder) in owners) for cell in written):
        return None
    if any(isinstance(c, BindingCell) and getattr(c.get(), "nbytes", 0) > LARGEST for c in state.cells):
        return None
    writer = writer_for(trace, leaves, rebuild)
    if writer is None:
        return None
    late = set(written)
    early = [(i, cell) for i, cell in enumerate(state.cells) if cell not in late]
    before, after = _written(writer, leaves, {f"s{i}" for i, _ in early})
    first = len(writer.given)
    settings = [(first + n, cell) for n, (_, cell) in enumerate(early) if cell.key not in (DATA, GRAD)
                and id(cell.holder) in owners]  # fmt: skip
    read = [*state.cells, *state.without, *(cell for cell, _, _ in state.shaped)]
    tensors = {id(cell.holder): cell.holder for cell in read if cell.key in (DATA, GRAD)}
    tensors |= {id(t): t for t, *_ in state.needing}
    changed = [cell.holder for cell in written if cell.key is DATA]
    graded = [cell.holder for cell in written if cell.key is GRAD]
    steppers = list({id(o): o for cell in written if (o := owners.get(id(cell.holder))) is not None}.values())
    return Halves(
        before, after, [int(given.partition(".")[0][1:]) for given in writer.given], settings,
        lambda: [*tensors.values(), *(t.node for t in tensors.values() if t.node is not None)],
        lambda: [*changed, *(t.node for t in graded), *steppers],
    )  # fmt: skip


def _dictionaries(optimizer: Optimizer) -> Iterator[dict[Value, Value]]:
    """Where an optimiser keeps what a step reads and writes."""
    yield vars(optimizer)
    yield from vars(optimizer)["_state"].values()
    yield from optimizer.param_groups


def _written(writer: CallWriter, leaves: Sequence[Array], early: set[str]) -> tuple[Value, Value]:
    """The text of both halves, as functions."""
    native, name = writer.trace.runner.native, writer.trace.graph.name
    reads = writer.reads()
    plain = [given.removesuffix(".held") for given in writer.given]
    first = [(n, text) for n, text in reads if n in early or n[0] == "e"]
    arrays = {f"s{i}" for i, cell in enumerate(writer.trace.state.cells) if isinstance(cell, BindingCell)}
    given = [f"copied({text})" if isinstance(leaves[int(n[1:])], np.ndarray | Tensor) else text
             for n, text in zip(plain, writer.given, strict=True)]  # fmt: skip
    given += [f"copied({n})" if n in arrays else n for n, _ in first]
    lines = [
        *writer.opening(*writer.places),
        "try:",
        *(f"    {line}" for line in writer.asked()),
        *(f"    {n} = {text}" for n, text in first),
        "except misses: return MISS",
        f"return [{', '.join(given)}]",
    ]
    before = "\n    ".join(["def before(args, kwargs):", *lines])
    names = [*plain, *(n for n, _ in reads)]
    call, after = writer.run(native, names)
    lines = [
        *([f"{', '.join([*plain, *(n for n, _ in first)])}, = values"] if given else []),
        "held = []",
        "try:",
        *(f"    {n} = {text}" for n, text in reads if (n, text) not in first),
        *(f"    {line}" for line in call),
        *after,
    ]
    then = "\n    ".join(["def after(values, args, kwargs):", *lines])
    return (
        defined(before, f"begin of {name}", writer.scope, "before"),
        defined(then, f"end of {name}", writer.scope, "after"),
    )


def submitted(compiled: Compiled[Function], args: tuple[Array, ...], kwargs: dict[str, Value]) -> Future[Value]:
    """The future of a call."""
    place = partial(line_of, users_place())
    args = tuple(x.result() if isinstance(x, Future) else x for x in args)
    kwargs = {name: x.result() if isinstance(x, Future) else x for name, x in kwargs.items()}
    scheduler = holder().scheduler
    if not scheduler.inside and not recording_floor.observers():
        for halves in _halves(compiled, args, kwargs):
            values = halves.before(args, kwargs)
            if values is not MISS:
                future: Future[Value] = Future(place)
                run = partial(_second, compiled, halves, values, args, kwargs)
                scheduler.submit(Task(run, future, halves.reads(), halves.writes()))
                return future
    scheduler.wait()
    return Future.of(partial(compiled, *args, **kwargs), place)


def _halves(compiled: Compiled[Function], args: object, kwargs: object) -> Iterator[Halves]:
    """The halves that may be for these arguments, the latest first."""
    yield from compiled.halves.values()
    try:
        leaves, rebuild = flatten((args, kwargs))
        key = signature_of(leaves, rebuild)
    except Exception:  # as where it is called
        return
    for trace in reversed(compiled._specializations.get(key, ())):
        if id(trace) not in compiled.halves and trace.direct is not None and trace.holds(args, kwargs):
            found = halves_for(trace, leaves, rebuild)
            if found is not None:
                compiled.halves = {id(trace): found, **compiled.halves}
                yield found


def _second(compiled: Compiled[Function], halves: Halves, values: list[Array], args: Value, kwargs: Value) -> Array:
    """The second half; where the program turns out to be another one, the call as it is, with the same values."""
    answer = halves.after(values, args, kwargs)
    if answer is not MISS:
        return answer
    leaves, rebuild = flatten((args, kwargs))
    for k, copy in zip(halves.leaves, values, strict=False):
        x = leaves[k]
        if isinstance(x, np.ndarray) and not _same(x, copy):  # it was overwritten since
            leaves[k] = copy
        elif isinstance(x, Tensor) and x.node is None and not _same(x.held, copy):
            leaves[k] = wrap(copy, None, x.level)
    args, kwargs = rebuild(leaves)
    changed = [(cell, cell.get(), values[n]) for n, cell in halves.settings if cell.get() != values[n]]
    for cell, _, then in changed:
        cell.holder[cell.key] = then
    try:
        return compiled(*args, **kwargs)
    finally:
        for cell, now, then in changed:
            if cell.get() == then:
                cell.holder[cell.key] = now


def _same(x: np.ndarray, y: np.ndarray) -> bool:
    return x.shape == y.shape and x.tobytes() == y.tobytes()
