"""Collectives as operations: what ranks do together, with derivatives.

Every rank holds its own part of one large program. Its derivative is that of the *sum of all ranks' results*, and the
gradient rule of a collective is its transpose: that of a broadcast is a sum at its root, that of a gather a
reduction in pieces. So all ranks must go backward as well, as each rule is a collective again.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from adjoint.core.errors import ArgumentError, DTypeError, ShapeError
from adjoint.core.op import Op, rule_of
from adjoint.core.types import Array, Value
from adjoint.distributed import exchange
from adjoint.distributed.world import Exchange, World, world

_UFUNCS = {"sum": np.add, "max": np.maximum, "min": np.minimum}


def _together(call: str, x: Array, steps: Callable[[World, np.ndarray], Exchange]) -> Array:
    """Say what is called, then do it."""
    here, array = world(), np.asarray(x, order="C")
    if array.dtype.kind not in "biufc":
        raise DTypeError(f"{call} of numbers; got an array of {array.dtype}")
    return here.together(exchange.describe(call, array), steps(here, array))


def _all_reduce(x: Array, /, op: str = "sum") -> Array:
    out = _together(f"all_reduce(op={op!r})", x, lambda here, a: exchange.reduce(here, a, _UFUNCS[op]))
    return out[()] if not isinstance(x, np.ndarray) else out


def _all_gather(x: Array, /) -> Array:
    return _together("all_gather", x, exchange.gather)


def _reduce_scatter(x: Array, /) -> Array:
    def steps(here: World, a: np.ndarray) -> Exchange:
        size = a[0].size
        bounds = [i * size for i in range(here.size + 1)]
        piece = yield from exchange.reduce_pieces(here, a.reshape(-1), bounds, np.add)
        return piece.reshape(a.shape[1:])

    return _together("reduce_scatter", x, steps)


def _broadcast(x: Array, /, root: int = 0) -> Array:
    out = _together(f"broadcast(root={root})", x, lambda here, a: exchange.broadcast(here, a, root))
    return np.array(out) if isinstance(x, np.ndarray) else out[()]


def _reduce_to(x: Array, /, root: int = 0) -> Array:
    """The sum of all ranks' arrays on `root`; zeros elsewhere."""
    total = _together(f"the sum at rank {root}", x, lambda here, a: exchange.reduce(here, a, np.add))
    return total if world().rank == root else np.zeros_like(total)


def _shift(x: Array, /, by: int = 1) -> Array:
    def steps(here: World, a: np.ndarray) -> Exchange:
        out = np.empty_like(a)
        to, source = (here.rank + by) % here.size, (here.rank - by) % here.size
        if to == here.rank:
            out[...] = a
        else:
            yield [here.receive(out, source, 0), here.send(a, to, 0)]
        return out

    out = _together(f"shift(by={by})", x, steps)
    return out if isinstance(x, np.ndarray) else out[()]


def _op(forward: Value, vjp: Value, batch: Value, settings: dict[str, Value], *, linear: bool, jvp: Value = None) -> Op:
    """An operation that is not in the registry: the registry's tests run it on one rank, where it does nothing."""
    return Op(
        name=forward.__name__.strip("_"),
        forward=forward,
        inputs=("x",),
        rules=(rule_of(vjp),),
        jvps=(rule_of(jvp),) if jvp is not None else (),
        batch=batch,
        settings=settings,
        kind="linear" if linear else "general",
        flags=frozenset({"raises", "collective"}),
    )


_sum: Op = _op(_all_reduce, lambda g, op: _sum(g, op=op), lambda x, op: _sum(x, op=op), {"op": "sum"}, linear=True)
_gather: Op = _op(_all_gather, lambda g: _scatter(g), lambda x: np.swapaxes(_gather(x), 0, 1), {}, linear=True)
_scatter: Op = _op(_reduce_scatter, lambda g: _gather(g), lambda x: _scatter(np.swapaxes(x, 0, 1)), {}, linear=True)
_spread: Op = _op(
    _broadcast, lambda g, root: _collect(g, root=root), lambda x, root: _spread(x, root=root), {"root": 0}, linear=True
)
_collect: Op = _op(
    _reduce_to, lambda g, root: _spread(g, root=root), lambda x, root: _collect(x, root=root), {"root": 0}, linear=True
)
_moved: Op = _op(_shift, lambda g, by: _moved(g, by=-by), lambda x, by: _moved(x, by=by), {"by": 1}, linear=True)


