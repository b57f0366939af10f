"""Convolution and correlation in any number of dimensions."""

from __future__ import annotations

import numpy as np
from scipy import fft, signal

from adjoint.core.box import varies
from adjoint.core.constructors import general
from adjoint.core.errors import ArgumentError, ShapeError
from adjoint.core.op import call
from adjoint.core.types import Array, Axis, Value
from adjoint.ops.linalg.lapack import conj
from adjoint.scipy.arrays import array, plain


def convolve(in1: Array, in2: Array, mode: str = "full", method: str = "auto") -> Array:
    """`scipy.signal.convolve`: of two arrays with equally many axes.

    Args:
        in1, in2: real or complex.
        mode: "full"; "same" for the middle, of the size of `in1`; "valid" for what needs no padding.
        method: "direct", "fft", or "auto" for the quicker one.

    Raises:
        ShapeError: if the numbers of axes differ, or, for "valid", neither array fits into the other.
        ArgumentError: for another mode or method.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> from adjoint.scipy.signal import convolve
        >>> ad.grad(lambda k: convolve([1.0, 2.0, 3.0], k, mode="valid")[0])(np.zeros(2))
        array([2., 1.])
    """
    a, v = _pair("convolve", in1, in2, mode, method)
    in_shape = a.shape
    if mode == "valid":
        if any(n < m for n, m in zip(a.shape, v.shape, strict=True)):
            a, v = v, a
        if any(n < m for n, m in zip(a.shape, v.shape, strict=True)):
            raise ShapeError(
                f"convolve, mode='valid': one array must be at least as long as the other along every axis; got shapes "
                f"{v.shape} and {a.shape}"
            )
    if method == "auto":
        shown = (np.zeros(x.shape, x.dtype) if varies(x) else plain(x) for x in (a, v))
        method = signal.choose_conv_method(*shown, mode)
    if method == "fft" and a.ndim and a.size and v.size:
        full, shape = convolution_by_spectra(a, v), list(in_shape)
        if mode == "valid":
            shape = [n - m + 1 for n, m in zip(a.shape, v.shape, strict=True)]
        return full if mode == "full" else _middle(full, tuple(shape))
    if mode == "valid":
        return convolution(a, v, mode="valid", method="direct")
    full = convolution(a, v, mode="full", method="direct")
    return full if mode == "full" else _middle(full, in_shape)


def _pair(name: str, in1: Array, in2: Array, mode: str, method: str) -> tuple[Array, Array]:
    a, v = array(in1), array(in2)
    if mode not in ("full", "same", "valid") or method not in ("auto", "direct", "fft"):
        raise ArgumentError(
            f"{name}: mode is 'full', 'same' or 'valid', and method 'auto', 'direct' or 'fft'; got {mode!r} and "
            f"{method!r}"
        )
    if a.ndim != v.ndim:
        raise ShapeError(f"{name} takes arrays with equally many axes; got shapes {a.shape} and {v.shape}")
    return a, v


