"""SciPy's solvers of differential equations that hold tensors: every method, every place to hold one, every mode."""

import numpy as np
import pytest
import scipy.integrate
from numpy.testing import assert_allclose, assert_array_equal

import adjoint as ad
from adjoint.scipy import integrate
from tests.scipy.solved import MODES, WAYS, check, given

METHODS = ("RK45", "RK23", "DOP853", "Radau", "BDF", "LSODA")
TIMES = np.array([0.0, 0.3, 0.31, 1.0])
TIGHT = {"rtol": 1e-9, "atol": 1e-10}


def spring(t, y, k):
    return [y[1], -k * k * y[0] + 0.0 * t]


def exact(k):
    return np.sum(np.cos(k * TIMES) - k * np.sin(k * TIMES))


def swung(method="RK45", **options):
    options = TIGHT | options
    if method == "RK23":
        options |= {"rtol": 1e-7, "atol": 1e-8}
    return lambda f, args: np.sum(
        integrate.solve_ivp(f, (0.0, 1.0), [1.0, 0.0], method, TIMES, args=args or None, **options).y
    )


def by_odeint(f, args):
    return np.sum(integrate.odeint(f, [1.0, 0.0], TIMES, args, tfirst=True))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("mode", ["grad", "jvp", "hessian"])
def test_a_solution_is_a_function_of_what_the_equation_holds(method, way, mode):
    if way != "closure" and method in ("Radau", "BDF", "LSODA") and mode == "hessian":
        pytest.skip("by the backward equation, in test_integrate; or as a closure")
    check(lambda k: swung(method)(*given(way, spring, k)), exact, 1.3, mode, 1e-5)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("way", ["argument", "closure"])
@pytest.mark.parametrize("solver", ["solve_ivp", "odeint", "implicit"])
def test_in_every_mode(solver, way, mode):
    if solver == "implicit" and way == "argument":
        pytest.skip("by the backward equation, in test_integrate")
    solve = {"solve_ivp": swung("DOP853"), "odeint": by_odeint, "implicit": swung("Radau", rtol=1e-6)}[solver]
    rtol = 1e-4 if solver == "implicit" else 1e-6
    check(lambda k: solve(*given(way, spring, k)), exact, 1.3, mode, rtol)


@pytest.mark.parametrize("method", METHODS)
def test_at_the_solvers_own_times_and_from_everything(method):
    def last(k, start, stop):
        found = integrate.solve_ivp(lambda t, y: -k * y * t, (start, stop), [k], method, **TIGHT)
        return found.y[0, -1]

    closed = lambda k, start, stop: k * np.exp(-k * (stop**2 - start**2) / 2.0)
    at = (1.3, 0.5, 1.5)
    assert_allclose(ad.grad(last, (0, 1, 2))(*at), ad.grad(closed, (0, 1, 2))(*at), rtol=1e-5)


@pytest.mark.parametrize("method", METHODS)
def test_values_and_reports_are_scipys(method):
    k = ad.tensor(1.3, requires_grad=True)
    for times in (None, TIMES):
        ours = integrate.solve_ivp(lambda t, y: spring(t, y, k), (0.0, 1.0), [1.0, 0.0], method, times)
        theirs = scipy.integrate.solve_ivp(spring, (0.0, 1.0), [1.0, 0.0], method, times, args=(1.3,))
        assert_array_equal(ours.y.numpy(), theirs.y)
        assert_array_equal(ours.t, theirs.t)
        assert {x: ours[x] for x in ("nfev", "njev", "nlu", "status", "message", "success")} == {
            x: theirs[x] for x in ("nfev", "njev", "nlu", "status", "message", "success")
        }


def van_der_pol(t, y, mu):
    return np.stack([y[1], mu * (1.0 - y[0] ** 2) * y[1] - y[0]])


@pytest.mark.parametrize("method", ["Radau", "BDF", "LSODA"])
def test_stiff_equations(method):
    def end(mu):
        field = lambda t, y: van_der_pol(t, y, mu)
        return integrate.solve_ivp(field, (0.0, 100.0), [2.0, 0.0], method, [100.0], rtol=1e-8, atol=1e-10).y[0, 0]

    precise = lambda mu: scipy.integrate.solve_ivp(
        van_der_pol, (0.0, 100.0), [2.0, 0.0], "Radau", [100.0], args=(mu,), rtol=1e-11, atol=1e-13
    ).y[0, 0]  # fmt: skip
    assert_allclose(ad.grad(end)(200.0), (precise(201.0) - precise(199.0)) / 2.0, rtol=1e-4)


