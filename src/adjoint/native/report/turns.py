"""One turn of a loop, in lines: carried values, computed values, kept values.

In: a loop of a plan, and the names of the values around it. Out: lines, each with its depth, since a turn may hold a
loop of its own. A line names a value by where the turn finds or puts it: ``x[i]`` is a row of an array that is read in
turn `i`, ``v3[i]`` a row that is kept, ``next v1`` what goes on to the next turn.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from adjoint.graph.loops.loop import Loop, Window
from adjoint.graph.node import Node
from adjoint.native.plan.loops.body import Inner, Native, is_loop
from adjoint.native.report.formulas import ATOM, Formulas

if TYPE_CHECKING:
    from adjoint.native.report.listing import Listing

IndentedLine = tuple[int, str]
_VIEWS = ("view", "identity", "result", "part")
_COUNTERS = "ijkmnpq"  # of loops, by their depth


class TurnLines:
    """The lines of a loop that stands in a plan, and of all in it.

    Args:
        listing: a class, which lists the plan of a turn.

    Attributes:
        numbers: how many values got a name so far: temporary ones and carried ones.
    """

    def __init__(self, listing: type[Listing]) -> None:
        self.listing = listing
        self.numbers = Counter[str]()

    def lines(
        self, node: Node, results: Mapping[int, str], inner: Inner | None, formulas: Formulas, depth: int = 0
    ) -> Iterator[IndentedLine]:
        """The lines of the loop `node`.

        Args:
            results: what its results are called, by their number: those that are used.
            inner: the plan of a turn, if turns have one.
            formulas: of the values around it.
            depth: of its first line.
        """
        loop: Loop = node.settings["loop"]
        found, i = loop.native, _COUNTERS[depth % len(_COUNTERS)]
        assert isinstance(found, Native), found
        around = [formulas.of(arg).inside(ATOM) for arg in node.args]
        yield depth, _title(loop, around, i)
        a, first, below = loop.carried, loop.first_row, depth + 1
        carried = [results.get(k) or self.name("c") for k in range(a)]
        for name, start in zip(carried, around[:a], strict=True):
            yield below, f"carries {name}, at first {start}"
        names = [*carried, *_inputs(loop, around, results, i)]
        given = _outputs(loop, results, names, i)
        outputs = list(zip(given, found.outputs, strict=True))
        if inner is not None and inner.plan.steps:
            gives = [*outputs[:a], *outputs[first:]]
            rows = self.of_plan(found, inner, names, gives)
            yield from _by_steps(rows, below)
            own, known = rows.formulas, {value.name for value in rows.values}
        else:
            own = Formulas(dict(zip(found.inputs, names, strict=False)))
            wanted = {output: name for name, output in reversed(outputs) if name and output not in own.names}
            yield from self.by_values(found, wanted, own, below)
            known = {*wanted.values()}
        for name, output in (*outputs[a:first], *outputs[:a], *outputs[first:]):
            if name and name not in known:
                yield below, f"{name} = {own.of(output)}"
        if loop.asks and (count := results.get(a + loop.buffers + loop.stacks)):
            yield below, f"{count} = turns"

    def name(self, kind: str) -> str:
        """A new name."""
        self.numbers[kind] += 1
        return f"{kind}{self.numbers[kind]}"

    def of_plan(self, found: Native, inner: Inner, names: list[str], gives: Sequence[tuple[str, Node]]) -> Listing:
        """The listing of a turn that has a plan."""
        outputs = [node for _, node in gives]
        return self.listing(found.inputs, outputs, [(inner.plan, outputs)], (names, [name for name, _ in gives]), self)

    def by_values(
        self, found: Native, wanted: dict[Node, str], formulas: Formulas, depth: int
    ) -> Iterator[IndentedLine]:
        """A line for each value that has a name in `wanted`, or is read more than once, and for the loops in a turn."""
        names = formulas.names
        used = Counter(arg for node in found.nodes for arg in node.args)
        parts: dict[Node, dict[int, Node]] = {}
        for node in found.nodes:
            if node.op is None and node.args and is_loop(node.args[0]):
                parts.setdefault(node.args[0], {})[int(node.value)] = node
        for node in (*found.nodes, *(node for node in wanted if node not in found.kinds)):
            if is_loop(node):
                results = {number: self.name("t") for number in parts.get(node, {})}
                names.update((part, results[number]) for number, part in parts.get(node, {}).items())
                yield from self.lines(node, results, None, formulas, depth)
            elif node in wanted:
                text = formulas.of(node)
                names[node] = wanted[node]
                yield depth, f"{wanted[node]} = {text}"
            elif used[node] > 1 and found.kinds[node] not in _VIEWS:
                text = formulas.of(node)
                is_known = text in names.values()
                names[node] = text if is_known else self.name("t")
                if not is_known:
                    yield depth, f"{names[node]} = {text}"


def _by_steps(listing: Listing, depth: int) -> Iterator[IndentedLine]:
    for row in listing.rows:
        for value in row.writes if not row.turns else ():
            yield depth, f"{value.name.rstrip(chr(39))} = {value.formula}"
        yield from ((depth, text) for text in row.also)
        yield from ((depth + deep, text) for deep, text in row.turns)


def _title(loop: Loop, around: Sequence[str], i: str) -> str:
    if loop.asks:
        return f"turns {i} = 0, 1, … until a condition ends them"
    if loop.ends:
        return f"turns {i} = 0 … {around[-1]} - 1"
    return f"{loop.count} turns {i} = 0 … {loop.count - 1}"


def _inputs(loop: Loop, around: Sequence[str], results: Mapping[int, str], i: str) -> list[str]:
    """What a turn's inputs are called that are not carried."""
    a, b = loop.carried, loop.carried + len(loop.slices)
    rows = [f"{text}[{_at(window, i)}]" for text, window in zip(around[a:b], loop.slices, strict=True)]
    shown = [f"{results.get(a + p.buffer) or around[b + p.buffer]}[{_at(p.window, i)}]" for p in loop.places]
    return [*rows, *shown, *around[b + loop.buffers :]]


def _outputs(loop: Loop, results: Mapping[int, str], names: Sequence[str], i: str) -> list[str]:
    """What a turn's outputs are called; those that nobody needs have no name."""
    a, b, begun = loop.carried, loop.carried + len(loop.slices), loop.carried + loop.buffers
    given = [f"next {name}" for name in names[:a]]
    given += [names[b + k] for k, place in enumerate(loop.places) if place.written]
    end = "turns - 1" if loop.ends else str(loop.count - 1)
    for k in range(loop.stacks):
        backwards = loop.stacks - k <= loop.backwards
        given.append(f"{results[begun + k]}[{f'{end} - {i}' if backwards else i}]" if begun + k in results else "")
    for k in range(loop.first_row + loop.stacks, len(loop.native.outputs)):
        name = results.get(begun + k - loop.first_row, "")
        given.append("goes on" if loop.asks else f"at last {name}" if name else "")
    return given


def _at(window: Window, i: str) -> str:
    """The index of a window in turn `i`."""
    by = f"{abs(window.step)} * {i}" if abs(window.step) != 1 else i
    first = _sum(by, window.step < 0, window.start)
    return first if window.width is None else f"{first}:{_sum(by, window.step < 0, window.start + window.width)}"


def _sum(by: str, back: bool, start: int) -> str:
    if start < 0:  # from the last turn on
        return f"turns - {-start} {'-' if back else '+'} {by}"
    if back:
        return f"{start} - {by}"
    return f"{by} + {start}" if start else by
