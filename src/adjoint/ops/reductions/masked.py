"""Products of complex numbers that begin with an infinite one, where a mask leaves some out."""

from __future__ import annotations

import numpy as np

from adjoint.core.types import Array, Axis


def product_of_masked(a: Array, mask: Array, axis: Axis, keepdims: bool, initial: Array) -> Array:
    """The product from `initial` on of what `mask` has: an infinite complex number times 1 is nan."""
    mask = np.broadcast_to(mask, np.shape(a))
    axes = range(np.ndim(a)) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    dropped = tuple(sorted(k % np.ndim(a) for k in axes))
    kept = [k for k in range(np.ndim(a)) if k not in dropped]
    shape = [np.shape(a)[k] for k in kept]
    lines, masks = (np.transpose(x, (*dropped, *kept)).reshape(-1, *shape) for x in (a, mask))
    result = np.broadcast_to(initial, shape).astype(a.dtype)
    with np.errstate(invalid="ignore"):  # of what is left out
        for k in range(len(lines)):
            result = np.where(masks[k], result * lines[k], result)
    return np.expand_dims(result, dropped) if keepdims else result