def test_a_stiff_equation_by_odeint():
    # y' = k (cos(t) - y), which follows the cosine
    field = lambda k: lambda y, t: -k * (y - np.cos(t))
    end = lambda k: integrate.odeint(field(k), [0.0], [0.0, 1.0, 2.0])[-1, 0]
    closed = lambda k: (k * np.cos(2.0) + np.sin(2.0)) * k / (1.0 + k * k)
    assert_allclose(end(1e5), closed(1e5), rtol=1e-7)
    assert_allclose(ad.grad(end)(1e5), ad.grad(closed)(1e5), rtol=1e-4)


def fall(t, y, g):
    return np.stack([y[1], -g + 0.0 * t])


@pytest.mark.parametrize("method", METHODS)
def test_events_end_a_fall(method):
    def ground(t, y, *_):
        return y[0]

    ground.terminal, ground.direction = True, -1

    def found(g, height):
        return integrate.solve_ivp(lambda t, y: fall(t, y, g), (0.0, 10.0), np.stack([height, 0.0]), method,
                                   events=ground, **TIGHT)  # fmt: skip

    duration = lambda g, height: np.sqrt(2.0 * height / g)
    for part, closed in (
        (lambda r: r.t_events[0][0], duration),
        (lambda r: r.t[-1], duration),
        (lambda r: r.y_events[0][0, 1], lambda g, h: -np.sqrt(2.0 * h * g)),
        (lambda r: r.y[1, -1], lambda g, h: -np.sqrt(2.0 * h * g)),
        (lambda r: r.y[0, -1] + 1.0, lambda g, h: 1.0 + 0.0 * g * h),
    ):
        f = lambda g, h, part=part: part(found(g, h))
        assert_allclose(f(9.8, 5.0), closed(9.8, 5.0), rtol=1e-6)
        assert_allclose(ad.grad(f, (0, 1))(9.8, 5.0), ad.grad(closed, (0, 1))(9.8, 5.0), rtol=1e-5, atol=1e-7)
        if method in ("RK45", "Radau"):
            assert_allclose(
                ad.hessian(lambda g, f=f: f(g, 5.0))(9.8),
                ad.hessian(lambda g, c=closed: c(g, 5.0))(9.8), rtol=1e-4, atol=1e-6)  # fmt: skip


def test_events_of_several_kinds_that_hold_tensors():
    def crossings(k):
        level = lambda t, y: y[0] - k / 4.0
        never = lambda t, y: y[0] + 9.0
        found = integrate.solve_ivp(
            lambda t, y: spring(t, y, k), (0.0, 5.0), [1.0, 0.0], events=[level, never], **TIGHT
        )
        assert len(found.t_events[1]) == 0
        return found.t_events[0]

    closed = lambda k: (
        np.stack([np.arccos(k / 4.0), 2 * np.pi - np.arccos(k / 4.0), 2 * np.pi + np.arccos(k / 4.0)]) / k
    )
    k = 1.6
    assert_allclose(crossings(k), closed(k)[: len(crossings(k))], rtol=1e-6)
    assert_allclose(ad.jacobian(crossings)(k), ad.jacobian(closed)(k)[: len(crossings(k))], rtol=1e-5)


@pytest.mark.parametrize("method", METHODS)
def test_dense_output(method):
    def between(k, t):
        found = integrate.solve_ivp(lambda t, y: spring(t, y, k), (0.0, 1.0), [1.0, 0.0], method, dense_output=True,
                                    **TIGHT)  # fmt: skip
        return np.sum(found.sol(np.array([0.7, 0.2, 1.0]))[0]) + found.sol(t)[0]

    closed = lambda k, t: np.sum(np.cos(k * np.array([0.7, 0.2, 1.0]))) + np.cos(k * t)
    assert_allclose(between(1.3, 0.55), closed(1.3, 0.55), rtol=1e-6)
    assert_allclose(ad.grad(between, (0, 1))(1.3, 0.55), ad.grad(closed, (0, 1))(1.3, 0.55), rtol=1e-4)


