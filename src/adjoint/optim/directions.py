"""Optimisers whose steps have one size: Lion, of signs, and Muon, of orthogonal matrices."""

from __future__ import annotations

import numpy as np

from adjoint.core.errors import ArgumentError
from adjoint.core.types import Array, Settings
from adjoint.optim.adaptive import averaged, moved
from adjoint.optim.optimizer import Optimizer, ParamGroup, Params, ParamState
from adjoint.optim.pairs import refuse_complex


class Lion(Optimizer):
    """Steps of one size in every direction: the sign of a mean of gradients (Chen et al., 2023).

    ``p -= lr * (sign(b1 * m + (1 - b1) * g) + weight_decay * p)``; ``m = b2 * m + (1 - b2) * g``.

    Args:
        params: see `Optimizer`.
        lr: the learning rate.
        betas: ``(b1, b2)``.
        weight_decay: shrinks the parameters themselves.
        maximize: whether to go up instead.

    Example:
        >>> import adjoint as ad
        >>> from adjoint import optim
        >>> w = ad.tensor([1.0, -2.0], requires_grad=True)
        >>> (w**2).sum().backward()
        >>> optim.Lion([w], lr=0.5).step()
        >>> w
        tensor([ 0.5, -1.5], requires_grad=True)
    """

    def __init__(
        self,
        params: Params,
        lr: float = 1e-4,
        betas: tuple[float, float] = (0.9, 0.99),
        weight_decay: float = 0.0,
        *,
        maximize: bool = False,
    ) -> None:
        super().__init__(params, {"lr": lr, "betas": betas, "weight_decay": weight_decay, "maximize": maximize})

    def start(self, data: np.ndarray, group: ParamGroup) -> ParamState:
        return {"mean": np.zeros_like(data)}

    def update(self, data: Array, grad: Array, state: ParamState, group: ParamGroup, scratch: Array) -> None:
        b1, b2 = group["betas"]
        data *= 1 - group["lr"] * group["weight_decay"]
        moved(data, group["lr"] * np.sign(b1 * state["mean"] + (1 - b1) * grad))
        averaged(state["mean"], grad, b2)


class Muon(Optimizer):
    """Momentum made orthogonal, for matrices (Jordan et al., Muon, 2024): five steps of Newton and Schulz.

    Args:
        params: matrices; give others to `AdamW`.
        lr: the learning rate, times ``sqrt(max(1, rows / columns))``.
        weight_decay: shrinks the parameters themselves.
        momentum: how slowly the mean of gradients forgets.
        nesterov: whether to look one step ahead.
        ns_coefficients: of the polynomial ``a x + b x**3 + c x**5``.
        eps: keeps the division finite.
        ns_steps: how often it is applied.
        adjust_lr_fn: "match_rms_adamw" multiplies `lr` by ``0.2 * sqrt(max(rows, columns))`` instead, so that steps are
            as long as Adam's; "original" and None do not.
        maximize: whether to go up instead.

    Raises:
        ArgumentError: if a parameter is no matrix.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> from adjoint import optim
        >>> w = ad.tensor(np.eye(2), requires_grad=True)
        >>> np.sum(w**2).backward()
        >>> optim.Muon([w], lr=0.1, weight_decay=0.0).step()
        >>> bool(w.data[0, 0] < 1), w.data[0, 1].item()
        (True, 0.0)
    """

    def __init__(
        self,
        params: Params,
        lr: float = 1e-3,
        weight_decay: float = 0.1,
        momentum: float = 0.95,
        nesterov: bool = True,
        ns_coefficients: tuple[float, float, float] = (3.4445, -4.775, 2.0315),
        eps: float = 1e-7,
        ns_steps: int = 5,
        adjust_lr_fn: str | None = None,
        *,
        maximize: bool = False,
    ) -> None:
        super().__init__(params, {"lr": lr, "weight_decay": weight_decay, "momentum": momentum, "nesterov": nesterov,
                                  "ns_coefficients": ns_coefficients, "eps": eps, "ns_steps": ns_steps,
                                  "adjust_lr_fn": adjust_lr_fn, "maximize": maximize})  # fmt: skip

    def check(self, settings: Settings) -> None:
        super().check(settings)
        if settings["adjust_lr_fn"] not in (None, "original", "match_rms_adamw"):
            raise ArgumentError(
                f'Muon: adjust_lr_fn is "original" or "match_rms_adamw"; got {settings["adjust_lr_fn"]!r}'
            )
        refuse_complex("Muon", settings["params"])
        for p in settings["params"]:
            if p.ndim != 2:
                raise ArgumentError(f"Muon optimises matrices; got a parameter of shape {p.shape}. Give it to AdamW")

    def start(self, data: np.ndarray, group: ParamGroup) -> ParamState:
        return {"mean": np.zeros_like(data)}

    def update(self, data: Array, grad: Array, state: ParamState, group: ParamGroup, scratch: Array) -> None:
        share = group["momentum"]
        averaged(state["mean"], grad, share)
        x = (1 - share) * grad + share * state["mean"] if group["nesterov"] else state["mean"]
        rows, columns = data.shape
        x = x.T if rows > columns else x
        x = x / np.maximum(np.sqrt(np.sum(x * x)), group["eps"])
        a, b, c = group["ns_coefficients"]
        for _ in range(group["ns_steps"]):
            square = np.matmul(x, x.T)
            x = a * x + np.matmul(b * square + c * np.matmul(square, square), x)
        x = x.T if rows > columns else x
        data *= 1 - group["lr"] * group["weight_decay"]
        as_adam = group["adjust_lr_fn"] == "match_rms_adamw"
        factor = 0.2 * max(rows, columns) ** 0.5 if as_adam else max(1.0, rows / columns) ** 0.5
        moved(data, group["lr"] * factor * x)
