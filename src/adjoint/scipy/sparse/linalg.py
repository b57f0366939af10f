"""`scipy.sparse.linalg` for sparse matrices and right sides that hold tensors: equations, eigenvalues, exponentials."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

import numpy as np
from scipy.sparse import linalg

from adjoint.core.box import Box
from adjoint.core.errors import ArgumentError, NotSupportedError, ShapeError
from adjoint.core.types import Array, Function, Value
from adjoint.scipy.arrays import array, constants, plain
from adjoint.scipy.attached import attached
from adjoint.scipy.followed import SolverResults, Unboxing, assembled, like
from adjoint.scipy.linalg.decompositions import eigh as dense_eigh
from adjoint.scipy.linalg.matrix_functions import expm as dense_expm
from adjoint.scipy.refused import refused
from adjoint.scipy.sparse.arithmetic import is_sparse
from adjoint.scipy.sparse.matrix import SparseMatrix, ours
from adjoint.scipy.sparse.products import sparse_solution

DENSE = 4000  # larger matrices have eigenvalues by ARPACK alone, without derivatives


def spsolve(A: Array, b: Array, permc_spec: str | None = None, use_umfpack: bool = True) -> Array:  # noqa: N803 - SciPy's name
    """`scipy.sparse.linalg.spsolve`: the `x` of ``A @ x = b``, with gradients by `b` and by the values of `A`.

    The matrix is factorised once, for the solution and its gradient.

    Args:
        A: square, from `scipy.sparse` or `csr`.
        b: (n,) or (n, k).
        permc_spec, use_umfpack: accepted, without effect.

    Raises:
        ShapeError: if shapes do not fit.
        numpy.linalg.LinAlgError: if `A` is singular.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> from adjoint.scipy import sparse
        >>> f = lambda v: sparse.spsolve(sparse.csr(v, [0, 1], [0, 1, 2], (2, 2)), np.ones(2)).sum()
        >>> ad.grad(f)(np.array([2.0, 4.0]))
        array([-0.25  , -0.0625])
    """
    if is_sparse(b):
        b = ours(b)
        if b.shape[1] != 1:
            raise NotSupportedError("scipy.sparse.linalg.spsolve with tensors takes a dense right side: b.toarray()")
        b = b.toarray()
    elif is_sparse(A) and not isinstance(A, SparseMatrix) and not isinstance(b, Box):
        b = assembled(b)
    x = _solved(ours(_sparse("spsolve", A)), b)
    return x[:, 0] if x.ndim == 2 and x.shape[1] == 1 else x


def _solved(a: SparseMatrix, b: Array) -> Array:
    b = array(b)
    if a.shape[0] != a.shape[1] or b.ndim not in (1, 2) or b.shape[0] != a.shape[0]:
        raise ShapeError(
            f"spsolve takes a square matrix (n, n) and a right side (n,) or (n, k); got {a.shape} and {b.shape}"
        )
    columns = b[:, None] if b.ndim == 1 else b
    x = sparse_solution(a.values, columns, pattern=a.pattern, form="T" if a.transposed else "N")
    return x[:, 0] if b.ndim == 1 else x


def _sparse(name: str, a: Value) -> Value:
    if not is_sparse(a):
        raise ArgumentError(
            f"a sparse matrix was expected by {name}, from scipy.sparse or adjoint.scipy.sparse.csr; got {type(a)}"
        )
    return a


class Factors:
    """What `splu` gives: solutions with one matrix, its transpose and its conjugate transpose."""

    def __init__(self, a: SparseMatrix) -> None:
        self._a, self.shape = a, a.shape

    def solve(self, rhs: Array, trans: str = "N") -> Array:
        """The x of ``A @ x = rhs``; of the transpose for "T", of the conjugate transpose for "H"."""
        a = {"N": self._a, "T": self._a.T, "H": self._a.H}[trans]
        return _solved(a, rhs)

    def __getattr__(self, name: str) -> Value:
        if name not in ("L", "U", "perm_r", "perm_c", "nnz"):
            raise AttributeError(name)
        raise NotSupportedError(
            f"the {name} of scipy.sparse.linalg.splu has no rule; solve(b) has, and np.linalg.slogdet(A.toarray())"
        )


def splu(A: Array, *args: object, **kwargs: object) -> Factors:  # noqa: N803 - SciPy's name
    """`scipy.sparse.linalg.splu`: `solve` with derivatives by right sides and stored values. Options have no effect.

    Example:
        >>> import numpy as np, adjoint as ad, scipy.sparse
        >>> from adjoint.scipy.sparse.linalg import splu
        >>> lu = splu(scipy.sparse.eye_array(2, format="csc") * 4.0)
        >>> ad.grad(lambda b: lu.solve(b).sum())(np.ones(2))
        array([0.25, 0.25])
    """
    return Factors(ours(_sparse("splu", A)))


def factorized(A: Array) -> Callable[[Array], Array]:  # noqa: N803 - SciPy's name
    """`scipy.sparse.linalg.factorized`: a function that solves ``A @ x = b`` for any `b`, with `A` factorised once.

    Example:
        >>> import numpy as np, adjoint as ad, scipy.sparse
        >>> from adjoint.scipy import sparse
        >>> solve = sparse.factorized(scipy.sparse.eye_array(2) * 4.0)
        >>> ad.grad(lambda b: solve(b).sum())(np.ones(2))
        array([0.25, 0.25])
    """
    a = ours(_sparse("factorized", A))
    if isinstance(a.values, np.ndarray):
        a.pattern.factors(a.values)
    return lambda b: _solved(a, b)


class _KnownPattern:
    """Factors that SciPy made, in the place of a pattern: of the matrix itself, not of its transpose."""

    never_changes = True
    rows = indices = np.zeros(0, int)

    def __init__(self, lu: Value) -> None:
        self._lu, self.shape = lu, lu.shape

    def factors(self, values: Array) -> Value:
        return self._lu


class KnownFactors:
    """A `scipy.sparse.linalg.SuperLU`, which takes right sides that are tensors."""

    def __init__(self, lu: Value) -> None:
        self._pattern = _KnownPattern(lu)

    def solve(self, rhs: Array, trans: str = "N") -> Array:
        """As SciPy's."""
        b = array(assembled(rhs))
        columns = b[:, None] if b.ndim == 1 else b
        form = {"N": "T", "T": "N", "H": "C"}[trans]
        x = sparse_solution(np.zeros(0), columns, pattern=self._pattern, form=form)
        return x[:, 0] if b.ndim == 1 else x


