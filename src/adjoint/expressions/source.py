"""An expression and its adjoint as NumPy source: one line an operation, to read and to run."""

from __future__ import annotations

import keyword
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from adjoint.core.errors import ArgumentError
from adjoint.core.types import Value
from adjoint.expressions import sweep
from adjoint.expressions.functions import COMPARISONS, VALUES
from adjoint.expressions.nodes import DIVIDE, is_constant, ordered
from adjoint.expressions.nodes import POWER as POWER_OF
from adjoint.expressions.text import ANYTHING, ATOM, COMPARE, POWER, PRODUCT, SIGN, SUM, Fragment, constant, render
from adjoint.graph.node import Node, variable

if TYPE_CHECKING:
    from adjoint.expressions.expr import Expr

_INFIX = {"add": (SUM, " + "), "subtract": (SUM, " - "), "multiply": (PRODUCT, " * "), "divide": (PRODUCT, " / ")}
_INFIX |= {name: (COMPARE, f" {sign} ") for name, sign in COMPARISONS.items()}
# Functions that NumPy does not have, in terms of those that it has.
_WRITTEN = {
    "choose_either": "np.where({0}, {1}, {2})",
    "clamp": "np.clip({0}, {1}, {2})",
    "gate": "np.where({1} > 0, {0}, 0.0)",
    "relu": "np.maximum({0}, 0.0)",
    "sigmoid": "np.exp(np.minimum({0}, 0.0)) / (1.0 + np.exp(-np.abs({0})))",
    "sinc": "np.sinc({0})",
    "softplus": "np.logaddexp({0}, 0.0)",
}


def source(e: Expr, name: str) -> str:
    """See `Expr.to_source`."""
    if not name.isidentifier() or keyword.iskeyword(name):
        raise ArgumentError(f"name must be a Python name, as in to_source('energy'); got {name!r}")
    return _ExpressionSource(e, name).text()


