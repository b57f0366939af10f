"""Values of an optimiser's state as `state_dict` gives them, and as `load_state_dict` keeps them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from adjoint.core.types import Array, Value
from adjoint.optim.pairs import is_complex
from adjoint.tape.tensor import Tensor


def copied(value: Value) -> Value:
    """A copy of an array, or of a tensor without its history; a number as it is."""
    if isinstance(value, Tensor):
        return value.detach().copy()
    return value.copy() if isinstance(value, np.ndarray) else value


def as_tensor(name: str, value: Value) -> Value:
    """State of a class of the user's, which computes with tensors."""
    return Tensor(value.copy()) if isinstance(value, np.ndarray) else copied(value)


def as_begun(p: Tensor, begins: Mapping[str, Array], name: str, value: Array) -> np.ndarray:
    """State for parameter `p`, of the dtype with which it begins, or the parameter's; a counter stays whole."""
    values: np.ndarray = np.array(value)
    if values.dtype.kind == "i":
        return values
    first = begins.get(name)
    dtype = p.dtype if first is None or first.dtype.kind == "i" else first.dtype
    return (values if is_complex(dtype) else values.real).astype(dtype)


def plain(value: Array) -> Value:
    """A setting as it was before it was in a file."""
    if isinstance(value, np.ndarray) and value.ndim == 0:
        return value[()]  # a file keeps NumPy's numbers so
    return tuple(value) if isinstance(value, list) else value
