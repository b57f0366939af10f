"""From a function to the syntax tree that it was compiled from, and from a rewritten tree back to a function.

A tree is used only if the present file compiles to exactly the code that runs. This detects a source that changed on
disk, and a decorator that replaced the code; two lambdas on one line are told apart by their columns.
"""

from __future__ import annotations

import ast
import linecache
import sys
import warnings
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from threading import Lock, RLock
from types import CellType, CodeType, FunctionType
from typing import TypeVar

from adjoint.core.errors import AdjointError
from adjoint.core.leaks.syntax import tree_of
from adjoint.core.threads.locks import PARSING
from adjoint.core.threads.weak import WeakIds
from adjoint.core.types import Value
from adjoint.twin.syntax.parts import parts_of
from adjoint.twin.syntax.trees import below, copied, locate, walk

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
_FUTURE = 0x1FE0000  # CO_FUTURE_*: annotations, division, generator_stop and their like
_KINDS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_EMPTY = (ast.Name, ast.Constant)  # no code inside


class NoTwinError(AdjointError):
    """There is no twin of a function: its source is not at hand, or has what a twin cannot do. The text says which."""


@dataclass(frozen=True)
class FunctionSyntax:
    """The syntax of a function: a tree of one's own, the class around it (for names such as ``__x``), and its code."""

    node: FunctionNode
    class_name: str | None
    code: CodeType


@dataclass(frozen=True, eq=False)
class SourceFile:
    """A file that was read: what it defines, and the codes that it compiles to."""

    lines: Sequence[str]
    classes: Sequence[ast.ClassDef]  # those inside of functions too
    functions: Mapping[tuple[str, int], Sequence[tuple[FunctionNode, str | None]]]
    codes: frozenset[CodeType]
    apart: Callable[[], Sequence[CodeType]]  # compiles one statement after another

    def has(self, code: CodeType) -> bool:
        """Whether this file compiles to `code`."""
        return code in self.codes or code in self._codes_apart

    @cached_property
    def _codes_apart(self) -> frozenset[CodeType]:
        # Notebooks compile one statement after another; an import elsewhere makes other code of ``np.sin(x)``.
        with suppress(SyntaxError, ValueError):
            return frozenset(inner for code in self.apart() for inner in _codes(code))
        return frozenset()


T = TypeVar("T")
# Levels of calls: enough for the most deeply nested expression that Python compiles.
_ROOM = 50_000
_deep = RLock()


def deeply(work: Callable[[], T]) -> T:
    """The result of `work`, which goes down a tree by recursion: a sum of a thousand terms is a thousand levels deep.

    Raises:
        NoTwinError: if the tree is too deep for Python even with room for more calls.
    """
    with suppress(RecursionError):
        return work()
    with _deep:
        limit = sys.getrecursionlimit()
        sys.setrecursionlimit(max(limit, _ROOM))
        try:
            return work()
        except RecursionError:
            raise NoTwinError("an expression is nested too deeply") from None
        finally:
            sys.setrecursionlimit(limit)


#: The name of a file, the future statements in force, and whether pytest has changed it; of a part, where it is.
FileKey = tuple[str, int, bool] | tuple[str, int, bool, int]
_files: dict[FileKey, SourceFile] = {}  # the latest
_FILES = 256
#: Of codes inside of those that were built, what the user wrote.
_written: WeakIds[CodeType, weakref.ref[CodeType]] = WeakIds()
_lock = Lock()


def find(function: FunctionType, tested: bool = False) -> FunctionSyntax:
    """The syntax of `function`; also of one whose assertions pytest has written anew, if it is `tested`.

    Raises:
        NoTwinError: if there is no source, or the source is not what was compiled.
    """
    code = function.__code__
    tested = tested and "@pytest_ar" in function.__globals__
    file = (None if tested else _part(code, function.__globals__)) or _file(code, function.__globals__, tested)
    if not file.has(code):  # the file may have been written and loaded again since it was read
        linecache.checkcache(code.co_filename)
        file = _file(code, function.__globals__, tested)
        if not file.has(code):
            if code.co_filename.startswith("<"):  # a later text may have this name too
                raise NoTwinError(NO_SOURCE)
            raise NoTwinError(f"the source of {code.co_qualname} at hand is not what was compiled")
    found = [
        (node, around)
        for node, around in file.functions.get((code.co_name, code.co_firstlineno), ())
        if _parameters(node) == _names(code)
    ]
    if len(found) > 1:
        found = [(node, around) for node, around in found if _holds(node, code)]
    if not found:
        raise NoTwinError(f"{code.co_qualname} is not found in its source")
    node, around = found[-1]  # breadth first: of nested ones, the innermost
    return FunctionSyntax(copied(node), around, code)


NO_SOURCE = "there is no source (it was typed, or made by exec)"


