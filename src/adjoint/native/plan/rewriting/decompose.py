"""Decomposing operations until only those are left that native code or NumPy computes.

An operation that is written in NumPy calls is captured on symbols, and its nodes take its place: `relu`, `gelu` and
most others need no lowering of their own. A few functions look at values; they are written here once more,
without looking.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import CodeType
from typing import TYPE_CHECKING

import numpy as np

from adjoint.core.errors import AdjointError
from adjoint.core.op import Op
from adjoint.core.registry import op_named
from adjoint.core.types import Array, Axis, Function, Value
from adjoint.graph.captures.on_symbols import on_symbols
from adjoint.graph.node import InTurn, Node, call, in_order, part
from adjoint.graph.rewriting.driver import converted, with_args
from adjoint.graph.symbol import still
from adjoint.native.lower.table import TABLE
from adjoint.native.plan import systems
from adjoint.native.plan.layout import searching
from adjoint.native.plan.layout.assembly import ASSEMBLED
from adjoint.native.plan.layout.indexing import FROM_INDEX, by_positions
from adjoint.native.plan.layout.views import VIEWS
from adjoint.native.plan.products.in_kernels import written_out
from adjoint.native.plan.rewriting import decompositions, extremes, short_sums
from adjoint.native.plan.windows import convolution, pooled
from adjoint.ops.reductions.sums import count_along

if TYPE_CHECKING:
    from adjoint.graph.symbol import Symbol


REDUCED = ("reduce_sum", "reduce_prod", "reduce_max", "reduce_min", "reduce_mean", "any", "all", *extremes.NAMES,
           *(op.name for op in extremes.BESIDE_NAN))  # fmt: skip
WRITTEN_IN_NUMPY = ("standardize", "attend")
KEPT = frozenset((*REDUCED, *VIEWS, *ASSEMBLED, "matmul", "astype", "as_python", "as_numpy", "choose_either"))


def _shifted(x: Value, axis: Axis) -> Value:
    x = x.astype(float) if x.dtype.kind in "iub" else x
    top = np.max(x, axis=axis, keepdims=True)
    return np.where(np.isfinite(top), x - top, np.where(np.equal(x, np.inf), 0, x - top))


def _softmax(x: Array, axis: Axis) -> Value:
    e = np.exp(_shifted(x, axis))
    return e / np.sum(e, axis=axis, keepdims=True)


def _log_softmax(x: Array, axis: Axis) -> Value:
    apart = _shifted(x, axis)
    return apart - np.log(np.sum(np.exp(apart), axis=axis, keepdims=True))


def _logsumexp(a: Value, axis: Axis, keepdims: bool) -> Value:
    top = np.max(a, axis=axis, keepdims=True)
    top = np.where(np.isfinite(top), top, 0).astype(a.dtype)
    total = np.log(np.sum(np.exp(a - top), axis=axis, keepdims=True)) + top
    return total if keepdims else np.reshape(total, np.empty(a.shape).sum(axis=axis).shape)


def _variance(a: Array, axis: Axis, keepdims: bool, ddof: float) -> Value:
    apart = a - np.mean(a, axis=axis, keepdims=True)
    count = max(count_along(a.shape, axis) - ddof, 0)
    square = np.square(apart) if a.dtype.kind != "c" else np.square(np.real(apart)) + np.square(np.imag(apart))
    return np.sum(square, axis=axis, keepdims=keepdims) / float(count)


def _deviation(a: object, axis: Axis, keepdims: bool, ddof: float) -> Value:
    return np.sqrt(_variance(a, axis, keepdims, ddof))


def _negative_log_likelihood(a: Symbol, labels: Symbol, mean: bool, kept: object = None) -> Value:
    """A label that names no class gives nan, since native code raises no errors."""
    apart, count = _shifted(a, -1), a.shape[-1]
    mine = np.equal(labels[..., None], np.arange(count))
    chosen = np.sum(np.where(mine, apart, 0.0), axis=-1)
    chosen = np.where(np.logical_and(np.greater_equal(labels, 0), np.less(labels, count)), chosen, np.nan)
    loss = np.log(np.sum(np.exp(apart), axis=-1)) - chosen
    return np.mean(loss) if mean else loss


INSTEAD: dict[str, Function] = {
    "affine": lambda x, w, b: np.matmul(x, w.T) + b,
    "negative_log_likelihood": _negative_log_likelihood,
    "softmax": _softmax,
    "log_softmax": _log_softmax,
    "reduce_logsumexp": _logsumexp,
    "reduce_var": _variance,
    "reduce_std": _deviation,
    **decompositions.INSTEAD,
    **pooled.INSTEAD,
}


def primitive(outputs: Sequence[Node]) -> list[Node]:
    """The same values, by primitive operations."""
    done: dict[Node, Node] = {}
    draws, given = InTurn(), set(outputs)
    for node in in_order(outputs):
        args = tuple(done[arg] for arg in node.args)
        made = None
        if systems.several(node):
            made = systems.result(node, [done[arg] for arg in node.args[0].args], _computed)
        done[node] = made or draws.in_turn(node, taken_apart(node, args, node in given))
    return [done[node] for node in outputs]


def taken_apart(node: Node, args: tuple[Node, ...], given: bool = False) -> Node:
    if node.op is None:
        return with_args(node, args)
    if node.op is still:
        return args[0]
    if node.op.name == "matmul" and node.dtype == np.float16 and all(arg.dtype == node.dtype for arg in args):
        args = tuple(converted(arg, np.dtype(np.float32), node.place) for arg in args)  # as NumPy computes
        product = call(node.op, args, node.settings, node.shape, args[0].dtype, lambda: node.place)
        return converted(written_out(product, args) or product, node.dtype, node.place)
    if node.op.name == "matmul" and node.dtype is not None:
        args = tuple(converted(arg, node.dtype, node.place) for arg in args)
        return written_out(node, args, given) or with_args(node, args)
    if node.op.name in convolution.NAMES and (made := convolution.taken_apart(node, args)):
        return made
    if node.op.name == "window_put" and (made := pooled.put(node, args, taken_apart)):
        return made
    if made := systems.taken_apart(node, args, _computed):
        return made
    if node.op.name in ("any", "all") and len(args) == 2 and args[1].kind == "constant":
        return call(
            node.op, args[:1], {**node.settings, "axis": args[1].value}, node.shape, node.dtype, lambda: node.place
        )
    if made := extremes.taken_apart(node, args):
        return made
    if node.op.name in searching.NAMES and (made := searching.taken_apart(node, args)):
        return made
    if node.op.name in FROM_INDEX and (placed := by_positions(node, args)):
        return placed
    if node.op.name == "reshape" and node.settings["order"] == "F" and node.shape is not None:
        return _by_columns(node, args[0])
    if node.op.name == "reduce_sum" and node.shape is not None and (made := short_sums.written_out(node, args[0])):
        return made
    same = with_args(node, args)
    if _is_primitive(node.op) or node.shape is None or isinstance(node.shape[0] if node.shape else 0, tuple):
        return same
    try:
        return _captured(node, args) or same
    except (AdjointError, TypeError, ValueError, AttributeError, NotImplementedError):
        return same  # computed by NumPy


def _by_columns(node: Node, arg: Node) -> Node:
    """A reshape that counts the first axis first, as one of the transposed array."""
    assert node.op is not None
    transpose = op_named("transpose")
    settings = {**node.settings, "order": "C", "shape": node.shape[::-1]}
    turned = call(transpose, (arg,), transpose.settings, arg.shape[::-1], arg.dtype, lambda: node.place)
    rows = call(node.op, (turned,), settings, node.shape[::-1], node.dtype, lambda: node.place)
    return call(transpose, (rows,), transpose.settings, node.shape, node.dtype, lambda: node.place)


def _is_primitive(op: Op) -> bool:
    """Whether `op` is left as it is. LAPACK is not even tried on symbols: SciPy miscounts references when it fails."""
    if op.name in KEPT or (op.name in TABLE and op.name not in INSTEAD):
        return True
    if op.multiple or isinstance(op.forward, np.ufunc) or op.flags & {"random", "collective", "creates", "once"}:
        return True
    return op.kind not in ("elementwise", "reduction") and op.name not in INSTEAD and op.name not in WRITTEN_IN_NUMPY


def _captured(node: Node, args: tuple[Node, ...]) -> Node | None:
    """What the operation does, as nodes on `args`; None if it asks for values."""
    assert node.op is not None
    function = INSTEAD.get(node.op.name, node.op.forward)
    each = node.op.kind == "elementwise"
    given = [i for i, arg in enumerate(args) if not (arg.kind == "constant" and np.ndim(arg.value) == 0)]
    if not given or (node.op.kind == "constant" and node.op.name not in INSTEAD):
        return None

    def body(*arrays: Value) -> Value:
        values = [arg.value for arg in args]
        for i, array in zip(given, arrays, strict=True):
            values[i] = array
        return function(*values, **node.settings)

    examples = [np.ones((1,) if each and args[i].shape else args[i].shape, args[i].dtype) for i in given]
    with np.errstate(all="ignore"):
        graph = on_symbols(body, *examples)
    nodes = graph.nodes
    if graph.guards or graph.state is not None or len(graph.outputs) != 1 or any(n.op is node.op for n in nodes):
        return None
    put = {old: args[i] for old, i in zip(graph.inputs, given, strict=True)}
    for inner in nodes:
        if inner not in put:
            put[inner] = _put(inner, tuple(put[arg] for arg in inner.args), each, node.place)
    result = put[graph.outputs[0]]
    if result.dtype is None or (result.dtype.kind == "c" and node.dtype.kind != "c"):
        return None  # not the same operation of these dtypes
    result = converted(result, node.dtype, node.place)
    return result if result.shape == node.shape else None


def _computed(x: Node, function: Callable[[Value], Value], node: Node | None) -> Node:
    """`function` of one array, in primitive operations, in the place of `node`."""
    graph = on_symbols(function, np.ones(x.shape, x.dtype))
    put = {graph.inputs[0]: x}
    for inner in graph.nodes:
        if inner not in put:
            put[inner] = _put(inner, tuple(put[arg] for arg in inner.args), False, node.place if node else x.place)
    return put[graph.outputs[0]]


def _put(inner: Node, args: tuple[Node, ...], each: bool, place: tuple[CodeType, int] | None) -> Node:
    if inner.op is None:
        return part(args[0], inner.value) if args else inner
    shape = np.broadcast_shapes(*(arg.shape for arg in args)) if each else inner.shape
    return taken_apart(call(inner.op, args, inner.settings, shape, inner.dtype, lambda: place), args)
