"""Rewrites: named rules, each a pattern and a result, and the driver that applies them until none fits.

    Rule.of("minus minus", lambda x: -(-x), lambda x: x)

The two functions are NumPy code on stand-ins: what they do with these is the pattern, and the result. A rule whose
result depends on settings is a function of the node, which gives the new node or None.
"""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from adjoint.core.box import apply
from adjoint.core.errors import GraphError
from adjoint.core.op import NO_SETTINGS, Op
from adjoint.core.registry import operation
from adjoint.graph.node import Draws, Node, Place, call, constant, frozen, in_order, part, placeholder
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
        wants: tells by what the arguments are at first sight (`Head`) whether it may fit, without which `function` is
            not asked; None if it may for any.
    """

    name: str
    op: Op | None
    function: Callable[[Node], Node | None]
    why: str = ""
    examples: tuple[Callable[..., Any], ...] = ()
    wants: Callable[[Sequence[Head]], bool] | None = None

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
        template = in_order([after])

        def function(node: Node) -> Node | None:
            if node.dtype is not None and node.dtype.kind not in kinds:
                return None
            for bound in _matches(before, node, {}, set(holes)):
                if all(own.dtype == node.dtype for own in bound.values()):
                    values = {hole: bound[own] for hole, own in zip(filled, holes, strict=True) if own in bound}
                    return instance(template, values)
            return None

        def wants(heads: Sequence[Head]) -> bool:
            return len(heads) == len(before.args) and (
                all(map(_heads, before.args, heads)) or all(map(_heads, before.args, heads[::-1]))
            )

        return cls(name, before.op, function, why, (pattern,), wants)


# What an argument is at first sight: its operation, itself if it is a constant, None for what else there is.
Head = Op | Node | None


def _heads(pattern: Node, head: Head) -> bool:
    """Whether an argument of this head may look like `pattern`."""
    if pattern.op is not None:
        return head is pattern.op
    return pattern.kind == "input" or (isinstance(head, Node) and _same_number(pattern, head))


def on(
    *names: str,
    why: str = "",
    examples: Iterable[Callable[..., Any]] = (),
    wants: Callable[[Sequence[Head]], bool] | None = None,
) -> Callable[[Callable[[Node], Node | None]], list[Rule]]:
    """Decorate a function that replaces a call of the operations called `names`; for `wants`, see `Rule`."""

    def decorate(function: Callable[[Node], Node | None]) -> list[Rule]:
        title = function.__name__.strip("_").replace("_", " ")
        reason = why or inspect.getdoc(function) or ""
        return [
            Rule(title, op_named(name) if name else None, function, reason, tuple(examples), wants)
            for name in names or ("",)
        ]

    return decorate


def op_named(name: str) -> Op:
    """The operation of this name, which is one of arrays."""
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
        if node.kind == "constant" and _same_number(pattern, node):
            yield bound
        return
    if node.op is not pattern.op or node.op is None or frozen(node.settings) != frozen(pattern.settings):
        return
    orders = [node.args]
    if "commutative" in node.op.flags and len(node.args) == 2 and node.args[0] is not node.args[1]:
        orders.append(node.args[::-1])
    for args in orders:
        yield from _all_match(pattern.args, args, bound, holes)


def _same_number(pattern: Node, node: Node) -> bool:
    """Whether a constant holds but the number of `pattern`, with its sign."""
    a, b = pattern.value, node.value
    if not node.shape and b != a:
        return False
    same = np.size(b) and np.all(np.equal(b, a)) and np.all(np.signbit(np.real(b)) == np.signbit(np.real(a)))
    return bool(same)


def _all_match(
    patterns: tuple[Node, ...], args: tuple[Node, ...], bound: dict[Node, Node], holes: set[Node]
) -> Iterable[dict[Node, Node]]:
    if not patterns:
        yield bound
        return
    for found in _matches(patterns[0], args[0], bound, holes):
        yield from _all_match(patterns[1:], args[1:], found, holes)


def instance(template: Sequence[Node], values: Mapping[Node, Node]) -> Node:
    """The last of `template`, whose nodes come each after what it uses, with its holes filled."""
    made = dict(values)
    for node in template:
        if node.op is not None:
            made[node] = made_call(node.op, tuple([made[a] for a in node.args]), node.settings)
        elif node not in made:
            made[node] = node
    return made[template[-1]]


def made_call(op: Op, args: tuple[Node, ...], settings: Mapping[str, Any] = NO_SETTINGS) -> Node:
    """The node of an operation of one result, its shape and dtype worked out."""
    if any(arg.shape is None for arg in args):
        return call(op, args, settings)
    if op.kind == "elementwise" or (isinstance(op.forward, np.ufunc) and op.forward.signature is None):
        shapes = {arg.shape for arg in args}
        shape = shapes.pop() if len(shapes) == 1 else np.broadcast_shapes(*shapes)
        if not settings and not any(arg.kind == "constant" for arg in args):
            return call(op, args, settings, shape, _dtype_of(op, tuple([(a.dtype, is_number(a)) for a in args])))
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


@lru_cache(4096)
def _dtype_of(op: Op, kinds: tuple[tuple[Any, bool], ...]) -> Any:
    """The dtype that an elementwise operation gives for arguments of these dtypes, of which some are Python's."""
    samples = [dtype.type(1).item() if number else dtype.type(1) for dtype, number in kinds]
    with np.errstate(all="ignore"):
        return np.asarray(apply(op, samples, {})).dtype


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
    given = list(rules)
    chosen: dict[Any, list[Rule]] = {}
    roots = (*graph.outputs, *(guard.node for guard in graph.guards))
    narrow = any(kind in _NARROW for kinds in {node.dtype for node in in_order(roots)} for kind in _kinds(kinds))
    for _ in range(PASSES):
        fired = Report()
        roots = _pass(roots, given, chosen, narrow, fired)
        if report is not None:
            report += fired
        if not fired:
            break
    else:
        raise GraphError(f"no end of rewriting after {PASSES} passes; these rules undo each other:\n{fired}")
    count = len(graph.outputs)
    guards = [guard._replace(node=node) for guard, node in zip(graph.guards, roots[count:], strict=True)]
    return graph.replaced(roots[:count], guards)


