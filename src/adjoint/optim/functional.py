"""Optimisers as pure functions: a step can be differentiated with respect to its settings and its start.

    rule = optim.functional.adam(lr)
    state = rule.init(params)
    params, state = rule.update(params, ad.grad(loss)(params), state)

Nothing is written in place. Parameters and gradients are trees; a setting is a number, a tensor, or a tree like the
parameters. The steps are those of `optim.SGD` and `optim.Adam`, which are faster, and not differentiable.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from adjoint.core.errors import ArgumentError
from adjoint.core.objects.trees import flatten
from adjoint.core.types import Array, Value

OptState = Value


class PureOptimizer(NamedTuple):
    """An optimiser: ``init(params)`` gives the first state, ``update(params, grads, state)`` new params and state."""

    init: Callable[[Value], OptState]
    update: Callable[[Value, Value, OptState], tuple[Value, OptState]]


def sgd(lr: object, momentum: object = 0.0, weight_decay: object = 0.0, nesterov: bool = False) -> PureOptimizer:
    """Gradient descent; the formula and the settings are those of `optim.SGD`.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> from adjoint.optim import functional
        >>> def end(lr):  # of two steps down x**2: x = (1 - 2 lr)**2
        ...     rule, x = functional.sgd(lr), 1.0
        ...     state = rule.init(x)
        ...     for _ in range(2):
        ...         x, state = rule.update(x, 2 * x, state)
        ...     return x
        >>> ad.grad(end)(0.25)
        np.float64(-2.0)
    """

    def init(params: object) -> OptState:
        return [np.zeros_like(p) for p in flatten(params)[0]]

    def update(params: object, grads: Array, state: OptState) -> tuple[Value, OptState]:
        leaves, rebuild = flatten(params)
        rates, momenta, decays = (_each(setting, leaves) for setting in (lr, momentum, weight_decay))
        found, velocities = [], []
        for p, g, v, rate, mu, decay in zip(leaves, _like(grads, leaves), state, rates, momenta, decays, strict=True):
            g = g + decay * p
            v = mu * v + g
            found.append(p - rate * (g + mu * v if nesterov else v))
            velocities.append(v)
        return rebuild(found), velocities

    return PureOptimizer(init, update)


def adam(
    lr: object,
    betas: tuple[Value, Value] = (0.9, 0.999),
    eps: object = 1e-8,
    weight_decay: object = 0.0,
    decoupled: bool = False,
) -> PureOptimizer:
    """Adam; the formula and the settings are those of `optim.Adam`, or with `decoupled` of `optim.AdamW`.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> from adjoint.optim import functional
        >>> def end(lr):  # the first step has the length lr, whatever the gradient
        ...     rule = functional.adam(lr)
        ...     return rule.update(1.0, 123.0, rule.init(1.0))[0]
        >>> ad.grad(end)(0.5).round(6)
        np.float64(-1.0)
    """
    b1, b2 = betas

    def init(params: Array) -> OptState:
        zeros = [np.zeros_like(p) for p in flatten(params)[0]]
        return 0.0, zeros, zeros  # to `compile`, floats are numbers that change

    def step(rate: Array, t: Array, m: Array, v: Array) -> Array:
        return rate * (m / (1 - b1**t)) / (_root(v / (1 - b2**t)) + eps)

    def update(params: Array, grads: Array, state: OptState) -> tuple[Value, OptState]:
        leaves, rebuild = flatten(params)
        t = state[0] + 1
        found, means, squares = [], [], []
        rates, decays = _each(lr, leaves), _each(weight_decay, leaves)
        for p, g, m, v, rate, decay in zip(leaves, _like(grads, leaves), *state[1:], rates, decays, strict=True):
            if decoupled:
                p = p - rate * decay * p
            else:
                g = g + decay * p
            m = b1 * m + (1 - b1) * g
            v = _of_parts(lambda v, g: b2 * v + (1 - b2) * g * g, v, g)
            found.append(p - _of_parts(partial(step, rate, t), m, v))
            means.append(m)
            squares.append(v)
        return rebuild(found), (t, means, squares)

    return PureOptimizer(init, update)


def lbfgs(lr: object = 1.0, history: int = 10) -> PureOptimizer:
    """L-BFGS with steps of a given length (Nocedal and Wright, Numerical Optimization, 2006, algorithm 7.4).

    The first step is shortened to at most `lr`, as the curvature is not known yet. A change of the gradient that does
    not go along with the step is left out.

    Args:
        lr: the factor of a step; 1 is Newton's.
        history: how many steps to remember.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> from adjoint.optim import functional
        >>> loss = lambda x: np.sum(np.array([1.0, 10.0]) * x**2)
        >>> rule, x = functional.lbfgs(), np.ones(2)
        >>> state = rule.init(x)
        >>> for _ in range(12):
        ...     x, state = rule.update(x, ad.grad(loss)(x), state)
        >>> bool(loss(x) < 1e-12)
        True
    """
    if history < 1:
        raise ArgumentError(f"lbfgs: history is at least 1; got {history}")

    def init(params: object) -> OptState:
        return None, ()

    def update(params: object, grads: Array, state: OptState) -> tuple[Value, OptState]:
        leaves, rebuild = flatten(params)
        gradient = _like(grads, leaves)
        last, pairs = state
        scale: Array = 1.0
        if last is None:
            scale = 1.0 / np.maximum(1.0, sum(_size(g) for g in gradient))
        else:
            s, y = (
                [new - old for new, old in zip(*both, strict=True)] for both in ((leaves, last[0]), (gradient, last[1]))
            )
            along = _dot(s, y)
            if along > 1e-10:
                pairs = (*pairs, (s, y, 1.0 / along))[-history:]
            if pairs:
                scale = 1.0 / (pairs[-1][2] * _dot(pairs[-1][1], pairs[-1][1]))
        direction, weights = gradient, []
        for s, y, curvature in reversed(pairs):
            weights.append(curvature * _dot(s, direction))
            direction = _plus(direction, -weights[-1], y)
        direction = [scale * d for d in direction]
        for (s, y, curvature), weight in zip(pairs, reversed(weights), strict=True):
            direction = _plus(direction, weight - curvature * _dot(y, direction), s)
        found = [p - rate * d for p, rate, d in zip(leaves, _each(lr, leaves), direction, strict=True)]
        return rebuild(found), ((leaves, gradient), pairs)

    return PureOptimizer(init, update)


def _size(g: Array) -> Array:
    """The sum of the sizes of all real numbers."""
    return np.sum(np.abs(np.real(g)) + np.abs(np.imag(g))) if np.iscomplexobj(g) else np.sum(np.abs(g))


def _root(x: Array) -> Array:
    """The square root; at 0 its derivative is taken as 0, so that a parameter without a gradient stays out of it."""
    positive = x > 0
    return np.where(positive, np.sqrt(np.where(positive, x, 1.0)), 0.0)


def _of_parts(rule: Callable[[Array, Array], Array], x: Array, y: Array) -> Array:
    """A rule for real numbers; of complex ones, for their real and for their imaginary parts."""
    if not np.iscomplexobj(y):
        return rule(x, y)
    return rule(np.real(x), np.real(y)) + 1j * rule(np.imag(x), np.imag(y))


def _each(setting: object, leaves: list[Array]) -> list[object]:
    """A setting for each leaf of the parameters."""
    found, _ = flatten(setting)
    if len(found) not in (1, len(leaves)):
        raise ArgumentError(f"a setting is one number, or a tree like the parameters, with {len(leaves)} leaves; "
                            f"got {len(found)}")  # fmt: skip
    return found * len(leaves) if len(found) < len(leaves) else found


def _like(grads: Array, leaves: list[Array]) -> list[Array]:
    found, _ = flatten(grads)
    if len(found) != len(leaves) or any(np.shape(g) != np.shape(p) for g, p in zip(found, leaves, strict=True)):
        shapes = [np.shape(p) for p in leaves]
        raise ArgumentError(f"gradients have the structure and shapes of the parameters, {shapes}; "
                            f"got {[np.shape(g) for g in found]}")  # fmt: skip
    return found


def _dot(a: list[Array], b: list[Array]) -> Value:
    return sum(np.sum(np.real(np.conj(x) * y) if np.iscomplexobj(x) else x * y) for x, y in zip(a, b, strict=True))


def _plus(a: list[Array], weight: Array, b: list[Array]) -> list[object]:
    return [x + weight * y for x, y in zip(a, b, strict=True)]
