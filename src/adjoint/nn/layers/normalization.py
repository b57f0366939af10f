"""Normalisation: by batch, group, instance, layer and root mean square."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from adjoint.core.errors import ArgumentError, ShapeError
from adjoint.core.types import Array, DType
from adjoint.nn.module import Module
from adjoint.nn.parameter import Parameter
from adjoint.ops.neural.fused import standardize
from adjoint.tape.modes import no_grad


def _by_channel(values: Array, axes: int) -> Array:
    """One value a channel, against (n, channels, …)."""
    return values if values is None else np.reshape(values, (-1,) + (1,) * (axes - 2))


def _scaled(x: Array, weight: Array, bias: Array) -> Array:
    x = x if weight is None else x * weight
    return x if bias is None else x + bias


def batch_norm(
    input: Array,
    running_mean: Array,
    running_var: Array,
    weight: Array = None,
    bias: Array = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Array:
    """``(x - mean) / sqrt(var + eps) * weight + bias`` for each channel (Ioffe and Szegedy, 2015).

    Args:
        input: (n, channels, …).
        running_mean, running_var: (channels,), or None. While `training`, the batch's mean and variance are used, and
            ``momentum`` of these are mixed into the running ones (of the variance, that with divisor n - 1), in place.
        weight, bias: (channels,), or None.

    Raises:
        ArgumentError: while training on one value a channel, which has no variance.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.functional.batch_norm(np.array([[1.0], [3.0]]), None, None, training=True, eps=0.0)
        array([[-1.],
               [ 1.]])
    """
    x = input if hasattr(input, "shape") else np.asarray(input)
    axes = tuple(i for i in range(x.ndim) if i != 1)
    weight, bias = _by_channel(weight, x.ndim), _by_channel(bias, x.ndim)
    if not training and running_mean is not None:
        scale = 1 / np.sqrt(running_var + eps)
        return _scaled((x - _by_channel(running_mean, x.ndim)) * _by_channel(scale, x.ndim), weight, bias)
    count = x.size // max(x.shape[1], 1)
    if training and count < 2:
        raise ArgumentError(f"batch_norm while training needs more than one value a channel; got input of {x.shape}")
    if training and running_mean is not None:
        with no_grad():
            values = x.detach() if hasattr(x, "detach") else x
            mean, var = np.mean(values, axis=axes), np.var(values, axis=axes) * (count / (count - 1))
            running_mean *= 1 - momentum
            running_mean += momentum * mean
            running_var *= 1 - momentum
            running_var += momentum * var
    return _scaled(standardize(x, axis=axes, eps=eps), weight, bias)


class BatchNorm2d(Module):
    """`nn.functional.batch_norm` of (n, channels, height, width), with what it learns and remembers.

    While training, each channel is normalised by its mean and variance over the batch; afterwards by running averages.

    Args:
        num_features: the number of channels.
        eps: is added to the variance.
        momentum: the share of a new batch in the running averages; None for the plain mean over all batches.
        affine: whether there are weights and biases.
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
        dtype: DType = np.float64,
    ) -> None:
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        self.weight = Parameter(np.ones(num_features, dtype)) if affine else None
        self.bias = Parameter(np.zeros(num_features, dtype)) if affine else None
        self.running_mean = self.running_var = self.num_batches_tracked = None
        if track_running_stats:
            self.register_buffer("running_mean", np.zeros(num_features, dtype))
            self.register_buffer("running_var", np.ones(num_features, dtype))
            self.register_buffer("num_batches_tracked", np.zeros((), np.int64))

    def forward(self, x: Array) -> Array:
        x = x if hasattr(x, "shape") else np.asarray(x)
        self._check(x)
        share: Array = self.momentum
        if self.training and self.num_batches_tracked is not None:
            self.num_batches_tracked += 1
            share = 1 / self.num_batches_tracked.data if share is None else share
        batch = self.training or self.running_mean is None
        return batch_norm(x, self.running_mean, self.running_var, self.weight, self.bias, batch, share, self.eps)

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
    """`BatchNorm2d` of (n, channels) or (n, channels, length)."""

    ranks = (2, 3)


class BatchNorm3d(BatchNorm2d):
    """`BatchNorm2d` of (n, channels, depth, height, width)."""

    ranks = (5,)


