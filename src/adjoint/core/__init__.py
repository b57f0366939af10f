"""The core: what an operation is, the one door every call goes through, and the errors."""

from importlib import import_module
from types import ModuleType


def __getattr__(name: str) -> ModuleType:
    """A module of the core, which loads when it is first asked for: ``adjoint.core.backend``."""
    try:
        return import_module(f"adjoint.core.{name}")
    except ModuleNotFoundError:
        raise AttributeError(f"module 'adjoint.core' has no attribute {name!r}", name=name) from None
