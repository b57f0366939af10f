"""What `explain` says of a compiled function, and the names of its arguments and state in a program's plan."""

from __future__ import annotations

import inspect
import linecache
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, cast

import numpy as np

from adjoint.compiler.backend import Runner
from adjoint.compiler.recording.tracing import Trace
from adjoint.core.errors import ArgumentError
from adjoint.core.late import service
from adjoint.core.types import Function, Value
from adjoint.graph.captures.record import Guard
from adjoint.graph.captures.signature import leaf_names
from adjoint.graph.graph import Graph
from adjoint.tape.observers.lines import line_of

if TYPE_CHECKING:
    from adjoint.compiler.compiled import Compiled
    from adjoint.native.report.listing import Listing
    from adjoint.native.report.schedule import RunSchedule

LINES, GUARDS = 80, 12  # so many of a program's are listed


def explained(compiled: Compiled[Function]) -> Iterator[str]:
    """Lines: the specializations of the function by signature, how each is run, and why there is none for others."""
    each = list(_each(compiled))
    signatures, specializations = (
        sum(len(c._specializations) for c in each),
        sum(len(w) for c in each for w in c._specializations.values()),
    )
    through = f", {_many(specializations, 'specialization')}" if specializations else ""
    yield f"{_name_of(compiled.function)}{_defined(compiled.function)}: {_many(signatures, 'signature')}{through}"
    for one in each:
        for key, traces in one._specializations.items():
            yield f"{_name_of(one.function)}({signature(one.function, key)})"
            for number, trace in enumerate(traces, 1):
                yield f"  specialization {number}: {_size(trace)}"
                yield from (f"    {line}" for line in _specialization(one.function, key, trace))
            if key in one._reasons:
                yield f"  runs as it is, because {one._reasons[key]}"
        if once := len(one._once - one._specializations.keys()):
            yield (
                f"called once with {_many(once, 'kind')} of arguments, which ran as it is: it is recorded at the second"
                f" call with arguments of a kind"
            )
        if one._others:
            yield f"with other arguments it runs as it is, because {one._others}"


def _each(compiled: Compiled[Function]) -> Iterator[Compiled[Function]]:
    """The compiled function, and its versions for the values of static arguments."""
    yield compiled
    for fixed in compiled._fixed.values():
        yield from _each(fixed)


def _specialization(function: Function, key: object, trace: Trace) -> Iterator[str]:
    """What one specialization of a function holds for, and how it is run."""
    yield from _guards(trace, leaves_of(function, key))
    yield from trace.turns
    yield from _run(trace.runner, plan_of(function, key, trace))
    back = trace.back_runner
    if back is not None:
        yield "the backward pass, for gradients of what it gives:"
        yield from (f"  {line}" for line in _run(back, back.native and back.native.listing()))


def latest_plan(compiled: Compiled[Function]) -> Listing | None:
    """The plan of the native program that was recorded last."""
    while compiled._fixed:
        compiled = list(compiled._fixed.values())[-1]
    trace = compiled._latest
    key = next(key for key, traces in compiled._specializations.items() if trace in traces)
    return plan_of(compiled.function, key, trace)


def plan_of(function: Function, key: object, trace: Trace) -> Listing | None:
    """The plan of a trace's native program, in the user's names; None if there is no native program."""
    runner, graph = trace.runner, trace.graph
    if runner.native is None:
        return None
    leaves = leaves_of(function, key)
    names = [leaves[leaf.number] for leaf in trace.leaves]
    inputs = names + [str(node.value) for node in graph.inputs[len(names) :]]
    kept = len(trace.back.residuals) if trace.back else 0
    count = len(graph.outputs) - len(trace.written) - len(trace.mutated) - kept
    outputs = ["result"] if count == 1 else [f"result{k}" for k in range(count)]
    outputs += [f"{leaves[target.number]}'" for target in trace.mutated] + [f"kept{k}" for k in range(kept)]
    outputs += [f"{trace.state.name_of(i)}'" for i in trace.written]
    given: list[str] = [name for k, name in enumerate(outputs) if k not in runner.execution.into]
    listing: Listing = runner.native.listing(inputs, given)
    return listing


def leaves_of(function: Function, key: Value) -> list[str]:
    """The names of the leaves of the arguments: ``x``, ``params['w']``."""
    spec = _structure(key)
    args, kwargs = spec.unflatten([0.0] * spec.num_leaves)
    return leaf_names(function, args, kwargs)


def _structure(key: Value) -> Value:
    """The structure of the arguments, which is part of their signature; see `signature_of`."""
    return next(part for part in key if hasattr(part, "num_leaves"))


def signature(function: Function, key: Value) -> str:
    """The arguments that a trace holds for, as ``x: float32[16, 4], n=3``."""
    spec = _structure(key)
    first = key.index(spec) + 2  # after the structure and whether operations are recorded
    parts = key[first : first + spec.num_leaves]
    said = [f"{name}{_kind(part)}" for name, part in zip(leaves_of(function, key), parts, strict=True)]
    return ", ".join([*said, *(f"{k}={_text(v)}" for k, v in getattr(function, "keywords", {}).items())])


def _text(x: object) -> str:
    """The text of an object, in short; its class, if its own text raises."""
    try:
        return f"{x!r:.40}"
    except Exception:
        return f"<{type(x).__name__}>"


