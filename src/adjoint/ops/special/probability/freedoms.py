"""Chi-square, F and Student's t of `scipy.special`: by the variable, and by the degrees of freedom.

The degrees of freedom are shapes of an incomplete gamma or beta function, and part of its variable (NIST Digital
Library of Mathematical Functions, 8.2 and 8.17).
"""

from __future__ import annotations

import math

import numpy as np
from scipy import special

from adjoint.core.types import Array
from adjoint.ops.special.forms import function_of, where
from adjoint.ops.special.gamma import gammaln
from adjoint.ops.special.probability.by_shape import beta_by_shapes, gamma_by_shape, log_beta_term
from adjoint.ops.special.probability.incomplete import at_quantile, beta_density, gamma_density

_SQRT_2PI = math.sqrt(2 * math.pi)

# -- Chi-square ------------------------------------------------------------------------------------------


def chi_square_density(v: Array, x: Array) -> Array:
    return gamma_density(v / 2, x / 2) / 2


def chi_square_by_freedom(v: Array, x: Array) -> Array:
    return gamma_by_shape(v / 2, x / 2) / 2


chdtr = function_of(
    "v x",
    special.chdtr,
    lambda v, x: chi_square_by_freedom(v, x),
    lambda v, x: chi_square_density(v, x),
    at=((1.0, 9.0), (0.5, 4.0)),
)
chdtrc = function_of(
    "v x",
    special.chdtrc,
    lambda v, x: -chi_square_by_freedom(v, x),
    lambda v, x: -chi_square_density(v, x),
    at=((1.0, 9.0), (0.5, 4.0)),
)
chdtri = function_of(
    "v p",
    special.chdtri,
    lambda v, out: at_quantile(chi_square_by_freedom(v, out), chi_square_density(v, out), out),
    lambda v, out: -1 / chi_square_density(v, out),
    at=((1.0, 9.0), (0.2, 0.8)),
)

# -- F and t ---------------------------------------------------------------------------------------------


def f_density(m: Array, n: Array, x: Array) -> Array:
    """The density of F with m and n degrees of freedom."""
    share = m * x / (m * x + n)
    return beta_density(m / 2, n / 2, share) * (m / (m * x + n)) * (n / (m * x + n))


def t_density(df: Array, t: Array) -> Array:
    """The density of Student's t, and its limit for many degrees of freedom, which is the normal one."""
    many = np.isinf(df)
    few = where(many, 1.0, df)
    scale = gammaln((few + 1) / 2) - gammaln(few / 2) - 0.5 * np.log(few * math.pi)
    density = np.exp((scale - (few + 1) / 2 * np.log1p(t * t / few)).astype(t.dtype))
    return where(many, np.exp(-0.5 * t * t) / _SQRT_2PI, density).astype(t.dtype)


def _beta_by_log_odds(a: Array, b: Array, odds: Array) -> Array:
    """The density of the logarithm of the odds."""
    return a * b * np.exp(log_beta_term(a, b, odds))


def f_by_freedoms(m: Array, n: Array, x: Array, which: int) -> Array:
    """The derivative of F's distribution function by m (0) or n (1): they are shapes, and scale the odds."""
    shapes = beta_by_shapes(m / 2, n / 2, m * x / n, by_a=1 - which, by_b=which)
    zero = np.equal(x, 0)
    by_scale = _beta_by_log_odds(m / 2, n / 2, where(zero, 1.0, m * x / n)) / (n if which else m)
    return where(zero, 0.0, 0.5 * shapes - by_scale if which else 0.5 * shapes + by_scale)


def _f_quantile(m: Array, n: Array, out: Array, which: int) -> Array:
    return at_quantile(f_by_freedoms(m, n, out, which), f_density(m, n, out), out)


fdtr = function_of(
    "m n x",
    special.fdtr,
    lambda m, n, x: f_by_freedoms(m, n, x, 0),
    lambda m, n, x: f_by_freedoms(m, n, x, 1),
    lambda m, n, x: f_density(m, n, x),
    at=((1.0, 9.0), (1.0, 9.0), (0.5, 2.0)),
)
fdtrc = function_of(
    "m n x",
    special.fdtrc,
    lambda m, n, x: -f_by_freedoms(m, n, x, 0),
    lambda m, n, x: -f_by_freedoms(m, n, x, 1),
    lambda m, n, x: -f_density(m, n, x),
    at=((1.0, 9.0), (1.0, 9.0), (0.5, 2.0)),
)
fdtri = function_of(
    "m n p",
    special.fdtri,
    lambda m, n, out: _f_quantile(m, n, out, 0),
    lambda m, n, out: _f_quantile(m, n, out, 1),
    lambda m, n, out: 1 / f_density(m, n, out),
    at=((1.0, 9.0), (1.0, 9.0), (0.2, 0.8)),
)


def t_by_freedom(df: Array, t: Array) -> Array:
    """The derivative of Student's distribution function by `df`, odd in t; at 0 its slope is that of the density."""
    many, zero = np.isinf(df), np.equal(t, 0)
    df, away = where(many, 1.0, df), where(zero, 1.0, t)
    odds = away * away / df
    off = 0.25 * beta_by_shapes(0.5, df / 2, odds, by_a=0, by_b=1) - 0.5 * _beta_by_log_odds(0.5, df / 2, odds) / df
    height = 0.5 * (special.digamma(df / 2 + 0.5) - special.digamma(df / 2) - 1 / df)
    found = where(zero, t * height * t_density(df, 0 * t), np.sign(away) * off)
    return where(many, 0.0, found)


stdtr = function_of(
    "df t",
    special.stdtr,
    lambda df, t: t_by_freedom(df, t),
    lambda df, t: t_density(df, t),
    at=((1.0, 9.0), (-2.0, 2.0)),
)
stdtrit = function_of(
    "df p",
    special.stdtrit,
    lambda df, out: -t_by_freedom(df, out) / t_density(df, out),
    lambda df, out: 1 / t_density(df, out),
    at=((1.0, 9.0), (0.2, 0.8)),
)
