"""Integrals of functions, with SciPy's signatures, as functions of their limits and of all that the integrand uses."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from itertools import pairwise

import numpy as np
from scipy import integrate

from adjoint.core.box import raw, varies
from adjoint.core.errors import NotSupportedError
from adjoint.core.types import Array, Function, Value
from adjoint.scipy.arrays import array
from adjoint.scipy.attached import constant, levels
from adjoint.scipy.followed import SolverResults, Unboxing, assembled, like, solver
from adjoint.scipy.integrate.adaptive import summed

Integrand = Callable[..., Array]
_WEIGHTS: dict[str, Callable[[Value, Value, Value, Value], Value]] = {
    "cos": lambda x, a, b, w: np.cos(w * x),
    "sin": lambda x, a, b, w: np.sin(w * x),
    "alg": lambda x, a, b, w: (x - a) ** w[0] * (b - x) ** w[1],
    "alg-loga": lambda x, a, b, w: (x - a) ** w[0] * (b - x) ** w[1] * np.log(x - a),
    "alg-logb": lambda x, a, b, w: (x - a) ** w[0] * (b - x) ** w[1] * np.log(b - x),
    "alg-log": lambda x, a, b, w: (x - a) ** w[0] * (b - x) ** w[1] * np.log(x - a) * np.log(b - x),
}


@like(integrate.quad)
def quad(given: dict[str, Value]) -> Array:
    """`scipy.integrate.quad`: the integral of a function of one number, and an estimate of its error.

    The integrand may use tensors: its `args`, or whatever it closes over; the ends may be tensors. The integral has
    derivatives by these, of every order and in every mode. Intervals are halved until the sum over places is as exact
    for the derivatives as for the value, so the derivative of an integrand that is 0 is right too.

    Raises:
        NotSupportedError: for `weight` "cauchy", or one on an infinite range, with tensors.
        GradientError: if the derivatives by something could not be integrated.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> from adjoint.scipy.integrate import quad
        >>> ad.grad(lambda k: quad(lambda x: np.exp(-k * x), 0, np.inf)[0])(2.0).round(12)  # of 1 / k
        np.float64(-0.25)
    """

    def run(unboxing: Unboxing) -> Array:
        result = unboxing.call(integrate.quad, given)
        known = unboxing.boxed and given.get("weight") is None and not given.get("complex_func")
        return result, unboxing.call(integrate.quad, given | {"full_output": 1})[2] if known else None

    found = SolverResults(run)
    result, known = found.one
    if not found.boxed:
        return result
    args = given.get("args", ())
    args = args if isinstance(args, tuple) else (args,)
    f, weight, a, b = given["func"], given.get("weight"), array(given["a"]), array(given["b"])
    ends = float(np.min(raw(a))), float(np.max(raw(b)))
    if weight is not None and (weight not in _WEIGHTS or not np.all(np.isfinite(ends))):
        raise NotSupportedError(f"quad of tensors takes no weight={weight!r} here; write it into the integrand; 'cos' "
                                f"and 'sin' are for finite ranges")  # fmt: skip

    def integrand(x: Array) -> Array:
        value = assembled(f(x, *args))
        value = value if value.ndim == 0 else np.reshape(value, ())
        return value if weight is None else value * _WEIGHTS[weight](x, a, b, given["wvar"])

    intervals = None
    if known is not None and "last" in known and not found.several:
        intervals = list(zip(known["alist"][: known["last"]], known["blist"][: known["last"]], strict=True))
    tolerances = given.get("epsabs", 1.49e-8), given.get("epsrel", 1.49e-8)
    value = _followed(found.each(lambda r: r[0][0]), integrand, a, b, intervals, *tolerances)
    return (value, *result[1:])


@solver(integrate.quad_vec)
def quad_vec(given: dict[str, Value], found: SolverResults) -> Array:
    """`scipy.integrate.quad_vec`: the integral of a function whose values are arrays, and an estimate of its error.

    Tensors are used as in `quad`.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> from adjoint.scipy.integrate import quad_vec
        >>> f = lambda k: quad_vec(lambda x: np.stack([k * x, k * k]), 0.0, 1.0)[0]
        >>> ad.jacobian(f)(3.0).round(9)
        array([0.5, 6. ])
    """
    f, args = given["f"], given.get("args", ())
    args = args if isinstance(args, tuple) else (args,)
    points = sorted(float(p) for p in given.get("points") or ())
    a, b = array(given["a"]), array(given["b"])
    places = [float(raw(a)), *points, float(raw(b))] if points and not varies(a) and not varies(b) else []
    intervals = list(pairwise(places)) if np.all(np.isfinite(places)) else None
    tolerances = given.get("epsabs", 1e-200), given.get("epsrel", 1e-8)
    whole = found.each(lambda result: result[0])
    return (_followed(whole, lambda x: assembled(f(x, *args)), a, b, intervals or None, *tolerances), *found.one[1:])


def _followed(
    value: Array, f: Integrand, a: Array, b: Array, intervals: Sequence[Value] | None, epsabs: float, epsrel: float
) -> Array:
    """`value`, the integral of `f` from `a` to `b`, as a function of what `f` uses and of the ends."""
    low, high, sign = constant(a), constant(b), 1.0
    if np.all(raw(high) < raw(low)):
        low, high, sign = high, low, -1.0
    share, start = _on_one_range(f, low, high)
    total = sign * summed(share, list(intervals or [start]), epsabs, epsrel)
    for end, direction in ((a, -1.0), (b, 1.0)):
        if levels(end) and not np.any(np.isinf(raw(end))):  # an infinite one stays where it is
            total = total + direction * _beyond(f, end)
    return value + (total - constant(total)) if levels(total) else value


def _on_one_range(f: Integrand, low: Array, high: Array) -> tuple[Integrand, tuple[float, float]]:
    """A function with the same integral, over a range of plain finite numbers; QUADPACK's where a range is infinite."""
    endless = [bool(np.any(np.isinf(raw(end)))) for end in (low, high)]
    if all(endless):
        return lambda t: (f((1 - t) / t) + f((t - 1) / t)) / t**2, (0.0, 1.0)
    if endless[1]:
        return lambda t: f(low + (1 - t) / t) / t**2, (0.0, 1.0)
    if endless[0]:
        return lambda t: f(high - (1 - t) / t) / t**2, (0.0, 1.0)
    if varies(low) or varies(high):  # a range for each sample
        return lambda t: (high - low) * f(low + (high - low) * t), (0.0, 1.0)
    return f, (float(low), float(high))


