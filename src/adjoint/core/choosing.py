"""Choosing the elements of a cotangent by truth values, which rules of selections do on the backward pass."""

from __future__ import annotations

from typing import Any

import numpy as np

# Whole numbers that have the bits of a floating-point number.
_WORDS = {np.dtype(float): np.int64, np.dtype(np.float32): np.int32}
_MANY = 1024


def where_true(condition: Any, g: Any) -> Any:
    """``np.where(condition, g, 0.0)``. Of many numbers the bits are masked, which needs no branch an element."""
    if type(g) is np.ndarray and g.size > _MANY and _fits(condition, g):
        return (g.view(_WORDS[g.dtype]) & -condition.view(np.int8)).view(g.dtype)
    return np.where(condition, g, 0.0)


def where_false(condition: Any, g: Any) -> Any:
    """``np.where(condition, 0.0, g)``, in the same way."""
    if type(g) is np.ndarray and g.size > _MANY and _fits(condition, g):
        return (g.view(_WORDS[g.dtype]) & (condition.view(np.int8) - 1)).view(g.dtype)
    return np.where(condition, 0.0, g)


def _fits(condition: Any, g: np.ndarray) -> bool:
    return (
        type(condition) is np.ndarray
        and condition.dtype == bool
        and condition.shape == g.shape
        and g.dtype in _WORDS
        and g.dtype.isnative
    )
