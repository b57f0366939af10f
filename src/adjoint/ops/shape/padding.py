"""`numpy.pad`, in all of its modes: each puts a border before and after the array, one axis after another."""

from __future__ import annotations

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from adjoint.core.backend import as_beside, beside, zeros
from adjoint.core.box import Box
from adjoint.core.constructors import composite, linear
from adjoint.core.errors import ArgumentError, NotSupportedError
from adjoint.core.memory import NEW_A
from adjoint.core.op import call
from adjoint.core.types import Array, Function, Value

_BY_AXIS = np.lib.NumpyVersion(np.__version__) >= "2.4.0"  # NumPy takes widths by axis, too
_MIRRORS = ("edge", "reflect", "symmetric", "wrap")
_STATISTICS: dict[str, Function] = {"maximum": np.max, "minimum": np.min, "mean": np.mean, "median": np.median}
_OPTIONS = (
    {"constant": "constant_values", "linear_ramp": "end_values"}
    | dict.fromkeys(_STATISTICS, "stat_length")
    | {"reflect": "reflect_type", "symmetric": "reflect_type", "edge": None, "wrap": None}
)


@linear(
    transpose=lambda g, a_shape, widths: g[tuple(slice(b, b + n) for (b, _), n in zip(widths, a_shape, strict=True))],
    batch=lambda a, widths: np.pad(a, ((0, 0), *widths)),
    flags=("moves", "pads"),
    memory=NEW_A,
    samples=lambda r: [call(r(2, 3), widths=((1, 0), (2, 1)))],
)
def pad_zeros(a: Array, /, widths: Value = ()) -> Array:
    return np.pad(a, widths)


@composite(
    np.pad,
    memory=NEW_A,
    samples=lambda r: [
        call(r(2, 3), 1),
        call(r(2, 3), ((1, 0), (2, 1)), constant_values=3.0),
        call(r(4), (2, 3), "edge"),
        call(r(4), (2, 3), mode="reflect"),
        call(r(3, 4), 2, "symmetric"),
        call(r(3), (4, 1), "wrap"),
        *([call(r(2, 3), {-1: (1, 2)}, constant_values=1.5)] if _BY_AXIS else []),
        call(r(4), (7, 9), "reflect", reflect_type="odd"),
        call(r(2, 3), 2, "symmetric", reflect_type="odd"),
        call(r(3, 3), 2, "linear_ramp", end_values=((1.0, 2.0), (3.0, 4.0))),
        call(r(3, 4), 2, "mean", stat_length=2),
        call(r(3, 4), ((1, 2), (0, 1)), "maximum"),
        call(r(4), 1, "minimum", stat_length=((2, 3),)),
        call(r(3, 4), 1, "median"),
    ],
    errors=lambda r: [call(r(3), 1, "edge", stat_length=2), call(r(3), 1, stat_length=2), call(r(3), -1)],
)
def pad(array: Array, pad_width: Value, mode: str = "constant", **options: Value) -> Array:
    """`numpy.pad`; the values of the margins may be tensors, too."""
    if mode not in _OPTIONS:
        raise NotSupportedError(f"np.pad on a tensor takes mode {', '.join(_OPTIONS)}; got {mode!r}")
    wrong = options.keys() - {_OPTIONS[mode]}
    if wrong:
        known = f"only {_OPTIONS[mode]}=" if _OPTIONS[mode] else "no options"
        raise ArgumentError(f"np.pad: mode {mode!r} takes {known}; got {', '.join(sorted(wrong))}=")
    widths = _widths(pad_width, np.ndim(array))
    option = next(iter(options.values()), None)
    if not widths:  # a number has no sides
        return np.copy(array)
    if mode == "constant" and (option is None or (isinstance(option, int | float) and option == 0)):
        return pad_zeros(array, widths=widths)
    if any(n == 0 and width != (0, 0) for n, width in zip(np.shape(array), widths, strict=True)) and mode != "constant":
        raise ArgumentError(f"np.pad: mode {mode!r} has nothing to repeat along an axis of length 0; use 'constant'")
    if mode in _MIRRORS:
        mirror = _mirrored_odd if option == "odd" else _mirrored
        for axis, width in enumerate(widths):
            if width != (0, 0):
                array = mirror(array, axis, width, mode)
        return array
    borders = _pairs(option, np.ndim(array))
    for axis, (before, after) in enumerate(widths):
        left = _border(array, axis, before, mode, borders[axis][0], False)
        right = _border(array, axis, after, mode, borders[axis][1], True)
        array = np.concatenate([left.astype(array.dtype), array, right.astype(array.dtype)], axis=axis)
    return array


