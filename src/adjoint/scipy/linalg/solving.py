"""Linear equations: with a matrix, or with its triangular, Cholesky or LU factors.

Rules: M. Giles, Collected matrix derivative results for forward and reverse mode, 2008. Every rule is the same: with
``A x = b``, the cotangent of b is ``A^-H g``, and that of A is minus its outer product with x.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from scipy import linalg

from adjoint.core.constructors import general
from adjoint.core.errors import ArgumentError
from adjoint.core.op import call
from adjoint.core.pulls import unbroadcast
from adjoint.ops.linalg import well_posed
from adjoint.scipy.arrays import adjoint_of, conj, fitting, plain, square

Trans = Literal[0, 1, 2, "N", "T", "C"]
_TRANSPOSED: dict[Any, int] = {0: 0, 1: 1, 2: 2, "N": 0, "T": 1, "C": 2}


def solve(
    a: Any,
    b: Any,
    lower: bool = False,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
    assume_a: str | None = None,
    transposed: bool = False,
) -> Any:
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
    if kind in ("upper", "lower"):
        x = triangular_solve(a, columns, lower=(kind == "lower") != transposed, trans=0)
    else:
        x = solve_assuming(_PARTS[kind](a), columns, kind=kind)
    return x[..., 0] if vector else x


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
_PARTS: dict[str, Any] = {
    "gen": lambda a: a,
    "sym": lambda a: (a + np.swapaxes(a, -1, -2)) * 0.5,
    "her": lambda a: (a + adjoint_of(a)) * 0.5,
    "pos": lambda a: (a + adjoint_of(a)) * 0.5,
    "diagonal": lambda a: np.triu(np.tril(a)),
    "tridiagonal": lambda a: np.triu(np.tril(a, 1), -1),
}


def _assumed_back(g: Any, a: Any, kind: str) -> Any:
    return solve_assuming(adjoint_of(a), g, kind=kind)


def _assumed_a(g: Any, a: Any, out: Any, kind: str) -> Any:
    return _fitted(-np.matmul(_assumed_back(g, a, kind), adjoint_of(out)), a.shape)


def _fitted(c: Any, shape: Any) -> Any:
    return c if c.shape == shape else unbroadcast(c, shape)


@general(
    vjps=(
        _assumed_a,
        lambda g, a, b_shape, kind: _fitted(_assumed_back(g, a, kind), b_shape),
    ),
    samples=lambda r: [
        call(well_posed(r, 3, 3), r(3, 2)),
        call(well_posed(r, 2, 3, 3), r(3, 1), kind="gen"),
        call(well_posed(r, 3, 3) + 1j * r(3, 3), r(3, 2)),
    ],
    errors=lambda r: [call(r(2, 3), r(2, 1)), call(r(3, 3), r(2, 1))],
)
def solve_assuming(a: Any, b: Any, /, kind: str = "gen") -> Any:
    """``a @ x = b`` by the method that suits a matrix of `kind`."""
    return linalg.solve(a, b, assume_a=kind)


# -- Triangles ----------------------------------------------------------------------------------------


def solve_triangular(
    a: Any,
    b: Any,
    trans: Trans = 0,
    lower: bool = False,
    unit_diagonal: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> Any:
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
    return x[..., 0] if vector else x


def _back(g: Any, a: Any, trans: int, lower: bool, unit_diagonal: bool) -> Any:
    """The cotangent of the right side: the equation with the conjugate transpose."""
    if trans == 1:  # the conjugate of the transpose's transpose
        return triangular_solve(conj(a), g, trans=0, lower=lower, unit_diagonal=unit_diagonal)
    return triangular_solve(a, g, trans=2 - trans, lower=lower, unit_diagonal=unit_diagonal)


def _triangular_a(g: Any, a: Any, out: Any, trans: int, lower: bool, unit_diagonal: bool) -> Any:
    g_b = _back(g, a, trans, lower, unit_diagonal)
    if trans == 0:
        c = np.matmul(g_b, adjoint_of(out))
    else:
        c = np.matmul(out, adjoint_of(g_b))
        c = conj(c) if trans == 1 else c
    return _fitted(-_triangle(c, lower, unit_diagonal), a.shape)


def _triangle(c: Any, lower: bool, unit_diagonal: bool) -> Any:
    return np.tril(c, -int(unit_diagonal)) if lower else np.triu(c, int(unit_diagonal))


@general(
    vjps=(
        _triangular_a,
        lambda g, a, b_shape, trans, lower, unit_diagonal: _fitted(_back(g, a, trans, lower, unit_diagonal), b_shape),
    ),
    samples=lambda r: [
        call(well_posed(r, 3, 3), r(3, 2), lower=True),
        call(well_posed(r, 3, 3), r(3, 2), trans=1),
        call(well_posed(r, 3, 3), r(3, 1), lower=True, unit_diagonal=True),
        call(well_posed(r, 2, 3, 3), r(3, 1)),
        *(call(well_posed(r, 2, 2) + 1j * r(2, 2), r(2, 1) + 1j * r(2, 1), trans=trans) for trans in (0, 1, 2)),
    ],
    errors=lambda r: [call(np.zeros((2, 2)), r(2, 1)), call(r(2, 3), r(2, 1))],
)
def triangular_solve(a: Any, b: Any, /, trans: int = 0, lower: bool = False, unit_diagonal: bool = False) -> Any:
    return linalg.solve_triangular(a, b, trans, lower, unit_diagonal)


# -- Cholesky factors ---------------------------------------------------------------------------------


def cholesky(a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True) -> Any:
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
    a = square("scipy.linalg.cholesky", a)
    return np.linalg.cholesky((a + adjoint_of(a)) * 0.5, upper=not lower)


def cho_factor(a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True) -> tuple[Any, bool]:
    """`scipy.linalg.cho_factor`: a Cholesky factor for `cho_solve`, and whether it is the lower one.

    The other triangle is zeros, where SciPy leaves what was there. See `cholesky` for the gradient.
    """
    return cholesky(a, lower), lower


def cho_solve(c_and_lower: tuple[Any, bool], b: Any, overwrite_b: bool = False, check_finite: bool = True) -> Any:
    """`scipy.linalg.cho_solve`: the `x` of ``a @ x = b``, with the factor of `a` from `cho_factor`.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> from adjoint.scipy.linalg import cho_factor, cho_solve
        >>> ad.grad(lambda a: cho_solve(cho_factor(a), np.ones(1))[0])(np.array([[2.0]]))
        array([[-0.25]])
    """
    c, lower = c_and_lower
    c, columns, vector = fitting("scipy.linalg.cho_solve", c, b)
    half = triangular_solve(c, columns, trans=0 if lower else 2, lower=lower)
    x = triangular_solve(c, half, trans=2 if lower else 0, lower=lower)
    return x[..., 0] if vector else x


# -- LU factors ---------------------------------------------------------------------------------------


def lu_factor(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> tuple[Any, Any]:
    """`scipy.linalg.lu_factor`: the factors of `a`, (..., n, n), in one matrix; and the pivots, plain whole numbers.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> from adjoint.scipy.linalg import lu_factor
        >>> ad.grad(lambda a: np.prod(lu_factor(a)[0].diagonal()))(np.diag([2.0, 3.0]))  # up to sign, the determinant
        array([[3., 0.],
               [0., 2.]])
    """
    lu, pivots = packed_lu(square("scipy.linalg.lu_factor", a))
    return lu, plain(pivots).astype(np.int32)


def _order(pivots: Any) -> Any:
    """The rows' order that a series of exchanges leads to."""
    order = np.broadcast_to(np.arange(pivots.shape[-1]), pivots.shape).copy()
    for i in range(pivots.shape[-1]):
        j = pivots[..., i : i + 1]
        there = np.take_along_axis(order, j, -1)
        np.put_along_axis(order, j, order[..., i : i + 1].copy(), -1)
        order[..., i : i + 1] = there
    return order


