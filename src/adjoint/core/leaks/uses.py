"""What a line of Python does with a value taken out of a tensor. It is read from the source, for reports only."""

from __future__ import annotations

import ast
import builtins
import functools
import math
from collections import ChainMap
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from types import BuiltinFunctionType, FrameType, FunctionType, MethodType, ModuleType
from typing import NamedTuple

import numpy as np

from adjoint.core.leaks.syntax import definition_of, expression_at, function_of, is_inside, loads, outermost, parents_in
from adjoint.core.messages.frames import is_of
from adjoint.core.objects.looking import looked_up
from adjoint.core.types import Function, Value


class Fate(NamedTuple):
    """What becomes of a value.

    `kind` is "harmless" (compared, shown, computed with where that is seen), "kept" (in an object), "foreign" (read by
    code that is not Python, named by `who`), or "unknown".
    """

    kind: str
    who: str


NameScopes = ChainMap[str, Value]

HARMLESS, UNKNOWN = Fate("harmless", ""), Fate("unknown", "")
_WORST = ("harmless", "kept", "unknown", "foreign")
_DEEPEST = 4

# Calls whose result is as much of the value as their argument.
_HANDED_ON = frozenset(("abs", "round", "complex", "min", "max", "sum", "sorted", "list", "tuple", "reversed", "zip"))
# Calls whose result is about the value only.
_SHOWN = frozenset(
    ("print", "str", "repr", "format", "int", "bool", "isinstance", "type", "len", "hash", "id", "range")
)
# Modules that keep values or show them, and what loggers are asked for.
_SHOWING = frozenset(
    ("logging", "warnings", "json", "pprint", "csv", "io", "sys", "time", "os", "pickle", "heapq", "bisect")
)
# NumPy's functions that ask the elements of a list, and functions whose results do not vary.
_JOINING = frozenset(("stack", "concatenate", "hstack", "vstack", "dstack", "column_stack", "block", "where", "select"))
_WHOLE = frozenset((math.ceil, math.floor, math.trunc, math.isnan, math.isinf, math.isfinite, math.isclose))
_FILLING = frozenset(("append", "appendleft", "add", "extend", "insert"))
_LOGGING = frozenset(("debug", "info", "warning", "error", "critical", "exception", "log"))
# Where a name stands for one of these kinds of objects, their methods keep values or show them.
_CONTAINERS = (list, dict, set, tuple, str, bytes, bytearray)


# What stands for a value on its way: itself, an element of a list, or the name of whose plain number it has become
# (after a question mark, if that is not sure).
_ITSELF, _LISTED, _DOUBT = "", "[]", "?"


@dataclass
class _Uses:
    """Where the value of an expression goes, within one function, and as what."""

    handed: list[tuple[ast.Call, ast.expr, str]] = field(default_factory=list)
    kept: set[str] = field(default_factory=set)
    returned: set[str] = field(default_factory=set)


