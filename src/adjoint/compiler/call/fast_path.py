"""The fast path into native code: a Python function, written for one trace, that does what a call has to do.

For a training step it reads ::

    def direct(args, kwargs):
        if len(args) != 2 or kwargs: return MISS
        held = []
        try:
            x0 = args[0]
            x1 = args[1]
            if not (type(x0) is ndarray and x0.shape == (16, 4) and … and a3['training'] is a4 and …): return MISS
            s0 = a0.held
            …
            results = native(held, x0, x1, s0, …)
            if results is None: return MISS
            r0, r1, … = results
            a0.node.grad = wrap(r1, None, 0)
            …
            note((s0, …))
        except BaseException as error:
            if held:
                results, = held
                r0, r1, … = results
                commit([(setattr, a0.node, 'grad', wrap(r1, None, 0)), …, *noting((s0, …))])
                raise
            if isinstance(error, misses): return MISS
            raise
        return wrap(r0[()], None, 0)

A call that does not fit gives MISS, and has done nothing: the slow path, `Trace.__call__`, finds out why. Native code
writes into arrays, and puts its results into `held` before Python looks for signals. So an interrupt after this point
does not prevent the writes: all of them are done once more, in one call of a C function.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from itertools import starmap
from operator import call, setitem
from typing import TYPE_CHECKING

import numpy as np

from adjoint.compiler.call.argument_checks import MISSES, ArgumentChecks
from adjoint.compiler.call.selecting import Sight, outside_of, seen_of
from adjoint.compiler.call.write_texts import WriteText
from adjoint.compiler.recording.arguments import is_own
from adjoint.compiler.recording.joint import ended, pullback
from adjoint.compiler.trace.guards import Binding
from adjoint.compiler.trace.inputs import BindingCell
from adjoint.core.codegen import defined
from adjoint.core.errors import GraphError
from adjoint.core.memory import overlap
from adjoint.core.threads.commit import commit
from adjoint.core.types import Array, Value
from adjoint.graph.captures.record import USUAL, error_state, heeds_errors
from adjoint.graph.captures.state import DATA, GRAD, Cell
from adjoint.graph.node import Node as GraphNode
from adjoint.tape.modes import recording_floor
from adjoint.tape.node import TapeNode, next_order
from adjoint.tape.number import TensorNumber
from adjoint.tape.tensor import Tensor, wrap

if TYPE_CHECKING:
    from adjoint.compiler.recording.tracing import Trace
    from adjoint.native.call.driver import Runnable

Direct = Callable[[Value, Value], Value]


def written_for(
    trace: Trace, leaves: Sequence[Array], rebuild: Callable[[list[Value]], Value]
) -> tuple[Direct | None, Sight]:
    """The fast path for arguments like `leaves`, of the structure `rebuild`, and what tells these from others.

    None if there is none, or not yet.
    """
    writer = writer_for(trace, leaves, rebuild)
    if writer is None:
        return None, Sight({}, {})
    args, kwargs = writer.places
    seen = seen_of(args, kwargs, leaves, writer.varies)
    return writer.function(args, kwargs, trace.runner.native), Sight(seen, outside_of(trace.guards.values))


def writer_for(trace: Trace, leaves: Sequence[Array], rebuild: Callable[[list[Value]], Value]) -> CallWriter | None:
    """The writer of functions for arguments like these, whose structure it knows as `places`."""
    execution, native, back = trace.runner.execution, trace.runner.native, trace.back
    if native is None or not execution.direct or trace.cleared:
        return None
    copied = [i for k, i in trace.places.items() if k not in execution.into and i in trace.state.in_place]
    inside = trace.arguments.keys() & native.into.keys()
    if trace.mutated and (copied or len(inside) < len(trace.mutated)):  # one array, perhaps, at another call
        return None
    if back is not None and (len(back.alive) > 1 or trace.state.cleared or not _sets_gradients(trace)):
        return None
    writer = CallWriter(trace, leaves)
    writer.places = rebuild(list(range(len(leaves))))
    return writer if writer.takes(*writer.places) else None


def _sets_gradients(trace: Trace) -> bool:
    """Whether all that it writes are gradients: what its own backward pass needs stays as it is."""
    return all(trace.state.cell(i).key is GRAD for i in trace.written)


class CallWriter(ArgumentChecks):
    """Writes the function for one trace."""

    def __init__(self, trace: Trace, leaves: Sequence[Value]) -> None:
        super().__init__(leaves, {leaf.number for leaf in trace.leaves}, trace.gives.views)
        self.trace = trace
        self.scope |= {
            "copied": np.array, "wrap": wrap, "number": TensorNumber.of, "misses": (GraphError, *MISSES),
            "deque": deque, "starmap": starmap, "call": call, "commit": commit, "setitem": setitem,
            "note": trace.state.together.note, "noting": trace.state.together.noting, "floor": recording_floor.raw,
            "TapeNode": TapeNode, "order": next_order, "errors": error_state, "usual": USUAL,
            "heeds_errors": heeds_errors,
        }  # fmt: skip
        self.level = "0"  # of a result with history
        tensors = [x for x in leaves if isinstance(x, Tensor)]
        self.is_all_inside = bool(tensors) and trace.is_all_inside(tensors)

    def _tensor(self, x: Tensor, name: str) -> bool:
        is_plain = super()._tensor(x, name)
        if x.node is None:
            self.fits.append(f"{name}.node is None")
        elif x.level:
            self.level = self.level if self.level != "0" else f"{name}.level"
            self.fits.append(f"{name}.node is not None and {name}.level > 0 and {name}.level == {self.level}")
        else:
            self.fits.append(f"{name}.node is not None and {name}.level == 0")
            own = f"{name}.node.pullback is None and {name}.node.grad is None"
            own += f" and {name}.node.shape == {x.shape} and {name}.node.dtype == {self.name(x.dtype)}"
            self.fits.append(own if is_own(x) else f"{name}.node.pullback is not None")
        alive = x.node is None or (self.trace.back is not None and x.grad is None)
        return alive and is_plain

    # -- The function ---------------------------------------------------------------------------------

    def function(self, args: Value, kwargs: Value, native: Value) -> Direct:
        """The function."""
        reads = self.reads()
        names = [*self.given, *(name for name, _ in reads)]
        draws = [f"d{i} = {self.name(source.get)}()" for i, source in enumerate(self.trace.draws)]
        call, after = self.run(native, names)
        lines = [
            *self.opening(args, kwargs),
            *(["held = []"] if any("held" in line for line in (*call, *after)) else []),
            *(["drawn = False"] if draws else []),
            "try:",
            *(f"    {line}" for line in self.asked()),
            *(f"    {name} = {text}" for name, text in reads),
            *([f"    {draw}" for draw in draws] + ["    drawn = True"] if draws else []),
            *(f"    {line}" for line in call),
            *after,
        ]
        text = "\n    ".join(["def direct(args, kwargs):", *lines])
        direct: Direct = defined(text, f"call of {self.trace.graph.name}", self.scope, "direct")
        return direct

    def asked(self) -> list[str]:
        """The lines that take the arguments apart, and ask whether the trace holds."""
        twins = {id(x): k for k, x in enumerate(self.leaves) if isinstance(x, np.ndarray | Tensor)}
        apart = [f"x{k} is x{twins[id(x)]}" for k, x in enumerate(self.leaves) if twins.get(id(x), k) != k]
        return [*self.gets, f"if not ({' and '.join([*self.fits, *apart, *self._holds()])}): return MISS", *self.turned]

    def reads(self) -> list[tuple[str, str]]:
        """The names of what is read besides the arguments, and the expressions for it."""
        state = self.trace.state
        reads = [(f"s{i}", self._read(cell)) for i, cell in enumerate(state.cells)]
        return reads + [(f"e{i}", self._number(place, node)) for i, (place, node) in enumerate(state.numbers)]

    def run(self, native: Runnable, names: Sequence[str]) -> tuple[list[str], list[str]]:
        """The lines that call the program and write, inside of a ``try``; and those from its ``except`` to the end."""
        trace, state = self.trace, self.trace.state
        execution, outputs = trace.runner.execution, trace.graph.outputs
        left = [k for k in range(len(outputs)) if k not in execution.into]
        value = {k: f"r{i}" for i, k in enumerate(left)}
        writes = [self._write(i, value[k]) for k, i in trace.places.items() if k in value]
        arrays = [names[i] for i in execution.into.values()] + [w.holder for w in writes if w.key is Ellipsis]
        cleared = [f"{self.name(state.cell(i).holder)}.node" for i in state.cleared]
        # Draws are taken back where the program turns out to be another one, or is interrupted.
        undo = "".join(f"{self.name(source.set)}(d{i}); " for i, source in enumerate(trace.draws))
        if_drawn = [f"    if drawn: {undo}"] if undo else []
        keeps = bool(writes or arrays or cleared or trace.gives.effects)
        call, unpacked = self._call(native, names, undo, keeps)
        call = [*self._apart(native, names, [w.holder for w in writes if w.key is Ellipsis], undo), *call]
        unpack = [*([f"{', '.join(value.values())}, = {unpacked}"] if value else []), *self._node(names, value)]
        turn = _turn(trace.gives.turned, native)
        result, effects = self._given(value, turn), trace.gives.effects
        if keeps:
            call += unpack
            call += [w.statement() for w in writes] + [f"{node}.grad = None" for node in cleared]
            call += [f"note(({', '.join(arrays)},))"] if arrays else []
            again = [w.action(self.name(w.key)) for w in writes] + [
                f"(setattr, {node}, 'grad', None)" for node in cleared
            ]
            again += [f"*noting(({', '.join(arrays)},))"] if arrays else []
            redo = ["results, = held", *unpack, f"writes = [{', '.join(again)}]", "commit(writes)"]
            if effects:
                call += [f"result, effects = {result % '()'}", "effects = starmap(call, effects)"]
                redo[-1:] = [f"_, effects = {result % 'writes'}", "commit([*writes, *effects])"]
            after = ["except BaseException as error:", "    if held:", *(f"        {line}" for line in redo)]
            after += ["        raise", *if_drawn, "    if isinstance(error, misses): return MISS", "    raise"]
        else:
            after = ["except misses:", *if_drawn, "    return MISS"]
            after += [*(["except BaseException:", *if_drawn, "    raise"] if undo else []), *unpack]
        after += ["deque(effects, 0)"] if effects else []
        given = "result" if effects else result if trace.gives.single or turn else result % "()" + "[0]"
        return call, [*after, f"return {given}"]

    def _apart(self, native: Runnable, names: Sequence[str], late: Sequence[str], undo: str) -> list[str]:
        """The line that checks whether written arrays share memory with others, if no native code checks it.

        It does not where they are written `late`, after the program, or by its last part, which has not all arrays.
        """
        into = [] if native.whole else [names[i] for i in self.trace.runner.execution.into.values()]
        texts = dict(self.reads())
        read = [n for n in names if n not in into and texts.get(n) not in late]
        pairs = [*(f"({n}, True)" for n in (*into, *late)), *(f"({n}, False)" for n in read)]
        asks = (into or late) and len(pairs) > 1
        return [f"if {self.name(overlap)}(({', '.join(pairs)},)): {undo}return MISS"] if asks else []

    def _call(self, native: Runnable, names: Sequence[str], undo: str, keeps: bool) -> tuple[list[str], str]:
        """The lines that call the program, and the expression for its results; which are held if something `keeps`."""
        none, given = f"if results is None: {undo}return MISS", ", ".join(names)
        if not native.into:  # nothing is written yet
            hold = ["held = [results]"] if keeps else []
            return [f"results = {self.name(native.run)}({given})", none, *hold], "results"
        if native.whole:
            return [f"results = {self.name(native.held)}(held, {given})", none], "results"
        first, last, count, places = native.parted
        lines = [f"kept = {self.name(first)}({given})", none.replace("results", "kept")]
        part = "" if all(type(place) is str for place in places) else f"[:{count}]"
        lines += [f"results = {self.name(last)}(held, *kept{part})", none]
        return lines, f"({''.join(f'{place}, ' if type(place) is str else f'kept[{place}], ' for place in places)})"

    def _holds(self) -> Iterator[str]:
        """The conditions on everything outside of the arguments."""
        state = self.trace.state
        yield f"floor() == {self.trace.floor!r}"
        yield "(errors() is usual or not heeds_errors())"
        yield from self.trace.guards.conditions(self.name)
        for t, needs, hooks in state.needing:  # a leaf saves its hooks
            node = f"{self.name(t)}.node"
            alike = f"{self.name(hooks)}.are_all_of({node})" if hooks else f"not {node}.saved"
            yield alike if needs else f"{node} is None"
        yield from (f"{self._place(cell)} is None" for cell in state.without)
        for cell, shape, dtype in state.shaped:
            yield f"{self._place(cell)}.shape == {shape} and {self._place(cell)}.dtype == {self.name(dtype)}"
        yield from (f"{self._place(cell)} is not None" for cell in state.cells if cell.key is GRAD)

    def _node(self, names: Sequence[str], value: dict[int, str]) -> Iterator[str]:
        """The node of a result on the tape; the user's arrays are copied, since writes to them are not seen."""
        trace, back = self.trace, self.trace.back
        if back is None or trace.op is None:
            return
        kept = [
            name if i in back.sources or not trace.graph.inputs[i].shape else f"copied({name})"
            for i, name in enumerate(names)
        ]
        parents = []
        for k in back.sources:
            at = k - len(self.given)
            tensor = f"x{trace.leaves[k].number}" if at < 0 else self.name(trace.state.tensor_of(at))
            parents.append(f"{tensor}.node")
        yield "node = TapeNode()"
        yield f"node.order, node.pullback = order(), {self.name(pullback(trace.op, back))}"
        yield f"node.parents = ({', '.join(parents)},)"
        left = ["None" if k in trace.places else name for k, name in value.items()]  # what is written may change
        yield f"node.saved = (({', '.join(kept)},), ({', '.join(left)},))"

    def _given(self, value: dict[int, str], turn: str) -> str:
        """The expression for the value that the call returns; with a `turn` of its axes, if that is all."""
        gives, back, outputs = self.trace.gives, self.trace.back, self.trace.graph.outputs
        found = []
        for k, tensor in enumerate(gives.tensors):
            python = gives.forms[k] == "python"
            end, make = ".item()" if python and not tensor else "[()]", "number" if python else "wrap"
            array = value[k] if outputs[k].shape else f"{value[k]}{end}"
            array = f"copied({value[k]})" if gives.forms[k] == "array" else array
            if k in gives.same:
                found.append(f"x{thing}" if isinstance(thing := gives.same[k], int) else self.name(thing))
            else:
                alive = back is not None and k in back.alive
                over = f"{self.name(ended)}({array}, {self.name(gives.ended[k])})" if k in gives.ended else ""
                fresh = self.level if self.is_all_inside else "0"
                kept = f"{make}({array}, node, {self.level})" if alive else over or f"{make}({array}, None, {fresh})"
                found.append(kept if tensor else array)
        every = f"{self.name(gives.assemble)}([{', '.join(found)}], args, kwargs, %s)"
        return f"{found[0]}{turn}" if gives.single or turn else every

    def _read(self, cell: Cell) -> str:
        text = self._place(cell) + (".held" if cell.key is GRAD else "")
        return f"int64({text})" if _now(cell) is int else text

    def _number(self, place: Binding, node: GraphNode) -> str:
        text = place.text(self.name)
        return f"int64({text})" if node.dtype == np.int64 else text

    def _place(self, cell: Cell) -> str:
        if isinstance(cell, BindingCell):
            return cell.place.text(self.name)
        holder = self.name(cell.holder)
        if cell.key is DATA or cell.key is GRAD:
            return f"{holder}.{'held' if cell.key is DATA else 'node.grad'}"
        return f"{holder}[{cell.key!r}]"

    def _write(self, i: int, value: str) -> WriteText:
        """What writes `value` into cell `i`."""
        cell = self.trace.state.cell(i)
        kind = _now(cell)
        if i in self.trace.state.in_place and kind is np.ndarray:
            return WriteText("setitem", self._place(cell) + (".held" if cell.key is GRAD else ""), Ellipsis, value)
        if cell.key is GRAD:
            return WriteText("setattr", f"{self.name(cell.holder)}.node", "grad", f"wrap({value}, None, 0)")
        if cell.key is DATA:
            return WriteText("setattr", self.name(cell.holder), "held", value)
        value = f"{kind.__name__}({value})" if kind is int or kind is float else value
        return WriteText("setitem", self.name(cell.holder), cell.key, value)


def _turn(axes: tuple[int, ...] | None, native: Runnable) -> str:
    """The end of an expression that turns axes, of results in C order: those of a program that is all native."""
    if axes is None or not native.whole or native.finite:
        return ""
    return ".T" if axes == (*range(len(axes)),)[::-1] else f".transpose({axes})"


def _now(cell: Cell) -> type | None:
    """The type of what a cell holds; None, if the call has taken it away."""
    try:
        return type(cell.get())
    except (KeyError, IndexError, ValueError, AttributeError):
        return None
