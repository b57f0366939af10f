"""How close to singular a matrix is: its rank and its condition number."""

from __future__ import annotations

import numpy as np

from adjoint.core.backend import maybe_any, surely_any
from adjoint.core.box import Box, raw
from adjoint.core.constants import constant
from adjoint.core.constructors import composite
from adjoint.core.errors import ArgumentError
from adjoint.core.op import call
from adjoint.core.rules.pullbacks import dtype_of
from adjoint.core.types import Array, Value
from adjoint.ops.linalg.determinants import inverse_or_nan


def ranks(*xs: Array, **settings: Value) -> Array:
    """The ranks of a stack of matrices."""
    return np.linalg.matrix_rank(*xs, **settings)


(_ranks,) = constant(ranks, batch=lambda xs, settings: ranks(*xs, **settings))


@composite(np.linalg.matrix_rank, samples=lambda r: [call(r(3, 3)), call(r(3))], flags=("constant",))
def matrix_rank(A: Array, tol: object = None, hermitian: bool = False, *, rtol: object = None) -> Array:  # noqa: N803 - NumPy's name
    if np.ndim(A) > 1:
        given = {"tol": tol, "hermitian": hermitian or None, "rtol": rtol}
        return _ranks(A, **{name: setting for name, setting in given.items() if setting is not None})
    found: Value = np.any(A)  # a vector's is 1, unless it is 0: one of Python's numbers
    return found.astype(int).of_python() if isinstance(found, Box) else int(found)  # type: ignore[attr-defined]  # every box has both


@composite(
    np.linalg.cond,
    flags=("number",),
    samples=lambda r: [call(r(3, 3)), call(r(2, 4, 3)), *(call(r(3, 3), p=p) for p in (2, -2, 1, np.inf, "fro"))],
    errors=lambda r: [call(r(3))],
)
def cond(x: Array, p: Array = None) -> Array:
    if np.ndim(x) < 2:
        raise ArgumentError(f"np.linalg.cond takes a matrix or a stack of them; got {np.ndim(x)} dimension(s)")
    if 0 in np.shape(x)[-2:]:
        raise np.linalg.LinAlgError(f"np.linalg.cond is not defined on empty arrays; got shape {np.shape(x)}")
    axes = (-2, -1)
    if p is None or p in (2, -2):
        lost = np.logical_not(np.all(np.isfinite(x), axis=axes))
        if surely_any(lost):
            np.linalg.cond(raw(x), p)  # which raises for nan before NumPy 2.5
        s = np.linalg.svdvals(np.where(lost[..., None, None], 1.0, x) if maybe_any(lost) else x)
        result = s[..., -1] / s[..., 0] if p == -2 else s[..., 0] / s[..., -1]
        result = np.where(lost, np.nan, 1.0) * result if maybe_any(lost) else result
    else:
        half = dtype_of(x).char == "e"  # which NumPy refuses to invert
        wide = x if half else x.astype(np.result_type(x, np.float64))  # in which NumPy inverts
        result = np.linalg.norm(x, p, axis=axes) * np.linalg.norm(inverse_or_nan(wide), p, axis=axes)
    hopeless = np.logical_and(np.isnan(result), ~np.any(np.isnan(x), axis=axes))  # singular, or infinite
    result = np.where(hopeless, np.inf, result) if maybe_any(hopeless) else result
    precision = np.float32 if dtype_of(x).char in "fF" else np.float64
    return result if result.dtype == precision else result.astype(precision)
