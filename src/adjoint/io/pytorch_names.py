"""`save` with PyTorch's order of arguments: what, then where."""

from __future__ import annotations

import os

from adjoint.core.errors import ArgumentError
from adjoint.core.types import Device, Value
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


def load(path: str | os.PathLike[str], *, map_location: Device = "cpu", weights_only: bool = True) -> Value:
    """What `save` wrote, with plain arrays; see `adjoint.io.load`.

    Args:
        path: the file.
        map_location: arrays are read onto the CPU; ``model.to("cuda")`` moves them.
        weights_only: True or False is the same: no code is ever run.

    Raises:
        ArgumentError: for another `map_location`.

    Example:
        >>> import tempfile, numpy as np, adjoint as ad
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     ad.save({"w": np.ones(2)}, f"{folder}/state")
        ...     ad.load(f"{folder}/state")
        {'w': array([1., 1.])}
    """
    if map_location is not None and str(map_location) != "cpu":
        raise ArgumentError(
            f'load: arrays are read onto the CPU; got map_location={map_location!r}. Move the model: model.to("cuda")'
        )
    return arrays.load(path)
