"""Quotients by the gaps between eigenvalues, or singular values; nan where rounding decides them.

Vectors turn by ``turn / gap``. Where a gap is as small as rounding, so is the turn of a function that does not depend
on how the vectors of the pair are chosen, and their quotient is noise. It becomes nan where its error may exceed
eps^(1/5) of the result: 0.07 % for float64, 4 % for float32. Nothing in the cotangents tells what the quotient should
be: those of V f(W) V^H are the same for all f of one value, and it is the derivative of f.
"""

from __future__ import annotations

import math
from functools import cache, lru_cache

import numpy as np

from adjoint.core.backend import beside, is_elsewhere, surely_all
from adjoint.core.box import Box
from adjoint.core.constructors import elementwise
from adjoint.core.op import call
from adjoint.core.protocol import detached
from adjoint.core.types import Array, DType, Value
from adjoint.ops.values import on_values

#: Errors of values and of cotangents, as multiples of eps.
_ERRORS = 4
#: A quotient so many times larger than all else comes from a function that depends on how vectors are chosen.
_LARGE = 100


def _tolerance(dtype: DType) -> float:
    return math.pow(np.finfo(dtype).eps, 0.2)


@cache
def _narrow(dtype: DType) -> float:
    """The widest gap, beside the largest value, that rounding may spoil."""
    return _ERRORS * float(np.finfo(dtype).eps) / _tolerance(dtype)


@lru_cache(64)
def _on_diagonal(n: int, dtype: DType) -> Array:
    return np.diag(np.full(n, np.inf, dtype))


def gaps_between(values: Array) -> Array:
    """values[j] - values[i]; infinite on the diagonal, so that nothing remains of what is divided by it."""
    return values[..., None, :] - values[..., :, None] + infinite_diagonal(values)


def infinite_diagonal(values: Array) -> Array:
    return beside(values, _on_diagonal(np.shape(values)[-1], np.dtype(values.dtype.char.lower())))


def divided(turns: Array, gaps: Array, values: Array, g_values: Array, *g_vectors: Array) -> Array:
    """``turns / gaps``, a part of the cotangent; nan where rounding decides it.

    Args:
        turns: (..., k, k), or (..., m, k) beside gaps of shape (..., 1, k).
        values: (..., k), eigenvalues or singular values; the rounding of `gaps` is that of the largest.
        g_values, g_vectors: the cotangents of the values, (..., k), and of the vectors, which are columns.
    """
    return (turns / gaps) if _are_wide(4, turns, gaps, values) else _narrowly(turns, gaps, values, g_values, *g_vectors)


def _narrowly(turns: Array, gaps: Array, values: Array, g_values: Array, *g_vectors: Array) -> Array:
    doubt = on_values(_doubts, *map(detached, (turns, gaps, values, g_values, *g_vectors)))
    out = unsteady(turns / np.where(np.equal(gaps, 0), 1.0, gaps), doubt)
    if not is_elsewhere(out):
        return out
    used = [np.any(np.not_equal(g, 0), axis=(-2, -1), keepdims=True) for g in g_vectors]
    return np.where(np.logical_or(used[0], used[-1]), out, 0.0)


def turned(turns: Array, gaps: Array, values: Array) -> Array:
    """``turns / gaps``, a part of the vectors' tangent; nan where rounding decides what is made of it."""
    return (turns / gaps) if _are_wide(8, turns, gaps, values) else _turned_narrowly(turns, gaps, values)


def _turned_narrowly(turns: Array, gaps: Array, values: Array) -> Array:
    size, apart = _largest(np.abs(detached(values))), np.abs(detached(gaps))
    lost = np.equal(apart, 0) | (np.not_equal(detached(turns), 0) & (apart <= 8 * _narrow(values.dtype) * size))
    doubt = np.where(lost, 2, np.where(apart <= math.sqrt(8 * _narrow(values.dtype)) * size, 1, 0))
    return unsteady(turns / np.where(np.equal(gaps, 0), 1.0, gaps), doubt)


def _are_wide(margin: float, turns: Array, gaps: Array, values: Array) -> bool:
    """Whether all gaps are known to be wide; if the quotients may be differentiated again, wide enough for that."""
    least = margin * _narrow(values.dtype)
    if type(gaps) is np.ndarray and gaps.size:
        return bool(np.abs(gaps).min() > (math.sqrt(least) if isinstance(turns, Box) else least) * np.abs(values).max())
    least = math.sqrt(least)
    return surely_all(np.abs(detached(gaps)) > least * np.max(np.abs(detached(values)), initial=0.0))


def _doubts(turns: Value, gaps: Value, values: Value, g_values: Value, *g_vectors: Value) -> Value:
    """2 where rounding decides the quotient, 1 where it decides the quotient's derivative, else 0."""
    tolerance, size, apart = _tolerance(values.dtype), _largest(np.abs(values)), np.abs(gaps)
    lengths = sum(np.sqrt(np.sum(np.abs(g) ** 2, axis=-2, keepdims=True)) for g in g_vectors)
    longest = np.max(lengths, axis=(-2, -1), keepdims=True)
    if np.shape(gaps)[-2] > 1:
        lengths = lengths + np.swapaxes(lengths, -1, -2)
    noise = _ERRORS * np.finfo(values.dtype).eps * lengths
    with np.errstate(all="ignore"):
        sizes = np.where(apart > 0, np.abs(turns) / apart, 0)
        wide = np.max(np.where(apart > 4 * _narrow(values.dtype) * size, sizes, 0), axis=(-2, -1), keepdims=True)
        rest = np.maximum(np.maximum(_largest(np.abs(g_values)), longest / size), wide)
        of_gaps = np.where(sizes > _LARGE * rest, sizes * _ERRORS * np.finfo(values.dtype).eps * size, 0)
        error = (noise + of_gaps) / apart
        result = np.maximum(rest, np.max(sizes, axis=(-2, -1), keepdims=True))
        lost = (apart == 0) | ~(error <= tolerance * result)
        again = ~(noise / apart**2 <= tolerance * result**2 / longest) & (noise > 0)
    return np.where(lost, 2, np.where(again, 1, 0))


def _largest(x: Array) -> Array:
    """The largest of each row, beside matrices."""
    return np.max(x, axis=-1, initial=0.0)[..., None, None]


#: `x`; nan where the doubt is 2. Its derivative is nan where the doubt is 1 or 2.
unsteady = elementwise(
    lambda x, doubt: np.where(np.equal(doubt, 2), np.nan, x),
    partials=(lambda doubt: np.where(np.equal(doubt, 0), 1.0, np.nan), None),
    name="unsteady",
    inputs=("x", "doubt"),
    samples=lambda r: [call(r(3), np.zeros(3, int)), call(r(2, 3) + 1j * r(2, 3), np.zeros(3, int))],
)
