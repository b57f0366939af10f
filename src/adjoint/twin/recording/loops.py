"""The names of a loop: which its turns bind, and which are read after it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from adjoint.core.types import Value
from adjoint.twin.recording.expressions import door
from adjoint.twin.recording.liveness import live_names
from adjoint.twin.syntax.trees import below, walk

_INSIDE = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
# What ends a loop from within, or does more at its ends than to go on.
_OTHERS = (ast.Return, ast.Yield, ast.YieldFrom, ast.Await, ast.With, ast.AsyncWith, ast.AsyncFor, ast.Delete, ast.Try,
           ast.Global, ast.Nonlocal, ast.NamedExpr, ast.Import, ast.ImportFrom, ast.Match)  # fmt: skip


def returns(loop: ast.For | ast.While) -> list[ast.Return]:
    """The statements that leave the function from within `loop` itself, and not from a loop or a block in it."""
    return [x for x in _statements(loop.body) if isinstance(x, ast.Return)]


def breaks(loop: ast.For | ast.While) -> list[ast.Break]:
    """The statements that end `loop`, so that its `else` is left out."""
    return [x for x in _statements(loop.body, through=True) if isinstance(x, ast.Break)]


def _statements(body: list[ast.stmt], through: bool = False) -> Iterator[ast.stmt]:
    """The statements in a block, in its branches and, if it goes `through` loops, in what these have as `else`."""
    pending = list(body)
    while pending:
        statement = pending.pop()
        yield statement
        if isinstance(statement, ast.If):
            pending += statement.body
        if isinstance(statement, ast.If) or (through and isinstance(statement, ast.For | ast.While)):
            pending += statement.orelse


def of_header(original: ast.expr, call: ast.expr, method: str) -> ast.expr:
    """A `call` of the door's in the header of a loop, as one of this method; arguments that are calls are iterators."""
    if not (isinstance(original, ast.Call) and isinstance(original.func, ast.Name) and isinstance(call, ast.Call)):
        return call
    if any(isinstance(x, ast.Starred) for x in original.args):
        return call
    f, args, *more = call.args
    if not (isinstance(call.func, ast.Attribute) and call.func.attr == "call" and isinstance(args, ast.Tuple)):
        return call
    args = ast.Tuple([of_header(x, y, "iterator") for x, y in zip(original.args, args.elts, strict=True)], ast.Load())
    return door(method, f, args, *more)


def loop_names(loop: ast.For | ast.While, function: ast.FunctionDef, scope: tuple[set[str], set[str]]) -> Value:
    """The names of a loop, as a tuple of nine parts.

    1. The names that a turn or the loop's target binds; 2. those of the target; 3. those of 1 that are read later.
    4. The names that a turn reads; 5. whether turns bind names of the target.
    6. The names that each turn binds before anything reads them.
    7. Lists that turns use only to append and to read some of the last elements, each with how many these are.
    8. The names of the target as it takes a value apart. 9. Those of 1 that a turn reads.

    Returns:
        None for a loop that may not end early: it has what `_OTHERS` lists, except its own `returns`, or it binds
        names of other functions.
    """
    if isinstance(function, ast.Lambda):
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
            loaded.update(dict.fromkeys(n.id for n in walk(node) if isinstance(n, ast.Name)))
            continue
        if isinstance(node, _COMPREHENSIONS):
            own = {n.id for g in node.generators for n in walk(g.target) if isinstance(n, ast.Name)}
            if any(isinstance(n, _OTHERS) for n in walk(node)):
                return None
            loaded.update(dict.fromkeys(n.id for n in walk(node) if isinstance(n, ast.Name) and n.id not in own))
            continue
        if isinstance(node, ast.Name):
            (loaded if isinstance(node.ctx, ast.Load) else stored)[node.id] = None
        elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            loaded[node.target.id] = None
        pending += below(node)
    targets = {n.id for n in walk(loop.target) if isinstance(n, ast.Name)} if isinstance(loop, ast.For) else set()
    names, outer = scope
    if not {*stored, *targets} <= names or {*stored, *targets} & outer:
        return None
    every = tuple(dict.fromkeys((*stored, *sorted(targets))))
    after, ahead = live_names(function).get(loop, (every, every))
    live = tuple(name for name in every if name in after)
    passing = tuple(name for name in stored if name not in ahead)
    loads = tuple(name for name in loaded if name not in stored)
    appended = _appended(loop, loads)
    target = _parts(loop.target) if isinstance(loop, ast.For) else ""
    reads = tuple(name for name in every if name in loaded)
    return every, tuple(sorted(targets)), live, loads, not targets.isdisjoint(stored), passing, appended, target, reads


def _parts(target: ast.expr) -> Value:
    """The names of a target: one, or a tuple of these, with ``"*"`` for what is no name."""
    if isinstance(target, ast.Tuple | ast.List):
        return tuple(map(_parts, target.elts))
    return target.id if isinstance(target, ast.Name) else "*"


def _appended(loop: ast.For | ast.While, names: tuple[str, ...]) -> tuple[tuple[str, int], ...]:
    """The names that a loop reads for nothing but ``name.append(...)`` and ``name[-k]``, each with the largest `k`."""
    depths, known = dict[str, int](), set[int]()
    for node in walk(loop):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            f = node.value.func
            if isinstance(f, ast.Attribute) and f.attr == "append":
                known.add(id(f.value))
        elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load) and isinstance(node.value, ast.Name):
            match node.slice:
                case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() as k)) if k > 0:
                    depths[node.value.id] = max(depths.get(node.value.id, 0), k)
                    known.add(id(node.value))
    otherwise = {n.id for n in walk(loop) if isinstance(n, ast.Name) and id(n) not in known}
    return tuple((name, depths.get(name, 0)) for name in names if name not in otherwise)
