"""Systems of linear equations: factors of small matrices, and solutions by these, as steps of native code.

`solve`, `inv`, `det`, `slogdet`, `cholesky` and triangles of up to `LARGEST` rows become `FACTORS`, `ROOT`, `SOLVED`
and `TRIANGLE`; larger ones are computed by LAPACK, as in NumPy. Everything that uses a matrix or its transpose
shares its factors. A singular matrix raises no error here: `checks` finds out whether more than rounding is
left of its columns; if not, NumPy computes the call, and decides whether to raise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from adjoint.core.op import Op
from adjoint.core.registry import op_named
from adjoint.core.types import Array, DType, Value
from adjoint.graph.node import Node, call, constant
from adjoint.graph.rewriting.driver import converted, reshaped
from adjoint.native.codegen import machine
from adjoint.native.codegen.llvm_text import key_of
from adjoint.native.codegen.loops.loop_nest import broadcast_strides, contiguous
from adjoint.native.codegen.routines import linear_systems
from adjoint.native.codegen.routines.linear_systems import SystemKind
from adjoint.native.plan.layout import indexing
from adjoint.native.plan.layout.indexing import never
from adjoint.native.plan.layout.views import VIEWS, StridedView, plain, through
from adjoint.native.plan.memory.arena import StepUse
from adjoint.native.plan.products.multiply import stacked

if TYPE_CHECKING:
    from adjoint.native.plan.planner import Planner

LARGEST = 64  # rows of a matrix, from which on LAPACK's blocks are faster than rows one by one

# a (..., n, n) -> for each matrix n * n numbers of its packed factors, n exchanges of rows, and 1 if it may be singular
FACTORS = Op("factors", never, ("a",))
# a (..., n, n) -> the upper triangle u with u.T @ u = a, of which the lower triangle is read
ROOT = Op("root", never, ("a",))
# factors, b (..., n, k) -> x
SOLVED = Op("solved", never, ("factors", "b"), settings={"transposed": False, "raises": True})
# a (..., n, n), b (..., n, k) -> x
TRIANGLE = Op("triangle", never, ("a", "b"), settings={"lower": True, "unit": False})
_ZERO = constant(0.0)
SYSTEMS = (FACTORS, ROOT, SOLVED, TRIANGLE)
SEVERAL = ("solve_keeping_factors", "slogdet_keeping_factors", "det_keeping_factors", "sign_and_logdet", "packed_lu")
ONE = ("stacked_solve", "inv", "stacked_det", "cholesky_factor", "triangular_solve")

Simple = Callable[..., Node]


def several(node: Node) -> bool:
    """Whether `node` is one of several results of an operation that is taken apart here."""
    return node.op is None and bool(node.args) and node.args[0].op is not None and node.args[0].op.name in SEVERAL


def result(node: Node, args: Sequence[Node], simple: Simple) -> Node | None:
    """One of several results; `args` are the operation's own, `simple` decomposes the nodes in between."""
    (whole,), number = node.args, node.value
    assert whole.op is not None
    name = whole.op.name
    if not _fits(args, node.dtype):
        return None
    factors = _factors(args[0], node.dtype)
    first = {"solve_keeping_factors": 1, "packed_lu": 0, "det_keeping_factors": 1}.get(name, 2)
    if number == first:
        return simple(factors, partial(_packed, n=args[0].shape[-1]), node)
    if number == first + 1:
        return simple(factors, partial(_exchanges, n=args[0].shape[-1]), node)
    if name == "solve_keeping_factors":
        return _solved(args[0], args[1], node)
    values = {"det_keeping_factors": (_determinant,)}.get(name, (_sign, _logarithm))
    return simple(factors, partial(values[number], n=args[0].shape[-1]), node)


