"""Expressions from SymPy's formulas, and to them: node by node, nothing is parsed or evaluated."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from adjoint.core.errors import NotSupportedError
from adjoint.core.registry import op_named
from adjoint.core.types import Array, Value
from adjoint.expressions.build import called
from adjoint.expressions.functions import COMPARISONS, NamedFunction, find
from adjoint.expressions.nodes import ADD, DIVIDE, MULTIPLY, ONE, POWER, WHERE, is_constant, made, number
from adjoint.graph.node import Node, constant, variable

if TYPE_CHECKING:
    from adjoint.expressions.expr import Expr

# The operation's name, and SymPy's where it is another.
_NAMES = {
    "arccos": "acos", "arccosh": "acosh", "arcsin": "asin", "arcsinh": "asinh", "arctan": "atan", "arctan2": "atan2",
    "arctanh": "atanh", "absolute": "Abs", "maximum": "Max", "minimum": "Min", "ceil": "ceiling", "gammaln": "loggamma",
    "logical_and": "And", "logical_or": "Or", "logical_not": "Not", "logical_xor": "Xor", "remainder": "Mod",
    "less": "StrictLessThan", "less_equal": "LessThan", "greater": "StrictGreaterThan",
    "greater_equal": "GreaterThan", "equal": "Equality", "not_equal": "Unequality", "add": "Add", "multiply": "Mul",
    "power": "Pow",
}  # fmt: skip
_OURS = {theirs: ours for ours, theirs in _NAMES.items()}
_MADE: dict[str, Callable[..., Value]] = {
    "subtract": lambda sp, x, y: x - y,
    "divide": lambda sp, x, y: x / y,
    "negative": lambda sp, x: -x,
    "square": lambda sp, x: x**2,
    "reciprocal": lambda sp, x: 1 / x,
    "betainc": lambda sp, a, b, x: sp.betainc_regularized(a, b, 0, x),
    "cbrt": lambda sp, x: sp.sign(x) * sp.cbrt(sp.Abs(x)),  # SymPy's own is complex below 0
    "trunc": lambda sp, x: sp.sign(x) * sp.floor(sp.Abs(x)),
    "exp2": lambda sp, x: 2**x,
    "expm1": lambda sp, x: sp.exp(x) - 1,
    "log2": lambda sp, x: sp.log(x, 2),
    "log10": lambda sp, x: sp.log(x, 10),
    "log1p": lambda sp, x: sp.log(1 + x),
    "hypot": lambda sp, x, y: sp.sqrt(x**2 + y**2),
    "sigmoid": lambda sp, x: 1 / (1 + sp.exp(-x)),
    "softplus": lambda sp, x: sp.log(1 + sp.exp(x)),
    "relu": lambda sp, x: sp.Max(x, 0),
    "sinc": lambda sp, x: sp.sinc(sp.pi * x),
    "clamp": lambda sp, x, low, high: sp.Min(sp.Max(x, low), high),
    "choose_either": lambda sp, c, x, y: sp.Piecewise((x, c), (y, True)),
}


def to_sympy(e: Expr) -> Value:
    """See `Expr.to_sympy`."""
    import sympy as sp

    values: dict[Node, Array] = {}
    for node in e.nodes:
        if is_constant(node):
            values[node] = _number(sp, node.value)
        elif node.op is None:
            values[node] = sp.Symbol(str(node.value), real=True)
        else:
            values[node] = _call(sp, node, [values[arg] for arg in node.args])
    results = [values[root] for root in e.roots]
    return results[0] if len(results) == 1 else tuple(results)


def _number(sp: Value, value: Array) -> Value:
    if type(value) is bool:
        return sp.true if value else sp.false
    for size, symbol in ((math.pi, sp.pi), (math.e, sp.E), (math.inf, sp.oo)):
        if abs(value) == size:
            return symbol if value > 0 else -symbol
    return sp.Integer(int(value)) if value == value // 1 else sp.Float(value)


def _call(sp: Value, node: Node, args: list[Value]) -> Value:
    assert node.op is not None
    name = node.op.name
    if name in _MADE:
        return _MADE[name](sp, *args)
    function = getattr(sp, _NAMES.get(name, name), None)
    if function is None:
        raise NotSupportedError(f"SymPy has no {name}; write it in terms of other functions")
    return function(*args)


def from_sympy(formula: Value) -> tuple[list[Node], list[str], bool]:
    """The nodes of the results, the names of the variables, and whether it is one result; see `Expr.from_sympy`."""
    parts = list(formula) if isinstance(formula, list | tuple) else [formula]
    for part in parts:
        if getattr(part, "is_Matrix", False):
            raise NotSupportedError("an expression is a number: read the elements of SymPy's matrix, list(matrix)")
    names = sorted({str(s) for part in parts for s in part.free_symbols})
    known: dict[Value, Node] = {}
    for part in parts:
        stack = [part]
        while stack:
            top = stack[-1]
            if top in known:
                stack.pop()
                continue
            waiting = [arg for arg in _inside(top) if arg not in known]
            if waiting:
                stack += waiting
            else:
                known[stack.pop()] = _read(top, known)
    return [known[part] for part in parts], names, not isinstance(formula, list | tuple)


def _inside(term: Value) -> Sequence[object]:
    if term.is_Number or term.is_NumberSymbol:
        return ()
    return tuple(term.args)


def _read(term: Value, known: dict[Value, Node]) -> Node:
    kind = type(term).__name__
    if term.is_Symbol:
        return variable(str(term))
    if kind in ("BooleanTrue", "BooleanFalse"):
        return constant(kind == "BooleanTrue")
    if term.is_Rational and not term.is_Integer:
        return made(DIVIDE, (number(term.p), number(term.q)))
    if term.is_Number or term.is_NumberSymbol or kind == "Infinity":
        return number(float(term))
    args = [known[arg] for arg in term.args]
    if term.is_Mul:
        return _product(term, known)
    if term.is_Add:
        return _chain(ADD, args)
    if term.is_Pow:
        return made(op_named("sqrt"), args[:1]) if str(term.exp) == "1/2" else made(POWER, args)
    if kind == "ExprCondPair":
        return args[0]
    if kind == "Piecewise":
        node = number(math.nan)
        for pair in reversed(term.args):
            value, condition = (known[part] for part in pair.args)
            node = value if type(condition.value) is bool and condition.value else made(WHERE, (condition, value, node))
        return node
    if kind == "sinc":  # SymPy's is sin(x)/x, NumPy's sin(pi*x)/(pi*x)
        return made(op_named("sinc"), (made(DIVIDE, (args[0], number(math.pi))),))
    function = (
        None
        if kind == "betainc"
        else find("min" if kind == "Min" else "max" if kind == "Max" else _OURS.get(kind, kind))
    )
    if function is None or (kind in COMPARISONS and len(args) != 2):
        raise NotSupportedError(f"{kind} of SymPy has no counterpart among expressions' functions")
    return _chain(function.op, args) if len(args) > 2 else called(NamedFunction(kind, function.op, len(args)), args)


def _product(term: Value, known: dict[object, Node]) -> Node:
    """A product; powers of negative numbers go below the line."""
    above, below = [], []
    for arg in term.args:
        if arg.is_Pow and arg.exp.is_Number and arg.exp.is_negative:
            base, size = known[arg.base], -float(arg.exp)
            below.append(base if size == 1 else made(POWER, (base, number(size))))
        else:
            above.append(known[arg])
    top = _chain(MULTIPLY, above) if above else ONE
    return made(DIVIDE, (top, _chain(MULTIPLY, below))) if below else top


def _chain(op: Value, args: Sequence[Node]) -> Node:
    node = args[0]
    for arg in args[1:]:
        node = made(op, (node, arg))
    return node
