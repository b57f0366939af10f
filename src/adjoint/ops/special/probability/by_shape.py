"""Derivatives of incomplete gamma and beta functions by their shapes: integrals over the tail, of all orders.

Differentiated k times by a shape, a density is itself times a Bell polynomial of the derivatives of its logarithm. So
every derivative of a probability is one integral, whose own derivative by the shape is the same integral of order k + 1
(NIST Digital Library of Mathematical Functions, 5.9, 8.2 and 8.17). The whole integral is 0: each is computed on the
side of the mean where the first derivative of the density has one sign, so that it keeps its digits in both tails.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from scipy import special

from adjoint.core.backend import as_beside, backend_of, beside, empty, is_elsewhere, maybe_any
from adjoint.core.errors import DTypeError
from adjoint.core.op import Op, call, rule_of
from adjoint.core.registry import register
from adjoint.core.types import Array, Function, Value
from adjoint.ops.special.forms import where

Cumulant = Callable[[int, int], Array]
_POINTS, _WEIGHTS = np.polynomial.legendre.leggauss(60)
_DROP = 42.0  # exp(-42) is below float64's rounding
_RAISED = 8  # a smaller shape goes up by so much, by the recurrence: then the integrand ends soon
_COLUMNS = 256  # integrals at a time
_HALF_LOG_2PI = 0.5 * math.log(2 * math.pi)
#: Bernoulli's numbers over 2n (2n - 1), of Stirling's series.
_STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156, -3617 / 122400)


def bell(j: int, k: int, cumulant: Cumulant) -> Array:
    """The derivative of exp(f), j times by its first and k times by its second argument, over exp(f).

    Args:
        cumulant: the derivative of f, so many times by each.
    """
    found: dict[tuple[int, int], Array] = {(0, 0): 1.0}
    for n in range(1, k + 1):
        found[0, n] = sum(math.comb(n - 1, i) * cumulant(0, i + 1) * found[0, n - 1 - i] for i in range(n))
    for m in range(1, j + 1):
        for n in range(k + 1):
            found[m, n] = sum(
                math.comb(m - 1, i) * math.comb(n, h) * cumulant(i + 1, h) * found[m - 1 - i, n - h]
                for i in range(m)
                for h in range(n + 1)
            )
    return found[j, k]


def _with_factor(j: int, k: int, factor: Array, cumulant: Cumulant) -> Array:
    """The same of ``factor exp(f)``, where the factor is the second argument."""
    return factor * bell(j, k, cumulant) + (k * bell(j, k - 1, cumulant) if k else 0.0)


def _polygamma(n: int, x: Array) -> Array:
    return special.digamma(x) if n == 0 else (-1.0) ** (n + 1) * math.factorial(n) * special.zeta(n + 1.0, x)


def _rest(z: Array) -> Array:
    """log(gamma(z)) less Stirling's formula, for z from 8 on."""
    square = 1 / (z * z)
    return sum(term * square**k for k, term in enumerate(_STIRLING)) / z


def _log_less(d: Array, ratio: Array) -> Array:
    """log1p(d) - d, where `ratio` is 1 + d."""
    near = np.less(np.abs(d), 0.5)
    small = where(near, d, 0.0)
    z = small / (2 + small)
    series = sum(z ** (2 * i) / (2 * i + 3) for i in range(17))
    return where(near, 2 * z * z * z * series - small * z, np.log(where(near, 1.0, ratio)) - d)


def _rise(x: Array, step: Array) -> Array:
    """digamma(x + step) - digamma(x), also where both are nearly the same."""
    low = np.less(x, _RAISED)
    near = where(low, x, 8.0)
    total: Array = where(low, sum(step / ((near + i) * (near + step + i)) for i in range(_RAISED)), 0.0)
    x = where(low, x + _RAISED, x)
    y = x + step
    series = sum((y ** (-2 * n - 2) - x ** (-2 * n - 2)) * (-term * (2 * n + 1)) for n, term in enumerate(_STIRLING))
    return total + np.log1p(step / x) + step / (2 * x * y) + series


def _integral(drop: Function, slope: Function, weight: Function, start: Array) -> Array:
    """The integral of ``weight(s) exp(-drop(s))`` from 0 to where nothing is left; `start` is beyond that.

    The drop is convex, so Newton's steps come from above.
    """
    end = start
    for _ in range(14):
        end = end - where(np.greater(drop(end), _DROP), (drop(end) - _DROP) / slope(end), 0.0)
    nodes = beside(end, (0.5 * (1 + _POINTS)).reshape(-1, *(1,) * end.ndim))
    weights = beside(end, (0.5 * _WEIGHTS).reshape(-1, *(1,) * end.ndim))
    s = end * nodes
    # One term after another: so that no value depends on what stands beside it.
    return end * np.cumsum(weights * weight(s) * np.exp(-drop(s)), axis=0)[-1]


