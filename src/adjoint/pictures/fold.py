"""Long diagrams made short: repeated blocks are shown once, modules and chains are one box each, the rest is cut.

Whatever is left out is said in the diagram's notes.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count

from adjoint.graph.loops.repeats import runs
from adjoint.pictures.diagram import TIMES, Diagram, Vertex

LONG = 30  # operations up to which nothing is folded
MANY = 60  # operations from which on chains are folded too


def fold(diagram: Diagram) -> None:
    """Fold what repeats itself, if `diagram` is long."""
    if _calls(diagram) <= LONG:
        return
    _blocks(diagram)
    if _calls(diagram) > LONG:
        _modules(diagram)
    if _calls(diagram) > MANY:
        _chains(diagram)


def cut(diagram: Diagram, most: int) -> None:
    """Keep the `most` vertices that are nearest to the outputs."""
    if len(diagram.vertices) <= most:
        return
    kept, ring = dict.fromkeys(diagram.outputs), list(diagram.outputs)
    while ring and len(kept) < most:
        ring = [k for key in ring for k in diagram.vertices[key].inputs]
        ring = [k for k in dict.fromkeys(ring) if k not in kept][: most - len(kept)]
        kept.update(dict.fromkeys(ring))
    left_out = len(diagram.vertices) - len(kept)
    fresh = _fresh(diagram)
    vertices: dict[int, Vertex] = {}
    for key, vertex in diagram.vertices.items():
        if key not in kept:
            continue
        inputs = [k for k in vertex.inputs if k in kept]
        if len(inputs) < len(vertex.inputs):
            more = Vertex(key=next(fresh), kind="more", label="…")
            vertices[more.key] = more
            inputs.append(more.key)
        vertex.inputs = inputs
        vertices[key] = vertex
    diagram.vertices = vertices
    diagram.notes.append(
        f"{left_out} values farther from the result are left out (…): limit={left_out + most} shows them"
    )


def _calls(diagram: Diagram) -> int:
    return sum(vertex.kind == "call" for vertex in diagram.vertices.values())


def _fresh(diagram: Diagram) -> count[int]:
    return count(min(diagram.vertices) - 1, -1)


def _blocks(diagram: Diagram) -> None:
    """Show of each repeated block its last turn. What comes from the turn before is said to."""
    calls = [vertex for vertex in diagram.vertices.values() if vertex.kind == "call"]
    numbers: dict[tuple[str, str, int], int] = {}
    codes = [numbers.setdefault((v.op, v.holds, len(v.inputs)), len(numbers)) for v in calls]
    fresh, users = _fresh(diagram), diagram.users()
    for block, (start, period, times) in enumerate(runs(codes), 1):
        start, times = _aligned(calls, codes, users, start, period, times)
        start, times = _alike(calls, start, period, times)
        if times < 3:
            continue
        turns = [calls[start + k * period : start + (k + 1) * period] for k in range(times)]
        _fold_run(diagram, turns, block, fresh)
    gone = diagram.pruned()
    inputs = gone - sum((v.times - 1) for v in diagram.vertices.values() if v.kind == "call")
    if inputs > 0:
        diagram.notes.append(f"{inputs} values that only repetitions use are not shown")
    diagram.vertices = _sorted(diagram)


def _aligned(
    calls: Sequence[Vertex], codes: Sequence[int], users: dict[int, list[int]], start: int, period: int, times: int
) -> tuple[int, int]:
    """The run with its turns cut where the fewest values go from one to the next."""
    end = start + period * times
    while end < len(codes) and codes[end] == codes[end - period]:
        end += 1
    place = {v.key: i for i, v in enumerate(calls)}
    middle = start + (times // 2) * period
    passing = [0] * period
    for i in range(middle, middle + period):
        last = max((place[k] for k in users[calls[i].key] if place[k] < end), default=i)
        for cut_at in range(i + 1, min(last, i + period) + 1):
            passing[(cut_at - start) % period] += 1
    shift = min(range(period), key=lambda k: (passing[k], -((end - start - k) // period)))
    return start + shift, (end - start - shift) // period


def _alike(calls: Sequence[Vertex], start: int, period: int, times: int) -> tuple[int, int]:
    """The part of a run whose turns use one another in the same way: its start and the number of turns."""
    place = {v.key: i for i, v in enumerate(calls)}

    def links(turn: int) -> list[tuple[int | None, ...]]:
        first = start + turn * period
        return [
            tuple(at - i if (at := place.get(k, -1)) >= max(first - period, start) else None for k in calls[i].inputs)
            for i in range(first, first + period)
        ]

    if times < 3:
        return start, 0
    low = high = times // 2
    pattern = links(low)
    while high + 1 < times and links(high + 1) == pattern:
        high += 1
    while low > 1 and links(low - 1) == pattern:
        low -= 1
    low -= low == 1 and _fits(links(0), pattern, period)
    return start + low * period, high + 1 - low


def _fits(first: list[tuple[int | None, ...]], pattern: list[tuple[int | None, ...]], period: int) -> bool:
    """Whether the first turn is as the others, apart from what these take from the turn before."""
    within = [tuple(o if o is not None and -o <= i else None for o in own) for i, own in enumerate(pattern)]
    return (
        len(first) == period
        and [tuple(o if o is not None and -o <= i else None for o in own) for i, own in enumerate(first)] == within
    )


def _fold_run(diagram: Diagram, turns: Sequence[Sequence[Vertex]], block: int, fresh: count[int]) -> None:
    """Put the last of `turns` in place of all."""
    first, shown = turns[0], turns[-1]
    where = {v.key: (turn, i) for turn, vertices in enumerate(turns) for i, v in enumerate(vertices)}
    last = len(turns) - 1
    again: dict[int, int] = {}
    for position, vertex in enumerate(shown):
        inputs = []
        for number, key in enumerate(vertex.inputs):
            turn, i = where.get(key, (last, -1))
            if turn == last:
                inputs.append(key)
                continue
            if i not in again:
                begin = first[position].inputs[number]
                source = shown[i]
                loop = Vertex(
                    next(fresh), "again", f"↺ {source.name}", holds=source.holds, times=len(turns), block=block
                )
                loop.inputs = [begin] if begin not in where else []
                diagram.vertices[loop.key] = loop
                again[i] = loop.key
                source.tagged = True
            inputs.append(again[i])
        vertex.inputs, vertex.times, vertex.block = inputs, len(turns), block
    hidden = {v.key for vertices in turns[:-1] for v in vertices}
    for vertex in diagram.vertices.values():
        if vertex.key not in hidden and vertex.block != block:
            own = [shown[where[k][1]].key if k in hidden else k for k in vertex.inputs]
            vertex.inputs = list(dict.fromkeys(own)) if own != vertex.inputs else own
    diagram.outputs = list(dict.fromkeys(shown[where[k][1]].key if k in hidden else k for k in diagram.outputs))
    n = len(shown)
    said = f"{TIMES} {len(turns)}: of so many equal steps of {n} operation{'s' * (n > 1)} the last is shown, in violet"
    if again:
        said += "; ↺ is what a step gets from the one before, and the first of them from what is wired into it"
    diagram.notes.append(said)


def _modules(diagram: Diagram) -> None:
    """Make one of the operations that one call of a module's `forward` writes, if one value alone leaves it."""
    groups: list[list[Vertex]] = [[]]
    for vertex in diagram.vertices.values():
        if vertex.kind != "call":
            continue
        group = groups[-1]
        same = group and (vertex.module, vertex.block) == (group[-1].module, group[-1].block)
        if not same or vertex.at < group[-1].at or not vertex.module:
            groups.append(group := [])
        group.append(vertex)
    users, folded = diagram.users(), 0
    for group in groups:
        inside = {vertex.key for vertex in group}
        leaving = [v for v in group if v.key in diagram.outputs or not inside.issuperset(users[v.key])]
        if len(group) < 2 or len(leaving) != 1:
            continue
        (last,) = leaving
        last.inputs = [k for k in dict.fromkeys(k for v in group for k in v.inputs) if k not in inside]
        last.label, last.simple = last.module, False
        for key in inside - {last.key}:
            del diagram.vertices[key]
        folded += len(group) - 1
    if folded:
        diagram.notes.append(f"{folded} values within modules are not shown")


