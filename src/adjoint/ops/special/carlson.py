"""Carlson's symmetric elliptic integrals, and the integral that all of their derivatives are.

Each is a number times the integral of ``t^k (t + x)^-a (t + y)^-b …`` over t from 0 to infinity (NIST Digital Library
of Mathematical Functions, 19.16 and 19.18). A derivative by ``x`` is ``-a`` times the same with ``a + 1``: so it has no
quotient that would lose its digits where two arguments are equal, and its own derivatives are of the same form.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import special

from adjoint.core.op import Op, Rule, call, rule_of
from adjoint.core.registry import register
from adjoint.core.types import Array
from adjoint.ops.special.forms import function_of

_STEP = 0.375  # in log t. The trapezoidal rule's error is exp(-2 pi^2 / step), since the integrand is analytic
_TAIL = 38.0  # exp(-38) is below float64's rounding
_MOST = 1 << 18  # values at a time
_NAMES = ("x", "y", "z", "p")
Powers = tuple[float, ...]


def _forward(*given: Any, powers: Powers, times: int = 0) -> Any:
    """The integral; an argument of power 0 is not looked at."""
    used = [(np.asarray(x), b) for x, b in zip(given, powers, strict=True) if b]
    dtype = np.result_type(*(x.dtype for x, _ in used), np.float32)
    wide = np.result_type(dtype, np.float64)
    arrays = np.broadcast_arrays(*(x.astype(wide) for x, _ in used))
    flat, exponents = np.stack([x.reshape(-1) for x in arrays]), np.array([b for _, b in used])
    size = max(1, _MOST // 1024)
    with np.errstate(all="ignore"):
        parts = [_of_columns(flat[:, k : k + size], exponents, times) for k in range(0, flat.shape[1], size)]
    out = np.concatenate(parts) if parts else np.empty(0, wide)
    return out.reshape(arrays[0].shape).astype(dtype)[()]


def _of_columns(z: np.ndarray, powers: np.ndarray, times: int) -> Any:
    """The integral for each column of arguments, over log t."""
    size, at_zero = np.abs(z), (z == 0).T @ powers
    top = size.max(0)
    angles = np.where(size > 0, np.angle(z), 0.0)  # arguments turn together, so that none comes near -t
    turn, spread = (angles.max(0) + angles.min(0)) / 2, (angles.max(0) - angles.min(0)) / 2
    good = np.isfinite(top) & (top > 0) & (spread < 3.0) & (at_zero < times + 1)
    good &= ~((z.real < 0) & (z.imag == 0)).any(0)
    step = _STEP * (1 - spread[good] / np.pi)
    scale = (top * np.exp(1j * turn) if np.iscomplexobj(z) else top)[good]
    fall, ratio = float(powers.sum()) - times - 1, np.where(size > 0, size / top, 1.0).min(0)[good]
    first = np.floor((np.log(ratio) - _TAIL / (times + 1 - at_zero[good])) / step)
    last = np.ceil(_TAIL / fall / step)
    nodes = np.arange(last.max(initial=0.0), first.min(initial=0.0) - 1, -1)[:, None]
    t = np.exp(step * nodes)
    terms = t ** (times + 1)
    for row, power in zip(z[:, good] / scale, powers, strict=True):
        terms = terms * (t + row) ** -power
    # Each column's own terms, one after another: so that no value depends on what stands beside it.
    total = np.add.accumulate(np.where((nodes >= first) & (nodes <= last), terms, 0.0))[-1]
    out = np.full(z.shape[1], np.nan, z.dtype)
    out[at_zero >= times + 1] = np.inf
    out[top == np.inf] = 0
    out[good] = step * total * scale**-fall
    return out


def _by(i: int) -> Rule:
    def slope(x: Array, y: Array, z: Array, p: Array, powers: Powers, times: int) -> Array:
        raised = (*powers[:i], powers[i] + 1, *powers[i + 1 :])
        return -powers[i] * integral(x, y, z, p, powers=raised, times=times)

    return rule_of(slope)


integral = Op(
    "carlson_integral",
    _forward,
    _NAMES,
    tuple(map(_by, range(4))),
    settings={"powers": (0.5, 0.5, 0.5, 1.0), "times": 0},
    kind="elementwise",
    samples=lambda r: [
        call(*(r(*shape, low=low, high=low + 0.7) for low in (0.2, 1.0, 2.0, 3.0))) for shape in ((3, 4), ())
    ],
)
register(integral)


def _of_three(factor: float, *powers: float, times: int = 0) -> Any:
    return lambda x, y, z: factor * integral(x, y, z, 1.0, powers=(*powers, 0.0), times=times)


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
    _of_three(0.125, 1.5, 0.5, 0.5, times=1),
    _of_three(0.125, 0.5, 1.5, 0.5, times=1),
    _of_three(0.125, 0.5, 0.5, 1.5, times=1),
    at=((0.2, 0.8), (1.0, 1.5), (2.0, 3.0)),
)

# Of a negative last argument, the functions are principal values. There no two arguments are equal, and quotients do.


def _is_negative(x: Array) -> Any:
    return np.logical_and(np.less(np.real(x), 0), np.equal(np.imag(x), 0))


def _apart(integrated: Any, quotient: Any, last: Array, out: Array, *others: Array) -> Any:
    """``integrated(last, *others)``; where the last argument is negative, ``quotient(last, out, *others)``."""
    negative = _is_negative(last)
    first = integrated(np.where(negative, 1.0, last), *others)
    elsewhere = [np.where(negative, x, 1.0) for x in (out, *others)]
    return np.where(negative, quotient(np.where(negative, last, -1.0), *elsewhere), first)


def _times(x: Array, slope: Any) -> Any:
    """``x * slope(x)``; 0 where x is 0, where the slope is infinite."""
    zero = np.equal(x, 0)
    return np.where(zero, 0.0, x * slope(np.where(zero, 1.0, x)))


def _rj_by_x(x: Array, y: Array, z: Array, p: Array, out: Array) -> Any:
    return _apart(
        lambda p, x, y, z: -0.75 * integral(x, y, z, p, powers=(1.5, 0.5, 0.5, 1.0)),
        lambda p, out, x, y, z: 0.5 * (elliprd(y, z, x) - out) / (x - p),
        *(p, out, x, y, z),
    )


def _rj_by_p(x: Array, y: Array, z: Array, p: Array, out: Array) -> Any:
    """From the others where p is negative, since the function is homogeneous of degree -3/2."""

    def quotient(p: Array, out: Array, x: Array, y: Array, z: Array) -> Any:
        by_x = _times(x, lambda x: 0.5 * (elliprd(y, z, x) - out) / (x - p))
        by_y = _times(y, lambda y: 0.5 * (elliprd(z, x, y) - out) / (y - p))
        by_z = _times(z, lambda z: 0.5 * (elliprd(x, y, z) - out) / (z - p))
        return -(1.5 * out + by_x + by_y + by_z) / p

    return _apart(
        lambda p, x, y, z: -1.5 * integral(x, y, z, p, powers=(0.5, 0.5, 0.5, 2.0)),
        quotient,
        *(p, out, x, y, z),
    )


elliprj = function_of(
    "x y z p",
    special.elliprj,
    _rj_by_x,
    lambda x, y, z, p, out: _rj_by_x(y, z, x, p, out),
    lambda x, y, z, p, out: _rj_by_x(z, x, y, p, out),
    _rj_by_p,
    at=((0.2, 0.8), (1.0, 1.5), (2.0, 2.5), (3.0, 4.0)),
)


def _rc_by_y(x: Array, y: Array, out: Array) -> Any:
    return _apart(
        lambda y, x: -0.5 * integral(x, y, 1.0, 1.0, powers=(0.5, 2.0, 0.0, 0.0)),
        lambda y, out, x: 0.5 * (out - np.sqrt(x) / y) / (x - y),
        *(y, out, x),
    )


def _rc_by_x(x: Array, y: Array, out: Array) -> Any:
    return _apart(
        lambda y, x: -0.25 * integral(x, y, 1.0, 1.0, powers=(1.5, 1.0, 0.0, 0.0)),
        lambda y, out, x: 0.5 * (1 / np.sqrt(x) - out) / (x - y),
        *(y, out, x),
    )


elliprc = function_of("x y", special.elliprc, _rc_by_x, _rc_by_y, at=((0.2, 0.8), (1.0, 1.5)))
