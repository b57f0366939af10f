"""`scipy.fftpack` for tensors: transforms as its programs call them, and derivatives of periodic series."""

from __future__ import annotations

import numpy as np
from numpy.fft import fftfreq, fftshift, ifftshift

from adjoint.core.errors import ArgumentError
from adjoint.core.types import Array, Axis, Function, ShapeLike
from adjoint.scipy import fft as ours
from adjoint.scipy.arrays import array

__all__ = [
    "dct", "dctn", "diff", "dst", "dstn", "fft", "fft2", "fftfreq", "fftn", "fftshift", "hilbert", "idct", "idctn",
    "idst", "idstn", "ifft", "ifft2", "ifftn", "ifftshift", "ihilbert", "irfft", "itilbert", "rfft", "shift", "tilbert",
]  # fmt: skip

_INVERSE = {1: 1, 2: 3, 3: 2, 4: 4}


def fft(x: Array, n: int | None = None, axis: int = -1, overwrite_x: bool = False) -> Array:
    """`scipy.fftpack.fft`: the Fourier transform along `axis`, of `x` cut or padded to `n`.

    Example:
        >>> import numpy as np
        >>> from adjoint.scipy import fftpack
        >>> fftpack.fft(np.array([1.0, 2.0]))
        array([ 3.+0.j, -1.+0.j])
    """
    return np.fft.fft(array(x), n, axis)


def ifft(x: Array, n: int | None = None, axis: int = -1, overwrite_x: bool = False) -> Array:
    """`scipy.fftpack.ifft`: the inverse of `fft`.

    Example:
        >>> import numpy as np
        >>> from adjoint.scipy import fftpack
        >>> fftpack.ifft(np.array([3.0, -1.0]))
        array([1.+0.j, 2.+0.j])
    """
    return np.fft.ifft(array(x), n, axis)


def _checked(x: Array, shape: ShapeLike, axes: Axis) -> tuple[Array, Axis]:
    x = array(x)
    if shape is None or axes is not None:
        return x, axes
    if len(np.atleast_1d(shape)) != x.ndim:
        raise ArgumentError("when given, axes and shape arguments have to be of the same length")
    return x, tuple(range(x.ndim))


def fftn(x: Array, shape: ShapeLike = None, axes: Axis = None, overwrite_x: bool = False) -> Array:
    """`scipy.fftpack.fftn`: the Fourier transform along several axes.

    Example:
        >>> import numpy as np
        >>> from adjoint.scipy import fftpack
        >>> fftpack.fftn(np.eye(2))
        array([[2.+0.j, 0.+0.j],
               [0.+0.j, 2.+0.j]])
    """
    x, axes = _checked(x, shape, axes)
    return np.fft.fftn(x, shape, axes)


def ifftn(x: Array, shape: ShapeLike = None, axes: Axis = None, overwrite_x: bool = False) -> Array:
    """`scipy.fftpack.ifftn`: the inverse of `fftn`.

    Example:
        >>> import numpy as np
        >>> from adjoint.scipy import fftpack
        >>> fftpack.ifftn(np.eye(2))
        array([[0.5+0.j, 0. +0.j],
               [0. +0.j, 0.5+0.j]])
    """
    x, axes = _checked(x, shape, axes)
    return np.fft.ifftn(x, shape, axes)


def fft2(x: Array, shape: ShapeLike = None, axes: Axis = (-2, -1), overwrite_x: bool = False) -> Array:
    """`scipy.fftpack.fft2`: the Fourier transform along two axes.

    Example:
        >>> import numpy as np
        >>> from adjoint.scipy import fftpack
        >>> fftpack.fft2(np.eye(2))
        array([[2.+0.j, 0.+0.j],
               [0.+0.j, 2.+0.j]])
    """
    return fftn(x, shape, axes)


def ifft2(x: Array, shape: ShapeLike = None, axes: Axis = (-2, -1), overwrite_x: bool = False) -> Array:
    """`scipy.fftpack.ifft2`: the inverse of `fft2`.

    Example:
        >>> import numpy as np
        >>> from adjoint.scipy import fftpack
        >>> fftpack.ifft2(np.eye(2))
        array([[0.5+0.j, 0. +0.j],
               [0. +0.j, 0.5+0.j]])
    """
    return ifftn(x, shape, axes)


def rfft(x: Array, n: int | None = None, axis: int = -1, overwrite_x: bool = False) -> Array:
    """`scipy.fftpack.rfft`: the Fourier transform of real numbers, its real and imaginary parts in turn.

    Example:
        >>> import numpy as np
        >>> from adjoint.scipy import fftpack
        >>> fftpack.rfft(np.array([9.0, -9.0, 1.0, 3.0]))
        array([ 4.,  8., 12., 16.])
    """
    x = array(x)
    n = x.shape[axis] if n is None else n
    found = np.moveaxis(np.fft.rfft(x, n, axis), axis, -1)
    parts = np.stack([found.real, found.imag], axis=-1).reshape(*found.shape[:-1], -1)
    return np.moveaxis(np.delete(parts, [1] if n % 2 else [1, n + 1], axis=-1), -1, axis)


