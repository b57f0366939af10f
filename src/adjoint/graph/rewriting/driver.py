"""Rewrites: named rules, each a pattern and a result, and the driver that applies them until none fits.

    Rewrite.of("minus minus", lambda x: -(-x), lambda x: x)

The two functions are NumPy code on stand-ins: their operations are the pattern, and the result. A rewrite whose
result depends on settings is a function of the node, which returns the new node or None.
"""

from __future__ import annotations

import inspect
import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import product
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from adjoint.core.box import apply
from adjoint.core.codegen import defined
from adjoint.core.errors import GraphError
from adjoint.core.op import NO_SETTINGS, Op
from adjoint.core.registry import op_named
from adjoint.core.types import DType, Function, Settings, Value
from adjoint.graph.captures.record import recording
from adjoint.graph.node import InTurn, Node, call, constant, frozen, in_order, part, placeholder
from adjoint.graph.python_numbers import is_number
from adjoint.graph.symbol import LEVEL, Symbol
from adjoint.tape.observers.lines import UsersPlace

if TYPE_CHECKING:
    from adjoint.graph.graph import Graph


@dataclass(frozen=True, slots=True, eq=False)
class Rewrite:
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
    examples: tuple[Function, ...] = ()
    wants: Callable[[Sequence[Head]], bool] | None = None

    @classmethod
    def of(cls, name: str, pattern: Function, result: Function, why: str = "", kinds: str = "fciub") -> Rewrite:
        """The rule that replaces what looks like `pattern` by `result`, two functions of the same parameters.

        It fits where the arrays that they take have the dtype of what they give, of one of the `kinds`: a narrower
        integer could overflow before it is converted, or not.
        """
        before, holes = _traced(pattern)
        after, filled = _traced(result)
        either = before.op is not None and "commutative" in before.op.flags

        @cache
        def written() -> Callable[[Node], Node | None]:
            return _written(name, before, holes, after, filled, kinds)

        def function(node: Node) -> Node | None:
            return written()(node)

        def wants(heads: Sequence[Head]) -> bool:
            return len(heads) == len(before.args) and (
                all(map(_heads, before.args, heads)) or (either and all(map(_heads, before.args, heads[::-1])))
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
    *names: str, why: str = "", examples: Iterable[Function] = (), wants: Callable[[Sequence[Head]], bool] | None = None
) -> Callable[[Callable[[Node], Node | None]], list[Rewrite]]:
    """Decorate a function that replaces a call of the operations called `names`; for `wants`, see `Rewrite`."""

    def decorate(function: Callable[[Node], Node | None]) -> list[Rewrite]:
        title = function.__name__.strip("_").replace("_", " ")
        reason = why or inspect.getdoc(function) or ""
        return [
            Rewrite(title, op_named(name) if name else None, function, reason, tuple(examples), wants)
            for name in names or ("",)
        ]

    return decorate


def reshaped(x: Node, shape: tuple[int, ...]) -> Node:
    """The node `x` in another shape of as many elements."""
    if x.shape == shape:
        return x
    op = op_named("reshape")
    return call(op, (x,), {**op.settings, "shape": shape}, shape, x.dtype, lambda: x.place)


def _traced(f: Function) -> tuple[Node, list[Node]]:
    """What `f` does with stand-ins, as a node, and the stand-ins."""
    holes = [placeholder(name, (), np.dtype(float)) for name in inspect.signature(f).parameters]
    with recording(), np.errstate(all="ignore"):  # whatever the program that imports this has set
        made = f(*(Symbol.of((np.float64(0.7), hole), LEVEL) for hole in holes))
    return made.node if isinstance(made, Symbol) else constant(made), holes


def _written(
    name: str, before: Node, holes: Sequence[Node], after: Node, filled: Sequence[Node], kinds: str
) -> Callable[[Node], Node | None]:
    """A function of a node that gives `after` where the node looks like `before`, for either order of commutative
    arguments.

    For ``x + (-y)`` and ``x - y`` its first lines read ::

        def rule(node):
            kind = node.dtype
            if kind is not None and kind.kind not in kinds: return None
            if node.args[1].op is c1 and … and node.args[0].dtype == kind and node.args[1].args[0].dtype == kind:
                return made(c2, (node.args[0], node.args[1].args[0], ), c3)
    """
    scope: dict[str, Value] = {"kinds": kinds, "made": made_call, "same": _same_number, "frozen": frozen}

    def named(thing: Value) -> str:
        scope[f"c{len(scope)}"] = thing
        return f"c{len(scope) - 1}"

    lines = ["kind = node.dtype", "if kind is not None and kind.kind not in kinds: return None"]
    turned = [node for node in in_order([before]) if node.op and "commutative" in node.op.flags and len(node.args) == 2]
    for turns in product((False, True), repeat=len(turned)):
        swapped = {node for node, turn in zip(turned, turns, strict=True) if turn}
        places: dict[Node, str] = {}
        asked: list[str] = []
        left = [(before, "node")]
        while left:
            pattern, place = left.pop(0)
            if pattern in holes:
                asked += [f"{place} is {places[pattern]}"] if pattern in places else []
                places.setdefault(pattern, place)
            elif pattern.op is None:
                asked.append(f"{place}.kind == 'constant' and same({named(pattern)}, {place})")
            else:
                settings = f"frozen({place}.settings) == {named(frozen(pattern.settings))}"
                asked.append(f"{place}.op is {named(pattern.op)}")
                asked.append(settings if pattern.settings else f"not {place}.settings")
                args = pattern.args[::-1] if pattern in swapped else pattern.args
                left += [(arg, f"{place}.args[{k}]") for k, arg in enumerate(args)]
        asked += [f"{place}.dtype == kind" for place in places.values()]
        texts = {own: places[hole] for own, hole in zip(filled, holes, strict=True) if hole in places}
        for node in in_order([after]):
            if node.op is not None:
                args_text = "".join(f"{texts[arg]}, " for arg in node.args)
                texts[node] = f"made({named(node.op)}, ({args_text}), {named(node.settings)})"
            elif node not in texts:
                texts[node] = named(node)
        lines.append(f"if {' and '.join(asked)}: return {texts[after]}")
    function: Callable[[Node], Node | None] = defined(
        "\n    ".join(["def rule(node):", *lines]), f"rule {name}", scope, "rule"
    )
    return function


