"""`scipy.signal` for tensors: convolution in any number of dimensions, recursive filters, trends, analytic signals.

A filter's gradient is the filter run backward in time.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from scipy import fft, signal

from adjoint.core.box import varies
from adjoint.core.constructors import general
from adjoint.core.errors import ArgumentError, ShapeError
from adjoint.core.op import call
from adjoint.core.pullbacks import unbroadcast
from adjoint.ops.shape import lined_up
from adjoint.scipy.arrays import array, conj, plain

# -- Convolution --------------------------------------------------------------------------------------


def convolve(in1: Any, in2: Any, mode: str = "full", method: str = "auto") -> Any:
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


def _pair(name: str, in1: Any, in2: Any, mode: str, method: str) -> tuple[Any, Any]:
    a, v = array(in1), array(in2)
    if mode not in ("full", "same", "valid") or method not in ("auto", "direct", "fft"):
        raise ArgumentError(
            f"{name}: mode is 'full', 'same' or 'valid', and method 'auto', 'direct' or 'fft'; got {mode!r} and "
            f"{method!r}"
        )
    if a.ndim != v.ndim:
        raise ShapeError(f"{name} takes arrays with equally many axes; got shapes {a.shape} and {v.shape}")
    return a, v


def _middle(full: Any, shape: tuple[int, ...]) -> Any:
    starts = [(m - n) // 2 for n, m in zip(shape, full.shape, strict=True)]
    return full[tuple(slice(k, k + n) for k, n in zip(starts, shape, strict=True))]


def _spectral(arrays: Any, start: int = 0) -> tuple[Any, Any]:
    """The transform to spectra long enough for all terms, and the backward pass to the first elements of an array.

    Axes before `start` are those of a stack.
    """
    a, v = arrays
    real, axes = all(x.dtype.kind != "c" for x in arrays), range(start, a.ndim)
    lengths = [fft.next_fast_len(n + m - 1, real) for n, m in zip(a.shape[start:], v.shape[start:], strict=True)]
    forward: Any
    back: Any
    forward, back = (np.fft.rfftn, np.fft.irfftn) if real else (np.fft.fftn, np.fft.ifftn)
    return (
        lambda x: forward(x, lengths, axes),
        lambda x, shape: back(x, lengths, axes)[(..., *map(slice, shape))],
    )


def _by_spectra_each(arrays: Any, stacked: tuple[bool, ...]) -> Any:
    a, v = (x if s else x[None] for x, s in zip(arrays, stacked, strict=True))
    forward, back = _spectral((a, v), 1)
    return back(forward(a) * forward(v), [n + m - 1 for n, m in zip(a.shape[1:], v.shape[1:], strict=True)])


def _spectra_cotangents(g: Any, arrays: Any, needs: Any) -> list[Any]:
    forward, back = _spectral(arrays)
    spectrum = forward(g)
    return [back(spectrum * np.conj(forward(arrays[1 - i])), arrays[i].shape) if i in needs else None for i in (0, 1)]


def _spectra_tangent(t: Any, arrays: Any) -> Any:
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
    samples=lambda r: [
        call(r(5), r(3)),
        call(r(2, 4), r(3, 2)),
        call(r(3) + 1j * r(3), r(2) + 1j * r(2)),
    ],
)
def convolution_by_spectra(*arrays: Any) -> Any:
    """All terms of the convolution of two `arrays`, by Fourier transforms."""
    a, v = arrays
    forward, back = _spectral(arrays)
    return back(forward(a) * forward(v), [n + m - 1 for n, m in zip(a.shape, v.shape, strict=True)])


def _turned(x: Any) -> Any:
    """Reversed along every axis, and conjugated."""
    return conj(np.flip(x))


def _convolution_a(g: Any, v: Any, mode: str, method: str) -> Any:
    return convolution(g, _turned(v), mode="valid" if mode == "full" else "full", method=method)


def _convolution_v(g: Any, a: Any, mode: str, method: str) -> Any:
    if mode == "full":
        return convolution(g, _turned(a), mode="valid", method=method)
    return np.flip(convolution(conj(a), np.flip(g), mode="valid", method=method))


def _convolved_each(a: Any, v: Any, mode: str, method: str, stacked: tuple[bool, ...]) -> Any:
    """With a kernel that samples share, they are rows."""
    if all(stacked) or (mode == "valid" and stacked[1]):
        return NotImplemented
    return convolution(a if stacked[0] else a[None], v if stacked[1] else v[None], mode=mode, method=method)


@general(
    vjps=(_convolution_a, _convolution_v),
    flags=("multilinear",),
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
def convolution(a: Any, v: Any, /, mode: str = "full", method: str = "auto") -> Any:
    """All terms, or those without padding, where `v` fits into `a`."""
    return signal.convolve(a, v, mode, method)


def correlate(in1: Any, in2: Any, mode: str = "full", method: str = "auto") -> Any:
    """`scipy.signal.correlate`: `convolve` with `in2` reversed and conjugated.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> from adjoint.scipy.signal import correlate
        >>> ad.grad(lambda x: correlate(x, [1.0, 2.0], mode="valid").sum())(np.zeros(3))
        array([1., 3., 2.])
    """
    a, v = _pair("correlate", in1, in2, mode, method)
    return convolve(a, _turned(v), mode, method)


def fftconvolve(in1: Any, in2: Any, mode: str = "full", axes: Any = None) -> Any:
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
        full: Any = np.fft.ifftn(np.fft.fftn(a, lengths, along) * np.fft.fftn(v, lengths, along), lengths, along)
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


# -- Recursive filters --------------------------------------------------------------------------------


def lfilter(b: Any, a: Any, x: Any, axis: int = -1, zi: Any = None) -> Any:
    """`scipy.signal.lfilter`: the rational filter ``b / a`` along an axis.

    Args:
        b, a: coefficients, vectors; ``a[0]`` is not 0.
        x: the signal.
        axis: along which it runs.
        zi: the state to start from, of length ``max(len(a), len(b)) - 1`` along `axis`.

    Returns:
        What comes out, of the shape of `x`; and, if `zi` was given, the state at the end.

    Raises:
        ShapeError: if coefficients are not vectors, or `zi` does not fit.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> from adjoint.scipy.signal import lfilter
        >>> ad.grad(lambda a1: lfilter([1.0], np.stack([1.0, a1]), np.ones(3))[2])(-0.5)
        np.float64(-2.0)
    """
    b, a, x = np.atleast_1d(array(b)), np.atleast_1d(array(a)), array(x)
    if a.ndim != 1 or b.ndim != 1 or x.ndim == 0:
        raise ShapeError(f"lfilter takes vectors b and a, and a signal; got shapes {b.shape}, {a.shape} and {x.shape}")
    order = max(a.shape[0], b.shape[0]) - 1
    b, a = _lengthened(b / a[0], order + 1), _lengthened(a / a[0], order + 1)
    x = np.moveaxis(x, axis, -1)
    if zi is None:
        return np.moveaxis(rational_filter(b, a, x, np.zeros(order, x.dtype)), -1, axis)
    zi = np.moveaxis(array(zi), axis, -1)
    if zi.shape[-1:] != (order,) or zi.ndim != x.ndim:
        expected = (*x.shape[:-1], order)
        raise ShapeError(f"lfilter: zi must have shape {expected}, `axis` last; got {zi.shape}")
    y = rational_filter(b, a, x, zi)
    return np.moveaxis(y, -1, axis), np.moveaxis(_last_state(b, a, x, zi, y), -1, axis)


def _lengthened(c: Any, n: int) -> Any:
    return c if c.shape[0] == n else np.concatenate([c, np.zeros(n - c.shape[0], c.dtype)])


def _last_state(b: Any, a: Any, x: Any, zi: Any, y: Any) -> Any:
    """What the terms seen so far will add to the next outputs."""
    order, n = b.shape[0] - 1, x.shape[-1]
    state = []
    for i in range(order):
        total = zi[..., n + i] if n + i < order else 0.0
        for k in range(i + 1, min(order, n + i) + 1):
            total = total + b[k] * x[..., n + i - k] - a[k] * y[..., n + i - k]
        state.append(np.broadcast_to(total, y.shape[:-1]))
    return np.stack(state, axis=-1) if state else np.zeros((*y.shape[:-1], 0), y.dtype)


def _backward_in_time(g: Any, a: Any) -> Any:
    """The cotangent of what drives the recursion: the filter ``1 / a``, from the last moment to the first."""
    one = np.zeros(a.shape[0], a.dtype)
    one[0] = 1.0
    return np.flip(rational_filter(one, conj(a), np.flip(g, -1), np.zeros(a.shape[0] - 1, g.dtype)), -1)


def _lagged(h: Any, x: Any, order: int) -> Any:
    """The sum over time of ``h[t] * conj(x[t - k])``, for k = 0 … order."""
    n = x.shape[-1]
    x = x if x.shape == h.shape else np.broadcast_to(x, h.shape)
    none = np.zeros((), h.dtype)
    return np.stack([np.vdot(x[..., : n - k], h[..., k:]) if k < n else none for k in range(order + 1)])


def _filter_cotangents(g: Any, arrays: Any, out: Any, needs: Any) -> list[Any]:
    """With h the cotangent of ``b x + zi``, which drives the recursion, that of y in ``a y = b x + zi``."""
    b, a, x, zi = arrays
    order = a.shape[0] - 1
    if needs == (2,):  # the same filter, backward in time
        start = np.zeros(order, g.dtype)
        return [
            None,
            None,
            _fitted(np.flip(rational_filter(conj(b), conj(a), np.flip(g, -1), start), -1), x.shape),
            None,
        ]
    h = _backward_in_time(g, a)
    none = np.zeros(1, h.dtype)
    cotangents: list[Any] = [None] * 4
    if 0 in needs:
        cotangents[0] = _lagged(h, x, order)
    if 1 in needs:
        cotangents[1] = np.concatenate([none, -_lagged(h, out, order)[1:]])
    if 2 in needs:
        one, start = np.append(np.ones(1, b.dtype), np.zeros(order, b.dtype)), np.zeros(order, h.dtype)
        cotangents[2] = _fitted(np.flip(rational_filter(conj(b), one, np.flip(h, -1), start), -1), x.shape)
    if 3 in needs:
        head = h[..., :order]
        short = order - head.shape[-1]
        if short > 0:
            head = np.concatenate([head, np.zeros((*head.shape[:-1], short), head.dtype)], axis=-1)
        cotangents[3] = _fitted(head, zi.shape)
    return cotangents


def _filter_tangent(t: Any, arrays: Any, out: Any) -> Any:
    """From ``a y = b x + zi``: the filter 1 / a of what varies on the right side, less what does on the left."""
    (tb, ta, tx, tz), (b, a, x, _) = t, arrays
    one, none, start = np.zeros(a.shape[0], a.dtype), np.zeros(1, a.dtype), np.zeros(a.shape[0] - 1, out.dtype)
    one[0] = 1.0
    drive: Any = 0.0
    if tb is not None:
        drive = drive + rational_filter(tb, one, x, start)
    if ta is not None:
        drive = drive - rational_filter(np.concatenate([none, ta[1:]]), one, out, start)
    found = rational_filter(one, a, drive, start) if np.ndim(drive) else 0.0
    if tx is not None or tz is not None:
        tx = np.zeros_like(out) if tx is None else tx
        found = found + rational_filter(b, a, tx, start if tz is None else tz)
    return found


def _fitted(c: Any, shape: tuple[int, ...]) -> Any:
    return c if c.shape == shape else unbroadcast(c, shape)


def _filtered_each(arrays: Any, stacked: tuple[bool, ...]) -> Any:
    """With coefficients that samples share, they are rows."""
    if any(stacked[:2]):
        return NotImplemented
    return rational_filter(*arrays[:2], *lined_up(arrays[2:], stacked[2:]))


@general(
    vjp=_filter_cotangents,
    jvp=_filter_tangent,
    batch=_filtered_each,
    flags=("selects",),
    samples=lambda r: [
        call(r(3), np.array([1.0, -0.5, 0.2]), r(6), r(2)),
        call(r(3), np.array([1.0, -0.5, 0.2]), r(2, 4), r(2, 2)),
        call(r(4), np.array([1.0, 0.3, 0.2, 0.1]), r(2), r(3)),
        call(r(2) + 1j * r(2), np.array([1.0, 0.3j]), r(4) + 1j * r(4), r(1) + 1j * r(1)),
    ],
)
def rational_filter(*arrays: Any) -> Any:
    """``b / a`` along the last axis of `x`, from the state `zi`; all four are `arrays`, ``a[0]`` the constant 1."""
    b, a, x, zi = arrays
    batch = np.broadcast_shapes(x.shape[:-1], zi.shape[:-1])
    x, zi = np.broadcast_to(x, batch + x.shape[-1:]), np.broadcast_to(zi, batch + zi.shape[-1:])
    a = a[1:]
    if not a.any():  # SciPy takes products of vectors then, if it knows
        return signal.lfilter(b, np.ones(1, a.dtype), x, zi=zi)[0]
    if not zi.any():
        return signal.lfilter(b, np.concatenate([np.ones(1, a.dtype), a]), x)
    return signal.lfilter(b, np.concatenate([np.ones(1, a.dtype), a]), x, zi=zi)[0]


def sosfilt(sos: Any, x: Any, axis: int = -1, zi: Any = None) -> Any:
    """`scipy.signal.sosfilt`: a filter in second-order sections, one after the other.

    Args:
        sos: (n_sections, 6): ``b`` and ``a`` of each.
        x: the signal.
        axis: along which it runs.
        zi: the states to start from: (n_sections, …, 2, …), with 2 in the place of `axis`.

    Returns:
        What comes out; and, if `zi` was given, the states at the end.

    Raises:
        ShapeError: if `sos` is not of that shape.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> from adjoint.scipy.signal import sosfilt
        >>> sos = np.array([[1.0, 0.0, 0.0, 1.0, -0.5, 0.0]])
        >>> ad.grad(lambda x: sosfilt(sos, x)[2])(np.ones(3))
        array([0.25, 0.5 , 1.  ])
    """
    sos, x = array(sos), array(x)
    if sos.ndim != 2 or sos.shape[1] != 6:
        raise ShapeError(f"sosfilt takes sections of shape (n, 6); got {sos.shape}")
    states = []
    for i in range(sos.shape[0]):
        if zi is None:
            x = lfilter(sos[i, :3], sos[i, 3:], x, axis)
        else:
            x, state = lfilter(sos[i, :3], sos[i, 3:], x, axis, array(zi)[i])
            states.append(state)
    return x if zi is None else (x, np.stack(states))


# -- Trends, and the analytic signal ------------------------------------------------------------------


def detrend(data: Any, axis: int = -1, type: str = "linear", bp: Any = 0, overwrite_data: bool = False) -> Any:
    """`scipy.signal.detrend`: less its mean, or less the straight line of least squares, along an axis.

    Args:
        type: "linear" or "constant".
        bp: where, for "linear", one line ends and the next begins.

    Raises:
        ArgumentError: for another type.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> from adjoint.scipy.signal import detrend
        >>> ad.grad(lambda x: detrend(x, type="constant")[0])(np.zeros(4))
        array([ 0.75, -0.25, -0.25, -0.25])
    """
    x = array(data)
    if type in ("constant", "c"):
        return x - np.mean(x, axis=axis, keepdims=True)
    if type not in ("linear", "l"):
        raise ArgumentError(f"detrend: type is 'linear' or 'constant'; got {type!r}")
    x = np.moveaxis(x, axis, -1)
    n = x.shape[-1]
    edges = sorted({0, n, *(int(k) for k in np.atleast_1d(bp))})
    if edges[0] < 0 or edges[-1] > n:
        raise ArgumentError(f"detrend: breakpoints must lie within the data, 0 … {n}; got {bp}")
    pieces = []
    for start, stop in pairwise(edges):
        m = stop - start
        basis, _ = np.linalg.qr(np.stack([np.ones(m), np.arange(1.0, m + 1) / m], axis=1))
        basis, piece = basis.astype(x.real.dtype), x[..., start:stop]
        pieces.append(piece - np.matmul(np.matmul(piece, basis), basis.T))
    return np.moveaxis(np.concatenate(pieces, axis=-1), -1, axis)


def hilbert(x: Any, N: int | None = None, axis: int = -1) -> Any:  # noqa: N803 - SciPy's name
    """`scipy.signal.hilbert`: the analytic signal of a real one; its absolute value is the envelope.

    Args:
        x: real.
        N: how many Fourier components; the length along `axis` if not given.

    Raises:
        ArgumentError: if `x` is complex.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> from adjoint.scipy.signal import hilbert
        >>> ad.grad(lambda x: np.imag(hilbert(x))[0])(np.zeros(4))
        array([ 0. , -0.5,  0. ,  0.5])
    """
    x = array(x)
    if x.dtype.kind == "c":
        raise ArgumentError("hilbert takes a real signal; got a complex one")
    n = x.shape[axis] if N is None else N
    weights = np.zeros(n, x.dtype)
    weights[0] = 1.0
    weights[1 : (n + 1) // 2] = 2.0
    if n % 2 == 0:
        weights[n // 2] = 1.0
    shape = [1] * x.ndim
    shape[axis] = n
    return np.fft.ifft(np.fft.fft(x, n, axis=axis) * weights.reshape(shape), axis=axis)
