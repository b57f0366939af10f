"""Rarer activations, as functions of arrays of any shape."""

from __future__ import annotations

import numpy as np

from adjoint.core.box import Box, raw
from adjoint.core.errors import ArgumentError, DTypeError, ShapeError
from adjoint.core.types import A, Array
from adjoint.nn.init import Rng
from adjoint.ops.neural import activation
from adjoint.ops.neural.activation import elu, relu6, sigmoid, softmax
from adjoint.ops.neural.fused import in_single

_ALPHA, _SCALE = 1.6732632423543772, 1.0507009873554805


def softplus(input: A, beta: float = 1.0, threshold: float = 20.0) -> A:
    """``log(1 + exp(beta * x)) / beta``; x itself where ``beta * x`` is above `threshold`.

    Example:
        >>> from adjoint import nn
        >>> float(nn.functional.softplus(0.0, beta=2.0))
        0.34657359027997264
    """
    if beta == 1.0 and threshold == 20.0:  # beyond 20 the two differ by less than 2.1e-9, and the smooth one is right
        return activation.softplus(input)
    return np.where(np.greater(np.multiply(input, beta), threshold), input, activation.softplus(input * beta) / beta)


def hardsigmoid(input: A, inplace: bool = False) -> A:
    """(x + 3) / 6, held between 0 and 1 (Courbariaux et al., 2015)."""
    return relu6(input + 3.0) / 6.0


def hardswish(input: A, inplace: bool = False) -> A:
    """x * hardsigmoid(x) (Howard et al., Searching for MobileNetV3, 2019)."""
    return input * hardsigmoid(input)


def mish(input: A, inplace: bool = False) -> A:
    """x * tanh(softplus(x)) (Misra, 2019)."""
    return input * np.tanh(activation.softplus(input))


def celu(input: A, alpha: float = 1.0, inplace: bool = False) -> A:
    """x where it is positive, ``alpha * (exp(x / alpha) - 1)`` elsewhere (Barron, 2017).

    Raises:
        ArgumentError: if `alpha` is 0.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.functional.celu(np.array([-2.0, 3.0]), alpha=2.0).round(4)
        array([-1.2642,  3.    ])
    """
    if alpha == 0:
        raise ArgumentError("celu divides by alpha, which is not 0; relu is its limit for small ones")
    if alpha > 0:
        return elu(input / alpha) * alpha
    return np.where(np.greater(input, 0), input, np.expm1(np.divide(input, alpha)) * alpha)


def selu(input: A, inplace: bool = False) -> A:
    """The scaled ELU that keeps mean 0 and variance 1 (Klambauer et al., 2017)."""
    return elu(input, _ALPHA) * _SCALE


def glu(input: A, dim: int = -1) -> A:
    """The first half of axis `dim` times the sigmoid of the second half (Dauphin et al., 2017).

    Raises:
        ShapeError: if the axis cannot be halved.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.functional.glu(np.array([2.0, 0.0]))
        array([1.])
    """
    n = np.shape(input)[dim]
    if n % 2:
        raise ShapeError(f"glu halves axis {dim}; got {np.shape(input)}")
    first, second = np.split(input, 2, axis=dim)
    return first * sigmoid(second)


def logsigmoid(input: A) -> A:
    """log(sigmoid(x)), for x of any size."""
    return -activation.softplus(-input)


def tanhshrink(input: A) -> A:
    """x - tanh(x)."""
    return input - np.tanh(input)


def hardshrink(input: A, lambd: float = 0.5) -> A:
    """x where its size is above `lambd`, 0 elsewhere."""
    shrunk: Array = np.where(np.less_equal(np.abs(input), lambd), 0.0, input)  # nan stays
    return shrunk


def softshrink(input: A, lambd: float = 0.5) -> A:
    """x moved by `lambd` towards 0, and 0 in between."""
    moved = np.where(np.less(input, -lambd), input + lambd, input - lambd)
    shrunk: Array = np.where(np.less_equal(np.abs(input), lambd), 0.0, moved)  # nan stays
    return shrunk


def threshold(input: A, threshold: float, value: float, inplace: bool = False) -> A:
    """x where it is above `threshold`, `value` elsewhere."""
    passed: Array = np.where(np.less_equal(input, threshold), value, input)  # nan stays
    return passed


def normalize(input: A, p: float = 2.0, dim: int = 1, eps: float = 1e-12) -> A:
    """`input` by its p-norm along `dim`, which is at least `eps`.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.functional.normalize(np.array([3.0, 4.0]), dim=0)
        array([0.6, 0.8])
    """
    if (wide := _wide(input)) is not input:
        return normalize(wide, p, dim, eps).astype(np.float16)
    norm = np.linalg.norm(input, ord=p, axis=dim, keepdims=True)
    return input / np.maximum(norm, eps)


