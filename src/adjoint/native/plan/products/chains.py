"""Chains of products of matrices in the order that costs least: ``A @ B @ C @ v`` is ``A @ (B @ (C @ v))``.

A product that is a factor of others is no result of its own; ``x[:, None] * y`` is the product of a column and a row.
Where the least number of multiplications, as `numpy.linalg.multi_dot` counts them, is at most half of what is written,
the factors are multiplied in that order. Sums are then added in another order, so the last bits differ. Values
that guards check are computed in the order in which they are written.
"""

from __future__ import annotations

from collections.abc import Sequence

from adjoint.core.registry import op_named
from adjoint.graph.node import InTurn, Node, call, in_order, uses
from adjoint.graph.rewriting.driver import with_args

LONGEST = 24  # factors of a chain; a longer one stays as it is
FEWER = 2  # times
WORTH = 1 << 15  # multiplications


def ordered(outputs: Sequence[Node], fixed: Sequence[Node]) -> list[Node]:
    """The same values, up to rounding, by fewer multiplications; what leads to `fixed` stays as it is."""
    nodes = in_order(outputs)
    kept = set(in_order(fixed))
    products = {node for node in nodes if node not in kept and _is_product(node)}
    if not any(_factor(arg) in products for node in products for arg in node.args):
        return list(outputs)
    roots = set(_roots(nodes, products, outputs))
    chains: dict[Node, list[Node]] = {}
    for group in _together(products):
        mine = {root: _factors(root, products) for root in group & roots}
        if all(mine.values()) and _pays(group, mine):
            chains |= mine
    if not chains:
        return list(outputs)
    done: dict[Node, Node] = {}
    draws = InTurn()

    def again(node: Node) -> Node:
        return done[node] if node in done else with_args(node, tuple(map(again, node.args)))

    for node in nodes:
        if node in chains:
            done[node] = _multiplied([again(factor) for factor in chains[node]])
        else:
            done[node] = draws.in_turn(node, with_args(node, tuple(done[arg] for arg in node.args)))
    return [done[node] for node in outputs]


def _together(products: set[Node]) -> list[set[Node]]:
    """The products in groups: each with those that it is a factor of."""
    groups: dict[Node, set[Node]] = {}
    for node in in_order(products):
        if node in products:
            group = {node}
            for arg in node.args:
                other = groups.get(_factor(arg))
                if other is not None and other is not group:
                    small, group = sorted((group, other), key=len)
                    group |= small
                    groups |= dict.fromkeys(small, group)
            groups[node] = group
    return [group for group in {id(group): group for group in groups.values()}.values() if len(group) > 1]


def _pays(group: set[Node], chains: dict[Node, list[Node]]) -> bool:
    """Whether the products of a group cost much more than its chains in the cheapest order."""
    made: set[Node] = set()
    for factors in chains.values():
        stack, ends = [_multiplied(factors)], set(factors)
        while stack:
            node = stack.pop()
            if node not in ends and node not in made:
                made.add(node)
                stack += node.args
    before, after = (sum(map(_cost, some)) for some in (group, made))
    return before - after >= WORTH and after * FEWER <= before


def _is_product(node: Node) -> bool:
    if node.op is None or node.op.name not in ("matmul", "multiply") or node.dtype is None:
        return False
    if node.dtype.char not in "fdFD":
        return False
    if any(arg.dtype != node.dtype or not 0 < len(arg.shape) <= 2 for arg in node.args):
        return False
    return node.op.name == "matmul" or _pair(node) is not None


def _pair(node: Node) -> tuple[Node, Node] | None:
    """The two factors of a product of numbers that is one of matrices: a column, and a row."""
    for x, y in (node.args, node.args[::-1]):
        if x.shape == (node.shape[0], 1) and y.shape in (node.shape[1:], (1, *node.shape[1:])) and 1 not in node.shape:
            return x, y
    return None


