"""Trends, and the analytic signal."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from adjoint.core.errors import ArgumentError
from adjoint.core.types import Array, Value
from adjoint.scipy.arrays import array


def detrend(data: Array, axis: int = -1, type: str = "linear", bp: Value = 0, overwrite_data: bool = False) -> Array:
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


def hilbert(x: Array, N: int | None = None, axis: int = -1) -> Array:  # noqa: N803 - SciPy's name
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