def file_of(function: FunctionType) -> SourceFile | None:
    """The file that `function` is written in; None if there is none."""
    try:
        return _file(function.__code__, function.__globals__)
    except NoTwinError:
        return None


def _part(code: CodeType, scope: Mapping[str, object]) -> SourceFile | None:
    """The part of a file that `code` stands in, which has this code; None if the whole file was read, or has to be."""
    name, flags, lines = code.co_filename, code.co_flags & _FUTURE, _lines(code, scope)
    if (name, flags, False) not in _files:
        for start, text in parts_of(lines, code.co_firstlineno):
            with suppress(NoTwinError):
                part = _read(text, lines, (name, flags, False, start))
                if code in part.codes:
                    return part
    return None


def _lines(code: CodeType, scope: Mapping[str, object]) -> list[str]:
    """The lines of the file of `code`; none if it is not at hand."""
    if code.co_filename.startswith("<frozen "):  # a part of Python that is compiled into it
        return linecache.getlines(str(scope.get("__file__", "")))
    return linecache.getlines(code.co_filename, dict(scope) if "__loader__" in scope else None)


def _file(code: CodeType, scope: Mapping[str, object], tested: bool = False) -> SourceFile:
    """The file that `code` stands in, as a whole."""
    lines = _lines(code, scope)
    if not lines:
        raise NoTwinError(NO_SOURCE)
    return _read("".join(lines), lines, (code.co_filename, code.co_flags & _FUTURE, tested))


def _read(source: str, lines: Sequence[str], key: FileKey) -> SourceFile:
    """What `source` defines, which is all or a part of `lines`."""
    name, flags, tested, *_ = key
    known = _files.get(key)
    if known is not None and known.lines == lines:
        with _lock:
            _files[key] = _files.pop(key, known)  # the latest
        return known
    try:
        with PARSING, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = tree_of(source, name)
            codes = set(_codes(_compiled(tree, name, flags)))
            if tested:  # pytest has written its assertions anew
                changed = tree_of(source, name)
                sys.modules["_pytest.assertion.rewrite"].rewrite_asserts(changed, source.encode())
                codes.update(_codes(_compiled(changed, name, flags)))
    except (SyntaxError, ValueError) as error:
        raise NoTwinError(f"the source at hand does not compile: {error}") from None
    classes: list[ast.ClassDef] = []
    functions: dict[tuple[str, int], list[tuple[FunctionNode, str | None]]] = {}
    for node, around in _defined(tree):
        if isinstance(node, ast.ClassDef):
            classes.append(node)
            continue
        first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", ()))])
        functions.setdefault((getattr(node, "name", "<lambda>"), first), []).append((node, around))
    with _lock:
        made = _files[key] = SourceFile(
            lines, classes, functions, frozenset(codes),
            lambda: [_compiled(ast.Module([statement], []), name, flags) for statement in tree.body],
        )  # fmt: skip
        while len(_files) > _FILES:
            del _files[next(iter(_files))]
    return made


def _compiled(tree: ast.Module, name: str, flags: int) -> CodeType:
    with PARSING, warnings.catch_warnings():  # they were given when the file was imported
        warnings.simplefilter("ignore")
        code: CodeType = compile(tree, name, "exec", flags, dont_inherit=True)
    return code


def _codes(code: CodeType) -> Iterator[CodeType]:
    todo = [code]
    while todo:
        yield (code := todo.pop())
        todo += [inner for inner in code.co_consts if isinstance(inner, CodeType)]


def _defined(tree: ast.AST) -> Iterator[tuple[FunctionNode | ast.ClassDef, str | None]]:
    """The functions and classes below `tree`, breadth first, with the name of the innermost class around each."""
    todo: list[tuple[ast.AST, str | None]] = [(tree, None)]
    for node, around in todo:
        inner = around
        if isinstance(node, _KINDS):
            yield node, around
        elif isinstance(node, ast.ClassDef):
            yield node, around
            inner = node.name
        todo += [(part, inner) for part in below(node) if part.__class__ not in _EMPTY]


def _parameters(node: FunctionNode) -> tuple[str, ...]:
    given = node.args
    return tuple(a.arg for a in (*given.posonlyargs, *given.args, *given.kwonlyargs))


def _names(code: CodeType) -> tuple[str, ...]:
    return code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]


def _holds(node: FunctionNode, code: CodeType) -> bool:
    """Whether all of `code` came from the body of `node`, by lines and columns."""
    body = node.body if isinstance(node.body, list) else [node.body]
    begin, end = (body[0].lineno, body[0].col_offset), (body[-1].end_lineno or 0, body[-1].end_col_offset or 0)
    places = [p for p in code.co_positions() if None not in p and (p[0], p[2]) != (p[1], p[3])]
    return all(begin <= (p[0], p[2]) and (p[1], p[3]) <= end for p in places)


