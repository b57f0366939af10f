"""Many states: straight-line NumPy on blocks that stay in the processor's cache, in buffers used again and again."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from adjoint.core.codegen import defined
from adjoint.core.messages.warned import REFUSES
from adjoint.core.types import Array, Function, Value
from adjoint.expressions.functions import TRUTHS
from adjoint.expressions.nodes import POWER, WHERE, is_constant, ordered
from adjoint.graph.node import Node

BLOCK = 8192
MAX_NODES = 20_000
_SQUARED, _TIMES, _INVERSE = np.square, np.multiply, np.reciprocal
# Whole powers as products: (function, arguments) steps; `x` is the base, `o` the result.
_POWERS: dict[float, list[tuple[Value, str]]] = {
    2.0: [(_SQUARED, "x")],
    3.0: [(_SQUARED, "x"), (_TIMES, "ox")],
    4.0: [(_SQUARED, "x"), (_SQUARED, "o")],
    -1.0: [(_INVERSE, "x")],
    -2.0: [(_SQUARED, "x"), (_INVERSE, "o")],
}
BlockProgram = Callable[[Sequence[Value], Sequence[Value], int], None]


def program(outputs: Sequence[Node], variables: Sequence[Node]) -> BlockProgram:
    """``run(inputs, results, n)``: fills each of `results` with the values of an output at `n` states.

    Inputs are float64 arrays of length n, or of length 1 for a value that all states share. `run` raises TypeError in
    place of a warning; see `adjoint.core.messages.warned`.
    """
    return _BlockWriter(outputs, variables).compiled()


class _BlockWriter:
    def __init__(self, outputs: Sequence[Node], variables: Sequence[Node]) -> None:
        self.outputs, self.variables = list(outputs), list(variables)
        self.nodes = ordered(outputs)
        self.last = {arg: node for node in self.nodes for arg in node.args}
        self.scope: dict[str, Value] = {"empty": np.empty, "copyto": np.copyto, "full": np.full, "block": BLOCK}
        self.scope["__warningregistry__"] = REFUSES
        self.place: dict[Node, str] = {}
        self.free: dict[type, list[str]] = {float: [], bool: []}
        self.buffers: list[tuple[str, type]] = []
        self.lines: list[str] = []

    def compiled(self) -> BlockProgram:
        for i, node in enumerate(self.variables):
            self.place[node] = f"x{i}"
        direct: dict[Node, str] = {}
        for i, node in enumerate(self.outputs):
            if node.op is not None and node.op not in TRUTHS and node not in direct:
                direct[node] = f"o{i}"
        for node in self.nodes:
            if node in self.place:
                continue
            if is_constant(node):
                self.place[node] = self.constant(node.value)
                continue
            self.step(node, direct.get(node))
        ends = [f"o{i}[:] = {self.place[node]}" for i, node in enumerate(self.outputs) if self.place[node] != f"o{i}"]
        head = [f"{name} = empty(block, {kind.__name__})" for name, kind in self.buffers]
        used = [i for i, node in enumerate(self.variables) if node in self.last or node in self.outputs]
        head += [f"x{i} = inputs[{i}]" for i in used]
        head += [f"y{i} = full(block, x{i}[0]) if len(x{i}) == 1 else None" for i in used]
        loop = ["stop = start + block", "if stop > n:", "    stop = n"]
        loop += [f"    {name} = {name}[:n - start]" for name, _ in self.buffers]
        loop += [f"x{i} = inputs[{i}][start:stop] if y{i} is None else y{i}[:stop - start]" for i in used]
        loop += [f"o{i} = results[{i}][start:stop]" for i in range(len(self.outputs))]
        text = "\n".join([
            "def run(inputs, results, n):",
            *(f"    {line}" for line in head),
            "    for start in range(0, n, block):",
            *(f"        {line}" for line in (*loop, *self.lines, *ends)),
        ])  # fmt: skip
        run: BlockProgram = defined(text, "an expression's program for many states", self.scope, "run")
        del self.scope["run"]
        return run

    def constant(self, value: Array) -> str:
        name = f"c{len(self.scope)}"
        array: np.ndarray = np.array(value)
        self.scope[name] = array
        return name

    def function(self, function: Function) -> str:
        name = f"f_{function.__name__}_{id(function)}".replace("<lambda>", "rule")
        self.scope[name] = function
        return name

    def step(self, node: Node, target: str | None) -> None:
        """The lines that compute `node`, into `target` if it is an output."""
        assert node.op is not None
        args = [self.place[arg] for arg in node.args]
        kind = bool if node.op in TRUTHS else float
        early = node.op is WHERE or node.op is POWER  # these write before they have read everything
        if not early:
            self.release(node)
        out = target or self.buffer(kind)
        self.place[node] = out
        exponent = node.args[1].value if node.op is POWER and is_constant(node.args[1]) else None
        if node.op is WHERE:
            condition, x, y = args
            self.lines += [f"copyto({out}, {y})", f"copyto({out}, {x}, where={condition})"]
        elif exponent in _POWERS:
            names = {"x": args[0], "o": out}
            for function, given in _POWERS[exponent]:
                self.lines.append(f"{self.function(function)}({', '.join(names[c] for c in given)}, out={out})")
        elif isinstance(node.op.forward, np.ufunc):
            self.lines.append(f"{self.function(node.op.forward)}({', '.join(args)}, out={out})")
        elif target is None:
            self.lines.append(f"copyto({out}, {self.function(node.op.forward)}({', '.join(args)}))")
        else:
            self.lines.append(f"{out}[:] = {self.function(node.op.forward)}({', '.join(args)})")
        if early:
            self.release(node)

    def release(self, node: Node) -> None:
        """Give back the buffers of what `node` is the last to use."""
        for arg in dict.fromkeys(node.args):
            name = self.place[arg]
            if self.last[arg] is node and name[0] == "b" and arg not in self.outputs:
                self.free[bool if arg.op in TRUTHS else float].append(name)

    def buffer(self, kind: type) -> str:
        if self.free[kind]:
            return self.free[kind].pop()
        name = f"b{len(self.buffers)}"
        self.buffers.append((name, kind))
        return name
