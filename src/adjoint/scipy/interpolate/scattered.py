"""Interpolation between scattered points: on triangles, and by the nearest neighbour.

Which triangle or neighbour a query falls to is a constant.
"""

from __future__ import annotations

import numpy as np
from scipy import interpolate as theirs
from scipy.spatial import Delaunay, cKDTree

from adjoint.core.errors import ShapeError
from adjoint.core.types import Array, Function, Value
from adjoint.ops.indexing.reading import read
from adjoint.scipy.arrays import array, constants
from adjoint.scipy.followed import assembled
from adjoint.scipy.hosted import hosted
from adjoint.scipy.interpolate.samples import column
from adjoint.scipy.refused import refused

_TOLERANCE = 100 * float(np.finfo(float).eps)  # so far outside of a triangle a query may be, as in SciPy


def coordinates(points: Value, ndim: int | None = None) -> Array:
    """Places (..., d) of an array, or of a tuple of d arrays that broadcast, as SciPy reads them."""
    if isinstance(points, tuple) and len(points) == 1:
        points = points[0]
    if isinstance(points, tuple):
        return np.stack(np.broadcast_arrays(*map(assembled, points)), axis=-1)
    points = assembled(points)
    if points.ndim == 1:
        return np.reshape(points, (-1, 1) if ndim is None else (-1, ndim))
    return points


class _BetweenPoints:
    """Points and values, and the box that the points are scaled by."""

    def __init__(self, points: Value, values: Array, rescale: bool) -> None:
        given = isinstance(points, Delaunay)
        self._triangles = points if given else None
        self._points, self._values = coordinates(points.points if given else points), array(assembled(values))
        name = type(self).__name__
        if self._points.ndim != 2 or self._values.shape[:1] != self._points.shape[:1]:
            raise ShapeError(
                f"{name} takes points (n, d) and values (n, …); got shapes {self._points.shape} and "
                f"{self._values.shape}"
            )
        self._offset: Value = 0.0
        self._scale: Value = 1.0
        if rescale:
            p = constants(self._points)
            self._offset, self._scale = np.mean(p, axis=0), np.max(p, axis=0) - np.min(p, axis=0)
            self._scale = np.where(np.greater(self._scale, 0), self._scale, 1.0)

    def _queries(self, args: tuple[Value, ...]) -> tuple[Array, tuple[int, ...]]:
        """The queries (m, d) as scaled, and their shape."""
        xi = coordinates(args if len(args) > 1 else args[0], self._points.shape[-1])
        if xi.shape[-1] != self._points.shape[-1]:
            raise ShapeError(
                f"{type(self).__name__} in {self._points.shape[-1]} dimensions takes queries (..., "
                f"{self._points.shape[-1]}); got {xi.shape}"
            )
        return np.reshape(xi, (-1, xi.shape[-1])), xi.shape[:-1]

    def _scaled(self, x: Array) -> Array:
        return (x - self._offset) / self._scale


class NearestNDInterpolator(_BetweenPoints):
    """`scipy.interpolate.NearestNDInterpolator`: the value of the nearest point.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> from adjoint.scipy.interpolate import NearestNDInterpolator
        >>> places = np.array([[0.0, 0.0], [1.0, 1.0]])
        >>> ad.grad(lambda v: NearestNDInterpolator(places, v)([[0.9, 0.7]])[0])(np.zeros(2))
        array([0., 1.])
    """

    def __init__(self, x: Array, y: Array, rescale: bool = False, tree_options: Value = None) -> None:
        super().__init__(x, y, rescale)
        self._options = tree_options or {}

    def __call__(self, *args: Value, **query_options: Value) -> Array:
        """The values at queries (..., d), or at d arrays that broadcast."""
        flat, shape = self._queries(args)

        def nearest(points: Array, queries: Array) -> tuple[Array, Array]:
            found = cKDTree(points, **self._options).query(queries, **query_options)
            return found[1] % len(points), np.isinf(found[0])  # one too many where none is near enough

        i, none = hosted(nearest, self._scaled(self._points), self._scaled(flat))
        result = read(self._values, i)
        result = np.where(column(none, result), np.nan, result) if "distance_upper_bound" in query_options else result
        return np.reshape(result, (*shape, *self._values.shape[1:]))


