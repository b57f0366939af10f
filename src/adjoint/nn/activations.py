"""Activations as modules, to stand between layers in `Sequential`. Their formulas are in `adjoint.ops.activation`."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.nn.module import Module
from adjoint.ops import activation


class ReLU(Module):
    """The larger of x and 0; its slope at 0 is 0."""

    def forward(self, x: Any) -> Any:
        return activation.relu(x)


class Tanh(Module):
    """The hyperbolic tangent."""

    def forward(self, x: Any) -> Any:
        return np.tanh(x)


class Sigmoid(Module):
    """1 / (1 + exp(-x)), for x of any size."""

    def forward(self, x: Any) -> Any:
        return activation.sigmoid(x)


class SiLU(Module):
    """x * sigmoid(x)."""

    def forward(self, x: Any) -> Any:
        return activation.silu(x)


class Softplus(Module):
    """log(1 + exp(x)), for x of any size."""

    def forward(self, x: Any) -> Any:
        return activation.softplus(x)


class GELU(Module):
    """x times the normal distribution's cdf; see `adjoint.gelu`."""

    def __init__(self, approximate: str = "none") -> None:
        self.approximate = approximate

    def forward(self, x: Any) -> Any:
        return activation.gelu(x, self.approximate)

    def extra_repr(self) -> str:
        return f"approximate={self.approximate!r}"


class LeakyReLU(Module):
    """x where it is positive, ``negative_slope * x`` elsewhere."""

    def __init__(self, negative_slope: float = 0.01) -> None:
        self.negative_slope = negative_slope

    def forward(self, x: Any) -> Any:
        return activation.leaky_relu(x, self.negative_slope)

    def extra_repr(self) -> str:
        return f"negative_slope={self.negative_slope}"


class ELU(Module):
    """x where it is positive, ``alpha * (exp(x) - 1)`` elsewhere."""

    def __init__(self, alpha: float = 1.0) -> None:
        self.alpha = alpha

    def forward(self, x: Any) -> Any:
        return activation.elu(x, self.alpha)

    def extra_repr(self) -> str:
        return f"alpha={self.alpha}"


class Softmax(Module):
    """exp(x) / sum(exp(x)) along axis `dim`."""

    def __init__(self, dim: int = -1) -> None:
        self.dim = dim

    def forward(self, x: Any) -> Any:
        return activation.softmax(x, axis=self.dim)

    def extra_repr(self) -> str:
        return f"dim={self.dim}"
