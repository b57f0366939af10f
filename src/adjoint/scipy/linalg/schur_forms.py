"""Schur's form, and functions of a matrix by its eigenvalues."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import linalg

from adjoint.core.errors import ArgumentError, ShapeError
from adjoint.core.types import Array, Function, Value
from adjoint.ops.linalg.lapack import hermitian
from adjoint.scipy.arrays import constants, square
from adjoint.scipy.followed import SolverResults, follow
from adjoint.scipy.hosted import hosted


def schur(
    a: Array,
    output: str = "real",
    lwork: Value = None,
    overwrite_a: bool = False,
    sort: Value = None,
    check_finite: bool = True,
) -> Value:
    """`scipy.linalg.schur`: ``(t, z)`` with ``a = z @ t @ z^H``, t triangular or with blocks of two on its diagonal.

    Derivatives are those of the solution that SciPy finds. The columns of a complex z do not turn: what does not depend
    on their phases has the right derivative.

    Raises:
        GradientError: when a derivative is asked for, if eigenvalues coincide.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> from adjoint.scipy import linalg
        >>> ad.grad(lambda a: np.trace(linalg.schur(a)[0]))(np.array([[2.0, 1.0], [0.5, 3.0]])).round(9) + 0.0
        array([[1., 0.],
               [0., 1.]])
    """
    a = square("scipy.linalg.schur", a)
    if a.ndim != 2:
        raise ShapeError(f"scipy.linalg.schur takes a matrix; got shape {a.shape}")
    found = SolverResults(lambda unboxing: linalg.schur(unboxing.number(a), output, sort=sort))
    if not found.boxed:
        return found.one
    start = found.each(lambda result: result[1])
    blocks = np.not_equal(found.each(lambda result: np.tril(result[0], -1)), 0)
    n, below = a.shape[0], np.tri(a.shape[0], k=-1, dtype=bool)

    def equations(z: Array) -> Array:
        t = np.matmul(hermitian(z), np.matmul(a, z))
        unit = np.matmul(hermitian(z), z) - np.eye(n)
        if start.dtype.kind == "c":
            phases = np.imag(np.sum(np.conj(start) * z, axis=0))
            return np.where(below, t, unit) + 1j * np.diag(phases)
        diagonal = np.diagonal(t)
        apart = diagonal[:, None] - diagonal  # LAPACK's blocks have equal elements on the diagonal
        return np.where(below, np.where(blocks, apart, t), unit)

    z = follow(found, lambda result: result[1], equations)
    t = np.matmul(hermitian(z), np.matmul(a, z))
    t = np.where(np.logical_or(np.logical_not(below), blocks), t, 0.0)
    return (t, z, *found.one[2:])


def _by_eigenvalues(name: str, a: Array, function: Callable[[Array], Array], real: Function) -> Array:
    a = square(name, a)
    w, v = np.linalg.eig(a)
    made = np.matmul(v * function(w)[..., None, :], np.linalg.inv(v))
    return np.real(made) if a.dtype.kind == "f" and real(a) else made


def funm(A: Array, func: Function, disp: bool = True) -> Array:  # noqa: N803 - SciPy's name
    """`scipy.linalg.funm`: a function of a matrix whose eigenvalues differ, `func` of an array of numbers.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> from adjoint.scipy import linalg
        >>> ad.grad(lambda a: linalg.funm(a, np.square)[0, 0])(np.array([[2.0, 1.0], [0.5, 3.0]])).round(9)[0]
        array([4. , 0.5])
    """
    if not disp:
        raise ArgumentError("scipy.linalg.funm of a tensor takes disp=True: the error estimate has no derivative")

    def real(a: Array) -> bool:
        return not np.iscomplexobj(hosted(lambda a: linalg.funm(a, func), a))

    return _by_eigenvalues("scipy.linalg.funm", A, func, real)


def signm(A: Array, disp: Value = None) -> Array:  # noqa: N803 - SciPy's name
    """`scipy.linalg.signm`: the sign of a matrix, which has the signs of the real parts of its eigenvalues.

    Example:
        >>> import numpy as np
        >>> from adjoint.scipy import linalg
        >>> linalg.signm(np.array([[2.0, 1.0], [0.0, -3.0]])).round(9) + 0.0
        array([[ 1. ,  0.4],
               [ 0. , -1. ]])
    """
    return _by_eigenvalues("scipy.linalg.signm", A, lambda w: np.sign(np.real(constants(w))) + 0.0j, lambda a: True)
