"""Factors of a matrix: RQ, LDL, Hessenberg's form, bases of the null space. What LAPACK decides is a constant."""

from __future__ import annotations

import numpy as np
from scipy import linalg

from adjoint.core.errors import GradientError, NotSupportedError, ShapeError
from adjoint.core.types import Array, Value
from adjoint.ops.linalg.lapack import hermitian
from adjoint.scipy.arrays import array, constants, plain, square
from adjoint.scipy.hosted import hosted
from adjoint.scipy.linalg.solving import solve_triangular


def rq(
    a: Array, overwrite_a: bool = False, lwork: Value = None, mode: str = "full", check_finite: bool = True
) -> Value:  # fmt: skip
    """`scipy.linalg.rq`: ``(r, q)`` with ``a = r @ q``, r upper triangular; r alone for mode="r".

    Raises:
        NotSupportedError: with mode="full" for a matrix with fewer rows than columns, which does not determine q.

    Example:
        >>> import numpy as np
        >>> from adjoint.scipy import linalg
        >>> np.prod(linalg.rq(np.array([[2.0, 1.0], [1.0, 3.0]])), axis=0).shape
        (2, 2)
    """
    a = array(a)
    if a.ndim != 2:
        raise ShapeError(f"scipy.linalg.rq takes a matrix; got shape {a.shape}")
    m, n = a.shape
    if mode == "full" and m < n:
        raise NotSupportedError(
            "scipy.linalg.rq(mode='full') of a tensor with fewer rows than columns has rows that its input does not "
            "determine; mode='economic' has a rule"
        )
    q, r = np.linalg.qr(hermitian(a[::-1]))
    r, q = hermitian(r)[::-1, ::-1], hermitian(q)[::-1]
    # LAPACK's signs, which are constant.
    rows = min(m, n)
    theirs = hosted(lambda a: linalg.rq(a, mode="economic")[1][-rows:], a)
    signs = np.where(np.real(np.sum(np.conj(theirs) * constants(q), axis=1)) < 0, -1.0, 1.0)
    return r * signs if mode == "r" else (r * signs, q * signs[:, None])


def ldl(
    A: Array, lower: bool = True, hermitian: bool = True, overwrite_a: bool = False, check_finite: bool = True,  # noqa: N803 - SciPy's name
) -> tuple[Array, Array, Array]:  # fmt: skip
    """`scipy.linalg.ldl`: ``(lu, d, perm)`` with ``A = lu @ d @ lu.T``; the order and the blocks are constants.

    Only the triangle that LAPACK reads counts.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> from adjoint.scipy import linalg
        >>> ad.grad(lambda a: linalg.ldl(a)[1][1, 1])(np.array([[4.0, 1.0], [1.0, 3.0]]))
        array([[ 0.0625,  0.    ],
               [-0.5   ,  1.    ]])
    """
    a = square("scipy.linalg.ldl", A)
    if a.ndim != 2:
        raise ShapeError(f"scipy.linalg.ldl takes a matrix; got shape {a.shape}")
    n = a.shape[0]
    _, blocks, perm = linalg.ldl(plain(a), lower, hermitian)
    turned = np.conj if hermitian and a.dtype.kind == "c" else lambda x: x
    half = np.tril(a, -1) if lower else np.triu(a, 1)
    diagonal = np.diagonal(a)
    whole = half + turned(half.T) + np.diag(np.real(diagonal) if hermitian else diagonal)
    order = perm if lower else perm[::-1]
    left = whole[order][:, order]
    starts, k = [], 0
    joined = np.diagonal(blocks, -1) != 0
    joined = joined if lower else joined[::-1]
    while k < n:
        size = 2 if k + 1 < n and joined[k] else 1
        starts.append((k, size))
        k += size
    columns, pieces = [], []
    for k, size in starts:
        d = left[:size, :size]
        below = left[size:, :size]
        share = np.matmul(below, np.linalg.inv(d))
        column = np.concatenate([np.zeros((k, size)), np.eye(size), share])
        columns.append(column)
        pieces.append(np.concatenate([np.zeros((k, size)), d, np.zeros((n - k - size, size))]))
        left = left[size:, size:] - np.matmul(share, turned(below.T))
    lu, d = np.concatenate(columns, axis=1), np.concatenate(pieces, axis=1)
    if not lower:
        lu, d = lu[::-1, ::-1], d[::-1, ::-1]
    return lu[np.argsort(perm)], d, perm


