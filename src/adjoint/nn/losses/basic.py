"""Losses: functions of a model's answers and the right answers.

Each takes ``reduction="mean"`` (one number, the mean), ``"sum"`` or ``"none"`` (all of them).
"""

from __future__ import annotations

from typing import cast

import numpy as np

from adjoint.core.backend import as_array, beside, is_elsewhere
from adjoint.core.box import Box, raw
from adjoint.core.errors import ArgumentError, DTypeError, ShapeError
from adjoint.core.messages.keywords import answering
from adjoint.core.types import A, Array, Value
from adjoint.ops.neural.activation import log_softmax, softplus
from adjoint.ops.neural.fused import huber_cost, logit_cross_entropy, negative_log_likelihood, of_labels, with_softmax
from adjoint.ops.reductions.moments import reduce_mean
from adjoint.tape.creation import are_plain
from adjoint.tape.tensor import Tensor


def out_of_range(labels: Array, classes: int) -> bool:
    """Whether a class number is negative or too large; a negative one, read without its sign, is very large."""
    held = raw(labels)
    if is_elsewhere(held):  # nobody looks
        return False
    if not isinstance(held, np.ndarray):
        return bool(np.any(np.logical_or(labels < 0, labels >= classes)))
    return bool(held.size) and int(np.maximum.reduce(held.view(f"u{held.itemsize}"), axis=None)) >= classes


def reduced(loss: Array, reduction: str, weight: Array = None) -> Array:
    """The loss, its sum or its mean; with weights their mean, too."""
    if weight is not None:
        loss = loss * weight
        if reduction == "mean":
            return np.sum(loss) / np.sum(np.broadcast_to(weight, np.shape(loss)))
    if reduction == "mean":
        return reduce_mean(loss)
    if reduction == "sum":
        return np.sum(loss)
    if reduction == "none":
        return loss
    raise ArgumentError(f'reduction is "mean", "sum" or "none"; got {reduction!r}')


def array(x: A) -> A:
    """`x` as an array of any kind."""
    return x if isinstance(x, Box) else as_array(x)


def alike(name: str, first: Array, target: Array) -> tuple[Array, Array]:
    """Both as arrays, which must be of one shape."""
    first, target = array(first), array(target)
    # Broadcasting (n, 1) against (n,) would give n * n errors, and a loss that trains nothing.
    if first.shape != target.shape:
        raise ShapeError(
            f"{name} needs two arrays of one shape; got {first.shape} and {target.shape}. If they are to be "
            f"broadcast, say so: np.broadcast_to(target, {first.shape})"
        )
    return first, target


@answering
def mse_loss(input: A, target: Array, reduction: str = "mean", *, weight: Array = None) -> A:
    """The squared error.

    Args:
        input, target: real arrays of one shape.
        reduction: "mean", "sum" or "none".
        weight: factors that broadcast to the shape; the mean is then the weighted one.

    Raises:
        ShapeError: if the shapes differ.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.mse_loss(np.array([1.0, 2.0]), np.array([0.0, 4.0]))
        np.float64(2.5)
    """
    input, target = alike("mse_loss", input, target)
    return reduced(np.square(input - target), reduction, weight)


@answering
def l1_loss(input: A, target: Array, reduction: str = "mean", *, weight: Array = None) -> A:
    """The absolute error. Arguments as for `mse_loss`.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.l1_loss(np.array([1.0, 2.0]), np.array([0.0, 4.0]))
        np.float64(1.5)
    """
    input, target = alike("l1_loss", input, target)
    return reduced(np.abs(input - target), reduction, weight)


@answering
def huber_loss(input: A, target: Array, reduction: str = "mean", delta: float = 1.0, *, weight: Array = None) -> A:
    """Half the squared error up to `delta`, a straight line beyond (Huber, 1964).

    Arguments as for `mse_loss`; but, as in PyTorch, the mean of weighted losses is not divided by the weights.

    Raises:
        ArgumentError: if `delta` is not positive.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.huber_loss(np.array([0.5, 3.0]), np.zeros(2), reduction="none")
        array([0.125, 2.5  ])
    """
    input, target = alike("huber_loss", input, target)
    if not delta > 0:
        raise ArgumentError(f"huber_loss: delta must be positive; got {delta}")
    loss = huber_cost(input - target, delta)
    return reduced(loss if weight is None else loss * weight, reduction)


@answering
def binary_cross_entropy_with_logits(
    input: A, target: Array, reduction: str = "mean", *, weight: Array = None, pos_weight: Array = None
) -> A:
    """``-target * log(sigmoid(input)) - (1 - target) * log(1 - sigmoid(input))``, for logits of any size.

    Args:
        input: logits, of any shape.
        target: probabilities of that shape; truth values are taken as 0 and 1.
        reduction: "mean", "sum" or "none".
        weight: factors that broadcast to the shape.
        pos_weight: factors of the first term alone, so that right answers of 1 count more.

    Raises:
        ShapeError: if the shapes differ.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.binary_cross_entropy_with_logits(np.array([0.0, np.inf]), np.array([1.0, 1.0]), reduction="none")
        array([0.69314718, 0.        ])
    """
    input, target = alike("binary_cross_entropy_with_logits", input, target)
    if target.dtype.kind == "b":
        target = target.astype(input.dtype)
    loss = logit_cross_entropy(input, target)
    if pos_weight is not None:
        loss = loss + (pos_weight - 1) * target * softplus(-input)
    return reduced(loss if weight is None else loss * weight, reduction)