def taken_apart(node: Node, args: Sequence[Node], simple: Simple) -> Node | None:
    """An operation of equations by factors and solutions; None if it is left to NumPy."""
    assert node.op is not None
    name = node.op.name
    if name not in ONE or not _fits(args, node.dtype):
        return None
    n = args[0].shape[-1]
    if name == "stacked_solve":
        return _solved(args[0], args[1], node)
    if name == "inv":
        return _solved(args[0], constant(np.eye(n, dtype=node.dtype)), node)
    if name == "stacked_det":
        return simple(_factors(args[0], node.dtype), partial(_determinant, n=n), node)
    if name == "cholesky_factor":
        half = simple(args[0], lambda a: (a + np.swapaxes(a, -1, -2)) * a.dtype.type(0.5), None)
        root = call(ROOT, (half,), {}, node.shape, node.dtype, lambda: node.place)
        return simple(root, lambda u: np.swapaxes(u, -1, -2), node)
    lower, turned = node.settings["lower"], node.settings["trans"] != 0
    a = simple(args[0], lambda a: np.swapaxes(a, -1, -2), None) if turned else args[0]
    settings = {"lower": bool(lower) != turned, "unit": bool(node.settings["unit_diagonal"])}
    right = converted(args[1], node.dtype, node.place)
    return call(TRIANGLE, (converted(a, node.dtype, node.place), right), settings, node.shape, node.dtype,
                lambda: node.place)  # fmt: skip


def _fits(args: Sequence[Node], dtype: DType) -> bool:
    a = args[0]
    square = len(a.shape) >= 2 and a.shape[-1] == a.shape[-2] and 0 < a.shape[-1] <= LARGEST
    real = all(arg.dtype is not None and arg.dtype.kind in "fiub" for arg in args)
    return square and real and dtype.char in "fd" and all(0 not in arg.shape for arg in args)


def _factors(a: Node, dtype: DType) -> Node:
    a, n = converted(a, dtype), a.shape[-1]
    return call(FACTORS, (a,), {}, (*a.shape[:-2], n * (n + 1) + 1), dtype, lambda: a.place)


def _solved(a: Node, b: Node, node: Node) -> Node | None:
    """The solution for `a`, by the factors of what `a` shows, if it is a matrix turned."""
    dtype, vector = node.dtype, len(b.shape) == 1
    base = _turned(a)
    b = converted(b, dtype, node.place)
    b = reshaped(b, (*b.shape, 1)) if vector else b
    shape = (*np.broadcast_shapes(a.shape[:-2], b.shape[:-2]), *b.shape[-2:])
    settings = {"transposed": base is not None, "raises": True}
    made = call(SOLVED, (_factors(base or a, dtype), b), settings, shape, dtype, lambda: node.place)
    return reshaped(made, node.shape)


def _turned(a: Node) -> Node | None:
    """The matrix whose rows are the columns of `a`, if `a` is no more than that."""
    if a.op is None or a.op.name not in VIEWS or len(a.args) != 1:
        return None
    base = a.args[0]
    if len(base.shape or ()) != len(a.shape) or base.shape[-1] != base.shape[-2] or base.dtype != a.dtype:
        return None
    shown, own = through(a, plain(base)), contiguous(base.shape)
    return base if shown is not None and shown.strides == (*own[:-2], own[-1], own[-2]) and not shown.offset else None


def _packed(f: Value, n: int) -> object:
    return np.reshape(f[..., : n * n], (*f.shape[:-1], n, n))


def _exchanges(f: Array, n: int) -> Array:
    return f[..., n * n : n * n + n]


def _diagonal(f: Array, n: int) -> Array:
    return f[..., 0 : n * n : n + 1]


def _parity(f: Array, n: int) -> Array:
    moved = np.not_equal(_exchanges(f, n), np.arange(n, dtype=f.dtype))
    return np.prod(np.where(moved, f.dtype.type(-1), f.dtype.type(1)), axis=-1)


def _determinant(f: Array, n: int) -> Array:
    return np.prod(_diagonal(f, n), axis=-1) * _parity(f, n)


def _sign(f: Array, n: int) -> Array:
    return np.prod(np.sign(_diagonal(f, n)), axis=-1) * _parity(f, n)


def _logarithm(f: Array, n: int) -> Array:
    return np.sum(np.log(np.abs(_diagonal(f, n))), axis=-1)


# -- What is asked ------------------------------------------------------------------------------------


def checks(nodes: Iterable[Node]) -> list[Node]:
    """Whether indices are inside, and no matrix is singular, as one node; none if nothing is asked."""
    nodes = list(nodes)
    asked: list[Node] = []
    for node in dict.fromkeys(nodes):
        if node.op is SOLVED and node.settings["raises"]:
            asked.append(_every("equal", _part(node.args[0], slice(-1, None)), _ZERO))
        elif node.op is ROOT:
            root, (a,) = _on_diagonal(node), node.args
            least = constant(np.asarray(8 * node.shape[-1] * np.finfo(node.dtype).eps, node.dtype))
            asked.append(
                _every("greater", _called("multiply", root, root), _called("multiply", _on_diagonal(a), least))
            )
        elif node.op is TRIANGLE and not node.settings["unit"]:
            asked.append(_every("not_equal", _on_diagonal(node.args[0]), _ZERO))
    return indexing.together([*indexing.checks(nodes), *dict.fromkeys(asked)])


