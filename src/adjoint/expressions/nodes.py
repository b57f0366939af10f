"""Making nodes of expressions: every value is a number or a truth value, with rules to convert between the two."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import cache

from adjoint.core.op import NO_SETTINGS, Op
from adjoint.core.registry import op_named
from adjoint.expressions.functions import CONNECTIVES, TRUTHS
from adjoint.graph.node import Node, call, constant
from adjoint.graph.rewriting.driver import Head, Rules

ADD, SUBTRACT, MULTIPLY, DIVIDE = (op_named(name) for name in ("add", "subtract", "multiply", "divide"))
NEGATIVE, POWER, WHERE = op_named("negative"), op_named("power"), op_named("choose_either")
ARITHMETIC = frozenset((ADD, SUBTRACT, MULTIPLY, DIVIDE, POWER))
_NOT_EQUAL = op_named("not_equal")
_CONNECTIVES = frozenset(op_named(name) for name in CONNECTIVES)
_PARTICULAR = _CONNECTIVES | {WHERE, NEGATIVE, _NOT_EQUAL}


def number(x: float) -> Node:
    """The node of a number."""
    return constant(float(x))


ZERO, ONE = number(0.0), number(1.0)


def ordered(outputs: Iterable[Node]) -> list[Node]:
    """All nodes that lead to `outputs`, each after what it uses, and otherwise as they are written from left to right.

    So the order, and with it rounding and text, depends on the formula alone. Creation order would not: a part may
    be older, because another formula has it too.
    """
    found: dict[Node, None] = {}
    stack = [(output, False) for output in reversed(list(outputs))]
    while stack:
        node, ready = stack.pop()
        if ready:
            found[node] = None
        elif node not in found:
            if not node.args:
                found[node] = None
                continue
            stack.append((node, True))
            stack.extend([(arg, False) for arg in reversed(node.args) if arg not in found])
    return list(found)


def is_truth(node: Node) -> bool:
    """Whether the value of `node` is a truth value."""
    return node.op in TRUTHS or type(node.value) is bool


def as_number(node: Node) -> Node:
    """1 for true, 0 for false; other numbers stay."""
    if type(node.value) is bool:
        return number(node.value)
    return call(WHERE, (node, ONE, ZERO)) if node.op in TRUTHS else node


def as_truth(node: Node) -> Node:
    """Whether a number is not 0; truth values stay."""
    return node if is_truth(node) else call(_NOT_EQUAL, (node, ZERO))


def made(op: Op, args: Sequence[Node]) -> Node:
    """The node of `op`, as it is written. Only the minus of a written number is part of that number."""
    if op in _PARTICULAR:
        return _particular(op, args)
    for x in args:
        if x.op in TRUTHS or type(x.value) is bool:
            return call(op, tuple(map(as_number, args)))
    return call(op, tuple(args))


def _particular(op: Op, args: Sequence[Node]) -> Node:
    if op is WHERE:
        condition, x, y = args
        return call(op, (as_truth(condition), as_number(x), as_number(y)))
    if op is _NOT_EQUAL and args[1] is ZERO and is_truth(args[0]):
        return args[0]
    if op in _CONNECTIVES:
        return call(op, tuple(map(as_truth, args)))
    given = tuple(map(as_number, args))
    return number(-given[0].value) if op is NEGATIVE and is_constant(given[0]) else call(op, given)


def is_constant(node: Node) -> bool:
    """Whether `node` is a number or a truth value."""
    return node.op is None and type(node.value) in (float, bool)


def reduced(op: Op, args: Sequence[Node], node: Node | None = None) -> Node:
    """The node of `op`, or a simpler one that has the same values: bit for bit, nan and infinities included.

    Args:
        op, args: what is called, on nodes that are simple.
        node: its node, if it is there.
    """
    if node is None and (op in _PARTICULAR or any(map(is_truth, args))):
        node = made(op, args)
        if node.op is None:
            return node
        op, args = node.op, node.args
    args = tuple(args)
    rules = _rules().fitting(op, [_head(arg) for arg in args])
    if rules:
        if all(map(is_constant, args)):
            rules = sorted(rules, key=lambda rule: rule.op is not None)  # to compute it comes first
        written = node or Node(op, args, NO_SETTINGS, None, None, None, None)  # in no table: perhaps nobody uses it
        for rule in rules:
            found = rule.function(written)
            if found is not None and (found.op is None or found in args):
                return found
            if found is not None and found.op is not None:
                simple = [
                    x if x.op is None or _known(x, args) else reduced(x.op, x.args, _formula(x)) for x in found.args
                ]
                return reduced(found.op, simple, _formula(found) if tuple(simple) == found.args else None)
    return node or call(op, args)


def _formula(node: Node) -> Node | None:
    """`node`, if it is one as formulas have them: what rules make of numbers alone has a shape."""
    return node if node.shape is None else None


def _known(node: Node, args: tuple[Node, ...]) -> bool:
    """Whether `node` is simple because it is one of `args`, or of theirs."""
    return node in args or any(node in arg.args for arg in args)


@cache
def _rules() -> Rules:
    from adjoint.graph.rewriting.formula_rules import FORMULAS  # loaded when something is derived or simplified

    return Rules(FORMULAS)


# What rules look for are these numbers; all others are one to them, so that a table of heads stays small.
_NAMED = frozenset((0.0, 1.0, -1.0, 2.0, 3.0, 4.0))
_OTHER = number(math.nan)


def _head(arg: Node) -> Head:
    if is_constant(arg):
        return arg if type(arg.value) is bool or arg.value in _NAMED else _OTHER
    head: Head = arg.op
    return head
