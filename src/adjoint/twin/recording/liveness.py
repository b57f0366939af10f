"""Which names code may read after a loop, or after a turn of it, before it binds them again."""

from __future__ import annotations

import ast
from functools import lru_cache

from adjoint.twin.syntax.trees import walk

Names = frozenset[str]
_INSIDE = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef, ast.GeneratorExp)
_SIMPLE = (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Expr, ast.Assert, ast.Pass, ast.Return, ast.Raise)
NOTHING: Names = frozenset()


@lru_cache(maxsize=8)
def live_names(function: ast.FunctionDef) -> dict[ast.stmt, tuple[Names, Names]]:
    """For each loop, the names that code after it may read, and those that a turn or code after it may read."""
    found = _Backward(function)
    found.block(function.body, NOTHING, NOTHING, NOTHING)
    return {loop: (after | found.always, found.head[loop] | found.always) for loop, after in found.after.items()}


class _Backward:
    """Goes through statements from the last to the first.

    Attributes:
        always: the names that functions inside read, which may be called at any time.
        every: the names that are read anywhere.
        after: for each loop the names that are read after it.
        head: for each loop the names that are read from the beginning of a turn on.
    """

    def __init__(self, function: ast.FunctionDef) -> None:
        inside = [n for n in walk(function) if isinstance(n, _INSIDE) and n is not function]
        self.always: Names = frozenset().union(*map(_loads, inside))
        self.every = _loads(function)
        self.after: dict[ast.stmt, Names] = {}
        self.head: dict[ast.stmt, Names] = {}
        self._known: dict[ast.AST, Names] = {}

    def block(self, body: list[ast.stmt], out: Names, at_break: Names, at_continue: Names) -> Names:
        """The names that are read from the beginning of these statements on, if `out` is read after them."""
        for statement in reversed(body):
            out = self._statement(statement, out, at_break, at_continue)
        return out

    def _statement(self, node: ast.stmt, out: Names, at_break: Names, at_continue: Names) -> Names:
        if isinstance(node, ast.Break):
            return at_break
        if isinstance(node, ast.Continue):
            return at_continue
        if isinstance(node, ast.If):
            branches = [self.block(body, out, at_break, at_continue) for body in (node.body, node.orelse)]
            return branches[0] | branches[1] | self._loads(node.test)
        if isinstance(node, ast.For | ast.While):
            return self._loop(node, out, at_break, at_continue)
        if isinstance(node, _SIMPLE):
            if isinstance(node, ast.Return | ast.Raise):
                return self._loads(node)
            return (out - self._binds(node)) | self._loads(node)
        loops: list[ast.stmt] = [s for s in walk(node) if isinstance(s, ast.For | ast.While)]
        self.block(loops, self.every, self.every, self.every)  # an exception may lead from anywhere to anywhere
        return out | self._loads(node)

    def _loop(self, node: ast.For | ast.While, out: Names, at_break: Names, at_continue: Names) -> Names:
        head = after = self.block(node.orelse, out, at_break, at_continue)
        self.after[node] = self.after.get(node, NOTHING) | out | after
        test = self._loads(node.test) if isinstance(node, ast.While) else NOTHING
        bound = self._binds(node) if isinstance(node, ast.For) else NOTHING
        while True:
            new = after | test | (self.block(node.body, head, out, head) - bound)
            if new == head:
                break
            head = new
        self.head[node] = self.head.get(node, NOTHING) | head
        return head | (self._loads(node.iter) | self._loads(node.target) if isinstance(node, ast.For) else NOTHING)

    def _loads(self, node: ast.AST) -> Names:
        if node not in self._known:
            self._known[node] = _loads(node)
        return self._known[node]

    @staticmethod
    def _binds(node: ast.stmt) -> Names:
        """The names that a statement binds whenever it runs to its end, or a loop before each turn."""
        pending = list[ast.expr](node.targets if isinstance(node, ast.Assign) else [])
        if isinstance(node, ast.For) or (isinstance(node, ast.AnnAssign) and node.value is not None):
            pending = [node.target]
        found = set[str]()
        while pending:
            target = pending.pop()
            if isinstance(target, ast.Tuple | ast.List):
                pending += target.elts
            elif isinstance(target, ast.Starred):
                pending.append(target.value)
            elif isinstance(target, ast.Name):
                found.add(target.id)
        return frozenset(found)


def _loads(node: ast.AST) -> Names:
    """The names that are read anywhere in `node`."""
    inside = walk(node)
    read = {n.id for n in inside if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Store)}
    read |= {n.target.id for n in inside if isinstance(n, ast.AugAssign) and isinstance(n.target, ast.Name)}
    return frozenset(read)
