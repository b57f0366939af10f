"""Distances between rows as layers: `nn.functional`'s functions with their settings."""

from __future__ import annotations

from typing import ClassVar

from adjoint.core.types import Array, Function
from adjoint.nn.functions import units
from adjoint.nn.layers.settings import WithSettings
from adjoint.tape.tensor import Tensor


class _Distance(WithSettings):
    function: ClassVar[Function]

    def forward(self, x1: Array, x2: Array) -> Tensor:
        return type(self).function(x1, x2, **self._settings)


class CosineSimilarity(_Distance):
    """`nn.functional.cosine_similarity` as a layer.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.CosineSimilarity()(np.array([[1.0, 0.0]]), np.array([[1.0, 1.0]])).round(4)
        array([0.7071])
    """

    function = staticmethod(units.cosine_similarity)

    def __init__(self, dim: int = 1, eps: float = 1e-8) -> None:
        super().__init__(dim=dim, eps=eps)


class PairwiseDistance(_Distance):
    """`nn.functional.pairwise_distance` as a layer.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.PairwiseDistance()(np.array([[0.0, 0.0]]), np.array([[3.0, 4.0]])).round(4)
        array([5.])
    """

    function = staticmethod(units.pairwise_distance)

    def __init__(self, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> None:
        super().__init__(p=p, eps=eps, keepdim=keepdim)
