"""Mutants of the rules of an operation: each differs from what is there in one place.

A rule is a Python function, and so is what it calls in its room. A mutant is made of the function's source, by its
syntax tree, and put into the function itself: all that holds the function then computes otherwise.
"""

from __future__ import annotations

import ast
import builtins
import copy
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from inspect import unwrap
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any, NamedTuple

import numpy as np

from adjoint.batch.rules import rule_of
from adjoint.core.op import Op, Rule
from adjoint.core.registry import entries
from adjoint.core.rules.pullbacks import NotDifferentiable
from adjoint.forward import push
from adjoint.native.codegen.llvm_text import IRValue
from adjoint.native.lower.table import TABLE

SMALL = 1.001  # what a mutant scales by
HELP = "_mutation"  # what a mutant's text calls this module's functions by
setattr(builtins, HELP, sys.modules[__name__])  # rules run with copies of their modules' globals too
# Whose functions are mutated where a rule calls them.
ROOMS = ("adjoint.ops.", "adjoint.scipy.", "adjoint.core.constructors")


class Mutant(NamedTuple):
    """One change. `inside` makes it, and undoes it."""

    where: str
    what: str
    inside: Callable[[], Any]  # a context manager
    code: CodeType | None = None  # what it stands in the place of

    def __str__(self) -> str:
        return f"{self.where}: {self.what}"


# -- What a mutant's text calls ------------------------------------------------------------------------------


def scaled(x: Any) -> Any:
    """Every array of `x` times 1.001."""
    return _each(x, _larger)


def _larger(a: Any) -> Any:
    if isinstance(a, IRValue):
        return a * SMALL if a.dtype[0] == "f" else a + 1
    return a * (a.dtype.type(SMALL) if hasattr(a, "dtype") and a.dtype.kind in "fc" else SMALL)


def negated(x: Any) -> Any:
    """Every array of `x` with the other sign."""
    return _each(x, lambda a: -a)


def rolled(x: Any) -> Any:
    """Every array of `x` turned by one along its last axis; a number cannot be turned."""
    return _each(x, lambda a: np.roll(a, 1, -1), least=1)


def moved(axis: Any) -> Any:
    """Another axis than `axis`."""
    if isinstance(axis, tuple):
        return (moved(axis[0]), *axis[1:]) if axis else (0,)
    return 0 if axis is None else axis - 1 if axis else -1


met: Counter[bool] = Counter()  # how often a mutant's change met numbers, and how often it met none


def _each(x: Any, change: Callable[[Any], Any], least: int = 0) -> Any:
    if type(x) in (list, tuple):
        return type(x)(_each(part, change, least) for part in x)
    if isinstance(x, IRValue):  # of native code: a number in it
        kind, axes = x.dtype[0], 0
    else:
        kind, axes = getattr(getattr(x, "dtype", None), "kind", "f" if type(x) in (int, float) else "O"), np.ndim(x)
    changes = kind in "fciu" and axes >= least
    met[changes] += 1
    return change(x) if changes else x


# -- Functions -----------------------------------------------------------------------------------------------


def functions(op: Op) -> list[FunctionType]:
    """The functions that are the rules of `op`, and those of the operations' rooms that they call."""
    rules = [*op.rules, *(rule for rule in op.jvps if rule is not None)]
    return _reached([rule.function for rule in rules] + [op.batch], ROOMS)


def lowerings(op: Op) -> list[FunctionType]:
    """The functions that write native code for `op`."""
    return _reached([TABLE[op.name].function] if op.name in TABLE else [], ("adjoint.native.lower.",))


def _reached(waiting: list[Any], rooms: tuple[str, ...]) -> list[FunctionType]:
    """The functions that wait, and those that they call, as far as they are of `rooms`."""
    found: dict[FunctionType, None] = {}
    others = _answers()
    while waiting:
        f = waiting.pop(0)
        if not isinstance(f, FunctionType) or f in found or f in others or not f.__module__.startswith(rooms):
            continue
        found[f] = None
        waiting += [f.__globals__.get(name) for name in _names(f.__code__)]
        waiting += [cell.cell_contents for cell in f.__closure__ or () if cell_holds(cell)]
    return list(found)


