"""Differential equations and integrals: closed forms, SciPy's values, both kinds of gradient, errors."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.integrate
from numpy.testing import assert_allclose

import adjoint as ad
from adjoint.scipy import integrate
from adjoint.testing import check_grads

rng = np.random.default_rng(0)
PARAMETERS = {"a": 1.1, "b": np.array([0.4])}
START = np.array([1.0, 0.5])
TIMES = np.array([0.0, 0.4, 1.1, 2.0])
AT = (1.3, 0.7, 0.2, 1.5)


def prey(t, y, p):
    """Lotka and Volterra's equations, with a season."""
    return np.stack([p["a"] * y[0] - p["b"][0] * y[0] * y[1], -y[1] + np.sin(t) * y[0]])


def decay(k, y0, start, stop, gradient, method, tolerance=1e-9):
    solution = integrate.solve_ivp(
        lambda t, y, k: -k * y, (start, stop), np.stack([y0]), method, args=(k,), gradient=gradient, rtol=tolerance,
        atol=tolerance,
    )  # fmt: skip
    return solution.y[0, -1]


def exact(k, y0, start, stop):
    return y0 * np.exp(-k * (stop - start))


@pytest.mark.parametrize("method", ["RK45", "RK23"])
@pytest.mark.parametrize("times", [None, TIMES, TIMES[1:], TIMES[1:3]], ids=str)
def test_direct_takes_scipys_steps(method, times):
    y0 = ad.tensor(START, requires_grad=True)
    ours = integrate.solve_ivp(prey, (0.0, 2.0), y0, method, times, args=(PARAMETERS,), rtol=1e-4)
    theirs = scipy.integrate.solve_ivp(prey, (0.0, 2.0), START, method, times, args=(PARAMETERS,), rtol=1e-4)
    assert_allclose(ours.y.numpy(), theirs.y, rtol=1e-12)
    assert_allclose(ours.t, theirs.t)
    assert ours.nfev == theirs.nfev


def test_plain_arrays_go_to_scipy():
    ours = integrate.solve_ivp(prey, (0.0, 2.0), START, args=(PARAMETERS,), dense_output=True)
    assert_allclose(
        ours.sol(1.0), scipy.integrate.solve_ivp(prey, (0, 2.0), START, args=(PARAMETERS,), dense_output=True).sol(1.0)
    )
    field = lambda y, t: -y
    assert_allclose(integrate.odeint(field, START, TIMES), scipy.integrate.odeint(field, START, TIMES))


@pytest.mark.parametrize(
    ("gradient", "method", "tolerance"),
    [
        ("direct", "RK45", 1e-9),
        ("direct", "RK23", 1e-8),
        ("adjoint", "RK45", 1e-9),
        ("adjoint", "LSODA", 1e-9),
        ("adjoint", "Radau", 1e-9),
        ("adjoint", "DOP853", 1e-9),
    ],
)
@pytest.mark.parametrize("i", range(4), ids=["parameter", "state", "first time", "last time"])
def test_exponential_decay(gradient, method, tolerance, i):
    assert_allclose(ad.grad(decay, i)(*AT, gradient, method, tolerance), ad.grad(exact, i)(*AT), rtol=1e-5)


@pytest.mark.parametrize(("gradient", "method"), [("direct", "RK45"), ("adjoint", "RK45"), ("adjoint", "LSODA")])
def test_second_derivatives(gradient, method):
    for i in range(4):
        ours = ad.grad(lambda at: ad.grad(lambda *a: decay(*a, gradient, method), i)(*(at[j] for j in range(4))))(
            np.array(AT)
        )
        theirs = ad.grad(lambda at: ad.grad(exact, i)(*(at[j] for j in range(4))))(np.array(AT))
        assert_allclose(ours, theirs, atol=1e-4)


