"""The twin for recordings: each read from outside, write to outside, call, operator and test goes through a door.

Its own variables stay Python's. ``self.w * x + b`` becomes ``_R.op("add", _R.op("mul", _R.attr(self, "w"), x),
_R.glob(_F, "b"))``, where ``_R`` is the door and ``_F`` says which function it is, for its globals and closure.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from types import CellType, CodeType, FunctionType
from typing import Any

from adjoint.twin.source import Found, NoTwinError, build, find

DOOR, FRAME = "_R", "_F"
BINARY = {ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "truediv", ast.FloorDiv: "floordiv",
          ast.Mod: "mod", ast.Pow: "pow", ast.MatMult: "matmul", ast.LShift: "lshift", ast.RShift: "rshift",
          ast.BitOr: "or", ast.BitAnd: "and", ast.BitXor: "xor"}  # fmt: skip
UNARY = {ast.USub: "neg", ast.UAdd: "pos", ast.Invert: "invert"}
COMPARED = {ast.Eq: "eq", ast.NotEq: "ne", ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge", ast.Is: "is",
            ast.IsNot: "is not", ast.In: "in", ast.NotIn: "not in"}  # fmt: skip
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_codes: dict[CodeType, CodeType | NoTwinError] = {}


def twin(function: FunctionType, door: Any, frame: Any) -> FunctionType:
    """The twin of `function`, which does everything through `door`; its defaults are the caller's to set.

    Raises:
        NoTwinError: if there is none; it says why.
    """
    code = function.__code__
    made = _codes.get(code)
    if made is None:
        try:
            made = _rewritten(find(function))
        except NoTwinError as error:
            made = error
        except (SyntaxError, RecursionError, ValueError) as error:
            made = NoTwinError(f"{code.co_qualname} has no twin: {error}")
        _codes[code] = made
    if isinstance(made, NoTwinError):
        raise made
    extra = {DOOR: door, FRAME: frame}
    own = dict(zip(code.co_freevars, function.__closure__ or (), strict=True))
    cells = tuple(CellType(extra[name]) if name in extra else own[name] for name in made.co_freevars)
    return FunctionType(made, function.__globals__, function.__name__, None, cells)


def _rewritten(found: Found) -> CodeType:
    node: Any = found.node
    if isinstance(node, ast.AsyncFunctionDef):
        raise NoTwinError(f"{found.code.co_qualname} is async")
    writer = _Writer(found)
    given = node.args
    given.defaults = [ast.Constant(None) for _ in given.defaults]
    given.kw_defaults = [default and ast.Constant(None) for default in given.kw_defaults]
    if not isinstance(node, ast.Lambda):
        node.decorator_list = []
    writer.function(node)
    ast.fix_missing_locations(node)
    for call in ast.walk(node):  # a method on several lines would stand on its last one
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.end_lineno != call.lineno:
            call.func.end_lineno, call.func.end_col_offset = call.func.lineno, call.func.col_offset + 1
    return build(found, (DOOR, FRAME))


def _call(name: str, *args: ast.expr) -> ast.expr:
    door: ast.expr = ast.Name(DOOR, ast.Load())
    return ast.Call(ast.Attribute(door, name, ast.Load()), list(args), [])


def _frame() -> ast.expr:
    return ast.Name(FRAME, ast.Load())


def _load(name: str) -> ast.expr:
    return ast.Name(name, ast.Load())


def _bound(node: Any) -> tuple[set[str], set[str], set[str]]:
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
        elif isinstance(x, ast.ExceptHandler) and x.name:
            names.add(x.name)
        elif isinstance(x, ast.Import | ast.ImportFrom):
            names.update((a.asname or a.name).split(".")[0] for a in x.names)
        inside = inside or isinstance(x, _COMPREHENSIONS)
        todo += [(child, inside) for child in ast.iter_child_nodes(x)]
    return names - outer - around, outer, around


def _shape(target: ast.expr) -> Any:
    """How a target takes a value apart: None for one name; for several a tuple of these, with ``"*"`` for the rest."""
    if isinstance(target, ast.Tuple | ast.List):
        return tuple("*" if isinstance(e, ast.Starred) else _shape(e) for e in target.elts)
    return None


class _Writer(ast.NodeTransformer):
    """Rewrites a function where it is."""

    def __init__(self, found: Found) -> None:
        self.found = found
        self.free = set(found.code.co_freevars)
        self.scopes: list[tuple[set[str], set[str]]] = []  # names of functions and comprehensions, and global ones
        self.functions: list[Any] = []
        self.count = 0
        self.in_iterable = 0

    def refuse(self, what: str) -> NoTwinError:
        return NoTwinError(f"{self.found.code.co_qualname} has {what}")

    def visit(self, node: ast.AST) -> Any:
        kind = type(node).__name__
        if kind in _REFUSED:
            raise self.refuse(_REFUSED[kind])
        method = self.comprehension if isinstance(node, _COMPREHENSIONS) else getattr(self, f"visit_{kind}", None)
        made = self.generic_visit(node) if method is None else method(node)
        for new in made if isinstance(made, list) else [made]:
            if isinstance(new, ast.AST) and new is not node:
                ast.copy_location(new, node)
        return made

    def function(self, node: Any) -> None:
        names, outer, around = _bound(node)
        self.scopes.append((names, outer))
        self.functions.append((node, around))
        node.body = self.visit(node.body) if isinstance(node, ast.Lambda) else self.block(node.body)
        self.functions.pop()
        self.scopes.pop()

    def block(self, body: list[ast.stmt]) -> list[ast.stmt]:
        made: list[ast.stmt] = []
        for statement in body:
            new = self.visit(statement)
            made += new if isinstance(new, list) else [new] if new is not None else []
        return made or [ast.Pass()]

    def kind(self, name: str) -> str:
        for names, outer in reversed(self.scopes):
            if name in outer:
                return "glob"
            if name in names:
                return "local"
        return "free" if name in self.free else "glob"

    def test(self, node: ast.expr) -> ast.expr:
        return ast.copy_location(_call("truth", self.visit(node)), node)

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
        return _call(kind, _frame(), ast.Constant(node.id))

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        return _call("attr", self.visit(node.value), self.attribute(node.attr))

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        return _call("item", self.visit(node.value), self.visit(node.slice))

    def visit_Slice(self, node: ast.Slice) -> ast.expr:
        parts = (node.lower, node.upper, node.step)
        return _call("slice", *(ast.Constant(None) if x is None else self.visit(x) for x in parts))

    def visit_Call(self, node: ast.Call) -> ast.expr:
        if isinstance(node.func, ast.Name) and node.func.id == "super" and not node.args and not node.keywords:
            return self.super_()
        args = [
            ast.Starred(_call("it", self.visit(x.value)), ast.Load()) if isinstance(x, ast.Starred) else self.visit(x)
            for x in node.args
        ]
        keys: list[ast.expr | None] = [ast.Constant(x.arg) if x.arg else None for x in node.keywords]
        values = [self.visit(x.value) if x.arg else _call("mapping", self.visit(x.value)) for x in node.keywords]
        return _call("call", self.visit(node.func), ast.Tuple(args, ast.Load()), ast.Dict(keys, values))

    def super_(self) -> ast.expr:
        function = self.functions[0][0]
        given = [*function.args.posonlyargs, *function.args.args]
        if len(self.functions) > 1 or not given or "__class__" not in self.free:
            raise self.refuse("super() in a function inside")
        own = _call("free", _frame(), ast.Constant("__class__"))
        return _call("super_", own, _load(given[0].arg))

    def visit_Starred(self, node: ast.Starred) -> ast.expr:
        return ast.Starred(_call("it", self.visit(node.value)), node.ctx)

    def visit_Dict(self, node: ast.Dict) -> ast.expr:
        keys = [None if k is None else _call("key", self.visit(k)) for k in node.keys]
        pairs = zip(node.keys, node.values, strict=True)
        values = [_call("mapping", self.visit(v)) if k is None else self.visit(v) for k, v in pairs]
        return ast.Dict(keys, values)

    def visit_Set(self, node: ast.Set) -> ast.expr:
        node.elts = [self.visit(e) if isinstance(e, ast.Starred) else _call("key", self.visit(e)) for e in node.elts]
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        return _call("op", ast.Constant(BINARY[type(node.op)]), self.visit(node.left), self.visit(node.right))

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        operand = self.visit(node.operand)
        if isinstance(node.op, ast.Not):
            return ast.UnaryOp(ast.Not(), _call("truth", operand))
        return _call("unary", ast.Constant(UNARY[type(node.op)]), operand)

    def kept(self, value: ast.expr) -> tuple[ast.expr, str]:
        """`value` as an expression that keeps it in a variable, and the variable's name."""
        if self.in_iterable:
            raise self.refuse("`and`, `or` or a chain of comparisons in what a comprehension goes through")
        name = self.temporary()
        return ast.NamedExpr(ast.Name(name, ast.Store()), value), name

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.expr:
        *first, last = [self.visit(v) for v in node.values]
        found: ast.expr = last
        for value in reversed(first):
            keep, name = self.kept(value)
            both = (found, _load(name)) if isinstance(node.op, ast.And) else (_load(name), found)
            found = ast.copy_location(ast.IfExp(_call("truth", keep), *both), node)
        return found

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        ops = [ast.Constant(COMPARED[type(op)]) for op in node.ops]
        left, rights = self.visit(node.left), [self.visit(x) for x in node.comparators]
        if len(ops) == 1:
            return _call("compare", ops[0], left, rights[0])
        sides: list[tuple[ast.expr, ast.expr]] = []
        for right in rights[:-1]:
            keep, name = self.kept(right)
            sides.append((left, keep))
            left = _load(name)
        found = _call("compare", ops[-1], left, rights[-1])
        for op, (a, b) in zip(reversed(ops[:-1]), reversed(sides), strict=True):
            keep, name = self.kept(_call("compare", op, a, b))
            found = ast.IfExp(_call("truth", keep), found, _load(name))
        return found

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        return ast.IfExp(self.test(node.test), self.visit(node.body), self.visit(node.orelse))

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.expr:
        parts = []
        for part in node.values:
            if isinstance(part, ast.FormattedValue):
                spec = self.visit(part.format_spec) if part.format_spec else ast.Constant("")
                parts.append(_call("formatted", self.visit(part.value), ast.Constant(part.conversion), spec))
            else:
                parts.append(part)
        return _call("joined", *parts)

    def comprehension(self, node: Any) -> Any:
        self.scopes.append((set(), set()))
        made = []
        for step in node.generators:
            if step.is_async:
                raise self.refuse("an async comprehension")
            if any(isinstance(x, ast.Attribute | ast.Subscript) for x in ast.walk(step.target)):
                raise self.refuse("a comprehension over attributes or items")
            self.in_iterable += 1
            each = _call("iter", self.visit(step.iter), ast.Constant(_shape(step.target)))
            self.in_iterable -= 1
            self.scopes[-1][0].update(x.id for x in ast.walk(step.target) if isinstance(x, ast.Name))
            tests = [self.test(test) for test in step.ifs]
            made.append(ast.comprehension(step.target, each, tests, 0))
        node.generators = made
        if isinstance(node, ast.DictComp):
            node.key, node.value = _call("key", self.visit(node.key)), self.visit(node.value)
        elif isinstance(node, ast.SetComp):
            node.elt = _call("key", self.visit(node.elt))
        else:
            node.elt = self.visit(node.elt)
        self.scopes.pop()
        return _call("generator", node) if isinstance(node, ast.GeneratorExp) else node

    def visit_NamedExpr(self, node: ast.NamedExpr) -> ast.expr:
        if self.kind(node.target.id) != "local":
            raise self.refuse("a walrus to an outer name")
        return ast.NamedExpr(node.target, self.visit(node.value))

    def visit_Lambda(self, node: ast.Lambda) -> ast.expr:
        self.defaults(node)
        self.function(node)
        return _call("made", node)

    def defaults(self, node: Any) -> None:
        node.args.defaults = [self.visit(d) for d in node.args.defaults]
        node.args.kw_defaults = [d and self.visit(d) for d in node.args.kw_defaults]
        for p in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs, node.args.vararg, node.args.kwarg):
            if p is not None:
                p.annotation = None

    def visit_YieldFrom(self, node: ast.YieldFrom) -> ast.expr:
        return ast.YieldFrom(_call("iter", self.visit(node.value)))

    # -- Statements -----------------------------------------------------------------------------------

    def visit_FunctionDef(self, node: ast.FunctionDef) -> list[ast.stmt]:
        decorators, node.decorator_list, node.returns = [self.visit(d) for d in node.decorator_list], [], None
        self.defaults(node)
        self.function(node)
        made = _call("made", _load(node.name))
        for decorator in reversed(decorators):
            made = _call("call", decorator, ast.Tuple([made], ast.Load()), ast.Dict([], []))
        return [node, *self.store(ast.Name(node.name, ast.Store()), made)]

    def store(self, target: ast.expr, value: ast.expr) -> list[ast.stmt]:
        """Statements that put `value` into `target`."""
        if isinstance(target, ast.Name):
            kind = self.kind(target.id)
            if kind == "local":
                return [ast.Assign([target], value)]
            return [ast.Expr(_call(f"set{kind}", _frame(), ast.Constant(target.id), value))]
        if isinstance(target, ast.Attribute):
            return self.ordered(
                value, lambda v: _call("setattr", self.visit(target.value), self.attribute(target.attr), v)
            )
        if isinstance(target, ast.Subscript):
            return self.ordered(
                value, lambda v: _call("setitem", self.visit(target.value), self.visit(target.slice), v)
            )
        after: list[tuple[ast.expr, str]] = []

        def plain(x: Any) -> ast.expr:
            if isinstance(x, ast.Tuple | ast.List):
                return ast.Tuple([plain(e) for e in x.elts], ast.Store())
            if isinstance(x, ast.Starred):
                return ast.Starred(plain(x.value), ast.Store())
            if isinstance(x, ast.Name) and self.kind(x.id) == "local":
                return x
            after.append((x, self.temporary()))
            return ast.Name(after[-1][1], ast.Store())

        made: list[ast.stmt] = [ast.Assign([plain(target)], _call("unpack", value, ast.Constant(_shape(target))))]
        for x, name in after:
            made += self.store(x, _load(name))
        return made

    def ordered(self, value: ast.expr, write: Callable[[ast.expr], ast.expr]) -> list[ast.stmt]:
        """The value first, then where it goes, as Python does."""
        if isinstance(value, ast.Constant | ast.Name):
            return [ast.Expr(write(value))]
        name = self.temporary()
        return [ast.Assign([ast.Name(name, ast.Store())], value), ast.Expr(write(_load(name)))]

    def visit_Assign(self, node: ast.Assign) -> list[ast.stmt]:
        value = self.visit(node.value)
        if len(node.targets) == 1:
            return self.store(node.targets[0], value)
        name = self.temporary()
        made: list[ast.stmt] = [ast.Assign([ast.Name(name, ast.Store())], value)]
        for target in node.targets:
            made += self.store(target, _load(name))
        return made

    def visit_AnnAssign(self, node: ast.AnnAssign) -> list[ast.stmt]:
        return self.store(node.target, self.visit(node.value)) if node.value else []

    def visit_AugAssign(self, node: ast.AugAssign) -> list[ast.stmt]:
        op, target = ast.Constant(BINARY[type(node.op)]), node.target
        if isinstance(target, ast.Name):
            old = self.visit_Name(ast.Name(target.id, ast.Load()))
            kind, first = self.kind(target.id), list[ast.stmt]()
            if kind != "local":
                first = [ast.Expr(_call(f"counts{kind}", _frame(), ast.Constant(target.id)))]
            return [*first, *self.store(target, _call("inplace", op, old, self.visit(node.value)))]
        of, key, old_name = self.temporary(), self.temporary(), self.temporary()
        is_attribute = isinstance(target, ast.Attribute)
        where = self.attribute(target.attr) if isinstance(target, ast.Attribute) else self.visit(target.slice)
        get, put = ("attr", "setattr") if is_attribute else ("item", "setitem")
        return [
            ast.Assign([ast.Name(of, ast.Store())], self.visit(target.value)),
            ast.Assign([ast.Name(key, ast.Store())], where),
            ast.Expr(_call("counts", _load(of), _load(key), ast.Constant(is_attribute))),
            ast.Assign([ast.Name(old_name, ast.Store())], _call(get, _load(of), _load(key))),
            ast.Expr(_call(put, _load(of), _load(key), _call("inplace", op, _load(old_name), self.visit(node.value)))),
        ]

    def visit_Delete(self, node: ast.Delete) -> list[ast.stmt]:
        made: list[ast.stmt] = []
        for target in node.targets:
            if isinstance(target, ast.Subscript):
                made.append(ast.Expr(_call("delitem", self.visit(target.value), self.visit(target.slice))))
            elif isinstance(target, ast.Attribute):
                made.append(ast.Expr(_call("delattr", self.visit(target.value), self.attribute(target.attr))))
            elif isinstance(target, ast.Name) and self.kind(target.id) == "local":
                made.append(ast.Delete([target]))
            else:
                raise self.refuse("a `del` of an outer name")
        return made

    def visit_For(self, node: ast.For) -> ast.stmt:
        each = _call("iter", self.visit(node.iter), ast.Constant(_shape(node.target)))
        inner = list(ast.walk(node.target))
        simple = all(self.kind(x.id) == "local" for x in inner if isinstance(x, ast.Name))
        target, first = node.target, list[ast.stmt]()
        if not simple or any(isinstance(x, ast.Attribute | ast.Subscript) for x in inner):
            name = self.temporary()
            target, first = ast.Name(name, ast.Store()), self.store(node.target, _load(name))
        return ast.For(target, each, first + self.block(node.body), self.otherwise(node.orelse))

    def otherwise(self, body: list[ast.stmt]) -> list[ast.stmt]:
        return self.block(body) if body else []

    def visit_While(self, node: ast.While) -> ast.stmt:
        return ast.While(self.test(node.test), self.block(node.body), self.otherwise(node.orelse))

    def visit_If(self, node: ast.If) -> ast.stmt:
        return ast.If(self.test(node.test), self.block(node.body), self.otherwise(node.orelse))

    def visit_Assert(self, node: ast.Assert) -> ast.stmt:
        wrong = ast.Raise(_call("assertion", *([self.visit(node.msg)] if node.msg else [])), None)
        return ast.If(self.test(node.test), [ast.Pass()], [wrong])

    def visit_Raise(self, node: ast.Raise) -> ast.stmt:
        cause = None if node.cause is None else _call("exception", self.visit(node.cause))
        return ast.Raise(None if node.exc is None else _call("exception", self.visit(node.exc)), cause)

    def visit_Try(self, node: ast.Try) -> list[ast.stmt]:
        handlers = [
            ast.ExceptHandler(_call("caught", *([self.visit(h.type)] if h.type else [])), h.name, self.block(h.body))
            for h in node.handlers
        ]
        body = self.block(node.body)
        rest = self.otherwise(node.orelse), self.otherwise(node.finalbody)
        return [ast.Try(body, handlers, *rest)]

    def visit_With(self, node: ast.With) -> list[ast.stmt]:
        items, first = [], list[ast.stmt]()
        for item in node.items:
            target = item.optional_vars
            if target is not None and not (isinstance(target, ast.Name) and self.kind(target.id) == "local"):
                name = self.temporary()
                first += self.store(target, _load(name))
                target = ast.Name(name, ast.Store())
            if first and len(node.items) > 1:
                raise self.refuse("several contexts in one `with`, whose values go to other places than names")
            items.append(ast.withitem(_call("context", self.visit(item.context_expr)), target))
        return [ast.With(items, first + self.block(node.body))]

    def visit_Import(self, node: ast.Import) -> list[ast.stmt]:
        made: list[ast.stmt] = []
        for name in node.names:
            whole = ast.Constant(name.name)
            top = ast.Constant(bool(name.asname))
            made += self.store(
                ast.Name((name.asname or name.name).split(".")[0], ast.Store()), _call("module", whole, top)
            )
        return made

    def visit_ImportFrom(self, node: ast.ImportFrom) -> list[ast.stmt]:
        if node.level or node.module is None or any(a.name == "*" for a in node.names):
            raise self.refuse("a relative import")
        made: list[ast.stmt] = []
        for name in node.names:
            source = _call("module", ast.Constant(node.module), ast.Constant(True))
            made += self.store(
                ast.Name(name.asname or name.name, ast.Store()), _call("attr", source, ast.Constant(name.name))
            )
        return made

    def visit_Global(self, _: ast.Global) -> list[ast.stmt]:
        return []

    def visit_Nonlocal(self, node: ast.Nonlocal) -> list[ast.stmt]:
        inner = [name for name in node.names if any(name in names for names, _ in self.scopes[:-1])]
        return [ast.Nonlocal(inner)] if inner else []


_REFUSED = {
    "ClassDef": "a class inside", "AsyncFunctionDef": "an async function", "Await": "await", "Match": "match",
    "AsyncFor": "async for", "AsyncWith": "async with", "TryStar": "except*", "TypeAlias": "a type alias",
    "TemplateStr": "a template",
}  # fmt: skip