def _chains(diagram: Diagram) -> None:
    """Make one of each chain of simple operations whose values nothing else uses."""
    users = diagram.users()
    folded = 0
    for key in list(diagram.vertices):
        vertex = diagram.vertices[key]
        if not vertex.simple or key in diagram.outputs:
            continue
        (user,) = users[key] if len(users[key]) == 1 else (None,)
        following = diagram.vertices.get(user) if user is not None else None
        if following is None or not following.simple or following.block != vertex.block:
            continue
        following.label = _chained(vertex.label, following.label)
        following.inputs = vertex.inputs
        (source,) = vertex.inputs
        users[source] = [following.key if u == key else u for u in users[source]]
        del diagram.vertices[key]
        folded += 1
    if folded:
        diagram.notes.append(f"{folded} values within chains of elementwise operations (→) are not shown")


def _chained(first: str, then: str) -> str:
    steps = [*first.split(" → "), then]
    return " → ".join(steps) if len(" → ".join(steps)) <= 40 else " → ".join([steps[0], "…", steps[-1]])


def _sorted(diagram: Diagram) -> dict[int, Vertex]:
    """The vertices in an order in which each comes after what it uses."""
    result: dict[int, Vertex] = {}
    stack = [(key, False) for key in diagram.outputs[::-1]]
    while stack:
        key, ready = stack.pop()
        if key in result:
            continue
        vertex = diagram.vertices[key]
        if ready:
            result[key] = vertex
            continue
        stack.append((key, True))
        stack += [(k, False) for k in vertex.inputs[::-1] if k not in result]
    return result