def hessenberg(
    a: Array, calc_q: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> Value:  # fmt: skip
    """`scipy.linalg.hessenberg`: h with zeros below its first subdiagonal, and q with ``a = q @ h @ q^H``.

    By Householder's reflections, with LAPACK's signs.

    Raises:
        GradientError: if a column is of this form already: there LAPACK's signs jump.

    Example:
        >>> import numpy as np
        >>> from adjoint.scipy import linalg
        >>> abs(linalg.hessenberg(np.arange(9.0).reshape(3, 3) ** 2)[2, 0]) < 1e-12
        np.True_
    """
    h = square("scipy.linalg.hessenberg", a)
    n = h.shape[-1]
    q = np.broadcast_to(np.eye(n, dtype=h.dtype), h.shape)
    for k in range(n - 2):
        x = h[..., k + 1 :, k]
        if np.any(hosted(lambda x: np.all(x[..., 1:] == 0), x)):
            raise GradientError(
                f"scipy.linalg.hessenberg has no derivative where column {k} is of Hessenberg's form already: LAPACK's "
                f"signs change there"
            )
        size = np.sqrt(np.sum(np.real(x * np.conj(x)), axis=-1))
        beta = np.where(np.real(constants(x))[..., 0] > 0, -size, size)[..., None]
        tau = (beta - x[..., :1]) / beta
        v = np.concatenate([np.ones_like(x[..., :1]), x[..., 1:] / (x[..., :1] - beta)], axis=-1)
        flip = np.eye(n - k - 1) - tau[..., None] * v[..., :, None] * np.conj(v)[..., None, :]
        top = np.concatenate([np.eye(k + 1), np.zeros((k + 1, n - k - 1))], axis=1)
        top = np.broadcast_to(top, (*h.shape[:-2], *top.shape))
        turn = np.concatenate([top, np.concatenate([np.zeros((*h.shape[:-2], n - k - 1, k + 1)), flip], -1)], -2)
        h = np.matmul(np.matmul(hermitian(turn), h), turn)
        q = np.matmul(q, turn)
    h = np.triu(h, -1)
    return (h, q) if calc_q else h


def null_space(
    A: Array, rcond: Value = None, *, overwrite_a: bool = False, check_finite: bool = True,  # noqa: N803 - SciPy's name
    lapack_driver: str = "gesdd",
) -> Array:  # fmt: skip
    """`scipy.linalg.null_space`: an orthonormal basis of the vectors that `A` takes to 0.

    How many these are is constant. The basis moves with the space and does not turn within it, so what does not depend
    on the choice of a basis, such as ``z @ z.T``, has the right derivative.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> from adjoint.scipy import linalg
        >>> ad.jvp(lambda a: linalg.null_space(a)[:, 0], (np.array([[1.0, 0.0]]),), (np.array([[0.0, 1.0]]),))[1]
        array([-1.,  0.])
    """
    a = array(A)
    z = hosted(lambda a: linalg.null_space(a, rcond, check_finite=check_finite, lapack_driver=lapack_driver), a)
    if not z.shape[1]:
        return z
    rank = a.shape[1] - z.shape[1]
    if rank == a.shape[0]:
        inverse = hermitian(np.linalg.solve(np.matmul(a, hermitian(a)), a))
    else:
        s = np.linalg.svd(plain(a), compute_uv=False)
        inverse = np.linalg.pinv(a, rcond=float((s[rank - 1] + s[rank] if rank < len(s) else s[-1]) / 2 / s[0]))
    moved = z - np.matmul(inverse, np.matmul(a, z))
    root = np.linalg.cholesky(np.matmul(hermitian(moved), moved))
    return hermitian(solve_triangular(root, hermitian(moved), lower=True))
