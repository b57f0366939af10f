"""Losses over many classes, of which few are frequent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from adjoint.core.errors import ArgumentError, ShapeError
from adjoint.core.types import Array, DType
from adjoint.nn.init import Rng
from adjoint.nn.layers.basic import Linear
from adjoint.nn.layers.containers import ModuleList, Sequential
from adjoint.nn.module import Module
from adjoint.ops.neural.activation import log_softmax
from adjoint.tape.tensor import Tensor


class Scored(NamedTuple):
    """The log-probability of each label, and minus their mean."""

    output: Array
    loss: Array


class AdaptiveLogSoftmaxWithLoss(Module):
    """A log-softmax over many classes in clusters by how frequent they are (Grave et al., 2017).

    The frequent classes and one class for each cluster make up the head. A cluster's own log-softmax is computed from
    fewer features, and in training only for the rows that have a label in it.

    Args:
        in_features: of one row.
        n_classes: how many there are, sorted by frequency: 0 is the most frequent.
        cutoffs: where clusters begin: increasing whole numbers from 1 to n_classes - 1.
        div_value: cluster number i has ``in_features // div_value ** (i + 1)`` features.
        head_bias: whether the head has a bias.
        rng: a seed or generator for initial values.
        dtype: of the parameters.

    Calling it: ``output, loss = layer(x, labels)``, of `x` (n, in_features) and whole numbers (n,), or of one row and
    one label. ``layer.log_prob(x)`` gives all log-probabilities, ``layer.predict(x)`` the likeliest classes.

    Raises:
        ArgumentError: if a setting makes no sense, or a label is none of the classes.
        ShapeError: if shapes do not fit.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> layer = nn.AdaptiveLogSoftmaxWithLoss(8, 20, [4, 10], div_value=2.0, rng=0)
        >>> output, loss = layer(np.ones((3, 8)), np.array([0, 5, 19]))
        >>> output.shape, bool(np.allclose(np.sum(np.exp(layer.log_prob(np.ones((1, 8))))), 1))
        ((3,), True)
    """

    def __init__(
        self,
        in_features: int,
        n_classes: int,
        cutoffs: Sequence[int],
        div_value: float = 4.0,
        head_bias: bool = False,
        *,
        rng: Rng = None,
        dtype: DType = np.float64,
    ) -> None:
        edges = [0, *map(int, cutoffs), n_classes]
        if len(edges) < 3 or list(cutoffs) != edges[1:-1] or sorted(set(edges)) != edges:
            raise ArgumentError(
                f"AdaptiveLogSoftmaxWithLoss: cutoffs are increasing whole numbers from 1 to n_classes - 1 = "
                f"{n_classes - 1}; got {list(cutoffs)}"
            )
        self.in_features, self.n_classes, self.div_value, self.head_bias = in_features, n_classes, div_value, head_bias
        self.cutoffs, self.shortlist_size, self.n_clusters = edges[1:], edges[1], len(edges) - 2
        self.head_size, rng = self.shortlist_size + self.n_clusters, np.random.default_rng(rng)
        self.head = Linear(in_features, self.head_size, bias=head_bias, rng=rng, dtype=dtype)
        self.tail = ModuleList()
        for i in range(self.n_clusters):
            width = int(in_features // div_value ** (i + 1))
            if width < 1:
                raise ArgumentError(
                    f"AdaptiveLogSoftmaxWithLoss: cluster {i} has {in_features} // {div_value} ** {i + 1} = 0 "
                    f"features; a smaller div_value gives it more"
                )
            size = edges[i + 2] - edges[i + 1]
            self.tail.append(
                Sequential(
                    Linear(in_features, width, bias=False, rng=rng, dtype=dtype),
                    Linear(width, size, bias=False, rng=rng, dtype=dtype),
                )
            )

    def reset_parameters(self, *, rng: Rng = None) -> None:
        """Write new initial values into all parameters; `rng`: a seed or generator for them."""
        rng = np.random.default_rng(rng)
        for layer in self.modules():
            if isinstance(layer, Linear):
                layer.reset_parameters(rng=rng)

    def forward(self, input: Array, target: Array) -> Scored:
        x = input if hasattr(input, "shape") else np.asarray(input)
        labels = np.asarray(target.detach().numpy() if isinstance(target, Tensor) else target)
        if x.ndim not in (1, 2) or x.shape[-1] != self.in_features or labels.shape != x.shape[:-1]:
            raise ShapeError(
                f"AdaptiveLogSoftmaxWithLoss takes x (n, {self.in_features}) and labels (n,); got {x.shape} and "
                f"{labels.shape}"
            )
        if labels.dtype.kind not in "iu" or np.any((labels < 0) | (labels >= self.n_classes)):
            raise ArgumentError(f"labels are whole numbers from 0 to {self.n_classes - 1}; got {labels}")
        alone = x.ndim == 1
        x, labels = (x[None], labels[None]) if alone else (x, labels)
        # Where each row's label, or its cluster, stands in the head.
        cluster = np.searchsorted(self.cutoffs, labels, side="right")
        place = np.where(cluster == 0, labels, self.shortlist_size + cluster - 1)
        output = log_softmax(self.head(x), axis=-1)[np.arange(len(labels)), place]
        parts: list[Array] = [np.zeros(1, x.dtype)]  # of a label in the head
        where, count = np.zeros(len(labels), np.intp), 1
        for i, tail in enumerate(self.tail):
            rows = np.flatnonzero(cluster == i + 1)
            if rows.size:
                parts.append(log_softmax(tail(x[rows]), axis=-1)[np.arange(rows.size), labels[rows] - self.cutoffs[i]])
                where[rows], count = np.arange(count, count + rows.size), count + rows.size
        output = output + np.concatenate(parts)[where]
        loss = -np.mean(output)
        return Scored(output[0] if alone else output, loss)

    def log_prob(self, input: Array) -> Array:
        """The log-probabilities of all classes: (n, n_classes)."""
        head = log_softmax(self.head(input), axis=-1)
        parts = [head[..., : self.shortlist_size]]
        for i, tail in enumerate(self.tail):
            k = self.shortlist_size + i
            parts.append(head[..., k : k + 1] + log_softmax(tail(input), axis=-1))
        return np.concatenate(parts, axis=-1)

    def predict(self, input: Array) -> Array:
        """The likeliest class of each row: (n,)."""
        return np.argmax(self.log_prob(input), axis=-1)
