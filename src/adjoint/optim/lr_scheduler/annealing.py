"""Learning rates while weights are averaged (Izmailov et al., Averaging Weights Leads to Wider Optima, 2018)."""

from __future__ import annotations

import math

from adjoint.core.errors import ArgumentError
from adjoint.optim.lr_scheduler.scheduler import LRScheduler
from adjoint.optim.optimizer import Optimizer


class SWALR(LRScheduler):
    """Go from the learning rate as it is to a constant one, while weights are averaged.

    Args:
        optimizer: whose groups get new rates.
        swa_lr: the rate at the end; or one a group.
        anneal_epochs: after how many epochs it is reached.
        anneal_strategy: "cos", along a cosine, or "linear".
        last_epoch: -1 to begin.

    Raises:
        ArgumentError: for another strategy, or another number of rates.

    Example:
        >>> import adjoint as ad
        >>> from adjoint import optim
        >>> sgd = optim.SGD([ad.tensor([1.0], requires_grad=True)], lr=0.5)
        >>> swa = optim.swa_utils.SWALR(sgd, swa_lr=0.1, anneal_epochs=2, anneal_strategy="linear")
        >>> for epoch in range(3):
        ...     sgd.step()
        ...     swa.step()
        ...     print(round(sgd.lr, 3))
        0.3
        0.1
        0.1
    """

    def __init__(
        self,
        optimizer: Optimizer,
        swa_lr: float | list[float] | tuple[float, ...],
        anneal_epochs: int = 10,
        anneal_strategy: str = "cos",
        last_epoch: int = -1,
    ) -> None:
        if anneal_strategy not in ("cos", "linear"):
            raise ArgumentError(f'SWALR: anneal_strategy is "cos" or "linear"; got {anneal_strategy!r}')
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ArgumentError(f"SWALR: anneal_epochs is a whole number from 0; got {anneal_epochs!r}")
        groups = optimizer.param_groups
        rates = list(swa_lr) if isinstance(swa_lr, list | tuple) else [swa_lr] * len(groups)
        if len(rates) != len(groups):
            raise ArgumentError(f"SWALR: swa_lr is a rate, or one for each of {len(groups)} groups; got {swa_lr}")
        for group, rate in zip(groups, rates, strict=True):
            group["swa_lr"] = rate
        self.anneal_epochs, self.anneal_strategy = anneal_epochs, anneal_strategy
        super().__init__(optimizer, last_epoch)

    def _weight(self, epoch: int) -> float:
        """The share of the last rate, after so many epochs."""
        t = max(0.0, min(1.0, epoch / max(1, self.anneal_epochs)))
        return t if self.anneal_strategy == "linear" else (1 - math.cos(math.pi * t)) / 2

    def get_lr(self) -> list[float]:
        """The rates of this epoch: those before annealing follow from the present ones, which others may change too."""
        epoch = self.last_epoch if self.anneal_epochs else max(1, self.last_epoch)
        before, now, rates = self._weight(epoch - 1), self._weight(epoch), []
        for group in self.optimizer.param_groups:
            last = group["swa_lr"]
            first = last if before == 1 else (group["lr"] - before * last) / (1 - before)
            rates.append(last * now + first * (1 - now))
        return rates
