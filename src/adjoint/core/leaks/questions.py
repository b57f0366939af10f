"""Methods that only answer: with a truth, an order, a hash, a length. No derivative goes through these.

Python's own code calls them where no twin can stand in for them: ``key in {...}``, a heap of pairs. There they may take
plain numbers, if their source shows that nothing of these is kept.
"""

from __future__ import annotations

import ast
import builtins
import dis
from collections.abc import Mapping
from functools import lru_cache
from types import CodeType, FrameType

import numpy as np

from adjoint.core.leaks.syntax import definition_of
from adjoint.core.messages.frames import is_of
from adjoint.core.objects.looking import looked_up
from adjoint.core.types import Value

_COMPARING = {f"__{name}__" for name in ("eq", "ne", "lt", "le", "gt", "ge")}
_NAMES = ("bool", "len", "length_hint", "hash", "index", "contains", "instancecheck", "subclasscheck")
_ANSWERING = {f"__{name}__" for name in _NAMES} | _COMPARING
_SHOWING = ("__repr__", "__str__", "__format__")
# Instructions that take the truth of the value before them.
_TESTS = ("POP_JUMP_", "JUMP_IF_", "TO_BOOL", "UNARY_NOT")
# Comprehensions have codes of their own, which lie within that of their function.
_WITHIN = ("<genexpr>", "<listcomp>", "<setcomp>", "<dictcomp>")


def only_answers(asker: FrameType | None) -> bool:
    """Whether `asker`, which asks for plain numbers, does so for a method that only answers."""
    while asker is not None and is_of(asker, "adjoint", "numpy"):
        asker = asker.f_back
    inner: CodeType | None = None
    while asker is not None and not is_of(asker, "adjoint"):
        code, caller = asker.f_code, asker.f_back
        if inner is not None and inner not in code.co_consts:
            return False
        inner = code if code.co_name in _WITHIN else None
        if inner is None:
            if not _keeps_nothing(code, _Globals(asker.f_globals)):
                return False
            if code.co_argcount and "." in code.co_qualname:
                if code.co_name in _SHOWING and caller is not None and caller.f_code.co_name == "say":
                    return True  # it is printed
                if code.co_name in _ANSWERING and not (code.co_name in _COMPARING and _goes_on(caller)):
                    return True
        asker = caller
    return False


def _goes_on(frame: FrameType | None) -> bool:
    """Whether `frame` compares, and does more with the result than to ask for its truth: it may be any object."""
    code = b"" if frame is None else frame.f_code.co_code
    names = (dis.opname[code[at]] for at in range(0 if frame is None else frame.f_lasti, len(code), 2))
    after = [name for _, name in zip(range(8), names, strict=False) if name != "CACHE"]
    return after[:1] == ["COMPARE_OP"] and not "".join(after[1:2]).startswith(_TESTS)


class _Globals:
    """The globals of a function, by which a cache does not tell calls apart: its code does."""

    def __init__(self, names: Mapping[str, Value]) -> None:
        self.names = names

    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return 0


@lru_cache(1024)
def _keeps_nothing(code: CodeType, scope: _Globals) -> bool:
    """Whether the source of `code` shows that it only computes with values, and returns them."""
    if code.co_filename == "<string>":  # made by dataclasses: it compares the fields
        return code.co_name in _ANSWERING
    if any(name.startswith("_adj_") for name in code.co_freevars):  # a twin, which takes none
        return False
    function = definition_of(code)
    return function is not None and _MethodBody(function, scope.names).keeps_nothing()


class _MethodBody:
    """The body of one function."""

    def __init__(self, function: ast.FunctionDef, scope: Mapping[str, Value]) -> None:
        self._nodes = [node for statement in function.body for node in ast.walk(statement)]
        names = [node for node in self._nodes if isinstance(node, ast.Name)]
        self._own = {node.id for node in names if isinstance(node.ctx, ast.Store)}
        self._scope = scope

    def keeps_nothing(self) -> bool:
        return all(isinstance(node, _PLAIN) or self._is_harmless(node) for node in self._nodes)

    def _is_harmless(self, node: ast.AST) -> bool:
        if isinstance(node, ast.Attribute | ast.Subscript):
            return isinstance(node.ctx, ast.Load)
        if isinstance(node, ast.AugAssign):
            return isinstance(node.target, ast.Name) and self._is_number(node.target.id)
        return isinstance(node, ast.Call) and self._only_computes(node)

    def _is_number(self, name: str) -> bool:
        """Whether a name stands for values that were computed, and for no list of somebody else's."""
        given = [node for node in self._nodes if isinstance(node, ast.Assign)]
        values = [n.value for n in given if any(isinstance(t, ast.Name) and t.id == name for t in n.targets)]
        return bool(values) and all(isinstance(value, ast.Constant | ast.BinOp | ast.Call) for value in values)

    def _only_computes(self, call: ast.Call) -> bool:
        func, callee = call.func, self._resolved(call.func)
        given = [*call.args, *[keyword.value for keyword in call.keywords]]
        if not any(map(self._is_computed, given)):
            return True
        if any(keyword.arg in ("out", "key") for keyword in call.keywords):
            return False
        if callee is not None and getattr(type(callee), "__hash__", None) is not None:
            if callee in _COMPUTING or (isinstance(callee, type) and issubclass(callee, Exception)):
                return True
            if isinstance(callee, np.ufunc) or getattr(callee, "__module__", None) in _MODULES:
                return callee not in _WRITING
        return isinstance(func, ast.Attribute) and func.attr in _METHODS and self._is_computed(func.value)

    def _is_computed(self, node: ast.expr) -> bool:
        """Whether a value may be a number that was taken out: arguments and what they hold are not."""
        inside = list(ast.walk(node))
        return any(isinstance(n, ast.Call) or (isinstance(n, ast.Name) and n.id in self._own) for n in inside)

    def _resolved(self, node: ast.expr) -> Value:
        if isinstance(node, ast.Name) and node.id not in self._own:
            return self._scope.get(node.id, getattr(builtins, node.id, None))
        if isinstance(node, ast.Attribute):
            owner = self._resolved(node.value)
            return None if owner is None else looked_up(owner, node.attr)
        return None


_PLAIN = (
    ast.Name, ast.Constant, ast.expr_context, ast.Expr, ast.Return, ast.If, ast.IfExp, ast.Assign, ast.For, ast.Pass,
    ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.operator, ast.unaryop, ast.boolop, ast.cmpop, ast.Tuple,
    ast.List, ast.Set, ast.Dict, ast.GeneratorExp, ast.ListComp, ast.SetComp, ast.DictComp, ast.comprehension,
    ast.Starred, ast.Slice, ast.keyword, ast.Raise, ast.Assert, ast.JoinedStr, ast.FormattedValue, ast.NamedExpr,
)  # fmt: skip
_COMPUTING = frozenset((abs, all, any, bool, complex, divmod, enumerate, float, frozenset, hash, int, isinstance, len))
_COMPUTING |= {list, max, min, pow, range, reversed, round, set, sorted, sum, tuple, type, zip, getattr, hasattr, id}
_MODULES = frozenset(("math", "cmath", "numpy", "numpy.linalg", "_operator", "numpy._core.multiarray"))
_WRITING = frozenset((np.copyto, np.put, np.place, np.putmask, np.put_along_axis, np.fill_diagonal, np.save, np.savez))
_METHODS = frozenset(("sum", "mean", "prod", "all", "any", "item", "tolist", "round", "astype", "reshape", "max"))
_METHODS |= {"min", "dot", "ravel", "copy", "squeeze", "std", "var", "join", "format", "index", "count", "get"}
