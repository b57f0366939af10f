"""`scipy.spatial` of points that are tensors: neighbours, triangles and hulls.

Which points are neighbours, corners or facets is a constant; distances, areas and volumes have derivatives by points.
"""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np
from scipy import spatial

from adjoint.core.errors import NotSupportedError, ShapeError
from adjoint.core.types import Array, Value
from adjoint.ops.indexing.reading import read
from adjoint.scipy.arrays import array, constants
from adjoint.scipy.followed import assembled
from adjoint.scipy.hosted import hosted
from adjoint.scipy.refused import refused
from adjoint.scipy.spatial.distance import minkowski_of
from adjoint.twin.standins.values import carrier


@carrier
class KDTree:
    """`scipy.spatial.KDTree`: the nearest points, with distances that have derivatives by points and queries.

    Args:
        data: points (n, m), numbers or tensors.
        leafsize, compact_nodes, copy_data, balanced_tree, boxsize: as SciPy's.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> from adjoint.scipy.spatial import KDTree
        >>> tree = KDTree(np.array([[0.0, 0.0], [9.0, 9.0]]))
        >>> ad.grad(lambda x: tree.query(x)[0])(np.array([3.0, 4.0]))
        array([0.6, 0.8])
    """

    def __init__(
        self,
        data: Array,
        leafsize: int = 10,
        compact_nodes: bool = True,
        copy_data: bool = False,
        balanced_tree: bool = True,
        boxsize: Value = None,
    ) -> None:
        self.data = array(assembled(data))
        if self.data.ndim != 2:
            raise ShapeError(f"KDTree takes points (n, m); got shape {self.data.shape}")
        self.n, self.m = self.data.shape
        self.leafsize, self.boxsize = leafsize, boxsize
        self._made: Value = None

    def _tree(self, data: Array) -> spatial.cKDTree:
        """SciPy's tree of plain points, made once where these are the same for all samples."""
        if self._made is None or self._made[0] is not data:
            self._made = data, spatial.cKDTree(data, self.leafsize, boxsize=self.boxsize)
        return self._made[1]

    def query(
        self,
        x: Array,
        k: Value = 1,
        eps: float = 0.0,
        p: float = 2.0,
        distance_upper_bound: float = math.inf,
        workers: int = 1,
    ) -> tuple[Array, Array]:
        """The distances to the nearest points, and their numbers, which are constant; see SciPy's.

        Where a query is one of the points, the distance 0 has the derivative 0.
        """
        x = array(assembled(x))
        if x.shape[-1:] != (self.m,):
            raise ShapeError(f"KDTree.query of points with {self.m} coordinates takes (..., {self.m}); got {x.shape}")

        def found(data: Array, queries: Array) -> tuple[Array, Array]:
            distance, number = self._tree(data).query(queries, k, eps, p, distance_upper_bound, workers)
            return np.asarray(number), np.isinf(distance)

        number, none = hosted(found, self.data, x)
        extra = number.ndim - (x.ndim - 1)
        gap = np.reshape(x, (*x.shape[:-1], *(1,) * extra, self.m)) - read(self.data, np.where(none, 0, number))
        if self.boxsize is not None:
            side = np.broadcast_to(np.asarray(self.boxsize, float), (self.m,))
            turns = np.where(side > 0, np.round(constants(gap) / np.where(side > 0, side, 1.0)), 0.0)
            gap = gap - turns * side
        distance = np.where(none, np.inf, minkowski_of(gap, p))
        return distance, number[()] if isinstance(number, np.ndarray) else number

    def _constant(self, name: str, *args: Value, **kwargs: Value) -> Value:
        """What SciPy's tree gives of numbers: places alone."""
        plain = [self._tree(_alone(self.data))] + [_alone(a) for a in args]
        other = plain[1] if len(plain) > 1 else None
        if isinstance(other, KDTree):
            plain[1] = other._tree(_alone(other.data))
        return getattr(plain[0], name)(*plain[1:], **kwargs)

    def query_ball_point(self, x: Array, r: Value, *args: Value, **kwargs: Value) -> Value:
        """The numbers of the points within the distance `r` of `x`."""
        return self._constant("query_ball_point", assembled(x), r, *args, **kwargs)

    def query_ball_tree(self, other: KDTree, r: Value, *args: Value, **kwargs: Value) -> Value:
        """For each point, the numbers of the points of `other` within the distance `r`."""
        return self._constant("query_ball_tree", other, r, *args, **kwargs)

    def query_pairs(self, r: Value, *args: Value, **kwargs: Value) -> Value:
        """The pairs of points within the distance `r` of each other."""
        return self._constant("query_pairs", r, *args, **kwargs)

    def count_neighbors(self, other: KDTree, r: Value, *args: Value, **kwargs: Value) -> Value:
        """How many pairs of points are within the distance `r`."""
        return self._constant("count_neighbors", other, r, *args, **kwargs)

    def __getattr__(self, name: str) -> Value:
        raise _unknown(self, spatial.KDTree, name, "query(x) gives distances")


