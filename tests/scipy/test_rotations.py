"""Rotations: SciPy's values in every form and order of axes, derivatives, and where formulas change."""

from itertools import product

import numpy as np
import pytest
import scipy.spatial.transform
from numpy.testing import assert_allclose

import adjoint as ad
import adjoint.scipy
from adjoint.scipy.spatial.transform import Rotation
from adjoint.testing import check_grads

Theirs = scipy.spatial.transform.Rotation
ORDERS = [a + b + c for a, b, c in product("xyz", repeat=3) if b not in (a, c)]
rng = np.random.default_rng(0)
QUATERNIONS = {"one": rng.normal(size=4), "several": rng.normal(size=(5, 4))}


def both(kind):
    return Theirs.from_quat(QUATERNIONS[kind]), Rotation.from_quat(QUATERNIONS[kind])


@pytest.mark.parametrize("order", [*ORDERS, *map(str.upper, ORDERS)])
@pytest.mark.parametrize("shape", [(3,), (5, 3)], ids=str)
def test_euler_angles_in_every_order(order, shape):
    angles = rng.uniform(-3.0, 3.0, shape)
    theirs, ours = Theirs.from_euler(order, angles), Rotation.from_euler(order, angles)
    assert_allclose(ours.as_matrix(), theirs.as_matrix(), atol=1e-12)
    assert_allclose(ours.as_euler(order), theirs.as_euler(order), atol=1e-12)
    assert_allclose(ours.as_euler(order, degrees=True), theirs.as_euler(order, degrees=True), atol=1e-10)
    check_grads(lambda a: Rotation.from_euler(order, a).as_euler(order[::-1]), (angles,), order=1)


@pytest.mark.parametrize("angles", [0.3, [0.3], [[0.1], [0.2]]], ids=str)
def test_one_axis(angles):
    theirs = Theirs.from_euler("y", angles, degrees=True).as_quat()
    assert_allclose(Rotation.from_euler("y", angles, degrees=True).as_quat(), theirs)


@pytest.mark.parametrize("kind", QUATERNIONS)
def test_every_form_is_scipys(kind):
    theirs, ours = both(kind)
    for name in ("as_quat", "as_matrix", "as_rotvec", "magnitude"):
        assert_allclose(getattr(ours, name)(), getattr(theirs, name)(), atol=1e-12)
    assert_allclose(ours.as_quat(canonical=True), theirs.as_quat(canonical=True))
    assert_allclose(ours.as_rotvec(degrees=True), theirs.as_rotvec(degrees=True))
    assert_allclose(ours.as_quat(scalar_first=True), np.roll(theirs.as_quat(), 1, axis=-1))
    assert_allclose(Rotation.from_quat(ours.as_quat(scalar_first=True), scalar_first=True).as_quat(), ours.as_quat())
    for back in (Rotation.from_rotvec(ours.as_rotvec()), Rotation.from_matrix(ours.as_matrix()), ours.inv().inv()):
        assert_allclose(back.as_matrix(), theirs.as_matrix(), atol=1e-12)
    skewed = theirs.as_matrix() + 0.05 * rng.normal(size=theirs.as_matrix().shape)
    assert_allclose(Rotation.from_matrix(skewed).as_matrix(), Theirs.from_matrix(skewed).as_matrix(), atol=1e-9)
    assert_allclose((ours**0.3).as_matrix(), (theirs**0.3).as_matrix(), atol=1e-12)
    vectors = rng.normal(size=3)
    assert_allclose(ours.apply(vectors), theirs.apply(vectors))
    assert_allclose(ours.apply(vectors, inverse=True), theirs.apply(vectors, inverse=True))
    other = Theirs.from_rotvec([0.1, 0.2, 0.3])
    assert_allclose((ours * other).as_matrix(), (theirs * other).as_matrix())
    assert_allclose((other * ours).as_matrix(), (other * theirs).as_matrix())