@lru_cache(4096)
def _uses(start: tuple[ast.AST, ...], function: ast.AST, who: str) -> _Uses:
    """Follow the value of the nodes `start` to where it is used."""
    found, waiting, seen = _Uses(), [(node, who) for node in start], set[tuple[ast.AST, str]]()
    parents = parents_in(function)

    scope = outermost(function, parents)

    def into(name: str, who: str) -> None:
        waiting.extend((x, who) for x in loads(name, scope))

    while waiting:
        node, who = waiting.pop()
        parent = parents.get(node)
        if parent is None or (node, who) in seen:
            continue
        seen.add((node, who))
        element = _ITSELF if who == _LISTED else who
        if isinstance(parent, ast.Return | ast.Yield | ast.YieldFrom | ast.Lambda):
            owner = parent if isinstance(parent, ast.Lambda) else function_of(parent, parents)
            if owner is function:
                found.returned.add(element)
            elif not is_inside(owner, function, parents):
                found.kept.add(element)
            elif isinstance(owner, ast.Lambda):
                waiting.append((owner, element))
            else:
                into(getattr(owner, "name", ""), element)
        elif isinstance(parent, ast.Tuple) and (names := _unpacked(node, parent, parents)):
            for name in names:
                into(name, who)
        elif isinstance(parent, ast.Assign | ast.AnnAssign | ast.AugAssign | ast.NamedExpr):
            for target in parent.targets if isinstance(parent, ast.Assign) else [parent.target]:
                for name, form in _assigned(target, who, found):
                    into(name, form)
            if isinstance(parent, ast.NamedExpr):
                waiting.append((parent, who))
        elif isinstance(parent, ast.For | ast.comprehension) and node is parent.iter:
            for name in _stored(parent.target):
                into(name, element)
        elif isinstance(parent, ast.Call) and node is not parent.func:
            name = parent.func.id if isinstance(parent.func, ast.Name) else ""
            if isinstance(parent.func, ast.Attribute) and parent.func.attr in _FILLING:
                if isinstance(parent.func.value, ast.Name):
                    into(parent.func.value.id, who or _LISTED)
                    continue
            if name == "float":
                waiting.append((parent, element or name))
            elif name in _HANDED_ON:
                waiting.append((parent, element))
            elif not element:
                found.handed.append((parent, node, who))  # type: ignore[arg-type]  # an argument is an expression
            elif name not in _SHOWN:
                waiting.append((parent, who))
        elif _carries_on(node, parent):
            listing = isinstance(parent, ast.Tuple | ast.List | ast.Set | ast.ListComp | ast.SetComp | ast.GeneratorExp)
            waiting.append((parent, (who or _LISTED) if listing else element))
    return found


def _assigned(target: ast.expr, who: str, found: _Uses) -> Iterator[tuple[str, str]]:
    """The names that hold a value once it is assigned to `target`, and in what form; notes whether it is kept."""
    element = _ITSELF if who == _LISTED else who
    for name in _stored(target):
        yield name, who if isinstance(target, ast.Name) else element
    if isinstance(target, ast.Attribute):
        found.kept.add(element)
    elif isinstance(target, ast.Subscript):
        found.kept.add(_ITSELF)
        if isinstance(target.value, ast.Name):
            yield target.value.id, who or _LISTED


def _carries_on(node: ast.AST, parent: ast.AST) -> bool:
    """Whether the value of `parent` has that of `node` in it."""
    if isinstance(parent, ast.BinOp):  # "%f" % x is text
        return not (isinstance(parent.op, ast.Mod) and isinstance(parent.left, ast.Constant | ast.JoinedStr))
    if isinstance(parent, ast.IfExp):
        return node is not parent.test
    if isinstance(parent, ast.Subscript):
        return node is parent.value
    if isinstance(parent, ast.UnaryOp):
        return not isinstance(parent.op, ast.Not)
    kinds = (ast.Tuple, ast.List, ast.Set, ast.Dict, ast.Starred, ast.BoolOp, ast.Attribute, ast.Call, ast.keyword,
             ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp, ast.Await)  # fmt: skip
    return isinstance(parent, kinds)


def _unpacked(node: ast.AST, values: ast.Tuple, parents: dict[ast.AST, ast.AST]) -> list[str]:
    """The names that get `node` in ``a, b = node, other``."""
    above = parents.get(values)
    targets = above.targets if isinstance(above, ast.Assign) else []
    if not all(isinstance(target, ast.Tuple) and len(target.elts) == len(values.elts) for target in targets):
        return []
    place = next(i for i, x in enumerate(values.elts) if x is node)
    return [name for target in targets if isinstance(target, ast.Tuple) for name in _stored(target.elts[place])]


def _stored(target: ast.AST) -> list[str]:
    return [x.id for x in ast.walk(target) if isinstance(x, ast.Name) and isinstance(x.ctx, ast.Store)]


