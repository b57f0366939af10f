"""Sparse Jacobians: find which elements depend on which inputs, and compute as few directions as that allows.

Columns of the Jacobian that have no row in common can be computed together, in one direction: their sum tells
them apart. Grouping them is a graph colouring; Curtis, Powell and Reid, "On the estimation of sparse Jacobian
matrices" (1974).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import overload

import numpy as np

from adjoint.core.box import Box, raw
from adjoint.core.errors import ArgumentError, DTypeError, NotSupportedError, ShapeError
from adjoint.core.types import Array, DType, Function, P, Value
from adjoint.forward.structure import pattern_of
from adjoint.transforms.arguments import one_of
from adjoint.transforms.batch import vmap
from adjoint.transforms.forward import jvp
from adjoint.transforms.reverse import grad, vjp
from adjoint.twin.follow import follow, in_classes


@overload
def sparsity(f: np.ufunc, argnums: int = ...) -> Function: ...
@overload
def sparsity(f: Callable[P, object], argnums: int = ...) -> Callable[P, Value]: ...
def sparsity(f: Function, argnums: int = 0) -> Function:
    """A function that gives the pattern of the Jacobian of `f`: which elements of the value depend on which inputs.

    `f` runs once, with sets of inputs in place of tangents; what it computes on the way decides its branches. The
    pattern may have a few entries too many (a product with a matrix is taken to use all of it), never one too few.

    Returns:
        A function with the arguments of `f`; it gives a `scipy.sparse.csr_array` of truth values, of shape
        (size of the value, size of the argument).

    Example:
        >>> import numpy as np, adjoint as ad
        >>> ad.sparsity(lambda x: x[1:] * x[:-1])(np.ones(3)).toarray()
        array([[ True,  True, False],
               [False,  True,  True]])
    """

    @wraps(f)
    def wrapped(*args: Array, **kwargs: object) -> Value:
        inner, x = _of_one(f, argnums, args, kwargs)
        return pattern_of(inner, x)

    return wrapped


@overload
def sparse_jacobian(f: np.ufunc, argnums: int = ..., pattern: object = ...) -> Function: ...
@overload
def sparse_jacobian(f: Callable[P, object], argnums: int = ..., pattern: object = ...) -> Callable[P, Value]: ...
def sparse_jacobian(f: Function, argnums: int = 0, pattern: object = None) -> Function:
    """A function that gives the Jacobian of `f` as a sparse matrix, in as few directions as its pattern allows.

    Args:
        f: takes an array (and further arguments), gives an array.
        argnums: the number of the argument to differentiate by.
        pattern: the pattern, from `sparsity`, if it is known: it saves finding it anew at each call. One direction
            more then checks it.

    Returns:
        A function with the arguments of `f`; it gives a `scipy.sparse.csr_array` of shape (size of the value, size
        of the argument). Columns are grouped for forward mode, or rows for reverse mode, whichever needs fewer.

    Raises:
        ArgumentError: if the Jacobian has elements outside the given `pattern`.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> ad.sparse_jacobian(lambda x: x[1:] * x[:-1])(np.array([1.0, 2.0, 3.0])).toarray()
        array([[2., 1., 0.],
               [0., 3., 2.]])
    """

    @wraps(f)
    def wrapped(*args: Array, **kwargs: object) -> Value:
        inner, x = _of_one(f, argnums, args, kwargs)
        known = pattern_of(inner, x) if pattern is None else _given(pattern, x)
        jacobian = _compressed(inner, x, known)
        if pattern is not None:
            _check(inner, x, jacobian)
        return jacobian

    return wrapped


@overload
def sparse_hessian(f: np.ufunc, argnums: int = ..., pattern: object = ...) -> Function: ...
@overload
def sparse_hessian(f: Callable[P, object], argnums: int = ..., pattern: object = ...) -> Callable[P, Value]: ...
def sparse_hessian(f: Function, argnums: int = 0, pattern: object = None) -> Function:
    """A function that gives the Hessian of `f`, whose value is one number, as a sparse matrix. See `sparse_jacobian`.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> ad.sparse_hessian(lambda x: np.sum(x[1:] * x[:-1] ** 2))(np.array([1.0, 2.0, 3.0])).toarray()
        array([[4., 2., 0.],
               [2., 6., 4.],
               [0., 4., 0.]])
    """
    slope: Function = grad(f, argnums)
    return sparse_jacobian(slope, argnums, pattern)


def _of_one(
    f: Function, argnum: int, args: tuple[Array, ...], kwargs: dict[str, object]
) -> tuple[Function, np.ndarray]:
    argnum = one_of(argnum, args)
    if isinstance(raw(args[argnum]), Box):
        raise NotSupportedError(
            "a sparse Jacobian is a matrix of SciPy's, which holds numbers, and while a program is captured there are "
            "none; compile the function: ad.sparse_jacobian(ad.compile(f))"
        )
    x = np.asarray(args[argnum])
    if x.dtype.kind == "O":
        raise ArgumentError(
            f"a sparse Jacobian is taken by one array; argument {argnum} is a {type(args[argnum]).__name__}. Join its "
            f"arrays to one (np.concatenate), and take that apart in the function"
        )
    if x.dtype.kind != "f":
        raise DTypeError(f"a sparse Jacobian is taken by an array of real numbers; got {x.dtype}")

    def inner(x: Array) -> Value:
        call = list(args)
        call[argnum] = x
        value = follow(f, call)(*in_classes(f, args, call), **kwargs)
        if not hasattr(value, "shape"):
            raise ArgumentError(f"a sparse Jacobian needs a function of one array that gives one array; this one gave "
                                f"{type(value).__name__}")  # fmt: skip
        return value

    return inner, x


def _given(pattern: Value, x: np.ndarray) -> object:
    import scipy.sparse as sp

    pattern = sp.csr_array(pattern)
    if pattern.shape[1] != x.size:
        raise ShapeError(f"pattern has {pattern.shape[1]} columns, but the argument {x.size} elements")
    return pattern


def _compressed(f: Function, x: np.ndarray, pattern: Value) -> object:
    """The Jacobian of `f`, whose entries lie in `pattern`."""
    import scipy.sparse as sp

    if not pattern.nnz:
        return sp.csr_array(pattern.shape, dtype=x.dtype)
    colour, forward = _grouped(pattern)
    at = pattern.tocoo()
    if forward:
        seeds = _seeds(colour, x.shape, x.dtype)
        found = vmap(lambda v: jvp(f, (x,), (v,))[1])(seeds)
        _check_rows(pattern, found[0])
        values = np.reshape(found, (len(seeds), -1))[colour[at.col], at.row]
    else:
        value, pullback = vjp(f, x)
        _check_rows(pattern, value)
        seeds = _seeds(colour, np.shape(value), np.result_type(value))
        found = vmap(lambda g: pullback(g)[0])(seeds)
        if seeds.dtype.kind == "c":  # that was the real part
            found = found + 1j * vmap(lambda g: pullback(g)[0])(1j * seeds)
        values = np.reshape(found, (len(seeds), -1))[colour[at.row], at.col]
    return sp.csr_array((values, (at.row, at.col)), pattern.shape)


def _check_rows(pattern: Value, value: Array) -> None:
    if pattern.shape[0] != np.size(value):
        raise ShapeError(f"pattern has {pattern.shape[0]} rows, but the value {np.size(value)} elements")


def _grouped(pattern: Value) -> tuple[np.ndarray, bool]:
    """The colours of columns, for forward mode, or of rows: of whichever takes fewer."""
    import scipy.sparse as sp

    sides = {True: sp.csr_array(pattern), False: sp.csr_array(pattern.T)}
    # All entries of a row are in columns of different colours, so the longest row says how many there are at least.
    least = {forward: int(np.diff(side.indptr).max(initial=0)) for forward, side in sides.items()}
    forward = least[True] <= least[False]
    colour = colours(sides[forward])
    if colour.max(initial=-1) < max(least[not forward], 3):
        return colour, forward
    other = colours(sides[not forward])
    fewer = other.max(initial=-1) < colour.max(initial=-1)
    return (other, not forward) if fewer else (colour, forward)


def _seeds(colour: np.ndarray, shape: tuple[int, ...], dtype: DType) -> np.ndarray:
    """One direction a colour: 1 in every place of that colour."""
    seeds = np.arange(colour.max(initial=-1) + 1)[:, None] == colour
    return np.reshape(seeds.astype(dtype), (-1, *shape))


def colours(pattern: Value) -> np.ndarray:
    """A colour for each column, such that columns of one colour have no row in common.

    Each column in turn takes the first colour that no neighbour has: the fewest there are for bands and blocks, and
    few in general.
    """
    together = (pattern.T.astype(np.int32) @ pattern.astype(np.int32)).tocsr()
    neighbours, starts = together.indices.tolist(), together.indptr.tolist()
    colour = [-1] * pattern.shape[1]
    for j in range(len(colour)):
        taken = {colour[k] for k in neighbours[starts[j] : starts[j + 1]]}
        c = 0
        while c in taken:
            c += 1
        colour[j] = c
    return np.array(colour, int)


def _check(f: Function, x: np.ndarray, jacobian: Value) -> None:
    """One random direction shows whether the pattern has left something out."""
    v = np.random.default_rng(0).uniform(0.5, 1.5, x.shape).astype(x.dtype)
    exact = np.ravel(jvp(f, (x,), (v,))[1])
    gap = np.abs(jacobian @ v.ravel() - exact)
    allowed = 1e3 * np.finfo(x.dtype).eps * (abs(jacobian) @ np.abs(v).ravel() + np.abs(exact))
    if np.any(gap > allowed):
        row = int(np.argmax(gap - allowed))
        raise ArgumentError(
            f"the Jacobian has entries outside the given pattern, in row {row} for one. A pattern holds where the "
            f"function takes the same branches; find it anew here: ad.sparsity(f)(x)"
        )
