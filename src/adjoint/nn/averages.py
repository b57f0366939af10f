"""Averages of weights over a training: exponential, or plain."""

from __future__ import annotations

from copy import deepcopy

import numpy as np

from adjoint.core.errors import ArgumentError
from adjoint.core.types import Value
from adjoint.nn.module import Module
from adjoint.tape.tensor import Tensor
from adjoint.tape.writes import mutations


class AveragedModel(Module):
    """A copy of a model whose weights are averages of that model's.

    Args:
        model: what is averaged; it is copied.
        decay: the share of the average that stays at each update; None for the plain mean of all (Izmailov et al.,
            Averaging Weights Leads to Wider Optima, 2018).

    Attributes:
        module: the copy.
        n_averaged: how many updates there were.

    Raises:
        ArgumentError: if `decay` is no share.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> model = nn.Linear(1, 1, bias=False, rng=0)
        >>> model.weight.data[...] = 1.0
        >>> average = nn.AveragedModel(model, decay=0.5)
        >>> average.update_parameters(model)
        >>> model.weight.data[...] = 3.0
        >>> average.update_parameters(model)
        >>> average(np.ones(1)).item()
        2.0
    """

    n_averaged: Tensor

    def __init__(self, model: Module, decay: float | None = None) -> None:
        if decay is not None and not 0 <= decay <= 1:
            raise ArgumentError(f"AveragedModel: decay is a share, from 0 to 1; got {decay}")
        self.module, self.decay = deepcopy(model), decay
        self.register_buffer("n_averaged", np.zeros((), np.int64))

    def forward(self, *args: Value, **kwargs: Value) -> Value:
        return self.module(*args, **kwargs)

    def update_parameters(self, model: Module) -> None:
        """Mix the weights of `model` into the averages; the first time they are copied, buffers always."""
        count = self.n_averaged
        n = int(count.data)
        share = 1 / (n + 1) if self.decay is None or n == 0 else 1 - self.decay
        for own, new in zip(self.module.parameters(), model.parameters(), strict=True):
            own.data += share * (new.data - own.data)
            mutations.note(own.data)
        for kept, now in zip(self.module.buffers(), model.buffers(), strict=True):
            kept.data[...] = now.data
            mutations.note(kept.data)
        count.data += 1
