"""The rewriting of statements and expressions by which Python calls methods of objects: loops, tests, ``with``."""

from __future__ import annotations

import ast

from adjoint.core.types import Value
from adjoint.twin.syntax.names import GOING, MISSING
from adjoint.twin.syntax.storing import Storing

_TRUTH = ("__bool__", "__len__")
# Expressions whose value may be any object.
_OBJECTS = (ast.Name, ast.Attribute, ast.Subscript, ast.Call, ast.NamedExpr, ast.Await)


class Asking(Storing):
    """Rewrites what asks objects for their truth, their items or their keys, or enters them."""

    # -- Items ----------------------------------------------------------------------------------------------

    def _iterated(self, node: Value) -> ast.AST:
        self.generic_visit(node)
        if self._methods & {*GOING}:
            self.needs = True
            if isinstance(node.target, ast.Tuple | ast.List) and self._runs(*GOING):
                node.iter = self.hook("rows", node.iter, node.iter, _parts(node.target))
            else:
                node.iter = self.hook("iterated", node.iter, node.iter)
        return node  # type: ignore[no-any-return]  # the caller passes a loop

    def visit_For(self, node: ast.For) -> ast.AST:
        return self._iterated(node)

    def visit_comprehension(self, node: ast.comprehension) -> ast.AST:
        found: Value = self._iterated(node)
        found.ifs = [self._tested(test) for test in found.ifs]
        return found  # type: ignore[no-any-return]  # the same node

    def visit_Starred(self, node: ast.Starred) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.ctx, ast.Load) and self._methods & {*GOING}:
            self.needs = True
            node.value = self.hook("iterated", node.value, node.value)
        return node

    def visit_YieldFrom(self, node: ast.YieldFrom) -> ast.AST:
        self.generic_visit(node)
        if self._runs(*GOING):
            self.needs = True
            node.value = self.hook("iterated", node.value, node.value)
        return node

    def visit_Assign(self, node: ast.Assign) -> Value:
        found = super().visit_Assign(node)
        several = [t for t in getattr(found, "targets", ()) if isinstance(t, ast.Tuple | ast.List)]
        if len(several) == 1 and self._runs(*GOING):
            parts = _parts(several[0])
            if len(found.targets) == 1 and not (isinstance(found.value, ast.Tuple) and not _is_nested(parts)):
                self.needs = True
                found.value = self.hook("unpacked", found.value, found.value, parts)
        return found

    def _mapped(self, node: ast.expr) -> ast.expr:
        """What stands behind two stars, visited."""
        if not self._runs("keys", *GOING):
            return node
        self.needs = True
        return self.hook("mapped", node, node)

    def visit_Dict(self, node: ast.Dict) -> ast.AST:
        super().visit_Dict(node)
        pairs = zip(node.keys, node.values, strict=True)
        node.values = [self._mapped(value) if key is None else value for key, value in pairs]
        return node

    def visit_Delete(self, node: ast.Delete) -> Value:
        self.generic_visit(node)
        if not any(isinstance(t, ast.Attribute) and self._is_deleted(t.attr) for t in node.targets):
            return node
        found: list[ast.stmt] = []
        for target in node.targets:
            if isinstance(target, ast.Attribute):
                self.needs = True
                called = self.hook("deleted", target.value, target.value, self._named(target.attr, target))
                found.append(ast.copy_location(ast.Expr(called), node))
            else:
                found.append(ast.copy_location(ast.Delete([target]), node))
        return found

    def _is_deleted(self, attribute: str) -> bool:
        return attribute in self._attributes or bool(self._methods & {"__delattr__", "__delete__"})

    def visit_withitem(self, node: ast.withitem) -> ast.AST:
        self.generic_visit(node)
        if "__enter__" in self._methods:
            self.needs = True
            node.context_expr = self.hook("entered", node.context_expr, node.context_expr)
        return node

    # -- Tests ----------------------------------------------------------------------------------------------

    def _tested(self, node: ast.expr) -> ast.expr:
        """A visited expression of which only the truth is asked."""
        if isinstance(node, ast.BoolOp):
            node.values = [self._tested(value) for value in node.values]
        elif isinstance(node, _OBJECTS) and not self._answers(node) and self._runs(*_TRUTH):
            self.needs = True
            return self.hook("truth", node, node)
        return node

    def _answers(self, node: ast.expr) -> bool:
        """Whether an expression is a question of Python's, such as ``isinstance(x, y)``."""
        func = node.func if isinstance(node, ast.Call) else None
        value = MISSING if func is None else self.resolve(func)
        return type(value) is type(len) and getattr(value, "__module__", "") == "builtins"

    def _test(self, node: Value) -> ast.AST:
        self.generic_visit(node)
        node.test = self._tested(node.test)
        return node  # type: ignore[no-any-return]  # the caller passes a statement or an expression

    def visit_If(self, node: ast.If) -> ast.AST:
        return self._test(node)

    def visit_While(self, node: ast.While) -> ast.AST:
        return self._test(node)

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        return self._test(node)

    def visit_Assert(self, node: ast.Assert) -> ast.AST:
        return self._test(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        """``a or b`` of names, which is one of them."""
        self.generic_visit(node)
        *first, last = node.values
        if not all(isinstance(value, ast.Name) for value in first) or not self._runs(*_TRUTH):
            return node
        self.needs = True
        for value in reversed(first):
            test = self.hook("truth", value, value)
            both = (last, value) if isinstance(node.op, ast.And) else (value, last)
            last = ast.copy_location(ast.IfExp(test, *both), node)
        return last


def _parts(target: ast.Tuple | ast.List) -> ast.expr:
    """The shape of `target` as an expression: 0 for a name, and a tuple for names in parentheses."""
    starred = any(isinstance(part, ast.Starred) for part in target.elts)
    parts: list[ast.expr] = [
        _parts(part) if isinstance(part, ast.Tuple | ast.List) and not starred else ast.Constant(0)
        for part in target.elts
    ]
    return ast.Tuple(parts or [ast.Constant(0)], ast.Load())


def _is_nested(parts: ast.expr) -> bool:
    return any(isinstance(part, ast.Tuple) for part in getattr(parts, "elts", ()))
