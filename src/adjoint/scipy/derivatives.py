"""Products with Jacobians and Hessians of a function of one vector: the one place from which the solvers take them."""

from __future__ import annotations

import numpy as np
from scipy.sparse.linalg import LinearOperator

from adjoint.core.errors import ArgumentError
from adjoint.core.types import Array, Function
from adjoint.transforms.batch import vmap
from adjoint.transforms.reverse import grad, vjp
from adjoint.transforms.sparse import sparse_jacobian, sparsity

CHUNK = 128  # how many products are computed at once


def pulled(f: Function, x: Array) -> tuple[Array, Function]:
    """The value of `f` and its pullback, which may be called any number of times."""
    value, pullback = vjp(f, x)
    return value, lambda cotangent: pullback(cotangent)[0]


def pushed(pullback: Function, like: Array) -> Function:
    """The pushforward that belongs to `pullback`: the transpose of a linear function, taken once."""
    return pulled(pullback, np.zeros_like(like))[1]


def curvature(f: Function, x: Array) -> tuple[Array, Function]:
    """The gradient of `f`, and the products of its Hessian with vectors, from one linearisation.

    A solver takes several products at a point, and each then costs less than `ad.hvp`, which begins anew.
    """
    return pulled(grad(f), x)  # the Hessian is symmetric: its pullback is its pushforward


def matrix(product: Function, n: int) -> Array:
    """The matrix whose product with a vector of length `n` is `product`, by columns."""
    many = vmap(product)
    blocks = [many(np.eye(min(CHUNK, n - start), n, start)) for start in range(0, n, CHUNK)]
    return np.swapaxes(blocks[0] if len(blocks) == 1 else np.concatenate(blocks), 0, 1)


def jacobian_of(pullback: Function, like: Array, n: int) -> Array:
    """The Jacobian (m, n) from its pullback, by rows, or where these are many by columns."""
    m = np.shape(like)[0]
    if m <= max(n, CHUNK):  # one sweep of rows is less than the transpose of the pullback and a sweep of columns
        return np.swapaxes(matrix(pullback, m), 0, 1)
    return matrix(pushed(pullback, like), n)


def operator(pullback: Function, like: Array, n: int) -> LinearOperator:
    """The Jacobian as a SciPy operator, of which nothing is ever written out."""
    push = pushed(pullback, like)

    def ravelled(product: Function) -> Function:
        return lambda v: product(np.ravel(v))  # SciPy may hand over a column

    shape = (np.shape(like)[0], n)
    return LinearOperator(shape, matvec=ravelled(push), rmatvec=ravelled(pullback), dtype=np.float64)


class SparseJacobian:
    """The sparse Jacobian of a function at one point after another. Its pattern is found at the first."""

    def __init__(self) -> None:
        self._pattern: object = None

    def __call__(self, f: Function, x: Array) -> Array:
        """The Jacobian of `f` at `x`, a `scipy.sparse.csr_array`."""
        if self._pattern is not None:
            try:
                return sparse_jacobian(f, pattern=self._pattern)(x)
            except ArgumentError:  # another branch of the program, another pattern
                pass
        self._pattern = sparsity(f)(x)
        return sparse_jacobian(f, pattern=self._pattern)(x)
