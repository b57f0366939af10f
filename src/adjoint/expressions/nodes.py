"""Making nodes of expressions: every value is a number or a truth value, and each takes the other's place by a rule."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from adjoint.core.op import Op
from adjoint.expressions.functions import CONNECTIVES, TRUTHS, op_called
from adjoint.graph.node import Node, call, constant

ADD, SUBTRACT, MULTIPLY, DIVIDE = (op_called(name) for name in ("add", "subtract", "multiply", "divide"))
NEGATIVE, POWER, WHERE = op_called("negative"), op_called("power"), op_called("choose_either")
ARITHMETIC = frozenset((ADD, SUBTRACT, MULTIPLY, DIVIDE, POWER))
_NOT_EQUAL = op_called("not_equal")
_CONNECTIVES = frozenset(op_called(name) for name in CONNECTIVES)
_PARTICULAR = _CONNECTIVES | {WHERE, NEGATIVE, _NOT_EQUAL}
_EXACT = 1 << 40


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


def _both(x: Node, y: Node) -> Node | None:
    for a, b in ((x, y), (y, x)):
        if type(a.value) is bool:
            return as_truth(b) if a.value else a
    return None


def _either(x: Node, y: Node) -> Node | None:
    for a, b in ((x, y), (y, x)):
        if type(a.value) is bool:
            return a if a.value else as_truth(b)
    return None


def is_constant(node: Node) -> bool:
    """Whether `node` is a number or a truth value."""
    return node.op is None and type(node.value) in (float, bool)


def reduced(op: Op, args: Sequence[Node]) -> Node:
    """The node of `op`, or a simpler one that has the same values: bit for bit, nan and infinities included."""
    if all(map(is_constant, args)):
        folded = value_of(op, args)
        if folded is not None:
            return folded
    if op is WHERE and is_constant(args[0]):
        return as_number(args[1] if args[0].value else args[2])
    if op is WHERE and args[1] is args[2]:
        return as_number(args[1])
    rule = _RULES.get(op)
    found = rule(*args) if rule is not None and (op in _CONNECTIVES or not any(map(is_truth, args))) else None
    return made(op, args) if found is None else found


def value_of(op: Op, args: Sequence[Node]) -> Node | None:
    """What `op` makes of constants; None if that is not a number."""
    with np.errstate(all="ignore"):
        out = op.forward(*[np.float64(arg.value) if type(arg.value) is float else arg.value for arg in args])
    if isinstance(out, np.bool_ | bool):
        return constant(bool(out))
    return number(out) if np.ndim(out) == 0 and math.isfinite(out) else None


def _plus(x: Node, y: Node) -> Node | None:
    for a, b in ((x, y), (y, x)):
        if b.op is NEGATIVE:
            return reduced(SUBTRACT, (a, b.args[0]))
    return None


def _minus(x: Node, y: Node) -> Node | None:
    if is_constant(y) and y.value == 0 and math.copysign(1, y.value) > 0:
        return x
    return call(ADD, (x, y.args[0])) if y.op is NEGATIVE else None


def _times(x: Node, y: Node) -> Node | None:
    if is_constant(y):
        x, y = y, x
    if x.op is NEGATIVE and y.op is NEGATIVE:
        return call(MULTIPLY, (x.args[0], y.args[0]))
    for a, b in ((x, y), (y, x)):
        if b.op is NEGATIVE and not is_constant(a):
            return reduced(NEGATIVE, (reduced(MULTIPLY, (a, b.args[0]) if b is y else (b.args[0], a)),))
    if not is_constant(x):
        return None
    factor = x.value
    if factor == 1:
        return y
    if factor == -1:
        return reduced(NEGATIVE, (y,))
    if y.op is NEGATIVE:
        return reduced(MULTIPLY, (number(-factor), y.args[0]))
    if y.op is MULTIPLY and is_constant(y.args[0]) and abs(factor) >= 1:
        inner = y.args[0].value
        if 1 <= inner < _EXACT and math.frexp(inner)[0] == 0.5 and math.isfinite(factor * inner):
            return reduced(MULTIPLY, (number(factor * inner), y.args[1]))  # doubling rounds nothing
    return call(MULTIPLY, (x, y))


def _over(x: Node, y: Node) -> Node | None:
    if x.op is NEGATIVE:
        return reduced(NEGATIVE, (reduced(DIVIDE, (x.args[0], y)),))
    if y.op is NEGATIVE:
        return reduced(NEGATIVE, (reduced(DIVIDE, (x, y.args[0])),))
    if not is_constant(y):
        return None
    return x if y.value == 1 else reduced(NEGATIVE, (x,)) if y.value == -1 else None


def _to_the(x: Node, y: Node) -> Node | None:
    if not is_constant(y):
        return None
    return x if y.value == 1 else ONE if y.value == 0 else None


def _minus_of(x: Node) -> Node | None:
    if x.op is NEGATIVE:
        return x.args[0]
    if x.op is MULTIPLY and is_constant(x.args[0]):
        return reduced(MULTIPLY, (number(-x.args[0].value), x.args[1]))
    return None


_RULES: dict[Op, Callable[..., Node | None]] = {
    ADD: _plus,
    SUBTRACT: _minus,
    MULTIPLY: _times,
    DIVIDE: _over,
    POWER: _to_the,
    NEGATIVE: _minus_of,
}
_RULES |= {op_called("logical_and"): _both, op_called("logical_or"): _either}
