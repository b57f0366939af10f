"""SciPy's solvers of differential equations, called step by step: derivatives, or an error that names solve_ivp."""

import numpy as np
import pytest
from scipy import integrate

import adjoint as ad
from adjoint.core.errors import NotSupportedError
from tests.scipy.differences import agrees

X = np.array([1.2, 0.7])
EXPLICIT = (integrate.RK23, integrate.RK45, integrate.DOP853)
IMPLICIT = (integrate.Radau, integrate.BDF)


def by_hand(kind, x, **settings):
    """Two states: the first decays at rate x[0], the second is fed by it; both begin with x."""
    rates = lambda t, y: np.array([-x[0] * y[0], x[1] * y[0] - y[1] ** 2])
    solver = kind(rates, 0.0, np.array([x[1], 0.5]), 1.0, **settings)
    while solver.status == "running":
        solver.step()
    return solver.y[1] + solver.dense_output()(solver.t)[0]


@pytest.mark.parametrize("kind", EXPLICIT, ids=lambda k: k.__name__)
def test_explicit_steps(kind):
    agrees(lambda x: by_hand(kind, x, rtol=1e-6, atol=1e-8), X, samples=False, second=kind is integrate.RK23, h=1e-5)


@pytest.mark.parametrize("kind", IMPLICIT, ids=lambda k: k.__name__)
def test_implicit_steps(kind):
    """Newton's iterations stop by a tolerance, so differences of the values are noisy."""

    def whole(x):
        rates = lambda t, y: np.array([-x[0] * y[0], x[1] * y[0] - y[1] ** 2])
        y = integrate.solve_ivp(rates, (0.0, 1.0), np.array([x[1], 0.5]), rtol=1e-10, atol=1e-12).y[:, -1]
        return y[1] + y[0]

    wanted = ad.grad(whole)(X)
    found = ad.grad(lambda x: by_hand(kind, x, rtol=1e-6, atol=1e-8))(X)
    np.testing.assert_allclose(found, wanted, rtol=1e-4)
    tangent = ad.jvp(lambda x: by_hand(kind, x, rtol=1e-6, atol=1e-8), (X,), (np.array([1.0, -2.0]),))[1]
    np.testing.assert_allclose(tangent, wanted @ [1.0, -2.0], rtol=1e-4, atol=1e-5)


def of_rates(name, x):
    solver = integrate.ode(lambda t, y: -x[0] * y).set_integrator(name)
    return solver.set_initial_value(np.array([1.0]), 0.0).integrate(1.0)[0].real


def of_states(name, x):
    solver = integrate.ode(lambda t, y: -y).set_integrator(name)
    return solver.set_initial_value(x[:1], 0.0).integrate(1.0)[0].real


def of_parameters(name, x):
    solver = integrate.ode(lambda t, y, a: -a * y).set_integrator(name)
    return solver.set_initial_value(np.array([1.0]), 0.0).set_f_params(x[0]).integrate(1.0)[0].real


def of_numbers(name, x):
    solver = integrate.ode(lambda t, y: -y).set_integrator(name)
    return solver.set_initial_value(np.array([1.0]), 0.0).integrate(1.0)[0].real * x[0] ** 2


@pytest.mark.parametrize("program", [of_rates, of_states, of_parameters], ids=lambda f: f.__name__)
@pytest.mark.parametrize("name", ["lsoda", "vode", "zvode", "dopri5", "dop853"])
def test_compiled_steps_name_solve_ivp(name, program):
    assert program(name, X) > 0
    for mode in (ad.grad, ad.jacfwd, lambda f: lambda x: ad.vmap(f)(np.stack([x, 2 * x]))):
        with pytest.raises(NotSupportedError, match="solve_ivp"):
            mode(lambda x: program(name, x))(X)
    assert ad.grad(lambda x: of_numbers(name, x))(X)[0] == pytest.approx(2 * X[0] * np.exp(-1), rel=1e-4)


def test_lsoda_by_hand_names_solve_ivp():
    with pytest.raises(NotSupportedError, match="solve_ivp"):
        ad.grad(lambda x: by_hand(integrate.LSODA, x))(X)
