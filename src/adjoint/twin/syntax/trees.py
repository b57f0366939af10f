"""Walks over syntax trees. Those of `ast` take several times as long, and were half of what a twin costs."""

from __future__ import annotations

import ast
from typing import TypeVar

N = TypeVar("N", bound=ast.AST)
_KINDS = (ast.expr_context, ast.operator, ast.cmpop, ast.boolop, ast.unaryop)
#: Classes of nodes that say how others are meant. Nothing is below them, and Python uses each many times.
MARKS = frozenset(kind for group in _KINDS for kind in group.__subclasses__())


# Fields of nodes without nodes below them other than marks.
_PLAIN = frozenset((
    "arg", "asname", "attr", "conversion", "ctx", "id", "is_async", "kind", "level", "module", "op", "ops", "rest",
    "simple", "tag", "type_comment",
))  # fmt: skip
_fields: dict[type[ast.AST], tuple[str, ...]] = {ast.Constant: ()}


def below(node: ast.AST) -> list[ast.AST]:
    """The nodes directly below `node`, in order, without marks."""
    kind = node.__class__
    fields = _fields.get(kind)
    if fields is None:
        fields = _fields[kind] = tuple(name for name in kind._fields if name not in _PLAIN)
    found: list[ast.AST] = []
    if fields:
        space = node.__dict__
        for name in fields:
            part = space.get(name)
            if part.__class__ is list:
                found += [x for x in part if isinstance(x, ast.AST)]
            elif isinstance(part, ast.AST):
                found.append(part)
    return found


def walk(node: ast.AST) -> list[ast.AST]:
    """`node` and all nodes below it, breadth first, without marks."""
    found = [node]
    for each in found:
        found += below(each)
    return found


def copied(node: N) -> N:
    """A copy of a syntax tree."""
    made = node.__class__.__new__(node.__class__)
    space = made.__dict__
    for name, value in node.__dict__.items():
        if value.__class__ is list:
            space[name] = [copied(x) if isinstance(x, ast.AST) and x.__class__ not in MARKS else x for x in value]
        elif isinstance(value, ast.AST) and value.__class__ not in MARKS:
            space[name] = copied(value)
        else:
            space[name] = value
    return made


def placed(new: N, old: ast.AST) -> N:
    """`new`, in the place in the source that `old` has, if it has one."""
    space = old.__dict__
    if "lineno" in space and "lineno" in new._attributes:
        own = new.__dict__
        own["lineno"], own["col_offset"] = space["lineno"], space["col_offset"]
        own["end_lineno"], own["end_col_offset"] = space.get("end_lineno"), space.get("end_col_offset")
    return new


def locate(tree: ast.AST) -> None:
    """Give each node below `tree` that has no place in the source the place of the node around it."""
    todo: list[tuple[ast.AST, tuple[int, int, int, int]]] = [(tree, (1, 0, 1, 0))]
    while todo:
        node, place = todo.pop()
        if "lineno" in node._attributes:
            space = node.__dict__
            line, column, last, end = place
            line, column = space.setdefault("lineno", line), space.setdefault("col_offset", column)
            if space.get("end_lineno") is None:
                space["end_lineno"] = last
            if space.get("end_col_offset") is None:
                space["end_col_offset"] = end
            place = line, column, space["end_lineno"], space["end_col_offset"]
        todo += [(part, place) for part in reversed(below(node))]
