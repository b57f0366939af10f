"""Late binding: a lower room calls a higher one, which loads when it is first called.

A room asks for a service by name. `adjoint/__init__.py`, which may know every room, says which module gives it.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module

from adjoint.core.types import Value

_SERVICES: dict[str, str] = {}
#: What was loaded already. To look a module up takes as long as a small operation.
_FOUND: dict[str, Value] = {}


def provide(services: Mapping[str, str]) -> None:
    """Say for each service which ``module`` or ``module:attribute`` gives it. Nothing is loaded."""
    _SERVICES.update(services)
    _FOUND.clear()


def service(name: str) -> Value:
    """The module or function that gives the service `name`."""
    found = _FOUND.get(name)
    if found is None:
        module, _, attribute = _SERVICES[name].partition(":")
        found = import_module(module)
        found = _FOUND[name] = getattr(found, attribute) if attribute else found
    return found
