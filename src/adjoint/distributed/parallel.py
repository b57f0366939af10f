"""`DataParallel`: each rank computes with its own examples, and all have the mean of their gradients.

In: a module, the same on all ranks, and each rank's examples. Out: in each `backward`, the mean over all ranks of each
parameter's gradient. What may never happen: replicas that differ without an error.

A parameter's uses in one `forward` lead to a *gate*, a node in front of the leaf. The backward pass comes to the gate
after the last use. The gradient is then put into a bucket, and a full bucket is sent while
the pass goes on. This is only a head start: at the end of the pass all ranks tell for each parameter whether
they sent its whole gradient. If one did not (a use outside of `forward`, a checkpoint, a parameter that one
rank does not use), the whole gradients are averaged then.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from typing import cast

import numpy as np

from adjoint.core.cotangents import Lazy
from adjoint.core.errors import GradientError
from adjoint.core.op import Op
from adjoint.core.pullbacks import Pullback
from adjoint.core.trees import flatten
from adjoint.core.types import Array, Value
from adjoint.distributed import exchange
from adjoint.distributed.collectives import all_reduce
from adjoint.distributed.replicas import DIGEST, agree, hold_same, sample, signature, spread
from adjoint.distributed.world import Exchange, Pending, World, world
from adjoint.nn import Module
from adjoint.tape.autograd import is_apart
from adjoint.tape.backward import walk
from adjoint.tape.modes import is_grad_enabled
from adjoint.tape.node import TapeNode, next_order
from adjoint.tape.observers.observing import hooks_of
from adjoint.tape.tensor import Tensor
from adjoint.tape.writes import mutations

_numbers = count(1)
_ABSENT, _SENT, _OTHER = 0, 1, 2
_GATE = Op("data_parallel", lambda x: x, ("x",))


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
        """What is sent."""
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
        """What is known here of the gradient `g` of parameter number `i`."""
        if g is None:
            return _ABSENT
        return _SENT if self.pending is not None and g is self.parts.get(i) else _OTHER

    def empty(self) -> None:
        self.parts, self.pending = {}, None


class DataParallel(Module):
    """A module whose parameters have, after each `backward`, the mean over all ranks of their gradients.

    When it is made, the parameters of rank 0 are copied to all others. Sums are taken in one order of ranks: results
    have the same bits on every rank and at every run. With one rank it is the module itself.

    Args:
        module: the module, of the same parameters on all ranks. It stays in the attribute `module`.
        bucket: bytes of gradients that are sent together.

    Raises:
        DistributedError: if the modules of two ranks differ in the names, shapes or dtypes of their parameters.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> from adjoint import nn
        >>> model = ad.distributed.DataParallel(nn.Linear(2, 1, rng=0))
        >>> np.sum(model(np.ones((3, 2)))).backward()  # this rank's examples
        >>> model.module.weight.grad.shape
        (1, 2)
    """

    def __init__(self, module: Module, bucket: int = 1 << 20) -> None:
        self.module, self._size = module, bucket
        self._buckets: list[Bucket] = []
        self._known: tuple[int, ...] = ()
        if world().size > 1:
            agree(module)
            spread(module)
            self._number = next(_numbers)  # the same on all ranks, which make it together
            self._name = f"DataParallel number {self._number}"
            self._count = len(list(module.parameters()))
            self._prepare()

    def forward(self, *args: Value, **kwargs: Value) -> Value:
        """What the module computes of this rank's examples."""
        if world().size == 1 or not is_grad_enabled():
            return self.module(*args, **kwargs)
        self._prepare()
        with self._gated() as gates:
            out = self.module(*args, **kwargs)
        _placed(gates, flatten(out)[0])
        return out

    def _prepare(self) -> None:
        """Put the parameters that are trained into buckets, those first whose gradients come first."""
        params = list(self.module.parameters())
        if len(params) != self._count or any(p.level for p in params):
            raise GradientError(
                f"DataParallel averages the gradients of the {self._count} parameters that its module had when it was "
                f"made; here others take their place. In functional_call and transforms, use the module itself, "
                f"model.module, and average what they give: ad.distributed.all_reduce(gradient, 'mean')"
            )
        trained = [p for p in params if p.node is not None]
        known = tuple(id(p.node) for p in trained)
        if any(bucket.pending is not None for bucket in self._buckets):
            world().together(f"{self._name} after a backward() that ended in an error")
            for bucket in self._buckets:
                if bucket.pending is not None:
                    bucket.pending.result()
        for bucket in self._buckets:
            bucket.empty()
        if known == self._known:
            return
        world().together(f"{self._name}, which trains {signature(trained)}")
        parts: list[list[Value]] = []
        room: dict[Value, int] = {}  # by dtype: what still goes into its last bucket
        last: dict[Value, list[Value]] = {}
        for p in reversed(trained):
            size = p.data.nbytes
            if size >= self._size:
                parts.append([p])
            elif size <= room.get(p.dtype, 0):
                last[p.dtype].append(p)
                room[p.dtype] -= size
            else:
                parts.append([p])
                last[p.dtype], room[p.dtype] = parts[-1], self._size - size
        channels = count((1 + self._number % ((1 << 14) - 1)) << 12)  # above those of messages
        self._known, self._buckets = known, [Bucket(part, next(channels)) for part in parts]
        for p in trained:
            hooks_of(p, "DataParallel").whole = self._whole

    @contextmanager
    def _gated(self) -> Iterator[list[TapeNode]]:
        """A block in which uses of parameters lead to their gates."""
        uses = [(p, p.node, self._gate(b, i, p.node)) for b in self._buckets for i, p in enumerate(b.params)]
        try:
            for p, _, gate in uses:
                p.node = gate
            yield [gate for _, _, gate in uses]
        finally:
            for p, leaf, _ in uses:
                p.node = leaf

    def _gate(self, bucket: Bucket, i: int, leaf: TapeNode) -> TapeNode:
        def run(g: Array, saved: object) -> Sequence[Value]:
            if type(g) is np.ndarray and not is_apart():
                g = bucket.put(world(), i, g)
                for other in self._buckets:
                    if other.pending is not None:
                        other.pending.go_on()
            return (g,)

        gate = TapeNode()
        gate.order, gate.parents, gate.saved = next_order(), (leaf,), ()
        gate.pullback = Pullback(run, _GATE, wanted=(0,))
        return gate

    def _whole(self, found: dict[TapeNode, object]) -> None:
        """Put the mean over all ranks in place of each gradient in `found`, at the end of a backward pass."""
        here = world()
        states = [b.state(i, found.get(p.node)) for b in self._buckets for i, p in enumerate(b.params)]
        begun = [b.pending is not None for b in self._buckets]
        told = np.array([*states, *begun, *sample(self.module.parameters())], np.uint8)
        what = f"backward() of {self._name}, which trains {len(states)} parameters"
        kept = list(statistics(self.module))

        def steps() -> Exchange:
            every = yield from exchange.gather(here, told)
            yield from _averaged(here, kept)
            return every

        every = here.together(what, steps())
        hold_same(every[:, -DIGEST:], what)
        whole, seen = np.all(every == _SENT, 0).tolist(), np.any(every, 0).tolist()
        k = 0
        for bucket, is_begun in zip(self._buckets, seen[len(states) : -DIGEST], strict=True):
            mean: Value = None
            if is_begun:  # a rank that has not sent sends what it has, so that the others' waits end
                if bucket.pending is None:
                    bucket.start(here)
                mean = cast(Pending, bucket.pending).result()
            for i, p in enumerate(bucket.params):
                if whole[k]:
                    found[p.node] = mean[bucket.slices[i]].reshape(p.shape)
                elif seen[k]:
                    g = found.get(p.node)
                    found[p.node] = all_reduce(np.zeros(p.shape, p.dtype) if g is None else g, "mean")
                k += 1
            bucket.empty()


