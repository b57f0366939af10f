"""The rewriting of a function's syntax: what may matter goes through a hook, all else stays as it is.

A hook *resolves*, it does not call: ``g(x)`` becomes ``_adj_call(g)(x)``. So the call itself is made in the user's own
frame, and `super()`, warnings, tracebacks and debuggers are as they were. Functions that a module such as NumPy gives
are resolved here, once: ``np.array([a, b])`` becomes ``_adj_1([a, b])``.

What a hook's name is a free variable of the rewritten function, whose cell the policy fills (`hooks.py`): no global is
changed, and two policies never meet.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Mapping
from types import FunctionType, ModuleType
from typing import Any, Protocol

import numpy as np

from adjoint.tape.tensor import Tensor
from adjoint.twin.births import Births, creates
from adjoint.twin.facts import Facts
from adjoint.twin.names import MISSING, SEQUENCES, EveryName, Lists, bound, imports, imports_unknown
from adjoint.twin.source import Found

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
#: Methods and attributes of arrays, numbers, texts and containers: of these names, an object's own are listed in facts.
_KNOWN = frozenset(
    name
    for cls in (Tensor, np.ndarray, float, complex, str, list, dict, set, range, np.random.Generator)
    for name in dir(cls)
) - {"grad"}
_READING = frozenset(
    {"len", "range", "print", "zip", "enumerate", "reversed", "isinstance", "type", "id", "repr", "str", "iter"}
    | {"min", "max", "sum", "abs"}
)


class Standing(Protocol):
    """What the rewriter asks of the stand-ins, and of the functions that a function calls."""

    def stands(self, original: Any) -> bool:
        """Whether something else is called in place of `original`."""

    def needed(self, original: Any) -> bool:
        """Whether `original` itself would not do with tensors."""

    def matters(self, value: Any, with_lists: bool = False) -> bool:
        """Whether `value` has to be called through its twin; `with_lists`, if it is given lists of tensors."""

    def method_matters(self, name: str) -> bool:
        """Whether a method of that name of an array, a number or a tensor has a stand-in."""

    def attribute_matters(self, name: str) -> bool:
        """Whether an attribute of that name of a tensor has a stand-in."""


class Rewriter(ast.NodeTransformer):
    """Rewrites one function. Afterwards `hooks` are the free variables that it needs, `constants` what some stand for.

    `needs` says whether anything in it would not differentiate as it is; `depends` are the global names that decided.
    """

    def __init__(self, found: Found, scope: Mapping[str, Any], facts: Facts, standing: Standing) -> None:
        self.scope, self.facts, self.standing = scope, facts, standing
        self.hooks: set[str] = set()
        self.constants: dict[str, Any] = {}
        self.needs = False
        self.depends: dict[str, Any] = {}
        node = found.node
        self._imported = imports(node)
        self._local = bound(node) - self._imported.keys() | set(found.code.co_freevars)
        self._lists = Lists(node)
        #: Whether it would need a twin if it were given lists that hold tensors.
        self.needs_for_lists = False
        blind = imports_unknown(node)
        self._methods = EveryName() if blind else facts.methods
        self._attributes = EveryName() if blind else facts.attributes
        self._private = found.class_name
        self._outside = False
        self.births = Births(node, self._only_reads)
        self.function = node

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

    # -- What is known beforehand ---------------------------------------------------------------------------

    def resolve(self, node: ast.expr) -> Any:
        """The object that an expression stands for, if it is a global name or an attribute of a module."""
        if isinstance(node, ast.Name):
            if node.id in self._imported:
                return self._imported[node.id]
            if node.id in self._local:
                return MISSING
            found = self.scope.get(node.id, MISSING)
            return getattr(builtins, node.id, MISSING) if found is MISSING else found
        if isinstance(node, ast.Attribute):
            base = self.resolve(node.value)
            return getattr(base, node.attr, MISSING) if isinstance(base, ModuleType) else MISSING
        return MISSING

    def _fixed(self, node: ast.expr) -> bool:
        """Whether an expression can be resolved once: a builtin, or an attribute of a module that is not followed."""
        first = node
        while isinstance(first, ast.Attribute):
            first = first.value
        if not isinstance(first, ast.Name) or first.id in self._local:
            return False
        value = self.resolve(first)
        if first is node and first.id in self._imported:
            return not self.facts.follows[getattr(value, "__module__", None)]
        if first is node:
            if first.id in self.scope or value is MISSING:
                return False
            self.depends[first.id] = None  # no global has this name
            return True
        return isinstance(value, ModuleType) and not self.facts.follows[value.__name__]

    def _stand_in(self, node: ast.expr) -> tuple[ast.expr, Any]:
        """`node` with the longest part of it that has a stand-in replaced by that, and what it stands for."""
        if not self._fixed(node):
            return node, MISSING
        rest: list[ast.Attribute] = []
        part = node
        while True:
            value = self.resolve(part)
            if value is not MISSING and not isinstance(value, ModuleType) and self.standing.stands(value):
                break
            if not isinstance(part, ast.Attribute):
                return node, MISSING
            rest.append(part)
            part = part.value
        name = next((n for n, o in self.constants.items() if o is value), f"{PREFIX}{len(self.constants) + 1}")
        self.constants[name] = value
        result: ast.expr = ast.copy_location(ast.Name(name, ast.Load()), part)
        for attribute in reversed(rest):
            result = ast.copy_location(ast.Attribute(result, attribute.attr, ast.Load()), attribute)
        return result, value

    def _only_reads(self, call: ast.Call) -> bool:
        """Whether a call does not write into its arguments or keep them: NumPy's functions and some builtins."""
        if isinstance(call.func, ast.Name) and call.func.id in _READING:
            return True
        value = self.resolve(call.func)
        module = getattr(value, "__module__", None) or ""
        return value is not MISSING and module.split(".")[0] in ("numpy", "math", "scipy", "_operator", "adjoint")

    def hook(self, name: str, at: ast.expr, *args: ast.expr) -> ast.expr:
        """A call of a hook."""
        self.hooks.add(name)
        called = ast.copy_location(ast.Name(PREFIX + name, ast.Load()), at)
        return ast.copy_location(ast.Call(called, list(args), []), at)

    def _named(self, name: str, at: ast.expr) -> ast.Constant:
        if self._private and name.startswith("__") and not name.endswith("__"):
            name = f"_{self._private.lstrip('_')}{name}"
        return ast.copy_location(ast.Constant(name), at)

    # -- Calls ----------------------------------------------------------------------------------------------

    def visit_Call(self, node: ast.Call) -> ast.expr:
        func = node.func
        listed = any(map(self._lists.surely, node.args))
        perhaps = any(map(self._lists.perhaps, node.args))
        reads = self._only_reads(node)
        if isinstance(func, ast.Name) and func.id in ("locals", "vars", "dir") and not node.args:
            if self._fixed(func):
                return self.hook("names", node, node)
        outside, self._outside = self._outside, self._goes_outside(func)
        node.args = [self.visit(arg) if reads else self._escaping(arg) for arg in node.args]
        for keyword in node.keywords:
            keyword.value = self.visit(keyword.value) if reads else self._escaping(keyword.value)
        self._outside = outside
        if isinstance(func, ast.Name) and func.id == "super":
            return node
        node.func = self._callee(func, listed, perhaps)
        return node

    def _goes_outside(self, func: ast.expr) -> bool:
        """Whether a call is one of code that is not followed: functions that it is given must be twins already."""
        value = self.resolve(func)
        if isinstance(value, type):
            return not self.facts.follows[value.__module__]
        return value is not MISSING and not self._is_followed(value)

    def _callee(self, func: ast.expr, listed: bool, perhaps: bool) -> ast.expr:
        stand_in, original = self._stand_in(func)
        if original is not MISSING:
            method = getattr(original, func.attr, None) if isinstance(func, ast.Attribute) else None  # np.hypot.reduce
            self.needs |= listed or self.standing.needed(original) or self.standing.needed(method)
            self.needs_for_lists |= perhaps
            return stand_in
        value = self.resolve(func)
        if self._fixed(func) and not self._is_followed(value):
            return func
        if isinstance(func, ast.Attribute) and not isinstance(self.resolve(func.value), ModuleType):
            name = self._named(func.attr, func)
            func.value = self.visit(func.value)
            known = func.attr in _KNOWN and func.attr != "__class__" and name.value not in self._methods
            if not known or self.standing.method_matters(func.attr):
                self.needs = True
                return self.hook("method", func, func.value, name)
            return func
        if isinstance(func, ast.Name) and value is not MISSING:
            self.depends[func.id] = value
        self.needs |= value is MISSING or self.standing.matters(value, listed)
        self.needs_for_lists |= perhaps and self.standing.matters(value, True)
        return self.hook("call", func, func if isinstance(func, ast.Attribute | ast.Name) else self.visit(func))

    def _is_followed(self, value: Any) -> bool:
        """Whether `value` is a function of a followed module, reached by way of one that is not."""
        return isinstance(value, FunctionType) and self.facts.follows[value.__globals__.get("__name__")]

    # -- Reading --------------------------------------------------------------------------------------------

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if self._outside and isinstance(node.ctx, ast.Load):
            value = self.resolve(node)
            if value is not MISSING and not isinstance(value, type) and self.standing.matters(value):
                self.depends[node.id] = value
                self.needs = True
                return self.hook("call", node, node)
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        if isinstance(self.resolve(node.value), ModuleType):
            value = self.resolve(node)
            if value is not MISSING and not isinstance(value, type | ModuleType):  # as in `map(math.sin, x)`
                self.needs |= self.standing.needed(value)
            return node
        node.value = self.visit(node.value)
        name = self._named(node.attr, node)
        if isinstance(node.ctx, ast.Load):
            runs_code = node.attr in self._attributes or "__getattr__" in self._methods
            goes_out = self._outside and node.attr in self._methods
            if runs_code or goes_out or self.standing.attribute_matters(node.attr):
                self.needs = True
                found = self.hook("attribute", node, node.value, name)
                return self.hook("call", node, found) if goes_out else found
        return node

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        node.slice = self.visit(node.slice)
        stand_in, original = self._stand_in(node.value)
        if original is not MISSING and not isinstance(original, type):
            self.needs |= self.standing.needed(original)
            node.value = stand_in
            return node
        if not isinstance(self.resolve(node.value), ModuleType):
            node.value = self.visit(node.value)
        wanted = "__getitem__" if isinstance(node.ctx, ast.Load) else "__setitem__"
        if wanted in self._methods and not isinstance(node.ctx, ast.Del):
            self.needs = True
            node.value = self.hook("items", node.value, node.value)
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        name = BINARY[type(node.op)]
        listed = isinstance(node.left, SEQUENCES) != isinstance(node.right, SEQUENCES) and name != "mul"
        texts = name == "mod" and isinstance(node.left, ast.Constant | ast.JoinedStr)
        if name == "mod" and isinstance(node.left, ast.Constant) and not isinstance(node.left.value, str | bytes):
            texts = False
        self.generic_visit(node)
        if listed or texts or self._defined(name):
            self.needs = True
            return self.hook(name, node, node.left, node.right)
        return node

    def _defined(self, name: str) -> bool:
        name = name.rstrip("_")
        return f"__{name}__" in self._methods or f"__r{name}__" in self._methods

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        plain = list(node.comparators)
        self.generic_visit(node)
        name = COMPARISONS.get(type(node.ops[0]))
        if isinstance(node.ops[0], ast.In | ast.NotIn) and len(plain) == 1 and "__contains__" in self._methods:
            self.needs = True
            found = self.hook("contains", node, node.comparators[0], node.left)
            return found if isinstance(node.ops[0], ast.In) else ast.copy_location(ast.UnaryOp(ast.Not(), found), node)
        if name and len(plain) == 1 and f"__{name}__" in self._methods:
            self.needs = True
            return self.hook(name, node, node.left, node.comparators[0])
        return node

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        self.generic_visit(node)
        name = UNARY.get(type(node.op))
        if name and f"__{name}__" in self._methods and not isinstance(node.operand, ast.Constant):
            self.needs = True
            return self.hook(name, node, node.operand)
        return node

    def visit_FormattedValue(self, node: ast.FormattedValue) -> ast.AST:
        self.generic_visit(node)
        node.value = self.hook("shown", node.value, node.value)
        return node

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
        names = [n.id for n in ast.walk(target) if isinstance(n, ast.Name)] if not _inside(target) else []
        if any(map(self.births.is_variable, names)) and not plain:
            self.needs |= makes or not isinstance(value, ast.BinOp)
            return self.hook("fresh", value, self.visit(value))
        if makes and (_inside(target) or any(map(self.births.leaves, names))):
            return self._escaping(value)
        visited: ast.expr = self.visit(value)
        return self.hook("fresh", value, visited) if _inside(target) and not plain else visited

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        node.value = self._bound_to(node.targets[0], node.value)
        node.targets = [self.visit(target) for target in node.targets]
        if len(node.targets) == 1 and isinstance(node.targets[0], ast.Attribute):
            return self._set(node.targets[0], node.value, node)
        return node

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
        self.generic_visit(node)
        target, defined = node.target, self._defined(name) or self._defined("i" + name)
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

    def _display(self, node: Any) -> ast.AST:
        if isinstance(node.ctx, ast.Load):
            node.elts = [self._escaping(element) for element in node.elts]
            return node  # type: ignore[no-any-return]  # a display, by who calls this
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

    # -- Statements -----------------------------------------------------------------------------------------

    def _iterated(self, node: Any) -> ast.AST:
        self.generic_visit(node)
        if self._methods & {"__iter__", "__next__", "__getitem__"}:
            self.needs = True
            node.iter = self.hook("iterated", node.iter, node.iter)
        return node  # type: ignore[no-any-return]  # a loop, by who calls this

    def visit_For(self, node: ast.For) -> ast.AST:
        return self._iterated(node)

    def visit_comprehension(self, node: ast.comprehension) -> ast.AST:
        return self._iterated(node)

    def visit_withitem(self, node: ast.withitem) -> ast.AST:
        self.generic_visit(node)
        if "__enter__" in self._methods:
            self.needs = True
            node.context_expr = self.hook("entered", node.context_expr, node.context_expr)
        return node

    def visit_arg(self, node: ast.arg) -> ast.arg:
        return node  # annotations are left alone

    def _defined_inside(self, node: Any) -> ast.AST:
        returns, node.returns = node.returns, None
        node.decorator_list = [self._decorator(d) for d in node.decorator_list]
        kept, node.decorator_list = node.decorator_list, []
        self.generic_visit(node)
        node.returns, node.decorator_list = returns, kept
        return node  # type: ignore[no-any-return]  # a function, by who calls this

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

    def visit_Match(self, node: ast.Match) -> Any:
        """``case float(y):`` asks a class that also knows tensors, which is bound to a name before the statement."""
        before: list[ast.stmt] = []
        for inner in ast.walk(node):
            if isinstance(inner, ast.MatchClass):
                name = f"{PREFIX}class_{inner.lineno}_{inner.col_offset}"
                asked = self.hook("kind", inner.cls, inner.cls)
                before.append(ast.copy_location(ast.Assign([ast.Name(name, ast.Store())], asked), node))
                inner.cls = ast.copy_location(ast.Name(name, ast.Load()), inner.cls)
                self.needs = True
        self.generic_visit(node)
        return [*before, node]


def _sliced(index: ast.expr) -> bool:
    """Whether an index has slices in it, which stand nowhere else."""
    return any(isinstance(part, ast.Slice) for part in ast.walk(index))


def _inside(target: ast.expr) -> bool:
    """Whether a target is a place in something else: an attribute or an element."""
    return isinstance(target, ast.Attribute | ast.Subscript)
