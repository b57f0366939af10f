"""SciPy's older and its global minimisers, with SciPy's signatures; results have derivatives as for `minimize`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from inspect import signature

import numpy as np
from scipy import optimize

from adjoint.core.errors import NotSupportedError
from adjoint.core.types import Array, Function, Value
from adjoint.scipy.followed import SolverResults, assembled, follow, like
from adjoint.scipy.optimize.constraints import constraints_of
from adjoint.scipy.optimize.layout import VectorLayout
from adjoint.scipy.optimize.minima import minimum, sides_of, without_jacobians
from adjoint.scipy.optimize.numbers import arguments

#: How close to a bound a search stops that should be at it.
NEAR = 1e-4
_AS = """`scipy.optimize.{name}`; its function may use tensors, and {what} is followed as that of `{model}`."""


def _searched(theirs: Function, rules: Callable[[dict[str, Array]], Sequence[Value]] | None = None) -> Function:
    """A minimiser of a function of a vector, or of one number, that gives the place or a tuple that begins with it.

    Args:
        theirs: SciPy's.
        rules: gives constraints for arguments by name, in the form of `minimize`.
    """

    def ours(given: dict[str, Array]) -> Array:
        found = SolverResults(lambda unboxing: unboxing.call(theirs, given))
        if not found.boxed or given.get("finish", optimize.fmin) is None:  # of a grid: it does not move
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
    return _named(theirs, ours, "the place that it finds", "minimize_scalar")


def _named(theirs: Function, ours: Callable[[dict[str, Array]], Value], what: str, model: str) -> Function:
    name = theirs.__name__
    ours.__name__ = ours.__qualname__ = name
    ours.__doc__ = _AS.format(name=name, what=what, model=model)
    return like(theirs)(ours)


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


fmin = _searched(optimize.fmin)
fmin_powell = _searched(optimize.fmin_powell)
fmin_bfgs = _searched(optimize.fmin_bfgs)
fmin_cg = _searched(optimize.fmin_cg)
fmin_ncg = _searched(optimize.fmin_ncg)
fmin_l_bfgs_b = _searched(optimize.fmin_l_bfgs_b)
fmin_tnc = _searched(optimize.fmin_tnc)
fmin_slsqp = _searched(optimize.fmin_slsqp, _slsqp)
fmin_cobyla = _searched(optimize.fmin_cobyla, _cobyla)
fminbound = _searched(optimize.fminbound)
brent = _searched(optimize.brent)
golden = _searched(optimize.golden)
brute = _searched(optimize.brute)


def _global(theirs: Function) -> Function:
    """A minimiser that gives a result object, and looks everywhere between bounds."""

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

    return _named(theirs, ours, "`x` and `fun` of what it finds", "minimize")


differential_evolution = _global(optimize.differential_evolution)
dual_annealing = _global(optimize.dual_annealing)
basinhopping = _global(optimize.basinhopping)
shgo = _global(optimize.shgo)
direct = _global(optimize.direct)


def _solved(theirs: Function) -> Function:
    """A root finder for systems."""

    def ours(given: dict[str, Array]) -> Array:
        found = SolverResults(lambda unboxing: unboxing.call(theirs, given))
        return follow(found, lambda x: x, given["F"]) if found.boxed else found.one

    return _named(theirs, ours, "the root that it finds", "fsolve")


broyden1 = _solved(optimize.broyden1)
broyden2 = _solved(optimize.broyden2)
anderson = _solved(optimize.anderson)
newton_krylov = _solved(optimize.newton_krylov)