def _columns(function: Function, *args: Array) -> Array:
    """``function(*args)`` in float64, some elements at a time."""
    dtype = np.result_type(np.result_type(*(getattr(v, "dtype", v) for v in args)), np.float32)
    if dtype.kind == "c":
        raise DTypeError("derivatives by a shape are of real numbers; got complex ones")
    far = next((v for v in args if is_elsewhere(v)), None)
    with np.errstate(all="ignore"):
        if far is not None:
            library = backend_of(far)
            if library is not None and library.elementwise is not None:  # else each term is a step of its graph
                return library.elementwise(partial(_columns, function), args, dtype)
            return function(*(as_beside(far, v).astype(float) for v in args)).astype(dtype)
        shape = np.broadcast_shapes(*map(np.shape, args))
        flat = [np.broadcast_to(np.asarray(v, float), shape).reshape(-1) for v in args]
        out = empty(flat[0], math.prod(shape), np.dtype(float))
        for k in range(0, out.size, _COLUMNS):
            out[k : k + _COLUMNS] = function(*(v[k : k + _COLUMNS] for v in flat))
    return out.reshape(shape).astype(dtype)[()]


# -- Gamma -----------------------------------------------------------------------------------------------


def _log_gamma_term(a: Array, x: Array) -> Array:
    """The logarithm of ``x^a exp(-x) / gamma(a + 1)``."""
    large = np.greater_equal(a, _RAISED)
    b, y = where(large, a, 10.0), where(large, x, 10.0)
    by_stirling = b * _log_less((y - b) / b, y / b) - _rest(b) - 0.5 * np.log(b) - _HALF_LOG_2PI
    return where(large, by_stirling, special.xlogy(a, x) - x - special.gammaln(a + 1))


def _gamma_cumulants(most: int, p: Array, log_x: Array) -> Cumulant:
    """Of ``x^p / gamma(p)`` as the shape grows, up to `most` times."""
    kinds = [_polygamma(n, p) for n in range(most)]
    return lambda _, n: log_x - kinds[0] if n == 1 else -kinds[n - 1]


def _of_gamma(order: int, a: Array, log_t: Array) -> Array:
    """The density's derivative by `a`, over ``t^(a - 1) exp(-t) / gamma(a + 1)``; nothing is infinite at 0."""
    return _with_factor(0, order, a, _gamma_cumulants(order, a + 1, log_t))


def _gamma_by_shape(order: int, a: Array, x: Array) -> Array:
    good = np.greater_equal(a, 0) & np.isfinite(a) & np.greater(x, 0) & np.isfinite(x)
    a, at = where(good, a, 1.0), where(good, x, 1.0)
    log_x = np.log(at)
    lower = np.less(log_x, special.digamma(a + 1))
    total: Array = 0.0
    raised = lower & np.less(a, _RAISED)
    if maybe_any(raised):
        shape, term = where(raised, a, 1.0), np.exp(_log_gamma_term(a, at))
        for i in range(_RAISED):
            polynomial = bell(0, order, _gamma_cumulants(order, shape + i + 1, log_x))
            total = total + where(raised, term * polynomial, 0.0)
            term = term * at / (shape + i + 1)
    a = where(raised, a + _RAISED, a)
    # From x down if lower, else up, over log t.
    sign = where(lower, -1.0, 1.0)
    short = np.sqrt(240 / at)
    long = where(lower, (_DROP + at) / np.maximum(a, 1.0), np.log1p((_DROP + 12 * a + 40) / at))
    integral = _integral(
        lambda s: (at - a) * sign * s + at * (np.expm1(sign * s) - sign * s),
        lambda s: sign * (at * np.exp(sign * s) - a),
        lambda s: _of_gamma(order, a, log_x + sign * s),
        where(np.less(short, 1), np.minimum(short, long), long),
    )
    total = total - sign * np.exp(_log_gamma_term(a, at)) * integral
    ends = np.equal(x, 0) & np.greater(a, 0) | np.equal(x, np.inf)
    return where(good, total, where(ends, 0.0, np.nan))


# -- Beta ------------------------------------------------------------------------------------------------


