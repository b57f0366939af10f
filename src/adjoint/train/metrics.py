"""Measures of how good a model is."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from adjoint.core.errors import ArgumentError, ShapeError
from adjoint.core.types import Array
from adjoint.nn import Module
from adjoint.tape.modes import no_grad

Metric = Callable[[Array, Array], float]


def logits_of(model: Module, x: Array, size: int = 1024) -> np.ndarray:
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


def mean_absolute_error(answers: Array, y: Array) -> float:
    """The mean of ``|answers - y|``.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> ad.train.mean_absolute_error(np.array([1.0, 2.0]), np.array([1.5, 2.0]))
        0.25
    """
    if np.shape(answers) != np.shape(y):
        raise ShapeError(f"mean_absolute_error takes arrays of one shape; got {np.shape(answers)} and {np.shape(y)}")
    return float(np.mean(np.abs(answers - y)))


_BY_NAME: Mapping[str, Metric] = {"accuracy": accuracy, "mean_absolute_error": mean_absolute_error}


def metrics_by_name(metrics: Sequence[str | Metric] | Mapping[str, Metric]) -> dict[str, Metric]:
    """Metrics as `fit` takes them, each with its name."""
    if isinstance(metrics, str) or callable(metrics):
        metrics = [metrics]
    if isinstance(metrics, Mapping):
        return dict(metrics)
    named: dict[str, Metric] = {}
    for metric in metrics:
        if isinstance(metric, str) and metric not in _BY_NAME:
            raise ArgumentError(
                f"metrics known by name are {', '.join(_BY_NAME)}; got {metric!r}. Others are functions of the answers "
                f"and the targets: metrics=[f]"
            )
        named[metric if isinstance(metric, str) else metric.__name__] = (
            _BY_NAME[metric] if isinstance(metric, str) else metric
        )
    return named


def confusion(actual: Array, predicted: Array, classes: int) -> Array:
    """How often each class (row) was predicted as each class (column).

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
