"""CuPy's arrays: NumPy's functions on a GPU, asynchronously, on the stream that is current."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any

import numpy as np

from adjoint.core.backend import Backend


@cache
def _cupy() -> Any:
    """CuPy, an extra that few machines have; whoever has one of its arrays has loaded it."""
    return import_module("cupy")


def _beside(model: Any, values: np.ndarray) -> Any:
    """`values` on the device of `model`; on the current one without a model."""
    if model is None:
        return _cupy().asarray(values)
    with model.device:
        return _cupy().asarray(values)


def _lacks(function: Any) -> bool:
    """Whether CuPy has no function of this name, as its answer to NumPy's protocols looks for it."""
    room = _cupy()
    for name in function.__module__.split(".")[1:] if not isinstance(function, np.ufunc) else ():
        room = getattr(room, name, None)
    return not hasattr(room, function.__name__)


BACKEND = Backend(
    name="CuPy",
    like=_beside,
    to_host=lambda a: _cupy().asnumpy(a),
    shares=lambda a, b: bool(_cupy().may_share_memory(a, b)),  # by addresses, which the host knows
    lacks=_lacks,
    move="move it: cupy.asarray(a)",
)
