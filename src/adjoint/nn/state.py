"""What `Module.state_dict` gives: arrays of NumPy's that answer to tensors' names too."""

from __future__ import annotations

from functools import wraps

import numpy as np

from adjoint.core.types import Array, Function, Value
from adjoint.tape.tensor import Tensor


class StateArray(np.ndarray):
    """An array of NumPy's, for `safetensors`, `numpy.savez` and pickles; and ``v.clone()``, ``v.cpu()`` as of a tensor.

    Names that NumPy's arrays do not have are those of a tensor without history that shares the memory; what they give
    is such an array again. Everything else is NumPy's.

    Example:
        >>> from adjoint import nn
        >>> best = {name: value.clone() for name, value in nn.Linear(3, 2).state_dict().items()}
        >>> best["weight"].numel(), best["weight"].size()
        (6, (2, 3))
    """

    def __getattr__(self, name: str) -> Value:
        if name.startswith("_"):
            raise AttributeError(f"arrays have no attribute {name!r}")
        found = getattr(Tensor(np.asarray(self)), name)
        return _giving_arrays(found) if callable(found) else _as_state(found)

    @property
    def size(self) -> Value:
        return Tensor(np.asarray(self)).size

    def __repr__(self) -> str:
        return repr(np.asarray(self))


def _giving_arrays(method: Function) -> Function:
    @wraps(method)
    def called(*args: Value, **kwargs: Value) -> Value:
        return _as_state(method(*args, **kwargs))

    return called


def _as_state(value: Array) -> Value:
    """A tensor without history as an array; anything else as it is."""
    if isinstance(value, Tensor) and not value.requires_grad:
        return np.asarray(value.numpy()).view(StateArray)
    return value
