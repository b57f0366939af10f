"""Exponentials and logarithms, and functions built from them."""

from __future__ import annotations

import math

import numpy as np

from adjoint.core.constructors import elementwise
from adjoint.core.types import Array

_LN2, _LN10 = math.log(2), math.log(10)

exp = elementwise(np.exp, partial=lambda out: out)
exp2 = elementwise(np.exp2, partial=lambda out: out * _LN2)
expm1 = elementwise(np.expm1, partial=lambda out: out + 1)
log = elementwise(np.log, partial=lambda x: 1 / x, domain=(0.3, 3))
log2 = elementwise(np.log2, partial=lambda x: 1 / (x * _LN2), domain=(0.3, 3))
log10 = elementwise(np.log10, partial=lambda x: 1 / (x * _LN10), domain=(0.3, 3))
log1p = elementwise(np.log1p, partial=lambda x: 1 / (1 + x), domain=(-0.5, 3))
logaddexp = elementwise(
    np.logaddexp,
    partials=(lambda x, out: np.exp(x - out), lambda y, out: np.exp(y - out)),
    flags=("commutative", "finite"),
)
logaddexp2 = elementwise(
    np.logaddexp2,
    partials=(lambda x, out: np.exp2(x - out), lambda y, out: np.exp2(y - out)),
    flags=("commutative", "finite"),
)


def _i1(x: Array) -> Array:
    from adjoint.ops.special.waves.bessel import i1

    return i1(x)


i0 = elementwise(lambda x: np.i0(x), partial=lambda x: _i1(x), name="i0", flags=("array",), answers=(np.i0,))