def _middle(full: Array, shape: tuple[int, ...]) -> Array:
    starts = [(m - n) // 2 for n, m in zip(shape, full.shape, strict=True)]
    return full[tuple(slice(k, k + n) for k, n in zip(starts, shape, strict=True))]


def _spectral(arrays: Array, start: int = 0) -> tuple[Array, Array]:
    """The transform to spectra long enough for all terms, and the backward pass to the first elements of an array.

    Axes before `start` are those of a stack.
    """
    a, v = arrays
    real, axes = all(x.dtype.kind != "c" for x in arrays), range(start, a.ndim)
    lengths = [fft.next_fast_len(n + m - 1, real) for n, m in zip(a.shape[start:], v.shape[start:], strict=True)]
    forward: Value
    back: Value
    forward, back = (np.fft.rfftn, np.fft.irfftn) if real else (np.fft.fftn, np.fft.ifftn)
    return (lambda x: forward(x, lengths, axes), lambda x, shape: back(x, lengths, axes)[(..., *map(slice, shape))])


def _by_spectra_each(arrays: Array, stacked: tuple[bool, ...]) -> Array:
    a, v = (x if s else x[None] for x, s in zip(arrays, stacked, strict=True))
    forward, back = _spectral((a, v), 1)
    return back(forward(a) * forward(v), [n + m - 1 for n, m in zip(a.shape[1:], v.shape[1:], strict=True)])


def _spectra_cotangents(g: Array, arrays: Array, needs: Value) -> list[Array]:
    forward, back = _spectral(arrays)
    spectrum = forward(g)
    return [back(spectrum * np.conj(forward(arrays[1 - i])), arrays[i].shape) if i in needs else None for i in (0, 1)]


def _spectra_tangent(t: Array, arrays: Array) -> Array:
    shares = [
        convolution_by_spectra(*(tangent, arrays[1]) if i == 0 else (arrays[0], tangent))
        for i, tangent in enumerate(t)
        if tangent is not None
    ]
    return sum(shares[1:], shares[0])


@general(
    vjp=_spectra_cotangents,
    jvp=_spectra_tangent,
    batch=_by_spectra_each,
    flags=("array",),
    samples=lambda r: [call(r(5), r(3)), call(r(2, 4), r(3, 2)), call(r(3) + 1j * r(3), r(2) + 1j * r(2))],
)
def convolution_by_spectra(*arrays: Array) -> Array:
    """All terms of the convolution of two `arrays`, by Fourier transforms."""
    a, v = arrays
    forward, back = _spectral(arrays)
    return back(forward(a) * forward(v), [n + m - 1 for n, m in zip(a.shape, v.shape, strict=True)])


def _turned(x: Array) -> Array:
    """Reversed along every axis, and conjugated."""
    return conj(np.flip(x))


def _convolution_a(g: Array, v: Array, mode: str, method: str) -> Array:
    return convolution(g, _turned(v), mode="valid" if mode == "full" else "full", method=method)


def _convolution_v(g: Array, a: Array, mode: str, method: str) -> Array:
    if mode == "full":
        return convolution(g, _turned(a), mode="valid", method=method)
    return np.flip(convolution(conj(a), np.flip(g), mode="valid", method=method))


def _convolved_each(a: Array, v: Array, mode: str, method: str, stacked: tuple[bool, ...]) -> Array:
    """With a kernel that samples share, they are rows."""
    if all(stacked) or (mode == "valid" and stacked[1]):
        return NotImplemented
    return convolution(a if stacked[0] else a[None], v if stacked[1] else v[None], mode=mode, method=method)


@general(
    vjps=(_convolution_a, _convolution_v),
    flags=("multilinear", "host"),
    batch=_convolved_each,
    samples=lambda r: [
        call(r(5), r(3)),
        call(r(5), r(3), mode="valid"),
        call(r(2, 4), r(3, 2), method="fft"),
        call(r(4, 3), r(2, 3), mode="valid", method="direct"),
        call(r(3) + 1j * r(3), r(2) + 1j * r(2), mode="valid"),
        call(r(), r()),
    ],
)
def convolution(a: Array, v: Array, /, mode: str = "full", method: str = "auto") -> Array:
    """All terms, or those without padding, where `v` fits into `a`."""
    return signal.convolve(a, v, mode, method)


def correlate(in1: Array, in2: Array, mode: str = "full", method: str = "auto") -> Array:
    """`scipy.signal.correlate`: `convolve` with `in2` reversed and conjugated.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> from adjoint.scipy.signal import correlate
        >>> ad.grad(lambda x: correlate(x, [1.0, 2.0], mode="valid").sum())(np.zeros(3))
        array([1., 3., 2.])
    """
    a, v = _pair("correlate", in1, in2, mode, method)
    return convolve(a, _turned(v), mode, method)


def fftconvolve(in1: Array, in2: Array, mode: str = "full", axes: Axis = None) -> Array:
    """`scipy.signal.fftconvolve`: convolution through Fourier transforms, along all axes or those given.

    Args:
        in1, in2: along axes that are not transformed they broadcast.
        mode: as for `convolve`.
        axes: an axis or several.

    Raises:
        ShapeError, ArgumentError: as `convolve`.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> from adjoint.scipy.signal import fftconvolve
        >>> ad.grad(lambda x: fftconvolve(x, np.ones((1, 2)), axes=1)[0, 0])(np.ones((1, 3))).round(12)
        array([[1., 0., 0.]])
    """
    a, v = _pair("fftconvolve", in1, in2, mode, "fft")
    if axes is None:
        return convolve(a, v, mode, "fft")
    along = sorted({int(i) % a.ndim for i in np.atleast_1d(axes)})
    lengths = [a.shape[i] + v.shape[i] - 1 for i in along]
    if np.result_type(a, v).kind == "c":
        full: Value = np.fft.ifftn(np.fft.fftn(a, lengths, along) * np.fft.fftn(v, lengths, along), lengths, along)
    else:
        full = np.fft.irfftn(np.fft.rfftn(a, lengths, along) * np.fft.rfftn(v, lengths, along), lengths, along)
    shape = list(full.shape)
    if mode == "valid":
        short = [(min(a.shape[i], v.shape[i]), max(a.shape[i], v.shape[i])) for i in along]
        for i, (n, m) in zip(along, short, strict=True):
            shape[i] = m - n + 1
    elif mode == "same":
        for i in along:
            shape[i] = a.shape[i]
    return _middle(full, tuple(shape))
