"""`TapeNode`: what the tape remembers of one operation, and `record`, which writes it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from typing import cast

from numpy import asarray, ndarray

from adjoint.arrays.layered import Writable
from adjoint.core.backend import is_foreign
from adjoint.core.box import TRACKED, apply, settled
from adjoint.core.leaks.notes import entering, plain
from adjoint.core.objects.foreign import PLAIN, plain_array
from adjoint.core.op import Op
from adjoint.core.rules.cotangents import Projection
from adjoint.core.rules.pullbacks import Pullback, build, dtype_of
from adjoint.core.types import Array, DType, Value
from adjoint.tape.modes import NEVER, recording_floor
from adjoint.tape.writes.foreign import protect, protect_parts

# Sequence numbers fall from -1, because `heapq` pops the smallest: the latest node comes first.
next_order = count(-1, -1).__next__
#: How many pullbacks an operation keeps. There is one for each shape of its outputs, and of these there may be many.
_PULLBACKS = 256


class TapeNode:
    """One recorded operation; or a `Leaf`, where gradients collect.

    Attributes:
        order: minus the sequence number. Creation order is a topological order.
        pullback: takes the cotangent of the result to one cotangent a parent. None for a leaf.
        parents: the nodes of those inputs that are on the tape.
        saved: the values that `pullback` names, and nothing else; of a leaf, its hooks.
        grad: the gradient collected here: leaves, and results after `retain_grad`.
        fingerprints: what to check a saved array of the user's against; only where `pullback` is fingerprinted.
    """

    __slots__ = ("fingerprints", "grad", "order", "parents", "pullback", "saved")
    order: int
    pullback: Pullback | None
    parents: tuple[TapeNode, ...]
    saved: tuple[Array, ...]
    grad: Array
    fingerprints: Value

    def __repr__(self) -> str:
        what = "leaf" if self.pullback is None else self.pullback.op.name
        return f"<node {-self.order}: {what}>"


class ObservedNode(TapeNode):
    """A node that was written while nodes were observed: `place` is where in the user's code, if lines are noted."""

    __slots__ = ("__weakref__", "place")
    place: Value


class Leaf(TapeNode):
    """A node without parents: the end of a backward pass, where a gradient of this `shape` and `dtype` is kept."""

    __slots__ = ("__weakref__", "dtype", "shape")
    shape: tuple[int, ...]
    dtype: DType


def leaf(shape: tuple[int, ...], dtype: DType) -> Leaf:
    """A new leaf, for a tensor of this `shape` and `dtype`."""
    node = Leaf()
    node.order, node.pullback, node.parents, node.saved = next_order(), None, (), ()
    node.grad, node.shape, node.dtype = None, shape, dtype
    return node


def as_array(data: Array) -> Value:
    """`data` itself if it is an array, a box or one of NumPy's numbers."""
    return data if hasattr(data, "dtype") else asarray(data)


def record(op: Op, level: int, args: Sequence[Array], settings: Value, kind: type) -> tuple[Value, TapeNode | None]:
    """Carry out `op` on the data of those `args` that are boxes of `kind` and `level`.

    Returns the result on the level below, and its node; None where there is nothing to differentiate.
    """
    values: list[Array] = []
    parents: list[TapeNode] = []
    wanted: list[int] = []
    left: list[Value] = []
    for i, arg in enumerate(args):
        # A constant tensor of whatever level is as good as its data.
        if issubclass(type(arg), kind) and (arg.level == level or arg.node is None):
            values.append(arg.held)
            if (node := arg.node) is not None:
                parents.append(node)
                wanted.append(i)
        else:
            if type(arg) not in PLAIN:
                if settled(arg, level) is not arg:  # it only holds it
                    return record(op, level, [settled(x, level) for x in args], settings, kind)
                if type(arg) in TRACKED:
                    left.append(arg)
                    arg = plain(arg)
                listed = type(arg) in (list, tuple) and op.kind != "constant"
                arg = asarray(arg) if listed else plain_array(arg)
            values.append(arg)
    mode = recording_floor.raw()
    if mode > NEVER and "asynchronous" in recording_floor.observers():
        values = recording_floor.observers()["asynchronous"].taken(op, values, args)  # type: ignore[attr-defined]  # see `asynchronous`
    out = apply(op, values, settings)
    if not parents or op.kind == "constant" or (level < mode and (mode <= NEVER or level < recording_floor.get())):
        if left:
            entering(op, left, None, level)
        return out, None
    node = written(op, values, tuple(wanted), tuple(parents), out, settings, mode, level)
    if left:
        entering(op, left, node, level)
    return out, node


