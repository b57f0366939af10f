"""Compiled functions within SciPy, whose callers are followed: those of `adjoint.scipy.kernels` in their place."""

from __future__ import annotations

import numpy as np

from adjoint.core.late import service
from adjoint.core.types import Function, Value
from adjoint.twin.standins.values import boxed, live, plainly

_COMPILED = tuple(
    f"scipy.{name}." for name in ("_lib", "integrate", "interpolate", "ndimage", "optimize", "signal", "stats")
)


def kernel_for(original: Value) -> Function | None:
    """The stand-in of a compiled function within SciPy, whose callers are followed."""
    module = getattr(original, "__module__", None)
    if isinstance(module, str) and module.startswith(_COMPILED):
        # Of Cython's, without the kind of numbers; of pybind11's, without the object that holds it.
        name = str(getattr(original, "__qualname__", "")).partition("[")[0].rpartition(".")[2]
        found: Function | None = service("scipy").kernels.KERNELS.get((module, name))
        if found is not None:
            return (_stepping if module.startswith("scipy.integrate.") else _writing)(original, found)
    return None


def _writing(original: Function, ours: Function) -> Function:
    """`ours` where an argument is a box, which may be one to write into; else `original`."""

    def stand_in(*args: object, **kwargs: object) -> object:
        return (ours if any(map(boxed, (*args, *kwargs.values()))) else original)(*args, **kwargs)

    stand_in.__name__ = stand_in.__qualname__ = getattr(original, "__name__", "stand_in")
    return stand_in


def _stepping(original: Function, refuse: Function) -> Function:
    """`original`, a compiled solver; `refuse` where an argument is live, or a value of a function that it calls."""

    def stand_in(*args: Value) -> object:
        lost: list[Value] = []

        def of_numbers(f: Function) -> Function:
            def numbers(*args: Value) -> object:
                value = f(*args)
                if not live(value):
                    return plainly(value)
                lost.append(value)  # not raised here: some solvers lose what their functions raise
                return np.zeros(np.shape(value))

            return numbers

        if any(map(live, args)):
            return refuse()
        found = original(*[of_numbers(x) if callable(x) else plainly(x) for x in args])
        return refuse() if lost else found

    return stand_in
