"""Learning rates as functions of the epoch."""

from __future__ import annotations

import math
from collections.abc import Sequence

from adjoint.core.errors import ArgumentError
from adjoint.core.types import Function, Value
from adjoint.optim.lr_scheduler.scheduler import LRScheduler
from adjoint.optim.optimizer import Optimizer


class LambdaLR(LRScheduler):
    """The first rate times ``lr_lambda(epoch)``; one function, or one a group.

    Example:
        >>> import adjoint as ad
        >>> from adjoint import optim
        >>> sgd = optim.SGD([ad.tensor(1.0, requires_grad=True)], lr=1.0)
        >>> halves = optim.lr_scheduler.LambdaLR(sgd, lambda epoch: 0.5**epoch)
        >>> halves.step()
        >>> sgd.lr
        0.5
    """

    def __init__(self, optimizer: Optimizer, lr_lambda: Function, last_epoch: int = -1) -> None:
        groups = len(optimizer.param_groups)
        lambdas = list(lr_lambda) if isinstance(lr_lambda, list | tuple) else [lr_lambda] * groups
        if len(lambdas) != groups:
            raise ArgumentError(f"{type(self).__name__} needs {groups} functions, one a group; got {len(lambdas)}")
        self._lambdas = tuple(lambdas)
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        return [base * f(self.last_epoch) for base, f in zip(self.base_lrs, self._lambdas, strict=True)]

    def state_dict(self) -> dict[str, Value]:
        return {k: v for k, v in super().state_dict().items() if k != "_lambdas"}


class MultiplicativeLR(LambdaLR):
    """The rate before times ``lr_lambda(epoch)``."""

    def get_lr(self) -> list[float]:
        return self._rates() if self.last_epoch == 0 else self._times()

    def _times(self) -> list[float]:
        return [rate * f(self.last_epoch) for rate, f in zip(self._rates(), self._lambdas, strict=True)]

    def begin(self) -> None:
        """Start at epoch 0 with the rates as they are, as PyTorch does."""
        self.last_epoch = 0
        self._set(self._times())


class StepLR(LRScheduler):
    """Times `gamma` every `step_size` epochs.

    Example:
        >>> import adjoint as ad
        >>> from adjoint import optim
        >>> sgd = optim.SGD([ad.tensor(1.0, requires_grad=True)], lr=1.0)
        >>> schedule = optim.lr_scheduler.StepLR(sgd, 2, gamma=0.1)
        >>> for _ in range(2):
        ...     schedule.step()
        >>> sgd.lr
        0.1
    """

    def __init__(self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1) -> None:
        self.step_size, self.gamma = step_size, gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        now = self.last_epoch > 0 and self.last_epoch % self.step_size == 0
        return [rate * (self.gamma if now else 1.0) for rate in self._rates()]


class MultiStepLR(LRScheduler):
    """Times `gamma` at each epoch in `milestones`."""

    def __init__(
        self, optimizer: Optimizer, milestones: Sequence[int], gamma: float = 0.1, last_epoch: int = -1
    ) -> None:
        self.milestones, self.gamma = sorted(milestones), gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        return [rate * self.gamma ** self.milestones.count(self.last_epoch) for rate in self._rates()]


class ConstantLR(LRScheduler):
    """Times `factor` for the first `total_iters` epochs."""

    def __init__(
        self, optimizer: Optimizer, factor: float = 1.0 / 3, total_iters: int = 5, last_epoch: int = -1
    ) -> None:
        self.factor, self.total_iters = factor, total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        by = self.factor if self.last_epoch == 0 else 1 / self.factor if self.last_epoch == self.total_iters else 1.0
        return [rate * by for rate in self._rates()]


