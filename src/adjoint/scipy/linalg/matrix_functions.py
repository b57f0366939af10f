"""Functions of a matrix: exponential, logarithm, square root, polar factors.

Rules: the Fréchet derivative of f at A, transposed, is that at A^H (N. Higham, Functions of Matrices, 2008,
chapter 3); it is a block of f([[A, E], [0, A]]) (R. Mathias, 1996), so that derivatives of every order are
functions of larger matrices.
"""

from __future__ import annotations

import numpy as np
from scipy import linalg

from adjoint.core.box import raw
from adjoint.core.constructors import general
from adjoint.core.errors import ArgumentError, ShapeError
from adjoint.core.op import call
from adjoint.core.types import Array, Function
from adjoint.ops.linalg.factors.svd import svd_cotangent, svd_tangents
from adjoint.ops.linalg.lapack import hermitian, unused, well_posed
from adjoint.ops.shape.reshaping import merged
from adjoint.scipy.arrays import array, square
from adjoint.scipy.linalg.matrix_equations import sylvester

# From this size on SciPy's own method is quicker than the exponential of the blocks.
_LARGE = 40
# Eigenvalues within this angle of the negative real axis are negative numbers, but for rounding.
_ON_CUT = 1e-6

# -- Exponential --------------------------------------------------------------------------------------


def expm(A: Array) -> Array:  # noqa: N803 - SciPy's name
    """`scipy.linalg.expm`: the exponential of a matrix, or of each of a stack (..., n, n).

    Raises:
        ShapeError: if `A` is not square.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> from adjoint.scipy.linalg import expm
        >>> ad.grad(lambda a: expm(a)[0, 1])(np.zeros((2, 2)))
        array([[0., 1.],
               [0., 0.]])
    """
    return matrix_exponential(square("scipy.linalg.expm", A))


def _by_exponential(g: Array, a: Array) -> Array:
    return frechet_of_exponential(hermitian(a), g)


@general(
    vjp=_by_exponential,
    jvp=lambda t, a: _exponential_tangent(t, a),
    batch="leading",
    samples=lambda r: [call(r(3, 3)), call(r(2, 2, 2)), call(r(2, 2) + 1j * r(2, 2)), call(np.zeros((2, 2)))],
    errors=lambda r: [call(r(2, 3))],
    flags=("host",),
)
def matrix_exponential(a: Array, /) -> Array:
    return linalg.expm(a)


def _blocks(a: Array, e: Array) -> Array:
    """[[a, e], [0, a]]."""
    return np.concatenate([np.concatenate([a, e], axis=-1), np.concatenate([np.zeros_like(a), a], axis=-1)], axis=-2)


def _corner(g: Array) -> Array:
    """[[0, g], [0, 0]]: where the derivative stands in the function of `_blocks`."""
    none = np.zeros_like(g)
    return np.concatenate([np.concatenate([none, g], axis=-1), np.concatenate([none, none], axis=-1)], axis=-2)


def _frechet_cotangent(g: Array, a: Array, e: Array, rule: Function) -> Array:
    """The cotangent of `a` for that of the derivative at `a` along `e` of a function with this gradient rule."""
    n = g.shape[-1]
    whole = rule(_corner(g), _blocks(a, e))
    return whole[..., :n, :n] + whole[..., n:, n:]


def _exponential_tangent(t: Array, a: Array) -> Array:
    return frechet_of_exponential(a, t)


def _frechet_tangent(t: Array, a: Array, e: object) -> Array:
    """The derivative by `a` along `t` of that along `e`: a corner of that of blocks."""
    n = a.shape[-1]
    return frechet_of_exponential(_blocks(a, e), _blocks(t, np.zeros_like(t)))[..., :n, n:]


