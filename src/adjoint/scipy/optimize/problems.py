"""`problem`: a function of a tree in the form that any solver takes: vectors of float64."""

from __future__ import annotations

import numpy as np
from scipy.optimize import Bounds

from adjoint.core.types import Array, Function, Tree
from adjoint.scipy.integrate.parameters import numbers
from adjoint.scipy.optimize.bounds import bounds_of
from adjoint.scipy.optimize.functions import Counts, Objective, Posed, Residuals, shape_of
from adjoint.scipy.optimize.layout import VectorLayout
from adjoint.tape.modes import no_grad


class Problem:
    """Made by `problem`.

    Attributes:
        x0: where to start, (n,), float64.
        bounds: `scipy.optimize.Bounds` of n numbers, or None.
        counts: how often the function ran, and how often a pass went back through it.

    Example:
        >>> import numpy as np
        >>> from adjoint.scipy import optimize
        >>> p = optimize.problem(lambda x: np.sum((x - 1.0) ** 2), np.zeros(2))
        >>> p.x0, p.fun(p.x0)
        (array([0., 0.]), 2.0)
    """

    def __init__(self, layout: VectorLayout, bounds: Bounds | None, kept: Objective | Residuals) -> None:
        self.x0, self.bounds, self._layout, self._kept = layout.x0, bounds, layout, kept

    @property
    def counts(self) -> Counts:
        return self._kept.counts

    def ravel(self, tree: Tree) -> Array:
        """The vector of a tree."""
        return self._layout.ravel(tree)

    def unravel(self, x: Array) -> Array:
        """The tree of a vector, in the dtypes of the first tree."""
        return self._layout.unravel(np.array(x, np.float64))

    def fun(self, x: Array) -> Array:
        """The value: a number, or a vector (m,)."""
        return self._kept.fun(x)

    def jac(self, x: Array) -> Array:
        """The gradient (n,), or the Jacobian (m, n); at the last point of `fun`, without running it again."""
        return self._kept.jac(x)

    def __getattr__(self, name: str) -> Array:
        # hess, hessp of a number; operator, sparse of a vector
        if name.startswith("_"):
            raise AttributeError(name)
        try:
            return getattr(self._kept, name)
        except AttributeError:
            kind = "one number" if isinstance(self._kept, Objective) else "several numbers"
            raise AttributeError(f"the problem of a function that gives {kind} has no {name!r}") from None


def problem(f: Function, params: object, args: object = (), *, bounds: object = None) -> Problem:
    """``f(params, *args)`` as functions of a float64 vector, for solvers that know nothing of trees.

    Args:
        f: gives one real number, or an array or tree of them.
        params, args, bounds: as for `minimize`.

    Returns:
        A `Problem`: `fun`, `jac`, `x0`, `bounds`, `ravel`, `unravel`, `counts`; for one number also ``hess(x)`` and
        ``hessp(x, v)``; for several ``operator(x)`` and ``sparse(x)``. A value and its derivative at the same point
        share one run of `f`.

    Example:
        >>> import numpy as np
        >>> from scipy.optimize import minimize
        >>> from adjoint.scipy.optimize import problem
        >>> p = problem(lambda q: np.sum((q["a"] - 3.0) ** 2) + q["b"] ** 2, {"a": np.ones(2), "b": 1.0})
        >>> p.x0, p.hessp(p.x0, np.array([1.0, 0.0, 0.0]))
        (array([1., 1., 1.]), array([2., 0., 0.]))
        >>> p.unravel(minimize(p.fun, p.x0, jac=p.jac).x)["a"].round(6)
        array([3., 3.])
    """
    layout = VectorLayout(params)
    plain_args = numbers(args if isinstance(args, tuple) else (args,))
    posed = Posed(f, layout, "problem: f")
    with no_grad():
        value = f(layout.unravel(layout.x0.copy()), *plain_args)
    shape = shape_of(value)
    if shape is not None and int(np.prod(shape)) == 1:
        objective = Objective(lambda x: posed.number(x, plain_args), layout, posed.name, is_start=False)
        return Problem(layout, bounds_of(layout, bounds), objective)
    residuals = Residuals(lambda x: posed.vector(x, plain_args), layout, posed.name, is_start=False)
    return Problem(layout, bounds_of(layout, bounds), residuals)