def LinearOperator(  # noqa: N802 - SciPy's name
    shape: tuple[int, int], matvec: Function, rmatvec: Value = None, matmat: Value = None, dtype: Value = None,
    rmatmat: Value = None,
) -> linalg.LinearOperator:  # fmt: skip
    """`scipy.sparse.linalg.LinearOperator`, whose functions may use tensors: SciPy asks them for the dtype."""
    if dtype is None:
        dtype = matvec(np.zeros(shape[-1])).dtype
    return linalg.LinearOperator(shape, matvec, rmatvec, matmat, dtype, rmatmat)


# -- Solvers that iterate -------------------------------------------------------------------------------


def _plain_operator(a: Value, unboxing: Unboxing) -> Value:
    """A matrix or operator of numbers alone."""
    if isinstance(a, SparseMatrix):
        return a.pattern.matrix(unboxing.number(a.values), a.transposed)
    if isinstance(a, linalg.LinearOperator):
        plain = {word: _plainly(_function_of(a, word), unboxing) for word in ("matvec", "rmatvec")}
        return linalg.LinearOperator(a.shape, **plain, dtype=float)
    return unboxing.plain(a)


def _plainly(function: Function, unboxing: Unboxing) -> Function:
    return lambda v: unboxing.numbers(function(v))


def _function_of(a: Value, word: str) -> Function:
    """A product of an operator of SciPy's, whose own method would make numbers of it."""
    own: Function | None = getattr(a, f"_CustomLinearOperator__{word}_impl", None)
    return getattr(a, f"_{word}") if own is None else own


_OPERATORS = ("A", "M", "M1", "M2", "OPinv", "Minv")


def _of_numbers(given: dict[str, Value], unboxing: Unboxing) -> dict[str, Value]:
    """The arguments of a call, of numbers alone."""
    return {k: _plain_operator(x, unboxing) if k in _OPERATORS else unboxing.plain(x) for k, x in given.items()}


