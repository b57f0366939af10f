"""Linear equations: with a matrix, or with its triangular, Cholesky or LU factors.

Rules: M. Giles, Collected matrix derivative results for forward and reverse mode, 2008. Every rule is the same: with
``A x = b``, the cotangent of b is ``A^-H g``, and that of A is minus its outer product with x.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from scipy import linalg

from adjoint.core.box import varies
from adjoint.core.constructors import general
from adjoint.core.errors import ArgumentError
from adjoint.core.op import call
from adjoint.core.protocol import detached
from adjoint.core.types import Array, Value
from adjoint.ops.linalg.equations.triangular import triangular_solve
from adjoint.ops.linalg.factors.cholesky import cholesky_factor, cholesky_solved
from adjoint.ops.linalg.factors.lu import lu_solved, packed_lu, rows_order
from adjoint.ops.linalg.lapack import fitted, hermitian, well_posed
from adjoint.ops.values import on_values
from adjoint.scipy.arrays import fitting, plain, square, unfitted

Trans = Literal[0, 1, 2, "N", "T", "C"]
_TRANSPOSED: dict[object, int] = {0: 0, 1: 1, 2: 2, "N": 0, "T": 1, "C": 2}


def solve(
    a: Array,
    b: Array,
    lower: bool = False,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
    assume_a: str | None = None,
    transposed: bool = False,
) -> Array:
    """`scipy.linalg.solve`: the `x` of ``a @ x = b``.

    Args:
        a: (..., n, n). What `assume_a` says of it is taken literally: of a symmetric, Hermitian or positive
            definite matrix the symmetric part counts (so that the gradient is symmetric), of a triangular one
            its triangle.
        b: (n,) or (..., n, k).
        lower, overwrite_a, overwrite_b, check_finite: accepted; nothing is overwritten.
        assume_a: "gen", "sym", "her", "pos", "diagonal", "tridiagonal", "banded", "upper triangular" or
            "lower triangular".
        transposed: solve with the transpose of `a`.

    Raises:
        ShapeError: if shapes do not fit.
        numpy.linalg.LinAlgError: if `a` is singular.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> from adjoint.scipy import linalg
        >>> ad.grad(lambda b: linalg.solve([[2.0, 0.0], [0.0, 4.0]], b).sum())(np.ones(2))
        array([0.5 , 0.25])
    """
    a, columns, vector = fitting("scipy.linalg.solve", a, b)
    kind = _KINDS.get(assume_a or "gen")
    if kind is None:
        raise ArgumentError(f"scipy.linalg.solve: assume_a is one of {', '.join(map(repr, _KINDS))}; got {assume_a!r}")
    a = np.swapaxes(a, -1, -2) if transposed else a
    if kind == "gen" and a.ndim == 2 and columns.ndim == 2:
        x = np.linalg.solve(a, columns)
    elif kind in ("upper", "lower"):
        x = triangular_solve(a, columns, lower=(kind == "lower") != transposed, trans=0)
    else:
        x = solve_assuming(_PARTS[kind](a), columns, kind=kind)
    return unfitted(x, vector)


_KINDS = {
    **dict.fromkeys(("gen", "general", "banded"), "gen"),
    **dict.fromkeys(("sym", "symmetric"), "sym"),
    **dict.fromkeys(("her", "hermitian"), "her"),
    **dict.fromkeys(("pos", "positive definite"), "pos"),
    "diagonal": "diagonal",
    "tridiagonal": "tridiagonal",
    "upper triangular": "upper",
    "lower triangular": "lower",
}
_PARTS: dict[str, Value] = {
    "gen": lambda a: a,
    "sym": lambda a: (a + np.swapaxes(a, -1, -2)) * 0.5,
    "her": lambda a: (a + hermitian(a)) * 0.5,
    "pos": lambda a: (a + hermitian(a)) * 0.5,
    "diagonal": lambda a: np.triu(np.tril(a)),
    "tridiagonal": lambda a: np.triu(np.tril(a, 1), -1),
}


def _assumed_cotangents(g: Array, arrays: Array, out: Array, needs: Value, kind: str) -> list[Array]:
    a, b = arrays
    h = solve_assuming(hermitian(a), g, kind=kind)
    c = fitted(np.matmul(-h, hermitian(out)), a.shape) if 0 in needs else None
    return [c, fitted(h, b.shape)]


def _assumed_tangent(t: Array, arrays: Array, out: Array, kind: str) -> Array:
    (ta, tb), total = t, t[1]
    if ta is not None:
        total = -np.matmul(ta, out) if tb is None else tb - np.matmul(ta, out)
    return solve_assuming(arrays[0], total, kind=kind)


@general(
    vjp=_assumed_cotangents,
    jvp=_assumed_tangent,
    batch="elementwise",
    samples=lambda r: [
        call(well_posed(r, 3, 3), r(3, 2)),
        call(well_posed(r, 2, 3, 3), r(3, 1), kind="gen"),
        call(well_posed(r, 3, 3) + 1j * r(3, 3), r(3, 2)),
    ],
    errors=lambda r: [call(r(2, 3), r(2, 1)), call(r(3, 3), r(2, 1))],
    flags=("raises", "host"),
)
def solve_assuming(*arrays: Array, kind: str = "gen") -> Array:
    """The `x` of ``a @ x = b`` for `arrays` a and b, by the method that suits a matrix of `kind`."""
    return linalg.solve(*arrays, assume_a=kind)


# -- Triangles ----------------------------------------------------------------------------------------


def solve_triangular(
    a: Array,
    b: Array,
    trans: Trans = 0,
    lower: bool = False,
    unit_diagonal: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> Array:
    """`scipy.linalg.solve_triangular`: the `x` of ``a @ x = b`` for a triangular `a`.

    Args:
        a: (..., n, n); only one triangle is read, so only that one has a gradient.
        b: (n,) or (..., n, k).
        trans: 0 or "N"; 1 or "T" for the transpose of `a`; 2 or "C" for its conjugate transpose.
        lower: which triangle it is.
        unit_diagonal: take the diagonal as ones.

    Raises:
        ShapeError: if shapes do not fit.
        numpy.linalg.LinAlgError: if a diagonal element is 0.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> from adjoint.scipy.linalg import solve_triangular
        >>> L = np.array([[2.0, 0.0], [1.0, 4.0]])
        >>> ad.grad(lambda b: solve_triangular(L, b, lower=True)[1])(np.ones(2))
        array([-0.125,  0.25 ])
    """
    a, columns, vector = fitting("scipy.linalg.solve_triangular", a, b)
    if trans not in _TRANSPOSED:
        raise ArgumentError(f"solve_triangular: trans is 0 ('N'), 1 ('T') or 2 ('C'); got {trans!r}")
    x = triangular_solve(a, columns, trans=_TRANSPOSED[trans], lower=lower, unit_diagonal=unit_diagonal)
    return unfitted(x, vector)


# -- Cholesky factors ---------------------------------------------------------------------------------


def cholesky(a: Array, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True) -> Array:
    """`scipy.linalg.cholesky`: the upper triangle `R` with ``R^H @ R = a``; with `lower`, `L` with ``L @ L^H = a``.

    It is a function of the Hermitian part of `a`, (..., n, n), so that the gradient is Hermitian too.

    Raises:
        ShapeError: if `a` is not square.
        numpy.linalg.LinAlgError: if it is not positive definite.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> from adjoint.scipy.linalg import cholesky
        >>> ad.grad(lambda a: np.log(cholesky(a).diagonal()).sum())(np.diag([1.0, 2.0]))  # half of the inverse
        array([[0.5 , 0.  ],
               [0.  , 0.25]])
    """
    factor = cholesky_factor(square("scipy.linalg.cholesky", a))
    return factor if lower else hermitian(factor)


def cho_factor(
    a: Array, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> tuple[Array, bool]:
    """`scipy.linalg.cho_factor`: a Cholesky factor for `cho_solve`, and whether it is the lower one.

    The other triangle is zeros, where SciPy leaves what was there. See `cholesky` for the gradient.

    Example:
        >>> import numpy as np
        >>> from adjoint.scipy import linalg
        >>> linalg.cho_factor(np.array([[2.0, 1.0], [1.0, 3.0]]))[0].round(4)
        array([[1.4142, 0.7071],
               [0.    , 1.5811]])
    """
    return cholesky(a, lower), lower


def cho_solve(c_and_lower: tuple[Array, bool], b: Array, overwrite_b: bool = False, check_finite: bool = True) -> Array:
    """`scipy.linalg.cho_solve`: the `x` of ``a @ x = b``, with the factor of `a` from `cho_factor`.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> from adjoint.scipy.linalg import cho_factor, cho_solve
        >>> ad.grad(lambda a: cho_solve(cho_factor(a), np.ones(1))[0])(np.array([[2.0]]))
        array([[-0.25]])
    """
    c, lower = c_and_lower
    c, columns, vector = fitting("scipy.linalg.cho_solve", c, b)
    x = cholesky_solved(c, columns, lower=bool(lower))
    return unfitted(x, vector)


# -- LU factors ---------------------------------------------------------------------------------------


def lu_factor(a: Array, overwrite_a: bool = False, check_finite: bool = True) -> tuple[Array, Array]:
    """`scipy.linalg.lu_factor`: the factors of `a`, (..., n, n), in one matrix; and the pivots, plain whole numbers.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> from adjoint.scipy.linalg import lu_factor
        >>> ad.grad(lambda a: np.prod(lu_factor(a)[0].diagonal()))(np.diag([2.0, 3.0]))  # up to sign, the determinant
        array([[3., 0.],
               [0., 2.]])
    """
    lu, pivots = packed_lu(square("scipy.linalg.lu_factor", a))
    return lu, (detached(pivots) if varies(pivots) else plain(pivots)).astype(np.int32)


def lu_solve(
    lu_and_piv: tuple[object, object], b: Array, trans: int = 0, overwrite_b: bool = False, check_finite: bool = True
) -> Array:
    """`scipy.linalg.lu_solve`: the `x` of ``a @ x = b``, with the factors of `a` from `lu_factor`.

    Args:
        lu_and_piv: what `lu_factor` gave; the gradient goes through it to `a`.
        b: (n,) or (..., n, k).
        trans: 1 for the transpose of `a`, 2 for its conjugate transpose.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> from adjoint.scipy.linalg import lu_factor, lu_solve
        >>> ad.grad(lambda a: lu_solve(lu_factor(a), np.ones(1))[0])(np.array([[2.0]]))
        array([[-0.25]])
    """
    lu, pivots = lu_and_piv
    lu, columns, vector = fitting("scipy.linalg.lu_solve", lu, b)
    if trans not in (0, 1, 2):
        raise ArgumentError(f"lu_solve: trans is 0, 1 (transposed) or 2 (conjugate transposed); got {trans!r}")
    if varies(pivots):
        x = _solved_by_triangles(lu, on_values(rows_order, pivots)[..., None], columns, trans)
    else:
        x = lu_solved(lu, columns, pivots=plain(pivots), trans=trans)
    return unfitted(x, vector)


def _solved_by_triangles(lu: Array, order: Value, b: Array, trans: int) -> Array:
    """The same, for rows in an `order` that differs between samples."""
    if trans == 0:
        half = triangular_solve(lu, np.take_along_axis(b, order, axis=-2), lower=True, unit_diagonal=True)
        return triangular_solve(lu, half)
    x = triangular_solve(lu, triangular_solve(lu, b, trans=trans), trans=trans, lower=True, unit_diagonal=True)
    return np.take_along_axis(x, np.argsort(order, axis=-2), axis=-2)