def _same_number(pattern: Node, node: Node) -> bool:
    """Whether a constant holds but the number of `pattern`, with its sign."""
    a, b = pattern.value, node.value
    if type(b) is float and type(a) in (int, float):
        return b == a and math.copysign(1, b) == math.copysign(1, a)
    if not node.shape and b != a:
        return False
    same = np.size(b) and np.all(np.equal(b, a)) and np.all(np.signbit(np.real(b)) == np.signbit(np.real(a)))
    return bool(same)


def made_call(op: Op, args: tuple[Node, ...], settings: Settings = NO_SETTINGS) -> Node:
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
def _dtype_of(op: Op, kinds: tuple[tuple[Value, bool], ...]) -> np.dtype:
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


class Rules:
    """Rules, looked up by what a node is at first sight: its operation, and the heads of its arguments."""

    def __init__(self, rules: Iterable[Rewrite]) -> None:
        self._of: dict[Op | None, list[Rewrite]] = {}
        for rule in rules:
            self._of.setdefault(rule.op, []).append(rule)
        self._chosen: dict[Value, list[Rewrite]] = {}

    def fitting(self, op: Op, heads: Sequence[Head]) -> list[Rewrite]:
        """Those that may fit: the rules of the operation before those of all operations."""
        key = (op, *heads)
        found = self._chosen.get(key)
        if found is None:
            candidates = (*self._of.get(op, ()), *self._of.get(None, ()))
            found = [rule for rule in candidates if rule.wants is None or rule.wants(heads)]
            self._chosen[key] = found
        return found


def rewritten(graph: Graph, rules: Iterable[Rewrite], report: Report | None = None) -> Graph:
    """`graph` with `rules` applied wherever they fit, until none does.

    Raises:
        GraphError: if rules undo each other, so that there is no end; it names them.
    """
    given = Rules(rules)
    roots = (*graph.outputs, *(guard.node for guard in graph.guards))
    narrow = any(kind in _NARROW for kinds in {node.dtype for node in in_order(roots)} for kind in _kinds(kinds))
    for _ in range(PASSES):
        fired = Report()
        roots = _pass(roots, given, narrow, fired)
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


def _kinds(dtype: DType) -> tuple[Value, ...]:
    return dtype if isinstance(dtype, tuple) else (dtype,)


def _pass(roots: tuple[Node, ...], rules: Rules, narrow: bool, fired: Report) -> tuple[Node, ...]:
    """Go through the program once, from the inputs on, and replace what a rule fits."""
    made: dict[Node, Node] = {}
    draws = InTurn()
    for node in in_order(roots):
        args = node.args
        if not args and node.op is None:
            made[node] = node
            continue
        new = draws.in_turn(node, with_args(node, tuple([made[arg] for arg in args])))
        made[node] = new
        if new.op is None:
            continue
        heads = [arg.op or (arg if arg.kind == "constant" else None) for arg in new.args]
        for rule in rules.fitting(new.op, heads):
            result = rule.function(new)
            if result is not None and result is not new and _fits(result, new, narrow):
                fired.append(Fired(rule.name, node, result))
                made[node] = result
                break
    return tuple(made[root] for root in roots)


def _fits(result: Node, node: Node, narrow: bool) -> bool:
    """Whether `result` has the shape and dtype of the node that it replaces, and promotes like it where needed."""
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


def converted(node: Node, dtype: DType, place: UsersPlace | None = None) -> Node:
    """`node` as an array of this dtype: itself, if it has that."""
    if node.dtype == dtype:
        return node
    astype = op_named("astype")
    return call(astype, (node,), {**astype.settings, "dtype": dtype}, node.shape, dtype, lambda: place)
