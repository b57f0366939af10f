"""Fourier transforms.

Each transform is linear: its transpose is the opposite transform, with the scale on the other side. Lengths
(`n=`, `s=`) are cut or padded before the transform, so that the transform itself keeps its length.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from adjoint.core.constructors import composite, linear
from adjoint.core.errors import ArgumentError, ShapeError
from adjoint.core.memory import NEW_K
from adjoint.core.op import call
from adjoint.core.protocol import put
from adjoint.core.types import Array, Axis, Value
from adjoint.ops.shape.padding import pad_zeros
from adjoint.ops.values import is_number, with_shape

if TYPE_CHECKING:
    from adjoint.core.op import Op


_OTHER_SIDE = {None: "forward", "backward": "forward", "ortho": "ortho", "forward": "backward"}


def _opposite(norm: str | None) -> Array:
    if norm not in _OTHER_SIDE:
        raise ArgumentError(f"norm is 'backward', 'ortho' or 'forward'; got {norm!r}")
    return _OTHER_SIDE[norm]


def _z(r: Array, *shape: int) -> Array:
    return r(*shape) + 1j * r(*shape)


@linear(
    transpose=lambda g, axis, norm: np.fft.ifft(g, axis=axis, norm=_opposite(norm)),
    batch="axes",
    samples=lambda r: [call(_z(r, 4)), call(r(5)), call(_z(r, 2, 3), axis=0, norm="ortho")],
)
def fourier(a: Array, /, axis: int = -1, norm: Value = None) -> Array:
    return np.fft.fft(a, axis=axis, norm=norm)


@linear(
    transpose=lambda g, axis, norm: np.fft.fft(g, axis=axis, norm=_opposite(norm)),
    batch="axes",
    samples=lambda r: [call(_z(r, 4)), call(r(5)), call(_z(r, 2, 3), axis=0, norm="ortho")],
)
def inverse_fourier(a: Array, /, axis: int = -1, norm: Value = None) -> Array:
    return np.fft.ifft(a, axis=axis, norm=norm)


def _twice(g: Array, n: int, axis: int, factor: float) -> Array:
    """Weight the terms of a half spectrum that stand for two: all but the first, and the last if `n` is even."""
    return weighted_half(g, n=n, axis=axis, factor=factor)


@linear(
    transpose=lambda g, n, axis, factor: _twice(g, n, axis, factor),
    batch="axes",
    flags=("moves",),
    samples=lambda r: [call(_z(r, 3), n=4, factor=0.5), call(_z(r, 3, 2), n=5, axis=0, factor=2.0)],
)
def weighted_half(a: Array, /, n: int = 1, axis: int = -1, factor: float = 1.0) -> Array:
    out = np.multiply(a, factor)
    for k in {0, n // 2} if n % 2 == 0 else {0}:
        place = (*(slice(None),) * (axis % a.ndim), k)
        out[place] = a[place]
    return out


@linear(
    transpose=lambda g, a_shape, axis, norm: np.fft.irfft(
        _twice(g, a_shape[axis], axis, 0.5), a_shape[axis], axis, _opposite(norm)
    ),
    batch="axes",
    samples=lambda r: [call(r(4)), call(r(5)), call(r(4, 3), axis=0, norm="forward")],
)
def half_spectrum(a: Array, /, axis: int = -1, norm: Value = None) -> Array:
    return np.fft.rfft(a, axis=axis, norm=norm)


@linear(
    transpose=lambda g, n, axis, norm: _twice(np.fft.rfft(g, None, axis, _opposite(norm)), n, axis, 2.0),
    batch="axes",
    samples=lambda r: [call(_z(r, 3), n=4), call(_z(r, 3), n=5), call(_z(r, 3, 2), n=4, axis=0, norm="ortho")],
)
def from_half_spectrum(a: Array, /, n: int = 1, axis: int = -1, norm: Value = None) -> Array:
    return np.fft.irfft(a, n, axis, norm)


def _sized(a: Array, n: int, axis: int) -> Array:
    """`a` cut, or padded with zeros, to length `n` along `axis`."""
    have = np.shape(a)[axis]
    if n < 1:
        raise ArgumentError(f"a Fourier transform needs one point or more; got {n}")
    if n > have:
        return pad_zeros(a, widths=tuple((0, (n - have) * (i == axis % np.ndim(a))) for i in range(np.ndim(a))))
    return a if n == have else a[(*(slice(None),) * (axis % np.ndim(a)), slice(n))]


def _transform(op: Op, a: Array, n: int | None, axis: int, norm: str | None, out: Array) -> Array:
    _opposite(norm)
    a = with_shape(a)
    return put(op(_sized(a, np.shape(a)[axis] if n is None else n, axis), axis=axis, norm=norm), out, np.fft.fft)


_complex = lambda r: [  # noqa: E731 - a table of samples, shared by several functions
    call(_z(r, 4)),
    call(r(3), n=5),
    call(_z(r, 4, 2), 3, axis=0, norm="ortho"),
    call(_z(r, 3), norm="forward"),
]
_real = lambda r: [  # noqa: E731 - as above
    call(r(4)),
    call(r(5)),
    call(r(3), n=6),
    call(r(4, 2), 3, axis=0, norm="ortho"),
    call(r(5), norm="forward"),
]
_half = lambda r: [  # noqa: E731 - as above
    call(_z(r, 3)),
    call(_z(r, 3), n=5),
    call(_z(r, 3), n=8),
    call(_z(r, 4, 2), 4, axis=0, norm="ortho"),
    call(_z(r, 3), norm="forward"),
]
_wrong = lambda r: [call(r(3), n=0), call(r(3), norm="unit")]  # noqa: E731 - as above


@composite(np.fft.fft, memory=NEW_K, samples=_complex, errors=_wrong)
def fft(a: Array, n: int | None = None, axis: int = -1, norm: str | None = None, out: Array = None) -> Array:
    return _transform(fourier, a, n, axis, norm, out)


@composite(np.fft.ifft, memory=NEW_K, samples=_complex, errors=_wrong)
def ifft(a: Array, n: int | None = None, axis: int = -1, norm: str | None = None, out: Array = None) -> Array:
    return _transform(inverse_fourier, a, n, axis, norm, out)


@composite(np.fft.rfft, memory=NEW_K, samples=_real, errors=_wrong)
def rfft(a: Array, n: int | None = None, axis: int = -1, norm: str | None = None, out: Array = None) -> Array:
    return _transform(half_spectrum, a, n, axis, norm, out)


@composite(np.fft.irfft, memory=NEW_K, samples=_half, errors=_wrong)
def irfft(a: Array, n: int | None = None, axis: int = -1, norm: str | None = None, out: Array = None) -> Array:
    _opposite(norm)
    a = with_shape(a)
    n = 2 * (np.shape(a)[axis] - 1) if n is None else n
    if n < 1:
        raise ArgumentError(f"a Fourier transform needs one point or more; got {n}")
    return put(from_half_spectrum(_sized(a, n // 2 + 1, axis), n=n, axis=axis, norm=norm), out, np.fft.fft)


@composite(np.fft.hfft, samples=_half, errors=_wrong)
def hfft(a: Array, n: int | None = None, axis: int = -1, norm: str | None = None, out: Array = None) -> Array:
    return np.fft.irfft(np.conj(with_shape(a)), n, axis, _opposite(norm), out)


@composite(np.fft.ihfft, memory=NEW_K, samples=_real, errors=_wrong)
def ihfft(a: Array, n: int | None = None, axis: int = -1, norm: str | None = None, out: Array = None) -> Array:
    return put(np.conj(np.fft.rfft(a, n, axis, _opposite(norm))), out, np.fft.fft)


def _sizes(a: Array, s: Array, axes: Axis, inverse_real: bool = False) -> tuple[list[int], list[int]]:
    """The lengths and the axes of a transform over several axes."""
    shape = np.shape(a)
    if axes is None:
        axes = range(len(shape)) if s is None else range(-len(s), 0)
    axes = list(axes)
    lengths = [shape[i] for i in axes] if s is None else list(s)
    if len(lengths) != len(axes):
        raise ArgumentError(f"s and axes must have one length; got {len(lengths)} and {len(axes)}")
    if s is None and inverse_real:
        lengths[-1] = 2 * (shape[axes[-1]] - 1)
    return [shape[i] if n == -1 else int(n) for n, i in zip(lengths, axes, strict=True)], axes


def _over_axes(f: Value, a: Array, lengths: Sequence[int], axes: Sequence[int], norm: str | None) -> Array:
    for n, axis in zip(reversed(lengths), reversed(axes), strict=True):
        a = f(a, n, axis, norm)
    return a if len(axes) or not is_number(a) else np.copy(a)  # of a number an array


@composite(np.fft.fftn, samples=lambda r: [call(_z(r, 2, 3)), call(r(2, 3, 2), (3, 2), (0, -1), "ortho")])
def fftn(a: Array, s: Array = None, axes: Axis = None, norm: Value = None, out: Array = None) -> Array:
    return put(_over_axes(np.fft.fft, with_shape(a), *_sizes(a, s, axes), norm), out, np.fft.fft)


@composite(np.fft.ifftn, samples=lambda r: [call(_z(r, 2, 3)), call(r(2, 3, 2), (3, 2), (0, -1), "ortho")])
def ifftn(a: Array, s: Array = None, axes: Axis = None, norm: str | None = None, out: Array = None) -> Array:
    return put(_over_axes(np.fft.ifft, with_shape(a), *_sizes(a, s, axes), norm), out, np.fft.fft)


@composite(np.fft.rfftn, samples=lambda r: [call(r(2, 3)), call(r(2, 3, 2), (3, 4), (0, -1), "ortho")])
def rfftn(a: Array, s: Array = None, axes: Axis = None, norm: Value = None, out: Array = None) -> Array:
    lengths, axes = _sizes(a, s, axes)
    half = np.fft.rfft(a, lengths[-1], axes[-1], norm)
    return put(_over_axes(np.fft.fft, half, lengths[:-1], axes[:-1], norm), out, np.fft.fft)


@composite(np.fft.irfftn, samples=lambda r: [call(_z(r, 2, 3)), call(_z(r, 2, 3, 2), (3, 5), (0, -1), "ortho")])
def irfftn(a: Array, s: Array = None, axes: Axis = None, norm: Value = None, out: Array = None) -> Array:
    lengths, axes = _sizes(a, s, axes, inverse_real=True)
    for n, axis in zip(lengths[:-1], axes[:-1], strict=True):
        a = np.fft.ifft(a, n, axis, norm)
    return put(np.fft.irfft(a, lengths[-1], axes[-1], norm), out, np.fft.fft)


@composite(np.fft.fft2, samples=lambda r: [call(_z(r, 2, 3)), call(r(3, 2), (2, 4), norm="forward")])
def fft2(a: Array, s: Array = None, axes: Axis = (-2, -1), norm: Value = None, out: Array = None) -> Array:
    return np.fft.fftn(a, s, axes, norm, out)


@composite(np.fft.ifft2, samples=lambda r: [call(_z(r, 2, 3)), call(r(3, 2), (2, 4), norm="forward")])
def ifft2(a: Array, s: Array = None, axes: Axis = (-2, -1), norm: Value = None, out: Array = None) -> Array:
    return np.fft.ifftn(a, s, axes, norm, out)


@composite(np.fft.rfft2, samples=lambda r: [call(r(2, 3)), call(r(3, 2), (2, 4), norm="forward")])
def rfft2(a: Array, s: Array = None, axes: Axis = (-2, -1), norm: Value = None, out: Array = None) -> Array:
    return np.fft.rfftn(a, s, axes, norm, out)


@composite(np.fft.irfft2, samples=lambda r: [call(_z(r, 2, 3)), call(_z(r, 3, 2), (2, 4), norm="forward")])
def irfft2(a: Array, s: Array = None, axes: Axis = (-2, -1), norm: Value = None, out: Array = None) -> Array:
    return np.fft.irfftn(a, s, axes, norm, out)


def _shifted(x: Array, axes: Axis, sign: int) -> Array:
    shape = np.shape(x)
    if not shape:
        raise ShapeError("np.fft.fftshift and ifftshift take arrays of one axis or more; got a number")
    axes = tuple(range(len(shape))) if axes is None else tuple(axes) if np.ndim(axes) else (axes,)
    return np.roll(x, tuple(sign * (shape[i] // 2) for i in axes), axes)


@composite(np.fft.fftshift, samples=lambda r: [call(r(5)), call(r(2, 3), axes=1), call(r(2, 3), (0, 1))])
def fftshift(x: Array, axes: Axis = None) -> Array:
    return _shifted(x, axes, 1)


@composite(np.fft.ifftshift, samples=lambda r: [call(r(5)), call(r(2, 3), axes=1), call(r(2, 3), (0, 1))])
def ifftshift(x: Array, axes: Axis = None) -> Array:
    return _shifted(x, axes, -1)
