"""Expressions of the twin for recordings: reads, computations and tests go through the door."""

from __future__ import annotations

import ast
import itertools

from adjoint.core.types import Value
from adjoint.twin.syntax.names import SourceSpan, span
from adjoint.twin.syntax.source import FunctionSyntax, NoTwinError
from adjoint.twin.syntax.trees import below, placed, walk

DOOR, FRAME = "_R", "_F"
BINARY = {ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "truediv", ast.FloorDiv: "floordiv",
          ast.Mod: "mod", ast.Pow: "pow", ast.MatMult: "matmul", ast.LShift: "lshift", ast.RShift: "rshift",
          ast.BitOr: "or", ast.BitAnd: "and", ast.BitXor: "xor"}  # fmt: skip
UNARY = {ast.USub: "neg", ast.UAdd: "pos", ast.Invert: "invert"}
COMPARED = {ast.Eq: "eq", ast.NotEq: "ne", ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge", ast.Is: "is",
            ast.IsNot: "is not", ast.In: "in", ast.NotIn: "not in"}  # fmt: skip
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


_REFUSED = {
    "ClassDef": "a class inside", "AsyncFunctionDef": "an async function", "Await": "await",
    "AsyncFor": "async for", "AsyncWith": "async with", "TryStar": "except*", "TypeAlias": "a type alias",
    "TemplateStr": "a template",
}  # fmt: skip


def door(name: str, *args: ast.expr) -> ast.expr:
    door: ast.expr = ast.Name(DOOR, ast.Load())
    return ast.Call(ast.Attribute(door, name, ast.Load()), list(args), [])


def frame() -> ast.expr:
    return ast.Name(FRAME, ast.Load())


def load(name: str) -> ast.expr:
    return ast.Name(name, ast.Load())


