"""Fourier transforms: the extension `fft`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from adjoint.core.types import Array, Axes, Device, DType
from adjoint.xp.arrays import boxed, on_cpu

Norm = Literal["backward", "ortho", "forward"]


def fft(x: Array, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Array:
    return boxed(np.fft.fft(x, n, axis, norm))


def ifft(x: Array, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Array:
    return boxed(np.fft.ifft(x, n, axis, norm))


def rfft(x: Array, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Array:
    return boxed(np.fft.rfft(x, n, axis, norm))


def irfft(x: Array, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Array:
    return boxed(np.fft.irfft(x, n, axis, norm))


def hfft(x: Array, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Array:
    return boxed(np.fft.hfft(x, n, axis, norm))


def ihfft(x: Array, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Array:
    return boxed(np.fft.ihfft(x, n, axis, norm))


def fftn(
    x: Array, /, *, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: Norm = "backward"
) -> Array:
    return boxed(np.fft.fftn(x, s, axes, norm))


def ifftn(
    x: Array, /, *, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: Norm = "backward"
) -> Array:
    return boxed(np.fft.ifftn(x, s, axes, norm))


def rfftn(
    x: Array, /, *, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: Norm = "backward"
) -> Array:
    return boxed(np.fft.rfftn(x, s, axes, norm))


def irfftn(
    x: Array, /, *, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: Norm = "backward"
) -> Array:
    return boxed(np.fft.irfftn(x, s, axes, norm))


def fftfreq(n: int, /, *, d: float = 1.0, dtype: DType = None, device: Device = None) -> Array:
    on_cpu(device)
    return boxed(np.fft.fftfreq(n, d).astype(float if dtype is None else dtype))


def rfftfreq(n: int, /, *, d: float = 1.0, dtype: DType = None, device: Device = None) -> Array:
    on_cpu(device)
    return boxed(np.fft.rfftfreq(n, d).astype(float if dtype is None else dtype))


def fftshift(x: Array, /, *, axes: Axes | None = None) -> Array:
    return boxed(np.fft.fftshift(x, axes))


def ifftshift(x: Array, /, *, axes: Axes | None = None) -> Array:
    return boxed(np.fft.ifftshift(x, axes))
