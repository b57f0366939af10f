"""A program that runs, partly natively: segments, and NumPy's steps between them, in one schedule."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np

from adjoint.core.errors import ArgumentError
from adjoint.core.types import Array, Function, Value
from adjoint.graph.graph import as_captured, depends_on_values
from adjoint.graph.node import Node
from adjoint.graph.schedule import Schedule, ScheduledCall, numpy_step
from adjoint.native.call.segment import Segment, fitted
from adjoint.native.plan.layout.views import VIEWS
from adjoint.native.plan.recipe import ArrayKind


class NumpyStep(NamedTuple):
    """An operation that NumPy computes in between, and why."""

    node: Node
    args: list[int]
    out: int
    reason: str


class NativeStep(NamedTuple):
    """A segment, and where its arguments are and its results go."""

    segment: Segment
    args: list[int]
    outs: list[int]


class Driver(NamedTuple):
    """The steps of a run, in terms of slots for values.

    Attributes:
        inputs: what the arguments are, which are in the first slots.
        slots: how many there are.
        steps: in order.
        constants: what is in slots from the beginning.
        gives: the slots of the results, and what these are.
        asked: what must be in a slot, bit by bit.
        exact: refuse arguments of other dtypes, and values of other shapes than when the program was recorded.
    """

    inputs: Sequence[ArrayKind]
    slots: int
    steps: Sequence[NumpyStep | NativeStep]
    constants: Mapping[int, Value]
    gives: Sequence[tuple[int, ArrayKind]]
    asked: Mapping[int, np.ndarray]
    exact: bool

    def schedule(self) -> Schedule:
        """How it runs: arrays in, a list of new arrays out; None if what is asked is something else."""
        early, late, outputs = self._results()
        steps = [*self._before(), *early, *(s for step in self.steps[-1:] for s in self._steps(step)), *late]
        return Schedule(len(self.inputs), self.constants, steps, outputs, "segments and steps")

    def parted(self) -> tuple[Schedule, list[int | str]]:
        """All but the last step, a segment that writes arguments, and where the results are then.

        What comes first gives the segment's arguments, and what of the results is there by then. A result is given by
        its number among these, or by an expression of the segment's ``results``.
        """
        last = self.steps[-1]
        assert isinstance(last, NativeStep)
        found: dict[Value, str] = {slot: f"results[{k}]" for k, slot in enumerate(last.outs)}
        early, late, outputs = self._results()
        found |= {copy.outs: f"{found[copy.args[0]]}.copy()" for copy in late}
        places: list[int | str] = []
        given = list(last.args)
        for slot in outputs:
            places.append(found[slot] if slot in found else len(given))
            given += [] if slot in found else [slot]
        steps = [*self._before(), *early]
        return Schedule(len(self.inputs), self.constants, steps, given, "steps before the last"), places

    def _results(self) -> tuple[list[ScheduledCall], list[ScheduledCall], list[int]]:
        """Copies of what is no new array, or given twice, before and after the last step; the slots of the results.

        The last step may write arguments: what else is given must be safe by then.
        """
        ends = self.steps[-1:]
        final = {slot for step in ends for slot in (step.outs if isinstance(step, NativeStep) else [step.out])}
        fresh = {slot for step in self.steps if isinstance(step, NativeStep) for slot in step.outs}
        own = set[int]()  # what NumPy's steps put into memory of its own, which is given in one form alone
        shown: dict[int, int] = {}
        for step in self.steps:
            if isinstance(step, NumpyStep) and _is_new(step.node):
                own.add(step.out)
            elif isinstance(step, NumpyStep) and step.args[0] in own and _is_view(step.node):
                shown[step.out] = step.args[0]
        early: list[ScheduledCall] = []
        late: list[ScheduledCall] = []
        outputs: list[int] = []
        for slot, kind in self.gives:
            if slot in fresh:
                fresh.discard(slot)
                outputs.append(slot)
            else:
                outputs.append(self.slots + len(early) + len(late))
                base = shown.get(slot, slot)
                made = np.asarray if base in own else np.array
                own.discard(base)
                (late if slot in final else early).append(
                    ScheduledCall(partial(made, dtype=kind.dtype, order="C"), (slot,), outputs[-1])
                )
        return early, late, outputs

    def _before(self) -> Iterator[ScheduledCall]:
        """The steps before the last one."""
        yield from self._prepared()
        for slot in range(len(self.inputs)):
            yield from self._asked(slot)
        for step in self.steps[:-1]:
            yield from self._steps(step)

    def _steps(self, step: NumpyStep | NativeStep) -> Iterator[ScheduledCall]:
        if isinstance(step, NativeStep):
            yield ScheduledCall(step.segment.run, tuple(step.args), tuple(step.outs))
        else:
            yield numpy_step(step.node, step.args, step.out)
            if self.exact and depends_on_values(step.node):
                yield ScheduledCall(partial(as_captured, step.node), (step.out,), None)
            yield from self._asked(step.out)

    def _prepared(self) -> list[ScheduledCall]:
        """Looks at arguments that NumPy's steps use, that are results, or that nothing reads: a program for other
        dtypes is another one even so (``np.zeros_like(x)``). Segments look at theirs themselves."""
        used = {slot for step in self.steps if isinstance(step, NumpyStep) for slot in step.args}
        used |= {slot for slot, _ in self.gives} | set(self.asked)
        if self.exact:
            used |= set(range(len(self.inputs))) - {slot for step in self.steps for slot in step.args}
        look = _check_exactly if self.exact else _fitted
        return [ScheduledCall(partial(look, kind), (k,), k) for k, kind in enumerate(self.inputs) if k in used]

    def _asked(self, slot: int) -> list[ScheduledCall]:
        return [ScheduledCall(partial(_same, self.asked[slot]), (slot,), None)] if slot in self.asked else []


def _is_new(node: Node) -> bool:
    """Whether NumPy's result is an array in memory of its own."""
    op = node.op or node.args[0].op
    return op is not None and op.memory.view == "never"


