"""Distances: SciPy's values, derivatives against differences, coinciding points."""

import inspect

import numpy as np
import pytest
import scipy.spatial.distance as theirs
from numpy.testing import assert_allclose, assert_array_equal

import adjoint as ad
import adjoint.scipy
from adjoint.scipy.spatial import distance
from adjoint.testing import check_grads

rng = np.random.default_rng(0)
A, B = rng.uniform(0.2, 1.0, (4, 3)), rng.uniform(0.2, 1.0, (5, 3))
W = np.array([0.5, 1.0, 2.0])
ROOT = rng.normal(size=(3, 3))
EXTRA = {"seuclidean": {"V": W}, "mahalanobis": {"VI": ROOT @ ROOT.T}, "minkowski": {"p": 3}}
METRICS = ["euclidean", "sqeuclidean", "cityblock", "chebyshev", "minkowski", "cosine", "correlation", "canberra",
           "braycurtis", "seuclidean", "mahalanobis", "jensenshannon"]  # fmt: skip
WEIGHTED = [m for m in METRICS if m not in ("seuclidean", "mahalanobis", "jensenshannon")]


@pytest.mark.parametrize("name", METRICS)
def test_two_vectors(name):
    ours, original, extra = getattr(distance, name), getattr(theirs, name), EXTRA.get(name, {})
    assert inspect.signature(ours) == inspect.signature(original)
    assert ad.scipy.twin(original) is ours
    assert_array_equal(ours(A[0], B[0], **extra), original(A[0], B[0], **extra))
    assert_allclose(ours(ad.tensor(A[0]), B[0], **extra).numpy(), original(A[0], B[0], **extra), rtol=1e-12)
    check_grads(lambda u, v: ours(u, v, **extra), (A[0], B[0]))


@pytest.mark.parametrize("name", WEIGHTED)
def test_weights(name):
    extra = EXTRA.get(name, {})
    ours = getattr(distance, name)
    assert_allclose(ours(ad.tensor(A[0]), B[0], w=W, **extra).numpy(), getattr(theirs, name)(A[0], B[0], w=W, **extra))
    check_grads(lambda u, w: ours(u, B[0], w=w, **extra), (A[0], W))
    assert_allclose(distance.cdist(ad.tensor(A), B, name, w=W, **extra).numpy(), theirs.cdist(A, B, name, w=W, **extra))


@pytest.mark.parametrize("name", METRICS)
@pytest.mark.parametrize("extra", [True, False])
def test_all_pairs(name, extra):
    extra = EXTRA.get(name, {}) if extra else {}
    for pairs, args in (("cdist", (A, B)), ("pdist", (B,))):
        ours, original = getattr(distance, pairs), getattr(theirs, pairs)
        assert_array_equal(ours(*args, name, **extra), original(*args, name, **extra))
        boxed = [ad.tensor(x) for x in args]
        assert_allclose(ours(*boxed, name, **extra).numpy(), original(*args, name, **extra), rtol=1e-9)
        check_grads(lambda *x, f=ours: f(*x, name, **extra), args)


def test_functions_and_short_names_as_metrics():
    own = lambda u, v: np.sum((u - v) ** 4)
    assert_allclose(distance.cdist(ad.tensor(A), B, own).numpy(), theirs.cdist(A, B, own))
    assert_allclose(distance.pdist(ad.tensor(A), own).numpy(), theirs.pdist(A, own))
    assert_allclose(distance.cdist(ad.tensor(A), B, "cb").numpy(), theirs.cdist(A, B, "cb"))
    assert_allclose(distance.minkowski(ad.tensor(A[0]), B[0], np.inf).numpy(), theirs.minkowski(A[0], B[0], np.inf))


def test_points_that_coincide_have_no_slope():
    for name in ("euclidean", "cityblock", "minkowski", "seuclidean", "mahalanobis"):
        f = lambda x, name=name: np.sum(distance.cdist(x, x, name, **EXTRA.get(name, {})))
        assert_allclose(np.sum(ad.grad(f)(A), axis=0), 0.0, atol=1e-9)  # moving all of them changes nothing
    same = np.ones((2, 3))
    assert_array_equal(ad.grad(lambda x: np.sum(distance.pdist(x)))(same), 0.0)


@pytest.mark.parametrize("transform", [ad.jacobian, lambda f: lambda x: ad.jacobian(lambda x: ad.jacobian(f)(x))(x)])
def test_squareform_goes_both_ways(transform):
    pairs = theirs.pdist(A)
    assert_array_equal(distance.squareform(ad.tensor(pairs)).numpy(), theirs.squareform(pairs))
    assert_array_equal(distance.squareform(distance.squareform(ad.tensor(pairs))).numpy(), pairs)
    assert_allclose(transform(lambda x: distance.squareform(np.sin(x)) ** 2)(pairs),
                    transform(lambda x: _by_hand(np.sin(x)) ** 2)(pairs), atol=1e-12)  # fmt: skip


def _by_hand(x):
    matrix = np.zeros((4, 4)).tolist()
    for k, (i, j) in enumerate(zip(*np.triu_indices(4, 1), strict=True)):
        matrix[i][j] = matrix[j][i] = x[k]
    return np.stack([np.stack([m + 0.0 * x[0] for m in row]) for row in matrix])


def test_in_other_modes():
    f = lambda x: np.sum(distance.pdist(x) ** 3)
    exact = lambda x: sum(np.sum((x[i] - x[j]) ** 2) ** 1.5 for i in range(4) for j in range(i))
    assert_allclose(ad.hessian(f)(A), ad.hessian(exact)(A), atol=1e-10)
    assert_allclose(ad.jvp(f, (A,), (B[:4],))[1], ad.jvp(exact, (A,), (B[:4],))[1])
    stack = np.stack([A, B[:4]])
    assert_allclose(ad.vmap(distance.pdist)(stack), np.stack([theirs.pdist(x) for x in stack]))
    assert_allclose(ad.compile(f)(A), exact(A))


def test_refusals():
    x = ad.tensor(A, requires_grad=True)
    with pytest.raises(ad.NotSupportedError, match="euclidean"):
        distance.cdist(x, B, "hamming")
    with pytest.raises(ad.NotSupportedError, match="out="):
        distance.cdist(x, B, out=np.zeros((4, 5)))
    with pytest.raises(ad.ShapeError, match="one length"):
        distance.cdist(x, B[:, :2])
    with pytest.raises(ad.ShapeError, match="two vectors"):
        distance.euclidean(x, B)
    with pytest.raises(ad.ShapeError, match="square"):
        distance.squareform(x)
    with pytest.raises(TypeError, match="takes no p"):
        distance.cdist(x, B, "euclidean", p=3)
