"""Python's numbers in a graph: the operations that turn them into NumPy's and back."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from adjoint.arrays import python_number
from adjoint.core.box import Box, apply, raw
from adjoint.core.op import Op, Rule
from adjoint.core.rules.pullbacks import dtype_of
from adjoint.core.types import Function, Value
from adjoint.graph.captures.record import RECORD
from adjoint.graph.node import Node, NumberName, call, constant
from adjoint.tape.observers.lines import users_place

ARRAYS = (np.ndarray, np.generic)
_MOST = np.iinfo(np.int64).max
_ORDERS = frozenset(("less", "less_equal", "greater", "greater_equal", "equal", "not_equal"))

# Makes one of Python's numbers of NumPy's: what follows is promoted as by Python's.
as_python = Op("as_python", lambda x: x.item() if isinstance(x, np.generic | np.ndarray) and not x.shape else x, ("x",),
               (Rule(1.0),), kind="elementwise")  # fmt: skip


# The same for a number that a compiled call takes out of a tensor: that has no history.
item = Op("as_python", as_python.forward, ("x",), (Rule(0.0),), kind="elementwise")

PYTHONS = (as_python, item)


# And the other way round, as np.asarray does.
as_numpy = Op("as_numpy", lambda x: np.asarray(x)[()], ("x",), (Rule(1.0),), kind="elementwise")


def _converted(op: Op, by_box: Function) -> Function:
    """What carries out the conversion `op`; a box of values says by itself which kind of number it stands for."""

    def convert(x: Value) -> Value:
        if not isinstance(x, Box):
            return op.forward(x)
        return apply(op, (x,), {}) if isinstance(raw(x), Box) else by_box(x)  # a program is being recorded

    return convert


# How a graph that may run with boxes carries them out.
CONVERSIONS = {
    as_python: _converted(as_python, python_number.as_python),
    item: _converted(item, python_number.as_python),
    as_numpy: _converted(as_numpy, python_number.as_numpy),
}


def is_number(node: Node) -> bool:
    """Whether a node is one of Python's numbers, which promotes less than NumPy's."""
    if node.args:
        return node.op in PYTHONS and not node.shape
    return type(node.value) in (NumberName, bool, int, float, complex)


def is_symbol(x: object) -> bool:
    """Whether `x` is the symbol of one of Python's numbers."""
    return isinstance(x, Box) and x.is_python and x.level < 0


def held_inside(op: Op, args: Sequence[Value], values: Sequence[Value], nodes: list[Value]) -> None:
    """Ask whether Python's whole numbers fit the dtype of NumPy's whole numbers beside them: others raise there.

    In a comparison they do not, and are less or more than all of these: as infinities are.
    """
    narrow = [np.iinfo(v.dtype) for v in values if isinstance(v, ARRAYS) and v.dtype.kind in "iu"]
    for i, arg in enumerate(args if narrow else ()):
        value = values[i]
        if type(value) is not int or not (type(arg) is int or is_symbol(arg)):
            continue
        for ends in narrow:
            inside = arg >= int(ends.min) and (arg <= int(ends.max) if ends.max < _MOST or type(arg) is int else True)
            if not inside:
                int(arg)  # the program holds for this one
                nodes[i] = constant(np.float64("inf" if value > 0 else "-inf")) if op.name in _ORDERS else nodes[i]


def as_pythons(args: Sequence[Value], values: Sequence[Value], nodes: list[Node]) -> None:
    """Make Python's numbers of those in `args`, if an array beside them could keep a narrower dtype."""
    beside = [
        dtype_of(value)
        for arg, value in zip(args, values, strict=True)
        if not is_symbol(arg) and type(value) not in (bool, int, float, complex)
    ]
    if all(dtype in (float, complex) for dtype in beside):
        return
    for i, arg in enumerate(args):
        if is_symbol(arg) and not is_number(arg.node):
            nodes[i] = call(as_python, (nodes[i],), {}, (), nodes[i].dtype, users_place)


def order_of(compare: Function, kinds: Sequence[Value]) -> None:
    """Raise what Python raises if these classes of its numbers have no order."""
    try:
        compare(*(kind(1) for kind in kinds))
    except TypeError as error:
        if (record := RECORD.get()) is not None:
            record.genuine(error)
        raise
