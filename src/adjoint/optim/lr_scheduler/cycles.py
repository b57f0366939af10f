"""Learning rates that go up and down again and again."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from adjoint.core.errors import ArgumentError
from adjoint.core.types import Value
from adjoint.optim.lr_scheduler.curves import check_momentum, set_momentum
from adjoint.optim.lr_scheduler.scheduler import LRScheduler
from adjoint.optim.optimizer import Optimizer


class CyclicLR(LRScheduler):
    """From `base_lr` up to `max_lr` and down again, for ever (Smith, 2017); momentum goes the other way.

    Args:
        optimizer: whose groups get new rates.
        base_lr, max_lr: the lowest and the highest rate, or one a group.
        step_size_up, step_size_down: how many steps go up, and down; as many down as up, if it is None.
        mode: "triangular"; "triangular2" halves the height with each cycle; "exp_range" shrinks it by `gamma` a step.
        gamma: see there.
        scale_fn: takes the place of `mode`: a function that gives the factor of the height.
        scale_mode: whether `scale_fn` takes the number of the "cycle", from 1, or of the step: "iterations".
        cycle_momentum: whether ``momentum``, or the first of ``betas``, moves between the two below.
        base_momentum, max_momentum: the momentum at the highest rate, and at the lowest.
        last_epoch: the number of the last step; -1 to begin.

    Raises:
        ArgumentError: if a setting makes no sense.

    Example:
        >>> import adjoint as ad
        >>> from adjoint import optim
        >>> sgd = optim.SGD([ad.tensor(1.0, requires_grad=True)], lr=1.0, momentum=0.9)
        >>> schedule = optim.lr_scheduler.CyclicLR(sgd, 0.0, 1.0, step_size_up=2)
        >>> rates = []
        >>> for _ in range(5):
        ...     rates.append(sgd.lr)
        ...     schedule.step()
        >>> rates
        [0.0, 0.5, 1.0, 0.5, 0.0]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        base_lr: float | Sequence[float],
        max_lr: float | Sequence[float],
        step_size_up: int = 2000,
        step_size_down: int | None = None,
        mode: str = "triangular",
        gamma: float = 1.0,
        scale_fn: Callable[[float], float] | None = None,
        scale_mode: str = "cycle",
        cycle_momentum: bool = True,
        base_momentum: float = 0.8,
        max_momentum: float = 0.9,
        last_epoch: int = -1,
    ) -> None:
        if mode not in ("triangular", "triangular2", "exp_range"):
            raise ArgumentError(f'CyclicLR: mode is "triangular", "triangular2" or "exp_range"; got {mode!r}')
        if scale_mode not in ("cycle", "iterations"):
            raise ArgumentError(f'CyclicLR: scale_mode is "cycle" or "iterations"; got {scale_mode!r}')
        groups: list[dict[str, Value]] = optimizer.param_groups
        if cycle_momentum:
            check_momentum("CyclicLR", optimizer)
        lowest, highest = (
            list(rates) if isinstance(rates, Sequence) else [rates] * len(groups) for rates in (base_lr, max_lr)
        )
        if not len(lowest) == len(highest) == len(groups):
            raise ArgumentError(f"CyclicLR needs a rate, or {len(groups)}, one a group; got {base_lr!r} and {max_lr!r}")
        down = step_size_up if step_size_down is None else step_size_down
        if step_size_up < 1 or down < 1:
            raise ArgumentError(f"CyclicLR: steps up and down are at least 1; got {step_size_up}, {down}")
        self.max_lrs, self.total, self.rise = highest, step_size_up + down, step_size_up / (step_size_up + down)
        self.mode, self.gamma, self.scale_mode, self.scale_fn = mode, gamma, scale_mode, scale_fn
        self.cycle_momentum, self.momenta = cycle_momentum, (base_momentum, max_momentum)
        if last_epoch == -1:
            for group, rate in zip(groups, lowest, strict=True):
                group["lr"] = rate
        super().__init__(optimizer, last_epoch)
        self.base_lrs = lowest

    def _height(self, cycle: int) -> float:
        if self.scale_fn is not None:
            return self.scale_fn(cycle if self.scale_mode == "cycle" else self.last_epoch)
        if self.mode == "exp_range":
            return self.gamma**self.last_epoch
        return 0.5 ** (cycle - 1) if self.mode == "triangular2" else 1.0

    def get_lr(self) -> list[float]:
        cycle = 1 + self.last_epoch // self.total
        x = 1 + self.last_epoch / self.total - cycle
        share = x / self.rise if x <= self.rise else (x - 1) / (self.rise - 1)
        share *= self._height(cycle)
        if self.cycle_momentum:
            low, high = self.momenta
            set_momentum(self.optimizer, high - (high - low) * share)
        return [low + (high - low) * share for low, high in zip(self.base_lrs, self.max_lrs, strict=True)]

    def state_dict(self) -> dict[str, Value]:
        return {k: v for k, v in super().state_dict().items() if k != "scale_fn"}
