"""The rewriting of a function's syntax: what may matter goes through a hook, everything else stays unchanged.

A hook *resolves*, it does not call: ``g(x)`` becomes ``_adj_call(g)(x)``. So the call itself is made in the user's own
frame, and `super()`, warnings, tracebacks and debuggers work as before. Functions of a module such as NumPy
are resolved here, once: ``np.array([a, b])`` becomes ``_adj_1([a, b])``.

The names of hooks are free variables of the rewritten function, whose cells the policy fills (`runtime/hooks.py`). So
no global is changed, and two policies never mix.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Mapping
from types import ModuleType

from adjoint.core.types import Value
from adjoint.twin.standins import overlooked
from adjoint.twin.syntax.births import outputs
from adjoint.twin.syntax.facts import KNOWN
from adjoint.twin.syntax.names import BINARY, COMPARISONS, MISSING, PREFIX, UNARY
from adjoint.twin.syntax.protocols import Asking
from adjoint.twin.syntax.trees import walk

# What takes lists of whole numbers.
_OF_AXES = frozenset({"axis", "axes", "shape", "newshape", "size", "sizes", "out"})
_ITEMS: Mapping[type[ast.expr_context], tuple[str, ...]] = {
    ast.Load: ("__getitem__", "__missing__", "__class_getitem__"),
    ast.Store: ("__setitem__",),
    ast.Del: ("__delitem__",),
}
# What a class defines so that its objects can be stored in arrays.
_STORED = ("__float__", "__complex__", "__array__")
# What a class defines to be asked for attributes.
_ASKED = ("__getattr__", "__getattribute__")


class Rewriter(Asking):
    """Rewrites one function: what it calls, reads and stores."""

    _raising = False
    _as_it_is = False  # whether objects that can be called go outside as they are

    def rewritten(self) -> None:
        """Rewrite the function in its place."""
        node = self.function
        if isinstance(node, ast.Lambda):
            node.body = self._escaping(node.body)
        else:
            node.body = self._statements(node.body)

    def _statements(self, body: list[ast.stmt]) -> list[ast.stmt]:
        found = [self.visit(statement) for statement in body]
        return [s for one in found for s in (one if isinstance(one, list) else [one])]

    # -- Calls ----------------------------------------------------------------------------------------------

    def visit_Call(self, node: ast.Call) -> ast.expr:
        func = node.func
        named = [keyword.value for keyword in node.keywords if keyword.arg not in _OF_AXES]
        listed = any(map(self._lists.surely, (*node.args, *named)))
        perhaps = any(map(self._lists.perhaps, node.args))
        reads, written = self._only_reads(node), outputs(node)
        if isinstance(func, ast.Name) and func.id in ("locals", "vars", "dir") and not node.args:
            if self._fixed(func):
                return self.hook("names", node, node)
        before = self._outside, self._as_it_is
        self._outside = self._goes_outside(func)
        self._as_it_is = self._outside and self._keeps_objects(func)
        node.args = [self.visit(arg) if reads and arg not in written else self._escaping(arg) for arg in node.args]
        for keyword in node.keywords:
            stays = reads and keyword.value not in written
            keyword.value = self.visit(keyword.value) if stays else self._escaping(keyword.value)
            if keyword.arg is None:
                keyword.value = self._mapped(keyword.value)
        self._outside, self._as_it_is = False, before[1]  # what is called here the function around does not get itself
        if not (isinstance(func, ast.Name) and func.id == "super"):
            fills = any(keyword.arg == "out" for keyword in node.keywords)
            given = {*range(len(node.args)), *[keyword.arg for keyword in node.keywords]}
            node.func = self._callee(func, listed, perhaps, fills, given)
        self._outside = before[0]
        return node

    def _callee(
        self, func: ast.expr, listed: bool, perhaps: bool, fills: bool = False, given: Collection[Value] = ()
    ) -> ast.expr:
        stand_in, original = self._stand_in(func)
        value = self.resolve(func) if original is MISSING else original
        self.needs |= any(argument in given for argument in overlooked(value))
        if original is not MISSING:
            method = getattr(original, func.attr, None) if isinstance(func, ast.Attribute) else None  # np.hypot.reduce
            self.needs |= listed or self.standing.needed(original) or self.standing.needed(method)
            self.needs_for_lists |= perhaps
            return stand_in
        if self._fixed(func) and not self._is_followed(value):
            return func
        if isinstance(func, ast.Attribute) and not isinstance(self.resolve(func.value), ModuleType):
            name = self._named(func.attr, func)
            func.value = self.visit(func.value)
            own = name.value in self._methods or self.facts.is_set(str(name.value))
            known = func.attr in KNOWN and func.attr != "__class__" and not own
            if fills or not known or self.standing.method_matters(func.attr):
                self.needs = True
                return self.hook("filling" if fills else "method", func, func.value, name)
            return func
        if isinstance(func, ast.Name) and value is not MISSING:
            self._depend(func.id, value)
        self.needs |= value is MISSING or self.standing.matters(value, listed)
        self.needs_for_lists |= perhaps and self.standing.matters(value, True)
        return self.hook("call", func, func if isinstance(func, ast.Attribute | ast.Name) else self.visit(func))

    # -- Reading --------------------------------------------------------------------------------------------

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if self._outside and isinstance(node.ctx, ast.Load):
            value = self.resolve(node)
            kept = isinstance(value, type) or (self._as_it_is and self.facts.follows.cls(type(value)))
            if value is not MISSING and not kept and self.standing.matters(value):
                self._depend(node.id, value)
                self.needs = True
                return self.hook("call", node, node)
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        if isinstance(self.resolve(node.value), ModuleType):
            value = self.resolve(node)
            if value is not MISSING and not isinstance(value, type | ModuleType):  # as in `map(math.sin, x)`
                self.needs |= self.standing.needed(value)
            return node
        node.value = self._at_home(node.value)
        name = self._named(node.attr, node)
        if isinstance(node.ctx, ast.Load):
            runs_code = node.attr in self._attributes or any(asked in self._methods for asked in _ASKED)
            goes_out = self._outside and node.attr in self._methods
            if runs_code or goes_out or self.standing.attribute_matters(node.attr):
                self.needs = True
                found = self.hook("attribute", node, node.value, name)
                return self.hook("call", node, found) if goes_out else found
        return node

    def _at_home(self, node: ast.expr) -> Value:
        """A part of an argument that the called function does not get itself: what is read of it, or computed."""
        outside, self._outside = self._outside, False
        found = self.visit(node)
        self._outside = outside
        return found

    def _operands(self, node: ast.AST) -> None:
        """Visit what is computed with, which the called function does not get itself, either."""
        outside, self._outside = self._outside, False
        self.generic_visit(node)
        self._outside = outside

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        node.slice = self._at_home(node.slice)
        stand_in, original = self._stand_in(node.value)
        if original is not MISSING and not isinstance(original, type):
            self.needs |= self.standing.needed(original)
            node.value = stand_in
            return node
        value = self.resolve(node.value)
        if isinstance(node.value, ast.Name) and not callable(value) and self.standing.needed(value):
            self._depend(node.value.id, value)  # from numpy import r_
            self.needs = True
            node.value = self.hook("call", node.value, node.value)
            return node
        if not isinstance(value, ModuleType):
            node.value = self._at_home(node.value)
        wanted = _ITEMS[type(node.ctx)]
        if self.standing.indexes and isinstance(node.ctx, ast.Load) and not _is_constant(node.slice):
            self.needs = True
            node.value = self.hook("table", node.value, node.value)
        if any(name in self._methods for name in wanted):
            self.needs = True
            node.value = self.hook("items", node.value, node.value)
        if isinstance(node.ctx, ast.Store) and any(name in self._methods for name in _STORED):
            node.value = self.hook("places", node.value, node.value)
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        name = BINARY[type(node.op)]
        listed = self._lists.mixes(node.left, node.right)
        texts = name == "mod" and self._may_be_text(node.left)
        self._operands(node)
        if listed or texts or self._defined(name):
            self.needs = True
            return self.hook(name, node, node.left, node.right)
        return node

    def _may_be_text(self, node: ast.expr) -> bool:
        """Whether ``node % values`` may be a text that shows samples that differ, or objects."""
        value = self.resolve(node)
        if value is not MISSING:
            return isinstance(value, str | bytes)
        any_may = self.standing.indexes or "__float__" in self._methods
        return self._texts.perhaps(node) if any_may else self._texts.surely(node)

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        plain = list(node.comparators)
        ordered = isinstance(node.ops[0], ast.Lt | ast.LtE | ast.Gt | ast.GtE)
        listed = len(plain) == 1 and ordered and self._lists.mixes(node.left, plain[0])
        if len(plain) == 1 and (asked := self._asked_type(node.left)) is not None:
            negated = isinstance(node.ops[0], ast.IsNot | ast.NotEq | ast.NotIn)
            several = isinstance(node.ops[0], ast.In | ast.NotIn)
            if several or isinstance(node.ops[0], ast.Is | ast.IsNot | ast.Eq | ast.NotEq):
                self.needs = True
                hook = "is_one_of" if several else "is_of"
                answer = self.hook(hook, node, self.visit(asked), self.visit(plain[0]))
                return ast.copy_location(ast.UnaryOp(ast.Not(), answer), node) if negated else answer
        self._operands(node)
        name = COMPARISONS.get(type(node.ops[0]))
        if isinstance(node.ops[0], ast.In | ast.NotIn) and len(plain) == 1 and self._is_asked():
            self.needs = True
            found = self.hook("contains", node, node.comparators[0], node.left)
            return found if isinstance(node.ops[0], ast.In) else ast.copy_location(ast.UnaryOp(ast.Not(), found), node)
        if name and len(plain) == 1 and (listed or f"__{name}__" in self._methods):
            self.needs = True
            return self.hook(name, node, node.left, node.comparators[0])
        return node

    def _is_asked(self) -> bool:
        """Whether ``x in y`` may run code of a class."""
        return "__contains__" in self._methods or self._runs("__eq__", "__iter__", "__getitem__")

    def _asked_type(self, node: ast.expr) -> ast.expr | None:
        """The `x` of ``type(x)``."""
        if not isinstance(node, ast.Call) or len(node.args) != 1 or node.keywords or not self._fixed(node.func):
            return None
        return node.args[0] if self.resolve(node.func) is type else None

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        self._operands(node)
        if isinstance(node.op, ast.Not):
            node.operand = self._tested(node.operand)
        name = UNARY.get(type(node.op))
        if name and f"__{name}__" in self._methods and not isinstance(node.operand, ast.Constant):
            self.needs = True
            return self.hook(name, node, node.operand)
        return node

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.expr:
        parts = [self._text(part) for part in node.values]
        if all(isinstance(part, ast.Constant) for part in parts):
            return node
        self.needs |= not self._raising
        return parts[0] if len(parts) == 1 else self.hook("joined_text", node, *parts)

    def _text(self, part: ast.expr) -> ast.expr:
        """A part of an f-string."""
        if not isinstance(part, ast.FormattedValue):
            return part
        value = self._at_home(part.value)
        spec = ast.copy_location(ast.Constant(""), part) if part.format_spec is None else self.visit(part.format_spec)
        conversion = ast.copy_location(ast.Constant(part.conversion), part)
        return self.hook("shown_in", part, value, conversion, spec)

    def visit_Raise(self, node: ast.Raise) -> ast.AST:
        self._raising = True  # nobody computes with its text: it needs no twin
        self.generic_visit(node)
        self._raising = False
        return node

    # -- Statements -----------------------------------------------------------------------------------------

    def visit_arguments(self, node: ast.arguments) -> ast.AST:
        node.defaults = [self._escaping(value) for value in node.defaults]
        node.kw_defaults = [value and self._escaping(value) for value in node.kw_defaults]
        return node

    def visit_arg(self, node: ast.arg) -> ast.arg:
        return node  # annotations are left alone

    def _defined_inside(self, node: Value) -> ast.AST:
        returns, node.returns = node.returns, None
        node.decorator_list = [self._decorator(d) for d in node.decorator_list]
        kept, node.decorator_list = node.decorator_list, []
        self.generic_visit(node)
        node.returns, node.decorator_list = returns, kept
        return node  # type: ignore[no-any-return]  # the caller passes a function

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return self._defined_inside(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        return self._defined_inside(node)

    def _decorator(self, node: ast.expr) -> ast.expr:
        return self.visit(node) if isinstance(node, ast.Call) else self._callee(node, False, False)

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        node.args = self.visit(node.args)
        node.body = self._escaping(node.body)
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        outer, self._private = self._private, node.name
        node.body = self._statements(node.body)
        self._private = outer
        return node

    def visit_Match(self, node: ast.Match) -> object:
        """``case float(y):`` asks a class that also knows tensors, which is bound to a name before the statement."""
        before: list[ast.stmt] = []
        for inner in walk(node):
            if isinstance(inner, ast.MatchClass):
                name = f"{PREFIX}class_{inner.lineno}_{inner.col_offset}"
                asked = self.hook("kind", inner.cls, inner.cls)
                before.append(ast.copy_location(ast.Assign([ast.Name(name, ast.Store())], asked), node))
                inner.cls = ast.copy_location(ast.Name(name, ast.Load()), inner.cls)
                self.needs = True
        self.generic_visit(node)
        return [*before, node]

    def visit_MatchValue(self, node: ast.MatchValue) -> ast.AST:
        return node  # Python takes dotted names alone in patterns

    def visit_MatchMapping(self, node: ast.MatchMapping) -> ast.AST:
        node.patterns = [self.visit(pattern) for pattern in node.patterns]
        return node


def _is_constant(index: ast.expr) -> bool:
    """Whether an index is written as numbers, slices and `None` alone."""
    return not any(isinstance(part, ast.Name | ast.Attribute | ast.Call | ast.Subscript) for part in walk(index))
