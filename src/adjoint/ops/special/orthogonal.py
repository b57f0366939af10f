"""Orthogonal polynomials of `scipy.special`: the derivative of each is one of a lower degree.

Derivatives: NIST Digital Library of Mathematical Functions, 18.9 (iii), and 14.10 (Legendre functions).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import special

from adjoint.core.pullbacks import NotDifferentiable
from adjoint.ops.special.forms import BY_SHAPE, SamplePlace, function_of

_DEGREE = NotDifferentiable("its derivative by the degree has no closed form")
_INTERVAL = (-0.9, 0.9)
_SHIFTED = (0.1, 0.9)


def _polynomial(ufunc: Any, slope: Any, *fixed: float, names: str = "n", x: SamplePlace = _INTERVAL) -> Any:
    rules = (_DEGREE,) + (BY_SHAPE,) * (len(fixed) - 1)
    return function_of(f"{names} x", ufunc, *rules, slope, at=(*fixed, x))


def _lower(polynomial: Any, n: Any, *arguments: Any) -> Any:
    """`polynomial` of degree n - 1; 0 for the degree -1, for which SciPy's functions give what they please."""
    return np.where(np.equal(n, 0), 0.0, polynomial(np.where(np.equal(n, 0), 1, n) - 1, *arguments))


eval_gegenbauer: Any = _polynomial(
    special.eval_gegenbauer,
    lambda n, alpha, x: 2 * alpha * _lower(eval_gegenbauer, n, alpha + 1, x),
    3,
    0.5,
    names="n alpha",
)
eval_jacobi: Any = _polynomial(
    special.eval_jacobi,
    lambda n, alpha, beta, x: (n + alpha + beta + 1) / 2 * _lower(eval_jacobi, n, alpha + 1, beta + 1, x),
    3,
    0.5,
    1.5,
    names="n alpha beta",
)
eval_genlaguerre: Any = _polynomial(
    special.eval_genlaguerre, lambda n, alpha, x: -_lower(eval_genlaguerre, n, alpha + 1, x), 3, 0.5, names="n alpha"
)
eval_laguerre = _polynomial(special.eval_laguerre, lambda n, x: -_lower(eval_genlaguerre, n, 1.0, x), 3)
eval_legendre = _polynomial(special.eval_legendre, lambda n, x: _lower(eval_gegenbauer, n, 1.5, x), 3)
eval_chebyu = _polynomial(special.eval_chebyu, lambda n, x: 2 * _lower(eval_gegenbauer, n, 2.0, x), 3)
eval_chebyt = _polynomial(special.eval_chebyt, lambda n, x: n * _lower(eval_chebyu, n, x), 3)
eval_chebys = _polynomial(special.eval_chebys, lambda n, x: _lower(eval_gegenbauer, n, 2.0, x / 2), 3)
eval_chebyc = _polynomial(special.eval_chebyc, lambda n, x: n * _lower(eval_chebys, n, x), 3)
eval_hermite: Any = _polynomial(special.eval_hermite, lambda n, x: 2 * n * _lower(eval_hermite, n, x), 3)
eval_hermitenorm: Any = _polynomial(special.eval_hermitenorm, lambda n, x: n * _lower(eval_hermitenorm, n, x), 3)

eval_sh_legendre = _polynomial(
    special.eval_sh_legendre, lambda n, x: 2 * _lower(eval_gegenbauer, n, 1.5, 2 * x - 1), 3, x=_SHIFTED
)
eval_sh_chebyu = _polynomial(
    special.eval_sh_chebyu, lambda n, x: 4 * _lower(eval_gegenbauer, n, 2.0, 2 * x - 1), 3, x=_SHIFTED
)
eval_sh_chebyt = _polynomial(
    special.eval_sh_chebyt, lambda n, x: 2 * n * _lower(eval_chebyu, n, 2 * x - 1), 3, x=_SHIFTED
)
# Its leading coefficient is 1, and so that of its derivative is n.
eval_sh_jacobi: Any = _polynomial(
    special.eval_sh_jacobi,
    lambda n, p, q, x: n * _lower(eval_sh_jacobi, n, p + 2, q + 1, x),
    3,
    2.5,
    1.5,
    names="n p q",
    x=_SHIFTED,
)

lpmv: Any = function_of(
    "m v x",
    special.lpmv,
    NotDifferentiable("its derivative by the order has no closed form"),
    _DEGREE,
    lambda m, v, x, out: np.where(  # beyond 1, SciPy's values are no function's that is known
        np.abs(x) > 1, np.nan, (v * x * out - (v + m) * lpmv(m, v - 1, x)) / (x * x - 1)
    ),
    at=(1, 3, _INTERVAL),
)
