"""Convolution, correlation, polynomials' values, and windows that slide."""

from __future__ import annotations

import operator
from itertools import product

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple
from numpy.lib.stride_tricks import sliding_window_view as windows_of

from adjoint.core.backend import beside, surely_any, zeros
from adjoint.core.box import raw
from adjoint.core.constructors import composite, general, linear
from adjoint.core.errors import ArgumentError, ShapeError
from adjoint.core.memory import LOCKED_VIEW
from adjoint.core.op import call
from adjoint.core.types import Array, Axis, ShapeLike, Value


def _convolved_each(a: Array, v: Array) -> Array:
    """Each sample's terms as products of one matrix of windows."""
    if a.shape[1] < v.shape[1]:
        a, v = v, a
    m = v.shape[1]
    edges = ((0, 0), (m - 1, m - 1))
    windows, flipped = windows_of(np.pad(a, edges), m, axis=1), np.flip(v, 1)
    if surely_any(np.logical_not(np.isfinite(raw(v)))):  # times the zeros of the edges they would be nan
        there = windows_of(np.pad(np.ones_like(a, dtype=bool), edges), m, axis=1)
        return np.sum(windows * np.where(there, flipped[:, None, :], 0), axis=-1)
    return np.matmul(windows, flipped[..., None])[..., 0]


@general(
    vjps=(lambda g, v: np.correlate(g, v, "valid"), lambda g, a: np.correlate(g, a, "valid")),
    batch=_convolved_each,
    flags=("commutative", "multilinear"),
    samples=lambda r: [call(r(5), r(3)), call(r(2), r(4)), call(r(3), r(1))],
)
def convolve_full(a: Array, v: Array, /) -> Array:
    """The convolution of two vectors, all ``len(a) + len(v) - 1`` terms."""
    return np.convolve(a, v)


def _vectors(name: str, a: Array, v: Array, mode: str) -> tuple[Array, Array, str]:
    a, v = (x if hasattr(x, "shape") else np.asarray(x) for x in (a, v))
    a, v = np.atleast_1d(a), np.atleast_1d(v)
    if a.ndim != 1 or v.ndim != 1 or 0 in a.shape + v.shape:
        raise ArgumentError(
            f"np.{name} takes two vectors of one element or more; got shapes {a.shape} and {v.shape}. For windows "
            f"over more axes, see numpy.lib.stride_tricks.sliding_window_view and np.einsum"
        )
    mode = mode if isinstance(mode, str) or mode not in (0, 1, 2) else ("valid", "same", "full")[mode]
    if mode not in ("full", "same", "valid"):
        raise ArgumentError(f"np.{name}: mode is 'full', 'same' or 'valid'; got {mode!r}")
    return a, v, mode


