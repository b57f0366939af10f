"""Older optimisers, and one that keeps little: averaged SGD, Rprop, Adafactor."""

from __future__ import annotations

import numpy as np

from adjoint.core.errors import ArgumentError
from adjoint.core.types import Array, Settings
from adjoint.optim.adam import counted, powered
from adjoint.optim.adaptive import averaged, decayed, moved
from adjoint.optim.optimizer import Optimizer, ParamGroup, Params, ParamState
from adjoint.optim.pairs import refuse_complex


class ASGD(Optimizer):
    """Gradient descent with falling rates, and the mean of the parameters beside it (Polyak and Juditsky, 1992).

    ``p -= r * (g + lambd * p)`` with ``r = lr / (1 + lambd * lr * (t - 1))**alpha`` at step t. The mean stands in the
    state under ``mean``: the parameter itself up to step `t0`, then the mean over all steps since. A rate that a
    schedule sets counts at once; in PyTorch, it counts one step later.

    Args:
        params: see `Optimizer`.
        lr: the first learning rate.
        lambd: how fast parameters and the rate shrink.
        alpha: the power of the rate's fall.
        t0: the step at which the mean begins.
        weight_decay: added to the gradient, times the parameter.
        maximize: whether to go up instead.

    Example:
        >>> import adjoint as ad
        >>> from adjoint import optim
        >>> w = ad.tensor([1.0, -2.0], requires_grad=True)
        >>> (w**2).sum().backward()
        >>> optim.ASGD([w], lr=0.25, lambd=0.0).step()
        >>> w
        tensor([ 0.5, -1. ], requires_grad=True)
    """

    def __init__(
        self,
        params: Params,
        lr: float = 1e-2,
        lambd: float = 1e-4,
        alpha: float = 0.75,
        t0: float = 1e6,
        weight_decay: float = 0.0,
        *,
        maximize: bool = False,
    ) -> None:
        super().__init__(params, {"lr": lr, "lambd": lambd, "alpha": alpha, "t0": t0, "weight_decay": weight_decay,
                                  "maximize": maximize})  # fmt: skip

    def start(self, data: np.ndarray, group: ParamGroup) -> ParamState:
        return {"mean": np.zeros_like(data), "step": np.zeros((), np.int64)}

    def update(self, data: Array, grad: Array, state: ParamState, group: ParamGroup, scratch: Array) -> None:
        t, lr, lambd = counted(state), group["lr"], group["lambd"]
        rate = lr / powered(1 + lambd * lr * (t - 1), group["alpha"])
        moved(data, rate * (decayed(grad, data, group) + lambd * data))
        averaged(state["mean"], data, 1 - 1 / np.maximum(1.0, t - 1 - group["t0"]))


class Rprop(Optimizer):
    """Steps of each element's own size, by the signs of its gradients alone (Riedmiller and Braun, 1993).

    A size grows while the sign stays, and shrinks when it turns; then this step is left out.

    Args:
        params: see `Optimizer`.
        lr: the first size of all steps.
        etas: the factors by which sizes shrink and grow.
        step_sizes: the smallest and the largest size.
        maximize: whether to go up instead.

    Raises:
        ArgumentError: unless the factors are below and above 1.

    Example:
        >>> import adjoint as ad
        >>> from adjoint import optim
        >>> w = ad.tensor([1.0, -2.0], requires_grad=True)
        >>> (w**2).sum().backward()
        >>> optim.Rprop([w], lr=0.5).step()
        >>> w
        tensor([ 0.5, -1.5], requires_grad=True)
    """

    def __init__(
        self,
        params: Params,
        lr: float = 1e-2,
        etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50.0),
        *,
        maximize: bool = False,
    ) -> None:
        super().__init__(params, {"lr": lr, "etas": etas, "step_sizes": step_sizes, "maximize": maximize})

    def check(self, settings: Settings) -> None:
        super().check(settings)
        down, up = settings["etas"]
        if not 0 < down < 1 < up:
            raise ArgumentError(f"Rprop: etas are a factor below 1 and one above; got {settings['etas']}")

    def start(self, data: np.ndarray, group: ParamGroup) -> ParamState:
        begun = np.zeros_like(data, shape=())  # lr may change before the first gradient comes
        return {"before": np.zeros_like(data), "size": np.full_like(data, group["lr"]), "begun": begun}

    def update(self, data: Array, grad: Array, state: ParamState, group: ParamGroup, scratch: Array) -> None:
        (down, up), (least, most) = group["etas"], group["step_sizes"]
        before, size = state["before"], state["size"]
        begun = state.setdefault("begun", np.ones_like(data, shape=()))
        size[...] = np.where(begun, size, group["lr"])
        begun[...] = 1
        turned = grad * before
        factor = np.where(turned > 0, up, np.where(turned < 0, down, 1.0)).astype(data.dtype)
        size[...] = np.clip(size * factor, least, most)
        before[...] = np.where(turned < 0, 0.0, grad)
        moved(data, np.sign(before) * size)


