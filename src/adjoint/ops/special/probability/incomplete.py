"""Incomplete gamma and beta functions of `scipy.special`, and their inverses: derivatives by all arguments.

By the variable they are densities, by a shape the integrals of `by_shape`; from both follow those of inverses (NIST
Digital Library of Mathematical Functions, 8.2 and 8.17).
"""

from __future__ import annotations

import numpy as np
from scipy import special

from adjoint.core.backend import maybe_any
from adjoint.core.types import Array, ShapeLike
from adjoint.ops.special.forms import function_of, where
from adjoint.ops.special.functions import xlog1py, xlogy
from adjoint.ops.special.gamma import betaln, gammaln
from adjoint.ops.special.probability.by_shape import beta_by_shapes, gamma_by_shape


def gamma_density(shape: ShapeLike, x: Array) -> Array:
    end, inside = _ends(x, x)
    density = np.exp((xlogy(shape - 1, inside) - inside - gammaln(shape)).astype(x.dtype))
    return where(end, np.power(x, shape - 1) * np.exp(-x - gammaln(shape)), density).astype(x.dtype)


def beta_density(a: Array, b: Array, x: Array) -> Array:
    end, inside = _ends(x * (1 - x), x)
    density = np.exp((xlogy(a - 1, inside) + xlog1py(b - 1, -inside) - betaln(a, b)).astype(x.dtype))
    scale = np.exp(np.minimum(-betaln(a, b), 700.0))  # more only where the power is 0
    return where(end, scale * np.power(x, a - 1) * np.power(1 - x, b - 1), density).astype(x.dtype)


def _ends(zero: Array, x: Array) -> tuple[Array, Array]:
    """Where a density ends, and x within it. At an end the power of a number is 0 and its logarithm has no slope."""
    end = np.equal(zero, 0)
    return end, where(end, 0.5, x)


def beta_share(a: Array, b: Array, x: Array, by_a: int, by_b: int) -> Array:
    """The derivative of `betainc`, so many times by each shape."""
    one = np.equal(x, 1)
    inside = where(one, 0.5, x)
    slope = beta_by_shapes(a, b, inside / (1 - inside), by_a=by_a, by_b=by_b)
    if not maybe_any(one):
        return slope
    left = where(one, 1 - x, 0.5)  # the odds of the other side are 0, not infinite
    return where(one, -beta_by_shapes(b, a, left / (1 - left), by_a=by_b, by_b=by_a), slope)


def at_quantile(slope: Array, density: Array, out: Array) -> Array:
    """The derivative of a quantile `out` by a shape; 0 at 0, where every shape has the same."""
    end = np.equal(out, 0)
    return where(end, 0.0, -where(end, 0.0, slope) / where(end, 1.0, density))


gammainc = function_of(
    "shape x", special.gammainc, lambda shape, x: gamma_by_shape(shape, x), gamma_density, at=((0.5, 9.0), (0.3, 3.0))
)
gammaincc = function_of(
    "shape x",
    special.gammaincc,
    lambda shape, x: -gamma_by_shape(shape, x),
    lambda shape, x: -gamma_density(shape, x),
    at=((0.5, 9.0), (0.3, 3.0)),
)
gammaincinv = function_of(
    "shape x",
    special.gammaincinv,
    lambda shape, out: at_quantile(gamma_by_shape(shape, out), gamma_density(shape, out), out),
    lambda shape, out: 1 / gamma_density(shape, out),
    at=((0.5, 9.0), (0.2, 0.8)),
)
gammainccinv = function_of(
    "shape y",
    special.gammainccinv,
    lambda shape, out: at_quantile(gamma_by_shape(shape, out), gamma_density(shape, out), out),
    lambda shape, out: -1 / gamma_density(shape, out),
    at=((0.5, 9.0), (0.2, 0.8)),
)
betainc = function_of(
    "a b x",
    special.betainc,
    lambda a, b, x: beta_share(a, b, x, 1, 0),
    lambda a, b, x: beta_share(a, b, x, 0, 1),
    beta_density,
    at=((0.5, 9.0), (0.5, 9.0), (0.2, 0.8)),
)
betaincc = function_of(
    "a b x",
    special.betaincc,
    lambda a, b, x: -beta_share(a, b, x, 1, 0),
    lambda a, b, x: -beta_share(a, b, x, 0, 1),
    lambda a, b, x: -beta_density(a, b, x),
    at=((0.5, 9.0), (0.5, 9.0), (0.2, 0.8)),
)


def _beta_quantile(a: Array, b: Array, out: Array, by_a: int, by_b: int) -> Array:
    return at_quantile(beta_share(a, b, out, by_a, by_b), beta_density(a, b, out), out * (1 - out))


betaincinv = function_of(
    "a b x",
    special.betaincinv,
    lambda a, b, out: _beta_quantile(a, b, out, 1, 0),
    lambda a, b, out: _beta_quantile(a, b, out, 0, 1),
    lambda a, b, out: 1 / beta_density(a, b, out),
    at=((0.5, 9.0), (0.5, 9.0), (0.2, 0.8)),
)
betainccinv = function_of(
    "a b y",
    special.betainccinv,
    lambda a, b, out: _beta_quantile(a, b, out, 1, 0),
    lambda a, b, out: _beta_quantile(a, b, out, 0, 1),
    lambda a, b, out: -1 / beta_density(a, b, out),
    at=((0.5, 9.0), (0.5, 9.0), (0.2, 0.8)),
)
beta_ppf = function_of(
    "p a b",
    special._ufuncs._beta_ppf,  # which SciPy's distribution asks
    lambda a, b, out: 1 / beta_density(a, b, out),
    lambda a, b, out: _beta_quantile(a, b, out, 1, 0),
    lambda a, b, out: _beta_quantile(a, b, out, 0, 1),
    at=((0.2, 0.8), (0.5, 9.0), (0.5, 9.0)),
    name="beta_ppf",
)
