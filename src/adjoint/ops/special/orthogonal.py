"""Orthogonal polynomials of `scipy.special`: the derivative of each is one of a lower degree.

Derivatives: NIST Digital Library of Mathematical Functions, 18.9 (iii), and 14.10 (Legendre functions).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy import special

from adjoint.core.rules.pullbacks import NotDifferentiable
from adjoint.core.types import Array, Value
from adjoint.ops.special.forms import BY_SHAPE, SamplePlace, function_of, where

if TYPE_CHECKING:
    from adjoint.core.op import Op


_DEGREE = NotDifferentiable("its derivative by the degree has no closed form")
_INTERVAL = (-0.9, 0.9)
_SHIFTED = (0.1, 0.9)


def _polynomial(ufunc: object, slope: object, *fixed: float, names: str = "n", x: SamplePlace = _INTERVAL) -> Array:
    rules = (_DEGREE,) + (BY_SHAPE,) * (len(fixed) - 1)
    return function_of(f"{names} x", ufunc, *rules, slope, at=(*fixed, x))


def _lower(polynomial: Op, n: Array, *arguments: Array) -> Array:
    """`polynomial` of degree n - 1; 0 for the degree -1, for which SciPy's functions give what they please."""
    none = np.equal(n - 1, -1)
    return where(none, 0.0, polynomial(where(none, 1, n) - 1, *arguments))


def _legendre_slope(n: Value, x: Array) -> Array:
    """Polynomials of the degrees n and -n - 1 are one."""
    return _lower(eval_gegenbauer, where(np.less(n, -0.5), -n - 1, n), 1.5, x)


def _second_kind_slope(n: Value, x: Array) -> Array:
    """Chebyshev's polynomials of the second kind of the degrees n and -n - 2 have opposite signs."""
    mirrored = np.less(n, -1)
    degree = where(mirrored, -n - 2, where(np.equal(n, -1), 0, n))  # that of the degree -1 is 0
    return where(mirrored, -2.0, 2.0) * _lower(eval_gegenbauer, degree, 2.0, x)


def _gegenbauer_slope(n: Array, alpha: Array, x: Array) -> Array:
    """Nothing where the polynomial is 0: of the degree -1, or for an alpha of 0."""
    none = np.equal(n, -1) | np.equal(alpha, 0)
    raised = where(none | np.equal(n, 1), 1.0, alpha + 1)  # 1 is that of the degree 0, for an alpha of 0 too
    return 2 * alpha * _lower(eval_gegenbauer, where(none, 0, n), raised, x)


def _jacobi_slope(n: Value, alpha: Value, beta: Value, x: Array) -> Array:
    factor = n + alpha + beta + 1
    none = np.equal(factor, 0)
    return where(none, 0.0, factor / 2 * _lower(eval_jacobi, where(none, 0, n), alpha + 1, beta + 1, x))


eval_gegenbauer: Value = _polynomial(special.eval_gegenbauer, _gegenbauer_slope, 3, 0.5, names="n alpha")
eval_jacobi: Value = _polynomial(special.eval_jacobi, _jacobi_slope, 3, 0.5, 1.5, names="n alpha beta")
eval_genlaguerre: Value = _polynomial(
    special.eval_genlaguerre, lambda n, alpha, x: -_lower(eval_genlaguerre, n, alpha + 1, x), 3, 0.5, names="n alpha"
)
eval_laguerre = _polynomial(special.eval_laguerre, lambda n, x: -_lower(eval_genlaguerre, n, 1.0, x), 3)
eval_legendre = _polynomial(special.eval_legendre, _legendre_slope, 3)
eval_chebyu = _polynomial(special.eval_chebyu, _second_kind_slope, 3)
eval_chebyt = _polynomial(special.eval_chebyt, lambda n, x: n * _lower(eval_chebyu, n, x), 3)
eval_chebys = _polynomial(special.eval_chebys, lambda n, x: _second_kind_slope(n, x / 2) / 2, 3)
eval_chebyc = _polynomial(special.eval_chebyc, lambda n, x: n * _lower(eval_chebys, n, x), 3)
eval_hermite: Value = _polynomial(special.eval_hermite, lambda n, x: 2 * n * _lower(eval_hermite, n, x), 3)
eval_hermitenorm: Value = _polynomial(special.eval_hermitenorm, lambda n, x: n * _lower(eval_hermitenorm, n, x), 3)

eval_sh_legendre = _polynomial(special.eval_sh_legendre, lambda n, x: 2 * _legendre_slope(n, 2 * x - 1), 3, x=_SHIFTED)
eval_sh_chebyu = _polynomial(special.eval_sh_chebyu, lambda n, x: 2 * _second_kind_slope(n, 2 * x - 1), 3, x=_SHIFTED)
eval_sh_chebyt = _polynomial(
    special.eval_sh_chebyt, lambda n, x: 2 * n * _lower(eval_chebyu, n, 2 * x - 1), 3, x=_SHIFTED
)
# Its leading coefficient is 1, and so that of its derivative is n.
eval_sh_jacobi: Value = _polynomial(
    special.eval_sh_jacobi,
    lambda n, p, q, x: n * _lower(eval_sh_jacobi, n, p + 2, q + 1, x),
    3,
    2.5,
    1.5,
    names="n p q",
    x=_SHIFTED,
)


def _legendre_function_slope(m: Array, v: Array, x: Array, out: Array) -> Array:
    """Inside of -1 and 1 by a quotient; at these, of the order 0, by the polynomial's own slope."""
    end = np.equal(np.abs(x), 1)
    inside = where(end, 0.5, x)
    lowest = np.equal(v + m, 0)  # where there is no function of a lower degree
    lower = where(lowest, 0.0, (v + m) * lpmv(m, where(lowest, v, v - 1), inside))
    quotient = (v * inside * out - lower) / (inside * inside - 1)
    at_end = where(np.equal(m, 0), _legendre_slope(v, x), np.nan)
    # Beyond 1, SciPy's values are no function's that is known.
    return where(np.greater(np.abs(x), 1), np.nan, where(end, at_end, quotient))


lpmv: Value = function_of(
    "m v x",
    special.lpmv,
    NotDifferentiable("its derivative by the order has no closed form"),
    _DEGREE,
    _legendre_function_slope,
    at=(1, 3, _INTERVAL),
)