def _share(x: Array, out: Array) -> Array:
    """The part of an extreme that each rank's element has: all of it, or as much as its equals."""
    there = np.equal(x, out).astype(out.dtype)
    return there / _sum(there)


_extreme: Op = _op(
    _all_reduce,
    lambda g, x, out: _share(x, out) * _sum(g),
    lambda x, op: _extreme(x, op=op),
    {"op": "max"},
    linear=False,
    jvp=lambda t, x, out: _sum(_share(x, out) * t),
)


def all_reduce(x: Array, op: str = "sum") -> Array:
    """The arrays of all ranks, joined element by element: the same bits on every rank, at every run.

    Args:
        x: an array of any shape, the same on all ranks.
        op: "sum", "mean", "max" or "min". Sums are taken by pairs of ranks: (0 + 1) + (2 + 3).

    Returns:
        An array of the shape of `x`, on every rank.

    Raises:
        DistributedError: if ranks call with other shapes, dtypes or settings, or one does not answer.
        ArgumentError: for another `op`.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> ad.distributed.all_reduce(np.array([1.0, 2.0]))  # of one rank
        array([1., 2.])
    """
    if op == "mean":
        return all_reduce(x, "sum") / float(world().size)
    if op not in _UFUNCS:
        raise ArgumentError(f"all_reduce(x, op): op is 'sum', 'mean', 'max' or 'min'; got {op!r}")
    return _sum(x, op="sum") if op == "sum" else _extreme(x, op=op)


def all_gather(x: Array) -> Array:
    """The arrays of all ranks, stacked: of shape (ranks, *x.shape), on every rank.

    Raises:
        DistributedError: see `all_reduce`.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> ad.distributed.all_gather(np.array([1.0, 2.0])).shape
        (1, 2)
    """
    return _gather(x)


def reduce_scatter(x: Array) -> Array:
    """The sum over all ranks of ``x[rank]``, for the `rank` of this process: an array of shape ``x.shape[1:]``.

    Args:
        x: an array of shape (ranks, ...).

    Raises:
        ShapeError: if the first axis is not as long as there are ranks.
        DistributedError: see `all_reduce`.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> ad.distributed.reduce_scatter(np.array([[1.0, 2.0]]))
        array([1., 2.])
    """
    shape = np.shape(x)
    if not shape or shape[0] != world().size:
        raise ShapeError(f"reduce_scatter takes an array whose first axis has {world().size} elements, one a rank; "
                         f"got {shape}")  # fmt: skip
    return _scatter(x)


def broadcast(x: Array, root: int = 0) -> Array:
    """The array of rank `root`, on every rank.

    Args:
        x: an array of the same shape and dtype on all ranks; only that of `root` is read.
        root: a rank.

    Raises:
        ArgumentError: if there is no such rank.
        DistributedError: see `all_reduce`.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> ad.distributed.broadcast(np.array([1.0, 2.0]))
        array([1., 2.])
    """
    return _spread(x, root=_rank("broadcast", root))


def shift(x: Array, by: int = 1) -> Array:
    """The array of the rank `by` places before this one, the ranks forming a ring.

    Every rank sends and receives, so this is how neighbours exchange the edges of their parts.

    Raises:
        DistributedError: see `all_reduce`.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> ad.distributed.shift(np.array([1.0, 2.0]), by=1)  # alone, one's own
        array([1., 2.])
    """
    return _moved(x, by=int(by))


def _rank(call: str, rank: int) -> int:
    size = world().size
    if not 0 <= rank < size:
        raise ArgumentError(f"{call}: ranks are numbered 0 to {size - 1}; got {rank}")
    return int(rank)
