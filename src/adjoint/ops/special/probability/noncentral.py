"""Noncentral chi-square and t distributions of `scipy.special`, and their inverses.

Densities: N. Johnson, S. Kotz and N. Balakrishnan, Continuous Univariate Distributions, volume 2, 1995, chapters 29 and
31.
"""

from __future__ import annotations

import math

import numpy as np
from scipy import special

from adjoint.core.types import Array, Value
from adjoint.ops.special.forms import BY_SHAPE, function_of, where
from adjoint.ops.special.gamma import gammaln
from adjoint.ops.special.probability.freedoms import t_density
from adjoint.ops.special.probability.incomplete import gamma_density
from adjoint.ops.special.waves.bessel import hyp0f1, ive


def _noncentral_chi_square(x: Array, df: Value, nc: Value) -> Array:
    """In the second form for a small product, since the first one divides by `nc` and the second one overflows."""
    small = np.less(nc * x, 1)
    y, c = where(small, 1.0, x), where(small, 1.0, nc)
    root = np.sqrt(c * y)
    large = np.exp(root - (y + c) / 2) * (y / c) ** (df / 4 - 0.5) * ive(df / 2 - 1, root)
    product = where(small, nc * x, 0.0)
    return 0.5 * where(small, gamma_density(df / 2, x / 2) * np.exp(-nc / 2) * hyp0f1(df / 2, product / 4), large)


def _chndtr_by_nc(x: Array, df: Value, nc: object, out: Array) -> Array:
    return (chndtr(x, df + 2, nc) - out) / 2


chndtr = function_of(
    "x df nc",
    special.chndtr,
    lambda x, df, nc: _noncentral_chi_square(x, df, nc),
    BY_SHAPE,
    _chndtr_by_nc,
    at=((0.5, 4.0), 3.0, (0.5, 2.0)),
)
chndtrix = function_of(
    "p df nc",
    special.chndtrix,
    lambda df, nc, out: 1 / _noncentral_chi_square(out, df, nc),
    BY_SHAPE,
    lambda p, df, nc, out: -_chndtr_by_nc(out, df, nc, p) / _noncentral_chi_square(out, df, nc),
    at=((0.2, 0.8), 3.0, (0.5, 2.0)),
)


def _noncentral_t(df: Value, nc: Value, t: Array, below: Value) -> Array:
    """The density, from the probability `below` t and that with two degrees of freedom more. Near 0, where those are
    one, by the series in nc t; for infinitely many degrees of freedom, the normal one.
    """
    many, small = np.isinf(df), np.less(np.maximum(np.abs(t), np.abs(nc * t)), 0.5)
    few = where(many, 1.0, df)
    apart = where(small, 1.0, t)
    above = nctdtr(few + 2, nc, apart * np.sqrt(1 + 2 / few))
    quotient = few / apart * (above - where(small, 0.0, below))
    near = where(small, t, 0.0)
    u, start = nc * near * np.sqrt(2 / (few + near * near)), gammaln((few + 1) / 2)
    terms = (np.exp(gammaln((few + k + 1) / 2) - start) * u**k / math.factorial(k) for k in range(16))
    series = np.exp(-nc * nc / 2) * t_density(few, near) * sum(terms)
    return where(many, np.exp(-0.5 * (t - nc) ** 2) / math.sqrt(2 * math.pi), where(small, series, quotient))


nctdtr = function_of(
    "df nc t",
    special.nctdtr,
    BY_SHAPE,
    BY_SHAPE,
    lambda df, nc, t, out: _noncentral_t(df, nc, t, out),
    at=(3.5, 0.7, (0.3, 2.0)),
)
nctdtrit = function_of(
    "df nc p",
    special.nctdtrit,
    BY_SHAPE,
    BY_SHAPE,
    lambda df, nc, p, out: 1 / _noncentral_t(df, nc, out, p),
    at=(3.5, 0.7, (0.3, 0.8)),
)
