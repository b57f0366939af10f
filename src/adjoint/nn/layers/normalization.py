"""Layers of normalisation: by batch, group, instance and root mean square."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from adjoint.core.errors import ArgumentError, ShapeError
from adjoint.core.types import Array, DType
from adjoint.nn.functions.normalization import batch_norm, group_norm, instance_norm, one_more, rms_norm
from adjoint.nn.layers.settings import Drawn
from adjoint.nn.parameter import Parameter
from adjoint.tape.tensor import Tensor


class BatchNorm2d(Drawn):
    """`nn.functional.batch_norm` of (n, channels, height, width), with what it learns and remembers.

    While training, each channel is normalised by its mean and variance over the batch; afterwards by running averages.

    Args:
        num_features: the number of channels.
        eps: is added to the variance.
        momentum: the share of a new batch in the running averages; None for the plain mean over all batches.
        affine: whether there are weights and biases.
        bias: False leaves the biases out.
        track_running_stats: whether running averages are kept; without them the batch's are used always.
        dtype: of all these.

    Attributes:
        weight, bias: (channels,), or None: parameters.
        running_mean, running_var, num_batches_tracked: buffers.

    Raises:
        ShapeError: if `x` has other axes or another number of channels.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> norm = nn.BatchNorm2d(3)
        >>> norm(np.random.default_rng(0).normal(size=(4, 3, 5, 5))).shape, norm.num_batches_tracked.item()
        ((4, 3, 5, 5), 1)
    """

    ranks: ClassVar[tuple[int, ...]] = (4,)

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        *,
        bias: bool = True,
        dtype: DType = np.float64,
    ) -> None:
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        self.affine, self.track_running_stats = affine, track_running_stats
        self.weight = Parameter(np.ones(num_features, dtype)) if affine else None
        self.bias = Parameter(np.zeros(num_features, dtype)) if affine and bias else None
        self.running_mean = self.running_var = self.num_batches_tracked = None
        if track_running_stats:
            self.register_buffer("running_mean", np.zeros(num_features, dtype))
            self.register_buffer("running_var", np.ones(num_features, dtype))
            self.register_buffer("num_batches_tracked", np.zeros((), np.int64))

    def forward(self, x: Array) -> Tensor:
        x = x if hasattr(x, "shape") else np.asarray(x)
        self._check(x)
        share: Array = self.momentum
        if self.training and self.num_batches_tracked is not None:
            self.num_batches_tracked = one_more(self.num_batches_tracked, x)
            share = 1 / self.num_batches_tracked.held if share is None else share
        batch = self.training or self.running_mean is None
        return batch_norm(x, self.running_mean, self.running_var, self.weight, self.bias, batch, share, self.eps)

    def reset_running_stats(self) -> None:
        """Forget the running averages: mean 0, variance 1."""
        for buffer, value in ((self.running_mean, 0), (self.running_var, 1), (self.num_batches_tracked, 0)):
            if buffer is not None:
                buffer[...] = value

    def _check(self, x: Array) -> None:
        name = type(self).__name__
        if x.ndim not in self.ranks or x.shape[1] != self.num_features:
            ranks = " or ".join(map(str, self.ranks))
            raise ShapeError(f"{name} takes (n, {self.num_features}, …) of {ranks} axes; got {x.shape}")

    def extra_repr(self) -> str:
        tracked = self.running_mean is not None
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.weight is not None}, "
            f"track_running_stats={tracked}"
        )


class BatchNorm1d(BatchNorm2d):
    """`BatchNorm2d` of (n, channels) or (n, channels, length).

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.BatchNorm1d(2)(np.ones((4, 2, 3))).shape
        (4, 2, 3)
    """

    ranks = (2, 3)


class BatchNorm3d(BatchNorm2d):
    """`BatchNorm2d` of (n, channels, depth, height, width).

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.BatchNorm3d(2)(np.ones((4, 2, 3, 3, 3))).shape
        (4, 2, 3, 3, 3)
    """

    ranks = (5,)


class InstanceNorm2d(BatchNorm2d):
    """`nn.functional.instance_norm` of (n, channels, height, width), or (channels, height, width).

    Args:
        num_features, eps, momentum, bias, dtype: as in `BatchNorm2d`.
        affine, track_running_stats: as there; False by default.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.InstanceNorm2d(3)(np.random.default_rng(0).normal(size=(4, 3, 5, 5))).shape
        (4, 3, 5, 5)
    """

    ranks = (3, 4)

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = False,
        track_running_stats: bool = False,
        *,
        bias: bool = True,
        dtype: DType = np.float64,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, bias=bias, dtype=dtype)

    def forward(self, x: Array) -> Tensor:
        x = x if hasattr(x, "shape") else np.asarray(x)
        alone = x.ndim == self.ranks[0]
        x = x[None] if alone else x
        self._check(x)
        own = self.training or self.running_mean is None
        share = self.momentum or 0.0  # as in PyTorch, None is no share of a new batch, and no batch is counted
        out = instance_norm(x, self.running_mean, self.running_var, self.weight, self.bias, own, share, self.eps)
        return out[0] if alone else out


class InstanceNorm1d(InstanceNorm2d):
    """`InstanceNorm2d` of (n, channels, length), or without n.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.InstanceNorm1d(2)(np.ones((4, 2, 3))).shape
        (4, 2, 3)
    """

    ranks = (2, 3)


class InstanceNorm3d(InstanceNorm2d):
    """`InstanceNorm2d` of (n, channels, depth, height, width), or without n.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.InstanceNorm3d(2)(np.ones((4, 2, 3, 3, 3))).shape
        (4, 2, 3, 3, 3)
    """

    ranks = (4, 5)


class GroupNorm(Drawn):
    """`nn.functional.group_norm` with weights and biases.

    Args:
        num_groups, num_channels: the channels fall into groups of one size.
        eps: is added to the variance.
        affine: whether there are weights and biases.
        bias: False leaves the biases out.
        dtype: of these.

    Raises:
        ArgumentError: if the channels are no multiple of the groups.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.GroupNorm(2, 6)(np.random.default_rng(0).normal(size=(3, 6, 4))).shape
        (3, 6, 4)
    """

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-5,
        affine: bool = True,
        *,
        bias: bool = True,
        dtype: DType = np.float64,
    ) -> None:
        if num_groups < 1 or num_channels % num_groups:
            raise ArgumentError(f"GroupNorm: channels are a multiple of the groups; got {num_channels}, {num_groups}")
        self.num_groups, self.num_channels, self.eps, self.affine = num_groups, num_channels, eps, affine
        self.weight = Parameter(np.ones(num_channels, dtype)) if affine else None
        self.bias = Parameter(np.zeros(num_channels, dtype)) if affine and bias else None

    def forward(self, x: Array) -> Tensor:
        return group_norm(x, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.weight is not None}"


class RMSNorm(Drawn):
    """`nn.functional.rms_norm` with weights.

    Args:
        normalized_shape: of the last axes.
        eps: is added to the mean square; if it is None, the machine epsilon of the dtype, for half precision of single.
        elementwise_affine: whether there are weights.
        dtype: of these.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.RMSNorm(3)(np.ones((2, 3))).shape
        (2, 3)
    """

    def __init__(
        self,
        normalized_shape: Sequence[int] | int,
        eps: float | None = None,
        elementwise_affine: bool = True,
        *,
        dtype: DType = np.float64,
    ) -> None:
        self.normalized_shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
        self.eps, self.elementwise_affine = eps, elementwise_affine
        self.weight = Parameter(np.ones(self.normalized_shape, dtype)) if elementwise_affine else None

    def forward(self, x: Array) -> Tensor:
        return rms_norm(x, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.weight is not None}"