@cache
def _answers() -> set[Any]:
    """The functions that compute values: what a rule calls of these is an operation by itself."""
    found = (entry.forward if isinstance(entry, Op) else entry.function for entry in entries().values())
    return {inner for f in found if callable(f) for inner in (f, unwrap(f))}


def cell_holds(cell: Any) -> bool:
    """Whether a closure's cell has a value yet."""
    try:
        cell.cell_contents  # noqa: B018 - it raises where there is none
    except ValueError:
        return False
    return True


def _names(code: CodeType) -> list[str]:
    inner = [name for const in code.co_consts if isinstance(const, CodeType) for name in _names(const)]
    return [*code.co_names, *inner]


@cache
def _tree(path: str) -> ast.Module:
    return ast.parse(Path(path).read_text(encoding="utf-8"))


Function = ast.FunctionDef | ast.Lambda


def source_of(f: FunctionType) -> Function | None:
    """The part of the syntax tree that `f` was made from: the innermost that holds all places of its code."""
    code = f.__code__
    places = [(row, column) for row, _, column, _ in code.co_positions() if row and column and row > 0]
    if not places:
        return None
    best: Function | None = None
    for node in ast.walk(_tree(code.co_filename)):
        if not isinstance(node, Function) or (code.co_name == "<lambda>") != isinstance(node, ast.Lambda):
            continue
        if isinstance(node, ast.FunctionDef) and node.name != code.co_name:
            continue
        body = node.body if isinstance(node, ast.Lambda) else node
        if _start(body) <= max(places) <= _end(body) and [a.arg for a in _parameters(node)] == _given(code):
            if best is None or _start(node) >= _start(best):
                best = node
    return best


def _start(node: Any) -> tuple[int, int]:
    return node.lineno, node.col_offset


def _end(node: Any) -> tuple[int, int]:
    return node.end_lineno, node.end_col_offset


def _parameters(node: Function) -> list[ast.arg]:
    rest = [a for a in (node.args.vararg, node.args.kwarg) if a is not None]
    return [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs, *rest]


def _given(code: CodeType) -> list[str]:
    count = code.co_argcount + code.co_kwonlyargcount + bool(code.co_flags & 4) + bool(code.co_flags & 8)
    return list(code.co_varnames[:count])


def compiled(node: Function, f: FunctionType) -> CodeType:
    """The code of `node` in the place of that of `f`, with the same free variables."""
    free = f.__code__.co_freevars
    held = ast.Tuple([ast.Name(name, ast.Load()) for name in free], ast.Load())
    if isinstance(node, ast.Lambda):
        bare: Any = ast.Lambda(_bare(node.args), ast.IfExp(ast.Constant(True), node.body, held))
        inner: Any = ast.Return(bare)
    else:
        inner = ast.FunctionDef(
            node.name,
            _bare(node.args),
            [ast.If(ast.Constant(False), [ast.Expr(held)], []), *node.body],
            [],
            type_params=[],
        )
    outer = ast.FunctionDef(
        "outer", ast.arguments([], [ast.arg(n) for n in free], None, [], [], None, []), [inner], [], type_params=[]
    )
    module = ast.fix_missing_locations(ast.Module([outer], []))
    code = compile(module, f.__code__.co_filename, "exec")
    for _ in range(2):
        code = next(const for const in code.co_consts if isinstance(const, CodeType))
    return code