def test_odeint_is_scipys():
    field = lambda y, t, k: [y[1], -k * y[0]]
    plain = integrate.odeint(field, [1, 0], TIMES, (1.3,))
    assert_array_equal(plain, scipy.integrate.odeint(field, [1, 0], TIMES, (1.3,)))
    k = ad.tensor(1.3, requires_grad=True)
    y, report = integrate.odeint(field, [1, 0], TIMES, (k,), full_output=1, hmax=0.1)
    theirs, their_report = scipy.integrate.odeint(field, [1, 0], TIMES, (1.3,), full_output=1, hmax=0.1)
    assert_array_equal(y.numpy(), theirs)
    assert report.keys() == their_report.keys()
    assert report["message"] == their_report["message"]
    np.sum(y[-1, 0]).backward()
    assert_allclose(k.grad.numpy(), -np.sin(np.sqrt(1.3)) / (2.0 * np.sqrt(1.3)), rtol=1e-6)


def test_a_tensor_that_is_met_late_counts():
    k = ad.tensor(1.3, requires_grad=True)
    field = lambda t, y: -y if t < 0.5 else -k * y
    y = integrate.solve_ivp(field, (0.0, 1.0), [1.0], max_step=0.05, **TIGHT).y[0, -1]
    y.backward()
    assert_allclose(k.grad.numpy(), -0.5 * np.exp(-0.5 - 0.65), rtol=1e-3)


def test_scipys_errors_stay():
    k = ad.tensor(1.3, requires_grad=True)
    field = lambda t, y: -k * y
    with pytest.raises(ValueError, match="`method` must be one of"):
        integrate.solve_ivp(field, (0.0, 1.0), [1.0], "Euler")
    with pytest.raises(ValueError, match="not within"):
        integrate.solve_ivp(field, (0.0, 1.0), [1.0], t_eval=[2.0])
    with pytest.raises(ValueError, match="1-dimensional"):
        integrate.solve_ivp(field, (0.0, 1.0), np.ones((2, 2)))
    with pytest.raises(ad.NotSupportedError, match="t_eval"):
        ad.vmap(lambda k: integrate.solve_ivp(lambda t, y: -k * y, (0.0, 1.0), [1.0]).y[0, -1])(np.ones(2))


@pytest.mark.parametrize("method", ["LSODA", "Radau", "RK45"])
@pytest.mark.parametrize("others", [(), (2.0,)], ids=["last", "between"])
def test_derivatives_by_an_output_time_are_the_fields(method, others):
    """Of every order: a polynomial between two steps loses one with each."""

    def state(t):
        times = np.array([0.0, t, *others])
        solution = scipy.integrate.solve_ivp(
            lambda t, y: -0.7 * y + np.sin(t), (0.0, 2.0), [1.0], method, times, rtol=1e-8, atol=1e-10
        )
        return solution.y[0, 1]

    slope = ad.grad(state)
    curvature = ad.grad(slope)
    t = 1.3
    first = -0.7 * state(t) + np.sin(t)
    second = -0.7 * first + np.cos(t)
    third = -0.7 * second - np.sin(t)
    assert slope(t) == pytest.approx(first, abs=1e-7)
    assert curvature(t) == pytest.approx(second, abs=1e-7)
    assert ad.grad(curvature)(t) == pytest.approx(third, abs=1e-7)


def _ends(span, **options):
    def f(x):
        found = integrate.solve_ivp(lambda t, y: -y * x, span(x), [1.0], rtol=1e-9, atol=1e-12, **options)
        return found.t[0] * found.t[-1] ** 2 * found.y[0, -1]

    return f


@pytest.mark.parametrize("method", ["RK45", "DOP853", "Radau"])
@pytest.mark.parametrize("span", [lambda x: (x, 2.0), lambda x: (0.5, x), lambda x: (2 * x, x), lambda x: (x, x)])
def test_times_of_the_solution_follow_the_span(span, method):
    f, step = _ends(span, method=method), 1e-5
    expected = (f(0.7 + step) - f(0.7 - step)) / (2 * step)
    for slope in (ad.grad(f)(0.7), ad.jvp(f, (0.7,), (1.0,))[1]):
        np.testing.assert_allclose(slope, expected, rtol=1e-5)


def test_area_under_the_steps_taken():
    def area(x):
        found = integrate.solve_ivp(lambda t, y: -y, (0, x), [1.0], rtol=1e-9, atol=1e-12)
        return np.trapezoid(found.y[0], found.t)

    np.testing.assert_allclose(ad.grad(area)(0.7), np.exp(-0.7), rtol=2e-3)
