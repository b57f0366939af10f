"""PyTorch's `torch.fft`: NumPy's functions, which take ``dim`` too."""

from __future__ import annotations

import numpy as np

from adjoint.core.messages.elsewhere import looked_up
from adjoint.core.registry import of_numpy
from adjoint.core.types import Value


def __getattr__(name: str) -> Value:
    if name[:2] != "__" and hasattr(np.fft, name):
        return of_numpy(np.fft, name)
    raise looked_up("fft", name)


def __dir__() -> list[str]:
    return dir(np.fft)
