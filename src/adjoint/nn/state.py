"""What `Module.state_dict` gives: arrays of NumPy's that answer to tensors' names too."""

from __future__ import annotations

import numpy as np

from adjoint.arrays.named import NamedArray
from adjoint.core.types import Value


class StateArray(NamedArray):
    """An array of NumPy's, for `safetensors`, `numpy.savez` and pickles; and ``v.clone()``, ``v.cpu()`` as of a tensor.

    Names that NumPy's arrays do not have are those of a tensor without history that shares the memory; what they give
    is such an array again, and so is what NumPy computes from it.

    Example:
        >>> from adjoint import nn
        >>> best = {name: value.clone() for name, value in nn.Linear(3, 2).state_dict().items()}
        >>> best["weight"].numel(), best["weight"].size()
        (6, (2, 3))
    """

    def __reduce__(self) -> Value:
        return np.ndarray.__reduce__(self)
