"""SciPy's special functions: of errors, polygamma functions, entropies and logarithms, the normal distribution.

Loaded when `scipy.special` is in use, and not before. `bessel` has the Bessel and hypergeometric functions.
Derivatives: NIST Digital Library of Mathematical Functions, chapters 5-8 and 25, unless another source is named.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy import special

from adjoint.core.backend import surely_any
from adjoint.core.constants import constant
from adjoint.core.constructors import composite
from adjoint.core.errors import ArgumentError, DTypeError
from adjoint.core.memory import NEW_C
from adjoint.core.op import Op, call
from adjoint.core.registry import ANSWERS, operation
from adjoint.core.types import Array, Value
from adjoint.ops.elementwise.arithmetic import by_base, by_exponent
from adjoint.ops.special.forms import defined, of_ufunc, where
from adjoint.ops.special.gamma import digamma, gammaln, zeta
from adjoint.ops.special.waves import bessel  # noqa: F401 - imported for what it registers

_SQRT_PI, _SQRT_2PI = math.sqrt(math.pi), math.sqrt(2 * math.pi)


def _bounded(ufunc: object, partials: Value, inputs: Sequence[str] = ("x", "y"), **rules: Value) -> Array:
    """The same for one that is nan for some arguments, or finite at infinity."""
    rules |= {"inputs": inputs[: len(partials)]}
    return of_ufunc(ufunc, partials=tuple(map(defined, partials, inputs)), **rules)


# -- Of errors, and of the normal distribution ----------------------------------------------------------

erf = of_ufunc(special.erf, partial=lambda x: 2 / _SQRT_PI * np.exp(-x * x))
erfc = of_ufunc(special.erfc, partial=lambda x: -2 / _SQRT_PI * np.exp(-x * x))
erfcx = _bounded(special.erfcx, (lambda x, out: 2 * x * out - 2 / _SQRT_PI,))
erfi = of_ufunc(special.erfi, partial=lambda x: 2 / _SQRT_PI * np.exp(x * x), domain=(-1, 1))
dawsn = _bounded(special.dawsn, (lambda x, out: 1 - 2 * x * out,))
erfinv = of_ufunc(special.erfinv, partial=lambda out: _SQRT_PI / 2 * np.exp(out * out), domain=(-0.8, 0.8))
erfcinv = of_ufunc(special.erfcinv, partial=lambda out: -_SQRT_PI / 2 * np.exp(out * out), domain=(0.2, 1.8))
ndtr = of_ufunc(special.ndtr, partial=lambda x: np.exp(-0.5 * x * x) / _SQRT_2PI)
ndtri = of_ufunc(special.ndtri, partial=lambda out: _SQRT_2PI * np.exp(0.5 * out * out), domain=(0.1, 0.9))
# The density over the probability, in logarithms: both vanish far to the left, their ratio does not.
log_ndtr = of_ufunc(special.log_ndtr, partial=lambda x, out: np.exp(-0.5 * x * x - out) / _SQRT_2PI)
ndtri_exp = of_ufunc(
    special.ndtri_exp, partial=lambda x, out: _SQRT_2PI * np.exp(x + 0.5 * out * out), domain=(-3, -0.2)
)
owens_t = _bounded(
    special.owens_t,
    partials=(
        lambda x, y: np.exp(-0.5 * x * x) * erf(x * y / math.sqrt(2)) / (-2 * _SQRT_2PI),
        lambda x, y: np.exp(-0.5 * x * x * (1 + y * y)) / (2 * math.pi * (1 + y * y)),
    ),
)

# -- Logistic ------------------------------------------------------------------------------------------

expit = of_ufunc(special.expit, partial=lambda out: out * (1 - out))
logit = _bounded(special.logit, (lambda x: 1 / (x * (1 - x)),), domain=(0.1, 0.9))
log_expit = of_ufunc(special.log_expit, partial=lambda x: expit(-x))

# -- Polygamma, and the multivariate gamma function ---------------------------------------------------------


@composite(special.polygamma, samples=lambda r: [call(0, r(3, 4, low=0.5, high=3)), call(2, r(3, low=0.5, high=3))])
def polygamma(n: int, x: Array) -> Array:
    """The derivative number `n` of digamma: SciPy's `polygamma` for one whole number `n`."""
    if np.iscomplexobj(x):
        raise DTypeError("scipy.special.polygamma takes real numbers; got complex ones")
    if n == 0:
        out: Array = digamma(x)
        return out.astype(float) if np.result_type(x).kind in "biu" else out
    return (-1.0) ** (n + 1) * math.factorial(n) * zeta(n + 1.0, x)


@composite(special.multigammaln, memory=NEW_C, samples=lambda r: [call(r(3, 4, low=2.5, high=4), 3)])
def multigammaln(a: Array, d: int) -> Array:
    """The logarithm of the multivariate gamma function of dimension `d`, as SciPy's."""
    if np.iscomplexobj(a):
        raise DTypeError("scipy.special.multigammaln takes real numbers; got complex ones")
    if surely_any(np.less_equal(a, (d - 1) / 2)):
        raise ArgumentError(
            f"scipy.special.multigammaln: every element of `a` must be above (d - 1) / 2 = {(d - 1) / 2}"
        )
    return d * (d - 1) / 4 * math.log(math.pi) + sum(gammaln(a - i / 2) for i in range(d))


