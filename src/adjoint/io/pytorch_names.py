"""`save` with PyTorch's order of arguments: what, then where."""

from __future__ import annotations

import os

from adjoint.core.types import Value
from adjoint.io import arrays


def save(obj: Value, path: str | os.PathLike[str]) -> None:
    """Write a state, a tree of arrays, numbers and texts, to a safetensors file: `adjoint.io.save`, what before where.

    Example:
        >>> import os, tempfile
        >>> import adjoint as ad
        >>> path = os.path.join(tempfile.mkdtemp(), "net.safetensors")
        >>> ad.save(ad.nn.Linear(2, 1, rng=0).state_dict(), path)
        >>> sorted(ad.load(path))
        ['bias', 'weight']
    """
    arrays.save(path, obj)


def load(path: str | os.PathLike[str]) -> Value:
    """What `save` wrote, with plain arrays; see `adjoint.io.load`."""
    return arrays.load(path)
