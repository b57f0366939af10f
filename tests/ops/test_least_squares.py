"""Where `rcond` counts singular values as 0 that are not: the rest has a derivative too, and it is not that of all."""

import numpy as np
import pytest

import adjoint as ad
from adjoint.testing import check_grads

R = np.random.default_rng(0)


def graded(m, n, dtype=float):
    """A matrix with singular values 3, 1 and 1/3."""
    a = R.normal(size=(m, n)) + (1j * R.normal(size=(m, n)) if dtype is complex else 0)
    u, _, vh = np.linalg.svd(a, full_matrices=False)
    return u * [3, 1, 1 / 3] @ vh


MATRICES = [graded(4, 3), graded(3, 4), graded(3, 3), graded(4, 3, complex)]


@pytest.mark.parametrize("a", MATRICES, ids=lambda a: f"{a.shape} {a.dtype}")
@pytest.mark.parametrize("rcond", [0.2, 0.7])
def test_what_is_cut_off(a, rcond):
    b = R.normal(size=(len(a), 2))
    for f in (
        lambda a: np.linalg.pinv(a, rcond),
        lambda a: np.linalg.pinv(np.stack([a, 2 * a]), rtol=[rcond, 1e-9]),
        lambda a: np.linalg.lstsq(a, b, rcond)[0],
        lambda a: np.linalg.lstsq(a, b[:, 0], rcond)[0],
    ):
        np.testing.assert_allclose(f(ad.tensor(a, requires_grad=True)).detach(), f(a), rtol=1e-10, atol=1e-12)
        check_grads(f, (a,))
    check_grads(lambda b: np.linalg.lstsq(a, b, rcond)[0], (b,))


def test_noise_that_is_cut_off_keeps_the_derivative_at_constant_rank():
    factors = R.normal(size=(4, 2)), R.normal(size=(2, 3))
    check_grads(lambda x, y: np.linalg.pinv(x @ y, 1e-6), factors)
    check_grads(lambda x, y: np.linalg.lstsq(x @ y, np.ones(4), 1e-6)[0], factors)
