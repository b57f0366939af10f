"""Optimisers that divide by the size of all gradients so far: RMSprop, Adagrad, Adadelta."""

from __future__ import annotations

import numpy as np

from adjoint.core.types import Array
from adjoint.optim.adam import counted
from adjoint.optim.optimizer import Optimizer, ParamGroup, Params, ParamState


def decayed(grad: Array, data: Array, group: ParamGroup) -> Array:
    """The gradient with that of the penalty ``weight_decay / 2 * p**2``."""
    return grad + group["weight_decay"] * data if group["weight_decay"] else grad


def averaged(average: Array, new: Array, share: float) -> None:
    """Forget a share of an average, in place, and put `new` there."""
    average *= share
    average += (1 - share) * new


def moved(data: Array, step: Array) -> None:
    """Take `step` from the parameter, whose dtype stays."""
    data -= step.astype(data.dtype) if step.dtype != data.dtype else step


class RMSprop(Optimizer):
    """``p -= lr * g / (sqrt(v) + eps)`` with the running mean v of g**2 (Hinton, lecture 6e, 2012).

    Args:
        params: see `Optimizer`.
        lr: the learning rate.
        alpha: how slowly the mean forgets.
        eps: keeps the division finite.
        weight_decay: added to the gradient, times the parameter.
        momentum: 0 for none.
        centered: whether the mean of g is taken from v, squared.
        maximize: whether to go up instead.

    Example:
        >>> import adjoint as ad
        >>> from adjoint import optim
        >>> w = ad.tensor([1.0, -2.0], requires_grad=True)
        >>> (w**2).sum().backward()
        >>> optim.RMSprop([w], lr=0.1).step()
        >>> w.numpy().round(6)
        array([ 0., -1.])
    """

    def __init__(
        self,
        params: Params,
        lr: float = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        momentum: float = 0.0,
        centered: bool = False,
        *,
        maximize: bool = False,
    ) -> None:
        super().__init__(params, {"lr": lr, "alpha": alpha, "eps": eps, "weight_decay": weight_decay,
                                  "momentum": momentum, "centered": centered, "maximize": maximize})  # fmt: skip

    def start(self, data: np.ndarray, group: ParamGroup) -> ParamState:
        names = ["square", *(["momentum"] if group["momentum"] else []), *(["mean"] if group["centered"] else [])]
        return {name: np.zeros_like(data) for name in names}

    def update(self, data: Array, grad: Array, state: ParamState, group: ParamGroup, scratch: Array) -> None:
        grad = decayed(grad, data, group)
        averaged(state["square"], grad * grad, group["alpha"])
        square = state["square"]
        if group["centered"]:
            averaged(state["mean"], grad, group["alpha"])
            square = square - state["mean"] * state["mean"]
        step = grad / (np.sqrt(square) + group["eps"])
        if group["momentum"]:
            velocity = state["momentum"]
            velocity *= group["momentum"]
            velocity += step
            step = velocity
        moved(data, group["lr"] * step)


class Adagrad(Optimizer):
    """``p -= lr * g / (sqrt(sum(g**2)) + eps)`` over all steps (Duchi et al., 2011).

    Args:
        params: see `Optimizer`.
        lr: the learning rate; ``lr / (1 + (t - 1) * lr_decay)`` at step t.
        lr_decay: see there.
        weight_decay: added to the gradient, times the parameter.
        initial_accumulator_value: what the sums begin with.
        eps: keeps the division finite.
        maximize: whether to go up instead.

    Example:
        >>> import adjoint as ad
        >>> from adjoint import optim
        >>> w = ad.tensor([1.0, -2.0], requires_grad=True)
        >>> (w**2).sum().backward()
        >>> optim.Adagrad([w], lr=0.5).step()
        >>> w
        tensor([ 0.5, -1.5], requires_grad=True)
    """

    def __init__(
        self,
        params: Params,
        lr: float = 1e-2,
        lr_decay: float = 0.0,
        weight_decay: float = 0.0,
        initial_accumulator_value: float = 0.0,
        eps: float = 1e-10,
        *,
        maximize: bool = False,
    ) -> None:
        super().__init__(params, {"lr": lr, "lr_decay": lr_decay, "weight_decay": weight_decay,
                                  "initial_accumulator_value": initial_accumulator_value, "eps": eps,
                                  "maximize": maximize})  # fmt: skip

    def start(self, data: np.ndarray, group: ParamGroup) -> ParamState:
        return {"sum": np.full_like(data, group["initial_accumulator_value"]), "step": np.zeros((), np.int64)}

    def update(self, data: Array, grad: Array, state: ParamState, group: ParamGroup, scratch: Array) -> None:
        t = counted(state)
        grad = decayed(grad, data, group)
        state["sum"] += grad * grad
        rate = group["lr"] / (1 + (t - 1) * group["lr_decay"])
        moved(data, rate * grad / (np.sqrt(state["sum"]) + group["eps"]))


class Adadelta(Optimizer):
    """Steps in units of the steps before (Zeiler, 2012).

    Args:
        params: see `Optimizer`.
        lr: the factor of each step.
        rho: how slowly the means of g**2 and of squared steps forget.
        eps: keeps the division finite.
        weight_decay: added to the gradient, times the parameter.
        maximize: whether to go up instead.

    Example:
        >>> import adjoint as ad
        >>> from adjoint import optim
        >>> w = ad.tensor([1.0], requires_grad=True)
        >>> (w**2).sum().backward()
        >>> optim.Adadelta([w]).step()
        >>> w.numpy().round(4)
        array([0.9968])
    """

    def __init__(
        self,
        params: Params,
        lr: float = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0.0,
        *,
        maximize: bool = False,
    ) -> None:
        super().__init__(params, {"lr": lr, "rho": rho, "eps": eps, "weight_decay": weight_decay, "maximize": maximize})

    def start(self, data: np.ndarray, group: ParamGroup) -> ParamState:
        return {"square": np.zeros_like(data), "moved": np.zeros_like(data)}

    def update(self, data: Array, grad: Array, state: ParamState, group: ParamGroup, scratch: Array) -> None:
        grad, eps = decayed(grad, data, group), group["eps"]
        averaged(state["square"], grad * grad, group["rho"])
        step = np.sqrt(state["moved"] + eps) / np.sqrt(state["square"] + eps) * grad
        averaged(state["moved"], step * step, group["rho"])
        moved(data, group["lr"] * step)
