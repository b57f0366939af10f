"""Nan and infinities are found where they come into being, and nowhere else."""

import inspect

import numpy as np
import pytest

import adjoint as ad

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


def leaf(*values):
    return ad.tensor(values or [4.0, 0.0], requires_grad=True)


def this_line():
    frame = inspect.currentframe().f_back
    return f"tests/tape/test_anomaly.py:{frame.f_lineno}"


def test_a_value():
    x = leaf(4.0, 0.0, -1.0)
    places = []
    with ad.detect_anomaly(), pytest.raises(ad.AnomalyError) as caught:
        np.log(x * 2, *places.append(this_line()) or ())
    error = caught.value
    assert (error.op, error.line) == ("log", places[0])
    assert str(error).startswith("log made 1 nan and 1 infinity out of finite numbers")
    (given,) = error.inputs
    assert given == ("x", (3,), np.float64, -2.0, 8.0, 0, 0)
    assert "x: shape (3,), float64, from -2 to 8" in str(error)
    assert "detect_anomaly(forward=False)" in str(error)


def test_a_cotangent():
    x = leaf()
    with ad.detect_anomaly():
        where, y = this_line(), np.sqrt(x)
        z = np.sum(y * 3)
        with pytest.raises(
            ad.AnomalyError, match="gradient rule of sqrt made 1 infinity in the cotangent of `x`"
        ) as caught:
            z.backward()
    assert caught.value.line == where
    assert caught.value.inputs == (("x", (2,), np.float64, 0.0, 4.0, 0, 0),)
    assert "cotangent of the result: shape (2,), float64, from 3 to 3" in str(caught.value)


def test_a_cotangent_whose_forward_pass_ran_outside():
    y = np.sum(np.sqrt(leaf()))
    with ad.detect_anomaly(), pytest.raises(ad.AnomalyError, match="line is known if the forward pass") as caught:
        y.backward()
    assert caught.value.line == ""
    assert [r.name for r in caught.value.inputs] == ["out"]


def test_what_is_masked_later():
    x = leaf()

    def masked():
        return np.sum(np.where(x > 0, np.log(np.where(x > 0, x, 1.0)) / x, 0.0) * 2)

    with ad.detect_anomaly(), pytest.raises(ad.AnomalyError, match="divide made 1 nan"):
        masked()
    x = leaf(4.0, 2.0)
    with ad.detect_anomaly():
        masked().backward()
    x = leaf()
    with ad.detect_anomaly(forward=False), pytest.raises(ad.AnomalyError, match="gradient rule of divide made"):
        masked().backward()
    with ad.detect_anomaly(forward=False):
        np.sum(np.where(x > 0, x, np.divide(x, 0.0))).detach()


def test_what_was_there_before_passes():
    gaps = np.array([1.0, np.nan])
    x = leaf(1.0, 2.0)
    with ad.detect_anomaly():
        scores = np.where(np.array([True, False]), x, -np.inf)
        np.sum(np.exp(scores - np.max(scores))).backward()
        assert np.nansum(x * gaps).item() == 1.0
    np.testing.assert_array_equal(x.grad.numpy(), [0.0, 0.0])


def test_the_cotangent_that_was_given():
    x = leaf(1.0, 2.0)
    y = x * 2
    with ad.detect_anomaly(), pytest.raises(ad.AnomalyError, match="cotangent that reached multiply has 1 nan"):
        y.backward(np.array([1.0, np.nan]))


@pytest.mark.parametrize(
    "op", [lambda x: np.concatenate([x, np.sqrt(x)]), lambda x: np.einsum("i,i->i", x, np.sqrt(x))]
)
def test_operations_of_several_inputs(op):
    with ad.detect_anomaly(), pytest.raises(ad.AnomalyError, match="gradient rule of sqrt"):
        np.sum(op(leaf())).backward()


def test_in_transforms_second_derivatives_and_complex():
    with ad.detect_anomaly():
        with pytest.raises(ad.AnomalyError, match="sqrt"):
            ad.grad(lambda x: np.sum(np.sqrt(x)))(np.array([0.0, 1.0]))
        with pytest.raises(ad.AnomalyError, match="test_anomaly"):
            ad.grad(ad.grad(lambda x: x**1.5))(0.0)
        with pytest.raises(ad.AnomalyError, match="from 0 to 1"):
            ad.grad(lambda z: np.abs(np.log(z)).sum())(np.array([0j, 1j]))
        x = leaf()
        np.sum(x**1.5).backward(create_graph=True)
        with pytest.raises(ad.AnomalyError, match="gradient rule of power"):
            np.sum(x.grad).backward()


def test_a_rule_that_raises_says_where_it_stands():
    @ad.op
    def broken(x):
        return x * 1.0

    @broken.backward
    def broken_backward(g):
        raise ZeroDivisionError

    with ad.detect_anomaly():
        where, y = this_line(), broken(leaf())
        with pytest.raises(ZeroDivisionError) as caught:
            np.sum(y).backward()
    assert caught.value.__notes__ == [f"In the gradient rule of broken; the operation stands at {where}"]


def test_nothing_changes_for_finite_numbers():
    r = np.random.default_rng(0)
    x, w = r.normal(size=(4, 5)), r.normal(size=(5, 3))

    def f(x, w):
        h = np.tanh(x @ w)
        h[0] = h[1] * 2
        return np.sum(h[:, np.array([0, 0, 1])] ** 2) + np.linalg.norm(h)

    expected = ad.grad(f, (0, 1))(x, w)
    with ad.detect_anomaly():
        got = ad.grad(f, (0, 1))(x, w)
    for a, b in zip(got, expected, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(
    "derivative",
    [
        lambda f: ad.vmap(ad.grad(f))(np.array([[1.0, 2.0], [1.0, 0.0]])),
        lambda f: ad.vmap(ad.vmap(ad.grad(f)))(np.array([[[1.0, 2.0]], [[1.0, 0.0]]])),
        lambda f: ad.hvp(f, np.array([1.0, 0.0]), np.ones(2)),
        lambda f: ad.grad(lambda x: ad.grad(f)(x)[0])(np.array([1.0, 0.0])),
    ],
    ids=["vmap", "vmap of vmap", "hvp", "grad of grad"],
)
def test_inside_other_transforms(derivative):
    with pytest.raises(ad.AnomalyError, match="power made"), ad.detect_anomaly():
        derivative(lambda x: np.sum(x**0.5))


def test_outside_nothing_is_looked_at():
    x = leaf()
    with pytest.raises(ZeroDivisionError), ad.detect_anomaly():
        raise ZeroDivisionError
    y = np.sum(np.sqrt(x))
    assert not hasattr(y.node, "place")
    y.backward()
    assert np.isinf(x.grad.numpy()[1])
