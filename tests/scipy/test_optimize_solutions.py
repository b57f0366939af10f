"""`least_squares` and `root` over trees; solutions as functions of their problem; Jacobians for `solve_ivp`."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
import scipy.integrate
import scipy.optimize
from numpy.testing import assert_allclose

import adjoint as ad
from adjoint.scipy import integrate
from adjoint.scipy.optimize import least_squares, minimize, problem, root
from adjoint.testing import check_grads

rng = np.random.default_rng(0)
TIMES = np.linspace(0.0, 2.0, 9)
DATA = 3.0 * np.exp(-1.5 * TIMES) + 0.1 * rng.normal(size=9)
TIGHT = {"xtol": 1e-15, "ftol": 1e-15, "gtol": 1e-15, "max_nfev": 500}


def decay(p, data):
    return p["size"] * np.exp(-p["rate"] * TIMES) - data


def tridiagonal(p):
    """Broyden's, from SciPy's documentation."""
    x = p["x"]
    inner = (3 - x) * x + 1
    return inner - np.concatenate([np.zeros(1), x[:-1]]) - np.concatenate([2 * x[1:], np.zeros(1)])


# -- Least squares -------------------------------------------------------------------------------------


def test_scipys_example_with_bounds():
    f = lambda p: [10 * (p["b"] - p["a"] ** 2), 1 - p["a"]]
    free = least_squares(f, {"a": 2.0, "b": 2.0})
    assert_allclose(free.vector, 1.0)
    bounded = least_squares(f, {"a": 2.0, "b": 2.0}, bounds={"b": (1.5, None)})
    assert_allclose(bounded.vector, [1.22437075, 1.5], rtol=1e-6)
    assert bounded.x["b"] == pytest.approx(1.5)
    assert bounded.jac.shape == (2, 2)
    assert set(bounded.grad) == {"a", "b"}


@pytest.mark.parametrize(
    ("method", "jac"),
    [(m, j) for m in ("trf", "dogbox", "lm") for j in ("auto", "dense", "operator", "sparse", "2-point")
     if m != "lm" or j not in ("operator", "sparse")],
)  # fmt: skip
def test_every_jacobian_leads_to_the_same_fit(method, jac):
    result = least_squares(decay, {"size": 1.0, "rate": 1.0}, (DATA,), jac=jac, method=method)
    theirs = scipy.optimize.least_squares(lambda x: x[0] * np.exp(-x[1] * TIMES) - DATA, [1.0, 1.0], method=method)
    assert_allclose([result.x["size"], result.x["rate"]], theirs.x, rtol=1e-5)
    assert result.cost == pytest.approx(theirs.cost)
    if jac != "2-point":
        assert result.forward <= result.nfev + 1
        assert result.backward in (result.njev, result.njev + 1)  # MINPACK leaves out the first
    else:
        assert result.backward == 0


@pytest.mark.parametrize("jac", ["operator", "auto"])
def test_a_large_jacobian_is_never_written_out(jac):
    n = 1500
    result = least_squares(tridiagonal, {"x": -np.ones(n)}, jac=jac)
    assert result.cost < 1e-15
    assert isinstance(result.jac, scipy.sparse.linalg.LinearOperator)
    assert_allclose(result.grad["x"], 0, atol=1e-6)


def test_scipys_example_of_a_sparse_jacobian():
    result = least_squares(tridiagonal, {"x": -np.ones(100_000)}, jac="sparse")
    assert result.cost == pytest.approx(4.5687e-23, rel=1e-3)
    assert result.jac.nnz == 299_998
    assert result.forward == result.nfev


def test_a_pattern_that_changes_on_the_way_is_found_anew():
    def f(p):
        x = p["x"]
        if np.sum(x**2) > 20.0:
            return x * 2.0 - 1.0
        return x + 0.1 * np.roll(x, 1) ** 2 - 1.0

    result = least_squares(f, {"x": np.full(6, 3.0)}, jac="sparse")
    assert_allclose(f(result.x), 0.0, atol=1e-7)
    assert result.jac.nnz == 12


def test_auto_is_dense_where_it_must_be():
    n = 1100
    result = least_squares(tridiagonal, {"x": -np.ones(n)}, x_scale="jac", max_nfev=2)
    assert result.jac.shape == (n, n)


def test_many_residuals_go_by_columns():
    t = np.linspace(0.0, 1.0, 300)
    f = lambda p: p["a"] * np.sin(p["b"] * t) - 2.0 * np.sin(3.0 * t)
    result = least_squares(f, {"a": 1.0, "b": 2.0})
    assert_allclose(result.vector, [2.0, 3.0])
    assert_allclose(result.jac, np.stack([np.sin(3 * t), 2 * t * np.cos(3 * t)], axis=1), atol=1e-6)


def test_more_unknowns_than_residuals_go_by_rows():
    f = lambda p: np.stack([np.sum(p["x"]), p["x"][0] * p["x"][1] - 2.0])
    result = least_squares(f, {"x": np.ones(5)})
    assert_allclose(f(result.x), 0, atol=1e-8)
    assert result.jac.shape == (2, 5)


def test_a_jacobian_that_scipy_scales_in_place_is_its_own():
    p = problem(decay, {"size": 1.0, "rate": 1.0}, (DATA,))
    j = p.jac(p.x0)
    j *= 0.0
    assert np.all(p.jac(p.x0) != 0.0, axis=0).any()


@pytest.mark.skipif("callback" not in inspect.signature(scipy.optimize.least_squares).parameters, reason="SciPy 1.16")
def test_a_callback_of_least_squares_sees_the_tree_and_stops():
    seen = []

    def stop(p):
        seen.append(p)
        if len(seen) == 2:
            raise StopIteration

    result = least_squares(decay, {"size": 1.0, "rate": 1.0}, (DATA,), callback=stop)
    assert set(seen[0]) == {"size", "rate"}
    assert len(seen) == 2
    assert not result.success


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"jac": "exact"}, "'operator'"),
        ({"jac": abs}, "ad.op"),
        ({"loss": "absolute"}, "'huber'"),
        ({"loss": abs}, "'huber'"),
        ({"method": "lm", "jac": "operator"}, "trf"),
        ({"method": "lm", "bounds": {"rate": (0, None)}}, "trf"),
    ],
)
def test_least_squares_refuses(options, words):
    with pytest.raises(ad.ArgumentError, match=words):
        least_squares(decay, {"size": 1.0, "rate": 1.0}, (DATA,), **options)


@pytest.mark.filterwarnings("ignore:invalid value", "ignore:divide by zero")
def test_residuals_that_are_not_finite_are_named():
    with pytest.raises(ad.GradientError, match="element 2"):
        least_squares(lambda p: np.log(p["x"] + np.array([1.0, 1.0, -1.0])), {"x": np.zeros(3)})
    with pytest.raises(ad.GradientError, match=r"by params\['x'\]\[1\]"):
        least_squares(lambda p: np.sqrt(p["x"]), {"x": np.array([1.0, 0.0])})
    with pytest.raises(ad.DTypeError, match=r"value\['z'\] has dtype complex128"):
        least_squares(lambda p: {"z": p["x"] * 1j}, {"x": np.ones(3)})


# -- Roots ---------------------------------------------------------------------------------------------


def cubic(p):
    return [p["a"] + 0.5 * (p["a"] - p["b"]) ** 3 - 1.0, 0.5 * (p["b"] - p["a"]) ** 3 + p["b"]]


@pytest.mark.parametrize("method", ["hybr", "lm", "broyden1", "anderson", "df-sane"])
def test_scipys_example_of_a_root(method):
    result = root(cubic, {"a": 0.0, "b": 0.0}, method=method)
    assert result.success
    assert_allclose(result.vector, [0.8411639, 0.1588361], atol=1e-5)
    assert result.x["a"] == pytest.approx(0.8411639, abs=1e-5)
    assert (result.backward > 0) == (method in ("hybr", "lm"))


def test_a_derived_jacobian_saves_calls():
    ours = root(tridiagonal, {"x": -np.ones(30)})
    theirs = scipy.optimize.root(lambda x: tridiagonal({"x": x}), -np.ones(30))
    assert_allclose(ours.x["x"], theirs.x)
    assert ours.forward + ours.backward < theirs.nfev / 2
    assert root(tridiagonal, {"x": -np.ones(30)}, jac=None).backward == 0


def test_a_callback_of_root_sees_the_tree():
    seen = []
    root(cubic, {"a": 0.0, "b": 0.0}, method="broyden1", callback=seen.append)
    assert set(seen[0]) == {"a", "b"}


@pytest.mark.parametrize(
    ("options", "words"),
    [({"method": "newton"}, "hybr"), ({"jac": True}, "ad.op"), ({"callback": print}, "no callback")],
)
def test_root_refuses(options, words):
    with pytest.raises(ad.ArgumentError, match=words):
        root(cubic, {"a": 0.0, "b": 0.0}, **options)


def test_a_root_needs_as_many_equations_as_unknowns():
    with pytest.raises(ad.ShapeError, match="3 numbers for 2 unknowns"):
        root(lambda p: np.ones(3) * p["a"] * p["b"], {"a": 0.0, "b": 0.0})


# -- Solutions have derivatives ------------------------------------------------------------------------


def valley(x, theta):
    return np.sum(np.exp(x * theta["t"]) - theta["c"] * x)  # x = log(c / t) / t


THETA = {"t": 1.3, "c": np.array([2.0, 3.0])}
CLOSED = lambda theta: np.log(theta["c"] / theta["t"]) / theta["t"]


@pytest.mark.parametrize("method", ["BFGS", "L-BFGS-B", "Nelder-Mead", "trust-exact", "Newton-CG"])
def test_a_minimum_has_a_jacobian_whatever_the_method(method):
    options = {"xatol": 1e-9, "fatol": 1e-13} if method == "Nelder-Mead" else {}
    found = lambda theta: minimize(valley, np.zeros(2), (theta,), method, tol=1e-10, options=options).x
    ours, exact = ad.jacobian(found)(THETA), ad.jacobian(CLOSED)(THETA)
    assert_allclose(ours["t"], exact["t"], rtol=1e-5)
    assert_allclose(ours["c"], exact["c"], rtol=1e-5, atol=1e-12)


def found(theta):
    return minimize(valley, np.zeros(2), (theta,), method="trust-exact", tol=1e-13).x


def test_derivatives_of_every_order_and_mode():
    at = lambda t: np.sum(found({"t": t, "c": THETA["c"]}))
    exact = lambda t: np.sum(CLOSED({"t": t, "c": THETA["c"]}))
    for ours, right in ((ad.grad(at), ad.grad(exact)), (ad.hessian(at), ad.hessian(exact))):
        assert_allclose(ours(1.3), right(1.3), rtol=1e-7)
    assert_allclose(ad.grad(ad.grad(ad.grad(at)))(1.3), ad.grad(ad.grad(ad.grad(exact)))(1.3), rtol=1e-6)
    assert_allclose(ad.jvp(at, (1.3,), (1.0,)), ad.jvp(exact, (1.3,), (1.0,)), rtol=1e-7)
    several = np.array([1.1, 1.3, 1.5])
    assert_allclose(ad.vmap(at)(several), ad.vmap(exact)(several), rtol=1e-7)
    assert_allclose(ad.vmap(ad.grad(at))(several), ad.vmap(ad.grad(exact))(several), rtol=1e-7)


def test_tensors_without_a_transform():
    t = ad.tensor(1.3, requires_grad=True)
    result = minimize(valley, np.zeros(2), ({"t": t, "c": THETA["c"]},), tol=1e-10)
    np.sum(result.x).backward()
    exact = ad.grad(lambda t: np.sum(CLOSED({"t": t, "c": THETA["c"]})))(1.3)
    assert_allclose(t.grad.numpy(), exact, rtol=1e-5)
    assert isinstance(result.vector, np.ndarray)
    with ad.no_grad():
        assert not minimize(valley, np.zeros(2), ({"t": t, "c": THETA["c"]},)).x.requires_grad
    plain = minimize(valley, np.zeros(2), ({"t": t.detach(), "c": THETA["c"]},)).x
    assert isinstance(plain, np.ndarray)


def test_complex_and_single_precision_arguments():
    # Not np.abs(…) ** 2: a solver may land exactly on the minimum, where abs has no derivative and its rule gives 0.
    square = lambda w: np.real(w) ** 2 + np.imag(w) ** 2
    near = lambda z: minimize(lambda x, z: square(x - z**2), 0j, (z,), tol=1e-12).x
    assert_allclose(ad.grad(lambda z: np.abs(near(z)) ** 2)(1 + 2j), ad.grad(lambda z: np.abs(z**2) ** 2)(1 + 2j))
    zero = lambda z: root(lambda x, z: np.stack([(x - z**2).real, (x - z**2).imag]), 0j, (z,)).x
    assert_allclose(ad.grad(lambda z: zero(z).imag)(1 + 2j), ad.grad(lambda z: (z**2).imag)(1 + 2j))
    t = ad.tensor(np.float32(2.0), requires_grad=True)
    minimize(lambda x, t: (x - t * t) ** 2, np.float32(0.0), (t,)).x.backward()
    assert t.grad.dtype == np.float32
    assert t.grad.item() == pytest.approx(4.0, rel=1e-4)


def test_the_minimal_value_has_a_gradient_too():
    lowest = lambda t: minimize(valley, np.zeros(2), ({"t": t, "c": THETA["c"]},), tol=1e-10).fun
    h = 1e-4
    assert ad.grad(lowest)(1.3) == pytest.approx((lowest(1.3 + h) - lowest(1.3 - h)) / (2 * h), rel=1e-6)


@pytest.mark.parametrize("method", ["L-BFGS-B", "SLSQP", "trust-constr"])
def test_numbers_at_a_bound_do_not_move(method):
    f = lambda p, t: (p["a"] - t) ** 2 + (p["b"] - p["a"] * t) ** 2
    at = lambda t: minimize(f, {"a": 0.1, "b": 0.0}, (t,), bounds={"a": (None, 1.0)}, method=method, tol=1e-10).x
    assert_allclose(ad.jacobian(lambda t: np.stack([at(t)["a"], at(t)["b"]]))(2.0), [0.0, 1.0], atol=2e-3)
    inside = ad.jacobian(lambda t: np.stack([at(t)["a"], at(t)["b"]]))(0.5)
    assert_allclose(inside, [1.0, 1.0], atol=2e-3)


@pytest.mark.parametrize("method", ["SLSQP", "trust-constr", "COBYQA"])
def test_active_constraints_hold_the_solution(method):
    f = lambda p, t: np.sum((p - t) ** 2)
    disc = lambda p, r: r**2 - np.sum(p**2)
    far = lambda p: 10.0 - p[0]

    def nearest(t, r):
        constraints = [{"type": "ineq", "fun": disc, "args": (r,)}, {"type": "ineq", "fun": far}]
        return minimize(f, np.array([0.1, 0.2]), (t,), method, constraints=constraints, tol=1e-10).x

    t = np.array([3.0, 4.0])
    exact = lambda t, r: r * t / np.sqrt(np.sum(t**2))
    for i in (0, 1):
        assert_allclose(ad.jacobian(nearest, i)(t, 2.0), ad.jacobian(exact, i)(t, 2.0), atol=2e-3)
    assert_allclose(ad.jacobian(nearest)(t, 9.0), np.eye(2), atol=2e-3)


def test_equalities_and_bounds_together():
    f = lambda p, t: np.sum((p - t) ** 2)

    def projected(t):  # to the simplex
        whole = {"type": "eq", "fun": lambda p: np.sum(p) - 1.0}
        return minimize(f, np.full(3, 0.3), (t,), constraints=whole, bounds=(0.0, None), tol=1e-14).x

    t = np.array([0.9, 0.6, -0.5])
    assert_allclose(projected(t), [0.65, 0.35, 0.0], atol=1e-7)
    assert_allclose(ad.jacobian(projected)(t), [[0.5, -0.5, 0.0], [-0.5, 0.5, 0.0], [0.0, 0.0, 0.0]], atol=1e-7)


def test_a_large_minimum_goes_by_products():
    n = 300
    a = rng.normal(size=(400, n)) / 20
    f = lambda x, t: 0.5 * np.sum((a @ x - 1) ** 2) + 0.5 * t * np.sum(x**2)
    norm = lambda t: np.sum(minimize(f, np.zeros(n), (t,), "trust-ncg", tol=1e-10).x ** 2)
    exact = lambda t: np.sum(np.linalg.solve(a.T @ a + t * np.eye(n), a.T @ np.ones(400)) ** 2)
    assert_allclose(ad.grad(norm)(0.5), ad.grad(exact)(0.5), rtol=1e-6)
    assert_allclose(ad.grad(ad.grad(norm))(0.5), ad.grad(ad.grad(exact))(0.5), rtol=1e-5)


def test_a_large_minimum_with_bounds_goes_by_products():
    n = 300
    target = np.linspace(-2.0, 2.0, n)
    f = lambda x, t: np.sum((x - t * target) ** 2) + 0.1 * np.sum((x[1:] - x[:-1]) ** 2)
    total = lambda t: np.sum(minimize(f, np.zeros(n), (t,), bounds=(-1.0, None), tol=1e-14).x ** 2)
    h = 1e-4
    assert ad.grad(total)(0.9) == pytest.approx((total(0.9 + h) - total(0.9 - h)) / (2 * h), rel=1e-4)


def test_a_large_root_goes_by_products():
    n = 300
    f = lambda x, t: x + t * np.sin(np.roll(x, 1)) - 1.0  # its Jacobian is not symmetric
    total = lambda t: np.sum(root(f, np.ones(n), (t,), tol=1e-12).x ** 2)
    one = lambda t: n * root(lambda x, t: x + t * np.sin(x) - 1.0, 1.0, (t,), tol=1e-12).x ** 2
    assert_allclose(ad.grad(total)(0.3), ad.grad(one)(0.3), rtol=1e-6)


def test_roots_have_derivatives_of_every_order():
    f = lambda p, a: [p["x"] + p["y"] - a, p["x"] - p["y"] ** 2]
    y = lambda a: root(f, {"x": 1.0, "y": 1.5}, (a,), tol=1e-14).x["y"]
    exact = lambda a: (np.sqrt(1 + 4 * a) - 1) / 2
    for order in range(3):
        assert_allclose(y(6.0), exact(6.0), rtol=1e-9, err_msg=str(order))
        y, exact = ad.grad(y), ad.grad(exact)
    assert_allclose(ad.vmap(lambda a: root(f, {"x": 1.0, "y": 1.5}, (a,)).x["x"])(np.array([2.0, 6.0])), [1.0, 4.0])


@pytest.mark.parametrize("loss", ["linear", "soft_l1", "huber", "cauchy", "arctan"])
def test_fits_are_functions_of_the_data(loss):
    options = {"loss": loss, "f_scale": 0.3, **TIGHT}
    rate = lambda data: least_squares(decay, {"size": 3.0, "rate": 1.5}, (data,), **options).x["rate"]
    result = least_squares(decay, {"size": 3.0, "rate": 1.5}, (ad.tensor(DATA, requires_grad=True),), **options)
    theirs = scipy.optimize.least_squares(lambda x: x[0] * np.exp(-x[1] * TIMES) - DATA, [3.0, 1.5], **options)
    assert result.cost.item() == pytest.approx(theirs.cost)
    h = np.eye(9)[3] * 1e-4
    assert ad.grad(rate)(DATA)[3] == pytest.approx((rate(DATA + h) - rate(DATA - h)) / 2e-4, rel=1e-3)


def test_a_fit_at_a_bound():
    fit = lambda data: least_squares(decay, {"size": 1.0, "rate": 1.0}, (data,), bounds={"rate": (None, 1.2)}, **TIGHT)
    size = lambda data: fit(data).x["size"]
    at = np.exp(-1.2 * TIMES)
    assert_allclose(ad.grad(size)(DATA), at / np.sum(at**2), rtol=1e-4)
    assert_allclose(ad.grad(lambda data: fit(data).x["rate"])(DATA), 0, atol=1e-9)


def test_a_hyperparameter_is_learned_through_the_fit():
    x, unseen = rng.normal(size=(20, 8)), rng.normal(size=(50, 8))
    true = np.array([1.0, -2.0, 0, 0, 0, 0, 0, 0])
    y, z = x @ true + rng.normal(size=20), unseen @ true

    def error(log_penalty):
        ridge = lambda w, p: np.sum((x @ w - y) ** 2) + np.exp(p) * np.sum(w**2)
        w = minimize(ridge, np.zeros(8), (log_penalty,), "trust-exact", tol=1e-12).x
        return np.mean((unseen @ w - z) ** 2)

    check_grads(error, (0.3,), order=1)
    best = minimize(error, 0.0)
    assert error(best.x) < error(-5.0)
    assert ad.grad(error)(best.x) == pytest.approx(0.0, abs=1e-4)


def test_what_has_no_derivative_says_so():
    flat = lambda x, t: (x[0] + x[1] - t) ** 2
    with pytest.raises(ad.GradientError, match="unique"):
        ad.grad(lambda t: np.sum(minimize(flat, np.array([1.0, 0.0]), (t,)).x))(2.0)
    with pytest.raises(ad.GradientError, match="tol="):
        ad.grad(lambda t: np.sum(minimize(valley, np.zeros(2), ({**THETA, "t": t},), options={"maxiter": 1}).x))(1.3)
    with pytest.raises(ad.NotSupportedError, match="vmap"):
        ad.vmap(ad.grad(lambda t: minimize(lambda x, t: (x - t) ** 2, 0.0, (t,), bounds=(0, 1)).x))(np.ones(2))


# -- Jacobians of differential equations ---------------------------------------------------------------


def robertson(t, y, k):
    """H. Robertson's stiff chemical reaction."""
    slow, fast, back = k[0] * y[0], k[1] * y[1] ** 2, k[2] * y[1] * y[2]
    return np.stack([back - slow, slow - back - fast, fast])


