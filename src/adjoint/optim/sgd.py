"""Stochastic gradient descent, with momentum."""

from __future__ import annotations

import numpy as np

from adjoint.core.errors import ArgumentError
from adjoint.core.types import Settings
from adjoint.optim.optimizer import Optimizer, ParamGroup, Params


class SGD(Optimizer):
    """``p -= lr * v``, where ``v = momentum * v + (1 - dampening) * g`` and ``g = grad + weight_decay * p``.

    Args:
        params: see `Optimizer`.
        lr: the learning rate.
        momentum: 0 for plain gradient descent.
        weight_decay: the factor of the penalty ``weight_decay / 2 * p**2``.
        nesterov: step along ``g + momentum * v`` instead (Sutskever et al., 2013).
        maximize: whether to go up instead.
        dampening: takes from the share of each new gradient but the first.

    Example:
        >>> import adjoint as ad
        >>> from adjoint import optim
        >>> w = ad.tensor([1.0, 2.0], requires_grad=True)
        >>> (w**2).sum().backward()
        >>> optim.SGD([w], lr=0.25).step()
        >>> w
        tensor([0.5, 1. ], requires_grad=True)
    """

    elementwise = True

    def __init__(
        self,
        params: Params,
        lr: float = 1e-3,
        momentum: float = 0.0,
        dampening: float = 0.0,
        weight_decay: float = 0.0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
    ) -> None:
        settings = {"lr": lr, "momentum": momentum, "weight_decay": weight_decay, "nesterov": nesterov,
                    "maximize": maximize, "dampening": dampening}  # fmt: skip
        super().__init__(params, settings)

    def check(self, settings: Settings) -> None:
        super().check(settings)
        if not 0 <= settings["momentum"] < 1:
            raise ArgumentError(f"SGD: momentum is at least 0 and less than 1; got {settings['momentum']}")
        if settings["nesterov"] and not settings["momentum"]:
            raise ArgumentError("SGD: nesterov=True needs momentum, for example momentum=0.9")
        if settings["nesterov"] and settings["dampening"]:
            raise ArgumentError(f"SGD: nesterov=True goes with dampening=0; got {settings['dampening']}")

    def start(self, data: np.ndarray, group: ParamGroup) -> dict[str, np.ndarray]:
        if not group["momentum"]:
            return {}
        velocity = {"momentum": np.zeros_like(data)}
        return velocity | {"begun": np.zeros_like(data, shape=())} if group["dampening"] else velocity

    def update(
        self, data: np.ndarray, grad: np.ndarray, state: dict[str, np.ndarray], group: ParamGroup, scratch: np.ndarray
    ) -> None:
        lr, momentum, decay = group["lr"], group["momentum"], group["weight_decay"]
        if decay:
            np.multiply(data, decay, out=scratch)
            grad = np.add(scratch, grad, out=scratch)
        if momentum:
            velocity = state.setdefault("momentum", np.zeros(0, data.dtype))
            if velocity.shape != data.shape:  # momentum was switched on after the first step
                velocity = state["momentum"] = np.zeros_like(data)
            velocity *= momentum
            if group["dampening"]:
                begun = state.get("begun")
                if begun is None:  # dampening is new, or a state of PyTorch's, which has no buffer before the first
                    begun = state["begun"] = np.zeros_like(data, shape=())
                    begun[...] = np.any(velocity != 0)
                np.multiply(grad, 1 - group["dampening"] * begun, out=scratch)
                velocity += scratch
                begun[...] = 1
            else:
                velocity += grad
            if group["nesterov"]:
                np.multiply(grad, lr, out=scratch)
                data -= scratch
                lr *= momentum
            grad = velocity
        np.multiply(grad, lr, out=scratch)
        data -= scratch
