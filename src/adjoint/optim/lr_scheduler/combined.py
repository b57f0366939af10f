"""Several schedules in one, and one that reacts to the progress of training."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence

from adjoint.core.errors import ArgumentError
from adjoint.core.types import Value
from adjoint.optim.lr_scheduler.scheduler import LRScheduler
from adjoint.optim.optimizer import Optimizer


class _Several(LRScheduler):
    """Keeps the states of the schedules that it is made of."""

    _schedulers: tuple[LRScheduler, ...]

    def state_dict(self) -> dict[str, Value]:
        kept = {k: v for k, v in super().state_dict().items() if k != "_schedulers"}
        return kept | {"schedulers": [schedule.state_dict() for schedule in self._schedulers]}

    def load_state_dict(self, state: dict[str, Value]) -> None:
        said = {
            k.removeprefix("_") if k in ("_schedulers", "_milestones") else k: v for k, v in state.items()
        }  # PyTorch's
        for schedule, inner in zip(self._schedulers, said.pop("schedulers"), strict=True):
            schedule.load_state_dict(inner)
        super().load_state_dict(said)


class SequentialLR(_Several):
    """One schedule after another: each begins at its milestone."""

    def __init__(
        self, optimizer: Optimizer, schedulers: Sequence[LRScheduler], milestones: Sequence[int], last_epoch: int = -1
    ) -> None:
        if len(milestones) != len(schedulers) - 1:
            raise ArgumentError(
                f"SequentialLR: {len(schedulers)} schedules have {len(schedulers) - 1} milestones; got "
                f"{len(milestones)}"
            )
        self._schedulers, self.milestones = tuple(schedulers), list(milestones)
        self.optimizer, self.last_epoch = optimizer, last_epoch + 1
        self.base_lrs = list(schedulers[0].base_lrs)
        for group in optimizer.param_groups:
            group["lr"] = group["initial_lr"]  # what making the others did
        for schedule in schedulers:
            schedule.last_epoch -= 1
        schedulers[0].step()

    def step(self) -> None:
        self.last_epoch += 1
        k = bisect_right(self.milestones, self.last_epoch)
        schedule = self._schedulers[k]
        if k > 0 and self.milestones[k - 1] == self.last_epoch:
            schedule.begin()
        else:
            schedule.step()


class ChainedScheduler(_Several):
    """Several schedules at once: each changes the rates that the one before gave."""

    def __init__(self, schedulers: Sequence[LRScheduler], optimizer: Optimizer | None = None) -> None:
        self._schedulers = tuple(schedulers)
        self.optimizer = schedulers[0].optimizer if optimizer is None else optimizer
        self.last_epoch, self.base_lrs = 0, list(schedulers[0].base_lrs)

    def step(self) -> None:
        self.last_epoch += 1
        for schedule in self._schedulers:
            schedule.step()


class ReduceLROnPlateau(LRScheduler):
    """Times `factor` when a figure has not become better for `patience` epochs: ``step(figure)``.

    Args:
        optimizer: whose groups get new rates.
        mode: "min" if a smaller figure is better, or "max".
        factor: below 1.
        patience: how many epochs without a better figure are let pass.
        threshold: by how much a better figure differs.
        threshold_mode: "rel" for a share of the best, or "abs".
        cooldown: how many epochs after a change are not counted.
        min_lr: no rate becomes smaller; or a list with one for each group.
        eps: changes that are smaller are left out.

    Example:
        >>> import adjoint as ad
        >>> from adjoint import optim
        >>> sgd = optim.SGD([ad.tensor(1.0, requires_grad=True)], lr=1.0)
        >>> schedule = optim.lr_scheduler.ReduceLROnPlateau(sgd, patience=1)
        >>> for loss in (3.0, 2.0, 2.0, 2.0):
        ...     schedule.step(loss)
        >>> sgd.lr
        0.1
    """

    def __init__(
        self,
        optimizer: Optimizer,
        mode: str = "min",
        factor: float = 0.1,
        patience: int = 10,
        threshold: float = 1e-4,
        threshold_mode: str = "rel",
        cooldown: int = 0,
        min_lr: float | Sequence[float] = 0.0,
        eps: float = 1e-8,
    ) -> None:
        if not factor < 1 or mode not in ("min", "max") or threshold_mode not in ("rel", "abs"):
            raise ArgumentError(
                'ReduceLROnPlateau: factor is below 1, mode "min" or "max", threshold_mode "rel" or "abs"; got '
                f"{factor}, {mode!r}, {threshold_mode!r}"
            )
        groups = len(optimizer.param_groups)
        if isinstance(min_lr, list | tuple) and len(min_lr) != groups:
            raise ArgumentError(
                f"ReduceLROnPlateau: min_lr is a rate, or one for each of {groups} groups; got {min_lr}"
            )
        self.optimizer, self.mode, self.factor, self.patience = optimizer, mode, factor, patience
        self.threshold, self.threshold_mode, self.cooldown = threshold, threshold_mode, cooldown
        self.min_lr, self.eps = min_lr, eps
        self.base_lrs = [group["lr"] for group in optimizer.param_groups]
        self.best = math.inf if mode == "min" else -math.inf
        self.num_bad_epochs = self.cooldown_counter = self.last_epoch = 0

    def _is_better(self, figure: float) -> bool:
        sign = 1.0 if self.mode == "min" else -1.0
        if self.threshold_mode == "rel":
            return sign * figure < sign * self.best * (1 - sign * self.threshold)
        return sign * figure < sign * self.best - self.threshold

    def step(self, metrics: Value = None) -> None:
        """End an epoch with its figure."""
        if metrics is None:
            raise ArgumentError("ReduceLROnPlateau looks at a figure: step(validation_loss)")
        figure = float(metrics.item() if hasattr(metrics, "item") else metrics)
        self.last_epoch += 1
        if self._is_better(figure):
            self.best, self.num_bad_epochs = figure, 0
        else:
            self.num_bad_epochs += 1
        if self.cooldown_counter > 0:
            self.cooldown_counter, self.num_bad_epochs = self.cooldown_counter - 1, 0
        if self.num_bad_epochs > self.patience:
            groups = self.optimizer.param_groups
            least = self.min_lr if isinstance(self.min_lr, list | tuple) else [self.min_lr] * len(groups)
            for group, lowest in zip(groups, least, strict=True):
                new = max(group["lr"] * self.factor, lowest)
                if group["lr"] - new > self.eps:
                    group["lr"] = new
            self.cooldown_counter, self.num_bad_epochs = self.cooldown, 0
