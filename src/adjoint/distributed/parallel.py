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

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from typing import cast

import numpy as np

from adjoint.core.box import Box
from adjoint.core.errors import GradientError, GraphError, NotSupportedError
from adjoint.core.exchanges import unnoted
from adjoint.core.objects.trees import flatten
from adjoint.core.op import Op
from adjoint.core.rules.pullbacks import Pullback
from adjoint.core.types import Array, Value
from adjoint.distributed import exchange
from adjoint.distributed.averages import averaged, statistics, write_means
from adjoint.distributed.buckets import SENT, Bucket
from adjoint.distributed.collectives import all_reduce
from adjoint.distributed.replicas import DIGEST, agree, hold_same, sample, signature, spread
from adjoint.distributed.world import Exchange, Pending, World, world
from adjoint.nn import Module
from adjoint.tape.autograd import is_apart
from adjoint.tape.modes import is_grad_enabled
from adjoint.tape.node import TapeNode, next_order, walk
from adjoint.tape.observers.observing import hooks_of
from adjoint.tape.tensor import Tensor

_numbers = count(1)
_GATE = Op("data_parallel", lambda x: x, ("x",))


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
        if world().size == 1 or not is_grad_enabled() or self._is_recorded():
            return self.module(*args, **kwargs)
        self._prepare()
        with self._gated() as gates:
            out = self.module(*args, **kwargs)
        _placed(gates, flatten(out)[0])
        return out

    def _is_recorded(self) -> bool:
        """Whether a program is recorded, which exchanges gradients at the end of the pass: see `recorded`."""
        params = [p for p in self.module.parameters() if not p.level]
        if not any(isinstance(p.held, Box) for p in params):  # of a tensor of the user's, a symbol
            return False
        if any(p.node is not None and not p.node.saved for p in params):
            raise NotSupportedError("DataParallel: a parameter is trained again, which the next call takes note of")
        return True

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
            with unnoted():  # if the call begins again, this is done
                world().together(f"{self._name} after a backward() that ended in an error")
                for bucket in self._buckets:
                    if bucket.pending is not None:
                        bucket.pending.result()
        for bucket in self._buckets:
            bucket.empty()
        if known == self._known:
            return
        with unnoted():
            world().together(f"{self._name}, which trains {signature(trained)}")
        parts: list[list[Value]] = []
        room: dict[Value, int] = {}  # by dtype: what still goes into its last bucket
        last: dict[Value, list[Value]] = {}
        for p in reversed(trained):
            size = p.held.nbytes
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
            hooks_of(p, "DataParallel").whole = self

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
            if type(g) is np.ndarray and not is_apart() and not world().repeats:
                g = bucket.put(world(), i, g)
                for other in self._buckets:
                    if other.pending is not None:
                        other.pending.go_on()
            return (g,)

        gate = TapeNode()
        gate.order, gate.parents, gate.saved = next_order(), (leaf,), ()
        gate.pullback = Pullback(run, _GATE, wanted=(0,))
        return gate

    def whole(self, found: dict[Value, Value]) -> None:
        """Put the mean over all ranks in place of each gradient in `found`, at the end of a backward pass."""
        params = [p for b in self._buckets for p in b.params]
        buffers = list(statistics(self.module))
        means, kept = self._exchanged(
            [found.get(p.node) for p in params],
            [p.held for p in self.module.parameters()],
            [buffer.held for buffer in buffers],
        )
        for p, mean in zip(params, means, strict=True):
            if mean is not None:
                found[p.node] = mean
        write_means(buffers, kept)

    def recorded(self, found: dict[Value, Value], stand_in: Callable[[Tensor], Tensor]) -> None:
        """The same for a program: `stand_in` gives what stands for a tensor in it."""
        self._prepare()
        params = [stand_in(p) for b in self._buckets for p in b.params]
        buffers = list(map(stand_in, statistics(self.module)))
        there = [i for i, p in enumerate(params) if p.node in found]
        if any(isinstance(found[params[i].node], Tensor) for i in there):
            raise NotSupportedError("DataParallel: a compiled step makes no gradients with a graph of their own")
        means = _MEANS(
            *(found[params[i].node] for i in there),
            *(stand_in(p).held for p in self.module.parameters()),
            *(buffer.held for buffer in buffers),
            model=self, there=tuple(there), count=len(params),
        )  # fmt: skip
        for i, mean in zip(there, means, strict=False):
            found[params[i].node] = mean
        for buffer, mean in zip(buffers, means[len(there) :], strict=True):
            buffer.held[...] = mean

    def _exchanged(
        self, gradients: Sequence[Value], data: Sequence[np.ndarray], buffers: Sequence[np.ndarray]
    ) -> tuple[list[Value], list[Value]]:
        """The means over all ranks of gradients, None for one that no rank has, and of buffers, None for equal ones.

        In a call that begins again, they are those of before. `data` are the parameters, which all ranks must have.
        """
        here = world()
        what = f"backward() of {self._name}, which trains {len(gradients)} parameters"
        found: tuple[list[Value], list[Value]] = here.once(
            what, lambda: self._means(here, what, gradients, data, buffers)
        )
        for bucket in self._buckets:  # after an error, `_prepare` hears first what is on its way
            bucket.empty()
        return found

    def _means(
        self, here: World, what: str, gradients: Sequence[Value], data: Sequence[np.ndarray], buffers: Sequence[Value]
    ) -> tuple[list[Value], list[Value]]:
        numbers = [(b, i) for b in self._buckets for i in range(len(b.params))]
        states = [b.state(i, g) for (b, i), g in zip(numbers, gradients, strict=True)]
        begun = [b.pending is not None for b in self._buckets]
        told = np.array([*states, *begun, *sample(data)], np.uint8)

        def steps() -> Exchange:
            every = yield from exchange.gather(here, told)
            return every, (yield from averaged(here, buffers))

        every, kept = here.together(what, steps())
        hold_same(every[:, -DIGEST:], what)
        whole, seen = np.all(every == SENT, 0).tolist(), np.any(every, 0).tolist()
        means: list[Value] = []
        for bucket, is_begun in zip(self._buckets, seen[len(states) : -DIGEST], strict=True):
            mean: Value = None
            if is_begun:  # a rank that has not sent sends what it has, so that the others' waits end
                if bucket.pending is None:
                    bucket.start(here)
                mean = cast(Pending, bucket.pending).result()
            for i, p in enumerate(bucket.params):
                k = len(means)
                if whole[k]:
                    means.append(mean[bucket.slices[i]].reshape(p.shape))
                elif seen[k]:
                    g = gradients[k]
                    means.append(all_reduce(np.zeros(p.shape, p.dtype) if g is None else g, "mean"))
                else:
                    means.append(None)
        return means, kept

    def computed(self, values: Sequence[np.ndarray], there: Sequence[int], count: int) -> tuple[np.ndarray, ...]:
        """What a program gets, for the gradients that are `there`, the parameters and the buffers."""
        self._prepare()
        here, places = world(), [(b, i) for b in self._buckets for i in range(len(b.params))]
        gradients: list[Value] = [None] * count
        values = [np.asarray(value) for value in values]
        for i, g in zip(there, values, strict=False):
            gradients[i] = g
        if not here.repeats:
            for (bucket, i), g in zip(places, gradients, strict=True):
                if g is not None:
                    bucket.put(here, i, g)
            gradients = [b.parts.get(i, g) for (b, i), g in zip(places, gradients, strict=True)]
        buffers = values[len(values) - len(list(statistics(self.module))) :]
        means, kept = self._exchanged(gradients, values[len(there) : len(values) - len(buffers)], buffers)
        if any(mean is not None for i, mean in enumerate(means) if i not in set(there)):
            raise GraphError("a rank has gradients of parameters that the program does not use")
        return (
            *(means[i] for i in there),
            *(np.array(b) if mean is None else mean for b, mean in zip(buffers, kept, strict=True)),
        )


_MEANS = Op(
    "data_parallel_means",
    lambda *values, model, there, count: model.computed(values, there, count),
    ("*values",),
    settings={"model": None, "there": (), "count": 0},
    kind="constant",
    multiple=True,
    flags=frozenset({"raises", "collective"}),
)


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
