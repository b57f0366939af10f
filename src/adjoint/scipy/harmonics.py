"""Legendre functions and spherical harmonics, by Gegenbauer's polynomials, which have derivatives everywhere.

The m-th derivative of the polynomial P_n is (2m - 1)!! times Gegenbauer's of degree n - m and weight m + 1/2
(DLMF 18.9.19).
"""

from __future__ import annotations

import numpy as np
from scipy import special as scipys

from adjoint.core.errors import NotSupportedError
from adjoint.core.types import Array
from adjoint.scipy.arrays import plain


def _orders(n: Array, m: Array) -> tuple[np.ndarray, np.ndarray]:
    """Degrees, and orders without their signs."""
    return np.asarray(plain(n)), np.abs(np.asarray(plain(m)))


def _derivative(n: np.ndarray, m: np.ndarray, x: Array) -> Array:
    """The m-th derivative of the Legendre polynomial of degree `n`: 0 where m > n."""
    found = scipys.eval_gegenbauer(np.maximum(n - m, 0), m + 0.5, x)
    return np.where(m > n, 0.0, scipys.factorial2(np.maximum(2 * m - 1, 0)) * found)


def _refuse(name: str, diff_n: int) -> None:
    if diff_n != 0:
        raise NotSupportedError(f"{name} of tensors takes no diff_n: differentiate it, by ad.jvp or ad.grad")


def legendre_p(n: Array, z: Array, *, diff_n: int = 0) -> Array:
    """`scipy.special.legendre_p`: Legendre polynomials of degree `n`, with one more axis in front, as SciPy has it.

    Raises:
        NotSupportedError: if `diff_n` is not 0.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> from adjoint.scipy import special
        >>> ad.jvp(lambda z: special.legendre_p(2, z), (0.5,), (1.0,))[1]
        array([1.5])
    """
    _refuse("legendre_p", diff_n)
    return scipys.eval_legendre(np.asarray(plain(n)), z)[None]


def assoc_legendre_p(
    n: Array, m: Array, z: Array, *, branch_cut: int = 2, norm: bool = False, diff_n: int = 0
) -> Array:  # fmt: skip
    """`scipy.special.assoc_legendre_p` of real numbers, with one more axis in front, as SciPy has it.

    Raises:
        NotSupportedError: if it is to be normalised, or another branch is asked for, or `diff_n` is not 0.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> from adjoint.scipy import special
        >>> ad.jvp(lambda z: special.assoc_legendre_p(2, 1, z), (0.0,), (1.0,))[1]
        array([-3.])
    """
    _refuse("assoc_legendre_p", diff_n)
    if norm or branch_cut != 2:
        raise NotSupportedError("assoc_legendre_p of tensors takes neither norm=True nor branch_cut=3")
    degree, order = _orders(n, m)
    mirrored = np.exp(scipys.gammaln(np.maximum(degree - order, 0) + 1.0) - scipys.gammaln(degree + order + 1.0))
    factor = np.where(np.asarray(plain(m)) < 0, mirrored, (-1.0) ** order)
    return (factor * (1.0 - z * z) ** (order / 2) * _derivative(degree, order, z))[None]


def _of_angle(n: Array, m: Array, theta: Array) -> Array:
    degree, order = _orders(n, m)
    ratio = np.exp(scipys.gammaln(np.maximum(degree - order, 0) + 1.0) - scipys.gammaln(degree + order + 1.0))
    sign = np.where(np.asarray(plain(m)) < 0, 1.0, (-1.0) ** order)
    height = np.sin(theta)
    height = np.where(height < 0, -height, height)  # with a derivative at the poles, from within
    factor = sign * np.sqrt((2 * degree + 1) / (4 * np.pi) * ratio)
    return factor * height**order * _derivative(degree, order, np.cos(theta))


def sph_legendre_p(n: Array, m: Array, theta: Array, *, diff_n: int = 0) -> Array:
    """`scipy.special.sph_legendre_p`: spherical harmonics at longitude 0, with one more axis in front, as SciPy has it.

    Raises:
        NotSupportedError: if `diff_n` is not 0.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> from adjoint.scipy import special
        >>> ad.jvp(lambda t: special.sph_legendre_p(1, 0, t), (np.pi / 2,), (1.0,))[1].round(4)
        array([-0.4886])
    """
    _refuse("sph_legendre_p", diff_n)
    return _of_angle(n, m, theta)[None]


def sph_harm_y(n: Array, m: Array, theta: Array, phi: Array, *, diff_n: int = 0) -> Array:
    """`scipy.special.sph_harm_y`: the spherical harmonic of degree `n` and order `m`, complex.

    Args:
        theta: the angle from the pole, phi: the longitude, in radians.

    Raises:
        NotSupportedError: if `diff_n` is not 0.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> from adjoint.scipy import special
        >>> ad.grad(lambda t: special.sph_harm_y(1, 0, t, 0.3).real)(np.pi / 2).round(4)
        np.float64(-0.4886)
    """
    _refuse("sph_harm_y", diff_n)
    return _of_angle(n, m, theta) * np.exp(1j * np.asarray(plain(m)) * phi)