def _is_view(node: Node) -> bool:
    """Whether NumPy's result shows its argument."""
    return node.op is not None and node.op.name in VIEWS and len(node.args) == 1


def _same(answer: np.ndarray, value: object) -> bool:
    """Whether a value has the same bits as before."""
    return bool(np.asarray(value, answer.dtype).tobytes() == answer.tobytes())


def _fitted(kind: ArrayKind, array: Array) -> np.ndarray:
    return fitted([kind], [array])[0]


def _check_exactly(kind: ArrayKind, array: Array) -> Array:
    """Refuse an array of another shape or dtype."""
    if type(array) is np.ndarray and array.shape == kind.shape and array.dtype == kind.dtype:
        return array
    if np.shape(array) != kind.shape or (isinstance(array, np.ndarray) and array.dtype != kind.dtype):
        raise ArgumentError(
            f"the program was built for dtype {kind.dtype} and shape {kind.shape} of {kind.label}; got "
            f"{np.asarray(array).dtype} and {np.shape(array)}: build one for these, native.build(…)"
        )
    return array


class Runnable:
    """A program that is ready to run.

    Args:
        driver: what is run.
        into: outputs that a call writes over an input: by their number, that input's.
        whole: whether everything is native, in one call.
        finite: whether it gives None where a value is not finite; then `otherwise` is asked, another program.

    Attributes:
        run: a call: one array an input, and a list of new arrays; a built-in function, if the program is whole.
        held: of a whole program, `run` with a list before the arrays, which gets the results too; see `Segment`.
        long: whether other threads run while a native step does.
        given: what the results of a call are.
    """

    def __init__(self, driver: Driver, into: Mapping[int, int], whole: bool, finite: bool = False) -> None:
        self.driver, self.into, self.whole, self.finite = driver, dict(into), whole, finite
        self.given = [kind for _, kind in driver.gives]
        segments = [step.segment for step in driver.steps if isinstance(step, NativeStep)]
        self.long = any(segment.long for segment in segments)
        self.count = sum(len(segment.recipe.tasks) for segment in segments)
        self.held = segments[0].held if whole else None
        self.run: Function = segments[0].run if whole else driver.schedule().function(spread=True)
        if finite:
            self._if_finite, self.run = self.run, self._in_any_case

    @cached_property
    def otherwise(self) -> Runnable:
        """The program for values that are not finite."""
        raise NotImplementedError

    def _in_any_case(self, *arrays: object) -> object:
        results = self._if_finite(*arrays)
        return self.otherwise.run(*arrays) if results is None else results

    def __call__(self, *arrays: Array) -> Value:
        return self.run(*arrays)

    @cached_property
    def parted(self) -> tuple[Function, Function | None, int, list[int | str]]:
        """Of a program that writes arguments, and is not whole: what comes first, and the segment that writes.

        With the number of its arguments, and where the results are then: see `Driver.parted`.
        """
        schedule, places = self.driver.parted()
        last = self.driver.steps[-1]
        assert isinstance(last, NativeStep)
        return schedule.function(spread=True), last.segment.held, len(last.args), places