def _kind(part: Value) -> str:
    """A leaf in words, from its part in the signature."""
    if isinstance(part, np.dtype):
        return f": {part}"
    if isinstance(part, type):
        return f": {part.__name__}"
    if isinstance(part[0], type):
        return f"={_text(part[1])}"
    shape, dtype = part[:2]
    return f": {'tensor ' * (len(part) > 3)}{dtype}{list(shape) if shape else ''}"


def _name_of(function: Function) -> str:
    return str(getattr(function, "__name__", None) or getattr(getattr(function, "func", None), "__name__", "f"))


def _defined(function: Function) -> str:
    code = getattr(inspect.unwrap(function), "__code__", None)
    if code is None:
        return ""
    file = line_of((code, 0)).rpartition(":")[0]
    return f" ({file}:{code.co_firstlineno})"


def _many(count: int, word: str) -> str:
    return f"{count} {word}{'s' * (count != 1)}"


def _size(trace: Trace) -> str:
    """The size of a program, and the things besides its arguments that it uses."""
    graph = trace.graph
    operations = sum(node.kind == "call" for node in graph.nodes)
    used = {arg for node in graph.nodes for arg in node.args} | set(graph.outputs)
    read, written = sum(node in used for node in graph.inputs[len(trace.leaves) :]), len(trace.written)
    state = [f"reads {_many(read, 'array')} besides its arguments"] * bool(read)
    state += [f"writes {_many(written, 'array')} of state"] * bool(written)
    return "; ".join([_many(operations, "operation"), *state])


def _guards(trace: Trace, leaves: Sequence[str]) -> Iterator[str]:
    """The guards that each call checks, with the answers for which this specialization holds."""
    from adjoint.native.report.formulas import Formulas

    graph = trace.graph
    names = {node: str(node.value) for node in graph.inputs}
    names |= {node: leaves[leaf.number] for node, leaf in zip(graph.inputs, trace.leaves, strict=False)}
    formulas = Formulas(names)
    guards = [guard for guard in graph.guards if guard.question != "run"]
    for guard in guards[:GUARDS]:
        yield f"as long as {_asked(guard, formulas.of(guard.node))}   {_line(guard.place)}"
    if len(guards) > GUARDS:
        yield f"as long as … {len(guards) - GUARDS} more"


def _asked(guard: Guard, formula: str) -> str:
    formula = formula if len(formula) <= 50 else f"{formula[:49]}…"
    return f"{guard.question}({formula}) is {guard.answer!r:.40}"


def _line(place: Value) -> str:
    """``file.py:3: y = np.sin(x)``"""
    if place is None:
        return ""
    where = line_of(place)
    file, _, number = where.rpartition(":")
    text = linecache.getline(file, int(number)).strip()
    return f"{where}: {text}" if text else where


def _run(runner: Runner, listing: Listing | None) -> Iterator[str]:
    """How a program is run, step by step, and what of it NumPy computes."""
    if listing is None:
        yield f"run by NumPy: {runner.reason or 'native code is being made'}"
        return
    yield from (f"native: {line}" if k == 0 else line for k, line in enumerate(listing.summary))
    yield from runner.loops
    for row in listing.rows:
        if row.by == "NumPy":
            formula = row.writes[0].formula
            at = f"   {', '.join(row.lines)}" if row.lines else ""
            yield f"by NumPy: {formula:.60}, because: {row.reason}{at}"
    lines = listing.table(LINES)
    yield from lines[:LINES]
    if len(lines) > LINES:
        yield f"… up to step {len(listing.rows)}: print(f.plan)"


class CompiledReports:
    """The reports of a compiled function."""

    _fixed: dict[Value, Compiled[Function]]
    _specializations: dict[Value, list[Trace]]

    @property
    def _latest(self) -> Trace:
        if self._fixed:
            return list(self._fixed.values())[-1]._latest
        for specializations in reversed(self._specializations.values()):
            if specializations:
                return specializations[-1]
        name = getattr(self, "__name__", "f")
        raise ArgumentError(f"{name} has not been recorded; call it first, twice without wait=True: {self.explain()}")

    @property
    def graph(self) -> Graph:
        """The program that was recorded last."""
        return self._latest.graph

    @property
    def plan(self) -> Listing | None:
        """The plan of the program that was recorded last: steps, bytes, lifetimes. None as long as NumPy runs it.

        `print` it, or draw it with `adjoint.show`.
        """
        return latest_plan(cast("Compiled[Function]", self))

    @property
    def llvm(self) -> str:
        """The LLVM text of the program that was recorded last."""
        return self._native().llvm  # type: ignore[no-any-return]  # a text

    @property
    def assembly(self) -> str:
        """The machine's instructions for the program that was recorded last."""
        return self._native().assembly  # type: ignore[no-any-return]  # a text

    def _native(self) -> Value:
        runner = self._latest.runner
        if runner.native is None:
            raise ArgumentError(
                f"there is no native code: {runner.reason or 'it is being made; compile with wait=True'}"
            )
        return runner.native

    def schedule(self) -> RunSchedule:
        """A measured run of the program that was recorded last, on arrays made up for it: see `adjoint.show`."""
        from adjoint.native.report.schedule import measured

        return measured(self._native())

    def explain(self) -> str:
        """Say what was recorded: signatures, specializations, what runs natively, and why something does not."""
        return "\n".join(explained(cast("Compiled[Function]", self)))

    def _repr_html_(self) -> str:
        page: str = service("compiled page")(self)
        return page
