"""Gradient rules of selections choose elements of a cotangent by truth values, with the functions of this file."""

from __future__ import annotations

import numpy as np

from adjoint.core.types import Array, Value

# Whole numbers that have the bits of a floating-point number.
_WORDS: dict[Value, Value] = {np.dtype(float): np.dtype(np.int64), np.dtype(np.float32): np.dtype(np.int32)}
_BOOL = np.dtype(bool)
_MANY = 512
# Up to so many, one product of whole numbers is faster than masks.
_FEW = 1 << 13
# Larger arrays go in blocks of so many elements, so that their truth values stay few.
_BLOCK = 1 << 16


def where_true(condition: Array, g: Array) -> Array:
    """``np.where(condition, g, 0.0)``. Of many numbers the bits are masked, which needs no branch an element."""
    if _fits(condition, g) and condition.dtype is _BOOL:
        return _masked(condition, g, 1)
    return np.where(condition, g, 0.0)


def where_false(condition: Array, g: Array) -> Array:
    """``np.where(condition, 0.0, g)``, in the same way."""
    return _masked(condition, g, 0) if _fits(condition, g) and condition.dtype is _BOOL else np.where(condition, 0.0, g)


def where_positive(x: Array, g: Array) -> Array:
    """``np.where(x > 0, g, 0.0)``, in the same way."""
    return _masked(x, g, None) if _fits(x, g) else np.where(np.greater(x, 0), g, 0.0)


def keep_positive(x: np.ndarray, g: np.ndarray) -> np.ndarray:
    """`where_positive`, written into `g`; both lie in C order."""
    word = _WORDS[g.dtype]
    x, given = x.reshape(-1), g.view(word).reshape(-1)
    chosen = np.empty(min(g.size, _BLOCK), word)
    for start in range(0, g.size, _BLOCK):
        block = given[start : start + _BLOCK]
        mask = chosen[: block.size]
        np.greater(x[start : start + _BLOCK], 0, out=mask)
        np.negative(mask, mask)
        np.bitwise_and(mask, block, block)
    return g


def _fits(x: Array, g: Array) -> bool:
    kind = np.ndarray
    return type(g) is kind and type(x) is kind and g.size > _MANY and x.shape == g.shape and g.dtype in _WORDS


def _masked(x: np.ndarray, g: np.ndarray, wanted: int | None) -> Array:
    """`g` where the truth values `x` are `wanted`; None: where the numbers `x` are positive. 0 elsewhere."""
    out, word = np.empty_like(g), _WORDS[g.dtype]
    given, found = g.view(word), out.view(word)
    if wanted == 1 and g.size <= _FEW:
        np.multiply(given, x.view(np.int8), found)
        return out
    if g.size <= _BLOCK or not (x.flags.c_contiguous and g.flags.c_contiguous):
        _mask(given, x, wanted, found)
        return out
    given, x, found = given.reshape(-1), x.reshape(-1), found.reshape(-1)
    for start in range(0, g.size, _BLOCK):
        block = slice(start, start + _BLOCK)
        _mask(given[block], x[block], wanted, found[block])
    return out


def _mask(given: np.ndarray, x: np.ndarray, wanted: int | None, found: np.ndarray) -> None:
    """The bits of `given` into `found`, all of a number or none: -1 has all bits set, 0 none."""
    if wanted is None:
        np.greater(x, 0, out=found)
        np.negative(found, found)
    elif wanted == 0:
        np.subtract(x.view(np.int8), 1, found)
    else:
        np.negative(x.view(np.int8), found)
    np.bitwise_and(found, given, found)