def written(
    op: Op,
    values: Sequence[Array],
    wanted: tuple[int, ...],
    parents: tuple[TapeNode, ...],
    out: Array,
    settings: Value,
    mode: int,
    level: int,
) -> TapeNode:
    """The node of the call that took `values` to `out`; `parents` are those of the inputs numbered `wanted`."""
    if op.joint:
        settings = {**settings, "needs": wanted}
    pullback = pullback_for(op, wanted, values, out)
    is_observed = mode > NEVER
    node = ObservedNode() if is_observed else TapeNode()
    node.order, node.pullback, node.parents = next_order(), pullback, parents
    node.saved = pullback.save(values, out, settings)
    if len(wanted) < len(values):
        on_tape, together = frozenset(wanted), op.inputs[0][0] == "*"
        given = [i for i, x in enumerate(values) if i not in on_tape and _may_be_written(x)]
        if not together:
            for i in given:
                if op.inputs[i] in pullback.names:
                    protect(node, pullback.names.index(op.inputs[i]), level)
        elif given and op.inputs[0][1:] in pullback.names:
            protect_parts(node, pullback.names.index(op.inputs[0][1:]), given, level)
    for name, value in settings.items():
        if name in pullback.names and _may_be_written(value):
            protect(node, pullback.names.index(name), level)
    if is_observed:
        observe(node, values, wanted, out)
    return node


# Types of settings that nobody can write into, as far as arrays go.
_FIXED = frozenset((tuple, int, float, bool, str, type(None)))
_WRITABLE = (Writable, ndarray)  # in this order: a box that is asked whether it is an array takes longer to say no


def _may_be_written(x: Array) -> bool:
    """Whether `x` is an array, whose owner may write into it."""
    return type(x) not in _FIXED and (isinstance(x, _WRITABLE) or is_foreign(x))


def observe(node: TapeNode, values: Sequence[Array], wanted: tuple[int, ...], out: Array) -> None:
    """Tell the observers of a new node."""
    for observer in recording_floor.observers().values():
        observer(node, values, wanted, out)


def pullback_for(op: Op, wanted: tuple[int, ...], values: Sequence[Array], out: Array) -> Pullback:
    """The pullback of the call that took `values` to `out`, for the inputs numbered `wanted`.

    Its cotangents are fitted to their inputs where shapes or dtypes differ from the result's, and its partial
    derivatives conjugated where anything is complex.
    """
    if op.multiple:
        return build(op, wanted, True, False)
    dtype, shape = dtype_of(out), out.shape if op.kind == "elementwise" else None
    fitted, conjugate = False, dtype.kind == "c"
    for i in wanted:
        value = values[i]
        fitted = fitted or value.dtype != dtype or (shape is not None and value.shape != shape)
        conjugate = conjugate or value.dtype.kind == "c"
    return build(op, wanted, fitted, conjugate)


def output_node(i: int, node: TapeNode, likes: Value) -> TapeNode:
    """The node of output number `i` of `node`; `likes` are the shapes and dtypes of all."""
    result = TapeNode()
    result.pullback = _output_pullback(cast(Pullback, node.pullback).op, i, likes)
    result.order, result.parents, result.saved = next_order(), (node,), ()
    return result


def _output_pullback(op: Op, i: int, likes: Value) -> Pullback:
    """The pullback from output number `i` of `op` to all of them; one for outputs of the same shapes and dtypes."""
    key = ("output", i, likes)
    found: Pullback | None = op.pullbacks.get(key)
    if found is None:

        def pullback(g: Array, saved: tuple[()]) -> tuple[Projection]:
            return (Projection(i, g, likes),)

        found = Pullback(pullback, op, wanted=(0,), straight=True, finite=True)
        if len(op.pullbacks) < _PULLBACKS:
            op.pullbacks[key] = found
    return found


def walk(root: TapeNode) -> list[TapeNode]:
    """All nodes that lead to `root`, latest first."""
    seen, stack = {root}, [root]
    while stack:
        for parent in stack.pop().parents:
            if parent not in seen:
                seen.add(parent)
                stack.append(parent)
    return sorted(seen, key=lambda node: node.order)
