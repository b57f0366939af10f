"""Layers across channels: normalisation by neighbouring channels, shuffling."""

from __future__ import annotations

import numpy as np

from adjoint.core.errors import ArgumentError, ShapeError
from adjoint.core.types import A, Array
from adjoint.nn.layers.settings import WithSettings
from adjoint.tape.tensor import Tensor


def local_response_norm(input: A, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> A:
    """``x / (k + alpha * mean(x**2))**beta``, the mean over `size` neighbouring channels (Krizhevsky et al., 2012).

    Args:
        input: (n, channels, …); channels beyond the ends count as 0.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.functional.local_response_norm(np.ones((1, 2, 3)), 2, alpha=1.0, beta=1.0).round(3)[0, :, 0]
        array([0.667, 0.5  ])
    """
    if np.ndim(input) < 3:
        raise ShapeError(f"local_response_norm takes (n, channels, …), three axes or more; got {np.shape(input)}")
    channels = np.shape(input)[1]
    around = [(0, 0), (size // 2, (size - 1) // 2), *[(0, 0)] * (np.ndim(input) - 2)]
    squares = np.pad(np.square(input), around)
    total = squares[:, :channels]
    for i in range(1, size):
        total = total + squares[:, i : i + channels]
    return input / (total * (alpha / size) + k) ** beta


def channel_shuffle(input: A, groups: int) -> A:
    """Channels (n, channels, …) of `groups` groups, taken from each group in turn (Zhang et al., 2018).

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.functional.channel_shuffle(np.arange(4.0).reshape(1, 4, 1), 2).ravel()
        array([0., 2., 1., 3.])
    """
    shape = np.shape(input)
    if shape[1] % groups:
        raise ArgumentError(f"channel_shuffle: {shape[1]} channels do not divide into {groups} groups")
    parts: Array = np.reshape(input, (shape[0], groups, shape[1] // groups, *shape[2:]))
    shuffled: Array = np.reshape(np.swapaxes(parts, 1, 2), shape)
    return shuffled


class LocalResponseNorm(WithSettings):
    """`nn.functional.local_response_norm` as a layer.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.LocalResponseNorm(2)(np.ones((1, 2, 1))).shape
        (1, 2, 1)
    """

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> None:
        super().__init__(size=size, alpha=alpha, beta=beta, k=k)

    def forward(self, x: Array) -> Tensor:
        return local_response_norm(x, **self._settings)


class ChannelShuffle(WithSettings):
    """`nn.functional.channel_shuffle` as a layer.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.ChannelShuffle(2)(np.arange(4.0).reshape(1, 4, 1, 1)).reshape(-1)
        array([0., 2., 1., 3.])
    """

    def __init__(self, groups: int) -> None:
        super().__init__(groups=groups)

    def forward(self, x: Array) -> Tensor:
        return channel_shuffle(x, **self._settings)