def _iterative(name: str) -> Function:
    theirs = getattr(linalg, name)

    @like(theirs)
    def solve(given: dict[str, Value]) -> tuple[Array, int]:
        a, b = given["A"], array(assembled(given["b"]))

        def run(unboxing: Unboxing) -> Value:
            return theirs(**_of_numbers(given, unboxing))

        found = SolverResults(run)
        if not found.boxed:
            return cast("tuple[Array, int]", found.one)
        x = found.each(lambda result: result[0])
        flat = np.reshape(b, (-1,))
        if is_sparse(a):
            exact = _solved(ours(a), flat)
        elif isinstance(a, linalg.LinearOperator):
            return attached(x, lambda z: np.reshape(_function_of(a, "matvec")(z), (-1,)) - flat), max(
                r[1] for r in found.results
            )
        else:
            exact = np.linalg.solve(array(assembled(a)), flat)
        return exact + (x - constants(exact)), max(r[1] for r in found.results)

    solve.__doc__ = (
        f"`scipy.sparse.linalg.{name}`: its solution, with the derivatives of the exact one by matrix, operator and "
        f"right side."
    )
    return solve


cg, cgs, gmres, lgmres = map(_iterative, ("cg", "cgs", "gmres", "lgmres"))
bicg, bicgstab, minres, qmr = map(_iterative, ("bicg", "bicgstab", "minres", "qmr"))
gcrotmk, tfqmr = map(_iterative, ("gcrotmk", "tfqmr"))


# -- Eigenvalues, singular values, exponentials ----------------------------------------------------------


def _whole(name: str, a: Value) -> Array:
    """The matrix, dense."""
    if isinstance(a, linalg.LinearOperator):
        raise NotSupportedError(f"scipy.sparse.linalg.{name} with tensors takes a matrix, not a LinearOperator")
    dense = ours(a).toarray() if is_sparse(a) else array(assembled(a))
    if max(dense.shape) > DENSE:
        raise NotSupportedError(
            f"scipy.sparse.linalg.{name} has derivatives of matrices with up to {DENSE} rows; got shape {dense.shape}. "
            f"With eigenvectors v of numbers, v @ (A @ v) has the right first derivative"
        )
    return dense


def _places(values: Array, wanted: Array) -> Array:
    """Where the `wanted` eigenvalues are among all: each place once."""
    left, places = np.array(values), []
    for value in wanted:
        places.append(int(np.nanargmin(np.abs(left - value))))
        left[places[-1]] = np.nan
    return np.array(places, int)


def _signed(vectors: Array, like: Array) -> Array:
    """`vectors` with the signs of those of SciPy's."""
    dots = np.sum(constants(vectors) * like, axis=0)
    return vectors * np.where(np.less(dots, 0), -1.0, 1.0)


@like(linalg.eigsh)
def eigsh(given: dict[str, Value]) -> Value:
    """`scipy.sparse.linalg.eigsh`: some eigenvalues, and eigenvectors, of a symmetric matrix, with derivatives.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> from adjoint.scipy import sparse
        >>> f = lambda d: sparse.linalg.eigsh(sparse.diags(d), k=1, which="LM", v0=np.ones(3))[0][0]
        >>> ad.grad(f)(np.array([1.0, 2.0, 5.0])).round(9)
        array([0., 0., 1.])
    """
    a, mass = given["A"], given.get("M")
    if given.get("mode", "normal") != "normal":
        raise NotSupportedError("scipy.sparse.linalg.eigsh with tensors takes mode='normal'")
    found = _found(linalg.eigsh, given)
    w, v = dense_eigh(_whole("eigsh", a), None if mass is None else _whole("eigsh", mass))
    if not given.get("return_eigenvectors", True):
        return w[_places(plain(w), found)]
    at = _places(plain(w), found[0])
    return w[at], _signed(v[:, at], found[1])


@like(linalg.eigs)
def eigs(given: dict[str, Value]) -> Value:
    """`scipy.sparse.linalg.eigs`: some eigenvalues of a square matrix, with derivatives.

    Eigenvectors are as `numpy.linalg.eig` gives them: they may differ from SciPy's by a factor of length 1.
    """
    if given.get("M") is not None:
        raise NotSupportedError("scipy.sparse.linalg.eigs with tensors takes no M; scipy.sparse.linalg.eigsh does")
    found = _found(linalg.eigs, given)
    w, v = np.linalg.eig(_whole("eigs", given["A"]))
    if not given.get("return_eigenvectors", True):
        return w[_places(plain(w), found)]
    at = _places(plain(w), found[0])
    return w[at], v[:, at]


