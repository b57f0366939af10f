"""Shift and scale that bring features to mean 0 and deviation 1."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from adjoint.core.types import DType
from adjoint.data.dataset import Dataset, NDArray


@dataclass(frozen=True)
class Normalisation:
    """``(x - mean) / scale``: one pair of numbers for pictures, one a column for other tables.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> d = ad.data.dataset(np.array([[0.0, 5.0], [2.0, 5.0], [0.0, 5.0], [2.0, 5.0]]), [0, 1, 0, 1])
        >>> ad.data.Normalisation.of(d)(d.x)[:2]
        array([[-1.,  0.],
               [ 1.,  0.]])
    """

    mean: NDArray
    scale: NDArray

    @classmethod
    def of(cls, data: Dataset) -> Normalisation:
        """The normalisation that fits `data`. Constant columns are only centered."""
        # Every pixel of a picture has one scale: a pixel that is almost always blank must not be blown up.
        axis = 0 if data.picture is None else None
        mean = np.asarray(data.x.mean(axis=axis, dtype=float))
        scale = np.asarray(data.x.std(axis=axis, dtype=float))
        return cls(mean, np.where(scale > 0, scale, 1.0))

    def __call__(self, x: NDArray, dtype: DType = np.float64) -> NDArray:
        """Features `x` of shape (examples, features), normalised, in `dtype`."""
        out: NDArray = np.empty(x.shape, dtype)
        np.subtract(x, self.mean, out=out, casting="same_kind")  # in float64, piece by piece: columns may be far from 0
        return np.divide(out, self.scale, out=out, casting="same_kind")
