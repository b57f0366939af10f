"""A program's steps, and where and how long their results lie in memory: to be printed, and to be drawn."""

from __future__ import annotations

from collections.abc import Container, Hashable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Literal, NamedTuple

import numpy as np

from adjoint.core.types import Value
from adjoint.graph.loops.loop import Loop
from adjoint.graph.node import Node
from adjoint.graph.text.text import kind_of
from adjoint.native.call.driver import NumpyStep
from adjoint.native.plan.layout.assembly import ASSEMBLED, RUNNING
from adjoint.native.plan.loops.body import Scratch, is_loop
from adjoint.native.plan.rewriting.decompose import REDUCED
from adjoint.native.plan.steps import Copy, Plan, PlanStep, bytes_of
from adjoint.native.report.formulas import Formulas
from adjoint.native.report.tables import steps, summary
from adjoint.native.report.turns import IndentedLine, TurnLines
from adjoint.tape.observers.lines import line_of

By = Literal["kernel", "product", "BLAS", "loop", "check", "NumPy"]
What = Literal["elementwise", "reduction", "product", "copy", "carried", "stacked", "NumPy"]
Home = Literal["arena", "argument", "result", "array"]


@dataclass(slots=True)
class WrittenArray:
    """An array that a step writes.

    Attributes:
        name: what formulas call it.
        holds: its dtype and shape, as ``float32[16, 4]``.
        what: how it is made.
        formula: from what.
        size: bytes.
        home: ``arena`` for memory that the program keeps, ``argument`` for that of an argument, ``result`` for what a
            call gives back, ``array`` for a new array between native code and NumPy.
        start: the first of its bytes, in the arena.
        first, last: numbers of the steps that write it first and use it last; of what is there afterwards, the
            program's last step.
        instead: the name of the array whose place it takes while it is computed from it.
    """

    name: str
    holds: str
    what: What
    formula: str
    size: int
    home: Home
    start: int
    first: int
    last: int
    instead: str = ""


@dataclass(slots=True)
class PlanRow:
    """A step: a kernel, a product of matrices by tiles of ours or by BLAS, a loop, a check of what was asked, or
    NumPy's operation, with the `reason`.

    Attributes:
        domain: the lengths of a kernel's loops.
        operations: how many operations it computes in one pass.
        read, written: bytes that it reads and writes.
        lines: the user's lines that these operations stand on.
        writes: the arrays that it writes for the first time.
        also: what it does to arrays that are there already.
        turns: what a loop does in each turn: lines, and how deep they stand.
    """

    number: int
    by: By
    domain: tuple[int, ...]
    operations: int
    read: int
    written: int
    lines: list[str]
    reason: str = ""
    writes: list[WrittenArray] = field(default_factory=list)
    also: list[str] = field(default_factory=list)
    turns: list[IndentedLine] = field(default_factory=list)

    def texts(self) -> list[IndentedLine]:
        """The lines that say what it computes, each with its depth."""
        writes = [] if self.turns else [f"{value.name} = {value.formula}" for value in self.writes]
        return [*self.turns, *((0, text) for text in (*writes, *self.also))]


class ArenaCost(NamedTuple):
    """What the arena costs: its bytes (of whole cache lines), all its values', and the most that live at once."""

    arena: int
    values: int
    most: int

    @property
    def saved(self) -> float:
        """The part of the values' bytes that is not needed because places are used again."""
        return 1 - self.arena / self.values if self.values else 0.0


