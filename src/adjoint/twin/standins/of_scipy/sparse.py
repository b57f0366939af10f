"""Stand-ins for SciPy's sparse matrices, and for operators whose products use tensors."""

from __future__ import annotations

import sys
from collections.abc import Callable

from adjoint.core.box import Box
from adjoint.core.late import service
from adjoint.core.types import Function, Value
from adjoint.twin.standins.values import any_live, called_plainly, live, reaches


def of_linalg(original: object, public: Value) -> tuple[str, Value] | None:
    """Our function of the name of one of `scipy.sparse.linalg` or `scipy.sparse.csgraph`."""
    for name in ("linalg", "csgraph"):
        theirs = sys.modules.get(f"scipy.sparse.{name}")
        if isinstance(public, str) and getattr(theirs, public, None) is original:
            ours = getattr(getattr(service("scipy").sparse, name), public, None)
            return None if ours is None else ("sparse", ours)
    return None


def of_sparse(original: Function, ours: Function) -> Function:
    """`ours` where an argument is live, or may become so: tensors may be written into lists of rows."""
    filled = isinstance(original, type) and original.__name__.startswith(("lil_", "dok_"))

    def stand_in(*args: object, **kwargs: object) -> object:
        if filled or any_live(args, kwargs) or any(map(_reaching_operator, (*args, *kwargs.values()))):
            return ours(*args, **kwargs)
        return called_plainly(original, args, kwargs)

    stand_in.__name__ = stand_in.__qualname__ = getattr(original, "__name__", "stand_in")
    stand_in.__wrapped__ = original  # type: ignore[attr-defined]  # functions take attributes
    return stand_in


def _reaching_operator(x: object) -> bool:
    """Whether the product of an operator of SciPy's may use live boxes."""
    if not hasattr(x, "_matvec") or isinstance(x, type):
        return callable(x) and not isinstance(x, type) and reaches(x)
    kept = vars(x)
    return live(kept) or any(reaches(f) for f in kept.values() if callable(f))


def resolving(original: Value, ours: Function, resolve: Callable[[Value], Value]) -> Function:
    """`ours`, whose functions are followed."""

    def stand_in(*args: Value, **kwargs: Value) -> object:
        given = [resolve(a) if _is_function(a) else a for a in args]
        return ours(*given, **{k: resolve(v) if _is_function(v) else v for k, v in kwargs.items()})

    stand_in.__wrapped__ = original  # type: ignore[attr-defined]  # functions take attributes
    return stand_in


def _is_function(x: object) -> bool:
    return callable(x) and not isinstance(x, Box | type)