# -- Logarithms times something, and entropies -----------------------------------------------------------


def _idle(x: Array, y: Array) -> Array:
    """Where x is 0 and log(y) infinite or nan: there x log(y) is 0 by convention, and so are its derivatives."""
    return np.logical_and(np.equal(x, 0), np.less_equal(y, 0))


def _ratio(x: Array, y: Array) -> Array:
    """x / y, and 0 for 0 / 0."""
    idle = np.logical_and(np.equal(x, 0), np.equal(y, 0))
    return where(idle, 0.0, x / where(idle, 1.0, y))


xlogy = _bounded(
    special.xlogy,
    partials=(lambda x, y, out: where(_idle(x, y), 0.0, np.log(where(_idle(x, y), 1.0, y))).astype(out.dtype), _ratio),
    domain=((-2, 2), (0.3, 3)),
)
xlog1py = _bounded(
    special.xlog1py,
    partials=(
        lambda x, y, out: where(_idle(x, 1 + y), 0.0, np.log1p(where(_idle(x, 1 + y), 0.0, y))).astype(out.dtype),
        lambda x, y: _ratio(x, 1 + y),
    ),
    domain=((-2, 2), (-0.5, 3)),
)
entr = of_ufunc(special.entr, partial=lambda x: -np.log(x) - 1, domain=(0.3, 3))
rel_entr = of_ufunc(
    special.rel_entr, partials=(lambda x, y: np.log(x / y) + 1, lambda x, y: -_ratio(x, y)), domain=(0.3, 3)
)
kl_div = of_ufunc(special.kl_div, partials=(lambda x, y: np.log(x / y), lambda x, y: 1 - _ratio(x, y)), domain=(0.3, 3))
powm1 = _bounded(
    special.powm1, partials=(by_base, lambda x, y, out: by_exponent(x, y, out + 1)), domain=((0.3, 2), (-2, 2))
)


def _spence_slope(x: Array) -> Array:
    """log(x) / (1 - x); near 1 by its series."""
    near = np.less(np.abs(x - 1), 0.01)
    away, d = where(near, 2.0, x), where(near, x - 1, 0.0)
    series = sum((-d) ** k / -(k + 1) for k in range(10))
    return where(near, series, np.log(away) / (1 - away)).astype(x.dtype)


spence = of_ufunc(special.spence, partial=_spence_slope, domain=(0.3, 3))
wrightomega = _bounded(special.wrightomega, (lambda out: out / (1 + out),))
huber = of_ufunc(
    special.huber,
    inputs=("delta", "x"),
    partials=(lambda delta, x: np.maximum(abs(x) - delta, 0.0), lambda delta, x: np.clip(x, 0.0 - delta, delta)),
    domain=((0.5, 1), (-2, 2)),
)


def _slant(delta: Array, x: Array) -> Array:
    """The longest side of a right triangle, to divide by: 1 if all are 0."""
    side = np.hypot(delta, x)
    return where(np.equal(side, 0), 1.0, side)


def _pseudo_huber_by_delta(delta: Array, x: Array) -> Array:
    """(side - delta)^2 / side, without the difference, which loses digits where x is small."""
    side = _slant(delta, x)
    rest = x * (x / (side + delta))
    return rest * (rest / side)


pseudo_huber = _bounded(
    special.pseudo_huber,
    inputs=("delta", "x"),
    partials=(_pseudo_huber_by_delta, lambda delta, x: x * (delta / _slant(delta, x))),
    domain=((0.5, 1), (-2, 2)),
)

# -- Powers and circles, as SciPy has them --------------------------------------------------------------

_DEGREE = math.pi / 180
exp10 = of_ufunc(special.exp10, partial=lambda out: out * math.log(10))
cosm1 = of_ufunc(special.cosm1, partial=lambda x: -np.sin(x))
sindg = of_ufunc(special.sindg, partial=lambda x: cosdg(x) * _DEGREE, domain=(-90, 90))
cosdg: Op = of_ufunc(special.cosdg, partial=lambda x: sindg(x) * -_DEGREE, domain=(-90, 90))
tandg = _bounded(special.tandg, (lambda out: (1 + out * out) * _DEGREE,), domain=(-60, 60))
cotdg = _bounded(special.cotdg, (lambda out: (1 + out * out) * -_DEGREE,), domain=(30, 150))

ANSWERS[special._ufuncs._zeta] = zeta  # to which SciPy's function hands tensors on
constant(special.gammasgn)
ANSWERS |= {
    getattr(special, name): operation(ours)
    for name, ours in (("exp2", "exp2"), ("expm1", "expm1"), ("log1p", "log1p"), ("cbrt", "cbrt"), ("round", "rint"))
}