class Listing:
    """The steps of a program, as text and with all figures.

    Args:
        inputs, results: the program's nodes.
        steps: what it runs, in order: NumPy's steps, and the plans of segments with what these give.
        names: what to call its inputs, and then its results.
        turns: what names the values of a turn, if this is one.

    Attributes:
        rows: one a step.
        values: all arrays that the steps write, in that order.
        memory: what the arena costs.
        again: values that are not kept, but computed by each step that reads them.
        formulas: of all values.
    """

    def __init__(
        self,
        inputs: Sequence[Node],
        results: Sequence[Node],
        steps: Sequence[NumpyStep | tuple[Plan, Sequence[Node]]],
        names: tuple[Sequence[str], Sequence[str]] = ((), ()),
        turns: TurnLines | None = None,
    ) -> None:
        self._turns = turns
        self._names: dict[Value, str] = {}
        self._taken: set[str] = set()
        self.formulas = Formulas(self._names)
        self._alive: dict[Value, WrittenArray] = {}
        for node, name in zip(inputs, names[0] or [str(node.value) for node in inputs], strict=True):
            self._name(node, name)
        count = len(results)
        self._outputs = list(names[1]) or ["out"] * (count == 1) or [f"out{k}" for k in range(count)]
        self._results: dict[Value, str] = {}
        for node, name in zip(results, self._outputs, strict=True):
            self._results.setdefault(node, name)
        self._alone = len(steps) == 1
        self._base = 0
        self.rows: list[PlanRow] = []
        self.values: list[WrittenArray] = []
        self.again: list[Node] = []
        for step in steps:
            if isinstance(step, NumpyStep):
                self._by_numpy(step)
            else:
                self._segment(*step)
        for value in self.values:
            if value.home in ("argument", "result"):
                value.last = len(self.rows)
        self.memory = self._counted()

    def count(self, by: By) -> int:
        """How many steps are kernels, products, products by BLAS, or NumPy's."""
        return sum(row.by == by for row in self.rows)

    # -- Rows -----------------------------------------------------------------------------------------

    def _segment(self, plan: Plan, outputs: Sequence[Node]) -> None:
        self.again += plan.again
        for step in plan.steps:
            if self._more(step) or (step.by != "check" and all(isinstance(x, Scratch) for x in step.use.writes)):
                continue  # a part of another step, or its preparation
            loop = next((node for node in step.nodes if is_loop(node)), None)
            by: By = step.by if loop is None else "loop"
            row = PlanRow(len(self.rows) + 1, by, _domain(step, by), len(step.nodes), step.read, step.written,
                      _lines(step.nodes))  # fmt: skip
            self.rows.append(row)
            if by == "check":
                row.also.append(self._check(step))
                asked = _node_of(step.operands[0][0])
                row.lines = _lines([asked]) or _lines(asked.args)
            for value in step.use.reads:
                if value in self._alive:
                    self._alive[value].last = row.number
            for value in dict.fromkeys(value for value in step.use.writes if not isinstance(value, Scratch)):
                if value in self._alive:
                    self._alive[value].last = row.number
                    what = "more" if _is(_node_of(value), RUNNING) else "part"
                    if loop is None:
                        source = self._read(step) or "a constant"
                        row.also.append(f"{what} of {self._names[value]}, from {source}")
                else:
                    row.writes.append(self._written(value, step, plan, outputs))
                    self.values.append(row.writes[-1])
            if loop is not None:
                known = {int(part.value): self._names[part] for part in step.nodes if part in self._names}
                turns = self._turns or TurnLines(Listing)
                row.turns += turns.lines(loop, known, step.inner, self.formulas)
        self._base += plan.arena.size

    def _more(self, step: PlanStep) -> bool:
        """Count a further part of a product, or of panels for it, to the row that has the first one."""
        known = [self._alive.get(value) for value in step.use.writes]
        if not (step.by == "product" or step.label == "panels") or not known or known[0] is None:
            return False
        row = self.rows[known[0].first - 1]
        row.read, row.written = row.read + step.read, row.written + step.written
        for value in (*step.use.reads, *step.use.writes):
            if value in self._alive:
                self._alive[value].last = len(self.rows)
        return True

    def _written(self, value: Value, step: PlanStep, plan: Plan, outputs: Sequence[Node]) -> WrittenArray:
        """A value that is written for the first time, by the step that comes last so far."""
        number, node = len(self.rows), _node_of(value)
        home, known, before = self._home(value, plan, outputs)
        formula = self._formula(value, step)
        wanted = f"{before}'" if before else self._wanted(known)
        if self._alone and known is not value:  # a value that is given twice has two names
            wanted = self._outputs[value.number if isinstance(value, Copy) else plan.turned[value]]
        name = self._name(value, wanted)
        start = self._base + plan.arena.places[value] if home == "arena" else -1
        holds = f"{node.dtype}{list(value.shape) if value.shape else ''}"
        made = WrittenArray(
            name, holds, _what(value, step), formula, bytes_of(value), home, start, number, number, before
        )
        for other in step.use.instead.get(value, ()):
            donor = self._alive.get(other)
            if donor is not None and home == "arena" and donor.start == start and donor.last == number:
                made.instead = donor.name
        self._alive[value] = made
        if home in ("array", "result"):  # later steps know a copy by its original
            self._alive[known] = made
            self._names.setdefault(known, name)
        return made

    def _home(self, value: object, plan: Plan, outputs: Sequence[Node]) -> tuple[Home, object, str]:
        """Where a value lies, the node that it is to others, and the name of the argument that it is written over."""
        target = value if value in plan.targets else plan.direct.get(value)
        if target is not None:
            return "argument", value, self._names[target]
        if value in plan.arena.places:
            return "arena", value, ""
        number = value.number if isinstance(value, Copy) else self._turned(plan, value)
        known = value if number is None else outputs[number]
        return ("result" if known in self._results else "array"), known, ""

    def _turned(self, plan: Plan, value: object) -> int | None:
        """The number of the result that shows a value with its axes in another order."""
        return next((number for node, number in plan.turned.items() if node is value), None)

    def _wanted(self, value: object) -> str:
        if value in self._results:
            return self._results[value]
        return f"v{len(self.values) + 1}" if self._turns is None else self._turns.name("t")

    def _formula(self, value: Value, step: PlanStep) -> str:
        if isinstance(value, Copy):
            if _is(value.of, ("matmul", "gather")) and value.of not in self._names:
                return f"{self._read(step)} in rows"  # for this operation, which comes next
            return self.formulas.of(value.of)
        if _is(value, ASSEMBLED) and not _is(value, RUNNING):
            return f"{self._read(step) or 'a constant'}, in a part of it"
        if not step.nodes:
            return self._read(step)
        return self.formulas.of(value, whole=True)

    def _check(self, step: PlanStep) -> str:
        (value, _), (wanted, _), _ = step.operands
        name = self._names.get(value) or self.formulas.of(value)
        return f"stop unless {name} is {np.asarray(wanted.value).reshape(_node_of(value).shape).tolist()}"

    def _read(self, step: PlanStep) -> str:
        return ", ".join(self._names.get(value) or self.formulas.of(value) for value in step.use.reads)  # type: ignore[arg-type]  # a node

    def _by_numpy(self, step: NumpyStep) -> None:
        node, number = step.node, len(self.rows) + 1
        read = sum(_bytes(arg) for arg in node.args)
        row = PlanRow(
            number, "NumPy", (), 1, read, _bytes(node), _lines([node]), step.reason or "one of several results"
        )
        self.rows.append(row)
        for arg in node.args:
            if arg in self._alive:
                self._alive[arg].last = number
        formula = self.formulas.of(node, whole=True)
        home: Home = "result" if node in self._results else "array"
        name = self._name(node, self._wanted(node))
        self._alive[node] = made = WrittenArray(
            name, kind_of(node), "NumPy", formula, _bytes(node), home, -1, number, number
        )
        row.writes.append(made)
        self.values.append(made)

    def _name(self, value: Hashable, wanted: str) -> str:
        while wanted in self._taken:
            wanted += "'"
        self._taken.add(wanted)
        self._names[value] = wanted
        return wanted

    def _counted(self) -> ArenaCost:
        kept = [value for value in self.values if value.home == "arena"]
        donors = {value.instead for value in kept}  # whose bytes are others' in the last step that reads them
        change = [0] * (len(self.rows) + 2)
        for value in kept:
            change[value.first] += value.size
            change[value.last + (value.name not in donors)] -= value.size
        most = max(accumulate(change))
        return ArenaCost(self._base, sum(value.size for value in kept), most)

    # -- Text -----------------------------------------------------------------------------------------

    @property
    def summary(self) -> list[str]:
        """How many steps there are, the bytes that they move, and what the arena costs."""
        return summary(self)

    def table(self, most: int | None = None) -> list[str]:
        """Lines of a table: each step with what it computes, how much it reads and writes, and where to.

        Args:
            most: how many steps at most.
        """
        return steps(self.rows[:most])

    def __str__(self) -> str:
        return "\n".join([*self.table(), *self.summary])

    def __repr__(self) -> str:
        return f"<plan: {len(self.rows)} steps, {self.memory.arena} bytes of arena>"


