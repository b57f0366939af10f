"""Functions of SciPy's that are other ones put together: LU factors apart, eigenvalues, bands, fractional powers."""

from __future__ import annotations

import numpy as np
from scipy import linalg

from adjoint.core.box import Box, varies
from adjoint.core.errors import NotSupportedError
from adjoint.core.types import Array, Value
from adjoint.ops.linalg.equations.triangular import triangular_solve
from adjoint.ops.linalg.lapack import conj
from adjoint.scipy.arrays import array, plain, square
from adjoint.scipy.linalg.bands import flipped, solve_banded
from adjoint.scipy.linalg.matrix_functions import expm, logm
from adjoint.scipy.linalg.solving import cholesky, lu_factor, solve
from adjoint.scipy.linalg.structured import toeplitz


def lu(
    a: Array, permute_l: bool = False, overwrite_a: bool = False, check_finite: bool = True, p_indices: bool = False
) -> tuple[Array, ...]:
    """`scipy.linalg.lu`: ``(p, l, u)`` with ``a = p @ l @ u``; of a matrix (m, n) of any shape. `p` is a constant.

    Raises:
        NotSupportedError: for a stack of matrices; inside `vmap`, where the rows' order may differ.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> from adjoint.scipy.linalg import lu
        >>> ad.grad(lambda a: lu(a)[2][1, 1])(np.array([[4.0, 1.0], [2.0, 3.0]]))  # 3 - 2 * 1 / 4
        array([[ 0.125, -0.5  ],
               [-0.25 ,  1.   ]])
    """
    a = array(a)
    if a.ndim != 2 or varies(a):
        raise NotSupportedError("scipy.linalg.lu of tensors takes one matrix (m, n); lu_factor takes stacks")
    order = linalg.lu(plain(a), p_indices=True)[0]
    rows, k = a[np.argsort(order)], min(a.shape)
    packed = lu_factor(rows[:k, :k])[0]  # the rows are in their order: none is exchanged
    lower, upper = np.tril(packed, -1) + np.eye(k, dtype=a.dtype), np.triu(packed)
    if a.shape[0] > k:
        below = triangular_solve(upper, rows[k:].T, trans=1).T
        lower = np.concatenate([lower, below])
    if a.shape[1] > k:
        upper = np.concatenate([upper, triangular_solve(lower, rows[:, k:], lower=True)], axis=1)
    if permute_l:
        return lower[order], upper
    return order if p_indices else np.eye(len(order), dtype=a.dtype)[order], lower, upper


def eig(
    a: Array,
    b: Array = None,
    left: bool = False,
    right: bool = True,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
    homogeneous_eigvals: bool = False,
) -> Value:
    """`scipy.linalg.eig`: complex eigenvalues `w` and right eigenvectors `v` of `a`; see `numpy.linalg.eig`.

    Raises:
        NotSupportedError: with `b`, `left` or `homogeneous_eigvals`.

    Example:
        >>> import numpy as np
        >>> from adjoint.scipy.linalg import eig
        >>> eig(np.diag([1.0, 2.0]), right=False)
        array([1.+0.j, 2.+0.j])
    """
    if b is not None or left or homogeneous_eigvals:
        raise NotSupportedError("scipy.linalg.eig of tensors takes one matrix: write eig(solve(b, a)), eig(a.T)")
    a = square("scipy.linalg.eig", a)
    if not right:
        return np.linalg.eigvals(a) + 0j
    w, v = np.linalg.eig(a)
    return w + 0j, v


def eigvals(
    a: Array, b: Array = None, overwrite_a: bool = False, check_finite: bool = True, homogeneous_eigvals: bool = False
) -> Array:
    """`scipy.linalg.eigvals`: the complex eigenvalues of `a`, (..., n) of (..., n, n).

    Raises:
        NotSupportedError: with `b` or `homogeneous_eigvals`.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> from adjoint.scipy.linalg import eigvals
        >>> ad.grad(lambda a: np.max(eigvals(a).real))(np.diag([1.0, 2.0]))
        array([[0., 0.],
               [0., 1.]])
    """
    w: Array = eig(a, b, right=False, homogeneous_eigvals=homogeneous_eigvals)
    return w


def eigvalsh_tridiagonal(d: Array, e: Array, select: str = "a", select_range: Value = None, **how: object) -> Array:
    """`scipy.linalg.eigvalsh_tridiagonal`: eigenvalues in rising order; diagonal `d` (n,), beside it `e` (n - 1,).

    Raises:
        NotSupportedError: for select="v", by which the number of results depends on values.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> from adjoint.scipy.linalg import eigvalsh_tridiagonal
        >>> ad.grad(lambda e: eigvalsh_tridiagonal(np.zeros(2), e)[1])(np.array([3.0]))
        array([1.])
    """
    d, e = array(d), array(e)
    w = np.linalg.eigvalsh(np.diag(d) + np.diag(e, 1) + np.diag(e, -1))
    return _selected("eigvalsh_tridiagonal", w, select, select_range)


