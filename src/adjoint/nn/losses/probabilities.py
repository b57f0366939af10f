"""Losses of probabilities and distributions."""

from __future__ import annotations

import math

import numpy as np

from adjoint.core.box import Box, raw
from adjoint.core.errors import ArgumentError, DTypeError, ShapeError
from adjoint.core.messages.keywords import answering
from adjoint.core.types import A, Array
from adjoint.nn.losses.basic import alike, array, out_of_range, reduced
from adjoint.ops.neural.activation import sigmoid
from adjoint.ops.neural.fused import logit_cross_entropy, of_labels, probability_cross_entropy


@answering
def nll_loss(input: A, target: Array, weight: Array = None, ignore_index: int = -100, reduction: str = "mean") -> A:
    """Minus the log-probability of the right class. Of logits, use `cross_entropy`.

    Args:
        input: log-probabilities (classes,), (n, classes) or (n, classes, …).
        target: class numbers from 0, of the shape of `input` without its class axis.
        weight, ignore_index, reduction: as in `cross_entropy`.

    Raises:
        ShapeError: if the shapes do not fit.
        DTypeError: if class numbers are not integers.
        ArgumentError: if a class number is not one.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.functional.nll_loss(np.log([[0.5, 0.5]]), np.array([1]))
        np.float64(0.6931471805599453)
    """
    log_p, labels = array(input), array(target)
    if labels.dtype.kind not in "iu":
        raise DTypeError(f"nll_loss: class numbers must be integers; got {labels.dtype}. Convert: target.astype(int)")
    log_p = np.moveaxis(log_p, 1, -1) if log_p.ndim > 2 else log_p
    if log_p.ndim == 0 or labels.shape != log_p.shape[:-1]:
        raise ShapeError(
            f"nll_loss: log-probabilities (n, classes, …) need class numbers (n, …); got {np.shape(input)} and "
            f"{labels.shape}"
        )
    classes = log_p.shape[-1]
    counted = np.not_equal(labels, ignore_index)
    labels = np.where(counted, labels, 0)
    if out_of_range(labels, classes):
        raise ArgumentError(
            f"nll_loss: class numbers run from 0 to {classes - 1}; got {np.min(labels)} to {np.max(labels)}"
        )
    shares = np.where(counted, 1.0 if weight is None else of_labels(array(weight), labels), 0.0).astype(log_p.dtype)
    picked = np.take_along_axis(log_p, np.expand_dims(labels, -1), axis=-1)[..., 0]
    loss = -np.where(counted, picked * shares, 0.0)
    return np.sum(loss) / np.sum(shares) if reduction == "mean" else reduced(loss, reduction)


@answering
def kl_div(input: A, target: Array, reduction: str = "mean", log_target: bool = False) -> A:
    """``target * (log(target) - input)``: Kullback and Leibler's divergence of `input`, which is a logarithm.

    Args:
        input: log-probabilities.
        target: probabilities (where one is below 0, the result is nan), or their logarithms with `log_target`.
        reduction: "mean", "sum", "none", or "batchmean", the sum by the length of the first axis.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.functional.kl_div(np.log([[0.5, 0.5]]), np.array([[1.0, 0.0]]), reduction="batchmean")
        np.float64(0.6931471805599453)
    """
    input, target = array(input), array(target)
    if log_target:
        loss = np.exp(target) * (target - input)
    else:
        none = np.equal(target, 0)
        with np.errstate(invalid="ignore"):  # a target below 0 is no probability: nan
            loss = np.where(none, 0.0, target * (np.log(np.where(none, 1.0, target)) - input))
    return np.sum(loss) / input.shape[0] if reduction == "batchmean" else reduced(loss, reduction)


@answering
def binary_cross_entropy(input: A, target: Array, weight: Array = None, reduction: str = "mean") -> A:
    """``-target * log(input) - (1 - target) * log(1 - input)``; logarithms are held above -100, as in PyTorch.

    The gradient of a wrong answer that is sure stays large and finite: ``(input - target) / 1e-12``.

    Args:
        input: probabilities. Of logits, use `binary_cross_entropy_with_logits`.
        target: probabilities of that shape.
        weight: factors that broadcast to it.
        reduction: "mean", "sum" or "none".

    Raises:
        ShapeError: if the shapes differ.
        ArgumentError: if `input` is not within 0 and 1.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.functional.binary_cross_entropy(np.array([0.5]), np.array([1.0]))
        np.float64(0.6931471805599453)
    """
    input, target = alike("binary_cross_entropy", input, target)
    held = np.asarray(raw(input))
    if held.size and not (held.min() >= 0 and held.max() <= 1):
        raise ArgumentError(
            f"binary_cross_entropy takes probabilities, from 0 to 1; got {held.min()} to {held.max()}. Of logits, use "
            f"binary_cross_entropy_with_logits"
        )
    loss = probability_cross_entropy(input, target)
    return reduced(loss if weight is None else loss * weight, reduction)


