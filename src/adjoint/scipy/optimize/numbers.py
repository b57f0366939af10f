"""Roots of functions of one number: SciPy's functions, differentiable with respect to all that the function uses."""

from __future__ import annotations

from scipy import optimize

from adjoint.core.types import Array, Function, Value
from adjoint.scipy.followed import SolverResults, follow, like, solver


def arguments(given: dict[str, object]) -> tuple[Array, ...]:
    """The further arguments of the user's function."""
    args = given.get("args", ())
    return args if isinstance(args, tuple) else (args,)


def _root(theirs: Function, given: dict[str, Value], name: str = "f") -> Array:
    """What `theirs` gives, the root alone or the first of several results, with the root followed."""
    found = SolverResults(lambda unboxing: unboxing.call(theirs, given))
    if not found.boxed:
        return found.one
    f, args, several = given[name], arguments(given), isinstance(found.one, tuple)
    x = follow(found, lambda result: result[0] if several else result, lambda x: f(x, *args))
    if not several:
        return x
    report = found.one[1]
    if hasattr(report, "root"):
        report.root = x
    rest = (report, *found.one[2:])
    return type(found.one)(x, *rest) if hasattr(found.one, "_fields") else (x, *rest)


@like(optimize.brentq)
def brentq(given: dict[str, object]) -> Array:
    """`scipy.optimize.brentq`: a root between two places where the function has different signs.

    The function may use tensors: its `args`, or whatever it closes over. The root has derivatives by these, of any
    order and in every mode (``dx = -f_θ dθ / f_x``); inside `vmap` it is found for one sample after another. `brenth`,
    `ridder`, `bisect` and `toms748` are the same by other methods. Without tensors these are SciPy's own.

    Raises:
        GradientError: when a derivative is asked for, if the slope at the root is 0.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> from adjoint.scipy.optimize import brentq
        >>> root = lambda k: brentq(lambda x: np.exp(k * x) - 2.0, 0.0, 5.0)  # log(2) / k
        >>> round(ad.grad(root)(1.0), 9), round(ad.grad(ad.grad(root))(1.0), 9)
        (np.float64(-0.693147181), np.float64(1.386294361))
    """
    return _root(optimize.brentq, given)


_AS_BRENTQ = """`scipy.optimize.{name}`, as `brentq`.

    Example:
        >>> import adjoint as ad
        >>> from adjoint.scipy.optimize import {name}
        >>> ad.grad(lambda a: {name}(lambda x: x**2 - a, 0.0, 5.0))(4.0).round(6)
        np.float64(0.25)
    """


def _as_brentq(theirs: Function) -> Function:
    """The same by another method of SciPy's."""

    def ours(given: dict[str, object]) -> Array:
        return _root(theirs, given)

    ours.__name__ = ours.__qualname__ = theirs.__name__
    ours.__doc__ = _AS_BRENTQ.format(name=theirs.__name__)
    return like(theirs)(ours)


brenth, ridder = _as_brentq(optimize.brenth), _as_brentq(optimize.ridder)
bisect, toms748 = _as_brentq(optimize.bisect), _as_brentq(optimize.toms748)


@like(optimize.newton)
def newton(given: dict[str, Value]) -> Array:
    """`scipy.optimize.newton`: a root near `x0`, or for an array, one near each of its elements; as `brentq`.

    `fprime` and `fprime2` may use tensors too; they only help to find the root.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> from adjoint.scipy.optimize import newton
        >>> ad.jacobian(lambda a: newton(lambda x: x**2 - a, np.ones(2)))(np.array([4.0, 9.0])).round(9)
        array([[0.25      , 0.        ],
               [0.        , 0.16666667]])
    """
    spread = {**given, "args": tuple(given.get("args", ()))}  # unlike the others it takes lists
    return _root(optimize.newton, spread, "func")


@solver(optimize.root_scalar)
def root_scalar(given: dict[str, Value], found: SolverResults) -> Array:
    """`scipy.optimize.root_scalar`, any method of it: SciPy's result, whose `root` is as that of `brentq`.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> from adjoint.scipy.optimize import root_scalar
        >>> ad.grad(lambda a: root_scalar(lambda x: x**3 - a, bracket=(0.0, 4.0)).root)(8.0).round(9)
        np.float64(0.083333333)
    """
    f, args = given["f"], arguments(given)
    several = given.get("fprime") is True or given.get("fprime2") is True  # the function gives its derivatives too
    found.one.root = follow(found, lambda result: result.root, lambda x: f(x, *args)[0] if several else f(x, *args))
    return found.one
