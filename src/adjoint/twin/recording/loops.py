"""The names of a loop: which its turns bind, and which are read after it."""

from __future__ import annotations

import ast

from adjoint.core.types import Value

Names = tuple[str, ...]
_INSIDE = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
# What ends a loop from within, or does more at its ends than to go on.
_OTHERS = (ast.Return, ast.Yield, ast.YieldFrom, ast.Await, ast.With, ast.AsyncWith, ast.AsyncFor, ast.Delete, ast.Try,
           ast.Global, ast.Nonlocal, ast.NamedExpr, ast.Import, ast.ImportFrom, ast.Match)  # fmt: skip


def returns(loop: ast.For | ast.While) -> list[ast.Return]:
    """What leaves the function from within `loop` itself, and not from a loop or a block in it."""
    found, pending = list[ast.Return](), list[ast.stmt](loop.body)
    while pending:
        statement = pending.pop()
        if isinstance(statement, ast.Return):
            found.append(statement)
        elif isinstance(statement, ast.If):
            pending += [*statement.body, *statement.orelse]
    return found


def loop_names(loop: ast.For | ast.While, function: ast.FunctionDef, scope: tuple[set[str], set[str]]) -> Value:
    """Names that a turn binds, those of the loop's target, those of the first that are read later, names it reads.

    Last, whether turns bind what the loop goes through. None for a loop that may not end early: it has what `_OTHERS`
    lists, but for its own `returns`, or names of other functions.
    """
    if loop.orelse or isinstance(function, ast.Lambda):
        return None
    stored, loaded = dict[str, None](), dict[str, None]()
    leaving = returns(loop)
    pending: list[ast.AST] = list(loop.body) + ([loop.test] if isinstance(loop, ast.While) else [])
    while pending:
        node = pending.pop()
        if isinstance(node, _OTHERS) and node not in leaving:
            return None
        if isinstance(node, _INSIDE):
            if not isinstance(node, ast.Lambda):
                return None
            loaded.update(dict.fromkeys(n.id for n in ast.walk(node) if isinstance(n, ast.Name)))
            continue
        if isinstance(node, _COMPREHENSIONS):
            own = {n.id for g in node.generators for n in ast.walk(g.target) if isinstance(n, ast.Name)}
            if any(isinstance(n, _OTHERS) for n in ast.walk(node)):
                return None
            loaded.update(dict.fromkeys(n.id for n in ast.walk(node) if isinstance(n, ast.Name) and n.id not in own))
            continue
        if isinstance(node, ast.Name):
            (loaded if isinstance(node.ctx, ast.Load) else stored)[node.id] = None
        elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            loaded[node.target.id] = None
        pending += ast.iter_child_nodes(node)
    targets = {n.id for n in ast.walk(loop.target) if isinstance(n, ast.Name)} if isinstance(loop, ast.For) else set()
    names, outer = scope
    if not {*stored, *targets} <= names or {*stored, *targets} & outer:
        return None
    inside = set(map(id, ast.walk(loop)))
    read = {n.id for n in ast.walk(function) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)
            and id(n) not in inside}  # fmt: skip
    around = _is_around(function, loop)
    if around:  # what a turn of the loop around reads may come before this loop
        read |= {*stored, *targets} - _set_first(loop.body, function, inside)
    live = tuple(name for name in dict.fromkeys((*stored, *sorted(targets))) if name in read)
    every = tuple(dict.fromkeys((*stored, *sorted(targets))))
    loads = tuple(name for name in loaded if name not in stored)
    return every, tuple(sorted(targets)), live, loads, not targets.isdisjoint(stored)


def _set_first(body: list[ast.stmt], function: ast.FunctionDef, inside: set[int]) -> set[str]:
    """Names that each turn sets before it reads them, and that nothing outside of the loop reads."""
    found, read = set[str](), set[str]()
    for statement in body:
        own = set[str]()
        if isinstance(statement, ast.For) and isinstance(statement.target, ast.Name) and not statement.orelse:
            own = {statement.target.id}
            within = [n for part in (statement.iter, *statement.body) for n in ast.walk(part)]
            in_loop = {id(n) for part in statement.body for n in ast.walk(part)}
            if any(_reads(n, own) and id(n) not in in_loop for n in ast.walk(function)):
                own = set()
            read |= {n.id for n in within if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)} - own
            found |= own - read
            continue
        loads = {n.id for n in ast.walk(statement) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
        if isinstance(statement, ast.AugAssign) and isinstance(statement.target, ast.Name):
            loads.add(statement.target.id)
        read |= loads
        if isinstance(statement, ast.Assign):
            pending: list[ast.expr] = [*statement.targets]
            while pending:
                target = pending.pop()
                if isinstance(target, ast.Tuple | ast.List):
                    pending += target.elts
                elif isinstance(target, ast.Name) and target.id not in read:
                    own.add(target.id)
        found |= own
    outside = {n.id for n in ast.walk(function) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)
               and id(n) not in inside}  # fmt: skip
    return found - outside


def _reads(node: ast.AST, names: set[str]) -> bool:
    return isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in names


def _is_around(function: ast.FunctionDef, loop: ast.stmt) -> bool:
    """Whether a loop of `function` is around this one."""
    return any(isinstance(n, ast.For | ast.While) and n is not loop and any(x is loop for x in ast.walk(n))
               for n in ast.walk(function))  # fmt: skip
