"""Gradients that are too large, made smaller in place."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from adjoint.core.box import Box
from adjoint.core.errors import ArgumentError, GradientError
from adjoint.core.types import Array
from adjoint.tape.tensor import Tensor


def _gradients(parameters: Tensor | Iterable[Tensor]) -> list[np.ndarray]:
    parameters = [parameters] if isinstance(parameters, Tensor) else parameters
    return [p.grad.held for p in parameters if p.grad is not None]


def _norm(g: Array, norm_type: float) -> Array:
    """The norm of a gradient's elements; of half precision in single, in which squares do not overflow."""
    return np.linalg.norm((g.astype(np.float32) if g.dtype == np.float16 else g).ravel(), norm_type)


def clip_grad_norm(
    parameters: Tensor | Iterable[Tensor], max_norm: float, norm_type: float = 2.0, error_if_nonfinite: bool = False
) -> float:
    """Scale all gradients by one factor, so that their norm, taken together, is at most `max_norm`.

    Args:
        parameters: tensors; those without a gradient are skipped.
        max_norm: positive.
        norm_type: the p of the norm; ``float("inf")`` for the largest element.
        error_if_nonfinite: raise if the norm is inf or nan; otherwise the gradients are then left as they are.

    Returns:
        The norm before.

    Raises:
        ArgumentError: if `max_norm` or `norm_type` is not positive.
        GradientError: see `error_if_nonfinite`.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> from adjoint import optim
        >>> w = ad.tensor([0.0, 0.0], requires_grad=True)
        >>> w.grad = np.array([3.0, 4.0])
        >>> optim.clip_grad_norm([w], 1.0)
        5.0
        >>> w.grad
        tensor([0.6, 0.8])
    """
    return scaled_to_norm(parameters, max_norm, norm_type, error_if_nonfinite, 0.0)


def scaled_to_norm(
    parameters: Tensor | Iterable[Tensor], max_norm: float, norm_type: float, error_if_nonfinite: bool, eps: float
) -> float:
    """The same by the factor ``max_norm / (norm + eps)``, if that is less than 1."""
    if not max_norm > 0 or not norm_type > 0:
        raise ArgumentError(f"clip_grad_norm: max_norm and norm_type must be positive; got {max_norm}, {norm_type}")
    gradients = _gradients(parameters)
    if any(isinstance(g, Box) for g in gradients):
        return _clipped(gradients, max_norm, norm_type, error_if_nonfinite, eps)  # type: ignore[no-any-return]  # see there
    norms = [float(_norm(g, norm_type)) for g in gradients]
    total = float(np.linalg.norm(norms, norm_type)) if norms else 0.0
    if not math.isfinite(total):
        if error_if_nonfinite:
            raise GradientError(f"the norm of the gradients is {total}; look for the operation that overflowed")
        return total
    if total + eps > max_norm:
        for g in gradients:
            np.multiply(g, max_norm / (total + eps), out=g)
    return total


def _clipped(gradients: list[Array], max_norm: float, norm_type: float, error_if_nonfinite: bool, eps: float) -> Array:
    """The same without a question about values: while a step is captured, as one program for all of them."""
    norms = [_norm(g, norm_type).astype(np.float64) for g in gradients]  # as Python's numbers are
    total = np.linalg.norm(np.stack(norms), norm_type)
    if error_if_nonfinite and not np.isfinite(total):
        raise GradientError(f"the norm of the gradients is {total}; look for the operation that overflowed")
    clipped = np.logical_and(np.isfinite(total), np.greater(total + eps, max_norm))
    for g in gradients:
        g *= np.where(clipped, max_norm / np.where(clipped, total + eps, 1.0), 1.0).astype(g.dtype)
    return total.item()


def clip_grad_value(parameters: Tensor | Iterable[Tensor], clip_value: float) -> None:
    """Bring each element of each gradient between ``-clip_value`` and ``clip_value``; of a complex one, both parts.

    Raises:
        ArgumentError: if `clip_value` is negative.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> from adjoint import optim
        >>> w = ad.tensor([0.0, 0.0], requires_grad=True)
        >>> w.grad = np.array([3.0, -0.5])
        >>> optim.clip_grad_value([w], 1.0)
        >>> w.grad
        tensor([ 1. , -0.5])
    """
    if not clip_value >= 0:
        raise ArgumentError(f"clip_grad_value: clip_value must not be negative; got {clip_value}")
    for g in _gradients(parameters):
        for part in (g.real, g.imag) if g.dtype.kind == "c" else (g,):
            np.clip(part, -clip_value, clip_value, out=part)
