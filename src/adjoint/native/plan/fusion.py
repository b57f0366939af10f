"""Which nodes are computed together: a kernel is a set of nodes over one domain, with the reductions of these.

Each node has a stage: the number of results that must be whole before it can be computed, on the longest path to it.
Elementwise nodes of one shape and stage that use each other, or read the same array, are one kernel; a reduction is
part of the kernel whose values it reduces. Within a stage values only go to larger shapes, so no kernel waits for
itself. A node that is used only in one later stage is computed there, so that it is not stored. Single numbers of one
stage are one sequence. A sequence too long for a kernel is cut where few values cross: the same place in each turn of
a loop.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence, Set
from heapq import heapify, heappop, heappush
from itertools import accumulate
from math import prod

import numpy as np

from adjoint.graph.node import Node
from adjoint.native.codegen.loops.columns import PAIR
from adjoint.native.plan.layout.views import StridedView
from adjoint.native.plan.products.multiply import fits
from adjoint.ops.reductions.sums import axes_of

BARRIERS = (
    "matmul",
    "slide",
    "taps",
    "system",
    "fourier",
    "assemble",
    "loop",
    "result",
)  # what reads its arguments as wholes, in a step of its own
PLACEWISE = ("elementwise", "gather")  # what is computed place by place
LARGEST = 64  # nodes a kernel: more would not fit into the processor's registers
LARGEST_OF_MANY, MANY = 100, 1 << 17  # or of so many places: arrays that do not fit into the cache
SEVERAL = 1 << 12  # numbers of a sum of products that are added one after another
LARGEST_OF_ROWS = 1024  # of arrays written out: what goes from one kernel to the next is many values
LARGEST_OF_NUMBERS = 128  # which are stored and read by an instruction each


class Group:
    """Nodes that one kernel computes, after a `product` of matrices if there is one."""

    __slots__ = ("axes", "domain", "nodes", "product", "reductions")

    def __init__(self, domain: tuple[int, ...]) -> None:
        self.domain = domain
        self.nodes: list[Node] = []
        self.reductions: list[Node] = []
        self.axes: frozenset[int] = frozenset()
        self.product: Node | None = None

    @property
    def members(self) -> list[Node]:
        first = [self.product] if self.product else []
        return first + self.nodes + self.reductions


class Scope:
    """What fusion knows of the nodes of a segment: their kinds, what they see, and which nodes need them whole."""

    def __init__(
        self, nodes: Sequence[Node], kinds: dict[Node, str], views: dict[Node, StridedView], outputs: Iterable[Node],
        by_element: Set[Node] = frozenset(),
    ) -> None:  # fmt: skip
        self.by_element = by_element
        self.nodes, self.kinds, self.views, self.outputs = nodes, kinds, views, set(outputs)
        self.inside = set(nodes)

    def base(self, arg: Node) -> Node:
        """The node whose elements `arg` shows."""
        return self.views[arg].base if arg in self.views else arg

    def domain(self, node: Node) -> tuple[int, ...]:
        """The shape over which a node is computed."""
        one: tuple[int, ...] = node.args[0].shape if self.kinds[node] in ("reduce", "identity") else node.shape
        return one

    def whole(self, arg: Node, node: Node) -> bool:
        """Whether `node` needs all of `arg` before it begins."""
        return self.kinds[node] in BARRIERS or (self.kinds[node] == "gather" and arg is node.args[0])

    def direct(self, arg: Node, node: Node) -> bool:
        """Whether `arg` may be computed in the kernel of `node`, place by place."""
        return (
            self.kinds.get(arg) in PLACEWISE
            and self.kinds[node] != "view"  # whose readers may read other places
            and arg in self.inside
            and not self.whole(arg, node)
            and arg.shape == self.domain(node)
            and not self.goes_on(arg, node)
        )

    def goes_on(self, arg: Node, node: Node) -> bool:
        """Whether `node` adds a further product to the sum `arg`: each is added in its own step, so that none waits."""
        adds = all(one.op is not None and one.op.name == "add" for one in (arg, node))
        large = adds and prod(node.shape) >= SEVERAL
        return large and all(any(self.kinds.get(x) == "matmul" for x in one.args) for one in (arg, node))


def members(group: Group | Node) -> list[Node]:
    """The nodes that a step computes."""
    return [group] if isinstance(group, Node) else group.members


def homes(order: Sequence[Group | Node]) -> dict[Node, int]:
    """In which step each node is computed."""
    return {node: i for i, group in enumerate(order) for node in members(group)}


def axes_reduced(node: Node) -> frozenset[int]:
    """The axes that a reduction takes together."""
    rank = len(node.args[0].shape)
    return frozenset(axes_of(node.settings.get("axis"), rank)) if rank else frozenset()  # NumPy takes axis 0 of none


def stages(scope: Scope) -> dict[Node, int]:
    """The stage of each node that is computed."""
    stage: dict[Node, int] = {}
    for node in scope.nodes:
        if scope.kinds[node] == "view":
            continue
        latest = 0
        for arg in node.args:
            base = scope.base(arg)
            if base in stage:
                whole = scope.whole(arg, node) or scope.goes_on(arg, node)
                grows = scope.kinds[base] in PLACEWISE and arg is base and not whole
                latest = max(latest, stage[base] + (not grows))
        stage[node] = latest
    if not any(stage.values()):
        return stage
    users: dict[Node, list[Node]] = defaultdict(list)
    for node in scope.nodes:
        for arg in node.args:
            users[arg].append(node)
    for node in reversed(scope.nodes):
        if scope.kinds[node] in PLACEWISE and node not in scope.outputs and users[node]:
            later = {stage[user] for user in users[node] if scope.kinds[user] != "view" and scope.direct(node, user)}
            if len(later) == 1 and all(scope.direct(node, user) for user in users[node]):
                stage[node] = max(stage[node], *later)
    return stage


def groups(scope: Scope) -> list[Group | Node]:
    """The kernels, and products with what follows them, in an order in which they can be run."""
    stage = stages(scope)
    order = _ordered(_after_products(_grouped(scope, stage), scope, stage, True), scope)
    if order is None:  # a kernel waits for itself through others of its group
        order = _ordered(_after_products(_grouped(scope, stage), scope, stage, False), scope)
    assert order is not None, "kernels that wait for each other"
    return _late(order, scope)


def _grouped(scope: Scope, stage: dict[Node, int]) -> list[Group | Node]:
    """The kernels, and each product alone."""
    parent: dict[Node, Node] = {}

    def root(node: Node) -> Node:
        while parent.setdefault(node, node) is not node:
            parent[node] = parent[parent[node]]
            node = parent[node]
        return node

    first_reader: dict[Hashable, Node] = {}
    fused = [node for node in scope.nodes if scope.kinds[node] in (*PLACEWISE, "reduce", "identity")]
    numbers: dict[int, list[Node]] = defaultdict(list)
    together: dict[Node, list[Node]] = defaultdict(list)
    arrays = []
    for node in fused:
        domain = scope.domain(node)
        if not domain and scope.kinds[node] != "reduce":
            numbers[stage[node]].append(node)
            continue
        arrays.append(node)
        key = stage[node], domain
        for arg in node.args if domain else ():
            if scope.direct(arg, node) and stage[arg] == stage[node]:
                parent[root(node)] = root(arg)
            elif arg.shape == domain:
                other = first_reader.setdefault((_read_with(arg, scope), *key), node)
                parent[root(node)] = root(other)
    for node in arrays:
        together[root(node)].append(node)
    made: list[Group | Node] = [node for node in scope.nodes if scope.kinds[node] in BARRIERS]
    for nodes in (*numbers.values(), *together.values()):
        made += _split(nodes, scope)
    return made


def _read_with(arg: Node, scope: Scope) -> Hashable:
    """A key, equal for arrays that are read together: one array, or both parts of the same complex numbers."""
    view = scope.views.get(arg)
    if view is None or view.base.shape[-1:] != (PAIR,):
        return arg
    return view._replace(offset=view.offset // PAIR)


def _after_products(
    made: Sequence[Group | Node], scope: Scope, stage: dict[Node, int], older: bool
) -> list[Group | Node]:
    """Each product with the kernel that computes what becomes of its elements; sums of these are a kernel apart.

    With `older`, what was made before a product does not wait for it, whatever its stage.
    """
    taken: set[Node] = set()
    found: list[Group | Node] = []
    for group in made:
        if isinstance(group, Group) and (product := _product_of(group, scope, stage, taken, older)):
            taken.add(product)
            group.product = product
            if group.reductions:
                sums = Group(group.domain)
                sums.reductions, sums.axes = group.reductions, group.axes
                group.reductions, group.axes = [], frozenset()
                found.append(sums)
        found.append(group)
    return [group for group in found if group not in taken]


def _product_of(group: Group, scope: Scope, stage: dict[Node, int], taken: set[Node], older: bool) -> Node | None:
    """The product after which `group` can be computed, element by element; None if there is none.

    Nothing else that the kernel reads may wait for the product, which is so for what is no later than it, or `older`.
    """

    def waits(base: Node, product: Node) -> bool:
        later = stage.get(base, -1) > stage[product] and not (older and base.number < product.number)
        return base is product or later

    inside = set(group.nodes)
    if not inside or any(scope.kinds[node] != "elementwise" for node in group.nodes):
        return None
    read = dict.fromkeys(arg for node in group.nodes for arg in node.args if arg not in inside)
    for product in read:
        if scope.kinds.get(product) not in ("matmul", "slide") or product not in scope.inside or product in taken:
            continue
        others = [arg for arg in read if arg is not product]
        free = not any(waits(scope.base(arg), product) for arg in others)
        if product.shape == group.domain and free and fits(product, others, scope.views):
            return product
    return None


def cut(nodes: Sequence[Node], longest: int) -> list[Sequence[Node]]:
    """Stretches of at most `longest` nodes, which end where the fewest values go on that are used soon after.

    So equal turns of a loop are cut alike, and are the same kernels.
    """
    count, place = len(nodes), {node: i for i, node in enumerate(nodes)}
    if count <= longest:
        return [nodes]
    until = list(range(count))  # where each value is used for the last time, but for what is far away
    for i, node in enumerate(nodes):
        for arg in node.args:
            at = place.get(arg, i)
            if i - at <= longest:
                until[at] = i
    change = [0] * (count + 2)
    for i, last in enumerate(until):
        change[i + 1] += 1
        change[last + 1] -= 1
    across = list(accumulate(change))
    lowest = _lowest_around(across, 4 * longest)
    made, start = [], 0
    while count - start > longest:
        first, past = start + longest // 4, start + longest + 1
        turns = [i for i in range(start + 1, past) if across[i] == lowest[i]]
        if turns:
            end = next((i for i in turns if i >= first), turns[-1])
        else:
            end = min(range(first, past), key=across.__getitem__)
        made.append(nodes[start:end])
        start = end
    return [*made, nodes[start:]]


def _lowest_around(counts: Sequence[int], reach: int) -> list[int]:
    """For each place, the lowest of all counts that are not further away than about `reach`."""
    found, width = np.array(counts), 1
    while width < reach:  # each now holds what the next `width` places have
        found[:-width] = np.minimum(found[:-width], found[width:])
        width *= 2
    around: list[int] = np.concatenate([np.full(width // 2, found[0]), found])[: len(counts)].tolist()
    return around


def _split(nodes: list[Node], scope: Scope) -> list[Group]:
    """Kernels that are not too large, with reductions along the same axes."""
    made: list[Group] = []
    owner: dict[Node, Group] = {}
    domain = scope.domain(nodes[0])
    computed = [node for node in nodes if scope.kinds[node] != "reduce"]
    for stretch in cut(computed, _largest(nodes[0], domain, scope)) if computed else ():
        made.append(Group(domain))
        made[-1].nodes += stretch
        owner.update(dict.fromkeys(stretch, made[-1]))
    alone: dict[frozenset[int], Group] = {}
    for node in nodes:
        if scope.kinds[node] != "reduce":
            continue
        axes = axes_reduced(node)
        group = owner.get(node.args[0])
        if group is None or (group.reductions and group.axes != axes):
            group = alone.get(axes)
            if group is None:
                group = alone[axes] = Group(domain)
                made.append(group)
        group.axes = axes
        group.reductions.append(node)
    return made


def _largest(node: Node, domain: tuple[int, ...], scope: Scope) -> int:
    """How many nodes a kernel of this domain may have, `node` among them."""
    if not domain:
        return LARGEST_OF_NUMBERS
    many = LARGEST_OF_MANY if prod(domain) >= MANY else LARGEST
    return LARGEST_OF_ROWS if node in scope.by_element else many


def _ordered(made: list[Group | Node], scope: Scope) -> list[Group | Node] | None:
    """An order in which everything comes after what it needs, the oldest first; None if there is none."""
    owner = homes(made)
    needs: list[set[int]] = []
    gives: dict[int, list[int]] = defaultdict(list)
    for i, group in enumerate(made):
        bases = {scope.base(arg) for node in members(group) for arg in node.args}
        needs.append({owner[base] for base in bases if base in owner} - {i})
        for j in needs[-1]:
            gives[j].append(i)
    age = [members(group)[-1].number for group in made]
    ready = [(age[i], i) for i in range(len(made)) if not needs[i]]
    heapify(ready)
    order: list[Group | Node] = []
    while ready:
        _, i = heappop(ready)
        order.append(made[i])
        for j in gives[i]:
            needs[j].discard(i)
            if not needs[j]:
                heappush(ready, (age[j], j))
    return order if len(order) == len(made) else None


def _late(order: list[Group | Node], scope: Scope) -> list[Group | Node]:
    """The same with each step just before the first that needs it, if what it reads is there until then anyway.

    So the place of what it writes is free for others before.
    """
    owner = homes(order)
    reads = [{scope.base(arg) for node in members(group) for arg in node.args} for group in order]
    readers: dict[Node, list[int]] = defaultdict(list)
    for i, bases in enumerate(reads):
        for base in bases:
            readers[base].append(i)
    when = list(range(len(order)))
    for i in reversed(when):
        users = [when[j] for node in members(order[i]) for j in readers[node] if j != i]
        own = [base for base in reads[i] if base in owner and owner[base] != i and base not in scope.outputs]
        first = min(users, default=i)
        if first > i + 1 and all(any(when[j] >= first for j in readers[base] if j != i) for base in own):
            when[i] = first
    return [order[i] for i in sorted(range(len(order)), key=when.__getitem__)]
