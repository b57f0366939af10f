"""Least squares with SciPy's signatures, as functions of data and of all that the model uses."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import optimize, sparse
from scipy.optimize import Bounds

from adjoint.core.box import Box, raw
from adjoint.core.errors import GradientError, NotSupportedError
from adjoint.core.types import Array, Value
from adjoint.scipy.attached import attached, constant, levels
from adjoint.scipy.followed import SolverResults, assembled, solver, vector
from adjoint.scipy.linalg import solve_triangular
from adjoint.scipy.optimize.fitting import LOSSES
from adjoint.scipy.optimize.minima import minimum
from adjoint.scipy.optimize.numbers import arguments
from adjoint.transforms.forward import jvp


@solver(optimize.least_squares)
def least_squares(given: dict[str, Value], found: SolverResults) -> Array:
    """`scipy.optimize.least_squares` in SciPy's own words: of one array; as SciPy's `minimize` here.

    Raises:
        NotSupportedError: for a loss of one's own, with tensors.

    Example:
        >>> import numpy as np, scipy.optimize, adjoint as ad
        >>> least_squares = ad.scipy.twin(scipy.optimize.least_squares)
        >>> x = np.arange(3.0)
        >>> slope = lambda y: least_squares(lambda p: p[0] * x - y, [1.0]).x[0]
        >>> ad.grad(slope)(np.array([0.0, 1.0, 2.0])).round(6)
        array([0. , 0.2, 0.4])
    """
    f, args = given["fun"], arguments(given)
    further = given.get("kwargs") or {}

    def residuals(x: Array) -> Array:
        return vector(f(x, *args, **further))

    cost = _cost(residuals, given.get("loss", "linear"), given.get("f_scale", 1.0), "least_squares")
    sides = _sides(given.get("bounds", (-np.inf, np.inf)), np.size(found.one.x))
    found.one.x = x = minimum(found, cost, sides)
    found.one.fun, found.one.cost = residuals(x), cost(x)
    return found.one


def _cost(residuals: Callable[[Value], Value], loss: Value, scale: float, name: str) -> Callable[[Array], Array]:
    def cost(x: Array) -> Array:
        return 0.5 * scale**2 * np.sum(LOSSES[loss]((residuals(x) / scale) ** 2))

    if not isinstance(loss, str):
        raise NotSupportedError(f"{name} of tensors takes one of SciPy's losses by name ({', '.join(LOSSES)}); "
                                f"write a loss of your own into the residuals")  # fmt: skip
    return cost


def _sides(bounds: Value, n: int) -> tuple[Array, Array] | None:
    """Bounds as `least_squares` takes them; None if they are infinite."""
    low, high = (bounds.lb, bounds.ub) if isinstance(bounds, Bounds) else bounds
    sides = np.broadcast_to(assembled(low), (n,)), np.broadcast_to(assembled(high), (n,))
    return sides if any(np.any(np.isfinite(constant(side))) for side in sides) else None


@solver(optimize.curve_fit)
def curve_fit(given: dict[str, Value], found: SolverResults) -> Array:
    """`scipy.optimize.curve_fit`: parameters and their covariance, as functions of the data and of what `f` uses.

    Data, `sigma` and bounds may be tensors.

    Raises:
        NotSupportedError: for a robust loss, or for nan that is to be left out, with tensors.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> from adjoint.scipy.optimize import curve_fit
        >>> x = np.arange(3.0)
        >>> slope = lambda y: curve_fit(lambda x, a: a * x, x, y)[0][0]
        >>> ad.grad(slope)(np.array([0.0, 1.1, 1.9])).round(6)
        array([0. , 0.2, 0.4])
    """
    f, x, y, sigma = given["f"], given["xdata"], vector(given["ydata"]), given.get("sigma")
    x = assembled(x) if isinstance(x, list | tuple | np.ndarray | Box) else x
    n = found.one[0].size
    if given.get("loss", "linear") != "linear" or (given.get("nan_policy") == "omit" and np.any(np.isnan(raw(y)))):
        raise NotSupportedError("curve_fit of tensors takes no robust loss, and no nan; use least_squares, and leave "
                                "out missing data before")  # fmt: skip
    sigma = None if sigma is None else assembled(sigma)

    def residuals(p: Array) -> Array:
        off = vector(f(x, *(p[i] for i in range(n)))) - y
        if sigma is None:
            return off
        return off / sigma if sigma.ndim < 2 else solve_triangular(np.linalg.cholesky(sigma), off, lower=True)

    def cost(p: Array) -> Array:
        return 0.5 * np.sum(residuals(p) ** 2)

    sides = _sides(given.get("bounds", (-np.inf, np.inf)), n)
    p = minimum(found, cost, sides, get=lambda result: result[0])
    absolute = given.get("absolute_sigma", False) or y.shape[0] <= n
    return (p, _covariance(found, residuals, p, absolute), *found.one[2:])


def _covariance(found: SolverResults, residuals: Callable[[Value], Value], p: Array, absolute: bool) -> Array:
    """The second thing found, the covariance of the parameters `p`, followed too if it is finite."""
    covariance = found.each(lambda result: result[1])
    if not np.all(np.isfinite(raw(covariance))):
        return covariance
    slopes = np.stack([jvp(residuals, (p,), (e,))[1] for e in np.eye(p.shape[0])], axis=1)
    try:
        ours = np.linalg.inv(np.matmul(slopes.T, slopes))
    except np.linalg.LinAlgError as error:
        raise GradientError(
            "curve_fit: the data do not determine all parameters (other ones fit as well), so these have no "
            "derivative. Leave out or fix a parameter that another one can make up for"
        ) from error
    if not absolute:
        off = residuals(p)
        ours = ours * np.sum(off**2) / (off.shape[0] - p.shape[0])
    return covariance + (ours - constant(ours))


@solver(optimize.leastsq)
def leastsq(given: dict[str, Value], found: SolverResults) -> Array:
    """`scipy.optimize.leastsq`; its function may use tensors, and what it finds is followed as by `curve_fit`.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> from adjoint.scipy.optimize import leastsq
        >>> x = np.arange(3.0)
        >>> slope = lambda y: leastsq(lambda p: p[0] * x - y, [1.0])[0][0]
        >>> ad.grad(slope)(np.array([0.0, 1.1, 1.9])).round(6)
        array([0. , 0.2, 0.4])
    """
    f, args = given["func"], arguments(given)

    def residuals(x: Array) -> Array:
        return vector(f(x, *args))

    cost = lambda x: 0.5 * np.sum(residuals(x) ** 2)  # noqa: E731 - of the parameters alone
    x = minimum(found, cost, None, get=lambda result: result[0])
    if not given.get("full_output") or found.one[1] is None:
        return (x, *found.one[1:])
    return (x, _covariance(found, residuals, x, absolute=True), *found.one[2:])


@solver(optimize.nnls)
def nnls(given: dict[str, object], found: SolverResults) -> Array:
    """`scipy.optimize.nnls`: the least squares solution without negative numbers, and the norm of its residual.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> from adjoint.scipy.optimize import nnls
        >>> a = np.array([[1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
        >>> abs(ad.jacobian(lambda b: nnls(a, b)[0])(np.array([2.0, 1.0, -1.0])))
        array([[0.5, 0.5, 0. ],
               [0. , 0. , 0. ]])
    """
    a, b = assembled(given["A"]), vector(given["b"])
    x = _linear(found, a, b, lambda result: result[0], lambda result: result[0] > 0.0)
    off = np.matmul(a, x) - b
    exact = not all(result[1] > 0.0 for result in found.results)  # the distance has no derivative where it is 0
    return x, found.each(lambda result: result[1]) if exact else np.linalg.norm(off)


@solver(optimize.lsq_linear)
def lsq_linear(given: dict[str, Value], found: SolverResults) -> Array:
    """`scipy.optimize.lsq_linear`: the least squares solution within bounds, whose `x`, `fun` and `cost` are functions
    of the matrix and the right side. What lies at a bound has no derivative; the bounds themselves are numbers.

    Raises:
        NotSupportedError: for bounds that are tensors in a graph.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> from adjoint.scipy.optimize import lsq_linear
        >>> abs(ad.jacobian(lambda b: lsq_linear(np.eye(2), b, (0.0, 1.0)).x)(np.array([0.5, 3.0])).round(6))
        array([[1., 0.],
               [0., 0.]])
    """
    bounds = given.get("bounds", (-np.inf, np.inf))
    if not isinstance(bounds, Bounds) and any(levels(assembled(side)) for side in bounds):
        raise NotSupportedError("lsq_linear: a bound is a tensor in a graph; its gradient would be lost. Use minimize")
    a = given["A"].toarray() if sparse.issparse(given["A"]) else assembled(given["A"])
    b = vector(given["b"])
    x = _linear(found, a, b, lambda result: result.x, lambda result: result.active_mask == 0)
    off = np.matmul(a, x) - b
    found.one.x, found.one.fun, found.one.cost = x, off, 0.5 * np.sum(off**2)
    return found.one


def _linear(
    found: SolverResults, a: Array, b: Array, get: Callable[[Value], Value], free: Callable[[Value], Value]
) -> Array:
    """The solution of which the `free` numbers have no slope, and the others stay."""
    x, may_move = found.each(get), found.each(free)
    off = lambda z: np.where(may_move, np.matmul(a.T, np.matmul(a, z) - b), z - x)  # noqa: E731 - of the solution
    return attached(x, off)