class LinearNDInterpolator(_BetweenPoints):
    """`scipy.interpolate.LinearNDInterpolator`: on each triangle, or simplex, of Delaunay's, the plane of its corners.

    Args:
        points: (n, d), numbers or tensors; or a `scipy.spatial.Delaunay`.
        values: (n, …).
        fill_value: outside of all triangles.
        rescale: measure each axis by the points' range before triangles are made.

    Raises:
        ShapeError: if there are not as many values as points.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> from adjoint.scipy.interpolate import LinearNDInterpolator
        >>> places = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
        >>> ad.grad(lambda q: LinearNDInterpolator(places, [0.0, 2.0, 3.0])(q))(np.array([0.2, 0.3]))
        array([2., 3.])
    """

    def __init__(self, points: Value, values: Array, fill_value: Value = np.nan, rescale: bool = False) -> None:
        super().__init__(points, values, rescale)
        self._fill = fill_value

    def __call__(self, *args: Value, simplex_tolerance: float = 1.0) -> Array:
        """The values at queries (..., d), or at d arrays that broadcast; see `Delaunay.find_simplex` of SciPy's."""
        flat, shape = self._queries(args)
        outside, corners, shares = self._found(flat, simplex_tolerance * _TOLERANCE)
        parts = [read(self._values, corners[:, j]) for j in range(corners.shape[-1])]
        result = sum(column(shares[j], part) * part for j, part in enumerate(parts))
        result = np.where(column(outside, result), self._fill, result)
        return np.reshape(result, (*shape, *self._values.shape[1:]))

    def _found(self, flat: Array, tolerance: float) -> tuple[Array, Array, list[Array]]:
        """Which queries are outside of all simplices; the corners of the others', (m, d + 1); and their shares."""
        d = flat.shape[-1]
        triangles = self._triangles

        def simplices(points: Array, queries: Array) -> tuple[Array, Array]:
            made = Delaunay(points) if triangles is None else triangles
            which = made.find_simplex(queries, tol=tolerance)
            return which < 0, made.simplices[which]

        outside, corners = hosted(simplices, self._scaled(self._points), self._scaled(flat))
        last = read(self._points, corners[:, d])
        edges = np.stack([read(self._points, corners[:, j]) - last for j in range(d)], axis=-1)
        first = np.linalg.solve(edges, (flat - last)[..., None])[..., 0]
        return outside, corners, [*(first[:, j] for j in range(d)), 1.0 - np.sum(first, axis=-1)]


CloughTocher2DInterpolator = refused(
    "interpolate.CloughTocher2DInterpolator",
    "scipy.interpolate.CloughTocher2DInterpolator, and griddata with method='cubic', have no derivative; "
    "LinearNDInterpolator and griddata with method='linear' have, and RBFInterpolator, which is smooth",
)


def of_scattered(interpolant: Value) -> Function:
    """One of these that SciPy made, which holds its points as scaled."""
    made: _BetweenPoints
    if isinstance(interpolant, theirs.CloughTocher2DInterpolator):
        return CloughTocher2DInterpolator
    if isinstance(interpolant, theirs.NearestNDInterpolator):
        made = NearestNDInterpolator(interpolant.points, interpolant.values)
    else:
        values = np.reshape(interpolant.values, (-1, *interpolant.values_shape))
        made = LinearNDInterpolator(interpolant.tri, values, np.asarray(interpolant.fill_value)[()])
    if interpolant.scale is not None:
        made._offset, made._scale = interpolant.offset, interpolant.scale
        made._points = made._points * made._scale + made._offset
    return made
