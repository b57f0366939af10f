"""A message from one rank to another, as an operation: its cotangent goes back by the same way."""

from __future__ import annotations

import numpy as np

from adjoint.core.box import Box, raw
from adjoint.core.errors import ArgumentError, NotSupportedError
from adjoint.core.op import Op, rule_of
from adjoint.core.types import Array, Value
from adjoint.distributed import exchange
from adjoint.distributed.world import HEADER, DistributedError, Exchange, line, told, world
from adjoint.tape.tensor import Tensor

#: The channel of messages; cotangents and tangents of channel `c` have `2 c` and `2 c + 1`. Below are those of `world`.
_FORTH = 4
_HIGHEST = 1 << 12  # from here on are those of `parallel`
_LIVE, _INSIDE = ", which has a gradient", ", inside of a transform"


def _send(x: Array, to: int, channel: int, live: str) -> Array:
    here, array = world(), np.asarray(x, order="C")

    def steps() -> Exchange:
        yield [here.send(line(exchange.describe("a message", array) + live), to, channel)]
        yield [here.send(array, to, channel)]

    here.run(f"send(to={to})", steps())
    return np.zeros((), array.dtype)[()]


def _receive(like: Value, source: int, channel: int) -> tuple[np.ndarray, str]:
    """The array of rank `source`, which is like `like`, and what else its sender said."""
    here, out = world(), np.empty(np.shape(like), raw(like).dtype if hasattr(like, "dtype") else np.asarray(like).dtype)
    said = np.zeros(HEADER, np.uint8)

    def steps() -> Exchange:
        yield [here.receive(said, source, channel)]
        expected = exchange.describe("a message", out)
        if not told(said).startswith(expected):
            raise DistributedError(f"rank {here.rank} expects {expected} of rank {source}, which sends {told(said)}")
        yield [here.receive(out, source, channel)]
        return out, told(said)

    found: tuple[np.ndarray, str] = here.run(f"recv(source={source})", steps())
    return found


def _back(channel: int) -> int:
    """The channel of cotangents of messages of `channel`."""
    if "0" in f"{channel:b}"[3:]:
        raise NotSupportedError(
            "gradients of gradients through send and recv: what a rank sends back is no part of its own loss. Take "
            "ad.hvp, or jvp of grad; or the collectives shift, all_gather and broadcast"
        )
    return _deeper(channel, 0)


def _deeper(channel: int, kind: int) -> int:
    if 2 * channel >= _HIGHEST:
        raise NotSupportedError("derivatives of this order through send and recv")
    return 2 * channel + kind


_FLAGS = frozenset({"raises", "collective"})
_sent: Op = Op(
    "send",
    _send,
    ("x",),
    (rule_of(lambda g, x, to, channel, live: _received(_beside(x, g), source=to, channel=_back(channel))),),
    (rule_of(lambda t, to, channel, live: _sent(t, to=to, channel=_deeper(channel, 1), live=live)),),
    batch=lambda x, to, channel, live: (
        _sent(x, to=to, channel=channel, live=live) + np.zeros_like(x, shape=np.shape(x)[:1])
    ),
    settings={"to": 0, "channel": _FORTH, "live": ""},
    flags=_FLAGS,
)


def _beside(x: Array, g: Array) -> Array:
    """Zeros like `x` that depend on `x` and `g`, so that what is computed of them does."""
    zeros = np.zeros_like(x)
    return np.where(np.zeros(np.shape(x), bool), x, zeros + g)


_received: Op = Op(
    "recv",
    lambda like, value, source, channel: _receive(like, source, channel)[0] if value is None else value,
    ("like",),
    (rule_of(lambda g, value, source, channel: (
        np.zeros_like(g) + _sent(g, to=source, channel=_back(channel), live="")
    )),),
    (rule_of(lambda t, value, source, channel: _received(t, source=source, channel=_deeper(channel, 1))),),
    batch=lambda like, value, source, channel: _received(like, source=source, channel=channel),
    settings={"value": None, "source": 0, "channel": _FORTH},
    flags=_FLAGS,
)  # fmt: skip


def send(x: Array, to: int) -> Array:
    """Send an array to rank `to`, which takes it by `recv`.

    Returns:
        0.0. If `x` has a gradient, add this to the loss: the backward pass then waits here for the cotangent that the
        receiver sends when its own backward pass comes to `recv`.

    Raises:
        ArgumentError: if there is no such rank, or it is this one.
        DistributedError: if it does not answer.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> from adjoint import distributed
        >>> def loss(first, second, x):  # a pipeline of two ranks
        ...     if distributed.rank() == 0:
        ...         return distributed.send(first(x), to=1)
        ...     return np.sum(second(distributed.recv(np.zeros(8), source=0)) ** 2)
        >>> loss(np.sin, np.cos, np.ones(8))  # with one rank
        Traceback (most recent call last):
            ...
        adjoint.core.errors.ArgumentError: send(to): another rank, one of none; got 1
    """
    live = _INSIDE if isinstance(x, Box) and (x.level > 0 or not isinstance(x, Tensor)) else ""
    if isinstance(x, Tensor) and not live and x.requires_grad:
        live = _LIVE
    return _sent(x, to=_other("send(to)", to), live=live)


def recv(like: Value, source: int) -> Array:
    """The array that rank `source` sends.

    Args:
        like: an array of the message's shape and dtype. Inside `ad.grad` and the like, one that depends on what is
            differentiated.
        source: the sender.

    Returns:
        An array; a tensor that requires a gradient if the sender's array does.

    Raises:
        ArgumentError: if there is no such rank, or it is this one.
        DistributedError: if it sends something else, or does not answer.

    Example:
        >>> import numpy as np
        >>> from adjoint import distributed
        >>> distributed.recv(np.zeros(8), source=1)  # with one rank
        Traceback (most recent call last):
            ...
        adjoint.core.errors.ArgumentError: recv(source): another rank, one of none; got 1
    """
    source = _other("recv(source)", source)
    if isinstance(like, Box):
        return _received(like, source=source)
    value, said = _receive(like, source, _FORTH)
    if said.endswith(_INSIDE):
        raise DistributedError(
            f"rank {source} sends an array that is differentiated, batched or recorded, so recv(like, source) needs a "
            f"like that is as well: np.zeros_like(x), of an argument x of the function"
        )
    if not said.endswith(_LIVE):
        return value
    return _received(Tensor(np.zeros_like(value), requires_grad=True), value=value, source=source)


def _other(call: str, rank: int) -> int:
    here = world()
    if not 0 <= rank < here.size or rank == here.rank:
        others = ", ".join(map(str, sorted(here.others()))) or "none"
        raise ArgumentError(f"{call}: another rank, one of {others}; got {rank}")
    return int(rank)