class LinearLR(LRScheduler):
    """A factor that goes from `start_factor` to `end_factor` in `total_iters` epochs: a warm-up."""

    def __init__(
        self,
        optimizer: Optimizer,
        start_factor: float = 1.0 / 3,
        end_factor: float = 1.0,
        total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:
        if not 0 < start_factor <= 1 or not 0 <= end_factor <= 1:
            raise ArgumentError(f"LinearLR: factors are between 0 and 1; got {start_factor} and {end_factor}")
        self.start_factor, self.end_factor, self.total_iters = start_factor, end_factor, total_iters
        super().__init__(optimizer, last_epoch)

    def _factor(self, epoch: int) -> float:
        share = min(epoch, self.total_iters) / self.total_iters
        return self.start_factor + (self.end_factor - self.start_factor) * share

    def get_lr(self) -> list[float]:
        if self.last_epoch == 0:
            return [rate * self.start_factor for rate in self._rates()]
        by = (
            1.0
            if self.last_epoch > self.total_iters
            else self._factor(self.last_epoch) / self._factor(self.last_epoch - 1)
        )
        return [rate * by for rate in self._rates()]


class ExponentialLR(LRScheduler):
    """Times `gamma` at each epoch."""

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1) -> None:
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        return [rate * (self.gamma if self.last_epoch else 1.0) for rate in self._rates()]


class PolynomialLR(LRScheduler):
    """The first rate times ``(1 - epoch / total_iters)**power``; 0 from there on."""

    def __init__(self, optimizer: Optimizer, total_iters: int = 5, power: float = 1.0, last_epoch: int = -1) -> None:
        self.total_iters, self.power = total_iters, power
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        t, n = self.last_epoch, self.total_iters
        by = 1.0 if t == 0 or t > n else ((1 - t / n) / (1 - (t - 1) / n)) ** self.power
        return [rate * by for rate in self._rates()]


class CosineAnnealingLR(LRScheduler):
    """Half a cosine from the first rate to `eta_min` in `T_max` epochs, and up again (Loshchilov and Hutter, 2017).

    Example:
        >>> import adjoint as ad
        >>> from adjoint import optim
        >>> sgd = optim.SGD([ad.tensor(1.0, requires_grad=True)], lr=1.0)
        >>> schedule = optim.lr_scheduler.CosineAnnealingLR(sgd, 4)
        >>> for _ in range(2):
        ...     schedule.step()
        >>> round(sgd.lr, 6)
        0.5
    """

    def __init__(self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1) -> None:  # noqa: N803 - PyTorch's name
        self.T_max, self.eta_min = T_max, eta_min
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        t, n, low = self.last_epoch, self.T_max, self.eta_min
        if t == 0:
            return self._rates()
        if (t - 1 - n) % (2 * n) == 0:  # the rate before was the lowest: nothing follows from it
            return [
                rate + (base - low) * (1 - math.cos(math.pi / n)) / 2
                for base, rate in zip(self.base_lrs, self._rates(), strict=True)
            ]
        by = (1 + math.cos(math.pi * t / n)) / (1 + math.cos(math.pi * (t - 1) / n))
        return [by * (rate - low) + low for rate in self._rates()]


class CosineAnnealingWarmRestarts(LRScheduler):
    """Half cosines down to `eta_min`, the first in `T_0` epochs, each `T_mult` times as long as the one before."""

    def __init__(
        self,
        optimizer: Optimizer,
        T_0: int,  # noqa: N803 - PyTorch's name
        T_mult: int = 1,  # noqa: N803 - PyTorch's name
        eta_min: float = 0.0,
        last_epoch: int = -1,
    ) -> None:
        if T_0 < 1 or T_mult < 1:
            raise ArgumentError(f"CosineAnnealingWarmRestarts: T_0 and T_mult are at least 1; got {T_0} and {T_mult}")
        self.T_0, self.T_mult, self.eta_min = T_0, T_mult, eta_min
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        t, length = self.last_epoch, self.T_0
        while t >= length:
            t, length = t - length, length * self.T_mult
        share = (1 + math.cos(math.pi * t / length)) / 2
        return [self.eta_min + (base - self.eta_min) * share for base in self.base_lrs]


