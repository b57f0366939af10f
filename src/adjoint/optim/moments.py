"""Adam's relatives: Adamax, NAdam, RAdam."""

from __future__ import annotations

import numpy as np

from adjoint.core.types import Array
from adjoint.optim.adam import Moments, counted, powered
from adjoint.optim.adaptive import averaged, decayed, moved
from adjoint.optim.optimizer import ParamGroup, Params, ParamState


class Adamax(Moments):
    """Adam with the largest size of g instead of its mean square (Kingma and Ba, 2015, algorithm 2).

    Args:
        params, lr, betas, eps, weight_decay: as in `Adam`.
        maximize: whether to go up instead.

    Example:
        >>> import adjoint as ad
        >>> from adjoint import optim
        >>> w = ad.tensor([1.0, -2.0], requires_grad=True)
        >>> (w**2).sum().backward()
        >>> optim.Adamax([w], lr=0.5).step()
        >>> w.numpy().round(6)
        array([ 0.5, -1.5])
    """

    def __init__(
        self,
        params: Params,
        lr: float = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        *,
        maximize: bool = False,
    ) -> None:
        super().__init__(
            params, {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "maximize": maximize}
        )

    def update(self, data: Array, grad: Array, state: ParamState, group: ParamGroup, scratch: Array) -> None:
        t, (b1, b2) = counted(state), group["betas"]
        grad = decayed(grad, data, group)
        averaged(state["mean"], grad, b1)
        np.maximum(b2 * state["square"], np.abs(grad) + group["eps"], out=state["square"])
        moved(data, group["lr"] / (1 - powered(b1, t)) * state["mean"] / state["square"])


class NAdam(Moments):
    """Adam with Nesterov's momentum (Dozat, 2016).

    Args:
        params, lr, betas, eps, weight_decay: as in `Adam`.
        momentum_decay: how fast the first beta grows to its value.
        decoupled_weight_decay: whether the decay shrinks parameters instead, as in `AdamW`.
        maximize: whether to go up instead.

    Example:
        >>> import adjoint as ad
        >>> from adjoint import optim
        >>> w = ad.tensor([1.0], requires_grad=True)
        >>> (w**2).sum().backward()
        >>> optim.NAdam([w], lr=0.1).step()
        >>> w.numpy().round(4)
        array([0.8944])
    """

    def __init__(
        self,
        params: Params,
        lr: float = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        momentum_decay: float = 4e-3,
        decoupled_weight_decay: bool = False,
        *,
        maximize: bool = False,
    ) -> None:
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay,
                                  "momentum_decay": momentum_decay, "decoupled_weight_decay": decoupled_weight_decay,
                                  "maximize": maximize})  # fmt: skip

    def start(self, data: np.ndarray, group: ParamGroup) -> ParamState:
        return super().start(data, group) | {"product": np.ones_like(data, shape=())}

    def update(self, data: Array, grad: Array, state: ParamState, group: ParamGroup, scratch: Array) -> None:
        t, (b1, b2), lr = counted(state), group["betas"], group["lr"]
        if group["decoupled_weight_decay"]:
            data *= 1 - lr * group["weight_decay"]
        else:
            grad = decayed(grad, data, group)
        now = b1 * (1 - 0.5 * powered(0.96, t * group["momentum_decay"]))
        soon = b1 * (1 - 0.5 * powered(0.96, (t + 1) * group["momentum_decay"]))
        state["product"] *= now
        product = state["product"]
        averaged(state["mean"], grad, b1)
        averaged(state["square"], grad * grad, b2)
        size = np.sqrt(state["square"] / (1 - powered(b2, t))) + group["eps"]
        step = (1 - now) / (1 - product) * grad + soon / (1 - product * soon) * state["mean"]
        moved(data, lr * step / size)


class RAdam(Moments):
    """Adam whose first steps, before the variance is known, are plain momentum (Liu et al., 2020).

    Args:
        params, lr, betas, eps, weight_decay: as in `Adam`.
        decoupled_weight_decay: whether the decay shrinks parameters instead, as in `AdamW`.
        maximize: whether to go up instead.

    Example:
        >>> import adjoint as ad
        >>> from adjoint import optim
        >>> w = ad.tensor([1.0], requires_grad=True)
        >>> (w**2).sum().backward()
        >>> optim.RAdam([w], lr=0.1).step()
        >>> w.numpy().round(6)
        array([0.8])
    """

    def __init__(
        self,
        params: Params,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        decoupled_weight_decay: bool = False,
        *,
        maximize: bool = False,
    ) -> None:
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay,
                                  "decoupled_weight_decay": decoupled_weight_decay, "maximize": maximize})  # fmt: skip

    def update(self, data: Array, grad: Array, state: ParamState, group: ParamGroup, scratch: Array) -> None:
        t, (b1, b2), lr = counted(state), group["betas"], group["lr"]
        if group["decoupled_weight_decay"]:
            data *= 1 - lr * group["weight_decay"]
        else:
            grad = decayed(grad, data, group)
        averaged(state["mean"], grad, b1)
        averaged(state["square"], grad * grad, b2)
        most = 2 / (1 - b2) - 1
        length = most - 2 * t * powered(b2, t) / (1 - powered(b2, t))
        known = np.greater(length, 5.0)
        safe = np.where(known, length, 6.0)
        rectified = np.sqrt((safe - 4) * (safe - 2) * most / ((most - 4) * (most - 2) * safe))
        size = np.sqrt(1 - powered(b2, t)) / (np.sqrt(state["square"]) + group["eps"])
        step = state["mean"] / (1 - powered(b1, t))
        moved(data, lr * step * np.where(known, rectified * size, 1.0))