def instance_norm(
    input: Array,
    running_mean: Array = None,
    running_var: Array = None,
    weight: Array = None,
    bias: Array = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Array:
    """Each channel of each sample by its own mean and variance (Ulyanov et al., 2016). Arguments as `batch_norm`.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.functional.instance_norm(np.array([[[1.0, 3.0]]]), eps=0.0)
        array([[[-1.,  1.]]])
    """
    x = input if hasattr(input, "shape") else np.asarray(input)
    axes = tuple(range(2, x.ndim))
    weight, bias = _by_channel(weight, x.ndim), _by_channel(bias, x.ndim)
    if not use_input_stats:
        scale = 1 / np.sqrt(running_var + eps)
        return _scaled((x - _by_channel(running_mean, x.ndim)) * _by_channel(scale, x.ndim), weight, bias)
    count = x.size // max(x.shape[0] * x.shape[1], 1)
    if count < 2:
        raise ArgumentError(f"instance_norm needs more than one value a channel; got input of {x.shape}")
    if running_mean is not None:
        with no_grad():
            values = x.detach() if hasattr(x, "detach") else x
            mean = np.mean(np.mean(values, axis=axes), axis=0)
            var = np.mean(np.var(values, axis=axes), axis=0) * (count / (count - 1))
            running_mean *= 1 - momentum
            running_mean += momentum * mean
            running_var *= 1 - momentum
            running_var += momentum * var
    return _scaled(standardize(x, axis=axes, eps=eps), weight, bias)


class InstanceNorm2d(BatchNorm2d):
    """`nn.functional.instance_norm` of (n, channels, height, width), or (channels, height, width).

    Args:
        num_features, eps, momentum, dtype: as in `BatchNorm2d`.
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
        dtype: DType = np.float64,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, dtype=dtype)

    def forward(self, x: Array) -> Array:
        x = x if hasattr(x, "shape") else np.asarray(x)
        alone = x.ndim == self.ranks[0]
        x = x[None] if alone else x
        self._check(x)
        own = self.training or self.running_mean is None
        share = self.momentum or 0.0  # as in PyTorch, None is no share of a new batch, and no batch is counted
        out = instance_norm(x, self.running_mean, self.running_var, self.weight, self.bias, own, share, self.eps)
        return out[0] if alone else out


class InstanceNorm1d(InstanceNorm2d):
    """`InstanceNorm2d` of (n, channels, length), or without n."""

    ranks = (2, 3)


class InstanceNorm3d(InstanceNorm2d):
    """`InstanceNorm2d` of (n, channels, depth, height, width), or without n."""

    ranks = (4, 5)


def group_norm(input: Array, num_groups: int, weight: Array = None, bias: Array = None, eps: float = 1e-5) -> Array:
    """Each group of channels of a sample by its own mean and variance (Wu and He, 2018).

    Args:
        input: (n, channels, …).
        num_groups: into how many groups the channels fall.
        weight, bias: (channels,), or None.

    Raises:
        ShapeError: if the channels do not fall into groups of one size.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.functional.group_norm(np.array([[1.0, 3.0, 5.0, 9.0]]), 2, eps=0.0)
        array([[-1.,  1., -1.,  1.]])
    """
    x = input if hasattr(input, "shape") else np.asarray(input)
    if x.ndim < 2 or x.shape[1] % num_groups:
        raise ShapeError(f"group_norm takes (n, channels, …) with channels a multiple of {num_groups}; got {x.shape}")
    grouped = np.reshape(x, (x.shape[0], num_groups, x.size // max(x.shape[0] * num_groups, 1)))
    out = np.reshape(standardize(grouped, axis=-1, eps=eps), x.shape)
    return _scaled(out, _by_channel(weight, x.ndim), _by_channel(bias, x.ndim))


class GroupNorm(Module):
    """`nn.functional.group_norm` with weights and biases.

    Args:
        num_groups, num_channels: the channels fall into groups of one size.
        eps: is added to the variance.
        affine: whether there are weights and biases.
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
        self, num_groups: int, num_channels: int, eps: float = 1e-5, affine: bool = True, *, dtype: DType = np.float64
    ) -> None:
        if num_groups < 1 or num_channels % num_groups:
            raise ArgumentError(f"GroupNorm: channels are a multiple of the groups; got {num_channels}, {num_groups}")
        self.num_groups, self.num_channels, self.eps = num_groups, num_channels, eps
        self.weight = Parameter(np.ones(num_channels, dtype)) if affine else None
        self.bias = Parameter(np.zeros(num_channels, dtype)) if affine else None

    def forward(self, x: Array) -> Array:
        return group_norm(x, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.weight is not None}"


def layer_norm(
    input: Array, normalized_shape: Sequence[int] | int, weight: Array = None, bias: Array = None, eps: float = 1e-5
) -> Array:
    """Over the last axes by their mean and variance (Ba et al., 2016).

    Args:
        input: its last axes are `normalized_shape`.
        weight, bias: of that shape, or None.

    Raises:
        ShapeError: if the last axes are others.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.functional.layer_norm(np.array([1.0, 3.0]), 2, eps=0.0)
        array([-1.,  1.])
    """
    axes = _last_axes("layer_norm", input, normalized_shape)
    return _scaled(standardize(input, axis=axes, eps=eps), weight, bias)


def _last_axes(name: str, x: Array, normalized_shape: Any) -> tuple[int, ...]:
    shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
    if np.shape(x)[-len(shape) :] != shape:
        raise ShapeError(f"{name}: the last axes are {shape}; got {np.shape(x)}")
    return tuple(range(-len(shape), 0))


def rms_norm(
    input: Array, normalized_shape: Sequence[int] | int, weight: Array = None, eps: float | None = None
) -> Array:
    """Over the last axes by their root mean square (Zhang and Sennrich, 2019).

    Args:
        input: its last axes are `normalized_shape`.
        weight: of that shape, or None.
        eps: is added to the mean square; the dtype's machine epsilon, if it is None.

    Raises:
        ShapeError: if the last axes are others.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.functional.rms_norm(np.array([3.0, 3.0]), 2, eps=0.0)
        array([1., 1.])
    """
    axes = _last_axes("rms_norm", input, normalized_shape)
    x = input if hasattr(input, "dtype") else np.asarray(input, float)
    eps = float(np.finfo(x.dtype).eps) if eps is None else eps
    return _scaled(x / np.sqrt(np.mean(np.square(x), axis=axes, keepdims=True) + eps), weight, None)


class RMSNorm(Module):
    """`nn.functional.rms_norm` with weights.

    Args:
        normalized_shape: of the last axes.
        eps: is added to the mean square; the dtype's machine epsilon, if it is None.
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
        self.eps = eps
        self.weight = Parameter(np.ones(self.normalized_shape, dtype)) if elementwise_affine else None

    def forward(self, x: Array) -> Array:
        return rms_norm(x, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.weight is not None}"
