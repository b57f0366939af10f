"""`vmap`: where the samples lie, how many there are, and what is said where that does not work out."""

import numpy as np
import pytest

import adjoint as ad
from adjoint.scipy import linalg

rng = np.random.default_rng(0)
A, B = rng.normal(size=(3, 4, 5)), rng.normal(size=(5, 2))


def test_axes_of_arguments_and_results():
    found = ad.vmap(lambda a, b: a @ b, in_axes=(1, None), out_axes=-1)(A, B)
    np.testing.assert_allclose(found, np.stack([A[:, i] @ B for i in range(4)], axis=-1), rtol=1e-14)
    tree = ad.vmap(
        lambda p, s=1.0: {"sum": p["a"].sum() * s, "b": p["b"]}, ({"a": -1, "b": None},), {"sum": 0, "b": None}
    )
    found = tree({"a": A, "b": B}, s=2.0)
    np.testing.assert_allclose(found["sum"], 2 * A.sum((0, 1)), rtol=1e-14)
    np.testing.assert_array_equal(found["b"], B)
    nested = ad.vmap(ad.vmap(np.dot, in_axes=(None, 1)), in_axes=(0, None))(A[0], B)
    np.testing.assert_allclose(nested, A[0] @ B, rtol=1e-14)


def test_their_number():
    np.testing.assert_array_equal(ad.vmap(lambda: np.ones(2), axis_size=3)(), np.ones((3, 2)))
    np.testing.assert_array_equal(ad.vmap(lambda x: (x, 3.0))(np.arange(2.0))[1], [3.0, 3.0])


def test_none_at_all():
    none = np.zeros((0, 3))
    assert ad.vmap(lambda x: np.sum(np.sin(x)))(none).shape == (0,)
    assert ad.vmap(ad.grad(lambda x: np.sum(x**2)))(none).shape == (0, 3)
    assert ad.vmap(ad.jacobian(np.cumsum))(none).shape == (0, 3, 3)
    with pytest.raises(ad.BatchedValueError, match="over no samples: matrix_logarithm"):
        ad.vmap(linalg.logm)(np.zeros((0, 2, 2)))


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: ad.vmap(np.add, in_axes=(0,))(A, A), ad.ArgumentError, "1 entries for 2 arguments"),
        (lambda: ad.vmap(np.sin, in_axes=3)(A), ad.ShapeError, "axis 3 of argument 0 has no such axis"),
        (lambda: ad.vmap(np.sin, in_axes="a")(A), ad.ArgumentError, "a number, None, or a tree of these; got 'a'"),
        (lambda: ad.vmap(np.sin)(1.0), ad.ShapeError, "in_axes is None"),
        (
            lambda: ad.vmap(np.add)(A, A[:2]),
            ad.ShapeError,
            "3 along axis 0 of argument 0, 2 along axis 0 of argument 1",
        ),
        (lambda: ad.vmap(np.sin, axis_size=7)(A), ad.ShapeError, "7 along axis_size"),
        (lambda: ad.vmap(np.sin, in_axes=None)(A), ad.ArgumentError, "axis_size=n"),
        (lambda: ad.vmap(lambda p: p["a"], in_axes=({"b": 0},))({"a": A}), ad.ArgumentError, "a prefix of it"),
        (lambda: ad.vmap(np.sin, out_axes=None)(A), ad.ArgumentError, "differs between samples; give it an axis"),
        (lambda: ad.vmap(np.sum, out_axes=1)(A), ad.ShapeError, "out_axes=1 for a result of shape"),
    ],
)
def test_what_is_refused(call, error, words):
    with pytest.raises(error, match=words):
        call()
