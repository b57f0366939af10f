"""Adam, and AdamW."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from adjoint.core.box import Box
from adjoint.core.errors import ArgumentError
from adjoint.core.types import Array, Settings
from adjoint.optim.optimizer import Optimizer, ParamGroup, Params


class Moments(Optimizer):
    """What those with running means of g and of its size share."""

    def check(self, settings: Settings) -> None:
        super().check(settings)
        if not all(0 <= beta < 1 for beta in settings["betas"]):
            raise ArgumentError(f"{self._name}: betas are at least 0 and less than 1; got {settings['betas']}")

    def start(self, data: np.ndarray, group: ParamGroup) -> dict[str, np.ndarray]:
        return {"mean": np.zeros_like(data), "square": np.zeros_like(data), "step": np.zeros((), np.int64)}


class Adam(Moments):
    """Steps of even size in every direction (Kingma and Ba, Adam, 2015, algorithm 1).

    ``m = b1 * m + (1 - b1) * g``; ``v = b2 * v + (1 - b2) * g**2``;
    ``p -= lr * (m / (1 - b1**t)) / (sqrt(v / (1 - b2**t)) + eps)``, with t the parameter's own step count.

    Args:
        params: see `Optimizer`.
        lr: the learning rate.
        betas: ``(b1, b2)``, how slowly the two averages forget.
        eps: keeps the division finite.
        weight_decay: added to the gradient, times the parameter.
        amsgrad: divide by the largest v so far (Reddi et al., On the Convergence of Adam, 2018).
        maximize: whether to go up instead.
        decoupled_weight_decay: whether `weight_decay` shrinks the parameters themselves, as in `AdamW`.

    Example:
        >>> import adjoint as ad
        >>> from adjoint import optim
        >>> w = ad.tensor([1.0, -2.0], requires_grad=True)
        >>> (w**2).sum().backward()
        >>> optim.Adam([w], lr=0.5).step()
        >>> w
        tensor([ 0.5, -1.5], requires_grad=True)
    """

    decoupled = False
    elementwise = True

    def __init__(
        self,
        params: Params,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
        decoupled_weight_decay: bool = False,
    ) -> None:
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay,
                                  "amsgrad": amsgrad, "maximize": maximize,
                                  "decoupled_weight_decay": decoupled_weight_decay})  # fmt: skip

    def start(self, data: np.ndarray, group: ParamGroup) -> dict[str, np.ndarray]:
        most = {"most": np.zeros_like(data)} if group["amsgrad"] else {}
        return super().start(data, group) | most

    def update(
        self, data: np.ndarray, grad: np.ndarray, state: dict[str, np.ndarray], group: ParamGroup, scratch: np.ndarray
    ) -> None:
        lr, (b1, b2), decay = group["lr"], group["betas"], group["weight_decay"]
        t = counted(state)
        if decay and (self.decoupled or group["decoupled_weight_decay"]):
            data *= 1 - lr * decay
        elif decay:
            np.multiply(data, decay, out=scratch)
            grad = np.add(scratch, grad, out=scratch)
        known = type(t) is int and type(b1) is float and type(b2) is float  # for all parameters the same
        first, spread = (_corrections if known else _corrections.__wrapped__)(b1, b2, t)
        rate = as_python(lr / first)
        most = [state["most"]] if group["amsgrad"] else []
        alone = grad is scratch
        for block in in_blocks(data, grad, state["mean"], state["square"], scratch, *most):
            data, grad, mean, square, scratch = block[:5]
            square *= b2
            mean *= b1
            if alone:  # the only buffer holds the gradient: take its share of both averages from it in turn
                scratch *= 1 - b1
                mean += scratch
                np.multiply(scratch, scratch, out=scratch)
                scratch *= (1 - b2) / (1 - b1) ** 2
            else:
                np.multiply(grad, 1 - b1, out=scratch)
                mean += scratch
                np.multiply(grad, grad, out=scratch)
                scratch *= 1 - b2
            square += scratch
            np.sqrt(np.maximum(block[5], square, out=block[5]) if most else square, out=scratch)
            scratch *= spread
            scratch += group["eps"]
            np.divide(mean, scratch, out=scratch)
            scratch *= rate
            data -= scratch


_BLOCK = 1 << 16


def in_blocks(*arrays: Array) -> list[tuple[Array, ...]]:
    """Arrays of one shape in parts so small that all of them stay in the cache while they are gone through."""
    first = arrays[0]
    if not isinstance(first, np.ndarray) or first.size <= 2 * _BLOCK or not all(a.flags.c_contiguous for a in arrays):
        return [arrays]
    lines = [a.reshape(-1) for a in arrays]
    return [tuple(line[k : k + _BLOCK] for line in lines) for k in range(0, first.size, _BLOCK)]


def counted(state: dict[str, Array]) -> Array:
    """The number of this step of a parameter, which is counted here."""
    count = state["step"]
    if type(count) is np.ndarray:
        count += 1
        return count.item()
    state["step"] += 1
    return as_python(state["step"])


def powered(base: Array, t: Array) -> Array:
    """`base` to the `t`, by NumPy as in captured steps: Python's power is at times one bit away."""
    return as_python(np.power(base, t))


@lru_cache(maxsize=64)
def _corrections(b1: Array, b2: Array, t: Array) -> tuple[Array, Array]:
    """What step `t` corrects for averages that began at 0: the first divides, the second multiplies a root."""
    return 1 - powered(b1, t), as_python(1 / (1 - powered(b2, t)) ** 0.5)


def as_python(number: Array) -> Array:
    """A number of NumPy's as one of Python's, which leaves the dtypes of arrays as they are; in captured steps, too."""
    if isinstance(number, Box):
        return number if number.is_python else number.of_python()  # type: ignore[attr-defined]  # every box has it
    return number.item() if isinstance(number, np.ndarray | np.generic) else number


class AdamW(Adam):
    """Adam whose weight decay shrinks the parameters themselves (Loshchilov and Hutter, 2019).

    Args:
        params, lr, betas, eps: as in `Adam`.
        weight_decay: each step takes ``lr * weight_decay * p`` from ``p`` first.
        amsgrad, maximize: as in `Adam`.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> from adjoint import optim
        >>> w = ad.tensor([1.0], requires_grad=True)
        >>> w.grad = np.zeros(1)
        >>> optim.AdamW([w], lr=0.1, weight_decay=0.5).step()
        >>> w
        tensor([0.95], requires_grad=True)
    """

    decoupled = True

    def __init__(
        self,
        params: Params,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.01,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
    ) -> None:
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad, maximize=maximize)
