"""Losses of margins and distances."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from adjoint.core.box import raw
from adjoint.core.errors import ArgumentError
from adjoint.core.messages.keywords import answering
from adjoint.core.types import A, Array, Value
from adjoint.nn.functions.units import pairwise_distance
from adjoint.nn.losses.basic import alike, array, reduced
from adjoint.ops.neural.activation import softplus
from adjoint.ops.neural.fused import in_single, logit_cross_entropy, of_labels


def _at_least_0(x: Array) -> Array:
    """``max(x, 0)``; its slope at 0 is 1, as that of PyTorch's ``clamp_min``."""
    return np.where(np.less(x, 0), 0.0, x)


def _above_0(x: Array) -> Array:
    """``max(x, 0)``; its slope at 0 is 0, as where PyTorch asks for ``x > 0``."""
    return np.where(np.greater(x, 0), x, 0.0)


@answering
def hinge_embedding_loss(input: A, target: Array, margin: float = 1.0, reduction: str = "mean") -> A:
    """`input` where `target` is 1, ``max(0, margin - input)`` where it is -1.

    Raises:
        ArgumentError: if `target` has other values.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.functional.hinge_embedding_loss(np.array([0.5, 0.25]), np.array([1, -1]), reduction="none")
        array([0.5 , 0.75])
    """
    input, target = array(input), array(target)
    others = (held := np.asarray(raw(target)))[abs(held) != 1]
    if others.size:
        raise ArgumentError(
            f"hinge_embedding_loss takes targets of 1 (alike) and -1; got {others.flat[0]}. Of truth values or labels "
            f"0 and 1: 2 * target - 1"
        )
    near = np.where(np.equal(target, 1), input, 0.0)
    return reduced(near + np.where(np.equal(target, -1), _at_least_0(margin - input), 0.0), reduction)


@answering
def margin_ranking_loss(input1: A, input2: Array, target: Array, margin: float = 0.0, reduction: str = "mean") -> A:
    """``max(0, margin - target * (input1 - input2))``: with `target` 1 the first one should be larger.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.functional.margin_ranking_loss(np.array([1.0]), np.array([3.0]), np.array([1]))
        np.float64(2.0)
    """
    return reduced(_at_least_0(margin - target * (input1 - input2)), reduction)


@answering
def soft_margin_loss(input: A, target: Array, reduction: str = "mean") -> A:
    """``log(1 + exp(-target * input))``, with `target` 1 or -1.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.functional.soft_margin_loss(np.array([0.0]), np.array([1]))
        np.float64(0.6931471805599453)
    """
    return reduced(softplus(-target * array(input)), reduction)


@answering
def cosine_embedding_loss(input1: A, input2: Array, target: Array, margin: float = 0.0, reduction: str = "mean") -> A:
    """``1 - cos`` of vectors (n, d) or (d,) where `target` is 1, ``max(0, cos - margin)`` where it is -1.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.functional.cosine_embedding_loss(np.array([[1.0, 0.0]]), np.array([[0.0, 1.0]]), np.array([1])).round(6)
        np.float64(1.0)
    """
    input1, input2, target = array(input1), array(input2), array(target)
    if input1.dtype == np.float16:  # in which squares overflow
        wide = in_single(input1), in_single(input2)
        return cosine_embedding_loss(*wide, target, margin, reduction).astype(np.float16)
    eps = 1e-12
    product = np.sum(input1 * input2, axis=-1)
    sizes = (np.sum(input1 * input1, axis=-1) + eps) * (np.sum(input2 * input2, axis=-1) + eps)
    cosine = product / np.sqrt(sizes)
    loss = np.where(
        np.equal(target, 1), 1.0 - cosine, np.where(np.equal(target, -1), _at_least_0(cosine - margin), 0.0)
    )
    return reduced(loss, reduction)


