"""Histograms: which bin an element falls into is constant; the weights' sums, and the bins' edges, are not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np

from adjoint.core.backend import known_shape
from adjoint.core.box import Box
from adjoint.core.constructors import composite
from adjoint.core.errors import ShapeError
from adjoint.core.op import call
from adjoint.core.protocol import detached
from adjoint.core.types import Array, Value
from adjoint.ops.indexing.index import kept
from adjoint.ops.indexing.reading import scatter
from adjoint.ops.values import on_values


@composite(
    np.bincount,
    samples=lambda r: [call(np.array([0, 2, 2, 1]), r(4)), call(np.array([1, 1]), r(2), minlength=5)],
    errors=lambda r: [call(np.array([0, 2]), r(3)), call(np.array([-1]), r(1))],
)
def bincount(x: Array, /, weights: Array = None, minlength: int = 0) -> Array:
    """`numpy.bincount`; differentiable in `weights`."""

    def bincount(x: Array, weights: Array) -> Array:
        return np.bincount(x, weights, minlength)

    if not isinstance(x, Box) and _one_each(weights, x):  # how long it is, no value of the weights says
        counts = np.bincount(x, None, minlength)
    else:
        counts = on_values(bincount, x, weights)
    if not isinstance(weights, Box) or not np.size(x):
        return counts
    known_shape(counts)  # the largest of `x` says how long it is, which a lazy array does not tell
    return scatter(_flat(weights).astype(float), kept(detached(x)), np.shape(counts))


def _one_each(weights: Array, x: Array) -> bool:
    """Whether these are real weights with a history, one for each of `x`."""
    same = np.shape(weights) == np.shape(x) and not np.iscomplexobj(weights)
    return same and isinstance(weights, Box)


def _flat(x: Array) -> Array:
    return np.ravel(x)


def _ends(a: Array, bins: Value, range: object, edges: Array) -> Array:
    """`edges` as what they were made from: bins that were given, or the smallest and the largest element."""
    if isinstance(bins, Box):
        return bins
    if not isinstance(a, Box) or range is not None or np.ndim(bins) or not np.size(cast(Array, a)):
        return edges
    low: Array = np.min(a)  # type: ignore[call-overload]  # NumPy's types know no box
    high: Array = np.max(a)  # type: ignore[call-overload]  # as above
    margin = np.where(np.equal(low, high), 0.5, 0.0).astype(edges.dtype)
    return np.linspace(low - margin, high + margin, len(edges)).astype(edges.dtype)


def _histogram(
    columns: Sequence[Array],
    counts: Array,
    edges: Sequence[Array],
    ends: Sequence[Array],
    weights: Array,
    density: object,
) -> Array:
    """The histogram as a function of the weights and, as a density, of the bins' `ends`."""
    if not isinstance(weights, Box) and not (density and any(isinstance(e, Box) for e in ends)):
        return counts
    weights = np.ones(np.shape(columns[0])) if weights is None else _flat(weights)
    inside, places = np.ones(np.shape(columns[0]), bool), []
    for column, borders in zip(columns, edges, strict=True):
        place = np.searchsorted(borders, column, side="right") - 1
        # The last bin has both of its ends.
        place = np.where(column == borders[-1], len(borders) - 2, place)
        here = (place >= 0) & (place < len(borders) - 1)
        inside = inside & here
        places.append(np.where(here, place, 0))
    weights = np.where(inside, weights, 0.0)
    weights = weights.astype(np.result_type(weights.dtype, float), copy=False)  # as NumPy sums them
    result = scatter(weights, tuple(places), np.shape(counts))
    if density:
        for i, borders in enumerate(ends):
            steps = np.diff(borders).astype(float)
            result = result / np.reshape(steps, tuple(-1 if k == i else 1 for k, _ in enumerate(ends)))
        result = result / np.sum(weights)
    result = result if result.dtype == counts.dtype else result.astype(counts.dtype)
    if density or len(ends) == 1:
        return result
    # NumPy's is the inside of an array with bins for what lies outside: so its elements have gaps.
    return np.pad(result, 1)[(slice(1, -1),) * len(ends)]


