"""Carlson's symmetric elliptic integrals, and the integral that all of their derivatives are.

Each is a number times the integral of ``t^k (t + x)^-a (t + y)^-b …`` over t from 0 to infinity (NIST Digital Library
of Mathematical Functions, 19.16 and 19.18). A derivative by ``x`` is ``-a`` times the same with ``a + 1``: so it has no
quotient that would lose its digits where two arguments are equal, and its own derivatives are of the same form.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import reduce

import numpy as np
from scipy import special

from adjoint.core.backend import as_beside, beside, empty, is_elsewhere, maybe_any
from adjoint.core.op import Op, Rule, call, rule_of
from adjoint.core.registry import register
from adjoint.core.rules.pullbacks import NotDifferentiable
from adjoint.core.types import Array, Function, Value
from adjoint.ops.special.forms import function_of, where

_STEP = 0.375  # in log t. The trapezoidal rule's error is exp(-2 pi^2 / step), since the integrand is analytic
_TAIL = 38.0  # exp(-38) is below float64's rounding
_SMALL = -650.0  # log of the least ratio of arguments that is told from less, so that t stays a number
_SPREAD = 3.0  # of the arguments' angles; at pi the path of integration would meet one
_COLUMNS = 256  # integrals at a time
_NODES = 64  # of the sum at a time, where values are elsewhere
_NAMES = ("x", "y", "z", "p", "a", "b", "c", "d", "times")


def _forward(x: Array, y: Array, z: Array, p: Array, a: Array, b: Array, c: Array, d: Array, times: Array) -> Array:
    """The integral of ``t^times (t + x)^-a (t + y)^-b (t + z)^-c (t + p)^-d``; what has power 0 is not looked at."""
    used = [(v, n) for v, n in zip((x, y, z, p), (a, b, c, d), strict=True) if maybe_any(np.not_equal(n, 0))]
    dtype = np.result_type(np.result_type(*(getattr(v, "dtype", v) for v, _ in used)), np.float32)
    wide = np.result_type(dtype, np.float64)
    given = [*(v.astype(wide) if hasattr(v, "dtype") else v for v, _ in used), *(n for _, n in used), times]
    far = next((v for v in given if is_elsewhere(v)), None)
    with np.errstate(all="ignore"):
        if far is not None:
            limit = 1 - _SPREAD / math.pi if wide.kind == "c" else 1.0  # nobody asks how many nodes there are
            most, least = (math.ceil(x / (_STEP * limit)) for x in (2 * _TAIL, _SMALL - 2 * _TAIL))
            given = [as_beside(far, v) for v in given]
            return _summed(given, lambda last, first: (most, least), _NODES).astype(dtype)
        shape = np.broadcast_shapes(*map(np.shape, given))
        flat = [v if np.ndim(v) == 0 else np.broadcast_to(v, shape).reshape(-1) for v in given]
        out = empty(x, math.prod(shape), wide)
        for k in range(0, out.size, _COLUMNS):
            columns = [v if np.ndim(v) == 0 else v[k : k + _COLUMNS] for v in flat]
            out[k : k + _COLUMNS] = _summed(columns, lambda last, first: (int(last.max()), int(first.min())), 1 << 20)
    return out.reshape(shape).astype(dtype)[()]


def _summed(given: Sequence[Array], ends: Callable[[Value, Value], tuple[int, int]], size: int) -> Array:
    """The integral over log t, `size` nodes at a time, between what ``ends(last, first)`` gives for each one's own."""
    *both, times = given
    values, powers = both[: len(both) // 2], both[len(both) // 2 :]
    sizes = [np.absolute(v) for v in values]
    top, low = reduce(np.maximum, sizes), reduce(np.minimum, (where(np.equal(s, 0), np.inf, s) for s in sizes))
    at_zero = sum(where(np.equal(v, 0), n, 0.0) for v, n in zip(values, powers, strict=True))
    fall = sum(powers) - times - 1
    good = np.isfinite(top) & np.greater(top, 0) & np.less(at_zero, times + 1) & np.greater(fall, 0)
    for v in values:
        good = good & ~_is_negative(v)
    scale: Value = where(good, top, 1.0)
    step: Value = _STEP
    if any(np.iscomplexobj(v) for v in values):
        angles = [where(np.equal(v, 0), 0.0, np.angle(v)) for v in values]
        highest, lowest = reduce(np.maximum, angles), reduce(np.minimum, angles)
        spread = (highest - lowest) / 2
        good = good & np.less(spread, _SPREAD)
        step = _STEP * where(good, 1 - spread / math.pi, 1.0)
        # Arguments turn together, so that none comes near -t.
        scale = where(good, top * np.exp(0.5j * (highest + lowest)), 1.0)
    rows = [where(good, v, 1.0) / scale for v in values]
    start = where(good, np.maximum(np.log(low) - np.log(top), _SMALL) - _TAIL / (times + 1 - at_zero), 0.0)
    fall = where(good, fall, 1.0)
    first, last = np.floor(start / step), np.ceil(_TAIL / fall / step)
    most, least = ends(last, first)
    total: Array = 0.0
    for begin in range(most, least - 1, -size):
        nodes = beside(good, np.arange(begin, max(begin - size, least - 1), -1.0).reshape(-1, *(1,) * good.ndim))
        t = np.exp(step * nodes)
        terms = t ** (times + 1)
        for row, power in zip(rows, powers, strict=True):
            terms = terms * (t + row) ** -power
        # Each one's own terms, one after another: so that no value depends on what stands beside it.
        inside = np.greater_equal(nodes, first) & np.less_equal(nodes, last)
        total = total + np.cumsum(where(inside, terms, 0.0), axis=0)[-1]
    otherwise = where(np.equal(top, np.inf), 0.0, where(np.greater_equal(at_zero, times + 1), np.inf, np.nan))
    return where(good, step * total * scale**-fall, otherwise)


def _is_negative(x: Array) -> Array:
    return np.logical_and(np.less(np.real(x), 0), np.equal(np.imag(x), 0))


def _by(i: int) -> Rule:
    def slope(x: Array, y: Array, z: Array, p: Array, a: Array, b: Array, c: Array, d: Array, times: Array) -> Array:
        powers = [a, b, c, d]
        power, powers[i] = powers[i], powers[i] + 1
        return -power * integral(x, y, z, p, *powers, times)

    return rule_of(slope)


_FIXED = Rule(NotDifferentiable("it is a power"))
integral: Value = Op(
    "carlson_integral",
    _forward,
    _NAMES,
    (*map(_by, range(4)), *(_FIXED,) * 5),
    kind="elementwise",
    samples=lambda r: [
        call(*(r(*shape, low=low, high=low + 0.7) for low in (0.2, 1.0, 2.0, 3.0)), 0.5, 0.5, 0.5, 1.0, 0.0)
        for shape in ((3, 4), ())
    ],
)
register(integral)


def _of_three(factor: float, *powers: float, times: float = 0.0) -> Array:
    return lambda x, y, z: factor * integral(x, y, z, 1.0, *powers, 0.0, times)


elliprd = function_of(
    "x y z",
    special.elliprd,
    _of_three(-0.75, 1.5, 0.5, 1.5),
    _of_three(-0.75, 0.5, 1.5, 1.5),
    _of_three(-2.25, 0.5, 0.5, 2.5),
    at=((0.2, 0.8), (1.0, 1.5), (2.0, 3.0)),
)
elliprf = function_of(
    "x y z",
    special.elliprf,
    lambda x, y, z: elliprd(y, z, x) / -6,
    lambda x, y, z: elliprd(z, x, y) / -6,
    lambda x, y, z: elliprd(x, y, z) / -6,
    at=((0.2, 0.8), (1.0, 1.5), (2.0, 3.0)),
)
elliprg = function_of(
    "x y z",
    special.elliprg,
    _of_three(0.125, 1.5, 0.5, 0.5, times=1.0),
    _of_three(0.125, 0.5, 1.5, 0.5, times=1.0),
    _of_three(0.125, 0.5, 0.5, 1.5, times=1.0),
    at=((0.2, 0.8), (1.0, 1.5), (2.0, 3.0)),
)

# Of a negative last argument, the functions are principal values. There no two arguments are equal, and quotients do.


def _apart(integrated: Function, quotient: Function, last: Array, out: Array, *others: Array) -> Array:
    """``integrated(last, *others)``; where the last argument is negative, ``quotient(last, out, *others)``."""
    negative = _is_negative(last)
    first = integrated(where(negative, 1.0, last), *others)
    elsewhere = [where(negative, x, 1.0) for x in (out, *others)]
    return where(negative, quotient(where(negative, last, -1.0), *elsewhere), first)


def _times(x: Array, slope: Function) -> Array:
    """``x * slope(x)``; 0 where x is 0, where the slope is infinite."""
    zero = np.equal(x, 0)
    return where(zero, 0.0, x * slope(where(zero, 1.0, x)))


def _rj_by_x(x: Array, y: Array, z: Array, p: Array, out: Array) -> Array:
    return _apart(
        lambda p, x, y, z: -0.75 * integral(x, y, z, p, 1.5, 0.5, 0.5, 1.0, 0.0),
        lambda p, out, x, y, z: 0.5 * (elliprd(y, z, x) - out) / (x - p),
        *(p, out, x, y, z),
    )


def _rj_by_p(x: Array, y: Array, z: Array, p: Array, out: Array) -> Array:
    """From the others where p is negative, since the function is homogeneous of degree -3/2."""

    def quotient(p: Array, out: Array, x: Array, y: Array, z: Array) -> Array:
        by_x = _times(x, lambda x: 0.5 * (elliprd(y, z, x) - out) / (x - p))
        by_y = _times(y, lambda y: 0.5 * (elliprd(z, x, y) - out) / (y - p))
        by_z = _times(z, lambda z: 0.5 * (elliprd(x, y, z) - out) / (z - p))
        return -(1.5 * out + by_x + by_y + by_z) / p

    return _apart(lambda p, x, y, z: -1.5 * integral(x, y, z, p, 0.5, 0.5, 0.5, 2.0, 0.0), quotient, *(p, out, x, y, z))


elliprj = function_of(
    "x y z p",
    special.elliprj,
    _rj_by_x,
    lambda x, y, z, p, out: _rj_by_x(y, z, x, p, out),
    lambda x, y, z, p, out: _rj_by_x(z, x, y, p, out),
    _rj_by_p,
    at=((0.2, 0.8), (1.0, 1.5), (2.0, 2.5), (3.0, 4.0)),
)


def _rc_by_y(x: Array, y: Array, out: Array) -> Array:
    return _apart(
        lambda y, x: -0.5 * integral(x, y, 1.0, 1.0, 0.5, 2.0, 0.0, 0.0, 0.0),
        lambda y, out, x: 0.5 * (out - np.sqrt(x) / y) / (x - y),
        *(y, out, x),
    )


def _rc_by_x(x: Array, y: Array, out: Array) -> Array:
    return _apart(
        lambda y, x: -0.25 * integral(x, y, 1.0, 1.0, 1.5, 1.0, 0.0, 0.0, 0.0),
        lambda y, out, x: 0.5 * (1 / np.sqrt(x) - out) / (x - y),
        *(y, out, x),
    )


elliprc = function_of("x y", special.elliprc, _rc_by_x, _rc_by_y, at=((0.2, 0.8), (1.0, 1.5)))