cKDTree = KDTree  # noqa: N816 - SciPy's name


class ConvexHull:
    """`scipy.spatial.ConvexHull`: area and volume with derivatives by the points.

    In two dimensions, `area` is the length of the border, and `volume` the area, as SciPy has it.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> from adjoint.scipy.spatial import ConvexHull
        >>> corners = np.array([[0.0, 0.0], [2.0, 0.0], [2.0, 3.0], [0.0, 3.0]])
        >>> ad.grad(lambda p: ConvexHull(p).volume)(corners)
        array([[-1.5, -1. ],
               [ 1.5, -1. ],
               [ 1.5,  1. ],
               [-1.5,  1. ]])
    """

    def __init__(self, points: Array, incremental: bool = False, qhull_options: str | None = None) -> None:
        self.points = array(assembled(points))
        self.npoints, self.ndim = self.points.shape

        def found(points: Array) -> tuple[Array, Array, Array]:
            hull = spatial.ConvexHull(points, False, qhull_options)
            return hull.simplices, hull.vertices, hull.neighbors

        self.simplices, self.vertices, self.neighbors = hosted(found, self.points)
        self.nsimplex = self.simplices.shape[0]

    def _facets(self) -> Array:
        """The corners of each facet: (facets, corners, coordinates)."""
        return read(self.points, self.simplices)

    @cached_property
    def volume(self) -> Array:
        """Of the solid; in two dimensions, of the polygon."""
        corners = self._facets() - constants(np.mean(read(self.points, self.vertices), axis=0))
        return np.sum(np.abs(np.linalg.det(corners))) / math.factorial(self.ndim)

    @cached_property
    def area(self) -> Array:
        """Of the facets; in two dimensions, the length of the border."""
        corners = self._facets()
        edges = corners[:, 1:] - corners[:, :1]
        products = np.matmul(edges, np.swapaxes(edges, -1, -2))
        return np.sum(np.sqrt(np.linalg.det(products))) / math.factorial(self.ndim - 1)

    def __getattr__(self, name: str) -> Value:
        raise _unknown(self, spatial.ConvexHull, name, "points, vertices, simplices, area and volume are")


class Delaunay:
    """`scipy.spatial.Delaunay` of points that are tensors: triangles, which are constant.

    Example:
        >>> import numpy as np
        >>> from adjoint.scipy.spatial import Delaunay
        >>> Delaunay(np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 3.0]])).simplices.shape
        (1, 3)
    """

    def __init__(
        self, points: Array, furthest_site: bool = False, incremental: bool = False, qhull_options: str | None = None
    ) -> None:
        self.points = array(assembled(points))
        self.npoints, self.ndim = self.points.shape
        names = ("simplices", "neighbors", "convex_hull", "coplanar")

        def found(points: Array) -> tuple[Array, ...]:
            made = spatial.Delaunay(points, furthest_site, False, qhull_options)
            return tuple(getattr(made, name) for name in names)

        self.simplices, self.neighbors, self.convex_hull, self.coplanar = hosted(found, self.points)
        self.nsimplex = self.simplices.shape[0]
        self._options = furthest_site, False, qhull_options

    @property
    def vertices(self) -> Array:
        """The triangles, by their older name."""
        return self.simplices

    def find_simplex(self, xi: Array, bruteforce: bool = False, tol: float | None = None) -> Array:
        """The number of the triangle of each query, -1 for none."""

        def found(points: Array, queries: Array) -> Array:
            return np.asarray(spatial.Delaunay(points, *self._options).find_simplex(queries, bruteforce, tol))

        return hosted(found, self.points, assembled(xi))

    def __getattr__(self, name: str) -> Value:
        raise _unknown(self, spatial.Delaunay, name, "points and simplices are; np.linalg.solve gives coordinates")


Voronoi = refused(
    "spatial.Voronoi",
    "scipy.spatial.Voronoi of points that are tensors has no derivative; its vertices are the centres of the "
    "circles through the triangles of scipy.spatial.Delaunay(points).simplices",
)


def _alone(x: Value) -> Value:
    return hosted(lambda x: x, x) if not isinstance(x, KDTree) else x


# What hulls and triangulations of SciPy's have besides: their classes do not show it.
_OF_HULLS = frozenset(
    {"equations", "good", "max_bound", "min_bound", "paraboloid_scale", "paraboloid_shift", "vertex_neighbor_vertices"}
)


def _unknown(self: object, theirs: type, name: str, instead: str) -> Exception:
    own = type(self).__name__
    if not hasattr(theirs, name) and name not in _OF_HULLS:
        return AttributeError(f"{own!r} object has no attribute {name!r}")
    return NotSupportedError(f"scipy.spatial.{own}.{name} is not there for points that are tensors; {instead}")


def of_scipy(made: object) -> Value:
    """A tree that SciPy made, as ours, which takes queries that are tensors; None for anything else."""
    if not isinstance(made, spatial.cKDTree):
        return None
    tree = KDTree(made.data, made.leafsize, boxsize=made.boxsize)
    tree._made = tree.data, made
    return tree