def _bare(arguments: ast.arguments) -> ast.arguments:
    """The arguments without defaults, which belong to the function and not to its code, and without types."""

    def plain(args: list[ast.arg]) -> list[ast.arg]:
        return [ast.arg(a.arg) for a in args]

    one = [ast.arg(a.arg) if a is not None else None for a in (arguments.vararg, arguments.kwarg)]
    return ast.arguments(
        plain(arguments.posonlyargs),
        plain(arguments.args),
        one[0],
        plain(arguments.kwonlyargs),
        [None] * len(arguments.kwonlyargs),
        one[1],
        [],
    )


# -- Changes -------------------------------------------------------------------------------------------------


_SEQUENCES = (ast.Tuple, ast.List, ast.JoinedStr)


def _help(name: str, node: ast.expr) -> ast.expr:
    return ast.Call(ast.Attribute(ast.Name(HELP, ast.Load()), name, ast.Load()), [node], [])


def changes(node: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    """What may stand in the place of an expression: what it is called, and it."""
    text = ast.unparse(node)
    match node:
        case ast.BinOp(left, _, right) if any(isinstance(x, _SEQUENCES) for x in (left, right)):
            pass  # of shapes and words, not of numbers
        case ast.BinOp(left, ast.Add(), right):
            yield f"{text} → sign", ast.BinOp(left, ast.Sub(), right)
            yield f"{text} → first term", left
            yield f"{text} → second term", right
        case ast.BinOp(left, ast.Sub(), right):
            yield f"{text} → sign", ast.BinOp(left, ast.Add(), right)
            yield f"{text} → first term", left
            yield f"{text} → second term", ast.UnaryOp(ast.USub(), right)
        case ast.BinOp(left, ast.Mult(), right):
            yield f"{text} → first factor", left
            yield f"{text} → second factor", right
        case ast.BinOp(left, ast.Div(), right):
            yield f"{text} → no divisor", left
            yield f"{text} → product", ast.BinOp(left, ast.Mult(), right)
        case ast.UnaryOp(ast.USub(), operand) if not isinstance(operand, ast.Constant):
            yield f"{text} → no sign", operand
        case ast.Constant(value) if type(value) is int:
            yield f"{text} → {value + 1}", ast.Constant(value + 1)
        case ast.Constant(value) if type(value) is float:
            other = value * SMALL if value else 1.0 - SMALL
            yield f"{text} → {other:.6g}", ast.Constant(other)
        case ast.Call(ast.Attribute(_, "conj" | "conjugate"), [operand]):
            yield f"{text} → no conj", operand
        case ast.Call(ast.Attribute(operand, "conj" | "conjugate"), []):
            yield f"{text} → no conj", operand
        case ast.Attribute(operand, "T" | "mT"):
            yield f"{text} → not transposed", operand


def _returns(node: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    text = ast.unparse(node)
    for change in (scaled, negated, rolled):
        yield f"{text} → {change.__name__}", _help(change.__name__, node)


def _axes(call: ast.Call) -> Iterator[tuple[str, ast.Call]]:
    for k, keyword in enumerate(call.keywords):
        if keyword.arg in ("axis", "axes") and not isinstance(keyword.value, ast.Constant):
            other = copy.copy(call)
            other.keywords = list(call.keywords)
            other.keywords[k] = ast.keyword(keyword.arg, _help("moved", keyword.value))
            yield f"{ast.unparse(call)} → another axis", other


def variants(root: Function, is_rule: bool) -> Iterator[tuple[str, Function]]:
    """The function with one change each: in every expression of it, and in what it returns."""
    body = [root.body] if isinstance(root, ast.Lambda) else root.body
    for holder, field, index, node in list(_places(root, body)):
        found = list(changes(node))
        if isinstance(node, ast.Call):
            found += _axes(node)
        result = (isinstance(holder, ast.Return) and is_rule) or (holder is root and isinstance(root, ast.Lambda))
        found += _returns(node) if result and isinstance(node, ast.expr) else ()
        for name, new in found:
            old = getattr(holder, field)
            if index is None:
                setattr(holder, field, new)
            else:
                setattr(holder, field, [*old[:index], new, *old[index + 1 :]])
            yield name, root
            setattr(holder, field, old)


def _places(holder: ast.AST, body: list[Any]) -> Iterator[tuple[ast.AST, str, int | None, ast.AST]]:
    """Each expression of a function's body, with what holds it. Messages are none."""
    pairs = [(holder, "body", None if isinstance(holder, ast.Lambda) else i, n) for i, n in enumerate(body)]
    while pairs:
        holder, field, index, node = pairs.pop(0)
        if isinstance(node, ast.Raise | ast.JoinedStr | ast.Assert):
            continue
        yield holder, field, index, node
        for name, value in ast.iter_fields(node):
            if name in ("annotation", "returns", "decorator_list", "args") and not isinstance(node, ast.Call):
                continue
            if isinstance(value, ast.AST):
                pairs.append((node, name, None, value))
            elif isinstance(value, list):
                pairs += [(node, name, i, part) for i, part in enumerate(value) if isinstance(part, ast.AST)]


# -- Mutants -------------------------------------------------------------------------------------------------


def mutants_of(functions: list[FunctionType]) -> Iterator[Mutant]:
    """Those of the text of functions that have one code: one, or what a factory made."""
    f = functions[0]
    node = source_of(f)
    if node is None:
        return
    node = copy.deepcopy(node)
    place = f"{Path(f.__code__.co_filename).name}:{f.__code__.co_name}"
    for what, changed in variants(node, True):
        try:
            code = compiled(changed, f)
        except (SyntaxError, ValueError):
            continue
        if len(code.co_freevars) == len(f.__code__.co_freevars):
            yield Mutant(place, what, lambda code=code: _with_code(functions, code), f.__code__)


@contextmanager
def _with_code(functions: list[FunctionType], code: CodeType) -> Iterator[None]:
    before = functions[0].__code__
    for f in functions:
        f.__code__ = code
    try:
        yield
    finally:
        for f in functions:
            f.__code__ = before


def mutants_of_record(op: Op) -> Iterator[Mutant]:
    """Those of what stands in the record of `op` itself, or follows from it: numbers as rules, derived rules."""
    for i, rule in enumerate(op.rules):
        if not callable(rule.function) and not isinstance(rule.function, NotDifferentiable) and rule.function:
            for name, factor in (("scaled", SMALL), ("negated", -1)):
                rules = (*op.rules[:i], Rule(rule.function * factor), *op.rules[i + 1 :])
                yield Mutant(op.name, f"rule {i} {name}", lambda rules=rules: _with(op, rules=rules))
    for change in (scaled, negated, rolled):
        yield Mutant(op.name, f"forward rule {change.__name__}", lambda change=change: _pushing(op, change))
    for change in (scaled, _other_samples):
        yield Mutant(op.name, f"batch rule {change.__name__.strip('_')}", lambda change=change: _batching(op, change))


@contextmanager
def _with(op: Op, **fields: Any) -> Iterator[None]:
    before = {name: getattr(op, name) for name in fields}
    pullbacks = op.pullbacks
    op.pullbacks = {}
    for name, value in fields.items():
        setattr(op, name, value)
    try:
        yield
    finally:
        op.pullbacks = pullbacks
        for name, value in before.items():
            setattr(op, name, value)


@contextmanager
def _pushing(op: Op, change: Callable[[Any], Any]) -> Iterator[None]:
    written = push._written

    def other(*given: Any) -> Any:
        rule = written(*given)
        return (lambda *args: change(rule(*args))) if given[0] is op else rule

    with _with(op):
        push._written = other
        try:
            yield
        finally:
            push._written = written


@contextmanager
def _batching(op: Op, change: Callable[[Any], Any]) -> Iterator[None]:
    with _with(op):
        rule = rule_of(op)
        op.pullbacks["batch"] = lambda *args: change(rule(*args))
        yield


def _other_samples(x: Any) -> Any:
    return _each(x, lambda a: np.roll(a, 1, 0), least=1)
