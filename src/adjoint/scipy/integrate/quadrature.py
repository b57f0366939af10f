"""Integrals of functions. A gradient by parameters is the integral of the derivative (Leibniz's rule)."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from scipy import integrate

from adjoint.scipy.arrays import array, plain
from adjoint.scipy.integrate.parameters import boxed, closed, packed, vector
from adjoint.tape.custom import op
from adjoint.transforms.reverse import vjp

Integrand = Callable[..., Any]


@op
def integral(theta: Any, a: Any, b: Any, f: Any = None, options: Any = None, error: Any = None) -> Any:
    """The integral from `a` to `b` of the vector ``f(x, theta)``; the error's estimate goes to the list `error`."""
    low, high = float(a), float(b)

    def values(x: float) -> Any:
        return closed("quad", f(x, theta))

    if values(low if np.isfinite(low) else high if np.isfinite(high) else 0.0).shape == (1,):
        value, estimate = integrate.quad(lambda x: values(x)[0], low, high, **options)[:2]
        value = np.array([value])
    else:
        several = {**options, "norm": "max"}
        value, estimate = integrate.quad_vec(values, low, high, **several)
    if error is not None:
        error.append(estimate)
    return value


@integral.backward
def _integral_cotangents(g: Any, theta: Any, a: Any, b: Any, f: Any, options: Any) -> Any:
    n = theta.shape[0]

    def share(x: Any, theta_and_g: Any) -> Any:
        _, pullback = vjp(lambda th: f(x, th), theta_and_g[:n])
        return pullback(theta_and_g[n:])[0]

    g_theta = integral(np.concatenate([theta, g]), a, b, f=share, options=options) if n else np.zeros_like(theta)
    ends = [np.sum(f(x, theta) * g) if np.isfinite(plain(x)) else np.zeros(()) for x in (a, b)]
    return g_theta, -ends[0], ends[1]


def quad(
    func: Integrand,
    a: Any,
    b: Any,
    args: Any = (),
    full_output: int = 0,
    epsabs: float = 1.49e-8,
    epsrel: float = 1.49e-8,
    limit: int = 50,
) -> tuple[Any, Any]:
    """`scipy.integrate.quad`: the integral of a function of one number, and an estimate of its error.

    Args:
        func: ``func(x, *args)`` gives one number, by NumPy functions.
        a, b: the ends, which may be infinite, or tensors.
        args: parameters, trees of arrays and tensors; gradients flow to these, and not to a tensor that `func`
            only refers to (which raises).
        full_output: must be 0 for tensors.
        epsabs, epsrel, limit: SciPy's.

    Raises:
        LeavesGraphError: if `func` uses a tensor that is not in `args`.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> from adjoint.scipy.integrate import quad
        >>> ad.grad(lambda k: quad(lambda x, k: np.exp(-k * x), 0, np.inf, (k,))[0])(2.0).round(12)  # of 1 / k
        np.float64(-0.25)
    """
    args = args if isinstance(args, tuple) else (args,)
    options = {"epsabs": epsabs, "epsrel": epsrel, "limit": limit}
    if not boxed((a, b, args)):
        return integrate.quad(lambda x: _single(func(x, *args)), a, b, full_output=full_output, **options)  # type: ignore[no-any-return]  # SciPy has no types
    theta, unpack = packed(args)
    error: list[float] = []
    f = lambda x, th: vector(func(x, *unpack(th)))  # noqa: E731 - a function of two vectors, for the gate
    return integral(theta, array(a), array(b), f=f, options=options, error=error)[0], error[0] if error else np.nan


def _single(value: Any) -> Any:
    return closed("quad", vector(value))[0]


def quad_vec(
    f: Integrand, a: Any, b: Any, epsabs: float = 1e-200, epsrel: float = 1e-8, *, limit: int = 10000, args: Any = ()
) -> tuple[Any, Any]:
    """`scipy.integrate.quad_vec`: the integral of a function whose values are arrays, and an estimate of its error.

    Args:
        f: ``f(x, *args)``.
        a, b, args, epsabs, epsrel, limit: as for `quad`; the error is that of the worst element.

    Raises:
        LeavesGraphError: if `f` uses a tensor that is not in `args`.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> from adjoint.scipy.integrate import quad_vec
        >>> f = lambda k: quad_vec(lambda x, k: np.stack([k * x, k * k]), 0.0, 1.0, args=(k,))[0]
        >>> ad.jacobian(f)(3.0)
        array([0.5, 6. ])
    """
    args = args if isinstance(args, tuple) else (args,)
    theta, unpack = packed(args)
    middle = next((x for x in (float(plain(a)), float(plain(b))) if np.isfinite(x)), 0.0)
    shape = np.shape(f(middle, *args))
    error: list[float] = []
    flat = lambda x, th: np.reshape(array(f(x, *unpack(th))), (-1,))  # noqa: E731 - as in quad
    options = {"epsabs": epsabs, "epsrel": epsrel, "limit": limit}
    value = integral(theta, array(a), array(b), f=flat, options=options, error=error)
    return np.reshape(value, shape), error[0] if error else np.nan


@cache
def _gauss(n: int) -> tuple[Any, Any]:
    return np.polynomial.legendre.leggauss(n)


def fixed_quad(func: Integrand, a: Any, b: Any, args: Any = (), n: int = 5) -> tuple[Any, None]:
    """`scipy.integrate.fixed_quad`: the integral by Gauss's formula with `n` points, and None.

    Args:
        func: ``func(x, *args)`` of a vector of places, which are the last axis of its value; any tensors in it count.
        a, b: the ends.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> from adjoint.scipy.integrate import fixed_quad
        >>> ad.grad(lambda b: fixed_quad(lambda x: x**2, 0.0, b)[0])(3.0).round(12)
        np.float64(9.0)
    """
    nodes, weights = _gauss(n)
    a, b = array(a), array(b)
    half = (b - a) * 0.5
    return half * np.sum(weights * array(func(half * (nodes + 1) + a, *args)), axis=-1), None
