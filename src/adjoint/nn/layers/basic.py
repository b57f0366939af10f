"""Layers that every network has: linear, bilinear, layer normalisation, dropout, flatten."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np

from adjoint.core.errors import ArgumentError, ShapeError
from adjoint.core.types import A, Array, DType, Function
from adjoint.nn import init
from adjoint.nn.functions.normalization import layer_norm
from adjoint.nn.init import Initializer, Rng
from adjoint.nn.layers.settings import Drawn
from adjoint.nn.module import Module
from adjoint.nn.parameter import Parameter
from adjoint.nn.precision import notice
from adjoint.ops.neural.fused import affine, kept
from adjoint.tape.tensor import Tensor


def linear(input: Array, weight: Array, bias: Array = None) -> Array:
    """``input @ weight.T + bias``: input (…, in), weight (out, in), bias (out,) or None; the result is (…, out)."""
    return np.matmul(input, np.transpose(weight)) if bias is None else affine(input, weight, bias)


def dropout(input: A, p: float = 0.5, training: bool = True, inplace: bool = False, *, rng: Rng = None) -> A:
    """What `adjoint.nn.Dropout` does, with random numbers from `rng`."""
    layer: Function = Dropout(p, rng=rng).train(training)
    return layer(input)


def dropout1d(input: A, p: float = 0.5, training: bool = True, inplace: bool = False, *, rng: Rng = None) -> A:
    """What `adjoint.nn.Dropout1d` does, with random numbers from `rng`."""
    layer: Function = Dropout1d(p, rng=rng).train(training)
    return layer(input)


def dropout2d(input: A, p: float = 0.5, training: bool = True, inplace: bool = False, *, rng: Rng = None) -> A:
    """What `adjoint.nn.Dropout2d` does, with random numbers from `rng`."""
    layer: Function = Dropout2d(p, rng=rng).train(training)
    return layer(input)


def dropout3d(input: A, p: float = 0.5, training: bool = True, inplace: bool = False, *, rng: Rng = None) -> A:
    """What `adjoint.nn.Dropout3d` does, with random numbers from `rng`."""
    layer: Function = Dropout3d(p, rng=rng).train(training)
    return layer(input)


def alpha_dropout(input: A, p: float = 0.5, training: bool = False, inplace: bool = False, *, rng: Rng = None) -> A:
    """What `adjoint.nn.AlphaDropout` does, with random numbers from `rng`."""
    layer: Function = AlphaDropout(p, rng=rng).train(training)
    return layer(input)


def feature_alpha_dropout(
    input: A, p: float = 0.5, training: bool = False, inplace: bool = False, *, rng: Rng = None
) -> A:
    """What `adjoint.nn.FeatureAlphaDropout` does, with random numbers from `rng`."""
    layer: Function = FeatureAlphaDropout(p, rng=rng).train(training)
    return layer(input)


def bilinear(input1: Array, input2: Array, weight: Array, bias: Array = None) -> Array:
    """``input1 @ weight[k] @ input2 + bias[k]`` for each k: (…, in1), (…, in2) and (out, in1, in2) give (…, out)."""
    out = np.einsum("...i,kij,...j->...k", input1, weight, input2)
    return out if bias is None else out + bias


class Linear(Drawn):
    """``x @ weight.T + bias``.

    Args:
        in_features, out_features: `x` is (…, in_features), the result (…, out_features).
        bias: whether there is one.
        rng: a seed or generator for the initial values.
        dtype: of the parameters.
        weight_init: an initialiser or its name (see `adjoint.nn.init`). If none is given, weight and bias
            are uniform within ±1/sqrt(in_features); if one is, the bias is 0.

    Attributes:
        weight: (out_features, in_features).
        bias: (out_features,), or None.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.Linear(3, 2, rng=0)(np.ones((5, 3))).shape
        (5, 2)
    """

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        *,
        rng: Rng = None,
        dtype: DType = np.float64,
        weight_init: str | Initializer | None = None,
    ) -> None:
        if in_features < 1 or out_features < 1:
            raise ArgumentError(f"Linear needs at least one feature each side; got {in_features} and {out_features}")
        rng = np.random.default_rng(rng)
        self.in_features, self.out_features, self.weight_init = in_features, out_features, weight_init
        shape, bound = (out_features, in_features), 1 / math.sqrt(in_features)
        if weight_init is None:
            self.weight = Parameter(init.uniform(shape, rng, dtype, -bound, bound))
        else:
            self.weight = Parameter(init.get(weight_init)(shape, rng, dtype))
            bound = 0.0
        self.bias = Parameter(init.uniform((out_features,), rng, dtype, -bound, bound)) if bias else None

    def forward(self, x: Array) -> Tensor:
        bias, weight = self.bias, self.weight
        notice(x, weight)
        return np.matmul(x, weight.T) if bias is None else affine(x, weight, bias)

    def extra_repr(self) -> str:
        out_features, in_features = self.weight.shape
        return f"in_features={in_features}, out_features={out_features}, bias={self.bias is not None}"


class LayerNorm(Drawn):
    """Standardise over the last axes, then scale and shift: ``(x - mean) / sqrt(var + eps) * weight + bias``.

    Args:
        normalized_shape: the lengths of the last axes; an int for one.
        eps: added to the variance.
        elementwise_affine: whether there are `weight` and `bias`.
        bias: whether there is a `bias`.
        dtype: of the parameters.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.LayerNorm(2)(np.array([[1.0, 3.0]])).numpy().round(2)
        array([[-1.,  1.]])
    """

    def __init__(
        self,
        normalized_shape: int | tuple[int, ...],
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        *,
        dtype: DType = np.float64,
    ) -> None:
        shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
        self.normalized_shape, self.eps, self.elementwise_affine = shape, eps, elementwise_affine
        self.weight = Parameter(np.ones(shape, dtype)) if elementwise_affine else None
        self.bias = Parameter(np.zeros(shape, dtype)) if elementwise_affine and bias else None

    def forward(self, x: Array) -> Tensor:
        count = len(self.normalized_shape)
        if np.shape(x)[-count:] != self.normalized_shape:
            raise ShapeError(f"LayerNorm over {self.normalized_shape} got x of shape {np.shape(x)}")
        return layer_norm(x, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.weight is not None}"


class Dropout(Module):
    """While training, set each element to 0 with probability `p`, and scale the rest by 1 / (1 - p).

    Inside `adjoint.vmap` each sample has a mask of its own, the one that it has in a batch.

    Args:
        p: the probability, from 0 to 1.
        rng: a seed or generator; the module draws from its own.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.Dropout(0.5).eval()(np.ones(3))
        array([1., 1., 1.])
    """

    def __init__(self, p: float = 0.5, inplace: bool = False, *, rng: Rng = None) -> None:
        if not 0 <= p <= 1:
            raise ArgumentError(f"Dropout's p is a probability, from 0 to 1; got {p}")
        self.p, self.inplace, self.rng = p, inplace, np.random.default_rng(rng)

    def forward(self, x: Array) -> Tensor:
        if not self.training or self.p == 0:
            return x
        keep = kept(x, p=self.p, rng=self.rng)
        out: Array = np.where(keep, x * (1 / max(1 - self.p, 1e-300)), 0.0)
        return out

    def extra_repr(self) -> str:
        return f"p={self.p}"


class _ChannelDropout(Dropout):
    """Drops whole channels, (n, channels, …) or (channels, …)."""

    axes: ClassVar[int]

    def forward(self, x: Array) -> Tensor:
        if not self.training or self.p == 0:
            return x
        if np.ndim(x) not in (self.axes + 1, self.axes + 2):
            name = type(self).__name__
            raise ShapeError(f"{name} takes (n, channels, …) with {self.axes} axes behind; got {np.shape(x)}")
        keep = kept(x[(...,) + (slice(0, 1),) * self.axes], p=self.p, rng=self.rng)
        out: Array = np.where(keep, x * (1 / max(1 - self.p, 1e-300)), 0.0)
        return out


class Dropout1d(_ChannelDropout):
    """`Dropout` of whole channels of (n, channels, length).

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.Dropout1d(0.5).eval()(np.ones((4, 2, 3))).shape
        (4, 2, 3)
    """

    axes = 1


class Dropout2d(_ChannelDropout):
    """`Dropout` of whole channels of (n, channels, height, width).

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.Dropout2d(0.5).eval()(np.ones((4, 2, 3, 3))).shape
        (4, 2, 3, 3)
    """

    axes = 2


class Dropout3d(_ChannelDropout):
    """`Dropout` of whole channels of (n, channels, depth, height, width).

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.Dropout3d(0.5).eval()(np.ones((4, 2, 3, 3, 3))).shape
        (4, 2, 3, 3, 3)
    """

    axes = 3


class AlphaDropout(Dropout):
    """Dropout that keeps mean 0 and variance 1, for `SELU` (Klambauer et al., 2017).

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.AlphaDropout(0.5).eval()(np.ones(2))
        array([1., 1.])
    """

    def forward(self, x: Array) -> Tensor:
        if not self.training or self.p == 0:
            return x
        low, keep = -1.7580993408473766, 1 - self.p  # what SELU tends to: -scale * alpha
        a = 1 / math.sqrt(keep + low * low * keep * self.p) if keep else 0.0
        out: Array = np.where(kept(self._shape(x), p=self.p, rng=self.rng), x, low) * a - a * low * self.p
        return out

    def _shape(self, x: Array) -> Array:
        """An array with an element for each that is dropped or kept."""
        return x


class FeatureAlphaDropout(AlphaDropout):
    """`AlphaDropout` of whole channels of (n, channels, …).

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.FeatureAlphaDropout(0.5).eval()(np.ones((1, 2)))
        array([[1., 1.]])
    """

    def _shape(self, x: Array) -> Array:
        return x[(slice(None), slice(None), *[slice(0, 1)] * (np.ndim(x) - 2))]


class Bilinear(Drawn):
    """``x1 @ weight[k] @ x2 + bias[k]`` for each k.

    Args:
        in1_features, in2_features, out_features: `x1` is (…, in1), `x2` (…, in2), the result (…, out).
        bias: whether there is one.
        rng, dtype: as in `Linear`; all are uniform within ±1/sqrt(in1_features).

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.Bilinear(2, 3, 4, rng=0)(np.ones((5, 2)), np.ones((5, 3))).shape
        (5, 4)
    """

    def __init__(
        self,
        in1_features: int,
        in2_features: int,
        out_features: int,
        bias: bool = True,
        *,
        rng: Rng = None,
        dtype: DType = np.float64,
    ) -> None:
        rng = np.random.default_rng(rng)
        self.in1_features, self.in2_features, self.out_features = in1_features, in2_features, out_features
        bound = 1 / math.sqrt(in1_features)
        self.weight = Parameter(init.uniform((out_features, in1_features, in2_features), rng, dtype, -bound, bound))
        self.bias = Parameter(init.uniform((out_features,), rng, dtype, -bound, bound)) if bias else None

    def forward(self, x1: Array, x2: Array) -> Tensor:
        return bilinear(x1, x2, self.weight, self.bias)


class Identity(Module):
    """Returns its argument unchanged; whatever it is made with is ignored.

    Example:
        >>> from adjoint import nn
        >>> nn.Identity()(3.0)
        3.0
    """

    def __init__(self, *args: object, **kwargs: object) -> None:
        pass

    def forward(self, x: Array) -> Tensor:
        return x


class Flatten(Module):
    """Join the axes from `start_dim` to `end_dim` to one.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.Flatten()(np.zeros((5, 2, 3))).shape
        (5, 6)
    """

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        self.start_dim, self.end_dim = start_dim, end_dim

    def forward(self, x: Array) -> Tensor:
        shape = np.shape(x)
        start, end = self.start_dim % len(shape), self.end_dim % len(shape)
        out: Array = np.reshape(x, (*shape[:start], math.prod(shape[start : end + 1]), *shape[end + 1 :]))
        return out

    def extra_repr(self) -> str:
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"


class Unflatten(Module):
    """The inverse of `Flatten`: axis `dim` becomes axes of `unflattened_size`.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.Unflatten(1, (2, 3))(np.zeros((5, 6))).shape
        (5, 2, 3)
    """

    def __init__(self, dim: int, unflattened_size: tuple[int, ...]) -> None:
        self.dim, self.unflattened_size = dim, tuple(unflattened_size)

    def forward(self, x: Array) -> Tensor:
        shape = np.shape(x)
        at = self.dim % len(shape)
        out: Array = np.reshape(x, (*shape[:at], *self.unflattened_size, *shape[at + 1 :]))
        return out

    def extra_repr(self) -> str:
        return f"dim={self.dim}, unflattened_size={self.unflattened_size}"
