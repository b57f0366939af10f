"""In which dtypes NumPy takes Python's numbers beside arrays, for the boxes that stand for such numbers.

An array decides the dtype of a result; a number of Python's only whether it is whole, real or complex.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np

from adjoint.arrays.array_box import ArrayBox
from adjoint.core.box import Box
from adjoint.core.op import Op
from adjoint.core.rules.pullbacks import NotDifferentiable
from adjoint.core.types import Array, Value

PYTHONS: Mapping[str, type] = {"f": float, "c": complex, "i": int, "u": int, "b": bool}


def is_python(x: Array) -> bool:
    """Whether `x` is, or stands for, one of Python's numbers."""
    if isinstance(x, Box):
        return x.is_python
    return isinstance(x, float | int | complex) and not isinstance(x, np.generic)


def _is_box(x: Array) -> bool:
    """Whether `x` is a box that stands for one of Python's numbers."""
    return isinstance(x, Box) and x.is_python


def kind_of(x: Array) -> type:
    """The type of a number of Python's in the plain program."""
    return PYTHONS[x.dtype.kind] if isinstance(x, ArrayBox) else type(x)


def lessened(number: Array, others: Value) -> Array:
    """A number of Python's as NumPy's: in the precision of the `others`, where none of these is in a higher one."""
    mine = number.as_array()
    dtypes = {x.dtype for x in others if hasattr(x, "dtype") and not is_python(x)}
    if not dtypes:
        return mine
    wanted = np.result_type(*dtypes, PYTHONS[mine.dtype.kind](1))
    return _narrower(mine, wanted)


def _narrower(mine: Array, wanted: np.dtype[Value] | None) -> Array:
    return mine if wanted is None or wanted == mine.dtype or wanted.kind not in "fc" else mine.astype(wanted)


def for_ufunc(ufunc: np.ufunc, method: str, inputs: Sequence[Array], kwargs: Mapping[str, Value]) -> list[Array]:
    """The inputs of a ufunc, Python's numbers among them in the dtypes in which NumPy takes such for this ufunc.

    Other methods than a call take arrays, and ``dtype=`` says the dtype: there they are numbers of 64 bits.
    """
    if method != "__call__" or not kwargs.keys().isdisjoint(("dtype", "signature")):
        return [x.as_array() if isinstance(x, Box) else x for x in inputs]
    kinds = tuple(kind_of(x) if is_python(x) else getattr(x, "dtype", None) for x in inputs)
    wanted = _taken_as(ufunc, kinds)
    return [_narrower(x.as_array(), wanted[i]) if _is_box(x) else x for i, x in enumerate(inputs)]


@lru_cache(1024)
def _taken_as(ufunc: np.ufunc, kinds: tuple[Value, ...]) -> Sequence[np.dtype[Value] | None]:
    """The dtypes in which a ufunc takes inputs of these dtypes, or types of Python's numbers."""
    known = {kind for kind in kinds if isinstance(kind, np.dtype)}
    if not known or None in kinds:
        return (None,) * len(kinds)
    given = [np.dtype(bool) if kind is bool else kind for kind in kinds]
    try:
        return ufunc.resolve_dtypes((*given, *[None] * ufunc.nout))
    except TypeError:  # the call raises it
        return (None,) * len(kinds)


def for_op(op: Op, args: Sequence[Array]) -> Sequence[Array]:
    """The `args` of `op`, with Python's numbers among them in the dtypes in which `op` takes such."""
    if op.name == "result_type":
        return [kind_of(x)(1) if _is_box(x) else x for x in args]
    is_ufunc = isinstance(op.forward, np.ufunc)
    if not (is_ufunc or op.kind == "elementwise") or all(map(is_python, args)):
        return args
    if is_ufunc:
        return for_ufunc(op.forward, "__call__", args, {})  # type: ignore[arg-type]  # it is one
    decide = [not isinstance(rule.function, NotDifferentiable) for rule in op.rules]  # a condition does not
    others = [x for x, decides in zip(args, decide, strict=False) if decides]
    return [lessened(x, others) if _is_box(x) else x for x in args]
