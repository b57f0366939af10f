"""The short way of small elementwise operations: one generated function each, with no loop inside.

What `Tensor.process` does for any operation, these do for one or two real arrays of one shape and dtype,
which is nearly every call in nearly every program. Any other call goes through the operation itself.
The text for ``x * y``, both on the tape, is about what one would write by hand; see `source_of`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint.core.op import Op
from adjoint.core.pulls import NotDifferentiable, Pull, build
from adjoint.core.registry import operation
from adjoint.tape.modes import recording_floor
from adjoint.tape.node import Node, next_order
from adjoint.tape.watch import watch

_HEAD = """
def {name}(x{y}):
"""

_UNARY = """
    if not isinstance(x, Tensor):
        return op(x)
    a = x.data
    if (dtype := a.dtype) is not float64 and dtype is not float32:
        return op(x)
    t = new(Tensor)
    level = t.level = x.level
    t.data = out = forward(a)
    p = x.node
    if p is None or level < recording_floor():
        t.node = None
        return t
    node = t.node = Node()
    node.order = next_order()
    node.pull = pull_x
    node.parents = (p,)
    node.saved = ({saved_x})
    return t
"""

_BINARY = """
    if {on_tape}:
        a = x.data
        p = x.node
        level = x.level
        dtype = a.dtype
        if isinstance(y, Tensor):
            b = y.data
            q = y.node
            if y.level != level or dtype is not b.dtype or a.shape != b.shape:
                return op(x, y)
        elif type(y) is float or type(y) is int:
            b = y
            q = None
        elif type(y) is ndarray:
            b = y
            q = None
            if dtype is not b.dtype or a.shape != b.shape:
                return op(x, y)
        else:
            return op(x, y)
    else:
        b = y.data
        q = y.node
        level = y.level
        dtype = b.dtype
        a = x
        p = None
        if type(x) is not float and type(x) is not int and (
            type(x) is not ndarray or dtype is not a.dtype or a.shape != b.shape
        ):
            return op(x, y)
    if dtype is not float64 and dtype is not float32:
        return op(x, y)
    t = new(Tensor)
    t.level = level
    t.data = out = {forward}
    if level < recording_floor():
        t.node = None
    elif p is not None:
        node = t.node = Node()
        node.order = next_order()
        if q is not None:
            node.pull = pull_xy
            node.parents = (p, q)
            node.saved = ({saved_xy})
        else:
            node.pull = pull_x
            node.parents = (p,)
            node.saved = ({saved_x}){watch_x}
    elif q is not None:
        node = t.node = Node()
        node.order = next_order()
        node.pull = pull_y
        node.parents = (q,)
        node.saved = ({saved_y}){watch_y}
    else:
        t.node = None
    return t
"""

# The other operand is a constant, and if it is an array, somebody else may write into it.
_WATCH = """
{indent}if type({constant}) is ndarray:
{indent}    watch(node, {pull}_watched, {k})"""

_LOCALS = {"x": "a", "y": "b", "out": "out"}


def eligible(op: Any) -> bool:
    """Whether `op` has a short way: a real ufunc of one or two arguments, differentiable in both."""
    return (
        isinstance(op, Op)
        and op.kind == "elementwise"
        and isinstance(op.forward, np.ufunc)
        and op.inputs in (("x",), ("x", "y"))  # the names that the text is written in
        and not any(isinstance(rule.function, NotDifferentiable) for rule in op.rules)
    )


def source_of(op: Op, symbol: str | None = None, method: bool = False) -> tuple[str, dict[str, Pull]]:
    """The text of the short way of `op`, and its pullbacks.

    `symbol` is its Python operator, if it has one; as a `method`, the first argument is known to be a tensor.
    """
    binary = len(op.inputs) == 2
    which = {"pull_x": (0,), "pull_y": (1,), "pull_xy": (0, 1)} if binary else {"pull_x": (0,)}
    pulls = {name: build(op, wanted, False, False) for name, wanted in which.items()}
    saved = {
        name.replace("pull", "saved"): "".join(f"{_LOCALS[n]}, " for n in pull.names) for name, pull in pulls.items()
    }
    for pull, constant, indent in (("pull_x", "y", 12), ("pull_y", "x", 8)) if binary else ():
        names, key = pulls[pull].names, pull.replace("pull", "watch")
        saved[key] = ""
        if constant in names:
            pulls[f"{pull}_watched"] = build(op, which[pull], False, False, watched=True)
            saved[key] = _WATCH.format(
                indent=" " * indent, constant=_LOCALS[constant], pull=pull, k=names.index(constant)
            )
    forward = f"a {symbol} b" if symbol else "forward(a, b)"
    saved["on_tape"] = "True" if method else "isinstance(x, Tensor)"
    text = _HEAD.format(name=op.name, y=", y" if binary else "")
    body = (_BINARY if binary else _UNARY).format(forward=forward, **saved)
    return text.strip() + body, pulls


def short_way(
    op: Op, tensor: type, symbol: str | None = None, otherwise: Callable[..., Any] | None = None
) -> Callable[..., Any]:
    """Compile the short way of `op` for the class `tensor`.

    As a method of that class, `otherwise` is the method that takes every other call.
    """
    source, pulls = source_of(op, symbol, otherwise is not None)
    scope: dict[str, Any] = {
        "Tensor": tensor,
        "Node": Node,
        "new": object.__new__,
        "op": otherwise or op,
        "forward": op.forward,
        "recording_floor": recording_floor.get,
        "next_order": next_order,
        "ndarray": np.ndarray,
        "float64": np.dtype("float64"),
        "float32": np.dtype("float32"),
        "watch": watch,
        **pulls,
    }
    exec(compile(source, f"<short way of {op.name}>", "exec"), scope)
    function: Callable[..., Any] = scope[op.name]
    return function


# The operators that have a short way, by the middle of their method's name.
_OPERATORS = {
    "add": ("add", "+"),
    "sub": ("subtract", "-"),
    "mul": ("multiply", "*"),
    "truediv": ("divide", "/"),
    "pow": ("power", "**"),
}


def install(tensor: type) -> None:
    """Give the class `tensor` its arithmetic. Each operator writes its short way when it is first used."""
    for name, (op, symbol) in _OPERATORS.items():
        for method in (f"__{name}__", f"__r{name}__"):
            setattr(tensor, method, _first_use(tensor, method, op, symbol))


def _first_use(tensor: type, method: str, name: str, symbol: str) -> Callable[[Any, Any], Any]:
    """An operator that stands aside for its short way."""
    slow = getattr(tensor, method)

    def first(self: Any, other: Any) -> Any:
        op: Any = operation(name)
        if method.startswith("__r"):
            short = short_way(op, tensor, symbol)

            def reflected(self: Any, other: Any) -> Any:
                return short(other, self) if isinstance(other, float | int | np.ndarray) else slow(self, other)

            setattr(tensor, method, reflected)
        else:
            setattr(tensor, method, short_way(op, tensor, symbol, slow))
        return getattr(self, method)(other)

    return first