@composite(
    np.convolve,
    samples=lambda r: [
        call(r(5), r(3)),
        call(r(5), r(3), "same"),
        call(r(3), r(6), "same"),
        call(r(5), r(2), mode="valid"),
        call(r(2), r(5), mode="valid"),
    ],
    errors=lambda r: [call(r(0), r(2)), call(r(2, 2), r(2)), call(r(3), r(2), "some")],
)
def convolve(a: Array, v: Array, mode: str = "full") -> Array:
    a, v, mode = _vectors("convolve", a, v, mode)
    full = convolve_full(a, v)
    short, long = sorted((a.shape[0], v.shape[0]))
    if mode == "same":
        return full[(short - 1) // 2 : (short - 1) // 2 + long]
    return full if mode == "full" else full[short - 1 : long]


@composite(
    np.correlate,
    samples=lambda r: [
        call(r(5), r(3)),
        call(r(5), r(2), "same"),
        call(r(2), r(5), "same"),
        call(r(5), r(3), mode="full"),
        call(r(2), r(5)),
    ],
    errors=lambda r: [call(r(0), r(2)), call(r(2, 2), r(2))],
)
def correlate(a: Array, v: Array, mode: Value = "valid") -> Array:
    if not np.ndim(a) or not np.ndim(v):
        raise ArgumentError(f"np.correlate takes two vectors; got shapes {np.shape(a)} and {np.shape(v)}")
    a, v, mode = _vectors("correlate", a, v, mode)
    if v.shape[0] > a.shape[0] and mode != "full":  # the middle of an even number of terms lies to the other side
        return np.copy(_conjugate(np.correlate(v, a, mode))[::-1], order="C")
    return np.convolve(a, _conjugate(v)[::-1], mode)


@linear(
    transpose=lambda g, window_shape, axis: windows_of(g, window_shape, axis),
    batch=lambda windows, shape, window_shape, axis, n: _overlap_each(windows, (n, *shape), window_shape, axis),
    flags=("moves",),
    samples=lambda r: [call(r(3, 3), shape=(5,), window_shape=(3,), axis=(0,))],
)
def overlap_add(windows: Array, /, shape: ShapeLike = (), window_shape: ShapeLike = (), axis: Axis = ()) -> Array:
    """Zeros of `shape` with each window added in its place: the transpose of `sliding_window_view`."""
    total = zeros(windows, shape, windows.dtype)
    places = [slice(0, n) for n in windows.shape[: len(shape)]]
    for offset in product(*map(range, window_shape)):
        index = list(places)
        for i, start in zip(axis, offset, strict=True):
            index[i] = slice(index[i].start + start, index[i].stop + start)
        total[tuple(index)] += windows[(..., *offset)]
    return total


def _overlap_each(windows: object, shape: ShapeLike, window_shape: ShapeLike, axis: Axis) -> Array:
    return overlap_add(windows, shape=shape, window_shape=window_shape, axis=tuple(i + 1 for i in axis))


@linear(
    transpose=lambda g, x_shape, window_shape, axis: overlap_add(
        g, shape=x_shape, window_shape=window_shape, axis=axis
    ),
    batch="axes",
    memory=LOCKED_VIEW,
    flags=("moves",),
    samples=lambda r: [call(r(5), window_shape=(3,), axis=(0,)), call(r(3, 4), window_shape=(2, 2), axis=(0, 1))],
)
def windows(x: Array, /, window_shape: ShapeLike = (), axis: Axis = ()) -> Array:
    return windows_of(x, window_shape, axis)


@composite(
    windows_of,
    samples=lambda r: [call(r(5), 3), call(r(3, 4), (2, 2)), call(r(3, 5), 2, axis=-1), call(r(4), (2, 2), (0, 0))],
    errors=lambda r: [call(r(3), 4), call(r(3, 3), 2)],
)
def sliding_window_view(
    x: Array, window_shape: ShapeLike, axis: Axis = None, *, subok: bool = False, writeable: bool = False
) -> Array:
    """NumPy's windows over `x`. Windows overlap, so an element's gradient is the sum over its windows.

    They are read-only, also if they are asked to be `writeable`: writing raises then.
    """
    for said in (subok, writeable):
        bool(said)  # an array is neither, and raises
    shape = tuple(window_shape) if np.ndim(window_shape) else (operator.index(window_shape),)
    n = np.ndim(x)
    axes = tuple(range(n)) if axis is None else normalize_axis_tuple(axis, n, allow_duplicate=True)
    return windows(x, window_shape=shape, axis=axes)


@composite(np.polyval, samples=lambda r: [call(r(4), r(3)), call(r(3), r()), call(r(2), r(2, 2))])
def polyval(p: Array, x: Array) -> Array:
    """The polynomial ``p[0] x**n + … + p[n]``, by Horner's rule."""
    p = p if hasattr(p, "shape") else np.asarray(p)
    value = np.zeros_like(x)
    for i in range(np.shape(p)[0]):
        value = value * x + p[i]
    return value


def _conjugate(x: Array) -> Array:
    return np.conj(x) if np.iscomplexobj(x) else x  # of truth values, NumPy's would be whole numbers


@composite(np.vander, samples=lambda r: [call(r(3)), call(r(3), 2), call(r(3), N=4, increasing=True)])
def vander(x: Array, N: int | None = None, increasing: bool = False) -> Array:  # noqa: N803 - NumPy's name
    if np.ndim(x) != 1:
        raise ArgumentError(f"np.vander takes a vector; got {np.ndim(x)} dimensions")
    n = np.shape(x)[0] if N is None else N
    if n < 0:
        raise ArgumentError(f"np.vander: the number of columns must not be negative; got {n}")
    dtype = np.promote_types(np.result_type(x), int)
    if n == 0:
        return np.zeros((np.shape(x)[0], 0), dtype)
    x = (x if hasattr(x, "dtype") else np.asarray(x)).astype(dtype)
    if n > 1:
        np.multiply.resolve_dtypes((dtype, dtype, None))  # NumPy's refusal of text
    columns = [np.ones_like(x)]
    for _ in range(1, n):
        columns.append(columns[-1] * x if len(columns) > 1 else x)  # one times x may be another zero
    return np.stack(columns if increasing else columns[::-1], axis=1)


@composite(np.polymul, flags=("host",), samples=lambda r: [call(r(3), r(2))])
def polymul(a1: Array, a2: Array) -> Array:
    return np.convolve(_leading(a1), _leading(a2))


def _leading(a: Array) -> Array:
    """Coefficients from the first that is not 0; one 0 if all of them are."""
    a = np.atleast_1d(a)
    trimmed = np.trim_zeros(a, "f")
    return trimmed if trimmed.shape[0] else np.zeros(1, a.dtype)


@composite(np.polyadd, samples=lambda r: [call(r(3), r(2))])
def polyadd(a1: object, a2: object) -> Array:
    return np.add(*_as_long(a1, a2))


@composite(np.polysub, samples=lambda r: [call(r(2), r(3))])
def polysub(a1: Array, a2: Array) -> Array:
    return np.subtract(*_as_long(a1, a2))


def _as_long(a1: Array, a2: Array) -> tuple[Array, Array]:
    """Both rows of coefficients, the shorter one with zeros in front."""
    a1, a2 = np.atleast_1d(a1), np.atleast_1d(a2)
    missing = a2.shape[0] - a1.shape[0]
    if missing > 0:
        a1 = np.concatenate([zeros(a1, missing, a1.dtype), a1])
    elif missing < 0:
        a2 = np.concatenate([zeros(a2, -missing, a2.dtype), a2])
    return a1, a2


@composite(np.polyder, samples=lambda r: [call(r(4)), call(r(5), 2)])
def polyder(p: Array, m: int = 1) -> Array:
    if m < 0:
        raise ArgumentError(f"np.polyder: m must not be negative; got {m}. np.polyint is the other way round")
    for _ in range(m):
        n = np.shape(p)[0] - 1
        p = p[:-1] * beside(p, np.arange(n, 0, -1))
    return p


@composite(np.polyint, samples=lambda r: [call(r(3)), call(r(3), 2, k=[0.5, 1.5])])
def polyint(p: Array, m: int = 1, k: Value = None) -> Array:
    if m < 0:
        raise ArgumentError(f"np.polyint: m must not be negative; got {m}. np.polyder is the other way round")
    if np.ndim(p) > 1:
        raise ShapeError(f"np.polyint takes a row of coefficients; got shape {np.shape(p)}")
    constants = [0.0] * m if k is None else [k] * m if np.ndim(k) == 0 else list(k)
    for i in range(m):
        n = np.shape(p)[0]
        p = np.append(p / beside(p, np.arange(n, 0, -1)), beside(p, np.asarray(constants[i])))
    return p
