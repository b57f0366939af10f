"""Linear programs, whose solutions are corners: refused, with what to write instead."""

from __future__ import annotations

from adjoint.core.errors import NotSupportedError
from adjoint.core.types import Function


def _refusing(name: str, instead: str) -> Function:
    def refuse(*args: object, **kwargs: object) -> object:
        raise NotSupportedError(f"scipy.optimize.{name} with tensors has no derivative; {instead}")

    refuse.__name__ = refuse.__qualname__ = name
    refuse.__doc__ = f"`scipy.optimize.{name}` with tensors: refused, with what to write instead."
    return refuse


linprog = _refusing(
    "linprog",
    "solve it with numbers, and at its corner x solve the equations of the constraints that hold there: "
    "x = np.linalg.solve(A[active], b[active])",
)
milp = _refusing("milp", "its solution stays where it is or jumps; solve it with numbers, t.detach(), and take c @ x")
