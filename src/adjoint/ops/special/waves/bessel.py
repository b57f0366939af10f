"""Bessel, exponential-integral, elliptic and hypergeometric functions of `scipy.special`.

Derivatives: NIST Digital Library of Mathematical Functions, 10.6 and 10.29 (Bessel), 6.2 and 8.19 (exponential
integrals), 15.5 and 13.3 (hypergeometric), 19.5 (complete elliptic integrals as hypergeometric functions).
"""

from __future__ import annotations

import math

import numpy as np
from scipy import special

from adjoint.core.constructors import elementwise
from adjoint.core.op import call
from adjoint.core.rules.pullbacks import NotDifferentiable
from adjoint.core.types import Array, Value
from adjoint.ops.special.forms import defined, narrowed, real, where

_BY_ORDER = NotDifferentiable("its derivative by the order has no closed form")


def _function(ufunc: Value, partial: object, low: float, high: float) -> Array:
    return elementwise(ufunc, partial=defined(partial, "x"), domain=(low, high), answers=(ufunc,))


def _of_order(
    ufunc: Value, partial: object, *orders: float, low: float, high: float, also: tuple[float, ...] = ()
) -> Array:
    """A function of orders ``v`` (or ``a, b, c``) that are constants, and of ``x``; tests take orders `also`."""
    names = ("v",) if len(orders) == 1 else ("a", "b", "c")[: len(orders)]
    return elementwise(
        ufunc,
        name=ufunc.__name__,
        inputs=(*names, "x"),
        partials=(_BY_ORDER,) * len(orders) + (defined(narrowed(partial), "x"),),
        answers=(ufunc,),
        samples=lambda r: [
            call(*orders, r(3, 4, low=low, high=high)),
            call(*orders, r(low=low, high=high)),
            *(call(order, r(3, low=low, high=high)) for order in also),
        ],
    )


jv: Value = _of_order(special.jv, lambda v, x: 0.5 * (jv(v - 1, x) - jv(v + 1, x)), 1.5, low=0.5, high=4)
yv: Value = _of_order(special.yv, lambda v, x: 0.5 * (yv(v - 1, x) - yv(v + 1, x)), 1.5, low=0.5, high=4)
iv: Value = _of_order(special.iv, lambda v, x: 0.5 * (iv(v - 1, x) + iv(v + 1, x)), 1.5, low=0.5, high=4)
kv: Value = _of_order(special.kv, lambda v, x: -0.5 * (kv(v - 1, x) + kv(v + 1, x)), 1.5, low=0.5, high=4)
# SciPy cuts the orders of these two to whole numbers.
yn: object = _of_order(
    special.yn, lambda v, x: 0.5 * (yv(np.trunc(v) - 1, x) - yv(np.trunc(v) + 1, x)), 2, low=0.5, high=4
)
kn: object = _of_order(
    special.kn, lambda v, x: -0.5 * (kv(np.trunc(v) - 1, x) + kv(np.trunc(v) + 1, x)), 2, low=0.5, high=4
)
# The scaled ones: exp(-|x|) I and exp(x) K.
ive: Value = _of_order(
    special.ive,
    lambda v, x, out: 0.5 * (ive(v - 1, x) + ive(v + 1, x)) - np.sign(real(x, "ive")) * out,
    1.5,
    low=0.5,
    high=4,
)
kve: Value = _of_order(special.kve, lambda v, x, out: out - 0.5 * (kve(v - 1, x) + kve(v + 1, x)), 1.5, low=0.5, high=4)

