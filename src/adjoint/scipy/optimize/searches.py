"""SciPy's older and its global minimisers, with SciPy's signatures; results have derivatives as for `minimize`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from inspect import signature

import numpy as np
from scipy import optimize

from adjoint.core.errors import NotSupportedError
from adjoint.core.types import Array, Function, Value
from adjoint.scipy.followed import SolverResults, assembled, follow, like, solver
from adjoint.scipy.optimize.constraints import constraints_of
from adjoint.scipy.optimize.layout import VectorLayout
from adjoint.scipy.optimize.minima import minimum, sides_of, without_jacobians
from adjoint.scipy.optimize.numbers import arguments

#: How close to a bound a search stops that should be at it.
NEAR = 1e-4
_AS = """`scipy.optimize.{name}`; its function may use tensors, and {what} is followed as that of `{model}`.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> from adjoint.scipy.optimize import {name}
        >>> ad.grad(lambda p: {name}(lambda x: {call})(3.0).round(3)
        np.float64({gives})
    """


def _searched(
    theirs: Function, rest: str, rules: Callable[[dict[str, Array]], Sequence[Value]] | None = None
) -> Function:
    """A minimiser of a function of a vector, or of one number, that gives the place or a tuple that begins with it.

    Args:
        theirs: SciPy's.
        rest: of the call in the docstring's example, after the function.
        rules: gives constraints for arguments by name, in the form of `minimize`.
    """

    def ours(given: dict[str, Array], found: SolverResults) -> Array:
        if given.get("finish", optimize.fmin) is None:  # of a grid: it does not move
            return found.one
        several = isinstance(found.one, tuple)

        def place(result: Array) -> Array:
            return result[0] if several else result

        x0 = place(found.one)
        f, args = given["func" if "func" in given else "f"], arguments(given)
        both = "approx_grad" in names and given.get("fprime") is None and not given.get("approx_grad")
        n = np.size(x0)

        def number(x: Array) -> Array:
            value = f(x if "x0" in given or "ranges" in given else x[0], *args)
            return np.reshape(assembled(value[0] if both else value), ())

        conditions = constraints_of(VectorLayout(np.ones(n)), [] if rules is None else rules(given))
        bounds = [(given["x1"], given["x2"])] if "x1" in given else given.get("bounds") or None
        x = minimum(found, number, sides_of(bounds, n), conditions, NEAR, place)
        x = x if np.ndim(x0) else x[0]
        if not several:
            return x
        rest = list(found.one[1:])
        if isinstance(rest[0], float):
            rest[0] = number(x if np.ndim(x) else x[None])
        return (x, *rest)

    names = signature(theirs).parameters
    call = f"np.sum((x - p) ** 2), {rest}"
    return solver(theirs)(_named(theirs, ours, "the place that it finds", "minimize_scalar", call, 1.0))


def _named(theirs: Function, ours: Function, what: str, model: str, call: str, gives: float) -> Function:
    """`ours` with the name of `theirs`, and a docstring."""
    name = theirs.__name__
    ours.__name__ = ours.__qualname__ = name
    ours.__doc__ = _AS.format(name=name, what=what, model=model, call=call, gives=gives)
    return ours


def _slsqp(given: dict[str, Array]) -> list[Array]:
    args = arguments(given)
    kinds = {"eq": "eqcons", "ineq": "ieqcons"}
    found = [(kind, f) for kind, name in kinds.items() for f in given.get(name) or ()]
    found += [(kind, given[f"f_{name}"]) for kind, name in kinds.items() if given.get(f"f_{name}") is not None]
    return [{"type": kind, "fun": f, "args": args} for kind, f in found]


def _cobyla(given: dict[str, Array]) -> list[Array]:
    several = given["cons"] if isinstance(given["cons"], list | tuple) else [given["cons"]]
    args = given.get("consargs")
    return [{"type": "ineq", "fun": f, "args": arguments(given) if args is None else tuple(args)} for f in several]


fmin = _searched(optimize.fmin, "np.ones(1), disp=False)[0]")
fmin_powell = _searched(optimize.fmin_powell, "np.ones(1), disp=False)[0]")
fmin_bfgs = _searched(optimize.fmin_bfgs, "np.ones(1), disp=False)[0]")
fmin_cg = _searched(optimize.fmin_cg, "np.ones(1), disp=False)[0]")
fmin_ncg = _searched(optimize.fmin_ncg, "np.ones(1), lambda x: 2 * (x - p), disp=False)[0]")
fmin_l_bfgs_b = _searched(optimize.fmin_l_bfgs_b, "np.ones(1), approx_grad=True)[0][0]")
fmin_tnc = _searched(optimize.fmin_tnc, "np.ones(1), approx_grad=True, disp=0)[0][0]")
fmin_slsqp = _searched(optimize.fmin_slsqp, "np.ones(1), iprint=0)[0]", _slsqp)
fmin_cobyla = _searched(optimize.fmin_cobyla, "np.ones(1), [])[0]", _cobyla)
fminbound = _searched(optimize.fminbound, "0.0, 5.0)")
brent = _searched(optimize.brent, "brack=(0.0, 1.0))")
golden = _searched(optimize.golden, "brack=(0.0, 1.0))")
brute = _searched(optimize.brute, "[(0.0, 5.0)])[0]")


def _global(theirs: Function, rest: str) -> Function:
    """A minimiser that gives a result object, and looks everywhere between bounds; `rest` as in `_searched`."""

    def ours(given: dict[str, Array]) -> Array:
        hidden = {name: given[name] for name in ("take_step", "accept_test", "rng", "seed") if name in given}

        def run(unboxing: Value) -> Array:
            shown = {name: x for name, x in given.items() if name not in hidden}
            return theirs(**{name: unboxing.plain(x) for name, x in shown.items()}, **hidden)

        found = SolverResults(run)
        if not found.boxed:
            return found.one
        if given.get("integrality") is not None and np.any(given["integrality"]):
            raise NotSupportedError(f"{theirs.__name__} of tensors takes no integrality=; fix the whole numbers, and "
                                    f"minimize by the others")  # fmt: skip
        f, args = given["func"], arguments(given) or arguments(given.get("minimizer_kwargs") or {})
        n = np.size(found.one.x)

        def number(x: Array) -> Array:
            return np.reshape(assembled(f(x[:, None] if given.get("vectorized") else x, *args)), ())

        conditions = constraints_of(VectorLayout(np.ones(n)), without_jacobians(given.get("constraints") or ()))
        found.one.x = x = minimum(found, number, sides_of(given.get("bounds"), n), conditions, NEAR)
        found.one.fun = number(x)
        return found.one

    call = f"np.sum((x - p) ** 2), {rest}).x[0]"
    return like(theirs)(_named(theirs, ours, "`x` and `fun` of what it finds", "minimize", call, 1.0))


differential_evolution = _global(optimize.differential_evolution, "[(0.0, 5.0)], rng=0")
dual_annealing = _global(optimize.dual_annealing, "[(0.0, 5.0)], maxiter=50, rng=0")
basinhopping = _global(optimize.basinhopping, "np.ones(1), niter=5, rng=0")
shgo = _global(optimize.shgo, "[(0.0, 5.0)]")
direct = _global(optimize.direct, "[(0.0, 5.0)]")


def _solved(theirs: Function) -> Function:
    """A root finder for systems."""

    def ours(given: dict[str, Array], found: SolverResults) -> Array:
        return follow(found, lambda x: x, given["F"])

    return solver(theirs)(_named(theirs, ours, "the root that it finds", "fsolve", "2 * x - p, np.ones(1))[0]", 0.5))


broyden1 = _solved(optimize.broyden1)
broyden2 = _solved(optimize.broyden2)
anderson = _solved(optimize.anderson)
newton_krylov = _solved(optimize.newton_krylov)
