"""Legendre's elliptic integrals, Jacobi's functions of `scipy.special`, and the arithmetic-geometric mean.

Derivatives: NIST Digital Library of Mathematical Functions, 22.13 (Jacobi's functions); and the integrals themselves,
differentiated under the integral sign. Written with Carlson's functions (`carlson.py`), they keep their digits where
the parameter is 0 or 1.
"""

from __future__ import annotations

import math

import numpy as np
from scipy import special

from adjoint.core.types import Array
from adjoint.ops.special.elliptic.carlson import elliprd
from adjoint.ops.special.forms import function_of, where

# -- Legendre's ------------------------------------------------------------------------------------------


def _turned(phi: Array, m: Array) -> tuple[Array, Array, Array]:
    """Half turns in `phi`, and what is left of it: its sine, and 1 - m sin^2."""
    turns = np.rint(phi / math.pi)
    sine = np.sin(phi - math.pi * turns)
    return turns, sine, 1 - m * sine * sine


def first_by_parameter(phi: Array, m: Array) -> Array:
    """The derivative of `ellipkinc` by `m`: the integral of sin^2 / (2 (1 - m sin^2)^(3/2))."""
    turns, sine, delta = _turned(phi, m)
    ones = np.ones_like(delta)
    part = sine**3 * elliprd(1 - sine * sine, ones, delta)
    whole = 2 * turns * elliprd(np.zeros_like(delta), ones, 1 - m)
    return (part + where(np.equal(turns, 0), 0.0, whole)) / 6


def _second_by_parameter(phi: object, m: Array) -> Array:
    """The derivative of `ellipeinc` by `m`: the integral of -sin^2 / (2 (1 - m sin^2)^(1/2))."""
    turns, sine, delta = _turned(phi, m)
    ones = np.ones_like(delta)
    part = sine**3 * elliprd(1 - sine * sine, delta, ones)
    whole = 2 * turns * elliprd(np.zeros_like(delta), 1 - m, ones)
    return (part + where(np.equal(turns, 0), 0.0, whole)) / -6


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


def _jacobi_by_m(m: Array, out: Array) -> tuple[Array, Array, Array, Array]:
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
    """Gauss: the mean is pi a / (2 K(1 - b^2 / a^2)); with 0 it is always 0."""
    none = np.equal(a, 0)
    whole = where(none, 1.0, a)
    ratio = where(none, 1.0, b) / whole
    one = np.ones_like(ratio)
    slope = out * out * b * (2 / (3 * math.pi)) / whole**3 * elliprd(0.0 * one, one, ratio * ratio)
    return where(none, 0.0, slope)


def _agm_by_a(a: Array, b: Array, out: Array) -> Array:
    none = np.equal(b, 0)
    whole, other = where(none, 1.0, a), where(none, 1.0, b)
    return where(none, 0.0, (out - other * _agm_by_b(whole, other, out)) / whole)


agm = function_of("a b", special.agm, _agm_by_a, _agm_by_b, at=((0.5, 1.0), (1.2, 2.0)))
