"""Least squares, and the pseudo-inverse."""

from __future__ import annotations

import numpy as np

from adjoint.core.errors import ShapeError
from adjoint.core.types import Array
from adjoint.scipy.arrays import array, plain


def lstsq(
    a: Array,
    b: Array,
    cond: float | None = None,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
    lapack_driver: str | None = None,
) -> tuple[Array, Array, Array, Array]:
    """`scipy.linalg.lstsq`: the solution of least norm, the squared residuals, the rank, and the singular values.

    Args:
        a: (m, n).
        b: (m,) or (m, k).
        cond: singular values below this share of the largest count as 0.

    Raises:
        ShapeError: if shapes do not fit.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> from adjoint.scipy.linalg import lstsq
        >>> ad.grad(lambda b: lstsq(np.ones((4, 1)), b)[0][0])(np.arange(4.0))  # the mean
        array([0.25, 0.25, 0.25, 0.25])
    """
    a, b = array(a), array(b)
    # SciPy's default, where NumPy's has the longer side as a factor.
    x, residuals, rank, s = np.linalg.lstsq(a, b, float(np.finfo(a.dtype).eps) if cond is None else cond)
    return x, residuals[0] if b.ndim == 1 and residuals.shape[0] else residuals, rank, s


def pinv(
    a: Array,
    *,
    atol: float | None = None,
    rtol: float | None = None,
    return_rank: bool = False,
    check_finite: bool = True,
) -> Array:
    """`scipy.linalg.pinv`: the pseudo-inverse, (..., n, m) of (..., m, n); its derivative is that at constant rank.

    Args:
        atol, rtol: singular values below ``atol + rtol * largest`` count as 0.
        return_rank: give the rank too.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> from adjoint.scipy.linalg import pinv
        >>> ad.grad(lambda a: pinv(a)[0, 0])(np.array([[2.0]]))
        array([[-0.25]])
    """
    a = array(a)
    if a.ndim < 2:
        raise ShapeError(f"scipy.linalg.pinv takes a matrix, or a stack (..., m, n) of them; got shape {a.shape}")
    if rtol is None:
        rtol = max(a.shape[-2:]) * float(np.finfo(a.dtype).eps) if atol is None else 0.0
    if atol is None and not return_rank:
        return np.linalg.pinv(a, rcond=rtol)
    s = np.linalg.svd(plain(a), compute_uv=False)
    largest = s[..., 0]
    cutoff = (atol or 0.0) + rtol * largest
    inverse = np.linalg.pinv(a, rcond=cutoff / np.where(largest > 0, largest, 1.0))
    return (inverse, np.sum(s > cutoff[..., None], axis=-1)[()]) if return_rank else inverse
