"""The families: one block a distribution, its formulas in standard form.

Formulas: N. Johnson, S. Kotz and N. Balakrishnan, Continuous Univariate Distributions, 1994.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import (
    betainc,
    betaln,
    erf,
    erfc,
    expit,
    gammainc,
    gammaincc,
    gammaln,
    log_expit,
    log_ndtr,
    ndtr,
    owens_t,
    pdtr,
    stdtr,
    xlog1py,
    xlogy,
)

from adjoint.core.types import Array
from adjoint.scipy.stats.distribution import Discrete, Distribution

_LOG_2, _LOG_PI = math.log(2), math.log(math.pi)
_HALF_LOG_2PI = 0.5 * (_LOG_2 + _LOG_PI)
_TINY = float(np.finfo(np.float64).smallest_normal)

norm = Distribution(
    "norm",
    lambda z: -0.5 * z * z - _HALF_LOG_2PI,
    cumulative=lambda z: ndtr(z),
    survival=lambda z: ndtr(-z),
    log_cumulative=lambda z: log_ndtr(z),
    log_survival=lambda z: log_ndtr(-z),
)
halfnorm = Distribution(
    "halfnorm",
    lambda z: -0.5 * z * z + (_LOG_2 - _HALF_LOG_2PI),
    low=0.0,
    cumulative=lambda z: erf(z * math.sqrt(0.5)),
    survival=lambda z: erfc(z * math.sqrt(0.5)),
)
skewnorm = Distribution(
    "skewnorm",
    lambda z, a: _LOG_2 - 0.5 * z * z - _HALF_LOG_2PI + log_ndtr(a * z),
    shapes=("a",),
    valid=np.isfinite,
    cumulative=lambda z, a: ndtr(z) - 2 * owens_t(z, a),
    survival=lambda z, a: ndtr(-z) + 2 * owens_t(z, a),
)
lognorm = Distribution(
    "lognorm",
    lambda z, s: -0.5 * np.square(np.log(z) / s) - np.log(s * z) - _HALF_LOG_2PI,
    shapes=("s",),
    low=_TINY,  # the logarithm needs an open end
    cumulative=lambda z, s: ndtr(np.log(z) / s),
    survival=lambda z, s: ndtr(-np.log(z) / s),
    log_cumulative=lambda z, s: log_ndtr(np.log(z) / s),
    log_survival=lambda z, s: log_ndtr(-np.log(z) / s),
)
t = Distribution(
    "t",
    lambda z, df: gammaln(0.5 * (df + 1)) - gammaln(0.5 * df) - 0.5 * (np.log(df) + _LOG_PI)
    - 0.5 * (df + 1) * np.log1p(z * z / df),
    shapes=("df",),
    cumulative=lambda z, df: stdtr(df, z),
    survival=lambda z, df: stdtr(df, -z),
)  # fmt: skip
cauchy = Distribution(
    "cauchy",
    lambda z: -np.log1p(z * z) - _LOG_PI,
    cumulative=lambda z: np.arctan2(1.0, -z) / math.pi,
    survival=lambda z: np.arctan2(1.0, z) / math.pi,
)
halfcauchy = Distribution(
    "halfcauchy",
    lambda z: -np.log1p(z * z) + (_LOG_2 - _LOG_PI),
    low=0.0,
    cumulative=lambda z: np.arctan(z) * (2 / math.pi),
    survival=lambda z: np.arctan2(1.0, z) * (2 / math.pi),
)
uniform = Distribution(
    "uniform", lambda z: 0.0 * z, low=0.0, high=1.0, cumulative=lambda z: 1.0 * z, survival=lambda z: 1.0 - z
)
expon = Distribution(
    "expon",
    lambda z: -z,
    low=0.0,
    cumulative=lambda z: -np.expm1(-z),
    survival=lambda z: np.exp(-z),
    log_survival=lambda z: -z,
)
gamma = Distribution(
    "gamma",
    lambda z, a: xlogy(a - 1, z) - z - gammaln(a),
    shapes=("a",),
    low=0.0,
    cumulative=lambda z, a: gammainc(a, z),
    survival=lambda z, a: gammaincc(a, z),
)
invgamma = Distribution(
    "invgamma",
    lambda z, a: -(a + 1) * np.log(z) - 1 / z - gammaln(a),
    shapes=("a",),
    low=_TINY,
    cumulative=lambda z, a: gammaincc(a, 1 / z),
    survival=lambda z, a: gammainc(a, 1 / z),
)
chi2 = Distribution(
    "chi2",
    lambda z, df: xlogy(0.5 * df - 1, z) - 0.5 * z - gammaln(0.5 * df) - 0.5 * _LOG_2 * df,
    shapes=("df",),
    low=0.0,
    cumulative=lambda z, df: gammainc(0.5 * df, 0.5 * z),
    survival=lambda z, df: gammaincc(0.5 * df, 0.5 * z),
)
beta = Distribution(
    "beta",
    lambda z, a, b: xlogy(a - 1, z) + xlog1py(b - 1, -z) - betaln(a, b),
    shapes=("a", "b"),
    low=0.0,
    high=1.0,
    cumulative=lambda z, a, b: betainc(a, b, z),
    survival=lambda z, a, b: betainc(b, a, 1 - z),
)
weibull_min = Distribution(
    "weibull_min",
    lambda z, c: np.log(c) + xlogy(c - 1, z) - z**c,
    shapes=("c",),
    low=0.0,
    cumulative=lambda z, c: -np.expm1(-(z**c)),
    survival=lambda z, c: np.exp(-(z**c)),
    log_survival=lambda z, c: -(z**c),
)
pareto = Distribution(
    "pareto",
    lambda z, b: np.log(b) - (b + 1) * np.log(z),
    shapes=("b",),
    low=1.0,
    cumulative=lambda z, b: -np.expm1(-b * np.log(z)),
    survival=lambda z, b: z**-b,
    log_survival=lambda z, b: -b * np.log(z),
)
rayleigh = Distribution(
    "rayleigh",
    lambda z: np.log(z) - 0.5 * z * z,
    low=0.0,
    cumulative=lambda z: -np.expm1(-0.5 * z * z),
    survival=lambda z: np.exp(-0.5 * z * z),
    log_survival=lambda z: -0.5 * z * z,
)


def _halves(z: Array) -> Array:
    """The smaller of the two probabilities of Laplace's distribution."""
    return 0.5 * np.exp(-np.abs(z))


