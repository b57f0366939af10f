"""Devices: where the numbers of an array lie, and how to move them.

A device has a name, as in PyTorch: "cpu", "cuda", "cuda:1". All except "cpu" belong to a back end.
"""

from __future__ import annotations

import numpy as np

from adjoint.core.backend import backend_at, backend_of, to_host
from adjoint.core.box import raw
from adjoint.core.errors import ArgumentError, DeviceError
from adjoint.core.types import Array, Device, Value

#: The kinds of devices that DLPack numbers, as far as a back end has them.
_BY_DLPACK = {1: "cpu", 2: "cuda", 3: "cpu", 13: "cuda"}
#: What PyTorch and JAX call their devices, so that none is taken for a dtype.
_OTHERS = frozenset(("cuda", "gpu", "hip", "meta", "mps", "tpu", "xpu"))


class DeviceName(str):
    """The name of a device, with PyTorch's parts of it: ``t.device.type``."""

    __slots__ = ()

    @property
    def type(self) -> str:
        """The kind: "cpu" or "cuda"."""
        return self.partition(":")[0]

    @property
    def index(self) -> int | None:  # type: ignore[override]  # PyTorch's number of the device, not text's search
        """The number; None without one."""
        number = self.partition(":")[2]
        return int(number) if number else None


_CPU = DeviceName("cpu")


def device_of(x: Array) -> DeviceName:
    """The name of the device where the numbers of `x`, an array or a box, are."""
    backend = backend_of(x)
    return _CPU if backend is None or backend.device_of is None else DeviceName(backend.device_of(raw(x)))


def is_device(given: object) -> bool:
    """Whether `given` is the name of a device, and not that of a dtype; or another library's object for a device."""
    if not isinstance(given, str):
        return type(given).__name__.lower() == "device"
    kind = given.partition(":")[0]
    return kind in _OTHERS or kind == "cpu" or backend_at(kind) is not None


def named(device: Device) -> str:
    """The name of a device that a user says: None, "cpu", "cuda", "cuda:1", 1, or another library's object for one.

    Raises:
        ArgumentError: for a device that no back end has.
    """
    name = "cpu" if device is None else f"cuda:{device}" if isinstance(device, int) else str(device)
    kind, _, index = name.partition(":")
    if kind == "cpu":
        return "cpu"
    if (index and not index.isdecimal()) or backend_at(kind) is None:
        raise ArgumentError(f"expected the device 'cpu', 'cuda' or 'cuda:1'; got {device!r}")
    return name


def on_device(x: Array, device: str) -> Array:
    """The array `x`, of whatever library, on `device`; `x` itself if it is there.

    Raises:
        DeviceError: if this machine has no such device.
    """
    if is_at(x, device):
        return x
    there = backend_at(device.partition(":")[0])
    if there is None:
        return to_host(x)
    if there.onto is None:
        raise DeviceError(f"nothing can be moved to {device!r}")
    return there.onto(x if backend_of(x) is there else to_host(x), device)


def is_at(x: Array, device: str) -> bool:
    """Whether `x` is on `device`. A name without a number means any device of the kind."""
    found = device_of(x)
    return found == device or (":" not in device and found.partition(":")[0] == device)


def exchanged(x: Value, copy: bool | None) -> object:
    """An array of NumPy's, or of the back end of its device, that shares the memory of `x`, which has ``__dlpack__``.

    `copy` is for NumPy's; a tensor copies every other array that it takes.

    Raises:
        DeviceError: for a device that no back end has.
    """
    number, _ = x.__dlpack_device__()
    kind = _BY_DLPACK.get(int(number))
    if kind == "cpu":
        return np.from_dlpack(x, copy=copy)
    backend = backend_at(kind) if kind is not None else None
    if backend is None or backend.from_dlpack is None:
        raise DeviceError(f"from_dlpack of an array on a device of kind {int(number)}: move it to the CPU first")
    return backend.from_dlpack(x)
