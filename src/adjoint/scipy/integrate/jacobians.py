"""The Jacobian of an equation's right side, for the solvers that step implicitly."""

from __future__ import annotations

from adjoint.core.errors import ArgumentError
from adjoint.core.types import Array, Function, Value
from adjoint.scipy.attached import constant
from adjoint.scipy.derivatives import SparseJacobian, jacobian_of, pulled
from adjoint.scipy.integrate.parameters import vector

METHODS = ("Radau", "BDF", "LSODA")


def checked(jac: object, method: str) -> None:
    """Refuse a Jacobian that the method, or this function, has no use for.

    Raises:
        ArgumentError: as it says.
    """
    if method not in METHODS and isinstance(method, str):
        raise ArgumentError(f"solve_ivp: {method} takes no jac; {', '.join(METHODS)} do")
    if isinstance(jac, str) and jac not in ("auto", "sparse"):
        raise ArgumentError(
            f"solve_ivp: jac is 'auto' or 'sparse' (derived), jac(t, y, *args) or a matrix; got {jac!r}"
        )
    if isinstance(jac, str) and jac == "sparse" and method == "LSODA":
        raise ArgumentError("solve_ivp: LSODA takes no sparse jac; Radau and BDF do")


def for_scipy(options: dict[str, Value], fun: Function, args: tuple[object, ...]) -> dict[str, Array]:
    """`options` with a Jacobian that SciPy takes: of ``fun(t, y, *args)`` by y, for plain arguments."""
    jac = options.get("jac")
    if isinstance(jac, str):
        sparse = SparseJacobian()

        def derived(t: float, y: Array, *_: Array) -> Array:  # SciPy may hand over args again
            field = lambda y: vector(fun(t, y, *args))  # noqa: E731 - of the state alone
            if jac == "sparse":
                return sparse(field, y)
            value, pullback = pulled(field, y)
            return constant(jacobian_of(pullback, value, y.shape[0]))

        return options | {"jac": derived}
    if callable(jac):
        return options | {"jac": lambda t, y, *_: constant(jac(t, y, *args))}
    return options
