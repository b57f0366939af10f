"""Serve examples in random batches."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from adjoint.core.errors import ArgumentError, ShapeError
from adjoint.data.dataset import Array


def batches(x: Array, y: Array, size: int, rng: np.random.Generator | None = None) -> Iterator[tuple[Array, Array]]:
    """Examples and labels in batches: in random order with `rng`, otherwise as they stand.

    Args:
        x: examples, shape (examples, ...).
        y: labels, shape (examples,).
        size: examples a batch; the last batch may be smaller.
        rng: the source of the order. One pass draws one permutation from it.

    Raises:
        ArgumentError: for a size below 1.
        ShapeError: if there are not as many labels as examples.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> for xs, ys in ad.data.batches(np.arange(5) * 10, np.arange(5), 2, np.random.default_rng(0)):
        ...     print(xs, ys)
        [20 40] [2 4]
        [30  0] [3 0]
        [10] [1]
    """
    if size < 1:
        raise ArgumentError(f"a batch holds at least 1 example; got size={size}")
    if len(x) != len(y):
        raise ShapeError(f"every example needs one label; got {len(x)} examples and {len(y)} labels")
    return _batches(x, y, size, rng)


def _batches(x: Array, y: Array, size: int, rng: np.random.Generator | None) -> Iterator[tuple[Array, Array]]:
    order = np.arange(len(x)) if rng is None else rng.permutation(len(x))
    for start in range(0, len(x), size):
        rows = order[start : start + size]
        yield x[rows], y[rows]
