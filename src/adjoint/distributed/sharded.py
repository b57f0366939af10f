"""`ShardedOptimizer`: each rank keeps the state of some parameters, updates these, and sends them to all others."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import numpy as np

from adjoint.core.errors import ArgumentError
from adjoint.core.types import Value
from adjoint.distributed import exchange
from adjoint.distributed.world import world
from adjoint.optim import LBFGS, Optimizer
from adjoint.tape.writes import mutations


class ShardedOptimizer(Optimizer):
    """An optimiser whose state lies on all ranks together: each keeps about ``1 / ranks`` of it.

    The gradients must be the same on all ranks, as `DataParallel` makes them; then each step gives the same bits as
    the optimiser alone would. With one rank it is the optimiser itself.

    Args:
        optimizer: any optimiser that updates one parameter after another; its groups and rates stay its own.

    Attributes:
        optimizer: the optimiser.
        param_groups: its groups.

    Raises:
        ArgumentError: for LBFGS, whose step is one of all parameters together.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> model = ad.nn.Linear(2, 1, rng=0)
        >>> adam = ad.distributed.ShardedOptimizer(ad.optim.Adam(model.parameters(), lr=0.1))
        >>> np.sum(model(np.ones((3, 2)))).backward()
        >>> adam.step()
        >>> adam.optimizer.steps
        1
    """

    def __init__(self, optimizer: Optimizer) -> None:
        if isinstance(optimizer, LBFGS) or not isinstance(optimizer, Optimizer):
            raise ArgumentError(
                f"ShardedOptimizer(optimizer): one that updates one parameter after another, such as Adam; got "
                f"{type(optimizer).__name__}"
            )
        self.optimizer = optimizer
        self.param_groups = optimizer.param_groups  # whole on all ranks

    @property
    def steps(self) -> int:  # type: ignore[override]  # the optimiser counts them
        """How many steps were made."""
        return self.optimizer.steps

    @property
    def _stepping(self) -> Optimizer | None:
        return self.optimizer if world().size == 1 else None

    def step(self) -> None:
        """Update this rank's parameters, and take the others from their ranks.

        Raises:
            DistributedError: if a rank does not answer.
        """
        here = world()
        with self._own():
            self.optimizer.step()
        if here.size == 1:
            return
        kinds: dict[Value, list[list[Value]]] = {}
        for p, owner in self._owners():
            if p.grad is not None:
                kinds.setdefault(p.dtype, [[] for _ in range(here.size)])[owner].append(p)
        for dtype, ranks in kinds.items():
            bounds = np.cumsum([0, *(sum(p.size for p in params) for params in ranks)]).tolist()
            out = np.empty(bounds[-1], dtype)
            at = bounds[here.rank]
            for p in ranks[here.rank]:
                out[at : at + p.size] = p.held.reshape(-1)
                at += p.size
            out = here.together(f"ShardedOptimizer.step() of {bounds}", exchange.gather_pieces(here, out, bounds))
            for owner, params in enumerate(ranks):
                start = bounds[owner]
                for p in params:
                    if owner != here.rank:
                        p.held[...] = out[start : start + p.size].reshape(p.shape)
                        mutations.note(p.held)
                    start += p.size

    def state_dict(self) -> dict[str, Value]:
        """The whole state, of all ranks, as the optimiser alone has it; all ranks must call this together."""
        whole = self.optimizer.state_dict()
        owners = [owner for _, owner in self._owners()]
        mine = {i: whole["state"][str(i)] for i, owner in enumerate(owners) if owner == world().rank}
        for part in gather_objects(mine):
            whole["state"].update({str(i): kept for i, kept in part.items()})
        return whole

    def load_state_dict(self, state: Mapping[str, Value]) -> None:
        """Go on from a state of any number of ranks, or of the optimiser alone; each rank keeps its part.

        Raises:
            ArgumentError, ShapeError: see `adjoint.optim.Optimizer.load_state_dict`.
        """
        owners = [owner for _, owner in self._owners()]
        mine = {i: kept for i, kept in state["state"].items() if owners[int(i)] == world().rank}
        self.optimizer.load_state_dict({**state, "state": mine})

    def _owners(self) -> list[tuple[Value, int]]:
        """All parameters, each with the rank that updates it: the largest first, to the rank that has least."""
        params = [p for group in self.optimizer.param_groups for p in group["params"]]
        load, owner = [0] * world().size, [0] * len(params)
        for i in sorted(range(len(params)), key=lambda i: (-params[i].size, i)):
            owner[i] = load.index(min(load))
            load[owner[i]] += params[i].size
        return list(zip(params, owner, strict=True))

    @contextmanager
    def _own(self) -> Iterator[None]:
        """A block in which the groups hold this rank's parameters only."""
        rank, groups = world().rank, self.optimizer.param_groups
        mine = {id(p) for p, owner in self._owners() if owner == rank}
        before = [group["params"] for group in groups]
        try:
            for group in groups:
                group["params"] = [p for p in group["params"] if id(p) in mine]
            yield
        finally:
            for group, params in zip(groups, before, strict=True):
                group["params"] = params


def gather_objects(thing: object) -> list[Value]:
    """What each rank has, of things that can be pickled, in the order of ranks.

    Example:
        >>> import adjoint as ad
        >>> ad.distributed.gather_objects({"loss": 0.5})
        [{'loss': 0.5}]
    """
    here = world()
    if here.size == 1:
        return [thing]
    mine = np.frombuffer(pickle.dumps(thing), np.uint8)

    def steps() -> Value:
        sizes = yield from exchange.gather(here, np.array(mine.size))
        bounds = np.cumsum([0, *sizes]).tolist()
        out = np.empty(bounds[-1], np.uint8)
        out[bounds[here.rank] : bounds[here.rank + 1]] = mine
        out = yield from exchange.gather_pieces(here, out, bounds)
        return [out[bounds[i] : bounds[i + 1]] for i in range(here.size)]

    return [pickle.loads(part.tobytes()) for part in here.together("gather_objects", steps())]