def _log_beta_term(a: Array, b: Array, odds: Array) -> Array:
    """The logarithm of ``gamma(a + b) / gamma(a + 1) / gamma(b + 1) t^a (1 - t)^b`` at these odds, t / (1 - t)."""
    swapped = np.less(a, b)
    a, b, odds = where(swapped, b, a), where(swapped, a, b), where(swapped, 1 / odds, odds)
    x, y, n = 1 / (1 + 1 / odds), 1 / (1 + odds), a + b
    large, both = np.greater_equal(a, _RAISED), np.greater_equal(b, _RAISED)
    small = special.gammaln(n) - special.gammaln(a + 1) - special.gammaln(b + 1) + special.xlogy(a, x)
    small = small - special.xlogy(b, 1 + odds)
    p, q, m = where(large, a, 16.0), where(both, b, 16.0), where(large, n, 32.0)
    off = where(large, b * x - a * y, 0.0)
    first = p * _log_less(off / p, m * x / p) + _rest(m) - _rest(p) - 0.5 * np.log(m)
    binomial = q * _log_less(-off / q, m * y / q) - _rest(q) - 0.5 * np.log(p) - 0.5 * np.log(q) - _HALF_LOG_2PI
    poisson = special.xlogy(b, m * y) - m * y - special.gammaln(b + 1) - 0.5 * np.log(p)
    return where(large, first + where(both, binomial, poisson), small)


def _beta_cumulants(most: int, p: Array, q: Array, joint: Array, by_p: Array, by_q: Array) -> Cumulant:
    """Of ``gamma(joint) / gamma(p) / gamma(q) x^p y^q`` as shapes grow, up to `most` times; the first two given."""
    both = [_polygamma(n, joint) if n else 0.0 for n in range(most)]
    firsts, seconds = [by_p], [by_q]
    for n in range(1, most):
        firsts.append(both[n] - _polygamma(n, p))
        seconds.append(both[n] - _polygamma(n, q))
    return lambda m, n: firsts[m - 1] if n == 0 else seconds[n - 1] if m == 0 else both[m + n - 1]


def _beta_by_shapes(j: int, k: int, a: Array, b: Array, odds: Array) -> Array:
    good = np.greater_equal(a, 0) & np.greater_equal(b, 0) & np.greater(a + b, 0) & np.isfinite(a + b)
    good = good & np.greater(odds, 0) & np.isfinite(odds)
    a, b, at = where(good, a, 1.0), where(good, b, 1.0), where(good, odds, 1.0)
    log_x, log_y = -np.log1p(1 / at), -np.log1p(at)
    # Where the first derivative has one sign below, and where above.
    if j:
        rise = _rise(a + 1, b - 1)
        below, above = np.less(log_x + rise, 0), np.greater(log_x + rise + 1 / a, 0)
    else:
        rise = _rise(b + 1, a - 1)
        below, above = np.greater(log_y + rise + 1 / b, 0), np.less(log_y + rise, 0)
    lower = where(np.less_equal(at, 1), below, np.logical_not(above))
    total: Array = 0.0
    for side, sign, given in ((lower, 1.0, (j, k, a, b, at)), (~lower, -1.0, (k, j, b, a, 1 / at))):
        if maybe_any(side):
            total = total + where(side, sign * _beta_below(*given[:2], *(where(side, v, 1.0) for v in given[2:])), 0.0)
    ends = np.equal(odds, 0) & np.greater(a, 0) | np.equal(odds, np.inf) & np.greater(b, 0)
    return where(good, total, where(ends, 0.0, np.nan))


def _beta_below(j: int, k: int, a: Array, b: Array, odds: Array) -> Array:
    """The derivative of the probability below these odds."""
    log_odds, most = np.log(odds), j + k
    log_x, log_y = -np.logaddexp(0.0, -log_odds), -np.log1p(odds)
    raised, total = np.less(a, _RAISED), np.zeros_like(a)
    if maybe_any(raised):
        shape = where(raised, a, 1.0)
        terms = [np.exp(_log_beta_term(shape, b, odds))]
        for i in range(_RAISED - 1):
            terms.append(terms[-1] * (shape + b + i) / (shape + i + 1) / (1 + 1 / odds))
        rises = [_rise(shape + _RAISED, b - 1)]  # downwards and upwards, so that only the like is added
        for i in range(_RAISED - 1, 0, -1):
            rises.append(rises[-1] + (b - 1) / ((shape + i) * (shape + b + i - 1)))
        by_b = log_y + _rise(b + 1, shape - 1)
        for i, (term, rise) in enumerate(zip(terms, reversed(rises), strict=True)):
            cumulant = _beta_cumulants(most, shape + i + 1, b + 1, shape + b + i, log_x + rise, by_b)
            total = total + where(raised, term * _with_factor(j, k, b, cumulant), 0.0)
            by_b = by_b + 1 / (shape + b + i)
    a = where(raised, a + _RAISED, a)
    x, y, rise, by_b = 1 / (1 + 1 / odds), 1 / (1 + odds), _rise(a, b), _rise(b + 1, a - 1)
    kinds = _beta_cumulants(most, a, b + 1, a + b, 0.0, 0.0)

    def weight(s: Array) -> Array:
        by = {(1, 0): rise - np.logaddexp(0.0, s - log_odds), (0, 1): by_b - np.logaddexp(0.0, log_odds - s)}
        return _with_factor(j, k, b, lambda m, n: by[m, n] if m + n == 1 else kinds(m, n))

    short, long = np.sqrt(240 / ((a + b) * x * y)), (_DROP - (a + b) * log_y) / a
    integral = _integral(
        lambda s: a * np.log1p(y * np.expm1(s)) + b * np.log1p(x * np.expm1(-s)),
        lambda s: (a - b * odds * np.exp(-s)) / (1 + odds * np.exp(-s)),
        weight,
        where(np.less(short, 1), np.minimum(short, long), long),
    )
    return total + a * np.exp(_log_beta_term(a, b, odds)) * integral