@answering
def smooth_l1_loss(input: A, target: Array, reduction: str = "mean", beta: float = 1.0) -> A:
    """``huber_loss(delta=beta) / beta``; with `beta` 0 the absolute error (Girshick, Fast R-CNN, 2015).

    Raises:
        ShapeError: if the shapes differ.
        ArgumentError: if `beta` is negative.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.functional.smooth_l1_loss(np.array([0.5, 3.0]), np.zeros(2), reduction="none")
        array([0.125, 2.5  ])
    """
    input, target = alike("smooth_l1_loss", input, target)
    if beta < 0:
        raise ArgumentError(f"smooth_l1_loss: beta is not negative; got {beta}")
    size = np.abs(input - target)
    if beta == 0:
        return reduced(size, reduction)
    return reduced(np.where(np.less(size, beta), 0.5 * size * size / beta, size - 0.5 * beta), reduction)


@answering
def poisson_nll_loss(
    input: A, target: Array, log_input: bool = True, full: bool = False, eps: float = 1e-8, reduction: str = "mean"
) -> A:
    """Minus the log-likelihood of counts under Poisson's distribution, without what does not depend on `input`.

    Args:
        input: the logarithm of the rate; the rate itself, without `log_input`.
        target: counts.
        full: add Stirling's formula of ``log(target!)`` for counts above 1.
        eps: is added to a rate before its logarithm.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.functional.poisson_nll_loss(np.zeros(2), np.array([1.0, 2.0]))
        np.float64(1.0)
    """
    input, target = array(input), array(target)
    loss = np.exp(input) - target * input if log_input else input - target * np.log(input + eps)
    if full:
        many = np.greater(target, 1)
        safe = np.where(many, target, 1.0)
        stirling = safe * np.log(safe) - safe + 0.5 * np.log(2 * math.pi * safe)
        loss = loss + np.where(many, stirling, 0.0)
    return reduced(loss, reduction)


@answering
def gaussian_nll_loss(
    input: A, target: Array, var: Array, full: bool = False, eps: float = 1e-6, reduction: str = "mean"
) -> A:
    """``(log(var) + (input - target)**2 / var) / 2``; a variance counts as `eps` at least.

    A variance below `eps` has the gradient that `eps` would have, so that training can raise it.

    Args:
        input, target: of one shape.
        var: variances, of that shape, without its last axis, or with 1 there.
        full: add ``log(2 pi) / 2``.

    Raises:
        ArgumentError: if a variance is negative.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.functional.gaussian_nll_loss(np.array([1.0]), np.array([0.0]), np.array([1.0]))
        np.float64(0.5)
    """
    input, target, var = array(input), array(target), array(var)
    if var.shape == input.shape[:-1]:
        var = var[..., None]
    if np.any(raw(var) < 0):
        raise ArgumentError("gaussian_nll_loss: variances are not negative")
    lift: Array = np.maximum(eps - var, 0.0)
    held = var + (lift.detach() if isinstance(var, Box) else lift)
    loss = 0.5 * (np.log(held) + np.square(input - target) / held)
    return reduced(loss + 0.5 * math.log(2 * math.pi) if full else loss, reduction)


@answering
def sigmoid_focal_loss(input: A, target: Array, alpha: float = 0.25, gamma: float = 2.0, reduction: str = "none") -> A:
    """Binary cross-entropy of logits, less where the answer is right (Lin et al., Focal Loss, 2017).

    Args:
        input: logits.
        target: 0 or 1, of that shape.
        alpha: the weight of 1 against 0; none, if it is negative.
        gamma: the power of the probability of being wrong.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.functional.sigmoid_focal_loss(np.array([0.0]), np.array([1.0]))
        array([0.0433217])
    """
    input, target = alike("sigmoid_focal_loss", input, target)
    p = sigmoid(input)
    wrong = p * (1 - target) + (1 - p) * target
    loss = logit_cross_entropy(input, target) * wrong**gamma
    loss = loss if alpha < 0 else (alpha * target + (1 - alpha) * (1 - target)) * loss
    return reduced(loss, reduction)