def _wide(x: Array) -> Array:
    """Numbers in half precision as single ones; anything else as it is."""
    return in_single(x) if hasattr(x, "dtype") else x


def cosine_similarity(x1: A, x2: Array, dim: int = 1, eps: float = 1e-8) -> A:
    """The cosine of the angle between `x1` and `x2` along `dim`; norms are at least `eps`.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.functional.cosine_similarity(np.array([1.0, 1.0]), np.array([1.0, 0.0]), dim=0)
        np.float64(0.7071067811865475)
    """
    if (wide := _wide(x1)) is not x1:
        return cosine_similarity(wide, _wide(x2), dim, eps).astype(np.float16)
    first = np.maximum(np.sqrt(np.sum(x1 * x1, axis=dim)), eps)
    second = np.maximum(np.sqrt(np.sum(x2 * x2, axis=dim)), eps)
    return np.sum(x1 * x2, axis=dim) / (first * second)


def pairwise_distance(x1: A, x2: Array, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> A:
    """The p-norm of ``x1 - x2 + eps`` along the last axis."""
    if (wide := _wide(x1)) is not x1:
        return pairwise_distance(wide, _wide(x2), p, eps, keepdim).astype(np.float16)
    return np.linalg.norm(x1 - x2 + eps, ord=p, axis=-1, keepdims=keepdim)


def _as_given(model: Array, found: Array) -> Array:
    """An array as a constant of the kind of `model`."""
    return model.constant(found) if isinstance(model, Box) and not isinstance(found, Box) else found  # type: ignore[attr-defined]  # every box of arrays has it


def one_hot(tensor: Array, num_classes: int = -1) -> Array:
    """1 at each number of a class, 0 elsewhere: (…) whole numbers become (…, num_classes).

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.functional.one_hot(np.array([2, 0]))
        array([[0, 0, 1],
               [1, 0, 0]])
    """
    tensor = tensor if hasattr(tensor, "dtype") else np.asarray(tensor)
    labels = np.asarray(raw(tensor))
    if labels.dtype.kind not in "iu":
        raise DTypeError(f"one_hot takes whole numbers; got {labels.dtype}")
    count = int(labels.max(initial=-1)) + 1 if num_classes < 0 else num_classes
    if labels.size and (labels.min() < 0 or labels.max() >= count):
        raise ArgumentError(f"one_hot: class numbers run from 0 to {count - 1}; got {labels.min()} to {labels.max()}")
    hot = np.equal(np.expand_dims(tensor, -1), np.arange(count)).astype(np.int64)
    return _as_given(tensor, hot)


def pdist(input: A, p: float = 2.0) -> A:
    """The p-norms of the differences of all pairs of rows: (n, m) becomes (n * (n - 1) / 2,).

    Raises:
        ShapeError: if `input` is no matrix.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.functional.pdist(np.array([[0.0], [3.0], [4.0]]))
        array([3., 4., 1.])
    """
    x = input if hasattr(input, "shape") else np.asarray(input)
    if x.ndim != 2:
        raise ShapeError(f"pdist takes a matrix, of a row a point; got {x.shape}")
    first, second = np.triu_indices(x.shape[0], 1)
    return np.linalg.norm(x[first] - x[second], ord=p, axis=-1)


def gumbel_softmax(
    logits: A, tau: float = 1.0, hard: bool = False, eps: float = 1e-10, dim: int = -1, *, rng: Rng = None
) -> A:
    """A draw from the classes of `logits` that has a derivative (Jang et al., Maddison et al., 2017).

    Args:
        logits: log-probabilities of the classes along `dim`, up to a constant.
        tau: the temperature; the lower it is, the nearer the draw is to one class.
        hard: whether the draw is one class exactly, with the derivative of the soft one.
        eps: has no effect; it stands here since PyTorch's function has it.
        dim: the axis of the classes.
        rng: a seed or generator.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.functional.gumbel_softmax(np.zeros(3), hard=True, rng=0)
        array([0., 0., 1.])
    """
    x = logits if hasattr(logits, "shape") else np.asarray(logits)
    noise = np.random.default_rng(rng).gumbel(size=x.shape).astype(x.dtype)
    soft = softmax((x + noise) / tau, axis=dim)
    if not hard:
        return soft
    chosen = np.expand_dims(np.argmax(soft, axis=dim), dim)
    places = np.reshape(np.arange(x.shape[dim]), [-1 if axis == dim % x.ndim else 1 for axis in range(x.ndim)])
    one = np.equal(places, chosen).astype(x.dtype)
    return soft + (one - (soft.detach() if hasattr(soft, "detach") else soft))
