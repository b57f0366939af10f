"""Expressions as text with as few parentheses as possible, which reads back to the same nodes; and as LaTeX."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence

from adjoint.core.types import Array
from adjoint.expressions.functions import COMPARISONS, SHORT, VALUES
from adjoint.expressions.nodes import is_constant, ordered
from adjoint.graph.node import Node

# How tightly a text holds together; what is looser than its place allows gets parentheses.
ANYTHING, COMPARE, SUM, PRODUCT, SIGN, POWER, ATOM = range(7)
Fragment = str | tuple[Node, int]
FragmentsOf = Callable[[Node], tuple[int, Sequence[Fragment]]]
_INFIX = {"add": (SUM, " + "), "subtract": (SUM, " - "), "multiply": (PRODUCT, "*"), "divide": (PRODUCT, "/")}
_INFIX |= {name: (COMPARE, f" {sign} ") for name, sign in COMPARISONS.items()}


def render(node: Node, parts: FragmentsOf, brackets: tuple[str, str] = ("(", ")")) -> str:
    """The text of `node`: its parts, and theirs, with `brackets` where they are needed. No recursion."""
    pieces: list[str] = []
    stack: list[Fragment] = [(node, ANYTHING)]
    while stack:
        part = stack.pop()
        if isinstance(part, str):
            pieces.append(part)
            continue
        inner, least = part
        strength, found = parts(inner)
        if strength < least:
            stack.append(brackets[1])
            stack.extend(reversed(found))
            pieces.append(brackets[0])
        else:
            stack.extend(reversed(found))
    return "".join(pieces)


def text(outputs: Sequence[Node], variables: Iterable[str]) -> str:
    """Text that `adjoint.expr` reads back. What is used often has a line of its own, if repeating it would be long."""
    names = shared(outputs, set(variables))
    taken = set(variables)

    def parts(node: Node, top: Node | None = None) -> tuple[int, Sequence[Fragment]]:
        if node in names and node is not top:
            return ATOM, (names[node],)
        return _parts(node, taken)

    lines = [f"{name} = {render(node, lambda n, top=node: parts(n, top))}" for node, name in names.items()]  # type: ignore[misc]  # a default that binds
    return "; ".join([*lines, *(render(node, parts) for node in outputs)])


def step(node: Node, names: Mapping[Node, str], variables: Iterable[str]) -> str:
    """One operation as text: its arguments by name, where they have one."""
    taken = set(variables)
    return render(node, lambda n: (ATOM, (names[n],)) if n in names and n is not node else _parts(n, taken))


def shared(outputs: Sequence[Node], taken: set[str]) -> dict[Node, str]:
    """Names for the nodes that are used more than once; none, if the text is short without."""
    nodes = ordered(outputs)
    size: dict[Node, float] = {}
    uses: dict[Node, int] = dict.fromkeys(nodes, 0)
    for node in nodes:
        size[node] = 1.0 + sum(size[arg] for arg in node.args)
        for arg in node.args:
            uses[arg] += 1
    for node in outputs:
        uses[node] += 1
    if sum(size[node] for node in outputs) <= 3 * len(nodes) + 30:
        return {}
    names: dict[Node, str] = {}
    k = 0
    for node in nodes:
        if node.op is not None and uses[node] > 1 and size[node] > 2:
            k += 1
            while f"s{k}" in taken:
                k += 1
            names[node] = f"s{k}"
    return names


def _parts(node: Node, taken: set[str]) -> tuple[int, Sequence[Fragment]]:
    if is_constant(node):
        return constant(node.value, taken)
    if node.op is None:
        return ATOM, (str(node.value),)
    name = node.op.name
    if name in _INFIX:
        strength, sign = _INFIX[name]
        left = strength + (strength == COMPARE)
        return strength, ((node.args[0], left), sign, (node.args[1], strength + 1))
    if name == "negative":
        return SIGN, ("-", (node.args[0], SIGN))
    if name == "power":
        return POWER, ((node.args[0], ATOM), "^", (node.args[1], SIGN))
    return ATOM, (f"{SHORT.get(name, name)}(", *_separated(node.args), ")")


def _separated(args: Sequence[Node], sign: str = ", ") -> list[Fragment]:
    parts: list[Fragment] = []
    for arg in args:
        parts += [sign, (arg, ANYTHING)] if parts else [(arg, ANYTHING)]
    return parts


def constant(value: Array, taken: set[str]) -> tuple[int, Sequence[Fragment]]:
    """A number as it is read: a whole one without a point, and the famous ones by name."""
    if type(value) is bool:
        return ATOM, (f"isnan({'nan' if value else '0'})",)
    size = abs(value)
    sign = math.copysign(1, value) < 0 and not math.isnan(value)
    name = "nan" if math.isnan(value) else next((n for n, v in VALUES.items() if v == size and n not in taken), None)
    digits = name or (repr(int(size)) if size < 1e16 and size == int(size) else repr(float(size)))
    return (SIGN, ("-" + digits,)) if sign else (ATOM, (digits,))


# -- LaTeX ----------------------------------------------------------------------------------------------

_GREEK = frozenset((
    "alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa", "lambda", "mu", "nu", "xi",
    "pi", "rho", "sigma", "tau", "upsilon", "phi", "chi", "psi", "omega", "Gamma", "Delta", "Theta", "Lambda", "Xi",
    "Pi", "Sigma", "Upsilon", "Phi", "Psi", "Omega",
))  # fmt: skip
_COMMANDS = frozenset((
    "sin", "cos", "tan", "exp", "log", "sinh", "cosh", "tanh", "arcsin", "arccos", "arctan", "min", "max",
))  # fmt: skip
_LATEX_SIGNS = {"<=": r"\le", ">=": r"\ge", "==": "=", "!=": r"\ne"}


def latex(outputs: Sequence[Node], variables: Iterable[str]) -> str:
    """The formula in LaTeX, without dollar signs."""
    taken = set(variables)
    names = shared(outputs, taken)

    def parts(node: Node, top: Node | None = None) -> tuple[int, Sequence[Fragment]]:
        if node in names and node is not top:
            return ATOM, (_name(names[node]),)
        return _latex_parts(node, taken)

    brackets = (r"\left(", r"\right)")
    lines = [
        f"{_name(name)} = {render(node, lambda n, top=node: parts(n, top), brackets)}"  # type: ignore[misc]  # as above
        for node, name in names.items()
    ]
    return r" \\ ".join([*lines, *(render(node, parts, brackets) for node in outputs)])


def _latex_parts(node: Node, taken: set[str]) -> tuple[int, Sequence[Fragment]]:
    if is_constant(node):
        return _latex_number(node.value, taken)
    if node.op is None:
        return ATOM, (_name(str(node.value)),)
    name, args = node.op.name, node.args
    if name == "divide":
        return PRODUCT, (r"\frac{", (args[0], ANYTHING), "}{", (args[1], ANYTHING), "}")
    if name == "multiply":
        sign = r" \cdot " if is_constant(args[1]) and args[1].value not in VALUES.values() else r" \, "
        return PRODUCT, ((args[0], PRODUCT), sign, (args[1], SIGN + 1))
    if name in _INFIX:
        strength, sign = _INFIX[name]
        shown = f" {_LATEX_SIGNS.get(sign.strip(), sign.strip())} "
        return strength, ((args[0], strength + (strength == COMPARE)), shown, (args[1], strength + 1))
    if name == "negative":
        return SIGN, ("-", (args[0], PRODUCT))
    if name == "power":
        return POWER, ((args[0], ATOM), "^{", (args[1], ANYTHING), "}")
    if name == "square":
        return POWER, ((args[0], ATOM), "^{2}")
    if name == "sqrt":
        return ATOM, (r"\sqrt{", (args[0], ANYTHING), "}")
    if name == "absolute":
        return ATOM, (r"\left|", (args[0], ANYTHING), r"\right|")
    if name == "exp":
        return POWER, ("e^{", (args[0], ANYTHING), "}")
    if name == "choose_either":
        condition, x, y = ((arg, ANYTHING) for arg in args)
        return ATOM, (
            r"\begin{cases} ",
            x,
            r" & \text{if } ",
            condition,
            r" \\ ",
            y,
            r" & \text{otherwise} \end{cases}",
        )
    short = {"maximum": "max", "minimum": "min"}.get(name, name)
    command = rf"\{short}" if short in _COMMANDS else rf"\operatorname{{{_escaped(short)}}}"
    return ATOM, (rf"{command}\left(", *_separated(args), r"\right)")


def _latex_number(value: Array, taken: set[str]) -> tuple[int, Sequence[Fragment]]:
    strength, parts = constant(value, taken)
    written = str(parts[0])
    for name, command in (("pi", r"\pi"), ("inf", r"\infty"), ("nan", r"\text{nan}")):
        if written.lstrip("-") == name:
            return strength, (written.replace(name, command),)
    if "e" in written and written.lstrip("-") != "e" and type(value) is not bool:
        digits, exponent = written.split("e")
        return PRODUCT, (rf"{digits} \cdot 10^{{{int(exponent)}}}",)
    return strength, (written,)


def _name(name: str) -> str:
    """``x_1`` as an index, Greek letters as such, longer names upright."""
    stem, _, index = name.partition("_")
    if not stem:
        return rf"\mathrm{{{_escaped(name)}}}"
    digits = re.fullmatch(r"([^\W\d_]+)(\d+)", stem)
    if digits and not index:
        stem, index = digits.groups()
    shown = f"\\{stem}" if stem in _GREEK else stem if len(stem) == 1 else rf"\mathrm{{{_escaped(stem)}}}"
    return f"{shown}_{{{_escaped(index)}}}" if index else shown


def _escaped(name: str) -> str:
    return name.replace("_", r"\_")
