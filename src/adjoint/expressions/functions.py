"""The functions that expressions know: every elementwise operation of the registry, by its usual names."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np

from adjoint.core.op import Op
from adjoint.core.registry import ENTRIES, Composite, entries, operation
from adjoint.core.types import Value

# Usual names that are not NumPy's.
ALIASES = {
    "abs": "absolute",
    "acos": "arccos",
    "acosh": "arccosh",
    "asin": "arcsin",
    "asinh": "arcsinh",
    "atan": "arctan",
    "atan2": "arctan2",
    "atanh": "arctanh",
    "ceiling": "ceil",
    "clip": "clamp",
    "lgamma": "gammaln",
    "ln": "log",
    "loggamma": "gammaln",
    "max": "maximum",
    "min": "minimum",
    "mod": "remainder",
    "pow": "power",
    "round": "rint",
    "sgn": "sign",
    "where": "choose_either",
    "not": "logical_not",
    "and": "logical_and",
    "or": "logical_or",
}
# What text is written with; the first name of each operation.
SHORT = {"absolute": "abs", "maximum": "max", "minimum": "min", "choose_either": "where", "clamp": "clip"} | {
    op: name for name, op in ALIASES.items() if op.startswith(("arc", "logical"))
}
VALUES = {"pi": math.pi, "e": math.e, "inf": math.inf, "nan": math.nan}
SUMS = {"sum": "add", "prod": "multiply"}
# Names that are functions for every reader, and so no variables.
RESERVED = frozenset((*SUMS, "where", "sin", "cos", "tan", "exp", "log", "sqrt", "abs", "min", "max")) | VALUES.keys()

# Operations whose result is a truth value.
COMPARISONS = {"less": "<", "less_equal": "<=", "greater": ">", "greater_equal": ">=", "equal": "==", "not_equal": "!="}
CONNECTIVES = frozenset(("logical_and", "logical_or", "logical_xor", "logical_not"))
QUESTIONS = frozenset(("isnan", "isinf", "isfinite", "isposinf", "isneginf", "signbit"))
TRUTHS = frozenset(ENTRIES[name] for name in (*COMPARISONS, *CONNECTIVES, *QUESTIONS))
_BINARY = frozenset((*COMPARISONS, *CONNECTIVES)) - {"logical_not"}

# Functions written in terms of operations, which take one number.
_COMPOSED = ("celu", "elu", "gelu", "hardsigmoid", "hardswish", "hardtanh", "leaky_relu", "log_sigmoid", "mish", "selu",
             "tanhshrink")  # fmt: skip
# These take whole numbers, though they have values at others, or leave a real number as it is.
_LEFT_OUT = frozenset(("bdtr", "bdtrc", "bdtri", "conj", "expn", "kn", "nbdtr", "nbdtrc", "nbdtri", "obl_cv", "pdtri",
                       "positive", "pro_cv", "yn"))  # fmt: skip
ANY = -1


class NamedFunction(NamedTuple):
    """What a name stands for: `op` of `arity` numbers; of two or more, if that is `ANY`."""

    name: str
    op: Op | Composite
    arity: int


def find(name: str) -> NamedFunction | None:
    """The function called `name`; None if there is none."""
    own = ALIASES.get(name, name)
    if own in _LEFT_OUT:
        return None
    try:
        op = operation(own)
    except KeyError:
        return None
    if isinstance(op, Composite):
        return NamedFunction(name, op, 1) if own in _COMPOSED else None
    if op in TRUTHS:
        return NamedFunction(name, op, 2 if own in _BINARY else 1)
    if op.kind != "elementwise" or op.settings or op.inputs[0][0] == "*":
        return None
    return NamedFunction(name, op, ANY if name in ("min", "max") else len(op.inputs)) if _is_real(op) else None


@cache
def _is_real(op: Op) -> bool:
    """Whether `op` takes real numbers, not only whole ones, and gives one real number."""
    try:
        with np.errstate(all="ignore"):
            out = op.forward(*[0.5] * len(op.inputs))
    except TypeError:
        return False
    return not op.multiple and np.asarray(out).dtype.kind in "fb"


def known() -> list[str]:
    """The names of all functions."""
    operation("erf")  # SciPy's are there too
    names = {*entries(), *ALIASES}
    return sorted({*SUMS, *(name for name in names if find(name) is not None)})


def near(name: str, names: Callable[[], Value]) -> str:
    """``did you mean sin, sinh?``; empty if nothing is like `name`."""
    import difflib  # needed for this message only

    found = difflib.get_close_matches(name[:40], list(names()), n=3, cutoff=0.6)
    return f"did you mean {', '.join(found)}?" if found else ""
