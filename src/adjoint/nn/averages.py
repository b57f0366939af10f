"""Averages of weights over a training: exponential, plain, or by a function of one's own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from copy import deepcopy

import numpy as np

from adjoint.core.errors import ArgumentError
from adjoint.core.types import Array, Value
from adjoint.nn.layers.normalization import BatchNorm2d, InstanceNorm2d
from adjoint.nn.module import Module
from adjoint.tape.modes import no_grad
from adjoint.tape.tensor import Tensor
from adjoint.tape.writes import mutations

Average = Callable[[Array, Array, int], Array]
Averages = Callable[[Sequence[Tensor], Sequence[Tensor], int], None]


class AveragedModel(Module):
    """A copy of a model whose weights are averages of that model's.

    Args:
        model: what is averaged; it is copied.
        decay: the share of the average that stays at each update; None for the plain mean of all (Izmailov et al.,
            Averaging Weights Leads to Wider Optima, 2018).
        avg_fn: another way: gives the new average from the old one, the weights, and the number of updates so far.
        multi_avg_fn: the same for lists of all of these; it writes into the first, as `get_ema_multi_avg_fn` does.
        use_buffers: whether buffers (running means, say) are averaged too, and not copied.

    Attributes:
        module: the copy.
        n_averaged: how many updates there were.

    Raises:
        ArgumentError: if `decay` is no share, or if there are several ways to average.

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

    def __init__(
        self,
        model: Module,
        decay: float | None = None,
        avg_fn: Average | None = None,
        multi_avg_fn: Averages | None = None,
        use_buffers: bool = False,
    ) -> None:
        if decay is not None and not 0 <= decay <= 1:
            raise ArgumentError(f"AveragedModel: decay is a share, from 0 to 1; got {decay}")
        if sum(way is not None for way in (decay, avg_fn, multi_avg_fn)) > 1:
            raise ArgumentError("AveragedModel: give one of decay=, avg_fn= and multi_avg_fn=")
        self.module, self.decay = deepcopy(model), decay
        self.avg_fn, self.multi_avg_fn, self.use_buffers = avg_fn, multi_avg_fn, use_buffers
        self.register_buffer("n_averaged", np.zeros((), np.int64))

    def forward(self, *args: Value, **kwargs: Value) -> Value:
        return self.module(*args, **kwargs)

    def update_parameters(self, model: Module) -> None:
        """Mix the weights of `model` into the averages; the first time they are copied."""
        n = int(self.n_averaged.held)
        own, new = _tensors(self.module, self.use_buffers), _tensors(model, self.use_buffers)
        if n == 0:
            _write(own, [x.held for x in new])
        elif self.multi_avg_fn is not None:
            with no_grad():
                self.multi_avg_fn([x.detach() for x in own], [x.detach() for x in new], n)
            for x in own:
                mutations.note(x.held)
        else:
            average = self.avg_fn or (get_swa_avg_fn() if self.decay is None else get_ema_avg_fn(self.decay))
            with no_grad():
                _write(own, [average(x.detach(), y.detach(), n) for x, y in zip(own, new, strict=True)])
        if not self.use_buffers:
            _write(list(self.module.buffers()), [x.held for x in model.buffers()])
        self.n_averaged.held += 1


def _tensors(model: Module, buffers: bool) -> list[Tensor]:
    return [*model.parameters(), *(model.buffers() if buffers else ())]


def _write(tensors: Sequence[Tensor], values: Iterable[Array]) -> None:
    for tensor, value in zip(tensors, values, strict=True):
        tensor.held[...] = value.detach().numpy() if isinstance(value, Tensor) else value
        mutations.note(tensor.held)


def get_ema_avg_fn(decay: float = 0.999) -> Average:
    """For `AveragedModel`'s ``avg_fn``: the exponential average."""
    return lambda average, new, n: average + (1 - _share(decay)) * (new - average)


def get_swa_avg_fn() -> Average:
    """For `AveragedModel`'s ``avg_fn``: the plain mean."""
    return lambda average, new, n: average + (new - average) / (n + 1)


def get_ema_multi_avg_fn(decay: float = 0.999) -> Averages:
    """For `AveragedModel`'s ``multi_avg_fn``: the exponential average."""
    return _of_all(get_ema_avg_fn(decay))


def get_swa_multi_avg_fn() -> Averages:
    """For `AveragedModel`'s ``multi_avg_fn``: the plain mean."""
    return _of_all(get_swa_avg_fn())


def _of_all(one: Average) -> Averages:
    def averages(own: Sequence[Tensor], new: Sequence[Tensor], n: int) -> None:
        _write(own, [one(x, y, n) for x, y in zip(own, new, strict=True)])

    return averages


def _share(decay: float) -> float:
    if not 0 <= decay <= 1:
        raise ArgumentError(f"decay is a share, from 0 to 1; got {decay}")
    return decay


def update_bn(loader: Iterable[Value], model: Module) -> None:
    """Give layers of batch normalisation the means and variances of all of `loader`'s data, by one run through it.

    Args:
        loader: gives batches, or tuples whose first part is one.
        model: usually an `AveragedModel`: the statistics of the model that it averages are not its own.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> model = nn.BatchNorm1d(1)
        >>> nn.update_bn([np.array([[1.0], [3.0]]), np.array([[5.0], [7.0]])], model)
        >>> model.running_mean
        tensor([4.])
    """
    layers = [m for m in model.modules() if isinstance(m, BatchNorm2d) and not isinstance(m, InstanceNorm2d)]
    if not layers:
        return
    momenta, modes = [layer.momentum for layer in layers], [(m, m.training) for m in model.modules()]
    try:
        model.train()
        for layer in layers:
            layer.reset_running_stats()
            layer.momentum = None
        with no_grad():
            for batch in loader:
                model(batch[0] if isinstance(batch, tuple | list) else batch)
    finally:
        for layer, momentum in zip(layers, momenta, strict=True):
            layer.momentum = momentum
        for module, mode in modes:
            module.training = mode