@answering
def triplet_margin_loss(
    anchor: A,
    positive: Array,
    negative: Array,
    margin: float = 1.0,
    p: float = 2.0,
    eps: float = 1e-6,
    swap: bool = False,
    reduction: str = "mean",
) -> A:
    """``max(0, d(anchor, positive) - d(anchor, negative) + margin)`` of p-norms (Balntas et al., 2016).

    Args:
        anchor, positive, negative: vectors along the last axis.
        eps: is added to differences.
        swap: take the distance of positive and negative, if that is smaller than that of anchor and negative.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> a, b = np.array([[0.0, 0.0]]), np.array([[3.0, 4.0]])
        >>> nn.functional.triplet_margin_loss(a, b, a, eps=0.0)
        np.float64(6.0)
    """
    near, far = pairwise_distance(anchor, positive, p, eps), pairwise_distance(anchor, negative, p, eps)
    far = np.minimum(far, pairwise_distance(positive, negative, p, eps)) if swap else far
    return reduced(_at_least_0(near - far + margin), reduction)


@answering
def triplet_margin_with_distance_loss(
    anchor: A,
    positive: Array,
    negative: Array,
    *,
    distance_function: Callable[[Value, Value], Value] | None = None,
    margin: float = 1.0,
    swap: bool = False,
    reduction: str = "mean",
) -> A:
    """`triplet_margin_loss` with any distance of two arrays of vectors; `pairwise_distance` if none is given.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> a, b = np.array([[0.0, 0.0]]), np.array([[3.0, 4.0]])
        >>> distance = lambda x, y: np.abs(x - y).sum(axis=-1)
        >>> nn.functional.triplet_margin_with_distance_loss(a, b, a, distance_function=distance)
        np.float64(8.0)
    """
    distance = distance_function or pairwise_distance
    near, far = distance(anchor, positive), distance(anchor, negative)
    far = np.minimum(far, distance(positive, negative)) if swap else far
    return reduced(_at_least_0(near - far + margin), reduction)


@answering
def multi_margin_loss(
    input: A, target: Array, p: int = 1, margin: float = 1.0, weight: Array = None, reduction: str = "mean"
) -> A:
    """``sum(max(0, margin - input[y] + input[k])**p for k != y) / classes``.

    Args:
        input: scores (n, classes) or (classes,).
        target: class numbers y.
        weight: a factor for each class y.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.functional.multi_margin_loss(np.array([[0.0, 0.5]]), np.array([0]))
        np.float64(0.75)
    """
    scores, labels = array(input), array(target)
    right = np.take_along_axis(scores, np.expand_dims(labels, -1), axis=-1)
    cost = _above_0(margin - right + scores) ** p
    cost = cost if weight is None else cost * np.expand_dims(of_labels(array(weight), labels), -1)
    others = np.not_equal(np.expand_dims(labels, -1), np.arange(scores.shape[-1]))
    return reduced(np.sum(np.where(others, cost, 0.0), axis=-1) / scores.shape[-1], reduction)


@answering
def multilabel_soft_margin_loss(input: A, target: Array, weight: Array = None, reduction: str = "mean") -> A:
    """The mean over classes of `binary_cross_entropy_with_logits`.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.functional.multilabel_soft_margin_loss(np.zeros((1, 2)), np.array([[1.0, 0.0]]))
        np.float64(0.6931471805599453)
    """
    input, target = alike("multilabel_soft_margin_loss", input, target)
    loss = logit_cross_entropy(input, target)
    return reduced(np.mean(loss if weight is None else loss * weight, axis=-1), reduction)


@answering
def multilabel_margin_loss(input: A, target: Array, reduction: str = "mean") -> A:
    """``sum(max(0, 1 - input[y] + input[k]) for y in target, k not in target) / classes``.

    Args:
        input: scores (n, classes) or (classes,).
        target: class numbers, of that shape; those behind the first -1 do not count.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.functional.multilabel_margin_loss(np.array([[0.1, 0.2, 0.4]]), np.array([[2, -1, 0]]))
        np.float64(0.5)
    """
    scores, labels = array(input), np.asarray(raw(array(target)))
    counted = np.cumprod(labels >= 0, axis=-1).astype(bool)
    labels = np.where(counted, labels, 0)
    classes = scores.shape[-1]
    inside = np.any((labels[..., None] == np.arange(classes)) & counted[..., None], axis=-2)
    right = np.take_along_axis(scores, labels, axis=-1)
    cost = _above_0(1.0 - right[..., :, None] + scores[..., None, :])
    used = counted[..., :, None] & ~inside[..., None, :]
    return reduced(np.sum(np.where(used, cost, 0.0), axis=(-2, -1)) / classes, reduction)
