"""Recursive filters. The gradient of a filter is the filter run backward in time."""

from __future__ import annotations

import numpy as np
from scipy import signal

from adjoint.core.constructors import general
from adjoint.core.errors import ShapeError
from adjoint.core.op import call
from adjoint.core.types import Array, Value
from adjoint.ops.linalg.lapack import conj, fitted
from adjoint.ops.shape.reshaping import lined_up
from adjoint.scipy.arrays import array


def lfilter(b: Array, a: Array, x: Array, axis: int = -1, zi: Array = None) -> Array:
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
    b, a = lengthened(b / a[0], order + 1), lengthened(a / a[0], order + 1)
    x = np.moveaxis(x, axis, -1)
    if zi is None:
        return np.moveaxis(rational_filter(b, a, x, np.zeros(order, x.dtype)), -1, axis)
    zi = np.moveaxis(array(zi), axis, -1)
    if zi.shape[-1:] != (order,) or zi.ndim != x.ndim:
        expected = (*x.shape[:-1], order)
        raise ShapeError(f"lfilter: zi must have shape {expected}, `axis` last; got {zi.shape}")
    y = rational_filter(b, a, x, zi)
    return np.moveaxis(y, -1, axis), np.moveaxis(_last_state(b, a, x, zi, y), -1, axis)


def lengthened(c: Array, n: int) -> Array:
    """`c` with zeros at its end, of length `n`."""
    return c if c.shape[0] == n else np.concatenate([c, np.zeros(n - c.shape[0], c.dtype)])


def _last_state(b: Array, a: Array, x: Array, zi: Array, y: Array) -> Array:
    """What the terms seen so far will add to the next outputs."""
    order, n = b.shape[0] - 1, x.shape[-1]
    state = []
    for i in range(order):
        total = zi[..., n + i] if n + i < order else 0.0
        for k in range(i + 1, min(order, n + i) + 1):
            total = total + b[k] * x[..., n + i - k] - a[k] * y[..., n + i - k]
        state.append(np.broadcast_to(total, y.shape[:-1]))
    return np.stack(state, axis=-1) if state else np.zeros((*y.shape[:-1], 0), y.dtype)


def _backward_in_time(g: Array, a: Array) -> Array:
    """The cotangent of what drives the recursion: the filter ``1 / a``, from the last moment to the first."""
    one = np.zeros(a.shape[0], a.dtype)
    one[0] = 1.0
    h = np.flip(rational_filter(one, conj(a), np.flip(g, -1), np.zeros(a.shape[0] - 1, g.dtype)), -1)
    return np.ascontiguousarray(h) if type(h) is np.ndarray else h  # once, and not in each product with it


def _lagged(h: Array, x: Array, order: int) -> Array:
    """The sum over time of ``h[t] * conj(x[t - k])``, for k = 0 … order."""
    n = x.shape[-1]
    x = x if x.shape == h.shape else np.broadcast_to(x, h.shape)
    none = np.zeros((), h.dtype)
    return np.stack([np.vdot(x[..., : n - k], h[..., k:]) if k < n else none for k in range(order + 1)])


def _filter_cotangents(g: Array, arrays: Array, out: Array, needs: Value) -> list[Array]:
    """With h the cotangent of ``b x + zi``, which drives the recursion, that of y in ``a y = b x + zi``."""
    b, a, x, zi = arrays
    order = a.shape[0] - 1
    cotangents: list[Array] = [None] * 4
    if 2 in needs:  # the same filter, backward in time
        back = rational_filter(conj(b), conj(a), np.flip(g, -1), np.zeros(order, g.dtype))
        cotangents[2] = fitted(np.flip(back, -1), x.shape)
        if needs == (2,):
            return cotangents
    h = _backward_in_time(g, a)
    none = np.zeros(1, h.dtype)
    if 0 in needs:
        cotangents[0] = _lagged(h, x, order)
    if 1 in needs:
        cotangents[1] = np.concatenate([none, -_lagged(h, out, order)[1:]])
    if 3 in needs:
        head = h[..., :order]
        short = order - head.shape[-1]
        if short > 0:
            head = np.concatenate([head, np.zeros((*head.shape[:-1], short), head.dtype)], axis=-1)
        cotangents[3] = fitted(head, zi.shape)
    return cotangents


def _filter_tangent(t: Array, arrays: Array, out: Array) -> Array:
    """From ``a y = b x + zi``: the filter 1 / a of the right side's tangent minus the left side's."""
    (tb, ta, tx, tz), (b, a, x, _) = t, arrays
    one, none, start = np.zeros(a.shape[0], a.dtype), np.zeros(1, a.dtype), np.zeros(a.shape[0] - 1, out.dtype)
    one[0] = 1.0
    drive: Value = 0.0
    if tb is not None:
        drive = drive + rational_filter(tb, one, x, start)
    if ta is not None:
        drive = drive - rational_filter(np.concatenate([none, ta[1:]]), one, out, start)
    found = rational_filter(one, a, drive, start) if np.ndim(drive) else 0.0
    if tx is not None or tz is not None:
        tx = np.zeros_like(out) if tx is None else tx
        found = found + rational_filter(b, a, tx, start if tz is None else tz)
    return found


def _filtered_each(arrays: Array, stacked: tuple[bool, ...]) -> Array:
    """With coefficients that samples share, they are rows."""
    if any(stacked[:2]):
        return NotImplemented
    return rational_filter(*arrays[:2], *lined_up(arrays[2:], stacked[2:]))


@general(
    vjp=_filter_cotangents,
    jvp=_filter_tangent,
    batch=_filtered_each,
    flags=("selects", "host"),
    samples=lambda r: [
        call(r(3), np.array([1.0, -0.5, 0.2]), r(6), r(2)),
        call(r(3), np.array([1.0, -0.5, 0.2]), r(2, 4), r(2, 2)),
        call(r(4), np.array([1.0, 0.3, 0.2, 0.1]), r(2), r(3)),
        call(r(2) + 1j * r(2), np.array([1.0, 0.3j]), r(4) + 1j * r(4), r(1) + 1j * r(1)),
    ],
)
def rational_filter(*arrays: Array) -> Array:
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


def sosfilt(sos: Array, x: Array, axis: int = -1, zi: Array = None) -> Array:
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
