"""Roots of systems of equations, with SciPy's signatures."""

from __future__ import annotations

from scipy import optimize

from adjoint.core.types import Array, Value
from adjoint.scipy.followed import SolverResults, assembled, follow, solver
from adjoint.scipy.optimize.numbers import arguments


@solver(optimize.fsolve)
def fsolve(given: dict[str, Value], found: SolverResults) -> Array:
    """`scipy.optimize.fsolve`: where a function of a vector is zero.

    The function may use tensors, as that of `brentq` may, and gives an array or a list of numbers and tensors.

    Raises:
        GradientError: when a derivative is asked for, if the Jacobian at the root is singular, or if it is no root.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> from adjoint.scipy.optimize import fsolve
        >>> f = lambda a: fsolve(lambda x: [x[0] + x[1] - a, x[0] - x[1] ** 2], [1.0, 1.5])
        >>> ad.jacobian(f)(6.0).round(9)
        array([0.8, 0.2])
    """
    f, args, several = given["func"], arguments(given), isinstance(found.one, tuple)
    x = follow(found, lambda result: result[0] if several else result, lambda x: f(x, *args))
    return (x, *found.one[1:]) if several else x


@solver(optimize.root)
def root(given: dict[str, Value], found: SolverResults) -> Array:
    """`scipy.optimize.root` in SciPy's own words: of one array, with its choice of Jacobians; as `fsolve`.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> from adjoint.scipy import twin
        >>> import scipy.optimize
        >>> root = twin(scipy.optimize.root)
        >>> ad.jacobian(lambda a: root(lambda x: x**2 - a, np.ones(2)).x)(np.array([4.0, 9.0])).round(3)
        array([[0.25 , 0.   ],
               [0.   , 0.167]])
    """
    f, args, both = given["fun"], arguments(given), given.get("jac") is True
    found.one.x = follow(found, lambda r: r.x, lambda x: f(x, *args)[0] if both else f(x, *args))
    return found.one


@solver(optimize.fixed_point)
def fixed_point(given: dict[str, Value], found: SolverResults) -> Array:
    """`scipy.optimize.fixed_point`: where a function gives its argument; as `fsolve`.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> from adjoint.scipy.optimize import fixed_point
        >>> ad.grad(lambda a: fixed_point(lambda x: (x + a / x) / 2, 1.0))(4.0).round(9)
        np.float64(0.25)
    """
    f, args = given["func"], arguments(given)
    return follow(found, lambda result: result, lambda x: assembled(f(x, *args)) - x)
