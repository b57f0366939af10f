"""Equations with a matrix that is given by its diagonals."""

from __future__ import annotations

import numpy as np
from scipy import linalg

from adjoint.core.constructors import general
from adjoint.core.errors import ShapeError
from adjoint.core.op import call
from adjoint.core.types import Array
from adjoint.ops.linalg.lapack import conj
from adjoint.scipy.arrays import array, unfitted


def solve_banded(
    l_and_u: tuple[int, int],
    ab: Array,
    b: Array,
    overwrite_ab: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> Array:
    """`scipy.linalg.solve_banded`: the `x` of ``a @ x = b`` for a matrix given by its diagonals.

    Args:
        l_and_u: how many diagonals there are below and above the main one.
        ab: (l + u + 1, n): diagonals as rows, the uppermost first; ``ab[u + i - j, j] = a[i, j]``.
        b: (n,) or (n, k).

    Raises:
        ShapeError: if shapes do not fit.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> from adjoint.scipy.linalg import solve_banded
        >>> ad.grad(lambda b: solve_banded((0, 0), np.array([[2.0, 4.0]]), b).sum())(np.ones(2))
        array([0.5 , 0.25])
    """
    ab, b = array(ab), array(b)
    below, above = map(int, l_and_u)
    if ab.ndim != 2 or b.ndim not in (1, 2) or ab.shape[0] != below + above + 1 or ab.shape[1] != b.shape[0]:
        raise ShapeError(
            f"solve_banded with {below} diagonals below and {above} above takes ab of shape ({below + above + 1}, n) "
            f"and b of shape (n,) or (n, k); got {ab.shape} and {b.shape}"
        )
    x = banded_solve(ab, b.reshape(-1, 1) if b.ndim == 1 else b, below=below, above=above)
    return unfitted(x, b.ndim == 1)


def flipped(ab: Array, below: int, above: int) -> Array:
    """The diagonals of the conjugate transpose."""
    n = ab.shape[1]
    rows = []
    for k in range(-below, above + 1):  # the row of the transpose's diagonal number -k
        row = conj(ab[above - k])
        gap = np.zeros(min(abs(k), n), ab.dtype)
        rows.append(np.concatenate([row[k:], gap] if k >= 0 else [gap, row[:k]])[:n])
    return np.stack(rows)


def _banded_back(g: Array, ab: Array, below: int, above: int) -> Array:
    return banded_solve(flipped(ab, below, above), g, below=above, above=below)


def _banded_ab(g: Array, ab: Array, out: Array, below: int, above: int) -> Array:
    g_b, x, n = _banded_back(g, ab, below, above), conj(out), out.shape[0]
    rows = []
    for k in range(above, -below - 1, -1):  # a[i, i + k]
        m = max(n - abs(k), 0)
        row = -np.sum(g_b[max(-k, 0) :][:m] * x[max(k, 0) :][:m], axis=1)
        gap = np.zeros(n - m, row.dtype)
        rows.append(np.concatenate([gap, row] if k > 0 else [row, gap]))
    return np.stack(rows)


def _banded_tangent(t: Array, ab: Array, out: Array, below: int, above: int) -> Array:
    total, n = np.zeros_like(out), out.shape[0]
    for k in range(-below, above + 1):  # the diagonal of the elements a[i, i + k]
        row = t[above - k][max(k, 0) : n + min(k, 0), None] * out[max(k, 0) : n + min(k, 0)]
        gap = np.zeros((min(abs(k), n), out.shape[1]), out.dtype)
        total = total + np.concatenate([row, gap] if k >= 0 else [gap, row])
    return banded_solve(ab, -total, below=below, above=above)


def _banded_forth(t: Array, ab: Array, below: int, above: int) -> Array:
    return banded_solve(ab, t, below=below, above=above)


@general(
    jvps=(_banded_tangent, _banded_forth),
    batch="columns",
    flags=("raises", "selects", "host"),
    vjps=(_banded_ab, lambda g, ab, below, above: _banded_back(g, ab, below, above)),
    samples=lambda r: [
        call(r(3, 5) + np.array([[0], [6], [0]]), r(5, 2), below=1, above=1),
        call(r(4, 4) + np.array([[0], [0], [8], [0]]), r(4, 1), below=1, above=2),
        call(r(2, 3) + 1j * r(2, 3) + np.array([[0], [6]]), r(3, 1), below=0, above=1),
    ],
    errors=lambda r: [call(np.zeros((1, 2)), r(2, 1))],
)
def banded_solve(ab: Array, b: Array, /, below: int = 0, above: int = 0) -> Array:
    return linalg.solve_banded((below, above), ab, b)
