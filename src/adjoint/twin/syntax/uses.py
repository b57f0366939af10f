"""What the source of a function loads and calls: it shows whether the function may write into an array.

All values are taken for arrays, numbers, texts, and tuples, lists and dictionaries of these. So operators, subscripts
and attributes write nothing, a method is known by its name, and what remains is what the function finds outside of
itself: see `adjoint.twin.syntax.reading`.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from types import CodeType, FunctionType
from typing import NamedTuple

from adjoint.core.types import Value
from adjoint.twin.syntax.names import bindings
from adjoint.twin.syntax.source import FunctionNode, NoTwinError, deeply, find
from adjoint.twin.syntax.trees import below, walk

#: A name, and the attributes that are asked of what it stands for.
NamePath = tuple[str, ...]
#: A name in a dictionary, and what it stands for.
Fact = tuple[Mapping[str, Value], str, Value]
#: Methods of arrays, tensors, lists and dictionaries that write into no array; after so many arguments comes `out`.
_METHODS = {
    "all": 1, "any": 1, "argmax": 1, "argmin": 1, "argsort": 1, "astype": 1, "clip": 2, "compress": 2, "conj": 0,
    "conjugate": 0, "copy": 1, "cumprod": 2, "cumsum": 2, "diagonal": 3, "dot": 1, "flatten": 1, "item": 9, "max": 1,
    "mean": 2, "min": 1, "nonzero": 0, "prod": 2, "ravel": 1, "repeat": 2, "reshape": 9, "round": 1, "searchsorted": 3,
    "squeeze": 1, "std": 2, "sum": 2, "swapaxes": 2, "take": 2, "tolist": 0, "trace": 4, "transpose": 9, "var": 2,
    "items": 0, "keys": 0, "values": 0, "get": 2, "index": 1, "count": 1,
}  # fmt: skip


class OutsideCall(NamedTuple):
    """A call of what is found at `path`; with `writes`, it may name an argument that is written into."""

    path: NamePath
    positional: int
    writes: bool

    def is_method(self) -> bool:
        """Whether it is one of a method of arrays or lists that writes into no array."""
        return not self.writes and self.positional <= _METHODS.get(self.path[-1], -1)


class NamesUsed:
    """What the source of a function loads and calls.

    `own` are its parameters that stand for one thing throughout. `own_values` and `own_calls` begin with these,
    `values` and `calls` outside.
    """

    def __init__(self, own: frozenset[str], values: set[NamePath], calls: set[OutsideCall]) -> None:
        self.own = own
        self.own_values = [path for path in values if path[0] in own]
        self.own_calls = [call for call in calls if call.path[0] in own]
        self.values = tuple(path for path in values if path[0] not in own)
        self.calls = tuple(call for call in calls if call.path[0] not in own)
        self.takes_data = all(len(call.path) > 1 and call.is_method() for call in self.own_calls)
        #: Names outside that stood for known functions when they were looked up, and what was left to look up.
        self.settled: tuple[tuple[Fact, ...], tuple[NamePath, ...], tuple[OutsideCall, ...]] = (
            (),
            self.values,
            self.calls,
        )


def is_written(name: str) -> bool:
    """Whether an argument of that name is written into, or says that another one is."""
    return name in ("out", "copy", "key") or name.startswith("overwrite")


_known: dict[int, tuple[CodeType, NamesUsed | None]] = {}
_PLAIN = (
    ast.Return | ast.Assign | ast.AnnAssign | ast.For | ast.While | ast.If | ast.Expr | ast.Pass | ast.Break
    | ast.Continue | ast.Assert | ast.BoolOp | ast.NamedExpr | ast.BinOp | ast.UnaryOp | ast.IfExp | ast.Dict
    | ast.List | ast.Tuple | ast.ListComp | ast.DictComp | ast.GeneratorExp | ast.Compare | ast.Constant
    | ast.JoinedStr | ast.FormattedValue | ast.Starred | ast.Slice | ast.comprehension | ast.arguments | ast.arg
    | ast.keyword | ast.operator | ast.boolop | ast.cmpop | ast.unaryop | ast.expr_context
)  # fmt: skip


class _MayWriteError(Exception):
    """Something that the source has may write into an array."""


def uses_of(f: FunctionType) -> NamesUsed | None:
    """What `f` loads and calls; None if it may write into an array, or there is no source."""
    code = f.__code__
    known = _known.get(id(code))
    if known is None:
        try:
            found = deeply(lambda: _BodyReader(f).uses())
        except (_MayWriteError, NoTwinError):
            found = None
        known = _known[id(code)] = code, found
    return known[1]


class _BodyReader:
    """The source of a function, gone through once."""

    def __init__(self, f: FunctionType) -> None:
        self._function = find(f).node
        self._times = Counter(bindings(self._function))
        parameters, body = _parameters(self._function), _body(self._function)
        outer = {a.arg for a in walk(self._function.args) if isinstance(a, ast.arg)} | {
            str(getattr(node, "name", getattr(node, "id", "")))
            for node in _own(body)
            if not isinstance(getattr(node, "ctx", None), ast.Load)
        }
        codes = [f.__code__]
        for code in codes:
            codes += [inner for inner in code.co_consts if isinstance(inner, CodeType)]
        outside = {name for code in codes for name in (*code.co_names, *f.__code__.co_freevars)}
        if not outside.isdisjoint(self._times.keys() - outer):
            raise _MayWriteError  # a name is a variable of a function inside, and may be another thing outside
        self._own = frozenset(name for name in parameters if self._times[name] == 1)
        self._made = Counter(
            node.targets[0].id
            for node in _all(body)
            if isinstance(node, ast.Assign)
            and isinstance(node.targets[0], ast.Name)
            and isinstance(node.value, ast.List)
        )
        self._functions: set[str] = set()
        self._values: set[NamePath] = set()
        self._calls: set[OutsideCall] = set()

    def uses(self) -> NamesUsed:
        self._functions = {
            name
            for node in _all(_body(self._function))
            if (name := _defines(node)) is not None and self._times[name] == 1
        }
        self._inside(self._function)
        return NamesUsed(self._own, self._values, self._calls)

    def _see(self, node: ast.AST) -> None:
        if isinstance(node, ast.Name):
            if isinstance(node.ctx, ast.Load):
                self._load((node.id,))
        elif isinstance(node, ast.Attribute | ast.Subscript) and not isinstance(node.ctx, ast.Load):
            raise _MayWriteError
        elif isinstance(node, ast.Attribute):
            self._attribute(node)
        elif isinstance(node, ast.Call):
            self._call(node)
        elif isinstance(node, ast.FunctionDef):
            if node.name not in self._functions or node.decorator_list:
                raise _MayWriteError
            self._function_inside(node)
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Lambda):
            if _defines(node) not in self._functions:
                raise _MayWriteError
            self._function_inside(node.value)
        elif isinstance(node, _PLAIN | ast.AugAssign | ast.Subscript):
            for inner in below(node):
                self._see(inner)
        else:
            raise _MayWriteError

    def _inside(self, node: FunctionNode) -> None:
        """See the body of a function."""
        body = _body(node)
        for name in {
            n.target.id for n in _own(body) if isinstance(n, ast.AugAssign) and isinstance(n.target, ast.Name)
        }:
            if not _is_total(name, node.args, body):
                raise _MayWriteError
        for inner in body:
            self._see(inner)

    def _function_inside(self, node: ast.FunctionDef | ast.Lambda) -> None:
        for default in (*node.args.defaults, *filter(None, node.args.kw_defaults)):
            self._see(default)
        self._inside(node)

    def _load(self, path: NamePath) -> None:
        name = path[0]
        if name in self._functions or any(part.startswith("__") for part in path):
            raise _MayWriteError
        if name in self._own or name not in self._times:
            self._values.add(path)

    def _attribute(self, node: ast.Attribute) -> None:
        if (path := _path(node)) is not None:
            self._load(path)
        elif node.attr.startswith("__"):
            raise _MayWriteError
        else:
            self._see(node.value)

    def _call(self, node: ast.Call) -> None:
        starred = any(isinstance(a, ast.Starred) for a in node.args) or any(k.arg is None for k in node.keywords)
        for inner in (*node.args, *(keyword.value for keyword in node.keywords)):
            self._see(inner)
        path = _path(node.func)
        if path is not None and (path[0] in self._functions if len(path) == 1 else self._grows(path)):
            return
        writes = starred or any(is_written(str(keyword.arg)) for keyword in node.keywords)
        if path is None or (path[0] in self._times and path[0] not in self._own):
            if not (
                isinstance(node.func, ast.Attribute)
                and OutsideCall((node.func.attr,), len(node.args), writes).is_method()
            ):
                raise _MayWriteError
            self._see(node.func.value)
        else:
            self._calls.add(OutsideCall(path, len(node.args), writes))

    def _grows(self, path: NamePath) -> bool:
        """Whether a method adds to a list that the function made, which shows nothing to anybody outside."""
        name, method = path[0], path[-1]
        return len(path) == 2 and method in ("append", "extend") and self._times[name] == self._made[name] > 0


def _parameters(function: FunctionNode) -> set[str]:
    given = function.args
    return {a.arg for a in (*given.posonlyargs, *given.args, *given.kwonlyargs)}


def _body(function: FunctionNode) -> Sequence[ast.AST]:
    return function.body if isinstance(function.body, list) else [function.body]


def _all(body: Sequence[ast.AST]) -> Iterator[ast.AST]:
    return (node for statement in body for node in walk(statement))


def _own(body: Sequence[ast.AST]) -> Iterator[ast.AST]:
    """All nodes below, but for those of functions and comprehensions inside, whose variables are their own."""
    todo = list(body)
    while todo:
        yield (node := todo.pop())
        if not isinstance(node, _SCOPES):
            todo += below(node)


_SCOPES = (ast.FunctionDef, ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def _defines(node: ast.AST) -> str | None:
    """The name of the function that a statement defines."""
    if isinstance(node, ast.FunctionDef):
        return node.name
    if isinstance(node, ast.Assign) and isinstance(node.value, ast.Lambda) and len(node.targets) == 1:
        target = node.targets[0]
        return target.id if isinstance(target, ast.Name) else None
    return None


def _path(node: ast.expr) -> NamePath | None:
    rest: list[str] = []
    while isinstance(node, ast.Attribute):
        rest.append(node.attr)
        node = node.value
    return (node.id, *reversed(rest)) if isinstance(node, ast.Name) else None


#: Functions whose result is in new memory.
_NEW = frozenset(("sum", "mean", "prod", "zeros", "ones", "norm", "vdot"))


def _is_total(name: str, given: ast.arguments, body: Sequence[ast.AST]) -> bool:
    """Whether a name that is added to in place stands for memory that nothing else shows before the last addition."""
    last = max(i for i, node in enumerate(body) if any(_adds_to(name, part) for part in walk(node)))
    before = [*walk(given), *_all(body[: last + 1])]
    met = sum(getattr(node, "id", getattr(node, "arg", None)) == name for node in before)
    return bool(met == sum(_adds_to(name, node) or _makes(name, node) for node in before))


def _adds_to(name: str, node: ast.AST) -> bool:
    return isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name) and node.target.id == name


def _makes(name: str, node: ast.AST) -> bool:
    """Whether a statement gives new memory to `name` alone."""
    if not (isinstance(node, ast.Assign) and len(node.targets) == 1):
        return False
    target, value = node.targets[0], node.value
    called = value.func if isinstance(value, ast.Call) else None
    is_new = isinstance(value, ast.Constant | ast.BinOp) or getattr(called, "attr", None) in _NEW
    return is_new and isinstance(target, ast.Name) and target.id == name
