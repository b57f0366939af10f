"""`least_squares`: SciPy's solvers for residuals of a tree of parameters, with derived Jacobians."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import optimize
from scipy.optimize import OptimizeResult

from adjoint.core.errors import ArgumentError
from adjoint.core.types import Array, Function, Value
from adjoint.scipy.integrate.parameters import numbers
from adjoint.scipy.optimize.bounds import bounds_of
from adjoint.scipy.optimize.functions import Posed, Residuals
from adjoint.scipy.optimize.implicit import is_followed
from adjoint.scipy.optimize.layout import VectorLayout
from adjoint.scipy.optimize.minimizing import as_trees, differentiable

LARGE = 10**6  # entries of a Jacobian beyond which "auto" does not write it out

# ρ(z) of SciPy's robust losses, where z is the square of a scaled residual.
LOSSES: dict[str, Callable[[Value], Value]] = {
    "linear": lambda z: z,
    "soft_l1": lambda z: 2.0 * (np.sqrt(1.0 + z) - 1.0),
    "huber": lambda z: np.where(z <= 1.0, z, 2.0 * np.sqrt(np.where(z <= 1.0, 1.0, z)) - 1.0),
    "cauchy": lambda z: np.log1p(z),
    "arctan": lambda z: np.arctan(z),
}


def least_squares(
    f: Function,
    params: dict[str, object],
    args: object = (),
    *,
    jac: str = "auto",
    bounds: dict[str, object] | None = None,
    method: str = "trf",
    loss: str = "linear",
    f_scale: float = 1.0,
    callback: Function | None = None,
    **options: Value,
) -> OptimizeResult:
    """`scipy.optimize.least_squares` over a tree of arrays: the minimum of half the sum of squared residuals.

    Args:
        f: ``f(params, *args)`` gives the residuals: an array, or a tree of arrays, of real numbers.
        params, args, bounds: as for `minimize`; the solution has gradients by the tensors in `args`.
        jac: "dense"; "operator": products only, nothing is written out; "sparse": a `scipy.sparse` matrix, whose
            pattern is found from the program; "auto": dense up to a million entries, or where `method`, `x_scale` or
            `tr_solver` needs it, else the operator; "2-point", "3-point": SciPy's differences.
        method: "trf", "dogbox" or "lm" (dense, without bounds).
        loss, f_scale: SciPy's robust losses, by name.
        callback: ``callback(params)``; it stops by raising StopIteration. For SciPy from 1.16 on.
        options: SciPy's: `ftol`, `xtol`, `gtol`, `x_scale`, `max_nfev`, …

    Returns:
        SciPy's `OptimizeResult`; `x` and `grad` are trees, `jac` is SciPy's matrix, for the vector `vector`. `forward`
        and `backward` count calls of `f` and Jacobians.

    Raises:
        ArgumentError: for a combination of `jac`, `method` and `loss` that does not exist.

    Example:
        >>> import numpy as np
        >>> from adjoint.scipy.optimize import least_squares
        >>> t = np.linspace(0.0, 2.0, 9)
        >>> data = 3.0 * np.exp(-1.5 * t)
        >>> res = least_squares(lambda p: p["size"] * np.exp(-p["rate"] * t) - data, {"size": 1.0, "rate": 1.0})
        >>> round(res.x["size"], 6), round(res.x["rate"], 6)
        (np.float64(3.0), np.float64(1.5))
    """
    layout = VectorLayout(params)
    args = args if isinstance(args, tuple) else (args,)
    limits = bounds_of(layout, bounds)
    _check(jac, method, loss, limits)
    posed = Posed(f, layout, "least_squares: f")

    def told(x: Array) -> Array:
        assert callback is not None
        return callback(layout.unravel(np.array(x)))

    extra = {"callback": told} if callback is not None else {}

    def solve(args: object, _: object = ()) -> OptimizeResult:
        residuals = Residuals(lambda x: posed.vector(x, args), layout, posed.name, jac not in ("2-point", "3-point"))
        start = layout.x0 if limits is None else np.clip(layout.x0, limits.lb, limits.ub)
        count = np.size(residuals.fun(start))
        derivative: object = jac
        if jac in ("auto", "dense", "operator", "sparse"):
            scaled = isinstance(options.get("x_scale"), str)
            small = count * layout.size <= LARGE or method == "lm" or scaled or options.get("tr_solver") == "exact"
            kind = ("dense" if small else "operator") if jac == "auto" else jac
            derivative = {"dense": residuals.jac, "operator": residuals.operator, "sparse": residuals.sparse}[kind]
        found = optimize.least_squares(
            residuals.fun, start, derivative, method=method, loss=loss, f_scale=f_scale,
            **({} if limits is None else {"bounds": limits}), **extra, **options,
        )  # fmt: skip
        found.update(residuals.counts.__dict__)
        return found

    if not is_followed(args):
        return _with_trees(solve(numbers(args)), layout)

    def cost(x: Array, args: object) -> Array:
        return 0.5 * f_scale**2 * np.sum(LOSSES[loss]((posed.vector(x, args) / f_scale) ** 2))

    result = differentiable(solve, layout, cost, (args, []), limits)
    result.cost, result.fun = result.fun, posed.vector(layout.ravel(result.x), args)
    return _with_trees(result, layout)


def _with_trees(found: OptimizeResult, layout: VectorLayout) -> OptimizeResult:
    jacobian = found.pop("jac", None)  # a matrix, even where it has one row
    found = found if "vector" in found else as_trees(found, layout)
    found.jac = jacobian
    return found


def _check(jac: object, method: str, loss: object, bounds: object) -> None:
    kinds = ("auto", "dense", "operator", "sparse", "2-point", "3-point")
    if not isinstance(jac, str) or jac not in kinds:
        raise ArgumentError(f"least_squares: jac is one of {', '.join(map(repr, kinds))}; got {jac!r}. A Jacobian of "
                            f"your own belongs to the function: @ad.op")  # fmt: skip
    if not isinstance(loss, str) or loss not in LOSSES:
        raise ArgumentError(f"least_squares: loss is one of {', '.join(map(repr, LOSSES))}; got {loss!r}")
    if method == "lm" and (jac in ("operator", "sparse") or loss != "linear" or bounds is not None):
        raise ArgumentError("least_squares: method='lm' is for a dense Jacobian, loss='linear' and no bounds; "
                            "use method='trf'")  # fmt: skip
