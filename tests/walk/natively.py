"""How a compiled function runs: native code, NumPy's steps, or not compiled. The compiler is asked."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator
from enum import Enum

import numpy as np

from adjoint.core.errors import AdjointError
from adjoint.core.registry import answer
from adjoint.core.types import Array, Function, Value
from adjoint.graph.captures.on_symbols import on_symbols
from adjoint.graph.graph import Graph
from adjoint.graph.node import in_order
from adjoint.native.plan.classify import kind_of
from adjoint.native.plan.pairs.splitting import split
from adjoint.native.plan.rewriting.decompose import primitive, taken_apart
from adjoint.testing.cases import case_of
from adjoint.testing.samples import samples
from tests.walk.coverage import Status, place_of


class HowCompiled(Enum):
    """How a call of a function is carried out in a compiled program."""

    NATIVE = "native"
    PARTLY = "native in part"
    NUMPY = "by NumPy"
    FIXED = "part of the program"
    REFUSED = "as it is"
    NONE = ""


def compiled_as(function: object) -> HowCompiled:
    """How calls of a NumPy or SciPy function are compiled, for float64 arrays if it takes these: the worst sample."""
    place = place_of(function)
    if answer(function) is None or (place is not None and place.status is Status.NO_TENSOR):
        return HowCompiled.NONE
    found = [_of(call, arrays) for call, arrays in _calls(function)]
    if not found:
        return HowCompiled.NONE
    if len(set(found)) == 1:
        return found[0]
    return HowCompiled.REFUSED if HowCompiled.REFUSED in found else HowCompiled.PARTLY


def kinds_of(graph: Graph) -> set[bool]:
    """Whether native code computes them, for all that `graph` computes."""
    wanted = primitive([*graph.outputs, *(guard.node for guard in graph.guards)])
    nodes = in_order(split(wanted, graph.inputs, taken_apart).outputs)
    return {kind_of(node)[0] not in ("numpy", "part") for node in nodes if node.kind == "call"}


def _of(call: Function, arrays: list[Array]) -> HowCompiled:
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            kinds = kinds_of(on_symbols(call, *arrays))
        except AdjointError:
            return HowCompiled.REFUSED
    if not kinds:
        return HowCompiled.FIXED
    return (HowCompiled.NATIVE if kinds == {True} else HowCompiled.NUMPY) if len(kinds) == 1 else HowCompiled.PARTLY


_VALUES, _WHOLE = np.array([0.25, 0.5]), np.array([0, 1])
# For functions without samples: the first of these that NumPy takes.
_ARGUMENTS = ((_VALUES,), (_VALUES, _VALUES), (_WHOLE,), (_WHOLE, _WHOLE), (_VALUES,) * 3, (_VALUES,) * 4,
              (np.eye(2),), (np.array([1, 0], np.uint8),), (_WHOLE, np.array([2, 2])))  # fmt: skip


def _calls(function: Value) -> Iterator[tuple[Function, list[object]]]:
    """Sample calls as functions of arrays, and the arrays."""
    entry = answer(function)
    if entry is None or function.__name__.startswith("save"):
        return
    found = [case_of(entry, sample) for sample in samples(entry)[:2]]  # type: ignore[arg-type]  # the registry holds entries alone
    yield from ((case.f, case.arrays) for case in found if case.arrays)
    if found:
        return
    for arguments in _ARGUMENTS:
        if not isinstance(function, np.ufunc) or function.nin == len(arguments):
            with contextlib.suppress(TypeError, ValueError, IndexError, AttributeError), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                function(*arguments)
                yield function, list(arguments)
                return
