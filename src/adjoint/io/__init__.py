"""Arrays in files: safetensors, never pickle."""

from __future__ import annotations

from adjoint.io.arrays import load as load
from adjoint.io.arrays import save as save
