"""Decompositions whose factors are not determined: what is refused, and that what is named instead is right."""

import numpy as np
import pytest
import scipy.linalg

import adjoint as ad

A, B = np.array([[1.0, 2.0], [3.0, 4.5]]), np.array([[2.0, 0.3], [0.1, 1.0]])


@pytest.mark.parametrize(
    ("call", "instead"),
    [
        (lambda a: scipy.linalg.qz(a, B)[0].sum(), "eigvals"),
        (lambda a: scipy.linalg.ordqz(a, B)[0].sum(), "eigvals"),
        (lambda a: scipy.linalg.cossin(scipy.linalg.qr(a)[0], 1, 1)[1].sum(), "np.arccos"),
    ],
)
def test_the_refusal_says_what_to_write(call, instead):
    with pytest.raises(ad.NotSupportedError, match=instead):
        ad.grad(call)(A)


def test_plain_arguments_are_scipys():
    assert ad.grad(lambda x: x * scipy.linalg.qz(A, B)[0][0, 0])(1.0) == scipy.linalg.qz(A, B)[0][0, 0]


def test_the_angles_are_those_of_cossin():
    q = scipy.linalg.qr(np.random.default_rng(0).normal(size=(4, 4)))[0]
    _, angles, _ = scipy.linalg.cossin(q, 2, 2, separate=True)
    found = np.arccos(np.linalg.svd(q[:2, :2], compute_uv=False))
    np.testing.assert_allclose(np.sort(found), np.sort(angles))
