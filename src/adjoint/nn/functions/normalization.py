"""Normalisation as functions: by batch, group, instance, layer and root mean square."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from adjoint.core.errors import ArgumentError, ShapeError
from adjoint.core.types import Array, ShapeLike
from adjoint.ops.neural.fused import in_single, standard, standardize
from adjoint.ops.neural.normalization import normalized
from adjoint.tape.creation import are_plain
from adjoint.tape.modes import no_grad
from adjoint.tape.tensor import Tensor
from adjoint.tape.writes.mutations import note


def _by_channel(values: Array, axes: int) -> Array:
    """One value a channel, against (n, channels, …)."""
    return values if values is None or axes == 2 else np.reshape(values, (-1,) + (1,) * (axes - 2))


def _scaled(x: Array, weight: Array, bias: Array) -> Array:
    x = x if weight is None else x * weight
    return x if bias is None else x + bias


def _mix(x: Array, running: tuple[Array, Array], axes: tuple[int, ...], count: int, share: float) -> None:
    """Mix a `share` of the means and variances of `x` into the `running` ones."""
    if not _mix_in_memory(x, running, axes, count, share):
        mean, var = running
        with no_grad():
            values = x.detach() if hasattr(x, "detach") else x
            means, variances = np.mean(values, axis=axes), np.var(values, axis=axes) * (count / (count - 1))
            mean *= 1 - share
            mean += share * means
            var *= 1 - share
            var += share * variances


def _mix_in_memory(x: Array, running: tuple[Array, Array], axes: tuple[int, ...], count: int, share: float) -> bool:
    """The same with NumPy's reductions alone, in a fourth of the time; False where not all are eager and writable."""
    if not _are_single(x, *running) or not _are_written_here(running):
        return False  # before anything is asked of an array: a recording would have to note it
    held = x.held if isinstance(x, Tensor) else x
    means = np.add.reduce(held, axes, keepdims=True) / count
    squares = np.add.reduce(np.square(held - means), axes) / count
    _add_share(running, means, squares, count, share)
    return True


def _are_single(*xs: Array) -> bool:
    """Whether all are plain arrays of one dtype in which sums are taken."""
    return are_plain(*xs) and xs[0].dtype.char in "fd"


def _are_written_here(running: tuple[Array, Array]) -> bool:
    """Whether these can be written in memory: tensors of no transform."""
    return all(type(r) is Tensor and not r.level and r.held.flags.writeable for r in running)


def _add_share(
    running: tuple[Array, Array], means: np.ndarray, variances: np.ndarray, count: int, share: float
) -> None:
    """Mix a `share` of means and variances into the memory of the `running` ones."""
    for tensor, found in zip(running, (means, variances * (count / (count - 1))), strict=True):
        array: np.ndarray = tensor.held
        array *= 1 - share
        array += share * found.reshape(-1)
        note(array)


def one_more(count: Array, x: Array) -> Array:
    """`count`, a buffer, after 1 was added to it in place; by NumPy alone where the batch `x` is a plain array."""
    if are_plain(x) and _are_written_here((count, count)) and type(count.held) is np.ndarray:
        count.held += 1
        note(count.held)
    else:
        count += 1
    return count


def _at_once(
    x: Array, running: tuple[Array, Array] | None, weight: Array, bias: Array, count: int, share: float, eps: float
) -> Array:
    """`batch_norm` while training as one operation of plain arrays; None of others."""
    if weight is None or bias is None or not _are_single(x, weight, bias, *(running or ())):
        return None
    if not weight.shape == bias.shape == x.shape[1:2] or not (running is None or _are_written_here(running)):
        return None
    axes = (0, *range(2, x.ndim))
    found, scale, mean, var = standard(x.held if isinstance(x, Tensor) else x, axes, eps)
    if running is not None:
        _add_share(running, mean, var, count, share)
    return normalized(x, weight, bias, axis=axes, eps=eps, channel=True, kept=(found, scale))


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
    count = x.size // max(x.shape[1], 1)
    own = training or running_mean is None
    if own and count > 1:
        running = (running_mean, running_var) if training and running_mean is not None else None
        out = _at_once(x, running, weight, bias, count, momentum, eps)
        if out is not None:
            return out
    weight, bias = _by_channel(weight, x.ndim), _by_channel(bias, x.ndim)
    if not own:
        scale = 1 / np.sqrt(running_var + eps)
        return _scaled((x - _by_channel(running_mean, x.ndim)) * _by_channel(scale, x.ndim), weight, bias)
    if training and count < 2:
        raise ArgumentError(f"batch_norm while training needs more than one value a channel; got input of {x.shape}")
    if training and running_mean is not None:
        _mix(x, (running_mean, running_var), axes, count, momentum)
    return _scaled(standardize(x, axis=axes, eps=eps), weight, bias)


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
    count = math.prod(x.shape[2:])
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
    if weight is not None and bias is not None and _are_single(input, weight, bias) and input.size:
        last = tuple(k % input.ndim for k in axes)
        if weight.shape == bias.shape == input.shape[input.ndim - len(axes) :]:
            kept = standard(input.held if isinstance(input, Tensor) else input, last, eps)[:2]
            return normalized(input, weight, bias, axis=last, eps=eps, kept=kept)
    return _scaled(standardize(input, axis=axes, eps=eps), weight, bias)


def _last_axes(name: str, x: Array, normalized_shape: ShapeLike) -> tuple[int, ...]:
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
        eps: is added to the mean square; if it is None, the machine epsilon of the dtype, for half precision of single.

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
    wide = in_single(x)
    eps = float(np.finfo(wide.dtype).eps) if eps is None else eps
    out = wide / np.sqrt(np.mean(np.square(wide), axis=axes, keepdims=True) + eps)
    return _scaled(out if wide is x else out.astype(x.dtype), weight, None)