@general(
    vjps=(lambda g, a, e: _frechet_cotangent(g, a, e, _by_exponential), _by_exponential),
    jvps=(_frechet_tangent, _exponential_tangent),
    batch="leading",
    samples=lambda r: [call(r(2, 2), r(2, 2)), call(r(2, 2, 2), r(2, 2, 2))],
    flags=("host",),
)
def frechet_of_exponential(a: Array, e: Array, /) -> Array:
    """The derivative of the exponential at `a` along `e`."""
    n, dtype = a.shape[-1], np.result_type(a, e)
    a, e = a.astype(dtype, copy=False), e.astype(dtype, copy=False)
    if a.ndim == 2 and n >= _LARGE:
        return linalg.expm_frechet(a, e, compute_expm=False).astype(dtype, copy=False)
    return linalg.expm(_blocks(a, e))[..., :n, n:]


def expm_frechet(
    A: Array,  # noqa: N803 - SciPy's name
    E: object,  # noqa: N803 - SciPy's name
    method: str | None = None,
    compute_expm: bool = True,
    check_finite: bool = True,
) -> Array:
    """`scipy.linalg.expm_frechet`: the exponential of `A`, and its derivative along `E`; both (..., n, n).

    Example:
        >>> import numpy as np
        >>> from adjoint.scipy.linalg import expm_frechet
        >>> expm_frechet(np.zeros((2, 2)), np.eye(2), compute_expm=False)
        array([[1., 0.],
               [0., 1.]])
    """
    a, e = square("scipy.linalg.expm_frechet", A), square("scipy.linalg.expm_frechet", E)
    derivative = frechet_of_exponential(a, e)
    return (matrix_exponential(a), derivative) if compute_expm else derivative


# -- Logarithm ----------------------------------------------------------------------------------------


def logm(A: Array) -> Array:  # noqa: N803 - SciPy's name
    """`scipy.linalg.logm`: the principal logarithm of a matrix (n, n) without eigenvalues on the negative real axis.

    Raises:
        ShapeError: if `A` is not square.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> from adjoint.scipy.linalg import logm
        >>> ad.grad(lambda a: np.trace(logm(a)))(np.diag([2.0, 4.0])).round(12)  # the inverse
        array([[0.5 , 0.  ],
               [0.  , 0.25]])
    """
    return matrix_logarithm(square("scipy.linalg.logm", A))


def _each(function: Function, a: Array) -> Array:
    """Apply a function of one matrix to each of a stack."""
    if a.ndim == 2:
        return function(a)
    flat = np.stack([function(one) for one in merged(a, 0, a.ndim - 2)])
    return flat.reshape(a.shape)


def _logarithm(a: Array) -> Array:
    # In double precision: SciPy's method tests its own accuracy against that, and warns.
    result = _each(linalg.logm, a.astype(np.result_type(a, np.float64), copy=False))
    return result.astype(np.result_type(a, np.complex64) if result.dtype.kind == "c" else a.dtype, copy=False)


def _by_logarithm(g: Array, a: Array) -> Array:
    """That at A^H, conjugated twice, so that negative eigenvalues have the logarithms that they have at `a`."""
    return np.conj(frechet_of_logarithm(np.swapaxes(a, -1, -2), np.conj(g)))


@general(
    vjp=_by_logarithm,
    jvp=lambda t, a: _logarithm_tangent(t, a),
    samples=lambda r: [call(well_posed(r, 2, 2)), call(well_posed(r, 2, 2) + 1j * r(2, 2))],
    flags=("raises", "host"),
)
def matrix_logarithm(a: Array, /) -> Array:
    return _logarithm(a)


def _logarithm_tangent(t: Array, a: Array) -> Array:
    return frechet_of_logarithm(a, t)


@general(
    vjps=(lambda g, a, e: _frechet_cotangent(g, a, e, _by_logarithm), _by_logarithm),
    jvps=(
        lambda t, a, e: _logarithm_tangent(_blocks(t, np.zeros_like(t)), _blocks(a, e))[..., : len(a), len(a) :],
        _logarithm_tangent,
    ),
    samples=lambda r: [call(well_posed(r, 2, 2), r(2, 2))],
    flags=("host",),
)
def frechet_of_logarithm(a: Array, e: Array, /) -> Array:
    """The derivative of the principal logarithm at `a` along `e`."""
    n, turn = a.shape[-1], _turn_from_cut(a)
    a, e = a * turn, e * turn
    return np.copy(_logarithm(_blocks(a.astype(np.result_type(a, e)), e))[..., :n, n:], order="C")


