"""Linear programs, whose solutions are corners: refused, with what to write instead."""

from __future__ import annotations

from adjoint.scipy.refused import refused

linprog = refused(
    "optimize.linprog",
    "scipy.optimize.linprog with tensors has no derivative; solve it with numbers, and at its corner x solve the "
    "equations of the constraints that hold there: x = np.linalg.solve(A[active], b[active])",
)
milp = refused(
    "optimize.milp",
    "scipy.optimize.milp with tensors has no derivative; its solution stays where it is or jumps; solve it with "
    "numbers, t.detach(), and take c @ x",
)
