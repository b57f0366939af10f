"""The backward pass as a table: one line for each rule."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from time import perf_counter
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from adjoint.core.rules.pullbacks import Pullback, dtype_of, op_of, shape_of
from adjoint.core.types import Array, DType, Index, Value
from adjoint.tape.backward import Resumed
from adjoint.tape.inside import arrays
from adjoint.tape.modes import Observing
from adjoint.tape.observers.lines import line_of_node
from adjoint.tape.observers.tables import amount, duration, table
from adjoint.tape.writes.mutations import owner
from adjoint.tape.zeros.selected import RuleRun

if TYPE_CHECKING:
    from adjoint.tape.node import TapeNode
    from adjoint.tape.tensor import Tensor


class BackwardStep(NamedTuple):
    """One gradient rule that ran.

    Attributes:
        number: the sequence number of its operation.
        op: the operation's name.
        shape, dtype: of the cotangent that it was given.
        seconds: how long the rule took.
        nbytes: memory of the cotangents that it made; those it handed on as they came are not counted.
        parents: sequence numbers of the operations, and leaves, that its cotangents go to.
        line: where the operation stands, if that was noted (`adjoint.source_lines`); else empty.
    """

    number: int
    op: str
    shape: tuple[int, ...]
    dtype: DType
    seconds: float
    nbytes: int
    parents: tuple[int, ...]
    line: str


class BackwardTrace(Sequence[BackwardStep]):
    """The steps of one backward pass, in the order in which they ran. ``print(trace)`` gives a table."""

    def __init__(self) -> None:
        self._steps: list[BackwardStep] = []

    def __len__(self) -> int:
        return len(self._steps)

    def __iter__(self) -> Iterator[BackwardStep]:
        return iter(self._steps)

    def __getitem__(self, index: Index) -> Value:
        return self._steps[index]

    def __str__(self) -> str:
        head = ["number", "rule of", "cotangent", "time", "made", "goes to", "line"]
        rows = [
            [
                str(step.number),
                step.op,
                f"{step.shape} {step.dtype}",
                duration(step.seconds),
                amount(step.nbytes),
                " ".join(map(str, step.parents)),
                step.line,
            ]
            for step in self
        ]
        total = (
            f"{len(self)} rules, {duration(sum(s.seconds for s in self))}, {amount(sum(s.nbytes for s in self))} made"
        )
        return f"{table(head, rows, 'r  rr')}\n{total}"

    # -- As an observer of the pass -----------------------------------------------------------------

    def __call__(self, node: TapeNode, values: Sequence[Array], wanted: tuple[int, ...], out: Array) -> None:
        """Nodes that the pass itself writes (``create_graph``) are of no interest here."""

    def around(self, run: RuleRun) -> RuleRun:
        """`run`, which runs a rule, with a line for it."""

        def traced(node: TapeNode, pullback: Pullback, g: Array, saved: tuple[Array, ...]) -> Sequence[Array]:
            start = perf_counter()
            shares = run(node, pullback, g, saved)
            seconds = perf_counter() - start
            parents = shares.nodes if isinstance(shares, Resumed) else node.parents
            op = op_of(pullback)
            first = g[0] if isinstance(g, list) else g
            self._steps.append(
                BackwardStep(
                    number=-node.order,
                    op="?" if op is None else op.name,
                    shape=shape_of(first),
                    dtype=dtype_of(first),
                    seconds=seconds,
                    nbytes=_made(shares, (g, saved)),
                    parents=tuple(-parent.order for parent in parents),
                    line=line_of_node(node),
                )
            )
            return shares

        return traced


def _made(shares: Sequence[Array], before: object) -> int:
    """Bytes of the memory that `shares` hold and `before` did not."""
    known = {id(owner(array)) for array in arrays(before) if isinstance(array, np.ndarray)}
    made = {id(owner(array)): owner(array) for array in arrays(tuple(shares)) if isinstance(array, np.ndarray)}
    return sum(array.nbytes for key, array in made.items() if key not in known)


def trace_backward(
    tensor: Tensor, gradient: Array = None, retain_graph: bool = True, create_graph: bool = False
) -> BackwardTrace:
    """Go backward from `tensor`, exactly as ``tensor.backward(…)`` does, and give the pass as a table.

    Args:
        tensor: the result to start from.
        gradient, retain_graph, create_graph: as for `Tensor.backward`.

    Returns:
        A `BackwardTrace`: a sequence of `BackwardStep`, one a gradient rule, that prints as a table.

    Raises:
        GradientError: as `Tensor.backward` does.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> x = ad.tensor(np.ones((2, 3)), requires_grad=True)
        >>> trace = ad.trace_backward(np.sum(np.sin(x) * 2))
        >>> [(step.op, step.shape, step.nbytes) for step in trace]
        [('reduce_sum', (), 48), ('multiply', (2, 3), 48), ('sin', (2, 3), 48)]
    """
    trace = BackwardTrace()
    with Observing(trace=trace):
        tensor.backward(gradient, retain_graph=retain_graph, create_graph=create_graph)
    return trace