def _turn_from_cut(a: Array) -> complex:
    """A factor that turns negative eigenvalues away from the cut, and no others across it; the derivative is the same.

    Rounding makes pairs of the double eigenvalues that blocks have, and the logarithms of a pair lie on both sides.
    """
    angles = np.angle(np.linalg.eigvals(a.astype(np.result_type(a, np.float64), copy=False)))
    on_cut = np.abs(angles) > np.pi - _ON_CUT
    if not on_cut.any():
        return 1.0
    return complex(np.exp(-0.5j * (np.pi + np.min(angles, initial=0.0, where=~on_cut))))


# -- Square root, polar factors -----------------------------------------------------------------------


def sqrtm(A: Array) -> Array:  # noqa: N803 - SciPy's name
    """`scipy.linalg.sqrtm`: the principal square root of a matrix, or of each of a stack (..., n, n).

    Raises:
        ShapeError: if `A` is not square.
        numpy.linalg.LinAlgError: at backward, if two eigenvalues of the root add up to 0: then it has no derivative.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> from adjoint.scipy.linalg import sqrtm
        >>> ad.grad(lambda a: np.trace(sqrtm(a)))(np.diag([4.0, 16.0]))
        array([[0.25 , 0.   ],
               [0.   , 0.125]])
    """
    return matrix_root(square("scipy.linalg.sqrtm", A))


@general(
    vjp=lambda g, out: _around(hermitian(out), g),
    jvp=lambda t, out: _around(out, t),
    batch="leading",
    samples=lambda r: [
        call(well_posed(r, 3, 3)),
        call(well_posed(r, 2, 2, 2)),
        call(well_posed(r, 2, 2) + 1j * r(2, 2)),
    ],
    flags=("raises", "host", "array"),
)
def matrix_root(a: Array, /) -> Array:
    result = _each(linalg.sqrtm, np.asarray_chkfinite(a))
    return result.astype(np.result_type(a, np.complex64) if result.dtype.kind == "c" else a.dtype, copy=False)


def _around(a: Array, g: Array) -> Array:
    """The `x` of ``a @ x + x @ a = g``, from one and the same matrix."""
    if not np.all(np.isfinite(raw(a))):
        return g * np.nan  # SciPy's root of a matrix that has none, from 1.18 on
    return sylvester(a, a, g).astype(np.result_type(a, g), copy=False)  # LAPACK has no half precision


def polar(a: Array, side: str = "right") -> tuple[Array, Array]:
    """`scipy.linalg.polar`: ``a = u @ p``, with orthonormal `u` and positive `p`; ``p @ u`` on the left.

    Args:
        a: (m, n), of full rank.

    Raises:
        ArgumentError: for another side.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> from adjoint.scipy.linalg import polar
        >>> ad.grad(lambda a: np.sum(polar(a)[1]))(np.diag([2.0, 3.0])).round(12)
        array([[1. , 0.8],
               [1.2, 1. ]])
    """
    a = array(a)
    if side not in ("left", "right"):
        raise ArgumentError(f"scipy.linalg.polar: side is 'left' or 'right'; got {side!r}")
    if a.ndim != 2:
        raise ShapeError(f"scipy.linalg.polar takes a matrix (m, n); got shape {a.shape}")
    wide = a.shape[0] < a.shape[1]
    u = hermitian(unitary_factor(hermitian(a))) if wide else unitary_factor(a)
    p = np.matmul(hermitian(u), a) if side == "right" else np.matmul(a, hermitian(u))
    return u, (p + hermitian(p)) * 0.5


def _unitary_cotangent(g: Array, a: Array, out: Array) -> Array:
    """With p = u^H a: du = u w + (1 - u u^H) da p^-1, where p w + w p = u^H da - da^H u."""
    g, (u, w, s, vh) = g[0], out
    inner = np.matmul(hermitian(u), g)
    odd = inner - hermitian(inner)
    p = np.matmul(hermitian(u), a)
    if isinstance(s, np.ndarray) and isinstance(vh, np.ndarray):  # p = v s v^H
        odd = np.matmul(np.matmul(vh, odd), hermitian(vh)) / (s[..., :, None] + s[..., None, :])
        c = np.matmul(w, np.matmul(odd, vh))
    else:
        c = np.matmul(u, _around(p, odd))
    if a.shape[-2] > a.shape[-1]:
        c = c + hermitian(np.linalg.solve(p, hermitian(g - np.matmul(u, inner))))
    return c