@answering
def cross_entropy(
    input: A,
    target: Array,
    weight: Array = None,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> A:
    """Minus the log-softmax of logits at the right class.

    A logit of -inf rules a class out: its gradient is 0. A logit of inf makes its class certain.

    Args:
        input: logits of shape (classes,), (n, classes) or (n, classes, …).
        target: class numbers from 0, of the shape of `input` without its class axis; or probabilities of the
            shape of `input`.
        weight: one factor a class; the mean is then a weighted one.
        ignore_index: rows with this class number count for nothing. If all do, the mean is 0.
        reduction: "mean", "sum" or "none".
        label_smoothing: the share, from 0 to 1, of each target that is spread over all classes
            (Szegedy et al., Rethinking the Inception Architecture, 2015).

    Raises:
        ShapeError: if the shapes do not fit.
        DTypeError: if class numbers are not integers.
        ArgumentError: if a class number is not one, or `label_smoothing` is out of range.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> logits = np.array([[0.0, 0.0], [0.0, -np.inf]])
        >>> nn.cross_entropy(logits, np.array([1, 0]), reduction="none")
        array([0.69314718, 0.        ])
    """
    if not 0 <= label_smoothing <= 1:
        raise ArgumentError(f"cross_entropy: label_smoothing is a share, from 0 to 1; got {label_smoothing}")
    input, target = array(input), array(target)
    input = input.astype(float) if input.dtype.kind in "iub" else input
    if input.ndim == 0:
        raise ShapeError("cross_entropy: logits have a class axis, (classes,) or (n, classes, …); got one number")
    whole = target.dtype.kind in "iu"
    if input.ndim > 2:
        input = np.moveaxis(input, 1, -1)
        target = target if whole else np.moveaxis(target, 1, -1)
    if whole:
        return _from_labels(input, target, weight, ignore_index, reduction, label_smoothing)
    if target.shape != input.shape:
        if target.shape == input.shape[:-1]:
            raise DTypeError(
                f"cross_entropy: class numbers must be integers; got {target.dtype}. Convert: target.astype(int)"
            )
        raise ShapeError(
            f"cross_entropy: probabilities have the shape of the logits, {input.shape}; got {target.shape}"
        )
    classes = input.shape[-1]
    if label_smoothing:
        target = target * (1 - label_smoothing) + label_smoothing / classes
    loss = _expected(log_softmax(input), target if weight is None else target * weight)
    return np.sum(loss) / max(loss.size, 1) if reduction == "mean" else reduced(loss, reduction)


def _expected(log_p: Array, target: Array) -> Array:
    """-sum(target * log_p) over classes, where a class ruled out and never right costs nothing."""
    never = np.logical_and(np.equal(target, 0), np.isneginf(log_p))
    return 0.0 - np.sum(target * np.where(never, 0.0, log_p), axis=-1)


# Bytes of logits up to which their softmax is kept: of small arrays, calls take longest.
_SMALL = 1 << 16


def _likelihood(logits: Array, labels: Array, mean: bool) -> Array:
    """`negative_log_likelihood`, which keeps the softmax for the way back where that is small."""
    if type(logits) is Tensor and logits.node is not None and type(labels) is np.ndarray and are_plain(logits):
        held = logits.held
        if 0 < held.nbytes <= _SMALL and held.dtype.char in "fd":
            return negative_log_likelihood(logits, labels, mean=mean, kept=with_softmax(held, labels))
    return negative_log_likelihood(logits, labels, mean=mean)


def _from_labels(
    logits: Array, labels: Array, weight: Array, ignore_index: int, reduction: str, label_smoothing: float
) -> Array:
    labels = array(labels)
    classes = logits.shape[-1]
    if labels.shape != logits.shape[:-1]:
        raise ShapeError(
            f"cross_entropy: logits (…, classes) of shape {logits.shape} need class numbers of shape "
            f"{logits.shape[:-1]}; got {labels.shape}"
        )
    counted = None
    if out_of_range(labels, classes) or 0 <= ignore_index < classes:
        counted = labels != ignore_index
        labels = np.where(counted, labels, 0)
        if out_of_range(labels, classes):
            raise ArgumentError(
                f"cross_entropy: class numbers run from 0 to {classes - 1}; got {labels.min()} to {labels.max()}"
            )
    if label_smoothing:
        target = beside(logits, np.full(logits.shape, label_smoothing / classes, logits.dtype))
        if isinstance(labels, Box) or is_elsewhere(labels):
            right = np.equal(np.expand_dims(cast(Value, labels), -1), beside(labels, np.arange(classes)))
            target = np.where(right, target + (1 - label_smoothing), target)
        else:
            target[(*np.indices(labels.shape, sparse=True), labels)] += 1 - label_smoothing
        loss = _expected(log_softmax(logits), target if weight is None else target * weight)
    else:
        if reduction == "mean" and counted is None and weight is None:
            return _likelihood(logits, labels, mean=True)
        loss = _likelihood(logits, labels, mean=False)
        loss = loss if weight is None else loss * of_labels(weight, labels)
    if counted is not None:
        loss = np.where(counted, loss, 0.0)
    if reduction != "mean" or (counted is None and weight is None):
        return reduced(loss, reduction)
    shares = beside(loss, np.ones(labels.shape, loss.dtype)) if weight is None else of_labels(weight, labels)
    total = np.sum(shares if counted is None else np.where(counted, shares, 0.0))
    return np.sum(loss) / np.where(np.equal(total, 0), 1.0, total)
