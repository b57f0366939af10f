"""Arrays in files: safetensors, never pickle."""

from __future__ import annotations

from adjoint.core.public import public as _public
from adjoint.io.arrays import load as load
from adjoint.io.arrays import save as save


def __dir__() -> list[str]:
    return _public(globals())