class OneCycleLR(LRScheduler):
    """Up to `max_lr` and down again in `total_steps` steps (Smith and Topin, 2019); momentum goes the other way.

    Args:
        optimizer: whose groups get new rates.
        max_lr: the highest rate, or one a group.
        total_steps: how many steps there are; or `epochs` and `steps_per_epoch`.
        pct_start: the share of steps that go up.
        anneal_strategy: "cos" or "linear".
        cycle_momentum: whether ``momentum``, or the first of ``betas``, moves between the two below.
        base_momentum, max_momentum: the momentum at the highest rate, and at the ends.
        div_factor: the first rate is ``max_lr / div_factor``.
        final_div_factor: the last one is the first by this.
        three_phase: whether it comes down to the first rate first, in as many steps as it went up.

    Raises:
        ArgumentError: if the number of steps is not given, there are no more, or there is no momentum to move.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        max_lr: float | Sequence[float],
        total_steps: int | None = None,
        epochs: int | None = None,
        steps_per_epoch: int | None = None,
        pct_start: float = 0.3,
        anneal_strategy: str = "cos",
        cycle_momentum: bool = True,
        base_momentum: float = 0.85,
        max_momentum: float = 0.95,
        div_factor: float = 25.0,
        final_div_factor: float = 1e4,
        three_phase: bool = False,
        last_epoch: int = -1,
    ) -> None:
        if total_steps is None and (epochs is None or steps_per_epoch is None):
            raise ArgumentError("OneCycleLR needs total_steps, or epochs and steps_per_epoch")
        if anneal_strategy not in ("cos", "linear"):
            raise ArgumentError(f'OneCycleLR: anneal_strategy is "cos" or "linear"; got {anneal_strategy!r}')
        if cycle_momentum:
            check_momentum("OneCycleLR", optimizer)
        self.total_steps = total_steps if total_steps is not None else (epochs or 0) * (steps_per_epoch or 0)
        groups = len(optimizer.param_groups)
        highest = list(max_lr) if isinstance(max_lr, Sequence) else [max_lr] * groups
        self.max_lrs = highest
        self.initial = [rate / div_factor for rate in highest]
        self.final = [rate / final_div_factor for rate in self.initial]
        up = float(pct_start * self.total_steps) - 1
        self.phases: list[tuple[float, str, str]] = [(up, "initial", "max"), (self.total_steps - 1, "max", "final")]
        if three_phase:
            self.phases = [(up, "initial", "max"), (float(2 * pct_start * self.total_steps) - 2, "max", "initial"),
                           (self.total_steps - 1, "initial", "final")]  # fmt: skip
        self.anneal_strategy, self.cycle_momentum = anneal_strategy, cycle_momentum
        self.momenta = (base_momentum, max_momentum)
        if last_epoch == -1:
            for group, rate in zip(optimizer.param_groups, self.initial, strict=True):
                group["initial_lr"] = rate
        super().__init__(optimizer, last_epoch)

    def _between(self, start: float, end: float, share: float) -> float:
        if self.anneal_strategy == "linear":
            return start + (end - start) * share
        return end + (start - end) / 2 * (1 + math.cos(math.pi * share))

    def get_lr(self) -> list[float]:
        t = self.last_epoch
        if t > self.total_steps:  # one more than there are rates, as PyTorch: loops step after each batch
            raise ArgumentError(f"OneCycleLR: step {t + 1} of {self.total_steps} was asked for")
        k = next((k for k, (end, *_) in enumerate(self.phases) if t <= end), len(self.phases) - 1)
        begins = self.phases[k - 1][0] if k else 0.0
        end, start_name, end_name = self.phases[k]
        share = (t - begins) / (end - begins)
        named = {"initial": self.initial, "max": self.max_lrs, "final": self.final}
        if self.cycle_momentum:
            low, high = self.momenta
            start, stop = (low if name == "max" else high for name in (start_name, end_name))
            set_momentum(self.optimizer, self._between(start, stop, share))
        return [self._between(a, b, share) for a, b in zip(named[start_name], named[end_name], strict=True)]


def check_momentum(schedule: str, optimizer: Optimizer) -> None:
    """Refuse to move a momentum that the optimiser has not."""
    if not all("betas" in group or "momentum" in group for group in optimizer.param_groups):
        raise ArgumentError(f"{schedule}: {type(optimizer).__name__} has no momentum; cycle_momentum=False leaves it")


def set_momentum(optimizer: Optimizer, momentum: float) -> None:
    """Write the momentum of all groups: ``momentum``, or the first of ``betas``."""
    for group in optimizer.param_groups:
        if "betas" in group:
            group["betas"] = (momentum, *group["betas"][1:])
        else:
            group["momentum"] = momentum
