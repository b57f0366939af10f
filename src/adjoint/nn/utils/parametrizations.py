"""Weight and spectral normalisation, and orthogonal weights."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from adjoint.core.errors import ArgumentError
from adjoint.core.messages.elsewhere import looked_up
from adjoint.core.types import Array, Value
from adjoint.nn.init import Rng
from adjoint.nn.module import Module
from adjoint.nn.utils.orthogonal import orthogonal
from adjoint.nn.utils.parametrize import register_parametrization
from adjoint.tape.tensor import Tensor
from adjoint.tape.writes import mutations

__all__ = ["orthogonal", "spectral_norm", "weight_norm"]


class _WeightNorm(Module):
    """``v * (g / norm(v))``, with the norm over all axes but `dim`."""

    def __init__(self, dim: int | None) -> None:
        self.dim = dim

    def _norm(self, v: Array) -> Array:
        if self.dim is None:
            return np.linalg.norm(np.reshape(v, -1))
        axes = tuple(i for i in range(np.ndim(v)) if i != self.dim % np.ndim(v))
        return np.sqrt(np.sum(v * v, axis=axes, keepdims=True))

    def forward(self, g: Array, v: Array) -> Array:
        return v * (g / self._norm(v))

    def right_inverse(self, weight: Array) -> tuple[Array, Array]:
        return self._norm(weight), weight


def weight_norm(module: Module, name: str = "weight", dim: int | None = 0) -> Module:
    """Learn length and direction of a weight apart: ``g * v / norm(v)`` (Salimans and Kingma, 2016).

    Args:
        module: has the weight.
        name: its name.
        dim: the axis whose parts have a length each; None for one length of all.

    Example:
        >>> from adjoint import nn
        >>> layer = nn.utils.parametrizations.weight_norm(nn.Linear(3, 2, rng=0))
        >>> [(name, p.shape) for name, p in layer.named_parameters()][1]
        ('parametrizations.weight.original0', (2, 1))
    """
    return register_parametrization(module, name, _WeightNorm(dim))


class _SpectralNorm(Module):
    """A weight divided by its largest singular value, which power iterations follow from call to call."""

    _u: Tensor
    _v: Tensor

    def __init__(self, weight: Array, iterations: int, dim: int, eps: float, rng: Rng) -> None:
        self.dim, self.iterations, self.eps = dim, iterations, eps
        if np.ndim(weight) > 1:
            rows = self._matrix(weight.detach()).numpy()
            draw = np.random.default_rng(rng)
            for name, n in zip(("_u", "_v"), rows.shape, strict=True):
                self.register_buffer(name, _unit(draw.normal(size=n).astype(rows.dtype), eps))
            self._iterate(rows, 15)

    def _matrix(self, weight: Array) -> Array:
        return np.reshape(np.moveaxis(weight, self.dim, 0), (np.shape(weight)[self.dim], -1))

    def _iterate(self, rows: np.ndarray, count: int) -> None:
        for _ in range(count):
            self._u.held[...] = _unit(rows @ self._v.held, self.eps)
            self._v.held[...] = _unit(rows.T @ self._u.held, self.eps)
        mutations.note(self._u.held)
        mutations.note(self._v.held)

    def forward(self, weight: Array) -> Array:
        if np.ndim(weight) == 1:
            return weight / np.maximum(np.linalg.norm(weight), self.eps)
        rows = self._matrix(weight)
        if self.training:
            self._iterate(rows.detach().numpy(), self.iterations)
        return weight / np.dot(self._u.detach().copy(), np.matmul(rows, self._v.detach().copy()))

    def right_inverse(self, weight: Array) -> Array:
        return weight


def _unit(x: np.ndarray, eps: float) -> Array:
    return x / max(float(np.linalg.norm(x)), eps)


def spectral_norm(
    module: Module,
    name: str = "weight",
    n_power_iterations: int = 1,
    eps: float = 1e-12,
    dim: int | None = None,
    *,
    rng: Rng = None,
) -> Module:
    """Divide a weight by its largest singular value (Miyato et al., 2018).

    Args:
        module: has the weight.
        name: its name.
        n_power_iterations: how many steps of the power iteration a call in training makes.
        eps: no length is less.
        dim: the axis of the outputs; that of the layer if not given (1 for transposed convolutions, 0 for others).
        rng: for the vectors at which the iteration starts.

    Raises:
        ArgumentError: if there are no iterations.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> layer = nn.utils.parametrizations.spectral_norm(nn.Linear(3, 2, rng=0), rng=1)
        >>> round(float(np.linalg.svd(layer.weight.detach().numpy(), compute_uv=False)[0]), 3)
        1.0
    """
    if n_power_iterations < 1:
        raise ArgumentError(f"spectral_norm: n_power_iterations is at least 1; got {n_power_iterations}")
    if dim is None:
        dim = 1 if type(module).__name__.startswith("ConvTranspose") else 0
    weight = getattr(module, name)
    return register_parametrization(module, name, _SpectralNorm(weight, n_power_iterations, dim, eps, rng))


if not TYPE_CHECKING:  # else every misspelt name would be one of any kind

    def __getattr__(name: str) -> Value:
        raise looked_up("nn.utils.parametrizations", name)
