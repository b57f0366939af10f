"""A graph as text: one line a value, as one would write the program by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from adjoint.core.errors import NotSupportedError
from adjoint.core.messages.words import shortened
from adjoint.core.types import Value
from adjoint.graph.loops.repeats import runs
from adjoint.graph.node import Node
from adjoint.graph.text.numpy_source import literal
from adjoint.tape.observers.lines import line_of

if TYPE_CHECKING:
    from adjoint.graph.graph import Graph


LONG = 100  # lines from which on repetitions are shown once


def listing(graph: Graph, fold: bool = True) -> str:
    """A graph as a program: a line ``let`` for each value, with its shape and dtype and the user's line.

    Args:
        graph: what to list.
        fold: of long graphs, show what repeats itself once, and say so.
    """
    names = named(graph)
    head = ", ".join(f"{names[node]}: {kind_of(node)}" for node in graph.inputs)
    calls = [node for node in graph.nodes if node.kind in ("call", "part")]
    shown = _folded(calls, names) if fold and len(calls) > LONG else list(calls)
    used = {arg for row in shown if isinstance(row, Node) for arg in row.args} | set(graph.outputs)
    constants = [node for node in graph.nodes if node.kind == "constant" and node in used and np.ndim(node.value)]
    rows = [
        (f"  let {names[row]}: {kind_of(row)} = {expression(row, names)}", line_of(row.place) if row.place else "")
        if isinstance(row, Node)
        else (row, "")
        for row in shown
    ]
    width = max((len(text) for text, line in rows if line), default=0)
    count = len(graph.outputs) - len(graph.written)
    writes = zip(graph.written, graph.outputs[count:], strict=True)
    return "\n".join(
        [
            f"{graph.name}({head}):",
            *(f"  const {names[node]}: {kind_of(node)} = {_in_short(node.value)}" for node in constants),
            *(f"{text:<{min(width, 88)}}  # {line}" if line else text for text, line in rows),
            *(f"  where {g.question}({names[g.node]}) is {g.answer}" for g in graph.guards if g.question != "run"),
            *(f"  write {graph.state.name_of(i)} = {names[node]}" for i, node in writes),
            *(f"  write {place.name} = {value!r}" for place, value in (graph.state.sets if graph.state else ())),
            f"  return {', '.join(names[node] for node in graph.outputs[:count])}",
        ]
    )


def _folded(calls: Sequence[Node], names: Mapping[Node, str]) -> list[Node | str]:
    """The nodes to be listed, of each repetition those of its first turn, and a line in place of the others."""
    numbers: dict[Value, int] = {}
    codes = [numbers.setdefault((node.op, node.shape, len(node.args)), len(numbers)) for node in calls]
    rows: list[Node | str] = []
    done = 0
    for start, period, times in runs(codes):
        rows += calls[done : start + period]
        done = start + period * times
        lines = f"the {period} lines above" if period > 1 else "the line above"
        rows.append(f"  … {lines}, {times - 1} times more, up to {names[calls[done - 1]]}")
    return [*rows, *calls[done:]]


def _in_short(array: np.ndarray) -> str:
    """The numbers of an array in one line, many of them left out."""
    if array.size > 1 and (not any(array.strides) or array.tobytes() == array.flat[0].tobytes() * array.size):
        return f"all {array.flat[0]}"
    text = np.array2string(array, threshold=8, edgeitems=2, precision=4, separator=", ")
    return shortened(" ".join(text.split()), 60)


def named(graph: Graph) -> dict[Node, str]:
    """A name for each node: inputs have theirs, small constants are their values, the others are numbered."""
    names: dict[Node, str] = {}
    taken: set[str] = set()
    for node in graph.inputs:
        name = str(node.value)
        while name in taken:
            name += "'"
        names[node] = name
        taken.add(name)
    count = constants = 0
    for node in graph.nodes:
        if node in names:
            continue
        if node.kind == "constant":
            small = np.ndim(node.value) == 0
            names[node] = repr(np.asarray(node.value).item()) if small else f"c{(constants := constants + 1)}"
        else:
            count += 1
            names[node] = f"v{count}"
    return names


def expression(node: Node, names: dict[Node, str]) -> str:
    """The call that makes `node`."""
    args = ", ".join(names[arg] for arg in node.args)
    if node.op is None:
        return f"{args}[{node.value}]"
    settings = "".join(
        f", {name}={_setting(value)}" for name, value in node.settings.items() if _worth_saying(node, name)
    )
    return f"{node.op.name}({args}{settings})"


def _worth_saying(node: Node, name: str) -> bool:
    """Whether a setting differs from its default."""
    default = node.op.settings.get(name) if node.op else None
    value = node.settings[name]
    return not (
        value is default or (type(value) is type(default) and not isinstance(value, np.ndarray) and value == default)
    )


def _setting(value: object) -> str:
    try:
        return shortened(literal(value), 40)
    except NotSupportedError:
        return shortened(" ".join(repr(value).split()), 40)


def kind_of(node: Node) -> str:
    """``float64[3, 4]``, or ``any`` for what may have any shape."""
    if node.shape is None:
        return "any"
    if isinstance(node.dtype, tuple):
        return "(" + ", ".join(f"{d}{list(s)}" for s, d in zip(node.shape, node.dtype, strict=True)) + ")"
    return f"{node.dtype}{list(node.shape) if node.shape else ''}"
