"""NumPy's decompositions, with SciPy's arguments: eigenvalues (generalised too), singular values, QR, norms."""

from __future__ import annotations

import numpy as np

from adjoint.core.errors import ArgumentError, NotSupportedError
from adjoint.core.types import Array, Axis, Value
from adjoint.ops.linalg.equations.triangular import triangular_solve
from adjoint.ops.linalg.factors.eigen import symmetric_eigen
from adjoint.ops.linalg.lapack import hermitian
from adjoint.scipy.arrays import array, square


def inv(a: Array, overwrite_a: bool = False, check_finite: bool = True) -> Array:
    """`scipy.linalg.inv`: the inverse of a matrix, or of each of a stack (..., n, n).

    Example:
        >>> import numpy as np
        >>> from adjoint.scipy import linalg
        >>> linalg.inv(np.array([[2.0, 1.0], [1.0, 3.0]]))
        array([[ 0.6, -0.2],
               [-0.2,  0.4]])
    """
    return np.linalg.inv(square("scipy.linalg.inv", a))


def det(a: Array, overwrite_a: bool = False, check_finite: bool = True) -> Array:
    """`scipy.linalg.det`: the determinant of a matrix, or of each of a stack (..., n, n).

    Example:
        >>> import numpy as np, adjoint as ad
        >>> from adjoint.scipy import linalg
        >>> ad.grad(linalg.det)(np.array([[2.0, 1.0], [1.0, 3.0]]))
        array([[ 3., -1.],
               [-1.,  2.]])
    """
    return np.linalg.det(square("scipy.linalg.det", a))


def norm(a: Array, ord: Value = None, axis: Axis = None, keepdims: bool = False, check_finite: bool = True) -> Array:
    """`scipy.linalg.norm`: that of a vector or a matrix; see `numpy.linalg.norm`.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> from adjoint.scipy import linalg
        >>> ad.grad(linalg.norm)(np.array([3.0, 4.0]))
        array([0.6, 0.8])
    """
    return np.linalg.norm(array(a), ord, axis, keepdims)


def svdvals(a: Array, overwrite_a: bool = False, check_finite: bool = True) -> Array:
    """`scipy.linalg.svdvals`: singular values in falling order, (..., min(m, n)) of (..., m, n).

    Example:
        >>> import numpy as np
        >>> from adjoint.scipy import linalg
        >>> linalg.svdvals(np.array([[2.0, 1.0], [1.0, 3.0]])).round(4)
        array([3.618, 1.382])
    """
    return np.linalg.svdvals(array(a))


def svd(
    a: Array,
    full_matrices: bool = True,
    compute_uv: bool = True,
    overwrite_a: bool = False,
    check_finite: bool = True,
    lapack_driver: str = "gesdd",
) -> Array:
    """`scipy.linalg.svd`: ``(u, s, vh)``, or `s` alone; see `numpy.linalg.svd`.

    Example:
        >>> import numpy as np
        >>> from adjoint.scipy import linalg
        >>> linalg.svd(np.array([[2.0, 1.0], [1.0, 3.0]]), compute_uv=False).round(4)
        array([3.618, 1.382])
    """
    return tuple(np.linalg.svd(array(a), full_matrices)) if compute_uv else np.linalg.svdvals(array(a))


def qr(
    a: Array,
    overwrite_a: bool = False,
    lwork: object = None,
    mode: str = "full",
    pivoting: bool = False,
    check_finite: bool = True,
) -> Array:
    """`scipy.linalg.qr`: ``(q, r)``; ``(r,)`` for mode="r". On tensors write mode="economic" unless `a` is square.

    Raises:
        ArgumentError: for another mode.
        NotSupportedError: with pivoting.

    Example:
        >>> import numpy as np
        >>> from adjoint.scipy import linalg
        >>> linalg.qr(np.eye(2), mode="economic")[1]
        array([[1., 0.],
               [0., 1.]])
    """
    if pivoting:
        raise NotSupportedError("scipy.linalg.qr with pivoting has no rule; pass pivoting=False")
    modes: dict[str, Value] = {"full": "complete", "economic": "reduced", "r": "r"}
    if mode not in modes:
        raise ArgumentError(f"scipy.linalg.qr: mode is one of {', '.join(map(repr, modes))}; got {mode!r}")
    result = np.linalg.qr(array(a), modes[mode])
    return (result,) if mode == "r" else tuple(result)


