"""Checks that a graph is well formed."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy as np

from adjoint.core.box import apply
from adjoint.core.errors import GraphError
from adjoint.core.op import Op
from adjoint.core.types import Array, DType, Function, ShapeLike, Value
from adjoint.graph.node import Node, frozen
from adjoint.graph.python_numbers import is_number

if TYPE_CHECKING:
    from adjoint.graph.graph import Graph


def verify(graph: Graph) -> None:
    """Raise `GraphError` unless `graph` is in order; see `adjoint.graph.graph.Graph.verify`.

    Each node comes after what it uses; no two nodes are the same call; every input that is used is one of the
    graph's; and operations on values of the stated shapes and dtypes give such values.
    """
    for output in graph.outputs:
        if not isinstance(output, Node):
            raise GraphError(f"an output is no node: {output!r}")
    if graph.written and graph.state is None:
        raise GraphError("the graph writes state, but has none")
    known, first = set(graph.inputs), dict[Value, Node]()
    if len(known) != len(graph.inputs):
        raise GraphError("the graph lists an input twice")
    for node in graph.nodes:
        late = [arg for arg in node.args if arg.number >= node.number]
        if late:
            raise GraphError(f"{node!r} uses {late[0]!r}, which is younger")
        if node.kind == "input" and node not in known:
            own = ", ".join(str(n.value) for n in graph.inputs)
            raise GraphError(f"{node!r} is an input, but not one of the graph's: {own}")
        key = _key(node)
        if key is not None and first.setdefault(key, node) is not node:
            raise GraphError(f"{node!r} and {first[key]!r} are the same {node.kind}, but two nodes")
        if node.op is not None:
            _check_call(node, node.op)
        _check_kind(node)


def _key(node: Node) -> Value:
    """A key that no other node of a graph may have; None for inputs, random draws and messages, which are all apart."""
    if node.op is not None:
        return None if node.op.ordered else (node.op, node.args, node.shape, node.dtype, frozen(node.settings))
    if node.args:
        return node.args, node.value
    return None if node.kind == "input" else ("constant", frozen(node.value), node.shape)


def _check_call(node: Node, op: Op) -> None:
    count = len(op.inputs)
    if op.inputs[0][0] != "*" and len(node.args) != count:
        raise GraphError(f"{node!r}: {op.name} takes {count} arrays; it has {len(node.args)}")
    unknown = node.settings.keys() - op.settings.keys()
    if unknown and not (op.kind == "constant" and op.inputs[0][0] == "*"):  # NumPy's own keywords
        raise GraphError(f"{node!r}: {op.name} has no setting {', '.join(map(repr, sorted(unknown)))}")


def _check_kind(node: Node) -> None:
    """The shape and dtype of `node`, against what its operation gives for some arguments of theirs."""
    if node.shape is None or any(arg.shape is None for arg in node.args) or node.kind == "input":
        return
    stated = (node.shape, node.dtype)
    if node.kind == "constant":
        if stated != _kind_of(node.value):
            raise GraphError(f"{node!r} says {stated[0]} {stated[1]}, but it holds {_kind_of(node.value)}")
        return
    if node.op is None:
        (whole,) = node.args
        if node.value >= len(whole.shape):
            raise GraphError(f"{whole!r} has no part {node.value}")
        found = [(whole.shape[node.value], whole.dtype[node.value])]
    elif any(arg.value is None and arg.dtype.kind not in "fc" for arg in node.args) or not _predictable(node.op):
        return  # whole numbers may be places, which ones are not
    else:
        found = []
        for sample in (_ones, _drawn, _positive_definite, _turning):
            found += _kinds(node, sample)
            if stated in found:
                return
    if found and stated not in found:
        raise GraphError(f"{node!r} says {stated[0]} {stated[1]}, but its operation gives {found[0][0]} {found[0][1]}")


def _predictable(op: Op) -> bool:
    """Whether what an operation gives has a shape that does not depend on values, as that of np.nonzero does."""
    return not op.ordered and (op.kind != "constant" or isinstance(op.forward, np.ufunc))


def _kinds(node: Node, sample: Function) -> list[tuple[Value, Value]]:
    """Shape and dtype of what the operation gives for one sort of sample; nothing, if it takes no such values."""
    assert node.op is not None
    values = [_value(arg, sample) for arg in node.args]
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return [_kind_of(apply(node.op, values, node.settings))]
    except (ArithmeticError, np.linalg.LinAlgError):
        return []
    except (TypeError, ValueError, IndexError) as error:
        raise GraphError(f"{node!r}: its operation refuses such arguments: {error}") from error


def _value(arg: Node, sample: Function) -> Array:
    if arg.kind == "constant":
        return arg.value
    if arg.shape:
        return sample(arg.shape, arg.dtype)
    return arg.dtype.type(1).item() if is_number(arg) else arg.dtype.type(1)


def _ones(shape: ShapeLike, dtype: DType) -> Value:
    return np.ones(shape, dtype)


def _drawn(shape: ShapeLike, dtype: DType) -> Value:
    return np.asarray(np.random.default_rng(0).standard_normal(shape), dtype)


def _positive_definite(shape: ShapeLike, dtype: DType) -> Value:
    a = _drawn(shape, dtype)
    return 0.01 * np.abs(a) + np.eye(*shape[-2:], dtype=dtype) if len(shape) > 1 else np.abs(a)


def _turning(shape: ShapeLike, dtype: DType) -> Value:
    """A matrix with complex eigenvalues, for operations that give complex arrays for some values only."""
    return (
        np.triu(np.ones(shape, dtype)) - np.tril(np.ones(shape, dtype), -1)
        if len(shape) > 1
        else -np.ones(shape, dtype)
    )


def _kind_of(out: Array) -> tuple[Value, Value]:
    if isinstance(out, tuple | list):
        return tuple(np.shape(x) for x in out), tuple(np.asarray(x).dtype for x in out)
    return np.shape(out), np.asarray(out).dtype
