"""How good a classifier is."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.core.errors import ArgumentError, ShapeError
from adjoint.data.dataset import Array
from adjoint.nn import Module, cross_entropy
from adjoint.tape.modes import no_grad


def logits_of(model: Module, x: Array, size: int = 1024) -> Array:
    """What `model` answers to `x`, computed in batches of `size`, without a graph and without dropout.

    Args:
        model: takes (examples, ...) and gives (examples, classes).
        x: examples, at least one.
        size: examples a batch.

    Returns:
        An array of shape (examples, classes). The model is left in the mode in which it was.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> ad.train.logits_of(ad.nn.Linear(2, 3, rng=0), np.zeros((5, 2))).shape
        (5, 3)
    """
    training = model.training
    try:
        model.eval()
        with no_grad():
            return np.concatenate([model(x[start : start + size]).numpy() for start in range(0, len(x), size)])
    finally:
        model.train(training)


def mean_loss(logits: Array, y: Array) -> float:
    """The cross-entropy of `logits` with labels `y`, averaged."""
    loss: Any = cross_entropy(logits, y)
    return float(loss)


def accuracy(logits: Array, y: Array) -> float:
    """The share of examples whose largest logit is that of their label.

    Args:
        logits: shape (examples, classes); probabilities do as well.
        y: class numbers, shape (examples,).

    Example:
        >>> import numpy as np, adjoint as ad
        >>> ad.train.accuracy(np.array([[2.0, 1.0], [0.0, 3.0], [5.0, 4.0]]), np.array([0, 1, 1])).__round__(3)
        0.667
    """
    if logits.ndim != 2 or len(logits) != len(y):
        raise ShapeError(f"accuracy takes logits (examples, classes) and one label each; got {logits.shape}, {y.shape}")
    return float(np.mean(logits.argmax(axis=1) == y))


def confusion(actual: Array, predicted: Array, classes: int) -> Array:
    """How often each class (row) was taken for each class (column).

    Args:
        actual: class numbers, shape (examples,).
        predicted: class numbers, shape (examples,).
        classes: how many there are.

    Returns:
        Counts, shape (classes, classes), int64; the diagonal holds what was right.

    Raises:
        ArgumentError: for a number that is no class.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> ad.train.confusion(np.array([0, 0, 1]), np.array([0, 1, 1]), 2)
        array([[1, 1],
               [0, 1]])
    """
    both = np.concatenate([actual, predicted])
    if both.size and not (both.min() >= 0 and both.max() < classes):
        raise ArgumentError(f"confusion: classes run from 0 to {classes - 1}; got {both.min()} to {both.max()}")
    counts: Array = np.bincount(actual * classes + predicted, minlength=classes**2).reshape(classes, classes)
    return counts
