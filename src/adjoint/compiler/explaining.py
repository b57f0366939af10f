"""What `explain` says of a compiled function, and the names of its arguments and state in a program's plan."""

from __future__ import annotations

import inspect
import linecache
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from adjoint.compiler.backend import Runner
from adjoint.compiler.recording import Recording
from adjoint.graph.signature import leaf_names
from adjoint.graph.symbol import Guard
from adjoint.tape.lines import line_of

if TYPE_CHECKING:
    from adjoint.compiler.facade import Compiled
    from adjoint.native.report.listing import Listing

LINES, GUARDS = 80, 12  # so many of a program's are listed


def explained(compiled: Compiled[..., Any]) -> Iterator[str]:
    """Lines: the ways through the function by signature, how each is run, and why there is none for others."""
    each = list(_each(compiled))
    signatures, ways = sum(len(c._ways) for c in each), sum(len(w) for c in each for w in c._ways.values())
    through = f", {_many(ways, 'way')} through it" if ways else ""
    yield f"{_name_of(compiled.function)}{_defined(compiled.function)}: {_many(signatures, 'signature')}{through}"
    for one in each:
        for key, recordings in one._ways.items():
            yield f"{_name_of(one.function)}({signature(one.function, key)})"
            for number, recording in enumerate(recordings, 1):
                yield f"  way {number}: {_size(recording)}"
                yield from (f"    {line}" for line in _way(one.function, key, recording))
            if key in one._reasons:
                yield f"  runs as it is, because {one._reasons[key]}"


def _each(compiled: Compiled[..., Any]) -> Iterator[Compiled[..., Any]]:
    """The compiled function, and what it is for each of its static arguments' values."""
    yield compiled
    for fixed in compiled._fixed.values():
        yield from _each(fixed)


def _way(function: Callable[..., Any], key: Any, recording: Recording) -> Iterator[str]:
    """What one way through a function holds for, and how it is run."""
    yield from _guards(recording, leaves_of(function, key))
    yield from _run(recording.runner, plan_of(function, key, recording))
    back = recording.back_runner
    if back is not None:
        yield "the way back, for gradients of what it gives:"
        yield from (f"  {line}" for line in _run(back, back.native and back.native.listing()))


def latest_plan(compiled: Compiled[..., Any]) -> Listing | None:
    """The plan of the native program that was recorded last."""
    while compiled._fixed:
        compiled = list(compiled._fixed.values())[-1]
    recording = compiled._latest
    key = next(key for key, recordings in compiled._ways.items() if recording in recordings)
    return plan_of(compiled.function, key, recording)


def plan_of(function: Callable[..., Any], key: Any, recording: Recording) -> Listing | None:
    """The plan of a recording's native program, in the user's names; None if there is no native program."""
    runner, graph = recording.runner, recording.graph
    if runner.native is None:
        return None
    leaves = leaves_of(function, key)
    names = [leaves[leaf.number] for leaf in recording.leaves]
    inputs = names + [str(node.value) for node in graph.inputs[len(names) :]]
    kept = len(recording.back.residuals) if recording.back else 0
    count = len(graph.outputs) - len(recording.written) - len(recording.mutated) - kept
    outputs = ["result"] if count == 1 else [f"result{k}" for k in range(count)]
    outputs += [f"{leaves[target.number]}'" for target in recording.mutated] + [f"kept{k}" for k in range(kept)]
    outputs += [f"{recording.state.name_of(i)}'" for i in recording.written]
    given: list[str] = [name for k, name in enumerate(outputs) if k not in runner.execution.into]
    listing: Listing = runner.native.listing(inputs, given)
    return listing


def leaves_of(function: Callable[..., Any], key: Any) -> list[str]:
    """What the leaves of the arguments are called: ``x``, ``params['w']``."""
    spec = _structure(key)
    args, kwargs = spec.unflatten([0.0] * spec.num_leaves)
    return leaf_names(function, args, kwargs)


def _structure(key: Any) -> Any:
    """The structure of the arguments, which is part of their signature; see `Compiled._signature`."""
    return next(part for part in key if hasattr(part, "num_leaves"))


def signature(function: Callable[..., Any], key: Any) -> str:
    """The arguments that a recording holds for, as ``x: float32[16, 4], n=3``."""
    spec = _structure(key)
    first = key.index(spec) + 2  # after the structure and whether operations are recorded
    parts = key[first : first + spec.num_leaves]
    said = [f"{name}{_kind(part)}" for name, part in zip(leaves_of(function, key), parts, strict=True)]
    return ", ".join([*said, *(f"{k}={v!r:.40}" for k, v in getattr(function, "keywords", {}).items())])


def _kind(part: Any) -> str:
    """What is said of a leaf, from its part in the signature."""
    if isinstance(part, np.dtype):
        return f": {part}"
    if isinstance(part, type):
        return f": {part.__name__}"
    if len(part) == 2:
        return f"={part[1]!r:.40}"
    shape, dtype = part[:2]
    return f": {'tensor ' * (len(part) > 3)}{dtype}{list(shape) if shape else ''}"


def _name_of(function: Callable[..., Any]) -> str:
    return str(getattr(function, "__name__", None) or getattr(getattr(function, "func", None), "__name__", "f"))


def _defined(function: Callable[..., Any]) -> str:
    code = getattr(inspect.unwrap(function), "__code__", None)
    if code is None:
        return ""
    file = line_of((code, 0)).rpartition(":")[0]
    return f" ({file}:{code.co_firstlineno})"


def _many(count: int, word: str) -> str:
    return f"{count} {word}{'s' * (count != 1)}"


def _size(recording: Recording) -> str:
    """How large a program is, and what it has to do with besides its arguments."""
    graph = recording.graph
    operations = sum(node.kind == "call" for node in graph.nodes)
    used = {arg for node in graph.nodes for arg in node.args} | set(graph.outputs)
    read, written = sum(node in used for node in graph.inputs[len(recording.leaves) :]), len(recording.written)
    state = [f"reads {_many(read, 'array')} besides its arguments"] * bool(read)
    state += [f"writes {_many(written, 'array')} of state"] * bool(written)
    return "; ".join([_many(operations, "operation"), *state])


def _guards(recording: Recording, leaves: Sequence[str]) -> Iterator[str]:
    """What is asked at each call, with the answer for which this way holds."""
    from adjoint.native.report.formulas import Formulas

    graph = recording.graph
    names = {node: str(node.value) for node in graph.inputs}
    names |= {node: leaves[leaf.number] for node, leaf in zip(graph.inputs, recording.leaves, strict=False)}
    formulas = Formulas(names)
    guards = [guard for guard in graph.guards if guard.question != "run"]
    for guard in guards[:GUARDS]:
        yield f"as long as {_asked(guard, formulas.of(guard.node))}   {_line(guard.place)}"
    if len(guards) > GUARDS:
        yield f"as long as … {len(guards) - GUARDS} more"


def _asked(guard: Guard, formula: str) -> str:
    formula = formula if len(formula) <= 50 else f"{formula[:49]}…"
    return f"{guard.question}({formula}) is {guard.answer!r:.40}"


def _line(place: Any) -> str:
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
    for row in listing.rows:
        if row.by == "NumPy":
            formula = row.writes[0].formula
            at = f"   {', '.join(row.lines)}" if row.lines else ""
            yield f"by NumPy: {formula:.60}, because: {row.reason}{at}"
    lines = listing.table(LINES)
    yield from lines[:LINES]
    if len(lines) > LINES:
        yield f"… up to step {len(listing.rows)}: print(f.plan)"