def _part(x: Node, along: slice) -> Node:
    op, shape = op_named("getitem"), (*x.shape[:-1], len(range(*along.indices(x.shape[-1]))))
    return call(op, (x,), {**op.settings, "index": (..., along)}, shape, x.dtype)


def _on_diagonal(a: Node) -> Node:
    n = a.shape[-1]
    return _part(reshaped(a, (*a.shape[:-2], n * n)), slice(0, None, n + 1))


def _called(name: str, x: Node, y: Node, dtype: DType = None) -> Node:
    y = y if y.dtype == x.dtype else constant(np.asarray(y.value, x.dtype))
    return call(op_named(name), (x, y), op_named(name).settings, x.shape, dtype or x.dtype)


def _every(question: str, x: Node, y: Node) -> Node:
    """Whether the answer is yes for all elements."""
    every = op_named("all")
    answers = _called(question, x, y, np.dtype(bool))
    return call(every, (answers,), {**every.settings, "axis": None}, (), np.dtype(bool))


# -- Steps --------------------------------------------------------------------------------------------


def step(planner: Planner, node: Node) -> None:
    """Add the step that computes one of `SYSTEMS`."""
    size, n, k = node.dtype.itemsize, node.args[-1].shape[-2], node.args[-1].shape[-1]
    lead = node.shape[: len(node.shape) - (1 if node.op is FACTORS else 2)]
    first, first_stack = _stack(planner, node, node.args[-1], lead)
    numbers = [0, prod(lead), n, k, first.strides[-2] * size, first.strides[-1] * size, first_stack * size]
    if node.op in (FACTORS, ROOT):
        kind: SystemKind = "lu" if node.op is FACTORS else "cholesky"
        numbers += [0, 0, prod(node.shape[len(lead) :]) * size, 0]
        operands = [(first.base, first.offset * size), (node, 0)]
        reads = [first.base]
    else:
        second, stack = _stack(planner, node, node.args[0], lead)
        if node.op is SOLVED:
            kind, steps = "transposed" if node.settings["transposed"] else "solve", (0, 0)
        else:
            lower: SystemKind = "unit lower" if node.settings["unit"] else "lower"
            upper: SystemKind = "unit upper" if node.settings["unit"] else "upper"
            kind, steps = lower if node.settings["lower"] else upper, second.strides[-2:]  # type: ignore[assignment]  # two
        numbers += [steps[0] * size, steps[1] * size, stack * size, n * k * size]
        operands = [(first.base, first.offset * size), (second.base, second.offset * size), (node, 0)]
        reads = [first.base, second.base]
    key = "system", kind, key_of(node.dtype)
    if key not in planner.known:
        planner.known[key] = linear_systems.write(kind, key[2], machine.vectors())
    use = StepUse(tuple(dict.fromkeys(reads)), (node,), {})
    planner.multiplied(planner.known[key], operands, numbers, (node,), use, "kernel")


def _stack(planner: Planner, node: Node, arg: Node, lead: tuple[int, ...]) -> tuple[StridedView, int]:
    """Where the matrices of `arg` lie, and how far apart; a copy, where that differs from one to the next."""
    view = planner.view(arg)
    inner = 1 if arg.op is FACTORS else 2
    shape = (*view.shape[: len(view.shape) - inner], *(1,) * (2 - inner), *view.shape[len(view.shape) - inner :])
    strides = (*view.strides[: len(shape) - 2], *(0,) * (2 - inner), *view.strides[-inner:])
    view = view._replace(shape=shape, strides=strides)
    apart = stacked(view, lead)
    if apart is not None:
        planner.hold(view.base)
        return view, apart
    whole = (*lead, *shape[-2:])
    copy = planner.scratch(node, whole)
    planner.put_in_order(view._replace(shape=whole, strides=broadcast_strides(strides, shape, whole)), copy)
    return StridedView(copy, whole, contiguous(whole)), prod(shape[-2:])  # type: ignore[arg-type]  # a value all the same
