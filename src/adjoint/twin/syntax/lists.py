"""Which expressions of a function may be lists, by the look of them: NumPy does not dispatch on these."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from types import CodeType, FunctionType

import numpy as np

from adjoint.core.threads.weak import WeakIds
from adjoint.core.types import Value
from adjoint.tape.tensor import Tensor
from adjoint.twin.syntax.names import MISSING, SEQUENCES
from adjoint.twin.syntax.source import NoTwinError
from adjoint.twin.syntax.trees import below, walk

#: The depth of what may be anything.
UNKNOWN = 9
_CONTAINERS = (list, tuple, dict, set)
_MAKING = frozenset({"list", "tuple", "sorted", "deque", "reversed", "set"})
_PAIRING = frozenset({"zip", "enumerate", "items"})
# Of NumPy's functions, and of methods of the same names.
_GIVING = frozenset(
    {"split", "array_split", "hsplit", "vsplit", "dsplit", "gradient", "meshgrid", "nonzero", "broadcast_arrays"}
    | {"atleast_1d", "atleast_2d", "atleast_3d", "unstack"}
)
_OF_ARRAYS = frozenset({"T", "real", "imag", "flat", "shape", "size", "mT"})
_METHODS = frozenset(dir(Tensor)) | frozenset(dir(np.ndarray))
_ADDING = frozenset({"append", "appendleft", "add", "insert", "extend", "extendleft", "update"})
_TAKING = frozenset({"get", "pop", "popleft", "setdefault"})
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


class Lists:
    """The depths of lists: 0 of what is none, 1 of ``[x]``, 2 of ``[[x]]`` and of a dictionary of lists.

    Args:
        function: the syntax of the function.
        resolve: the object that a global name or an attribute of a module stands for.
        given: the depth of what a function gives, if it is one that is followed.

    Attributes:
        result: the depth of what the function gives.
    """

    def __init__(
        self, function: ast.AST, resolve: Callable[[ast.expr], Value], given: Callable[[FunctionType], int]
    ) -> None:
        self._resolve, self._given = resolve, given
        self._depths: dict[str, int] = {}  # of names
        self._of: dict[ast.expr, int] = {}  # of expressions, as long as no name grows
        self._functions: dict[str, Value] = {}
        self._asked: set[int] = set()
        nodes = [node for node in walk(function) if isinstance(node, _BINDING)]
        for node in nodes:
            if isinstance(node, _SCOPES):
                several = (node.args.vararg, node.args.kwarg)
                self._depths |= {parameter.arg: 1 for parameter in several if parameter}
            if isinstance(node, ast.MatchStar) and node.name:
                self._depths[node.name] = 1
            elif isinstance(node, ast.FunctionDef) and node is not function:
                self._functions[node.name] = node
            elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Lambda):
                self._functions |= {t.id: node.value for t in node.targets if isinstance(t, ast.Name)}
        self._grown = True
        while self._grown:  # a depth only grows, and ends at UNKNOWN
            self._grown = False
            self._of.clear()
            for node in nodes:
                self._see(node)
        self.result = self._results(function)

    def surely(self, node: ast.expr) -> bool:
        """Whether `node` is a list, or something of which nothing is known: what an object's method gives."""
        return self.depth(node) > 0 and not _is_constant(node)

    def perhaps(self, node: ast.expr) -> bool:
        """Whether `node` may be a list: a parameter, an element, what a function gives."""
        return self.surely(node) or isinstance(node, ast.Name | ast.Call | ast.Subscript | ast.Starred)

    def mixes(self, left: ast.expr, right: ast.expr) -> bool:
        """Whether one side of an operator is a list, and the other one is none: NumPy makes an array of it."""
        return self._is_list(left) != self._is_list(right)

    def _is_list(self, node: ast.expr) -> bool:
        """Whether `node` is known to be a list: beside operators, what an object's method gives is none."""
        return self.surely(node) and self.depth(node) < UNKNOWN

    # -- What binds names -----------------------------------------------------------------------------------

    def _see(self, node: Value) -> None:
        if isinstance(node, ast.Assign):
            for target in node.targets:
                self._bind(target, node.value)
        elif isinstance(node, ast.AnnAssign | ast.NamedExpr | ast.AugAssign):
            if node.value is not None and (not isinstance(node, ast.AugAssign) or isinstance(node.op, ast.Add)):
                if not isinstance(node, ast.AugAssign) or self.depth(node.target):  # an array stays one
                    self._raise(node.target, self.depth(node.value))
        elif isinstance(node, ast.For | ast.comprehension):
            self._loop(node.target, node.iter)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _ADDING:
            several = node.func.attr in ("extend", "extendleft", "update")
            for value in node.args[-1:]:
                self._raise(node.func.value, self.depth(value) if several else self.depth(value) + 1)

    def _bind(self, target: ast.expr, value: ast.expr) -> None:
        several = (ast.Tuple, ast.List)
        if isinstance(target, several) and isinstance(value, several) and len(target.elts) == len(value.elts):
            for one, other in zip(target.elts, value.elts, strict=True):
                self._bind(one, other)
        else:
            self._raise(target, self.depth(value))

    def _loop(self, target: ast.expr, over: ast.expr) -> None:
        targets = target.elts if isinstance(target, ast.Tuple) else []
        each = over.args if isinstance(over, ast.Call) and isinstance(over.func, ast.Name) else []
        name = over.func.id if isinstance(over, ast.Call) and isinstance(over.func, ast.Name) else ""
        if name == "enumerate":
            targets, each = targets[1:], each[:1]
        if name in ("zip", "enumerate") and targets and len(each) == len(targets):
            for one, value in zip(targets, each, strict=True):
                self._raise(one, _element(self.depth(value)))
        else:
            self._raise(target, _element(self.depth(over)))

    def _raise(self, target: ast.expr, depth: int) -> None:
        """Let `target` be of this depth, or deeper."""
        if isinstance(target, ast.Name):
            depth = min(depth, UNKNOWN)
            if depth > self._depths.get(target.id, 0):
                self._depths[target.id], self._grown = depth, True
        elif isinstance(target, ast.Tuple | ast.List):
            for part in target.elts:
                self._raise(part, _element(depth))
        elif isinstance(target, ast.Starred):
            self._raise(target.value, depth + 1)
        elif isinstance(target, ast.Subscript):
            self._raise(target.value, depth + (depth > 0 and not isinstance(target.slice, ast.Slice)))
        elif isinstance(target, ast.Call) and isinstance(target.func, ast.Attribute) and target.func.attr in _TAKING:
            self._raise(target.func.value, depth + 1)
        elif isinstance(target, ast.IfExp):
            self._raise(target.body, depth)
            self._raise(target.orelse, depth)

    # -- What expressions are -------------------------------------------------------------------------------

    def depth(self, node: Value) -> int:
        """The depth of an expression."""
        found = self._of.get(node)
        if found is None:
            found = self._of[node] = self._depth(node)
        return found

    def _depth(self, node: Value) -> int:
        if isinstance(node, ast.Name):
            return self._depths.get(node.id) or _of_object(self._resolve(node))
        if isinstance(node, ast.Call):
            return min(self._of_call(node), UNKNOWN)
        if isinstance(node, ast.Attribute):
            value = self._resolve(node)
            return _of_object(value) if value is not MISSING else UNKNOWN if node.attr not in _OF_ARRAYS else 0
        if isinstance(node, ast.ListComp | ast.GeneratorExp | ast.SetComp):
            return min(self.depth(node.elt) + 1, UNKNOWN)
        if isinstance(node, ast.DictComp):
            return min(self.depth(node.value) + 1, UNKNOWN)
        if isinstance(node, SEQUENCES):
            return min(1 + self._deepest(getattr(node, "elts", ())), UNKNOWN)
        if isinstance(node, ast.Dict):
            return min(1 + self._deepest(node.values), UNKNOWN)
        if isinstance(node, ast.Subscript):
            if isinstance(node.slice, ast.Tuple):
                return 0
            return self.depth(node.value) if isinstance(node.slice, ast.Slice) else _element(self.depth(node.value))
        if isinstance(node, ast.Starred):
            return _element(self.depth(node.value))
        if isinstance(node, ast.IfExp):
            return self._deepest((node.body, node.orelse))
        if isinstance(node, ast.BoolOp):
            return self._deepest(node.values)
        if isinstance(node, ast.NamedExpr):
            return self.depth(node.value)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Mult):
            sides = sorted((self.depth(node.left), self.depth(node.right)))
            together = sides[0] > 0 if isinstance(node.op, ast.Add) else sides[0] == 0
            known = sides[0] if isinstance(node.op, ast.Add) else sides[1]
            return sides[1] if together and 0 < known < UNKNOWN else 0
        return 0

    def _deepest(self, nodes: Iterable[ast.expr]) -> int:
        return max(map(self.depth, nodes), default=0)

    def _of_call(self, node: ast.Call) -> int:
        called = node.func
        name = called.id if isinstance(called, ast.Name) else called.attr if isinstance(called, ast.Attribute) else ""
        if name in _MAKING:
            return max(1, self._deepest(node.args))
        if name in _PAIRING:
            return 1 + max(1, self._deepest([called.value] if isinstance(called, ast.Attribute) else node.args))
        if name in ("map", "filter"):
            return 1 + (UNKNOWN if name == "map" and not node.args else self._mapped(name, node))
        if isinstance(called, ast.Name) and name in self._functions:
            return self._results(self._functions[name])
        value = self._resolve(called)
        if isinstance(value, FunctionType):
            return self._given(value) or (name in _GIVING)
        if isinstance(value, type):
            return 0 if issubclass(value, np.generic | np.ndarray | float | int | str | complex) else UNKNOWN
        if value is not MISSING:
            return name in _GIVING
        return self._of_method(name, called) if isinstance(called, ast.Attribute) else UNKNOWN

    def _mapped(self, name: str, node: ast.Call) -> int:
        if name == "filter":
            return _element(self._deepest(node.args[1:]))
        return min(self._of_call(ast.Call(node.args[0], [], [])), UNKNOWN)

    def _of_method(self, name: str, called: ast.Attribute) -> int:
        if name in _TAKING:
            return _element(self.depth(called.value))
        if isinstance(self._resolve(called.value), np.ufunc):  # np.logaddexp.reduce
            return 0
        if name in ("copy", "values"):
            return self.depth(called.value)
        if name in _GIVING or name == "keys":
            return 1
        return UNKNOWN if name == "tolist" or name not in _METHODS else 0

    def _results(self, function: Value) -> int:
        """The depth of what a function gives; 0 of one that is being asked already."""
        if id(function) in self._asked:
            return 0
        self._asked.add(id(function))
        try:
            if isinstance(function, ast.Lambda):
                return self.depth(function.body)
            own = list(_of_itself(function))
            given = self._deepest(n.value for n in own if isinstance(n, ast.Return | ast.Yield) and n.value)
            generates = any(isinstance(n, ast.Yield | ast.YieldFrom) for n in own)
            return min(given + generates, UNKNOWN)
        finally:
            self._asked.discard(id(function))