def eigh(
    a: Array,
    b: Array = None,
    *,
    lower: bool = True,
    eigvals_only: bool = False,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    type: int = 1,
    check_finite: bool = True,
    subset_by_index: Value = None,
    subset_by_value: object = None,
    driver: str | None = None,
) -> Array:
    """`scipy.linalg.eigh`: eigenvalues `w` in rising order and eigenvectors `v`, with ``a @ v = b @ v * w``.

    Args:
        a: (..., n, n); its Hermitian part counts, so that the gradient is Hermitian.
        b: None for the identity; else (..., n, n), positive definite, and then ``v^H @ b @ v`` is the identity.
        type: for a given `b`: 1 for ``a v = w b v``; 2 for ``a b v = w v``; 3 for ``b a v = w v``.
        subset_by_index: the first and the last eigenvalue wanted.

    Raises:
        ShapeError: if shapes do not fit.
        NotSupportedError: for `subset_by_value`, by which the number of results depends on values.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> from adjoint.scipy.linalg import eigh
        >>> b = np.diag([1.0, 4.0])
        >>> ad.grad(lambda b: eigh(np.eye(2), b, eigvals_only=True)[0])(b)  # of 1 / 4
        array([[ 0.    ,  0.    ],
               [ 0.    , -0.0625]])
    """
    given = square("scipy.linalg.eigh", a)
    a = _hermitian_part(given)
    if subset_by_value is not None:
        raise NotSupportedError("scipy.linalg.eigh of tensors takes subset_by_index, not subset_by_value")
    if type not in (1, 2, 3):
        raise ArgumentError(f"scipy.linalg.eigh: type is 1, 2 or 3; got {type!r}")
    factor = None
    if b is not None:
        factor = np.linalg.cholesky(_hermitian_part(square("scipy.linalg.eigh", b)))
        if type == 1:
            half = triangular_solve(factor, a, lower=True)
            a = hermitian(triangular_solve(factor, hermitian(half), lower=True))
        else:
            a = np.matmul(np.matmul(hermitian(factor), a), factor)
    first, last = (0, a.shape[-1] - 1) if subset_by_index is None else map(int, subset_by_index)
    chosen = slice(first, last + 1)
    if eigvals_only:
        return np.linalg.eigvalsh(a)[..., chosen]
    if factor is None and driver in (None, "evr"):
        w, v = symmetric_eigen(
            given, uplo="L" if lower else "U", scipys=() if subset_by_index is None else (first, last)
        )
    else:
        w, v = np.linalg.eigh(a, "L" if lower else "U")
    if factor is not None:
        v = np.matmul(factor, v) if type == 3 else triangular_solve(factor, v, lower=True, trans=2)
    return w[..., chosen], v[..., chosen]


def eigvalsh(a: Array, b: Array = None, *, lower: bool = True, type: int = 1, subset_by_index: object = None) -> Array:
    """`scipy.linalg.eigvalsh`: the eigenvalues of `eigh` alone; where some are equal, the gradient is still finite.

    Example:
        >>> import numpy as np
        >>> from adjoint.scipy import linalg
        >>> linalg.eigvalsh(np.array([[2.0, 1.0], [1.0, 3.0]])).round(4)
        array([1.382, 3.618])
    """
    return eigh(a, b, lower=lower, eigvals_only=True, type=type, subset_by_index=subset_by_index)


def _hermitian_part(a: Array) -> Array:
    return (a + hermitian(a)) * 0.5
