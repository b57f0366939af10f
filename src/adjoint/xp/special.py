"""The special functions that have derivatives, under SciPy's names.

SciPy, run with ``SCIPY_ARRAY_API=1``, takes ``xp.special.<name>`` where a namespace has it; where it has not, SciPy
writes the function in terms of the namespace, or converts the tensor to an array, which raises.
"""

from __future__ import annotations

from functools import cache

from adjoint.core.op import Op
from adjoint.core.registry import answer
from adjoint.core.types import Function
from adjoint.xp.arrays import boxing


def __getattr__(name: str) -> Function:
    found = None if name.startswith("_") else _function(name)
    if found is None:
        raise AttributeError(f"module 'adjoint.xp.special' has no attribute {name!r}")
    return found


@cache
def _function(name: str) -> Function | None:
    from scipy import special

    theirs = getattr(special, name, None)
    ours = answer(theirs) or answer(getattr(theirs, "__wrapped__", None))  # SciPy dresses NumPy's functions, too
    if ours is None or (isinstance(ours, Op) and ours.kind == "constant"):
        return None
    return boxing(ours, name)
