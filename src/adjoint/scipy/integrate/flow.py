"""The adjoint way: an equation for the cotangents, solved backward in time from each stored state."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy import integrate

from adjoint.core.errors import ArgumentError
from adjoint.core.types import Array, Function, Value
from adjoint.scipy.integrate.jacobians import for_scipy
from adjoint.scipy.integrate.parameters import PackedVector, closed, vector
from adjoint.tape.custom import op
from adjoint.transforms.reverse import vjp

if TYPE_CHECKING:
    from adjoint.tape.number import TensorNumber


class KnownStates:
    """The states, as rows, that a solver has found for `y0`, `args` and `times` already: plain numbers."""

    def __init__(self, y0: Array, args: object, times: Array, rows: np.ndarray) -> None:
        self._given, self._rows = (np.ravel(y0), PackedVector(args).vector, times), rows

    def at(self, *given: Array) -> np.ndarray | None:
        """The states for `given`, in memory of their own; None if these are other numbers."""
        return self._rows.copy() if all(map(np.array_equal, self._given, given)) else None


def states(
    fun: Function,
    y0: Array,
    times: Array,
    method: str,
    args: tuple[TensorNumber, ...],
    options: dict[str, Value],
    known: KnownStates | None = None,
) -> Array:
    """The states at `times`, as rows, as a function of `y0`, `times` and `args`; `fun` may use nothing else."""
    packed = PackedVector(args)
    f = lambda t, y, pieces: vector(fun(t, y, *packed.tree(pieces)))  # noqa: E731 - of vectors, for the gate
    if callable(jac := options.get("jac")):
        options = options | {"jac": lambda t, y, pieces: jac(t, y, *packed.tree(pieces))}
    return flow(y0, packed.vector, times, f=f, pieces=packed.pieces, method=method, options=options, known=known)


@op
def flow(
    y0: Array,
    theta: Array,
    times: Array,
    f: Value = None,
    pieces: Value = None,
    method: str = "RK45",
    options: Value = None,
    known: Value = None,
) -> Array:
    """The states at `times`, as rows; the first is `y0`. `f` takes the parameters in pieces of the vector `theta`."""
    if known is not None and (rows := known.at(y0, theta, times)) is not None:
        return rows.astype(y0.dtype, copy=False)
    given = pieces(theta)

    def values(t: float, y: Array) -> Array:
        return closed("solve_ivp", f(t, y, given))

    if times.shape[0] == 1 or times[0] == times[-1]:
        return np.repeat(y0[None], times.shape[0], axis=0)
    solution = integrate.solve_ivp(values, (times[0], times[-1]), y0, method, times, **for_scipy(options, f, (given,)))
    if not solution.success:
        raise ArgumentError(f"solve_ivp stopped at t = {solution.t[-1] if len(solution.t) else times[0]:g}: "
                            f"{solution.message}")  # fmt: skip
    return solution.y.T.astype(y0.dtype, copy=False)


@flow.backward
def _flow_cotangents(
    g: Array, y0: Array, theta: Array, times: Array, out: Array, f: Value, pieces: Value, method: str, options: Value
) -> Array:
    n, p, last = y0.shape[0], theta.shape[0], times.shape[0] - 1

    def backward(t: Array, z: Array, given: Value) -> Array:
        """State, its cotangent, and that of the parameters, all in one."""
        value, pullback = vjp(lambda y, given: f(t, y, given), z[:n], given)
        by_state, by_pieces = pullback(z[n : 2 * n])
        return np.concatenate([value, -by_state, *(-np.ravel(c).astype(theta.dtype, copy=False) for c in by_pieces)])

    given = pieces(theta)
    options = {name: value for name, value in options.items() if name not in ("first_step", "jac", "jac_sparsity")}
    if np.ndim(options.get("atol", 0.0)):
        options["atol"] = float(np.min(options["atol"]))
    cotangent, by_parameters = g[last], np.zeros(p, theta.dtype)
    by_times: list[Value] = [None] * (last + 1)
    for i in range(last, 0, -1):
        by_times[i] = np.sum(g[i] * f(times[i], out[i], given))
        z = np.concatenate([out[i], cotangent, by_parameters])
        z = flow(z, theta, times[i - 1 : i + 1][::-1], f=backward, pieces=pieces, method=method, options=options)[1]
        cotangent, by_parameters = z[n : 2 * n], z[2 * n :]
        if i > 1:
            cotangent = cotangent + g[i - 1]
    if last:
        by_times[0] = -np.sum(cotangent * f(times[0], y0, given))
        cotangent = cotangent + g[0]
    else:
        by_times[0] = np.zeros((), times.dtype)
    return cotangent, by_parameters, np.stack(by_times)
