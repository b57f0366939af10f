"""The phases of complex eigenvectors, which LAPACK chooses so that one component of each is real.

An eigenvector may be multiplied by any phase. LAPACK's result has a real component: the largest one from `eig`
(*geev), the first one from `eigh` if the lower triangle is read, the last one for the upper (*hetrd leaves that
row of its reflections real). So when the matrix changes, this component of the vector stays real.
"""

from __future__ import annotations

import numpy as np

from adjoint.core.backend import beside
from adjoint.core.protocol import detached
from adjoint.core.types import Array


def real_in_eigh(v: Array, uplo: str) -> Array:
    """Where the vectors in the columns of `v` have the component that is real."""
    n = np.shape(v)[-1]
    return np.broadcast_to(beside(v, np.arange(n)[:, None] == (0 if uplo.upper() == "L" else n - 1)), np.shape(v))


def real_in_eig(v: Array) -> Array:
    """The same for vectors of any matrix."""
    if v.dtype.kind != "c" or not v.shape[-1]:
        return beside(v, np.zeros(np.shape(v), bool))
    v = detached(v)
    largest = np.argmax(np.abs(v) * (1.0 + np.equal(np.imag(v), 0.0)), axis=-2)  # of two as large, the real one
    return np.equal(beside(v, np.arange(np.shape(v)[-1])[:, None]), largest[..., None, :])


def phase_tangent(tv: Array, v: Array, real: Array) -> Array:
    """The tangent `tv` of vectors `v`, turned so that the components at `real` stay real."""
    if v.dtype.kind != "c":
        return tv
    at, size = _component(v, real)
    moved = np.sum(np.where(real, tv, 0.0), axis=-2, keepdims=True)
    return tv - 1j * v * np.where(size > 0, np.imag(np.conj(at) * moved) / np.where(size > 0, size, 1.0), 0.0)


def phase_cotangent(gv: Array, v: Array, real: Array) -> Array:
    """The transpose: the cotangent `gv` of vectors `v` for that of vectors whose phase is free.

    What does not depend on the phase keeps its cotangent. What does has none where the component is 0: there the
    phase jumps.
    """
    if v.dtype.kind != "c":
        return gv
    at, size = _component(v, real)
    turn = np.imag(np.sum(np.conj(gv) * v, axis=-2, keepdims=True))
    scale = np.sum(np.abs(detached(gv)) * np.abs(detached(v)), axis=-2, keepdims=True)
    depends = np.abs(detached(turn)) > 64 * np.finfo(v.dtype).eps * scale
    depends = depends | (np.equal(scale, 0) & np.greater(size, 0))  # as a linear map, which is asked for at 0, it does
    slope = np.where(size > 0, turn / np.where(size > 0, size, 1.0), np.nan)
    return gv + np.where(np.logical_and(real, depends), 1j * at * slope, 0.0)


def _component(v: Array, real: Array) -> tuple[Array, Array]:
    """The components at `real`, one a column, and the squares of their sizes; 0 for what is rounding."""
    at = np.sum(np.where(real, v, 0.0), axis=-2, keepdims=True)
    size = np.real(at) ** 2 + np.imag(at) ** 2
    return at, np.where(size > np.finfo(v.dtype).eps, size, 0.0)
