"""`solve_ivp` differentiates all steps at once: the same derivatives as step by step, where the field allows it."""

import math

import numpy as np
import pytest
import scipy.integrate
from numpy.testing import assert_allclose, assert_array_equal

import adjoint as ad
from adjoint.scipy.integrate import equations, odeint, solve_ivp
from adjoint.scipy.integrate.sweeps import StepEquations

rng = np.random.default_rng(0)
MIXING = rng.standard_normal((20, 20)) / 5
OPTIONS = {"rtol": 1e-6, "atol": 1e-9}


def written(t, y, p):
    d = np.zeros(2)
    d[0], d[1] = y[1] * math.cos(t), -p * y[0]
    return d


FIELDS = {
    "vector": (lambda t, y, p: -p * y, [1.0, 2.0]),
    "list": (lambda t, y, p: [y[1], -p * p * y[0] + np.sin(t)], [1.0, 0.0]),
    "time alone": (lambda t, y, p: [p * np.interp(t, [0.0, 0.5, 1.0], [0.0, 1.0, p]), 1.0], [1.0, 0.3]),
    "selected": (lambda t, y, p: np.where(y > 0.5, -p * y, -2 * p * y), [1.0, 0.3]),
    "matrix": (lambda t, y, p: (np.reshape(y, (2, 2)) @ np.reshape(y, (2, 2)) * -p).ravel(), [0.1, 0.4, 0.7, 1.0]),
    "many states": (lambda t, y, p: np.tanh(p * (MIXING @ y)), np.linspace(-1.0, 1.0, 20)),
    "written": (written, [1.0, 0.5]),
}
WAYS = {
    "steps": {},
    "times": {"t_eval": np.array([0.0, 0.2, 0.21, 0.9])},
    "DOP853": {"method": "DOP853", "t_eval": np.array([0.2, 0.21, 0.9])},
    "RK23": {"method": "RK23", "max_step": 0.1},
}
MODES = {
    "grad": ad.grad,
    "jvp": lambda f: lambda k: ad.jvp(f, (k,), (1.0,))[1],
    "hessian": ad.hessian,
    "grad of grad": lambda f: ad.grad(ad.grad(f)),
    "third": lambda f: ad.grad(ad.hessian(f)),
}


def end(f, y0, way, by_closure):
    """A loss whose states and slopes depend on the parameter: by the field and by the initial state."""

    def loss(k):
        start = np.stack([k * v for v in y0])
        g, args = (lambda t, y: f(t, y, k), ()) if by_closure else (f, (k,))
        return np.sum(solve_ivp(g, (0.0, 1.0), start, args=args, **OPTIONS | way).y[:, -2:] ** 2)

    return loss


@pytest.fixture
def one_by_one(monkeypatch):
    """Calls a function with every step taken again by itself."""

    def call(f, *args):
        with monkeypatch.context() as patch:
            patch.setattr(equations, "_at_once", lambda *_: None)
            return f(*args)

    return call


@pytest.fixture
def used(monkeypatch):
    """For each solution that was differentiated, whether all steps were at once."""
    seen, way = [], equations._at_once

    def spy(*args):
        taken = way(*args)
        seen.append(taken is not None)
        return taken

    monkeypatch.setattr(equations, "_at_once", spy)
    return seen


@pytest.mark.parametrize("by_closure", [False, True], ids=["args", "closure"])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", FIELDS)
def test_gradients_are_those_of_single_steps(name, way, by_closure, one_by_one, used):
    gradient = ad.grad(end(*FIELDS[name], WAYS[way], by_closure))
    found = gradient(1.3)
    assert used == [True]
    assert_allclose(found, one_by_one(gradient, 1.3), rtol=1e-9)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("way", ["steps", "DOP853"])
@pytest.mark.parametrize("name", ["list", "many states"])
def test_in_every_mode(name, way, mode, one_by_one, used):
    if name == "many states" and mode == "third":
        pytest.skip("slow")
    derivative = MODES[mode](end(*FIELDS[name], WAYS[way], True))
    found = derivative(1.3)
    assert all(used)
    assert_allclose(found, one_by_one(derivative, 1.3), rtol=1e-8)