def fate_of(frame: FrameType, call: str) -> Fate:
    """What the function of `frame`, which is at a call such as ``t.item()``, does with the value."""
    expression, function = expression_at(frame.f_code, frame.f_lasti)
    if expression is None or function is None:
        return UNKNOWN
    callee = expression.func if isinstance(expression, ast.Call) else None
    if callee is not None and not (isinstance(callee, ast.Attribute) and f".{callee.attr}(" in call):
        held = _resolved(callee, _names(frame))
        if not isinstance(held, FunctionType | MethodType):
            return _of_callee(held, callee, 0) if held is not None else UNKNOWN
    return _fate(frame, expression, function, 0, _ITSELF)


def compares_with_kept(frame: FrameType) -> bool:
    """Whether `frame` is at a comparison with what its own function keeps for the next call: ``x == self.last``."""
    expression, function = expression_at(frame.f_code, frame.f_lasti)
    if not isinstance(expression, ast.Compare) or function is None:
        return False
    return any(ast.unparse(x) in _keeps(function) for x in (expression.left, *expression.comparators))


@lru_cache(256)
def _keeps(function: ast.AST) -> frozenset[str]:
    """The targets of `function` that outlive it: attributes, items, names from outside."""
    nodes = list(ast.walk(function))
    outside = {name for x in nodes if isinstance(x, ast.Global | ast.Nonlocal) for name in x.names}
    return frozenset(
        ast.unparse(x)
        for x in nodes
        if (isinstance(x, ast.Attribute | ast.Subscript) or (isinstance(x, ast.Name) and x.id in outside))
        and isinstance(x.ctx, ast.Store)
    )


def _fate(frame: FrameType, start: ast.AST, function: ast.AST, depth: int, who: str) -> Fate:
    fates, returned = _followed((start,), function, _names(frame), depth, who)
    return _worst([*fates, *(_returned(frame, depth, who) for who in returned)])


def _followed(
    start: tuple[ast.AST, ...], function: ast.AST, names: NameScopes, depth: int, who: str
) -> tuple[list[Fate], set[str]]:
    """Follow a value within one function, calls included; and say as what it is returned, if it is."""
    uses = _uses(start, function, who)
    fates, returned = [_of(form) for form in uses.kept], set(uses.returned)
    for call, argument, form in uses.handed:
        fate, carried = _handed(call, argument, form, names, depth)
        if fate.kind in ("foreign", "unknown") and not isinstance(parents_in(function).get(call), ast.Expr):
            doubt = _DOUBT * (fate.kind == "unknown")
            fate, carried = HARMLESS, {doubt + (fate.who or ast.unparse(call.func))}  # what is done with the result?
        fates.append(fate)
        for given in carried if depth < _DEEPEST else ():
            more, back = _followed((call,), function, names, depth + 1, given)
            fates, returned = fates + more, returned | back
    return fates, returned


def _of(form: str) -> Fate:
    """The fate of a value that is kept, or the result, in this form."""
    if not form:
        return Fate("kept", "")
    return UNKNOWN if form.startswith(_DOUBT) else Fate("foreign", form)


def _worst(fates: list[Fate]) -> Fate:
    return max(fates, key=lambda fate: _WORST.index(fate.kind), default=HARMLESS)


def _returned(frame: FrameType, depth: int, who: str) -> Fate:
    """Where the value goes that `frame` returns."""
    caller = frame.f_back
    if caller is None or depth > _DEEPEST or is_of(caller, "adjoint"):  # a transform looks at its result
        return _of(who)
    expression, function = expression_at(caller.f_code, caller.f_lasti)
    if expression is None or function is None:
        return UNKNOWN
    if isinstance(expression, ast.Call):
        callee = _resolved(expression.func, _names(caller))
        if callee is None:
            return UNKNOWN
        if isinstance(callee, np.ufunc):  # made of this function
            return Fate("foreign", ast.unparse(expression.func))
        if not _is_python(callee):
            return _of_callee(callee, expression.func, depth)
    return _fate(caller, expression, function, depth + 1, who)


