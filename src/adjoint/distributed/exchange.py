"""How arrays are exchanged. Sums are taken in the order of ranks, so each rank has the same bits, at every run."""

from __future__ import annotations

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


def reduce(world: World, array: np.ndarray, ufunc: np.ufunc, channel: int = 0) -> Exchange:
    """The arrays of all ranks, joined by `ufunc` in the order of ranks.

    A large one is cut into as many pieces as there are ranks: each rank joins one of them, and sends it to all.
    """
    if array.nbytes <= _SMALL or world.size == 1:
        found = yield from gather(world, array, channel)
        return joined(found, ufunc)
    flat = array.reshape(-1)
    bounds = [flat.size * i // world.size for i in range(world.size + 1)]
    piece = yield from reduce_pieces(world, flat, bounds, ufunc, channel)
    out = np.empty_like(flat)
    yield from gather_pieces(world, piece, out, bounds, channel)
    return out.reshape(array.shape)


def reduce_pieces(world: World, flat: np.ndarray, bounds: list[int], ufunc: np.ufunc, channel: int = 0) -> Exchange:
    """This rank's piece of the join of all ranks' arrays; `bounds` say where the pieces begin and end."""
    first, last = bounds[world.rank], bounds[world.rank + 1]
    found = np.empty((world.size, last - first), flat.dtype)
    found[world.rank] = flat[first:last]
    yield [world.receive(found[rank], rank, channel) for rank in world.others()] + [
        world.send(flat[bounds[rank] : bounds[rank + 1]], rank, channel) for rank in world.others()
    ]
    return joined(found, ufunc)


def gather_pieces(world: World, piece: np.ndarray, out: np.ndarray, bounds: list[int], channel: int = 0) -> Exchange:
    """Put all ranks' pieces into `out`."""
    out[bounds[world.rank] : bounds[world.rank + 1]] = piece
    yield [world.receive(out[bounds[rank] : bounds[rank + 1]], rank, channel) for rank in world.others()] + [
        world.send(piece, rank, channel) for rank in world.others()
    ]


def broadcast(world: World, array: np.ndarray, root: int, channel: int = 0) -> Exchange:
    """The array of rank `root`, on all ranks."""
    if world.rank == root:
        yield [world.send(array, rank, channel) for rank in world.others()]
        return array
    out = np.empty_like(array)
    yield [world.receive(out, root, channel)]
    return out


def joined(found: np.ndarray, ufunc: np.ufunc) -> np.ndarray:
    """``found[0]``, then ``found[1]`` and so on, joined one after another."""
    out: np.ndarray = np.array(found[0])
    for other in found[1:]:
        ufunc(out, other, out=out)
    return out
