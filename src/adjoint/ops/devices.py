"""Moving an array to another device. Its cotangent moves back."""

from __future__ import annotations

import numpy as np

from adjoint.core.constructors import linear
from adjoint.core.device import named, on_device
from adjoint.core.memory import NEW
from adjoint.core.op import call
from adjoint.core.types import Array, Value


def _back(g: Array, device: str, home: str) -> Array:
    moving: Value = moved
    return moving(g, device=home, home=device)


@linear(
    transpose=lambda g, device, home: _back(g, device, home),
    batch=lambda x, device, home: _back(x, home, device),
    memory=NEW,
    flags=("moves", "crosses", "array"),
    samples=lambda r: [call(r(3, 4)), call(r(2), "cpu", "cpu")],
    errors=lambda r: [call(r(2), "abc")],
)
def moved(x: Array, /, device: str = "cpu", home: str = "cpu") -> Array:
    """A copy of `x`, whose device is `home`, on another `device`."""
    there = on_device(x, named(device))
    return np.copy(x) if there is x else there
