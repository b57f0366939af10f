"""PyTorch's `torch.utils`: `data`, which is `adjoint.data`, `checkpoint` and `tensorboard`."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from adjoint.core.messages.elsewhere import looked_up

if TYPE_CHECKING:
    from adjoint.utils import checkpoint as checkpoint
    from adjoint.utils import data as data
    from adjoint.utils import tensorboard as tensorboard


def __getattr__(name: str) -> object:
    if name in ("checkpoint", "data", "tensorboard"):
        return import_module(f"adjoint.utils.{name}")
    raise looked_up("utils", name)