laplace = Distribution(
    "laplace",
    lambda z: -np.abs(z) - _LOG_2,
    cumulative=lambda z: np.where(z < 0, _halves(z), 1.0 - _halves(z)),
    survival=lambda z: np.where(z > 0, _halves(z), 1.0 - _halves(z)),
    log_cumulative=lambda z: np.where(z < 0, z - _LOG_2, np.log1p(-_halves(z))),
    log_survival=lambda z: np.where(z > 0, -z - _LOG_2, np.log1p(-_halves(z))),
)
logistic = Distribution(
    "logistic",
    lambda z: log_expit(z) + log_expit(-z),
    cumulative=lambda z: expit(z),
    survival=lambda z: expit(-z),
    log_cumulative=lambda z: log_expit(z),
    log_survival=lambda z: log_expit(-z),
)
gumbel_r = Distribution(
    "gumbel_r",
    lambda z: -z - np.exp(-z),
    cumulative=lambda z: np.exp(-np.exp(-z)),
    survival=lambda z: -np.expm1(-np.exp(-z)),
    log_cumulative=lambda z: -np.exp(-z),
)
gumbel_l = Distribution(
    "gumbel_l",
    lambda z: z - np.exp(z),
    cumulative=lambda z: -np.expm1(-np.exp(z)),
    survival=lambda z: np.exp(-np.exp(z)),
    log_survival=lambda z: -np.exp(z),
)


def _is_share(p: Array) -> Array:
    return np.logical_and(p >= 0, p <= 1)


def _up_to(k: Array, n: Array, p: Array) -> Array:
    """The probability of at most `k` of `n`; all of it for k = n."""
    last = np.greater_equal(k, n)
    return np.where(last, 1.0, betainc(np.where(last, 1.0, n - k), k + 1, 1 - p))


poisson = Discrete(
    "poisson",
    lambda k, mu: xlogy(k, mu) - gammaln(k + 1) - mu,
    ("mu",),
    low=0.0,
    valid=lambda mu: mu >= 0,
    cumulative=lambda k, mu: pdtr(k, mu),
)
binom = Discrete(
    "binom",
    lambda k, n, p: gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1) + xlogy(k, p) + xlog1py(n - k, -p),
    ("n", "p"),
    low=0.0,
    high=lambda n, p: n,
    valid=lambda n, p: np.logical_and(_is_share(p), np.logical_and(n >= 0, n == np.floor(n))),
    cumulative=_up_to,
)
bernoulli = Discrete(
    "bernoulli",
    lambda k, p: xlogy(k, p) + xlog1py(1 - k, -p),
    ("p",),
    low=0.0,
    high=1.0,
    valid=_is_share,
    cumulative=lambda k, p: 1.0 - p * (1 - k),
)
geom = Discrete(
    "geom",
    lambda k, p: xlog1py(k - 1, -p) + np.log(p),
    ("p",),
    low=1.0,
    valid=lambda p: np.logical_and(p > 0, p <= 1),
    cumulative=lambda k, p: -np.expm1(k * np.log1p(-p)),
    survival=lambda k, p: np.exp(k * np.log1p(-p)),
    log_survival=lambda k, p: k * np.log1p(-p),
)
nbinom = Discrete(
    "nbinom",
    lambda k, n, p: gammaln(n + k) - gammaln(k + 1) - gammaln(n) + xlogy(n, p) + xlog1py(k, -p),
    ("n", "p"),
    low=0.0,
    valid=lambda n, p: np.logical_and(n > 0, np.logical_and(p > 0, p <= 1)),
    cumulative=lambda k, n, p: betainc(n, k + 1, p),
)
