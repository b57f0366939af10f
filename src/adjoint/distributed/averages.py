"""Means over all ranks: of gradients, of running averages, and of losses over unequal numbers of examples."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from adjoint.core.types import Array, Value
from adjoint.distributed import exchange
from adjoint.distributed.collectives import all_reduce
from adjoint.distributed.replicas import DIGEST, hold_same, sample, signature
from adjoint.distributed.world import Exchange, World, world
from adjoint.nn import Module
from adjoint.tape.tensor import Tensor
from adjoint.tape.writes import mutations


def average_gradients(params: Sequence[Value]) -> None:
    """Put the mean over all ranks in place of the gradient of each of `params`: after a compiled step, for example.

    A gradient that only some ranks have counts as 0 on the others.

    Raises:
        DistributedError: if ranks give other parameters, or parameters of other values.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> w = ad.tensor([1.0, 2.0], requires_grad=True)
        >>> np.sum(w**2).backward()
        >>> ad.distributed.average_gradients([w])
        >>> w.grad
        tensor([2., 4.])
    """
    here, params = world(), list(params)
    if here.size == 1:
        return
    told = np.array([*(p.grad is not None for p in params), *sample(p.held for p in params)], np.uint8)
    what = f"average_gradients of {signature(params)}"
    every = here.together(what, exchange.gather(here, told))
    hold_same(every[:, -DIGEST:], what)
    kinds: dict[Value, list[Value]] = {}
    for p, is_used in zip(params, np.any(every[:, :-DIGEST], 0).tolist(), strict=True):
        if is_used:
            kinds.setdefault(p.dtype, []).append(p)
    for dtype, used in kinds.items():
        parts = [np.zeros(p.size, dtype) if p.grad is None else p.grad.held.reshape(-1) for p in used]
        mean = here.run("average_gradients", exchange.reduce(here, np.concatenate(parts), np.add, mean=True))
        for p, piece in zip(used, np.split(mean, np.cumsum([p.size for p in used])[:-1]), strict=True):
            p.grad = piece.reshape(p.shape)


def statistics(module: Module) -> Iterator[Value]:
    """The running averages of all normalisations in `module`, each rank's of its own examples."""
    for part in module.modules():
        for name in ("running_mean", "running_var"):
            buffer = getattr(part, name, None)
            if isinstance(buffer, Tensor):
                yield buffer


def average_statistics(module: Module) -> None:
    """Put the mean over all ranks in place of the running averages of normalisations in `module`.

    `DataParallel` does so in each ``backward``.

    Example:
        >>> import adjoint as ad
        >>> ad.distributed.average_statistics(ad.nn.BatchNorm1d(3))
    """
    here = world()
    buffers = list(statistics(module))
    if here.size > 1 and buffers:
        steps = averaged(here, [buffer.held for buffer in buffers])
        write_means(buffers, here.together(f"average_statistics of {len(buffers)} arrays", steps))


def averaged(here: World, arrays: Sequence[np.ndarray]) -> Exchange:
    """The means over all ranks; None for an array that all of them have alike."""
    means: list[Value] = []
    for array in arrays:
        rows = yield from exchange.gather(here, array)
        same = np.array_equal(rows, np.broadcast_to(rows[0], rows.shape))
        means.append(None if same else np.divide(exchange.joined(rows, np.add), here.size).astype(array.dtype))
    return means


def write_means(buffers: Sequence[Value], means: Sequence[Value]) -> None:
    """Write the means over all ranks into buffers; None is for one that all ranks have alike."""
    for buffer, mean in zip(buffers, means, strict=True):
        if mean is not None:
            buffer.held[...] = mean
            mutations.note(buffer.held)


def weighted(loss: Value, examples: int) -> Array:
    """A rank's mean loss over so many examples, scaled: the mean over ranks is then that over all examples.

    Args:
        loss: the mean over this rank's examples.
        examples: how many these are; ranks may have different numbers.

    Example:
        >>> import adjoint as ad
        >>> ad.distributed.weighted(0.5, 32)  # one rank: nothing to scale
        0.5
    """
    here = world()
    if here.size == 1:
        return loss
    total = all_reduce(np.array(examples, float))
    return loss * (examples * here.size / total).astype(getattr(loss, "dtype", float))