def _placed(gates: Sequence[TapeNode], results: Sequence[object]) -> None:
    """Give each gate its place in the backward pass: just behind its last use among what led to `results`."""
    latest: dict[TapeNode, float] = {}
    waiting = set(gates)
    for x in results:
        if isinstance(x, Tensor) and x.node is not None:
            for node in walk(x.node):
                for parent in node.parents:
                    if parent in waiting:
                        latest[parent] = max(node.order, latest.get(parent, node.order))
    for i, (gate, order) in enumerate(latest.items()):
        gate.order = order + (i + 1) / (len(latest) + 2)  # type: ignore[assignment]  # between two whole numbers


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
    told = np.array([*(p.grad is not None for p in params), *sample(params)], np.uint8)
    what = f"average_gradients of {signature(params)}"
    every = here.together(what, exchange.gather(here, told))
    hold_same(every[:, -DIGEST:], what)
    kinds: dict[Value, list[Value]] = {}
    for p, is_used in zip(params, np.any(every[:, :-DIGEST], 0).tolist(), strict=True):
        if is_used:
            kinds.setdefault(p.dtype, []).append(p)
    for dtype, used in kinds.items():
        parts = [np.zeros(p.size, dtype) if p.grad is None else p.grad.data.reshape(-1) for p in used]
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
        here.together(f"average_statistics of {len(buffers)} arrays", _averaged(here, buffers))


def _averaged(here: World, buffers: Sequence[Value]) -> Exchange:
    for buffer in buffers:
        rows = yield from exchange.gather(here, buffer.data)
        if not np.array_equal(rows, np.broadcast_to(rows[0], rows.shape)):
            np.divide(exchange.joined(rows, np.add), here.size, out=buffer.data)
            mutations.note(buffer.data)


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
    total = int(all_reduce(np.array(examples)))
    factor = examples * here.size / total
    return loss if factor == 1 else loss * factor


def shard(*arrays: Array) -> Array:
    """This rank's rows of the examples of all ranks: the ranks' parts follow one another, and differ by 1 at most.

    Args:
        arrays: of the same length along the first axis.

    Returns:
        The part of the array; a tuple of parts, of several.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> ad.distributed.shard(np.arange(4))
        array([0, 1, 2, 3])
    """
    here = world()
    parts = tuple(a[here.rank * len(a) // here.size : (here.rank + 1) * len(a) // here.size] for a in arrays)
    return parts[0] if len(parts) == 1 else parts