def _handed(call: ast.Call, argument: ast.expr, form: str, names: NameScopes, depth: int) -> tuple[Fate, set[str]]:
    """Where an argument of `call` goes, and in which forms the call returns it."""
    called, offset = call.func, 0
    callee = _resolved(called, names)
    if any(callee is f for f in (map, filter, functools.reduce)) and argument is not call.args[0]:
        called, offset = call.args[0], 1
        callee = _resolved(called, names)
        if callee is None:
            return HARMLESS, {_LISTED}
    if callee is None:
        return (HARMLESS if isinstance(called, ast.Attribute) and called.attr in _LOGGING else UNKNOWN), set()
    if isinstance(callee, np.ufunc) or hasattr(callee, "_implementation"):  # NumPy asks the value itself; not in lists
        is_lost = form == _LISTED and getattr(callee, "__name__", "") not in _JOINING
        return HARMLESS, {ast.unparse(called) if is_lost else _ITSELF}
    code = getattr(getattr(callee, "__func__", callee), "__code__", None)
    if code is None or depth > _DEEPEST:
        return _of_callee(callee, called, depth), set()
    if _shows(str(getattr(callee, "__module__", ""))):
        return HARMLESS, set()
    function = definition_of(code)
    if function is None:
        return UNKNOWN, set()
    given = [*function.args.posonlyargs, *function.args.args]
    place = call.args.index(argument) - offset + isinstance(callee, MethodType) if argument in call.args else -1
    named = given[place].arg if 0 <= place < len(given) else getattr(argument, "arg", None)
    if named is None:
        return UNKNOWN, set()
    plain: Value = getattr(callee, "__func__", callee)  # a Python function: it has code
    cells = zip(code.co_freevars, plain.__closure__ or (), strict=True)
    inside = ChainMap({name: _content(cell) for name, cell in cells}, plain.__globals__)
    fates, returned = _followed(loads(named, function), function, inside, depth + 1, form)
    worst = _worst(fates)
    return Fate("foreign", ast.unparse(called)) if worst.kind == "foreign" else worst, returned


def _content(cell: Value) -> Value:
    try:
        return cell.cell_contents
    except ValueError:  # not yet assigned
        return None


def _shows(module: str) -> bool:
    return module.partition(".")[0].lstrip("_") in _SHOWING or module.startswith("numpy.testing")


def _is_python(callee: Function) -> bool:
    return isinstance(callee, FunctionType | MethodType) or (
        not isinstance(callee, BuiltinFunctionType) and hasattr(type(callee).__call__, "__code__")
    )


def _of_callee(callee: Function, called: ast.expr, depth: int) -> Fate:
    """What `callee`, which is no Python function that could be followed, does with an argument."""
    if any(callee is f for f in _WHOLE):
        return HARMLESS
    owner = getattr(callee, "__self__", None)
    home = callee.__module__ if isinstance(getattr(callee, "__module__", None), str) else ""
    if isinstance(owner, _CONTAINERS) or _shows(home):
        return HARMLESS
    if any(callee is kind for kind in (memoryview, bytes, bytearray)):
        return Fate("foreign", ast.unparse(called))
    if home == "builtins" or (isinstance(owner, ModuleType) and owner is builtins):
        return HARMLESS
    if isinstance(callee, type) and "__init__" in vars(callee) and hasattr(vars(callee)["__init__"], "__code__"):
        return Fate("kept", "")
    if _is_python(callee):
        return HARMLESS if depth else UNKNOWN
    return Fate("foreign", ast.unparse(called))


def _names(frame: FrameType) -> NameScopes:
    return ChainMap(frame.f_locals, frame.f_globals)


def _resolved(node: ast.expr, names: NameScopes) -> Value:
    """The object that a name, or a chain of attributes, stands for; None if that can not be said."""
    if isinstance(node, ast.Name):
        return names.get(node.id, getattr(builtins, node.id, None))
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        owner, key = _resolved(node.value, names), node.slice.value
        held = type(owner) is dict and key in owner
        return owner[key] if held else None
    if isinstance(node, ast.Attribute):
        owner = _resolved(node.value, names)
        if owner is None:
            return None
        return looked_up(owner, node.attr)
    return None