def _bound(node: Value) -> tuple[set[str], set[str], set[str]]:
    """The names that belong to the scope of a function; those that it says are global, and nonlocal."""
    given = node.args
    parameters = (*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg)
    names, outer, around = {p.arg for p in parameters if p is not None}, set[str](), set[str]()
    todo = [(x, False) for x in (node.body if isinstance(node.body, list) else [node.body])]
    while todo:
        x, inside = todo.pop()
        if isinstance(x, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(x.name)
            todo += [(d, inside) for d in x.decorator_list]
            if not isinstance(x, ast.ClassDef):
                todo += [(d, inside) for d in (*x.args.defaults, *x.args.kw_defaults) if d is not None]
            continue
        if isinstance(x, ast.Lambda):
            todo += [(d, inside) for d in (*x.args.defaults, *x.args.kw_defaults) if d is not None]
            continue
        if isinstance(x, ast.Global):
            outer.update(x.names)
        elif isinstance(x, ast.Nonlocal):
            around.update(x.names)
        elif isinstance(x, ast.Name) and not isinstance(x.ctx, ast.Load) and not inside:
            names.add(x.id)
        elif isinstance(x, ast.NamedExpr):
            names.add(x.target.id)
        elif (isinstance(x, ast.ExceptHandler) and x.name) or (isinstance(x, ast.MatchAs | ast.MatchStar) and x.name):
            names.add(x.name)
        elif isinstance(x, ast.MatchMapping) and x.rest:
            names.add(x.rest)
        elif isinstance(x, ast.Import | ast.ImportFrom):
            names.update((a.asname or a.name).split(".")[0] for a in x.names)
        inside = inside or isinstance(x, _COMPREHENSIONS)
        todo += [(child, inside) for child in below(x)]
    return names - outer - around, outer, around


def shape(target: ast.expr) -> Value:
    """How a target takes a value apart: None for one name; for several a tuple of these, with ``"*"`` for the rest."""
    if isinstance(target, ast.Tuple | ast.List):
        return tuple("*" if isinstance(e, ast.Starred) else shape(e) for e in target.elts)
    return None


class Expressions(ast.NodeTransformer):
    """Rewrites a function where it is."""

    def __init__(self, found: FunctionSyntax, stored: frozenset[SourceSpan] = frozenset()) -> None:
        self.found, self.stored = found, stored
        self.free = set(found.code.co_freevars)
        self.scopes: list[tuple[set[str], set[str]]] = []  # names of functions and comprehensions, and global ones
        self.functions: list[Value] = []
        self.leaves: dict[ast.AST, tuple[str, str, str]] = {}  # of loops that return: the value, whether, the turns
        self.breaks: dict[ast.AST, tuple[str, str]] = {}  # of loops with `else`: whether one ended it, the turns
        self.count = 0
        self.in_iterable = 0

    def refuse(self, what: str) -> NoTwinError:
        return NoTwinError(f"{self.found.code.co_qualname} has {what}")

    def visit(self, node: ast.AST) -> Value:
        kind = type(node).__name__
        if kind in _REFUSED:
            raise self.refuse(_REFUSED[kind])
        method = self.comprehension if isinstance(node, _COMPREHENSIONS) else getattr(self, f"visit_{kind}", None)
        is_stored = isinstance(node, ast.expr) and bool(self.stored) and span(node) in self.stored
        made = self.generic_visit(node) if method is None else method(node)
        if is_stored and isinstance(made, ast.expr):
            made = door("fresh", made)
        for new in made if isinstance(made, list) else [made]:
            if isinstance(new, ast.AST) and new is not node:
                placed(new, node)
        return made

    def function(self, node: Value) -> None:
        names, outer, around = _bound(node)
        self.scopes.append((names, outer))
        self.functions.append((node, around))
        node.body = self.visit(node.body) if isinstance(node, ast.Lambda) else self.block(node.body)
        self.functions.pop()
        self.scopes.pop()

    def kind(self, name: str) -> str:
        for names, outer in reversed(self.scopes):
            if name in outer:
                return "glob"
            if name in names:
                return "local"
        return "free" if name in self.free else "glob"

    def test(self, node: ast.expr) -> ast.expr:
        """Whether Python takes the branch: it asks each part once, where it only jumps."""
        found: ast.expr
        if isinstance(node, ast.BoolOp):
            found = ast.BoolOp(node.op, [self.test(v) for v in node.values])
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            found = ast.UnaryOp(node.op, self.test(node.operand))
        elif isinstance(node, ast.IfExp):
            found = ast.IfExp(self.test(node.test), self.test(node.body), self.test(node.orelse))
        elif isinstance(node, ast.Compare) and len(node.ops) > 1:
            found = ast.BoolOp(ast.And(), [door("truth", part) for part in self.comparisons(node)])
        else:
            found = door("truth", self.visit(node))
        return placed(found, node)

    def temporary(self) -> str:
        self.count += 1
        name = f"_t{self.count}"
        self.scopes[-1][0].add(name)
        return name

    def attribute(self, name: str) -> ast.Constant:
        """The name of an attribute, with the class's in it if it is private."""
        around = (self.found.class_name or "").lstrip("_")
        private = name.startswith("__") and not name.endswith("__") and around
        return ast.Constant(f"_{around}{name}" if private else name)

    # -- Expressions ----------------------------------------------------------------------------------

    def visit_Name(self, node: ast.Name) -> ast.expr:
        kind = self.kind(node.id)
        if kind == "local":
            return node
        return door(kind, frame(), ast.Constant(node.id))

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        return door("attr", self.visit(node.value), self.attribute(node.attr))

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        return door("item", self.visit(node.value), self.visit(node.slice))

    def visit_Slice(self, node: ast.Slice) -> ast.expr:
        parts = (node.lower, node.upper, node.step)
        return door("slice", *(ast.Constant(None) if x is None else self.visit(x) for x in parts))

    def visit_Call(self, node: ast.Call) -> ast.expr:
        if isinstance(node.func, ast.Name) and node.func.id == "super" and not node.args and not node.keywords:
            return self.super_()
        if isinstance(node.func, ast.Name) and node.func.id == "globals" and self.kind("globals") == "glob":
            if not node.args and not node.keywords:
                return door("globals_", frame())
        args = [
            ast.Starred(door("it", self.visit(x.value)), ast.Load()) if isinstance(x, ast.Starred) else self.visit(x)
            for x in node.args
        ]
        return door("call", self.visit(node.func), ast.Tuple(args, ast.Load()), self.keywords(node.keywords))

    def keywords(self, given: list[ast.keyword]) -> ast.expr:
        """The keywords of a call, each of which may be given once: a display would take the last one."""
        parts = []
        for several, group in itertools.groupby(given, key=lambda x: x.arg is None):
            if several:
                parts += [door("mapping", self.visit(x.value)) for x in group]
            else:
                named = list(group)
                parts.append(ast.Dict([ast.Constant(x.arg) for x in named], [self.visit(x.value) for x in named]))
        if len(parts) > 1:
            return door("each_once", *parts)
        if parts and isinstance(parts[0], ast.Dict):
            return parts[0]
        return ast.Dict([None] * len(parts), parts)

    def super_(self) -> ast.expr:
        function = self.functions[0][0]
        given = [*function.args.posonlyargs, *function.args.args]
        if len(self.functions) > 1 or not given or "__class__" not in self.free:
            raise self.refuse("super() in a function inside")
        own = door("free", frame(), ast.Constant("__class__"))
        return door("super_", own, load(given[0].arg))

    def visit_Starred(self, node: ast.Starred) -> ast.expr:
        return ast.Starred(door("it", self.visit(node.value)), node.ctx)

    def visit_Dict(self, node: ast.Dict) -> ast.expr:
        keys = [None if k is None else door("key", self.visit(k)) for k in node.keys]
        pairs = zip(node.keys, node.values, strict=True)
        values = [door("mapping", self.visit(v)) if k is None else self.visit(v) for k, v in pairs]
        return ast.Dict(keys, values)

    def visit_Set(self, node: ast.Set) -> ast.expr:
        if all(isinstance(getattr(e, "operand", e), ast.Constant) for e in node.elts):
            return node  # which Python makes at once: in another order than one after the other
        node.elts = [self.visit(e) if isinstance(e, ast.Starred) else door("key", self.visit(e)) for e in node.elts]
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        return door("op", ast.Constant(BINARY[type(node.op)]), self.visit(node.left), self.visit(node.right))

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        operand = self.visit(node.operand)
        if isinstance(node.op, ast.Not):
            return ast.UnaryOp(ast.Not(), door("truth", operand))
        return door("unary", ast.Constant(UNARY[type(node.op)]), operand)

    def kept(self, value: ast.expr, name: str = "") -> tuple[ast.expr, str]:
        """`value` as an expression that keeps it in a variable, and the variable's name."""
        if self.in_iterable:
            raise self.refuse("`and`, `or` or a chain of comparisons in what a comprehension goes through")
        name = name or self.temporary()
        return ast.NamedExpr(ast.Name(name, ast.Store()), value), name

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.expr:
        found: ast.expr = self.visit(node.values[-1])
        name = ""
        for value in reversed(node.values[:-1]):
            test, name = self.decided(value, name)
            both = (found, load(name)) if isinstance(node.op, ast.And) else (load(name), found)
            found = placed(ast.IfExp(test, *both), node)
        return found

    def decided(self, node: ast.expr, name: str) -> tuple[ast.expr, str]:
        """Whether `node` is true, and the variable with its value: that of the part that Python looked at last."""
        if isinstance(node, ast.BoolOp):
            tests = []
            for value in node.values:
                test, name = self.decided(value, name)
                tests.append(test)
            return ast.BoolOp(node.op, tests), name
        keep, name = self.kept(self.visit(node), name)
        return door("truth", keep), name

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        *first, found = self.comparisons(node)
        for compared in reversed(first):
            keep, name = self.kept(compared)
            found = ast.IfExp(door("truth", keep), found, load(name))
        return found

    def comparisons(self, node: ast.Compare) -> list[ast.expr]:
        """Each comparison of a chain; the later ones use what the earlier ones keep."""
        left, made = self.visit(node.left), []
        for op, x in zip(node.ops, node.comparators, strict=True):
            right = self.visit(x)
            keep, name = (right, "") if x is node.comparators[-1] else self.kept(right)
            made.append(door("compare", ast.Constant(COMPARED[type(op)]), left, keep))
            left = load(name)
        return made

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        return ast.IfExp(self.test(node.test), self.visit(node.body), self.visit(node.orelse))

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.expr:
        parts = []
        for part in node.values:
            if isinstance(part, ast.FormattedValue):
                spec = self.visit(part.format_spec) if part.format_spec else ast.Constant("")
                parts.append(door("formatted", self.visit(part.value), ast.Constant(part.conversion), spec))
            else:
                parts.append(part)
        return door("joined", *parts)

    def comprehension(self, node: Value) -> ast.expr:
        self.scopes.append((set(), set()))
        made = []
        for step in node.generators:
            if step.is_async:
                raise self.refuse("an async comprehension")
            if any(isinstance(x, ast.Attribute | ast.Subscript) for x in walk(step.target)):
                raise self.refuse("a comprehension over attributes or items")
            self.in_iterable += 1
            each = door("iter", self.visit(step.iter), ast.Constant(shape(step.target)))
            self.in_iterable -= 1
            self.scopes[-1][0].update(x.id for x in walk(step.target) if isinstance(x, ast.Name))
            tests = [self.test(test) for test in step.ifs]
            made.append(ast.comprehension(step.target, each, tests, 0))
        node.generators = made
        if isinstance(node, ast.DictComp):
            node.key, node.value = door("key", self.visit(node.key)), self.visit(node.value)
        elif isinstance(node, ast.SetComp):
            node.elt = door("key", self.visit(node.elt))
        else:
            node.elt = self.visit(node.elt)
        self.scopes.pop()
        return door("generator", node) if isinstance(node, ast.GeneratorExp) else node

    def visit_NamedExpr(self, node: ast.NamedExpr) -> ast.expr:
        if self.kind(node.target.id) != "local":
            raise self.refuse("a walrus to an outer name")
        return ast.NamedExpr(node.target, self.visit(node.value))

    def visit_Lambda(self, node: ast.Lambda) -> ast.expr:
        self.defaults(node)
        self.function(node)
        return door("made", node)

    def defaults(self, node: Value) -> None:
        node.args.defaults = [self.visit(d) for d in node.args.defaults]
        node.args.kw_defaults = [d and self.visit(d) for d in node.args.kw_defaults]
        for p in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs, node.args.vararg, node.args.kwarg):
            if p is not None:
                p.annotation = None

    def visit_YieldFrom(self, node: ast.YieldFrom) -> ast.expr:
        return ast.YieldFrom(door("iter", self.visit(node.value)))

    # -- Of the statements ----------------------------------------------------------------------------

    def block(self, body: list[ast.stmt]) -> list[ast.stmt]:
        raise NotImplementedError

    def store(self, target: ast.expr, value: ast.expr) -> list[ast.stmt]:
        """Statements that put `value` into `target`."""
        raise NotImplementedError
