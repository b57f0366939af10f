"""A measured run of a native program: which worker computed what, and when."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from time import perf_counter_ns
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from adjoint.core.types import Value
from adjoint.native.call import array_entry as entry
from adjoint.native.call import pool
from adjoint.native.call.driver import NativeStep
from adjoint.native.call.segment import Segment
from adjoint.native.plan.steps import PlanStep

if TYPE_CHECKING:
    from adjoint.native.plan.recipe import ArrayKind
    from adjoint.native.program import Program
    from adjoint.native.stored import Stored

RUNS = 5  # of which the shortest is shown
_Call = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)


class TaskBox(NamedTuple):
    """A task: the number of its step, its title, the means that computes it, the worker, and when, in microseconds."""

    step: int
    label: str
    by: str
    worker: int
    begun: float
    over: float


class RunSchedule(NamedTuple):
    """What a run did: tasks, the number of workers besides the caller, which is worker 0, and its microseconds."""

    boxes: list[TaskBox]
    workers: int
    time: float

    def busy(self, worker: int) -> float:
        """The share of the time in which a worker computed."""
        return sum(box.over - box.begun for box in self.boxes if box.worker == worker) / self.time

    def __str__(self) -> str:
        lines = [f"{self.time:.0f} us, {len(self.boxes)} tasks"]
        for worker in range(self.workers + 1):
            count = sum(box.worker == worker for box in self.boxes)
            name = f"worker {worker}" if worker else "the caller"
            lines.append(f"  {name:<10}  {count:>4} tasks, busy {self.busy(worker):.0%}")
        return "\n".join(lines)


def measured(program: Program | Stored) -> RunSchedule:
    """Run the native segments of `program` on made-up arrays without any state, and tell which worker did which step.

    What NumPy computes in between is left out.
    """
    program = program.made
    segments = [step.segment for step in program.driver.steps if isinstance(step, NativeStep)]
    best: tuple[int, list[tuple[int, PlanStep, int, int, int]]] | None = None
    ready = [_SegmentRun(segment, plan.steps) for segment, plan in zip(segments, program.plans, strict=True)]
    for _ in range(RUNS + 1):  # the first one warms up
        found: list[tuple[int, PlanStep, int, int, int]] = []
        begun = perf_counter_ns()
        for run in ready:
            found += run.timed()
        time = perf_counter_ns() - begun
        if best is None or time < best[0]:
            best = time, [(k, step, who, start - begun, stop - begun) for k, step, who, start, stop in found]
    assert best is not None
    time, tasks = best
    boxes = [TaskBox(k, step.label, step.by, who, start / 1e3, stop / 1e3) for k, step, who, start, stop in tasks]
    return RunSchedule(boxes, max((box.worker for box in boxes), default=0), time / 1e3)


class _SegmentRun:
    """A segment with memory of its own, to be run step by step."""

    def __init__(self, segment: Segment, steps: list[PlanStep]) -> None:
        self.instance = segment.instance()
        self.program: Value = entry.PROGRAM.at(self.instance.words.ctypes.data)
        self.arrays = [_made_up(node) for node in (*segment.recipe.inputs, *segment.recipe.outputs)]
        block = (ctypes.c_size_t * len(self.arrays)).from_address(self.program.block)
        block[:] = [array.ctypes.data for array in self.arrays]
        calls = (entry.STEP.at(self.program.table + k * entry.STEP.size) for k in range(self.program.steps))
        self.calls = [(_Call(call.kernel), call.numbers) for call in calls if call.kernel]
        self.steps = list(_repeated(steps))

    def timed(self) -> list[tuple[int, PlanStep, int, int, int]]:
        """The tasks of one run: number, step, worker, beginning and end."""
        spans, tasks = [], list[tuple[int, PlanStep, int, int, int]]()
        with pool.logged(len(self.calls) * pool.PARTS) as parts:
            for call, numbers in self.calls:
                begun = perf_counter_ns()
                call(self.program.block, numbers)
                spans.append((begun, perf_counter_ns()))
        for k, (step, (begun, over)) in enumerate(zip(self.steps, spans, strict=True), 1):
            own = [(who, start, stop) for who, start, stop in parts if begun <= start and stop <= over]
            tasks += [(k, step, *part) for part in (own or [(0, begun, over)])]
        return tasks


def _repeated(steps: list[PlanStep]) -> Iterator[PlanStep]:
    for step in steps:
        for _ in range(1 if step.inner is None else -(-step.numbers[1] // step.numbers[0])):
            yield step


def _made_up(node: ArrayKind) -> np.ndarray:
    """An array for which any program runs: positions are inside, and logarithms finite."""
    return np.full(node.shape, 0.5 if node.dtype.kind in "fc" else 0, node.dtype)