class Adafactor(Optimizer):
    """Adam that keeps, of a matrix, only the mean squares of its rows and columns (Shazeer and Stern, 2018).

    Args:
        params: see `Optimizer`.
        lr: the largest learning rate; ``min(lr, 1 / sqrt(t))`` at step t, times the parameter's own size.
        beta2_decay: means forget a share of ``t**beta2_decay``.
        eps: the smallest mean square is ``eps[0]**2``, None for the dtype's own; the smallest size of a parameter
            is ``eps[1]``.
        d: steps whose root mean square is above it are shortened to it.
        weight_decay: shrinks the parameters themselves.
        maximize: whether to go up instead.

    Example:
        >>> import adjoint as ad
        >>> from adjoint import optim
        >>> w = ad.tensor([[1.0, -2.0]], requires_grad=True)
        >>> (w**2).sum().backward()
        >>> optim.Adafactor([w], lr=0.1).step()
        >>> w.numpy().round(3)
        array([[ 0.842, -1.842]])
    """

    def __init__(
        self,
        params: Params,
        lr: float = 1e-2,
        beta2_decay: float = -0.8,
        eps: tuple[float | None, float] = (None, 1e-3),
        d: float = 1.0,
        weight_decay: float = 0.0,
        *,
        maximize: bool = False,
    ) -> None:
        super().__init__(params, {"lr": lr, "beta2_decay": beta2_decay, "eps": eps, "d": d,
                                  "weight_decay": weight_decay, "maximize": maximize})  # fmt: skip

    def check(self, settings: Settings) -> None:
        super().check({name: value for name, value in settings.items() if name != "eps"})
        refuse_complex("Adafactor", settings["params"])
        first, second = settings["eps"]
        if not (second >= 0 and (first is None or first >= 0)) or not settings["d"] >= 1:
            raise ArgumentError(
                f"Adafactor: eps is a pair, not negative, and d at least 1; got {settings['eps']} and {settings['d']}"
            )

    def start(self, data: np.ndarray, group: ParamGroup) -> ParamState:
        step = {"step": np.zeros((), np.int64)}
        if data.ndim < 2:
            return step | {"square": np.zeros_like(data)}
        return step | {"rows": np.zeros_like(data[..., :1]), "columns": np.zeros_like(data[..., :1, :])}

    def update(self, data: Array, grad: Array, state: ParamState, group: ParamGroup, scratch: Array) -> None:
        t, lr = counted(state), group["lr"]
        least, smallest = group["eps"]
        least = float(np.finfo(data.dtype).eps) if least is None else least
        kept = 1 - powered(t, group["beta2_decay"])
        size = np.maximum(smallest, np.sqrt(np.mean(data * data)))
        data *= 1 - lr * group["weight_decay"]
        square = grad * grad
        if data.ndim < 2:
            averaged(state["square"], square, kept)
            square = state["square"]
        else:
            rows, columns = state["rows"], state["columns"]
            averaged(rows, np.mean(square, axis=-1, keepdims=True), kept)
            averaged(columns, np.mean(square, axis=-2, keepdims=True), kept)
            square = rows * columns / np.maximum(np.mean(rows, axis=-2, keepdims=True), least)
        step = grad / np.sqrt(np.maximum(square, least * least))
        longer = np.maximum(1.0, np.sqrt(np.mean(step * step)) / group["d"])
        moved(data, np.minimum(lr, 1 / np.sqrt(t)) * size / longer * step)
