"""L-BFGS as an optimiser: steps that ask for the loss again."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from adjoint.core.errors import ArgumentError
from adjoint.core.types import Value
from adjoint.optim.optimizer import Optimizer, Params
from adjoint.optim.pairs import as_pairs, is_complex
from adjoint.tape.modes import enable_grad
from adjoint.tape.tensor import Tensor
from adjoint.tape.writes import mutations


class LBFGS(Optimizer):
    """Quasi-Newton steps from the last gradients (Nocedal and Wright, 2006, algorithms 7.4 and 7.5).

    Its step takes a function that sets gradients to zero, computes the loss, calls ``backward`` and gives the loss.

    Args:
        params: see `Optimizer`; one group.
        lr: the length of a step, where there is no line search.
        max_iter: how many iterations a step makes.
        max_eval: how often the loss is asked for at most; ``max_iter * 5 // 4``, if None.
        tolerance_grad: stop when no element of the gradient is larger.
        tolerance_change: stop when nothing changes by more.
        history_size: how many steps are remembered.
        line_search_fn: None, or "strong_wolfe" for steps of a length that satisfies both of Wolfe's conditions.

    Raises:
        ArgumentError: if there are several groups, or the line search is unknown.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> from adjoint import optim
        >>> w = ad.tensor([-1.2, 1.0], requires_grad=True)
        >>> lbfgs = optim.LBFGS([w], max_iter=100, line_search_fn="strong_wolfe")
        >>> def closure():
        ...     lbfgs.zero_grad()
        ...     loss = (1 - w[0]) ** 2 + 100 * (w[1] - w[0] ** 2) ** 2
        ...     loss.backward()
        ...     return loss
        >>> _ = lbfgs.step(closure)
        >>> w.numpy().round(4)
        array([1., 1.])
    """

    def __init__(
        self,
        params: Params,
        lr: float = 1.0,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 100,
        line_search_fn: str | None = None,
    ) -> None:
        if line_search_fn not in (None, "strong_wolfe"):
            raise ArgumentError(f'LBFGS: line_search_fn is None or "strong_wolfe"; got {line_search_fn!r}')
        super().__init__(params, {"lr": lr, "max_iter": max_iter, "max_eval": max_eval or max_iter * 5 // 4,
                                  "tolerance_grad": tolerance_grad, "tolerance_change": tolerance_change,
                                  "history_size": history_size, "line_search_fn": line_search_fn})  # fmt: skip
        if len(self.param_groups) != 1:
            raise ArgumentError("LBFGS has one group of parameters")
        self._memory: list[tuple[np.ndarray, np.ndarray]] = []
        self._last: tuple[np.ndarray, np.ndarray] | None = None

    def _parameters(self) -> list[Tensor]:
        return list(self.param_groups[0]["params"])

    def _point(self) -> np.ndarray:
        return np.concatenate([_line(p.held) for p in self._parameters()])

    def _gradient(self) -> np.ndarray:
        grads = [(p, p.grad) for p in self._parameters()]
        return np.concatenate([_line(np.zeros_like(p.held) if g is None else g.held) for p, g in grads])

    def _go_to(self, point: np.ndarray) -> None:
        start = 0
        for p in self._parameters():
            written = as_pairs(p.held) if is_complex(p.dtype) else p.held
            written[...] = point[start : start + written.size].reshape(written.shape)
            mutations.note(p.held)
            start += written.size

    def _direction(self, g: np.ndarray) -> np.ndarray:
        """Minus the gradient, times the approximate inverse Hessian."""
        q, factors = -g, []
        for s, y in reversed(self._memory):
            a = (s @ q) / (s @ y)
            factors.append(a)
            q = q - a * y
        if self._memory:
            s, y = self._memory[-1]
            q = q * ((s @ y) / (y @ y))
        for (s, y), a in zip(self._memory, reversed(factors), strict=True):
            q = q + (a - (y @ q) / (s @ y)) * s
        return q

    def step(self, closure: Callable[[], Value] | None = None) -> Value:
        """Make up to `max_iter` iterations; give the loss before the first."""
        if closure is None:
            raise ArgumentError(
                "LBFGS asks for the loss several times: step(closure), with a function that sets gradients to zero, "
                "computes the loss, calls backward and gives the loss"
            )
        settings, asked = self.param_groups[0], 0
        first: Value = None

        def evaluated(point: np.ndarray | None = None) -> tuple[float, np.ndarray]:
            nonlocal asked, first
            if point is not None:
                self._go_to(point)
            asked += 1
            with enable_grad():
                loss = closure()
            first = loss if first is None else first
            return float(loss.item() if hasattr(loss, "item") else loss), self._gradient()

        self.steps += 1
        x = self._point()
        loss, g = evaluated()
        for left in reversed(range(settings["max_iter"])):
            if np.max(np.abs(g), initial=0.0) <= settings["tolerance_grad"]:
                break
            if self._last is not None:
                s, y = x - self._last[0], g - self._last[1]
                if s @ y > 1e-10:
                    self._memory = [*self._memory, (s, y)][-settings["history_size"] :]
            fresh = self._last is None
            self._last = x, g
            d = self._direction(g)
            slope = g @ d
            if slope > -settings["tolerance_change"]:
                break
            length = min(1.0, 1.0 / np.sum(np.abs(g))) * settings["lr"] if fresh else settings["lr"]
            if settings["line_search_fn"] is None:
                moved = length * d
                x = x + moved
                self._go_to(x)
                if not left or asked >= settings["max_eval"]:  # the next step begins with an evaluation
                    break
                before = loss
                loss, g = evaluated()
            else:
                before = loss
                length, loss, g = strong_wolfe(lambda t, x=x, d=d: evaluated(x + t * d), loss, g, d, length)  # type: ignore[misc]  # bound now
                moved = length * d
                x = x + moved
                self._go_to(x)
            if asked >= settings["max_eval"]:
                break
            tiny = np.max(np.abs(moved)) <= settings["tolerance_change"]
            if tiny or abs(loss - before) < settings["tolerance_change"]:
                break
        return first

    def state_dict(self) -> dict[str, Value]:
        """The settings, and what is remembered."""
        steps = dict(zip(("s", "y"), zip(*self._memory, strict=True), strict=False))
        kept = {name: np.stack(values) for name, values in steps.items()}
        last = {} if self._last is None else {"x": self._last[0].copy(), "g": self._last[1].copy()}
        return super().state_dict() | {"memory": kept | last}

    def load_state_dict(self, state: Value) -> None:
        """Go on from what `state_dict` gave."""
        super().load_state_dict(state)
        memory = state["memory"]
        self._memory = list(zip(memory["s"], memory["y"], strict=True)) if "s" in memory else []
        self._last = (np.array(memory["x"]), np.array(memory["g"])) if "x" in memory else None

    def start(self, data: np.ndarray, group: object) -> dict[str, np.ndarray]:
        return {}


def _line(x: np.ndarray) -> np.ndarray:
    """All real numbers of an array, in its order."""
    return (as_pairs(x) if is_complex(x.dtype) else x).ravel()


class _At(NamedTuple):
    """A length, with the loss, the slope along the direction, and the gradient there."""

    length: float
    loss: float
    slope: float
    gradient: np.ndarray


def strong_wolfe(
    f: Callable[[float], tuple[float, np.ndarray]],
    start: float,
    gradient: np.ndarray,
    d: np.ndarray,
    length: float,
    decrease: float = 1e-4,
    curvature: float = 0.9,
    most: int = 25,
    tolerance: float = 1e-9,
) -> tuple[float, float, np.ndarray]:
    """A length t with ``f(t) <= f(0) + c1 t f'(0)`` and ``|f'(t)| <= c2 |f'(0)|`` (Nocedal and Wright, 3.5 and 3.6).

    Minima of cubics are tried, as PyTorch does, by the same rules.

    Args:
        f: the loss and the gradient at t.
        start, gradient: the loss and the gradient at 0.
        d: the direction.
        length: the first length.
        decrease, curvature: c1 and c2.
        most: how often `f` is asked after the first time, at most.
        tolerance: how far apart the ends of the bracket are, at least, in any parameter.

    Returns:
        The length, and loss and gradient there.
    """
    first = _At(0.0, start, float(gradient @ d), gradient)

    def at(t: float) -> _At:
        loss, g = f(t)
        return _At(t, np.inf if np.isnan(loss) else loss, float(g @ d), g)

    def is_too_high(here: _At) -> bool:
        return here.loss > start + decrease * here.length * first.slope

    before, here, asked = first, at(length), 0
    while asked < most:  # until a minimum is in between
        if is_too_high(here) or (asked > 1 and here.loss >= before.loss):
            break
        if abs(here.slope) <= -curvature * first.slope:
            return here.length, here.loss, here.gradient
        if here.slope >= 0:
            break
        least = here.length + 0.01 * (here.length - before.length)
        before, here = here, at(_between(before, here, least, 10 * here.length))
        asked += 1
    else:
        before = first
    low, high = (before, here) if before.loss <= here.loss else (here, before)
    stuck = False
    while asked < most and abs(high.length - low.length) * np.max(np.abs(d)) >= tolerance:
        near, far = sorted((low.length, high.length))
        left, right = (low, high) if low.length <= high.length else (high, low)
        t, margin = _between(left, right, near, far), 0.1 * (far - near)
        if min(far - t, t - near) < margin:  # too near an end, for the second time
            if stuck or not near < t < far:
                t, stuck = far - margin if far - t < t - near else near + margin, False
            else:
                stuck = True
        else:
            stuck = False
        here = at(t)
        asked += 1
        if is_too_high(here) or here.loss >= low.loss:
            low, high = (low, here) if low.loss <= here.loss else (here, low)
            continue
        if abs(here.slope) <= -curvature * first.slope:
            return here.length, here.loss, here.gradient
        low, high = here, (low if here.slope * (high.length - low.length) >= 0 else high)
    return low.length, low.loss, low.gradient


def _between(a: _At, b: _At, least: float, most: float) -> float:
    """Where the cubic through both has its minimum, held between `least` and `most`; their middle, if it has none."""
    mean = a.slope + b.slope - 3 * (a.loss - b.loss) / (a.length - b.length)
    square = mean * mean - a.slope * b.slope
    if not 0 <= square < math.inf:
        return 0.5 * (least + most)
    root = math.sqrt(square)
    share = (b.slope + root - mean) / (b.slope - a.slope + 2 * root)
    return min(max(b.length - (b.length - a.length) * share, least), most)