def build(
    found: FunctionSyntax, extra: Sequence[str] = (), place: Callable[[ast.AST], None] = lambda node: None
) -> CodeType:
    """The code of the tree in `found`: with the free variables that the function has, and `extra` ones.

    `place` moves nodes to other lines, once all have one.

    It is compiled inside of a function that is never called, whose parameters are the free variables. Lines, names and
    the future statements of the module are kept, so tracebacks and debuggers show the user's own source.
    """
    node, code = found.node, found.code
    given = node.args
    given.defaults = [ast.Constant(None)] * len(given.defaults)
    given.kw_defaults = [default and ast.Constant(None) for default in given.kw_defaults]
    if not isinstance(node, ast.Lambda):
        node.returns = None
        for parameter in (*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg):
            if parameter is not None:
                parameter.annotation = None
        if hasattr(node, "type_params"):
            node.type_params = []
    body: ast.stmt = ast.Expr(node) if isinstance(node, ast.Lambda) else node
    if found.class_name:
        body = _around(f"class {found.class_name}: pass", body)
    free = [*code.co_freevars, *extra]
    if found.class_name and "__class__" in free:
        free.remove("__class__")  # the class makes it
    bound = found.class_name or getattr(node, "name", None)
    factory = _around(f"def factory({', '.join(free)}): pass", body)
    if bound and bound not in free:
        factory.body.insert(0, ast.Global([bound]))
    locate(module := ast.copy_location(ast.Module([factory], []), node))
    place(node)
    for inner in _in_order(_compiled(module, code.co_filename, code.co_flags & _FUTURE)):
        if inner.co_name == code.co_name and _names(inner) == _names(code):
            made = _renamed(inner, inner.co_qualname, code.co_qualname)
            _remember(made, code)
            return made
    raise NoTwinError(f"{code.co_qualname} is not found in what was compiled")


def _remember(made: CodeType, code: CodeType) -> None:
    """Note what the user wrote in the place of each code inside of `made`."""

    def known(whole: CodeType) -> dict[Value, list[CodeType]]:
        found: dict[Value, list[CodeType]] = {}
        for inner in _in_order(whole):
            found.setdefault((inner.co_name, inner.co_firstlineno, _names(inner)), []).append(inner)
        return found

    mine = known(code)
    for key, codes in known(made).items():
        if len(codes) == len(mine.get(key, ())):
            for inner, own in zip(codes, mine[key], strict=True):
                _written[inner] = weakref.ref(own)


def as_written(function: FunctionType) -> FunctionType:
    """`function`, or what the user wrote in its place, if it was made inside of a twin."""
    known = _written.get(function.__code__)
    code = None if known is None else known()
    if code is None:
        return function
    own = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    if not own.keys() >= {*code.co_freevars}:
        return function
    cells = tuple(own[name] for name in code.co_freevars)
    made = FunctionType(code, function.__globals__, function.__name__, function.__defaults__, cells)
    made.__kwdefaults__ = function.__kwdefaults__
    return made


def _around(text: str, body: ast.stmt) -> Value:
    """The statement in `text`, with `body` as its body."""
    statement: Value = tree_of(text).body[0]
    statement.body = [body]
    for node in walk(statement.args) if isinstance(statement, ast.FunctionDef) else ():
        ast.copy_location(node, body)
    return statement


def _in_order(code: CodeType) -> Iterator[CodeType]:
    """`code` and all code within, breadth first."""
    todo = [code]
    for inner in todo:
        yield inner
        todo += [below for below in inner.co_consts if isinstance(below, CodeType)]


def _renamed(code: CodeType, old: str, new: str) -> CodeType:
    """`code`, and what is within, with the qualified names that the original has."""

    def fixed(value: object) -> Value:
        if isinstance(value, CodeType):
            return _renamed(value, old, new)
        if isinstance(value, str) and value.startswith(f"{old}.<locals>."):
            return new + value[len(old) :]
        return value

    name = new + code.co_qualname[len(old) :] if code.co_qualname.startswith(old) else code.co_qualname
    return code.replace(co_qualname=name, co_consts=tuple(map(fixed, code.co_consts)))


__all__ = [
    "FunctionNode",
    "FunctionSyntax",
    "NoTwinError",
    "SourceFile",
    "as_written",
    "build",
    "deeply",
    "file_of",
    "find",
    "has_defaults_of",
    "is_filled",
]


def is_filled(cell: CellType) -> bool:
    """Whether the variable that a function closes over is bound."""
    try:
        cell.cell_contents  # noqa: B018 - an empty cell raises
    except ValueError:
        return False
    return True


def has_defaults_of(f: FunctionType, twin: object) -> bool:
    """Whether a `twin` that was made of `f` has the default arguments that `f` has now: they can be set."""
    if not isinstance(twin, FunctionType) or twin.__dict__ is not f.__dict__:
        return True
    return twin.__defaults__ is f.__defaults__ and twin.__kwdefaults__ is f.__kwdefaults__