class _ExpressionSource:
    def __init__(self, e: Expr, name: str) -> None:
        self.e, self.name = e, name
        self.names: dict[Node, str] = {}
        self.modules = {"import numpy as np"}
        self.taken = {name, f"{name}_and_gradient", "np", "ad", "special"}
        self.given = [self.fresh(_safe(n)) for n in e.variables]
        self.inputs = [variable(n) for n in e.variables]
        self.names = dict(zip(self.inputs, self.given, strict=True))
        self.fixed: dict[Node, Value] = {}

    def fresh(self, name: str) -> str:
        while name in self.taken:
            name += "_"
        self.taken.add(name)
        return name

    def text(self) -> str:
        e, given = self.e, ", ".join(self.given)
        forward = self.forward()
        values = self.listed(e.roots)
        lines = [f"def {self.name}({given}):", f'    """{e}"""', *forward, f"    return {values}"]
        both = [
            "", "", f"def {self.name}_and_gradient({given}):",
            f'    """The value of {self.name}, and its derivative by each argument."""',
            *forward, *self.backward(),
        ]  # fmt: skip
        head = sorted(self.modules, key=lambda line: ("numpy" not in line, line))
        return "\n".join([*head, "", "", *lines, *both]) + "\n"

    def listed(self, nodes: Sequence[Node]) -> str:
        return ", ".join(self.rendered(node) for node in nodes) if nodes else "()"

    def forward(self) -> list[str]:
        lines, k = [], 0
        self.fold(self.e.nodes)
        for node in self.e.nodes:
            if node.op is not None:
                k += 1
                written = self.rendered(node)
                self.names[node] = self.fresh(f"v{k}")
                lines.append(f"    {self.names[node]} = {written}")
        return lines

    def backward(self) -> list[str]:
        """From the last operation to the variables, a line for each cotangent."""
        lines: list[str] = []
        gradients = []
        many = len(self.e.roots) > 1
        for k, root in enumerate(self.e.roots):
            suffix = f"_{k + 1}" if many else ""
            found = sweep.cotangents(root, self.inputs)
            mine = [
                node for node in sorted(found, key=lambda n: -n.number) if node.op is not None or node in self.inputs
            ]
            # A value that rules use twice has a name too, and is computed before its first use.
            slopes = {node: found[node] for node in mine}
            title = f"    # the derivative of {self.rendered(root)} by each value, from the last to the first"
            lines.append(title)
            local = dict(self.names)
            for node in mine:
                if node not in self.names:
                    continue
                self.helpers(slopes[node], lines)
                written = self.rendered(slopes[node])
                name = self.fresh(f"d{suffix}_{self.names[node]}")
                lines.append(f"    {name} = {written}")
                if not is_constant(slopes[node]):
                    self.names.setdefault(slopes[node], name)
                if node in self.inputs:
                    local[node] = name
            row = [local[x] if x in found else "0.0" for x in self.inputs]
            gradients.append(f"({', '.join(row)}{',' * (len(row) == 1)})")
        result = ", ".join(gradients) if not many else f"({', '.join(gradients)})"
        values = self.listed(self.e.roots)
        lines.append(f"    return {f'({values})' if many else values}, {result}")
        return lines

    def helpers(self, slope: Node, lines: list[str]) -> None:
        """Names for what `slope` uses more than once."""
        self.fold(below := ordered((slope,)))
        nodes = [node for node in below if node.op is not None and node is not slope]
        uses: dict[Node, int] = {}
        for node in (*nodes, slope):
            for arg in node.args if node not in self.names else ():
                uses[arg] = uses.get(arg, 0) + 1
        for node in nodes:
            if node not in self.names and uses.get(node, 0) > 1:
                written = self.rendered(node)
                self.names[node] = self.fresh(f"w{len(self.taken)}")
                lines.append(f"    {self.names[node]} = {written}")

    def fold(self, nodes: Sequence[Node]) -> None:
        """Note the values of those nodes that no variable is in."""
        for node in nodes:
            if node not in self.fixed:
                given = [self.fixed[arg] for arg in node.args]
                if node.op is None:
                    self.fixed[node] = np.float64(node.value) if type(node.value) is float else None
                elif any(x is None for x in given):
                    self.fixed[node] = None
                else:
                    with np.errstate(all="ignore"):
                        self.fixed[node] = node.op.forward(*given)

    def fails(self, node: Node) -> bool:
        """Whether Python raises or goes complex for these numbers, where NumPy gives infinity or nan."""
        value = self.fixed.get(node)
        return node.op in (DIVIDE, POWER_OF) and value is not None and not np.isfinite(value)

    def rendered(self, node: Node) -> str:
        return render(node, self.parts)

    def parts(self, node: Node) -> tuple[int, Sequence[Fragment]]:
        if node in self.names:
            return ATOM, (self.names[node],)
        if is_constant(node):
            strength, parts = constant(node.value, set())
            written = str(parts[0])
            if type(node.value) is bool:
                return ATOM, (repr(node.value),)
            bare = written.lstrip("-")
            return strength, (written.replace(bare, f"np.{bare}") if bare in VALUES else repr(node.value),)
        assert node.op is not None
        name, args = node.op.name, node.args
        if self.fails(node):
            return ATOM, (f"np.{name}(", (args[0], ANYTHING), ", ", (args[1], ANYTHING), ")")
        if name in _INFIX:
            strength, sign = _INFIX[name]
            return strength, ((args[0], strength + (strength == COMPARE)), sign, (args[1], strength + 1))
        if name == "negative":
            return SIGN, ("-", (args[0], SIGN))
        if name == "power":
            exponent = args[1]
            whole = is_constant(exponent) and exponent.value == int(exponent.value) if _finite(exponent) else False
            right: Fragment = repr(int(exponent.value)) if whole else (exponent, SIGN)
            return POWER, ((args[0], ATOM), "**", right)
        if name in _WRITTEN:
            return _filled(_WRITTEN[name], args)
        return ATOM, (
            f"{self.function(node)}(",
            *_filled(", ".join(f"{{{i}}}" for i in range(len(args))), args)[1],
            ")",
        )

    def function(self, node: Node) -> str:
        """The name of the operation's function, with its module."""
        assert node.op is not None
        forward, called = node.op.forward, node.op.forward.__name__
        if getattr(np, called, None) is forward:
            return f"np.{'abs' if forward is np.absolute else called}"
        if isinstance(forward, np.ufunc):
            self.modules.add("from scipy import special")
            return f"special.{called}"
        self.modules.add("import adjoint as ad")
        return f"ad.{node.op.name}"


def _finite(node: Node) -> bool:
    return is_constant(node) and abs(node.value) < 1e15


def _filled(template: str, args: Sequence[Node]) -> tuple[int, list[Fragment]]:
    """The template's text, and the arguments in their places."""
    parts: list[Fragment] = []
    for piece in template.replace("{", "\0{").replace("}", "}\0").split("\0"):
        if piece[:1] == "{":
            alone = parts == [] or str(parts[-1])[-1:] in "(" or str(parts[-1])[-2:] == ", "
            parts.append((args[int(piece[1:-1])], ANYTHING if alone else ATOM))
        elif piece:
            parts.append(piece)
    return (PRODUCT if " / " in template else ATOM), parts


def _safe(name: str) -> str:
    return f"{name}_" if keyword.iskeyword(name) else name
