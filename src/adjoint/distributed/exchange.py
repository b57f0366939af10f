"""How arrays are exchanged. Sums are taken in one order, by pairs: each rank has the same bits, at every run."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from adjoint.distributed.world import Exchange, World

_SMALL = 1 << 15  # bytes up to which each rank sends all to each


def describe(call: str, array: np.ndarray) -> str:
    """The line by which ranks compare what they do."""
    return f"{call} of {array.dtype} {array.shape}"


def gather(world: World, array: np.ndarray, channel: int = 0) -> Exchange:
    """The arrays of all ranks, which are of one shape and dtype, in the order of ranks."""
    found = np.empty((world.size, array.size), array.dtype)
    found[world.rank] = array.reshape(-1)
    yield [world.receive(found[rank], rank, channel) for rank in world.others()] + [
        world.send(found[world.rank], rank, channel) for rank in world.others()
    ]
    return found.reshape(world.size, *array.shape)


def reduce(world: World, array: np.ndarray, ufunc: np.ufunc, channel: int = 0, *, mean: bool = False) -> Exchange:
    """The arrays of all ranks, joined by `ufunc` (see `joined`); divided by the number of ranks for a `mean`.

    A large one is cut into as many pieces as there are ranks: each rank joins one of them, and sends it to all.
    """
    if array.nbytes <= _SMALL or world.size == 1:
        found = yield from gather(world, array, channel)
        out = joined(found, ufunc)
        return np.divide(out, world.size, out=out) if mean else out
    flat = array.reshape(-1)
    bounds = [flat.size * i // world.size for i in range(world.size + 1)]
    out = np.empty_like(flat)
    piece = out[bounds[world.rank] : bounds[world.rank + 1]]
    yield from reduce_pieces(world, flat, bounds, ufunc, channel, piece)
    if mean:
        np.divide(piece, world.size, out=piece)
    yield from gather_pieces(world, out, bounds, channel)
    return out.reshape(array.shape)


def reduce_pieces(
    world: World, flat: np.ndarray, bounds: list[int], ufunc: np.ufunc, channel: int = 0, out: np.ndarray | None = None
) -> Exchange:
    """This rank's piece of the join of all ranks' arrays; `bounds` say where the pieces begin and end."""
    first, last = bounds[world.rank], bounds[world.rank + 1]
    parts = [flat[first:last] if rank == world.rank else np.empty(last - first, flat.dtype) for rank in world.ranks()]
    yield [world.receive(parts[rank], rank, channel) for rank in world.others()] + [
        world.send(flat[bounds[rank] : bounds[rank + 1]], rank, channel) for rank in world.others()
    ]
    return joined(parts, ufunc, out)


def gather_pieces(world: World, out: np.ndarray, bounds: list[int], channel: int = 0) -> Exchange:
    """`out`, where this rank's piece is, with all other ranks' pieces in it."""
    piece = out[bounds[world.rank] : bounds[world.rank + 1]]
    yield [world.receive(out[bounds[rank] : bounds[rank + 1]], rank, channel) for rank in world.others()] + [
        world.send(piece, rank, channel) for rank in world.others()
    ]
    return out


def broadcast(world: World, array: np.ndarray, root: int, channel: int = 0) -> Exchange:
    """The array of rank `root`, on all ranks."""
    if world.rank == root:
        yield [world.send(array, rank, channel) for rank in world.others()]
        return array
    out = np.empty_like(array)
    yield [world.receive(out, root, channel)]
    return out


def joined(parts: Sequence[np.ndarray], ufunc: np.ufunc, out: np.ndarray | None = None) -> np.ndarray:
    """Neighbours joined by pairs, then the pairs, and so on: ``(0 + 1) + (2 + 3)``; in new memory, or in `out`.

    So each half of 2, 4, 8… parts is joined in itself, whoever does it.
    """
    out = np.empty_like(parts[0]) if out is None else out
    if len(parts) == 1:
        out[...] = parts[0]
    while len(parts) > 1:
        pairs = [ufunc(parts[k], parts[k + 1], out=np.empty_like(out) if k else out)
                 for k in range(0, len(parts) - 1, 2)]  # fmt: skip
        parts = [*pairs, *parts[2 * len(pairs) :]]
    return out