@pytest.mark.parametrize("transform", [ad.jacobian, ad.jacfwd])
def test_jacobians_by_many_parameters(transform, one_by_one, used):
    def states(p):
        field = lambda t, y: np.stack([p[0] * y[0] - p[1] * y[0] * y[1], -p[2] * y[1] + p[3] * y[0] * y[1]])
        return solve_ivp(field, (0.0, 5.0), [10.0, 5.0], t_eval=np.linspace(0.0, 5.0, 7), **OPTIONS).y

    p = np.array([1.1, 0.4, 0.4, 0.1])
    found = transform(states)(p)
    assert found.shape == (2, 7, 4)
    assert used == [True]
    assert_allclose(found, one_by_one(transform(states), p), rtol=1e-9, atol=1e-9)


def test_small_derivatives_keep_their_digits():
    f = lambda y: solve_ivp(lambda t, y: -50.0 * y, (0.0, 1.0), y, rtol=1e-9, atol=1e-30).y[:, -1]
    assert_allclose(np.diag(ad.jacobian(f)(np.array([1.0, 2.0]))), f(np.ones(2)), rtol=1e-9)


@pytest.mark.parametrize(
    "field",
    [
        lambda t, y, k: -k * y if t < 0.5 else -2.0 * k * y,
        lambda t, y, k: [-k * y[0] if y[0] > 0.6 else -2.0 * k * y[0]],
        lambda t, y, k: -k * y * rng.uniform(0.99, 1.01),
    ],
    ids=["branch on time", "branch on state", "random"],
)
def test_fields_that_are_no_functions_of_many_samples(field, used):
    slope = ad.grad(lambda k: solve_ivp(field, (0.0, 1.0), [1.0], max_step=0.1, args=(k,)).y[0, -1])(0.7)
    assert used == [False]
    assert np.isfinite(slope)
    assert slope < 0.0


def test_the_field_runs_once_for_all_steps():
    calls = []

    def field(t, y, k):
        calls.append(np.shape(y))
        return -k * y

    solve = lambda k, by: by(field, (0.0, 3.0), [1.0, 2.0], args=(k,), **OPTIONS)
    nfev = solve(1.3, scipy.integrate.solve_ivp).nfev
    calls.clear()
    ad.grad(lambda k: np.sum(solve(k, solve_ivp).y[:, -1]))(1.3)
    assert nfev < len(calls) <= nfev + 3
    assert set(calls) == {(2,)}


def test_create_graph_gives_two_derivatives():
    k = ad.tensor(1.3, requires_grad=True)
    end(*FIELDS["list"], {}, True)(k).backward(create_graph=True)
    slope, k.grad = k.grad, None
    slope.backward(create_graph=True)
    expected = ad.hessian(end(*FIELDS["list"], {}, True))(1.3)
    assert_allclose(k.grad.numpy(), expected, rtol=1e-9)
    curvature, k.grad = k.grad, None
    with pytest.raises(ad.NotSupportedError, match="nest transforms"):
        curvature.backward()


def test_what_the_field_keeps_has_its_history():
    class Rate:
        last = None

        def __call__(self, t, y, k):
            self.last = k * y
            return -self.last

    rate = Rate()
    loss = lambda k: solve_ivp(rate, (0.0, 1.0), [1.0], args=(k,), rtol=1e-9, atol=1e-9).y[0, -1] + rate.last[0]
    assert_allclose(ad.grad(loss)(1.3), (1.0 - 1.3 - 1.0) * np.exp(-1.3), rtol=1e-6)


def test_closures_are_called_with_numbers_where_that_is_the_same(used):
    kinds = []

    def loss(k):
        count = 0
        pair = (k, 2.0)

        def rate(y):
            kinds.append(type(pair[0]))
            return pair[0] * y

        def counting(t, y):
            nonlocal count
            count += 1
            return -k * y

        first = solve_ivp(lambda t, y: -rate(y), (0.0, 1.0), [1.0], **OPTIONS)
        assert not any(issubclass(kind, ad.Tensor) for kind in kinds[: first.nfev])
        second = solve_ivp(counting, (0.0, 1.0), [1.0], **OPTIONS)
        assert count > second.nfev
        return first.y[0, -1] + second.y[0, -1]

    assert_allclose(ad.grad(loss)(1.3), -2.0 * np.exp(-1.3), rtol=1e-4)
    assert used == [True, True]