# -- Operations ------------------------------------------------------------------------------------------


def _samples(*ranges: tuple[float, float], **settings: int) -> Array:
    return lambda r: [call(*(r(*shape, low=p, high=q) for p, q in ranges), **settings) for shape in ((3, 4), ())]


def _operation(
    name: str, forward: Function, inputs: str, rules: Sequence[Function], samples: Value, **settings: int
) -> Op:
    op = Op(
        name,
        forward,
        tuple(inputs.split()),
        tuple(map(rule_of, rules)),
        kind="elementwise",
        settings=settings,
        samples=samples,
    )
    register(op)
    return op


def _at_zero(x: Array, shape: Array, order: int, slope: Function) -> Array:
    """The slope of the density's derivative; at 0 its limit, for ``x^(shape - 1) log(x)^order``."""
    zero = np.equal(x, 0)
    return where(zero, where(np.greater(shape, 1), 0.0, (-1.0) ** order * np.inf), slope(where(zero, 1.0, x)))


def _gamma_slope(a: Array, x: Array, order: int) -> Array:
    return _at_zero(x, a, order, lambda x: np.exp(log_gamma_term(a, x)) / x * _of_gamma(order, a, np.log(x))).astype(
        x.dtype
    )


def _beta_slope(a: Array, b: Array, odds: Array, by_a: int, by_b: int) -> Array:
    def slope(odds: Array) -> Array:
        rise = special.digamma(a + b)
        by = (rise - special.digamma(a) - np.log1p(1 / odds), rise - special.digamma(b) - np.log1p(odds))
        polynomial = bell(by_a, by_b, _beta_cumulants(by_a + by_b, a, b, a + b, *by))
        return a * b * np.exp(log_beta_term(a, b, odds)) / odds * polynomial

    return _at_zero(odds, a, by_a, slope).astype(odds.dtype)


log_gamma_term: Value = _operation(
    "log_gamma_term",
    lambda a, x: _columns(_log_gamma_term, a, x),
    "a x",
    (lambda a, x: np.log(x) - special.digamma(a + 1), lambda a, x: a / x - 1),
    _samples((0.5, 12.0), (0.5, 12.0)),
)
log_beta_term: Value = _operation(
    "log_beta_term",
    lambda a, b, odds: _columns(_log_beta_term, a, b, odds),
    "a b odds",
    (
        lambda a, b, odds: special.digamma(a + b) - special.digamma(a + 1) - np.log1p(1 / odds),
        lambda a, b, odds: special.digamma(a + b) - special.digamma(b + 1) - np.log1p(odds),
        lambda a, b, odds: (a / odds - b) / (1 + odds),
    ),
    _samples((0.5, 12.0), (0.5, 12.0), (0.3, 3.0)),
)
gamma_by_shape: Value = _operation(
    "gamma_by_shape",
    lambda a, x, order: _columns(lambda *given: _gamma_by_shape(order, *given), a, x),
    "a x",
    (lambda a, x, order: gamma_by_shape(a, x, order=order + 1), _gamma_slope),
    _samples((0.5, 12.0), (0.5, 12.0)),
    order=1,
)
beta_by_shapes: Value = _operation(
    "beta_by_shapes",
    lambda a, b, odds, by_a, by_b: _columns(lambda *given: _beta_by_shapes(by_a, by_b, *given), a, b, odds),
    "a b odds",
    (
        lambda a, b, odds, by_a, by_b: beta_by_shapes(a, b, odds, by_a=by_a + 1, by_b=by_b),
        lambda a, b, odds, by_a, by_b: beta_by_shapes(a, b, odds, by_a=by_a, by_b=by_b + 1),
        _beta_slope,
    ),
    _samples((0.5, 12.0), (0.5, 12.0), (0.3, 3.0), by_a=1, by_b=0),
    by_a=1,
    by_b=0,
)