def _beyond(f: Integrand, end: Array) -> Array:
    """The integral over what lies between an end and its value: nothing, which has all derivatives by the end."""
    start = constant(end)
    step = end - start
    nodes, weights = gauss(5)
    return 0.5 * step * sum(w * f(start + 0.5 * (1.0 + s) * step) for s, w in zip(nodes, weights, strict=True))


@cache
def gauss(n: int) -> tuple[Array, Array]:
    """Gauss's places between -1 and 1, and their weights."""
    return np.polynomial.legendre.leggauss(n)


@solver(integrate.nquad)
def nquad(given: dict[str, Value], found: SolverResults) -> Array:
    """`scipy.integrate.nquad`: the integral over several variables; tensors are used as in `quad`, in ranges too.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> from adjoint.scipy.integrate import nquad
        >>> ad.grad(lambda k: nquad(lambda y, x: k * x * y, [lambda x: (0, k * x), (0, 1)])[0])(2.0).round(9)
        np.float64(1.5)
    """
    args = given.get("args") or ()
    args = args if isinstance(args, tuple) else (args,)
    options = given.get("opts") or {}
    options = options if isinstance(options, list | tuple) else [options] * len(given["ranges"])
    value = _nested(given["func"], list(given["ranges"]), list(options), (), args)
    whole = found.each(lambda result: result[0])
    return (whole + (value - constant(value)) if levels(value) else whole, *found.one[1:])


def _nested(
    f: Integrand, ranges: list[Value], options: list[Value], known: tuple[Value, ...], args: tuple[Value, ...]
) -> Array:
    """The integral over the variables of `ranges`, of which the last is the outermost; the outer ones are `known`."""
    if not ranges:
        return f(*known, *args)
    inner, outer = ranges[:-1], ranges[-1]
    chosen = options[-1](*known, *args) if callable(options[-1]) else options[-1]
    a, b = outer(*known, *args) if callable(outer) else outer
    own = lambda x: _nested(f, inner, options[:-1], (x, *known), args)  # noqa: E731 - of the outermost variable
    return quad(own, a, b, **chosen)[0]


@solver(integrate.dblquad)
def dblquad(given: dict[str, object], found: SolverResults) -> Array:
    """`scipy.integrate.dblquad`: the integral of ``func(y, x)``; tensors are used as in `quad`, in the limits too.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> from adjoint.scipy.integrate import dblquad
        >>> ad.grad(lambda k: dblquad(lambda y, x: k * x * y, 0, 1, 0, lambda x: k * x)[0])(2.0).round(9)  # of k³ / 8
        np.float64(1.5)
    """
    return _box(given, found, ["gfun", "hfun"])


@solver(integrate.tplquad)
def tplquad(given: dict[str, object], found: SolverResults) -> Array:
    """`scipy.integrate.tplquad`: the integral of ``func(z, y, x)``; as `dblquad`.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> from adjoint.scipy.integrate import tplquad
        >>> ad.grad(lambda k: tplquad(lambda z, y, x: k * x * y * z, 0, 2, 0, 1, 0, 1)[0])(2.0).round(9)
        np.float64(0.5)
    """
    return _box(given, found, ["gfun", "hfun", "qfun", "rfun"])


def _box(given: dict[str, Value], found: SolverResults, names: list[str]) -> Array:
    ranges: list[Value] = [(given["a"], given["b"])]
    args = given.get("args", ())
    args = args if isinstance(args, tuple) else (args,)
    for count, (low, high) in enumerate(zip(names[::2], names[1::2], strict=True), 1):
        ranges.insert(0, _limits(given[low], given[high], count))
    options = {name: given.get(name, 1.49e-8) for name in ("epsabs", "epsrel")}
    value = _nested(given["func"], ranges, [options] * len(ranges), (), args)
    whole = found.each(lambda result: result[0])
    return (whole + (value - constant(value)) if levels(value) else whole, *found.one[1:])


def _limits(low: Array, high: Function, count: int) -> Function:
    """Two ends as a range of `nquad`'s: functions of the `count` variables around, or numbers."""

    def ends(*known: Array) -> Array:
        x = known[:count][::-1]  # here the outermost comes first
        return tuple(end(*x) if callable(end) else end for end in (low, high))

    return ends