def by_hand(t, y, k):
    return np.array([
        [-k[0], k[2] * y[2], k[2] * y[1]],
        [k[0], -k[2] * y[2] - 2 * k[1] * y[1], -k[2] * y[1]],
        [0.0, 2 * k[1] * y[1], 0.0],
    ])  # fmt: skip


RATES = np.array([0.04, 3e7, 1e4])


@pytest.mark.parametrize("method", ["Radau", "BDF", "LSODA"])
def test_a_derived_jacobian_is_the_one_by_hand(method):
    solve = lambda **options: integrate.solve_ivp(robertson, (0, 100.0), [1.0, 0, 0], method, args=(RATES,), **options)
    ours, hand, none = solve(jac="auto"), solve(jac=by_hand), solve()
    theirs = scipy.integrate.solve_ivp(robertson, (0, 100.0), [1.0, 0, 0], method, args=(RATES,), jac=by_hand)
    assert_allclose(ours.y[:, -1], theirs.y[:, -1], rtol=1e-6)
    assert_allclose(hand.y, theirs.y)
    assert ours.nfev == pytest.approx(theirs.nfev, rel=0.1)
    assert ours.nfev <= none.nfev
    if method != "LSODA":
        assert_allclose(solve(jac="sparse").y, ours.y, rtol=1e-6)


