"""Layers with parameters: linear, embedding, layer normalisation. And two without: dropout, flatten."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from adjoint.core.box import Box, raw, varies
from adjoint.core.errors import ArgumentError, DTypeError, ShapeError
from adjoint.nn import init
from adjoint.nn.init import Initializer, Rng
from adjoint.nn.module import Module
from adjoint.nn.parameter import Parameter
from adjoint.ops.indexing import take
from adjoint.ops.neural import affine, kept, standardize


class Linear(Module):
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
        dtype: Any = np.float64,
        weight_init: str | Initializer | None = None,
    ) -> None:
        if in_features < 1 or out_features < 1:
            raise ArgumentError(f"Linear needs at least one feature each side; got {in_features} and {out_features}")
        rng = np.random.default_rng(rng)
        shape, bound = (out_features, in_features), 1 / math.sqrt(in_features)
        if weight_init is None:
            self.weight = Parameter(init.uniform(shape, rng, dtype, -bound, bound))
        else:
            self.weight = Parameter(init.get(weight_init)(shape, rng, dtype))
            bound = 0.0
        self.bias = Parameter(init.uniform((out_features,), rng, dtype, -bound, bound)) if bias else None

    def forward(self, x: Any) -> Any:
        if self.bias is not None:
            return affine(x, self.weight, self.bias)
        return np.matmul(x, self.weight.T)

    def extra_repr(self) -> str:
        out_features, in_features = self.weight.shape
        return f"in_features={in_features}, out_features={out_features}, bias={self.bias is not None}"


class Embedding(Module):
    """A learned vector for each of `num_embeddings` symbols.

    Args:
        num_embeddings, embedding_dim: the shape of `weight`, drawn from the standard normal distribution.
        rng, dtype: as in `Linear`.

    Raises:
        DTypeError: if it is called with anything but whole numbers.
        ArgumentError: if one of them is not in ``0 … num_embeddings - 1``.

    Example:
        >>> from adjoint import nn
        >>> nn.Embedding(10, 4, rng=0)([[1, 2], [3, 9]]).shape
        (2, 2, 4)
    """

    def __init__(self, num_embeddings: int, embedding_dim: int, *, rng: Rng = None, dtype: Any = np.float64) -> None:
        self.weight = Parameter(init.normal((num_embeddings, embedding_dim), rng, dtype))

    def forward(self, x: Any) -> Any:
        numbers: Any = raw(x)
        count = self.weight.shape[0]
        numbers = numbers if isinstance(numbers, Box) else np.asarray(numbers)  # a box, while it is captured
        if numbers.dtype.kind not in "iu":
            raise DTypeError(f"Embedding takes whole numbers; got {numbers.dtype}. Convert: x.astype(int)")
        if numbers.size and not (numbers.min() >= 0 and numbers.max() < count):
            raise ArgumentError(
                f"Embedding has symbols 0 … {count - 1}; got numbers from {numbers.min()} to {numbers.max()}"
            )
        return take(self.weight, x, axis=0) if varies(x) else self.weight[numbers]

    def extra_repr(self) -> str:
        return ", ".join(map(str, self.weight.shape))


class LayerNorm(Module):
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
        dtype: Any = np.float64,
    ) -> None:
        shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
        self.normalized_shape, self.eps = shape, eps
        self.weight = Parameter(np.ones(shape, dtype)) if elementwise_affine else None
        self.bias = Parameter(np.zeros(shape, dtype)) if elementwise_affine and bias else None

    def forward(self, x: Any) -> Any:
        count = len(self.normalized_shape)
        if np.shape(x)[-count:] != self.normalized_shape:
            raise ShapeError(f"LayerNorm over {self.normalized_shape} got x of shape {np.shape(x)}")
        x = standardize(x, axis=tuple(range(-count, 0)), eps=self.eps)
        x = x if self.weight is None else x * self.weight
        return x if self.bias is None else x + self.bias

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

    def __init__(self, p: float = 0.5, *, rng: Rng = None) -> None:
        if not 0 <= p <= 1:
            raise ArgumentError(f"Dropout's p is a probability, from 0 to 1; got {p}")
        self.p, self.rng = p, np.random.default_rng(rng)

    def forward(self, x: Any) -> Any:
        if not self.training or self.p == 0:
            return x
        keep = kept(x, p=self.p, rng=self.rng)
        return np.where(keep, x * (1 / max(1 - self.p, 1e-300)), 0.0)

    def extra_repr(self) -> str:
        return f"p={self.p}"


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

    def forward(self, x: Any) -> Any:
        shape = np.shape(x)
        start, end = self.start_dim % len(shape), self.end_dim % len(shape)
        return np.reshape(x, (*shape[:start], math.prod(shape[start : end + 1]), *shape[end + 1 :]))

    def extra_repr(self) -> str:
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"
