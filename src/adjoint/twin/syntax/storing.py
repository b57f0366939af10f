"""The rewriting of stores: arrays that are written into, or leave the function, are made able to hold tensors."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from adjoint.core.types import Value
from adjoint.twin.syntax.births import Births, creates
from adjoint.twin.syntax.facts import Facts
from adjoint.twin.syntax.known import KnownNames, Standing
from adjoint.twin.syntax.names import BINARY, PREFIX, SourceSpan, span
from adjoint.twin.syntax.source import FunctionSyntax
from adjoint.twin.syntax.trees import walk


class Storing(KnownNames, ast.NodeTransformer):
    """Rewrites assignments, displays and what a function returns.

    Afterwards `hooks` are the hooks that the function needs, and `needs` says whether anything in it would not
    differentiate as it is; `needs_for_lists`, whether it would not if it were given lists that hold tensors; `stored`,
    where the values stand that go through `fresh`.
    """

    def __init__(self, found: FunctionSyntax, scope: Mapping[str, Value], facts: Facts, standing: Standing) -> None:
        super().__init__(found, scope, facts, standing)
        self.hooks: set[str] = set()
        self.needs = self.needs_for_lists = False
        self.stored: set[SourceSpan] = set()
        self._private = found.class_name
        self._outside = False
        self.births = Births(found.node, self._only_reads)
        self.function = found.node

    def hook(self, name: str, at: ast.expr, *args: ast.expr) -> ast.expr:
        """A call of a hook."""
        self.hooks.add(name)
        if name == "fresh":
            self.stored.add(span(at))
        called = ast.copy_location(ast.Name(PREFIX + name, ast.Load()), at)
        return ast.copy_location(ast.Call(called, list(args), []), at)

    def _named(self, name: str, at: ast.expr) -> ast.Constant:
        if self._private and name.startswith("__") and not name.endswith("__"):
            name = f"_{self._private.lstrip('_')}{name}"
        return ast.copy_location(ast.Constant(name), at)

    # -- Storing --------------------------------------------------------------------------------------------

    def _escaping(self, node: ast.expr) -> ast.expr:
        """A visited expression whose value goes where it may be written into."""
        makes = creates(node)
        visited: ast.expr = self.visit(node)
        if makes and not isinstance(node, ast.Starred):
            self.needs = True
            return self.hook("fresh", visited, visited)
        return visited

    def _bound_to(self, target: ast.expr, value: ast.expr) -> ast.expr:
        """The visited `value` that is stored in `target`."""
        makes, plain = creates(value), isinstance(value, ast.Constant | ast.Name | ast.Lambda)
        names = [n.id for n in walk(target) if isinstance(n, ast.Name)] if not _inside(target) else []
        if any(map(self.births.is_variable, names)) and not plain:
            self.needs = True
            return self.hook("fresh", value, self.visit(value))
        if makes and (_inside(target) or any(map(self.births.leaves, names))):
            return self._escaping(value)
        visited: ast.expr = self.visit(value)
        return self.hook("fresh", value, visited) if _inside(target) and not plain else visited

    def visit_Assign(self, node: ast.Assign) -> Value:
        if (parts := self._one_by_one(node)) is not None:
            found = [self.visit(part) for part in parts]
            return [s for one in found for s in (one if isinstance(one, list) else [one])]
        node.value = self._bound_to(node.targets[0], node.value)
        node.targets = [self.visit(target) for target in node.targets]
        if len(node.targets) == 1 and isinstance(node.targets[0], ast.Attribute):
            return self._set(node.targets[0], node.value, node)
        return node

    def _one_by_one(self, node: ast.Assign) -> list[ast.stmt] | None:
        """``o.a, b = value`` and ``o.a = b = value`` as several statements, if setting `a` may run code."""
        several = len(node.targets) > 1
        each: list[ast.expr] = node.targets if several else getattr(node.targets[0], "elts", [])
        parts = [part for target in each for part in walk(target)]
        runs = any(
            isinstance(p, ast.Attribute) and isinstance(p.ctx, ast.Store) and self._is_run(p.attr) for p in parts
        )
        if not runs or any(isinstance(target, ast.Starred) for target in each):
            return None
        names = [part for part in parts if isinstance(part, ast.Name)]
        bound = {name.id for name in names if isinstance(name.ctx, ast.Store)}
        if any(isinstance(name.ctx, ast.Load) and name.id in bound for name in names):
            return None  # a target is found by a name that is bound before it
        at = node.value
        kept = [f"{PREFIX}value_{at.lineno}_{at.col_offset}_{0 if several else i}" for i, _ in enumerate(each)]
        stores: list[ast.expr] = [ast.copy_location(ast.Name(name, ast.Store()), at) for name in kept]
        first = stores[0] if several else ast.copy_location(ast.Tuple(stores, ast.Store()), at)
        loads = [ast.copy_location(ast.Name(name, ast.Load()), at) for name in kept]
        pairs = [(first, at), *zip(each, loads, strict=True)]
        return [ast.copy_location(ast.Assign([target], value), node) for target, value in pairs]

    def _is_run(self, attribute: str) -> bool:
        """Whether setting an attribute of that name may run code."""
        return attribute in self._attributes or "__setattr__" in self._methods

    def _set(self, target: ast.Attribute, value: ast.expr, node: ast.stmt) -> ast.AST:
        """``o.name = value``, by the setter of a property, if classes have one of that name."""
        if not self._is_run(target.attr):
            return node
        self.needs = True
        call = self.hook("set", value, target.value, self._named(target.attr, target), value)
        return ast.copy_location(ast.Expr(call), node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        if node.value is not None:
            node.value = self._bound_to(node.target, node.value)
        node.target = self.visit(node.target)
        return node

    def visit_NamedExpr(self, node: ast.NamedExpr) -> ast.AST:
        node.value = self._bound_to(node.target, node.value)
        return node

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        name = BINARY[type(node.op)]
        listed = self._lists.surely(node.value) and not self._lists.surely(node.target)
        self.generic_visit(node)
        target, defined = node.target, listed or self._defined(name) or self._defined("i" + name)
        if isinstance(target, ast.Name) and defined:
            self.needs = True
            load = ast.copy_location(ast.Name(target.id, ast.Load()), target)
            value = self.hook("i" + name, node.value, load, node.value)
            return ast.copy_location(ast.Assign([target], value), node)
        if isinstance(target, ast.Attribute) and (defined or self._is_run(target.attr)):
            return self._updated("update", name, target.value, self._named(target.attr, target), node)
        if isinstance(target, ast.Subscript) and defined and not _sliced(target.slice):
            return self._updated("update_item", name, target.value, target.slice, node)
        return node

    def _updated(self, hook: str, operator: str, o: ast.expr, place: ast.expr, node: ast.AugAssign) -> ast.AST:
        """``o.name += value`` or ``o[index] += value``, of which `o` is one expression, evaluated once."""
        self.needs = True
        self.hooks.add("i" + operator)
        function = ast.copy_location(ast.Name(f"{PREFIX}i{operator}", ast.Load()), node.value)
        return ast.copy_location(ast.Expr(self.hook(hook, node.value, o, place, function, node.value)), node)

    def visit_Return(self, node: ast.Return) -> ast.AST:
        node.value = node.value and self._escaping(node.value)
        return node

    def visit_Yield(self, node: ast.Yield) -> ast.AST:
        node.value = node.value and self._escaping(node.value)
        return node

    def _display(self, node: Value) -> ast.AST:
        if isinstance(node.ctx, ast.Load):
            node.elts = [self._escaping(element) for element in node.elts]
            return node  # type: ignore[no-any-return]  # the caller passes a display
        return self.generic_visit(node)

    def visit_List(self, node: ast.List) -> ast.AST:
        return self._display(node)

    def visit_Tuple(self, node: ast.Tuple) -> ast.AST:
        return self._display(node)

    def visit_Dict(self, node: ast.Dict) -> ast.AST:
        node.keys = [key and self.visit(key) for key in node.keys]
        node.values = [self._escaping(value) for value in node.values]
        return node

    def visit_ListComp(self, node: ast.ListComp) -> ast.AST:
        node.generators = [self.visit(generator) for generator in node.generators]
        node.elt = self._escaping(node.elt)
        return node


def _sliced(index: ast.expr) -> bool:
    """Whether an index has slices in it, which stand nowhere else."""
    return any(isinstance(part, ast.Slice) for part in walk(index))


def _inside(target: ast.expr) -> bool:
    """Whether a target is a place in something else: an attribute or an element."""
    return isinstance(target, ast.Attribute | ast.Subscript)
