"""CuPy's arrays: NumPy's functions on a GPU, asynchronously, on the current stream."""

from __future__ import annotations

from functools import cache
from importlib import import_module

import numpy as np

from adjoint.core.backend import Backend
from adjoint.core.errors import DeviceError
from adjoint.core.types import Array, Value


@cache
def _cupy() -> Array:
    """CuPy, an extra that few machines have."""
    try:
        return import_module("cupy")
    except ImportError:
        raise DeviceError(
            "the device 'cuda' needs CuPy, which is not installed: pip install 'adjoint[cuda]'. Without a GPU leave it "
            "out: arrays are on the CPU"
        ) from None


def _beside(model: Value, values: np.ndarray) -> Array:
    """`values` on the device of `model`; on the current one without a model."""
    if model is None:
        return _cupy().asarray(values)
    with model.device:
        return _cupy().asarray(values)


def _onto(values: Array, device: str) -> Array:
    """`values`, of NumPy's or on a GPU, on the GPU of this name; "cuda" is the current one."""
    cupy, index = _cupy(), device.partition(":")[2]
    try:
        with cupy.cuda.Device(int(index) if index else None):
            return cupy.asarray(values)
    except cupy.cuda.runtime.CUDARuntimeError as error:
        raise DeviceError(f"the device {device!r} cannot be used: {error}") from None


def _copy(a: Value) -> Array:
    """A copy on the device of `a`, which CuPy would make on the current one."""
    with a.device:
        return a.copy(order="K")


def _lacks(function: Value) -> bool:
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
    move="move it: a.to('cuda') of a tensor, cupy.asarray(a) of an array",
    fetch="x.get()",
    device_of=lambda a: f"cuda:{a.device.id}",
    onto=_onto,
    copy=_copy,
    from_dlpack=lambda x: _cupy().from_dlpack(x),
)
