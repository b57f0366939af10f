# ruff: noqa: N803 - PyTorch's names of arguments
"""PyTorch's `torch.linalg`: NumPy's functions, which take ``dim`` and ``keepdim`` too, and some that PyTorch adds."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from adjoint.core.late import service
from adjoint.core.messages.elsewhere import looked_up
from adjoint.core.registry import of_numpy
from adjoint.core.types import Array, Axis, Value


class LstsqResult(NamedTuple):
    """What `lstsq` gives."""

    solution: Array
    residuals: Array
    rank: Array
    singular_values: Array


def norm(
    A: Array, ord: Value = None, dim: Axis = None, keepdim: bool = False, *, axis: Axis = None, keepdims: bool = False
) -> Array:
    """``np.linalg.norm(A, ord, dim, keepdim)``.

    Example:
        >>> import adjoint as ad
        >>> ad.linalg.norm(ad.tensor([[3.0, 4.0], [6.0, 8.0]]), dim=1)
        tensor([ 5., 10.])
    """
    along = axis if dim is None else tuple(dim) if isinstance(dim, list) else dim
    return np.linalg.norm(A, ord, along, keepdim or keepdims)


def vector_norm(
    x: Array, ord: float = 2, dim: Axis = None, keepdim: bool = False, *, axis: Axis = None, keepdims: bool = False
) -> Array:
    """``np.linalg.vector_norm(x, ord=ord, axis=dim, keepdims=keepdim)``: of all elements, if there is no `dim`.

    Example:
        >>> import adjoint as ad
        >>> ad.linalg.vector_norm(ad.tensor([[3.0, -4.0], [6.0, 8.0]]), 1, dim=1)
        tensor([ 7., 14.])
    """
    along = axis if dim is None else tuple(dim) if isinstance(dim, list) else dim
    return np.linalg.vector_norm(x, axis=along, keepdims=keepdim or keepdims, ord=ord)


def lstsq(A: Array, B: Array, rcond: float | None = None, *, driver: str | None = None) -> LstsqResult:
    """``np.linalg.lstsq(A, B)``, whose parts have names."""
    return LstsqResult(*np.linalg.lstsq(A, B, rcond))


def solve_triangular(A: Array, B: Array, *, upper: bool, left: bool = True, unitriangular: bool = False) -> Array:
    """The solution of ``A x = B`` (with ``left=False`` of ``x A = B``), where `A` is a triangle."""
    if not left:
        return solve_triangular(A.mT, B.mT, upper=not upper, unitriangular=unitriangular).mT
    found: Array = service("scipy").linalg.solve_triangular(A, B, lower=not upper, unit_diagonal=unitriangular)
    return found


def solve_ex(A: Array, B: Array) -> tuple[Array, int]:
    """``np.linalg.solve(A, B)``, and 0: a singular matrix raises."""
    return np.linalg.solve(A, B), 0


def inv_ex(A: Array) -> tuple[Array, int]:
    """``np.linalg.inv(A)``, and 0: a singular matrix raises."""
    return np.linalg.inv(A), 0


def matrix_exp(A: Array) -> Array:
    """``adjoint.scipy.linalg.expm(A)``."""
    found: Array = service("scipy").linalg.expm(A)
    return found


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Value:
        if name[:2] != "__" and hasattr(np.linalg, name):
            return of_numpy(np.linalg, name)
        raise looked_up("linalg", name)


def __dir__() -> list[str]:
    return sorted({*dir(np.linalg), "matrix_exp", "solve_triangular"})
