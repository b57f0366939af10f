"""`LRScheduler`: what all schedules of learning rates share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from adjoint.core.errors import ArgumentError
from adjoint.core.messages.keywords import Answering
from adjoint.core.types import Value
from adjoint.optim.optimizer import Optimizer


class LRScheduler(Answering):
    """What all share: subclasses give the rates of an epoch in `get_lr`.

    Args:
        optimizer: whose groups get new rates.
        last_epoch: the number of the last epoch; -1 to begin.

    Attributes:
        base_lrs: the rates at the beginning, one a group.
        last_epoch: how often `step` was called.
    """

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        if not isinstance(optimizer, Optimizer):
            raise ArgumentError(f"{type(self).__name__} takes an optimiser of adjoint.optim; got {optimizer!r}")
        self.optimizer, self.last_epoch = optimizer, last_epoch
        # The rates before any schedule: several may share an optimiser.
        self.base_lrs: list[Value] = [group.setdefault("initial_lr", group["lr"]) for group in optimizer.param_groups]
        self.step()

    def get_lr(self) -> list[float]:
        """The rates of this epoch, from those of the one before."""
        raise NotImplementedError

    def get_last_lr(self) -> list[float]:
        """The rates as they are."""
        return [group["lr"] for group in self.optimizer.param_groups]

    def _rates(self) -> list[float]:
        return self.get_last_lr()

    def step(self) -> None:
        """Begin the next epoch."""
        self.last_epoch += 1
        self._set(self.get_lr())

    def begin(self) -> None:
        """Start over at epoch 0, with the rates that were there first."""
        self.last_epoch = -1
        self._set(self.base_lrs)
        self.step()

    def _set(self, rates: Sequence[float]) -> None:
        for group, rate in zip(self.optimizer.param_groups, rates, strict=True):
            group["lr"] = rate

    def state_dict(self) -> dict[str, Value]:
        """Everything but the optimiser and functions."""
        return {k: v for k, v in vars(self).items() if k != "optimizer" and not callable(v)}

    def load_state_dict(self, state: dict[str, Value]) -> None:
        """Go on from what `state_dict` gave, or PyTorch's `state_dict`, which counts milestones."""
        vars(self).update({k: sorted(v.elements()) if isinstance(v, Counter) else v for k, v in state.items()})