@composite(
    np.histogram_bin_edges,
    flags=("host",),
    samples=lambda r: [call(r(5), 3), call(r(2, 3), "sqrt"), call(r(3), r(1) + np.arange(3.0))],
)
def histogram_bin_edges(a: Array, bins: Value = 10, range: Value = None, weights: Array = None) -> Array:
    def histogram_bin_edges(a: Array, bins: Value, weights: Array) -> Array:
        return np.histogram_bin_edges(a, bins, range, weights)

    return _ends(a, bins, range, on_values(histogram_bin_edges, a, bins, weights))


@composite(
    np.histogram,
    flags=("host",),
    samples=lambda r: [
        call(np.array([0.1, 0.7, 0.4, 0.9]), 3, (0.0, 0.8), weights=r(4)),
        call(np.array([0.1, 0.7, 0.4, 0.9]), 3),
        call(np.array([[0.1, 0.7]]), np.array([0.0, 0.5, 1.0]), weights=r(1, 2, low=0.5, high=2), density=True),
    ],
)
def histogram(a: Array, bins: Array = 10, range: Value = None, density: Value = None, weights: Array = None) -> Array:
    """`numpy.histogram`; differentiable in `weights`, and the edges in what they were made from."""

    def histogram(column: Array, bins: Array, weights: Array) -> Array:
        return np.histogram(column, bins, range, density, weights)

    if weights is not None and np.shape(weights) != np.shape(a):
        raise ShapeError(f"np.histogram: weights of shape {np.shape(weights)} for values of shape {np.shape(a)}")
    column: Value = np.ravel(detached(a))
    counts, edges = on_values(histogram, column, bins, None if weights is None else np.ravel(weights))
    ends = _ends(a, bins, range, edges)
    return _histogram([column], counts, [edges], [ends], weights, density), ends


def _are_several(bins: Value) -> bool:
    """Whether there are bins for each axis; rows of edges may differ in length."""
    return isinstance(bins, list | tuple) or np.ndim(bins) > 0


@composite(
    np.histogramdd,
    flags=("host",),
    samples=lambda r: [
        call(np.array([[0.1, 0.7], [0.4, 0.9], [0.3, 0.2]]), (2, 3), density=True, weights=r(3, low=0.5, high=2)),
        call([np.array([0.1, 0.7]), np.array([0.4, 0.2])], 2, weights=r(2)),
    ],
)
def histogramdd(
    sample: Array, bins: Value = 10, range: Value = None, density: Value = None, weights: Array = None
) -> Array:
    """`numpy.histogramdd`; differentiable in `weights`, and the edges in what they were made from."""
    if not isinstance(sample, list | tuple) and not np.ndim(sample):
        raise ShapeError("np.histogramdd takes a sample of one point or more; got a number")
    columns = list(sample) if isinstance(sample, list | tuple) or np.ndim(sample) == 1 else list(np.transpose(sample))
    columns = [np.ravel(sample)] if np.ndim(columns[0]) == 0 else columns
    each = list(bins) if _are_several(bins) else [bins] * len(columns)
    if len(each) != len(columns):
        raise ShapeError(f"np.histogramdd: bins of {len(each)} axes for samples of {len(columns)}")
    ranges = [None] * len(columns) if range is None else list(range)
    plain = [detached(column) for column in columns]
    d = len(columns)

    def histogramdd(*given: Value) -> Array:
        counts, edges = np.histogramdd(np.stack(given[:d], axis=-1), given[d : 2 * d], range, density, given[-1])
        return counts, *edges

    counts, *edges = on_values(histogramdd, *plain, *each, weights)
    ends = list(map(_ends, columns, each, ranges, edges))  # as NumPy has it
    return _histogram(plain, counts, edges, ends, weights, density), ends


@composite(
    np.histogram2d,
    flags=("host",),
    samples=lambda r: [call(np.array([0.1, 0.7, 0.3]), np.array([0.2, 0.1, 0.9]), (2, 3), weights=r(3))],
)
def histogram2d(
    x: Array, y: Array, bins: Value = 10, range: object = None, density: object = None, weights: Array = None
) -> Array:
    """`numpy.histogram2d`; differentiable in `weights`, and the edges in what they were made from."""
    if _are_several(bins) and len(bins) not in (1, 2):  # one row of edges, for both
        bins = [bins, bins]
    counts, (ends_x, ends_y) = histogramdd([x, y], bins, range, density, weights)
    return counts, ends_x, ends_y
