"""Elliptic integrals and functions of `scipy.special`, and the arithmetic-geometric mean.

Derivatives: NIST Digital Library of Mathematical Functions, 19.18 (Carlson's integrals), 22.13 (Jacobi's
functions); and the integrals themselves, differentiated under the integral sign. Written with Carlson's
functions, they keep their digits where the parameter is 0 or 1.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import special

from adjoint.core.types import Array
from adjoint.ops.special.forms import function_of

# -- Carlson's symmetric forms ---------------------------------------------------------------------------


def _quotient(upper: Array, lower: Array, otherwise: Any) -> Array:
    """upper / lower; `otherwise` where lower is 0."""
    zero = np.equal(lower, 0)
    return np.where(zero, otherwise, np.where(zero, 0.0, upper) / np.where(zero, 1.0, lower))


def _rd_by_x(x: Array, y: Array, z: Array, out: Array) -> Array:
    return 0.5 * _quotient(elliprd(y, z, x) - out, x - z, _rd_by_equal(y, z))


def _rd_by_equal(y: Array, z: Array) -> Array:
    """Twice the derivative by x where x is z: -3/2 times the integral of (t + y)^(-1/2) (t + z)^-3, by parts."""
    root = np.sqrt(y)
    first = 2 * elliprc(y, z)
    second = _quotient(root / z - first / 2, y - z, z**-1.5 * 2 / 3)
    return -1.5 * _quotient((root / z**2 - 1.5 * second) / 2, y - z, z**-2.5 * 2 / 5)


def _rd_by_z(x: Array, y: Array, z: Array, out: Array) -> Array:
    """From the others, since the function is homogeneous of degree -3/2."""
    by_x = np.where(np.equal(x, 0), 0.0, x * _rd_by_x(np.where(np.equal(x, 0), 1.0, x), y, z, out))
    return -(1.5 * out + by_x + y * _rd_by_x(y, x, z, out)) / z


def _rj_by_x(x: Array, y: Array, z: Array, p: Array, out: Array) -> Array:
    return 0.5 * (elliprd(y, z, x) - out) / (x - p)


def _rj_by_p(x: Array, y: Array, z: Array, p: Array, out: Array) -> Array:
    """From the others, as for `elliprd`."""
    others = x * _rj_by_x(x, y, z, p, out) + y * _rj_by_x(y, z, x, p, out) + z * _rj_by_x(z, x, y, p, out)
    return -(1.5 * out + others) / p


elliprd = function_of(
    "x y z",
    special.elliprd,
    _rd_by_x,
    lambda x, y, z, out: _rd_by_x(y, x, z, out),
    _rd_by_z,
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
    lambda x, y, z: (elliprf(x, y, z) - x * elliprd(y, z, x) / 3) / 4,
    lambda x, y, z: (elliprf(x, y, z) - y * elliprd(z, x, y) / 3) / 4,
    lambda x, y, z: (elliprf(x, y, z) - z * elliprd(x, y, z) / 3) / 4,
    at=((0.2, 0.8), (1.0, 1.5), (2.0, 3.0)),
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


def _rc_by_y(x: Array, y: Array, out: Array) -> Array:
    return 0.5 * _quotient(out - np.sqrt(x) / y, x - y, y**-1.5 * -2 / 3).astype(out.dtype)


def _rc_by_x(x: Array, y: Array, out: Array) -> Array:
    """From the other, since the function is homogeneous of degree -1/2."""
    return -(0.5 * out + y * _rc_by_y(x, y, out)) / x


elliprc = function_of("x y", special.elliprc, _rc_by_x, _rc_by_y, at=((0.2, 0.8), (1.0, 1.5)))

# -- Legendre's ------------------------------------------------------------------------------------------


def _turned(phi: Any, m: Array) -> tuple[Any, Any, Any]:
    """Half turns in `phi`, and what is left of it: its sine, and 1 - m sin^2."""
    turns = np.rint(phi / math.pi)
    sine = np.sin(phi - math.pi * turns)
    return turns, sine, 1 - m * sine * sine


def first_by_parameter(phi: Any, m: Array) -> Array:
    """The derivative of `ellipkinc` by `m`: the integral of sin^2 / (2 (1 - m sin^2)^(3/2))."""
    turns, sine, delta = _turned(phi, m)
    ones = np.ones_like(delta)
    part = sine**3 * elliprd(1 - sine * sine, ones, delta)
    whole = 2 * turns * elliprd(np.zeros_like(delta), ones, 1 - m)
    return (part + np.where(np.equal(turns, 0), 0.0, whole)) / 6


def _second_by_parameter(phi: Any, m: Array) -> Array:
    """The derivative of `ellipeinc` by `m`: the integral of -sin^2 / (2 (1 - m sin^2)^(1/2))."""
    turns, sine, delta = _turned(phi, m)
    ones = np.ones_like(delta)
    part = sine**3 * elliprd(1 - sine * sine, delta, ones)
    whole = 2 * turns * elliprd(np.zeros_like(delta), 1 - m, ones)
    return (part + np.where(np.equal(turns, 0), 0.0, whole)) / -6


ellipkinc = function_of(
    "phi m",
    special.ellipkinc,
    lambda phi, m: 1 / np.sqrt(1 - m * np.square(np.sin(phi))),
    first_by_parameter,
    at=((-2.0, 2.0), (0.2, 0.7)),
)
ellipeinc = function_of(
    "phi m",
    special.ellipeinc,
    lambda phi, m: np.sqrt(1 - m * np.square(np.sin(phi))),
    _second_by_parameter,
    at=((-2.0, 2.0), (0.2, 0.7)),
)
ellipkm1 = function_of(
    "p", special.ellipkm1, lambda p: elliprd(np.zeros_like(p), np.ones_like(p), p) / -6, at=((0.2, 0.9),)
)

# -- Jacobi's --------------------------------------------------------------------------------------------


def _jacobi_by_m(m: Array, out: Array) -> tuple[Any, Any, Any, Any]:
    sn, cn, dn, phi = out
    turned = -dn * first_by_parameter(phi, m)
    return cn * turned, -sn * turned, -(sn * sn / 2 + m * sn * cn * turned) / dn, turned


ellipj = function_of(
    "u m",
    special.ellipj,
    lambda m, out: (out[1] * out[2], -out[0] * out[2], -m * out[0] * out[1], out[2]),
    _jacobi_by_m,
    at=((-1.0, 1.0), (0.2, 0.7)),
)

# -- The arithmetic-geometric mean -----------------------------------------------------------------------


def _agm_by_b(a: Array, b: Array, out: Array) -> Array:
    """Gauss: the mean is pi a / (2 K(1 - b^2 / a^2))."""
    ratio = b / a
    one = np.ones_like(ratio)
    return out * out * b * (2 / (3 * math.pi)) / a**3 * elliprd(0.0 * one, one, ratio * ratio)


agm = function_of(
    "a b",
    special.agm,
    lambda a, b, out: (out - b * _agm_by_b(a, b, out)) / a,
    _agm_by_b,
    at=((0.5, 1.0), (1.2, 2.0)),
)
