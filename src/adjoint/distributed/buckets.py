"""Gradients that are sent together, while the backward pass still runs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from adjoint.core.rules.cotangents import Lazy
from adjoint.core.types import Array, Value
from adjoint.distributed import exchange
from adjoint.distributed.world import Pending, World

ABSENT, SENT, OTHER = 0, 1, 2  # what a rank has of a gradient


class InBucket(Lazy):
    """A gradient that lies in a bucket, which may be on its way: it is copied before anything is added to it."""

    __slots__ = ("shape", "value")

    def __init__(self, value: np.ndarray) -> None:
        self.value, self.shape = value, value.shape

    def dense(self) -> np.ndarray:
        return np.array(self.value)

    def last(self) -> np.ndarray:
        return self.value

    def add_to(self, total: Array) -> object:
        total += self.value
        return total


class Bucket:
    """Parameters of one dtype whose gradients are sent together; that of a large one, alone, from where it is."""

    def __init__(self, params: Sequence[Value], channel: int) -> None:
        self.params, self.channel = params, channel
        ends = np.cumsum([p.size for p in params]).tolist()
        self.slices = [slice(end - p.size, end) for p, end in zip(params, ends, strict=True)]
        self.made: np.ndarray | None = None
        self.parts: dict[int, np.ndarray] = {}  # by number: the gradient, in `flat`
        self.pending: Pending | None = None

    @property
    def flat(self) -> np.ndarray:
        """The numbers to send."""
        if len(self.params) == 1 and 0 in self.parts:
            return self.parts[0].reshape(-1)
        if self.made is None:
            self.made = np.zeros(self.slices[-1].stop, self.params[0].dtype)
        return self.made

    def put(self, here: World, i: int, g: np.ndarray) -> Value:
        """Take the gradient of parameter number `i`, the first that comes; send all when all are there."""
        if i in self.parts or self.pending is not None or g.dtype != self.params[0].dtype:
            return g
        if len(self.params) > 1 or not g.flags.c_contiguous:
            place = self.flat[self.slices[i]].reshape(g.shape)
            place[...] = g
            g = place
        self.parts[i] = g  # nobody writes into a cotangent that was handed on
        if len(self.parts) == len(self.params):
            self.start(here)
        return InBucket(g)

    def start(self, here: World) -> None:
        steps = exchange.reduce(here, self.flat, np.add, self.channel, mean=True)
        self.pending = Pending(here, "the mean of gradients in DataParallel", steps)

    def state(self, i: int, g: Array) -> int:
        """Whether the gradient `g` of parameter number `i` is absent, sent already, or another one."""
        if g is None:
            return ABSENT
        return SENT if self.pending is not None and g is self.parts.get(i) else OTHER

    def empty(self) -> None:
        self.parts, self.pending = {}, None
