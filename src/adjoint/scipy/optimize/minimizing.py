"""`minimize`: SciPy's minimisers over trees of parameters, with derived gradients and Hessians."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from scipy import optimize
from scipy.optimize import HessianUpdateStrategy, OptimizeResult

from adjoint.core.box import varies
from adjoint.core.errors import ArgumentError, NotSupportedError
from adjoint.core.types import Array, Function, Value
from adjoint.scipy.arrays import plain
from adjoint.scipy.integrate.parameters import numbers
from adjoint.scipy.optimize.bounds import bounds_of
from adjoint.scipy.optimize.constraints import Constraint, constraints_of
from adjoint.scipy.optimize.functions import Objective, Posed
from adjoint.scipy.optimize.implicit import as_vector, is_followed, solution
from adjoint.scipy.optimize.kkt import INTERIOR, NEAR, Optimality
from adjoint.scipy.optimize.layout import VectorLayout
from adjoint.transforms.reverse import grad

VALUES = frozenset({"nelder-mead", "powell", "cobyla", "cobyqa"})
GRADIENTS = frozenset({"cg", "bfgs", "l-bfgs-b", "tnc", "slsqp"})
MATRICES = frozenset({"dogleg", "trust-exact"})
PRODUCTS = frozenset({"newton-cg", "trust-ncg", "trust-krylov", "trust-constr"})
MANY = 1000  # from here on, a full inverse Hessian (BFGS) takes more memory and time than it is worth


def minimize(
    f: Function,
    params: object,
    args: object = (),
    method: str | None = None,
    *,
    jac: str = "auto",
    hess: object = "auto",
    bounds: object = None,
    constraints: object = (),
    tol: float | None = None,
    callback: Function | None = None,
    options: dict[str, Value] | None = None,
) -> OptimizeResult:
    """`scipy.optimize.minimize` over a tree of arrays, with all derivatives derived.

    Args:
        f: ``f(params, *args)`` gives one real number, by NumPy functions.
        params: where to start: a tree (dicts, lists, tuples, dataclasses) of real and complex arrays, numbers or
            tensors; None in it stays None.
        args: further arguments, trees of anything. The solution has gradients by the tensors in them, by the
            implicit function theorem, whatever the method.
        method: any of SciPy's, or a function like them. If not given: SLSQP with constraints; L-BFGS-B with bounds
            or more than 1000 numbers; else BFGS.
        jac: "auto", derived by one backward pass where the method wants it; or SciPy's "2-point" and "3-point".
        hess: "auto": products where the method takes them, else the matrix; "products", "dense"; for trust-constr
            also SciPy's approximations (``BFGS()``), or None.
        bounds: a tree like `params` with (lower, upper) or None for each leaf, or a pair of trees (lowers, uppers);
            a side is a number, an array or None. `scipy.optimize.Bounds` on the vector of all numbers will do too.
        constraints: one or several of ``{"type": "eq" or "ineq", "fun": c, "args": (…,)}``,
            ``NonlinearConstraint(c, lower, upper)``, ``LinearConstraint(A, lower, upper)``; ``c(params)`` gives a
            number, an array or a tree. Gradients flow to `args` of constraints too.
        tol, options: SciPy's.
        callback: ``callback(params)`` after each step, or ``callback(intermediate_result)``. It stops the
            minimisation by raising StopIteration or returning True.

    Returns:
        SciPy's `OptimizeResult`, where `x` and the gradient are trees like `params`, of the same dtypes; and also
        `vector`, the solution as SciPy saw it; `forward`, `backward` and `products`, how often `f` ran, how often
        a pass went back through it, and how many Hessian products were taken. `hess_inv` is that of the vector.

    Raises:
        DTypeError, ShapeError: if `params` or the value of `f` are not what they must be; the leaf is named.
        GradientError: for a start where `f` is not finite, or a derivative that is not where `f` is.
        LeavesGraphError: if `f` uses a tensor that is not in `args`.
        ArgumentError: for bounds, constraints or a Hessian that the method does not take.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> from adjoint.scipy.optimize import minimize
        >>> rosen = lambda p: (1 - p["x"]) ** 2 + 100 * (p["y"] - p["x"] ** 2) ** 2
        >>> res = minimize(rosen, {"x": -1.2, "y": 1.0}, bounds={"x": (None, 0.5)})
        >>> round(res.x["x"], 6), round(res.x["y"], 6)
        (np.float64(0.5), np.float64(0.25))
        >>> ad.grad(lambda c: minimize(lambda x, c: (x - c**2) ** 2, 0.0, (c,)).x)(3.0).round(6)
        np.float64(6.0)
    """
    layout = VectorLayout(params)
    args = args if isinstance(args, tuple) else (args,)
    bounds, conditions = bounds_of(layout, bounds), constraints_of(layout, constraints)
    if method is None:
        wide = bounds is not None or layout.size > MANY
        method = "SLSQP" if conditions else "L-BFGS-B" if wide else "BFGS"
    chosen = method.lower() if isinstance(method, str) else "custom"
    _check(chosen, method, jac, hess, bounds, conditions)
    posed = Posed(f, layout, "minimize: f")

    def solve(args: object, further: Sequence[Value]) -> OptimizeResult:
        record = jac == "auto" and chosen not in VALUES
        objective = Objective(lambda x: posed.number(x, args), layout, posed.name, record)
        given = [replace(c, args=a) for c, a in zip(conditions, further, strict=True)]
        takes = _derivatives(chosen, objective, jac, hess)
        restrictions = [c for constraint in given for c in constraint.for_scipy(chosen)]
        told = _UserCallback(callback, layout, objective) if callback is not None else None
        try:
            found = optimize.minimize(
                objective.fun, layout.x0.copy(), method=method, bounds=bounds, constraints=restrictions, tol=tol,
                callback=told, options=options, **takes,
            )  # fmt: skip
        except StopIteration:
            if told is None or told.stopped is None:
                raise
            x = told.stopped
            found = OptimizeResult(x=x, fun=objective.fun(x), nit=told.steps)
        if told is not None and told.stopped is not None:
            found.update(success=False, status=99, message="`callback` stopped the minimisation.")
        slope = found.get("jac")
        if record and isinstance(slope, np.ndarray) and slope.shape == (layout.size,) and np.isnan(slope).any():
            found.jac = objective.jac(found.x)  # SciPy leaves out numbers whose bounds are equal
        found.update(objective.counts.__dict__)
        return found

    everything = (args, [c.args for c in conditions])
    if not is_followed(everything):
        return as_trees(solve(*numbers(everything)), layout)
    near = INTERIOR if chosen == "trust-constr" else NEAR
    return differentiable(solve, layout, posed.number, everything, bounds, conditions, near)


def differentiable(
    solve: Callable[..., OptimizeResult],
    layout: VectorLayout,
    number: Callable[[Array, Array], Array],
    everything: Value,
    bounds: object,
    conditions: Sequence[Constraint] = (),
    near: float = NEAR,
) -> OptimizeResult:
    """The result of ``solve(args, further)``, whose `x` is a function of the tensors in `everything`.

    Args:
        solve: takes plain arguments.
        layout: of the parameters.
        number: ``number(x, args)``, what is minimised.
        everything: the arguments of the objective, and a list of those of each constraint.
        bounds, conditions: what restricts the minimum.
        near: how close to a bound counts as at it.
    """
    theta, unpack = as_vector(everything)
    found: list[OptimizeResult] = []
    known: dict[bytes, Optimality] = {}
    restricted = bounds is not None or bool(conditions)

    def solved(theta: Array) -> Array:
        args, further = unpack(theta)
        found.append(solve(args, further))
        x = np.array(found[-1].x)
        if not restricted:
            return x
        known[theta.tobytes()] = Optimality(number, conditions, x, bounds, args, further, near)
        return known[theta.tobytes()].z

    def equations(z: Array, theta: Array) -> Array:
        args, further = unpack(theta)
        if not restricted:
            return grad(lambda x: number(x, args))(z)
        if varies(theta):
            raise NotSupportedError(
                "each sample has active bounds or constraints of its own, so vmap cannot go through their derivatives; "
                "loop over the samples, or turn it round: ad.grad over ad.vmap"
            )
        return known[plain(theta).tobytes()].equations(z, args, further)

    z = solution(theta, solve=solved, condition=equations, symmetric=bounds is None)
    x = z[: layout.size]
    result = as_trees(found[-1], layout)
    if varies(theta):  # one result for all samples has in it what can be said of all
        result = OptimizeResult(success=all(one.success for one in found), vector=x)
    result.x, result.fun = layout.unravel(x), number(x, everything[0])
    return result


def as_trees(found: OptimizeResult, layout: VectorLayout) -> OptimizeResult:
    """SciPy's result with trees for vectors of the parameters' length."""
    found.vector = np.array(found.x)
    for name in ("x", "jac", "grad"):
        value = found.get(name)
        if isinstance(value, np.ndarray) and value.shape == (layout.size,):
            found[name] = layout.unravel(np.array(value))
    return found


def _check(
    chosen: str, method: str, jac: object, hess: object, bounds: object, conditions: Sequence[Constraint]
) -> None:
    """Refuse what SciPy would only warn of, and then leave away."""
    if chosen not in VALUES | GRADIENTS | MATRICES | PRODUCTS | {"custom"}:
        raise ArgumentError(
            f"minimize: there is no method {method!r}; SciPy has BFGS, L-BFGS-B, trust-constr and others"
        )
    if not isinstance(jac, str) or jac not in ("auto", "2-point", "3-point"):
        raise ArgumentError(f"minimize: jac is 'auto' (derived), '2-point' or '3-point'; got {jac!r}. A gradient of "
                            f"your own belongs to the function: @ad.op")  # fmt: skip
    approximate = chosen == "trust-constr" and (hess is None or isinstance(hess, HessianUpdateStrategy))
    if not approximate and (not isinstance(hess, str) or hess not in ("auto", "dense", "products")):
        raise ArgumentError(f"minimize: hess is 'auto', 'dense' or 'products'; got {hess!r}")
    if hess == "products" and chosen not in PRODUCTS | {"custom"}:
        raise ArgumentError(f"minimize: {method} takes no Hessian products; {', '.join(sorted(PRODUCTS))} do")
    if hess == "dense" and chosen not in PRODUCTS | MATRICES | {"custom"}:
        raise ArgumentError(f"minimize: {method} takes no Hessian; {', '.join(sorted(PRODUCTS | MATRICES))} do")
    if conditions and chosen not in ("slsqp", "trust-constr", "cobyla", "cobyqa", "custom"):
        raise ArgumentError(f"minimize: {method} takes no constraints; SLSQP, trust-constr, COBYLA and COBYQA do")
    if bounds is not None and chosen in ("cg", "bfgs", "newton-cg", *MATRICES, *PRODUCTS - {"trust-constr"}):
        raise ArgumentError(f"minimize: {method} takes no bounds; L-BFGS-B, SLSQP, TNC and trust-constr do")


def _derivatives(chosen: str, objective: Objective, jac: str, hess: object) -> dict[str, Array]:
    """The derivatives that a method takes."""
    if chosen in VALUES:
        return {}
    found: dict[str, Value] = {"jac": objective.jac if jac == "auto" else jac}
    if chosen == "custom":
        return found | {"hess": objective.hess, "hessp": objective.hessp}
    if hess is None or isinstance(hess, HessianUpdateStrategy):
        return found | {"hess": hess}
    if chosen in MATRICES or (chosen in PRODUCTS and hess == "dense"):
        return found | {"hess": objective.hess}
    return found | {"hessp": objective.hessp} if chosen in PRODUCTS else found


class _UserCallback:
    """Hands the tree to the user's callback, and knows where it stopped."""

    def __init__(self, callback: Function, layout: VectorLayout, objective: Objective) -> None:
        self.callback, self.layout, self.objective = callback, layout, objective
        self.stopped: np.ndarray | None = None
        self.steps = 0
        try:
            self.whole = set(inspect.signature(callback).parameters) == {"intermediate_result"}
        except (TypeError, ValueError):  # a built-in, such as list.append
            self.whole = False

    def __call__(self, x: Array, *_: object) -> bool:
        x = np.array(x, np.float64)
        tree = self.layout.unravel(x.copy())
        self.steps += 1
        try:
            if self.whole:
                stop = self.callback(intermediate_result=OptimizeResult(x=tree, fun=self.objective.fun(x)))
            else:
                stop = self.callback(tree)
        except StopIteration:
            stop = True
        if isinstance(stop, bool | np.bool) and stop:  # not any object that counts as true
            self.stopped = x
            raise StopIteration
        return False
