"""Complex parameters as pairs of real numbers, which is how optimisers see them.

The rules of optimisers are written for real numbers: squares, signs and maxima of complex numbers are something else.
So each complex array is shown to them as a real one with one more axis, of length 2, as in PyTorch.
"""

from __future__ import annotations

import numpy as np

from adjoint.core.errors import ArgumentError
from adjoint.core.types import Array, DType, Value


def is_complex(dtype: DType) -> bool:
    """Whether numbers of this dtype are pairs."""
    return np.dtype(dtype).kind == "c"


def as_pairs(x: Array) -> Array:
    """Real and imaginary parts along a last axis: a view of an array; of a captured step, new values."""
    if isinstance(x, np.ndarray):
        return x[..., None].view(x.real.dtype)
    return np.stack([x.real, x.imag], axis=-1)


def from_pairs(pairs: Array, like: Array) -> Array:
    """Complex numbers of these parts, of the dtype of `like`."""
    if isinstance(pairs, np.ndarray):
        return np.ascontiguousarray(pairs).view(like.dtype)[..., 0]
    return (pairs[..., 0] + 1j * pairs[..., 1]).astype(like.dtype)


def refuse_complex(name: str, params: list[Value]) -> None:
    """For optimisers whose rule is not of each element alone.

    Raises:
        ArgumentError: if one of `params` is complex.
    """
    for p in params:
        if is_complex(p.dtype):
            raise ArgumentError(
                f"{name} optimises real parameters; got one of {p.dtype} and shape {p.shape}. Give it to another "
                f"optimiser, or keep its real and imaginary parts as two parameters"
            )
