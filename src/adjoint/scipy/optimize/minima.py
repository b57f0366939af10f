"""Minima of functions of a vector or a number, with SciPy's signatures, as functions of all that these use."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from scipy import optimize
from scipy.optimize import Bounds

from adjoint.core.errors import NotSupportedError
from adjoint.core.types import Array, Value
from adjoint.scipy.attached import attached, constant, levels
from adjoint.scipy.followed import SolverResults, assembled, follow, solver
from adjoint.scipy.optimize.constraints import Constraint, constraints_of
from adjoint.scipy.optimize.kkt import INTERIOR, NEAR, Optimality
from adjoint.scipy.optimize.layout import VectorLayout
from adjoint.scipy.optimize.numbers import arguments
from adjoint.transforms.reverse import grad

LOOSE = 1e-4  # how near to an end minimize_scalar stops that should be at it


@solver(optimize.minimize)
def minimize(given: dict[str, Value], found: SolverResults) -> Array:
    """`scipy.optimize.minimize` in SciPy's own words: of one array, with its choice of derivatives.

    The functions may use tensors: in `args`, or whatever they close over; so may constraints and bounds. Then `x` has
    derivatives by these, of every order (the gradient of the Lagrangian stays zero), and `fun` too. Without tensors
    it is SciPy's own.

    Raises:
        NotSupportedError: inside `vmap`, for derivatives of a minimum with bounds or constraints.
        GradientError: when a derivative is asked for, if the minimum is not unique, or was not reached.

    Example:
        >>> import numpy as np, scipy.optimize, adjoint as ad
        >>> minimize = ad.scipy.twin(scipy.optimize.minimize)
        >>> best = lambda a: minimize(lambda x: np.sum((x - a**2) ** 2), np.zeros(2), bounds=[(0, 5), (0, 20)]).x
        >>> abs(ad.jacobian(best)(3.0).round(6))
        array([0., 6.])
    """
    f, args, both = given["fun"], arguments(given), given.get("jac") is True
    layout = VectorLayout(np.array(np.atleast_1d(found.one.x), np.float64))

    def number(x: Array) -> Array:
        value = f(x, *args)
        return np.reshape(assembled(value[0] if both else value), ())

    conditions = constraints_of(layout, without_jacobians(given.get("constraints", ())))
    near = INTERIOR if str(given.get("method")).lower() == "trust-constr" else NEAR
    found.one.x = x = minimum(found, number, sides_of(given.get("bounds"), layout.size), conditions, near)
    found.one.fun = number(x)
    return found.one


@solver(optimize.minimize_scalar)
def minimize_scalar(given: dict[str, Value], found: SolverResults) -> Array:
    """`scipy.optimize.minimize_scalar`: its result, whose `x` and `fun` are functions of all that the function uses.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> from adjoint.scipy.optimize import minimize_scalar
        >>> ad.grad(lambda a: minimize_scalar(lambda x: np.cosh(x - a**2)).x)(1.5).round(6)
        np.float64(3.0)
    """
    f, args, bounds = given["fun"], arguments(given), given.get("bounds")
    number = lambda x: np.reshape(assembled(f(x[0], *args)), ())  # noqa: E731 - of a vector, as all others
    sides = sides_of(None if bounds is None else [bounds], 1)
    x = minimum(found, number, sides, near=LOOSE)[0]
    found.one.x, found.one.fun = x, f(x, *args)
    return found.one


def minimum(
    found: SolverResults,
    number: Callable[[Array], Array],
    sides: tuple[Array, Array] | None,
    conditions: Sequence[Constraint] = (),
    near: float = NEAR,
    get: Callable[[Value], Value] = lambda result: result.x,
) -> Array:
    """The vector that `get` takes from a result, as the minimum of `number` under bounds and constraints."""
    where = lambda result: np.atleast_1d(np.asarray(get(result), np.float64))  # noqa: E731 - of whatever shape it is
    if sides is None and not conditions:
        return follow(found, where, grad(number), symmetric=True)
    start = found.each(where)
    uses = [number(start), *(sides or ()), *(c.posed.vector(start, c.args) for c in conditions)]
    if not any(map(levels, uses)):
        return start
    if found.several:
        raise NotSupportedError(
            "each sample has active bounds or constraints of its own, so vmap cannot go through their derivatives; "
            "loop over the samples, or turn it round: ad.grad over ad.vmap"
        )
    bounds = None if sides is None else Bounds(*map(constant, sides))
    further = [c.args for c in conditions]
    optimal = Optimality(lambda x, _: number(x), conditions, start, bounds, (), further, near)
    if sides is not None:
        for side in sides:  # what lies at a bound moves with it
            at = ~optimal.free & (np.abs(start - constant(side)) <= near * np.maximum(1.0, np.abs(constant(side))))
            at &= np.isfinite(constant(side))
            optimal.held = np.where(at, start + (side - np.where(at, constant(side), 0.0)), optimal.held)
    z = attached(optimal.z, lambda z: optimal.equations(z, (), further), symmetric=sides is None)
    return z[: start.shape[0]]


def sides_of(bounds: Value, n: int) -> tuple[Array, Array] | None:
    """SciPy's bounds as two vectors of length `n`, of numbers or of tensors."""
    if bounds is None:
        return None
    if isinstance(bounds, Bounds):
        return tuple(np.broadcast_to(np.asarray(side, np.float64), (n,)) for side in (bounds.lb, bounds.ub))  # type: ignore[return-value]  # two
    pairs = [tuple(pair) for pair in bounds]
    low, high = (
        assembled([end if pair[k] is None else pair[k] for pair in pairs]) for k, end in ((0, -np.inf), (1, np.inf))
    )
    return low, high


def without_jacobians(constraints: object) -> Array:
    """SciPy's constraints without the derivatives that it was given: here they are derived."""
    several = constraints if isinstance(constraints, list | tuple) else [constraints]
    return [{k: v for k, v in c.items() if k != "jac"} if isinstance(c, Mapping) else c for c in several]
