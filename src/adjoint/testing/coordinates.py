"""Arrays of any shapes and dtypes as one vector of real coordinates, and back.

A complex number is two coordinates, its real and its imaginary part. The gradient of a real function by them,
put together as one complex number again, is the direction of steepest ascent.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from adjoint.core.types import Array


def count(arrays: Sequence[Array]) -> int:
    """How many real coordinates `arrays` have."""
    return sum(np.size(a) * (2 if np.iscomplexobj(a) else 1) for a in arrays)


def to_vector(arrays: Sequence[Array]) -> np.ndarray:
    """The real coordinates of `arrays`, one array after another."""
    parts = [np.zeros(0)]
    for a in arrays:
        flat = np.ravel(a)
        parts.append(np.stack([flat.real, flat.imag], axis=-1).ravel() if np.iscomplexobj(a) else flat)
    return np.concatenate([part.astype(np.float64) for part in parts])


def to_arrays(vector: np.ndarray, likes: Sequence[Array]) -> list[Array]:
    """Arrays with the shapes and dtypes of `likes`, from their coordinates."""
    arrays, start = [], 0
    for like in likes:
        n = count([like])
        part = vector[start : start + n]
        if np.iscomplexobj(like):
            part = part[::2] + 1j * part[1::2]
        arrays.append(np.reshape(part.astype(like.dtype), np.shape(like)))
        start += n
    return arrays


def label(i: int, arrays: Sequence[Array], names: Sequence[str]) -> str:
    """What coordinate number `i` is: ``args[0][2, 3]``, say."""
    for a, name in zip(arrays, names, strict=True):
        n = count([a])
        if i < n:
            part = ""
            if np.iscomplexobj(a):
                i, odd = divmod(i, 2)
                part = ".imag" if odd else ".real"
            index = ", ".join(str(int(k)) for k in np.unravel_index(i, np.shape(a))) if np.ndim(a) else ""
            return f"{name}[{index}]{part}" if index else f"{name}{part}"
        i -= n
    raise IndexError(i)
