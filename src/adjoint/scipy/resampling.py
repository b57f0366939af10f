"""What compiled code of `scipy.ndimage` does to images that are moved, turned and scaled.

Each function has the name and the arguments of the compiled one, and writes into `output` as that does. An image is
a sum of B-splines, whose coefficients a recursive filter finds: Unser, Aldroubi and Eden, IEEE Transactions on Signal
Processing 41, 1993. So a value is linear in the image, and its slope by a coordinate is that of the splines.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from itertools import product
from math import prod
from typing import NamedTuple

import numpy as np
from scipy import ndimage

from adjoint.core.types import Array, Function, Value
from adjoint.ops.indexing.reading import take
from adjoint.scipy.arrays import constants
from adjoint.scipy.signal.filters import lfilter

#: SciPy's modes, by the numbers that its Python makes of their names.
NEAREST, WRAP, REFLECT, MIRROR, CONSTANT, GRID_WRAP, GRID_CONSTANT = range(7)
_NAMES = ("nearest", "wrap", "reflect", "mirror", "constant", "grid-wrap", "grid-constant")
#: The border that the filter sees, by the mode, as `np.pad` names it; of other modes a mirror.
_BORDERS = {NEAREST: "symmetric", REFLECT: "symmetric", GRID_WRAP: "wrap"}
#: The mode by which the splines beyond the border are found, where it is another one.
_BEYOND = {CONSTANT: MIRROR, WRAP: MIRROR, GRID_CONSTANT: NEAREST}
_REACH = 64  # elements: a pole is below 0.44 in size, and its power of this below 1e-22


def spline_filter1d(input: Array, order: int, axis: int, output: Array, mode: int) -> None:
    x = np.moveaxis(input, axis, -1) * 1.0
    n = x.shape[-1]
    if n <= _REACH:  # SciPy's own rounding of what comes back from both borders
        x = np.matmul(x, ndimage.spline_filter1d(np.eye(n), order, mode=_NAMES[int(mode)]))
    else:
        border: Value = _BORDERS.get(int(mode), "reflect")
        x = np.pad(x, [(0, 0)] * (x.ndim - 1) + [(_REACH, _REACH)], border)
        for pole in _poles(order):
            x = lfilter([(1 - pole) * (1 - 1 / pole)], [1.0, -pole], x)
            x = np.flip(lfilter([-pole], [1.0, -pole], np.flip(x, -1)), -1)
        x = x[..., _REACH : _REACH + n]
    output[...] = np.moveaxis(x, -1, axis)


def _poles(order: int) -> list[float]:
    """The poles of the inverse of sampling splines: the roots of a spline's samples inside of the unit circle."""
    roots = np.roots(_weights(np.float64(0.0 if order % 2 else 0.5), order))
    return [float(r) for r in roots.real if 0 < abs(r) < 1]


def _weights(t: Array, order: int) -> list[Array]:
    """The values of the splines that are not 0 at the place `t`, from 0 to 1, between two knots."""
    found: list[Array] = [np.ones_like(t)]
    for d in range(1, order + 1):
        padded = [0.0, *found, 0.0]
        found = [((t + d - k) * padded[k] + (1 - t + k) * padded[k + 1]) / d for k in range(d + 1)]
    return found


class _Line(NamedTuple):
    """The splines that matter at each coordinate along an axis."""

    weights: Sequence[Array]
    places: Sequence[np.ndarray]
    beyond: Sequence[np.ndarray]  # whether a place is in the image's constant surroundings
    outside: np.ndarray  # whether the coordinate itself is


