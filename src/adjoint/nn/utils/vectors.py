"""All parameters together: their gradients clipped, their values as one vector."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from adjoint.core.box import raw
from adjoint.core.errors import GradientError, ShapeError
from adjoint.core.late import service
from adjoint.core.messages.keywords import answering
from adjoint.core.types import Array
from adjoint.nn.parameter import Parameter
from adjoint.tape.tensor import Tensor
from adjoint.tape.writes import mutations


@answering
def clip_grad_norm_(
    parameters: Tensor | Iterable[Tensor], max_norm: float, norm_type: float = 2.0, error_if_nonfinite: bool = False
) -> float:
    """`adjoint.optim.clip_grad_norm` with PyTorch's factor, ``max_norm / (norm + 1e-6)``.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> w = nn.Parameter(np.zeros(2))
        >>> w.grad = np.array([3.0, 4.0])
        >>> nn.utils.clip_grad_norm_([w], 1.0)
        5.0
    """
    norm: float = service("clipping by norm")(parameters, max_norm, norm_type, error_if_nonfinite, 1e-6)
    return norm


@answering
def clip_grad_value_(parameters: Tensor | Iterable[Tensor], clip_value: float) -> None:
    """`adjoint.optim.clip_grad_value`, by PyTorch's name."""
    service("clipping by value")(parameters, clip_value)


@answering
def get_total_norm(
    tensors: Tensor | Iterable[Tensor], norm_type: float = 2.0, error_if_nonfinite: bool = False
) -> np.float64:
    """The norm of several tensors, taken together as one vector.

    Raises:
        GradientError: if it is inf or nan, and `error_if_nonfinite`.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.utils.get_total_norm([np.array([3.0]), np.array([[4.0]])])
        np.float64(5.0)
    """
    arrays = [tensors] if isinstance(tensors, Tensor) else list(tensors)
    norms = [np.linalg.norm(np.ravel(raw(t)), norm_type) for t in arrays]
    total = np.float64(np.linalg.norm(norms, norm_type) if norms else 0.0)
    if error_if_nonfinite and not np.isfinite(total):
        raise GradientError(f"the norm of the tensors is {total}; look for the operation that overflowed")
    return total


@answering
def clip_grads_with_norm_(parameters: Tensor | Iterable[Tensor], max_norm: float, total_norm: float) -> None:
    """Scale all gradients by ``max_norm / total_norm``, if that is below 1: `get_total_norm` gave the norm."""
    factor = max_norm / (float(total_norm) + 1e-6)
    for p in [parameters] if isinstance(parameters, Tensor) else parameters:
        if p.grad is not None and factor < 1:
            p.grad.held[...] *= factor


def parameters_to_vector(parameters: Iterable[Tensor]) -> Array:
    """The elements of all parameters in one line; gradients flow through.

    Example:
        >>> from adjoint import nn
        >>> nn.utils.parameters_to_vector(nn.Linear(3, 2, rng=0).parameters()).shape
        (8,)
    """
    return np.concatenate([np.reshape(p, -1) for p in parameters])


def vector_to_parameters(vec: Array, parameters: Iterable[Parameter]) -> None:
    """Write a vector of all elements, as `parameters_to_vector` gives it, into parameters.

    Raises:
        ShapeError: if it has another number of elements.
    """
    values = vec.detach().numpy() if isinstance(vec, Tensor) else np.asarray(vec)
    all_of_them = list(parameters)
    sizes = [math.prod(p.shape) for p in all_of_them]
    if values.shape != (sum(sizes),):
        raise ShapeError(f"vector_to_parameters: the parameters have {sum(sizes)} elements; got shape {values.shape}")
    for p, part in zip(all_of_them, np.split(values, np.cumsum(sizes)[:-1]), strict=True):
        p.held[...] = part.reshape(p.shape)
        mutations.note(p.held)
