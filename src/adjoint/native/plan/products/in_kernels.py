"""Products that kernels compute: of tiny matrices, of two vectors, of a column and a row.

A call takes longer than such a product, and tiles are not made for it.
"""

from __future__ import annotations

from adjoint.core.registry import op_named
from adjoint.graph.node import Node, call
from adjoint.graph.rewriting.driver import reshaped

TINY = 8, 125  # how long a sum, and how many products, are written out
FEW, LONG = 16, 64  # so few sums of so many products are no matrix, but sums
SMALL = 4  # rows, and products in a sum, of a stack of matrices that are written out
MANY, FEWEST = 256, 3  # or so many rows, of so many columns and products: points in space, moved in several ways


def written_out(node: Node, args: tuple[Node, ...], given: bool = False) -> Node | None:
    """The product `node` of `args` as sums and products place by place; None if it is computed as a whole.

    One that is `given` to the caller has no kernel after it.
    """
    if node.dtype is None or node.dtype.char not in "fd" or any(arg.dtype != node.dtype for arg in args):
        return None
    x, y = args
    x = x if x.shape[1:] else reshaped(x, (1, *x.shape))
    y = y if y.shape[1:] else reshaped(y, (*y.shape, 1))
    (rows, inner), columns = x.shape[-2:], y.shape[-1]
    if inner == 1:
        made = _elementwise("multiply", x, y)
    elif rows == columns == 1:
        turned = reshaped(y, (*y.shape[:-2], 1, inner))
        made = _sum_along(_elementwise("multiply", x, turned))
    elif rows * columns <= FEW and inner >= LONG:
        left = reshaped(x, (*x.shape[:-2], rows, 1, inner))
        turned = _turned(y)
        made = _sum_along(_elementwise("multiply", left, reshaped(turned, (*y.shape[:-2], 1, columns, inner))))
        made = reshaped(made, made.shape[:-1])
    elif (0 < inner <= TINY[0] and rows * inner * columns <= TINY[1]) or _is_small_in_stack(
        node, rows, inner, columns, given
    ):
        made = _term(x, y, 0)
        for k in range(1, inner):
            made = _elementwise("add", made, _term(x, y, k))
    else:
        return None
    return reshaped(made, node.shape)


def _is_small_in_stack(node: Node, rows: int, inner: int, columns: int, given: bool) -> bool:
    stack = 1
    for n in node.shape[: max(len(arg.shape) for arg in node.args) - 2]:
        stack *= n
    columns_of_many = not given and rows >= MANY and inner <= FEWEST and columns <= FEWEST
    return stack > 1 and 0 < inner <= SMALL and (rows <= SMALL or columns_of_many)


def _turned(y: Node) -> Node:
    op = op_named("swapaxes")
    shape = (*y.shape[:-2], y.shape[-1], y.shape[-2])
    return call(op, (y,), {**op.settings, "axis1": -1, "axis2": -2}, shape, y.dtype, lambda: y.place)


def _term(x: Node, y: Node, k: int) -> Node:
    """Column `k` times row `k`."""
    column = _part(x, (..., slice(k, k + 1)), (*x.shape[:-1], 1))
    row = _part(y, (..., slice(k, k + 1), slice(None)), (*y.shape[:-2], 1, y.shape[-1]))
    return _elementwise("multiply", column, row)


def _part(x: Node, index: tuple[object, ...], shape: tuple[int, ...]) -> Node:
    op = op_named("getitem")
    return call(op, (x,), {**op.settings, "index": index}, shape, x.dtype, lambda: x.place)


def _elementwise(name: str, x: Node, y: Node) -> Node:
    before = zip(x.shape[::-1], y.shape[::-1], strict=False)
    common = tuple(m if n == 1 else n for m, n in before)[::-1]
    longer = max(x.shape, y.shape, key=len)
    op = op_named(name)
    shape = (*longer[: len(longer) - len(common)], *common)
    return call(op, (x, y), op.settings, shape, x.dtype, lambda: x.place)


def _sum_along(x: Node) -> Node:
    op = op_named("reduce_sum")
    settings = {**op.settings, "axis": (len(x.shape) - 1,), "keepdims": True}
    return call(op, (x,), settings, (*x.shape[:-1], 1), x.dtype, lambda: x.place)