def irfft(x: Array, n: int | None = None, axis: int = -1, overwrite_x: bool = False) -> Array:
    """`scipy.fftpack.irfft`: the inverse of `rfft`.

    Example:
        >>> import numpy as np
        >>> from adjoint.scipy import fftpack
        >>> fftpack.irfft(np.array([4.0, 8.0, 12.0, 16.0]))
        array([ 9., -9.,  1.,  3.])
    """
    x = np.moveaxis(array(x), axis, -1)
    n = x.shape[-1] if n is None else n
    x = x[..., :n]
    short = n - x.shape[-1]
    ends = np.zeros((*x.shape[:-1], short + 1 - n % 2), x.dtype)  # the imaginary part of the highest frequency, too
    parts = np.concatenate([x[..., :1], np.zeros_like(x[..., :1]), x[..., 1:], ends], axis=-1)
    return np.moveaxis(np.fft.irfft(parts[..., ::2] + 1j * parts[..., 1::2], n, axis=-1), -1, axis)


def dct(
    x: Array, type: int = 2, n: int | None = None, axis: int = -1, norm: str | None = None, overwrite_x: bool = False
) -> Array:  # fmt: skip
    """`scipy.fftpack.dct`: the cosine transform of type 1 to 4 along `axis`, of `x` cut or padded to `n`.

    Example:
        >>> import numpy as np
        >>> from adjoint.scipy import fftpack
        >>> fftpack.dct(np.ones(3)).round(4)
        array([6., 0., 0.])
    """
    return ours.dct(x, type, n, axis, norm)


def idct(
    x: Array, type: int = 2, n: int | None = None, axis: int = -1, norm: str | None = None, overwrite_x: bool = False
) -> Array:  # fmt: skip
    """`scipy.fftpack.idct`: the inverse of `dct`, up to a factor unless `norm` is 'ortho'.

    Example:
        >>> import numpy as np
        >>> from adjoint.scipy import fftpack
        >>> fftpack.idct(fftpack.dct(np.ones(3))).round(4)
        array([6., 6., 6.])
    """
    return ours.dct(x, _INVERSE.get(type, type), n, axis, norm)


def dst(
    x: Array, type: int = 2, n: int | None = None, axis: int = -1, norm: str | None = None, overwrite_x: bool = False
) -> Array:  # fmt: skip
    """`scipy.fftpack.dst`: the sine transform of type 1 to 4 along `axis`, of `x` cut or padded to `n`.

    Example:
        >>> import numpy as np
        >>> from adjoint.scipy import fftpack
        >>> fftpack.dst(np.ones(3)).round(4)
        array([4., 0., 2.])
    """
    return ours.dst(x, type, n, axis, norm)


def idst(
    x: Array, type: int = 2, n: int | None = None, axis: int = -1, norm: str | None = None, overwrite_x: bool = False
) -> Array:  # fmt: skip
    """`scipy.fftpack.idst`: the inverse of `dst`, up to a factor unless `norm` is 'ortho'.

    Example:
        >>> import numpy as np
        >>> from adjoint.scipy import fftpack
        >>> fftpack.idst(fftpack.dst(np.ones(3))).round(4)
        array([6., 6., 6.])
    """
    return ours.dst(x, _INVERSE.get(type, type), n, axis, norm)


def dctn(
    x: Array, type: int = 2, shape: ShapeLike = None, axes: Axis = None, norm: str | None = None,
    overwrite_x: bool = False,
) -> Array:  # fmt: skip
    """`scipy.fftpack.dctn`: `dct` along several axes.

    Example:
        >>> import numpy as np
        >>> from adjoint.scipy import fftpack
        >>> fftpack.dctn(np.ones((2, 2))).round(4)
        array([[16.,  0.],
               [ 0.,  0.]])
    """
    x, axes = _checked(x, shape, axes)
    return ours.dctn(x, type, shape, axes, norm)


def idctn(
    x: Array, type: int = 2, shape: ShapeLike = None, axes: Axis = None, norm: str | None = None,
    overwrite_x: bool = False,
) -> Array:  # fmt: skip
    """`scipy.fftpack.idctn`: `idct` along several axes.

    Example:
        >>> import numpy as np
        >>> from adjoint.scipy import fftpack
        >>> fftpack.idctn(fftpack.dctn(np.ones((2, 2)))).round(4)
        array([[16., 16.],
               [16., 16.]])
    """
    return dctn(x, _INVERSE.get(type, type), shape, axes, norm)


def dstn(
    x: Array, type: int = 2, shape: ShapeLike = None, axes: Axis = None, norm: str | None = None,
    overwrite_x: bool = False,
) -> Array:  # fmt: skip
    """`scipy.fftpack.dstn`: `dst` along several axes.

    Example:
        >>> import numpy as np
        >>> from adjoint.scipy import fftpack
        >>> fftpack.dstn(np.ones((2, 2))).round(4)
        array([[8., 0.],
               [0., 0.]])
    """
    x, axes = _checked(x, shape, axes)
    return ours.dstn(x, type, shape, axes, norm)