def solveh_banded(
    ab: Array,
    b: Array,
    overwrite_ab: bool = False,
    overwrite_b: bool = False,
    lower: bool = False,
    check_finite: bool = True,
) -> Array:
    """`scipy.linalg.solveh_banded`: the `x` of ``a @ x = b``; `a` is Hermitian, and `ab` has half of its diagonals.

    Args:
        ab: (u + 1, n): diagonals as rows, the uppermost first; with `lower` the main one first.
        b: (n,) or (n, k).

    Example:
        >>> import numpy as np
        >>> from adjoint.scipy.linalg import solveh_banded
        >>> solveh_banded(np.array([[0.0, 1.0], [2.0, 3.0]]), np.array([4.0, 7.0]))
        array([1., 2.])
    """
    ab = array(ab)
    count = ab.shape[0] - 1
    if lower:
        full = np.concatenate([flipped(ab, count, 0)[:-1], ab])
    else:
        full = np.concatenate([ab, flipped(ab, 0, count)[1:]])
    return solve_banded((count, count), full, b)


def cholesky_banded(ab: Array, overwrite_ab: bool = False, lower: bool = False, check_finite: bool = True) -> Array:
    """`scipy.linalg.cholesky_banded`: the factor's diagonals, (u + 1, n), laid out as those of `ab`.

    Example:
        >>> import numpy as np
        >>> from adjoint.scipy.linalg import cholesky_banded
        >>> cholesky_banded(np.array([[4.0, 5.0], [2.0, 0.0]]), lower=True)
        array([[2., 2.],
               [1., 0.]])
    """
    ab = array(ab)
    count, n = ab.shape[0] - 1, ab.shape[1]
    factor, rows = cholesky(_dense(ab, lower), lower=lower), []
    for k, row in enumerate(ab):
        if lower:
            rows.append(np.concatenate([np.diagonal(factor, -k), row[n - k :]]))  # what lies outside stays
        else:
            rows.append(np.concatenate([row[: count - k], np.diagonal(factor, count - k)]))
    return np.stack(rows)


def _dense(ab: Array, lower: bool) -> Array:
    """The Hermitian matrix that has these diagonals."""
    count, n = ab.shape[0] - 1, ab.shape[1]
    rows = [ab[k][: n - k] for k in range(count + 1)] if lower else [ab[count - k][k:] for k in range(count + 1)]
    half = sum(np.diag(row, -k if lower else k) for k, row in enumerate(rows))
    return half + conj(np.tril(half, -1) if lower else np.triu(half, 1)).T


def cho_solve_banded(
    cb_and_lower: tuple[Array, bool], b: Array, overwrite_b: bool = False, check_finite: bool = True
) -> Array:
    """`scipy.linalg.cho_solve_banded`: the `x` of ``a @ x = b``, with what `cholesky_banded` gave of `a`.

    Example:
        >>> import numpy as np
        >>> from adjoint.scipy.linalg import cho_solve_banded
        >>> cho_solve_banded((np.array([[2.0, 2.0], [1.0, 0.0]]), True), np.array([6.0, 7.0]))
        array([1., 1.])
    """
    cb, lower = array(cb_and_lower[0]), cb_and_lower[1]
    count = cb.shape[0] - 1
    other = flipped(cb, count, 0) if lower else flipped(cb, 0, count)
    first, second = (cb, other) if lower else (other, cb)
    return solve_banded((0, count), second, solve_banded((count, 0), first, b))


def eigvals_banded(
    a_band: Array,
    lower: bool = False,
    overwrite_a_band: bool = False,
    select: str = "a",
    select_range: Value = None,
    check_finite: bool = True,
) -> Array:
    """`scipy.linalg.eigvals_banded`: eigenvalues in rising order of a Hermitian matrix, of which half is given.

    Raises:
        NotSupportedError: for select="v", by which the number of results depends on values.

    Example:
        >>> import numpy as np
        >>> from adjoint.scipy.linalg import eigvals_banded
        >>> eigvals_banded(np.array([[0.0, 3.0], [0.0, 0.0]])).round(12)
        array([-3.,  3.])
    """
    return _selected("eigvals_banded", np.linalg.eigvalsh(_dense(array(a_band), lower)), select, select_range)


def _selected(name: str, w: Array, select: str, select_range: Value) -> Array:
    if select not in ("a", "i"):
        raise NotSupportedError(f"{name} of tensors takes select='a' or 'i', not {select!r}")
    first, last = (0, w.shape[-1] - 1) if select == "a" else map(int, select_range)
    return w[first : last + 1]


def solve_toeplitz(c_or_cr: Value, b: Array, check_finite: bool = True) -> Array:
    """`scipy.linalg.solve_toeplitz`: the `x` of ``toeplitz(c, r) @ x = b``; `r` is `c`'s conjugate if it is not given.

    Example:
        >>> import numpy as np
        >>> from adjoint.scipy.linalg import solve_toeplitz
        >>> solve_toeplitz(np.array([2.0, 1.0]), np.array([4.0, 5.0]))
        array([1., 2.])
    """
    c, r = c_or_cr if isinstance(c_or_cr, tuple) else (c_or_cr, conj(array(c_or_cr)))
    return solve(toeplitz(c, r), b)


def fractional_matrix_power(A: Array, t: Value) -> Array:  # noqa: N803 - SciPy's name
    """`scipy.linalg.fractional_matrix_power`: the matrix `A` to the power `t`, with gradients for both.

    Example:
        >>> import numpy as np
        >>> from adjoint.scipy.linalg import fractional_matrix_power
        >>> fractional_matrix_power(np.diag([4.0, 9.0]), 0.5).round(12)
        array([[2., 0.],
               [0., 3.]])
    """
    A = square("scipy.linalg.fractional_matrix_power", A)
    if not isinstance(t, Box) and t == int(t):
        return np.linalg.matrix_power(A, int(t))
    return expm(t * logm(A))
