"""Layers that are a function with its settings."""

from __future__ import annotations

from adjoint.core.types import Value
from adjoint.nn.module import Module


class WithSettings(Module):
    """A function of arrays and of settings that stay; `repr` shows these."""

    def __init__(self, **settings: Value) -> None:
        self._settings = settings

    def extra_repr(self) -> str:
        return ", ".join(f"{name}={value!r}" for name, value in self._settings.items() if value is not None)
