"""Which nodes run together: native segments, and what NumPy computes between them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from adjoint.graph.node import Node, is_ordered

Stretch = tuple[bool, list[Node]]


def partition(
    nodes: Sequence[Node], kinds: dict[Node, str], results: Sequence[Node], before: Mapping[Node, Sequence[Node]]
) -> list[Stretch]:
    """Few segments: all native nodes that are ready, then all of NumPy's, and so on.

    Random numbers are drawn, and messages are sent, in the order in which the nodes come; a node that is in `before`
    comes after these others, which may end the run.
    """
    turn: dict[Node, int] = {}  # even for native nodes, odd for NumPy's
    ordered = 1
    nodes = _sorted(nodes, before) if before else nodes
    for node in nodes:
        odd = kinds[node] in ("numpy", "part")
        in_turn = is_ordered(node)
        at = ordered if in_turn else int(odd)
        for arg in (*node.args, *before.get(node, ())) if before else node.args:
            earlier = turn.get(arg, 0)
            if earlier > at or (in_turn and earlier == at and not earlier % 2):
                at = earlier + (earlier % 2 != odd)
        turn[node] = at
        ordered = at if in_turn else ordered
    count = max(turn.values(), default=-1) + 1
    if count > 1:
        _delay(nodes, turn, set(results))
    parts: list[Stretch] = [(k % 2 == 0, []) for k in range(count)]
    for node in nodes:
        parts[turn[node]][1].append(node)
    return [(native, part) for native, part in parts if part]


def _sorted(nodes: Sequence[Node], before: Mapping[Node, Sequence[Node]]) -> list[Node]:
    """The nodes, each after its arguments and after those that have to come `before` it."""
    inside, done = set(nodes), dict[Node, None]()
    for node in nodes:
        stack = [node]
        while stack:
            waits = [other for other in (*stack[-1].args, *before.get(stack[-1], ()))
                     if other in inside and other not in done]  # fmt: skip
            if not waits:
                done[stack.pop()] = None
            stack += waits
    return list(done)


def views_for_numpy(nodes: Sequence[Node], kinds: Mapping[Node, str], outputs: Sequence[Node]) -> list[Node]:
    """Views that NumPy's steps alone use, of arguments and of what these steps give: NumPy shows them without a copy.

    So are outputs that show what a step gives: NumPy's result for an array in Fortran order lies so, too.
    """
    given: dict[Node, bool] = {}  # whether it comes from a step of NumPy's, for what can be shown
    users: dict[Node, list[Node]] = defaultdict(list)
    for node in nodes:
        for arg in node.args:
            users[arg].append(node)
        if kinds[node] in ("numpy", "part"):
            given[node] = True
        elif kinds[node] == "view" and node.op is not None and node.op.name not in ("copy", "part_of_pair"):
            base = node.args[0]
            if base.kind in ("input", "constant") or base in given:
                given[node] = given.get(base, False)
    wanted, found = set(outputs), set[Node]()
    for node in reversed(nodes):
        if node in given and kinds[node] == "view" and (given[node] or node not in wanted):
            if all(user in found or kinds[user] in ("numpy", "part") for user in users[node]):
                found.add(node)
    return [node for node in nodes if node in found]


def _delay(nodes: Sequence[Node], turn: dict[Node, int], results: set[Node]) -> None:
    """Move nodes that compute from the program's inputs alone into the later segments that use them."""
    first_use: dict[Node, int] = {}
    for node in reversed(nodes):
        later = first_use.get(node)
        given = all(arg.kind in ("input", "constant") for arg in node.args)
        if later is not None and given and node not in results and not turn[node] % 2 and not later % 2:
            turn[node] = later
        for arg in node.args:
            first_use[arg] = min(first_use.get(arg, turn[node]), turn[node])


def used_later(parts: Sequence[Stretch], results: Sequence[Node]) -> dict[int, set[Node]]:
    """For each part, the values that other parts or the caller use."""
    home = {node: id(part) for _, part in parts for node in part}
    later: dict[int, set[Node]] = {id(part): set() for _, part in parts}
    for node in results:
        if node in home:
            later[home[node]].add(node)
    if len(parts) == 1:
        return later
    for _, part in parts:
        for node in part:
            for arg in node.args:
                if arg in home and home[arg] != id(part):
                    later[home[arg]].add(arg)
    return later
