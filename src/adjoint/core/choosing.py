"""Choosing the elements of a cotangent by truth values, which rules of selections do on the backward pass."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

# Whole numbers that have the bits of a floating-point number.
_WORDS = {np.dtype(float): np.int64, np.dtype(np.float32): np.int32}
_MANY = 1024
# Larger arrays go in blocks of so many elements, so that their truth values stay few.
_BLOCK = 1 << 18


def where_true(condition: Any, g: Any) -> Any:
    """``np.where(condition, g, 0.0)``. Of many numbers the bits are masked, which needs no branch an element."""
    if type(g) is np.ndarray and g.size > _MANY and _fits(condition, g) and condition.dtype == bool:
        return _masked(_true, condition, g)
    return np.where(condition, g, 0.0)


def where_false(condition: Any, g: Any) -> Any:
    """``np.where(condition, 0.0, g)``, in the same way."""
    if type(g) is np.ndarray and g.size > _MANY and _fits(condition, g) and condition.dtype == bool:
        return _masked(_false, condition, g)
    return np.where(condition, 0.0, g)


def where_positive(x: Any, g: Any) -> Any:
    """``np.where(x > 0, g, 0.0)``, in the same way."""
    if type(g) is np.ndarray and g.size > _MANY and _fits(x, g):
        return _masked(_positive, x, g)
    return np.where(np.greater(x, 0), g, 0.0)


def _fits(x: Any, g: np.ndarray) -> bool:
    return type(x) is np.ndarray and x.shape == g.shape and g.dtype in _WORDS and g.dtype.isnative


def _true(condition: np.ndarray) -> Any:
    return -condition.view(np.int8)


def _false(condition: np.ndarray) -> Any:
    return condition.view(np.int8) - np.int8(1)


def _positive(x: np.ndarray) -> Any:
    return -np.greater(x, 0).view(np.int8)


def _masked(bits: Callable[[np.ndarray], Any], x: np.ndarray, g: np.ndarray) -> Any:
    """`g` where the `bits` of `x` are set; 0 where none is."""
    word = _WORDS[g.dtype]
    if g.size <= _BLOCK or not (x.flags.c_contiguous and g.flags.c_contiguous):
        return (g.view(word) & bits(x)).view(g.dtype)
    out = np.empty_like(g)
    given, chosen, found = g.view(word).reshape(-1), x.reshape(-1), out.view(word).reshape(-1)
    for start in range(0, g.size, _BLOCK):
        block = slice(start, start + _BLOCK)
        np.bitwise_and(given[block], bits(chosen[block]), out=found[block])
    return out
