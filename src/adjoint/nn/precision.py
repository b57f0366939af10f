"""A warning for double-precision data in a single-precision network, because this makes the whole network slower."""

from __future__ import annotations

import numpy as np

from adjoint.core.box import Box
from adjoint.core.messages.frames import place_of, users_frame, warn_at
from adjoint.core.types import Array
from adjoint.tape.tensor import Tensor

_DOUBLE, _SINGLE = np.dtype(np.float64), np.dtype(np.float32)


def notice(x: Array, weight: Array) -> None:
    """Warn, once a line, where `x` is data of float64 and `weight` of float32: results are float64 then."""
    held = x.held if type(x) is Tensor and x.node is None else x
    is_data = type(held) is np.ndarray or (isinstance(held, Box) and held.level < 0)  # which a recording stands for
    if is_data and held.dtype is _DOUBLE and weight.dtype is _SINGLE:
        text = (
            "data of float64 goes into a layer of float32, so everything behind it is computed in float64, at half the "
            "speed. Convert the data: x.astype(np.float32); or the network: model.astype(np.float64)"
        )
        warn_at(place_of(users_frame()), text, UserWarning)
