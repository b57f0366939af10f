"""A message from one rank to another, as an operation: its cotangent goes back by the same way."""

from __future__ import annotations

import numpy as np

from adjoint.core.box import Box, raw
from adjoint.core.errors import ArgumentError
from adjoint.core.op import Op, rule_of
from adjoint.core.types import Array, Value
from adjoint.distributed import exchange
from adjoint.distributed.world import HEADER, DistributedError, Exchange, World, line, told, world
from adjoint.tape.tensor import Tensor

#: The channels of messages, and of their cotangents, beside 0 for what all ranks do.
_FORTH, _BACK = 1, 2
_LIVE = ", which has a gradient"


def _send(call: str, x: Array, to: int, channel: int) -> None:
    here, array = world(), np.asarray(x, order="C")

    def steps() -> Exchange:
        yield [here.send(line(exchange.describe("a message", array) + call), to, channel)]
        yield [here.send(array, to, channel)]

    here.run(f"send(to={to})", steps())


def _receive(like: Value, source: int, channel: int) -> tuple[np.ndarray, str]:
    """The array of rank `source`, which is like `like`, and what else its sender said."""
    here, out = world(), np.empty(np.shape(like), raw(like).dtype if hasattr(like, "dtype") else np.asarray(like).dtype)
    said = np.zeros(HEADER, np.uint8)

    def steps(here: World) -> Exchange:
        yield [here.receive(said, source, channel)]
        expected = exchange.describe("a message", out)
        if not told(said).startswith(expected):
            raise DistributedError(f"rank {here.rank} expects {expected} of rank {source}, which sends {told(said)}")
        yield [here.receive(out, source, channel)]

    here.run(f"recv(source={source})", steps(here))
    return out, told(said)


def _going(x: Array, to: int, live: bool) -> Array:
    _send(_LIVE if live else "", x, to, _FORTH)
    return np.float64(0.0)


_sent = Op(
    "send",
    _going,
    ("x",),
    (rule_of(lambda g, x, to: _receive(x, to, _BACK)[0]),),
    settings={"to": 0, "live": False},
    flags=frozenset({"raises", "collective"}),
)


def _taken_back(g: Array, source: int) -> Array:
    _send("", raw(g), source, _BACK)
    return np.zeros_like(g)


_received = Op(
    "recv", lambda like, value, source: value, ("like",), (rule_of(_taken_back),), settings={"value": None, "source": 0}
)


def send(x: Array, to: int) -> Array:
    """Send an array to rank `to`, which takes it by `recv`.

    Returns:
        0.0. If `x` has a gradient, add this to the loss: the backward pass then waits here for the cotangent that the
        receiver sends when its own backward pass comes to `recv`.

    Raises:
        ArgumentError: if there is no such rank, or it is this one.
        DistributedError: if it does not answer.

    Example:
        A pipeline of two ranks::

            if ad.distributed.rank() == 0:
                loss = ad.distributed.send(first(x), to=1)
            else:
                loss = np.sum(second(ad.distributed.recv(np.zeros(8), source=0)) ** 2)
            loss.backward()
    """
    return _sent(x, to=_other("send(to)", to), live=isinstance(x, Box) and bool(getattr(x, "requires_grad", True)))


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
    """
    value, said = _receive(like, _other("recv(source)", source), _FORTH)
    if said.endswith(_LIVE) and not isinstance(like, Box):
        like = Tensor(np.zeros_like(value), requires_grad=True)
    return _received(like, value=value, source=source) if isinstance(like, Box) else value


def _other(call: str, rank: int) -> int:
    here = world()
    if not 0 <= rank < here.size or rank == here.rank:
        others = ", ".join(map(str, sorted(here.others()))) or "none"
        raise ArgumentError(f"{call}: another rank, one of {others}; got {rank}")
    return int(rank)