def _found(theirs: Function, given: dict[str, Value]) -> Value:
    """What SciPy finds of numbers."""

    drawn = all(given.get(name) is None for name in ("v0", "rng", "random_state"))
    if drawn and given.get("solver", "arpack") == "arpack":  # SciPy draws where it begins: the last digits would differ
        given = {**given, "v0": np.random.default_rng(0).uniform(-1.0, 1.0, min(given["A"].shape))}

    def run(unboxing: Unboxing) -> Value:
        return theirs(**_of_numbers(given, unboxing))

    found = SolverResults(run)
    if found.several:
        raise NotSupportedError(
            f"scipy.sparse.linalg.{theirs.__name__} is not there inside ad.vmap; np.linalg has eigh, eig and svd "
            f"of dense matrices"
        )
    return found.one


@like(linalg.svds)
def svds(given: dict[str, Value]) -> Value:
    """`scipy.sparse.linalg.svds`: some singular values and vectors, with derivatives.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> from adjoint.scipy import sparse
        >>> f = lambda d: sparse.linalg.svds(sparse.diags(d), k=1, v0=np.ones(3))[1][0]
        >>> ad.grad(f)(np.array([1.0, 2.0, 5.0])).round(9)
        array([0., 0., 1.])
    """
    wanted = given.get("return_singular_vectors", True)
    if wanted not in (True, False):
        raise NotSupportedError("scipy.sparse.linalg.svds with tensors takes return_singular_vectors=True or False")
    found = _found(linalg.svds, given)
    u, s, vh = np.linalg.svd(_whole("svds", given["A"]), full_matrices=False)
    if not wanted:
        return s[_places(plain(s), found)]
    left, values, _ = found
    at = _places(plain(s), values)
    signs = np.where(np.sum(plain(u)[:, at] * left, axis=0) < 0, -1.0, 1.0)
    return u[:, at] * signs, s[at], vh[at] * signs[:, None]


def expm_multiply(
    A: Array, B: Array, start: float | None = None, stop: float | None = None, num: int | None = None,  # noqa: N803 - SciPy's
    endpoint: bool | None = None, traceA: object = None,  # noqa: N803 - SciPy's names
) -> Array:  # fmt: skip
    """`scipy.sparse.linalg.expm_multiply`: the exponential of a matrix times `B`, at one time or at several.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> from adjoint.scipy import sparse
        >>> ad.grad(lambda d: sparse.linalg.expm_multiply(sparse.diags(d), np.ones(2)).sum())(np.zeros(2))
        array([1., 1.])
    """
    a, b = _whole("expm_multiply", A), array(assembled(B))
    if start is None and stop is None and num is None:
        return np.matmul(dense_expm(a), b)
    times = np.linspace(start or 0.0, 1.0 if stop is None else stop, num or 50, endpoint=endpoint is not False)
    return np.stack([np.matmul(dense_expm(a * t), b) for t in times])


def norm(x: Array, ord: Value = None, axis: Value = None) -> Array:
    """`scipy.sparse.linalg.norm`: of a sparse matrix.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> from adjoint.scipy import sparse
        >>> ad.grad(lambda d: sparse.linalg.norm(sparse.diags(d)))(np.array([3.0, 4.0]))
        array([0.6, 0.8])
    """
    a = ours(_sparse("norm", x))
    if ord in (None, "fro", "f") and axis is None and not a.pattern.repeats:
        return np.linalg.norm(a.values)
    return np.linalg.norm(_whole("norm", a), ord, axis)


def _dense_only(name: str, instead: str) -> Function:
    name = f"sparse.linalg.{name}"
    return refused(name, f"scipy.{name} of a matrix that holds a tensor is not there; {instead}")


inv = _dense_only("inv", "spsolve(A, b) solves with it, and np.linalg.inv(A.toarray()) is its inverse")
expm = _dense_only("expm", "expm_multiply(A, b) is, and scipy.linalg.expm(A.toarray())")
lsqr = _dense_only("lsqr", "np.linalg.lstsq(A.toarray(), b) is")
lsmr = _dense_only("lsmr", "np.linalg.lstsq(A.toarray(), b) is")