def _line(at: Array, n: int, order: int, mode: int) -> _Line:
    """The splines at the coordinates `at` along an axis of `n` elements."""
    values = constants(at)
    inside = (values >= 0) & (values <= n - 1)
    if mode not in (NEAREST, GRID_CONSTANT):
        at = np.where(inside, at, _folded(at, n, mode))
    knot = np.floor(constants(at) + (0.0 if order % 2 else 0.5))
    weights = _weights(at - knot + (0.0 if order % 2 else 0.5), order)
    steps = [knot.astype(np.intp) + k - order // 2 for k in range(order + 1)]
    beyond = [(k < 0) | (k >= n) if mode == GRID_CONSTANT else np.zeros(np.shape(k), bool) for k in steps]
    border = _BEYOND.get(mode, mode)
    places = [np.clip(_folded(k, n, border), 0, n - 1).astype(np.intp) for k in steps]
    return _Line(weights, places, beyond, ~inside if mode == CONSTANT else np.zeros_like(inside))


def _folded(at: Array, n: int, mode: int) -> Array:
    """Coordinates beyond the border as ones inside with the same value."""
    if n == 1 or mode == CONSTANT:
        return at * 0
    if mode == NEAREST:
        return np.clip(at, 0, n - 1)
    if mode == GRID_WRAP:
        return np.mod(at, n)
    if mode == WRAP:  # from the left the last element is met, not the first, which is at the same place
        return np.where(at < 0, n - 1 - np.mod(-at, n - 1), np.mod(at, n - 1))
    shift, period = (0, 2 * n - 2) if mode == MIRROR else (0.5, 2 * n)
    turned = np.mod(at + shift, period)
    return np.minimum(turned, period - turned) - shift


def geometric_transform(
    input: Array, mapping: Function | None, coordinates: Array, matrix: Array, shift: Array, output: Array, order: int,
    mode: int, cval: Array, npad: int, extra_arguments: Sequence[Value], extra_keywords: Mapping[str, Value],
) -> None:  # fmt: skip
    if mapping is not None:
        each = [mapping(at, *(extra_arguments or ()), **(extra_keywords or {})) for at in np.ndindex(output.shape)]
        coordinates = np.reshape(np.stack([np.stack(c) for c in each], axis=-1), (-1, *output.shape))
    elif matrix is not None:
        moved = np.matmul(matrix, np.reshape(np.indices(output.shape), (len(output.shape), -1)))
        coordinates = np.reshape(moved + np.reshape(shift, (-1, 1)), (-1, *output.shape))
    lines = [_line(coordinates[k] + npad, n, order, mode) for k, n in enumerate(input.shape)]
    flat, steps = np.reshape(input, -1), [prod(input.shape[k + 1 :]) for k in range(input.ndim)]
    total: Array = 0.0
    for taps in product(range(order + 1), repeat=input.ndim):
        each = [(line.weights[k], line.places[k], line.beyond[k]) for line, k in zip(lines, taps, strict=True)]
        weights, places, beyond = zip(*each, strict=True)
        value = take(flat, sum(place * step for place, step in zip(places, steps, strict=True)))
        if mode == GRID_CONSTANT:
            value = np.where(reduce(np.logical_or, beyond), cval, value)
        total = total + prod(weights[1:], start=weights[0]) * value
    output[...] = np.where(reduce(np.logical_or, [line.outside for line in lines]), cval, total)


def zoom_shift(
    input: Array, zoom: Array, shift: Array, output: Array, order: int, mode: int, cval: Array, npad: int,
    grid_mode: bool,
) -> None:  # fmt: skip
    away = cval if mode == GRID_CONSTANT else 0.0  # it is 0 beyond the border, whichever axis is done first
    total, outside = input - away, np.zeros(output.shape, bool)
    for k, n in enumerate(input.shape):
        at: Array = np.arange(output.shape[k]) * 1.0
        at = at if shift is None else at + shift[k]
        if zoom is not None:
            at = (at + 0.5) * zoom[k] - 0.5 if grid_mode else at * zoom[k]
        line = _line(at + npad, n, order, mode)
        last = np.moveaxis(total, k, -1)
        parts = zip(line.weights, line.places, line.beyond, strict=True)
        total = np.moveaxis(sum(np.where(beyond, 0.0, w) * take(last, p, axis=-1) for w, p, beyond in parts), -1, k)
        outside = outside | np.reshape(line.outside, [-1 if i == k else 1 for i in range(output.ndim)])
    output[...] = np.where(outside, cval, total + away)
