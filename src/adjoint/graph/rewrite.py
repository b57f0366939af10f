"""Rewrites: named rules, each a pattern and a result, and the driver that applies them until none fits.

    Rule.of("minus minus", lambda x: -(-x), lambda x: x)

The two functions are NumPy code on stand-ins: what they do with these is the pattern, and the result. A rule whose
result depends on settings is a function of the node, which gives the new node or None.
"""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from adjoint.core.box import apply
from adjoint.core.errors import GraphError
from adjoint.core.op import NO_SETTINGS, Op
from adjoint.core.registry import operation
from adjoint.graph.node import Node, call, constant, frozen, in_order, part, placeholder
from adjoint.graph.symbol import LEVEL, Symbol, is_number, recording

if TYPE_CHECKING:
    from adjoint.graph.graph import Graph


@dataclass(frozen=True, slots=True, eq=False)
class Rule:
    """One rewrite.

    Attributes:
        name: what reports call it.
        op: the operation that it looks at; None for every one.
        function: takes a node to what it may be replaced by, or None.
        why: what it says, and if it changes values, how.
        examples: functions of arrays (any arrays of three axes will do) in whose graphs it fits.
    """

    name: str
    op: Op | None
    function: Callable[[Node], Node | None]
    why: str = ""
    examples: tuple[Callable[..., Any], ...] = ()

    @classmethod
    def of(
        cls, name: str, pattern: Callable[..., Any], result: Callable[..., Any], why: str = "", kinds: str = "fciub"
    ) -> Rule:
        """The rule that replaces what looks like `pattern` by `result`, two functions of the same parameters.

        It fits where the arrays that they take have the dtype of what they give, of one of the `kinds`: a narrower
        integer could overflow before it is converted, or not.
        """
        before, holes = _traced(pattern)
        after, filled = _traced(result)

        def function(node: Node) -> Node | None:
            if node.dtype is not None and node.dtype.kind not in kinds:
                return None
            for bound in _matches(before, node, {}, set(holes)):
                if all(own.dtype == node.dtype for own in bound.values()):
                    values = {hole: bound[own] for hole, own in zip(filled, holes, strict=True) if own in bound}
                    return instance(after, values)
            return None

        return cls(name, before.op, function, why, (pattern,))


def on(
    *names: str, why: str = "", examples: Iterable[Callable[..., Any]] = ()
) -> Callable[[Callable[[Node], Node | None]], list[Rule]]:
    """Decorate a function that replaces a call of the operations called `names`."""

    def decorate(function: Callable[[Node], Node | None]) -> list[Rule]:
        title = function.__name__.strip("_").replace("_", " ")
        reason = why or inspect.getdoc(function) or ""
        return [Rule(title, _op(name) if name else None, function, reason, tuple(examples)) for name in names or ("",)]

    return decorate


def _op(name: str) -> Op:
    found = operation(name)
    assert isinstance(found, Op)
    return found


def _traced(f: Callable[..., Any]) -> tuple[Node, list[Node]]:
    """What `f` does with stand-ins, as a node, and the stand-ins."""
    holes = [placeholder(name, (), np.dtype(float)) for name in inspect.signature(f).parameters]
    with recording():
        made = f(*(Symbol.of((np.float64(0.7), hole), LEVEL) for hole in holes))
    return made.node if isinstance(made, Symbol) else constant(made), holes


def _matches(pattern: Node, node: Node, bound: dict[Node, Node], holes: set[Node]) -> Iterable[dict[Node, Node]]:
    """The ways in which `node` looks like `pattern`: what each hole stands for."""
    if pattern in holes:
        if bound.get(pattern, node) is node:
            yield {**bound, pattern: node}
        return
    if pattern.kind == "constant":
        if node.kind == "constant" and np.size(node.value) and np.all(np.equal(node.value, pattern.value)):
            if np.all(np.signbit(np.real(node.value)) == np.signbit(np.real(pattern.value))):
                yield bound
        return
    if node.op is not pattern.op or node.op is None or frozen(node.settings) != frozen(pattern.settings):
        return
    orders = [node.args]
    if "commutative" in node.op.flags and len(node.args) == 2 and node.args[0] is not node.args[1]:
        orders.append(node.args[::-1])
    for args in orders:
        yield from _all_match(pattern.args, args, bound, holes)


def _all_match(
    patterns: tuple[Node, ...], args: tuple[Node, ...], bound: dict[Node, Node], holes: set[Node]
) -> Iterable[dict[Node, Node]]:
    if not patterns:
        yield bound
        return
    for found in _matches(patterns[0], args[0], bound, holes):
        yield from _all_match(patterns[1:], args[1:], found, holes)