def idstn(
    x: Array, type: int = 2, shape: ShapeLike = None, axes: Axis = None, norm: str | None = None,
    overwrite_x: bool = False,
) -> Array:  # fmt: skip
    """`scipy.fftpack.idstn`: `idst` along several axes.

    Example:
        >>> import numpy as np
        >>> from adjoint.scipy import fftpack
        >>> fftpack.idstn(fftpack.dstn(np.ones((2, 2)))).round(4)
        array([[16., 16.],
               [16., 16.]])
    """
    return dstn(x, _INVERSE.get(type, type), shape, axes, norm)


def _filtered(x: Array, factor: Function, at_zero: float = 0.0, highest: Function | None = None) -> Array:
    """The periodic series `x`, each frequency k times ``factor(k)``; `highest` is for n / 2 of an even number n."""
    x = array(x)
    if x.dtype.kind == "c":
        return _filtered(x.real, factor, at_zero, highest) + 1j * _filtered(x.imag, factor, at_zero, highest)
    x = x.astype(np.float64)
    n = x.shape[0]
    k = np.arange(1.0, (n + 1) // 2)
    factors = [np.full(1, at_zero), factor(k)]
    if n % 2 == 0:
        factors.append(np.zeros(1) if highest is None else highest(np.array([n / 2])))
    return np.fft.irfft(np.fft.rfft(x) * np.concatenate(factors), n)


def diff(x: Array, order: int = 1, period: float | None = None) -> Array:
    """`scipy.fftpack.diff`: the derivative of a periodic series, or its integral if `order` is negative.

    Example:
        >>> import numpy as np
        >>> from adjoint.scipy import fftpack
        >>> x = np.arange(4) * np.pi / 2
        >>> np.abs(fftpack.diff(np.sin(x)) - np.cos(x)).max() < 1e-12
        np.True_
    """
    x, unit = array(x), 1.0 if period is None else 2 * np.pi / period
    return x if order == 0 else _filtered(x, lambda k: 1j**order * (unit * k) ** order)


def hilbert(x: Array) -> Array:
    """`scipy.fftpack.hilbert`: the Hilbert transform of a periodic series.

    Example:
        >>> import numpy as np
        >>> from adjoint.scipy import fftpack
        >>> fftpack.hilbert(np.array([0.0, 1.0, 0.0, -1.0])).round(4)
        array([ 1.,  0., -1.,  0.])
    """
    return _filtered(x, lambda k: 1j * np.ones_like(k))


def ihilbert(x: Array) -> Array:
    """`scipy.fftpack.ihilbert`: the inverse of `hilbert`.

    Example:
        >>> import numpy as np
        >>> from adjoint.scipy import fftpack
        >>> fftpack.ihilbert(np.array([0.0, 1.0, 0.0, -1.0])).round(4)
        array([-1., -0.,  1., -0.])
    """
    return -hilbert(x)


def tilbert(x: Array, h: float, period: float | None = None) -> Array:
    """`scipy.fftpack.tilbert`: the Tilbert transform of a periodic series in a layer of height `h`.

    Example:
        >>> import numpy as np
        >>> from adjoint.scipy import fftpack
        >>> fftpack.tilbert(np.array([0.0, 1.0, 0.0, -1.0]), 0.5).round(4)
        array([ 2.164,  0.   , -2.164,  0.   ])
    """
    h = h if period is None else h * 2 * np.pi / period
    return _filtered(x, lambda k: 1j / np.tanh(h * k))


def itilbert(x: Array, h: float, period: float | None = None) -> Array:
    """`scipy.fftpack.itilbert`: the inverse of `tilbert`.

    Example:
        >>> import numpy as np
        >>> from adjoint.scipy import fftpack
        >>> fftpack.itilbert(np.array([0.0, 1.0, 0.0, -1.0]), 0.5).round(4)
        array([-0.4621,  0.    ,  0.4621,  0.    ])
    """
    h = h if period is None else h * 2 * np.pi / period
    return _filtered(x, lambda k: -1j * np.tanh(h * k))


def shift(x: Array, a: float, period: float | None = None) -> Array:
    """`scipy.fftpack.shift`: a periodic series ``x(u)`` at the places ``u + a``.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> from adjoint.scipy import fftpack
        >>> places = np.arange(6) * np.pi / 3
        >>> ad.grad(lambda a: fftpack.shift(np.sin(places), a)[0])(0.0).round(4)
        np.float64(1.0)
    """
    a = a if period is None else a * 2 * np.pi / period
    return _filtered(x, lambda k: np.cos(a * k) + 1j * np.sin(a * k), 1.0, lambda k: np.cos(a * k) + np.sin(a * k))


def __dir__() -> list[str]:
    return __all__
