"""An `Evaluator`: several nodes that are evaluated together, in the way that fits the arguments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, partial

import numpy as np

from adjoint.core.box import Box, apply
from adjoint.core.errors import ArgumentError, ShapeError
from adjoint.core.messages.warned import is_refused, warned
from adjoint.core.op import Op
from adjoint.core.types import Array, Function, Settings, Value
from adjoint.expressions import blocks, scalars
from adjoint.expressions.nodes import is_truth, ordered
from adjoint.graph.node import Node
from adjoint.graph.schedule import Schedule, ScheduledCall

_NUMBERS = (int, float, np.float64, np.integer)
WEAK = frozenset((int, float, bool))


def _settled(result: Array, given: Sequence[Array]) -> Array:
    """Of Python's numbers comes one, so that float32 stays float32."""
    return result.item() if isinstance(result, np.generic) and all(type(x) in WEAK for x in given) else result


class Evaluator:
    """`outputs` as functions of `variables`.

    Attributes:
        nodes: all nodes, each after what it uses.
    """

    def __init__(self, outputs: Sequence[Node], variables: Sequence[Node]) -> None:
        self.outputs, self.variables = list(outputs), list(variables)
        self.nodes = ordered(self.outputs)
        self._ran = False

    def __call__(self, values: Sequence[Array]) -> list[Array]:
        """One result an output: floats for floats, arrays of the states' broadcast shape for arrays."""
        if all(isinstance(x, _NUMBERS) for x in values):
            return self.of_floats([float(x) for x in values])
        if any(isinstance(x, Box) for x in values):
            shape = np.broadcast_shapes(*map(np.shape, values))
            return [x if np.shape(x) == shape else np.broadcast_to(x, shape) for x in self.of_any(values)]
        arrays = [np.asarray(x) for x in values]
        try:
            shape = np.broadcast_shapes(*(x.shape for x in arrays))
        except ValueError:
            shapes = ", ".join(f"{node.value}: {x.shape}" for node, x in zip(self.variables, arrays, strict=True))
            raise ShapeError(f"the states' shapes do not broadcast: {shapes}") from None
        strong = [x.dtype for x, given in zip(arrays, values, strict=True) if type(given) not in (int, float)]
        for node, d in zip(self.variables, (x.dtype for x in arrays), strict=True):
            if d.kind not in "biufc":
                raise ArgumentError(f"states are numbers or arrays of numbers; got dtype {d} for {node.value}")
        plain = all(d.kind in "iub" or d == np.float64 for d in strong)
        if plain and len(self.nodes) <= blocks.MAX_NODES:
            return self._in_blocks(arrays, shape)
        weak = [x if type(x) in (int, float) else array for x, array in zip(values, arrays, strict=True)]
        kind = np.result_type(0.0, *strong)
        return [
            np.full(shape, x, kind) if type(x) is float else np.array(np.broadcast_to(x, shape))
            for x in self.of_any(weak)
        ]

    def of_floats(self, values: list[float]) -> list[object]:
        """One state of Python floats."""
        if len(self.nodes) <= scalars.MAX_NODES:
            try:
                return list(self._raw(*values))
            except scalars.FAILURES:
                pass  # NumPy has an answer
        return [
            x.item() if isinstance(x, np.generic | np.ndarray) else x
            for x in self.of_any(list(map(np.float64, values)))
        ]

    @cached_property
    def _raw(self) -> Callable[..., tuple[Value, ...]]:
        return scalars.raw(self.outputs, self.variables)

    @cached_property
    def _program(self) -> blocks.BlockProgram:
        return blocks.program(self.outputs, self.variables)

    def _in_blocks(self, arrays: list[Array], shape: tuple[int, ...]) -> list[Array]:
        count = int(np.prod(shape))
        flat = []
        for x in arrays:
            if x.size != 1 and x.shape != shape:
                x = np.broadcast_to(x, shape)
            flat.append(x.reshape(-1).astype(np.float64, copy=False))
        results = [np.empty(count, bool if is_truth(node) else float) for node in self.outputs]
        if count:
            try:
                self._program(flat, results, count)
            except Exception as error:
                if not is_refused(error):
                    raise
                warned(error, self._program, (flat, results, count), {})
        return [x.reshape(shape) for x in results]

    def of_any(
        self, values: Sequence[Array], settled: Callable[[Value, Sequence[Value]], Value] = _settled
    ) -> list[Array]:
        """Arrays of any kind: each node through its operation, and its result through `settled`."""
        if settled is not _settled:
            run = self._scheduled(settled).interpreted
        else:
            run = self._written if self._ran else self._schedule.interpreted
            self._ran = True
        found = run(values)
        assert found is not None  # no step ends the run
        return found

    @cached_property
    def _written(self) -> Function:
        return self._schedule.function()

    @cached_property
    def _schedule(self) -> Schedule:
        return self._scheduled(_settled)

    def _scheduled(self, settled: Callable[[Value, Sequence[Value]], Value]) -> Schedule:
        slots = {node: i for i, node in enumerate(self.variables)}
        constants: dict[int, Value] = {}
        steps: list[ScheduledCall] = []
        for node in self.nodes:
            if node in slots:
                continue
            slot = slots[node] = len(slots)
            args = tuple(slots[arg] for arg in node.args)
            if node.op is None:
                constants[slot] = node.value
            elif constants.keys() >= {*args}:  # worked out now; a Python float, so that float32 stays float32
                constants[slot] = np.asarray(node.op.forward(*(np.asarray(constants[i]) for i in args))).item()
            else:
                steps.append(ScheduledCall(partial(_called, settled, node.op, node.settings), args, slot))
        outputs = [slots[node] for node in self.outputs]
        return Schedule(len(self.variables), constants, steps, outputs, "an expression's program")


def _called(settled: Callable[[Value, Sequence[Value]], Value], op: Op, settings: Settings, *given: Value) -> Value:
    return settled(apply(op, given, settings), given)
