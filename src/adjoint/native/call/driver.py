"""Segments and NumPy's steps in turn, as one Python function.

For a sort between two segments it reads ::

    def run(*arrays):
        if len(arrays) != 1: refuse(arrays)
        v0, = arrays
        found = f0(v0)
        if found is None: return None
        v1, = found
        v2 = f1(v1)
        found = f2(v2)
        if found is None: return None
        v3, = found
        return [v3]
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from adjoint.core.codegen import defined
from adjoint.core.errors import ArgumentError
from adjoint.graph.graph import as_captured, depends_on_values
from adjoint.graph.node import Node
from adjoint.native.call.segment import Segment, fitted


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
    """What is run, in terms of slots for values.

    Attributes:
        inputs: the nodes of the arguments, which are in the first slots.
        steps: in order.
        constants: what is in slots from the beginning.
        gives: the slots of the results, and their nodes.
        asked: what must be in a slot, bit by bit.
        written: slots of values that are copied into others' arrays at the end, unless the last segment writes them.
        exact: refuse arguments of other dtypes, and values of other shapes than when the program was recorded.
    """

    inputs: Sequence[Node]
    steps: Sequence[NumpyStep | NativeStep]
    constants: Sequence[tuple[int, Any]]
    gives: Sequence[tuple[int, Node]]
    asked: Mapping[int, np.ndarray]
    written: Sequence[tuple[int, int]]
    exact: bool


def function(between: Driver) -> Callable[..., Any]:
    """The function: arrays in, a list of new arrays out; None if what is asked is something else."""
    scope: dict[str, Any] = {"array": np.array, "same": _same, "refuse": partial(_refuse, len(between.inputs))}
    lines = [f"if len(arrays) != {len(between.inputs)}: refuse(arrays)"]
    if between.inputs:
        lines.append(f"{_list(range(len(between.inputs)))}= arrays")
    lines += [f"v{slot} = {_name(scope, value)}" for slot, value in between.constants]
    lines += _prepared(between, scope)
    lines += [line for slot in range(len(between.inputs)) for line in _asked(between, scope, slot)]
    native = [step for step in between.steps if isinstance(step, NativeStep)]
    fresh = {slot for step in native for slot in step.outs}
    results: list[str] = []
    copies: list[str] = []
    late: list[str] = []  # of what the last segment itself gives
    final = set(native[-1].outs) if native and native[-1] is between.steps[-1] else set[int]()
    for k, (slot, node) in enumerate(between.gives):
        own = slot in fresh
        fresh.discard(slot)
        results.append(f"v{slot}" if own else f"o{k}")
        if not own:
            (late if slot in final else copies).append(f"o{k} = array(v{slot}, {_name(scope, node.dtype)})")
    for step in between.steps:
        if isinstance(step, NativeStep):
            if step is between.steps[-1]:  # which may write arguments: what else is given must be safe by then
                lines += copies
            lines.append(f"found = {_name(scope, step.segment.run)}({_list(step.args)})")
            lines.append("if found is None: return None")
            lines += [f"{_list(step.outs)}= found"] if step.outs else []
        else:
            lines += _computed(between, scope, step)
    lines += late if native and native[-1] is between.steps[-1] else copies
    lines += [f"w{k} = array(v{value})" for k, (value, _) in enumerate(between.written)]
    lines += [f"v{target}[...] = w{k}" for k, (_, target) in enumerate(between.written)]
    text = "\n    ".join(["def run(*arrays):", *lines, f"return [{', '.join(results)}]"])
    run: Callable[..., Any] = defined(text, "segments and steps", scope, "run")
    return run


def _prepared(between: Driver, scope: dict[str, Any]) -> list[str]:
    """Arguments that NumPy's steps use, or that are results; those of segments are looked at there."""
    used = {slot for step in between.steps if isinstance(step, NumpyStep) for slot in step.args}
    used |= {slot for slot, _ in between.gives} | set(between.asked)
    look = _check_exactly if between.exact else _fitted
    return [f"v{k} = {_name(scope, partial(look, node))}(v{k})" for k, node in enumerate(between.inputs) if k in used]


def _computed(between: Driver, scope: dict[str, Any], step: NumpyStep) -> list[str]:
    """The lines of a step by NumPy."""
    node, op = step.node, step.node.op
    if op is None:
        lines = [f"v{step.out} = v{step.args[0]}[{node.value}]"]
    else:
        forward = partial(op.forward, **node.settings) if node.settings else op.forward
        lines = [f"v{step.out} = {_name(scope, forward)}({_list(step.args)})"]
    if between.exact and depends_on_values(node):
        lines.append(f"{_name(scope, partial(as_captured, node))}(v{step.out})")
    return [*lines, *_asked(between, scope, step.out)]


def _asked(between: Driver, scope: dict[str, Any], slot: int) -> list[str]:
    if slot not in between.asked:
        return []
    return [f"if not same(v{slot}, {_name(scope, between.asked[slot])}): return None"]


def _list(slots: Sequence[int]) -> str:
    return "".join(f"v{slot}, " for slot in slots)


def _name(scope: dict[str, Any], thing: Any) -> str:
    name = f"f{len(scope)}"
    scope[name] = thing
    return name


def _same(value: Any, answer: np.ndarray) -> bool:
    """Whether a value is, bit by bit, what it was."""
    return bool(np.asarray(value, answer.dtype).tobytes() == answer.tobytes())


def _refuse(count: int, arrays: Sequence[Any]) -> None:
    raise ArgumentError(f"the program takes {count} arrays; got {len(arrays)}")


def _fitted(node: Node, array: Any) -> np.ndarray:
    return fitted([node], [array])[0]


def _check_exactly(node: Node, array: Any) -> Any:
    """Refuse an array of another shape or dtype."""
    if np.shape(array) != node.shape or (isinstance(array, np.ndarray) and array.dtype != node.dtype):
        raise ArgumentError(
            f"the program was built for dtype {node.dtype} and shape {node.shape} of {node.label}; got "
            f"{np.asarray(array).dtype} and {np.shape(array)}: build one for these, native.build(…)"
        )
    return array
