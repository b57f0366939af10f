"""What a selection leaves out contributes exactly 0 in compiled functions too, whatever later calls bring."""

import numpy as np
import pytest

import adjoint as ad

FINE = np.array([True, False, False])
GAPS = np.array([[1.0, 2.0], [np.nan, 3.0], [4.0, np.inf]])
WHOLE = np.array([[1.0, 2.0], [2.0, 3.0], [4.0, 5.0]])
W = np.array([0.5, 1.5])

# The other factor of a product: an argument, or what is computed of it by operations of all kinds.
PROGRAMS = {
    "the argument": lambda d, w: np.sum(np.where(FINE, d @ w, 0.0)),
    "a sine": lambda d, w: np.sum(np.where(FINE, np.sin(d) @ w, 0.0)),
    "an exponential": lambda d, w: np.sum((np.exp(d * d) @ w)[:1]),
    "a bounded logarithm": lambda d, w: np.sum((np.maximum(np.log(np.abs(d)), -1.0) @ w)[:1]),
    "what was filled": lambda d, w: np.sum(np.maximum(np.where(np.isfinite(d), d, 0.0) @ w, 0.0)),
    "layers": lambda d, w: np.sum(np.where(FINE, np.tanh(np.tanh(d @ np.ones((2, 2))) @ w), 0.0)),
    "turns": lambda d, w: sum(np.sum(np.where(FINE, np.sin(d * k) @ w, 0.0)) for k in range(6)),
    "two matrices": lambda d, w: np.sum(np.where(FINE[:, None], d @ np.outer(w, w), 0.0) ** 2),
    "a stack": lambda d, w: np.sum(np.where(FINE[:, None, None], np.sin(d)[:, :, None] @ w[None, None], 0.0)),
    "einsum": lambda d, w: np.sum(np.where(FINE, np.einsum("ij,j->i", np.sin(d), w), 0.0)),
    "convolve": lambda d, w: np.sum(np.convolve(np.sin(d.ravel()), w)[:2]),
    "elementwise": lambda d, w: np.sum(np.where(FINE[:, None], np.sin(d) * w * w, 0.0)),
    "a number": lambda d, w: np.sum(np.where(np.array([True, False]), w * np.inf, 0.0)),
    "a solution": lambda d, w: np.sum(np.where(FINE, np.sin(d) @ np.linalg.solve([[2.0, 1.0], [1.0, 3.0]], w), 0.0)),
}


def gradient_of_compiled(f):
    return ad.grad(ad.compile(f, wait=True), argnums=1), ad.grad(f, argnums=1)


def compiled_gradient(f):
    return ad.compile(lambda d, w: ad.grad(f, argnums=1)(d, w), wait=True), ad.grad(f, argnums=1)


def compiled_tangent(f):
    def tangent(d, w):
        return ad.jvp(lambda w: f(d, w), (w,), (np.ones(2),))[1]

    return ad.compile(tangent, wait=True), tangent


def compiled_hessian(f):
    def hessian(d, w):
        return ad.hessian(lambda w: f(d, np.sin(w)))(w)

    return ad.compile(hessian, wait=True), hessian


@pytest.mark.parametrize("modes", [gradient_of_compiled, compiled_gradient, compiled_tangent, compiled_hessian])
@pytest.mark.parametrize("f", PROGRAMS.values(), ids=PROGRAMS)
def test_an_infinity_that_is_left_out(f, modes):
    compiled, plain = modes(f)
    with np.errstate(all="ignore"):
        for data in (WHOLE, GAPS, GAPS, WHOLE, GAPS):
            np.testing.assert_allclose(compiled(data, W), plain(data, W), rtol=1e-12, atol=1e-12)


def test_what_is_recorded_with_gaps_first():
    f = PROGRAMS["two matrices"]
    compiled, plain = compiled_gradient(f)
    with np.errstate(all="ignore"):
        for data in (GAPS, WHOLE, GAPS):
            np.testing.assert_allclose(compiled(data, W), plain(data, W), rtol=1e-12)


def test_a_step_asks_of_its_weights_once_a_call():
    weights = [ad.tensor(np.full((3, 3), 0.1), requires_grad=True) for _ in range(3)]

    @ad.compile
    def step(x):
        for w in weights:
            w.grad = None
            x = np.maximum(x @ w, 0.0)
        loss = np.sum(x)
        loss.backward()
        return loss

    for _ in range(3):
        step(np.ones((2, 3)))
    assert str(step.explain()).count("isfinite") <= len(weights) + 1
    weights[2].data[:, 0] = -np.inf  # a unit that was switched off
    with np.errstate(invalid="ignore"):
        step(np.ones((2, 3)))
    assert all(np.isfinite(w.grad.numpy()).all() for w in weights)


M = np.array([[1.0, 2.0], [0.5, 1.0]])


@pytest.mark.parametrize("backend", ["numpy", "native"])
@pytest.mark.parametrize("f", [lambda d, w: (d @ M) @ w, lambda d, w: np.maximum(d @ M, 0.5) @ M @ w])
def test_a_product_that_is_finite_only_at_first(f, backend):
    """The program asks whether `d @ M` is finite in place of `d`: the answer is that of the call that is recorded."""

    def gradient(d, w):
        return ad.grad(lambda w: np.sum(np.where(FINE, f(d, w), 0.0)))(w)

    compiled = ad.compile(gradient, wait=True, backend=backend)
    with np.errstate(all="ignore"):
        for data in (WHOLE, WHOLE, GAPS, WHOLE, GAPS):
            np.testing.assert_allclose(compiled(data, W), gradient(data, W), rtol=1e-12)
