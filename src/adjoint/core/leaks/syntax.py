"""The syntax of running code: the expression that a frame executes, and the functions around it."""

from __future__ import annotations

import ast
import linecache
from contextlib import suppress
from functools import lru_cache
from types import CodeType

from adjoint.core.threads.locks import PARSING

_TRIES = 20


def tree_of(text: str, file: str = "<unknown>") -> ast.Module:
    """The syntax tree of a file's text.

    Python 3.11 counts the levels of the trees of all threads together, and raises where they mix. So our threads parse
    one after another, and again where one of the user's parsed meanwhile.
    """
    with PARSING:
        for _ in range(_TRIES):
            with suppress(SystemError):
                return ast.parse(text, file)
        return ast.parse(text, file)


@lru_cache(16)
def _parsed(file: str, size: int) -> dict[ast.AST, ast.AST]:
    """The parent of each node of a file's syntax tree; functions keep it, so that it is one with their nodes."""
    tree = tree_of("".join(linecache.getlines(file)))
    parents = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
    for node in (tree, *parents):
        if isinstance(node, ast.Module | ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            node.parents = parents  # type: ignore[union-attr]  # an attribute of ours
    return parents


def parents_in(function: ast.AST) -> dict[ast.AST, ast.AST]:
    """The parent of each node of the file that `function` stands in."""
    found: dict[ast.AST, ast.AST] = getattr(function, "parents", {})
    return found


def _parents(code: CodeType) -> dict[ast.AST, ast.AST]:
    try:
        return _parsed(code.co_filename, len(linecache.getlines(code.co_filename)))
    except (SyntaxError, ValueError, RecursionError):
        return {}


@lru_cache(1024)
def expression_at(code: CodeType, at: int) -> tuple[ast.expr | None, ast.AST | None]:
    """The expression that `code` is at, and the function that it stands in."""
    position = next((p for i, p in enumerate(code.co_positions()) if i == at // 2), None)
    if position is None or None in position:
        return None, None
    line, stop, left, right = position
    parents = _parents(code)
    ending = [n for n in parents if isinstance(n, ast.expr) and (n.end_lineno, n.end_col_offset) == (stop, right)]
    found = [n for n in ending if (n.lineno, n.col_offset) == (line, left)]
    found = found or [n for n in ending if isinstance(n, ast.Call)]  # of a call of several lines, the start may differ
    return (found[0], function_of(found[0], parents)) if found else (None, None)


def function_of(node: ast.AST, parents: dict[ast.AST, ast.AST]) -> ast.AST:
    while node in parents:
        node = parents[node]
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            break
    return node


def is_inside(node: ast.AST, outer: ast.AST, parents: dict[ast.AST, ast.AST]) -> bool:
    while node in parents and node is not outer:
        node = parents[node]
    return node is outer


def outermost(function: ast.AST, parents: dict[ast.AST, ast.AST]) -> ast.AST:
    """The function that `function` is defined in, at the top of a module or a class: names may be of any in between."""
    node = function
    while node in parents:
        node = parents[node]
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            function = node
    return function


@lru_cache(4096)
def loads(name: str, function: ast.AST) -> tuple[ast.Name, ...]:
    """Where `function` reads the variable `name`."""
    names = (x for x in ast.walk(function) if isinstance(x, ast.Name))
    return tuple(x for x in names if x.id == name and isinstance(x.ctx, ast.Load))


@lru_cache(1024)
def definition_of(code: CodeType) -> ast.FunctionDef | None:
    """The definition that `code` was compiled from."""
    for node in _parents(code):
        if isinstance(node, ast.FunctionDef) and _first(node) == code.co_firstlineno and node.name == code.co_name:
            return node
    return None


def _first(function: ast.FunctionDef) -> int:
    return min([function.lineno, *(d.lineno for d in function.decorator_list)])
