"""Neighbours, hulls, rotations between rotations, and robust and monotone fits, against SciPy and differences."""

import numpy as np
import pytest
from scipy import optimize, spatial, stats
from scipy.spatial.transform import Rotation, Slerp

import adjoint as ad
from tests.scipy.differences import agrees

RANDOM = np.random.default_rng(0)
POINTS = RANDOM.uniform(size=(30, 3))
QUERIES = RANDOM.uniform(size=(5, 3))
KINDS = (spatial.KDTree, spatial.cKDTree)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("k", [1, 3, [2, 4]])
@pytest.mark.parametrize("p", [1, 2, 3.5, np.inf])
def test_distances_to_the_nearest_points(kind, k, p):
    agrees(lambda q: kind(POINTS).query(q, k, p=p)[0], QUERIES, h=1e-5, rtol=1e-5)
    agrees(lambda data: kind(data).query(QUERIES, k, p=p)[0], POINTS, second=False, h=1e-6)
    made = kind(POINTS)
    agrees(lambda q: made.query(q, k, p=p)[0], QUERIES[0], second=False, h=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_what_a_tree_gives_besides(kind):
    made = kind(POINTS, boxsize=1.0)
    agrees(lambda q: made.query(q % 1.0, 2)[0], QUERIES, second=False, h=1e-6)
    near = kind(POINTS).query(QUERIES, 8)[0][:, 3].max()
    weights = lambda q: np.where(np.isinf(d := made.query(q, 8, distance_upper_bound=near)[0]), 0.0, d)
    agrees(weights, QUERIES, second=False, h=1e-7)
    agrees(lambda data: np.sum(np.stack([np.sum((data[i] - data[j]) ** 2) for i, j in kind(data).query_pairs(0.3)])),
           POINTS, second=False, samples=False, h=1e-5)  # fmt: skip
    agrees(lambda q: POINTS[kind(POINTS).query(q)[1], 0] * q[:, 0], QUERIES, second=False, h=1e-6)
    with pytest.raises(ad.NotSupportedError, match=r"scipy\.spatial\.KDTree\.sparse_distance_matrix"):
        ad.grad(lambda d: spatial.KDTree(d).sparse_distance_matrix(spatial.KDTree(d), 0.2).sum())(POINTS)


def test_a_point_is_its_own_neighbour():
    f = lambda data: np.sum(spatial.KDTree(data).query(data, 3)[0])
    others = lambda data: np.sum(spatial.KDTree(data).query(data, 3)[0][:, 1:])
    np.testing.assert_array_equal(ad.grad(f)(POINTS), ad.grad(others)(POINTS))
    agrees(lambda data: spatial.KDTree(data).query(data, 3)[0][:, 1:], POINTS, second=False, h=1e-6)


@pytest.mark.parametrize("d", [2, 3, 4])
def test_area_and_volume_of_a_hull(d):
    points = RANDOM.normal(size=(12, d))
    agrees(lambda p: np.array([spatial.ConvexHull(p).area, spatial.ConvexHull(p).volume]), points, h=1e-5, rtol=1e-5,
           samples=False)  # fmt: skip
    assert np.isfinite(ad.grad(lambda p: spatial.ConvexHull(p).volume)(points)).all()
    agrees(lambda p: np.linalg.det(p[spatial.Delaunay(p).simplices][:, 1:] - p[spatial.Delaunay(p).simplices][:, :1]),
           points, second=False, samples=False, h=1e-6)  # fmt: skip
    with pytest.raises(ad.NotSupportedError, match=r"scipy\.spatial\.ConvexHull\.equations"):
        ad.grad(lambda p: spatial.ConvexHull(p).equations.sum())(points)


def test_rotations_between_rotations():
    vectors = RANDOM.normal(size=(4, 3))
    times, at = np.array([0.0, 1.0, 2.5, 3.0]), np.array([0.0, 0.4, 1.0, 2.7, 3.0])
    agrees(lambda v: Slerp(times, Rotation.from_rotvec(v))(at).as_matrix(), vectors)
    agrees(lambda t: Slerp(times, Rotation.from_rotvec(vectors))(t).as_matrix(), at[[1, 3]])
    agrees(lambda t: Slerp(t, Rotation.from_rotvec(vectors))(at[1:4]).as_rotvec(), times + 0.1)
    agrees(lambda v: Slerp(times, Rotation.from_rotvec(v))(0.7).magnitude(), vectors)
    with pytest.raises(ValueError, match="within the range"):
        ad.grad(lambda v: Slerp(times, Rotation.from_rotvec(v))(9.0).magnitude())(vectors)


@pytest.mark.parametrize("increasing", [True, False])
@pytest.mark.parametrize("weights", [None, np.array([1.0, 2.0, 0.5, 3.0, 1.0, 1.5, 2.5])])
def test_isotonic_regression(increasing, weights):
    y = np.array([1.0, 3.0, 2.0, 4.0, 3.5, 3.2, 7.0])
    f = lambda y, w=weights: optimize.isotonic_regression(y, weights=w, increasing=increasing).x
    agrees(f, y, samples=False)
    square = lambda y: (r := optimize.isotonic_regression(y, increasing=increasing)).weights @ r.x[r.blocks[:-1]] ** 2
    agrees(square, y, samples=False)
    if weights is not None:
        agrees(lambda w: f(y, w), weights, samples=False)
    with pytest.raises(ad.NotSupportedError, match=r"scipy\.optimize\.isotonic_regression"):
        ad.vmap(f)(np.stack([y, y]))


@pytest.mark.parametrize("method", ["hierarchical", "separate"])
def test_medians_of_medians(method):
    x, y = np.sort(RANDOM.normal(size=9)), RANDOM.normal(size=9)
    agrees(lambda y: np.stack(stats.siegelslopes(y, x, method=method)), y, h=1e-6)
    agrees(lambda x: np.stack(stats.siegelslopes(y, x, method=method)), x, h=1e-6, rtol=1e-5)
    x[3] = x[4]
    agrees(lambda y: np.stack(stats.siegelslopes(y, x, method=method)), y, h=1e-6)