def test_a_field_that_calls_itself():
    def loss(k):
        def field(t, y):
            return 2.0 * field(t, -y[1:]) if len(y) > 1 else k * y

        return solve_ivp(lambda t, y: [field(t, y)[0], y[1] * 0.0], (0.0, 1.0), [0.0, 1.0], **OPTIONS).y[0, -1]

    assert_allclose(ad.grad(loss)(1.3), -2.0, rtol=1e-9)


def test_events_and_dense_output(one_by_one, used):
    def ground(t, y):
        return y[0]

    ground.terminal = True

    def landed(g):
        found = solve_ivp(lambda t, y: [y[1], -g + 0.1 * y[1] ** 2], (0.0, 9.0), [5.0, 0.0], events=ground,
                          dense_output=True, **OPTIONS)  # fmt: skip
        return found.t_events[0][0] + found.y[1, -1] + found.sol(0.5)[0] + found.t[-1]

    for transform in (ad.grad, ad.hessian):
        assert_allclose(transform(landed)(9.8), one_by_one(transform(landed), 9.8), rtol=1e-8)
    assert used == [True, True]


@pytest.mark.parametrize("span", [lambda x: (x, 2.0), lambda x: (0.5, x), lambda x: (2 * x, x)])
def test_times_that_vary(span, one_by_one, used):
    def f(x):
        found = solve_ivp(lambda t, y: -y * x * t, span(x), [1.0], **OPTIONS)
        return found.t[0] * found.t[-1] ** 2 * found.y[0, -1] * found.y[0, 1]

    for transform in (ad.grad, ad.hessian):
        assert_allclose(transform(f)(0.7), one_by_one(transform(f), 0.7), rtol=1e-8)
    assert used == [True, True]


def test_odeint_by_its_times(one_by_one, used):
    f = lambda t: np.sum(odeint(lambda y, t: [y[1], -np.sin(y[0])], [1.0, 0.0], t)[:, 0] ** 2)
    times = np.array([0.0, 0.4, 1.1])
    assert_allclose(ad.grad(f)(times), one_by_one(ad.grad(f), times), rtol=1e-8, atol=1e-12)
    assert used == [True]


@pytest.mark.parametrize("n", [2, 20])
@pytest.mark.parametrize("shape", [(), (3,)])
def test_sweeps_solve_the_equations(n, shape):
    tableau, count = scipy.integrate.RK45, 4
    stages = tableau.n_stages
    steps = StepEquations(tableau, rng.uniform(0.1, 0.2, count), rng.standard_normal((count, stages, n, n)) / n)
    draw = lambda: (rng.standard_normal((*shape, count + 1, n)), rng.standard_normal((*shape, count, stages, n)))
    of_states, of_slopes = draw()
    states, slopes = steps.forward(of_states, of_slopes)
    h = steps.h[:, None]
    assert_allclose(states[..., 0, :], of_states[..., 0, :])
    after = states[..., :-1, :] + h * np.einsum("i,...min->...mn", tableau.B, slopes)
    assert_allclose(states[..., 1:, :] - after, of_states[..., 1:, :], atol=1e-10)
    inside = states[..., :-1, None, :] + h[:, None] * np.einsum("ij,...mjn->...min", tableau.A, slopes[..., :-1, :])
    assert_allclose(slopes - np.einsum("mikl,...mil->...mik", steps.jacobians, inside), of_slopes, atol=1e-10)
    by_states, by_slopes = draw()
    back = steps.backward(by_states, by_slopes)
    forth = np.sum(by_states * states) + np.sum(by_slopes * slopes)
    assert_allclose(np.sum(back[0] * of_states) + np.sum(back[1] * of_slopes), forth)


def test_plain_arguments_give_plain_results():
    ours = solve_ivp(lambda t, y: -y, (0.0, 1.0), [1.0], method="DOP853", dense_output=True)
    theirs = scipy.integrate.solve_ivp(lambda t, y: -y, (0.0, 1.0), [1.0], method="DOP853", dense_output=True)
    assert_array_equal(ours.y, theirs.y)
    assert ours.nfev == theirs.nfev
