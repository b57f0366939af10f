"""Whether all ranks have the same model: compared when it is made, and a sample of it at each backward pass."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Sequence

import numpy as np

from adjoint.core.types import Value
from adjoint.distributed.collectives import broadcast
from adjoint.distributed.world import DistributedError, world
from adjoint.nn import Module

DIGEST = 4  # bytes of a checksum of parameters
_SAMPLED = 16  # numbers of each parameter that are in it, or a few more


def signature(params: Sequence[Value]) -> str:
    """The parameters in a few words that differ where they differ."""
    shapes = zlib.crc32(repr([(p.shape, str(p.dtype)) for p in params]).encode())
    return f"{len(params)} parameters of {sum(p.size for p in params)} numbers (shapes {shapes:08x})"


def agree(module: Module) -> None:
    """Hold that the parameters of all ranks are of the same names, shapes and dtypes.

    Raises:
        DistributedError: if they are not; it says what each rank has.

    Example:
        >>> from adjoint import distributed, nn
        >>> distributed.agree(nn.Linear(2, 3))
    """
    names = zlib.crc32(repr([name for name, _ in module.named_parameters()]).encode())
    world().together(f"a model with {signature(list(module.parameters()))}, names {names:08x}")


def spread(module: Module, root: int = 0) -> None:
    """Copy the parameters and buffers of rank `root` into those of all ranks.

    Example:
        >>> from adjoint import distributed, nn
        >>> distributed.spread(nn.Linear(2, 3))
    """
    module.load_state_dict({name: broadcast(value, root) for name, value in module.state_dict().items()})


def sample(arrays: Iterable[np.ndarray]) -> bytes:
    """A checksum of some numbers of each parameter: after an update that one rank left out, nearly all differ."""
    found = 0
    for array in arrays:
        flat = array.ravel(order="K")  # no copy, in whatever order it lies
        found = zlib.crc32(flat[:: flat.size // _SAMPLED + 1].tobytes(), found)
    return found.to_bytes(DIGEST, "little")


def hold_same(samples: np.ndarray, what: str) -> None:
    """Raise, on all ranks alike, if the parameters of one are not those of rank 0."""
    other = np.flatnonzero(np.any(samples != samples[0], axis=1)).tolist()
    if other:
        raise DistributedError(
            f"{what}: the parameters of rank {' and '.join(map(str, other))} are not those of rank 0 any more. All "
            f"ranks must make the same updates; one was left out, or made on one rank only, or is compiled on some "
            f"ranks only, which rounds otherwise. To make them equal: ad.distributed.spread(module)"
        )
