"""More pictures from few: each is moved by part of a pixel, or more, every time it is used."""

from __future__ import annotations

import numpy as np

from adjoint.core.errors import ArgumentError, ShapeError
from adjoint.data.dataset import NDArray


def shifted(x: NDArray, picture: tuple[int, int], reach: float, rng: np.random.Generator) -> NDArray:
    """Every picture moved a random distance along both axes, its edge repeated where it moved away.

    Between pixels the brightness is interpolated linearly.

    Args:
        x: flattened pictures, shape (examples, height * width), real floats.
        picture: (height, width), each at least 2.
        reach: the largest distance in pixels; all from -reach to reach are equally likely.
        rng: the source of the distances.

    Returns:
        A new array of the shape and dtype of `x`.

    Raises:
        ArgumentError: for a negative reach, or pictures of fewer than 2 x 2 pixels.
        ShapeError: if `x` does not hold such pictures.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> step = np.array([[0.0, 0.0, 8.0, 8.0]] * 2).reshape(1, 8)
        >>> ad.data.shifted(step, (2, 4), 0.5, np.random.default_rng(1)).reshape(2, 4).round(1)
        array([[0. , 0. , 4.4, 8. ],
               [0. , 0. , 4.4, 8. ]])
    """
    height, width = picture
    if reach < 0 or min(picture) < 2:
        raise ArgumentError(f"shifted: the reach must not be negative, nor a picture smaller than 2 x 2; "
                            f"got reach={reach}, picture={picture}")  # fmt: skip
    if x.shape[1:] != (height * width,):
        raise ShapeError(f"shifted: pictures of {height} x {width} pixels have {height * width} columns; got {x.shape}")
    pictures = x.reshape(-1, height, width)
    for axis in (1, 2):
        pictures = _moved(pictures, axis, rng.uniform(-reach, reach, len(x)).astype(x.dtype))
    return pictures.reshape(x.shape)


def _moved(pictures: NDArray, axis: int, distances: NDArray) -> NDArray:
    """Each picture moved along `axis` by its distance."""
    length = pictures.shape[axis]
    along = (-1, length, 1) if axis == 1 else (-1, 1, length)
    source = np.clip(np.arange(length, dtype=pictures.dtype) - distances[:, None], 0, length - 1)
    before = np.minimum(source.astype(int), length - 2)
    share = (source - before).astype(pictures.dtype).reshape(along)
    before = before.reshape(along)
    low = np.take_along_axis(pictures, before, axis)
    high = np.take_along_axis(pictures, before + 1, axis)
    out: NDArray = low + share * (high - low)
    return out
