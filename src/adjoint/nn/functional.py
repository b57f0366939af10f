"""The functions behind the layers, by PyTorch's names."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.nn.init import Rng
from adjoint.nn.losses import binary_cross_entropy_with_logits, cross_entropy, huber_loss, l1_loss, mse_loss
from adjoint.ops.activation import (
    elu,
    gelu,
    hardtanh,
    leaky_relu,
    log_softmax,
    prelu,
    relu,
    relu6,
    sigmoid,
    silu,
    softmax,
    softplus,
    softsign,
)
from adjoint.ops.neural import affine


def linear(x: Any, weight: Any, bias: Any = None) -> Any:
    """``x @ weight.T + bias``: x (…, in), weight (out, in), bias (out,) or None; the result is (…, out)."""
    return np.matmul(x, np.transpose(weight)) if bias is None else affine(x, weight, bias)


def dropout(x: Any, p: float = 0.5, training: bool = True, *, rng: Rng = None) -> Any:
    """What `adjoint.nn.Dropout` does, with random numbers from `rng`."""
    from adjoint.nn.layers import Dropout

    return Dropout(p, rng=rng).train(training)(x)


__all__ = [
    "binary_cross_entropy_with_logits",
    "cross_entropy",
    "dropout",
    "elu",
    "gelu",
    "hardtanh",
    "huber_loss",
    "l1_loss",
    "leaky_relu",
    "linear",
    "log_softmax",
    "mse_loss",
    "prelu",
    "relu",
    "relu6",
    "sigmoid",
    "silu",
    "softmax",
    "softplus",
    "softsign",
]
