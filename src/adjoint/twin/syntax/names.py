"""The names of a function: what it binds and imports, and which are texts."""

from __future__ import annotations

import ast
import sys
from collections import Counter
from collections.abc import Iterator, Mapping

from adjoint.core.objects.looking import looked_up
from adjoint.core.types import Value
from adjoint.twin.syntax.trees import walk

MISSING: Value = object()
#: What the names of hooks begin with.
PREFIX = "_adj_"

#: Python's operators that a class may define, by the names of `operator` and of the methods.
BINARY: Mapping[type[ast.operator], str] = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "truediv", ast.FloorDiv: "floordiv", ast.Mod: "mod",
    ast.Pow: "pow", ast.MatMult: "matmul", ast.BitAnd: "and_", ast.BitOr: "or_", ast.BitXor: "xor",
    ast.LShift: "lshift", ast.RShift: "rshift",
}  # fmt: skip
COMPARISONS: Mapping[type[ast.cmpop], str] = {
    ast.Eq: "eq", ast.NotEq: "ne", ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge",
}  # fmt: skip
UNARY: Mapping[type[ast.unaryop], str] = {ast.USub: "neg", ast.UAdd: "pos", ast.Invert: "invert"}

#: The methods by which objects are gone through.
GOING = ("__iter__", "__next__", "__getitem__")

#: Where an expression stands: its lines and columns.
SourceSpan = tuple[int, int, int | None, int | None]


def span(node: ast.expr) -> SourceSpan:
    """Where `node` stands."""
    return node.lineno, node.col_offset, node.end_lineno, node.end_col_offset


#: Displays that NumPy's functions make arrays of.
SEQUENCES = (ast.List, ast.Tuple, ast.ListComp, ast.GeneratorExp)


#: A name, where it is looked up.
NamePlace = tuple[Mapping[str, Value], str]


def imports(function: ast.AST) -> dict[str, NamePlace]:
    """The names that import statements in a function bind, where the module is loaded: what they stand for is there."""
    found: dict[str, NamePlace] = {}
    for node in walk(function):
        if isinstance(node, ast.Import):
            for alias in node.names:
                name = alias.name if alias.asname else alias.name.split(".")[0]
                if name in sys.modules:
                    found[alias.asname or name] = sys.modules, name
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module in sys.modules:
            for alias in node.names:
                module = sys.modules[node.module]
                value = looked_up(module, alias.name, MISSING)
                if value is not MISSING:
                    scope = vars(module) if alias.name in vars(module) else {alias.name: value}
                    found[alias.asname or alias.name] = scope, alias.name
    stored = {n.id for n in walk(function) if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)}
    return {name: place for name, place in found.items() if name not in stored}


def imports_unknown(function: ast.AST) -> bool:
    """Whether a function imports a module that was not loaded yet, of which nothing is known."""
    for node in walk(function):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom):
            names = [node.module or ""] if node.level == 0 else []
        if any(name not in sys.modules for name in names):
            return True
    return False


class EveryName(set[str]):
    """The names that classes may define of which nothing is known: all of them."""

    def __contains__(self, name: object) -> bool:
        return True

    def __and__(self, others: Value) -> Value:
        return others


def bound(function: ast.AST) -> set[str]:
    """The names that are bound anywhere in a function, or in those inside of it."""
    outer = {name for node in walk(function) if isinstance(node, ast.Global) for name in node.names}
    return set(bindings(function)) - outer


def bindings(function: ast.AST) -> Iterator[str]:
    """The names that are bound anywhere in a function, as often as they are."""
    for node in walk(function):
        if isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            yield node.id
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield from [node.name] if node is not function else []
        elif isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar):
            yield from [node.name] if node.name else []
        elif isinstance(node, ast.MatchMapping) and node.rest:
            yield node.rest
        elif isinstance(node, ast.Import | ast.ImportFrom):
            yield from [(alias.asname or alias.name).split(".")[0] for alias in node.names]


def bound_once(function: Value) -> dict[str, ast.expr]:
    """The names that nothing binds but one assignment, which is no part of a branch or a loop: to which expression."""
    times = Counter(bindings(function))
    body = function.body if isinstance(function.body, list) else []
    assigned = [node for node in body if isinstance(node, ast.Assign) and len(node.targets) == 1]
    pairs = [(node.targets[0], node.value) for node in assigned]
    return {target.id: value for target, value in pairs if isinstance(target, ast.Name) and times[target.id] == 1}


class Texts:
    """Which expressions of a function are texts, by the look of them: ``text % values`` is no remainder."""

    def __init__(self, function: Value) -> None:
        self._names: set[str] = set()
        for node in walk(function):
            if isinstance(node, ast.Assign):
                self._bind(node.targets, node.value)
            elif isinstance(node, ast.AnnAssign | ast.NamedExpr) and node.value is not None:
                self._bind([node.target], node.value)
            elif isinstance(node, ast.For | ast.comprehension):
                self._bind([node.target], node.iter)
            elif isinstance(node, ast.arguments):
                given = [*node.posonlyargs, *node.args]
                self._names |= {name.arg for name in (*given, *node.kwonlyargs) if _says_text(name.arg)}
                pairs = [*zip(given[::-1], node.defaults[::-1], strict=False)]
                pairs += [(n, value) for n, value in zip(node.kwonlyargs, node.kw_defaults, strict=True) if value]
                self._names |= {name.arg for name, value in pairs if _has_text(value)}

    def _bind(self, targets: list[ast.expr], value: ast.expr) -> None:
        if _has_text(value):
            self._names |= {n.id for target in targets for n in walk(target) if isinstance(n, ast.Name)}

    def surely(self, node: ast.expr) -> bool:
        """Whether `node` is a text, or is called one."""
        if isinstance(node, ast.Name):
            return node.id in self._names or _says_text(node.id)
        if isinstance(node, ast.Attribute | ast.Subscript):
            return _says_text(ast.unparse(node))
        return isinstance(node, ast.Constant | ast.JoinedStr | ast.BinOp) and _has_text(node)

    def perhaps(self, node: ast.expr) -> bool:
        """Whether `node` may be a text: nothing is known about it."""
        return self.surely(node) or isinstance(node, ast.Name | ast.Attribute | ast.Subscript | ast.Call)


def _has_text(node: ast.expr) -> bool:
    return any(isinstance(n, ast.Constant) and isinstance(n.value, str | bytes) for n in walk(node))


def _says_text(name: str) -> bool:
    return any(word in name.lower() for word in ("fmt", "format", "templ", "text", "message", "msg", "label"))
