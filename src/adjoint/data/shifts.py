"""More pictures from few: each is moved by a pixel or so, whenever it is shown."""

from __future__ import annotations

import numpy as np

from adjoint.core.errors import ShapeError
from adjoint.data.dataset import Array


def shifted(x: Array, picture: tuple[int, int], reach: int, rng: np.random.Generator) -> Array:
    """Every picture moved by up to `reach` pixels along both axes, its edge repeated where it moved away.

    Args:
        x: flattened pictures, shape (examples, height * width).
        picture: (height, width).
        reach: the largest distance; each distance from -reach to reach is equally likely.
        rng: the source of the distances.

    Returns:
        A new array of the shape and dtype of `x`.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> ad.data.shifted(np.arange(9).reshape(1, 9), (3, 3), 1, np.random.default_rng(3)).reshape(3, 3)
        array([[1, 2, 2],
               [1, 2, 2],
               [4, 5, 5]])
    """
    height, width = picture
    if x.shape[1:] != (height * width,):
        raise ShapeError(f"shifted: pictures of {height} x {width} pixels have {height * width} columns; got {x.shape}")
    down, right = rng.integers(-reach, reach, size=(2, len(x), 1, 1), endpoint=True)
    rows = np.clip(np.arange(height)[:, None] - down, 0, height - 1)
    columns = np.clip(np.arange(width)[None, :] - right, 0, width - 1)
    moved: Array = x[np.arange(len(x))[:, None, None], rows * width + columns]
    return moved.reshape(x.shape)