def _what(value: Value, step: PlanStep) -> What:
    """How a step makes a value, in words."""
    if step.inner is not None:
        return _of_turns(value)
    if step.by in ("product", "BLAS"):
        return "product"
    if not step.nodes or _is(_node_of(value), ASSEMBLED):
        return "copy"
    return "reduction" if _is(_node_of(value), REDUCED) else "elementwise"


def _of_turns(value: Value) -> What:
    """Whether a result of a loop is what was carried, or has a row for each turn."""
    node = _node_of(value)
    loop: Loop = node.args[0].settings["loop"]
    number = int(node.value)
    if number < loop.carried:
        return "carried"
    stacks = loop.carried + loop.buffers
    return "stacked" if stacks <= number < stacks + loop.stacks else "copy"


def _is(node: Node, names: Container[str]) -> bool:
    return node.op is not None and node.op.name in names


def _node_of(value: Value) -> Node:
    node: Node = value.of if isinstance(value, Copy) else value
    return node


def _domain(step: PlanStep, by: By) -> tuple[int, ...]:
    """The lengths of a kernel's loops; for a product, rows, columns and what is summed over."""
    if by in ("product", "BLAS"):
        return step.sizes
    return tuple(step.numbers[: step.loops])


def _bytes(node: Node) -> int:
    """The bytes of a value of NumPy's; 0 if they are not known, as for several results."""
    if node.shape is None or isinstance(node.dtype, tuple):
        return 0
    return bytes_of(node)


def _lines(nodes: Sequence[Node]) -> list[str]:
    """The user's lines, those of one file together: ``step.py:9, 10``."""
    found: dict[str, list[str]] = {}
    for place in dict.fromkeys(node.place for node in nodes if node.place is not None):
        file, _, line = line_of(place).rpartition(":")
        found.setdefault(file, []).append(line)
    return [f"{file}:{', '.join(sorted(set(lines), key=int))}" for file, lines in found.items()]
