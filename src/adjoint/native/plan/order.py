"""In which order a kernel goes through the axes of its domain, and how its results lie for later kernels.

Vectors go along the last axis. If that is short (three coordinates, for example), most of a vector stays empty. So
another axis comes last: the one for which reading, computing and writing take the fewest cycles, by a small table.
Values that other kernels read then lie in the new order, too; results, and values that are read whole, lie as in NumPy.
A sum along the short axis is taken element after element, as NumPy takes short sums.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence, Set
from math import prod

from adjoint.core.memory import LINE
from adjoint.graph.node import Node
from adjoint.native.codegen.loops.loop_nest import Spec, collapsed, contiguous
from adjoint.native.codegen.loops.memory import Operand
from adjoint.native.plan.fusion import Group, Scope
from adjoint.native.plan.layout.assembly import RUNNING
from adjoint.native.plan.layout.views import StridedView, plain, reshaped, through

VECTOR = 64  # bytes that a kernel takes at once
SMALL = 1 << 12  # places of a domain, below which its own order is good enough
WORTH = 0.7  # another order must take so much of the time at most
FREELY = 1.5  # or so much, where nothing that is written has to lie as NumPy lays it: the kernels after it gain
# Cycles that a vector takes: of one number, of elements side by side, and of each element that lies elsewhere.
_SAME, _BESIDE, _ELSEWHERE, _COMPUTED, _ACROSS = 0.3, 1.0, 1.2, 0.7, 8.0
_FAR = 5.0  # of an element in a line of its own, which is not in the cache
CACHE = 1 << 18  # bytes
PLACED = frozenset(("join", "pile", *RUNNING))  # assembled place by place, wherever elements lie
OFTEN = 8  # times that elements are read, from which on they are put in the kernel's order first


def movable(scope: Scope, order: Sequence[Group | Node]) -> set[Node]:
    """Values whose elements may lie in any order: only kernels read them, place by place or through simple views."""
    fixed: set[Node] = {node for node in scope.outputs if node not in scope.views}  # a view is copied anyway
    for group in order:
        product = isinstance(group, Group) and group.product is not None
        for node in [group] if isinstance(group, Node) else group.members:
            copied = isinstance(group, Node) and scope.kinds[node] == "matmul"  # if its sides lie badly
            copied = copied or (node.op is not None and node.op.name in PLACED)
            if product or not (copied or scope.kinds[node] in ("elementwise", "reduce", "identity")):
                fixed |= {scope.base(arg) for arg in node.args}
    users: dict[Node, list[Node]] = defaultdict(list)
    for node in scope.nodes:
        if node in scope.views:
            users[scope.base(node)].append(node)
    free = set()
    for group in order:
        if isinstance(group, Group) and group.product is None and len(group.domain) > 1:
            for node in (*group.nodes, *group.reductions):
                if node not in fixed and len(node.shape) > 1 and all(map(_is_simple, users[node])):
                    free.add(node)
        elif isinstance(group, Node) and group.op is not None and group.op.name in PLACED and len(group.shape) > 1:
            if group not in fixed and prod(group.shape) >= SMALL and all(map(_is_simple, users[group])):
                free.add(group)
    return free


def _is_simple(view: Node) -> bool:
    """Whether a view of an array is one in whatever order its elements lie."""
    if view.op is None or view.op.name in ("windows", "real", "diagonal", "diagonals"):
        return False
    return view.op.name != "reshape" or [n for n in view.shape if n > 1] == [n for n in view.args[0].shape if n > 1]


def moved_views(
    node: Node, shape: tuple[int, ...], strides: tuple[int, ...], scope: Scope
) -> dict[Node, StridedView] | None:
    """Where the elements of `node`, and of the views of it, lie; None if one of these has no such form.

    The step that computes `node` writes an array of `shape`, with these strides, which has the same elements in order.
    """
    own = reshaped(StridedView(node, shape, strides), node.shape)
    if own is None:
        return None
    found = {node: own}
    for view in scope.nodes:
        if view in scope.views and scope.base(view) is node:
            shown = through(view, found.get(view.args[0]) or plain(view.args[0]))
            if shown is None:
                return None
            found[view] = shown
    return found


def turned(
    outputs: Sequence[Node], scope: Scope, free: Set[Node], order: Sequence[Group | Node]
) -> dict[Node, dict[Node, StridedView]]:
    """Outputs that show a value with its axes in another order, and where that value, and all views of it, then lie.

    The value may lie in any order (it is `free`), so it is computed right where the output is.
    """
    domains = {node: g.domain for g in order if isinstance(g, Group) for node in g.nodes}
    domains |= {node: node.shape for node in order if isinstance(node, Node)}  # of those that are free, joins and piles
    found = {}
    for output in outputs:
        view = scope.views.get(output)
        if view is None or view.base not in free or domains.get(view.base) != view.base.shape:
            continue
        steps = {step: s for n, step, s in zip(view.shape, view.strides, contiguous(view.shape), strict=True) if n > 1}
        own = contiguous(view.base.shape)
        if view.offset or {s for n, s in zip(view.base.shape, own, strict=True) if n > 1} != steps.keys():
            continue
        moved = moved_views(view.base, view.base.shape, tuple(steps.get(s, s) for s in own), scope)
        if moved is not None and view.size == prod(view.base.shape) and moved[output].is_contiguous:
            found[output] = moved
    return found


def as_it_lies(operand: Operand, domain: Sequence[int]) -> tuple[int, ...] | None:
    """The axes, the outermost first, as the elements of an operand lie; None if it is repeated along one."""
    if any(s <= 0 for n, s in zip(domain, operand.strides, strict=True) if n > 1):
        return None
    return tuple(sorted(range(len(domain)), key=lambda a: (domain[a] > 1, -operand.strides[a] * (domain[a] > 1))))


def chosen(spec: Spec, free: Mapping[int, tuple[bool, ...]]) -> tuple[int, ...]:
    """The order of axes that takes the least time; `free` stores, by number, with the axes that they have."""
    own = tuple(range(len(spec.domain)))
    if len(own) < 2 or len(spec.in_turn) > 1 or any(o.positions is not None or o.adds for _, o, _ in spec.stores):
        return own
    fixed = [*spec.reads, *spec.looked_up, *(o for k, (_, o, _) in enumerate(spec.stores) if k not in free)]
    lies = dict.fromkeys(order for o in fixed if (order := as_it_lies(o, spec.domain)))
    if len(lies) == 1 and not spec.reduced:
        return next(iter(lies))
    if spec.in_turn or prod(spec.domain) < SMALL:
        return own
    width = width_of(spec)
    lengths, _, reads, stores = collapsed(spec)
    if not lengths or (lengths[-1] >= 2 * width and all(s[-1] in (0, 1) for s in (*reads, *stores))):
        return own
    now = _cycles(spec, width)
    worth = FREELY if len(free) == len(spec.stores) and lengths[-1] < 2 * width else WORTH
    found, least = own, worth * now
    last = [(*own[:axis], *own[axis + 1 :], axis) for axis in own[::-1]]
    for order in dict.fromkeys((*lies, *last)):
        if spec.domain[order[-1]] >= 2 * width:
            time = _cycles(reordered(spec, order, free), width)
            if time < least:
                found, least = order, time
    return found


def reordered(spec: Spec, order: tuple[int, ...], free: Mapping[int, tuple[bool, ...]]) -> Spec:
    """The same kernel with its axes in another order, and its free stores in that order."""
    if order == tuple(range(len(order))) and not free:
        return spec
    domain = tuple(spec.domain[axis] for axis in order)

    def turned(operand: Operand) -> Operand:
        return operand._replace(strides=tuple(operand.strides[axis] for axis in order))

    stores = []
    for k, (value, operand, reduction) in enumerate(spec.stores):
        moved = operand._replace(strides=laid(spec.domain, order, free[k])) if k in free else operand
        stores.append((value, turned(moved), reduction))
    expressions = [e._replace(array=turned(e.array)) if e.array else e for e in spec.expressions]
    reduced, in_turn = (
        frozenset(k for k, axis in enumerate(order) if axis in axes) for axes in (spec.reduced, spec.in_turn)
    )
    return Spec(domain, [*map(turned, spec.reads)], expressions, stores, reduced, in_turn)


def laid(domain: Sequence[int], order: Iterable[int], has: Sequence[bool]) -> tuple[int, ...]:
    """Strides along the axes of `domain` of an array that has some of them, and lies in this order."""
    strides, step = [0] * len(domain), 1
    for axis in reversed(list(order)):
        if has[axis]:
            strides[axis] = step
            step *= domain[axis]
    return tuple(strides)


def rare(operand: Operand, domain: Sequence[int]) -> bool:
    """Whether an operand lies badly for the last axis, and is read so often that it pays to copy it."""
    size = prod(n for n, s in zip(domain, operand.strides, strict=True) if s)
    return operand.strides[-1] not in (0, 1) and size * OFTEN <= prod(domain)


def width_of(spec: Spec) -> int:
    sizes = [int(o.dtype[1]) for o in (*spec.reads, *(o for _, o, _ in spec.stores)) if o.dtype[0] == "f"]
    return VECTOR // max(4, *sizes, 0)


def _cycles(spec: Spec, width: int) -> float:
    """About how many cycles a kernel takes."""
    lengths, reduced, reads, stores = collapsed(spec)
    if not lengths:
        return 0.0
    rows, last = prod(lengths[:-1]), -(-lengths[-1] // width)
    each = _COMPUTED * len(spec.expressions)
    for operand, strides in zip((*spec.reads, *spec.looked_up), reads, strict=True):
        often = rare(operand._replace(strides=tuple(strides)), lengths)
        close = strides[-1] == 1 or often
        each += _SAME if strides[-1] == 0 else _BESIDE if close else _apart(operand, strides, lengths) * width
    for (_, operand, reduction), strides in zip(spec.stores, stores, strict=True):
        across = reduction is not None and reduced[-1]
        close = reduction is not None or strides[-1] == 1
        each += _ACROSS / last if across else _BESIDE if close else _apart(operand, strides, lengths) * width
    return rows * last * each


def _apart(operand: Operand, strides: Sequence[int], lengths: Sequence[int]) -> float:
    """Cycles for an element of an operand whose elements do not lie side by side along the last axis."""
    size = int(operand.dtype[1])
    bytes_of = size * prod(n for n, s in zip(lengths, strides, strict=True) if s)
    return _FAR if abs(strides[-1]) * size >= LINE and bytes_of > CACHE else _ELSEWHERE
