"""One state of Python floats: straight-line Python, compiled once, with `math` in place of NumPy.

The compiled text consists of numbered names and of the templates below; it contains none of the user's text.
The variables' names are put into the finished code object as data, so that calls find them as keywords.
If `math` raises (a division by zero, a logarithm of a negative number), the caller asks NumPy.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import count
from types import CodeType, FunctionType

import numpy as np

from adjoint.core.codegen import defined
from adjoint.core.op import Op
from adjoint.core.registry import op_named
from adjoint.core.types import Array, Function, Value
from adjoint.expressions.functions import COMPARISONS
from adjoint.expressions.nodes import is_constant, ordered
from adjoint.graph.node import Node

MAX_NODES = 20_000  # more would take longer to compile than most users wait
_DEPTH = 12  # of what is written in one line
_NUMBERS = frozenset((int, float, np.float64))
FAILURES = (ArithmeticError, ValueError)

_MATH = ("sin", "cos", "tan", "sinh", "cosh", "tanh", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sqrt",
         "cbrt", "fmod", "hypot", "copysign", "degrees", "radians", "erf", "erfc", "fabs")  # fmt: skip
_RENAMED = {"arcsin": "asin", "arccos": "acos", "arctan": "atan", "arcsinh": "asinh", "arccosh": "acosh",
            "arctanh": "atanh", "arctan2": "atan2", "absolute": "fabs", "deg2rad": "radians",
            "rad2deg": "degrees"}  # fmt: skip
_WRITTEN = {
    "add": "{0} + {1}",
    "subtract": "{0} - {1}",
    "multiply": "{0} * {1}",
    "divide": "{0} / {1}",
    "negative": "-{0}",
    "power": "pow({0}, {1})",
    "float_power": "pow({0}, {1})",
    "square": "{0} * {0}",
    "reciprocal": "1.0 / {0}",
    "remainder": "{0} % {1}",
    "floor_divide": "{0} // {1}",
    "floor": "copysign(floor({0}), {0})",
    "ceil": "copysign(ceil({0}), {0})",  # ceil(-0.5) is -0.0
    "trunc": "copysign(trunc({0}), {0})",
    "rint": "copysign(round({0}), {0})",
    "sign": "1.0 if {0} > 0.0 else -1.0 if {0} < 0.0 else {0} + 0.0",
    "maximum": "{0} if {0} >= {1} or {0} != {0} else {1}",
    "minimum": "{0} if {0} <= {1} or {0} != {0} else {1}",
    "choose_either": "{1} if {0} else {2}",
    "relu": "{0} if {0} > 0.0 or {0} != {0} else 0.0",
    "gate": "{0} if {1} > 0.0 else 0.0",
    "sigmoid": "(1.0 if {0} >= 0.0 else exp({0})) / (1.0 + exp(-fabs({0})))",
    "softplus": "({0} if {0} > 0.0 else 0.0) + log1p(exp(-fabs({0})))",
    "logical_and": "{0} and {1}",
    "logical_or": "{0} or {1}",
    "logical_xor": "{0} is not {1}",
    "logical_not": "not {0}",
    "isnan": "{0} != {0}",
    "isinf": "fabs({0}) == inf",
    "isfinite": "fabs({0}) < inf",
}
_WRITTEN |= {name: f"{{0}} {sign} {{1}}" for name, sign in COMPARISONS.items()}
_WRITTEN |= {name: f"{_RENAMED.get(name, name)}({{0}})" for name in (*_MATH, *_RENAMED)}
_WRITTEN |= {name: f"{_RENAMED.get(name, name)}({{0}}, {{1}})" for name in ("fmod", "hypot", "copysign", "arctan2")}
_SCOPE = {
    name: getattr(math, name) for name in (*_MATH, *_RENAMED.values(), "pow", "floor", "ceil", "trunc", "inf", "nan")
}
POWERS = {2.0: "{0} * {0}", 3.0: "{0} * {0} * {0}", -1.0: "1.0 / {0}", -2.0: "1.0 / ({0} * {0})"}


def function(
    outputs: Sequence[Node], variables: Sequence[Node], *, keys: Sequence[str] | None, single: bool, otherwise: Function
) -> Value:
    """A function of keywords named as the variables, which gives the values of `outputs`.

    The last of them come in a dictionary by `keys`, if there are some; a `single` one comes by itself.
    Whatever is not a call with one number for each name, or fails, goes to ``otherwise(rest, given, more)``.
    """
    body, scope, used = _lines(outputs, variables)
    names = [str(node.value) for node in variables]
    given = [f"v{i}" for i in range(len(names))]
    result = _result(used, keys, single, scope)
    by_name = ", ".join(f"key{i}: {name}" for i, name in enumerate(given))
    scope |= {f"key{i}": name for i, name in enumerate(names)}
    scope |= {"otherwise": otherwise, "failures": FAILURES, "numbers": _NUMBERS}
    elsewhere = f"return otherwise(rest, {{}} if rest else {{{by_name}}}, more)"
    mixed = " or ".join((f"len(rest) != {len(names)}", *(f"{name} is not None" for name in given)))
    taken = [
        "    if rest:",
        f"        if {mixed}:",
        f"            return otherwise(rest, {{{by_name}}}, more)",
        f"        {''.join(f'{name}, ' for name in given)} = rest",
        f"    if {' or '.join((*(f'type({name}) is not float' for name in given), 'more'))}:",
        f"        if {' or '.join((*(f'type({name}) not in numbers' for name in given), 'more'))}:",
        f"            {elsewhere}",
        *(f"        {name} = float({name})" for name in given),
    ]
    text = "\n".join([
        f"def f(*rest, {''.join(f'{name}=None, ' for name in given)}**more):",
        *(taken if names else ["    if rest or more:", f"        {elsewhere}"]),
        "    try:",
        *(f"        {line}" for line in body),
        f"        return {result}",
        "    except failures:",
        f"        {elsewhere}",
    ])  # fmt: skip
    return _renamed(_compiled(text, scope), names)


def raw(outputs: Sequence[Node], variables: Sequence[Node]) -> Callable[..., tuple[float, ...]]:
    """A function of one float a variable, which gives a tuple. Raises where `math` does."""
    body, scope, used = _lines(outputs, variables)
    given = ", ".join(f"v{i}" for i in range(len(variables)))
    lines = "".join(f"    {line}\n" for line in body)
    return _compiled(f"def f({given}):\n{lines}    return ({''.join(f'{x}, ' for x in used)})\n", scope)


def _compiled(text: str, scope: dict[str, object]) -> FunctionType:
    made: FunctionType = defined(text, "an expression's program for one state", scope, "f")
    del scope["f"]
    return made


def _renamed(made: FunctionType, names: Sequence[str]) -> FunctionType:
    """The same function with the users' names for its keywords; a point keeps ours apart from them."""
    code: CodeType = made.__code__
    own = (*names, *(f".{name}" for name in code.co_varnames[len(names) :]))
    function = FunctionType(code.replace(co_varnames=own), made.__globals__, "f")
    function.__kwdefaults__ = dict.fromkeys(names)
    return function


