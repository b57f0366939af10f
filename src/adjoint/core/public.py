"""What `dir` shows of a room: what users use."""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType


def public(namespace: Mapping[str, object], *modules: str) -> list[str]:
    """The names of a module that are for users: its own of adjoint's, and those of the `modules` in it.

    Left out are other modules, what came from elsewhere, and the sentences for names that are missing.

    Example:
        >>> import adjoint as ad
        >>> {"Linear", "functional"} <= set(dir(ad.nn)), "annotations" in dir(ad.nn)
        (True, False)
    """
    ours = {name for name, value in namespace.items() if name[:2] == "__" or (name[0] != "_" and _is_ours(value))}
    return sorted(ours | {*modules})


def _is_ours(value: object) -> bool:
    home = "" if isinstance(value, ModuleType) else str(getattr(value, "__module__", ""))
    return home.startswith("adjoint.") and not home.startswith("adjoint.core.messages")
