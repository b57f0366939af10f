"""Sets, polynomials and histograms where their samples in the registry cannot go: equal elements, zeros, ends."""

import numpy as np
import pytest

import adjoint as ad
from adjoint.core.protocol import detached


def slopes(f, *arrays):
    """The gradient of the sum of the first result, each element with a weight of its own, by every array."""

    def total(*xs):
        out = f(*xs)
        out = out[0] if isinstance(out, tuple) else out
        return np.sum(out * np.arange(1.0, 1 + out.size).reshape(out.shape))

    return [g.tolist() for g in ad.grad(total, tuple(range(len(arrays))))(*arrays)]


def test_intersection_takes_the_values_of_the_first():
    a, b = np.array([3.0, 1.0, 2.0, 2.0]), np.array([2.0, 5.0, 3.0])
    assert slopes(np.intersect1d, a, b) == [[2.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0]]


@pytest.mark.parametrize("function", [np.unique, np.unique_all, np.unique_counts, np.unique_inverse, np.unique_values])
def test_of_equal_elements_the_first_gets_the_gradient(function):
    assert slopes(function, np.array([3.0, 1.0, 3.0])) == [[2.0, 1.0, 0.0]]


def test_differences_leave_out_what_both_have():
    a, b = np.array([4.0, 1.0, 2.0]), np.array([2.0, 3.0])
    assert np.setxor1d(ad.tensor(a), b).numpy().tolist() == [1.0, 3.0, 4.0]
    assert slopes(np.setxor1d, a, b) == [[3.0, 1.0, 0.0], [0.0, 2.0]]
    assert slopes(np.setdiff1d, a, b) == [[2.0, 1.0, 0.0], [0.0, 0.0]]
    assert slopes(np.union1d, a, b) == [[4.0, 1.0, 2.0], [0.0, 3.0]]


@pytest.mark.parametrize("trim", ["f", "b", "fb"])
@pytest.mark.parametrize("values", [[0.0, 1.0, 0.0, 2.0, 0.0], [0.0, 0.0], [[0.0, 0.0], [0.0, 3.0]]])
def test_zeros_are_trimmed_as_numpy_trims_them(values, trim):
    trimmed = np.trim_zeros(ad.tensor(values, requires_grad=True), trim)
    np.testing.assert_array_equal(trimmed.detach().numpy(), np.trim_zeros(np.array(values), trim))
    assert trimmed.requires_grad


@pytest.mark.parametrize("p", [[0.0, 0.0], [3.0], [0.0, 2.0, 0.0], [1.0, -3.0, 2.0, 0.0, 0.0], [1.0, 0.0, 1.0]])
def test_roots_are_numpys(p):
    found = np.roots(ad.tensor(p, requires_grad=True))
    np.testing.assert_allclose(detached(found), np.roots(p), atol=1e-12)


@pytest.mark.parametrize("p", [[2.0, 0.0], [1.0, -3.0, 2.0, 0.0], [1.0, 0.3, 2.0, 0.0], [0.0, 1.0, -3.0, 2.0, 0.0]])
def test_a_last_coefficient_of_0_moves_all_roots(p):
    """The derivative of a root by the coefficient of ``x**k`` is ``-x**k / p'(x)``; that one's by the first order's."""
    p = np.array(p)
    r = np.roots(p)
    slopes = -(r[:, None] ** np.arange(len(p) - 1.0, -1, -1)) / np.polyval(np.polyder(p), r)[:, None]
    lead = int(p[0] == 0)
    for found in (
        ad.jacobian(np.roots)(p),
        ad.jacfwd(np.roots)(p),
        ad.vmap(ad.jacobian(np.roots))(np.stack([p, p]))[1],
    ):
        np.testing.assert_allclose(found[:, lead:], slopes[:, lead:], atol=1e-12)
    curve = ad.jvp(ad.jacobian(np.roots), (p,), (np.eye(len(p))[-1],))[1][:, -1]
    near = [ad.jacobian(np.roots)(p + h * np.eye(len(p))[-1])[:, -1] for h in (1e-5, -1e-5)]
    order = [np.argmin(np.abs(np.roots(p + h * np.eye(len(p))[-1])[:, None] - r), axis=0) for h in (1e-5, -1e-5)]
    np.testing.assert_allclose(curve, (near[0][order[0]] - near[1][order[1]]) / 2e-5, atol=1e-6)


def test_a_division_without_remainder_and_one_without_quotient():
    quotient, rest = np.polydiv(ad.tensor([1.0, 3.0, 2.0]), np.array([1.0, 1.0]))
    assert quotient.tolist() == [1.0, 2.0]
    assert rest.tolist() == [0.0]
    quotient, rest = np.polydiv(ad.tensor([2.0]), np.array([1.0, 1.0]))
    assert np.asarray(quotient).tolist() == [0.0]
    assert rest.tolist() == [2.0]


def test_a_fit_that_the_points_do_not_determine_warns():
    with pytest.warns(np.exceptions.RankWarning, match="poorly conditioned"):
        np.polyfit(ad.tensor([1.0, 1.0]), np.array([1.0, 2.0]), 1)


def test_weights_pass_the_gradient_of_their_bin():
    a = np.array([0.0, 0.5, 1.0, 2.0, 3.0])  # on edges: 1.0 is in the last bin, 2.0 and 3.0 in none
    assert slopes(lambda w: np.histogram(a, [0.0, 0.5, 1.0], weights=w), np.ones(5)) == [[1.0, 2.0, 2.0, 0.0, 0.0]]


def test_edges_follow_the_smallest_and_the_largest_element():
    edges = lambda a: np.histogram(a, 2)[1]
    assert slopes(edges, np.array([1.0, 5.0, 3.0])) == [[2.0, 4.0, 0.0]]
    assert slopes(edges, np.array([2.0, 2.0])) == [[3.0, 3.0]]
