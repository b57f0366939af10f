"""Arrays that are put together piece by piece: joins, regions, scatters, windows added up, and running results.

Each is a few kernels that write to one array, one after another. The values underneath (zeros, for example) come first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import NamedTuple

import numpy as np

from adjoint.graph.node import Node
from adjoint.native.codegen.llvm_text import Code, IRValue, float_text, key_of
from adjoint.native.codegen.loops.loop_nest import Expression, Reduction, Spec, contiguous
from adjoint.native.codegen.loops.memory import Operand, sum_of
from adjoint.native.lower import maths
from adjoint.native.lower import table as lowering
from adjoint.native.plan.layout.indexing import PUT, SCATTER
from adjoint.native.plan.layout.piecewise import ASSEMBLE
from adjoint.native.plan.layout.regions import Region, along, meeting, tiles
from adjoint.native.plan.layout.views import StridedView, plain, region

RUNNING: dict[str, Callable[[Code, IRValue, IRValue], IRValue]] = {
    "running_sum": lambda code, x, y: x + y,
    "running_product": lambda code, x, y: x * y,
    "running_max": lowering.maximum,
    "running_min": lowering.minimum,
    "running_logsumexp": lambda code, x, y: maths.FUNCTIONS["logaddexp"](code, x, y),
}
ASSEMBLED = ("assemble", "scatter_add", "join", "pile", "overwrite", "pad_zeros", "overlap_add", *RUNNING)


TILED = 1 << 12  # elements of an array whose regions are added up box by box, if they meet


class Part(NamedTuple):
    """A part of an array: a value, or zeros.

    With `terms`, it is the sum of what these values have for the `box`, each of which lies at a region.
    """

    value: Node | None
    place: StridedView
    adds: bool = False
    terms: tuple[tuple[Node, Region], ...] = ()
    box: Region | None = None

    @property
    def is_number(self) -> bool:
        return self.value is None or is_number(self.value)


def refusal(node: Node) -> str:
    """Why no kernels assemble the node; empty, if some do."""
    assert node.op is not None
    name, out = node.op.name, key_of(node.dtype)
    if name in RUNNING:
        odd = out == "b1" or (name == "running_logsumexp" and out[0] != "f")
        return f"dtype {node.dtype}" if odd else ""
    return "" if parts(node) is not None else "an index of arrays"


class PartValues(NamedTuple):
    """What a part is made of: where the elements of values lie, which are computed again here, and how."""

    view: Callable[[Node], StridedView]
    again: Mapping[Node, tuple[Node, ...]] = {}
    express: Callable[[Node, int, list[Expression], dict[Node, int]], None] | None = None


def is_tiled(node: Node) -> bool:
    """Whether an array is put together box by box, as sums."""
    return node.op is ASSEMBLE and all(part.box is not None for part in parts(node) or [Part(None, plain(node))])


def spec_of(part: Part, node: Node, values: PartValues) -> Spec:
    """The kernel that puts a part to its place."""
    dtype, place, value = key_of(node.dtype), part.place, part.value
    target = Operand(node, dtype, place.strides, place.offset * node.dtype.itemsize, adds=part.adds)
    if part.box is not None and part.terms:
        return _summed(part, part.box, target, values)
    if value is None or is_number(value):
        fill = number_as(0 if value is None else value.value, dtype)
        return Spec(place.shape, [], [fill], [(0, target, None)])
    return Spec(place.shape, [values.view(value).read(value.dtype, place.shape)], [], [(0, target, None)])


def as_one(node: Node, specs: list[Spec]) -> list[Spec]:
    """Copies of both parts of complex numbers as one kernel: its two stores never meet, so their order is free."""
    if len(specs) != 2 or node.op is not ASSEMBLE or node.settings["below"]:
        return specs
    if any(meeting(node.shape, node.settings["regions"]).earlier) or specs[0].domain != specs[1].domain:
        return specs
    if any(spec.expressions or len(spec.reads) != 1 for spec in specs):
        return specs
    stores = [(k, spec.stores[0][1], None) for k, spec in enumerate(specs)]
    return [Spec(specs[0].domain, [spec.reads[0] for spec in specs], [], [*stores])]


def _summed(part: Part, box: Region, target: Operand, values: PartValues) -> Spec:
    """The sum of what some values have for a box."""
    reads: dict[Operand, int] = {}
    terms: list[tuple[Node, dict[Node, int]]] = []
    for value, where in part.terms:
        cone = values.again.get(value, ())
        wanted = [arg for one in cone for arg in one.args if arg not in cone and not is_number(arg)] or [value]
        places: dict[Node, int] = {}
        for arg in wanted:
            read = _at(values.view(arg).read(arg.dtype, value.shape), box, where)
            places[arg] = reads.setdefault(read, len(reads))
        terms.append((value, places))
    made: list[Expression] = []
    for value, places in terms:
        for one in values.again.get(value, ()):
            assert values.express is not None
            values.express(one, len(reads), made, places)
    total = terms[0][1][terms[0][0]]
    for value, places in terms[1:]:
        made.append(Expression(lambda code, x, y: sum_of(x, y), (total, places[value]), ("sum", target.dtype)))
        total = len(reads) + len(made) - 1
    return Spec(part.place.shape, list(reads), made, [(total, target, None)])


def _at(read: Operand, box: Region, where: Region) -> Operand:
    """Move an operand, which is read over a value that lies at a region, to a box of the array."""
    apart = [0] * len(box.start)
    for axis, stride in zip(where.axes, read.strides, strict=True):
        if axis >= 0:
            apart[axis] = stride
    away = sum((b - r) * s for b, r, s in zip(box.start, where.start, apart, strict=True))
    return read._replace(strides=tuple(apart), offset=read.offset + away * int(read.dtype[1]))


def apart(node: Node, first: StridedView) -> tuple[int, ...]:
    """Strides of a join or a pile whose parts lie one after another, each as the `first` of them lies.

    Running results lie as what they are made of.
    """
    if _is_running(node):
        return _ordered(node.shape, sorted(range(len(node.shape)), key=lambda a: -abs(first.strides[a])))
    axis = node.settings["axis"] % len(node.shape)
    others = [a for a in range(len(node.shape)) if a != axis]
    own = first.strides if len(first.strides) == len(node.shape) else None
    steps = dict(zip(others, [own[a] for a in others] if own else first.strides, strict=True))
    return _ordered(node.shape, [axis, *sorted(others, key=lambda a: -steps[a])])


def _ordered(shape: tuple[int, ...], order: Sequence[int]) -> tuple[int, ...]:
    """Strides of an array whose axes lie in this order, the outermost first."""
    strides, step = [0] * len(order), 1
    for a in reversed(order):
        strides[a], step = step, step * shape[a]
    return tuple(strides)


def _is_running(node: Node) -> bool:
    return node.op is not None and node.op.name in RUNNING


def laid_apart(node: Node, strides: tuple[int, ...]) -> list[Part]:
    """The parts of a join or a pile that lies with these strides; running results have none."""
    if _is_running(node):
        return []
    axis, found, start = node.settings["axis"] % len(node.shape), list[Part](), 0
    for arg in node.args:
        joined = len(arg.shape) == len(node.shape)
        shape, own = arg.shape, strides if joined else strides[:axis] + strides[axis + 1 :]
        found.append(Part(arg, StridedView(node, shape, own, start * strides[axis])))
        start += arg.shape[axis] if joined else 1
    return found


def further(node: Node, view: Callable[[Node], StridedView], own: tuple[int, ...] | None = None) -> list[Spec]:
    """The kernels for `node`, which lies with the strides `own` or in order, that come after its parts."""
    assert node.op is not None
    if node.op.name in RUNNING:
        return _running(node, view(node.args[0]), own or contiguous(node.shape))
    if node.op in (SCATTER, PUT):
        return [_scattered(node, view)]
    return [_windows(node, view(node.args[0]))] if node.op.name == "overlap_add" else []


def parts(node: Node) -> list[Part] | None:
    """The parts of an array in the order of their writes; None if their elements lie irregularly."""
    assert node.op is not None
    name, settings = node.op.name, node.settings
    if name in RUNNING:
        return []
    if node.op is ASSEMBLE:
        return _of_regions(node)
    if node.op in (SCATTER, PUT):  # what comes below the elements that are written one by one
        return [Part(None if node.op is SCATTER else node.args[2], plain(node))]
    if name == "overlap_add":
        return [Part(None, plain(node))]
    if name == "pad_zeros":
        (inner,) = node.args
        widths = np.broadcast_to(np.asarray(settings["widths"]), (len(node.shape), 2))
        index = tuple(slice(before, before + n) for (before, _), n in zip(widths.tolist(), inner.shape, strict=True))
        place = region(node, index)
        assert place is not None
        return [Part(None, plain(node)), Part(inner, place)]
    if name in ("scatter_add", "overwrite"):
        place = region(node, settings["index"], settings.get("path", ()))
        below = node.args[1] if name == "overwrite" else None
        if place is None or not place.size:
            return None if place is None else [Part(below, plain(node))]
        return [Part(below, plain(node)), Part(node.args[0], place)]
    axis = settings["axis"] % len(node.shape)
    found: list[Part] = []
    start = 0
    for arg in node.args:
        length = arg.shape[axis] if name == "join" else 1
        place = along(node.shape, axis, start, length if name == "join" else None).view(node)
        found.append(Part(arg, place))
        start += length
    return found


def _of_regions(node: Node) -> list[Part]:
    """The parts of an array that is put together of regions."""
    settings = node.settings
    values, regions, adds = list(node.args), settings["regions"], settings["adds"]
    met = meeting(node.shape, regions)
    if any(met.earlier) and (found := _in_tiles(node, values, regions)):
        return found
    if settings["below"]:
        found = [Part(values.pop(0), plain(node))]
    else:
        found = [] if met.covered else [Part(None, plain(node))]
        adds = [a and m for a, m in zip(adds, met.earlier, strict=True)]
    each = zip(values, regions, adds, strict=True)
    return found + [Part(value, place.view(node), adds) for value, place, adds in each]


def _in_tiles(node: Node, values: Sequence[Node], regions: Sequence[Region]) -> list[Part]:
    """A large array of regions that meet: each box of it at once, as the sum of what comes there."""
    adds, below = node.settings["adds"], node.settings["below"]
    if prod(node.shape) < TILED or not all(adds):
        return []
    regions = [along(node.shape, 0, 0, node.shape[0]), *regions] if below else regions
    if any(value.shape != region.shape for value, region in zip(values, regions, strict=True)):
        return []
    return [
        Part(None, box.view(node), terms=tuple((values[i], regions[i]) for i in those), box=box)
        for box, those in tiles(node.shape, regions) or ()
    ]


def _scattered(node: Node, view: Callable[[Node], StridedView]) -> Spec:
    """The elements of an array at computed positions, added to the old values or replacing them."""
    settings = node.settings
    reads = [view(arg).read(arg.dtype, settings["region"]) for arg in node.args[:2]]
    offset, adds = settings["offset"] * node.dtype.itemsize, node.op is SCATTER
    target = Operand(node, key_of(node.dtype), settings["strides"], offset, positions=1, adds=adds)
    return Spec(settings["region"], reads, [], [(0, target, None)])


def _windows(node: Node, seen: StridedView) -> Spec:
    """Windows added up, as NumPy would: first what comes first in each, from all of them."""
    settings, rank = node.settings, len(node.shape)
    count, size, whole = len(seen.shape) - rank, node.dtype.itemsize, contiguous(node.shape)
    order = [*range(rank, rank + count), *range(rank)]
    shape = tuple(seen.shape[i] for i in order)
    source = Operand(seen.base, key_of(node.dtype), tuple(seen.strides[i] for i in order), seen.offset * size)
    target = Operand(node, key_of(node.dtype), (*(whole[i] for i in settings["axis"]), *whole), adds=True)
    return Spec(shape, [source], [], [(0, target, None)], in_turn=frozenset(range(count)))


def _running(node: Node, seen: StridedView, own: tuple[int, ...]) -> list[Spec]:
    """Each result from the one before it."""
    assert node.op is not None
    axis, kind, size = node.settings["axis"] % len(node.shape), key_of(node.dtype), node.dtype.itemsize
    given, name = node.args[0].dtype, node.op.name
    wide = "f4" if kind == "f2" else kind

    def domain(n: int) -> tuple[int, ...]:
        return (*node.shape[:axis], n, *node.shape[axis + 1 :])

    def source(start: int) -> Operand:
        return Operand(
            seen.base, key_of(given), seen.strides, (seen.offset + start * seen.strides[axis]) * given.itemsize
        )

    def target(start: int) -> Operand:
        return Operand(node, kind, own, start * own[axis] * size)

    def step(code: Code, before: IRValue, x: IRValue) -> IRValue:
        return RUNNING[name](code, before.to(wide), x.to(wide)).to(kind)

    first = Expression(lambda code, x: x.to(kind), (0,), ("to", kind))
    found = [Spec(domain(1), [source(0)], [first], [(1, target(0), None)])]
    if node.shape[axis] > 1:
        after = Expression(step, (0, 1), (name, kind))
        reads = [target(0), source(1)]
        stores: list[tuple[int, Operand, Reduction | None]] = [(2, target(1), None)]
        found.append(Spec(domain(node.shape[axis] - 1), reads, [after], stores, in_turn=frozenset([axis])))
    return found


def number_as(value: float, dtype: str) -> Expression:
    """A constant, told from others by its bits."""
    text = float_text(value, dtype) if dtype[0] == "f" else int(value)
    return Expression(lambda code: code.constant(value, dtype), (), (dtype, text))


def is_number(arg: Node) -> bool:
    return arg.kind == "constant" and np.ndim(arg.value) == 0