PASSES = 1000  # one is enough for most programs


# Beside arrays of these it matters whether a number is Python's.
_NARROW = {np.dtype(kind) for kind in ("f2", "f4", "c8", "i1", "i2", "i4", "u1", "u2", "u4", "u8")}


def _kinds(dtype: Any) -> tuple[Any, ...]:
    return dtype if isinstance(dtype, tuple) else (dtype,)


def _pass(
    roots: tuple[Node, ...], rules: Sequence[Rule], chosen: dict[Any, list[Rule]], narrow: bool, fired: Report
) -> tuple[Node, ...]:
    """One way through the program, from the inputs on. `chosen` keeps which rules are for which sort of node."""
    made: dict[Node, Node] = {}
    draws = Draws()
    for node in in_order(roots):
        args = node.args
        if not args and node.op is None:
            made[node] = node
            continue
        new = draws.in_turn(node, with_args(node, tuple([made[arg] for arg in args])))
        made[node] = new
        if new.op is None:
            continue
        key = (new.op, *[arg.op or (arg if arg.kind == "constant" else None) for arg in new.args])
        mine = chosen.get(key)
        if mine is None:
            mine = chosen[key] = [
                rule for rule in rules if rule.op in (None, new.op) and (rule.wants is None or rule.wants(key[1:]))
            ]
            mine.sort(key=lambda rule: rule.op is None)  # those of the operation before those of all
        for rule in mine:
            result = rule.function(new)
            if result is not None and result is not new and _fits(result, new, narrow):
                fired.append(Fired(rule.name, node, result))
                made[node] = result
                break
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


def converted(node: Node, dtype: Any, place: Place | None = None) -> Node:
    """`node` as an array of this dtype: itself, if it has that."""
    if node.dtype == dtype:
        return node
    astype = op_named("astype")
    return call(astype, (node,), {**astype.settings, "dtype": dtype}, node.shape, dtype, lambda: place)
