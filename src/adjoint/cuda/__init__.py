"""PyTorch's `torch.cuda`: whether there is a GPU whose arrays CuPy can hold."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from adjoint.core.messages.elsewhere import looked_up
from adjoint.core.types import Value


def device_count() -> int:
    """How many GPUs there are, if CuPy is installed."""
    try:
        return int(import_module("cupy").cuda.runtime.getDeviceCount())
    except Exception:  # CuPy is not there, or finds no driver
        return 0


def is_available() -> bool:
    """Whether there is a GPU, and CuPy.

    Example:
        >>> import adjoint as ad
        >>> ad.device("cuda" if ad.cuda.is_available() else "cpu") in ("cpu", "cuda")
        True
    """
    return device_count() > 0


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Value:
        raise looked_up("cuda", name)
