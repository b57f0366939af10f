"""The twin for recordings: each read from outside, write to outside, call, operator and test goes through a door.

Its own variables stay Python's. ``self.w * x + b`` becomes ``_R.op("add", _R.op("mul", _R.attr(self, "w"), x),
_R.glob(_F, "b"))``, where ``_R`` is the door and ``_F`` says which function it is, for its globals and closure.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from types import CellType, CodeType, FunctionType

from adjoint.core.threads.weak import WeakIds
from adjoint.core.types import Value
from adjoint.twin.recording.expressions import BINARY, DOOR, FRAME, door, frame, load, shape
from adjoint.twin.recording.loops import breaks, loop_names, of_header, returns
from adjoint.twin.recording.matching import MatchRewriter
from adjoint.twin.syntax.names import SourceSpan
from adjoint.twin.syntax.source import FunctionSyntax, NoTwinError, build, deeply, find
from adjoint.twin.syntax.trees import placed, walk

# What begins a loop, what stands at the start of a turn, and after the loop.
Marks = tuple[Callable[[ast.expr], ast.expr], list[ast.stmt], list[ast.stmt]]

# What each code was rewritten to, or why it was not; with and without places that may have to hold histories.
_codes: WeakIds[CodeType, dict[frozenset[SourceSpan], CodeType | str]] = WeakIds()


def twin(
    function: FunctionType, through: object, known_as: object, stored: frozenset[SourceSpan] = frozenset()
) -> FunctionType:
    """The twin of `function`, which does everything through the door `through`; its defaults are the caller's to set.

    Values that stand at the places `stored` go through it once more, as what may have to hold histories.

    Raises:
        NoTwinError: if there is none; it says why.
    """
    code = function.__code__
    known = _codes.get(code)
    if known is None:
        known = _codes[code] = {}
    made = known.get(stored)
    if made is None:
        try:
            made = deeply(lambda: _rewritten(find(function, tested=True), stored))
        except NoTwinError as error:
            made = str(error)
        except (SyntaxError, ValueError) as error:
            made = f"{code.co_qualname} has no twin: {error}"
        known[stored] = made
    if isinstance(made, str):
        raise NoTwinError(made)
    extra = {DOOR: through, FRAME: known_as}
    own = dict(zip(code.co_freevars, function.__closure__ or (), strict=True))
    cells = tuple(CellType(extra[name]) if name in extra else own[name] for name in made.co_freevars)
    return FunctionType(made, function.__globals__, function.__name__, None, cells)


def _rewritten(found: FunctionSyntax, stored: frozenset[SourceSpan]) -> CodeType:
    node: Value = found.node
    if isinstance(node, ast.AsyncFunctionDef):
        raise NoTwinError(f"{found.code.co_qualname} is async")
    writer = _FunctionRewriter(found, stored)
    given = node.args
    given.defaults = [ast.Constant(None) for _ in given.defaults]
    given.kw_defaults = [default and ast.Constant(None) for default in given.kw_defaults]
    if not isinstance(node, ast.Lambda):
        node.decorator_list = []
    writer.function(node)
    return build(found, (DOOR, FRAME), _on_first_lines)


def _on_first_lines(node: ast.AST) -> None:
    """Let a method that is called stand on the first of several lines, not on the last one."""
    for call in walk(node):
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.end_lineno != call.lineno:
            call.func.end_lineno, call.func.end_col_offset = call.func.lineno, call.func.col_offset + 1


class _FunctionRewriter(MatchRewriter, ast.NodeTransformer):
    """Rewrites a function where it is."""

    def block(self, body: list[ast.stmt]) -> list[ast.stmt]:
        made: list[ast.stmt] = []
        for statement in body:
            new = self.visit(statement)
            made += new if isinstance(new, list) else [new] if new is not None else []
        return made or [ast.Pass()]

    # -- Statements -----------------------------------------------------------------------------------

    def visit_FunctionDef(self, node: ast.FunctionDef) -> list[ast.stmt]:
        decorators, node.decorator_list, node.returns = [self.visit(d) for d in node.decorator_list], [], None
        self.defaults(node)
        self.function(node)
        made = door("made", load(node.name))
        for decorator in reversed(decorators):
            made = door("call", decorator, ast.Tuple([made], ast.Load()), ast.Dict([], []))
        return [node, *self.store(ast.Name(node.name, ast.Store()), made)]

    def store(self, target: ast.expr, value: ast.expr) -> list[ast.stmt]:
        """Statements that put `value` into `target`."""
        if isinstance(target, ast.Name):
            kind = self.kind(target.id)
            if kind == "local":
                return [ast.Assign([target], value)]
            return [ast.Expr(door(f"set{kind}", frame(), ast.Constant(target.id), value))]
        if isinstance(target, ast.Attribute):
            return self.ordered(
                value, lambda v: door("setattr", self.visit(target.value), self.attribute(target.attr), v)
            )
        if isinstance(target, ast.Subscript):
            return self.ordered(value, lambda v: door("setitem", self.visit(target.value), self.visit(target.slice), v))
        after: list[tuple[ast.expr, str]] = []

        def plain(x: ast.expr) -> ast.expr:
            if isinstance(x, ast.Tuple | ast.List):
                return ast.Tuple([plain(e) for e in x.elts], ast.Store())
            if isinstance(x, ast.Starred):
                return ast.Starred(plain(x.value), ast.Store())
            if isinstance(x, ast.Name) and self.kind(x.id) == "local":
                return x
            after.append((x, self.temporary()))
            return ast.Name(after[-1][1], ast.Store())

        made: list[ast.stmt] = [ast.Assign([plain(target)], door("unpack", value, ast.Constant(shape(target))))]
        for x, name in after:
            made += self.store(x, load(name))
        return made

    def ordered(self, value: ast.expr, write: Callable[[ast.expr], ast.expr]) -> list[ast.stmt]:
        """The value first, then where it goes, as Python does."""
        if isinstance(value, ast.Constant | ast.Name):
            return [ast.Expr(write(value))]
        name = self.temporary()
        return [ast.Assign([ast.Name(name, ast.Store())], value), ast.Expr(write(load(name)))]

    def visit_Assign(self, node: ast.Assign) -> list[ast.stmt]:
        value = self.visit(node.value)
        if len(node.targets) == 1:
            return self.store(node.targets[0], value)
        name = self.temporary()
        made: list[ast.stmt] = [ast.Assign([ast.Name(name, ast.Store())], value)]
        for target in node.targets:
            made += self.store(target, load(name))
        return made

    def visit_AnnAssign(self, node: ast.AnnAssign) -> list[ast.stmt]:
        return self.store(node.target, self.visit(node.value)) if node.value else []

    def visit_AugAssign(self, node: ast.AugAssign) -> list[ast.stmt]:
        op, target = ast.Constant(BINARY[type(node.op)]), node.target
        if isinstance(target, ast.Name):
            old = self.visit_Name(ast.Name(target.id, ast.Load()))
            kind, first = self.kind(target.id), list[ast.stmt]()
            if kind != "local":
                first = [ast.Expr(door(f"counts{kind}", frame(), ast.Constant(target.id)))]
            return [*first, *self.store(target, door("inplace", op, old, self.visit(node.value)))]
        of, key, old_name = self.temporary(), self.temporary(), self.temporary()
        is_attribute = isinstance(target, ast.Attribute)
        where = self.attribute(target.attr) if isinstance(target, ast.Attribute) else self.visit(target.slice)
        get, put = ("attr", "setattr") if is_attribute else ("item", "setitem")
        return [
            ast.Assign([ast.Name(of, ast.Store())], self.visit(target.value)),
            ast.Assign([ast.Name(key, ast.Store())], where),
            ast.Expr(door("counts", load(of), load(key), ast.Constant(is_attribute))),
            ast.Assign([ast.Name(old_name, ast.Store())], door(get, load(of), load(key))),
            ast.Expr(door(put, load(of), load(key), door("inplace", op, load(old_name), self.visit(node.value)))),
        ]

    def visit_Delete(self, node: ast.Delete) -> list[ast.stmt]:
        made: list[ast.stmt] = []
        for target in node.targets:
            if isinstance(target, ast.Subscript):
                made.append(ast.Expr(door("delitem", self.visit(target.value), self.visit(target.slice))))
            elif isinstance(target, ast.Attribute):
                made.append(ast.Expr(door("delattr", self.visit(target.value), self.attribute(target.attr))))
            elif isinstance(target, ast.Name) and self.kind(target.id) == "local":
                made.append(ast.Delete([target]))
            else:
                raise self.refuse("a `del` of an outer name")
        return made

    def visit_For(self, node: ast.For) -> ast.stmt | list[ast.stmt]:
        marks = self.marks(node)
        gone_through = self.visit(node.iter)
        each = door("iter", gone_through, ast.Constant(shape(node.target)))
        inner = list(walk(node.target))
        simple = all(self.kind(x.id) == "local" for x in inner if isinstance(x, ast.Name))
        target, first = node.target, list[ast.stmt]()
        if not simple or any(isinstance(x, ast.Attribute | ast.Subscript) for x in inner):
            name = self.temporary()
            target, first = ast.Name(name, ast.Store()), self.store(node.target, load(name))
        if marks is None:
            return ast.For(target, each, first + self.block(node.body), self.otherwise(node.orelse))
        begin, turn, end = marks
        gone_through = of_header(node.iter, gone_through, "span")
        loop = ast.For(target, begin(gone_through), [*turn, *first, *self.block(node.body)], [])
        return [*self.not_yet(node), loop, *end, *self.left(node)]

    def marks(self, node: ast.For | ast.While) -> Marks | None:
        """The statements before, in and after a loop by which the door can end it early; None if it cannot."""
        found = loop_names(node, self.functions[-1][0], self.scopes[-1]) if self.functions else None
        if found is None:
            return None
        name = self.temporary()
        stored = found[0]
        own = returns(node)
        if own:
            value, has = self.temporary(), self.temporary()
            self.leaves |= dict.fromkeys((node, *own), (value, has, name))
        if node.orelse:
            self.breaks |= dict.fromkeys((node, *breaks(node)), (self.temporary(), name))
        site = ast.Tuple([ast.Constant(node.lineno), ast.Constant(node.col_offset)], ast.Load())
        names = [ast.Constant(each) for each in found]

        def begin(each: ast.expr) -> ast.expr:
            parts = ast.Constant(shape(node.target) if isinstance(node, ast.For) else None)
            return ast.NamedExpr(ast.Name(name, ast.Store()), door("turns", each, parts, site, *names))

        def after(method: str) -> list[ast.stmt]:
            test = ast.Call(ast.Attribute(load(name), method, ast.Load()), [], [])
            if not stored:
                return [ast.Expr(test)]
            target = ast.Tuple([ast.Name(each, ast.Store()) for each in stored], ast.Store())
            return [ast.If(test, [ast.Assign([target], ast.Attribute(load(name), "values", ast.Load()))], [])]

        return begin, after("turn"), after("end")

    def otherwise(self, body: list[ast.stmt]) -> list[ast.stmt]:
        return self.block(body) if body else []

    def visit_While(self, node: ast.While) -> ast.stmt | list[ast.stmt]:
        marks = self.marks(node)
        if marks is None:
            return ast.While(self.test(node.test), self.block(node.body), self.otherwise(node.orelse))
        begin, turn, end = marks
        over = ast.If(ast.UnaryOp(ast.Not(), self.test(node.test)), [ast.Break()], [])  # it is asked within a turn
        placed(over, node.test)
        loop = ast.While(ast.Constant(True), [*turn, over, *self.block(node.body)], [])
        return [*self.not_yet(node), ast.Expr(begin(ast.Constant(None))), loop, *end, *self.left(node)]

    # A `return` within a loop that may end early is a `break`, and a `return` after the loop. What a loop has as `else`
    # comes after it, if no `break` ended it.

    def not_yet(self, loop: ast.For | ast.While) -> list[ast.stmt]:
        """The statements before a loop in which the function returns, or that has an `else`."""
        flags = [flag for flag, _ in (self.leaves.get(loop, ("", "", ""))[1:], self.breaks.get(loop, ("", ""))) if flag]
        return [ast.Assign([ast.Name(flag, ast.Store())], ast.Constant(False)) for flag in flags]

    def left(self, loop: ast.For | ast.While) -> list[ast.stmt]:
        """The statements after such a loop."""
        made = list[ast.stmt]()
        if loop in self.leaves:
            value, has, _ = self.leaves[loop]
            made.append(ast.If(load(has), [ast.Return(load(value))], []))
        if loop in self.breaks:
            made.append(ast.If(ast.UnaryOp(ast.Not(), load(self.breaks[loop][0])), self.block(loop.orelse), []))
        return made

    def ends(self, flag: str, turns: str) -> list[ast.stmt]:
        """The statements that end a loop from within a turn, which is to be recorded by itself."""
        return [
            ast.Assign([ast.Name(flag, ast.Store())], ast.Constant(True)),
            ast.Expr(ast.Call(ast.Attribute(load(turns), "leave", ast.Load()), [], [])),
            ast.Break(),
        ]

    def visit_Break(self, node: ast.Break) -> ast.stmt | list[ast.stmt]:
        return self.ends(*self.breaks[node]) if node in self.breaks else node

    def visit_Return(self, node: ast.Return) -> ast.stmt | list[ast.stmt]:
        value = self.visit(node.value) if node.value else ast.Constant(None)
        if node not in self.leaves:
            return ast.Return(value)
        name, has, turns = self.leaves[node]
        return [ast.Assign([ast.Name(name, ast.Store())], value), *self.ends(has, turns)]

    def visit_If(self, node: ast.If) -> ast.stmt:
        return ast.If(self.test(node.test), self.block(node.body), self.otherwise(node.orelse))

    def visit_Assert(self, node: ast.Assert) -> ast.stmt:
        wrong = ast.Raise(door("assertion", *([self.visit(node.msg)] if node.msg else [])), None)
        return ast.If(self.test(node.test), [ast.Pass()], [wrong])

    def visit_Raise(self, node: ast.Raise) -> ast.stmt:
        cause = None if node.cause is None else door("exception", self.visit(node.cause))
        return ast.Raise(None if node.exc is None else door("exception", self.visit(node.exc)), cause)

    def visit_Try(self, node: ast.Try) -> list[ast.stmt]:
        handlers = [
            ast.ExceptHandler(door("caught", *([self.visit(h.type)] if h.type else [])), h.name, self.block(h.body))
            for h in node.handlers
        ]
        body = self.block(node.body)
        final = self.otherwise(node.finalbody)
        if any(isinstance(x, ast.Return | ast.Break | ast.Continue) for part in node.finalbody for x in walk(part)):
            final.insert(0, ast.Expr(door("caught")))  # it may end what was raised, as `except` does
        return [ast.Try(body, handlers, self.otherwise(node.orelse), final)]

    def visit_With(self, node: ast.With) -> list[ast.stmt]:
        items, first = [], list[ast.stmt]()
        for item in node.items:
            target = item.optional_vars
            if target is not None and not (isinstance(target, ast.Name) and self.kind(target.id) == "local"):
                name = self.temporary()
                first += self.store(target, load(name))
                target = ast.Name(name, ast.Store())
            if first and len(node.items) > 1:
                raise self.refuse("several contexts in one `with`, whose values go to other places than names")
            items.append(ast.withitem(door("context", self.visit(item.context_expr)), target))
        return [ast.With(items, first + self.block(node.body))]

    def visit_Import(self, node: ast.Import) -> list[ast.stmt]:
        made: list[ast.stmt] = []
        for name in node.names:
            whole = ast.Constant(name.name)
            top = ast.Constant(bool(name.asname))
            made += self.store(
                ast.Name((name.asname or name.name).split(".")[0], ast.Store()), door("module", whole, top)
            )
        return made

    def visit_ImportFrom(self, node: ast.ImportFrom) -> list[ast.stmt]:
        made: list[ast.stmt] = []
        for name in node.names:
            if node.level:
                source = door("beside", frame(), ast.Constant("." * node.level + (node.module or "")))
            else:
                source = door("module", ast.Constant(node.module), ast.Constant(True))
            made += self.store(
                ast.Name(name.asname or name.name, ast.Store()), door("attr", source, ast.Constant(name.name))
            )
        return made

    def visit_Global(self, _: ast.Global) -> list[ast.stmt]:
        return []

    def visit_Nonlocal(self, node: ast.Nonlocal) -> list[ast.stmt]:
        inner = [name for name in node.names if any(name in names for names, _ in self.scopes[:-1])]
        return [ast.Nonlocal(inner)] if inner else []
