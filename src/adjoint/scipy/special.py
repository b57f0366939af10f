"""`scipy.special` for tensors: its ufuncs themselves, which dispatch, and functions written in Python, which do not.

    from adjoint.scipy import special

    special.gammaln(t)                # as scipy.special.gammaln(t)
    special.logsumexp(t, axis=1)      # scipy.special.logsumexp does not take tensors

`gammainc`, `betainc`, their inverses and the distribution functions have derivatives by all arguments, shapes too. The
Bessel functions and their like have one by their last argument: by an order there is no closed form, and asking for it
raises `NotDifferentiableError`.
"""

from __future__ import annotations

import difflib

import numpy as np
from scipy import special as _scipys

from adjoint.core.op import Op
from adjoint.core.registry import ENTRIES
from adjoint.core.types import Array, Axis, Function
from adjoint.ops.special import functions as _functions
from adjoint.ops.special import gamma as _gamma
from adjoint.scipy.arrays import array as _array
from adjoint.scipy.harmonics import assoc_legendre_p, legendre_p, sph_harm_y, sph_legendre_p  # noqa: F401 - public here

multigammaln = _functions.multigammaln
polygamma = _functions.polygamma
# SciPy's psi, by both of its names.
psi = digamma = _gamma.digamma
lambertw = _scipys.lambertw  # which hands arrays of every kind on to a ufunc


def logsumexp(a: Array, axis: Axis = None, b: Array = None, keepdims: bool = False, return_sign: bool = False) -> Array:
    """`scipy.special.logsumexp`: the logarithm of a sum of exponentials, without overflow.

    Args:
        a: exponents.
        axis: an axis, several, or all.
        b: factors of the exponentials, which broadcast against `a`; negative ones too.
        return_sign: give ``(logarithm of the absolute value, sign)``; without it, a negative sum gives nan.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> from adjoint.scipy.special import logsumexp
        >>> ad.grad(logsumexp)(np.array([1000.0, 1000.0]))
        array([0.5, 0.5])
    """
    a = _array(a)
    if b is None and not return_sign:
        return ENTRIES["logsumexp"](a, axis=axis, keepdims=keepdims)
    b = np.ones((), a.real.dtype) if b is None else _array(b)
    axes = tuple(range(a.ndim)) if axis is None else axis
    a, b = np.broadcast_arrays(a, b)
    largest = np.max(np.where(np.equal(b, 0), -np.inf, a), axis=axes, keepdims=True)
    shift = np.where(np.isfinite(largest), largest, 0.0)
    shift = shift.detach() if hasattr(shift, "detach") else shift  # it cancels
    total = np.sum(np.where(np.equal(b, 0), 0.0, b * np.exp(np.where(np.equal(b, 0), 0.0, a - shift))), axis=axes,
                   keepdims=True)  # fmt: skip
    sign = np.sign(total)
    with np.errstate(divide="ignore", invalid="ignore"):
        result = np.log(np.abs(total) if return_sign else total) + shift
    if not keepdims:
        result, sign = np.squeeze(result, axes), np.squeeze(sign, axes)
    return (result, sign) if return_sign else result


def softmax(x: Array, axis: Axis = None) -> Array:
    """`scipy.special.softmax`: exponentials over their sum, along an axis, several, or all.

    Example:
        >>> import numpy as np
        >>> from adjoint.scipy.special import softmax
        >>> softmax(np.array([1000.0, 1000.0]))
        array([0.5, 0.5])
    """
    return np.exp(log_softmax(x, axis))


def log_softmax(x: Array, axis: Axis = None) -> Array:
    """`scipy.special.log_softmax`: the logarithm of `softmax`.

    Example:
        >>> import numpy as np
        >>> from adjoint.scipy import special
        >>> special.log_softmax(np.zeros(2)).round(4)
        array([-0.6931, -0.6931])
    """
    x = _array(x)
    return x - logsumexp(x, axis=axis, keepdims=True)


def zeta(x: Array, q: Array = None) -> Array:
    """`scipy.special.zeta`: the sum of ``(k + q) ** -x`` over k = 0, 1, …; without `q`, Riemann's (`q` = 1).

    Example:
        >>> from adjoint.scipy import special
        >>> special.zeta(2.0).round(6)
        np.float64(1.644934)
    """
    return _scipys.zeta(x, None if np.iscomplexobj(x) and q is None else 1.0 if q is None else q)


def __getattr__(name: str) -> Function:
    """Any function of SciPy that dispatches, or whose rule we have; those of Bessel, say."""
    theirs = getattr(_scipys, name, None)
    if isinstance(theirs, np.ufunc):
        return theirs
    entry = ENTRIES.get(name)
    if theirs is not None and isinstance(entry, Op) and entry.kind == "elementwise":
        return entry
    known = [n for n in dir(_scipys) if isinstance(getattr(_scipys, n), np.ufunc)]
    near = ", ".join(difflib.get_close_matches(name, [*known, *globals()], n=3))
    raise AttributeError(f"adjoint.scipy.special has no {name!r}" + (f"; the nearest it has: {near}" if near else ""))
