"""Where a function makes arrays that are written into later, or that leave it: they must be able to hold tensors.

``a = np.zeros(3)`` followed by ``a[0] = t`` needs an array that can hold a tensor, so the rewritten line is
``a = fresh(np.zeros(3))``. An array that is only read stays as NumPy makes it. The analysis uses names alone, over the
function and those inside it. If it is not sure it says yes, which costs a little time and changes no value.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

import numpy as np

from adjoint.twin.syntax.trees import walk

CREATORS = frozenset(
    {"zeros", "ones", "empty", "full", "eye", "identity", "arange", "linspace", "logspace", "geomspace", "array"}
    | {"asarray", "asanyarray", "ascontiguousarray", "asfortranarray", "zeros_like", "ones_like", "empty_like"}
    | {"full_like", "copy", "tile", "repeat", "tri", "diag", "meshgrid", "mgrid", "ogrid", "fromfunction"}
    | {"atleast_1d", "atleast_2d", "atleast_3d", "broadcast_to"}
)
# Methods whose result is, or shows, what they were called on.
_KEEPING = frozenset(
    {"reshape", "ravel", "transpose", "swapaxes", "squeeze", "view", "copy", "astype", "T", "real", "imag"}
    | {"flatten", "diagonal"}
)
_WRITERS = frozenset(["copyto", "put", "place", "putmask", "fill_diagonal", "put_along_axis", "at", "shuffle"])
_WRITING_METHODS = frozenset(["fill", "put", "itemset", "sort", "partition"])
_GOES_THROUGH = frozenset(["enumerate", "zip", "reversed", "nditer", "iter"])


def root(node: ast.expr) -> str | None:
    """The name whose memory an expression such as ``a[i].T`` shows, if it is one."""
    while True:
        if isinstance(node, ast.Name):
            return node.id
        if isinstance(node, ast.NamedExpr):
            node = node.target
        elif isinstance(node, ast.Subscript | ast.Attribute):
            node = node.value
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _KEEPING:
            node = node.func.value
        else:
            return None


def creates(node: ast.expr) -> bool:
    """Whether an expression makes an array of numbers that are known beforehand, by the look of it."""
    if isinstance(node, ast.Call):
        called = node.func
        name = called.attr if isinstance(called, ast.Attribute) else called.id if isinstance(called, ast.Name) else ""
        if name in CREATORS:
            return True
        return isinstance(called, ast.Attribute) and called.attr in _KEEPING and creates(called.value)
    if isinstance(node, ast.BinOp):
        return creates(node.left) or creates(node.right)
    if isinstance(node, ast.UnaryOp):
        return creates(node.operand)
    if isinstance(node, ast.IfExp):
        return creates(node.body) or creates(node.orelse)
    return isinstance(node, ast.Attribute) and node.attr in _KEEPING and creates(node.value)


def outputs(call: ast.Call) -> list[ast.expr]:
    """The arguments of a call that its result is written into, by the look of it: ``out=a``, ``np.sin(x, a)``.

    SciPy's filters call it `output`.
    """
    found = [keyword.value for keyword in call.keywords if keyword.arg in ("out", "output")]
    ufunc = vars(np).get(_name(call))
    return [*call.args[ufunc.nin :], *found] if isinstance(ufunc, np.ufunc) else found


class Births:
    """Which names of a function are written into, and which leave it.

    `reads` says of a call whether it only reads its arguments, as NumPy's functions do.
    """

    def __init__(self, function: ast.AST, reads: Callable[[ast.Call], bool]) -> None:
        self._reads = reads
        self._function = function
        self.captured: set[str] = set()
        self.written: set[str] = set()
        self.leaving: set[str] = set()
        self._shows: dict[str, set[str]] = {}
        for node in walk(function):
            self._see(node)
        todo = list(self.written)
        while todo:
            for name in self._shows.get(todo.pop(), ()):
                if name not in self.written:
                    self.written.add(name)
                    todo.append(name)

    def _see(self, node: ast.AST) -> None:
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
            self._write(node.value)
        elif isinstance(node, ast.AugAssign):
            self._write(node.target)
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                self._bind(target, node.value)
        elif isinstance(node, ast.AnnAssign | ast.NamedExpr) and node.value is not None:
            self._bind(node.target, node.value)
        elif isinstance(node, ast.For | ast.comprehension):
            self._bind(node.target, node.iter)
        elif isinstance(node, ast.Call):
            self._call(node)
        elif isinstance(node, ast.Return | ast.Yield) and node.value is not None:
            self._leave(node.value)
        elif isinstance(node, ast.List | ast.Tuple | ast.Set) and isinstance(getattr(node, "ctx", None), ast.Load):
            for element in node.elts:
                self._leave(element)
        elif isinstance(node, ast.Dict):
            for value in node.values:
                self._leave(value)
        elif isinstance(node, ast.FunctionDef | ast.Lambda) and node is not self._function:
            inner = {n.id for n in walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
            self.captured |= inner

    def _call(self, node: ast.Call) -> None:
        called = node.func
        for target in outputs(node):
            for value in target.elts if isinstance(target, ast.Tuple) else [target]:
                self._write(value)
        if isinstance(called, ast.Attribute):
            if called.attr in _WRITERS and node.args:
                self._write(node.args[0])
            if called.attr in _WRITING_METHODS:
                self._write(called.value)
        if not self._reads(node):
            for argument in (*node.args, *(k.value for k in node.keywords)):
                self._leave(argument)

    def _write(self, node: ast.expr) -> None:
        if (name := root(node)) is not None:
            self.written.add(name)

    def _leave(self, node: ast.expr) -> None:
        if (name := root(node)) is not None:
            self.leaving.add(name)

    def _bind(self, target: ast.expr, value: ast.expr) -> None:
        if isinstance(target, ast.Attribute | ast.Subscript):
            self._leave(value)
            return
        shown = set(_roots(value))
        for node in walk(target):
            if isinstance(node, ast.Name):
                self._shows.setdefault(node.id, set()).update(shown)
        if isinstance(value, ast.Name):
            self.leaving.add(value.id)

    def is_variable(self, name: str) -> bool:
        """Whether arrays bound to `name` must be able to hold tensors, whatever made them."""
        return name in self.written

    def leaves(self, name: str) -> bool:
        """Whether `name` goes where it may be written into."""
        return name in self.leaving or name in self.captured


def _roots(value: ast.expr) -> Iterator[str]:
    """The names whose memory the parts of a value may show."""
    if isinstance(value, ast.Tuple | ast.List):
        for element in value.elts:
            yield from _roots(element)
    elif isinstance(value, ast.IfExp):
        yield from _roots(value.body)
        yield from _roots(value.orelse)
    elif (
        isinstance(value, ast.Call)
        and isinstance(value.func, ast.Name | ast.Attribute)
        and _name(value) in _GOES_THROUGH
    ):
        for argument in value.args:
            yield from _roots(argument)
    elif isinstance(value, ast.Call):
        if (name := root(value)) is not None:
            yield name
        for argument in value.args:  # np.ravel(a) and its like may show a
            if (name := root(argument)) is not None:
                yield name
    elif (name := root(value)) is not None:
        yield name


def _name(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