def _result(used: list[str], keys: Sequence[str] | None, single: bool, scope: dict[str, object]) -> str:
    if keys is None:
        return used[0] if single else f"({''.join(f'{x}, ' for x in used)})"
    scope |= {f"name{i}": key for i, key in enumerate(keys)}
    pairs = ", ".join(f"name{i}: {x}" for i, x in enumerate(used[len(used) - len(keys) :]))
    return f"({used[0]}, {{{pairs}}})" if len(used) > len(keys) else f"{{{pairs}}}"


def _lines(outputs: Sequence[Node], variables: Sequence[Node]) -> tuple[list[str], dict[str, Value], list[str]]:
    """Assignments, the objects that they refer to, and the text of each output."""
    nodes = ordered(outputs)
    times: dict[Node, int] = dict.fromkeys(nodes, 0)
    for node in nodes:
        for arg in node.args:
            times[arg] += 1
    for node in outputs:
        times[node] += 1
    scope: dict[str, Value] = dict(_SCOPE)
    texts: dict[Node, tuple[str, int]] = {node: (f"v{i}", 0) for i, node in enumerate(variables)}
    lines: list[str] = []
    fresh = count()
    for node in nodes:
        if node in texts:
            continue
        if is_constant(node):
            texts[node] = (_literal(node.value), 0)
            continue
        assert node.op is not None
        template = _template(node)
        plain = [i for i in range(len(node.args)) if template.count(f"{{{i}}}") > 1]
        for i in plain:  # what is written twice has a name
            _named(node.args[i], texts, lines, fresh)
        if not template:
            scope[node.op.name] = _by_numpy(node.op)
            template = f"{node.op.name}({', '.join(f'{{{i}}}' for i in range(len(node.args)))})"
        text = template.format(*(texts[arg][0] for arg in node.args))
        depth = 1 + max((texts[arg][1] for arg in node.args), default=0)
        texts[node] = (f"({text})", depth)
        if times[node] > 1 or depth > _DEPTH:
            _named(node, texts, lines, fresh)
    return lines, scope, [texts[node][0] for node in outputs]


def _template(node: Node) -> str:
    """The text for a call; empty if NumPy must compute it."""
    assert node.op is not None
    if node.op is _POWER and is_constant(node.args[1]) and node.args[1].value in POWERS:
        return POWERS[node.args[1].value]
    return _WRITTEN.get(node.op.name, "")


def _named(node: Node, texts: dict[Node, tuple[str, int]], lines: list[str], fresh: Value) -> None:
    text, depth = texts[node]
    if depth:
        name = f"t{next(fresh)}"
        lines.append(f"{name} = {text}")
        texts[node] = (name, 0)


def _literal(value: Array) -> str:
    if type(value) is bool:
        return repr(value)
    if math.isnan(value) or math.isinf(value):
        return "nan" if math.isnan(value) else "inf" if value > 0 else "(-inf)"
    return repr(value) if math.copysign(1, value) > 0 else f"({value!r})"


def _by_numpy(op: Op) -> Callable[..., float]:
    forward = op.forward
    return lambda *args: float(forward(*map(np.float64, args)))  # some functions take Python's for narrow ones


_POWER = op_named("power")