def test_every_branch_of_a_matrix():
    for quat in np.eye(4) + 0.01:
        quat = quat / np.linalg.norm(quat)
        matrix = Theirs.from_quat(quat).as_matrix()
        assert_allclose(Rotation.from_matrix(matrix).as_quat(), quat, atol=1e-12)
        back = lambda q: Rotation.from_matrix(Rotation.from_quat(q).as_matrix()).as_quat()
        exact = lambda q: q / np.sqrt(np.sum(q * q))
        assert_allclose(ad.jacobian(back)(quat), ad.jacobian(exact)(quat), atol=1e-10)
        assert_allclose(ad.jacobian(ad.jacobian(back))(quat), ad.jacobian(ad.jacobian(exact))(quat), atol=1e-9)


@pytest.mark.parametrize("size", [0.0, 1e-9, 1e-4, 0.999e-3, 1.001e-3, 0.1, 3.0])
def test_vectors_of_every_length(size):
    vector = size * np.array([0.48, 0.6, 0.64])
    assert_allclose(Rotation.from_rotvec(vector).as_quat(), Theirs.from_rotvec(vector).as_quat(), atol=1e-15)
    there_and_back = lambda v: Rotation.from_rotvec(v).as_rotvec()
    assert_allclose(there_and_back(vector), vector, atol=1e-15)
    assert_allclose(ad.jacobian(there_and_back)(vector), np.eye(3), atol=1e-11)
    assert_allclose(ad.jacobian(ad.jacobian(there_and_back))(vector), 0.0, atol=1e-6)


def test_derivatives():
    vector, point = np.array([0.3, -0.5, 0.2]), np.array([1.0, 2.0, 3.0])
    check_grads(lambda v, p: Rotation.from_rotvec(v).apply(p), (vector, point))
    check_grads(lambda v: Rotation.from_rotvec(v).as_quat(), (vector,))
    check_grads(lambda v, w: (Rotation.from_rotvec(v) * Rotation.from_rotvec(w)).as_rotvec(), (vector, point / 5))
    check_grads(lambda m: Rotation.from_matrix(m).as_quat(), (np.eye(3) + 0.1 * rng.normal(size=(3, 3)),), order=1)
    check_grads(lambda v: (Rotation.from_rotvec(v) ** 0.4).as_rotvec(), (vector,))
    check_grads(lambda v: Rotation.from_rotvec(v, degrees=True).magnitude(), (vector,))
    check_grads(lambda v: Rotation.concatenate([Rotation.from_rotvec(v), Rotation.identity()])[0].as_quat(), (vector,))
    turned = lambda v: Rotation.from_rotvec(v).apply(point)
    stack = np.stack([vector, 2 * vector])
    assert_allclose(ad.vmap(turned)(stack), np.stack([turned(v) for v in stack]))
    angles = lambda a: Rotation.from_euler("xyz", a).apply(point)
    assert_allclose(ad.vmap(angles)(stack), np.stack([angles(v) for v in stack]))


def test_stacks_and_refusals():
    _, one = both("one")
    _, several = both("several")
    assert one.single
    assert len(several) == 5
    assert_allclose(several[1:3].as_quat(), both("several")[0][1:3].as_quat())
    assert ad.scipy.twin(Theirs) is Rotation
    assert ad.scipy.twin(Theirs.apply) is Rotation.apply
    with pytest.raises(TypeError, match="no len"):
        len(one)
    with pytest.raises(ValueError, match="zero norm"):
        Rotation.from_quat([0.0, 0.0, 0.0, 0.0])
    with pytest.raises(ValueError, match="axes"):
        Rotation.from_euler("xyw", [1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="determinant"):
        Rotation.from_matrix(-np.eye(3))
    with pytest.raises(ad.ShapeError, match=r"\(3,\)"):
        one.apply(np.ones(4))
    with pytest.raises(ad.NotSupportedError, match="as_quat"):
        _ = several.reduce
    with pytest.raises(ad.NotSupportedError, match="gimbal"):
        Rotation.from_euler("xyz", [0.1, np.pi / 2, 0.2]).as_euler("xyz")
