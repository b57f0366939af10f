"""The names of a function: what it binds, imports, and makes lists of."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable
from typing import Any

MISSING: Any = object()
#: Displays that NumPy's functions make arrays of.
SEQUENCES = (ast.List, ast.Tuple, ast.ListComp, ast.GeneratorExp)

_LISTING = frozenset({"list", "tuple", "sorted", "reversed", "deque", "values"})
#: What gives tuples, one after another.
_TUPLES = frozenset({"zip", "product", "combinations", "permutations", "pairwise", "batched", "items"})


def imports(function: ast.AST) -> dict[str, Any]:
    """The names that import statements in a function bind, where the module is loaded: to what."""
    found: dict[str, Any] = {}
    for node in ast.walk(function):
        if isinstance(node, ast.Import):
            for alias in node.names:
                name = alias.name if alias.asname else alias.name.split(".")[0]
                if name in sys.modules:
                    found[alias.asname or name] = sys.modules[name]
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module in sys.modules:
            for alias in node.names:
                value = getattr(sys.modules[node.module], alias.name, MISSING)
                if value is not MISSING:
                    found[alias.asname or alias.name] = value
    stored = {n.id for n in ast.walk(function) if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)}
    return {name: value for name, value in found.items() if name not in stored}


def imports_unknown(function: ast.AST) -> bool:
    """Whether a function imports a module that was not loaded yet, of which nothing is known."""
    for node in ast.walk(function):
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

    def __and__(self, others: Any) -> Any:
        return others


def bound(function: ast.AST) -> set[str]:
    """The names that are bound anywhere in a function, or in those inside of it."""
    found: set[str] = set()
    outer: set[str] = set()
    for node in ast.walk(function):
        if isinstance(node, ast.arg):
            found.add(node.arg)
        elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            found.add(node.id)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found |= {node.name} if node is not function else set()
        elif isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar):
            found |= {node.name} if node.name else set()
        elif isinstance(node, ast.MatchMapping) and node.rest:
            found.add(node.rest)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            found |= {(alias.asname or alias.name).split(".")[0] for alias in node.names}
        elif isinstance(node, ast.Global):
            outer |= set(node.names)
    return found - outer


def lists(function: ast.AST) -> set[str]:
    """The names that are bound to a list or tuple that the function makes."""
    found = set()
    for node in ast.walk(function):
        pairs: Iterable[tuple[ast.expr, ast.expr]] = ()
        if isinstance(node, ast.Assign):
            pairs = [(target, node.value) for target in node.targets]
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            pairs = [(node.target, node.value)]
        elif isinstance(node, ast.For | ast.comprehension) and _called(node.iter) in _TUPLES:
            pairs = [(node.target, ast.Tuple([], ast.Load()))]
        for target, value in pairs:
            if isinstance(target, ast.Name) and lists_something(value):
                found.add(target.id)
    return found


def lists_something(value: ast.expr) -> bool:
    """Whether an expression makes a list or a tuple, or its like: ``[a, b]``, ``sorted(a)``, ``d.values()``."""
    return isinstance(value, SEQUENCES) or _called(value) in _LISTING


def _called(value: ast.expr) -> str:
    """The last name of what an expression calls."""
    called = value.func if isinstance(value, ast.Call) else None
    return str(getattr(called, "id", getattr(called, "attr", "")))
