"""Rematerialization: a value is computed again where it is read, instead of being kept, if that takes few operations.

Writing a large array and reading it again takes longer than a difference or a product of numbers that lie in the
cache, and a value that is not kept takes no room in the arena. So each kernel that reads a value computes it again,
element by element, if that takes few operations (no function such as `exp`) and moves fewer bytes: the inputs that
these kernels do not read anyway, against writing and reading the value. Results are the same, bit by bit.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from math import prod

from adjoint.graph.node import Node
from adjoint.native.codegen.loops.loop_nest import broadcast_strides, contiguous
from adjoint.native.plan.fusion import Group, Scope, members
from adjoint.native.plan.layout import assembly
from adjoint.native.plan.layout.assembly import is_number
from adjoint.native.plan.layout.views import StridedView

LIGHT = frozenset(
    ("add", "subtract", "multiply", "negative", "square", "absolute", "maximum", "minimum", "choose_either", "where",
     "greater", "greater_equal", "less", "less_equal", "equal", "not_equal", "logical_and", "logical_or", "logical_not",
     "astype", "as_python", "as_numpy")
)  # fmt: skip
LARGE = 1 << 15  # bytes of a value: what is smaller stays in the first cache
FEW = 4  # times that a value is computed for each of its places
MOST, MOST_LOW = 12, 32  # operations

Cone = tuple[Node, ...]


def chosen(scope: Scope, order: Sequence[Group | Node], needed: set[Node], low: bool) -> dict[Node, Cone]:
    """The values that are not kept, each with the operations that compute it, in order; with `low`, many."""
    home: dict[Node, Group] = {}
    for group in order:
        if isinstance(group, Group):
            home |= dict.fromkeys(group.nodes, group)
    readers: dict[Node, list[Group | Node]] = defaultdict(list)
    refused = {scope.base(node) for node in scope.outputs}
    for group in order:
        for node in [group] if isinstance(group, Node) else group.members:
            for arg in node.args:
                base = scope.base(arg)
                if home.get(base) is group:
                    continue
                if group not in readers[base]:
                    readers[base].append(group)
                if isinstance(group, Group):
                    direct = group.product is None and scope.kinds[node] != "gather"
                    direct = direct and (arg.shape == group.domain or arg is not base)
                else:
                    direct = assembly.is_tiled(node)
                if not direct or (arg is not base and not _adds_axes(scope, arg, base, group)):
                    refused.add(base)
    found: dict[Node, Cone] = {}
    place = {node: i for i, node in enumerate(scope.nodes)}
    for node in scope.nodes:
        if node in needed and node in home and node not in refused and _bytes(node) >= LARGE:
            cone, leaves = _cone(node, scope, needed, found, low)
            more = sum(_bytes(leaf) for group in readers[node] for leaf in leaves - _read(group, scope))
            if cone and (low or more < _bytes(node) * (2 + len(readers[node]))):
                found[node] = tuple(sorted(cone, key=place.__getitem__))
    return found


def _adds_axes(scope: Scope, arg: Node, base: Node, group: Group | Node) -> bool:
    """Whether `arg` is `base` with further axes of length 1, and is read a few times only."""
    view, own = scope.views[arg], contiguous(base.shape)
    before = [(n, s) for n, s in zip(base.shape, own, strict=True) if n > 1]
    after = [(n, s) for n, s in zip(arg.shape, view.strides, strict=True) if n > 1]
    few = isinstance(group, Group) and prod(group.domain) <= FEW * prod(base.shape)
    return few and view.offset == 0 and before == after


def through(view: StridedView, base: Node, arg: Node) -> StridedView:
    """What of a leaf, which is broadcast to `base`, is read where `arg` is, which has further axes of length 1."""
    strides = broadcast_strides(view.strides, view.shape, base.shape)
    own = iter([s for n, s in zip(base.shape, strides, strict=True) if n > 1])
    return view._replace(shape=arg.shape, strides=tuple(next(own) if n > 1 else 0 for n in arg.shape))


def is_light(node: Node) -> bool:
    """Whether an operation takes a few cycles for a vector."""
    if node.op is None:
        return False
    squared = node.op.name == "power" and is_number(node.args[1]) and node.args[1].value == 2
    return node.op.name in LIGHT or squared


def _cone(node: Node, scope: Scope, needed: set[Node], found: dict[Node, Cone], low: bool) -> tuple[Cone, set[Node]]:
    """The operations that compute `node` from what is kept, and this; no operations if these are too many."""
    cone: dict[Node, None] = {}
    leaves: set[Node] = set()
    stack = [node]
    while stack:
        one = stack.pop()
        if one is not node and (one not in scope.inside or (one in needed and one not in found)):
            leaves.add(scope.base(one))
            continue
        if one in scope.views:
            base = scope.base(one)
            if base in found or (base in scope.inside and base not in needed):
                return (), leaves
            leaves.add(scope.base(one))
            continue
        light = low or is_light(one)
        if scope.kinds[one] != "elementwise" or not light or len(cone) >= (MOST_LOW if low else MOST):
            return (), leaves
        cone[one] = None
        stack += [arg for arg in one.args if arg not in cone and not is_number(arg)]
    return tuple(cone), leaves


def _read(group: Group | Node, scope: Scope) -> set[Node]:
    """What a step reads in any case."""
    return {scope.base(arg) for node in members(group) for arg in node.args}


def _bytes(node: Node) -> int:
    return int(prod(node.shape) * node.dtype.itemsize)
