"""The short way into native code: a Python function, written for one recording, that does what a call has to do.

For a training step it reads ::

    def direct(args):
        if len(args) != 2:
            return MISS
        x0, x1 = args
        if not (type(x0) is ndarray and x0.shape == (16, 4) and …):
            return MISS
        if not (floor() == 0 and a1.cell_contents is a2 and a3['training'] is a4 and …):
            return MISS
        s2 = a5.data
        …
        results = native(x0, x1, s2, …)
        if results is None:
            return MISS
        r0, r1, … = results
        note((s2, …))
        a6.grad = wrap(r1, None, 0)
        …
        return wrap(r0[()], None, 0)

What does not fit gives MISS, and has done nothing: the long way, `Recording.__call__`, finds out why.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from adjoint.core.errors import ArgumentError, GraphError
from adjoint.graph.state import DATA, GRAD, Cell
from adjoint.tape.modes import recording_floor
from adjoint.tape.tensor import Tensor, wrap

if TYPE_CHECKING:
    from adjoint.compiler.recording import Recording

MISS: Any = object()
Direct = Callable[[Sequence[Any]], Any]
_PLAIN = (int, bool, str)


def written_for(recording: Recording, leaves: Sequence[Any]) -> Direct | None:
    """The short way for positional arguments like `leaves`; None if there is none, or not yet."""
    execution, native = recording.runner.execution, recording.runner.native
    draws_and_asks = recording.draws and recording.may_deviate  # a draw may have to be taken back
    if native is None or recording.back is not None or recording.mutated or draws_and_asks or not execution.direct:
        return None
    writer = _Writer(recording)
    for k, x in enumerate(leaves):
        if not writer.takes(k, x):
            return None
    return writer.function(len(leaves), native)


class _Writer:
    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self.scope: dict[str, Any] = {
            "MISS": MISS, "ndarray": np.ndarray, "int64": np.int64, "Tensor": Tensor, "wrap": wrap,
            "misses": (ArgumentError, GraphError, KeyError, IndexError, ValueError, AttributeError),
            "note": recording.state.together.note, "floor": recording_floor.get,
        }  # fmt: skip
        self._names: dict[int, str] = {}
        self.varies = {leaf.number for leaf in recording.leaves}
        self.fits: list[str] = []
        self.given: list[str] = []

    def name(self, thing: Any) -> str:
        """What `thing` is called in the function."""
        if id(thing) not in self._names:
            self._names[id(thing)] = f"a{len(self._names)}"
            self.scope[self._names[id(thing)]] = thing
        return self._names[id(thing)]

    def takes(self, k: int, x: Any) -> bool:
        """Whether an argument like `x` can come this way; if so, it is written down how."""
        kind, name = type(x), f"x{k}"
        if k not in self.varies:
            self.fits.append(f"type({name}) is {self.name(kind)} and {name} == {self.name(x)}")
            return kind in _PLAIN
        self.given.append(name)
        if kind is np.ndarray:
            self.fits.append(f"type({name}) is ndarray and {name}.shape == {x.shape}")
        elif kind is float or issubclass(kind, np.generic):
            self.fits.append(f"type({name}) is {self.name(kind)}")
        else:
            self.given[-1] += ".data"
            self.fits.append(
                f"type({name}) is Tensor and {name}.node is None and {name}.level == 0 and "
                f"type({name}.data) is ndarray and {name}.shape == {np.shape(x)}"
            )
            return kind is Tensor and x.node is None and type(x.data) is np.ndarray
        return True

    def function(self, count: int, native: Any) -> Direct:
        """The function, for so many arguments."""
        recording, state, environment = self.recording, self.recording.state, self.recording.environment
        execution = recording.runner.execution
        places = recording.graph.outputs
        holds = [f"floor() == {recording.floor!r}", *environment.conditions(self.name)]
        holds += [f"{self.name(cell.holder)}.grad is None" for cell in state.without]
        holds += [f"{self.name(c.holder)}.grad is not None" for c in state.cells if c.key is GRAD]
        reads = [(f"s{i}", self._read(cell)) for i, cell in enumerate(state.cells, len(recording.leaves))]
        names = [*self.given, *(name for name, _ in reads)]
        arrays = [(f"e{i}", environment.arrays[i].text(self.name)) for i in range(len(environment.arrays))]
        names += [name for name, _ in arrays]
        left = [k for k in range(len(places)) if k not in execution.into]
        value = {k: f"r{i}" for i, k in enumerate(left)}
        same = recording.gives.same
        found = [
            self._same(same[k])
            if k in same
            else f"wrap({self._result(value[k], places[k])}, None, 0)"
            if tensor
            else self._result(value[k], places[k])
            for k, tensor in enumerate(recording.gives.tensors)
        ]
        written = [names[i] for i in execution.into.values()]
        after = [f"note(({', '.join(written)},))"] if written else []
        after += [self._write(state.cell(i), value[k]) for k, i in recording.places.items() if k in value]
        after += [f"{self.name(state.cell(i).holder)}.grad = None" for i in state.cleared]
        alone = len(found) == 1 and recording.gives.rebuild([MISS]) is MISS
        result = found[0] if alone else f"{self.name(recording.gives.rebuild)}([{', '.join(found)}])"
        lines = [
            "def direct(args):",
            f"    if len(args) != {count}: return MISS",
            *([f"    {', '.join(f'x{k}' for k in range(count))}, = args"] if count else []),
            *([f"    if not ({' and '.join(self.fits)}): return MISS"] if self.fits else []),
            "    try:",
            f"        if not ({' and '.join(holds)}): return MISS",
            *(f"        {name} = {text}" for name, text in (*reads, *arrays)),
            f"        results = {self.name(native.run)}({', '.join(names)})",
            "    except misses: return MISS",
            "    if results is None: return MISS",
            *([f"    {', '.join(value.values())}, = results"] if value else []),
            *(f"    {line}" for line in after),
            f"    return {result}",
        ]
        exec(compile("\n".join(lines), f"<call of {recording.graph.name}>", "exec"), self.scope)
        direct: Direct = self.scope["direct"]
        return direct

    def _read(self, cell: Cell) -> str:
        text = self._place(cell) + (".data" if cell.key is GRAD else "")
        return f"int64({text})" if type(cell.get()) is int else text

    def _place(self, cell: Cell) -> str:
        holder = self.name(cell.holder)
        if cell.key is DATA or cell.key is GRAD:
            return f"{holder}.{'data' if cell.key is DATA else 'grad'}"
        return f"{holder}[{cell.key!r}]"

    def _write(self, cell: Cell, value: str) -> str:
        kind = type(cell.get())
        if cell.key is GRAD:
            value = f"wrap({value}, None, 0)"
        elif kind in (int, float):
            value = f"{kind.__name__}({value})"
        return f"{self._place(cell)} = {value}"

    def _same(self, thing: Any) -> str:
        return f"x{thing}" if isinstance(thing, int) else self.name(thing)

    def _result(self, name: str, node: Any) -> str:
        return name if node.shape else f"{name}[()]"
