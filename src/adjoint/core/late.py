"""Late binding: a lower room calls a higher one, which loads when it is first called.

A room asks for a service by name. `adjoint/__init__.py`, which may know every room, says which module gives it.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module

from adjoint.core.types import Value

_SERVICES: dict[str, str] = {}


def provide(services: Mapping[str, str]) -> None:
    """Say for each service which ``module`` or ``module:attribute`` gives it. Nothing is loaded."""
    _SERVICES.update(services)


def service(name: str) -> Value:
    """The module or function that gives the service `name`."""
    module, _, attribute = _SERVICES[name].partition(":")
    found = import_module(module)
    return getattr(found, attribute) if attribute else found