j0: Value = _function(special.j0, lambda x: -j1(x), -4, 4)
j1: Value = _function(special.j1, lambda x: 0.5 * (j0(x) - jv(2.0, x)), -4, 4)
y0: Array = _function(special.y0, lambda x: -y1(x), 0.5, 4)
y1: Array = _function(special.y1, lambda x: 0.5 * (y0(x) - yv(2.0, x)), 0.5, 4)
i0: Value = elementwise(  # another name: `ad.i0` is NumPy's
    special.i0, name="bessel_i0", partial=lambda x: i1(x), answers=(special.i0,)
)
i1: Value = _function(special.i1, lambda x: 0.5 * (i0(x) + iv(2.0, x)), -2, 2)
k0: Value = _function(special.k0, lambda x: -k1(x), 0.5, 4)
k1: Value = _function(special.k1, lambda x: -0.5 * (k0(x) + kv(2.0, x)), 0.5, 4)
i0e: Value = _function(special.i0e, lambda x, out: i1e(x) - np.sign(x) * out, -2, -0.2)
i1e: Value = _function(special.i1e, lambda x, out: 0.5 * (i0e(x) + ive(2.0, x)) - np.sign(x) * out, -2, -0.2)
k0e: Value = _function(special.k0e, lambda x, out: out - k1e(x), 0.5, 4)
k1e: Value = _function(special.k1e, lambda x, out: out - 0.5 * (k0e(x) + kve(2.0, x)), 0.5, 4)

expi: object = _function(special.expi, lambda x: np.exp(x) / x, 0.3, 3)
exp1: object = _function(special.exp1, lambda x: -np.exp(-x) / x, 0.3, 3)


def _expn_slope(v: Array, x: Array, out: Array) -> Array:
    """The derivative of E_n is -E_(n-1), n being cut to a whole number; E_(-1) comes from E_0."""
    n = np.trunc(v)
    return where(np.less(n, 1), -(out + np.exp(-x)) / x, -expn(np.maximum(n, 1) - 1, x))


expn: Value = _of_order(special.expn, _expn_slope, 3, low=0.5, high=3, also=(0, 1, 2))


# SciPy's functions are infinite where a lower parameter is 0, also if the series ends before.


def _kummer_slope(a: Array, b: Array, x: Array) -> Array:
    """a/b 1F1(a + 1, b + 1, x), of which a series of one term is 1."""
    done, none = np.equal(a, -1), np.equal(a, 0)
    rest = where(done, 1.0, hyp1f1(a + 1, where(done, 1.0, b + 1), x))
    return where(none, 0.0, np.divide(where(none, 0.0, a * rest), where(none, 1.0, b)))


def _gauss_slope(a: Array, b: Array, c: Array, x: Array) -> Array:
    """ab/c 2F1(a + 1, b + 1, c + 1, x), of which a series of one term is 1."""
    done, none = np.equal(a, -1) | np.equal(b, -1), np.equal(a * b, 0)
    rest = where(done, 1.0, hyp2f1(a + 1, b + 1, where(done, 1.0, c + 1), x))
    return where(none, 0.0, np.divide(where(none, 0.0, a * b * rest), where(none, 1.0, c)))


hyp0f1: Value = _of_order(special.hyp0f1, lambda v, x: np.divide(hyp0f1(v + 1, x), v), 1.5, low=-1, high=1)
hyp1f1: Value = _of_order(special.hyp1f1, _kummer_slope, 1.5, 2.5, low=-1, high=1)
hyp2f1: Value = _of_order(special.hyp2f1, _gauss_slope, 0.5, 1.5, 2.0, low=-0.5, high=0.5)


# All derivatives without the loss of digits near 0 of the forms that divide by x.
def exprel_slope(x: Array) -> Array:
    """Half of 1F1(2, 3, x); at infinity by hand, where SciPy's 1F1 does not return."""
    far = np.isinf(x)
    return where(far, np.maximum(x, 0.0), 0.5 * hyp1f1(2.0, 3.0, where(far, 0.0, x)))


exprel: object = _function(special.exprel, exprel_slope, -2, 2)
ellipk: object = _function(
    special.ellipk, lambda x: (math.pi / 8 * hyp2f1(1.5, 1.5, 2.0, x)).astype(x.dtype), -0.5, 0.7
)
ellipe: object = _function(
    special.ellipe, lambda x: (-math.pi / 8 * hyp2f1(0.5, 1.5, 2.0, x)).astype(x.dtype), -0.5, 0.7
)