@pytest.mark.parametrize("gradient", ["direct", "adjoint"])
def test_trees_of_parameters_and_output_times(gradient):
    def f(y0, p, times):
        options = {"rtol": 1e-9, "atol": 1e-9, "gradient": gradient}
        return integrate.solve_ivp(prey, (0.0, 2.0), y0, t_eval=times, args=(p,), **options).y

    check_grads(f, (START, PARAMETERS, TIMES[1:-1]), order=1, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("gradient", ["direct", "adjoint"])
@pytest.mark.parametrize("times", [TIMES, TIMES[::-1]], ids=["forward", "backward"])
def test_odeint(gradient, times):
    field = lambda y, t, p: prey(t, y, p)
    y0 = ad.tensor(START, requires_grad=True)
    ours = integrate.odeint(field, y0, times, (PARAMETERS,), gradient=gradient)
    assert_allclose(ours.numpy(), scipy.integrate.odeint(field, START, times, (PARAMETERS,)), rtol=1e-6)
    f = lambda y0, p: integrate.odeint(field, y0, times[:3], (p,), gradient=gradient)
    check_grads(f, (START, PARAMETERS), order=1, rtol=1e-4, atol=1e-5)


def test_direct_gradients_flow_to_tensors_that_the_field_refers_to():
    k = ad.tensor(1.3, requires_grad=True)
    integrate.solve_ivp(lambda t, y: -k * y, (0.0, 1.0), np.ones(1), rtol=1e-9, atol=1e-9).y[0, -1].backward()
    assert k.grad.item() == pytest.approx(-np.exp(-1.3))


@pytest.mark.parametrize(
    ("options", "error", "match"),
    [
        ({"gradient": "adjoint"}, ad.LeavesGraphError, "args="),
        ({"gradient": "sideways"}, ad.ArgumentError, "direct"),
        ({"gradient": "adjoint", "dense_output": True}, ad.NotSupportedError, "direct"),
        ({"gradient": "adjoint", "events": lambda t, y: y[0]}, ad.NotSupportedError, "direct"),
    ],
)
def test_refusals(options, error, match):
    k = ad.tensor(1.3, requires_grad=True)
    with pytest.raises(error, match=match):
        integrate.solve_ivp(lambda t, y: -k * y, (0.0, 1.0), np.ones(1), **options)


@pytest.mark.parametrize("n", [2, 3, 4, 5, 6])
def test_samples(n):
    y, places = rng.normal(size=(2, n)), np.sort(rng.normal(size=(2, n)))
    for x in (None, places[0], places):
        for name in ("trapezoid", "simpson", "cumulative_trapezoid"):
            assert_allclose(getattr(integrate, name)(y, x=x), getattr(scipy.integrate, name)(y, x=x))
    assert_allclose(integrate.simpson(y.T, axis=0, dx=0.3), scipy.integrate.simpson(y.T, axis=0, dx=0.3))
    check_grads(integrate.simpson, (y, places))
    check_grads(lambda y, x: integrate.cumulative_trapezoid(y, x, initial=0), (y, places))


def test_samples_and_places_must_match():
    with pytest.raises(ad.ShapeError, match="places"):
        integrate.simpson(np.ones(3), np.ones(4))
    with pytest.raises(ad.ArgumentError, match="initial"):
        integrate.cumulative_trapezoid(np.ones(3), initial=1.0)


def test_integrals_of_functions():
    f = lambda a, b, p: integrate.quad(lambda x, p: np.sin(p["k"] * x) * np.sum(p["w"]), a, b, (p,))[0]
    check_grads(f, (0.3, 2.0, {"k": 1.3, "w": np.array([1.0, 2.0])}))
    several = lambda b, p: integrate.quad_vec(lambda x, p: np.stack([np.sin(p * x), x * p**2]), 0.0, b, args=(p,))[0]
    check_grads(several, (1.0, 0.7))
    check_grads(lambda a, b, p: integrate.fixed_quad(lambda x: np.sin(p * x), a, b)[0], (0.3, 2.0, 1.1))
    assert integrate.quad(np.cos, 0, 1)[0] == pytest.approx(np.sin(1))
    assert integrate.fixed_quad(np.cos, 0, 1)[0] == pytest.approx(scipy.integrate.fixed_quad(np.cos, 0, 1)[0])


def test_second_derivative_of_an_integral_without_ends():
    gauss = lambda p: integrate.quad(lambda x, p: np.exp(-p * x * x), -np.inf, np.inf, (p,))[0]
    assert ad.grad(ad.grad(gauss))(0.7) == pytest.approx(0.75 * np.sqrt(np.pi) * 0.7**-2.5)


def test_an_integrand_may_hold_a_tensor():
    w = ad.tensor(1.0, requires_grad=True)
    integrate.quad(lambda x: w * x, 0.0, 1.0)[0].backward()
    assert w.grad.item() == pytest.approx(0.5)


@pytest.mark.parametrize("t_eval", [None, [2.0], [0.0, 0.5, 2.0]])
def test_the_adjoint_way_solves_the_equation_once_forward(t_eval):
    calls = []

    def loss(y, k):
        def field(t, y, k):
            calls.append(t)
            return -k * y

        options = {"t_eval": t_eval, "args": (k,), "gradient": "adjoint", "rtol": 1e-8}
        return np.sum(integrate.solve_ivp(field, (0.0, 2.0), y, **options).y[:, -1])

    y, k = np.array([1.0, 2.0]), 0.7
    plain = scipy.integrate.solve_ivp(lambda t, y: -k * y, (0.0, 2.0), y, t_eval=t_eval, rtol=1e-8)
    calls.clear()
    value, _ = ad.vjp(loss, y, k)
    assert len(calls) == plain.nfev
    assert value == np.sum(plain.y[:, -1])
    gradient = ad.grad(loss, (0, 1))(y, k)
    np.testing.assert_allclose(gradient[0], np.exp(-2 * k) * np.ones(2), rtol=1e-5)
    np.testing.assert_allclose(gradient[1], -2 * np.exp(-2 * k) * y.sum(), rtol=1e-5)
