"""Tell other libraries about tensors at the moment when they are imported."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType

from adjoint.core.types import Value

# A module of others, and the module of ours that is loaded after it.
_GUESTS: dict[str, str] = {}


class _Welcome:
    """Sees which modules are imported, and lets a guest's be followed by ours.

    A finder without the base class in `importlib.abc`, whose import takes longer than that of all operations.
    """

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname not in _GUESTS:
            return None
        for finder in sys.meta_path:
            spec = None if finder is self else finder.find_spec(fullname, path, target)
            if spec is not None:
                _follow(spec.loader, _GUESTS[fullname])
                return spec
        return None


def _follow(loader: Value, follower: str) -> None:
    """Let our module `follower` be loaded after the one that `loader` is about to load."""
    execute = loader.exec_module

    def exec_module(module: ModuleType) -> None:
        execute(module)
        import_module(follower)

    loader.exec_module = exec_module


def expect_guests(guests: Mapping[str, str]) -> None:
    """Tell the libraries that are loaded about tensors, and see to it that later ones will be told.

    Of each library's module, `guests` names the one of ours that tells it.
    """
    _GUESTS.update(guests)
    for name, follower in _GUESTS.items():
        if name in sys.modules:
            import_module(follower)
    if not any(isinstance(finder, _Welcome) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Welcome())