def instance(template: Node, values: Mapping[Node, Node]) -> Node:
    """`template` with its holes filled."""
    made = dict(values)
    for node in in_order([template]):
        if node not in made:
            made[node] = (
                node if node.op is None else made_call(node.op, tuple(made[a] for a in node.args), node.settings)
            )
    return made[template]


def made_call(op: Op, args: tuple[Node, ...], settings: Mapping[str, Any] = NO_SETTINGS) -> Node:
    """The node of an operation of one result, its shape and dtype worked out."""
    if any(arg.shape is None for arg in args):
        return call(op, args, settings)
    if op.kind == "elementwise" or (isinstance(op.forward, np.ufunc) and op.forward.signature is None):
        shape = np.broadcast_shapes(*(arg.shape for arg in args))
        samples = [
            a.value
            if a.kind == "constant" and np.ndim(a.value) == 0
            else a.dtype.type(1).item()
            if is_number(a)
            else a.dtype.type(1)
            for a in args
        ]
    else:
        shape, samples = None, [np.broadcast_to(a.dtype.type(1), a.shape) for a in args]
    with np.errstate(all="ignore"):
        out = np.asarray(apply(op, samples, settings))
    return call(op, args, settings, out.shape if shape is None else shape, out.dtype)


class Fired(NamedTuple):
    """A rule that was applied, and the node that it replaced by another."""

    rule: str
    before: Node
    after: Node


class Report(list[Fired]):
    """Which rules were applied where; as text, how often each."""

    def __str__(self) -> str:
        counts = Counter(fired.rule for fired in self)
        return "\n".join(f"{count:6} times: {name}" for name, count in counts.most_common()) or "no rule fits"


def rewritten(graph: Graph, rules: Iterable[Rule], report: Report | None = None) -> Graph:
    """`graph` with `rules` applied wherever they fit, until none does.

    Raises:
        GraphError: if rules undo each other, so that there is no end; it names them.
    """
    by_op: dict[Op | None, list[Rule]] = {}
    for rule in rules:
        by_op.setdefault(rule.op, []).append(rule)
    roots = (*graph.outputs, *(guard.node for guard in graph.guards))
    narrow = any(kind in _NARROW for node in in_order(roots) for kind in _kinds(node))
    for _ in range(PASSES):
        fired = Report()
        new = _pass(roots, by_op, narrow, fired)
        if report is not None:
            report += fired
        if new == roots:
            break
        roots = new
    else:
        raise GraphError(f"no end of rewriting after {PASSES} passes; these rules undo each other:\n{fired}")
    count = len(graph.outputs)
    guards = [guard._replace(node=node) for guard, node in zip(graph.guards, roots[count:], strict=True)]
    return graph.replaced(roots[:count], guards)


PASSES = 1000  # one is enough for most programs


# Beside arrays of these it matters whether a number is Python's.
_NARROW = {np.dtype(kind) for kind in ("f2", "f4", "c8", "i1", "i2", "i4", "u1", "u2", "u4", "u8")}


def _kinds(node: Node) -> tuple[Any, ...]:
    return node.dtype if isinstance(node.dtype, tuple) else (node.dtype,)


def _pass(
    roots: tuple[Node, ...], by_op: Mapping[Op | None, list[Rule]], narrow: bool, fired: Report
) -> tuple[Node, ...]:
    """One way through the program, from the inputs on."""
    made: dict[Node, Node] = {}
    everywhere = by_op.get(None, [])
    for node in in_order(roots):
        new = with_args(node, tuple([made[arg] for arg in node.args]))
        for rule in (*by_op.get(new.op, ()), *everywhere) if new.op is not None else ():
            result = rule.function(new)
            if result is not None and result is not new and _fits(result, new, narrow):
                fired.append(Fired(rule.name, node, result))
                new = result
                break
        made[node] = new
    return tuple(made[root] for root in roots)


def _fits(result: Node, node: Node, narrow: bool) -> bool:
    """Whether `result` has the shape and dtype of what it replaces, and promotes like it where that matters."""
    if node.shape is None:
        return True
    same = result.shape == node.shape and result.dtype == node.dtype
    return same and (
        is_number(result) == is_number(node) if narrow else result.kind == "input" or not is_number(result)
    )


def with_args(node: Node, args: tuple[Node, ...]) -> Node:
    """`node` with other inputs of the same shapes and dtypes."""
    if args == node.args:
        return node
    if node.op is None:
        return part(args[0], node.value)
    place = node.place
    return call(node.op, args, node.settings, node.shape, node.dtype, (lambda: place) if place else None)