def _row(node: Node) -> Node:
    """A vector as a matrix of one row."""
    if len(node.shape) == 2:
        return node
    op, shape = op_named("reshape"), (1, *node.shape)
    return call(op, (node,), {**op.settings, "shape": shape}, shape, node.dtype, lambda: node.place)


def _cost(node: Node) -> int:
    """Multiplications of a product."""
    if node.op is not None and node.op.name == "multiply":
        return int(node.shape[0] * node.shape[1])
    x, y = (arg.shape for arg in node.args)
    return int((x[0] if len(x) == 2 else 1) * y[0] * (y[1] if len(y) == 2 else 1))


def _is_turned(node: Node) -> bool:
    return node.op is not None and node.op.name == "transpose" and len(node.shape) == 2 and not _stays(node)


def _stays(node: Node) -> bool:
    axes = node.settings.get("axes")
    return axes is not None and [axis % 2 for axis in axes] == [0, 1]


def _factor(node: Node) -> Node:
    """The node itself, or what it turns around."""
    return node.args[0] if _is_turned(node) else node


def _turned(node: Node) -> Node:
    if len(node.shape) < 2:
        return node
    if _is_turned(node):
        return node.args[0]
    op = op_named("transpose")
    return call(op, (node,), op.settings, node.shape[::-1], node.dtype, lambda: node.place)


def _roots(nodes: Sequence[Node], products: set[Node], outputs: Sequence[Node]) -> list[Node]:
    """The products that are asked for by something else than a product, as they are or turned around."""
    users = uses(nodes)
    given = set(outputs)

    def inside(node: Node) -> bool:
        return node not in given and all(
            user in products or (_is_turned(user) and inside(user)) for user in users[node]
        )

    return [node for node in nodes if node in products and not inside(node)]


def _factors(root: Node, products: set[Node]) -> list[Node]:
    """The factors of a product, from left to right; none if they are too many."""
    found: list[Node] = []
    # What is left, the last first; whether it is turned around; whether it is a row, if it is a vector.
    stack = [(root, False, len(root.args[0].shape) == 1)]
    while stack:
        node, turned, row = stack.pop()
        if _is_turned(node) and node.args[0] in products:
            node, turned = node.args[0], not turned
        if node not in products:
            found.append(_turned(node) if turned else node)
            continue
        if len(node.shape) == 1:
            turned = (len(node.args[0].shape) == 1) != row
        pair = _pair(node) if node.op is not None and node.op.name == "multiply" else None
        first, second = (pair[0], _row(pair[1])) if pair else node.args
        left, right = (second, first) if turned else (first, second)
        stack += [(right, turned, False), (left, turned, True)]
        if len(stack) + len(found) > LONGEST:
            return []
    return found


def _multiplied(factors: list[Node]) -> Node:
    """The product of all factors in the cheapest order (T. Cormen et al., Introduction to algorithms, 15.2)."""
    count = len(factors)
    sizes = [f.shape[0] if len(f.shape) == 2 or i else 1 for i, f in enumerate(factors)]
    sizes.append(factors[-1].shape[1] if len(factors[-1].shape) == 2 else 1)
    least = {(i, i): 0 for i in range(count)}
    cut: dict[tuple[int, int], int] = {}
    for length in range(1, count):
        for i in range(count - length):
            j = i + length
            costs = [least[i, k] + least[k + 1, j] + sizes[i] * sizes[k + 1] * sizes[j + 1] for k in range(i, j)]
            least[i, j] = min(costs)
            cut[i, j] = i + costs.index(least[i, j])

    def product(i: int, j: int) -> Node:
        if i == j:
            return factors[i]
        x, y = product(i, cut[i, j]), product(cut[i, j] + 1, j)
        outer = len(x.shape) == len(y.shape) == 2 and y.shape[0] == 1
        op = op_named("multiply" if outer else "matmul")
        return call(op, (x, y), shape=(*x.shape[:-1], *y.shape[1:]), dtype=x.dtype)

    return product(0, count - 1)
