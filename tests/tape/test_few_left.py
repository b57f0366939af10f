"""Selections after which little is left to do: the pass looks at that at once, and keeps no notes."""

import warnings

import numpy as np
import pytest

import adjoint as ad
from adjoint.tape import backward

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


@pytest.fixture
def made(monkeypatch):
    """The notes that passes make."""
    found = []

    class Seen(backward.Notes):
        __slots__ = ()

        def __init__(self, *args):
            found.append(self)
            super().__init__(*args)

    monkeypatch.setattr(backward, "Notes", Seen)
    return found


def network(w, x):
    return np.sum(np.maximum(x @ w + 0.1, 0.0) ** 2)


def test_a_small_network_needs_no_notes(made):
    x, w = np.linspace(-1.0, 2.0, 12).reshape(3, 4), np.linspace(-1.0, 1.0, 20).reshape(4, 5)
    g = ad.grad(network)(w, x)
    np.testing.assert_allclose(g, x.T @ (2 * np.maximum(x @ w + 0.1, 0.0)), rtol=1e-12)
    assert not made


def test_an_infinite_factor_is_seen(made):
    """0 * inf in the product's rule: the row that no path leads to has to give nothing."""
    x = np.array([[1.0, 2.0], [np.inf, 1.0]])

    def f(w):
        return np.sum(np.where(np.array([True, False]), x @ w, 0.0))

    np.testing.assert_array_equal(ad.grad(f)(np.array([0.5, 0.25])), x[0])
    assert made


def test_selections_of_arguments_need_no_notes(made):
    def rosenbrock(x):
        return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)

    x = np.linspace(-1.0, 1.2, 9)
    h, eps = ad.hessian(rosenbrock)(x), 1e-6
    steps = eps * np.eye(9)
    g = ad.grad(rosenbrock)
    np.testing.assert_allclose(h, [(g(x + d) - g(x - d)) / (2 * eps) for d in steps], rtol=1e-5, atol=1e-4)
    assert not made


@pytest.mark.parametrize("order", [1, -1])
def test_a_selection_of_an_argument_hides_no_other(order):
    """The pass comes to ``x[2]`` before or after the one whose zeros meet an infinite slope."""

    def f(x):
        terms = [lambda: x[2] * 3.0, lambda: np.sum(np.where(x > 0, np.sqrt(x), 0.0)), lambda: x[2] * 2.0][::order]
        return sum(term() for term in terms)

    x = np.array([0.0, 4.0, 1.0])
    np.testing.assert_allclose(ad.grad(f)(x), [0.0, 0.25, 5.5], rtol=1e-12)


def test_what_waits_beside_the_selection_is_looked_at_too():
    """A branch that was not selected leads through a slope that is infinite; another one waits for its own rule."""

    def f(x):
        root = np.sqrt(x)
        return np.sum(np.where(x > 0, root, 0.0)) + np.sum(root[1:] * 2.0)

    np.testing.assert_allclose(ad.grad(f)(np.array([0.0, 4.0, 1.0])), [0.0, 0.75, 1.5], rtol=1e-12)


def test_more_nodes_than_few_are_right():
    def f(x):
        y = x
        for _ in range(20):
            y = y * 1.0
        y = np.sqrt(y)
        return np.sum(np.where(x > 0, y, 0.0))

    np.testing.assert_allclose(ad.grad(f)(np.array([0.0, 4.0])), [0.0, 0.25], rtol=1e-12)


def test_a_write_after_a_value_was_saved_is_no_reason_to_trust_it():
    """The factor was finite when it is looked at, and infinite when the graph saved it."""
    t = ad.tensor(np.array([1.0, 2.0]), requires_grad=True)
    a = ad.tensor(np.array([np.inf, 3.0]))
    y = np.sum(np.where(np.array([False, True]), t * a, 0.0))
    a[0] = 1.0
    y.backward()
    np.testing.assert_array_equal(t.grad.numpy(), [0.0, 3.0])


@pytest.mark.parametrize(("dtype", "large"), [(np.float32, 1e25), (np.float64, 1e200)], ids=["single", "double"])
def test_large_numbers_do_not_warn(dtype, large):
    weights, x = np.array([large, 2.0, 3.0], dtype), np.array([1.0, 1.0, -2.0], dtype)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        before = ad.grad(lambda x: np.sum(np.where(x > 0, x * weights, 0)))(x)
        after = ad.grad(lambda x: np.sum(np.where(x > 0, x, 0) * weights))(x)
    for found in (before, after):
        np.testing.assert_array_equal(found, np.array([large, 2.0, 0.0], dtype))


def test_writes_elsewhere_leave_few_nodes_safe(made):
    """As running averages are written in the midst of a network."""
    x, w = np.linspace(-1.0, 2.0, 12).reshape(3, 4), ad.tensor(np.linspace(-1.0, 1.0, 20).reshape(4, 5))
    w.requires_grad_()
    average = ad.tensor(np.zeros(3))
    hidden = x @ w + 0.1
    average += 1.0
    np.sum(np.maximum(hidden, 0.0) ** 2).backward()
    np.testing.assert_allclose(w.grad, x.T @ (2 * np.maximum(x @ w.numpy() + 0.1, 0.0)), rtol=1e-12)
    assert not made


@pytest.mark.parametrize("factor", [2.0, np.inf])
@pytest.mark.parametrize("behind", [lambda t: t, np.sin])
def test_what_was_saved_and_written_is_refused(factor, behind):
    x = ad.tensor([1.0, 0.5, -0.5], requires_grad=True)
    y = ad.tensor([1.0, 2.0, 3.0], requires_grad=True)
    loss = np.sum(np.maximum(behind(x * y), 0.0))
    with ad.no_grad():
        y *= factor
    for _ in range(2):
        with pytest.raises(ad.InPlaceError):
            loss.backward()
