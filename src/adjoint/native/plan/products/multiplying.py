"""The steps of a product of matrices: copies of its sides, panels, tiles with what is computed after them, or BLAS."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from adjoint.core.types import Value
from adjoint.graph.node import Node
from adjoint.native.codegen import machine
from adjoint.native.codegen.jit import FunctionText
from adjoint.native.codegen.llvm_text import key_of
from adjoint.native.codegen.loops.loop_nest import Expression, broadcast_strides, contiguous
from adjoint.native.codegen.machine import Vectors
from adjoint.native.codegen.routines import matrix_product, matrix_vector, panels
from adjoint.native.codegen.routines.matrix_product import After, Read
from adjoint.native.plan.fusion import Group
from adjoint.native.plan.layout.assembly import is_number
from adjoint.native.plan.layout.views import StridedView
from adjoint.native.plan.memory.arena import StepUse
from adjoint.native.plan.products import blas
from adjoint.native.plan.products.multiply import (
    Cut,
    Sides,
    arranged,
    by_blas,
    copied,
    cut,
    left_packing,
    line_bytes,
    numbers,
    packed_bytes,
    packing,
    sides,
)

if TYPE_CHECKING:
    from adjoint.native.plan.planner import Planner
    from adjoint.native.plan.steps import Copy


class End(NamedTuple):
    """The code that follows a product, at each element: the views that it reads, and the nodes that it stores."""

    reads: list[StridedView]
    expressions: list[Expression]
    stores: list[tuple[int, Node]]


def multiply(planner: Planner, node: Node, group: Group | None = None, needed: set[Node] | None = None) -> None:
    """Add the steps that compute `node`, and what `group` computes of it; of that, what is `needed` is stored."""
    x, y = (planner.view(arg) for arg in node.args)
    if by_blas(x, y):
        _by_blas(planner, node, x, y)
        return
    found = sides(x, y, node.shape)
    for k in found if isinstance(found, list) else ():
        x, y = _put_in_rows(planner, node, x, y, k)
    end = end_of(planner, node, group, needed or set())
    form = arranged(x, y, node.shape, [view.read(view.base.dtype, node.shape).strides for view in end.reads])
    assert form is not None, (x, y, end)
    _by_tiles(planner, node, (x, y), form, end, group)


def _put_in_rows(
    planner: Planner, node: Node, x: StridedView, y: StridedView, k: int
) -> tuple[StridedView, StridedView]:
    """The sides of a product with one of them copied."""
    view = (x, y)[k]
    shape = copied(view, (*node.shape[: max(len(x.shape), len(y.shape)) - 2], 0, 0))
    copy = planner.scratch(node, shape)
    strides = broadcast_strides(view.strides, view.shape, shape)
    planner.put_in_order(view._replace(shape=shape, strides=strides), copy)
    moved = StridedView(copy, shape, contiguous(shape))  # type: ignore[arg-type]  # a value all the same
    return (moved, y) if k == 0 else (x, moved)


def end_of(planner: Planner, node: Node, group: Group | None, needed: set[Node]) -> End:
    if group is None:
        return End([], [], [(0, node)])
    inside, places = set(group.nodes), {node: 0}
    outside = dict.fromkeys(arg for n in group.nodes for arg in n.args if arg not in inside and arg is not node)
    read = [arg for arg in outside if not is_number(arg)]
    places |= {arg: i for i, arg in enumerate(read, 1)}
    expressions: list[Expression] = []
    for n in group.nodes:
        planner.express(n, 1 + len(read), expressions, places)
    stores = [(places[n], n) for n in (node, *group.nodes) if n in needed]
    return End([planner.view(arg) for arg in read], expressions, stores)


def _by_tiles(
    planner: Planner, node: Node, xy: tuple[StridedView, StridedView],
    form: tuple[Sides, list[tuple[int, int, int]]], end: End, group: Group | None,
) -> None:  # fmt: skip
    (x, y), (found, places), dtype = xy, form, key_of(node.dtype)
    how, size = cut(found, dtype, machine.vectors()), node.dtype.itemsize
    right: tuple[Value, int] = (y.base, y.offset * size)
    for view in (x, y):
        planner.hold(view.base)
    if how.packed:
        right = _packed(planner, node, y, found, how), 0
    moves: list[int] = []
    for (row, _, stack), view in zip(places, end.reads, strict=True):
        moves += (row * view.base.dtype.itemsize, stack * view.base.dtype.itemsize)
    for _, n in end.stores:
        moves += (found.columns * n.dtype.itemsize, found.rows * found.columns * n.dtype.itemsize)
    own = operands_of(planner, end)
    use = use_of(end, (x.base, right[0]), node.shape, y.base)
    nodes = tuple(group.members) if group else (node,)
    scratch = None
    if how.packed_left:
        panels_of = -(-found.rows // how.tiles.rows) * (found.stack if found.a[2] else 1)
        scratch = planner.scratch(node, (panels_of * how.tiles.rows * min(how.steps, found.inner),))
        use = use._replace(reads=(scratch, *use.reads))
    for start in range(0, found.inner, how.steps):
        part = start, min(start + how.steps, found.inner)
        kernel = how.tiles._replace(resumes=start > 0)
        told = numbers(found, how, part)
        left: tuple[Value, int] = (x.base, (x.offset + start * found.a[1]) * size)
        if scratch is not None:
            narrow = machine.vectors()._replace(bytes=how.tiles.rows * size)
            function = _panels(planner, dtype, 1, found.a[1] == 1, narrow)
            told_first = left_packing(found, how, part)
            planner.multiplied(
                function, [left, (scratch, 0)], told_first, (), StepUse((x.base,), (scratch,), {}), "kernel"
            )
            left = scratch, 0
        further = part[0] * (line_bytes(found, how) if how.packed else found.b[0] * size)
        operands = [left, (right[0], right[1] + further), *own]
        function = kernel_of(planner, kernel, end, group)
        done = found.stack * found.rows, found.columns, part[1] - part[0]
        planner.multiplied(function, operands, [*told, *moves], nodes, use, "product", done)


def kernel_of(planner: Planner, tiles: matrix_product.Tiles, end: End, group: Group | None) -> FunctionText:
    """The kernel; that of an equal product, if there was one."""
    key: Hashable = tiles
    after = None
    if group is not None:
        reads = tuple(Read(key_of(view.base.dtype), bool(along[-1])) for view, along in
                      zip(end.reads, _reads(end, group.domain), strict=True))  # fmt: skip
        after = After(reads, tuple(end.expressions), tuple((k, key_of(n.dtype)) for k, n in end.stores))
        key = tiles, reads, tuple((e.key, e.args) for e in end.expressions), after.stores
    if key not in planner.known:
        planner.known[key] = matrix_product.write(tiles, machine.vectors(), after)
    return planner.known[key]


def strides_of(end: End, shape: tuple[int, ...]) -> Iterator[tuple[tuple[int, ...], int]]:
    """For each array that is read or stored where the product is: its strides there, and the bytes of an element."""
    yield from zip(_reads(end, shape), (view.base.dtype.itemsize for view in end.reads), strict=True)
    for _, node in end.stores:
        yield contiguous(shape), node.dtype.itemsize


def _reads(end: End, shape: tuple[int, ...]) -> list[tuple[int, ...]]:
    return [view.read(view.base.dtype, shape).strides for view in end.reads]


def operands_of(planner: Planner, end: End) -> list[tuple[object, int]]:
    """Where the arrays lie that are read or stored where the product is."""
    read = [(planner.hold(view.base), view.offset * view.base.dtype.itemsize) for view in end.reads]
    return read + [(node, 0) for _, node in end.stores]


def use_of(end: End, sides: tuple[object, ...], shape: tuple[int, ...], *others: object) -> StepUse:
    """What the step does to memory that reads these sides of a product; `others` are read for it, too."""
    reads = dict.fromkeys((*sides, *(view.base for view in end.reads)))
    return StepUse(tuple(reads), tuple(node for _, node in end.stores), _instead(end, {*sides, *others}, shape))


def _instead(end: End, sides: set[object], shape: tuple[int, ...]) -> dict[object, tuple[object, ...]]:
    """For each array that is written, those whose places it may take: read once, element by element in its order."""
    bases = [view.base for view in end.reads]
    whole = contiguous(shape)
    alike = [v.base for v in end.reads if bases.count(v.base) == 1 and v.base not in sides and v.offset == 0
             and v.shape == shape and v.strides == whole]  # fmt: skip
    return {n: tuple(b for b in alike if b.dtype.itemsize == n.dtype.itemsize) for _, n in end.stores}


def _packed(planner: Planner, node: Node, y: StridedView, found: Sides, how: Cut) -> Copy:
    """B's panels, which a step of its own makes, unless there are some already."""
    known = planner.copied.get((y, how.packed, how.tiles.columns, found.stack, found.b))
    if known is not None:
        return known
    size, turned = node.dtype.itemsize, found.b[1] != 1
    matrices = found.stack if found.b[2] else 1
    scratch = planner.scratch(node, (matrices * packed_bytes(found, how) // size,))
    columns, told = packing(found, how)
    function = _panels(planner, how.tiles.dtype, columns, turned, machine.vectors())
    operands = [(y.base, y.offset * size), (scratch, 0)]
    planner.multiplied(function, operands, told, (), StepUse((y.base,), (scratch,), {}), "kernel")
    planner.copied[y, how.packed, how.tiles.columns, found.stack, found.b] = scratch
    return scratch


def _panels(planner: Planner, dtype: str, columns: int, turned: bool, vectors: Vectors) -> FunctionText:
    key = "panels", dtype, columns, turned, vectors
    if key not in planner.known:
        planner.known[key] = panels.write(dtype, columns, turned, vectors)
    return planner.known[key]


def _by_blas(planner: Planner, node: Node, x: StridedView, y: StridedView) -> None:
    while isinstance(found := blas.product(x, y, node.shape), list):
        for k in found:
            x, y = _put_in_rows(planner, node, x, y, k)
    size = node.dtype.itemsize
    for view in found.operands:
        planner.hold(view.base)
    operands = [*((view.base, view.offset * size) for view in found.operands), (node, 0)]
    use = StepUse(tuple(dict.fromkeys((x.base, y.base))), (node,), {})
    if found.routine == "gemm":
        function = blas.write(key_of(node.dtype))
        planner.multiplied(function, operands, found.numbers, (node,), use, "BLAS", tuple(found.numbers[2:5]))
        return
    function = _with_vector(planner, key_of(node.dtype), found.routine == "along", machine.vectors())
    results, inner, _, count = found.numbers[2:6]
    planner.multiplied(function, operands, found.numbers, (node,), use, "product", (count * results, 1, inner))


def _with_vector(planner: Planner, dtype: str, along: bool, vectors: Vectors) -> FunctionText:
    key = "vector", dtype, along, vectors
    if key not in planner.known:
        planner.known[key] = matrix_vector.write(dtype, along, vectors)
    return planner.known[key]