def _lu_cotangent(g: Any, out: Any) -> Any:
    """S. Walter and L. Lehmann, Algorithmic differentiation of linear algebra functions, 2010."""
    g, (lu, pivots) = g[0], out
    upper = np.triu(lu)
    below = np.tril(g, -1)
    inner = np.tril(below + np.matmul(adjoint_of(np.tril(lu, -1)), below), -1)
    inner = inner + np.triu(np.matmul(np.triu(g), adjoint_of(upper)))
    inner = triangular_solve(lu, inner, trans=2, lower=True, unit_diagonal=True)
    inner = adjoint_of(triangular_solve(upper, adjoint_of(inner)))
    back = np.argsort(_order(plain(pivots).astype(int)), axis=-1)
    return np.take_along_axis(inner, back[..., None], axis=-2)


@general(
    vjp=_lu_cotangent,
    multiple=True,
    samples=lambda r: [call(r(3, 3)), call(r(2, 2, 2)), call(r(2, 2) + 1j * r(2, 2))],
)
def packed_lu(a: Any, /) -> Any:
    lu, pivots = linalg.lu_factor(a)
    return lu, pivots.astype(lu.real.dtype)  # every output of an operation is real or complex


def lu_solve(
    lu_and_piv: tuple[Any, Any], b: Any, trans: int = 0, overwrite_b: bool = False, check_finite: bool = True
) -> Any:
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
    order = _order(plain(pivots))
    batch = np.broadcast_shapes(lu.shape[:-2], columns.shape[:-2])
    columns = np.broadcast_to(columns, batch + columns.shape[-2:])
    if trans == 0:
        columns = np.take_along_axis(columns, np.broadcast_to(order[..., None], (*batch, order.shape[-1], 1)), axis=-2)
        half = triangular_solve(lu, columns, lower=True, unit_diagonal=True)
        x = triangular_solve(lu, half)
    elif trans in (1, 2):
        half = triangular_solve(lu, columns, trans=trans)
        x = triangular_solve(lu, half, trans=trans, lower=True, unit_diagonal=True)
        back = np.broadcast_to(np.argsort(order, axis=-1)[..., None], (*batch, order.shape[-1], 1))
        x = np.take_along_axis(x, back, axis=-2)
    else:
        raise ArgumentError(f"lu_solve: trans is 0, 1 (transposed) or 2 (conjugate transposed); got {trans!r}")
    return x[..., 0] if vector else x