@pytest.mark.parametrize("jac", ["auto", lambda t, y, k: -np.diag(np.array([1.0, 50.0]) * k), None])
@pytest.mark.parametrize("times", [None, [0.0, 0.1, 0.2]])
def test_jacobians_and_gradients_together(jac, times):
    def end(k):
        options = {"rtol": 1e-8, "atol": 1e-10, "t_eval": times}
        field = lambda t, y, k: -k * np.array([1.0, 50.0]) * y
        return integrate.solve_ivp(field, (0, 0.2), [1.0, 1.0], "Radau", args=(k,), jac=jac, **options).y[0, -1]

    assert_allclose(ad.grad(end)(1.5), -0.2 * np.exp(-0.3), rtol=1e-5)


def test_a_jacobian_must_be_of_use():
    with pytest.raises(ad.ArgumentError, match="RK45 takes no jac"):
        integrate.solve_ivp(robertson, (0, 1.0), [1.0, 0, 0], args=(RATES,), jac="auto")
    with pytest.raises(ad.ArgumentError, match="'auto'"):
        integrate.solve_ivp(robertson, (0, 1.0), [1.0, 0, 0], "BDF", args=(RATES,), jac="dense")
    with pytest.raises(ad.ArgumentError, match="Radau and BDF do"):
        integrate.solve_ivp(robertson, (0, 1.0), [1.0, 0, 0], "LSODA", args=(RATES,), jac="sparse")