def _widths(pad_width: Value, ndim: int) -> tuple[tuple[int, int], ...]:
    if isinstance(pad_width, dict):
        given = {normalize_axis_index(axis, ndim): width for axis, width in pad_width.items()}
        pad_width = [np.broadcast_to(given.get(axis, 0), 2) for axis in range(ndim)]
    if np.asarray(pad_width).dtype.kind not in "iu":
        raise TypeError(f"np.pad: widths are whole numbers; got {pad_width!r}")
    widths = tuple((int(a), int(b)) for a, b in np.broadcast_to(pad_width, (ndim, 2)))
    if any(w < 0 for pair in widths for w in pair):
        raise ArgumentError(f"np.pad: widths cannot be negative; got {pad_width!r}. To cut, take a slice")
    return widths


def _pairs(option: Value, ndim: int) -> Array:
    """The widths of the padding before and after each axis."""
    if option is None:
        return [(None, None)] * ndim
    if isinstance(option, list | tuple) and len(option) == 2 and any(isinstance(v, Box) for v in option):
        return [option] * ndim
    return np.broadcast_to(option, (ndim, 2))


def _border(a: Array, axis: int, width: int, mode: str, option: Array | None, last: bool) -> Array:
    """The padding before `a`, or after it if `last`: `width` elements."""
    shape = (*np.shape(a)[:axis], width, *np.shape(a)[axis + 1 :])
    if mode == "constant":
        return np.broadcast_to(zeros(a, (), a.dtype) if option is None else as_beside(a, option), shape)
    if mode == "linear_ramp":
        length, option = 1, 0.0 if option is None else option
    else:
        length = np.shape(a)[axis] if option is None else min(int(option), np.shape(a)[axis])
    chunk = a[(slice(None),) * axis + (slice(-length, None) if last else slice(length),)]
    if mode != "linear_ramp":
        value = _STATISTICS[mode](chunk, axis=axis, keepdims=True)
        return np.broadcast_to(np.rint(value) if a.dtype.kind in "iu" else value, shape)
    steps = beside(a, np.reshape(np.arange(width) / max(width, 1), (-1,) + (1,) * (np.ndim(a) - 1 - axis)))
    ramp = option + (chunk - option) * (steps[::-1] if last else steps)
    return np.floor(ramp) if a.dtype.kind in "iu" else ramp


def _mirrored(a: Array, axis: int, width: tuple[int, int], mode: Value) -> Array:
    return np.take(a, np.pad(np.arange(np.shape(a)[axis]), width, mode), axis=axis)


def _mirrored_odd(a: Array, axis: int, width: tuple[int, int], mode: str) -> Array:
    """Turned about its ends: f(-x) = 2 f(0) - f(x), and at the other end likewise, as often as it takes."""
    n = np.shape(a)[axis]
    twice = int(mode == "symmetric")  # whether the ends stand in the border too
    period = n - 1 + twice
    if period == 0:
        return _mirrored(a, axis, width, "edge")
    if a.dtype.kind == "b":
        return _mirrored_odd(a.astype(np.int8), axis, width, mode).astype(bool)
    turns, rest = np.divmod(np.arange(-width[0], n + width[1]), 2 * period)
    back = rest >= n

    def along(x: Array) -> Array:
        return beside(a, np.reshape(x, (-1,) + (1,) * (np.ndim(a) - 1 - axis)).astype(a.dtype))

    def times(count: Array, end: Array) -> Array:
        return np.where(along(count) == 0, a.dtype.type(0), along(count) * end)  # not 0 * nan

    inner = np.take(a, np.where(back, 2 * period - rest - twice, rest), axis=axis) * along(np.where(back, -1, 1))
    first, last = np.take(a, [0], axis=axis), np.take(a, [-1], axis=axis)
    return inner + times(2 * (turns + back), last) - times(2 * turns, first)