_BINDING = (
    *(ast.Assign, ast.AnnAssign, ast.NamedExpr, ast.AugAssign, ast.For, ast.comprehension, ast.Call, ast.FunctionDef),
    *(ast.Lambda, ast.AsyncFunctionDef, ast.MatchStar),
)


def _of_itself(function: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a function without those of functions inside of it."""
    todo = list(below(function))
    while todo:
        node = todo.pop()
        yield node
        if not isinstance(node, _SCOPES):
            todo += below(node)


def _is_constant(node: ast.expr) -> bool:
    """Whether `node` is written in constants alone: an axis, a shape, weights."""
    if isinstance(node, ast.List | ast.Tuple):
        return all(map(_is_constant, node.elts))
    return isinstance(node.operand if isinstance(node, ast.UnaryOp) else node, ast.Constant)


def _element(depth: int) -> int:
    return depth if depth >= UNKNOWN else max(depth - 1, 0)


def _of_object(value: object) -> int:
    """The depth of an object that a name stands for."""
    return UNKNOWN if isinstance(value, _CONTAINERS) and not _is_of_numbers(value) else 0


def _is_of_numbers(value: Value) -> bool:
    """Whether `value` is a tuple of numbers and texts, whose elements cannot change."""
    return isinstance(value, tuple) and all(isinstance(x, float | int | str) for x in value)


class Given:
    """The depths of what functions give, by their codes."""

    _DEEPEST = 8  # calls of calls that are looked into; beyond, anything may come

    def __init__(self) -> None:
        self._known: WeakIds[CodeType, int] = WeakIds()
        self._asking: list[CodeType] = []

    def of(self, code: CodeType, find: Callable[[], int]) -> int:
        """The answer of `find` for `code`, which is kept; 0 if it is being asked already, or has no source."""
        known = self._known.get(code)
        if known is None and len(self._asking) > self._DEEPEST:
            return UNKNOWN
        if known is None:
            known = self._known[code] = 0
            self._asking.append(code)
            try:
                known = self._known[code] = find()
            except NoTwinError:
                pass
            finally:
                self._asking.pop()
        return known
