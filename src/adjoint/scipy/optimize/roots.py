"""`root`: SciPy's solvers of nonlinear equations over trees, with derived Jacobians."""

from __future__ import annotations

import numpy as np
from scipy import optimize
from scipy.optimize import OptimizeResult

from adjoint.core.box import varies
from adjoint.core.errors import ArgumentError, ShapeError
from adjoint.core.types import Array, Function, Value
from adjoint.scipy.arrays import plain
from adjoint.scipy.integrate.parameters import numbers
from adjoint.scipy.optimize.functions import Posed, Residuals
from adjoint.scipy.optimize.implicit import as_vector, is_followed, solution
from adjoint.scipy.optimize.layout import VectorLayout

WITH_JACOBIAN = ("hybr", "lm")
WITHOUT = ("broyden1", "broyden2", "anderson", "linearmixing", "diagbroyden", "excitingmixing", "krylov", "df-sane")


def root(
    f: Function,
    params: object,
    args: object = (),
    method: str = "hybr",
    *,
    jac: str = "auto",
    tol: float | None = None,
    callback: Function | None = None,
    options: dict[str, Value] | None = None,
) -> OptimizeResult:
    """`scipy.optimize.root` over a tree of arrays: where ``f(params, *args)`` is zero.

    Args:
        f: gives as many real numbers as there are in `params`, in an array or any tree of arrays.
        params, args: as for `minimize`; the solution has gradients by the tensors in `args`.
        method: SciPy's. "hybr" and "lm" take the Jacobian; the others take none.
        jac: "auto", derived; None for SciPy's differences.
        tol, options: SciPy's.
        callback: ``callback(params)`` after each step, for the methods that take no Jacobian.

    Returns:
        SciPy's `OptimizeResult`; `x` is a tree like `params`, `fun` a vector; and `vector`, `forward`, `backward`.

    Raises:
        ShapeError: if `f` gives another number of values.
        ArgumentError: for another `method` or `jac`.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> from adjoint.scipy.optimize import root
        >>> f = lambda p, a: [p["x"] + p["y"] - a, p["x"] - p["y"] ** 2]
        >>> root(f, {"x": 1.0, "y": 1.5}, (6.0,)).x
        {'x': np.float64(4.0), 'y': np.float64(2.0)}
        >>> ad.grad(lambda a: root(f, {"x": 1.0, "y": 1.5}, (a,)).x["y"])(6.0).round(9)  # 1 / (1 + 2 y)
        np.float64(0.2)
    """
    layout = VectorLayout(params)
    args = args if isinstance(args, tuple) else (args,)
    chosen = method.lower() if isinstance(method, str) else method
    if chosen not in (*WITH_JACOBIAN, *WITHOUT):
        raise ArgumentError(f"root: method is one of {', '.join((*WITH_JACOBIAN, *WITHOUT))}; got {method!r}")
    if jac not in ("auto", None):
        raise ArgumentError(f"root: jac is 'auto' (derived) or None; got {jac!r}. A Jacobian of your own belongs to "
                            f"the function: @ad.op")  # fmt: skip
    if callback is not None and chosen in WITH_JACOBIAN:
        raise ArgumentError(f"root: {method} calls no callback; {', '.join(WITHOUT)} do")
    posed = Posed(f, layout, "root: f")
    derived = jac == "auto" and chosen in WITH_JACOBIAN

    def told(x: Array, _: object) -> Array:
        assert callback is not None
        return callback(layout.unravel(np.array(x)))

    def solve(args: object) -> OptimizeResult:
        residuals = Residuals(lambda x: posed.vector(x, args), layout, posed.name, derived)
        count = np.size(residuals.fun(layout.x0))
        if count != layout.size:
            raise ShapeError(f"root: f gives {count} numbers for {layout.size} unknowns; for more equations than "
                             f"unknowns, use least_squares")  # fmt: skip
        found = optimize.root(
            residuals.fun, layout.x0.copy(), method=method, jac=residuals.jac if derived else None, tol=tol,
            callback=None if callback is None else told, options=options,
        )  # fmt: skip
        found.update(residuals.counts.__dict__)
        return found

    if not is_followed(args):
        found = solve(numbers(args))
        found.vector = np.array(found.x)
        found.x = layout.unravel(found.vector.copy())
        return found
    theta, unpack = as_vector(args)
    kept: list[OptimizeResult] = []

    def solved(theta: Array) -> Array:
        kept.append(solve(unpack(theta)))
        return np.array(kept[-1].x)

    z = solution(theta, solve=solved, condition=lambda x, theta: posed.vector(x, unpack(theta)))
    found = kept[-1]
    if varies(theta):  # one result for all samples has in it what can be said of all
        found = OptimizeResult(success=all(one.success for one in kept))
    found.vector, found.x = plain(z) if not varies(z) else z, layout.unravel(z)
    return found