def _polar_cotangent(g: Array, a: Array, out: Array) -> Array:
    c = _unitary_cotangent(g, a, out)
    return c if all(map(unused, g[1:])) else c + svd_cotangent(g[1:], out[1:])


def _polar_tangents(t: Array, a: Array, out: Array) -> tuple[Array, ...]:
    """By the formula above, in the basis of the singular vectors."""
    u, w, s, vh = out
    inner, v = np.matmul(hermitian(u), t), hermitian(vh)
    odd = np.matmul(np.matmul(vh, inner - hermitian(inner)), v) / (s[..., :, None] + s[..., None, :])
    tu = np.matmul(np.matmul(w, odd), vh)
    if a.shape[-2] > a.shape[-1]:
        tu = tu + np.matmul(np.matmul(t - np.matmul(u, inner), v) / s[..., None, :], vh)
    return tu, *svd_tangents(t, (w, s, vh))


@general(
    vjp=_polar_cotangent,
    jvp=_polar_tangents,
    batch="leading",
    multiple=True,
    samples=lambda r: [call(r(3, 3)), call(r(4, 2))],
    flags=("host",),
)
def unitary_factor_and_svd(a: Array, /) -> Array:
    """The unitary factor, and the singular vectors and values that it is made of, which its gradient needs again."""
    w, s, vh = np.linalg.svd(np.asarray_chkfinite(a), full_matrices=False)
    return w @ vh, w, s, vh


def unitary_factor(a: Array) -> Array:
    return unitary_factor_and_svd(a)[0]


# -- Functions of the exponential ---------------------------------------------------------------------


def coshm(A: Array) -> Array:  # noqa: N803 - SciPy's name
    """`scipy.linalg.coshm`: the hyperbolic cosine of a matrix (..., n, n).

    Example:
        >>> import numpy as np
        >>> from adjoint.scipy import linalg
        >>> linalg.coshm(np.zeros((2, 2)))
        array([[1., 0.],
               [0., 1.]])
    """
    return (expm(A) + expm(-array(A))) * 0.5


def sinhm(A: Array) -> Array:  # noqa: N803 - SciPy's name
    """`scipy.linalg.sinhm`: the hyperbolic sine of a matrix (..., n, n).

    Example:
        >>> import numpy as np
        >>> from adjoint.scipy import linalg
        >>> linalg.sinhm(np.zeros((2, 2)))
        array([[0., 0.],
               [0., 0.]])
    """
    return (expm(A) - expm(-array(A))) * 0.5


def cosm(A: Array) -> Array:  # noqa: N803 - SciPy's name
    """`scipy.linalg.cosm`: the cosine of a real matrix (..., n, n).

    Example:
        >>> import numpy as np
        >>> from adjoint.scipy import linalg
        >>> linalg.cosm(np.zeros((2, 2)))
        array([[1., 0.],
               [0., 1.]])
    """
    return np.real(expm(1j * _real("cosm", A)))


def sinm(A: Array) -> Array:  # noqa: N803 - SciPy's name
    """`scipy.linalg.sinm`: the sine of a real matrix (..., n, n).

    Example:
        >>> import numpy as np
        >>> from adjoint.scipy import linalg
        >>> linalg.sinm(np.zeros((2, 2)))
        array([[0., 0.],
               [0., 0.]])
    """
    return np.imag(expm(1j * _real("sinm", A)))


def _real(name: str, a: Array) -> Array:
    a = square(f"scipy.linalg.{name}", a)
    if a.dtype.kind == "c":
        raise ArgumentError(f"scipy.linalg.{name} of tensors takes real matrices; for complex ones, use expm(1j * a)")
    return a
